//! What whoever ports kernels needs: two arrays compared to the last bit, and golden data.

use std::path::PathBuf;

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield::kernel::{self, Kernel};
use lanefield::operator::HopParameters;
use lanefield::reference::layout::Extents;
use lanefield::reference::links::BoundaryPhases;
use lanefield::reference::real::Precision;
use lanefield_ports::compare::{self as comparison, CompareOptions};
use lanefield_ports::golden::{self, CheckOptions, GoldenError, GoldenOptions};
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::{PyFileExistsError, PyOSError};
use pyo3::prelude::*;
use serde::Serialize;

use super::arrays::Given;
use super::configuration::extents_of;
use super::device::{Device, on_backend};
use super::errors::value;
use super::running;

/// Facts as dictionaries and lists.
fn as_python<'py>(py: Python<'py>, facts: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(facts).map_err(value)?;
    py.import("json")?.call_method1("loads", (text,))
}

/// What a comparison of two arrays found.
#[pyclass(frozen, module = "lanefield")]
pub struct Comparison(comparison::Comparison);

#[pymethods]
impl Comparison {
    /// Whether all numbers are the same, or within `ulps`.
    #[getter]
    fn same(&self) -> bool {
        self.0.is_same()
    }

    /// Real numbers that differ by more than `ulps`.
    #[getter]
    fn differing(&self) -> u64 {
        self.0.differing
    }

    /// The first number that differs, in site order, as a dictionary: where, both values, their bits, their distance; None where none does.
    #[getter]
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        as_python(py, &self.0.first)
    }

    /// What may have caused it, the most certain first, as sentences.
    #[getter]
    fn causes(&self) -> Vec<String> {
        self.0.causes.iter().map(|cause| cause.sentence.clone()).collect()
    }

    /// All that was found, with the keys of `lanefield compare --json`.
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

/// Real or complex numbers of an array, as they are compared.
fn numbers(name: &str, array: &Bound<'_, PyAny>) -> PyResult<comparison::Numbers> {
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f64>>() {
        return Ok(comparison::Numbers::of_f64(array.shape().to_vec(), array.as_array().iter().copied().collect()));
    }
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f32>>() {
        let values: Vec<f32> = array.as_array().iter().copied().collect();
        return Ok(comparison::Numbers::of_f32(array.shape().to_vec(), &values));
    }
    let given = Given::new(name, array)?;
    let values = match &given {
        Given::F32(array) => ComplexValues::F32(array.as_slice().map_err(value)?.to_vec()),
        Given::F64(array) => ComplexValues::F64(array.as_slice().map_err(value)?.to_vec()),
    };
    Ok((&ComplexArray { shape: given.shape().to_vec(), values }).into())
}

/// Compares two arrays to the last bit: where they differ first, how many numbers do, where they lie, and what may have caused it.
#[pyfunction]
#[pyo3(signature = (a, b, ulps=0))]
pub fn compare(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>, ulps: u64) -> PyResult<Comparison> {
    let (py, a, b) = (a.py(), numbers("a", a)?, numbers("b", b)?);
    let options = CompareOptions { ulps, ..CompareOptions::default() };
    py.detach(|| comparison::compare_numbers(a, b, options)).map(Comparison).map_err(value)
}

fn golden_error(error: GoldenError) -> PyErr {
    match error {
        GoldenError::File { .. } => PyOSError::new_err(error.to_string()),
        GoldenError::NotEmpty { .. } => {
            PyFileExistsError::new_err(error.to_string().replace("--force to replace it", "overwrite=True"))
        }
        error => value(error),
    }
}

/// Kernels by their names; all of them where none is named.
fn kernels_of(names: Option<Vec<String>>) -> PyResult<Vec<&'static Kernel>> {
    // What is only a part of sums is left out.
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

/// Writes golden data to a directory: inputs, intermediates and results of kernels, with a manifest.
#[pyfunction]
#[pyo3(signature = (directory, *, kernels=None, lattice=None, seed=GoldenOptions::SEED, precisions=None, device=None, overwrite=false))]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn golden_export<'py>(
    py: Python<'py>,
    directory: PathBuf,
    kernels: Option<Vec<String>>,
    lattice: Option<&Bound<'py, PyAny>>,
    seed: u64,
    precisions: Option<Vec<String>>,
    device: Option<&Bound<'py, PyAny>>,
    overwrite: bool,
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
    let backend = device.get().backend().as_ref();
    let exported = running::run(py, None, |courier| {
        let goes_on = courier.goes_on_asked();
        on_backend!(backend, b => golden::export(b, &options, &directory, overwrite, &|_: &str| goes_on()))
    })?;
    let exported = exported.map_err(golden_error)?;
    let facts = serde_json::json!({
        "cases": exported.cases, "stages": exported.stages, "files": exported.files, "bytes": exported.bytes
    });
    as_python(py, &facts)
}

/// Compares the results of a port with golden data.
#[pyfunction]
#[pyo3(signature = (directory, against, *, ulps=0))]
pub fn golden_check(py: Python<'_>, directory: PathBuf, against: PathBuf, ulps: u64) -> PyResult<Bound<'_, PyAny>> {
    let checked = py.detach(|| golden::check(&directory, &against, CheckOptions { ulps, ..CheckOptions::default() }));
    let checked = checked.map_err(golden_error)?;
    let facts = serde_json::json!({
        "same": checked.is_same(), "compared": checked.compared(), "differ": checked.differ(), "missing": checked.missing(),
        "groups": checked.groups, "first": checked.first
    });
    as_python(py, &facts)
}
