//! Help for ports of kernels: comparison of two arrays bit for bit, and golden data.

use std::path::PathBuf;

use lanefield::io::directory::DirectoryError;
use lanefield::io::npy::{ComplexArray, ComplexValues, Element, RawArray};
use lanefield::kernel::{self, Kernel};
use lanefield::operator::HopParameters;
use lanefield::reference::field::list_of;
use lanefield::reference::layout::Extents;
use lanefield::reference::links::BoundaryPhases;
use lanefield::reference::real::Precision;
use lanefield_ports::compare::{self as comparison, CompareOptions};
use lanefield_ports::golden::{self, CheckOptions, CheckedGroup, GoldenError, GoldenOptions};
use numpy::{PyArrayDescrMethods as _, PyReadonlyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::{PyFileExistsError, PyOSError, PyTypeError};
use pyo3::prelude::*;
use serde::Serialize;

use super::arguments;
use super::arrays::{Given, in_c_order};
use super::configuration::extents_of;
use super::device::{Device, on_host};
use super::errors::{self, no_memory, unwritten, value};
use super::running;

/// Serializable facts as Python dictionaries and lists.
fn as_python<'py>(py: Python<'py>, facts: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(facts).map_err(value)?;
    py.import("json")?.call_method1("loads", (text,))
}

/// The result of a comparison of two arrays. It is true if they are the same.
#[pyclass(frozen, module = "lanefield")]
pub struct Comparison(comparison::Comparison);

#[pymethods]
impl Comparison {
    /// Whether all numbers are the same, or differ by at most `ulps`.
    #[getter]
    fn same(&self) -> bool {
        self.0.is_same()
    }

    /// Number of reals that differ by more than `ulps`.
    #[getter]
    fn differing(&self) -> u64 {
        self.0.differing
    }

    /// The first number that differs, in site order: its place, both values, their bits and their distance; None if none differs.
    #[getter]
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        as_python(py, &self.0.first)
    }

    /// Probable causes of the difference as sentences, the most certain first.
    #[getter]
    fn causes(&self) -> Vec<String> {
        self.0.causes.iter().map(|cause| cause.sentence.clone()).collect()
    }

    /// Everything that was found, with the keys of `lanefield compare --json`.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        as_python(py, &self.0)
    }

    fn __bool__(&self) -> bool {
        self.0.is_same()
    }

    fn __repr__(&self) -> String {
        match self.0.is_same() {
            true => format!("<lanefield.Comparison same, {} numbers>", self.0.numbers),
            false => format!("<lanefield.Comparison {} of {} numbers differ>", self.0.differing, self.0.numbers),
        }
    }
}

/// The real, complex or whole numbers of an array, for a comparison.
fn numbers(name: &str, array: &Bound<'_, PyAny>) -> PyResult<comparison::Numbers> {
    let array = in_c_order(array)?;
    let (shape, kind) = (array.shape().to_vec(), array.dtype().kind());
    let copied = || format!("a copy of {name}");
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f64>>() {
        let values = array.as_slice().map_err(value)?;
        let values = list_of(copied, values.len(), values.iter().copied()).map_err(errors::field)?;
        return Ok(comparison::Numbers::of_f64(shape, values));
    }
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f32>>() {
        return Ok(comparison::Numbers::of_f32(shape, array.as_slice().map_err(value)?));
    }
    if let b'i' | b'u' | b'b' = kind {
        // Numbers that do not fit 64 bits are also above 2^53.
        let array: PyReadonlyArrayDyn<'_, i64> = array.call_method1("astype", ("int64",))?.extract()?;
        let bytes = array.as_slice().map_err(value)?.iter().flat_map(|number| number.to_le_bytes());
        let bytes = list_of(copied, 8 * array.len(), bytes).map_err(errors::field)?;
        let raw = RawArray { element: Element::I64, shape, bytes };
        return comparison::Numbers::of_raw(&raw)
            .ok_or_else(|| value(format!("{name} holds whole numbers above 2^53")));
    }
    let given = Given::new(name, array.as_any()).map_err(|_| {
        PyTypeError::new_err(format!(
            "{name} is an array of {}: expected complex, real or whole numbers",
            array.dtype()
        ))
    })?;
    let values = match &given {
        Given::F32(array) => ComplexValues::F32(copy(copied, array.as_slice().map_err(value)?)?),
        Given::F64(array) => ComplexValues::F64(copy(copied, array.as_slice().map_err(value)?)?),
    };
    Ok((&ComplexArray { shape, values }).into())
}

fn copy<T: Copy>(what: impl FnOnce() -> String, values: &[T]) -> PyResult<Vec<T>> {
    list_of(what, values.len(), values.iter().copied()).map_err(errors::field)
}

/// Compares two arrays of the same shape, with complex, real or whole numbers, bit for bit. The result says which number differs
/// first, how many differ, where they lie, and a probable cause. Any NaN equals any NaN. If one array is f32 and the other f64, the
/// latter is first rounded to f32.
///
/// ulps: accept numbers that are at most this many units in the last place apart. Whole numbers must always be equal.
#[pyfunction]
#[pyo3(signature = (a, b, ulps=0))]
pub fn compare(
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::ulps)] ulps: u64,
) -> PyResult<Comparison> {
    let py = a.py();
    // Both arrays in f64, a copy of each, and the counts.
    let reals = |array: &Bound<'_, PyAny>| Ok::<_, PyErr>(in_c_order(array)?.len().saturating_mul(2));
    require_memory("the comparison", reals(a)?.saturating_add(reals(b)?).saturating_mul(24))?;
    let (a, b) = (numbers("a", a)?, numbers("b", b)?);
    let options = CompareOptions { ulps, ..CompareOptions::default() };
    on_host(py, || comparison::compare_numbers(a, b, options))?.map(Comparison).map_err(value)
}

