//! Long sums at the speed of memory: error-free transformations in vector registers, and [`ExactSum`] for what these cannot hold.
//!
//! Each lane keeps its sum as an unevaluated pair high + low. A term x goes in by two additions: (high, error) ← high + x by TwoSum (Knuth,
//! *The Art of Computer Programming* 2, §4.2.2, theorem B), which loses nothing for any two doubles whose sum does not overflow; then
//! low ← low + error, where nothing may be rounded. While that holds, high + low is the exact sum. It holds for as long as anyone sums
//! where terms lie within thirty binades or so of each other, as those of a field do.
//!
//! low' = low + error was not rounded if and only if low' − low is error and low' − error is low, as doubles: the larger of two doubles can
//! be taken from their rounded sum without rounding (T. J. Dekker, Numerische Mathematik 18 (1971) 224), and what is left is the smaller
//! one only if the sum was exact. Neither is ever −0, so bits may be compared. They also differ in the first addition of a lane that
//! overflows or meets an infinity or a NaN: error is then a NaN (TwoSum takes infinities from each other), and so is low' − error, but low
//! is finite.
//!
//! The losses of a block of terms are looked at together: one branch a block. Where there is one, the lanes' pairs from before the block
//! go into the `ExactSum`, and the block is tried again from zero; if that fails too, it goes in term by term.
//!
//! Lanes begin with high = −0, which is the identity of addition: high stays −0 as long as every term is −0, and no longer.
//!
//! This is the two-level case of the expansions of J. R. Shewchuk, *Adaptive precision floating-point arithmetic*, Discrete & Computational
//! Geometry 18 (1997) 305; spilling expansions into a long accumulator is that of Collange et al. (see [`super`]).

use bytemuck::cast;
use wide::{f64x8, u64x8};

use super::ExactSum;
use crate::memory::prefetch_far;
use crate::real::Real;

/// Lanes of a vector of pairs.
const LANES: usize = 8;
/// Vectors of terms whose residuals are looked at together.
const BLOCK: usize = 8;

/// high + low in each lane. A zero low is +0.
#[derive(Clone, Copy, Debug)]
struct Pairs {
    high: f64x8,
    low: f64x8,
}

impl Pairs {
    /// No terms: −0 is the identity of addition.
    fn empty() -> Self {
        Self { high: f64x8::splat(-0.0), low: f64x8::splat(0.0) }
    }

    /// Adds a term in each lane, and notes where something is lost.
    #[inline(always)]
    fn add(&mut self, x: f64x8, losses: &mut Losses) {
        let (high, error) = two_sum(self.high, x);
        let low = self.low + error;
        losses.note(low - self.low, error);
        losses.note(low - error, self.low);
        *self = Self { high, low };
    }
}

/// a + b, and its rounding error. A zero error is +0.
#[inline(always)]
fn two_sum(a: f64x8, b: f64x8) -> (f64x8, f64x8) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}

/// Whether bits were lost: those in which what should be equal differs.
#[derive(Clone, Copy)]
struct Losses(u64x8);

impl Losses {
    #[inline(always)]
    fn none() -> Self {
        Self(u64x8::splat(0))
    }
    #[inline(always)]
    fn note(&mut self, left: f64x8, right: f64x8) {
        self.0 |= cast::<f64x8, u64x8>(left) ^ cast::<f64x8, u64x8>(right);
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0.to_array().into_iter().fold(0, |all, bits| all | bits) != 0
    }
}

/// A sum in progress, for long runs of terms.
///
/// ```
/// use lanefield_reference::exact::RunningSum;
/// let mut sum = RunningSum::new();
/// sum.add_slice(&[1e16, 1.0, -1e16]);
/// assert_eq!(sum.into_exact().round(), 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct RunningSum {
    pairs: Pairs,
    /// Terms that the pairs stand for.
    terms: u64,
    exact: ExactSum,
}

impl Default for RunningSum {
    fn default() -> Self {
        Self::new()
    }
}

impl RunningSum {
    /// How many terms are best added at a time.
    pub const BLOCK: usize = BLOCK * LANES;

    /// The empty sum.
    pub fn new() -> Self {
        Self { pairs: Pairs::empty(), terms: 0, exact: ExactSum::new() }
    }

