//! Sources: Gaussian numbers from a seed, and points.

use lanefield::observable::require_inside;
use lanefield::reference::field::list_of;
use lanefield::reference::layout::{Coordinate, Extents};
use lanefield::reference::random::{Stream, gaussian_pair};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arrays::array;
use super::configuration::extents_of;
use super::convention::Convention;
use super::errors::{self, value};
use super::fields::exchanged;

/// What a source holds at each site: so many spinors along s, or so many colour vectors; one spinor where neither is said.
struct Shape {
    /// The extent of the axis of s.
    ls: Option<usize>,
    /// Spins, or colour vectors.
    components: usize,
}

impl Shape {
    /// The most of either that operators take.
    const MOST: usize = 1024;

    fn new(ls: Option<usize>, components: Option<usize>) -> PyResult<Self> {
        let counted = |name: &str, count: usize| match (1..=Self::MOST).contains(&count) {
            true => Ok(count),
            false => Err(value(format!("invalid {name} {count}: expected a whole number from 1 to {}", Self::MOST))),
        };
        if ls.is_some() && components.is_some() {
            return Err(value("ls is for spinors, components for colour vectors: give one of them"));
        }
        let ls = ls.map(|ls| counted("ls", ls)).transpose()?;
        Ok(Self { ls, components: components.map_or(Ok(4), |count| counted("components", count))? })
    }

    fn parts(&self) -> usize {
        self.ls.unwrap_or(1)
    }

    fn words(&self) -> usize {
        self.parts() * 3 * self.components
    }

    /// Numbers in site order as an array of a convention.
    fn array<'py>(
        &self,
        py: Python<'py>,
        (extents, convention): (Extents, Convention),
        values: Vec<Complex<f64>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let [x, y, z, t] = extents.as_array();
        // One colour vector has no axis for its number in other programs.
        let of_site = if self.components == 1 && convention != Convention::Lanefield {
            vec![3]
        } else {
            vec![self.components, 3]
        };
        let axes: Vec<usize> = self.ls.into_iter().chain([t, z, y, x]).chain(of_site.iter().copied()).collect();
        let values = match self.parts() {
            1 => values,
            _ => exchanged(&values, extents.volume(), 3 * self.components),
        };
        convention.to_theirs(array(py, values, &axes)?, extents, of_site.len())
    }
}

/// Gaussian numbers of variance 1 in each real, as `lanefield solve --source gauss:SEED` takes them; the same on every machine.
///
/// complex128 (T, Z, Y, X, 4, 3); with `ls` (Ls, T, Z, Y, X, 4, 3), with `components` colour vectors (T, Z, Y, X, components, 3).
#[pyfunction]
#[pyo3(signature = (lattice, seed, *, ls=None, components=None, convention="lanefield"))]
pub fn gaussian<'py>(
    lattice: &Bound<'py, PyAny>,
    seed: u64,
    ls: Option<usize>,
    components: Option<usize>,
    convention: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let convention = convention.parse()?;
    let (extents, shape) = (extents_of(lattice)?, Shape::new(ls, components)?);
    let words = shape.words() as u32;
    let draw = |(site, word)| {
        let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site as u64, word);
        Complex::new(re, im)
    };
    let places = (0..extents.volume()).flat_map(|site| (0..words).map(move |word| (site, word)));
    let what = || format!("a source on {extents}");
    let values = lattice.py().detach(|| list_of(what, extents.volume() * shape.words(), places.map(draw)));
    shape.array(lattice.py(), (extents, convention), values.map_err(errors::field)?)
}

/// 1 at the site `position` (x, y, z, t), in one spin (or colour vector) and colour, and 0 elsewhere: complex128 (T, Z, Y, X, 4, 3), or with
/// `components` (T, Z, Y, X, components, 3).
#[pyfunction]
#[pyo3(signature = (lattice, position=[0; 4], spin=0, colour=0, *, components=None, convention="lanefield"))]
pub fn point<'py>(
    lattice: &Bound<'py, PyAny>,
    position: Coordinate,
    spin: usize,
    colour: usize,
    components: Option<usize>,
    convention: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let convention = convention.parse()?;
    let (extents, shape) = (extents_of(lattice)?, Shape::new(None, components)?);
    require_inside(extents, position).map_err(value)?;
    for (name, given, count) in [("spin", spin, shape.components), ("colour", colour, 3)] {
        if given >= count {
            return Err(value(format!("{name} {given} of the point source is outside 0 to {}", count - 1)));
        }
    }
    let what = || format!("a source on {extents}");
    let values = list_of(what, extents.volume() * shape.words(), std::iter::repeat(Complex::ZERO));
    let mut values = values.map_err(errors::field)?;
    values[extents.site(position) * shape.words() + 3 * spin + colour].re = 1.0;
    shape.array(lattice.py(), (extents, convention), values)
}
