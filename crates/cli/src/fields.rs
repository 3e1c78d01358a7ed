//! What operators act on, in files: spinors (T, Z, Y, X, 4, 3), five-dimensional fermions (Ls, T, Z, Y, X, 4, 3), and colour vectors
//! (T, Z, Y, X, N, 3). In memory all words of a site lie together, those of one right-hand side of a batch after the other.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use anyhow::{bail, ensure};
use lanefield::comm::WholeLattice;
use lanefield::io::npy::{self, ArrayReal, ComplexArray, NpyError};
use lanefield::operator::AnyModel;
use lanefield::reference::field::{FieldError, Object, list_of};
use lanefield::reference::layout::Extents;
use lanefield::reference::real::Real;
use num_complex::Complex;

use super::files::{npy_error, npy_unwritten, require_written};

/// What a field holds at each site, as files have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldShape {
    /// 4 spins, 3 colours.
    Spinor,
    /// So many spinors along s.
    FiveDimensional(usize),
    /// So many vectors of 3 colours.
    ColourVectors(usize),
}

impl FieldShape {
    /// Whether its numbers depend on the basis of spins.
    pub fn has_spins(self) -> bool {
        !matches!(self, Self::ColourVectors(_))
    }

    /// What an operator acts on.
    ///
    /// # Errors
    /// Objects that no file has.
    pub fn of_model(model: &AnyModel) -> anyhow::Result<Self> {
        match (model, model.object()) {
            (AnyModel::DomainWall(_), Object::Spinors(ls)) => Ok(Self::FiveDimensional(ls)),
            (_, object) => Self::of_object(object),
        }
    }

    /// What a kernel acts on.
    ///
    /// # Errors
    /// Objects that no file has.
    pub fn of_object(object: Object) -> anyhow::Result<Self> {
        match object {
            Object::Spinors(1) => Ok(Self::Spinor),
            Object::ColourVectors(count) => Ok(Self::ColourVectors(count)),
            other => {
                bail!("a field of type {} has no file format here: expected spinors or colour vectors", other.name())
            }
        }
    }

    pub fn words(self) -> usize {
        self.parts() * self.part_words()
    }

    /// Components that are an axis of their own before the lattice's.
    fn parts(self) -> usize {
        match self {
            Self::FiveDimensional(ls) => ls,
            Self::Spinor | Self::ColourVectors(_) => 1,
        }
    }

    /// Complex words of one of them.
    pub fn part_words(self) -> usize {
        3 * self.components().1
    }

    /// The name of the index before colour, and how far it goes.
    pub fn components(self) -> (&'static str, usize) {
        match self {
            Self::Spinor | Self::FiveDimensional(_) => ("spin", 4),
            Self::ColourVectors(components) => ("component", components),
        }
    }

    pub fn axes(self, extents: Extents) -> Vec<usize> {
        let [x, y, z, t] = extents.as_array();
        let of_part = [t, z, y, x, self.components().1, 3];
        match self {
            Self::FiveDimensional(ls) => [&[ls][..], &of_part].concat(),
            Self::Spinor | Self::ColourVectors(_) => of_part.into(),
        }
    }

    /// Reads a field of this shape, or of a spinor where `physical` sources are welcome too. Gives what shape it had, its extents and its
    /// numbers in site order.
    pub fn read(
        self,
        path: &Path,
        physical: bool,
        part: Extents,
    ) -> anyhow::Result<(Self, Extents, Vec<Complex<f64>>)> {
        let failed = |error: NpyError| npy_error(path, error);
        let array = self.array(path, part).map_err(failed)?;
        array.require_finite().map_err(failed)?;
        match self {
            Self::FiveDimensional(_) if physical && array.shape.len() == 6 => Self::Spinor.of(array, path),
            _ => self.of(array, path),
        }
    }

    /// The array, or the part of this rank, if it is one of that lattice.
    fn array(self, path: &Path, part: Extents) -> Result<ComplexArray, NpyError> {
        if !part.is_part() {
            return npy::read_complex(path);
        }
        let axes = npy::read_header(path)?.shape.len();
        let is_five_dimensional = matches!(self, Self::FiveDimensional(_)) && axes == 7;
        npy::read_part(path, is_five_dimensional.into(), part)
    }

    fn of(self, array: ComplexArray, path: &Path) -> anyhow::Result<(Self, Extents, Vec<Complex<f64>>)> {
        let failed = |error: NpyError| npy_error(path, error);
        match self {
            Self::Spinor => {
                let spinor = array.into_spinor().map_err(failed)?;
                Ok((self, spinor.extents, spinor.values.into_f64()))
            }
            Self::FiveDimensional(ls) => {
                let fermion = array.into_fermion5().map_err(failed)?;
                ensure!(
                    fermion.ls == ls,
                    "the source {} has Ls {}, and the operator has {ls}: give --ls {}",
                    path.display(),
                    fermion.ls,
                    fermion.ls
                );
                Ok((self, fermion.extents, fermion.values.into_f64()))
            }
            Self::ColourVectors(components) => {
                let site = array.shape.get(4..).unwrap_or_default();
                ensure!(
                    site == [components, 3] || (components == 1 && site == [3]),
                    "the source {} is {}: --components {components} needs (T, Z, Y, X, {components}, 3)",
                    path.display(),
                    array.describe()
                );
                let field = array.into_field().map_err(failed)?;
                Ok((self, field.extents, field.values.into_f64()))
            }
        }
    }

    /// Writes a field in site order; where there are several right-hand sides, with an axis for them before all others. Gives the axes.
    ///
    /// # Errors
    /// Also where the file does not hold what was given: the copy that is written may lose bits, too.
    pub fn write<R: ArrayReal + Real>(
        self,
        path: &Path,
        lattice: &WholeLattice,
        nrhs: Option<usize>,
        values: &[Complex<R>],
    ) -> anyhow::Result<Vec<usize>> {
        let axes: Vec<usize> = nrhs.into_iter().chain(self.axes(lattice.extents())).collect();
        let arrays = nrhs.unwrap_or(1) * self.parts();
        write_arrays(path, &axes, lattice, arrays, |array| {
            let numbers = self.of_array(array, arrays, values);
            Ok(Cow::Owned(list_of(|| format!("the numbers of {}", path.display()), values.len() / arrays, numbers)?))
        })?;
        Ok(axes)
    }

    /// One component of one right-hand side, site by site.
    fn of_array<T: Copy>(self, array: usize, arrays: usize, values: &[T]) -> impl Iterator<Item = T> {
        let words = self.part_words();
        values.chunks_exact(arrays * words).flat_map(move |site| &site[array * words..][..words]).copied()
    }
}

/// Writes arrays over the whole lattice one after the other into a file, at rank 0.
///
/// # Errors
/// Also where the file does not hold what was given: the copy that is written may lose bits, too.
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
        let shape = FieldShape::FiveDimensional(2);
        // Each word is its site, right-hand side and s.
        let word = |site: usize, rhs: usize, s: usize| (site, rhs, s);
        let rhs = |rhs| (0..48).map(|k| word(k / 24, rhs, k / 12 % 2)).collect::<Vec<_>>();
        let batch = interleaved(&[rhs(0), rhs(1)], shape.words()).unwrap();
        assert_eq!(batch.len(), 48 * extents.volume());
        let file = (0..4).flat_map(|array| shape.of_array(array, 4, &batch));
        let spinors: Vec<_> = file.step_by(12).collect();
        let expected: Vec<_> = (0..8).map(|k| word(k % 2, k / 4, k / 2 % 2)).collect();
        assert_eq!(spinors, expected);
    }
}
