//! Solves of M ψ = η on arrays.

use std::borrow::Cow;

use lanefield::dynamic::AnyBackend;
use lanefield::observable::Quark as _;
use lanefield::operator::AnyModel;
use lanefield::reference::ensure;
use lanefield::reference::field::{FieldError, list_of};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::real::Precision;
use lanefield::solver::{Method, Preconditioning, Solve, SolveError, SolveReport, SolverParams, solve_from};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arguments::{self, mistyped};
use super::arrays::{Given, Number};
use super::convention::{self, Convention};
use super::errors::{self, value};
use super::fields::{Axes, Physical};
use super::operator::{self, Operator};
use super::result::SolveResult;
use super::running::{self, Courier, Progress};

/// The keywords of a solve.
pub struct How<'py> {
    pub method: Method,
    pub tolerance: Option<f64>,
    pub max_iterations: Option<usize>,
    pub even_odd: bool,
    pub progress: Option<Progress<'py>>,
}

impl<'py> How<'py> {
    pub fn new(
        solver: &str,
        tolerance: Option<f64>,
        max_iterations: Option<usize>,
        even_odd: bool,
        progress: Option<Bound<'py, PyAny>>,
        every: usize,
    ) -> PyResult<Self> {
        let method: Method = solver.parse().map_err(value)?;
        if let Some(tolerance) = tolerance.filter(|tolerance| !(1e-100..1.0).contains(tolerance)) {
            return Err(value(format!(
                "tolerance is {tolerance:?}: expected a number from 1e-100 to below 1, such as 1e-10"
            )));
        }
        for (name, number) in [("max_iterations", max_iterations), ("every", Some(every))] {
            ensure!(number != Some(0), value(format!("{name} is 0: expected a whole number of iterations from 1")));
        }
        if let Some(progress) = progress.as_ref().filter(|progress| !progress.is_callable()) {
            return Err(mistyped("progress", progress, "a function of the iteration and |r| / |b|"));
        }
        let progress = progress.map(|call| Progress { call, every });
        Ok(Self { method, tolerance, max_iterations, even_odd, progress })
    }

    /// The precision of the solve: the requested one, else f64 for the mixed solvers, else that of the source.
    pub fn precision(&self, given: Option<&str>, of_source: Precision) -> PyResult<Precision> {
        let is_mixed = self.method.is_mixed();
        match given {
            None if is_mixed => Ok(Precision::F64),
            None => Ok(of_source),
            Some("f32") if is_mixed => {
                Err(value("the mixed solvers compute solutions in f64: leave out precision=\"f32\""))
            }
            Some("f32") => Ok(Precision::F32),
            Some(_) => Ok(Precision::F64),
        }
    }

    /// The solve of an operator.
    pub fn solve<R: Vectors>(&self, operator: &Operator) -> PyResult<Solve<AnyModel>> {
        operator.check::<R>(self.even_odd)?;
        let auto = SolverParams::auto::<R>();
        let solve = Solve {
            operator: operator.model(),
            preconditioning: if self.even_odd { Preconditioning::EvenOdd } else { Preconditioning::None },
            method: self.method,
            params: SolverParams {
                tolerance: self.tolerance.unwrap_or(auto.tolerance),
                max_iterations: self.max_iterations.unwrap_or(auto.max_iterations),
                ..auto
            },
            lanes: operator.device().lanes(),
        };
        let hint = if self.even_odd { " (even_odd=False needs no parities)" } else { "" };
        let laid_out = solve.lattice::<R>(operator.configuration().get());
        laid_out.map_err(|error| value(format!("{error}{hint}")))?;
        Ok(solve)
    }
}

