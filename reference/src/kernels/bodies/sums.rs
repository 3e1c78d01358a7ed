//! The sums of a launch: terms of a task, collected until they fill a block of [`RunningSum`], or all terms in the order of memory. Counterpart:
//! `running_add` of `cl/exact.clh`.

use super::super::reduce::{PartialSums, Sum, tree_sum};
use super::launch::{Launch, Taken};
use crate::doubles::{Doubles, SITES};
use crate::exact::{ExactSum, RunningSum};
use crate::extreme::Extreme;
use crate::layout::Slices;
use crate::tasks;
use crate::tensor::portable::Portable;

pub struct TaskSums<D = Portable>(pub Vec<Terms<D>>);

/// Terms that are collected until they fill a block of [`RunningSum`].
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

/// The sums of a launch. Exact sums of tasks are merged. Terms of tree sums, of sums over slices, and of extremes are stored in the order of memory.
pub struct Sums {
    taken: Taken,
    parts: usize,
    nsimd: usize,
    /// `nsimd` terms for each component of an outer site, sum after sum, and one of extremes, whose order does not matter; none where tasks sum.
    ordered: Vec<Vec<f64>>,
    places: Vec<*mut f64>,
}

// SAFETY: tasks put the terms of different sites.
unsafe impl Sync for Sums {}

impl Sums {
    pub fn new(launch: &Launch<'_>) -> Self {
        let Launch { target, taken, .. } = launch;
        let (parts, nsimd) = (target.object.parts(), target.lattice.nsimd());
        let in_order = matches!(taken.sum, Sum::Tree(_)) || taken.extreme.is_some() || taken.slices.is_some();
        let none = taken.extreme.map_or(0.0, Extreme::of_none);
        let of_component = if taken.extreme.is_some() { 1 } else { nsimd };
        let terms = || vec![none; target.osites() * parts * of_component];
        let mut ordered: Vec<Vec<f64>> = (0..if in_order { taken.sums } else { 0 }).map(|_| terms()).collect();
        let places = ordered.iter_mut().map(Vec::as_mut_ptr).collect();
        Self { taken: taken.clone(), parts, nsimd, ordered, places }
    }

    pub fn count(&self) -> usize {
        self.taken.sums
    }

    /// Whether terms are put in the order of memory.
    pub fn are_in_order(&self) -> bool {
        !self.ordered.is_empty()
    }

    /// Puts a term of sum number `number` where its site stands in memory. A site has one, or several of which the extreme is taken.
    ///
    /// # Safety
    /// The terms are in order, the component and the lane exist, and nobody else puts a term of this component.
    #[inline(always)]
    pub unsafe fn put(&self, number: usize, component: usize, lane: usize, term: f64) {
        let place = if self.taken.extreme.is_some() { component } else { component * self.nsimd + lane };
        // SAFETY: there is a place for each lane of each component, or one of extremes, and the caller alone writes those of this component.
        let place = unsafe { &mut *self.places[number].add(place) };
        *place = self.taken.extreme.map_or(term, |extreme| extreme.of(*place, term));
    }

    pub fn taken(&self, tasks: Vec<Vec<ExactSum>>) -> PartialSums {
        if let Some(slices) = &self.taken.slices {
            return self.taken_over(slices);
        }
        if let Some(extreme) = self.taken.extreme {
            let of_all = |terms: &Vec<f64>| extreme.of_all(terms.iter().copied());
            return PartialSums::Extremes(extreme, self.ordered.iter().map(of_all).collect());
        }
        match self.taken.sum {
            Sum::Exact => {
                let mut total: Vec<ExactSum> = (0..self.taken.sums).map(|_| ExactSum::new()).collect();
                for task in &tasks {
                    total.iter_mut().zip(task).for_each(|(total, sum)| total.merge(sum));
                }
                PartialSums::Exact(total)
            }
            Sum::Tree(plan) => {
                let sum = |terms: &Vec<f64>| tree_sum(plan, terms.len(), |element| [terms[element]])[0];
                PartialSums::Tree(self.ordered.iter().map(sum).collect())
            }
        }
    }

    /// The sums over each slice, slice after slice.
    fn taken_over(&self, slices: &Slices) -> PartialSums {
        let sums = self.taken.sums;
        let number = slices.count() * sums;
        let terms = |number: usize| self.terms_of_slice(slices, number / sums, number % sums);
        match self.taken.sum {
            Sum::Exact => PartialSums::Exact(tasks::map(number, |number| {
                let mut sum = ExactSum::new();
                sum.add_slice(&terms(number));
                sum
            })),
            Sum::Tree(plan) => PartialSums::Tree(tasks::map(number, |number| {
                let terms = terms(number);
                tree_sum(plan, terms.len(), |element| [terms[element]])[0]
            })),
        }
    }

    /// The terms that a sum has of a slice, in the order of memory.
    fn terms_of_slice(&self, slices: &Slices, slice: usize, sum: usize) -> Vec<f64> {
        let (osites, lanes) = slices.slice(slice);
        let mut terms = Vec::with_capacity(osites.len() * self.parts * lanes.len());
        for &osite in osites {
            for component in osite as usize * self.parts..(osite as usize + 1) * self.parts {
                terms.extend(lanes.iter().map(|&lane| self.ordered[sum][component * self.nsimd + lane as usize]));
            }
        }
        terms
    }
}
