//! Errors of the library as exceptions of Python: what was given is wrong (`ValueError`), files (`OSError`), memory (`MemoryError`), devices, and solves
//! that found no solution.

use std::fmt::Display;
use std::io;

use lanefield::backend::BackendError;
use lanefield::backend::opencl::OpenClError;
use lanefield::io::nersc::NerscError;
use lanefield::io::npy::NpyError;
use lanefield::observable::{CorrelatorError, PropagatorError};
use lanefield::reference::field::FieldError;
use lanefield::solver::SolveError;
use numpy::PyArray1;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    lanefield,
    NotConverged,
    PyRuntimeError,
    "A solve found no solution. `history` is the array of |r|² until then, `iterations` their number."
);
pyo3::create_exception!(
    lanefield,
    DeviceError,
    PyRuntimeError,
    "A device, or its driver, could not do what it was asked."
);

/// What was given is wrong.
pub fn value(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A file that could not be opened.
fn unopened(kind: io::ErrorKind, message: String) -> PyErr {
    match kind {
        io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}

pub fn field(error: FieldError) -> PyErr {
    match error {
        FieldError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        error => value(error),
    }
}

pub fn backend(error: BackendError) -> PyErr {
    match error {
        BackendError::Field(error) => field(error),
        BackendError::Device(_) | BackendError::Threads { .. } => DeviceError::new_err(error.to_string()),
        error => value(error),
    }
}

pub fn opencl(error: OpenClError) -> PyErr {
    DeviceError::new_err(error.to_string())
}

/// `path` is told where the error does not.
pub fn nersc(path: &std::path::Path, error: NerscError) -> PyErr {
    match error {
        NerscError::Open { ref source, .. } => unopened(source.kind(), error.to_string()),
        NerscError::NotAFile { .. } | NerscError::Read(_) | NerscError::Write(_) => {
            PyOSError::new_err(error.to_string())
        }
        error => value(format!("{}: {error}", path.display())),
    }
}

/// The same.
pub fn npy(path: &std::path::Path, error: NpyError) -> PyErr {
    match error {
        NpyError::Open { ref source, .. } => unopened(source.kind(), error.to_string()),
        NpyError::NotAFile { .. } | NpyError::Read(_) | NpyError::Write(_) => PyOSError::new_err(error.to_string()),
        error => value(format!("{}: {error}", path.display())),
    }
}

pub fn solve(py: Python<'_>, error: SolveError) -> PyErr {
    if let Some(history) = error.history() {
        return not_converged(py, error.to_string(), history).unwrap_or_else(|error| error);
    }
    match error {
        SolveError::Backend(error) => backend(error),
        SolveError::Changed { .. } => PyRuntimeError::new_err(error.to_string()),
        error => value(error),
    }
}

fn not_converged(py: Python<'_>, message: String, history: &[f64]) -> PyResult<PyErr> {
    let error = NotConverged::new_err(message);
    let exception = error.value(py);
    exception.setattr("iterations", history.len().saturating_sub(1))?;
    exception.setattr("history", PyArray1::from_slice(py, history))?;
    Ok(error)
}

pub fn propagator(py: Python<'_>, error: PropagatorError) -> PyErr {
    match error {
        PropagatorError::Solve(error) => solve(py, *error),
        PropagatorError::Backend(error) => backend(error),
        error => value(error),
    }
}

pub fn correlator(error: CorrelatorError) -> PyErr {
    match error {
        CorrelatorError::Backend(error) => backend(error),
        error => value(error),
    }
}
