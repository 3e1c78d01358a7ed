//! Sums over sites on the CPU (`docs/arithmetic.md` §8). The contributions of sites are doubles, which are summed exactly or by a tree plan.
//! Counterpart: `cl/reduce.cl`.

mod contributions;
mod exact_terms;
mod site_words;
mod tree;

use std::ops::Range;

use num_complex::Complex;

pub(super) use contributions::Contributions;
pub(super) use exact_terms::ExactTerms;
use site_words::SiteWords;
pub(super) use tree::tree_sum;
use tree::{MemoryOrder, TaskContributions, in_memory_order};

use super::checks::check_like;
use super::task_sizes::TaskSizes;
use super::with_vectors::LaneOperation;
use crate::exact::{ExactSum, RowSums};
use crate::extreme::Extreme;
use crate::field::{FieldData, FieldError};
use crate::half::Half;
use crate::layout::{Direction, LaneWidth, Slices, TreePlan};
use crate::real::Real;
use crate::tasks::{self, chunk, items_a_task};
use crate::tensor::{InstructionSet, LaneVector, Task};

/// How the contributions of sites are summed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Sum {
    /// The exact sum, rounded once. It depends only on the terms.
    #[default]
    Exact,
    /// Grid's block reduction with the shape of a plan. It depends on the terms, their order in memory (and so on the lane width), and the plan.
    Tree(TreePlan),
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Tree(plan) => write!(f, "tree of {plan}"),
        }
    }
}

/// The sums of one rank, before they are rounded.
#[derive(Clone, Debug)]
pub enum PartialSums {
    /// Exact sums. Those of several ranks merge as integers, in any order.
    Exact(Vec<ExactSum>),
    /// Tree sums. They cannot be merged, because a plan is for all sites.
    Tree(Vec<f64>),
    /// The greatest or the least of the terms, one number for each argument. Those of several ranks can be merged.
    Extremes(Extreme, Vec<f64>),
}

/// Partial sums that cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum MergeError {
    #[error(
        "tree sums of several ranks cannot be merged, since their plan is one over the whole lattice: use exact sums"
    )]
    Tree,
    #[error("{left} sums cannot be merged with {right}: both ranks must sum the same")]
    Count { left: usize, right: usize },
}

impl PartialSums {
    /// The number of sums.
    pub fn len(&self) -> usize {
        match self {
            Self::Exact(sums) => sums.len(),
            Self::Tree(sums) | Self::Extremes(_, sums) => sums.len(),
        }
    }

    /// Whether there are no sums.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the sums of other sites, one by one.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        let left = self.len();
        match (self, other) {
            (Self::Exact(sums), Self::Exact(others)) if sums.len() == others.len() => {
                sums.iter_mut().zip(others).for_each(|(sum, other)| sum.merge(other));
                Ok(())
            }
            (Self::Extremes(extreme, terms), Self::Extremes(other, others))
                if extreme == other && terms.len() == others.len() =>
            {
                terms.iter_mut().zip(others).for_each(|(term, other)| *term = extreme.of(*term, *other));
                Ok(())
            }
            (Self::Exact(_), Self::Exact(_)) | (Self::Extremes(..), Self::Extremes(..)) => {
                Err(MergeError::Count { left, right: other.len() })
            }
            _ => Err(MergeError::Tree),
        }
    }

    /// The sums, each rounded once.
    pub fn round(&self) -> Vec<f64> {
        match self {
            Self::Exact(sums) => sums.iter().map(ExactSum::round).collect(),
            Self::Tree(sums) | Self::Extremes(_, sums) => sums.clone(),
        }
    }

    /// The sums, with real and imaginary parts alternating, each rounded once.
    pub fn round_complex(&self) -> Vec<Complex<f64>> {
        self.round().chunks_exact(2).map(|parts| Complex::new(parts[0], parts[1])).collect()
    }
}

/// |x|²: one sum.
pub fn norm2<R: Compiled>(x: &FieldData<R>, sum: Sum) -> PartialSums {
    R::run_norm2(x.lattice().width(), Norm2 { shape: TaskSizes::of(x), x: x.reals(), sum })
}

