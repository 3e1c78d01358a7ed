//! Selects the backend of a command: resolves `--device` and `LANEFIELD_DEVICE` among the devices of the machine.

use std::fmt;
use std::str::FromStr;

use super::opencl::{DeviceInfo, DeviceKind, devices, faults};

/// A user's choice of device: `cpu | auto | INDEX | part of a name | part of a name:NUMBER`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The CPU reference.
    Cpu,
    /// The first GPU, or else any OpenCL device, or else the CPU reference.
    #[default]
    Auto,
    /// The device with this index in the list of devices.
    Index(usize),
    /// The device whose platform, vendor or own name contains this text, in upper or lower case, or a common name of the platform (`pocl`,
    /// `amd`). If several equal devices match, it is the first one. A number after a colon, counted from 0, selects one of several.
    Name(String),
}

impl FromStr for DeviceChoice {
    type Err = SelectError;

    fn from_str(text: &str) -> Result<Self, SelectError> {
        let text = text.trim();
        if text.is_empty() {
            Err(SelectError::Empty)
        } else if text.eq_ignore_ascii_case("cpu") {
            Ok(DeviceChoice::Cpu)
        } else if text.eq_ignore_ascii_case("auto") {
            Ok(DeviceChoice::Auto)
        } else if let Ok(index) = text.parse() {
            Ok(DeviceChoice::Index(index))
        } else {
            Ok(DeviceChoice::Name(text.to_owned()))
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Auto => f.write_str("auto"),
            DeviceChoice::Index(index) => write!(f, "{index}"),
            DeviceChoice::Name(name) => f.write_str(name),
        }
    }
}

/// The backend that a choice selects on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selected {
    /// The CPU reference.
    Cpu,
    /// An OpenCL device.
    OpenCl(Box<DeviceInfo>),
}

impl fmt::Display for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selected::Cpu => f.write_str("CPU reference"),
            Selected::OpenCl(device) => write!(f, "OpenCL device {device}"),
        }
    }
}

/// Why a choice selects no device, or more than one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum SelectError {
    #[error("the device is empty: give cpu, auto, a number, or part of a name")]
    Empty,
    #[error("there is no OpenCL device {index}; {listing}")]
    NoSuchIndex { index: usize, listing: String },
    #[error("failed to find the device '{choice}': {reason}")]
    NoOpenCl { choice: String, reason: String },
    #[error("no OpenCL device, vendor or platform has \"{name}\" in its name; {listing}")]
    NoSuchName { name: String, listing: String },
    #[error("\"{name}\" is in the names of {} devices: {}; give more of the name, the number, or '{name}:0' for the first of these", .matches.len(), .matches.join("; "))]
    Ambiguous { name: String, matches: Vec<String> },
    #[error("device {device} cannot be used: {reason}; {listing}")]
    Unusable { device: String, reason: String, listing: String },
}

/// The backend that `choice` selects, if `devices` are the OpenCL devices of the machine (empty if it has no OpenCL).
///
/// # Errors
/// [`SelectError`] lists the available devices. `auto` and `cpu` never fail.
pub fn resolve(choice: &DeviceChoice, devices: &[DeviceInfo]) -> Result<Selected, SelectError> {
    resolve_for(choice, devices, (0, 1))
}

/// As [`resolve`], for one of several ranks of a host: its number and the number of ranks. The ranks take the GPUs in turn, or the equal
/// devices of one name.
pub fn resolve_for(
    choice: &DeviceChoice,
    devices: &[DeviceInfo],
    (rank, ranks): (usize, usize),
) -> Result<Selected, SelectError> {
    match choice {
        DeviceChoice::Cpu => Ok(Selected::Cpu),
        DeviceChoice::Auto => {
            let usable = || devices.iter().filter(|device| device.unusable_because().is_none());
            let gpus: Vec<&DeviceInfo> = usable().filter(|device| device.kind == DeviceKind::Gpu).collect();
            let taken = if gpus.is_empty() { usable().next() } else { Some(gpus[rank % gpus.len()]) };
            Ok(taken.map_or(Selected::Cpu, take))
        }
        DeviceChoice::Index(index) => match devices.iter().find(|device| device.index == *index) {
            Some(device) => take_usable(device, devices),
            None => Err(SelectError::NoSuchIndex { index: *index, listing: listing(devices) }),
        },
        DeviceChoice::Name(name) => {
            let mut found = matching(name, devices);
            let mut number = None;
            if let (true, Some((name, asked))) = (found.is_empty(), ordinal(name)) {
                found = matching(name, devices);
                number = Some(asked);
            }
            let equal = || {
                found
                    .iter()
                    .all(|device| (&device.name, &device.platform_name) == (&found[0].name, &found[0].platform_name))
            };
            match (found.len(), number) {
                (0, _) => Err(SelectError::NoSuchName { name: name.clone(), listing: listing(devices) }),
                (several, Some(number)) if number >= several => {
                    Err(SelectError::NoSuchName { name: name.clone(), listing: listing(devices) })
                }
                (_, Some(number)) => take_usable(found[number], devices),
                (several, None) if equal() => take_usable(found[if ranks > 1 { rank % several } else { 0 }], devices),
                _ => Err(SelectError::Ambiguous {
                    name: name.clone(),
                    matches: found.iter().map(|device| device.to_string()).collect(),
                }),
            }
        }
    }
}

