//! A cluster: devices, the bandwidths between them, and the overhead of an exchange. Files are TOML.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::description::{Description, DescriptionError, named, shipped};
use crate::json::si::{giga, micro};

/// A cluster. Rates are 10⁹ bytes per second for each device and direction; in JSON, bytes per second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all(serialize = "snake_case", deserialize = "kebab-case"), deny_unknown_fields)]
pub struct Cluster {
    pub name: String,
    #[serde(default)]
    pub about: String,
    /// The machine of a device: one that ships with the program.
    pub device: String,
    /// Devices per host, with one rank each.
    pub devices_per_node: u32,
    /// From a device into pinned memory.
    #[serde(rename(serialize = "to_host_bytes_per_second"), serialize_with = "giga")]
    pub to_host_gb_per_second: f64,
    /// From pinned memory to a device.
    #[serde(rename(serialize = "to_device_bytes_per_second"), serialize_with = "giga")]
    pub to_device_gb_per_second: f64,
    #[serde(rename(serialize = "network_bytes_per_second"), serialize_with = "giga")]
    pub network_gb_per_second: f64,
    /// Latency of an empty packet between hosts.
    #[serde(rename(serialize = "network_seconds"), serialize_with = "micro")]
    pub network_microseconds: f64,
    /// Overhead of an exchange of empty packets within a host: commands, waits, calls, and ranks with different speeds.
    #[serde(rename(serialize = "exchange_seconds"), serialize_with = "micro")]
    pub exchange_microseconds: f64,
    #[serde(rename(serialize = "sum_seconds"), serialize_with = "micro")]
    pub sum_microseconds: f64,
    /// Time per doubling of the number of ranks when sums are merged.
    #[serde(rename(serialize = "stage_seconds"), serialize_with = "micro")]
    pub stage_microseconds: f64,
}

const SHIPPED: [(&str, &str); 2] = [
    ("h200-infiniband", include_str!("shipped/h200-infiniband.toml")),
    ("mi250x-slingshot", include_str!("shipped/mi250x-slingshot.toml")),
];

impl Cluster {
    pub fn shipped() -> &'static [(&'static str, Self)] {
        static CLUSTERS: OnceLock<Vec<(&'static str, Cluster)>> = OnceLock::new();
        CLUSTERS.get_or_init(|| shipped(&SHIPPED))
    }

    /// The cluster that ships under this name, ignoring case.
    pub fn named(name: &str) -> Result<Self, DescriptionError> {
        named("cluster", Self::shipped(), &[], name)
    }
}

impl Description for Cluster {
    fn check(&self, what: &str) -> Result<(), DescriptionError> {
        const MOST: f64 = 1e9;
        let rates = [
            ("devices-per-node", f64::from(self.devices_per_node)),
            ("to-host-gb-per-second", self.to_host_gb_per_second),
            ("to-device-gb-per-second", self.to_device_gb_per_second),
            ("network-gb-per-second", self.network_gb_per_second),
        ];
        let times = [
            ("network-microseconds", self.network_microseconds),
            ("exchange-microseconds", self.exchange_microseconds),
            ("sum-microseconds", self.sum_microseconds),
            ("stage-microseconds", self.stage_microseconds),
        ];
        let is_rate = |value| value > 0.0 && value <= MOST;
        DescriptionError::check(what, &rates, is_rate, "a number above 0, and at most 10^9")?;
        let is_time = |value| (0.0..=MOST).contains(&value);
        DescriptionError::check(what, &times, is_time, "a number of at least 0, and at most 10^9")
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
