//! Long sums at the speed of memory: error-free transformations in vector registers, and [`ExactSum`] for what these cannot hold.
//!
//! Each lane keeps its sum as an unevaluated pair high + low. A term x goes in by two TwoSums (Knuth, *The Art of Computer Programming* 2,
//! §4.2.2, theorem B): (high, error) ← high + x, then (low, residual) ← low + error, both without any loss, for any two doubles whose sum
//! does not overflow. While the residual is zero, high + low is the exact sum. Terms of a field lie within fifty binades or so of each
//! other, and then the residual stays zero for as long as anyone sums.
//!
//! The residuals of a block of terms are looked at together: one branch a block. Where one of them is not zero, the lanes' pairs from
//! before the block go into the `ExactSum`, and the block is tried again from zero; if that fails too, it goes in term by term. An
//! overflow, an infinity or a NaN makes the residual a NaN, which is not zero either: in TwoSum(a, b) an infinite or NaN a + b makes
//! b' = (a + b) − a, then a − ((a + b) − b'), a NaN or infinite, and so on up to the residual.
//!
//! Lanes begin with high = −0, which is the identity of addition: high stays −0 as long as every term is −0, and no longer.
//!
//! This is the two-level case of the expansions of J. R. Shewchuk, *Adaptive precision floating-point arithmetic*, Discrete & Computational
//! Geometry 18 (1997) 305; spilling expansions into a long accumulator is that of Collange et al. (see [`super`]).

use bytemuck::cast;
use wide::{f64x8, u64x8};

use super::ExactSum;
use crate::real::Real;

/// Lanes of a vector of pairs.
const LANES: usize = 8;
/// Vectors of terms whose residuals are looked at together.
const BLOCK: usize = 8;

/// The identity of addition in every lane.
fn nothing() -> f64x8 {
    f64x8::splat(-0.0)
}

/// high + low in each lane.
#[derive(Clone, Copy, Debug)]
struct Pairs {
    high: f64x8,
    low: f64x8,
}

impl Pairs {
    const EMPTY: fn() -> Self = || Self { high: nothing(), low: nothing() };

    /// Adds a term in each lane; the residual is what does not fit.
    #[inline(always)]
    fn add(&mut self, x: f64x8) -> f64x8 {
        let (high, error) = two_sum(self.high, x);
        let (low, residual) = two_sum(self.low, error);
        *self = Self { high, low };
        residual
    }
}

/// a + b, and its rounding error.
#[inline(always)]
fn two_sum(a: f64x8, b: f64x8) -> (f64x8, f64x8) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}

/// The bits of residuals, gathered.
#[derive(Clone, Copy)]
struct Residuals(u64x8);

impl Residuals {
    #[inline(always)]
    fn none() -> Self {
        Self(u64x8::splat(0))
    }
    #[inline(always)]
    fn note(&mut self, residual: f64x8) {
        self.0 |= cast::<f64x8, u64x8>(residual);
    }
    /// Whether one of them is neither +0 nor −0.
    #[inline(always)]
    fn any(self) -> bool {
        self.0.to_array().into_iter().fold(0, |all, bits| all | bits) << 1 != 0
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
        Self { pairs: Pairs::EMPTY(), terms: 0, exact: ExactSum::new() }
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
        (self.pairs, self.terms) = (Pairs::EMPTY(), 0);
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
    let mut residuals = Residuals::none();
    for terms in block.as_chunks::<LANES>().0 {
        residuals.note(pairs.add(f64x8::from(*terms)));
    }
    !residuals.any()
}

/// A sum for each place of a row, of many rows of equal length: the words of outer sites, each real number on its own.
pub(crate) struct RowSums {
    /// Reals of a row.
    reals: usize,
    pairs: Vec<Pairs>,
    /// Rows that the pairs stand for.
    rows: u64,
    /// What was spilled at each place; empty until something is.
    spilled: Vec<ExactSum>,
}

impl RowSums {
    /// How many rows are best added at a time.
    pub const ROWS: usize = BLOCK;

    /// No rows yet, of `reals` reals each.
    pub fn new(reals: usize) -> Self {
        Self { reals, pairs: vec![Pairs::EMPTY(); reals.div_ceil(LANES)], rows: 0, spilled: Vec::new() }
    }

    /// Adds rows: for each, its reals.
    pub fn add_rows<R: Real>(&mut self, rows: &[&[R]]) {
        for rows in rows.chunks(BLOCK) {
            for chunk in 0..self.pairs.len() {
                let range = chunk * LANES..(chunk * LANES + LANES).min(self.reals);
                let mut pairs = self.pairs[chunk];
                let mut residuals = Residuals::none();
                for row in rows {
                    residuals.note(pairs.add(widened(&row[range.clone()])));
                }
                match residuals.any() {
                    false => self.pairs[chunk] = pairs,
                    true => self.spill(chunk, rows),
                }
            }
            self.rows += rows.len() as u64;
        }
    }

    #[cold]
    #[inline(never)]
    fn spill<R: Real>(&mut self, chunk: usize, rows: &[&[R]]) {
        self.spilled.resize(self.reals, ExactSum::new());
        let Pairs { high, low } = std::mem::replace(&mut self.pairs[chunk], Pairs::EMPTY());
        for (lane, (high, low)) in high.to_array().into_iter().zip(low.to_array()).enumerate() {
            let place = chunk * LANES + lane;
            if place < self.reals {
                let sum = &mut self.spilled[place];
                sum.add_uncounted(high, low);
                rows.iter().for_each(|row| sum.add(row[place].to_f64()));
            }
        }
    }

    /// The sum at each place.
    pub fn into_exact(self) -> impl Iterator<Item = ExactSum> {
        let Self { reals, pairs, rows, spilled } = self;
        (0..reals).map(move |place| {
            let Pairs { high, low } = pairs[place / LANES];
            let (high, low) = (high.to_array()[place % LANES], low.to_array()[place % LANES]);
            let mut sum = spilled.get(place).cloned().unwrap_or_default();
            sum.add_uncounted(high, low);
            sum.set_terms(rows);
            sum
        })
    }
}

/// Eight reals, or the last few of a row and −0 after them, as doubles.
#[inline(always)]
fn widened<R: Real>(reals: &[R]) -> f64x8 {
    match <&[R; LANES]>::try_from(reals) {
        Ok(reals) => f64x8::from(reals.map(|x| Real::to_f64(x))),
        Err(_) => f64x8::from(std::array::from_fn(|k| reals.get(k).map_or(-0.0, |&x| Real::to_f64(x)))),
    }
}
