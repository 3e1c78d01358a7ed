//! What a kernel's wavefronts touch of each of its arrays, leg by leg: counted over the groups of a sample, which is the whole launch where that is
//! small.

use std::collections::BTreeMap;

use lanefield_reference::layout::Leg;
use serde::Serialize;

use super::coalescing::{Counts, WaveAccess, count};
use super::kernel::Launched;
use super::program::{Array, Instruction};

/// Groups that are counted at most.
const MOST_GROUPS: usize = 64;

/// What wavefronts touch of one array for one leg, or of an array that no leg names.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ArrayCounts {
    /// The array.
    pub array: Array,
    /// The leg, as `+x`; none for arrays that are read at the site.
    pub leg: Option<String>,
    /// Whether it is written.
    pub store: bool,
    /// Accesses of a work-item.
    pub accesses_a_work_item: usize,
    /// Bytes of the widest of them.
    pub widest: usize,
    /// Wavefronts that were counted.
    pub wavefronts: u64,
    /// Lines that a wavefront touches, each counted once, on average.
    pub lines_a_wavefront: f64,
    /// Share of the wavefronts' work-items that read another lane than their own.
    pub other_lanes: f64,
    /// All accesses.
    pub counts: Counts,
}

/// Counts a launch in wavefronts of `wavefront` work-items and lines of `line` bytes.
pub fn kernel_arrays(launched: &Launched, wavefront: usize, line: u64) -> Vec<ArrayCounts> {
    let (of_parts, of_sites) = launched.groups();
    let groups = of_parts * of_sites;
    let sample = groups.min(MOST_GROUPS);
    let mut rows: BTreeMap<(usize, Array, Option<usize>), Row> = BTreeMap::new();
    let program = launched.program();
    let mut order: Vec<(Array, Option<Leg>, bool)> = Vec::new();
    for instruction in &program {
        let key = key_of(instruction);
        if !order.contains(&key) {
            order.push(key);
        }
    }
    for number in 0..sample {
        let items = launched.items(launched.group(number * groups / sample));
        for wave in items.chunks(wavefront.max(1)) {
            let active: Vec<_> = wave.iter().flatten().collect();
            if active.is_empty() {
                continue;
            }
            for (place, key) in order.iter().enumerate() {
                let (array, leg, store) = *key;
                let of_key = |instruction: &&Instruction| key_of(instruction) == *key;
                let accesses: Vec<WaveAccess> = program
                    .iter()
                    .filter(of_key)
                    .map(|instruction| WaveAccess {
                        bytes: instruction.bytes as u64,
                        addresses: active.iter().map(|item| launched.address(instruction, item)).collect(),
                    })
                    .collect();
                let counts = count(&accesses, line);
                let row = rows.entry((place, array, leg.map(Leg::point))).or_insert_with(|| Row {
                    leg,
                    store,
                    accesses: accesses.len(),
                    widest: accesses.iter().map(|access| access.bytes as usize).max().unwrap_or(0),
                    ..Row::default()
                });
                row.add(counts);
                if let (Array::Field(_), Some(leg), false) = (array, leg, launched.is_of_links(array)) {
                    let moved = |item: &&&super::Item| launched.leads_elsewhere(item, leg);
                    row.moved += active.iter().filter(moved).count() as u64;
                }
                row.items += active.len() as u64;
            }
        }
    }
    rows.into_iter().map(|((_, array, _), row)| row.finish(array)).collect()
}

/// What is counted together: an array, the leg, and whether it is stored to. Tables are the same for all legs.
fn key_of(instruction: &Instruction) -> (Array, Option<Leg>, bool) {
    let leg = instruction.leg.filter(|_| matches!(instruction.array, Array::Field(_)));
    (instruction.array, leg, instruction.store)
}

#[derive(Default)]
struct Row {
    leg: Option<Leg>,
    store: bool,
    accesses: usize,
    widest: usize,
    wavefronts: u64,
    lines: u64,
    moved: u64,
    items: u64,
    counts: Counts,
}

impl Row {
    fn add(&mut self, counts: Counts) {
        self.wavefronts += 1;
        self.lines += counts.distinct_lines;
        let all = &mut self.counts;
        all.accesses += counts.accesses;
        all.asked_bytes += counts.asked_bytes;
        all.distinct_bytes += counts.distinct_bytes;
        all.transactions_32 += counts.transactions_32;
        all.transactions_64 += counts.transactions_64;
        all.transactions_128 += counts.transactions_128;
        all.line_touches += counts.line_touches;
        all.distinct_lines += counts.distinct_lines;
    }

    fn finish(self, array: Array) -> ArrayCounts {
        ArrayCounts {
            array,
            leg: self.leg.map(|leg| leg.to_string()),
            store: self.store,
            accesses_a_work_item: self.accesses,
            widest: self.widest,
            wavefronts: self.wavefronts,
            lines_a_wavefront: self.lines as f64 / self.wavefronts.max(1) as f64,
            other_lanes: self.moved as f64 / self.items.max(1) as f64,
            counts: self.counts,
        }
    }
}
