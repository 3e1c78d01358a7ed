//! The traffic between the groups of a compute unit and the second-level cache. It is counted address by address for a sample of units, with a
//! first-level cache with least-recently-used replacement.
//!
//! Groups are assigned to units in turn. As many are resident as registers allow, and these go through the kernel in step, one load or store after
//! the other. When they are done, the next ones follow. The first-level cache keeps lines with the sectors that were requested. Stores pass through
//! it, and loads that bypass it do not change it. Rounds after the first are counted if there are any.

use lanefield::backend::opencl::GridStride;
use lanefield_reference::real::Precision;
use serde::Serialize;

use super::architecture::Architecture;
use super::cache::Cache;
use super::launched::Launched;
use super::program::Instruction;
use super::resources::{Demand, groups_held};
use crate::machine::Machine;

/// The largest number of units in the sample.
const UNITS: usize = 4;
/// Number of rounds of resident groups that are counted, after one that is not.
const ROUNDS: usize = 2;
/// The most work-items per unit.
const MOST_WORK_ITEMS: usize = 2048;
/// The most and the fewest registers per work-item.
const REGISTERS: std::ops::RangeInclusive<u64> = 32..=255;

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct UnitTraffic {
    pub resident_groups: usize,
    /// Bytes of the sectors that all accesses touch: the traffic of the first-level caches.
    pub first_cache_bytes: f64,
    /// Bytes of loads that missed the first-level caches.
    pub loaded_bytes: f64,
    pub stored_bytes: f64,
    /// Of the loads that use the first-level cache, the fraction that hit.
    pub hits: f64,
}

impl UnitTraffic {
    /// Bytes between the last-level cache and the units.
    pub fn bytes(&self) -> f64 {
        self.loaded_bytes + self.stored_bytes
    }
}

impl Launched {
    /// Counts a sample of the units of `machine`, and scales it to the launch.
    pub fn unit_traffic(&self, machine: &Machine) -> UnitTraffic {
        let resident = self.resident_groups(machine);
        let units = machine.compute_units as usize;
        let (of_parts, of_sites) = self.groups();
        // There are as many grid-stride groups as run at a time, and each continues with the sites that number of groups later.
        let site_groups = if self.persistent { (units * resident / of_parts).clamp(1, of_sites) } else { of_sites };
        let at_a_time = if self.persistent { of_parts * site_groups } else { units * resident };
        let all = of_parts * of_sites;
        let rounds = all.div_ceil(at_a_time.max(1));
        let (program, mut counted) = (self.program(), Counted::default());
        let sampled = units.min(UNITS);
        for number in 0..sampled {
            let (mut cache, first) = (Cache::new(machine), number * units / sampled);
            for round in 0..rounds.min(1 + ROUNDS) {
                let in_turn = (0..resident).map(|slot| first + units * slot);
                let groups = in_turn.filter(|&place| place < at_a_time).map(|place| place + round * at_a_time);
                let before = counted;
                counted.round(self, &program, groups.filter(|&place| place < all), machine, &mut cache);
                // The first round fills the cache.
                if round == 0 && rounds > 1 {
                    counted = before;
                }
            }
        }
        let parts = self.shape.volume() as f64 * self.shape.parts() as f64;
        let scale = if counted.parts == 0 { 0.0 } else { parts / counted.parts as f64 };
        UnitTraffic {
            resident_groups: resident,
            first_cache_bytes: counted.touched as f64 * scale,
            loaded_bytes: counted.loaded as f64 * scale,
            stored_bytes: counted.stored as f64 * scale,
            hits: counted.hit as f64 / counted.through.max(1) as f64,
        }
    }

    /// Estimated registers per work-item: the number allowed, else what it must hold, which is results, half a spinor, a link, a neighbour's
    /// spinor, and 32 for addresses.
    fn registers(&self) -> u64 {
        let most = u64::from(self.tuning.max_registers.unwrap_or(0));
        if most > 0 {
            return most;
        }
        let a_real = if self.shape.precision() == Precision::F64 { 2 } else { 1 };
        let part = 2 * self.shape.target.object.part_words() as u64;
        let numbers = part * self.at_once as u64 + part / 2 + 18 + part;
        (numbers * a_real + 32).clamp(*REGISTERS.start(), *REGISTERS.end())
    }

    fn resident_groups(&self, machine: &Machine) -> usize {
        if let Some(GridStride::On(Some(groups))) = self.tuning.grid_stride {
            return groups.max(1);
        }
        let demand =
            Demand { group: self.geometry.group_size(), registers: self.registers() as usize, ..Demand::default() };
        groups_held(&Architecture::of_machine(machine, MOST_WORK_ITEMS), &demand).max(1)
    }
}

/// Components of sites that were processed, and bytes.
#[derive(Clone, Copy, Default)]
struct Counted {
    parts: u64,
    touched: u64,
    loaded: u64,
    stored: u64,
    through: u64,
    hit: u64,
}

impl Counted {
    /// Counts all resident groups of a unit, in step.
    fn round(
        &mut self,
        launched: &Launched,
        program: &[Instruction],
        groups: impl Iterator<Item = usize>,
        machine: &Machine,
        cache: &mut Cache,
    ) {
        let waves = launched.waves(groups, machine.lanes as usize);
        let items: usize = waves.iter().map(Vec::len).sum();
        self.parts += (items * launched.at_once) as u64;
        for instruction in program {
            for wave in &waves {
                let sectors = launched.access_of(instruction, wave).segments(machine.sector_bytes);
                let bytes = machine.sector_bytes * sectors.len() as u64;
                self.touched += bytes;
                if instruction.store {
                    self.stored += bytes;
                } else if instruction.past_l1 {
                    self.loaded += bytes;
                } else {
                    let missed = machine.sector_bytes * cache.load(&sectors);
                    self.loaded += missed;
                    self.through += bytes;
                    self.hit += bytes - missed;
                }
            }
        }
    }
}
