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

/// A machine. Rates are 10⁹ bytes per second; in JSON, bytes per second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all(serialize = "snake_case", deserialize = "kebab-case"), deny_unknown_fields)]
pub struct Machine {
    /// The name that devices have, so that the same defaults for kernels are found.
    pub name: String,
    #[serde(default)]
    pub about: String,
    pub kind: MachineKind,
    #[serde(default)]
    pub vendor: String,
    /// For example `sm_90`, `gfx90a`.
    #[serde(default)]
    pub architecture: String,
    pub compute_units: u32,
    #[serde(rename(serialize = "clock_hertz"), serialize_with = "mega")]
    pub clock_mhz: f64,
    /// Work-items per wavefront, or f32 numbers per vector.
    pub lanes: u32,
    /// Work-items that a compute unit needs to hide latency.
    pub lanes_active: u32,
    /// f32 multiply-adds per unit and clock; packed ones if it has them, since compilers use them in our kernels.
    pub f32_lanes: f64,
    /// f64 multiply-adds per unit and clock.
    pub f64_lanes: f64,
    /// 32-bit bit operations per unit and clock.
    pub integer_lanes: f64,
    /// Vector instructions that a unit issues per clock. A packed instruction counts as two.
    pub issue_lanes: f64,
    /// Bytes of operands that registers deliver per lane and clock: 12 for the three of a multiply-add.
    pub operand_bytes: f64,
    /// Clocks of a unit for a fetch of 16 bytes by each work-item of a wavefront.
    pub fetch_clocks: f64,
    /// 32-bit registers per unit.
    pub registers: u64,
    pub line_bytes: u64,
    /// Size in bytes of a sector, the smallest part of a line that is moved.
    pub sector_bytes: u64,
    pub l1_bytes: u64,
    pub l1_bytes_a_clock: f64,
    /// Size of the last cache before memory, for all units.
    pub l2_bytes: u64,
    /// Bandwidth between that cache and all units.
    #[serde(rename(serialize = "l2_bytes_per_second"), serialize_with = "giga")]
    pub l2_gb_per_second: f64,
    #[serde(rename(serialize = "peak_bytes_per_second"), serialize_with = "giga")]
    pub peak_gb_per_second: f64,
    #[serde(rename(serialize = "read_bytes_per_second"), serialize_with = "giga")]
    pub read_gb_per_second: f64,
    /// Achieved copy bandwidth, bytes read plus bytes written.
    #[serde(rename(serialize = "copy_bytes_per_second"), serialize_with = "giga")]
    pub copy_gb_per_second: f64,
    #[serde(rename(serialize = "launch_seconds"), serialize_with = "micro")]
    pub launch_microseconds: f64,
    /// Whether the read bandwidth was measured, and replaces the vendor's peak. Files of machines do not have this key.
    #[serde(default, skip_deserializing)]
    pub read_measured: bool,
}

impl Machine {
    /// The bandwidth of memory for traversals and workloads, in 10⁹ bytes per second: the read bandwidth if it was measured, otherwise the vendor's
    /// peak.
    pub fn gauge_gb_per_second(&self) -> f64 {
        if self.read_measured { self.read_gb_per_second } else { self.peak_gb_per_second }
    }

    pub(crate) fn unit_clocks(&self) -> f64 {
        f64::from(self.compute_units) * self.clock_mhz * 1e6
    }

    /// Peak f32 operations per second; a multiply-add counts as two.
    pub fn f32_flops(&self) -> f64 {
        2.0 * self.unit_clocks() * self.f32_lanes
    }

    pub fn f64_flops(&self) -> f64 {
        2.0 * self.unit_clocks() * self.f64_lanes
    }

    /// The device information with which defaults for kernels are looked up.
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
