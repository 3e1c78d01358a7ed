//! Fields with several right-hand sides on the CPU: vector operations with a scalar for each right-hand side, and a sum for each. Right-hand side k
//! has the components k · n … k · n + n − 1 of every site, where n is `rhs_parts`. It has the same bits as a field of its own (`docs/arithmetic.md`
//! §7, §8). Counterpart: `cl/rhs.cl`.

use super::checks::{check_like, check_place};
use super::reduce::{self, Contributions, ExactTerms, PartialSums, Sum, inner_products, merged};
use super::task_sizes::TaskSizes;
use super::with_vectors::LaneOperation;
use crate::exact::ExactSum;
use crate::field::{FieldData, FieldError, Object};
use crate::half::Half;
use crate::layout::LaneWidth;
use crate::real::Real;
use crate::tasks::{self, chunk, for_each_chunk, for_each_chunk_of_two, items_a_task};
use crate::tensor::{InstructionSet, LaneVector, Task};

/// The object of a field with `count` right-hand sides like those of `object`, where a right-hand side has `rhs_parts` components.
///
/// # Errors
/// [`FieldError::RightHandSides`] if the object does not have components.
pub fn object_of(object: Object, count: usize, rhs_parts: usize) -> Result<Object, FieldError> {
    object.with_parts(count * rhs_parts).ok_or_else(|| FieldError::RightHandSides {
        wanted: (0..count).collect(),
        rhs_parts,
        field: object.name().to_owned(),
    })
}

/// The number of components of a right-hand side, for a field of `object` with `count` right-hand sides.
///
/// # Errors
/// [`FieldError::Mismatch`] if that is not an integer.
pub fn parts_of(object: Object, count: usize) -> Result<usize, FieldError> {
    match count > 0 && object.parts().is_multiple_of(count) {
        true => Ok(object.parts() / count),
        false => Err(FieldError::Mismatch {
            what: "scalars of right-hand sides",
            left: format!("{count} scalars"),
            right: format!("fields of {} {}", object.parts(), object.name()),
        }),
    }
}

/// Refuses right-hand sides that a field does not have; `describe` names the field.
pub fn check_rhs(
    object: Object,
    wanted: &[usize],
    rhs_parts: usize,
    describe: impl FnOnce() -> String,
) -> Result<(), FieldError> {
    match rhs_parts > 0 && wanted.iter().all(|&rhs| rhs < object.parts() / rhs_parts) {
        true => Ok(()),
        false => Err(FieldError::RightHandSides { wanted: wanted.to_vec(), rhs_parts, field: describe() }),
    }
}

/// Right-hand side k of `out` ← right-hand side `wanted[k]` of `x`, for each k.
///
/// # Errors
/// [`FieldError::RightHandSides`] for right-hand sides that `x` does not have; [`FieldError::Mismatch`] for fields on different sites.
pub fn take_rhs<R: Compiled>(
    out: &mut FieldData<R>,
    x: &FieldData<R>,
    wanted: &[usize],
    rhs_parts: usize,
) -> Result<(), FieldError> {
    check_place("right-hand sides", x, out.lattice(), out.sites())?;
    check_rhs(x.object(), wanted, rhs_parts, || x.describe())?;
    check_rhs(out.object(), &[wanted.len().saturating_sub(1)], rhs_parts, || out.describe())?;
    copy(out, x, wanted.iter().copied().enumerate(), rhs_parts);
    Ok(())
}

/// Right-hand side `wanted[k]` of `out` ← right-hand side k of `x`, for each k.
///
/// # Errors
/// Those of [`take_rhs`], for `out`.
pub fn put_rhs<R: Compiled>(
    out: &mut FieldData<R>,
    x: &FieldData<R>,
    wanted: &[usize],
    rhs_parts: usize,
) -> Result<(), FieldError> {
    check_place("right-hand sides", x, out.lattice(), out.sites())?;
    check_rhs(out.object(), wanted, rhs_parts, || out.describe())?;
    check_rhs(x.object(), &[wanted.len().saturating_sub(1)], rhs_parts, || x.describe())?;
    copy(out, x, wanted.iter().enumerate().map(|(from, &to)| (to, from)), rhs_parts);
    Ok(())
}