/// ⟨x, y⟩ for each x of `xs`, antilinear in x: two sums for each.
///
/// # Errors
/// [`FieldError::Mismatch`] unless all fields are on the same sites of the same lattice.
pub fn inner_products<R: Compiled>(
    xs: &[&FieldData<R>],
    y: &FieldData<R>,
    sum: Sum,
) -> Result<PartialSums, FieldError> {
    for x in xs {
        check_like("inner product", x, y)?;
    }
    let xs = xs.iter().map(|x| x.reals()).collect();
    Ok(R::run_inner_products(y.lattice().width(), InnerProducts { shape: TaskSizes::of(y), xs, y: y.reals(), sum }))
}

/// The sum of each complex word over all sites: two sums for each word.
pub fn sum<R: Compiled>(x: &FieldData<R>, sum: Sum) -> PartialSums {
    let osites: Vec<u32> = (0..x.osites() as u32).collect();
    let lanes: Vec<u32> = (0..x.lattice().nsimd() as u32).collect();
    let (classes, groups) = (vec![&osites[..]], vec![&lanes[..]]);
    R::run_word_sums(x.lattice().width(), WordSums { sites: SiteWords::of(x), classes, groups, sum })
}

/// The sum of each complex word over each slice across `direction`: two sums for each word, slice by slice.
pub fn slice_sums<R: Compiled>(x: &FieldData<R>, direction: Direction, sum: Sum) -> Result<PartialSums, FieldError> {
    let slices = Slices::new(x.lattice(), x.sites(), direction)?;
    let classes = (0..slices.classes()).map(|class| slices.osites_of(class)).collect();
    let groups = slices.lanes().chunks_exact(slices.lanes_a_group()).collect();
    Ok(R::run_word_sums(x.lattice().width(), WordSums { sites: SiteWords::of(x), classes, groups, sum }))
}

compiled! {
    fn run_norm2(width, Norm2 { shape, x, sum }) -> PartialSums {
        f32::run_norm2(width, Norm2 { shape, x: Half::as_f32(x), sum })
    }
    fn run_inner_products(width, InnerProducts { shape, xs, y, sum }) -> PartialSums {
        let xs = xs.into_iter().map(Half::as_f32).collect();
        f32::run_inner_products(width, InnerProducts { shape, xs, y: Half::as_f32(y), sum })
    }
    fn run_word_sums(width, WordSums { sites: SiteWords { field, words, nsimd }, classes, groups, sum }) -> PartialSums {
        let sites = SiteWords { field: bytemuck::cast_slice(field), words, nsimd };
        f32::run_word_sums(width, WordSums { sites, classes, groups, sum })
    }
}

#[doc(hidden)]
pub struct Norm2<'a, R> {
    pub(crate) shape: TaskSizes,
    pub(crate) x: &'a [R],
    pub(crate) sum: Sum,
}

impl<R: Real> LaneOperation<R> for Norm2<'_, R> {
    type Output = PartialSums;
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> PartialSums {
        let Self { shape, x, sum } = self;
        if let Sum::Tree(plan) = sum {
            let terms = in_memory_order::<V, 1>(shape, blocks, x.len(), NormsOf(x));
            return PartialSums::Tree(tree_sum(plan, terms.len(), |element| terms[element]).to_vec());
        }
        let norms = NormsTask { a_task: shape.a_task, contributions: Contributions::<V>::new(shape, blocks), x };
        let sums = tasks::map(x.len().div_ceil(shape.a_task), |task| V::Set::run(&norms, task));
        let norm2: [ExactSum; 1] = merged(&sums);
        PartialSums::Exact(norm2.into())
    }
}

/// |x|² of the sites of a task.
struct NormsTask<'a, V: LaneVector> {
    a_task: usize,
    contributions: Contributions<V>,
    x: &'a [V::Real],
}

