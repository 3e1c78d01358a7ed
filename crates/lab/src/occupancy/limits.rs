//! What each resource of a compute unit allows, and which one binds.

use serde::Serialize;

use super::architecture::{Accumulation, Architecture, MOST_WORK_ITEMS};
use super::next_step::NextStep;
use crate::si::kibi;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Demand {
    pub group: usize,
    /// Registers of a work-item: VGPRs, on AMD's GPUs the architectural ones.
    pub registers: usize,
    /// Accumulation registers (AGPRs) of a work-item.
    pub accumulation: usize,
    /// Scalar registers (SGPRs) of a wave.
    pub scalar: usize,
    /// Bytes of local memory of a group.
    #[serde(rename = "local_bytes")]
    pub local: usize,
}

/// What limits the number of groups on a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    Registers,
    ScalarRegisters,
    LocalMemory,
    WaveSlots,
    GroupSlots,
}

impl Resource {
    /// The name that AMD or NVIDIA give it.
    pub fn name(self, architecture: &Architecture) -> &'static str {
        match (self, architecture.register_name()) {
            (Self::Registers, name) => name,
            (Self::ScalarRegisters, _) => "SGPRs",
            (Self::LocalMemory, "VGPRs") => "LDS",
            (Self::LocalMemory, _) => "shared memory",
            (Self::WaveSlots, "VGPRs") => "wave slots",
            (Self::WaveSlots, _) => "warp slots",
            (Self::GroupSlots, _) if architecture.groups_are_barriers => "barriers",
            (Self::GroupSlots, _) => "block slots",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Limit {
    pub resource: Resource,
    pub groups: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Occupancy {
    pub waves_a_group: usize,
    /// Groups on a unit; 0 where not even one fits.
    pub groups: usize,
    pub waves: usize,
    pub most_waves: usize,
    pub share: f64,
    /// The share of the lanes of a group's waves that have a work-item.
    pub lanes_filled: f64,
    /// Registers that are taken for a work-item, after rounding.
    pub allocated_registers: usize,
    /// Bytes of local memory that are taken for a group, after rounding.
    #[serde(rename = "allocated_local_bytes")]
    pub allocated_local: usize,
    /// The smallest local memory, in KiB, that holds these groups, of those that a driver chooses from.
    #[serde(rename = "carve_out_bytes", serialize_with = "kibi")]
    pub carve_out: Option<usize>,
    pub limits: Vec<Limit>,
    /// The resources that allow no more: all that tie.
    pub binding: Vec<Resource>,
    /// What one group more would need; `None` where the unit holds no more of this size.
    pub next_step: Option<NextStep>,
}

/// Why there is no occupancy to tell.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OccupancyError {
    #[error("'{name}' is no architecture with known rules of occupancy: use one of {known}")]
    UnknownArchitecture { name: String, known: String },
    #[error("{architecture} has no waves of {wave} work-items: use {waves}")]
    NoSuchWave { architecture: &'static str, wave: usize, waves: String },
    #[error("{value} {what} are not possible on {architecture}: use {least} to {most}")]
    OutOfRange { architecture: &'static str, what: &'static str, value: usize, least: usize, most: usize },
}

/// The numbers that no kernel has, by name.
fn check(architecture: &Architecture, demand: &Demand) -> Result<(), OccupancyError> {
    let amd = architecture.register_name() == "VGPRs";
    let most_accumulation = if architecture.accumulation == Accumulation::None { 0 } else { 256 };
    // Without scalar registers of their own, architectures take any number and ignore it.
    let most_scalar = architecture.scalar.map_or(if amd { 128 } else { 0 }, |scalar| scalar.most);
    let numbers = [
        ("work-items a group", demand.group, 1, MOST_WORK_ITEMS),
        (architecture.register_name(), demand.registers, 0, architecture.most_registers),
        ("AGPRs", demand.accumulation, 0, most_accumulation),
        ("SGPRs", demand.scalar, 0, most_scalar),
        ("bytes of local memory a group", demand.local, 0, architecture.most_local),
    ];
    let wrong = numbers.into_iter().find(|&(_, value, least, most)| !(least..=most).contains(&value));
    wrong.map_or(Ok(()), |(what, value, least, most)| {
        Err(OccupancyError::OutOfRange { architecture: architecture.name, what, value, least, most })
    })
}

/// What each resource allows of a kernel whose numbers were checked.
pub(super) fn limits(architecture: &Architecture, demand: &Demand) -> Vec<Limit> {
    let waves_a_group = architecture.waves_of(demand.group);
    let of_waves = |a_partition: usize| architecture.partitions * a_partition / waves_a_group;
    let registers = architecture.allocated_registers(demand.registers, demand.accumulation);
    let mut limits = vec![
        Limit { resource: Resource::WaveSlots, groups: of_waves(architecture.waves_a_partition) },
        Limit { resource: Resource::Registers, groups: of_waves(architecture.registers / registers) },
    ];
    if !(architecture.groups_are_barriers && waves_a_group == 1) {
        limits.push(Limit { resource: Resource::GroupSlots, groups: architecture.groups });
    }
    if let Some(scalar) = architecture.scalar {
        let allocated = demand.scalar.max(1).next_multiple_of(scalar.granule);
        limits.push(Limit { resource: Resource::ScalarRegisters, groups: of_waves(scalar.a_partition / allocated) });
    }
    // Nothing where a group takes none.
    if let Some(groups) = architecture.local_bytes.checked_div(architecture.allocated_local(demand.local)) {
        limits.push(Limit { resource: Resource::LocalMemory, groups });
    }
    limits
}

/// What a unit of `architecture` holds of a kernel that takes `demand`.
pub fn occupancy(architecture: &Architecture, demand: &Demand) -> Result<Occupancy, OccupancyError> {
    check(architecture, demand)?;
    let limits = limits(architecture, demand);
    let groups = limits.iter().map(|limit| limit.groups).min().unwrap_or(0);
    let waves_a_group = architecture.waves_of(demand.group);
    let most_waves = architecture.most_waves();
    let allocated_local = architecture.allocated_local(demand.local);
    let carve_out = architecture.carve_outs.iter().copied().find(|kib| kib * 1024 >= groups * allocated_local);
    Ok(Occupancy {
        waves_a_group,
        groups,
        waves: groups * waves_a_group,
        most_waves,
        share: (groups * waves_a_group) as f64 / most_waves as f64,
        lanes_filled: demand.group as f64 / (waves_a_group * architecture.wave) as f64,
        allocated_registers: architecture.allocated_registers(demand.registers, demand.accumulation),
        allocated_local,
        carve_out,
        binding: limits.iter().filter(|limit| limit.groups == groups).map(|limit| limit.resource).collect(),
        next_step: NextStep::after(architecture, demand, groups),
        limits,
    })
}
