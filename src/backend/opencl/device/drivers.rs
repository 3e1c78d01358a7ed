//! Drivers with defects or unusual behaviour: facts in `drivers.toml`, and how they change a device.

use serde::{Deserialize, Serialize};

use crate::toml_text;

/// The environment variable with a file that replaces the facts of this version, or `none`.
pub(super) const DRIVERS: &str = "LANEFIELD_DRIVERS";

/// A defect of a driver, and its workaround.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DriverFact {
    /// The defect.
    pub wrong: String,
    /// The workaround.
    pub instead: String,
    /// The versions in which it was seen, and where.
    pub seen: String,
    #[serde(default, skip_serializing)]
    platform: String,
    #[serde(default, skip_serializing)]
    device: String,
    #[serde(default, skip_serializing)]
    driver: Vec<String>,
    #[serde(default, skip_serializing)]
    pub(super) one_queue: bool,
    #[serde(default, skip_serializing)]
    pub(super) keeps_programs: bool,
    #[serde(default, skip_serializing)]
    pub(super) one_lane: bool,
    #[serde(default, skip_serializing)]
    pub(super) most_work_items: Option<usize>,
    #[serde(default, skip_serializing)]
    pub(super) local_memory_kept_back: u64,
    #[serde(default, skip_serializing)]
    pub(super) options: String,
    #[serde(default, skip_serializing)]
    pub(super) lacks: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    driver: Vec<DriverFact>,
}

impl DriverFact {
    /// The facts of this version, or of the file that the environment names.
    ///
    /// # Errors
    /// A sentence about a file that cannot be read or is malformed.
    pub(super) fn all() -> Result<Vec<Self>, String> {
        match std::env::var_os(DRIVERS) {
            None => Ok(shipped()),
            Some(none) if none == "none" => Ok(Vec::new()),
            Some(path) => {
                let named = |why| format!("{DRIVERS} names '{}', {why}", path.display());
                let cure = "give a file as src/backend/opencl/device/drivers.toml, or none";
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| named(format!("which cannot be read ({error}): {cure}")))?;
                read(&text).map_err(|error| named(format!("which is wrong: {error}")))
            }
        }
    }

    /// Whether this fact applies to a device, given its platform, its name and its driver's version.
    pub(super) fn holds_of(&self, platform: &str, device: &str, driver: &str) -> bool {
        let contains = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
        let of_version = |version: &String| {
            let rest = driver.strip_prefix(version.as_str());
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
        };
        contains(platform, &self.platform)
            && contains(device, &self.device)
            && (self.driver.is_empty() || self.driver.iter().any(of_version))
    }
}

fn read(text: &str) -> Result<Vec<DriverFact>, String> {
    toml_text::from_str::<File>(text).map(|file| file.driver)
}

fn shipped() -> Vec<DriverFact> {
    read(include_str!("drivers.toml")).unwrap_or_else(|error| unreachable!("drivers.toml: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::info::DeviceInfo;
    use super::super::testing::device;
    use super::*;

    #[test]
    fn an_entry_holds_of_the_devices_that_it_names() {
        let fact = |text: &str| read(&format!("[[driver]]\nwrong = ''\ninstead = ''\nseen = ''\n{text}")).unwrap();
        let holds = |text: &str| fact(text)[0].holds_of("NVIDIA CUDA", "NVIDIA H200", "580.159.04");
        for text in ["", "platform = 'nvidia'", "device = 'h200'", "driver = ['580']", "driver = ['1', '580.159.04']"] {
            assert!(holds(text), "{text}");
        }
        for text in ["platform = 'AMD'", "device = 'H100'", "driver = ['58']", "driver = ['580.159.0', '580.159.041']"]
        {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn what_is_shipped_changes_the_devices_that_it_is_about() {
        let facts = shipped();
        let mut info = device("cpu");
        let before = info.clone();
        info.know(&facts).unwrap();
        assert_eq!(info, before);
        info.platform_name = "NVIDIA CUDA".to_owned();
        info.driver_version = "580.159.04".to_owned();
        info.know(&facts).unwrap();
        assert_eq!(info.local_memory_bytes, before.local_memory_bytes - 16);
        assert_eq!(info.known.len(), 2);
        let mut pocl = DeviceInfo { platform_name: "Portable Computing Language".to_owned(), ..before };
        pocl.know(&facts).unwrap();
        assert!(pocl.runs_one_queue() && pocl.keeps_programs() && pocl.known.iter().any(|fact| fact.options == "-w"));
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_line() {
        let error = read("[[driver]]\nwrong = 'x'\ninstead = 'y'\nseen = 'z'\ntwo-queues = true\n").err().unwrap();
        assert!(error.contains("line 5") && error.contains("two-queues"), "{error}");
        let mut info = device("cpu");
        let facts = read("[[driver]]\nwrong = 'x'\ninstead = 'y'\nseen = 'z'\nlacks = 'f128'\n").unwrap();
        assert!(info.know(&facts).unwrap_err().contains("'f128'"));
    }
}