/// Copies right-hand side `from` of x to right-hand side `to` of `out`, for each pair (to, from).
fn copy<R: Compiled>(
    out: &mut FieldData<R>,
    x: &FieldData<R>,
    pairs: impl Iterator<Item = (usize, usize)>,
    rhs_parts: usize,
) {
    let an_rhs = x.reals_a_part() * rhs_parts;
    let (out_osite, x_osite) = (out.reals_an_osite(), x.reals_an_osite());
    let pairs: Vec<_> = pairs.map(|(to, from)| (to * an_rhs, from * an_rhs)).collect();
    let osites = items_a_task(x.osites());
    let x = x.reals();
    for_each_chunk(out.reals_mut(), osites * out_osite, |task, out| {
        let x = chunk(x, osites * x_osite, task);
        for (out, x) in out.chunks_exact_mut(out_osite).zip(x.chunks_exact(x_osite)) {
            for &(to, from) in &pairs {
                out[to..to + an_rhs].copy_from_slice(&x[from..from + an_rhs]);
            }
        }
    });
}

/// Re⟨x, y⟩ of each right-hand side: one sum for each.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields have the same shape, and whole right-hand sides.
pub fn rhs_products<R: Compiled + reduce::Compiled>(
    x: &FieldData<R>,
    y: &FieldData<R>,
    rhs_parts: usize,
    sum: Sum,
) -> Result<PartialSums, FieldError> {
    check_like("products of right-hand sides", x, y)?;
    let count = x.object().parts() / rhs_parts.max(1);
    let shape = RhsShape::of(x, parts_of(x.object(), count)?);
    match sum {
        Sum::Exact => {
            let products = RhsProducts { shape, x: x.reals(), y: y.reals() };
            Ok(PartialSums::Exact(R::run_rhs_products(x.lattice().width(), products)))
        }
        // A plan numbers the elements of a field of one right-hand side.
        Sum::Tree(_) => {
            let one = object_of(x.object(), 1, rhs_parts)?;
            let [mut of_x, mut of_y] =
                [FieldData::zeros(*x.lattice(), x.sites(), one)?, FieldData::zeros(*x.lattice(), x.sites(), one)?];
            let mut sums = Vec::with_capacity(count);
            for rhs in 0..count {
                take_rhs(&mut of_x, x, &[rhs], rhs_parts)?;
                take_rhs(&mut of_y, y, &[rhs], rhs_parts)?;
                sums.push(inner_products(&[&of_x], &of_y, sum)?.round()[0]);
            }
            Ok(PartialSums::Tree(sums))
        }
    }
}

/// y ← fma(a, x, y) with its own a for each right-hand side, rounded to the field's precision, and |y|² of each: one sum for each.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields have the same shape, and as many right-hand sides as there are scalars.
pub fn rhs_axpy_norm<R: Compiled + reduce::Compiled>(
    a: &[f64],
    x: &FieldData<R>,
    y: &mut FieldData<R>,
    sum: Sum,
) -> Result<PartialSums, FieldError> {
    check_like("axpy of right-hand sides", x, y)?;
    let rhs_parts = parts_of(y.object(), a.len())?;
    let (shape, width) = (RhsShape::of(x, rhs_parts), x.lattice().width());
    R::run_rhs_axpy(width, RhsAxpy { shape, a: &rounded(a), x: x.reals(), y: y.reals_mut() });
    rhs_products(y, y, rhs_parts, sum)
}

