//! Sums over sites on the CPU (`docs/arithmetic.md` §8): each site contributes a double, and the doubles are summed exactly.
//! Counterpart: `cl/reduce.cl`.

use num_complex::Complex;
use rayon::prelude::*;

use super::{LaneOperation, Vectors, check_place, osites_a_task};
use crate::exact::ExactSum;
use crate::field::{Field, FieldError, SiteObject};
use crate::real::Real;
use crate::tensor::LaneVector;

/// |x|²: the exact sum over sites, rounded once.
pub fn norm2<R: Vectors, K: SiteObject>(x: &Field<R, K>) -> f64 {
    R::with_vectors(x.lattice().width(), Norm2 { x })
}

/// ⟨x, y⟩, antilinear in x: the exact sum over sites, real and imaginary parts rounded once each.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields lie on the same sites of the same lattice.
pub fn inner_product<R: Vectors, K: SiteObject>(x: &Field<R, K>, y: &Field<R, K>) -> Result<Complex<f64>, FieldError> {
    check_place("inner product", y, x.lattice(), x.sites())?;
    if x.kind() != y.kind() {
        return Err(FieldError::Mismatch { what: "inner product", left: x.describe(), right: y.describe() });
    }
    Ok(R::with_vectors(x.lattice().width(), InnerProduct { x, y }))
}

struct Norm2<'a, R, K> {
    x: &'a Field<R, K>,
}

impl<R: Vectors, K: SiteObject> LaneOperation<R> for Norm2<'_, R, K> {
    type Output = f64;
    fn run<V: LaneVector<Real = R>, const BLOCKS: usize>(self) -> f64 {
        let an_osite = self.x.reals_an_osite();
        let sums = self.x.reals().par_chunks(osites_a_task(self.x.osites()) * an_osite).map(|x| {
            let mut terms = SiteTerms::<V, BLOCKS, 1>::new();
            x.chunks_exact(an_osite).for_each(|x| terms.add_norm(x));
            terms.sums()
        });
        merged(sums.collect())[0]
    }
}

struct InnerProduct<'a, R, K> {
    x: &'a Field<R, K>,
    y: &'a Field<R, K>,
}

impl<R: Vectors, K: SiteObject> LaneOperation<R> for InnerProduct<'_, R, K> {
    type Output = Complex<f64>;
    fn run<V: LaneVector<Real = R>, const BLOCKS: usize>(self) -> Complex<f64> {
        let an_osite = self.x.reals_an_osite();
        let a_task = osites_a_task(self.x.osites()) * an_osite;
        let tasks = self.x.reals().par_chunks(a_task).zip(self.y.reals().par_chunks(a_task));
        let sums = tasks.map(|(x, y)| {
            let mut terms = SiteTerms::<V, BLOCKS, 2>::new();
            x.chunks_exact(an_osite).zip(y.chunks_exact(an_osite)).for_each(|(x, y)| terms.add_inner_product(x, y));
            terms.sums()
        });
        let [re, im] = merged(sums.collect());
        Complex::new(re, im)
    }
}

/// Most lanes of any layout: 256 bytes of ComplexF.
const MOST_LANES: usize = 32;

/// The terms of the sites seen so far, in `N` exact sums.
pub(super) struct SiteTerms<V, const BLOCKS: usize, const N: usize> {
    sums: [ExactSum; N],
    vectors: std::marker::PhantomData<V>,
}

impl<V: LaneVector, const BLOCKS: usize, const N: usize> SiteTerms<V, BLOCKS, N> {
    const LANES: usize = BLOCKS * V::REALS / 2;

    pub(super) fn new() -> Self {
        Self { sums: std::array::from_fn(|_| ExactSum::new()), vectors: std::marker::PhantomData }
    }

    pub(super) fn sums(self) -> [ExactSum; N] {
        self.sums
    }

    /// Adds |x|² of the sites of one outer site; `x` is the outer site's reals.
    #[inline(always)]
    pub(super) fn add_norm(&mut self, x: &[V::Real]) {
        let mut terms = [0.0f64; MOST_LANES];
        for word in x.chunks_exact(2 * Self::LANES) {
            for lane in 0..Self::LANES {
                let [re, im] = [word[2 * lane].to_f64(), word[2 * lane + 1].to_f64()];
                terms[lane] = im.fused(im, re.fused(re, terms[lane]));
            }
        }
        self.sums[0].add_slice(&terms[..Self::LANES]);
    }

    /// Adds ⟨x, y⟩ of the sites of one outer site, the real part to the first sum, the imaginary part to the second.
    #[inline(always)]
    pub(super) fn add_inner_product(&mut self, x: &[V::Real], y: &[V::Real]) {
        let mut re = [0.0f64; MOST_LANES];
        let mut im = [0.0f64; MOST_LANES];
        for (x, y) in x.chunks_exact(2 * Self::LANES).zip(y.chunks_exact(2 * Self::LANES)) {
            for lane in 0..Self::LANES {
                let [x_re, x_im] = [x[2 * lane].to_f64(), x[2 * lane + 1].to_f64()];
                let [y_re, y_im] = [y[2 * lane].to_f64(), y[2 * lane + 1].to_f64()];
                re[lane] = x_im.fused(y_im, x_re.fused(y_re, re[lane]));
                im[lane] = (-x_im).fused(y_re, x_re.fused(y_im, im[lane]));
            }
        }
        self.sums[0].add_slice(&re[..Self::LANES]);
        self.sums[1].add_slice(&im[..Self::LANES]);
    }
}

/// The sums of all tasks, merged and rounded. Merging is integer addition: the order of the tasks does not matter.
pub(super) fn merged<const N: usize>(tasks: Vec<[ExactSum; N]>) -> [f64; N] {
    let mut total: [ExactSum; N] = std::array::from_fn(|_| ExactSum::new());
    for task in &tasks {
        for (total, sum) in total.iter_mut().zip(task) {
            total.merge(sum);
        }
    }
    total.map(|sum| sum.round())
}
