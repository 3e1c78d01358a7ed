//! Vector operations on the CPU (`docs/arithmetic.md` §7): what conjugate gradients needs, and the operators' diagonal parts.
//! Counterpart: `cl/blas.cl`.

use num_complex::Complex;

use super::reduce::{Compiled as _, Contributions, ExactTerms, Norm2, PartialSums, Sum, merged};
use super::{LaneOperation, Shape, Vectors, check_like};
use crate::exact::ExactSum;
use crate::field::{FieldData, FieldError};
use crate::half::Half;
use crate::layout::LaneWidth;
use crate::real::Real;
use crate::tasks::{chunk, for_each_chunk, for_each_chunk_of_two, map_chunks};
use crate::tensor::su3::{Factor, madd};
use crate::tensor::{InstructionSet, LaneVector, Task};

/// out = x.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields lie on the same sites of the same lattice; as for every function here.
pub fn copy<R: Vectors>(out: &mut FieldData<R>, x: &FieldData<R>) -> Result<(), FieldError> {
    check_like("copy", x, out)?;
    let Shape { a_task, .. } = Shape::of(x);
    let x = x.reals();
    for_each_chunk(out.reals_mut(), a_task, |task, out| out.copy_from_slice(chunk(x, a_task, task)));
    Ok(())
}

/// Makes all of a field +0.
pub fn clear<R: Vectors>(field: &mut FieldData<R>) {
    let Shape { a_task, .. } = Shape::of(field);
    for_each_chunk(field.reals_mut(), a_task, |_, reals| reals.fill(R::default()));
}

/// out = a · x, with a rounded to the field's precision.
///
/// # Errors
/// As [`copy`].
pub fn scale<R: Vectors>(out: &mut FieldData<R>, a: f64, x: &FieldData<R>) -> Result<(), FieldError> {
    check_like("scale", x, out)?;
    let shape = Shape::of(x);
    R::run_scale(x.lattice().width(), Scale { shape, out: out.reals_mut(), a: R::from_f64(a), x: x.reals() });
    Ok(())
}

/// y ← fma(a, x, y), with a rounded to the field's precision.
///
/// # Errors
/// As [`copy`].
pub fn axpy<R: Vectors>(a: f64, x: &FieldData<R>, y: &mut FieldData<R>) -> Result<(), FieldError> {
    check_like("axpy", x, y)?;
    let shape = Shape::of(x);
    R::run_axpy(x.lattice().width(), Axpy { shape, a: R::from_f64(a), x: x.reals(), y: y.reals_mut() });
    Ok(())
}

/// y ← fma(a, x, b · y), with a and b rounded to the field's precision.
///
/// # Errors
/// As [`copy`].
pub fn axpby<R: Vectors>(a: f64, x: &FieldData<R>, b: f64, y: &mut FieldData<R>) -> Result<(), FieldError> {
    check_like("axpby", x, y)?;
    R::run_axpby(x.lattice().width(), Axpby::of(a, x, b, y));
    Ok(())
}

/// y ← fma(a, x, y), and the norm of the result: one sum.
///
/// # Errors
/// As [`copy`].
pub fn axpy_norm<R: Vectors>(
    a: f64,
    x: &FieldData<R>,
    y: &mut FieldData<R>,
    sum: Sum,
) -> Result<PartialSums, FieldError> {
    check_like("axpy_norm", x, y)?;
    let update = Axpy { shape: Shape::of(x), a: R::from_f64(a), x: x.reals(), y: y.reals_mut() };
    Ok(R::run_axpy_norm(x.lattice().width(), WithNorm { update, sum }))
}

/// y ← fma(a, x, b · y), and the norm of the result: one sum.
///
/// # Errors
/// As [`copy`].
pub fn axpby_norm<R: Vectors>(
    a: f64,
    x: &FieldData<R>,
    b: f64,
    y: &mut FieldData<R>,
    sum: Sum,
) -> Result<PartialSums, FieldError> {
    check_like("axpby_norm", x, y)?;
    Ok(R::run_axpby_norm(x.lattice().width(), WithNorm { update: Axpby::of(a, x, b, y), sum }))
}

/// y ← a·x + y with a complex number a, rounded to the field's precision, by `madd`.
///
/// # Errors
/// As [`copy`].
pub fn complex_axpy<R: Vectors>(a: Complex<f64>, x: &FieldData<R>, y: &mut FieldData<R>) -> Result<(), FieldError> {
    check_like("complex_axpy", x, y)?;
    R::run_complex_update(x.lattice().width(), ComplexUpdate::of(a, x, y, Scaled::X));
    Ok(())
}

