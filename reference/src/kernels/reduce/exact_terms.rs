//! Exact sums of contributions.

use super::contributions::Sink;
use crate::exact::{ExactSum, RunningSum};
use crate::tensor::Doubles;

/// The number of vectors of eight terms that make a block of [`RunningSum`].
const VECTORS: usize = <RunningSum>::BLOCK / crate::doubles::SITES;

/// `N` exact sums. Terms are collected until they fill a block of [`RunningSum`].
pub(crate) struct ExactTerms<D, const N: usize> {
    sums: [RunningSum<D>; N],
    collected: [[D; VECTORS]; N],
    filled: usize,
    /// Terms that were added one by one.
    others: Vec<[f64; N]>,
}

impl<D: Doubles, const N: usize> ExactTerms<D, N> {
    pub(crate) fn new() -> Self {
        Self {
            sums: std::array::from_fn(|_| RunningSum::new()),
            collected: [[D::splat(0.0); VECTORS]; N],
            filled: 0,
            others: Vec::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn sums(mut self) -> [ExactSum; N] {
        for (k, sum) in self.sums.iter_mut().enumerate() {
            sum.add_slice(bytemuck::cast_slice(&self.collected[k][..self.filled]));
            sum.add_slice(&self.others.iter().map(|terms| terms[k]).collect::<Vec<_>>());
        }
        self.sums.map(|sum| sum.into_exact())
    }
}

impl<D: Doubles, const N: usize> Sink<D, N> for ExactTerms<D, N> {
    #[inline(always)]
    fn eight(&mut self, _: usize, _: usize, terms: [D; N]) {
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
