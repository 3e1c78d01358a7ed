//! The accesses of a kernel's wavefronts to each of its arrays, leg by leg: counted over a sample of work-groups, or over the whole launch if it is
//! small.

use lanefield_reference::layout::Leg;
use serde::Serialize;

use crate::model::{Array, Counts, Instruction, Item, Launched, count};

const MOST_GROUPS: usize = 64;

/// The accesses of wavefronts to one array for one leg, or to an array that is not read along legs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ArrayCounts {
    pub array: Array,
    /// The leg, such as `+x`; `None` for arrays that are read at the site itself.
    pub leg: Option<String>,
    pub store: bool,
    pub accesses_a_work_item: usize,
    pub widest: usize,
    pub wavefronts: u64,
    /// Average number of distinct lines that a wavefront touches.
    pub lines_a_wavefront: f64,
    /// Fraction of the wavefronts' work-items that read a lane other than their own.
    pub other_lanes: f64,
    pub sector_efficiency: f64,
    pub counts: Counts,
}

/// Counts the accesses of a launch, with wavefronts of `wavefront` work-items and lines of `line` bytes.
pub fn kernel_arrays(launched: &Launched, wavefront: usize, line: u64) -> Vec<ArrayCounts> {
    let (of_parts, of_sites) = launched.groups();
    let groups = of_parts * of_sites;
    let sample = groups.min(MOST_GROUPS);
    let waves = launched.waves((0..sample).map(|number| sampled(number, sample, groups)), wavefront);
    let program = launched.program();
    let mut rows: Vec<(Key, Vec<&Instruction>)> = Vec::new();
    for instruction in &program {
        let key = key_of(instruction);
        match rows.iter_mut().find(|(known, _)| *known == key) {
            Some((_, instructions)) => instructions.push(instruction),
            None => rows.push((key, vec![instruction])),
        }
    }
    rows.iter().map(|(key, instructions)| row(launched, *key, instructions, &waves, line)).collect()
}

/// The group of a sample in one of its equal strata. Its place there follows the golden ratio, since equal distances would be multiples of the lattice's own.
fn sampled(number: usize, sample: usize, groups: usize) -> usize {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (first, next) = (number * groups / sample, (number + 1) * groups / sample);
    first + ((next - first) as f64 * (number as f64 * GOLDEN).fract()) as usize
}

/// The key by which accesses are counted: array, leg, and whether it is a store. Tables are the same for all legs.
type Key = (Array, Option<Leg>, bool);

fn key_of(instruction: &Instruction) -> Key {
    let leg = instruction.leg.filter(|_| matches!(instruction.array, Array::Field(_)));
    (instruction.array, leg, instruction.store)
}

fn row(
    launched: &Launched,
    (array, leg, store): Key,
    instructions: &[&Instruction],
    waves: &[Vec<Item>],
    line: u64,
) -> ArrayCounts {
    let (mut counts, mut moved) = (Counts::default(), 0);
    for wave in waves {
        let accesses: Vec<_> = instructions.iter().map(|instruction| launched.access_of(instruction, wave)).collect();
        counts += count(&accesses, line);
        if let Some(leg) = leg.filter(|_| !launched.is_of_links(array)) {
            moved += wave.iter().filter(|item| launched.leads_elsewhere(item, leg)).count();
        }
    }
    let items: usize = waves.iter().map(Vec::len).sum();
    ArrayCounts {
        array,
        leg: leg.map(|leg| leg.to_string()),
        store,
        accesses_a_work_item: instructions.len(),
        widest: instructions.iter().map(|instruction| instruction.bytes).max().unwrap_or(0),
        wavefronts: waves.len() as u64,
        lines_a_wavefront: counts.distinct_lines as f64 / waves.len().max(1) as f64,
        other_lanes: moved as f64 / items.max(1) as f64,
        sector_efficiency: counts.sector_efficiency(),
        counts,
    }
}
