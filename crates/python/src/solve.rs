//! Solves M ψ = η of arrays.

use lanefield::backend::Backend;
use lanefield::observable::Quark as _;
use lanefield::operator::{AnyModel, Model, ModelTask};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::real::Precision;
use lanefield::solver::{Method, Preconditioning, Solve, SolveError, SolveReport, SolverParams, solve_from};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arrays::{Given, Number};
use super::convention::Convention;
use super::device::on_backend;
use super::errors::{self, value};
use super::fields::{Axes, axes_of_site};
use super::operator::Operator;
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
            "cg" => Method::ConjugateGradients,
            "bicgstab" => Method::BiCgStab,
            "mixed" | "mixed-f32" => Method::MixedF32,
            "mixed-half" => Method::MixedHalf,
            _ => {
                let expected = "expected cg, bicgstab, mixed (or mixed-f32) or mixed-half";
                return Err(value(format!("unknown method '{method}': {expected}")));
            }
        };
        if let Some(tol) = tol.filter(|tol| !(1e-100..1.0).contains(tol)) {
            return Err(value(format!("invalid tol {tol:e}: expected a number from 1e-100 to below 1, as 1e-10")));
        }
        if max_iterations == Some(0) {
            return Err(value("invalid max_iterations 0: expected a whole number from 1"));
        }
        if every == 0 {
            return Err(value("invalid every 0: expected a whole number of iterations from 1"));
        }
        Ok(Self { method, tol, max_iterations, even_odd, progress: progress.map(|call| Progress { call, every }) })
    }

    /// The precision of the solve: the one given, else that of mixed methods, else that of the source.
    pub fn precision(&self, given: Option<&str>, of_source: Precision) -> PyResult<Precision> {
        let is_mixed = matches!(self.method, Method::MixedF32 | Method::MixedHalf);
        match given {
            None if is_mixed => Ok(Precision::F64),
            None => Ok(of_source),
            Some("f32") if is_mixed => {
                Err(value("mixed methods compute solutions in f64: leave precision=\"f32\" out"))
            }
            Some("f32") => Ok(Precision::F32),
            Some("f64") => Ok(Precision::F64),
            Some(other) => Err(value(format!("invalid precision '{other}': expected f32 or f64"))),
        }
    }

    /// The solve of an operator.
    pub fn solve<R: Vectors, M>(&self, operator: &Operator, model: M) -> PyResult<Solve<M>> {
        operator.check::<R>(self.even_odd)?;
        let auto = SolverParams::auto::<R>();
        let solve = Solve {
            operator: model,
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

/// Solves M ψ = η.
#[pyfunction]
#[pyo3(signature = (
    operator, source, *, method="cg", tol=None, max_iterations=None, precision=None, even_odd=true, progress=None, every=10,
    convention="lanefield"
))]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn solve<'py>(
    operator: &Bound<'py, Operator>,
    source: &Bound<'py, PyAny>,
    method: &str,
    tol: Option<f64>,
    max_iterations: Option<usize>,
    precision: Option<&str>,
    even_odd: bool,
    progress: Option<Bound<'py, PyAny>>,
    every: usize,
    convention: &str,
) -> PyResult<SolveResult> {
    let how = How::new(method, tol, max_iterations, even_odd, progress, every)?;
    let convention: Convention = convention.parse()?;
    let (extents, of_site) = (operator.get().configuration().get().extents(), axes_of_site(&operator.get().model()));
    let given = Given::new("source", &convention.to_ours(("source", source), extents, of_site)?)?;
    given.require_finite("source")?;
    match how.precision(precision, given.precision())? {
        Precision::F32 => in_precision::<f32>(operator, &given, &how, convention),
        _ => in_precision::<f64>(operator, &given, &how, convention),
    }
}

fn in_precision<R: Number>(
    operator: &Bound<'_, Operator>,
    given: &Given<'_>,
    how: &How<'_>,
    convention: Convention,
) -> PyResult<SolveResult> {
    let (py, operator) = (operator.py(), operator.get());
    let model = operator.model();
    let extents = operator.configuration().get().extents();
    let axes = Axes::new(given.shape(), &model, extents, true)?;
    let solve = how.solve::<R, _>(operator, model)?;
    let report = match given {
        Given::F64(array) => solved::<R>(py, operator, &axes, array.as_slice().map_err(value)?, solve, how),
        Given::F32(_) => solved::<R>(py, operator, &axes, &given.to_f64()?, solve, how),
    }?;
    let (solution, report) = report;
    let solution = convention.to_theirs(R::array(py, solution, axes.shape())?, extents, axes_of_site(&model))?;
    SolveResult::new(py, solution.unbind(), &report)
}

/// The solution in the order of the array, and the report without it.
fn solved<R: Number>(
    py: Python<'_>,
    operator: &Operator,
    axes: &Axes,
    source: &[Complex<f64>],
    solve: Solve<AnyModel>,
    how: &How<'_>,
) -> PyResult<(Vec<Complex<R>>, SolveReport<R>)> {
    let is_finite = |x: f64| R::from_f64(x).to_f64().is_finite();
    if let Some(number) = source.iter().find(|z| !(is_finite(z.re) && is_finite(z.im))) {
        return Err(value(format!("the source holds {number:e}, which is beyond {}: use precision=\"f64\"", R::NAME)));
    }
    let (configuration, device) = (operator.configuration().get(), operator.device().backend().as_ref());
    let solved = running::run(py, how.progress.as_ref(), |courier| {
        let source = axes.in_site_order(source);
        on_backend!(device, backend => {
            // The walls that a physical source is put onto, and its solution taken from.
            match solve.operator {
                AnyModel::DomainWall(walls) if axes.is_physical => {
                    let eta = walls.import_sources(backend, configuration, source.into_owned())?;
                    let task = Task { backend, configuration, eta: &eta, solve, courier, of: std::marker::PhantomData::<R> };
                    let mut report = solve.operator.run(task)?;
                    report.require_intact()?;
                    let solution = walls.export_solutions(report.lattice, std::mem::take(&mut report.solution))?;
                    Ok((solution, report))
                }
                model => {
                    let task = Task { backend, configuration, eta: &source, solve, courier, of: std::marker::PhantomData::<R> };
                    let mut report = model.run(task)?;
                    report.require_intact()?;
                    let solution = axes.in_array_order(std::mem::take(&mut report.solution));
                    Ok((solution, report))
                }
            }
        })
    })?;
    solved.map_err(|error: SolveError| errors::solve(py, error))
}

/// A solve, on any backend.
struct Task<'a, 'c, B, R> {
    backend: &'a B,
    configuration: &'a Configuration,
    eta: &'a [Complex<f64>],
    solve: Solve<AnyModel>,
    courier: &'a mut Courier<'c>,
    of: std::marker::PhantomData<R>,
}

impl<B: Backend, R: Number> ModelTask for Task<'_, '_, B, R> {
    type Output = Result<SolveReport<R>, SolveError>;

    fn run<M: Model>(self, operator: M) -> Self::Output {
        let Solve { preconditioning, method, params, lanes, .. } = self.solve;
        let solve = Solve { operator, preconditioning, method, params, lanes };
        solve_from(self.backend, self.configuration, self.eta, &solve, self.courier, None)
    }
}
