//! Vector operations on the CPU (`docs/arithmetic.md` §7): what conjugate gradients needs, and the operators' diagonal parts.
//! Counterpart: `cl/blas.cl`.

use rayon::prelude::*;

use super::reduce::{SiteTerms, merged};
use super::{LaneOperation, Vectors, check_place, osites_a_task};
use crate::field::{Field, FieldError, SiteObject};
use crate::tensor::LaneVector;

/// out = x.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields lie on the same sites of the same lattice; as for every function here.
pub fn copy<R: Vectors, K: SiteObject>(out: &mut Field<R, K>, x: &Field<R, K>) -> Result<(), FieldError> {
    check_place("copy", x, out.lattice(), out.sites())?;
    check_kind("copy", out, x)?;
    let a_task = task_length(out);
    out.reals_mut()
        .par_chunks_mut(a_task)
        .zip(x.reals().par_chunks(a_task))
        .for_each(|(out, x)| out.copy_from_slice(x));
    Ok(())
}

/// out = a · x, with a rounded to the field's precision.
///
/// # Errors
/// As [`copy`].
pub fn scale<R: Vectors, K: SiteObject>(out: &mut Field<R, K>, a: f64, x: &Field<R, K>) -> Result<(), FieldError> {
    check_place("scale", x, out.lattice(), out.sites())?;
    check_kind("scale", out, x)?;
    R::with_vectors(out.lattice().width(), Scale { out, a: R::from_f64(a), x });
    Ok(())
}

/// y ← fma(a, x, y), with a rounded to the field's precision.
///
/// # Errors
/// As [`copy`].
pub fn axpy<R: Vectors, K: SiteObject>(a: f64, x: &Field<R, K>, y: &mut Field<R, K>) -> Result<(), FieldError> {
    check_place("axpy", x, y.lattice(), y.sites())?;
    check_kind("axpy", y, x)?;
    R::with_vectors(y.lattice().width(), Axpy { a: R::from_f64(a), x, y });
    Ok(())
}

/// y ← fma(a, x, y), and the norm of the result: the exact sum over sites.
///
/// # Errors
/// As [`copy`].
pub fn axpy_norm<R: Vectors, K: SiteObject>(a: f64, x: &Field<R, K>, y: &mut Field<R, K>) -> Result<f64, FieldError> {
    check_place("axpy_norm", x, y.lattice(), y.sites())?;
    check_kind("axpy_norm", y, x)?;
    Ok(R::with_vectors(y.lattice().width(), AxpyNorm { a: R::from_f64(a), x, y }))
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
    check_place("cg_update", p, psi.lattice(), psi.sites())?;
    check_place("cg_update", r, psi.lattice(), psi.sites())?;
    check_kind("cg_update", psi, p)?;
    check_kind("cg_update", psi, r)?;
    R::with_vectors(psi.lattice().width(), CgUpdate { a: R::from_f64(a), b: R::from_f64(b), psi, p, r });
    Ok(())
}

fn check_kind<R: Vectors, K: SiteObject>(
    what: &'static str,
    left: &Field<R, K>,
    right: &Field<R, K>,
) -> Result<(), FieldError> {
    match left.kind() == right.kind() {
        true => Ok(()),
        false => Err(FieldError::Mismatch { what, left: left.describe(), right: right.describe() }),
    }
}

/// Reals a task: whole outer sites, so that tasks can also sum over sites.
fn task_length<R: Vectors, K: SiteObject>(field: &Field<R, K>) -> usize {
    osites_a_task(field.osites()) * field.reals_an_osite()
}

/// The reals of a task as vectors.
fn vectors<V: LaneVector>(reals: &[V::Real]) -> &[V] {
    bytemuck::cast_slice(reals)
}

fn vectors_mut<V: LaneVector>(reals: &mut [V::Real]) -> &mut [V] {
    bytemuck::cast_slice_mut(reals)
}

struct Scale<'a, R, K> {
    out: &'a mut Field<R, K>,
    a: R,
    x: &'a Field<R, K>,
}

impl<R: Vectors, K: SiteObject> LaneOperation<R> for Scale<'_, R, K> {
    type Output = ();
    fn run<V: LaneVector<Real = R>, const BLOCKS: usize>(self) {
        let (a, a_task) = (V::splat(self.a), task_length(self.out));
        let tasks = self.out.reals_mut().par_chunks_mut(a_task).zip(self.x.reals().par_chunks(a_task));
        tasks.for_each(|(out, x)| {
            for (out, x) in vectors_mut::<V>(out).iter_mut().zip(vectors::<V>(x)) {
                *out = a.times(*x);
            }
        });
    }
}

struct Axpy<'a, R, K> {
    a: R,
    x: &'a Field<R, K>,
    y: &'a mut Field<R, K>,
}

impl<R: Vectors, K: SiteObject> LaneOperation<R> for Axpy<'_, R, K> {
    type Output = ();
    fn run<V: LaneVector<Real = R>, const BLOCKS: usize>(self) {
        let (a, a_task) = (V::splat(self.a), task_length(self.x));
        let tasks = self.y.reals_mut().par_chunks_mut(a_task).zip(self.x.reals().par_chunks(a_task));
        tasks.for_each(|(y, x)| axpy_task(a, vectors(x), vectors_mut(y)));
    }
}

#[inline(always)]
fn axpy_task<V: LaneVector>(a: V, x: &[V], y: &mut [V]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = a.fused(*x, *y);
    }
}

struct AxpyNorm<'a, R, K> {
    a: R,
    x: &'a Field<R, K>,
    y: &'a mut Field<R, K>,
}

impl<R: Vectors, K: SiteObject> LaneOperation<R> for AxpyNorm<'_, R, K> {
    type Output = f64;
    fn run<V: LaneVector<Real = R>, const BLOCKS: usize>(self) -> f64 {
        let (a, a_task, an_osite) = (V::splat(self.a), task_length(self.x), self.x.reals_an_osite());
        let tasks = self.y.reals_mut().par_chunks_mut(a_task).zip(self.x.reals().par_chunks(a_task));
        let sums = tasks.map(|(y, x)| {
            let mut terms = SiteTerms::<V, BLOCKS, 1>::new();
            for (y, x) in y.chunks_exact_mut(an_osite).zip(x.chunks_exact(an_osite)) {
                axpy_task(a, vectors(x), vectors_mut::<V>(y));
                terms.add_norm(y);
            }
            terms.sums()
        });
        merged(sums.collect())[0]
    }
}

struct CgUpdate<'a, R, K> {
    a: R,
    b: R,
    psi: &'a mut Field<R, K>,
    p: &'a mut Field<R, K>,
    r: &'a Field<R, K>,
}

impl<R: Vectors, K: SiteObject> LaneOperation<R> for CgUpdate<'_, R, K> {
    type Output = ();
    fn run<V: LaneVector<Real = R>, const BLOCKS: usize>(self) {
        let (a, b, a_task) = (V::splat(self.a), V::splat(self.b), task_length(self.r));
        let psi = self.psi.reals_mut().par_chunks_mut(a_task);
        let p = self.p.reals_mut().par_chunks_mut(a_task);
        let r = self.r.reals().par_chunks(a_task);
        psi.zip(p).zip(r).for_each(|((psi, p), r)| {
            let fields = vectors_mut::<V>(psi).iter_mut().zip(vectors_mut::<V>(p)).zip(vectors::<V>(r));
            for ((psi, p), r) in fields {
                *psi = a.fused(*p, *psi);
                *p = b.fused(*p, *r);
            }
        });
    }
}