/// ⟨x_i, y_j⟩ of each right-hand side of x with each of y: two sums for each, real and imaginary part, with i fastest.
///
/// # Errors
/// [`FieldError::Mismatch`] for fields on different sites; [`FieldError::RightHandSides`] for a field without whole right-hand sides.
pub fn rhs_gram<R: Compiled + reduce::Compiled>(
    x: &FieldData<R>,
    y: &FieldData<R>,
    rhs_parts: usize,
    sum: Sum,
) -> Result<PartialSums, FieldError> {
    let (n_x, n_y) = pairs("inner products of right-hand sides", x, y, rhs_parts)?;
    match sum {
        Sum::Exact => {
            let gram = RhsGram { pairs: PairsShape::of(x, y, rhs_parts), x: x.reals(), y: y.reals() };
            Ok(PartialSums::Exact(R::run_rhs_gram(y.lattice().width(), gram)))
        }
        // A plan numbers the elements of a field of one right-hand side.
        Sum::Tree(_) => {
            let one = |field: &FieldData<R>, rhs: usize| {
                let mut one =
                    FieldData::zeros(*field.lattice(), field.sites(), object_of(field.object(), 1, rhs_parts)?)?;
                take_rhs(&mut one, field, &[rhs], rhs_parts)?;
                Ok::<_, FieldError>(one)
            };
            let mut sums = Vec::with_capacity(2 * n_x * n_y);
            for j in 0..n_y {
                let of_y = one(y, j)?;
                for i in 0..n_x {
                    sums.extend(inner_products(&[&one(x, i)?], &of_y, sum)?.round());
                }
            }
            Ok(PartialSums::Tree(sums))
        }
    }
}

/// y_j ← madd(m_ij, x_i, y_j) for i = 0, 1, …, for each right-hand side j of y. In half precision the result is rounded once, when it is stored.
///
/// `m` has real and imaginary part of m_00, m_01, …, m_10, …; each is rounded to the field's precision.
///
/// # Errors
/// Those of [`rhs_gram`], and [`FieldError::Mismatch`] for a matrix of another size.
pub fn rhs_madd<R: Compiled>(
    m: &[f64],
    x: &FieldData<R>,
    y: &mut FieldData<R>,
    rhs_parts: usize,
) -> Result<(), FieldError> {
    let (n_x, n_y) = pairs("multiply-add of right-hand sides", x, y, rhs_parts)?;
    if m.len() != 2 * n_x * n_y {
        return Err(FieldError::Mismatch {
            what: "multiply-add of right-hand sides",
            left: format!("a matrix of {} real numbers", m.len()),
            right: format!("{n_x} × {n_y} right-hand sides, so {} of them", 2 * n_x * n_y),
        });
    }
    let (pairs, width) = (PairsShape::of(x, y, rhs_parts), y.lattice().width());
    R::run_rhs_madd(width, RhsMadd { pairs, m: &rounded(m), x: x.reals(), y: y.reals_mut() });
    Ok(())
}

/// The numbers of right-hand sides of two fields on the same sites.
fn pairs<R: Compiled>(
    what: &'static str,
    x: &FieldData<R>,
    y: &FieldData<R>,
    rhs_parts: usize,
) -> Result<(usize, usize), FieldError> {
    check_place(what, x, y.lattice(), y.sites())?;
    let count = |field: &FieldData<R>| {
        let parts = field.object().parts();
        match rhs_parts > 0 && parts >= rhs_parts && parts.is_multiple_of(rhs_parts) {
            true => Ok(parts / rhs_parts),
            false => Err(FieldError::RightHandSides { wanted: vec![0], rhs_parts, field: field.describe() }),
        }
    };
    match object_of(x.object(), 1, rhs_parts)? == object_of(y.object(), 1, rhs_parts)? {
        true => Ok((count(x)?, count(y)?)),
        false => Err(FieldError::Mismatch { what, left: x.describe(), right: y.describe() }),
    }
}

/// ψ ← fma(a, p, ψ), then p ← fma(b, p, r) with the old p in both, with its own a and b for each right-hand side.
///
/// # Errors
/// [`FieldError::Mismatch`] unless all fields have the same shape, and as many right-hand sides as there are a and b.
pub fn rhs_cg_update<R: Compiled>(
    psi: &mut FieldData<R>,
    p: &mut FieldData<R>,
    r: &FieldData<R>,
    a: &[f64],
    b: &[f64],
) -> Result<(), FieldError> {
    check_like("cg_update of right-hand sides", p, psi)?;
    check_like("cg_update of right-hand sides", r, psi)?;
    check_scalars(a, b)?;
    let (shape, width) = (RhsShape::of(r, parts_of(r.object(), a.len())?), r.lattice().width());
    let (a, b) = (&rounded(a)[..], &rounded(b)[..]);
    R::run_rhs_cg_update(width, RhsCgUpdate { shape, a, b, psi: psi.reals_mut(), p: p.reals_mut(), r: r.reals() });
    Ok(())
}

