//! What hops of colour vectors have in common.

use crate::body::{FieldUse, Role};
use crate::field::ColourVectors;
use crate::layout::LEGS;
use crate::links::LinkFormat;
use crate::object::Object;

/// Bytes a site that have to be moved at least, with `vectors` colour vectors a site: the links and each vector read once, each result written once.
pub fn ideal_bytes_per_site(format: LinkFormat, real_bytes: usize, vectors: usize) -> u64 {
    ((LEGS * format.reals() + 2 * vectors * 2 * ColourVectors::WORDS) * real_bytes) as u64
}

/// A field of colour vectors of a body.
pub(super) const fn colour_vectors(used: FieldUse) -> Role {
    Role::Field { used, object: Some(Object::ColourVectors(1)), repeated: true }
}
