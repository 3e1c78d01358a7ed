//! This host as a machine.

use lanefield::backend::Cpu;

use crate::bandwidth::Operation;
use crate::ceilings::MemoryOf;
use crate::description::{Description as _, named};
use crate::machine::{Machine, MachineKind, cache_of_host};
use crate::model::ModelError;

impl Machine {
    /// The machine that ships under this name, ignoring case; `host` is measured.
    pub fn named(name: &str) -> Result<Self, ModelError> {
        if name.eq_ignore_ascii_case("host") {
            return Self::host();
        }
        Ok(named("machine", Self::shipped(), &["host"], name)?)
    }

    /// This host: bandwidths are measured with the number of threads of the CPU reference; the system reports cores, clock and caches. The rate of
    /// a core from the last cache is not measured: 16 bytes per clock are assumed.
    pub fn host() -> Result<Self, ModelError> {
        let cpu = Cpu::new(None)?;
        let ceiling = |operation| MemoryOf::Host(&cpu).ceiling(operation, None);
        let (copy, read) = (ceiling(Operation::Copy)? / 1e9, ceiling(Operation::Read)? / 1e9);
        let cores = u32::try_from(cpu.threads()).unwrap_or(1).max(1);
        let clock_mhz = clock_of_host().unwrap_or(2000.0);
        let vector_bytes = match Cpu::vector_instructions() {
            name if name.contains("512") => 64,
            name if name.contains("AVX") => 32,
            _ => 16,
        };
        let machine = Self {
            name: "this host".to_owned(),
            about: "bandwidths measured; cores, clock and caches as the system tells".to_owned(),
            kind: MachineKind::Cpu,
            vendor: String::new(),
            architecture: String::new(),
            compute_units: cores,
            clock_mhz,
            lanes: vector_bytes / 4,
            lanes_active: vector_bytes / 4,
            f32_lanes: f64::from(vector_bytes / 4) * 2.0,
            f64_lanes: f64::from(vector_bytes / 8) * 2.0,
            integer_lanes: f64::from(vector_bytes / 4) * 2.0,
            issue_lanes: f64::from(vector_bytes / 4) * 4.0,
            operand_bytes: 12.0,
            fetch_clocks: f64::from(vector_bytes / 4) * 16.0 / (2.0 * f64::from(vector_bytes)),
            registers: 32 * u64::from(vector_bytes / 4),
            line_bytes: 64,
            sector_bytes: 64,
            l1_bytes: cache_of_host(1).unwrap_or(32 << 10),
            l1_bytes_a_clock: 2.0 * f64::from(vector_bytes),
            l2_bytes: cache_of_host(3).or_else(|| cache_of_host(2)).unwrap_or(8 << 20),
            l2_gb_per_second: (f64::from(cores) * clock_mhz * 16.0 / 1e3).max(copy),
            peak_gb_per_second: read.max(copy),
            read_gb_per_second: read,
            copy_gb_per_second: copy,
            launch_microseconds: 5.0,
            read_measured: true,
        };
        machine.check("this host")?;
        Ok(machine)
    }
}

fn clock_of_host() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split(':').nth(1)?.trim().parse().ok()
}
