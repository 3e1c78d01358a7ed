//! A model of a first-level cache.

use std::collections::{HashMap, VecDeque};

use lanefield_reference::layout::LEGS;

use crate::machine::Machine;

/// A cache of lines with least-recently-used replacement.
pub(super) struct Cache {
    most: usize,
    sectors_a_line: u64,
    /// For each line, the sectors that are present, and the time of its last use.
    lines: HashMap<u64, (u64, u64)>,
    /// Uses in order; a use is void if a later one of the same line follows.
    uses: VecDeque<(u64, u64)>,
    now: u64,
}

impl Cache {
    pub fn new(machine: &Machine) -> Self {
        let sectors_a_line = (machine.line_bytes / machine.sector_bytes).clamp(1, 64);
        let most = (machine.l1_bytes / (sectors_a_line * machine.sector_bytes)).max(1) as usize;
        Self { most, sectors_a_line, lines: HashMap::new(), uses: VecDeque::new(), now: 0 }
    }

    /// Loads sectors, and returns how many were not present.
    pub fn load(&mut self, sectors: &[u64]) -> u64 {
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
        // Void uses are dropped from time to time.
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

    /// A first-level cache of this size, with lines of four sectors of 32 bytes.
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