/// y ← b·y + x with a complex number b, rounded to the field's precision, by `madd`.
///
/// # Errors
/// As [`copy`].
pub fn complex_xpay<R: Vectors>(x: &FieldData<R>, b: Complex<f64>, y: &mut FieldData<R>) -> Result<(), FieldError> {
    check_like("complex_xpay", x, y)?;
    R::run_complex_update(x.lattice().width(), ComplexUpdate::of(b, x, y, Scaled::Y));
    Ok(())
}

/// ψ ← fma(a, p, ψ), then p ← fma(b, p, r), with the old p in both.
///
/// # Errors
/// As [`copy`].
pub fn cg_update<R: Vectors>(
    psi: &mut FieldData<R>,
    p: &mut FieldData<R>,
    r: &FieldData<R>,
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

/// Reals as vectors.
#[inline(always)]
fn vectors<V: LaneVector>(reals: &[V::Real]) -> &[V] {
    bytemuck::cast_slice(reals)
}

#[inline(always)]
fn vectors_mut<V: LaneVector>(reals: &mut [V::Real]) -> &mut [V] {
    bytemuck::cast_slice_mut(reals)
}

compiled! {
    fn run_scale(width, Scale { shape, out, a, x }) {
        f32::run_scale(width, Scale { shape, out: Half::as_f32_mut(out), a: a.into(), x: Half::as_f32(x) });
        shape.quantize(width, out);
    }
    fn run_axpy(width, Axpy { shape, a, x, y }) {
        f32::run_axpy(width, Axpy { shape, a: a.into(), x: Half::as_f32(x), y: Half::as_f32_mut(y) });
        shape.quantize(width, y);
    }
    fn run_axpby(width, Axpby { shape, a, x, b, y }) {
        let (a, b) = (a.into(), b.into());
        f32::run_axpby(width, Axpby { shape, a, x: Half::as_f32(x), b, y: Half::as_f32_mut(y) });
        shape.quantize(width, y);
    }
    fn run_axpy_norm(width, AxpyNorm { update: Axpy { shape, a, x, y }, sum }) -> PartialSums {
        Self::run_axpy(width, Axpy { shape, a, x, y: &mut *y });
        Self::run_norm2(width, Norm2 { shape, x: y, sum })
    }
    fn run_axpby_norm(width, AxpbyNorm { update: Axpby { shape, a, x, b, y }, sum }) -> PartialSums {
        Self::run_axpby(width, Axpby { shape, a, x, b, y: &mut *y });
        Self::run_norm2(width, Norm2 { shape, x: y, sum })
    }
    fn run_complex_update(width, ComplexUpdate { shape, a, x, y, scaled }) {
        let a = a.map(f32::from);
        f32::run_complex_update(width, ComplexUpdate { shape, a, x: Half::as_f32(x), y: Half::as_f32_mut(y), scaled });
        shape.quantize(width, y);
    }
    fn run_cg_update(width, CgUpdate { shape, a, b, psi, p, r }) {
        let (a, b, r) = (a.into(), b.into(), Half::as_f32(r));
        let in_f32 = CgUpdate { shape, a, b, psi: Half::as_f32_mut(psi), p: Half::as_f32_mut(p), r };
        f32::run_cg_update(width, in_f32);
        shape.quantize(width, psi);
        shape.quantize(width, p);
    }
}

#[doc(hidden)]
pub struct Scale<'a, R> {
    pub(crate) shape: Shape,
    pub(crate) out: &'a mut [R],
    pub(crate) a: R,
    pub(crate) x: &'a [R],
}

impl<R: Real> LaneOperation<R> for Scale<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        update_tasks(self.shape.a_task, self.x, self.out, Multiple { a: V::splat(self.a) });
    }
}

/// a · x.
struct Multiple<V> {
    a: V,
}

impl<V: LaneVector> Updated<V> for Multiple<V> {
    #[inline(always)]
    fn updated(&self, x: V, _: V) -> V {
        self.a.times(x)
    }
}

#[doc(hidden)]
pub struct Axpy<'a, R> {
    pub(crate) shape: Shape,
    pub(crate) a: R,
    pub(crate) x: &'a [R],
    pub(crate) y: &'a mut [R],
}

#[doc(hidden)]
pub struct Axpby<'a, R> {
    pub(crate) shape: Shape,
    pub(crate) a: R,
    pub(crate) x: &'a [R],
    pub(crate) b: R,
    pub(crate) y: &'a mut [R],
}

