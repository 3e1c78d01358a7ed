//! Sums over sites on the CPU (`docs/arithmetic.md` §8): each site contributes doubles, and these are summed exactly, or as a tree plan
//! says. Counterpart: `cl/reduce.cl`.

use num_complex::Complex;
use rayon::prelude::*;

use super::{LaneOperation, Shape, Vectors, check_like};
use crate::exact::{ExactSum, RowSums, RunningSum};
use crate::field::{Field, FieldError, SiteObject};
use crate::layout::{Direction, Slices, TreePlan};
use crate::real::Real;
use crate::tensor::LaneVector;

/// How the contributions of sites are summed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Sum {
    /// The exact sum, rounded once: a function of the terms alone.
    #[default]
    Exact,
    /// Grid's block reduction in the shape of a plan: a function of the terms, their order in memory (hence of the lane width) and the plan.
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

/// |x|².
pub fn norm2<R: Vectors, K: SiteObject>(x: &Field<R, K>, sum: Sum) -> f64 {
    let shape = Shape::of(x);
    match sum {
        Sum::Exact => R::run_norm2(x.lattice().width(), Norm2 { shape, x: x.reals() }),
        Sum::Tree(plan) => R::run_tree_norm2(TreeNorm2 { sites: SiteWords::of(x), plan }),
    }
}

/// ⟨x, y⟩, antilinear in x.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields lie on the same sites of the same lattice.
pub fn inner_product<R: Vectors, K: SiteObject>(
    x: &Field<R, K>,
    y: &Field<R, K>,
    sum: Sum,
) -> Result<Complex<f64>, FieldError> {
    Ok(inner_products(&[x], y, sum)?[0])
}

/// ⟨x, y⟩ for each x of `xs`, antilinear in x.
///
/// # Errors
/// As [`inner_product`].
pub fn inner_products<R: Vectors, K: SiteObject>(
    xs: &[&Field<R, K>],
    y: &Field<R, K>,
    sum: Sum,
) -> Result<Vec<Complex<f64>>, FieldError> {
    for x in xs {
        check_like("inner product", x, y)?;
    }
    Ok(match sum {
        Sum::Exact => {
            let (shape, xs) = (Shape::of(y), xs.iter().map(|x| x.reals()).collect());
            R::run_inner_products(y.lattice().width(), InnerProducts { shape, xs, y: y.reals() })
        }
        Sum::Tree(plan) => {
            let products = xs.iter().map(|x| TreeInnerProduct { x: SiteWords::of(x), y: SiteWords::of(y), plan });
            products.map(R::run_tree_inner_product).collect()
        }
    })
}

/// The sum of each complex word over all sites.
pub fn sum<R: Vectors, K: SiteObject>(x: &Field<R, K>, sum: Sum) -> Vec<Complex<f64>> {
    let osites: Vec<u32> = (0..x.osites() as u32).collect();
    let lanes: Vec<u32> = (0..x.lattice().nsimd() as u32).collect();
    let whole = WordSums { sites: SiteWords::of(x), classes: vec![&osites], groups: vec![&lanes], sum };
    R::run_word_sums(whole).swap_remove(0)
}

/// The sum of each complex word over each slice across `direction`: for each slice, a number for each word.
pub fn slice_sums<R: Vectors, K: SiteObject>(
    x: &Field<R, K>,
    direction: Direction,
    sum: Sum,
) -> Vec<Vec<Complex<f64>>> {
    // The field lies on these sites, so the lattice has them.
    let Ok(slices) = Slices::new(x.lattice(), x.sites(), direction) else { return Vec::new() };
    let classes = (0..slices.classes()).map(|class| slices.osites_of(class)).collect();
    let groups = slices.lanes().chunks_exact(slices.lanes_a_group()).collect();
    R::run_word_sums(WordSums { sites: SiteWords::of(x), classes, groups, sum })
}

#[doc(hidden)]
pub struct Norm2<'a, R> {
    shape: Shape,
    x: &'a [R],
}

impl<R: Real> LaneOperation<R> for Norm2<'_, R> {
    type Output = f64;
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> f64 {
        let Shape { an_osite, a_task } = self.shape;
        let sums = self.x.par_chunks(a_task).map(|x| {
            let mut terms = SiteTerms::<V, 1>::new(blocks);
            x.chunks_exact(an_osite).for_each(|x| terms.add_norm(x));
            terms.sums()
        });
        merged(&sums.collect::<Vec<_>>())[0]
    }
}

