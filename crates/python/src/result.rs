//! What a solve gives.

use std::fmt::Write as _;

use lanefield::solver::{SolveReport, SolvedRhs};
use numpy::PyArray1;
use pyo3::prelude::*;
use sha2::{Digest as _, Sha256};

/// One right-hand side of a solve.
#[pyclass(frozen, module = "lanefield")]
pub struct RightHandSide(SolvedRhs);

#[pymethods]
impl RightHandSide {
    /// Iterations of the recurrence.
    #[getter]
    fn iterations(&self) -> usize {
        self.0.info.iterations
    }

    /// |r|² of the recurrence, of the guess and after each iteration, float64 (iterations + 1): the same bits on every device.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.info.history)
    }

    /// SHA-256 of the file that `lanefield solve --history` writes of it, 64 hex digits.
    #[getter]
    fn history_sha256(&self) -> String {
        let mut csv = "iteration,residual,residual_bits\n".to_owned();
        for (iteration, c) in self.0.info.history.iter().enumerate() {
            // To a string it cannot fail.
            let _ = writeln!(csv, "{iteration},{c:e},{:016x}", c.to_bits());
        }
        hex::encode(Sha256::digest(csv))
    }

    /// |b − Aψ| / |b| of the system that was solved, computed anew in f64; NaN where it could not be computed.
    #[getter]
    fn true_residual(&self) -> f64 {
        self.0.true_residual
    }

    /// |η − Mψ| / |η| on all sites, in f64; NaN where it could not be computed.
    #[getter]
    fn solution_residual(&self) -> f64 {
        self.0.solution_residual
    }

    fn __repr__(&self) -> String {
        format!(
            "<lanefield.RightHandSide {} iterations, true residual {:.3e}>",
            self.iterations(),
            self.0.true_residual
        )
    }
}

/// Solutions, and what they took. Of several right-hand sides the numbers are those of the one that took longest.
#[pyclass(frozen, module = "lanefield")]
pub struct SolveResult {
    /// The solution, an array of the shape of the source.
    #[pyo3(get)]
    solution: Py<PyAny>,
    /// Each right-hand side.
    #[pyo3(get)]
    rhs: Vec<Py<RightHandSide>>,
    /// Wall time of the recurrence, in seconds, without that of building kernels.
    #[pyo3(get)]
    seconds: f64,
    /// Wall time of building kernels, in seconds.
    #[pyo3(get)]
    building_seconds: f64,
    /// The power of two that the source was multiplied by for the solve, and every |r|² twice; 0 unless its numbers are very small or large.
    #[pyo3(get)]
    source_scale: i32,
    /// Why the true residuals could not be computed, if they could not.
    #[pyo3(get)]
    unchecked: Option<String>,
}

impl SolveResult {
    /// With the solution as an array.
    pub fn new<R>(py: Python<'_>, solution: Py<PyAny>, report: &SolveReport<R>) -> PyResult<Self> {
        let rhs = report.rhs.iter().map(|rhs| Py::new(py, RightHandSide(rhs.clone())));
        Ok(Self {
            solution,
            rhs: rhs.collect::<PyResult<_>>()?,
            seconds: report.seconds,
            building_seconds: report.building,
            source_scale: report.scale,
            unchecked: report.unchecked.clone(),
        })
    }

    /// The right-hand side that took longest; the first among equals.
    fn longest(&self) -> Option<&RightHandSide> {
        self.rhs.iter().rev().map(Py::get).max_by_key(|rhs| rhs.iterations())
    }
}

#[pymethods]
impl SolveResult {
    /// Iterations of the recurrence.
    #[getter]
    fn iterations(&self) -> usize {
        self.longest().map_or(0, RightHandSide::iterations)
    }

    /// |r|² of the recurrence, of the guess and after each iteration, float64 (iterations + 1): the same bits on every device.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.longest().map(|rhs| rhs.history(py))
    }

    /// SHA-256 of the file that `lanefield solve --history` writes of it, 64 hex digits.
    #[getter]
    fn history_sha256(&self) -> Option<String> {
        self.longest().map(RightHandSide::history_sha256)
    }

    /// The largest |b − Aψ| / |b| of the systems that were solved, computed anew in f64; NaN where it could not be computed.
    #[getter]
    fn true_residual(&self) -> f64 {
        self.largest(|rhs| rhs.0.true_residual)
    }

    /// The largest |η − Mψ| / |η| on all sites, in f64; NaN where it could not be computed.
    #[getter]
    fn solution_residual(&self) -> f64 {
        self.largest(|rhs| rhs.0.solution_residual)
    }

    /// Whether the true residuals were computed, and are as small as was asked for. A solve that does not converge raises `NotConverged`.
    #[getter]
    fn converged(&self) -> bool {
        self.unchecked.is_none()
    }

    fn __repr__(&self) -> String {
        let (count, iterations, residual) = (self.rhs.len(), self.iterations(), self.true_residual());
        let sides = if count == 1 { String::new() } else { format!("{count} right-hand sides, ") };
        format!(
            "<lanefield.SolveResult {sides}{iterations} iterations, true residual {residual:.3e}, {:.3} s>",
            self.seconds
        )
    }
}

impl SolveResult {
    /// NaN where one is.
    fn largest(&self, of: impl Fn(&RightHandSide) -> f64) -> f64 {
        let numbers = self.rhs.iter().map(|rhs| of(rhs.get()));
        numbers.fold(
            0.0,
            |largest: f64, number| if number.is_nan() || largest.is_nan() { f64::NAN } else { largest.max(number) },
        )
    }
}
