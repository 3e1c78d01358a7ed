//! Results of solves.

use std::fmt::Write as _;

use lanefield::solver::{SolveReport, SolvedRhs, SolverInfo};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use sha2::{Digest as _, Sha256};

use super::configuration::restorer;
use super::errors::value;

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

    /// |r|² of the recurrence, for the guess 0 and after each iteration: iterations + 1 numbers, with the same bits on every device.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.info.history)
    }

    /// The last |r|² of the history.
    #[getter]
    fn residual_squared(&self) -> Option<f64> {
        self.0.info.history.last().copied()
    }

    /// |r| / |b| of the recurrence at its end.
    #[getter]
    fn relative_residual(&self) -> f64 {
        self.0.info.relative_residual()
    }

    /// SHA-256, 64 hex digits, of the history as `lanefield solve --history` writes it.
    #[getter]
    fn history_sha256(&self) -> String {
        let mut csv = "iteration,residual,residual_bits\n".to_owned();
        for (iteration, c) in self.0.info.history.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(csv, "{iteration},{c:e},{:016x}", c.to_bits());
        }
        hex::encode(Sha256::digest(csv))
    }

    /// |b - Aψ| / |b| of the system that was solved, recomputed in f64; NaN if it could not be computed.
    #[getter]
    fn true_residual(&self) -> f64 {
        self.0.true_residual
    }

    /// |η - Mψ| / |η| on all sites, in f64; NaN if it could not be computed.
    #[getter]
    fn solution_residual(&self) -> f64 {
        self.0.solution_residual
    }

    /// For the solve the source was multiplied by 2 to this power, and so each |r|² by 4 to this power; 0 unless |b|² would underflow or
    /// overflow.
    #[getter]
    fn source_scale(&self) -> i32 {
        self.0.source_scale
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, RightHandSideState<'py>)> {
        let SolvedRhs { info, true_residual, solution_residual, source_scale } = &self.0;
        let of = (*true_residual, *solution_residual, *source_scale);
        let state = (info.iterations, self.history(py), info.source_norm2, of.0, of.1, of.2);
        Ok((restorer(py, "_right_hand_side")?, state))
    }

    fn __repr__(&self) -> String {
        format!(
            "<lanefield.RightHandSide {} iterations, true residual {:.3e}>",
            self.iterations(),
            self.0.true_residual
        )
    }
}

/// Solutions, and what they took. If there are several right-hand sides, `iterations` and `history` are those of the one that took
/// longest, and residuals are the largest. Results can be pickled.
#[pyclass(frozen, module = "lanefield")]
pub struct SolveResult {
    /// The solution, with the shape of the source; for a propagator (T, Z, Y, X, 4, 4, 3, 3).
    #[pyo3(get)]
    solution: Py<PyAny>,
    /// The right-hand sides; for a propagator, number 3·spin + colour is that of this spin and colour of the source.
    #[pyo3(get)]
    rhs: Vec<Py<RightHandSide>>,
    /// Wall time of the recurrence in seconds, without that of building kernels.
    #[pyo3(get)]
    seconds: f64,
    /// Wall time of building kernels, in seconds.
    #[pyo3(get)]
    building_seconds: f64,
    /// Why the true residuals could not be computed, if they could not.
    #[pyo3(get)]
    unchecked: Option<String>,
    /// For a propagator, its estimated relative error on each time slice from the source on, the largest of all right-hand sides.
    /// Otherwise empty.
    #[pyo3(get)]
    relative_errors: Vec<f64>,
}

impl SolveResult {
    /// A result with the solution as an array. `reports` are those of one solve, or of several that ran one after the other.
    pub fn new<R>(py: Python<'_>, solution: Py<PyAny>, reports: &[SolveReport<R>]) -> PyResult<Self> {
        let rhs = reports.iter().flat_map(|report| &report.rhs).map(|rhs| Py::new(py, RightHandSide(rhs.clone())));
        Ok(Self {
            solution,
            rhs: rhs.collect::<PyResult<_>>()?,
            seconds: reports.iter().map(|report| report.seconds).sum(),
            building_seconds: reports.iter().map(|report| report.building).sum(),
            unchecked: reports.iter().find_map(|report| report.unchecked.clone()),
            relative_errors: largest(reports.iter().map(|report| &report.relative_errors)),
        })
    }

    /// The right-hand side with the most iterations; the first of them if there are several.
    fn longest(&self) -> Option<&RightHandSide> {
        self.rhs.iter().rev().map(Py::get).max_by_key(|rhs| rhs.iterations())
    }
}

