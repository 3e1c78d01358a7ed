//! Occupancy as a function of the group size, registers or bytes of local memory: where the next step is, and what a group too small for a
//! wavefront leaves idle. (By this reasoning Grid chose 8 accelerator threads: 8 lanes times 8 sites are one wavefront of 64.)

use serde::Serialize;

use super::held::{Occupancy, occupancy};
use crate::model::{Architecture, Demand, OccupancyError};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SweptQuantity {
    /// Outer sites per group, each with a work-item for each lane.
    AcceleratorThreads,
    Registers,
    /// Bytes of local memory per group.
    Lds,
}
lanefield_reference::named!(SweptQuantity, "quantity to sweep": AcceleratorThreads = "accelerator_threads", Registers = "registers", Lds = "lds");

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Swept {
    pub value: usize,
    pub demand: Demand,
    /// Work-items per group as a fraction of one wavefront: above 1 if a group has several.
    pub of_a_wave: f64,
    pub occupancy: Occupancy,
    /// Work-items that run at once, as a fraction of the most that a unit holds.
    pub work_items: f64,
}

/// The occupancy of `demand` with each of the values. A group has `lanes` work-items for each accelerator thread, and its local memory grows in
/// proportion.
pub fn sweep(
    architecture: &Architecture,
    demand: &Demand,
    lanes: usize,
    quantity: SweptQuantity,
    values: &[usize],
) -> Result<Vec<Swept>, OccupancyError> {
    let of = |&value: &usize| {
        let mut varied = *demand;
        match quantity {
            SweptQuantity::AcceleratorThreads => {
                varied.group = lanes.saturating_mul(value);
                let of_one = demand.local.div_ceil(demand.group.max(1));
                varied.local = of_one.saturating_mul(varied.group);
            }
            SweptQuantity::Registers => varied.registers = value,
            SweptQuantity::Lds => varied.local = value,
        }
        let occupancy = occupancy(architecture, &varied)?;
        let of_a_wave = varied.group as f64 / architecture.wave as f64;
        let work_items = occupancy.share * occupancy.lanes_filled;
        Ok(Swept { value, demand: varied, of_a_wave, occupancy, work_items })
    };
    values.iter().map(of).collect()
}

/// The conclusion from a sweep over accelerator threads.
pub fn sweet_spot(architecture: &Architecture, swept: &[Swept]) -> Option<String> {
    let full = swept.iter().filter(|swept| swept.of_a_wave >= 1.0 && swept.occupancy.lanes_filled == 1.0);
    let least = full.min_by_key(|swept| swept.demand.group)?;
    let (wave, waves) = (architecture.wave, least.occupancy.waves_a_group);
    let of_waves =
        if waves == 1 { format!("one full wave of {wave}") } else { format!("{waves} full waves of {wave}") };
    Some(format!(
        "{} accelerator threads make the smallest group without idle lanes: {} work-items, {of_waves}. Smaller groups take a whole wave's place and \
         registers, and leave lanes of it idle. Larger ones hold no more work-items, need their registers all at once, and leave no finer steps.",
        least.value, least.demand.group,
    ))
}
