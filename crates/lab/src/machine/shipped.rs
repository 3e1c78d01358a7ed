//! The machines that ship, whose files document the sources of their numbers, and measurements of a machine.

use std::sync::OnceLock;

use lanefield::backend::opencl::DeviceInfo;
use serde::Deserialize;

use super::numbers::Machine;
use crate::description::{Description as _, DescriptionError, shipped};

const SHIPPED: [(&str, &str); 8] = [
    ("proxy", include_str!("shipped/proxy.toml")),
    ("mi100", include_str!("shipped/mi100.toml")),
    ("mi250x", include_str!("shipped/mi250x.toml")),
    ("mi300x", include_str!("shipped/mi300x.toml")),
    ("v100", include_str!("shipped/v100.toml")),
    ("a100", include_str!("shipped/a100.toml")),
    ("h100", include_str!("shipped/h100.toml")),
    ("h200", include_str!("shipped/h200.toml")),
];

/// The keys that are used from a measurement of peaks (`lanefield peak --json`); others are ignored.
#[derive(PartialEq, Default, Deserialize)]
struct Measured {
    read_bytes_per_second: Option<f64>,
    copy_bytes_per_second: Option<f64>,
    l2_bytes_per_second: Option<f64>,
    launch_seconds: Option<f64>,
}

