//! Exact sums of contributions.

use wide::f64x8;

use super::contributions::Sink;
use crate::exact::{ExactSum, RunningSum};
use crate::tensor::eight;

/// Vectors of eight terms that make a block of [`RunningSum`].
const VECTORS: usize = RunningSum::BLOCK / eight::SITES;

/// `N` exact sums. Terms are collected until they make a block of [`RunningSum`].
pub struct ExactTerms<const N: usize> {
    sums: [RunningSum; N],
    collected: [[f64x8; VECTORS]; N],
    filled: usize,
    /// Terms that came one by one.
    others: Vec<[f64; N]>,
}

impl<const N: usize> ExactTerms<N> {
    /// No terms yet.
    pub fn new() -> Self {
        Self {
            sums: std::array::from_fn(|_| RunningSum::new()),
            collected: [[f64x8::splat(0.0); VECTORS]; N],
            filled: 0,
            others: Vec::new(),
        }
    }

    /// The exact sums of all terms.
    pub fn sums(mut self) -> [ExactSum; N] {
        for (k, sum) in self.sums.iter_mut().enumerate() {
            sum.add_slice(bytemuck::cast_slice(&self.collected[k][..self.filled]));
            sum.add_slice(&self.others.iter().map(|terms| terms[k]).collect::<Vec<_>>());
        }
        self.sums.map(RunningSum::into_exact)
    }
}

impl<const N: usize> Sink<N> for ExactTerms<N> {
    #[inline(always)]
    fn eight(&mut self, _: usize, _: usize, terms: [f64x8; N]) {
        for (collected, terms) in self.collected.iter_mut().zip(terms) {
            collected[self.filled % VECTORS] = terms;
        }
        self.filled += 1;
        if self.filled == VECTORS {
            for (sum, terms) in self.sums.iter_mut().zip(&self.collected) {
                sum.add_block(bytemuck::cast_ref(terms));
            }
            self.filled = 0;
        }
    }

    #[cold]
    fn one(&mut self, _: usize, _: usize, terms: [f64; N]) {
        self.others.push(terms);
    }
}
