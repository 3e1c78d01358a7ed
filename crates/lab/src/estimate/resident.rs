//! What the groups of a compute unit ask of the cache behind the first one: counted, address by address, for a sample of units, against a first cache that
//! forgets what was not used for longest.
//!
//! Groups are dealt out to units in turn; as many are resident as registers allow, and these go through the kernel in step, one load or store after the
//! other. When they are done, the next ones come. The first cache keeps lines, of which it holds those sectors that were asked for; stores pass
//! through it; loads that go past it leave it as it is. Rounds after the first are counted where there are any.

use std::collections::{HashMap, VecDeque};

use lanefield::backend::opencl::GridStride;
use lanefield_reference::layout::LEGS;
use lanefield_reference::real::Precision;
use serde::Serialize;

use crate::access::{Instruction, Launched, WaveAccess};
use crate::machine::Machine;

/// Units that are looked at, at most.
const UNITS: usize = 4;
/// Rounds of resident groups that are counted, after one that is not.
const ROUNDS: usize = 2;
/// Work-items of a unit at most.
const MOST_WORK_ITEMS: u64 = 2048;
/// Registers of a work-item at most, and at least.
const REGISTERS: std::ops::RangeInclusive<u64> = 32..=255;

/// Bytes of a whole launch.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct UnitTraffic {
    pub resident_groups: usize,
    /// Sectors that all accesses touch: what first caches deliver, and take.
    pub first_cache_bytes: f64,
    /// Loads that no first cache had.
    pub loaded_bytes: f64,
    pub stored_bytes: f64,
    /// Of the loads that go through the first cache, the share that it had.
    pub hits: f64,
}

impl UnitTraffic {
    /// What passes between the last cache and the units.
    pub fn bytes(&self) -> f64 {
        self.loaded_bytes + self.stored_bytes
    }
}

/// Registers that a work-item may be thought to take: what was allowed, else what it must hold: results, half a spinor, a link, a neighbour's spinor, and 32
/// for addresses.
fn registers(launched: &Launched) -> u64 {
    let most = u64::from(launched.tuning.max_registers.unwrap_or(0));
    if most > 0 {
        return most;
    }
    let a_real = if launched.shape.precision() == Precision::F64 { 2 } else { 1 };
    let part = 2 * launched.shape.target.object.part_words() as u64;
    let numbers = part * launched.at_once as u64 + part / 2 + 18 + part;
    (numbers * a_real + 32).clamp(*REGISTERS.start(), *REGISTERS.end())
}

/// Groups that a unit of `machine` holds at a time.
fn resident_groups(launched: &Launched, machine: &Machine) -> usize {
    if let Some(GridStride::On(Some(groups))) = launched.tuning.grid_stride {
        return groups.max(1);
    }
    let group = (launched.geometry.group_size() as u64).next_multiple_of(u64::from(machine.lanes));
    let by_registers = machine.registers / (registers(launched).next_multiple_of(8) * group);
    by_registers.min(MOST_WORK_ITEMS / group).max(1) as usize
}

/// Counts a sample of the units of `machine`, and scales it to the launch.
pub fn unit_traffic(launched: &Launched, machine: &Machine) -> UnitTraffic {
    let resident = resident_groups(launched, machine);
    let units = machine.compute_units as usize;
    let (of_parts, of_sites) = launched.groups();
    // Of groups that stay there are as many as run at a time, and each goes on at the place of one so many groups of sites later.
    let site_groups = if launched.persistent { (units * resident / of_parts).clamp(1, of_sites) } else { of_sites };
    let at_a_time = if launched.persistent { of_parts * site_groups } else { units * resident };
    let all = of_parts * of_sites;
    let rounds = all.div_ceil(at_a_time.max(1));
    let (program, mut counted) = (launched.program(), Counted::default());
    let sampled = units.min(UNITS);
    for number in 0..sampled {
        let (mut cache, first) = (Cache::new(machine), number * units / sampled);
        for round in 0..rounds.min(1 + ROUNDS) {
            let in_turn = (0..resident).map(|slot| first + units * slot);
            let groups = in_turn.filter(|&place| place < at_a_time).map(|place| place + round * at_a_time);
            let before = counted;
            counted.round(launched, &program, groups.filter(|&place| place < all), machine, &mut cache);
            // The first round fills the cache.
            if round == 0 && rounds > 1 {
                counted = before;
            }
        }
    }
    let parts = launched.shape.volume() as f64 * launched.shape.parts() as f64;
    let scale = if counted.parts == 0 { 0.0 } else { parts / counted.parts as f64 };
    UnitTraffic {
        resident_groups: resident,
        first_cache_bytes: counted.touched as f64 * scale,
        loaded_bytes: counted.loaded as f64 * scale,
        stored_bytes: counted.stored as f64 * scale,
        hits: counted.hit as f64 / counted.through.max(1) as f64,
    }
}