#[pymethods]
impl SolveResult {
    /// Iterations of the right-hand side that took longest.
    #[getter]
    fn iterations(&self) -> usize {
        self.longest().map_or(0, RightHandSide::iterations)
    }

    /// |r|² of the right-hand side that took longest, for the guess 0 and after each iteration: iterations + 1 numbers, with the same
    /// bits on every device.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.longest().map(|rhs| rhs.history(py))
    }

    /// The last |r|² of `history`.
    #[getter]
    fn residual_squared(&self) -> Option<f64> {
        self.longest().and_then(RightHandSide::residual_squared)
    }

    /// The largest |r| / |b| of the recurrences at their end.
    #[getter]
    fn relative_residual(&self) -> f64 {
        self.largest(RightHandSide::relative_residual)
    }

    /// SHA-256, 64 hex digits, of `history` as `lanefield solve --history` writes it.
    #[getter]
    fn history_sha256(&self) -> Option<String> {
        self.longest().map(RightHandSide::history_sha256)
    }

    /// For the solve the source of `history` was multiplied by 2 to this power, and so each |r|² by 4 to this power; 0 unless |b|² would
    /// underflow or overflow.
    #[getter]
    fn source_scale(&self) -> i32 {
        self.longest().map_or(0, RightHandSide::source_scale)
    }

    /// The largest |b - Aψ| / |b| of the systems that were solved, recomputed in f64; NaN if one could not be computed.
    #[getter]
    fn true_residual(&self) -> f64 {
        self.largest(|rhs| rhs.0.true_residual)
    }

    /// The largest |η - Mψ| / |η| on all sites, in f64; NaN if one could not be computed.
    #[getter]
    fn solution_residual(&self) -> f64 {
        self.largest(|rhs| rhs.0.solution_residual)
    }

    /// Whether the true residuals could be computed. They are then at most ten times `tolerance`, and the residual of the recurrence is
    /// at most `tolerance`: a solve that does not reach these raises NotConverged. If you need more, check `true_residual`.
    #[getter]
    fn converged(&self) -> bool {
        self.unchecked.is_none()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, SolveResultState)> {
        let (py, of) = (slf.py(), slf.get());
        let rhs = of.rhs.iter().map(|rhs| rhs.clone_ref(py)).collect();
        let told = (of.seconds, of.building_seconds, of.unchecked.clone(), of.relative_errors.clone());
        Ok((restorer(py, "_solve_result")?, (of.solution.clone_ref(py), rhs, told)))
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
    /// The largest of a number over all right-hand sides; NaN if one is NaN.
    fn largest(&self, of: impl Fn(&RightHandSide) -> f64) -> f64 {
        let numbers = self.rhs.iter().map(|rhs| of(rhs.get()));
        numbers.fold(
            0.0,
            |largest: f64, number| if number.is_nan() || largest.is_nan() { f64::NAN } else { largest.max(number) },
        )
    }
}

/// The pickled state of a right-hand side: iterations, history, |b|², both residuals and the scale.
type RightHandSideState<'py> = (usize, Bound<'py, PyArray1<f64>>, f64, f64, f64, i32);
/// The pickled state of a result: the solution, the right-hand sides, and the rest.
type SolveResultState = (Py<PyAny>, Vec<Py<RightHandSide>>, Told);
/// Both times, why the residuals could not be computed, and the relative errors of time slices.
type Told = (f64, f64, Option<String>, Vec<f64>);

/// The largest number at each time.
fn largest<'a>(all: impl Iterator<Item = &'a Vec<f64>>) -> Vec<f64> {
    all.cloned()
        .reduce(|one, other| one.iter().zip(&other).map(|(one, other)| one.max(*other)).collect())
        .unwrap_or_default()
}

/// Restores a pickled right-hand side.
#[pyfunction(name = "_right_hand_side")]
pub fn restored_rhs(
    iterations: usize,
    history: PyReadonlyArray1<'_, f64>,
    source_norm2: f64,
    true_residual: f64,
    solution_residual: f64,
    source_scale: i32,
) -> PyResult<RightHandSide> {
    let history = history.as_slice().map_err(value)?.to_vec();
    let info = SolverInfo { iterations, history, source_norm2 };
    Ok(RightHandSide(SolvedRhs { info, true_residual, solution_residual, source_scale }))
}

/// Restores a pickled result.
#[pyfunction(name = "_solve_result")]
pub fn restored_result(solution: Py<PyAny>, rhs: Vec<Py<RightHandSide>>, told: Told) -> SolveResult {
    let (seconds, building_seconds, unchecked, relative_errors) = told;
    SolveResult { solution, rhs, seconds, building_seconds, unchecked, relative_errors }
}
