//! What a task of a body sums: terms, collected until they make a block of [`RunningSum`]. Counterpart: `running_add` of `cl/exact.clh`.

use crate::doubles::SITES;
use crate::exact::{ExactSum, RunningSum};
use crate::tensor::Doubles;

/// What a task sums.
pub struct TaskSums<D>(pub Vec<Terms<D>>);

/// Terms, collected until they make a block of [`RunningSum`].
pub struct Terms<D> {
    collected: [f64; TERMS],
    filled: usize,
    sum: RunningSum<D>,
}

const TERMS: usize = <RunningSum>::BLOCK;

impl<D: Doubles> TaskSums<D> {
    pub fn new(sums: usize) -> Self {
        let empty = || Terms { collected: [0.0; TERMS], filled: 0, sum: RunningSum::new() };
        Self((0..sums).map(|_| empty()).collect())
    }

    #[inline(always)]
    pub fn into_exact(self) -> Vec<ExactSum> {
        let mut sums = Vec::with_capacity(self.0.len());
        for mut terms in self.0 {
            terms.sum.add_slice(&terms.collected[..terms.filled]);
            sums.push(terms.sum.into_exact());
        }
        sums
    }
}

impl<D: Doubles> Terms<D> {
    #[inline(always)]
    pub fn eight(&mut self, terms: D) {
        if self.filled.is_multiple_of(SITES) {
            self.collected[self.filled..self.filled + SITES].copy_from_slice(&terms.to_array());
            self.filled += SITES;
            self.flush_if_full();
        } else {
            for term in terms.to_array() {
                self.one(term);
            }
        }
    }

    #[inline(always)]
    pub fn one(&mut self, term: f64) {
        self.collected[self.filled] = term;
        self.filled += 1;
        self.flush_if_full();
    }

    #[inline(always)]
    fn flush_if_full(&mut self) {
        if self.filled == TERMS {
            self.sum.add_block(&self.collected);
            self.filled = 0;
        }
    }
}