#[doc(hidden)]
pub struct InnerProducts<'a, R> {
    shape: Shape,
    xs: Vec<&'a [R]>,
    y: &'a [R],
}

impl<R: Real> LaneOperation<R> for InnerProducts<'_, R> {
    type Output = Vec<Complex<f64>>;
    /// One pass: an outer site of y stays in the nearest cache for all of `xs`.
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> Vec<Complex<f64>> {
        let Self { shape: Shape { an_osite, a_task }, xs, y } = self;
        let sums = y.par_chunks(a_task).enumerate().map(|(task, y)| {
            let mut terms: Vec<_> = xs.iter().map(|_| SiteTerms::<V, 2>::new(blocks)).collect();
            for (osite, y) in y.chunks_exact(an_osite).enumerate() {
                for (x, terms) in xs.iter().zip(&mut terms) {
                    terms.add_inner_product(&x[task * a_task + osite * an_osite..][..an_osite], y);
                }
            }
            terms.into_iter().map(SiteTerms::sums).collect::<Vec<_>>()
        });
        let tasks: Vec<Vec<[ExactSum; 2]>> = sums.collect();
        let product = |x: usize| {
            let [re, im] = merged(tasks.iter().map(|sums| &sums[x]));
            Complex::new(re, im)
        };
        (0..xs.len()).map(product).collect()
    }
}

/// Most lanes of one vector: 64 bytes of ComplexF.
const MOST_LANES: usize = 8;

/// The terms of the sites seen so far, in `N` exact sums. Terms are collected until they make a block of [`RunningSum`].
pub(super) struct SiteTerms<V, const N: usize> {
    sums: [RunningSum; N],
    collected: [[f64; RunningSum::BLOCK]; N],
    filled: usize,
    blocks: usize,
    vectors: std::marker::PhantomData<V>,
}

impl<V: LaneVector, const N: usize> SiteTerms<V, N> {
    /// Lanes of one vector: a power of two, so that terms of several outer sites fill a block.
    const LANES: usize = V::REALS / 2;

    /// No terms yet, of fields whose words are `blocks` vectors each.
    pub(super) fn new(blocks: usize) -> Self {
        Self {
            sums: std::array::from_fn(|_| RunningSum::new()),
            collected: [[0.0; RunningSum::BLOCK]; N],
            filled: 0,
            blocks,
            vectors: std::marker::PhantomData,
        }
    }

    pub(super) fn sums(mut self) -> [ExactSum; N] {
        for (sum, terms) in self.sums.iter_mut().zip(&self.collected) {
            sum.add_slice(&terms[..self.filled]);
        }
        self.sums.map(RunningSum::into_exact)
    }

    #[inline(always)]
    fn collect(&mut self, terms: [[f64; MOST_LANES]; N]) {
        for (collected, terms) in self.collected.iter_mut().zip(&terms) {
            collected[self.filled..][..Self::LANES].copy_from_slice(&terms[..Self::LANES]);
        }
        self.filled += Self::LANES;
        if self.filled == RunningSum::BLOCK {
            for (sum, terms) in self.sums.iter_mut().zip(&self.collected) {
                sum.add_block(terms);
            }
            self.filled = 0;
        }
    }

    /// Adds |x|² of the sites of one outer site; `x` is the outer site's reals.
    #[inline(always)]
    pub(super) fn add_norm(&mut self, x: &[V::Real]) {
        for block in 0..self.blocks {
            let mut terms = [0.0f64; MOST_LANES];
            for x in x.chunks_exact(V::REALS).skip(block).step_by(self.blocks) {
                for (lane, term) in terms[..Self::LANES].iter_mut().enumerate() {
                    let [re, im] = [x[2 * lane].to_f64(), x[2 * lane + 1].to_f64()];
                    *term = im.fused(im, re.fused(re, *term));
                }
            }
            self.collect([terms; N]);
        }
    }

