//! Gauge configurations from files, seeds and arrays, and their way back to files and arrays.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use lanefield::comm::WholeLattice;
use lanefield::io::claims;
use lanefield::io::configuration::{Format, Origin, ReadOptions, WriteOptions, read, write};
use lanefield::io::identity::digest_of_numbers;
use lanefield::io::sidecar;
use lanefield::reference::field::{FieldError, list_of};
use lanefield::reference::gauge::{self, ColourMatrix, LINK_WORDS, Projection, SITE_WORDS, SU3_TOLERANCE};
use lanefield::reference::layout::{DIMENSIONS, Extents};
use lanefield::reference::random::{su3_random, su3_weak};
use lanefield::reference::real::Real as _;
use lanefield::reference::tasks::for_each_chunk;
use num_complex::Complex;
use numpy::ndarray::{ArrayView, IxDyn};
use numpy::{PyArray, PyArrayMethods as _};
use pyo3::exceptions::{PyFileExistsError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::arguments::{self, Argument, mistyped, shown};
use super::arrays::{Given, on_values, tuple};
use super::convention::{self, Convention, Order, fill, reordered};
use super::device::{Device, on_host};
use super::errors::{self, value};
use super::running;

/// A gauge configuration in SU(3) on a periodic lattice. It cannot be changed. Two configurations are equal if all their bits are
/// equal. Configurations can be pickled, and can be dictionary keys.
#[pyclass(frozen, module = "lanefield")]
pub struct Configuration {
    shared: Arc<gauge::Configuration>,
    /// Computed when it is first needed.
    digest: OnceLock<String>,
    /// What its file states.
    origin: Option<Arc<Origin>>,
    /// What was done to its links since then.
    made_by: Option<String>,
}

impl Configuration {
    fn of(configuration: gauge::Configuration) -> Self {
        Self { shared: Arc::new(configuration), digest: OnceLock::new(), origin: None, made_by: None }
    }

    pub fn get(&self) -> &gauge::Configuration {
        &self.shared
    }

    pub fn shared(&self) -> &Arc<gauge::Configuration> {
        &self.shared
    }

    /// SHA-256 of the links.
    fn digest(&self, py: Python<'_>) -> PyResult<&str> {
        if self.digest.get().is_none() {
            let digest = on_host(py, || digest_of_numbers(self.get().links()))?;
            // If another thread was faster, it set the same digest.
            let _ = self.digest.set(digest);
        }
        Ok(self.digest.get().map_or("", String::as_str))
    }
}

impl Argument for Py<Configuration> {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        given.extract().map_err(|_| mistyped(name, given, "a lanefield.Configuration"))
    }
}

/// The argument `configuration`.
pub fn configuration(given: &Bound<'_, PyAny>) -> PyResult<Py<Configuration>> {
    Argument::read("configuration", given)
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
        let given = shown(lattice);
        value(format!("the lattice is {given}: expected extents (x, y, z, t), \"x.y.z.t\" or a Configuration"))
    })?;
    Extents::new(extents).map_err(value)
}

/// A configuration whose links are computed one by one, with the same bits as in the library. A signal ends the computation.
fn made(lattice: &Bound<'_, PyAny>, link: impl Fn(u64, u32) -> ColourMatrix + Send + Sync) -> PyResult<Configuration> {
    let (py, extents) = (lattice.py(), extents_of(lattice)?);
    let host = Device::of_host(py, None)?;
    let backend = host.get().backend().as_ref();
    let links = running::run(py, None, |courier| {
        let goes_on = courier.goes_on_asked();
        let mut links = links_of(extents, std::iter::repeat(Complex::ZERO))?;
        backend.install(|| {
            for_each_chunk(&mut links, SITE_WORDS, |site, words| {
                for (direction, words) in (0..).zip(words.chunks_exact_mut(LINK_WORDS)) {
                    if goes_on() {
                        words.copy_from_slice(&link(site as u64, direction));
                    }
                }
            });
        });
        Ok::<_, FieldError>(links)
    })?;
    let links = links.map_err(errors::field)?;
    Ok(Configuration::of(gauge::Configuration::new(extents, links).map_err(value)?))
}

/// A list of the links of a lattice. Fails if there is not enough memory.
fn links_of(extents: Extents, links: impl IntoIterator<Item = Complex<f64>>) -> Result<Vec<Complex<f64>>, FieldError> {
    list_of(|| format!("links on {extents}"), extents.volume() * SITE_WORDS, links)
}