impl<'a, R: Real> Axpby<'a, R> {
    fn of(a: f64, x: &'a FieldData<R>, b: f64, y: &'a mut FieldData<R>) -> Self {
        Self { shape: Shape::of(x), a: R::from_f64(a), x: x.reals(), b: R::from_f64(b), y: y.reals_mut() }
    }
}

/// An operation y ← f(x, y) on vectors of complex numbers.
trait Updated<V>: Sync {
    /// f. It has to be `#[inline(always)]`.
    fn updated(&self, x: V, y: V) -> V;
}

/// An operation y ← f(x, y) on every component.
trait Update<'a, R: Real>: Sized {
    /// f of vectors.
    type Of<V: LaneVector<Real = R>>: Updated<V>;
    /// The operands, and f.
    fn parts<V: LaneVector<Real = R>>(self) -> (Shape, &'a [R], &'a mut [R], Self::Of<V>);
}

/// fma(a, x, y).
struct MultipleAdded<V> {
    a: V,
}

impl<V: LaneVector> Updated<V> for MultipleAdded<V> {
    #[inline(always)]
    fn updated(&self, x: V, y: V) -> V {
        self.a.fused(x, y)
    }
}

impl<'a, R: Real> Update<'a, R> for Axpy<'a, R> {
    type Of<V: LaneVector<Real = R>> = MultipleAdded<V>;
    fn parts<V: LaneVector<Real = R>>(self) -> (Shape, &'a [R], &'a mut [R], MultipleAdded<V>) {
        (self.shape, self.x, self.y, MultipleAdded { a: V::splat(self.a) })
    }
}

/// fma(a, x, b · y).
struct Combined<V> {
    a: V,
    b: V,
}

impl<V: LaneVector> Updated<V> for Combined<V> {
    #[inline(always)]
    fn updated(&self, x: V, y: V) -> V {
        self.a.fused(x, self.b.times(y))
    }
}

impl<'a, R: Real> Update<'a, R> for Axpby<'a, R> {
    type Of<V: LaneVector<Real = R>> = Combined<V>;
    fn parts<V: LaneVector<Real = R>>(self) -> (Shape, &'a [R], &'a mut [R], Combined<V>) {
        (self.shape, self.x, self.y, Combined { a: V::splat(self.a), b: V::splat(self.b) })
    }
}

macro_rules! update {
    ($update:ident) => {
        impl<R: Real> LaneOperation<R> for $update<'_, R> {
            type Output = ();
            fn run<V: LaneVector<Real = R>>(self, _: usize) {
                let (Shape { a_task, .. }, x, y, f) = self.parts::<V>();
                update_tasks(a_task, x, y, f);
            }
        }
    };
}
update!(Axpy);
update!(Axpby);

/// y ← f(x, y), task by task.
fn update_tasks<V: LaneVector>(a_task: usize, x: &[V::Real], y: &mut [V::Real], f: impl Updated<V>) {
    let update = UpdateTask { a_task, x: vectors(x), f };
    for_each_chunk(y, a_task, |task, y| V::Set::run(&update, (task, vectors_mut(y))));
}

/// y ← f(x, y) of a task of so many reals.
struct UpdateTask<'a, V, F> {
    a_task: usize,
    x: &'a [V],
    f: F,
}

impl<V: LaneVector, F: Updated<V>> Task<(usize, &mut [V])> for UpdateTask<'_, V, F> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (task, y): (usize, &mut [V])) {
        update(chunk(self.x, self.a_task / V::REALS, task), y, &self.f);
    }
}

#[inline(always)]
fn update<V: LaneVector>(x: &[V], y: &mut [V], f: &impl Updated<V>) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = f.updated(*x, *y);
    }
}

/// An update whose result's norm is wanted.
#[doc(hidden)]
pub struct WithNorm<U> {
    update: U,
    sum: Sum,
}
type AxpyNorm<'a, R> = WithNorm<Axpy<'a, R>>;
type AxpbyNorm<'a, R> = WithNorm<Axpby<'a, R>>;