    /// Adds ⟨x, y⟩ of the sites of one outer site, the real part to the first sum, the imaginary part to the second.
    #[inline(always)]
    pub(super) fn add_inner_product(&mut self, x: &[V::Real], y: &[V::Real]) {
        for block in 0..self.blocks {
            let mut terms = [[0.0f64; MOST_LANES]; N];
            let words = x.chunks_exact(V::REALS).zip(y.chunks_exact(V::REALS));
            for (x, y) in words.skip(block).step_by(self.blocks) {
                for lane in 0..Self::LANES {
                    let [x_re, x_im] = [x[2 * lane].to_f64(), x[2 * lane + 1].to_f64()];
                    let [y_re, y_im] = [y[2 * lane].to_f64(), y[2 * lane + 1].to_f64()];
                    terms[0][lane] = x_im.fused(y_im, x_re.fused(y_re, terms[0][lane]));
                    terms[1][lane] = (-x_im).fused(y_re, x_re.fused(y_im, terms[1][lane]));
                }
            }
            self.collect(terms);
        }
    }
}

/// The sums of all tasks, merged and rounded. Merging is integer addition: the order of the tasks does not matter.
pub(super) fn merged<'a, const N: usize>(tasks: impl IntoIterator<Item = &'a [ExactSum; N]>) -> [f64; N] {
    let mut total: [ExactSum; N] = std::array::from_fn(|_| ExactSum::new());
    for task in tasks {
        for (total, sum) in total.iter_mut().zip(task) {
            total.merge(sum);
        }
    }
    total.map(|sum| sum.round())
}

/// The words of a field, to be read site by site.
#[derive(Clone, Copy)]
pub(super) struct SiteWords<'a, R> {
    field: &'a [Complex<R>],
    words: usize,
    nsimd: usize,
}

impl<'a, R: Real> SiteWords<'a, R> {
    pub(super) fn of<K: SiteObject>(field: &'a Field<R, K>) -> Self {
        Self { field: field.words(), words: field.kind().words(), nsimd: field.lattice().nsimd() }
    }

    /// Number of sites.
    pub(super) fn count(&self) -> usize {
        self.field.len() / self.words
    }

    /// Word `word` of a site, in f64.
    #[inline(always)]
    fn word(&self, osite: usize, lane: usize, word: usize) -> [f64; 2] {
        let Complex { re, im } = self.field[(osite * self.words + word) * self.nsimd + lane];
        [re.to_f64(), im.to_f64()]
    }

    /// |x|² of a site, the one of number `element` in memory.
    #[inline(always)]
    pub(super) fn norm2(&self, element: usize) -> f64 {
        let (osite, lane) = (element / self.nsimd, element % self.nsimd);
        (0..self.words).fold(0.0, |s, word| {
            let [re, im] = self.word(osite, lane, word);
            im.fused(im, re.fused(re, s))
        })
    }

    /// ⟨x, y⟩ of a site.
    #[inline(always)]
    fn inner_product(&self, y: &Self, element: usize) -> [f64; 2] {
        let (osite, lane) = (element / self.nsimd, element % self.nsimd);
        (0..self.words).fold([0.0; 2], |[s, t], word| {
            let ([x_re, x_im], [y_re, y_im]) = (self.word(osite, lane, word), y.word(osite, lane, word));
            [x_im.fused(y_im, x_re.fused(y_re, s)), (-x_im).fused(y_re, x_re.fused(y_im, t))]
        })
    }
}

#[doc(hidden)]
pub struct TreeNorm2<'a, R> {
    sites: SiteWords<'a, R>,
    plan: TreePlan,
}

impl<R: Real> TreeNorm2<'_, R> {
    pub(super) fn run(&self) -> f64 {
        let [norm] = tree_sum(self.plan, self.sites.count(), |element| [self.sites.norm2(element)]);
        norm
    }
}

#[doc(hidden)]
pub struct TreeInnerProduct<'a, R> {
    x: SiteWords<'a, R>,
    y: SiteWords<'a, R>,
    plan: TreePlan,
}

impl<R: Real> TreeInnerProduct<'_, R> {
    pub(super) fn run(&self) -> Complex<f64> {
        let [re, im] = tree_sum(self.plan, self.x.count(), |element| self.x.inner_product(&self.y, element));
        Complex::new(re, im)
    }
}

