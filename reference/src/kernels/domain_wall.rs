//! Operations along the fifth dimension of domain wall and Möbius fermions, on the CPU (`docs/arithmetic.md` §14). Real matrices, one for each
//! chirality, multiply each fermion of ls spinors. They act component by component, so lanes never mix. Counterpart: `cl/domain_wall.cl`.

mod matrix;
mod mobius;
mod walls;

use super::checks::check_like;
use super::with_vectors::LaneOperation;
use crate::field::{Field, FieldError, Spinors};
use crate::half::Half;
use crate::kernels::hop::Dagger;
use crate::layout::LaneWidth;
use crate::real::Real;
use crate::tasks::{for_each_chunk, items_a_task};
use crate::tensor::{InstructionSet, LaneVector, Task};

use matrix::sweep_order;
pub use matrix::{DomainWallError, InverseForm, MOST_LS, MatrixForm, SMatrix, Tridiagonal};
pub use mobius::MobiusCoefficients;
pub use walls::{from_walls, onto_walls};

/// Words of one chirality of a spinor: spins 0 and 1, or 2 and 3.
const HALF: usize = Spinors::WORDS / 2;

/// The number of fermions of `ls` spinors at a site with `spinors`.
///
/// # Errors
/// [`FieldError::Mismatch`] if the number of spinors is not a multiple of `ls`; `describe` names the field.
pub fn columns(spinors: Spinors, ls: usize, describe: impl FnOnce() -> String) -> Result<usize, FieldError> {
    match ls > 0 && spinors.count().is_multiple_of(ls) {
        true => Ok(spinors.count() / ls),
        false => Err(FieldError::Mismatch {
            what: "a matrix along s",
            left: describe(),
            right: format!("columns of ls = {ls} spinors"),
        }),
    }
}

/// Refuses a matrix that is not tridiagonal, whose product cannot be added.
pub fn require_tridiagonal(form: MatrixForm) -> Result<(), FieldError> {
    match form {
        MatrixForm::Tridiagonal => Ok(()),
        _ => Err(FieldError::Mismatch {
            what: "adding a product along s",
            left: form.name().to_owned(),
            right: MatrixForm::Tridiagonal.name().to_owned(),
        }),
    }
}

/// out = matrix · x along s, for each fermion.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields are on the same sites of the same lattice, and have whole fermions there.
pub fn multiply<R: Compiled>(
    out: &mut Field<R, Spinors>,
    matrix: &SMatrix,
    x: &Field<R, Spinors>,
) -> Result<(), FieldError> {
    check_like("a matrix along s", x, out)?;
    columns(x.kind(), matrix.ls(), || x.describe())?;
    R::run_s_multiply(x.lattice().width(), SMultiply { out, matrix, x, z: None });
    Ok(())
}

/// out = matrix · x + z along s, for each fermion, with a tridiagonal matrix.
///
/// # Errors
/// Those of [`multiply`], and a matrix that is not tridiagonal.
pub fn multiply_add<R: Compiled>(
    out: &mut Field<R, Spinors>,
    matrix: &SMatrix,
    x: &Field<R, Spinors>,
    z: &Field<R, Spinors>,
) -> Result<(), FieldError> {
    require_tridiagonal(matrix.form())?;
    check_like("a matrix along s", x, out)?;
    check_like("adding a product along s", z, out)?;
    columns(x.kind(), matrix.ls(), || x.describe())?;
    R::run_s_multiply(x.lattice().width(), SMultiply { out, matrix, x, z: Some(z) });
    Ok(())
}

compiled! {
    fn run_s_multiply(width, SMultiply { out, matrix, x, z }) {
        let (x, z) = (x.as_f32(), z.map(Field::as_f32));
        out.in_f32(|out| f32::run_s_multiply(width, SMultiply { out, matrix, x, z }));
    }
}

/// A product whose fields have been checked.
#[doc(hidden)]
pub struct SMultiply<'a, R> {
    pub(super) out: &'a mut Field<R, Spinors>,
    pub(super) matrix: &'a SMatrix,
    pub(super) x: &'a Field<R, Spinors>,
    pub(super) z: Option<&'a Field<R, Spinors>>,
}

