//! What the accesses of a wavefront move: the segments of 32, 64 and 128 bytes and the cache lines that its addresses touch.

use std::collections::BTreeSet;
use std::ops::AddAssign;

use serde::Serialize;

/// Bytes per sector: the least that memory moves.
pub const SECTOR: u64 = 32;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaveAccess {
    pub bytes: u64,
    pub addresses: Vec<u64>,
}

impl WaveAccess {
    /// An access by `items` work-items, each `stride` bytes after the one before.
    pub fn strided(stride: u64, bytes: u64, items: u64) -> Self {
        Self { bytes, addresses: (0..items).map(|item| item * stride).collect() }
    }

    /// The distinct aligned segments of `size` bytes that are touched, in order. `size` is taken as at least 1.
    pub fn segments(&self, size: u64) -> Vec<u64> {
        let size = size.max(1);
        let last = self.bytes.max(1) - 1;
        let mut touched: Vec<u64> =
            self.addresses.iter().flat_map(|&address| address / size..=address.saturating_add(last) / size).collect();
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Bytes requested; those requested by several work-items count once.
    pub fn distinct_bytes(&self) -> u64 {
        let mut addresses = self.addresses.clone();
        addresses.sort_unstable();
        let (mut bytes, mut end) = (0, 0);
        for address in addresses {
            let last = address.saturating_add(self.bytes);
            bytes += last - last.min(address.max(end));
            end = end.max(last);
        }
        bytes
    }
}

/// What some accesses of wavefronts move. Transactions are summed over accesses, as if no cache saved any.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Counts {
    pub accesses: u64,
    pub asked_bytes: u64,
    /// The same, with a byte that several work-items of an access request counted once.
    pub distinct_bytes: u64,
    pub transactions_32: u64,
    pub transactions_64: u64,
    pub transactions_128: u64,
    /// Lines touched by each access, added up.
    pub line_touches: u64,
    /// Distinct lines touched by all accesses counted together.
    pub distinct_lines: u64,
}

impl Counts {
    pub fn moved_bytes(&self) -> u64 {
        self.transactions_32 * SECTOR
    }

    /// Bytes requested divided by bytes of sectors moved, at most 1; 1 if there are no accesses. Bytes that several work-items request count once,
    /// so that a broadcast is no gain.
    pub fn sector_efficiency(&self) -> f64 {
        match self.moved_bytes() {
            0 => 1.0,
            moved => self.distinct_bytes as f64 / moved as f64,
        }
    }

    /// The same, divided by the bytes of the lines of `line` bytes that accesses touch, each access on its own: a first-level cache serves an
    /// access line by line.
    pub(crate) fn line_efficiency(&self, line: u64) -> f64 {
        match self.line_touches * line {
            0 => 1.0,
            touched => self.distinct_bytes as f64 / touched as f64,
        }
    }

    pub fn an_access(&self, total: u64) -> f64 {
        if self.accesses == 0 { 0.0 } else { total as f64 / self.accesses as f64 }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.accesses += other.accesses;
        self.asked_bytes += other.asked_bytes;
        self.distinct_bytes += other.distinct_bytes;
        self.transactions_32 += other.transactions_32;
        self.transactions_64 += other.transactions_64;
        self.transactions_128 += other.transactions_128;
        self.line_touches += other.line_touches;
        self.distinct_lines += other.distinct_lines;
    }
}

/// Counts what these accesses move, with cache lines of `line` bytes.
pub fn count<'a>(accesses: impl IntoIterator<Item = &'a WaveAccess>, line: u64) -> Counts {
    let (mut counts, mut lines) = (Counts::default(), BTreeSet::new());
    for access in accesses {
        let of_access = access.segments(line);
        counts.accesses += 1;
        counts.asked_bytes += access.bytes * access.addresses.len() as u64;
        counts.distinct_bytes += access.distinct_bytes();
        counts.transactions_32 += access.segments(SECTOR).len() as u64;
        counts.transactions_64 += access.segments(64).len() as u64;
        counts.transactions_128 += access.segments(128).len() as u64;
        counts.line_touches += of_access.len() as u64;
        lines.extend(of_access);
    }
    Counts { distinct_lines: lines.len() as u64, ..counts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_takes_the_segments_that_its_bytes_touch() {
        let shifted = WaveAccess { bytes: 4, addresses: (0..32).map(|item| 4 + 4 * item).collect() };
        let across = WaveAccess { bytes: 16, addresses: vec![120] };
        // Transactions of 32, 64 and 128 bytes, bytes requested, distinct ones, and efficiency.
        for (name, access, transactions, bytes, efficiency) in [
            ("neighbouring words", WaveAccess::strided(4, 4, 32), [4, 2, 1], [128, 128], 1.0),
            ("a word in each line", WaveAccess::strided(128, 4, 32), [32, 32, 32], [128, 128], 4.0 / 32.0),
            ("a shift by one word", shifted, [5, 3, 2], [128, 128], 128.0 / 160.0),
            ("a broadcast is no gain", WaveAccess::strided(0, 8, 32), [1, 1, 1], [256, 8], 0.25),
            ("an element across a border", across, [2, 2, 2], [16, 16], 0.25),
        ] {
            let counts = count([&access], 128);
            let Counts { transactions_32, transactions_64, transactions_128, .. } = counts;
            assert_eq!([transactions_32, transactions_64, transactions_128], transactions, "{name}");
            assert_eq!([counts.asked_bytes, counts.distinct_bytes], bytes, "{name}");
            assert_eq!((counts.distinct_lines, counts.sector_efficiency()), (transactions_128, efficiency), "{name}");
        }
    }

    #[test]
    fn overlapping_bytes_count_once() {
        assert_eq!(WaveAccess { bytes: 8, addresses: vec![4, 0, 100] }.distinct_bytes(), 12 + 8);
    }

    #[test]
    fn lines_that_come_again_are_touched_twice_and_distinct_once() {
        let counts = count([&WaveAccess::strided(4, 4, 32), &WaveAccess::strided(4, 4, 32)], 128);
        assert_eq!((counts.line_touches, counts.distinct_lines), (2, 1));
    }
}