impl Machine {
    pub fn shipped() -> &'static [(&'static str, Self)] {
        static MACHINES: OnceLock<Vec<(&'static str, Machine)>> = OnceLock::new();
        MACHINES.get_or_init(|| shipped(&SHIPPED))
    }

    /// The machine that ships for a device: the one with its name, else one with its architecture.
    pub fn of_device(device: &DeviceInfo) -> Option<Self> {
        let named = Self::shipped().iter().find(|(_, machine)| device.name.contains(&machine.name));
        let alike = |machine: &Self| !machine.architecture.is_empty() && machine.architecture == device.architecture;
        let found = named.or_else(|| Self::shipped().iter().find(|(_, machine)| alike(machine)));
        found.map(|(_, machine)| machine.clone())
    }

    /// The same with measured rates, from a JSON document with any of the keys `read_bytes_per_second`, `copy_bytes_per_second`,
    /// `l2_bytes_per_second` and `launch_seconds` at its top level.
    pub fn with_measured(self, what: &str, json: &str) -> Result<Self, DescriptionError> {
        let measured: Measured = serde_json::from_str(json).map_err(|error| DescriptionError::file(what, error))?;
        if measured == Measured::default() {
            return Err(DescriptionError::file(
                what,
                "it has none of read_bytes_per_second, copy_bytes_per_second, l2_bytes_per_second and launch_seconds; give what \
                 `lanefield peak --json` prints",
            ));
        }
        let giga = |rate: Option<f64>, or: f64| rate.map_or(or, |rate| rate / 1e9);
        let machine = Self {
            read_gb_per_second: giga(measured.read_bytes_per_second, self.read_gb_per_second),
            copy_gb_per_second: giga(measured.copy_bytes_per_second, self.copy_gb_per_second),
            l2_gb_per_second: giga(measured.l2_bytes_per_second, self.l2_gb_per_second),
            launch_microseconds: measured.launch_seconds.map_or(self.launch_microseconds, |seconds| seconds * 1e6),
            read_measured: self.read_measured || measured.read_bytes_per_second.is_some(),
            ..self
        };
        machine.check(what)?;
        Ok(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_that_ships_is_sound() {
        for (name, text) in SHIPPED {
            let machine = Machine::parse(name, text).unwrap();
            assert!(machine.copy_gb_per_second <= machine.peak_gb_per_second, "{name}");
            assert!(machine.l2_gb_per_second > machine.copy_gb_per_second, "{name}");
        }
        assert_eq!(Machine::shipped().len(), SHIPPED.len());
    }

    #[test]
    fn a_description_that_contradicts_itself_is_refused() {
        let h200 = Machine::named("H200").unwrap();
        let refused = |machine: Machine| machine.check("m.toml").unwrap_err().to_string();
        for (machine, named) in [
            (Machine { lanes: 48, ..h200.clone() }, "lanes = 48: expected a power of two"),
            (Machine { lanes_active: 48, ..h200.clone() }, "lanes-active = 48: expected a multiple of lanes"),
            (Machine { sector_bytes: 48, ..h200.clone() }, "sector-bytes = 48: expected a divisor of line-bytes"),
            (Machine { l1_bytes: 2 * h200.l2_bytes, ..h200.clone() }, "expected at most l2-bytes"),
            (
                Machine { copy_gb_per_second: 1e6, ..h200.clone() },
                "copy-gb-per-second = 1000000: expected at most 1.5 times",
            ),
            (Machine { clock_mhz: f64::NAN, ..h200.clone() }, "clock-mhz = NaN"),
        ] {
            let error = refused(machine);
            assert!(error.starts_with("m.toml says ") && error.contains(named), "{error}");
        }
    }

    #[test]
    fn peaks_are_those_of_the_vendors() {
        let tera = |name, flops: fn(&Machine) -> f64| (flops(&Machine::named(name).unwrap()) / 1e11).round() / 10.0;
        assert_eq!([tera("h200", Machine::f32_flops), tera("h200", Machine::f64_flops)], [66.9, 33.5]);
        assert_eq!([tera("a100", Machine::f32_flops), tera("v100", Machine::f32_flops)], [19.5, 15.7]);
        assert_eq!(tera("mi100", Machine::f32_flops), 23.1);
        assert_eq!([tera("mi250x", Machine::f32_flops), tera("mi250x", Machine::f64_flops)], [47.9, 23.9]);
        assert_eq!([tera("mi300x", Machine::f32_flops), tera("mi300x", Machine::f64_flops)], [163.4, 81.7]);
    }

    #[test]
    fn a_measurement_overrides_what_it_has() {
        let machine = Machine::named("H200").unwrap();
        let json = r#"{"kind": "peak", "copy_bytes_per_second": 4e12, "l2_bytes_per_second": null, "device": null}"#;
        let measured = machine.clone().with_measured("peak.json", json).unwrap();
        assert_eq!((measured.copy_gb_per_second, measured.l2_gb_per_second), (4000.0, machine.l2_gb_per_second));
        let error = machine.clone().with_measured("bench.json", r#"{"kind": "bench"}"#).unwrap_err().to_string();
        assert!(error.contains("bench.json") && error.contains("lanefield peak --json"), "{error}");
        let error = machine.with_measured("peak.json", r#"{"copy_bytes_per_second": 0}"#).unwrap_err().to_string();
        assert_eq!(error, "peak.json says copy-gb-per-second = 0: expected a number above 0, and at most 10^12");
    }

    #[test]
    fn packed_instructions_count_as_two_on_all_machines_that_have_them() {
        for (name, packs) in [("mi100", 1.0), ("mi250x", 2.0), ("mi300x", 2.0)] {
            let machine = Machine::named(name).unwrap();
            assert_eq!((machine.f32_lanes, machine.issue_lanes), (64.0 * packs, 64.0 * packs), "{name}");
        }
    }

    #[test]
    fn no_file_of_a_machine_says_that_it_was_measured() {
        let (_, text) = SHIPPED[0];
        assert!(Machine::parse("x.toml", &format!("{text}\nread-measured = true")).is_err());
    }

    #[test]
    fn what_is_no_machine_is_named() {
        assert!(Machine::named("rtx").unwrap_err().to_string().contains("no machine 'rtx': use proxy, mi100"));
        let (_, text) = SHIPPED[0];
        let error = |text: &str| Machine::parse("x.toml", text).unwrap_err().to_string();
        assert!(error("compute-units = 1").contains("x.toml cannot be read"));
        assert!(error(&format!("{text}\nwheels = 4")).contains("wheels"));
        assert!(error(&text.replace("lanes = 64", "lanes = 0")).contains("lanes = 0"));
        assert!(error(&text.replace("clock-mhz = 1073", "clock-mhz = nan # ")).contains("clock-mhz = NaN"));
    }

    #[test]
    fn a_device_finds_its_machine_by_name_or_architecture() {
        let mut device = Machine::named("h200").unwrap().device();
        assert_eq!(Machine::of_device(&device).unwrap().name, "NVIDIA H200");
        device.name = "NVIDIA A100-SXM4-80GB".to_owned();
        assert_eq!(Machine::of_device(&device).unwrap().name, "NVIDIA A100");
        (device.name, device.architecture) = ("gfx90a:sramecc+".to_owned(), "gfx90a".to_owned());
        assert_eq!(Machine::of_device(&device).unwrap().name, "AMD MI250X GCD");
        (device.name, device.architecture) = ("pthread".to_owned(), String::new());
        assert_eq!(Machine::of_device(&device), None);
    }
}
