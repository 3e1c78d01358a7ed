//! Solves M ψ = η of arrays.

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

/// How to solve, as keywords say it.
pub struct How<'py> {
    pub method: Method,
    pub tol: Option<f64>,
    pub max_iterations: Option<usize>,
    pub even_odd: bool,
    pub progress: Option<Progress<'py>>,
}

impl<'py> How<'py> {
    pub fn new(
        method: &str,
        tol: Option<f64>,
        max_iterations: Option<usize>,
        even_odd: bool,
        progress: Option<Bound<'py, PyAny>>,
        every: usize,
    ) -> PyResult<Self> {
        let method = match method {
            "mixed" => Method::MixedF32,
            name => name.parse().map_err(value)?,
        };
        if let Some(tol) = tol.filter(|tol| !(1e-100..1.0).contains(tol)) {
            return Err(value(format!("tol is {tol:?}: expected a number from 1e-100 to below 1, as 1e-10")));
        }
        for (name, number) in [("max_iterations", max_iterations), ("every", Some(every))] {
            ensure!(number != Some(0), value(format!("{name} is 0: expected a whole number of iterations from 1")));
        }
        if let Some(progress) = progress.as_ref().filter(|progress| !progress.is_callable()) {
            return Err(mistyped("progress", progress, "a function of the iteration and |r| / |b|"));
        }
        Ok(Self { method, tol, max_iterations, even_odd, progress: progress.map(|call| Progress { call, every }) })
    }

    /// The precision of the solve: the one given, else that of mixed methods, else that of the source.
    pub fn precision(&self, given: Option<&str>, of_source: Precision) -> PyResult<Precision> {
        let is_mixed = self.method.is_mixed();
        match given {
            None if is_mixed => Ok(Precision::F64),
            None => Ok(of_source),
            Some("f32") if is_mixed => {
                Err(value("mixed methods compute solutions in f64: leave precision=\"f32\" out"))
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
                tolerance: self.tol.unwrap_or(auto.tolerance),
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

/// Solves M ψ = η from the guess 0. Other threads of Python run meanwhile, and Ctrl-C ends the solve after the iteration at hand with KeyboardInterrupt.
///
/// source: η, of what the operator acts on. With one more axis before all others, several, which "cg" solves together. It may be read until the end, and
///     must not be written to.
/// physical: for domain wall fermions, whether the source is of spinors (T, Z, Y, X, 4, 3), which go onto the walls, as the solutions are taken from there.
///     Where not given, one such spinor does; (Ls, T, Z, Y, X, 4, 3) is one source in five dimensions, never Ls physical ones: those need True.
/// method: cg, conjugate gradients, on the normal equations unless the operator is positive definite; block-cg, the same of all sources in one block; bicgstab; mixed (mixed-f32) and mixed-half, conjugate
///     gradients in f64 with a recurrence in f32 or half precision.
/// tol: stop when |r| ≤ tol · |b|; 1e-10 in f64 and 1e-6 in f32 where not given.
/// max_iterations: 10000 where not given.
/// precision: that of mixed methods, f64, else that of the source, where not given.
/// even_odd: solve the even-odd Schur complement, not M on all sites.
/// progress: called with the iteration and |r| / |b| after each `every` iterations, before the solve goes on. What it raises ends the solve.
///
/// Raises NotConverged.
#[pyfunction]
#[pyo3(signature = (
    operator, source, *, physical=None, method="cg", tol=None, max_iterations=None, precision=None, even_odd=true,
    progress=None, every=10, convention="lanefield"
))]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn solve<'py>(
    #[pyo3(from_py_with = operator::operator)] operator: Py<Operator>,
    source: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::physical)] physical: Option<bool>,
    #[pyo3(from_py_with = arguments::method)] method: &'static str,
    #[pyo3(from_py_with = arguments::tol)] tol: Option<f64>,
    #[pyo3(from_py_with = arguments::max_iterations)] max_iterations: Option<usize>,
    #[pyo3(from_py_with = arguments::precision)] precision: Option<&'static str>,
    #[pyo3(from_py_with = arguments::even_odd)] even_odd: bool,
    progress: Option<Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::every)] every: usize,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
) -> PyResult<SolveResult> {
    let operator = operator.bind(source.py());
    let how = How::new(method, tol, max_iterations, even_odd, progress, every)?;
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

/// The solution in site order, and the report without it. `source` makes that in site order.
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

/// Solutions in site order, and the report without them.
type Solved<R> = (Vec<Complex<R>>, SolveReport<R>);

/// Physical solutions of physical sources, which are in site order.
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
