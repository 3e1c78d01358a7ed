//! Vector operations with a norm on the CPU (`docs/arithmetic.md` §7, §8). Those without a norm are kernel functions. Counterpart: `cl/blas.cl`.

use super::checks::check_like;
use super::reduce::{Compiled as _, Contributions, ExactTerms, Norm2, PartialSums, Sum, merged};
use super::task_sizes::TaskSizes;
use super::with_vectors::LaneOperation;
use crate::exact::ExactSum;
use crate::field::{FieldData, FieldError};
use crate::half::Half;
use crate::layout::LaneWidth;
use crate::real::Real;
use crate::tasks::{chunk, for_each_chunk, map_chunks};
use crate::tensor::{InstructionSet, LaneVector, Task};

/// Sets all of a field to +0.
pub fn clear<R: Compiled>(field: &mut FieldData<R>) {
    let TaskSizes { a_task, .. } = TaskSizes::of(field);
    for_each_chunk(field.reals_mut(), a_task, |_, reals| reals.fill(R::default()));
}

/// y ← fma(a, x, y), with a rounded to the field's precision, and the norm of the result: one sum.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields are on the same sites of the same lattice.
pub fn axpy_norm<R: Compiled>(
    a: f64,
    x: &FieldData<R>,
    y: &mut FieldData<R>,
    sum: Sum,
) -> Result<PartialSums, FieldError> {
    check_like("axpy_norm", x, y)?;
    Ok(with_norm(a, x, None, y, sum))
}

/// y ← fma(a, x, b · y), with a and b rounded to the field's precision, and the norm of the result: one sum.
pub fn axpby_norm<R: Compiled>(
    a: f64,
    x: &FieldData<R>,
    b: f64,
    y: &mut FieldData<R>,
    sum: Sum,
) -> Result<PartialSums, FieldError> {
    check_like("axpby_norm", x, y)?;
    Ok(with_norm(a, x, Some(b), y, sum))
}

fn with_norm<R: Compiled>(a: f64, x: &FieldData<R>, b: Option<f64>, y: &mut FieldData<R>, sum: Sum) -> PartialSums {
    let (shape, width) = (TaskSizes::of(x), x.lattice().width());
    let update = Update { shape, a: R::from_f64(a), x: x.reals(), b: b.map(R::from_f64), y: y.reals_mut() };
    R::run_update_with_norm(width, UpdateWithNorm { update, sum })
}

#[inline(always)]
fn vectors<V: LaneVector>(reals: &[V::Real]) -> &[V] {
    bytemuck::cast_slice(reals)
}

#[inline(always)]
fn vectors_mut<V: LaneVector>(reals: &mut [V::Real]) -> &mut [V] {
    bytemuck::cast_slice_mut(reals)
}

compiled! {
    fn run_update(width, Update { shape, a, x, b, y }) {
        let (a, b) = (a.into(), b.map(f32::from));
        f32::run_update(width, Update { shape, a, x: Half::as_f32(x), b, y: Half::as_f32_mut(y) });
        shape.quantize(width, y);
    }
    fn run_update_with_norm(width, UpdateWithNorm { update: Update { shape, a, x, b, y }, sum }) -> PartialSums {
        Self::run_update(width, Update { shape, a, x, b, y: &mut *y });
        Self::run_norm2(width, Norm2 { shape, x: y, sum })
    }
}

/// y ← fma(a, x, y), or fma(a, x, b · y) if there is a number b.
#[doc(hidden)]
pub struct Update<'a, R> {
    shape: TaskSizes,
    a: R,
    x: &'a [R],
    b: Option<R>,
    y: &'a mut [R],
}

/// As [`Update`], and the norm of the result.
#[doc(hidden)]
pub struct UpdateWithNorm<'a, R> {
    update: Update<'a, R>,
    sum: Sum,
}

impl<R: Real> LaneOperation<R> for Update<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let a = V::splat(self.a);
        match self.b {
            None => update_tasks(self.shape, self.x, self.y, MultipleAdded { a }),
            Some(b) => update_tasks(self.shape, self.x, self.y, Combined { a, b: V::splat(b) }),
        }
    }
}

impl<R: Real> LaneOperation<R> for UpdateWithNorm<'_, R> {
    type Output = PartialSums;
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> PartialSums {
        let Self { update, sum } = self;
        let a = V::splat(update.a);
        match update.b {
            None => update.tasks_and_norm(blocks, sum, MultipleAdded { a }),
            Some(b) => update.tasks_and_norm(blocks, sum, Combined { a, b: V::splat(b) }),
        }
    }
}

impl<R: Real> Update<'_, R> {
    /// y ← f(x, y), and |y|².
    fn tasks_and_norm<V: LaneVector<Real = R>>(self, blocks: usize, sum: Sum, f: impl Updated<V>) -> PartialSums {
        let Self { shape: shape @ TaskSizes { an_osite, a_task }, x, y, .. } = self;
        if let Sum::Tree(_) = sum {
            update_tasks(shape, x, y, f);
            return Norm2 { shape, x: y, sum }.run::<V>(blocks);
        }
        let a_chunk = Contributions::<V>::OSITES * an_osite;
        let task = UpdateAndNorm { a_task, a_chunk, contributions: Contributions::<V>::new(shape, blocks), x, f };
        let sums = map_chunks(y, a_task, |number, y| V::Set::run(&task, (number, y)));
        let norm2: [ExactSum; 1] = merged(&sums);
        PartialSums::Exact(norm2.into())
    }
}

/// y ← f(x, y), task by task.
fn update_tasks<V: LaneVector>(shape: TaskSizes, x: &[V::Real], y: &mut [V::Real], f: impl Updated<V>) {
    let update = UpdateTask { a_task: shape.a_task, x: vectors(x), f };
    for_each_chunk(y, shape.a_task, |task, y| V::Set::run(&update, (task, vectors_mut(y))));
}

/// An operation y ← f(x, y) on vectors.
trait Updated<V>: Sync {
    /// f. It must be `#[inline(always)]`.
    fn updated(&self, x: V, y: V) -> V;
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

/// y ← f(x, y) for a task.
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

/// y ← f(x, y) and |y|² for a task, in chunks that stay in the nearest cache.
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