    /// Adds every term of a slice.
    #[inline]
    pub fn add_slice(&mut self, terms: &[f64]) {
        let (blocks, rest) = terms.as_chunks();
        for block in blocks {
            self.add_block(block);
        }
        if !rest.is_empty() {
            let mut block = [-0.0; Self::BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            self.add_some(&block, rest.len());
        }
    }

    /// Adds a whole block.
    #[inline]
    pub fn add_block(&mut self, block: &[f64; Self::BLOCK]) {
        self.add_some(block, Self::BLOCK);
    }

    /// Adds a block of which only the first `terms` count; the others are −0.
    #[inline(always)]
    fn add_some(&mut self, block: &[f64; Self::BLOCK], terms: usize) {
        let mut pairs = self.pairs;
        match fits(&mut pairs, block) {
            true => {
                self.pairs = pairs;
                self.terms += terms as u64;
            }
            false => self.spill(block, terms),
        }
    }

    #[cold]
    #[inline(never)]
    fn spill(&mut self, block: &[f64; Self::BLOCK], terms: usize) {
        self.flush();
        let mut pairs = self.pairs;
        match fits(&mut pairs, block) {
            true => (self.pairs, self.terms) = (pairs, terms as u64),
            false => self.exact.add_slice(&block[..terms]),
        }
    }

    /// Moves the pairs into the exact sum.
    fn flush(&mut self) {
        let Pairs { high, low } = self.pairs;
        for (high, low) in high.to_array().into_iter().zip(low.to_array()) {
            self.exact.add_uncounted(high, low);
        }
        self.exact.count_terms(self.terms);
        (self.pairs, self.terms) = (Pairs::empty(), 0);
    }

    /// The sum of all terms so far, as integers.
    pub fn into_exact(mut self) -> ExactSum {
        self.flush();
        self.exact
    }
}

/// Adds a block, and tells whether the pairs still hold the exact sum.
#[inline(always)]
fn fits(pairs: &mut Pairs, block: &[f64; RunningSum::BLOCK]) -> bool {
    let mut losses = Losses::none();
    for terms in block.as_chunks::<LANES>().0 {
        pairs.add(f64x8::from(*terms), &mut losses);
    }
    !losses.any()
}

/// A sum for each place of a row, of many rows of equal length: the words of outer sites, each real number on its own.
pub(crate) struct RowSums {
    /// Reals of a row.
    reals: usize,
    pairs: Vec<Pairs>,
    /// All rows.
    rows: u64,
    /// What was spilled at each place, terms uncounted; empty until something is.
    spilled: Vec<ExactSum>,
}

impl RowSums {
    /// No rows yet, of `reals` reals each.
    pub fn new(reals: usize) -> Self {
        Self { reals, pairs: vec![Pairs::empty(); reals.div_ceil(LANES)], rows: 0, spilled: Vec::new() }
    }

    /// Adds `count` rows: `row(k)` is the reals of row k.
    pub fn add_rows<'a, R: Real>(&mut self, count: usize, row: impl Fn(usize) -> &'a [R]) {
        let reals = self.reals;
        let group = |first: usize| -> [&'a [R]; BLOCK] {
            std::array::from_fn(|k| if first + k < count { &row(first + k)[..reals] } else { &[] })
        };
        let mut rows = group(0);
        for first in (0..count).step_by(BLOCK) {
            let next = group(first + BLOCK);
            match count - first {
                BLOCK.. => self.add_block(&rows, if count - first >= 2 * BLOCK { &next } else { &rows }),
                some => self.add_some(&rows[..some], 0..self.pairs.len()),
            }
            rows = next;
        }
        self.rows += count as u64;
    }

    /// Adds a block of rows, and asks for those of the next one meanwhile.
    #[inline(always)]
    fn add_block<R: Real>(&mut self, rows: &[&[R]; BLOCK], next: &[&[R]; BLOCK]) {
        let whole_chunks = self.reals / LANES;
        let chunks = rows.map(|row| &row.as_chunks::<LANES>().0[..whole_chunks]);
        let next = next.map(|row| &row.as_chunks::<LANES>().0[..whole_chunks]);
        for chunk in 0..whole_chunks {
            let mut pairs = self.pairs[chunk];
            let mut losses = Losses::none();
            for (row, next) in chunks.iter().zip(&next) {
                prefetch_far(&next[chunk]);
                pairs.add(f64x8::from(R::eight_to_f64(&row[chunk])), &mut losses);
            }
            match losses.any() {
                false => self.pairs[chunk] = pairs,
                true => self.spill(chunk, rows),
            }
        }
        self.add_some(rows, whole_chunks..self.pairs.len());
    }

    /// Adds some chunks of at most a block of rows.
    fn add_some<R: Real>(&mut self, rows: &[&[R]], chunks: std::ops::Range<usize>) {
        for chunk in chunks {
            let range = chunk * LANES..(chunk * LANES + LANES).min(self.reals);
            let mut pairs = self.pairs[chunk];
            let mut losses = Losses::none();
            for row in rows {
                pairs.add(widened(&row[range.clone()]), &mut losses);
            }
            match losses.any() {
                false => self.pairs[chunk] = pairs,
                true => self.spill(chunk, rows),
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn spill<R: Real>(&mut self, chunk: usize, rows: &[&[R]]) {
        self.spilled.resize(self.reals, ExactSum::new());
        let Pairs { high, low } = std::mem::replace(&mut self.pairs[chunk], Pairs::empty());
        for (lane, (high, low)) in high.to_array().into_iter().zip(low.to_array()).enumerate() {
            let place = chunk * LANES + lane;
            if place < self.reals {
                let sum = &mut self.spilled[place];
                sum.add_uncounted(high, low);
                rows.iter().for_each(|row| sum.add_uncounted(row[place].to_f64(), 0.0));
            }
        }
    }

    /// Adds the sum at a place of the rows to `total`.
    pub fn add_to(&self, total: &mut ExactSum, place: usize) {
        let Pairs { high, low } = self.pairs[place / LANES];
        total.add_pair(high.to_array()[place % LANES], low.to_array()[place % LANES], self.rows);
        if let Some(spilled) = self.spilled.get(place) {
            total.merge(spilled);
        }
    }
}

/// Eight reals, or the last few of a row and −0 after them, as doubles.
#[inline(always)]
fn widened<R: Real>(reals: &[R]) -> f64x8 {
    match <&[R; LANES]>::try_from(reals) {
        Ok(reals) => f64x8::from(R::eight_to_f64(reals)),
        Err(_) => f64x8::from(std::array::from_fn(|k| reals.get(k).map_or(-0.0, |&x| Real::to_f64(x)))),
    }
}

#[cfg(test)]
mod tests;