impl<V: LaneVector> Task<usize> for NormsTask<'_, V> {
    type Output = [ExactSum; 1];
    #[inline(always)]
    fn run(&self, task: usize) -> [ExactSum; 1] {
        let mut terms = ExactTerms::<V::Doubles, 1>::new();
        self.contributions.norms(chunk(self.x, self.a_task, task), &mut terms);
        terms.sums()
    }
}

/// |x|² of each site.
struct NormsOf<'a, R>(&'a [R]);

impl<V: LaneVector> TaskContributions<V, 1> for NormsOf<'_, V::Real> {
    #[inline(always)]
    fn contribute(&self, reals: Range<usize>, contributions: &Contributions<V>, order: &mut MemoryOrder<'_, 1>) {
        contributions.norms(&self.0[reals], order);
    }
}

#[doc(hidden)]
pub struct InnerProducts<'a, R> {
    pub(crate) shape: TaskSizes,
    pub(crate) xs: Vec<&'a [R]>,
    pub(crate) y: &'a [R],
    pub(crate) sum: Sum,
}

impl<R: Real> LaneOperation<R> for InnerProducts<'_, R> {
    type Output = PartialSums;
    /// Exact sums in one pass: a few outer sites of y stay in the nearest cache for all of `xs`.
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> PartialSums {
        let Self { shape, xs, y, sum } = self;
        if let Sum::Tree(plan) = sum {
            let product = |x: &&[R]| {
                let terms = in_memory_order::<V, 2>(shape, blocks, x.len(), ProductsOf(x, y));
                tree_sum(plan, terms.len(), |element| terms[element])
            };
            return PartialSums::Tree(xs.iter().flat_map(product).collect());
        }
        let contributions = Contributions::<V>::new(shape, blocks);
        let products = ProductsTask { shape, contributions, xs: &xs, y };
        let tasks = tasks::map(y.len().div_ceil(shape.a_task), |task| V::Set::run(&products, task));
        PartialSums::Exact((0..xs.len()).flat_map(|x| merged(tasks.iter().map(|sums| &sums[x]))).collect())
    }
}

/// ⟨x, y⟩ of the sites of a task, for each x.
struct ProductsTask<'a, V: LaneVector> {
    shape: TaskSizes,
    contributions: Contributions<V>,
    xs: &'a [&'a [V::Real]],
    y: &'a [V::Real],
}

impl<V: LaneVector> Task<usize> for ProductsTask<'_, V> {
    type Output = Vec<[ExactSum; 2]>;
    #[inline(always)]
    fn run(&self, task: usize) -> Vec<[ExactSum; 2]> {
        let Self { shape: TaskSizes { an_osite, a_task }, xs, .. } = *self;
        let y = chunk(self.y, a_task, task);
        let mut terms: Vec<ExactTerms<V::Doubles, 2>> = Vec::with_capacity(xs.len());
        terms.resize_with(xs.len(), ExactTerms::new);
        let a_chunk = if xs.len() == 1 { a_task } else { Contributions::<V>::OSITES * an_osite };
        for (chunk, y) in y.chunks(a_chunk).enumerate() {
            for (x, terms) in xs.iter().zip(&mut terms) {
                self.contributions.inner_products(&x[task * a_task + chunk * a_chunk..][..y.len()], y, terms);
            }
        }
        let mut sums = Vec::with_capacity(xs.len());
        for terms in terms {
            sums.push(terms.sums());
        }
        sums
    }
}

/// ⟨x, y⟩ of each site.
struct ProductsOf<'a, R>(&'a [R], &'a [R]);

impl<V: LaneVector> TaskContributions<V, 2> for ProductsOf<'_, V::Real> {
    #[inline(always)]
    fn contribute(&self, reals: Range<usize>, contributions: &Contributions<V>, order: &mut MemoryOrder<'_, 2>) {
        contributions.inner_products(&self.0[reals.clone()], &self.1[reals], order);
    }
}

