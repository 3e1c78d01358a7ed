//! Columns of a field on the CPU: a field of several columns, such as the right-hand sides of a batch, taken apart and put together, so that
//! the kernels of single fields serve each. Counterpart: `cl/columns.cl`.

use rayon::prelude::*;

use super::{Vectors, osites_a_task};
use crate::field::{Field, FieldError, Repeated};

/// The columns `columns` of `x`, in that order, where a column has `column_parts` parts.
///
/// # Errors
/// [`FieldError::Columns`] for columns that `x` has not; as [`Field::zeros`].
pub fn take_columns<R: Vectors, K: Repeated>(
    x: &Field<R, K>,
    columns: &[usize],
    column_parts: usize,
) -> Result<Field<R, K>, FieldError> {
    check(x, columns, column_parts)?;
    let mut out = Field::zeros(*x.lattice(), x.sites(), K::repeated(columns.len() * column_parts))?;
    copy(&mut out, x, columns.iter().copied().enumerate(), column_parts);
    Ok(out)
}

/// Column `columns[k]` of `out` ← column k of `x`.
///
/// # Errors
/// [`FieldError::Columns`] for columns that `out` has not; [`FieldError::Mismatch`] for fields on other sites.
pub fn put_columns<R: Vectors, K: Repeated>(
    out: &mut Field<R, K>,
    x: &Field<R, K>,
    columns: &[usize],
    column_parts: usize,
) -> Result<(), FieldError> {
    super::check_place("columns", x, out.lattice(), out.sites())?;
    check(out, columns, column_parts)?;
    check(x, &[columns.len().saturating_sub(1)], column_parts)?;
    copy(out, x, columns.iter().enumerate().map(|(from, &to)| (to, from)), column_parts);
    Ok(())
}

/// Refuses columns that a field does not have.
fn check<R: Vectors, K: Repeated>(
    field: &Field<R, K>,
    columns: &[usize],
    column_parts: usize,
) -> Result<(), FieldError> {
    let parts = field.kind().parts();
    match columns.iter().all(|column| (column + 1) * column_parts <= parts) && column_parts > 0 {
        true => Ok(()),
        false => Err(FieldError::Columns { columns: columns.to_vec(), column_parts, field: field.describe() }),
    }
}

/// Copies column `from` of x to column `to` of `out`, for each pair (to, from).
fn copy<R: Vectors, K: Repeated>(
    out: &mut Field<R, K>,
    x: &Field<R, K>,
    pairs: impl Iterator<Item = (usize, usize)>,
    column_parts: usize,
) {
    let a_column = x.reals_a_part() * column_parts;
    let (out_osite, x_osite) = (out.reals_an_osite(), x.reals_an_osite());
    let pairs: Vec<_> = pairs.map(|(to, from)| (to * a_column, from * a_column)).collect();
    let task = osites_a_task(x.osites());
    let tasks = out.reals_mut().par_chunks_mut(task * out_osite).zip(x.reals().par_chunks(task * x_osite));
    tasks.for_each(|(out, x)| {
        for (out, x) in out.chunks_exact_mut(out_osite).zip(x.chunks_exact(x_osite)) {
            for &(to, from) in &pairs {
                out[to..to + a_column].copy_from_slice(&x[from..from + a_column]);
            }
        }
    });
}
