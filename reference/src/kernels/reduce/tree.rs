//! Grid's block reduction (`docs/arithmetic.md` §8), over contributions in the order of memory: lanes are faster than outer sites.

use std::ops::Range;

use super::contributions::{Contributions, Sink};
use crate::kernels::task_sizes::TaskSizes;
use crate::layout::TreePlan;
use crate::tasks::{self, for_each_chunk};
use crate::tensor::{Doubles, InstructionSet, LaneVector, Task, eight};

/// Computes the contributions of some outer sites: those of the reals of a task.
pub(super) trait TaskContributions<V: LaneVector, const N: usize>: Sync {
    /// Stores them in `order`. It must be `#[inline(always)]`.
    fn contribute(&self, reals: Range<usize>, contributions: &Contributions<V>, order: &mut MemoryOrder<'_, N>);
}

/// The contributions of all sites of a field of `reals` reals, in the order of memory.
pub(super) fn in_memory_order<V: LaneVector, const N: usize>(
    shape: TaskSizes,
    blocks: usize,
    reals: usize,
    of_task: impl TaskContributions<V, N>,
) -> Vec<[f64; N]> {
    let (contributions, nsimd) = (Contributions::<V>::new(shape, blocks), blocks * Contributions::<V>::LANES);
    let mut terms = vec![[0.0; N]; reals / shape.an_osite * nsimd];
    let in_order = InOrder { a_task: shape.a_task, reals, nsimd, contributions, of_task };
    for_each_chunk(&mut terms, shape.a_task / shape.an_osite * nsimd, |task, terms| {
        V::Set::run(&in_order, (task, terms));
    });
    terms
}

/// The contributions of a task.
struct InOrder<V, T> {
    a_task: usize,
    reals: usize,
    nsimd: usize,
    contributions: Contributions<V>,
    of_task: T,
}

impl<V: LaneVector, T: TaskContributions<V, N>, const N: usize> Task<(usize, &mut [[f64; N]])> for InOrder<V, T> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (task, terms): (usize, &mut [[f64; N]])) {
        let mut order = MemoryOrder { terms, nsimd: self.nsimd, lanes: Contributions::<V>::LANES };
        let first = task * self.a_task;
        let reals = first..(first + self.a_task).min(self.reals);
        self.of_task.contribute(reals, &self.contributions, &mut order);
    }
}

/// Stores contributions at the positions of their sites in memory.
pub(super) struct MemoryOrder<'a, const N: usize> {
    terms: &'a mut [[f64; N]],
    nsimd: usize,
    /// The number of lanes of a vector.
    lanes: usize,
}

impl<D: Doubles, const N: usize> Sink<D, N> for MemoryOrder<'_, N> {
    #[inline(always)]
    fn eight(&mut self, osite: usize, lane: usize, terms: [D; N]) {
        let terms = terms.map(|terms| terms.to_array());
        for k in 0..crate::doubles::SITES {
            let at = eight::lane_at(k);
            self.put(osite + at / self.lanes, lane + at % self.lanes, terms.map(|terms| terms[k]));
        }
    }

    #[inline(always)]
    fn one(&mut self, osite: usize, lane: usize, terms: [f64; N]) {
        self.put(osite, lane, terms);
    }
}

impl<const N: usize> MemoryOrder<'_, N> {
    #[inline(always)]
    fn put(&mut self, osite: usize, lane: usize, terms: [f64; N]) {
        self.terms[osite * self.nsimd + lane] = terms;
    }
}

/// The tree sum of `n` elements, with `N` sums side by side. Blocks are tasks. The order within and between them is that of the plan, whatever the
/// number of threads.
pub(crate) fn tree_sum<const N: usize>(plan: TreePlan, n: usize, term: impl Fn(usize) -> [f64; N] + Sync) -> [f64; N] {
    let (threads, blocks) = (plan.threads(), plan.blocks());
    let add = |s: [f64; N], x: [f64; N]| std::array::from_fn(|k| s[k] + x[k]);
    let of_blocks: Vec<[f64; N]> = tasks::map(blocks, |block| {
        let mut of_threads = vec![[0.0; N]; threads];
        // Each thread adds its elements in ascending order, as if it ran by itself; all of them together walk through memory once.
        for first in (2 * block * threads..n).step_by(2 * threads * blocks) {
            for first in [first, first + threads] {
                of_threads.iter_mut().zip(first..n).for_each(|(s, element)| *s = add(*s, term(element)));
            }
        }
        block_sum(&mut of_threads, plan.warp(), add)
    });
    // The last block.
    let mut of_threads: Vec<[f64; N]> = (0..threads)
        .map(|thread| of_blocks.iter().skip(thread).step_by(threads).fold([0.0; N], |s, &x| add(s, x)))
        .collect();
    block_sum(&mut of_threads, plan.warp(), add)
}

/// Each warp is summed by halving, then the warps are added in order.
fn block_sum<const N: usize>(
    of_threads: &mut [[f64; N]],
    warp: usize,
    add: impl Fn([f64; N], [f64; N]) -> [f64; N],
) -> [f64; N] {
    of_threads.chunks_exact_mut(warp).fold([0.0; N], |z, of_warp| {
        let mut half = warp / 2;
        while half > 0 {
            let (lower, upper) = of_warp.split_at_mut(half);
            lower.iter_mut().zip(upper).for_each(|(s, x)| *s = add(*s, *x));
            half /= 2;
        }
        add(z, of_warp[0])
    })
}