impl<'a, R: Real, U: Update<'a, R>> LaneOperation<R> for WithNorm<U> {
    type Output = PartialSums;
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> PartialSums {
        let Self { update, sum } = self;
        let (shape @ Shape { an_osite, a_task }, x, y, f) = update.parts::<V>();
        if let Sum::Tree(_) = sum {
            update_tasks(a_task, x, y, f);
            return Norm2 { shape, x: y, sum }.run::<V>(blocks);
        }
        let a_chunk = Contributions::<V>::OSITES * an_osite;
        let task = UpdateAndNorm { a_task, a_chunk, contributions: Contributions::<V>::new(shape, blocks), x, f };
        let sums = map_chunks(y, a_task, |number, y| V::Set::run(&task, (number, y)));
        let norm2: [ExactSum; 1] = merged(&sums);
        PartialSums::Exact(norm2.into())
    }
}

/// y ← f(x, y) and |y|² of a task, in chunks that stay in the nearest cache.
struct UpdateAndNorm<'a, V: LaneVector, F> {
    a_task: usize,
    a_chunk: usize,
    contributions: Contributions<V>,
    x: &'a [V::Real],
    f: F,
}

impl<V: LaneVector, F: Updated<V>> Task<(usize, &mut [V::Real])> for UpdateAndNorm<'_, V, F> {
    type Output = [ExactSum; 1];
    #[inline(always)]
    fn run(&self, (task, y): (usize, &mut [V::Real])) -> [ExactSum; 1] {
        let mut terms = ExactTerms::<V::Doubles, 1>::new();
        let x = chunk(self.x, self.a_task, task);
        for (y, x) in y.chunks_mut(self.a_chunk).zip(x.chunks(self.a_chunk)) {
            update(vectors(x), vectors_mut::<V>(y), &self.f);
            self.contributions.norms(y, &mut terms);
        }
        terms.sums()
    }
}

/// Which of two fields a complex number multiplies; the other is added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scaled {
    X,
    Y,
}

#[doc(hidden)]
pub struct ComplexUpdate<'a, R> {
    pub(crate) shape: Shape,
    pub(crate) a: [R; 2],
    pub(crate) x: &'a [R],
    pub(crate) y: &'a mut [R],
    pub(crate) scaled: Scaled,
}

impl<'a, R: Real> ComplexUpdate<'a, R> {
    fn of(a: Complex<f64>, x: &'a FieldData<R>, y: &'a mut FieldData<R>, scaled: Scaled) -> Self {
        let a = [R::from_f64(a.re), R::from_f64(a.im)];
        Self { shape: Shape::of(x), a, x: x.reals(), y: y.reals_mut(), scaled }
    }
}

impl<R: Real> LaneOperation<R> for ComplexUpdate<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let Self { shape: Shape { a_task, .. }, a, x, y, scaled } = self;
        update_tasks(a_task, x, y, ComplexMultipleAdded { a: V::from_reals(|k| a[k % 2]), scaled });
    }
}

/// a·x + y, or a·y + x.
struct ComplexMultipleAdded<V> {
    a: V,
    scaled: Scaled,
}

impl<V: LaneVector> Updated<V> for ComplexMultipleAdded<V> {
    #[inline(always)]
    fn updated(&self, x: V, y: V) -> V {
        let (multiplied, added) = match self.scaled {
            Scaled::X => (x, y),
            Scaled::Y => (y, x),
        };
        madd(self.a, Factor::new(multiplied), added)
    }
}

#[doc(hidden)]
pub struct CgUpdate<'a, R> {
    pub(crate) shape: Shape,
    pub(crate) a: R,
    pub(crate) b: R,
    pub(crate) psi: &'a mut [R],
    pub(crate) p: &'a mut [R],
    pub(crate) r: &'a [R],
}

impl<R: Real> LaneOperation<R> for CgUpdate<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let a_task = self.shape.a_task;
        let update = CgUpdateTask { a_task, a: V::splat(self.a), b: V::splat(self.b), r: vectors::<V>(self.r) };
        for_each_chunk_of_two(self.psi, self.p, a_task, |task, psi, p| {
            V::Set::run(&update, (task, vectors_mut(psi), vectors_mut(p)));
        });
    }
}

/// ψ ← fma(a, p, ψ), p ← fma(b, p, r) of a task.
struct CgUpdateTask<'a, V> {
    a_task: usize,
    a: V,
    b: V,
    r: &'a [V],
}

impl<V: LaneVector> Task<(usize, &mut [V], &mut [V])> for CgUpdateTask<'_, V> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (task, psi, p): (usize, &mut [V], &mut [V])) {
        let (a, b) = (self.a, self.b);
        let r = chunk(self.r, self.a_task / V::REALS, task);
        for ((psi, p), r) in psi.iter_mut().zip(p).zip(r) {
            *psi = a.fused(*p, *psi);
            *p = b.fused(*p, *r);
        }
    }
}
