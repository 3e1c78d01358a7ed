//! Vector operations on the CPU (`docs/arithmetic.md` §7): what conjugate gradients needs, and the operators' diagonal parts.
//! Counterpart: `cl/blas.cl`.

use rayon::prelude::*;

use super::reduce::{SiteTerms, merged};
use super::{LaneOperation, Shape, Vectors, check_like};
use crate::field::{Field, FieldError, SiteObject};
use crate::real::Real;
use crate::tensor::LaneVector;

/// out = x.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields lie on the same sites of the same lattice; as for every function here.
pub fn copy<R: Vectors, K: SiteObject>(out: &mut Field<R, K>, x: &Field<R, K>) -> Result<(), FieldError> {
    check_like("copy", x, out)?;
    let Shape { a_task, .. } = Shape::of(x);
    let tasks = out.reals_mut().par_chunks_mut(a_task).zip(x.reals().par_chunks(a_task));
    tasks.for_each(|(out, x)| out.copy_from_slice(x));
    Ok(())
}

/// out = a · x, with a rounded to the field's precision.
///
/// # Errors
/// As [`copy`].
pub fn scale<R: Vectors, K: SiteObject>(out: &mut Field<R, K>, a: f64, x: &Field<R, K>) -> Result<(), FieldError> {
    check_like("scale", x, out)?;
    let shape = Shape::of(x);
    R::run_scale(x.lattice().width(), Scale { shape, out: out.reals_mut(), a: R::from_f64(a), x: x.reals() });
    Ok(())
}

/// y ← fma(a, x, y), with a rounded to the field's precision.
///
/// # Errors
/// As [`copy`].
pub fn axpy<R: Vectors, K: SiteObject>(a: f64, x: &Field<R, K>, y: &mut Field<R, K>) -> Result<(), FieldError> {
    check_like("axpy", x, y)?;
    let shape = Shape::of(x);
    R::run_axpy(x.lattice().width(), Axpy { shape, a: R::from_f64(a), x: x.reals(), y: y.reals_mut() });
    Ok(())
}

/// y ← fma(a, x, y), and the norm of the result: the exact sum over sites.
///
/// # Errors
/// As [`copy`].
pub fn axpy_norm<R: Vectors, K: SiteObject>(a: f64, x: &Field<R, K>, y: &mut Field<R, K>) -> Result<f64, FieldError> {
    check_like("axpy_norm", x, y)?;
    let shape = Shape::of(x);
    Ok(R::run_axpy_norm(x.lattice().width(), Axpy { shape, a: R::from_f64(a), x: x.reals(), y: y.reals_mut() }))
}

/// ψ ← fma(a, p, ψ), then p ← fma(b, p, r), with the old p in both.
///
/// # Errors
/// As [`copy`].
pub fn cg_update<R: Vectors, K: SiteObject>(
    psi: &mut Field<R, K>,
    p: &mut Field<R, K>,
    r: &Field<R, K>,
    a: f64,
    b: f64,
) -> Result<(), FieldError> {
    check_like("cg_update", p, psi)?;
    check_like("cg_update", r, psi)?;
    let (shape, width) = (Shape::of(r), r.lattice().width());
    let (a, b) = (R::from_f64(a), R::from_f64(b));
    R::run_cg_update(width, CgUpdate { shape, a, b, psi: psi.reals_mut(), p: p.reals_mut(), r: r.reals() });
    Ok(())
}

/// Vectors of a task.
fn vectors<V: LaneVector>(reals: &[V::Real]) -> &[V] {
    bytemuck::cast_slice(reals)
}

fn vectors_mut<V: LaneVector>(reals: &mut [V::Real]) -> &mut [V] {
    bytemuck::cast_slice_mut(reals)
}

#[doc(hidden)]
pub struct Scale<'a, R> {
    shape: Shape,
    out: &'a mut [R],
    a: R,
    x: &'a [R],
}

impl<R: Real> LaneOperation<R> for Scale<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let (a, a_task) = (V::splat(self.a), self.shape.a_task);
        let tasks = self.out.par_chunks_mut(a_task).zip(self.x.par_chunks(a_task));
        tasks.for_each(|(out, x)| {
            for (out, x) in vectors_mut::<V>(out).iter_mut().zip(vectors::<V>(x)) {
                *out = a.times(*x);
            }
        });
    }
}

#[doc(hidden)]
pub struct Axpy<'a, R> {
    shape: Shape,
    a: R,
    x: &'a [R],
    y: &'a mut [R],
}

impl<R: Real> LaneOperation<R> for Axpy<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let (a, a_task) = (V::splat(self.a), self.shape.a_task);
        let tasks = self.y.par_chunks_mut(a_task).zip(self.x.par_chunks(a_task));
        tasks.for_each(|(y, x)| axpy_task(a, vectors(x), vectors_mut(y)));
    }
}

#[inline(always)]
fn axpy_task<V: LaneVector>(a: V, x: &[V], y: &mut [V]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = a.fused(*x, *y);
    }
}

/// An axpy whose result's norm is wanted.
pub(super) struct AxpyNorm<'a, R>(pub(super) Axpy<'a, R>);

impl<R: Real> LaneOperation<R> for AxpyNorm<'_, R> {
    type Output = f64;
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> f64 {
        let Axpy { shape: Shape { an_osite, a_task }, a, x, y } = self.0;
        let a = V::splat(a);
        let sums = y.par_chunks_mut(a_task).zip(x.par_chunks(a_task)).map(|(y, x)| {
            let mut terms = SiteTerms::<V, 1>::new(blocks);
            for (y, x) in y.chunks_exact_mut(an_osite).zip(x.chunks_exact(an_osite)) {
                axpy_task(a, vectors(x), vectors_mut::<V>(y));
                terms.add_norm(y);
            }
            terms.sums()
        });
        merged(sums.collect())[0]
    }
}

#[doc(hidden)]
pub struct CgUpdate<'a, R> {
    shape: Shape,
    a: R,
    b: R,
    psi: &'a mut [R],
    p: &'a mut [R],
    r: &'a [R],
}

impl<R: Real> LaneOperation<R> for CgUpdate<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let (a, b, a_task) = (V::splat(self.a), V::splat(self.b), self.shape.a_task);
        let tasks = self.psi.par_chunks_mut(a_task).zip(self.p.par_chunks_mut(a_task)).zip(self.r.par_chunks(a_task));
        tasks.for_each(|((psi, p), r)| {
            let fields = vectors_mut::<V>(psi).iter_mut().zip(vectors_mut::<V>(p)).zip(vectors::<V>(r));
            for ((psi, p), r) in fields {
                *psi = a.fused(*p, *psi);
                *p = b.fused(*p, *r);
            }
        });
    }
}
