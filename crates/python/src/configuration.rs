//! Gauge configurations: from files, from seeds, from arrays, and back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lanefield::io::nersc::{self, FloatingPoint, WriteOptions};
use lanefield::io::npy::{self, NpyError};
use lanefield::reference::gauge::{self, SITE_WORDS};
use lanefield::reference::layout::{DIMENSIONS, Extents};
use lanefield::reference::real::Precision;
use num_complex::Complex;
use numpy::ndarray::{ArrayView, IxDyn};
use numpy::{PyArray, PyArrayMethods as _};
use pyo3::exceptions::{PyFileExistsError, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::arrays::{Given, tuple};
use super::convention::Convention;
use super::errors::{self, value};

/// A gauge configuration in SU(3) on a periodic lattice. It does not change.
#[pyclass(frozen, module = "lanefield")]
pub struct Configuration(Arc<gauge::Configuration>);

impl Configuration {
    fn of(configuration: gauge::Configuration) -> Self {
        Self(Arc::new(configuration))
    }

    pub fn get(&self) -> &gauge::Configuration {
        &self.0
    }

    pub fn shared(&self) -> &Arc<gauge::Configuration> {
        &self.0
    }
}

/// Extents from (x, y, z, t), from "x.y.z.t", or from a configuration.
pub fn extents_of(lattice: &Bound<'_, PyAny>) -> PyResult<Extents> {
    if let Ok(configuration) = lattice.cast::<Configuration>() {
        return Ok(configuration.get().get().extents());
    }
    if let Ok(text) = lattice.extract::<String>() {
        return text.parse().map_err(value);
    }
    let extents: [usize; DIMENSIONS] = lattice.extract().map_err(|_| {
        value(format!("the lattice is {lattice}: expected extents (x, y, z, t), \"x.y.z.t\" or a Configuration"))
    })?;
    Extents::new(extents).map_err(value)
}

/// Refuses a lattice whose links the system has no memory for, where making them would abort the process.
fn require_memory(extents: Extents) -> PyResult<Extents> {
    let words = extents.volume().saturating_mul(SITE_WORDS);
    let mut links: Vec<Complex<f64>> = Vec::new();
    match links.try_reserve_exact(words) {
        Ok(()) => Ok(extents),
        Err(_) => Err(PyMemoryError::new_err(format!("not enough memory for a configuration on {extents}"))),
    }
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

fn read_npy(path: &Path) -> Result<gauge::Configuration, NpyError> {
    let array = npy::read_complex(path)?;
    let like = match array.values.precision() {
        npy::Precision::F32 => FloatingPoint::F32Little,
        npy::Precision::F64 => FloatingPoint::F64Little,
    };
    let configuration = array.into_gauge()?;
    configuration.require_su3(like.unitarity_tolerance())?;
    Ok(configuration)
}

#[pymethods]
impl Configuration {
    /// Reads a NERSC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if the name ends in .npy, and checks all that it says of itself.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let path = path.as_path();
        py.detach(|| match is_npy(path) {
            true => read_npy(path).map(Self::of).map_err(|error| errors::npy(path, error)),
            false => {
                nersc::read(path).map(|file| Self::of(file.configuration)).map_err(|error| errors::nersc(path, error))
            }
        })
    }

    /// The free field: every link is 1.
    #[staticmethod]
    fn unit(lattice: &Bound<'_, PyAny>) -> PyResult<Self> {
        let extents = require_memory(extents_of(lattice)?)?;
        Ok(lattice.py().detach(|| Self::of(gauge::Configuration::unit(extents))))
    }

    /// Random links, uniform in SU(3); the same on every machine.
    #[staticmethod]
    fn hot(lattice: &Bound<'_, PyAny>, seed: u64) -> PyResult<Self> {
        let extents = require_memory(extents_of(lattice)?)?;
        Ok(lattice.py().detach(|| Self::of(gauge::Configuration::hot(extents, seed))))
    }

    /// Links near 1: exponentials of Gaussian algebra elements of width `spread`; the same on every machine.
    #[staticmethod]
    #[pyo3(signature = (lattice, seed, spread=0.2))]
    fn weak(lattice: &Bound<'_, PyAny>, seed: u64, spread: f64) -> PyResult<Self> {
        if !(0.0..=1000.0).contains(&spread) {
            return Err(value(format!("invalid spread {spread}: expected a number from 0 to 1000")));
        }
        let extents = require_memory(extents_of(lattice)?)?;
        Ok(lattice.py().detach(|| Self::of(gauge::Configuration::weak(extents, seed, spread))))
    }

    /// A copy of an array (T, Z, Y, X, 4, 3, 3): direction x, y, z, t; row; column. Its links must be in SU(3).
    /// Or one of another convention, whose extents are `lattice` where its shape does not say them.
    #[staticmethod]
    #[pyo3(signature = (links, *, convention="lanefield", lattice=None))]
    fn from_array(links: &Bound<'_, PyAny>, convention: &str, lattice: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let lattice = lattice.map(extents_of).transpose()?;
        let links = &convention.parse::<Convention>()?.links_to_ours(links, lattice)?;
        let given = Given::new("links", links)?;
        let &[t, z, y, x, 4, 3, 3] = given.shape() else {
            return Err(value(format!("the shape is {}: expected (T, Z, Y, X, 4, 3, 3)", tuple(given.shape()))));
        };
        let extents = Extents::new([x, y, z, t]).map_err(value)?;
        let like = match given.precision() {
            Precision::F32 => FloatingPoint::F32Little,
            _ => FloatingPoint::F64Little,
        };
        let configuration = gauge::Configuration::new(extents, given.to_f64()?).map_err(value)?;
        links.py().detach(|| configuration.require_su3(like.unitarity_tolerance())).map_err(value)?;
        Ok(Self::of(configuration))
    }

    /// Extents (x, y, z, t).
    #[getter]
    fn extents<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.extents().as_array())
    }

    /// The links (T, Z, Y, X, 4, 3, 3), complex128, without a copy; they cannot be written to.
    #[getter]
    fn links<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let configuration = slf.get().get();
        let [x, y, z, t] = configuration.extents().as_array();
        let links = ArrayView::from_shape(IxDyn(&[t, z, y, x, 4, 3, 3]), configuration.links()).map_err(value)?;
        // SAFETY: the array keeps the configuration alive, whose links neither move nor change; it is made read-only before anyone sees it.
        let array = unsafe { PyArray::borrow_from_array(&links, slf.clone().into_any()) };
        array.try_readwrite().map_err(value)?.make_nonwriteable();
        Ok(array.into_any())
    }

    /// The links as an array of a convention, complex128.
    #[pyo3(signature = (*, convention="lanefield"))]
    fn array<'py>(slf: &Bound<'py, Self>, convention: &str) -> PyResult<Bound<'py, PyAny>> {
        let convention: Convention = convention.parse()?;
        convention.links_from_ours(Self::links(slf)?.call_method0("copy")?, slf.get().get().extents())
    }

    /// Average plaquette: the mean of Re tr P / 3, an exact sum.
    #[getter]
    fn plaquette(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.0.plaquette())
    }

    /// Link trace: the mean of Re tr U / 3, an exact sum.
    #[getter]
    fn link_trace(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.0.link_trace())
    }

    /// Writes a NERSC file, or a NumPy array if the name ends in .npy. A file that is there already is replaced only where `overwrite` is true.
    #[pyo3(signature = (path, *, overwrite=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        let path = path.as_path();
        if !overwrite && path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0) {
            let path = path.display();
            return Err(PyFileExistsError::new_err(format!(
                "{path} is there already: give another name, or overwrite=True"
            )));
        }
        py.detach(|| match is_npy(path) {
            true => npy::write_gauge(path, &self.0).map_err(|error| errors::npy(path, error)),
            false => {
                let written = nersc::write(path, &self.0, &WriteOptions::default());
                written.map_err(|error| errors::nersc(path, error))
            }
        })
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<lanefield.Configuration {}, plaquette {}>", self.0.extents(), self.plaquette(py))
    }
}