impl<R: Real> LaneOperation<R> for SMultiply<'_, R> {
    type Output = ();

    fn run<V: LaneVector<Real = R>>(self, blocks: usize) {
        let Self { out, matrix, x, z } = self;
        let (ls, all) = (matrix.ls(), x.osites() * x.kind().count() / matrix.ls());
        let a_task = items_a_task(all);
        let columns = Columns {
            form: matrix.form(),
            x: x.vectors::<V>(),
            z: z.map(|z| z.vectors::<V>()),
            a_task,
            ls,
            half: HALF * blocks,
            ascending: matrix.dagger() == Dagger::No,
            table: matrix.table().iter().map(|&c| V::splat(R::from_f64(c))).collect::<Vec<_>>(),
        };
        let length = columns.length();
        for_each_chunk(out.vectors_mut::<V>(), length * a_task, |task, out| V::Set::run(&columns, (task, out)));
    }
}

/// Fermions as 2·ls half spinors, with those of chirality + in even places; and the coefficients of a matrix.
struct Columns<'a, V> {
    form: MatrixForm,
    x: &'a [V],
    z: Option<&'a [V]>,
    a_task: usize,
    ls: usize,
    /// The number of vectors of a half spinor.
    half: usize,
    ascending: bool,
    table: Vec<V>,
}

impl<V: LaneVector> Task<(usize, &mut [V])> for Columns<'_, V> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (task, out): (usize, &mut [V])) {
        let length = self.length();
        for (k, out) in out.chunks_exact_mut(length).enumerate() {
            let first = (task * self.a_task + k) * length;
            let x = &self.x[first..first + length];
            match self.form {
                MatrixForm::Tridiagonal => self.tridiagonal(out, x, self.z.map(|z| &z[first..first + length])),
                MatrixForm::Sweep => self.sweep(out, x),
                MatrixForm::Dense => self.dense(out, x),
            }
        }
    }
}

impl<V: LaneVector> Columns<'_, V> {
    #[inline(always)]
    fn length(&self) -> usize {
        2 * self.half * self.ls
    }

    /// The half spinor of `chirality` (0: +, 1: −) at s.
    #[inline(always)]
    fn at(&self, s: usize, chirality: usize) -> std::ops::Range<usize> {
        let first = (2 * s + chirality) * self.half;
        first..first + self.half
    }

    #[inline(always)]
    fn tridiagonal(&self, out: &mut [V], x: &[V], z: Option<&[V]>) {
        let ls = self.ls;
        for s in 0..ls {
            let diagonal = self.table[s];
            for chirality in 0..2 {
                let beside = self.table[(1 + chirality) * ls + s];
                let before = (chirality == 0) == self.ascending;
                let neighbour = if before { (s + ls - 1) % ls } else { (s + 1) % ls };
                let (here, there) = (self.at(s, chirality), &x[self.at(neighbour, chirality)]);
                let both = out[here.clone()].iter_mut().zip(&x[here.clone()]).zip(there);
                match z {
                    None => both.for_each(|((y, &x), &there)| *y = beside.fused(there, diagonal.times(x))),
                    Some(z) => both.zip(&z[here]).for_each(|(((y, &x), &there), &z)| {
                        *y = beside.fused(there, diagonal.fused(x, z));
                    }),
                }
            }
        }
    }

    #[inline(always)]
    fn sweep(&self, out: &mut [V], x: &[V]) {
        let ls = self.ls;
        for chirality in 0..2 {
            let (corner, rest) = self.table[3 * ls * chirality..][..3 * ls].split_at(ls);
            let (step, reciprocal) = rest.split_at(ls);
            let mut order = sweep_order(ls, (chirality == 0) == self.ascending);
            let Some(start) = order.next() else { return };
            for k in 0..self.half {
                let at = |s: usize| (2 * s + chirality) * self.half + k;
                let first = order.clone().fold(x[at(start)], |sum, s| corner[s].fused(x[at(s)], sum));
                let mut y = reciprocal[start].times(first);
                out[at(start)] = y;
                for s in order.clone() {
                    y = step[s].fused(y, reciprocal[s].times(x[at(s)]));
                    out[at(s)] = y;
                }
            }
        }
    }

    #[inline(always)]
    fn dense(&self, out: &mut [V], x: &[V]) {
        let ls = self.ls;
        for s in 0..ls {
            for chirality in 0..2 {
                let Some((&first, rest)) = self.table[(chirality * ls + s) * ls..][..ls].split_first() else { return };
                let out = &mut out[self.at(s, chirality)];
                for (y, &x) in out.iter_mut().zip(&x[self.at(0, chirality)]) {
                    *y = first.times(x);
                }
                for (from, &coefficient) in rest.iter().enumerate() {
                    for (y, &x) in out.iter_mut().zip(&x[self.at(from + 1, chirality)]) {
                        *y = coefficient.fused(x, *y);
                    }
                }
            }
        }
    }
}