/// The backend that a choice selects on this machine for a rank (see [`resolve_for`]), and a note for the user: why `auto` is the CPU
/// reference, or that there are several such devices. No driver is loaded for the CPU reference.
///
/// # Errors
/// [`SelectError`]; [`SelectError::NoOpenCl`] if a device was named and there is no OpenCL.
pub fn select(choice: &DeviceChoice, ranks: (usize, usize)) -> Result<(Selected, Option<String>), SelectError> {
    if *choice == DeviceChoice::Cpu {
        return Ok((Selected::Cpu, None));
    }
    let listed = match devices() {
        Ok(listed) => listed,
        Err(error) if *choice == DeviceChoice::Auto => {
            return Ok((Selected::Cpu, Some(format!("{error}; taking the CPU reference"))));
        }
        Err(error) => return Err(SelectError::NoOpenCl { choice: choice.to_string(), reason: error.to_string() }),
    };
    let why_none = || {
        let unusable =
            listed.iter().filter_map(|device| Some(format!("device {device}: {}", device.unusable_because()?)));
        unusable.chain(faults().unwrap_or_default()).collect::<Vec<_>>().join("; ")
    };
    let selected = resolve_for(choice, &listed, ranks).map_err(|error| match error {
        SelectError::NoSuchIndex { index, listing } => {
            SelectError::NoSuchIndex { index, listing: with_reasons(listing, &why_none()) }
        }
        SelectError::NoSuchName { name, listing } => {
            SelectError::NoSuchName { name, listing: with_reasons(listing, &why_none()) }
        }
        error => error,
    })?;
    let note = match (&selected, choice) {
        (Selected::Cpu, _) => Some(format!("no OpenCL device can be used ({}); taking the CPU reference", why_none())),
        (Selected::OpenCl(device), DeviceChoice::Name(name)) if ranks.1 == 1 && ordinal(name).is_none() => {
            let several = matching(name, &listed).len();
            (several > 1).then(|| {
                format!("{several} equal devices are called '{name}': taking {device}; '{name}:1' is the second")
            })
        }
        _ => None,
    };
    Ok((selected, note))
}

fn with_reasons(listing: String, reasons: &str) -> String {
    if reasons.is_empty() { listing } else { format!("{listing}; {reasons}") }
}

/// The OpenCL device for tests: the one that `LANEFIELD_DEVICE` names, or else the one that `auto` selects. `None` if
/// `LANEFIELD_SKIP_OPENCL` is 1.
///
/// # Errors
/// A sentence that says why there is no device, and what to do about it.
#[doc(hidden)]
pub fn device_for_tests() -> Result<Option<DeviceInfo>, String> {
    if std::env::var_os("LANEFIELD_SKIP_OPENCL").is_some_and(|skip| skip == "1") {
        return Ok(None);
    }
    let choice = std::env::var("LANEFIELD_DEVICE").map_or(Ok(DeviceChoice::Auto), |text| text.parse());
    let found = choice.and_then(|choice| select(&choice, (0, 1)));
    let reason = match found {
        Ok((Selected::OpenCl(device), _)) => return Ok(Some(*device)),
        Ok((Selected::Cpu, note)) => {
            note.unwrap_or_else(|| "the CPU reference was chosen with --device or LANEFIELD_DEVICE".to_owned())
        }
        Err(error) => error.to_string(),
    };
    Err(format!("the OpenCL tests need a device: {reason}; LANEFIELD_SKIP_OPENCL=1 skips these tests"))
}

/// Common names of vendors' platforms, and words of the platforms' names.
const PLATFORMS: [(&str, &str); 4] = [
    ("pocl", "portable computing language"),
    ("amd", "advanced micro devices"),
    ("rocm", "amd accelerated"),
    ("cuda", "nvidia"),
];