/// The solver and the tolerance, also if they were given under their deprecated names.
pub fn by_name(
    py: Python<'_>,
    (solver, tolerance): (&'static str, Option<f64>),
    (method, tol): (Option<&'static str>, Option<f64>),
) -> PyResult<(&'static str, Option<f64>)> {
    // The default cannot be told from the same solver by its name.
    let given = Some(solver).filter(|solver| *solver != "cg");
    let solver = arguments::renamed(py, ("solver", given), ("method", method))?.unwrap_or(solver);
    Ok((solver, arguments::renamed(py, ("tolerance", tolerance), ("tol", tol))?))
}

/// Solves M ψ = η from the guess 0. Meanwhile other Python threads run. Ctrl-C ends the solve after the current iteration, with
/// KeyboardInterrupt.
///
/// source: η, a field that the operator acts on, or several along one more axis before all others, which "cg" and "block-cg" solve
///     together. It may be read until the solve ends, and must not be written to.
/// physical: for domain wall fermions, whether the source consists of spinors (T, Z, Y, X, 4, 3). They are put onto the walls, and
///     the solutions are read from there. By default, one such spinor is physical. (Ls, T, Z, Y, X, 4, 3) is always one source in
///     five dimensions: several physical sources need True.
/// solver: "cg", conjugate gradients, on the normal equations unless the operator is positive definite; "block-cg", conjugate
///     gradients for all sources in one block; "bicgstab"; "mixed-f32" and "mixed-half", conjugate gradients in f64 with a recurrence
///     in f32 or half precision.
/// tolerance: stop when |r| ≤ tolerance · |b|; by default 1e-10 in f64 and 1e-6 in f32.
/// max_iterations: 10000 by default.
/// precision: "f64" or "f32". By default f64 for the mixed solvers, else the precision of the source.
/// even_odd: solve the even-odd Schur complement. If False, solve M on all sites.
/// progress: a function that is called with the iteration and |r| / |b|, before the solve continues. An exception that it raises ends
///     the solve.
/// every: call `progress` after each `every` iterations.
///
/// Raises NotConverged.
#[pyfunction]
#[pyo3(
    signature = (
        operator, source, *, physical=None, solver="cg", tolerance=None, max_iterations=None, precision=None, even_odd=true,
        progress=None, every=10, convention="lanefield", method=None, tol=None
    ),
    text_signature = "(operator, source, *, physical=None, solver='cg', tolerance=None, max_iterations=None, precision=None, even_odd=True, \
                      progress=None, every=10, convention='lanefield')"
)]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn solve<'py>(
    #[pyo3(from_py_with = operator::operator)] operator: Py<Operator>,
    source: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::physical)] physical: Option<bool>,
    #[pyo3(from_py_with = arguments::solver)] solver: &'static str,
    #[pyo3(from_py_with = arguments::tolerance)] tolerance: Option<f64>,
    #[pyo3(from_py_with = arguments::max_iterations)] max_iterations: Option<usize>,
    #[pyo3(from_py_with = arguments::precision)] precision: Option<&'static str>,
    #[pyo3(from_py_with = arguments::even_odd)] even_odd: bool,
    progress: Option<Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::every)] every: usize,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
    #[pyo3(from_py_with = arguments::method)] method: Option<&'static str>,
    #[pyo3(from_py_with = arguments::tol)] tol: Option<f64>,
) -> PyResult<SolveResult> {
    let operator = operator.bind(source.py());
    let (solver, tolerance) = by_name(source.py(), (solver, tolerance), (method, tol))?;
    let how = How::new(solver, tolerance, max_iterations, even_odd, progress, every)?;
    let given = Given::new("source", source)?;
    let physical = match physical {
        None => Physical::SingleRank,
        Some(true) => Physical::Yes,
        Some(false) => Physical::No,
    };
    let extents = operator.get().configuration().get().extents();
    let read_as = (Convention::of(convention), physical);
    let axes = Axes::new(("source", given.shape()), &operator.get().model(), extents, read_as)?;
    given.require_finite(source.py(), "source")?;
    match how.precision(precision, given.precision())? {
        Precision::F32 => in_precision::<f32>(operator, &given, &axes, &how),
        _ => in_precision::<f64>(operator, &given, &axes, &how),
    }
}

fn in_precision<R: Number>(
    operator: &Bound<'_, Operator>,
    given: &Given<'_>,
    axes: &Axes,
    how: &How<'_>,
) -> PyResult<SolveResult> {
    let (py, operator) = (operator.py(), operator.get());
    let solve = how.solve::<R>(operator)?;
    let (solution, report) = match given {
        Given::F64(array) => {
            let values = array.as_slice().map_err(value)?;
            let is_finite = |x: f64| R::from_f64(x).to_f64().is_finite();
            if let Some(number) = values.iter().find(|z| !(is_finite(z.re) && is_finite(z.im))) {
                return Err(value(format!(
                    "source holds {number}, which is beyond {}: use precision=\"f64\"",
                    R::NAME
                )));
            }
            solved::<R>(py, operator, axes, || axes.in_site_order(values), solve, how)
        }
        Given::F32(array) => {
            let values = array.as_slice().map_err(value)?;
            solved::<R>(py, operator, axes, || axes.copied(values).map(Cow::Owned), solve, how)
        }
    }?;
    SolveResult::new(py, axes.array(py, solution)?.unbind(), &[report])
}

/// Solves for the source that `source` returns. Both it and the solution are in site order; the report does not contain the solution.
fn solved<'a, R: Number>(
    py: Python<'_>,
    operator: &Operator,
    axes: &Axes,
    source: impl FnOnce() -> Result<Cow<'a, [Complex<f64>]>, FieldError> + Send,
    solve: Solve<AnyModel>,
    how: &How<'_>,
) -> PyResult<Solved<R>> {
    let (configuration, device) = (operator.configuration().get(), operator.device().backend().as_ref());
    let solved = running::run(py, how.progress.as_ref(), |courier| {
        device.install(|| {
            let eta = source()?;
            if axes.is_physical {
                let eta = match eta {
                    Cow::Owned(eta) => eta,
                    Cow::Borrowed(eta) => list_of(|| "a source".to_owned(), eta.len(), eta.iter().copied())?,
                };
                return of_physical::<R>(device, configuration, eta, &solve, courier);
            }
            let mut report = solve_from(device, configuration, &eta, &solve, courier, None)?;
            report.require_intact()?;
            Ok((std::mem::take(&mut report.solution), report))
        })
    })?;
    solved.map_err(|error: SolveError| errors::solve(py, error))
}

/// Solutions in site order, and the report without its solutions.
type Solved<R> = (Vec<Complex<R>>, SolveReport<R>);

/// Physical solutions of physical sources, both in site order.
pub fn of_physical<R: Number>(
    backend: &AnyBackend,
    configuration: &Configuration,
    eta: Vec<Complex<f64>>,
    solve: &Solve<AnyModel>,
    courier: &mut Courier<'_>,
) -> Result<Solved<R>, SolveError> {
    let eta = solve.operator.import_sources(backend, configuration, eta)?;
    let mut report = solve_from::<R, _, _>(backend, configuration, &eta, solve, courier, None)?;
    report.require_intact()?;
    let solution = solve.operator.export_solutions(report.lattice, std::mem::take(&mut report.solution))?;
    Ok((solution, report))
}