/// The merged sums of all tasks. Merging is integer addition, so the order of the tasks does not matter.
pub(super) fn merged<'a, const N: usize>(tasks: impl IntoIterator<Item = &'a [ExactSum; N]>) -> [ExactSum; N] {
    let mut total: [ExactSum; N] = std::array::from_fn(|_| ExactSum::new());
    for task in tasks {
        for (total, sum) in total.iter_mut().zip(task) {
            total.merge(sum);
        }
    }
    total
}

/// Sums of each word, over each pair of a class of outer sites and a group of lanes.
#[doc(hidden)]
pub struct WordSums<'a, R> {
    pub(crate) sites: SiteWords<'a, R>,
    pub(crate) classes: Vec<&'a [u32]>,
    pub(crate) groups: Vec<&'a [u32]>,
    pub(crate) sum: Sum,
}

impl<R: Real> LaneOperation<R> for WordSums<'_, R> {
    type Output = PartialSums;
    /// For each group of lanes and each class of outer sites: the sum of each word, real and imaginary part.
    fn run<V: LaneVector<Real = R>>(self, _: usize) -> PartialSums {
        match self.sum {
            Sum::Exact => PartialSums::Exact(self.exact::<V>()),
            Sum::Tree(plan) => {
                PartialSums::Tree(self.groups.iter().flat_map(|lanes| self.tree(plan, lanes)).flatten().collect())
            }
        }
    }
}

/// Sums of the reals of rows of outer sites, place by place.
struct RowsTask<'a, V: LaneVector> {
    reals: &'a [V::Real],
    a_row: usize,
    /// A class, and some of its outer sites.
    tasks: &'a [(usize, &'a [u32])],
}

impl<V: LaneVector> Task<usize> for RowsTask<'_, V> {
    type Output = (usize, RowSums<V::Doubles>);
    #[inline(always)]
    fn run(&self, task: usize) -> (usize, RowSums<V::Doubles>) {
        let (class, osites) = self.tasks[task];
        let mut sums = RowSums::new(self.a_row);
        sums.add_rows(self.reals, osites);
        (class, sums)
    }
}

impl<R: Real> WordSums<'_, R> {
    fn exact<V: LaneVector<Real = R>>(&self) -> Vec<ExactSum> {
        let SiteWords { field, words, nsimd } = self.sites;
        let reals: &[R] = bytemuck::cast_slice(field);
        let a_row = 2 * words * nsimd;
        let a_task = items_a_task(field.len() / (words * nsimd));
        let tasks = self.classes.iter().enumerate();
        let tasks: Vec<_> =
            tasks.flat_map(|(class, osites)| osites.chunks(a_task).map(move |osites| (class, osites))).collect();
        // Sums of each class, of each real of a row; which lanes belong together is looked at only at the end.
        let rows_task = RowsTask::<V> { reals, a_row, tasks: &tasks };
        let rows = tasks::map(tasks.len(), |task| V::Set::run(&rows_task, task));
        let total = |k: usize| {
            let (group, class, word) = (k / words / self.classes.len(), k / words % self.classes.len(), k % words);
            let mut total = [ExactSum::new(), ExactSum::new()];
            for (_, sums) in rows.iter().filter(|(of, _)| *of == class) {
                for &lane in self.groups[group] {
                    let place = 2 * (word * nsimd + lane as usize);
                    for (part, total) in total.iter_mut().enumerate() {
                        sums.add_to(total, place + part);
                    }
                }
            }
            total
        };
        tasks::map(self.groups.len() * self.classes.len() * words, total).concat()
    }

    fn tree<'a>(&'a self, plan: TreePlan, lanes: &'a [u32]) -> impl Iterator<Item = Vec<f64>> + 'a {
        self.classes.iter().map(move |osites| {
            let sum_of = |word| {
                tree_sum(plan, osites.len() * lanes.len(), |element| {
                    let (osite, lane) = (osites[element / lanes.len()], lanes[element % lanes.len()]);
                    self.sites.word(osite as usize, lane as usize, word)
                })
            };
            (0..self.sites.words).flat_map(sum_of).collect()
        })
    }
}