/// Fails if the system does not have this much memory. Without this check, running out of memory would abort the process.
fn require_memory(what: &str, bytes: usize) -> PyResult<()> {
    let mut memory: Vec<u8> = Vec::new();
    memory.try_reserve_exact(bytes).map_err(|_| no_memory(what))
}

/// Bytes that an export holds in memory for each site of the lattice: 13 KB were measured with all kernels on 8.8.8.8.
const BYTES_A_SITE: usize = 16 << 10;

/// The seed in the signature below is that of the program.
const _: () = assert!(GoldenOptions::SEED == 1);

fn golden_error(error: GoldenError) -> PyErr {
    match error {
        GoldenError::File { .. } | GoldenError::Directory(DirectoryError::File { .. }) => {
            PyOSError::new_err(error.to_string())
        }
        GoldenError::Directory(DirectoryError::Parent(error)) => unwritten(&error),
        GoldenError::Directory(DirectoryError::NotEmpty { .. }) => {
            PyFileExistsError::new_err(error.to_string().replace("--force to replace it", "overwrite=True"))
        }
        error => value(error),
    }
}

/// Kernels by their names; all if `names` is `None`.
fn kernels_of(names: Option<Vec<String>>) -> PyResult<Vec<&'static Kernel>> {
    // Kernels that only run as a part of a sum are left out.
    let launched = || kernel::all().filter(|kernel| kernel.is_launched());
    let Some(names) = names else { return Ok(launched().collect()) };
    let known = |name: String| {
        launched().find(|kernel| kernel.name == name).ok_or_else(|| {
            let known: Vec<&str> = launched().map(|kernel| kernel.name).collect();
            value(format!("unknown kernel '{name}': expected {}", known.join(", ")))
        })
    };
    names.into_iter().map(known).collect()
}

/// Writes golden data to a directory: inputs, intermediates and results of kernels, with a manifest (docs/golden.md). Every device
/// writes the same bytes. Returns the numbers of `cases`, `stages`, `files` and `bytes`. Ctrl-C ends the export after the current
/// kernel, and nothing is written.
///
/// kernels: names of kernels; by default all.
/// lattice: extents, which must be even; (4, 6, 2, 8) by default.
/// device: the CPU by default.
/// overwrite: replace a directory that holds golden data. Without it, such a directory raises FileExistsError.
#[pyfunction]
#[pyo3(signature = (directory, *, kernels=None, lattice=None, seed=1, precisions=None, device=None, overwrite=false))]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn golden_export<'py>(
    py: Python<'py>,
    directory: PathBuf,
    #[pyo3(from_py_with = arguments::kernels)] kernels: Option<Vec<String>>,
    lattice: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::seed)] seed: u64,
    #[pyo3(from_py_with = arguments::precisions)] precisions: Option<Vec<String>>,
    device: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::overwrite)] overwrite: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let device = Device::of_host(py, device)?;
    let mut precisions = match precisions {
        Some(names) => names.iter().map(|name| name.parse().map_err(value)).collect::<PyResult<Vec<Precision>>>()?,
        None => Precision::ALL.to_vec(),
    };
    precisions.sort_unstable();
    precisions.dedup();
    let options = GoldenOptions {
        kernels: kernels_of(kernels)?,
        extents: lattice.map_or_else(|| Extents::new(GoldenOptions::LATTICE).map_err(value), extents_of)?,
        seed,
        precisions,
        boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME,
        legs: HopParameters::default().legs,
        lanes: device.get().lanes(),
    };
    require_memory("golden data", options.extents.volume().saturating_mul(BYTES_A_SITE))?;
    let backend = device.get().backend().as_ref();
    let exported = running::run(py, None, |courier| {
        let goes_on = courier.goes_on_asked();
        backend.install(|| golden::export(backend, &options, &directory, overwrite, &|_: &str| goes_on()))
    })?;
    let exported = exported.map_err(golden_error)?;
    let facts = serde_json::json!({
        "cases": exported.cases, "stages": exported.stages, "files": exported.files, "bytes": exported.bytes
    });
    as_python(py, &facts)
}

/// Compares the results of a port in the directory `against` with golden data. Results that are missing are not compared. Returns
/// `same`, the number of files that were `compared`, those that `differ` and those that are `missing`, and the same three by kernel
/// as `groups`; files that are not in the golden data as `unknown`; and the `first` difference.
#[pyfunction]
#[pyo3(signature = (directory, against, *, ulps=0))]
pub fn golden_check(
    py: Python<'_>,
    directory: PathBuf,
    against: PathBuf,
    #[pyo3(from_py_with = arguments::ulps)] ulps: u64,
) -> PyResult<Bound<'_, PyAny>> {
    let checked =
        on_host(py, || golden::check(&directory, &against, CheckOptions { ulps, ..CheckOptions::default() }))?;
    let checked = checked.map_err(golden_error)?;
    let all = |of: fn(&CheckedGroup) -> &Vec<String>| checked.groups.iter().flat_map(of).collect::<Vec<_>>();
    let facts = serde_json::json!({
        "same": checked.is_same(), "compared": checked.compared(), "differ": all(|group| &group.differ),
        "missing": all(|group| &group.missing), "unknown": checked.unknown, "groups": checked.groups, "first": checked.first
    });
    as_python(py, &facts)
}
