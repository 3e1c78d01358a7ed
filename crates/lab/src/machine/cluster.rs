//! A cluster: devices, how fast packets go between them, and what an exchange costs beside. Files are TOML.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::description::DescriptionError;
use crate::si::{giga, micro};

/// A cluster. Rates are 10⁹ bytes a second for each device and way; as JSON bytes a second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all(serialize = "snake_case", deserialize = "kebab-case"), deny_unknown_fields)]
pub struct Cluster {
    pub name: String,
    #[serde(default)]
    pub about: String,
    /// The machine of a device: one that ships.
    pub device: String,
    /// Devices of a host, which have a rank each.
    pub devices_per_node: u32,
    /// From a device into pinned memory.
    #[serde(rename(serialize = "to_host_bytes_per_second"), serialize_with = "giga")]
    pub to_host_gb_per_second: f64,
    /// From pinned memory to a device.
    #[serde(rename(serialize = "to_device_bytes_per_second"), serialize_with = "giga")]
    pub to_device_gb_per_second: f64,
    #[serde(rename(serialize = "network_bytes_per_second"), serialize_with = "giga")]
    pub network_gb_per_second: f64,
    /// A packet of no size between hosts.
    #[serde(rename(serialize = "network_seconds"), serialize_with = "micro")]
    pub network_microseconds: f64,
    /// An exchange of packets of no size within a host: commands, waits, calls, and ranks that are not equally fast.
    #[serde(rename(serialize = "exchange_seconds"), serialize_with = "micro")]
    pub exchange_microseconds: f64,
    /// A sum on one device until the host has it.
    #[serde(rename(serialize = "sum_seconds"), serialize_with = "micro")]
    pub sum_microseconds: f64,
    /// A doubling of ranks in the merge of sums.
    #[serde(rename(serialize = "stage_seconds"), serialize_with = "micro")]
    pub stage_microseconds: f64,
}

/// Names and files of the clusters that ship.
const SHIPPED: [(&str, &str); 2] = [
    ("h200-infiniband", include_str!("shipped/h200-infiniband.toml")),
    ("mi250x-slingshot", include_str!("shipped/mi250x-slingshot.toml")),
];

impl Cluster {
    /// Names and clusters that ship.
    pub fn shipped() -> &'static [(&'static str, Self)] {
        static CLUSTERS: OnceLock<Vec<(&'static str, Cluster)>> = OnceLock::new();
        // That the files are sound is tested.
        CLUSTERS.get_or_init(|| {
            SHIPPED.into_iter().filter_map(|(name, text)| Some((name, Self::parse(name, text).ok()?))).collect()
        })
    }

    /// Reads a cluster; `what` names it in errors.
    pub fn parse(what: &str, text: &str) -> Result<Self, DescriptionError> {
        let cluster: Self =
            lanefield::toml_text::from_str(text).map_err(|error| DescriptionError::file(what, error))?;
        let rates = [
            ("devices-per-node", f64::from(cluster.devices_per_node)),
            ("to-host-gb-per-second", cluster.to_host_gb_per_second),
            ("to-device-gb-per-second", cluster.to_device_gb_per_second),
            ("network-gb-per-second", cluster.network_gb_per_second),
        ];
        let times = [
            ("network-microseconds", cluster.network_microseconds),
            ("exchange-microseconds", cluster.exchange_microseconds),
            ("sum-microseconds", cluster.sum_microseconds),
            ("stage-microseconds", cluster.stage_microseconds),
        ];
        const MOST: f64 = 1e9;
        if let Some((name, value)) = rates.iter().find(|(_, value)| !(*value > 0.0 && *value <= MOST)) {
            return Err(DescriptionError::value(what, name, *value, "a number above 0, and at most 10^9,"));
        }
        if let Some((name, value)) = times.iter().find(|(_, value)| !(0.0..=MOST).contains(value)) {
            return Err(DescriptionError::value(what, name, *value, "a number of at least 0, and at most 10^9,"));
        }
        Ok(cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_that_ships_is_sound() {
        assert_eq!(Cluster::shipped().len(), SHIPPED.len());
        for (name, cluster) in Cluster::shipped() {
            let machine = crate::machine::Machine::named(&cluster.device);
            machine.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn what_is_no_cluster_is_named() {
        let (_, text) = SHIPPED[0];
        let error = |text: &str| Cluster::parse("c.toml", text).unwrap_err().to_string();
        assert!(error("name = \"x\"").contains("c.toml cannot be read"));
        assert!(error(&text.replace("to-host-gb-per-second = ", "to-host-gb-per-second = -")).contains("above 0"));
        assert!(error(&format!("{text}\nswitches = 3")).contains("switches"));
    }
}
