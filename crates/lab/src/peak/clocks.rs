//! Clock rates from a tool of the vendor: OpenCL reports only the highest clock of a device, not the current one.

use std::process::Command;

use lanefield::backend::opencl::DeviceInfo;

use super::record::Clocks;

const QUERY: &str = "name,clocks.sm,clocks.max.sm,clocks.mem,power.draw,temperature.gpu";

/// The clocks that nvidia-smi reports for a device; `None` without this tool, or if it does not know the device.
pub(super) fn of(info: &DeviceInfo) -> Option<Clocks> {
    if !info.platform_name.contains("NVIDIA") {
        return None;
    }
    let output = Command::new("nvidia-smi")
        .args([&format!("--query-gpu={QUERY}"), "--format=csv,noheader,nounits"])
        .output()
        .ok()?;
    parse(&String::from_utf8_lossy(&output.stdout), &info.name)
}

/// The first line for a device with this name.
fn parse(text: &str, name: &str) -> Option<Clocks> {
    let of_device = |line: &&str| line.split(',').next().is_some_and(|first| first.trim() == name);
    let mut fields = text.lines().find(of_device)?.split(',').skip(1).map(|field| field.trim().parse().ok());
    let mut next = || fields.next().flatten();
    Some(Clocks {
        source: "nvidia-smi".to_owned(),
        units_mhz: next(),
        units_max_mhz: next(),
        memory_mhz: next(),
        power_watts: next(),
        temperature_celsius: next(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_device_is_read_and_what_is_not_supported_is_none() {
        let text = "NVIDIA A2, 210, 1770, 405, 8.1, 30\nNVIDIA H200, 1755, 1980, 3201, 512.25, [N/A]\n";
        let clocks = parse(text, "NVIDIA H200").unwrap();
        assert_eq!(
            (clocks.units_mhz, clocks.units_max_mhz, clocks.memory_mhz),
            (Some(1755.0), Some(1980.0), Some(3201.0))
        );
        assert_eq!((clocks.power_watts, clocks.temperature_celsius), (Some(512.25), None));
        assert_eq!(parse(text, "NVIDIA H100"), None);
        assert_eq!(parse("NVIDIA-SMI has failed", "NVIDIA H200"), None);
    }
}
