//! Sums over sites on the CPU (`docs/arithmetic.md` §8): each site contributes a double, and the doubles are summed exactly.
//! Counterpart: `cl/reduce.cl`.

use num_complex::Complex;
use rayon::prelude::*;

use super::{LaneOperation, Shape, Vectors, check_like};
use crate::exact::ExactSum;
use crate::field::{Field, FieldError, SiteObject};
use crate::real::Real;
use crate::tensor::LaneVector;

/// |x|²: the exact sum over sites, rounded once.
pub fn norm2<R: Vectors, K: SiteObject>(x: &Field<R, K>) -> f64 {
    R::run_norm2(x.lattice().width(), Norm2 { shape: Shape::of(x), x: x.reals() })
}

/// ⟨x, y⟩, antilinear in x: the exact sum over sites, real and imaginary parts rounded once each.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields lie on the same sites of the same lattice.
pub fn inner_product<R: Vectors, K: SiteObject>(x: &Field<R, K>, y: &Field<R, K>) -> Result<Complex<f64>, FieldError> {
    check_like("inner product", y, x)?;
    let shape = Shape::of(x);
    Ok(R::run_inner_product(x.lattice().width(), InnerProduct { shape, x: x.reals(), y: y.reals() }))
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
        merged(sums.collect())[0]
    }
}

#[doc(hidden)]
pub struct InnerProduct<'a, R> {
    shape: Shape,
    x: &'a [R],
    y: &'a [R],
}

impl<R: Real> LaneOperation<R> for InnerProduct<'_, R> {
    type Output = Complex<f64>;
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> Complex<f64> {
        let Shape { an_osite, a_task } = self.shape;
        let sums = self.x.par_chunks(a_task).zip(self.y.par_chunks(a_task)).map(|(x, y)| {
            let mut terms = SiteTerms::<V, 2>::new(blocks);
            x.chunks_exact(an_osite).zip(y.chunks_exact(an_osite)).for_each(|(x, y)| terms.add_inner_product(x, y));
            terms.sums()
        });
        let [re, im] = merged(sums.collect());
        Complex::new(re, im)
    }
}

/// Most lanes of one vector: 64 bytes of ComplexF.
const MOST_LANES: usize = 8;

/// The terms of the sites seen so far, in `N` exact sums.
pub(super) struct SiteTerms<V, const N: usize> {
    sums: [ExactSum; N],
    blocks: usize,
    vectors: std::marker::PhantomData<V>,
}

impl<V: LaneVector, const N: usize> SiteTerms<V, N> {
    /// Lanes of one vector.
    const LANES: usize = V::REALS / 2;

    /// No terms yet, of fields whose words are `blocks` vectors each.
    pub(super) fn new(blocks: usize) -> Self {
        Self { sums: std::array::from_fn(|_| ExactSum::new()), blocks, vectors: std::marker::PhantomData }
    }

    pub(super) fn sums(self) -> [ExactSum; N] {
        self.sums
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
            self.sums[0].add_slice(&terms[..Self::LANES]);
        }
    }

    /// Adds ⟨x, y⟩ of the sites of one outer site, the real part to the first sum, the imaginary part to the second.
    #[inline(always)]
    pub(super) fn add_inner_product(&mut self, x: &[V::Real], y: &[V::Real]) {
        for block in 0..self.blocks {
            let mut re = [0.0f64; MOST_LANES];
            let mut im = [0.0f64; MOST_LANES];
            let words = x.chunks_exact(V::REALS).zip(y.chunks_exact(V::REALS));
            for (x, y) in words.skip(block).step_by(self.blocks) {
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