/// The devices whose platform has this name, in upper or lower case; or else those whose vendor has it; or else those whose own name has
/// it. (An Intel CPU under PoCL thus does not count as a device of Intel's driver if that exists, too.) Unusable devices count only if no
/// others match.
fn matching<'a>(name: &str, devices: &'a [DeviceInfo]) -> Vec<&'a DeviceInfo> {
    let wanted = name.to_lowercase();
    let meant = PLATFORMS.iter().find(|(word, _)| *word == wanted).map(|(_, platform)| *platform);
    let contains = |text: &str| {
        let text = text.to_lowercase();
        text.contains(&wanted) || meant.is_some_and(|meant| text.contains(meant))
    };
    // If no name matches "gpu": all GPUs.
    let kinds = |device: &&DeviceInfo| wanted == "gpu" && device.kind == DeviceKind::Gpu;
    let texts: [fn(&DeviceInfo) -> &str; 3] =
        [|device| &device.platform_name, |device| &device.vendor, |device| &device.name];
    let of = |text: fn(&DeviceInfo) -> &str| -> Vec<&'a DeviceInfo> {
        devices.iter().filter(|device| contains(text(device))).collect()
    };
    let found = texts.into_iter().map(of).find(|found| !found.is_empty());
    let found = found.unwrap_or_else(|| devices.iter().filter(kinds).collect());
    let usable: Vec<_> = found.iter().copied().filter(|device| device.unusable_because().is_none()).collect();
    if usable.is_empty() { found } else { usable }
}

/// The name and the number of `nvidia:1`.
fn ordinal(name: &str) -> Option<(&str, usize)> {
    let (name, number) = name.rsplit_once(':')?;
    Some((name, number.parse().ok()?))
}

fn take(device: &DeviceInfo) -> Selected {
    Selected::OpenCl(Box::new(device.clone()))
}

fn take_usable(device: &DeviceInfo, devices: &[DeviceInfo]) -> Result<Selected, SelectError> {
    match device.unusable_because() {
        None => Ok(take(device)),
        Some(reason) => Err(SelectError::Unusable {
            device: device.to_string(),
            reason: reason.to_owned(),
            listing: listing(devices),
        }),
    }
}

