//! Fields in site order, and lists of site objects at some of the sites, for example those of one parity.

use super::{Extents, Sites};

/// The site objects at `sites` of a field in site order, with `words` words each.
pub fn gather<T: Copy>(extents: Extents, sites: Sites, words: usize, field: &[T]) -> Vec<T> {
    let objects = field.chunks_exact(words).enumerate();
    objects
        .filter(|(site, _)| sites.contain(extents.coordinate(*site)))
        .flat_map(|(_, object)| object.to_vec())
        .collect()
}

/// The inverse of [`gather`]: a field on the whole lattice, zero elsewhere.
pub fn spread<T: Copy + Default>(extents: Extents, sites: Sites, words: usize, list: &[T]) -> Vec<T> {
    let mut field = vec![T::default(); words * extents.volume()];
    let objects = field.chunks_exact_mut(words).enumerate();
    let there = objects.filter(|(site, _)| sites.contain(extents.coordinate(*site)));
    for ((_, object), value) in there.zip(list.chunks_exact(words)) {
        object.copy_from_slice(value);
    }
    field
}
