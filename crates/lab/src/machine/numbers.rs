//! The few numbers of a machine that estimates need.

use lanefield::backend::opencl::{DeviceInfo, DeviceKind};
use serde::{Deserialize, Serialize};

use crate::json::si::{giga, mega, micro};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MachineKind {
    Gpu,
    Cpu,
}

/// A machine. Rates are 10⁹ bytes a second; as JSON bytes a second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all(serialize = "snake_case", deserialize = "kebab-case"), deny_unknown_fields)]
pub struct Machine {
    /// What devices call it, so that the same choices are looked up for kernels.
    pub name: String,
    #[serde(default)]
    pub about: String,
    pub kind: MachineKind,
    #[serde(default)]
    pub vendor: String,
    /// `sm_90`, `gfx90a`.
    #[serde(default)]
    pub architecture: String,
    pub compute_units: u32,
    #[serde(rename(serialize = "clock_hertz"), serialize_with = "mega")]
    pub clock_mhz: f64,
    /// Work-items of a wavefront, or f32 numbers of a vector.
    pub lanes: u32,
    /// Work-items that a unit needs to hide latency.
    pub lanes_active: u32,
    /// f32 multiply-adds of a unit a clock, packed ones where it has them: compilers make them of our kernels.
    pub f32_lanes: f64,
    /// f64 multiply-adds of a unit a clock.
    pub f64_lanes: f64,
    /// Bit operations on 32 bits of a unit a clock.
    pub integer_lanes: f64,
    /// Instructions of work-items that a unit issues a clock. A packed instruction counts as the two that it stands for.
    pub issue_lanes: f64,
    /// Bytes of operands that registers deliver to a lane a clock: 12 for the three of a multiply-add.
    pub operand_bytes: f64,
    /// Clocks of a unit for a fetch of 16 bytes by each work-item of a wavefront.
    pub fetch_clocks: f64,
    /// Registers of 32 bits of a unit.
    pub registers: u64,
    pub line_bytes: u64,
    /// Bytes of the part of a line that is moved at least.
    pub sector_bytes: u64,
    pub l1_bytes: u64,
    pub l1_bytes_a_clock: f64,
    /// Last cache before memory, of all units.
    pub l2_bytes: u64,
    /// What passes between it and all units.
    #[serde(rename(serialize = "l2_bytes_per_second"), serialize_with = "giga")]
    pub l2_gb_per_second: f64,
    #[serde(rename(serialize = "peak_bytes_per_second"), serialize_with = "giga")]
    pub peak_gb_per_second: f64,
    #[serde(rename(serialize = "read_bytes_per_second"), serialize_with = "giga")]
    pub read_gb_per_second: f64,
    /// Copy bandwidth that is achieved, bytes read and written.
    #[serde(rename(serialize = "copy_bytes_per_second"), serialize_with = "giga")]
    pub copy_gb_per_second: f64,
    #[serde(rename(serialize = "launch_seconds"), serialize_with = "micro")]
    pub launch_microseconds: f64,
    /// Whether the read bandwidth is that of a measurement, which then stands for the vendor's peak. No file of a machine says so.
    #[serde(default, skip_deserializing)]
    pub read_measured: bool,
}

impl Machine {
    /// What traversals and workloads take for the bandwidth of memory: the read bandwidth where it was measured, else the vendor's peak, in 10⁹ bytes a
    /// second.
    pub fn gauge_gb_per_second(&self) -> f64 {
        if self.read_measured { self.read_gb_per_second } else { self.peak_gb_per_second }
    }

    pub(crate) fn unit_clocks(&self) -> f64 {
        f64::from(self.compute_units) * self.clock_mhz * 1e6
    }

    /// Peak of f32 arithmetic, operations a second: a multiply-add is two.
    pub fn f32_flops(&self) -> f64 {
        2.0 * self.unit_clocks() * self.f32_lanes
    }

    pub fn f64_flops(&self) -> f64 {
        2.0 * self.unit_clocks() * self.f64_lanes
    }

    /// A device as the choices for kernels are looked up for it.
    pub fn device(&self) -> DeviceInfo {
        let kind = if self.kind == MachineKind::Cpu { DeviceKind::Cpu } else { DeviceKind::Gpu };
        DeviceInfo {
            platform_name: self.vendor.clone(),
            vendor: self.vendor.clone(),
            architecture: self.architecture.clone(),
            kind,
            compute_units: self.compute_units,
            max_clock_mhz: self.clock_mhz as u32,
            global_cache_bytes: self.l2_bytes,
            preferred_work_group_multiple: Some(self.lanes as usize),
            ..DeviceInfo::imagined(&self.name)
        }
    }
}
