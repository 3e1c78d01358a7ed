//! Code that hops of colour vectors share.

use crate::body::{FieldUse, Role};
use crate::field::ColourVectors;
use crate::layout::LEGS;
use crate::links::LinkFormat;
use crate::object::Object;

/// Ideal bytes for a site with `vectors` colour vectors: the links and each vector are read once, each result is written once.
pub fn ideal_bytes_per_site(format: LinkFormat, real_bytes: usize, vectors: usize) -> u64 {
    ((LEGS * format.reals() + 2 * vectors * 2 * ColourVectors::WORDS) * real_bytes) as u64
}

/// A field of colour vectors of a kernel function.
pub(super) const fn colour_vectors(used: FieldUse) -> Role {
    Role::Field { used, object: Some(Object::ColourVectors(1)), repeated: true }
}
