//! The groups of a kernel that a compute unit holds.

use serde::Serialize;

use super::next_step::NextStep;
use crate::json::si::kibi;
use crate::model::{
    Architecture, Demand, GroupLimit, OccupancyError, Resource, check, groups_held, lanes_filled, limits,
};

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Occupancy {
    pub waves_a_group: usize,
    /// Groups per unit; 0 if not even one fits.
    pub groups: usize,
    pub waves: usize,
    pub most_waves: usize,
    pub share: f64,
    /// The fraction of the lanes of a group's waves that have a work-item.
    pub lanes_filled: f64,
    pub allocated_registers: usize,
    /// Bytes of local memory allocated for a group, after rounding.
    #[serde(rename = "allocated_local_bytes")]
    pub allocated_local: usize,
    /// The smallest local memory, in KiB, among those of which a driver chooses one, that holds these groups.
    #[serde(rename = "carve_out_bytes", serialize_with = "kibi")]
    pub carve_out: Option<usize>,
    pub limits: Vec<GroupLimit>,
    /// The resources that allow no more: all, if several are equal.
    pub binding: Vec<Resource>,
    /// What one more group would need; `None` if the unit holds no more groups of this size.
    pub next_step: Option<NextStep>,
}

pub fn occupancy(architecture: &Architecture, demand: &Demand) -> Result<Occupancy, OccupancyError> {
    check(architecture, demand)?;
    let limits = limits(architecture, demand);
    let groups = groups_held(architecture, demand);
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
        lanes_filled: lanes_filled(demand.group, architecture.wave),
        allocated_registers: architecture.allocated_registers(demand.registers, demand.accumulation),
        allocated_local,
        carve_out,
        binding: limits.iter().filter(|limit| limit.groups == groups).map(|limit| limit.resource).collect(),
        next_step: NextStep::after(architecture, demand, groups),
        limits,
    })
}
