//! From four dimensions to the walls of the fifth, and back. Components are moved, without arithmetic.

use crate::field::{Field, FieldError, Spinors};
use crate::real::Real;

use super::columns;

/// Words of one chirality of a spinor.
const HALF: usize = Spinors::WORDS / 2;

/// Each spinor η of a site as a fermion of `ls` spinors: P₊η at s = 0 and P₋η at s = ls − 1, zeros elsewhere.
pub fn onto_walls<R: Real>(eta: &Field<R, Spinors>, ls: usize) -> Result<Field<R, Spinors>, FieldError> {
    let count = eta.kind().count();
    let mut column = Field::zeros(*eta.lattice(), eta.sites(), Spinors::new(count * ls))?;
    let half = HALF * eta.lattice().nsimd();
    let columns = column.words_mut().chunks_exact_mut(2 * half * ls);
    for (column, eta) in columns.zip(eta.words().chunks_exact(2 * half)) {
        column[..half].copy_from_slice(&eta[..half]);
        column[2 * half * ls - half..].copy_from_slice(&eta[half..]);
    }
    Ok(column)
}

/// For each fermion ψ of `ls` spinors, P₋ψ at s = 0 plus P₊ψ at s = ls − 1.
///
/// # Errors
/// [`FieldError::Mismatch`] if the number of spinors at a site is not a multiple of `ls`.
pub fn from_walls<R: Real>(psi: &Field<R, Spinors>, ls: usize) -> Result<Field<R, Spinors>, FieldError> {
    let columns = columns(psi.kind(), ls, || psi.describe())?;
    let mut quark = Field::zeros(*psi.lattice(), psi.sites(), Spinors::new(columns))?;
    let half = HALF * psi.lattice().nsimd();
    let columns = psi.words().chunks_exact(2 * half * ls);
    for (quark, column) in quark.words_mut().chunks_exact_mut(2 * half).zip(columns) {
        quark[..half].copy_from_slice(&column[2 * half * (ls - 1)..][..half]);
        quark[half..].copy_from_slice(&column[half..2 * half]);
    }
    Ok(quark)
}
