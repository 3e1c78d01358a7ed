//! Long sums at memory speed: error-free transformations in vector registers, and [`ExactSum`] for what these cannot hold.
//!
//! Each lane keeps its sum as an unevaluated pair high + low. A term x is added by two additions. The first is (high, error) ← high + x by TwoSum
//! (Knuth, *The Art of Computer Programming* 2, §4.2.2, theorem B), which is exact for any two doubles whose sum does not overflow. The second is
//! low ← low + error, which must not round. As long as it does not, high + low is the exact sum. That is so if the terms are within about thirty
//! binades of each other, as those of a field are.
//!
//! low' = low + error was not rounded if and only if, as doubles, low' − low is error and low' − error is low. The reason: the larger of two doubles
//! can be subtracted from their rounded sum without rounding (T. J. Dekker, Numerische Mathematik 18 (1971) 224). The difference is the smaller one
//! only if the sum was exact. Neither is ever −0, so bits may be compared.
//!
//! They also differ in the first addition of a lane that overflows, or that has an infinity or a NaN. Then error is NaN (TwoSum subtracts infinities
//! from each other), and so is low' − error, but low is finite.
//!
//! Losses are checked once for each block of terms, with one branch. If there are any, the pairs from before the block are added to the `ExactSum`,
//! and the block is tried again from zero. If that fails too, it is added term by term.
//!
//! Lanes start with high = −0, which is the identity of addition: high stays −0 as long as every term is −0.
//!
//! This is the two-level case of the expansions of J. R. Shewchuk, *Adaptive precision floating-point arithmetic*, Discrete & Computational Geometry
//! 18 (1997) 305. Spilling expansions into a long accumulator is due to Collange et al. (see [`super`]).

use super::ExactSum;
use crate::doubles::Doubles;
use crate::memory::prefetch_far;
use crate::real::Real;
use crate::tensor::portable::Portable;

/// Lanes of a vector of pairs.
const LANES: usize = 8;
/// The number of vectors of terms whose losses are checked together.
const BLOCK: usize = 8;

/// high + low in each lane. A zero low is +0.
#[derive(Clone, Copy)]
struct Pairs<D> {
    high: D,
    low: D,
}

impl<D: Doubles> Pairs<D> {
    /// No terms: −0 is the identity of addition.
    #[inline(always)]
    fn empty() -> Self {
        Self { high: D::splat(-0.0), low: D::splat(0.0) }
    }

    /// Adds a term in each lane, and notes whether anything is lost.
    #[inline(always)]
    fn add(&mut self, x: D, losses: &mut Losses<D>) {
        let (high, error) = two_sum(self.high, x);
        let low = self.low.add(error);
        losses.note(low.sub(self.low), error);
        losses.note(low.sub(error), self.low);
        *self = Self { high, low };
    }

    /// high and low of each lane.
    #[inline(always)]
    fn lanes(self) -> [(f64, f64); LANES] {
        let (high, low) = (self.high.to_array(), self.low.to_array());
        std::array::from_fn(|lane| (high[lane], low[lane]))
    }
}

/// a + b, and its rounding error. A zero error is +0.
#[inline(always)]
fn two_sum<D: Doubles>(a: D, b: D) -> (D, D) {
    let sum = a.add(b);
    let b_part = sum.sub(a);
    let a_part = sum.sub(b_part);
    (sum, a.sub(a_part).add(b.sub(b_part)))
}

/// Notes whether bits were lost: the bits in which numbers differ that should be equal.
#[derive(Clone, Copy)]
struct Losses<D>(D);

impl<D: Doubles> Losses<D> {
    #[inline(always)]
    fn none() -> Self {
        Self(D::splat(0.0))
    }
    #[inline(always)]
    fn note(&mut self, left: D, right: D) {
        self.0 = self.0.or_differences(left, right);
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0.any_bit()
    }
}

/// A sum in progress, for long runs of terms.
///
/// ```
/// use lanefield_reference::exact::RunningSum;
/// let mut sum = <RunningSum>::new();
/// sum.add_slice(&[1e16, 1.0, -1e16]);
/// assert_eq!(sum.into_exact().round(), 1.0);
/// ```
#[derive(Clone)]
pub struct RunningSum<D = Portable> {
    pairs: Pairs<D>,
    /// The number of terms in the pairs.
    terms: u64,
    exact: ExactSum,
}

impl<D: Doubles> Default for RunningSum<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D: Doubles> RunningSum<D> {
    /// The best number of terms to add at a time.
    pub(crate) const BLOCK: usize = BLOCK * LANES;

    /// The empty sum.
    pub fn new() -> Self {
        Self { pairs: Pairs::empty(), terms: 0, exact: ExactSum::new() }
    }

    /// Adds every term of a slice.
    #[inline(always)]
    pub fn add_slice(&mut self, terms: &[f64]) {
        let (blocks, rest) = terms.as_chunks();
        for block in blocks {
            self.add_block(block);
        }
        if !rest.is_empty() {
            let mut block = [-0.0; BLOCK * LANES];
            block[..rest.len()].copy_from_slice(rest);
            self.add_some(&block, rest.len());
        }
    }

    /// Adds a whole block.
    #[inline(always)]
    pub(crate) fn add_block(&mut self, block: &[f64; BLOCK * LANES]) {
        self.add_some(block, Self::BLOCK);
    }

    /// Adds a block in which only the first `terms` count. The others are −0.
    #[inline(always)]
    fn add_some(&mut self, block: &[f64; BLOCK * LANES], terms: usize) {
        let mut pairs = self.pairs;
        match fits(&mut pairs, block) {
            true => {
                self.pairs = pairs;
                self.terms += terms as u64;
            }
            false => self.spill(block, terms),
        }
    }