/// Parts of sites that were worked on, and bytes.
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
                let addresses = wave.iter().map(|item| launched.address(instruction, item)).collect();
                let sectors = WaveAccess { bytes: instruction.bytes as u64, addresses }.segments(machine.sector_bytes);
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

/// A cache of lines that forgets the one that was not used for longest.
struct Cache {
    most: usize,
    sectors_a_line: u64,
    /// Of each line the sectors that are there, and when it was used.
    lines: HashMap<u64, (u64, u64)>,
    /// Uses in order; those that a later one of the same line follows stand for nothing.
    uses: VecDeque<(u64, u64)>,
    now: u64,
}

impl Cache {
    fn new(machine: &Machine) -> Self {
        let sectors_a_line = (machine.line_bytes / machine.sector_bytes).clamp(1, 64);
        let most = (machine.l1_bytes / (sectors_a_line * machine.sector_bytes)).max(1) as usize;
        Self { most, sectors_a_line, lines: HashMap::new(), uses: VecDeque::new(), now: 0 }
    }

    /// Loads sectors, and says how many were not there.
    fn load(&mut self, sectors: &[u64]) -> u64 {
        let mut missed = 0;
        for &sector in sectors {
            let (line, bit) = (sector / self.sectors_a_line, 1 << (sector % self.sectors_a_line));
            self.now += 1;
            let entry = self.lines.entry(line).or_insert((0, 0));
            missed += u64::from(entry.0 & bit == 0);
            *entry = (entry.0 | bit, self.now);
            self.uses.push_back((line, self.now));
            while self.lines.len() > self.most
                && let Some((oldest, when)) = self.uses.pop_front()
            {
                if self.lines.get(&oldest).is_some_and(|(_, last)| *last == when) {
                    self.lines.remove(&oldest);
                }
            }
        }
        // Uses that stand for nothing are dropped now and then.
        if self.uses.len() > 8 * self.most.max(LEGS) {
            let lines = &self.lines;
            self.uses.retain(|(line, when)| lines.get(line).is_some_and(|(_, last)| last == when));
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A first cache of so many bytes, with lines of four sectors of 32.
    fn cache(bytes: u64) -> Cache {
        let machine = Machine::named("h200").unwrap();
        Cache::new(&Machine { l1_bytes: bytes, ..machine })
    }

    #[test]
    fn a_cache_keeps_what_was_used_last_sector_by_sector() {
        // Two lines of four sectors.
        let mut cache = cache(256);
        assert_eq!([cache.load(&[0, 1]), cache.load(&[1, 2]), cache.load(&[4])], [2, 1, 1]);
        assert_eq!(cache.load(&[0]), 0, "line 0 is the younger one now");
        assert_eq!([cache.load(&[8]), cache.load(&[0]), cache.load(&[4])], [1, 0, 1]);
    }

    #[test]
    fn a_cache_that_is_swept_forgets_all() {
        let mut cache = cache(1024);
        let sweep: Vec<u64> = (0..36).collect();
        assert_eq!([cache.load(&sweep), cache.load(&sweep)], [36, 36], "nine lines in room for eight");
        let fits: Vec<u64> = (0..32).collect();
        cache.load(&fits);
        for _ in 0..100 {
            assert_eq!(cache.load(&fits), 0);
        }
    }
}