/// Refuses lists of scalars of different lengths.
pub fn check_scalars(a: &[f64], b: &[f64]) -> Result<(), FieldError> {
    match a.len() == b.len() {
        true => Ok(()),
        false => Err(FieldError::Mismatch {
            what: "cg_update of right-hand sides",
            left: format!("{} scalars a", a.len()),
            right: format!("{} scalars b", b.len()),
        }),
    }
}

fn rounded<R: Real>(scalars: &[f64]) -> Vec<R> {
    scalars.iter().map(|&a| R::from_f64(a)).collect()
}

/// The numbers of reals of an outer site, of one right-hand side there, of one component, and of a task.
#[derive(Clone, Copy)]
pub(crate) struct RhsShape {
    an_osite: usize,
    an_rhs: usize,
    a_part: usize,
    a_task: usize,
}

impl RhsShape {
    /// The components of all right-hand sides, treated as sites.
    pub(crate) fn parts(self) -> TaskSizes {
        TaskSizes { an_osite: self.a_part, a_task: self.a_task }
    }

    fn of<R: Real>(field: &FieldData<R>, rhs_parts: usize) -> Self {
        let (an_osite, a_part) = (field.reals_an_osite(), field.reals_a_part());
        Self { an_osite, an_rhs: a_part * rhs_parts, a_part, a_task: items_a_task(field.osites()) * an_osite }
    }
}

/// The sizes of two fields with right-hand sides: reals of an outer site, of a right-hand side and of a component, for each field, and outer sites
/// of a task.
#[derive(Clone, Copy)]
pub(crate) struct PairsShape {
    x_osite: usize,
    y_osite: usize,
    an_rhs: usize,
    a_part: usize,
    osites_a_task: usize,
}

impl PairsShape {
    fn of<R: Real>(x: &FieldData<R>, y: &FieldData<R>, rhs_parts: usize) -> Self {
        let a_part = y.reals_a_part();
        Self {
            x_osite: x.reals_an_osite(),
            y_osite: y.reals_an_osite(),
            an_rhs: a_part * rhs_parts,
            a_part,
            osites_a_task: items_a_task(y.osites()),
        }
    }
}

compiled! {
    fn run_rhs_axpy(width, RhsAxpy { shape, a, x, y }) {
        let [a, x] = [a, x].map(Half::as_f32);
        f32::run_rhs_axpy(width, RhsAxpy { shape, a, x, y: Half::as_f32_mut(y) });
        shape.parts().quantize(width, y);
    }
    fn run_rhs_cg_update(width, RhsCgUpdate { shape, a, b, psi, p, r }) {
        let [a, b, r] = [a, b, r].map(Half::as_f32);
        let in_f32 = RhsCgUpdate { shape, a, b, psi: Half::as_f32_mut(psi), p: Half::as_f32_mut(p), r };
        f32::run_rhs_cg_update(width, in_f32);
        shape.parts().quantize(width, psi);
        shape.parts().quantize(width, p);
    }
    fn run_rhs_products(width, RhsProducts { shape, x, y }) -> Vec<ExactSum> {
        f32::run_rhs_products(width, RhsProducts { shape, x: Half::as_f32(x), y: Half::as_f32(y) })
    }
    fn run_rhs_gram(width, RhsGram { pairs, x, y }) -> Vec<ExactSum> {
        f32::run_rhs_gram(width, RhsGram { pairs, x: Half::as_f32(x), y: Half::as_f32(y) })
    }
    fn run_rhs_madd(width, RhsMadd { pairs, m, x, y }) {
        let [m, x] = [m, x].map(Half::as_f32);
        f32::run_rhs_madd(width, RhsMadd { pairs, m, x, y: Half::as_f32_mut(y) });
        let PairsShape { y_osite, a_part, osites_a_task, .. } = pairs;
        TaskSizes { an_osite: a_part, a_task: osites_a_task * y_osite }.quantize(width, y);
    }
}