    // Not of an instruction set: rarely called, and the same with any.
    #[cold]
    #[inline(never)]
    fn spill(&mut self, block: &[f64; BLOCK * LANES], terms: usize) {
        self.flush();
        let mut pairs = Pairs::<Portable>::empty();
        match fits(&mut pairs, block) {
            true => {
                let Pairs { high, low } = pairs;
                self.pairs = Pairs { high: D::from_f64(&high.to_array()), low: D::from_f64(&low.to_array()) };
                self.terms = terms as u64;
            }
            false => self.exact.add_slice(&block[..terms]),
        }
    }

    /// Moves the pairs into the exact sum.
    fn flush(&mut self) {
        for (high, low) in self.pairs.lanes() {
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

/// Adds a block, and returns whether the pairs still hold the exact sum.
#[inline(always)]
fn fits<D: Doubles>(pairs: &mut Pairs<D>, block: &[f64; BLOCK * LANES]) -> bool {
    let mut losses = Losses::none();
    for terms in block.as_chunks::<LANES>().0 {
        pairs.add(D::from_f64(terms), &mut losses);
    }
    !losses.any()
}

/// A sum for each place of a row, over many rows of equal length: the words of outer sites, with each real summed separately.
pub(crate) struct RowSums<D> {
    reals: usize,
    pairs: Vec<Pairs<D>>,
    rows: u64,
    /// The spilled sum of each place, without counts of terms; empty until something is spilled.
    spilled: Vec<ExactSum>,
}

impl<D: Doubles> RowSums<D> {
    /// No rows. Each row has `reals` reals.
    pub(crate) fn new(reals: usize) -> Self {
        Self { reals, pairs: vec![Pairs::empty(); reals.div_ceil(LANES)], rows: 0, spilled: Vec::new() }
    }

    /// Adds the rows with these numbers.
    #[inline(always)]
    pub(crate) fn add_rows<R: Real>(&mut self, all: &[R], rows: &[u32]) {
        let row = |row: u32| &all[row as usize * self.reals..][..self.reals];
        let (blocks, rest) = rows.as_chunks::<BLOCK>();
        let mut blocks = blocks.iter().map(|block| block.map(row)).peekable();
        let rest: Vec<&[R]> = rest.iter().map(|&number| row(number)).collect();
        let mut count = rest.len();
        while let Some(block) = blocks.next() {
            let next = *blocks.peek().unwrap_or(&block);
            add_block(&mut self.pairs, &mut self.spilled, &block, &next);
            count += BLOCK;
        }
        add_some(&mut self.pairs, &mut self.spilled, &rest, 0);
        self.rows += count as u64;
    }

    pub(crate) fn add_to(&self, total: &mut ExactSum, place: usize) {
        let (high, low) = self.pairs[place / LANES].lanes()[place % LANES];
        total.add_pair(high, low, self.rows);
        if let Some(spilled) = self.spilled.get(place) {
            total.merge(spilled);
        }
    }
}

/// Adds a block of rows, and prefetches those of the next one.
#[inline(always)]
fn add_block<D: Doubles, R: Real>(
    pairs: &mut [Pairs<D>],
    spilled: &mut Vec<ExactSum>,
    rows: &[&[R]; BLOCK],
    next: &[&[R]; BLOCK],
) {
    let whole_chunks = rows[0].len() / LANES;
    let chunks = rows.map(|row| &row.as_chunks::<LANES>().0[..whole_chunks]);
    let next = next.map(|row| &row.as_chunks::<LANES>().0[..whole_chunks]);
    for (chunk, pairs) in pairs[..whole_chunks].iter_mut().enumerate() {
        let mut sums = *pairs;
        let mut losses = Losses::none();
        for (row, next) in chunks.iter().zip(&next) {
            prefetch_far(&next[chunk]);
            sums.add(R::to_doubles(&row[chunk]), &mut losses);
        }
        if losses.any() { spill(pairs, spilled, chunk, rows) } else { *pairs = sums }
    }
    add_some(pairs, spilled, rows, whole_chunks);
}

/// Adds the chunks of rows, starting at `first`.
#[inline(always)]
fn add_some<D: Doubles, R: Real>(pairs: &mut [Pairs<D>], spilled: &mut Vec<ExactSum>, rows: &[&[R]], first: usize) {
    for (chunk, pairs) in pairs.iter_mut().enumerate().skip(first) {
        let mut sums = *pairs;
        let mut losses = Losses::none();
        for row in rows {
            sums.add(to_doubles(&row[chunk * LANES..]), &mut losses);
        }
        if losses.any() { spill(pairs, spilled, chunk, rows) } else { *pairs = sums }
    }
}

#[cold]
#[inline(never)]
fn spill<D: Doubles, R: Real>(pairs: &mut Pairs<D>, spilled: &mut Vec<ExactSum>, chunk: usize, rows: &[&[R]]) {
    let reals = rows[0].len();
    spilled.resize(reals, ExactSum::new());
    for (place, (high, low)) in (chunk * LANES..reals).zip(std::mem::replace(pairs, Pairs::empty()).lanes()) {
        spilled[place].add_uncounted(high, low);
        rows.iter().for_each(|row| spilled[place].add_uncounted(row[place].to_f64(), 0.0));
    }
}

/// The first eight reals as doubles. If there are fewer, −0 is appended.
#[inline(always)]
fn to_doubles<D: Doubles, R: Real>(reals: &[R]) -> D {
    match reals.first_chunk::<LANES>() {
        Some(reals) => R::to_doubles(reals),
        None => {
            let mut padded = [-0.0; LANES];
            for (to, from) in padded.iter_mut().zip(reals) {
                *to = from.to_f64();
            }
            D::from_f64(&padded)
        }
    }
}

#[cfg(test)]
mod tests;
