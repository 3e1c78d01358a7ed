//! How many groups each resource of a compute unit allows, and which one is the limit.

use serde::Serialize;

use super::architecture::{Accumulation, Architecture, MOST_WORK_ITEMS, OccupancyError};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Demand {
    pub group: usize,
    /// Registers per work-item: VGPRs; on AMD's GPUs the architectural ones.
    pub registers: usize,
    /// Accumulation registers (AGPRs) per work-item.
    pub accumulation: usize,
    /// Scalar registers (SGPRs) per wave.
    pub scalar: usize,
    /// Bytes of local memory per group.
    #[serde(rename = "local_bytes")]
    pub local: usize,
}

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
pub struct GroupLimit {
    pub resource: Resource,
    pub groups: usize,
}

/// Checks for numbers that no kernel can have, by name.
pub(crate) fn check(architecture: &Architecture, demand: &Demand) -> Result<(), OccupancyError> {
    let amd = architecture.register_name() == "VGPRs";
    let most_accumulation = if architecture.accumulation == Accumulation::None { 0 } else { 256 };
    // Architectures without scalar registers of their own accept any number and ignore it.
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

/// Fraction of the lanes of a group's wavefronts that have a work-item, 0 to 1.
pub(crate) fn lanes_filled(group: usize, wavefront: usize) -> f64 {
    group as f64 / (group.div_ceil(wavefront) * wavefront) as f64
}

/// The groups that each resource allows, for a kernel whose numbers were checked.
pub(crate) fn limits(architecture: &Architecture, demand: &Demand) -> Vec<GroupLimit> {
    let waves_a_group = architecture.waves_of(demand.group);
    let of_waves = |a_partition: usize| architecture.partitions * a_partition / waves_a_group;
    let registers = architecture.allocated_registers(demand.registers, demand.accumulation);
    let mut limits = vec![
        GroupLimit { resource: Resource::WaveSlots, groups: of_waves(architecture.waves_a_partition) },
        GroupLimit { resource: Resource::Registers, groups: of_waves(architecture.registers / registers) },
    ];
    if !(architecture.groups_are_barriers && waves_a_group == 1) {
        limits.push(GroupLimit { resource: Resource::GroupSlots, groups: architecture.groups });
    }
    if let Some(scalar) = architecture.scalar {
        let allocated = demand.scalar.max(1).next_multiple_of(scalar.granule);
        limits
            .push(GroupLimit { resource: Resource::ScalarRegisters, groups: of_waves(scalar.a_partition / allocated) });
    }
    // No limit if a group uses none.
    if let Some(groups) = architecture.local_bytes.checked_div(architecture.allocated_local(demand.local)) {
        limits.push(GroupLimit { resource: Resource::LocalMemory, groups });
    }
    limits
}

pub(crate) fn groups_held(architecture: &Architecture, demand: &Demand) -> usize {
    limits(architecture, demand).iter().map(|limit| limit.groups).min().unwrap_or(0)
}