#[doc(hidden)]
pub struct RhsAxpy<'a, R> {
    pub(crate) shape: RhsShape,
    pub(crate) a: &'a [R],
    pub(crate) x: &'a [R],
    pub(crate) y: &'a mut [R],
}

impl<R: Real> LaneOperation<R> for RhsAxpy<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let a_task = self.shape.a_task;
        let update = RhsAxpyTask::<V> { shape: self.shape, a: self.a, x: self.x };
        for_each_chunk(self.y, a_task, |task, y| V::Set::run(&update, (task, y)));
    }
}

/// y ← fma(a, x, y) for a task.
struct RhsAxpyTask<'a, V: LaneVector> {
    shape: RhsShape,
    a: &'a [V::Real],
    x: &'a [V::Real],
}

impl<V: LaneVector> Task<(usize, &mut [V::Real])> for RhsAxpyTask<'_, V> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (task, y): (usize, &mut [V::Real])) {
        let RhsShape { an_osite, an_rhs, a_task, .. } = self.shape;
        let x = chunk(self.x, a_task, task);
        for (y, x) in y.chunks_exact_mut(an_osite).zip(x.chunks_exact(an_osite)) {
            for ((y, x), &a) in y.chunks_exact_mut(an_rhs).zip(x.chunks_exact(an_rhs)).zip(self.a) {
                let a = V::splat(a);
                let (x, y): (&[V], &mut [V]) = (bytemuck::cast_slice(x), bytemuck::cast_slice_mut(y));
                for (y, x) in y.iter_mut().zip(x) {
                    *y = a.fused(*x, *y);
                }
            }
        }
    }
}

#[doc(hidden)]
pub struct RhsCgUpdate<'a, R> {
    pub(crate) shape: RhsShape,
    pub(crate) a: &'a [R],
    pub(crate) b: &'a [R],
    pub(crate) psi: &'a mut [R],
    pub(crate) p: &'a mut [R],
    pub(crate) r: &'a [R],
}

impl<R: Real> LaneOperation<R> for RhsCgUpdate<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let Self { shape, a, b, psi, p, r } = self;
        let update = RhsCgUpdateTask::<V> { shape, a, b, r };
        for_each_chunk_of_two(psi, p, shape.a_task, |task, psi, p| V::Set::run(&update, (task, psi, p)));
    }
}

/// ψ ← fma(a, p, ψ), p ← fma(b, p, r) for a task.
struct RhsCgUpdateTask<'a, V: LaneVector> {
    shape: RhsShape,
    a: &'a [V::Real],
    b: &'a [V::Real],
    r: &'a [V::Real],
}

impl<V: LaneVector> Task<(usize, &mut [V::Real], &mut [V::Real])> for RhsCgUpdateTask<'_, V> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (task, psi, p): (usize, &mut [V::Real], &mut [V::Real])) {
        let RhsShape { an_osite, an_rhs, a_task, .. } = self.shape;
        let rhs_an_osite = an_osite / an_rhs;
        let r = chunk(self.r, a_task, task);
        let slices = psi.chunks_exact_mut(an_rhs).zip(p.chunks_exact_mut(an_rhs)).zip(r.chunks_exact(an_rhs));
        for (k, ((psi, p), r)) in slices.enumerate() {
            let (a, b) = (V::splat(self.a[k % rhs_an_osite]), V::splat(self.b[k % rhs_an_osite]));
            let (psi, p): (&mut [V], &mut [V]) = (bytemuck::cast_slice_mut(psi), bytemuck::cast_slice_mut(p));
            let r: &[V] = bytemuck::cast_slice(r);
            for ((psi, p), r) in psi.iter_mut().zip(p).zip(r) {
                *psi = a.fused(*p, *psi);
                *p = b.fused(*p, *r);
            }
        }
    }
}

#[doc(hidden)]
pub struct RhsProducts<'a, R> {
    pub(crate) shape: RhsShape,
    pub(crate) x: &'a [R],
    pub(crate) y: &'a [R],
}

