//! Files of fields that operators act on. In memory, all words of a site lie together, one right-hand side of a batch after the other.

use std::borrow::Cow;
use std::io;

use lanefield::comm::WholeLattice;
use lanefield::dynamic::ArrayShape;
use lanefield::io::npy::{self, ArrayReal, ComplexArray, NpyError};
use lanefield::operator::AnyModel;
use lanefield::reference::field::{FieldError, Object, list_of};
use lanefield::reference::real::Real;

use super::files::{npy_error, npy_unwritten, require_written};
use crate::prelude::*;

pub fn shape_of_model(model: &AnyModel) -> anyhow::Result<ArrayShape> {
    ArrayShape::of_model(model).with_context(|| no_format(model.object()))
}

pub fn shape_of_object(object: Object) -> anyhow::Result<ArrayShape> {
    ArrayShape::of_object(object).with_context(|| no_format(object))
}

fn no_format(object: Object) -> String {
    format!("a field of type {} has no file format here: expected spinors or colour vectors", object.name())
}

/// Reads a field of this shape, or of a spinor if `physical` sources are accepted too. Returns its shape, its extents, and its numbers in site
/// order.
pub fn read_field(
    shape: ArrayShape,
    path: &Path,
    physical: bool,
    part: Extents,
) -> anyhow::Result<(ArrayShape, Extents, Vec<Complex<f64>>)> {
    let failed = |error: NpyError| npy_error(path, error);
    let array = array_of(shape, path, part).map_err(failed)?;
    array.require_finite().map_err(failed)?;
    match shape {
        ArrayShape::FiveDimensional(_) if physical && array.shape.len() == 6 => of(ArrayShape::Spinor, array, path),
        _ => of(shape, array, path),
    }
}

/// The array, or its local volume on this rank. Fails if its lattice is another one.
fn array_of(shape: ArrayShape, path: &Path, part: Extents) -> Result<ComplexArray, NpyError> {
    if !part.is_part() {
        return npy::read_complex(path);
    }
    let axes = npy::read_header(path)?.shape.len();
    let is_five_dimensional = matches!(shape, ArrayShape::FiveDimensional(_)) && axes == 7;
    npy::read_part(path, is_five_dimensional.into(), part)
}

fn of(shape: ArrayShape, array: ComplexArray, path: &Path) -> anyhow::Result<(ArrayShape, Extents, Vec<Complex<f64>>)> {
    let failed = |error: NpyError| npy_error(path, error);
    match shape {
        ArrayShape::Spinor => {
            let spinor = array.into_spinor().map_err(failed)?;
            Ok((shape, spinor.extents, spinor.values.into_f64()))
        }
        ArrayShape::FiveDimensional(ls) => {
            let fermion = array.into_fermion5().map_err(failed)?;
            ensure!(
                fermion.ls == ls,
                "the source {} has Ls {}, and the operator has {ls}: give --ls {}",
                path.display(),
                fermion.ls,
                fermion.ls
            );
            Ok((shape, fermion.extents, fermion.values.into_f64()))
        }
        ArrayShape::ColourVectors(components) => {
            let site = array.shape.get(4..).unwrap_or_default();
            ensure!(
                site == [components, 3] || (components == 1 && site == [3]),
                "the source {} is {}: --components {components} needs (T, Z, Y, X, {components}, 3)",
                path.display(),
                array.describe()
            );
            let field = array.into_field().map_err(failed)?;
            Ok((shape, field.extents, field.values.into_f64()))
        }
    }
}

/// Writes a field in site order. If there are several right-hand sides, the first axis is theirs. Returns the axes. Also fails if the file does
/// not contain the numbers that were given, since the copy in memory may lose bits.
pub fn write_field<R: ArrayReal + Real>(
    shape: ArrayShape,
    path: &Path,
    lattice: &WholeLattice,
    nrhs: Option<usize>,
    values: &[Complex<R>],
) -> anyhow::Result<Vec<usize>> {
    let axes: Vec<usize> = nrhs.into_iter().chain(shape.axes(lattice.extents())).collect();
    let arrays = nrhs.unwrap_or(1) * shape.parts();
    write_arrays(path, &axes, lattice, arrays, |array| {
        let numbers = of_array(shape, array, arrays, values);
        Ok(Cow::Owned(list_of(|| format!("the numbers of {}", path.display()), values.len() / arrays, numbers)?))
    })?;
    Ok(axes)
}

/// One component of one right-hand side, site by site.
fn of_array<T: Copy>(shape: ArrayShape, array: usize, arrays: usize, values: &[T]) -> impl Iterator<Item = T> {
    let words = shape.part_words();
    values.chunks_exact(arrays * words).flat_map(move |site| &site[array * words..][..words]).copied()
}

/// Writes arrays over the whole lattice one after the other into a file, on rank 0. Also fails if the file does not contain the numbers that
/// were given, since the copy in memory may lose bits.
pub fn write_arrays<'a, R: ArrayReal + Real>(
    path: &Path,
    axes: &[usize],
    lattice: &'a WholeLattice,
    count: usize,
    array: impl Fn(usize) -> Result<Cow<'a, [Complex<R>]>, FieldError>,
) -> anyhow::Result<()> {
    let gathering = || lattice.arrays(count, |number| array(number).map_err(io::Error::other));
    let mut written = gathering();
    if lattice.is_first() {
        let unwritten = |error| npy_unwritten(path, error);
        npy::write_complex_in_turn::<R>(path, axes, |take| written.rest(take)).map_err(unwritten)?;
    }
    drop(written);
    let mut again = gathering();
    if lattice.is_first() {
        require_written::<R>(path, |compare| again.rest(compare))?;
    }
    Ok(())
}

/// The right-hand sides of a batch, each in site order, as one field.
pub fn interleaved<T: Copy>(batch: &[Vec<T>], words: usize) -> Result<Vec<T>, FieldError> {
    let sites = batch.first().map_or(0, |rhs| rhs.len() / words);
    let site = |site: usize| batch.iter().flat_map(move |rhs| &rhs[site * words..][..words]);
    let length = batch.iter().map(Vec::len).sum();
    list_of(|| format!("{} right-hand sides", batch.len()), length, (0..sites).flat_map(site).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_hand_sides_and_s_are_the_slowest_axes_of_a_file() {
        let extents = Extents::new([1, 1, 1, 2]).unwrap();
        let shape = ArrayShape::FiveDimensional(2);
        // Each word is its site, right-hand side and s.
        let word = |site: usize, rhs: usize, s: usize| (site, rhs, s);
        let rhs = |rhs| (0..48).map(|k| word(k / 24, rhs, k / 12 % 2)).collect::<Vec<_>>();
        let batch = interleaved(&[rhs(0), rhs(1)], shape.words()).unwrap();
        assert_eq!(batch.len(), 48 * extents.volume());
        let file = (0..4).flat_map(|array| of_array(shape, array, 4, &batch));
        let spinors: Vec<_> = file.step_by(12).collect();
        let expected: Vec<_> = (0..8).map(|k| word(k % 2, k / 4, k / 2 % 2)).collect();
        assert_eq!(spinors, expected);
    }
}