#[pymethods]
impl Configuration {
    /// Reads a gauge configuration: a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y, X, 4,
    /// 3, 3). The first bytes of a file determine its format. Everything that the file states about itself is checked.
    ///
    /// lattice: the extents, for files that do not state them.
    /// project: "polar" or "max-re-tr" projects the links to SU(3), however far from it they are.
    #[staticmethod]
    #[pyo3(signature = (path, *, lattice=None, project=None))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        lattice: Option<&Bound<'_, PyAny>>,
        project: Option<&str>,
    ) -> PyResult<Self> {
        let options = ReadOptions {
            lattice: lattice.map(extents_of).transpose()?,
            projection: project.map(str::parse).transpose().map_err(value)?,
        };
        let read = on_host(py, || read(&path, options))?.map_err(errors::configuration)?;
        for problem in &read.problems {
            let text = format!("{}: {problem}; it was read without it", path.display());
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(text).map_err(value)?, 1)?;
        }
        let made_by = options.projection.map(|projection| format!("project:{projection}"));
        Ok(Self { origin: Some(Arc::new(read.origin)), made_by, ..Self::of(read.configuration) })
    }

    /// The free field: every link is 1.
    #[staticmethod]
    fn unit(lattice: &Bound<'_, PyAny>) -> PyResult<Self> {
        let one: ColourMatrix = std::array::from_fn(|k| Complex::new(if k % 4 == 0 { 1.0 } else { 0.0 }, 0.0));
        made(lattice, |_, _| one)
    }

    /// Random links, uniform in SU(3); the same on every machine.
    #[staticmethod]
    fn hot(lattice: &Bound<'_, PyAny>, #[pyo3(from_py_with = arguments::seed)] seed: u64) -> PyResult<Self> {
        made(lattice, |site, direction| su3_random(seed, site, direction))
    }

    /// Links near 1: exponentials of Gaussian algebra elements of width `spread`; the same on every machine.
    #[staticmethod]
    #[pyo3(signature = (lattice, seed, spread=0.2))]
    fn weak(
        lattice: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
        #[pyo3(from_py_with = arguments::spread)] spread: f64,
    ) -> PyResult<Self> {
        if !(0.0..=1000.0).contains(&spread) {
            return Err(value(format!("spread is {spread:?}: expected a number from 0 to 1000")));
        }
        made(lattice, |site, direction| su3_weak(seed, site, direction, spread))
    }

    /// Copies links from an array (T, Z, Y, X, 4, 3, 3): direction x, y, z, t; row; column. They must be in SU(3).
    ///
    /// convention: with "pyquda" or "gpt", the array of that convention, or a list of one array for each direction, such as gpt's
    ///     [U[mu][:] for mu in range(4)].
    /// lattice: the extents. Arrays of gpt need them, because their shape does not determine them. Other arrays must have these extents.
    #[staticmethod]
    #[pyo3(signature = (links, *, convention="lanefield", lattice=None))]
    fn from_array(
        links: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = convention::convention)] convention: &'static str,
        lattice: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (py, convention) = (links.py(), Convention::of(convention));
        let given = Given::new("links", links)?;
        let first = usize::from(convention != Convention::Lanefield);
        let extents = convention.extents(("links", given.shape()), first, lattice.map(extents_of).transpose()?)?;
        let (order, axes) = convention.links(extents)?;
        if given.shape() != axes {
            return Err(value(format!("the shape of links is {}: expected {}", tuple(given.shape()), tuple(&axes))));
        }
        let ours = Order::together(extents, DIMENSIONS);
        on_values!(&given, values => on_host(py, || {
            let mut links = links_of(extents, std::iter::repeat(Complex::ZERO)).map_err(errors::field)?;
            fill((&mut links, ours), (values, order), LINK_WORDS);
            let configuration = gauge::Configuration::new(extents, links).map_err(value)?;
            configuration.require_su3(SU3_TOLERANCE).map_err(value)?;
            Ok(Self::of(configuration))
        })?)
    }

    /// Extents (x, y, z, t).
    #[getter]
    fn extents<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.get().extents().as_array())
    }

    /// The links (T, Z, Y, X, 4, 3, 3), as a read-only view without a copy.
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

    /// Copies the links to an array, in the order of a convention.
    #[pyo3(signature = (*, convention="lanefield"))]
    fn array<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = convention::convention)] convention: &'static str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (extents, links) = (self.get().extents(), self.get().links());
        let (order, axes) = Convention::of(convention).links(extents)?;
        reordered(py, (links, Order::together(extents, DIMENSIONS)), (&axes, order), LINK_WORDS)
    }

    /// SHA-256 of the links, 64 hex digits: the digest of docs/arithmetic.md §18, which records of solves contain too.
    #[getter]
    fn sha256(&self, py: Python<'_>) -> PyResult<&str> {
        self.digest(py)
    }

    /// Average plaquette: the mean of Re tr P / 3. The sum over sites and planes is exact.
    #[getter]
    fn plaquette(&self, py: Python<'_>) -> PyResult<f64> {
        on_host(py, || self.get().plaquette())
    }

    /// Link trace: the mean of Re tr U / 3. The sum over all diagonal elements is exact.
    #[getter]
    fn link_trace(&self, py: Python<'_>) -> PyResult<f64> {
        on_host(py, || self.get().link_trace())
    }

    /// Returns the configuration with its links projected to SU(3): "polar", by polar decomposition, or "max-re-tr", to the largest Re tr
    /// U V†.
    #[pyo3(signature = (projection="polar"))]
    fn projected(&self, py: Python<'_>, projection: &str) -> PyResult<Self> {
        let projection: Projection = projection.parse().map_err(value)?;
        let projected = on_host(py, || self.get().projected(projection))?;
        let before = self.made_by.as_ref().map_or_else(String::new, |before| format!("{before} "));
        let made_by = Some(format!("{before}project:{projection}"));
        Ok(Self { origin: self.origin.clone(), made_by, ..Self::of(projected) })
    }

    /// Writes a file in the format of its extension: .nersc (or none), .lime (ILDG), .milc, .npy, .h5. If the file exists, this raises
    /// FileExistsError unless `overwrite` is true. A configuration that was read from a file is written in the precision of that file and
    /// keeps its labels. Labels that the format cannot hold go into a sidecar, PATH.json.
    ///
    /// format: "nersc", "ildg", "milc", "npy" or "hdf5", whatever the extension is.
    #[pyo3(signature = (path, *, overwrite=false, format=None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        #[pyo3(from_py_with = arguments::overwrite)] overwrite: bool,
        format: Option<&str>,
    ) -> PyResult<()> {
        let (path, beside) = (path.as_path(), sidecar::path_of(&path));
        let known = |name: &str| Format::ALL.into_iter().find(|format| format.to_string() == name);
        let unknown = |name| value(format!("format is {name:?}: expected nersc, ildg, milc, npy or hdf5"));
        let format = format.map(|name| known(name).ok_or_else(|| unknown(name))).transpose()?;
        let is_there = |path: &&Path| path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
        if let Some(path) = [path, &beside].into_iter().find(is_there).filter(|_| !overwrite) {
            let path = path.display();
            return Err(PyFileExistsError::new_err(format!(
                "{path} already exists: give another name, or overwrite=True"
            )));
        }
        claims::claim(path, "save", overwrite);
        claims::claim(&beside, "the sidecar", overwrite);
        let written = on_host(py, || {
            let lattice = WholeLattice::alone(self.get().extents());
            let (origin, made_by) = (self.origin.as_deref(), self.made_by.clone());
            let options = WriteOptions { format, origin, made_by, ..WriteOptions::default() };
            write(path, self.get(), &lattice, &options)
        })?;
        written.map_err(errors::configuration)?;
        let written = claims::written_to(path);
        if written == *path {
            return Ok(());
        }
        let (path, written) = (path.display(), written.display());
        Err(PyFileExistsError::new_err(format!("{path} appeared in the meantime: the configuration is in {written}")))
    }

    fn __eq__(&self, other: &Self) -> bool {
        let bits = |z: &Complex<f64>| [z.re.to_bits(), z.im.to_bits()];
        let (ours, theirs) = (self.get(), other.get());
        let same = || ours.links().iter().zip(theirs.links()).all(|(a, b)| bits(a) == bits(b));
        Arc::ptr_eq(&self.shared, &other.shared) || (ours.extents() == theirs.extents() && same())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        // The digest consists of hexadecimal digits.
        u64::from_str_radix(&self.digest(py)?[..16], 16).map_err(value)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((restorer(slf.py(), "_configuration")?, (Self::links(slf)?,)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let extents = self.get().extents();
        Ok(format!("<lanefield.Configuration {extents}, plaquette {}>", self.plaquette(py)?))
    }
}

/// Restores a pickled configuration.
#[pyfunction(name = "_configuration")]
pub fn restored(links: &Bound<'_, PyAny>) -> PyResult<Configuration> {
    let given = Given::new("links", links)?;
    let extents = Convention::Lanefield.extents(("links", given.shape()), 0, None)?;
    on_values!(&given, values => on_host(links.py(), || {
        let links = links_of(extents, values.iter().map(|z| Complex::new(z.re.to_f64(), z.im.to_f64())));
        let configuration = gauge::Configuration::new(extents, links.map_err(errors::field)?).map_err(value)?;
        configuration.require_su3(SU3_TOLERANCE).map_err(value)?;
        Ok(Configuration::of(configuration))
    })?)
}

/// A function that pickles name to restore an object.
pub fn restorer<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("lanefield._lanefield")?.getattr(name)
}