/// The number of outer sites for which one right-hand side is gathered at a time, so that its contributions are computed eight at a time.
const GATHERED: usize = 8;

impl<R: Real> LaneOperation<R> for RhsProducts<'_, R> {
    type Output = Vec<ExactSum>;
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> Vec<ExactSum> {
        let Self { shape, x, y } = self;
        let contributions = Contributions::<V>::new(shape.parts(), blocks);
        let count = shape.an_osite / shape.an_rhs;
        let products = RhsProductsTask { shape, contributions, x, y };
        let tasks = tasks::map(x.len().div_ceil(shape.a_task), |task| V::Set::run(&products, task));
        let real_part = |rhs: usize| {
            let [re, _] = merged(tasks.iter().map(|sums| &sums[rhs]));
            re
        };
        (0..count).map(real_part).collect()
    }
}

/// The sums of each right-hand side for a task.
struct RhsProductsTask<'a, V: LaneVector> {
    shape: RhsShape,
    contributions: Contributions<V>,
    x: &'a [V::Real],
    y: &'a [V::Real],
}

impl<V: LaneVector> Task<usize> for RhsProductsTask<'_, V> {
    type Output = Vec<[ExactSum; 2]>;
    #[inline(always)]
    fn run(&self, task: usize) -> Vec<[ExactSum; 2]> {
        let RhsShape { an_osite, an_rhs, a_task, .. } = self.shape;
        let [x, y] = [self.x, self.y].map(|field| chunk(field, a_task, task));
        // Of vectors, for their alignment.
        let room = || vec![V::splat(V::Real::default()); GATHERED * an_rhs / V::REALS];
        let [mut of_x, mut of_y] = [room(), room()];
        let of_x: &mut [V::Real] = bytemuck::cast_slice_mut(&mut of_x);
        let of_y: &mut [V::Real] = bytemuck::cast_slice_mut(&mut of_y);
        let mut sums = Vec::with_capacity(an_osite / an_rhs);
        for rhs in 0..an_osite / an_rhs {
            let mut terms = ExactTerms::<V::Doubles, 2>::new();
            for (x, y) in x.chunks(GATHERED * an_osite).zip(y.chunks(GATHERED * an_osite)) {
                let reals = x.len() / an_osite * an_rhs;
                for (gathered, all) in [(&mut *of_x, x), (&mut *of_y, y)] {
                    for (to, from) in gathered.chunks_exact_mut(an_rhs).zip(all.chunks_exact(an_osite)) {
                        to.copy_from_slice(&from[rhs * an_rhs..][..an_rhs]);
                    }
                }
                self.contributions.inner_products(&of_x[..reals], &of_y[..reals], &mut terms);
            }
            sums.push(terms.sums());
        }
        sums
    }
}

#[doc(hidden)]
pub struct RhsGram<'a, R> {
    pub(crate) pairs: PairsShape,
    pub(crate) x: &'a [R],
    pub(crate) y: &'a [R],
}

impl<R: Real> LaneOperation<R> for RhsGram<'_, R> {
    type Output = Vec<ExactSum>;
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> Vec<ExactSum> {
        let Self { pairs: pairs @ PairsShape { x_osite, y_osite, an_rhs, a_part, osites_a_task }, x, y } = self;
        let of_parts = TaskSizes { an_osite: a_part, a_task: osites_a_task * y_osite };
        let gram = GramTask { pairs, contributions: Contributions::<V>::new(of_parts, blocks), x, y };
        let tasks = tasks::map(y.len().div_ceil(osites_a_task * y_osite), |task| V::Set::run(&gram, task));
        let count = (x_osite / an_rhs) * (y_osite / an_rhs);
        (0..count).flat_map(|pair| merged(tasks.iter().map(|sums| &sums[pair]))).collect()
    }
}

/// The sums of each pair of right-hand sides for a task. A few outer sites of all right-hand sides stay in the nearest caches for all pairs.
struct GramTask<'a, V: LaneVector> {
    pairs: PairsShape,
    contributions: Contributions<V>,
    x: &'a [V::Real],
    y: &'a [V::Real],
}