fn listing(devices: &[DeviceInfo]) -> String {
    if devices.is_empty() {
        return "this machine has no OpenCL device, only the CPU reference (cpu)".to_owned();
    }
    let names: Vec<String> = devices.iter().map(DeviceInfo::to_string).collect();
    format!("there are: {}; and the CPU reference (cpu)", names.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::opencl::testing::device;
    use super::*;

    /// PoCL first, then two GPUs of one kind.
    fn machine() -> Vec<DeviceInfo> {
        let pocl = DeviceInfo {
            kind: DeviceKind::Cpu,
            platform_name: "Portable Computing Language".into(),
            vendor: "GenuineIntel".into(),
            ..device("pthread-skylake")
        };
        let gpu = |index| DeviceInfo {
            index,
            platform_name: "NVIDIA CUDA".into(),
            vendor: "NVIDIA Corporation".into(),
            ..device("NVIDIA H200")
        };
        vec![pocl, gpu(1), gpu(2)]
    }

    fn index_of(choice: &str, devices: &[DeviceInfo]) -> usize {
        match resolve(&choice.parse().unwrap(), devices).unwrap() {
            Selected::OpenCl(device) => device.index,
            Selected::Cpu => panic!("{choice} gave the CPU reference"),
        }
    }

    #[test]
    fn ranks_of_a_host_take_its_gpus_in_turn() {
        let taken = |choice: &str, rank, ranks| match resolve_for(&choice.parse().unwrap(), &machine(), (rank, ranks)) {
            Ok(Selected::OpenCl(device)) => Some(device.index),
            Ok(Selected::Cpu) => panic!("{choice} gave the CPU reference"),
            Err(_) => None,
        };
        assert_eq!([0, 1, 2].map(|rank| taken("auto", rank, 3)), [Some(1), Some(2), Some(1)]);
        assert_eq!([0, 1].map(|rank| taken("h200", rank, 2)), [Some(1), Some(2)]);
        assert_eq!([taken("h200", 0, 1), taken("2", 0, 2), taken("2", 1, 2)], [Some(1), Some(2), Some(2)]);
        assert_eq!([0, 1].map(|rank| taken("nvidia:1", rank, 2)), [Some(2), Some(2)]);
    }

    #[test]
    fn a_choice_displays_as_what_it_is_read_from() {
        for (text, choice) in [
            ("cpu", DeviceChoice::Cpu),
            ("auto", DeviceChoice::Auto),
            ("3", DeviceChoice::Index(3)),
            ("h200", DeviceChoice::Name("h200".into())),
        ] {
            assert_eq!(text.parse::<DeviceChoice>().unwrap(), choice);
            assert_eq!(choice.to_string(), text);
        }
        assert_eq!(" CPU ".parse::<DeviceChoice>().unwrap(), DeviceChoice::Cpu);
        assert_eq!("  ".parse::<DeviceChoice>().unwrap_err(), SelectError::Empty);
    }

    #[test]
    fn auto_is_the_first_gpu_then_any_device_then_the_reference() {
        let devices = machine();
        assert_eq!(index_of("auto", &devices), 1);
        assert_eq!(index_of("auto", &devices[..1]), 0);
        assert_eq!(resolve(&DeviceChoice::Auto, &[]).unwrap(), Selected::Cpu);
    }

    #[test]
    fn auto_passes_over_a_gpu_that_cannot_be_used() {
        let mut devices = machine();
        devices[1].compiler_available = false;
        assert_eq!(index_of("auto", &devices), 2);
        devices[2].available = false;
        assert_eq!(index_of("auto", &devices), 0);
    }

    #[test]
    fn a_name_matches_device_and_platform_in_any_case() {
        let devices = machine();
        assert_eq!(index_of("SKYLAKE", &devices), 0);
        assert_eq!(index_of("portable", &devices), 0);
        assert_eq!(index_of("h200", &devices[..2]), 1);
    }

    #[test]
    fn platforms_have_the_names_that_people_give_them_and_come_before_vendors_and_devices() {
        let devices = machine();
        for (name, index) in
            [("pocl", 0), ("POCL:0", 0), ("nvidia", 1), ("NVIDIA:1", 2), ("cuda", 1), ("GPU", 1), ("intel", 0)]
        {
            assert_eq!(index_of(name, &devices), index, "{name}");
        }
        let of = |platform: &str, vendor: &str, name: &str| DeviceInfo {
            index: 3,
            platform_name: platform.into(),
            vendor: vendor.into(),
            ..device(name)
        };
        let beside = |other| [machine(), vec![other]].concat();
        assert_eq!(index_of("intel", &beside(of("Intel(R) OpenCL", "Intel(R) Corporation", "Arc"))), 3);
        let amd =
            beside(of("AMD Accelerated Parallel Processing", "Advanced Micro Devices, Inc.", "gfx90a:sramecc+:xnack-"));
        for name in ["amd", "rocm", "gfx90a", "gfx90a:sramecc+"] {
            assert_eq!(index_of(name, &amd), 3, "{name}");
        }
        assert_eq!(index_of("amd", &beside(of("rusticl", "Advanced Micro Devices, Inc.", "navi31"))), 3);
    }

    #[test]
    fn an_ambiguous_name_lists_its_matches() {
        let mut devices = machine();
        devices[2].name = "NVIDIA A100".into();
        let message = resolve(&DeviceChoice::Name("nvidia".into()), &devices).unwrap_err().to_string();
        assert!(message.contains("2 devices: 1: NVIDIA H200") && message.contains("; 2: NVIDIA A100"), "{message}");
        assert!(!message.contains("skylake") && message.contains("'nvidia:0'"), "{message}");
        assert_eq!(index_of("nvidia:1", &devices), 2);
        let message = resolve(&DeviceChoice::Name("nvidia:2".into()), &devices).unwrap_err().to_string();
        assert!(message.contains("\"nvidia:2\""), "{message}");
    }

    #[test]
    fn a_device_that_is_not_there_gives_the_list_of_those_that_are() {
        let message = resolve(&DeviceChoice::Index(7), &machine()).unwrap_err().to_string();
        assert!(message.contains("no OpenCL device 7") && message.contains("0: pthread-skylake"), "{message}");
        let message = resolve(&DeviceChoice::Name("arc".into()), &[]).unwrap_err().to_string();
        assert!(message.contains("\"arc\"") && message.contains("only the CPU reference"), "{message}");
    }

    #[test]
    fn a_device_without_a_compiler_is_refused_by_name() {
        let mut devices = machine();
        devices[0].compiler_available = false;
        let message = resolve(&DeviceChoice::Index(0), &devices).unwrap_err().to_string();
        assert!(message.contains("cannot be used: the driver has no OpenCL C compiler"), "{message}");
    }
}
