//! Checks that the fields of a kernel match.

use crate::field::{FieldData, FieldError, describe};
use crate::layout::{Lattice, Sites};
use crate::real::Real;

/// Refuses fields that are not on `lattice` and `sites`.
pub(crate) fn check_place<R: Real>(
    what: &'static str,
    field: &FieldData<R>,
    lattice: &Lattice,
    sites: Sites,
) -> Result<(), FieldError> {
    match field.lattice() == lattice && field.sites() == sites {
        true => Ok(()),
        false => Err(FieldError::Mismatch {
            what,
            left: field.describe(),
            right: describe::<R>(lattice, sites, field.object()),
        }),
    }
}

/// Refuses fields that are not on the same sites of the same lattice, or have different objects.
pub(crate) fn check_like<R: Real>(
    what: &'static str,
    field: &FieldData<R>,
    other: &FieldData<R>,
) -> Result<(), FieldError> {
    check_place(what, field, other.lattice(), other.sites())?;
    match field.object() == other.object() {
        true => Ok(()),
        false => Err(FieldError::Mismatch { what, left: field.describe(), right: other.describe() }),
    }
}