impl<V: LaneVector> Task<usize> for GramTask<'_, V> {
    type Output = Vec<[ExactSum; 2]>;
    #[inline(always)]
    fn run(&self, task: usize) -> Vec<[ExactSum; 2]> {
        let PairsShape { x_osite, y_osite, an_rhs, a_part, osites_a_task } = self.pairs;
        let (x, y) = (chunk(self.x, osites_a_task * x_osite, task), chunk(self.y, osites_a_task * y_osite, task));
        let (n_x, count) = (x_osite / an_rhs, (x_osite / an_rhs) * (y_osite / an_rhs));
        let mut terms: Vec<ExactTerms<V::Doubles, 2>> = Vec::with_capacity(count);
        terms.resize_with(count, ExactTerms::new);
        let osites = Contributions::<V>::OSITES;
        for (x, y) in x.chunks(osites * x_osite).zip(y.chunks(osites * y_osite)) {
            let osites = y.len() / y_osite;
            for (pair, terms) in terms.iter_mut().enumerate() {
                let (x, y) = (&x[pair % n_x * an_rhs..], &y[pair / n_x * an_rhs..]);
                for part in (0..an_rhs).step_by(a_part) {
                    let x = &x[part..][..(osites - 1) * x_osite + a_part];
                    let y = &y[part..][..(osites - 1) * y_osite + a_part];
                    self.contributions.inner_products_apart(osites, (x, x_osite), (y, y_osite), terms);
                }
            }
        }
        let mut sums = Vec::with_capacity(count);
        for terms in terms {
            sums.push(terms.sums());
        }
        sums
    }
}

#[doc(hidden)]
pub struct RhsMadd<'a, R> {
    pub(crate) pairs: PairsShape,
    pub(crate) m: &'a [R],
    pub(crate) x: &'a [R],
    pub(crate) y: &'a mut [R],
}

impl<R: Real> LaneOperation<R> for RhsMadd<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let Self { pairs: pairs @ PairsShape { y_osite, osites_a_task, .. }, m, x, y } = self;
        let madd = MaddTask::<V> { pairs, m, x };
        for_each_chunk(y, osites_a_task * y_osite, |task, y| V::Set::run(&madd, (task, y)));
    }
}

/// y_j ← madd(m_ij, x_i, y_j) for a task.
struct MaddTask<'a, V: LaneVector> {
    pairs: PairsShape,
    m: &'a [V::Real],
    x: &'a [V::Real],
}

/// The number of vectors of y that stay in registers for all right-hand sides of x. It divides those of a spinor and of a colour vector.
const IN_REGISTERS: usize = 3;

impl<V: LaneVector> Task<(usize, &mut [V::Real])> for MaddTask<'_, V> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (task, y): (usize, &mut [V::Real])) {
        let PairsShape { x_osite, y_osite, an_rhs, osites_a_task, .. } = self.pairs;
        let (x, n_y, vectors) = (chunk(self.x, osites_a_task * x_osite, task), y_osite / an_rhs, an_rhs / V::REALS);
        for (y, x) in y.chunks_exact_mut(y_osite).zip(x.chunks_exact(x_osite)) {
            let (x, y): (&[V], &mut [V]) = (bytemuck::cast_slice(x), bytemuck::cast_slice_mut(y));
            for (j, y) in y.chunks_exact_mut(vectors).enumerate() {
                for (k, y) in (0..).step_by(IN_REGISTERS).zip(y.chunks_exact_mut(IN_REGISTERS)) {
                    let [mut a, mut b, mut c] = [y[0], y[1], y[2]];
                    for (i, x) in x.chunks_exact(vectors).enumerate() {
                        let of_pair = 2 * (i * n_y + j);
                        let (re, im) = (V::splat(self.m[of_pair]), V::splat(self.m[of_pair + 1]));
                        let x = &x[k..k + IN_REGISTERS];
                        a = im.fused(x[0].times_i(), re.fused(x[0], a));
                        b = im.fused(x[1].times_i(), re.fused(x[1], b));
                        c = im.fused(x[2].times_i(), re.fused(x[2], c));
                    }
                    [y[0], y[1], y[2]] = [a, b, c];
                }
            }
        }
    }
}
