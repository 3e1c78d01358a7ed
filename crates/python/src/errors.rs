//! Errors of the library as exceptions of Python: wrong arguments (`ValueError`), files (`OSError`), memory (`MemoryError`), devices
//! (`DeviceError`), and solves without a solution (`NotConverged`).

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::Path;

use lanefield::backend::BackendError;
use lanefield::backend::opencl::OpenClError;
use lanefield::io::atomic::WriteError;
use lanefield::io::configuration::ConfigurationError;
use lanefield::io::hdf5::Hdf5Error;
use lanefield::io::npy::NpyError;
use lanefield::io::open::OpenError;
use lanefield::observable::{CorrelatorError, PropagatorError};
use lanefield::reference::field::FieldError;
use lanefield::solver::{SolveError, SolverError};
use numpy::PyArray1;
use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyMemoryError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

pyo3::create_exception!(
    lanefield,
    NotConverged,
    PyRuntimeError,
    "A solve found no solution. `history` has |r|² of the recurrence, and `iterations` the number of iterations. The iterate is not kept."
);
pyo3::create_exception!(
    lanefield,
    DeviceError,
    PyRuntimeError,
    "A device or its driver could not do what was requested."
);

/// The error for a wrong argument.
pub fn value(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An error of the operating system, as the subclass of `OSError` for its kind.
fn refused(kind: io::ErrorKind, message: String) -> PyErr {
    match kind {
        io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
        io::ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
        io::ErrorKind::IsADirectory => PyIsADirectoryError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}

/// The error for a file that could not be opened.
pub fn unopened(error: &OpenError) -> PyErr {
    let kind = match error {
        OpenError::System { source, .. } | OpenError::Spool { source, .. } => source.kind(),
        _ => io::ErrorKind::Other,
    };
    refused(kind, error.to_string())
}

/// The error for a file that could not be written.
pub fn unwritten(error: &WriteError) -> PyErr {
    let kind = match error {
        WriteError::NoDirectory { .. } => io::ErrorKind::NotFound,
        WriteError::IsDirectory { .. } => io::ErrorKind::IsADirectory,
        WriteError::Create { source, .. } | WriteError::Write { source, .. } => source.kind(),
        _ => io::ErrorKind::Other,
    };
    refused(kind, error.to_string())
}

/// The error for missing memory, for `what`.
pub fn no_memory(what: impl Display) -> PyErr {
    PyMemoryError::new_err(format!("not enough memory for {what}"))
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

/// The error for an array that could not be read.
pub fn array(path: &Path, error: impl Into<Box<dyn Error>>) -> PyErr {
    let error = error.into();
    let opening = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(NpyError::Open(error)), _) | (_, Some(Hdf5Error::Open(error))) => Some(error),
        _ => None,
    };
    opening.map_or_else(|| value(format!("failed to read {}: {error}", path.display())), unopened)
}

pub fn configuration(error: ConfigurationError) -> PyErr {
    match error {
        ConfigurationError::Open(error) => unopened(&error),
        ConfigurationError::Write(error) => unwritten(&error),
        ConfigurationError::Name { .. } => value(format!("{error}, as in format=\"nersc\"")),
        error if error.to_string().contains("datasets of complex numbers are in the file") => {
            value(format!("{error}: read one with Configuration.from_array(read_array(path, dataset=NAME))"))
        }
        error => value(error),
    }
}

pub fn solve(py: Python<'_>, error: SolveError) -> PyErr {
    if let Some(history) = error.history() {
        return not_converged(py, error.to_string(), history).unwrap_or_else(|error| error);
    }
    match error {
        SolveError::Backend(error) | SolveError::Recurrence(SolverError::Backend(error)) => backend(error),
        // The solver reads the array in place.
        SolveError::Changed { what } if what.contains("source") => PyRuntimeError::new_err(
            "the source changed during the solve: the program wrote to its array, or memory lost bits; solve again without writing to it",
        ),
        SolveError::Changed { .. } => PyRuntimeError::new_err(error.to_string()),
        SolveError::NoBatch { method, rhs } => {
            let solver = method.name();
            value(format!(
                "solver '{solver}' accepts one right-hand side, not {rhs}: solve them one by one, or with 'cg'"
            ))
        }
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