/// Grid's block reduction of `n` elements, with `N` sums side by side (`docs/arithmetic.md` §8). Blocks are tasks; the order within and
/// between them is that of the plan, whatever the number of threads.
pub(super) fn tree_sum<const N: usize>(plan: TreePlan, n: usize, term: impl Fn(usize) -> [f64; N] + Sync) -> [f64; N] {
    let (threads, blocks) = (plan.threads(), plan.blocks());
    let add = |s: [f64; N], x: [f64; N]| std::array::from_fn(|k| s[k] + x[k]);
    let of_blocks: Vec<[f64; N]> = (0..blocks)
        .into_par_iter()
        .map(|block| {
            let mut of_threads: Vec<[f64; N]> = Vec::with_capacity(threads);
            for thread in 0..threads {
                let first = (2 * block * threads + thread..n).step_by(2 * threads * blocks);
                of_threads.push(first.fold([0.0; N], |s, i| {
                    let s = add(s, term(i));
                    if i + threads < n { add(s, term(i + threads)) } else { s }
                }));
            }
            block_sum(&mut of_threads, plan.warp(), add)
        })
        .collect();
    // The last block.
    let mut of_threads: Vec<[f64; N]> = (0..threads)
        .map(|thread| of_blocks.iter().skip(thread).step_by(threads).fold([0.0; N], |s, &x| add(s, x)))
        .collect();
    block_sum(&mut of_threads, plan.warp(), add)
}

/// Each warp in halves, then the warps one after the other.
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

/// Sums of each word, over each pair of a class of outer sites and a group of lanes.
#[doc(hidden)]
pub struct WordSums<'a, R> {
    sites: SiteWords<'a, R>,
    classes: Vec<&'a [u32]>,
    groups: Vec<&'a [u32]>,
    sum: Sum,
}

/// Outer sites whose rows are summed by one task.
const OSITES_A_TASK: usize = 1024;

impl<R: Real> WordSums<'_, R> {
    /// For each group of lanes, for each class of outer sites: the sum of each word.
    pub(super) fn run(&self) -> Vec<Vec<Complex<f64>>> {
        match self.sum {
            Sum::Exact => self.exact(),
            Sum::Tree(plan) => self.groups.iter().flat_map(|lanes| self.tree(plan, lanes)).collect(),
        }
    }

    fn exact(&self) -> Vec<Vec<Complex<f64>>> {
        let SiteWords { field, words, nsimd } = self.sites;
        let reals: &[R] = bytemuck::cast_slice(field);
        let a_row = 2 * words * nsimd;
        let tasks = self.classes.iter().enumerate();
        let tasks: Vec<_> =
            tasks.flat_map(|(class, osites)| osites.chunks(OSITES_A_TASK).map(move |osites| (class, osites))).collect();
        // Sums of each class, of each real of a row; which lanes belong together is looked at only at the end.
        let rows = tasks.into_par_iter().map(|(class, osites)| {
            let mut sums = RowSums::new(a_row);
            let mut rows = Vec::with_capacity(RowSums::ROWS);
            for osites in osites.chunks(RowSums::ROWS) {
                rows.clear();
                rows.extend(osites.iter().map(|&osite| &reals[osite as usize * a_row..][..a_row]));
                sums.add_rows(&rows);
            }
            (class, sums)
        });
        let mut totals = vec![ExactSum::new(); self.groups.len() * self.classes.len() * 2 * words];
        let mut group_of_lane = vec![0; nsimd];
        for (group, lanes) in self.groups.iter().enumerate() {
            lanes.iter().for_each(|&lane| group_of_lane[lane as usize] = group);
        }
        for (class, sums) in rows.collect::<Vec<_>>() {
            for (place, sum) in sums.into_exact().enumerate() {
                let (word, lane, part) = (place / (2 * nsimd), place / 2 % nsimd, place % 2);
                let slice = group_of_lane[lane] * self.classes.len() + class;
                totals[2 * (slice * words + word) + part].merge(&sum);
            }
        }
        let complex = |parts: &[ExactSum]| Complex::new(parts[0].round(), parts[1].round());
        totals.chunks_exact(2 * words).map(|slice| slice.chunks_exact(2).map(complex).collect()).collect()
    }

    fn tree<'a>(&'a self, plan: TreePlan, lanes: &'a [u32]) -> impl Iterator<Item = Vec<Complex<f64>>> + 'a {
        self.classes.iter().map(move |osites| {
            let sum_of = |word| {
                let [re, im] = tree_sum(plan, osites.len() * lanes.len(), |element| {
                    let (osite, lane) = (osites[element / lanes.len()], lanes[element % lanes.len()]);
                    self.sites.word(osite as usize, lane as usize, word)
                });
                Complex::new(re, im)
            };
            (0..self.sites.words).map(sum_of).collect()
        })
    }
}
