//! Sources: Gaussian numbers from a seed, points, and other sources by name.

use lanefield::observable::{Source, require_inside};
use lanefield::reference::ensure;
use lanefield::reference::layout::{Coordinate, Extents};
use lanefield::reference::random::{Stream, gaussian_pair};
use lanefield::reference::tasks::{for_each_chunk, items_a_task};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arguments;
use super::arrays::Number as _;
use super::configuration::extents_of;
use super::convention::{self, Convention, Order};
use super::device::Device;
use super::errors::value;
use super::running;

/// The shape of a source. Each site has `ls` spinors along s, or `components` colour vectors, or by default one spinor.
struct Shape {
    extents: Extents,
    convention: Convention,
    /// The extent of s.
    ls: Option<usize>,
    /// Number of spins (4), or of colour vectors.
    components: usize,
}

impl Shape {
    /// The largest `ls` or `components` that operators accept.
    const MOST: usize = 1024;

    fn new(
        lattice: &Bound<'_, PyAny>,
        convention: &str,
        ls: Option<usize>,
        components: Option<usize>,
    ) -> PyResult<Self> {
        for (name, count) in [("ls", ls), ("components", components)] {
            if let Some(count) = count.filter(|count| !(1..=Self::MOST).contains(count)) {
                return Err(value(format!("{name} is {count}: expected a whole number from 1 to {}", Self::MOST)));
            }
        }
        if ls.is_some() && components.is_some() {
            return Err(value("ls is for spinors, components for colour vectors: give one of them"));
        }
        let (extents, convention) = (extents_of(lattice)?, Convention::of(convention));
        Ok(Self { extents, convention, ls, components: components.unwrap_or(4) })
    }

    /// Words of a spinor, or of all colour vectors of a site.
    fn words(&self) -> usize {
        3 * self.components
    }

    fn order(&self) -> Order {
        self.convention.order(self.extents, self.ls.unwrap_or(1))
    }

    fn axes(&self) -> PyResult<Vec<usize>> {
        // In other programs, a single colour vector has no axis for its number.
        let of_site = [self.components, 3];
        let is_short = self.components == 1 && self.convention != Convention::Lanefield;
        Ok([&self.convention.axes(self.extents, self.ls)?[..], &of_site[usize::from(is_short)..]].concat())
    }
}

/// Gaussian numbers, each real of variance 1: the source `--source gauss:SEED` of the program; the same on every machine.
///
/// Returns (T, Z, Y, X, 4, 3); with `ls`, (Ls, T, Z, Y, X, 4, 3); with `components`, colour vectors (T, Z, Y, X, components, 3).
#[pyfunction]
#[pyo3(signature = (lattice, seed, *, ls=None, components=None, convention="lanefield"))]
pub fn gaussian<'py>(
    lattice: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
    #[pyo3(from_py_with = arguments::ls)] ls: Option<usize>,
    #[pyo3(from_py_with = arguments::components)] components: Option<usize>,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, shape) = (lattice.py(), Shape::new(lattice, convention, ls, components)?);
    let (order, words, host) = (shape.order(), shape.words(), Device::of_host(py, None)?);
    let backend = host.get().backend().as_ref();
    f64::written(py, &shape.axes()?, None, |values| {
        running::run(py, None, |courier| {
            let goes_on = courier.goes_on_asked();
            backend.install(|| {
                let a_task = items_a_task(values.len() / words);
                for_each_chunk(values, words * a_task, |task, objects| {
                    let objects = (task * a_task..).zip(objects.chunks_exact_mut(words));
                    for (place, object) in objects.take_while(|_| goes_on()) {
                        let (part, site) = order.at(place);
                        for (word, number) in (part * words..).zip(object) {
                            let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site as u64, word as u32);
                            *number = Complex::new(re, im);
                        }
                    }
                });
            });
        })
    })
}

/// A point source: 1 at the site `position` (x, y, z, t) in one spin (or colour vector) and colour, 0 elsewhere.
///
/// Returns (T, Z, Y, X, 4, 3); with `components`, colour vectors (T, Z, Y, X, components, 3).
#[pyfunction]
#[pyo3(
    signature = (lattice, position=[0; 4], spin=0, colour=0, *, components=None, convention="lanefield"),
    text_signature = "(lattice, position=(0, 0, 0, 0), spin=0, colour=0, *, components=None, convention='lanefield')"
)]
pub fn point<'py>(
    lattice: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::position)] position: Coordinate,
    #[pyo3(from_py_with = arguments::spin)] spin: usize,
    #[pyo3(from_py_with = arguments::colour)] colour: usize,
    #[pyo3(from_py_with = arguments::components)] components: Option<usize>,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = Shape::new(lattice, convention, None, components)?;
    require_inside(shape.extents, position).map_err(value)?;
    for (name, given, count) in [("spin", spin, shape.components), ("colour", colour, 3)] {
        ensure!(given < count, value(format!("{name} {given} of the point source is outside 0 to {}", count - 1)));
    }
    f64::written(lattice.py(), &shape.axes()?, None, |values| {
        values.fill(Complex::ZERO);
        values[shape.order().place(0, shape.extents.site(position)) * shape.words() + 3 * spin + colour].re = 1.0;
        Ok(())
    })
}

/// Creates a source by its name, as `--source` of the program: "z2:SEED", "z4:SEED" or "gauss:SEED" (with "SEED,t" only on time slice
/// t), "wall:t,spin,colour", "momentum:nx,ny,nz,t,spin,colour" (exp(ip·x) on a time slice, with p = 2πn/L), or
/// "point:x,y,z,t,spin,colour".
///
/// Returns (T, Z, Y, X, 4, 3); with `ls`, (Ls, T, Z, Y, X, 4, 3); with `components`, colour vectors (T, Z, Y, X, components, 3).
#[pyfunction]
#[pyo3(signature = (lattice, name, *, ls=None, components=None, convention="lanefield"))]
pub fn source<'py>(
    lattice: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::name)] name: String,
    #[pyo3(from_py_with = arguments::ls)] ls: Option<usize>,
    #[pyo3(from_py_with = arguments::components)] components: Option<usize>,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
) -> PyResult<Bound<'py, PyAny>> {
    let source = Source::field(&name).map_err(value)?;
    let shape = Shape::new(lattice, convention, ls, components)?;
    source.require_inside(shape.extents).map_err(value)?;
    if let Source::File(_) = source {
        return Err(value(format!("name is '{name}': expected {}", Source::KINDS)));
    }
    let index = if components.is_some() { "component" } else { "spin" };
    source.require_component(index, shape.components).map_err(value)?;
    let (order, words) = (shape.order(), shape.words());
    f64::written(lattice.py(), &shape.axes()?, None, |values| {
        for (place, object) in values.chunks_exact_mut(words).enumerate() {
            let (part, site) = order.at(place);
            let x = shape.extents.coordinate(site);
            source.fill(shape.extents, x, part * words..(part + 1) * words, object);
        }
        Ok(())
    })
}
