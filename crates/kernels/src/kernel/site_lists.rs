//! Host fields as lists in site order, for `lanefield_reference::scalar`, which does not use lanes.

use lanefield_reference::field::{FieldData, FieldError};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Place, gather, spread};
use num_complex::Complex;

use super::Shape;

/// The objects of a field in site order, only of the field's own sites.
pub(super) fn list<R: Vectors>(field: &FieldData<R>) -> Vec<Complex<R>> {
    gather(field.lattice().extents(), field.sites(), field.object().words(), &field.to_site_order())
}

/// Writes such a list into a field.
pub(super) fn put<R: Vectors>(field: &mut FieldData<R>, list: &[Complex<R>]) -> Result<(), FieldError> {
    let all = spread(field.lattice().extents(), field.sites(), field.object().words(), list);
    field.assign(&all)
}

/// The sites of a field in the order of memory: outer site by outer site, lane by lane.
pub(super) fn places<R: Vectors>(field: &FieldData<R>) -> impl Iterator<Item = Place> + use<R> {
    let nsimd = field.lattice().nsimd();
    (0..field.osites()).flat_map(move |osite| (0..nsimd).map(move |lane| Place { osite, lane }))
}

/// The object at a place.
pub(super) fn object<R: Vectors>(field: &FieldData<R>, place: Place) -> Vec<Complex<R>> {
    let (words, nsimd) = (field.object().words(), field.lattice().nsimd());
    (0..words).map(|word| field.words()[(place.osite * words + word) * nsimd + place.lane]).collect()
}

/// The components of a field in the order of memory. Each makes its own contribution to norms and products.
pub(super) fn parts<R: Vectors>(field: &FieldData<R>) -> impl Iterator<Item = Vec<Complex<R>>> + '_ {
    let (parts, nsimd) = (field.osites() * field.object().parts(), field.lattice().nsimd());
    let words = field.object().part_words();
    let part = move |part, lane| (0..words).map(|word| field.words()[(part * words + word) * nsimd + lane]).collect();
    (0..parts).flat_map(move |number| (0..nsimd).map(move |lane| part(number, lane)))
}

/// Right-hand side `rhs` of a field as a field of its own.
pub(super) fn of_rhs<R: Vectors>(field: &FieldData<R>, rhs: usize, shape: &Shape) -> Result<FieldData<R>, FieldError> {
    let object = lanefield_reference::kernels::rhs::object_of(field.object(), 1, shape.rhs_parts)?;
    let mut one = FieldData::zeros(*field.lattice(), field.sites(), object)?;
    let (all, words) = (field.to_site_order(), object.words());
    let of_site = |site: &[Complex<R>]| site[rhs * words..][..words].to_vec();
    one.assign(&all.chunks_exact(field.object().words()).flat_map(of_site).collect::<Vec<_>>())?;
    Ok(one)
}

/// Copies a field with one right-hand side into its place.
pub(super) fn put_rhs<R: Vectors>(field: &mut FieldData<R>, rhs: usize, one: &FieldData<R>) -> Result<(), FieldError> {
    let (mut all, part) = (field.to_site_order(), one.to_site_order());
    let words = one.object().words();
    for (site, part) in all.chunks_exact_mut(field.object().words()).zip(part.chunks_exact(words)) {
        site[rhs * words..][..words].copy_from_slice(part);
    }
    field.assign(&all)
}
