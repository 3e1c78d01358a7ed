//! Propagators of quarks from a point.

use lanefield::backend::Backend;
use lanefield::io::npy::propagator_shape;
use lanefield::observable::{self, PropagatorError, Quark, require_inside};
use lanefield::operator::AnyModel;
use lanefield::reference::layout::Coordinate;
use lanefield::reference::real::Precision;
use lanefield::solver::{Method, Solve, SolveReport};
use pyo3::prelude::*;

use super::arrays::Number;
use super::convention::Convention;
use super::device::on_backend;
use super::errors::{self, value};
use super::operator::Operator;
use super::result::SolveResult;
use super::running::{self, Courier};
use super::solve::How;

/// Of a propagator: sink spin, source spin, sink colour, source colour.
pub const AXES_OF_SITE: usize = 4;

/// The propagator S(x, `point`): M S = δ for each spin and colour of the source, twelve right-hand sides in one batch.
#[pyfunction]
#[pyo3(signature = (
    operator, point=[0; 4], *, tol=None, max_iterations=None, precision="f64", even_odd=true, progress=None, every=10,
    convention="lanefield"
))]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn propagator<'py>(
    operator: &Bound<'py, Operator>,
    point: Coordinate,
    tol: Option<f64>,
    max_iterations: Option<usize>,
    precision: &str,
    even_odd: bool,
    progress: Option<Bound<'py, PyAny>>,
    every: usize,
    convention: &str,
) -> PyResult<SolveResult> {
    let how = How::new("cg", tol, max_iterations, even_odd, progress, every)?;
    require_inside(operator.get().configuration().get().extents(), point).map_err(value)?;
    let convention = convention.parse()?;
    match how.precision(Some(precision), Precision::F64)? {
        Precision::F32 => in_precision::<f32>(operator, point, &how, convention),
        _ => in_precision::<f64>(operator, point, &how, convention),
    }
}

fn in_precision<R: Number>(
    operator: &Bound<'_, Operator>,
    point: Coordinate,
    how: &How<'_>,
    convention: Convention,
) -> PyResult<SolveResult> {
    match operator.get().model() {
        AnyModel::Wilson(quark) => of_quark::<R, _>(operator, quark, point, how, convention),
        AnyModel::TwistedMass(quark) => of_quark::<R, _>(operator, quark, point, how, convention),
        AnyModel::Clover(quark) => of_quark::<R, _>(operator, quark, point, how, convention),
        AnyModel::DomainWall(quark) => of_quark::<R, _>(operator, quark, point, how, convention),
        other => Err(value(format!("{} does not act on spinors, and has no quark propagator", other.describe()))),
    }
}

fn of_quark<R: Number, Q: Quark + Send + Sync>(
    operator: &Bound<'_, Operator>,
    quark: Q,
    point: Coordinate,
    how: &How<'_>,
    convention: Convention,
) -> PyResult<SolveResult> {
    let (py, operator) = (operator.py(), operator.get());
    let solve = how.solve::<R, _>(operator, quark)?;
    debug_assert_eq!(solve.method, Method::ConjugateGradients);
    let (configuration, device) = (operator.configuration().get(), operator.device().backend().as_ref());
    let computed = running::run(
        py,
        how.progress.as_ref(),
        |courier| on_backend!(device, backend => computed::<R, _, _>(backend, configuration, point, &solve, courier)),
    )?;
    let mut report = computed.map_err(|error| errors::propagator(py, error))?;
    let solution = std::mem::take(&mut report.solution);
    let extents = configuration.extents();
    let solution = R::array(py, solution, &propagator_shape(extents))?;
    let solution = convention.to_theirs(solution, extents, AXES_OF_SITE)?;
    SolveResult::new(py, solution.unbind(), &report)
}

fn computed<R: Number, B: Backend, Q: Quark>(
    backend: &B,
    configuration: &lanefield::reference::gauge::Configuration,
    point: Coordinate,
    solve: &Solve<Q>,
    courier: &mut Courier<'_>,
) -> Result<SolveReport<R>, PropagatorError> {
    let report = observable::propagator::<R, B, Q>(backend, configuration, point, solve, courier, None)?;
    report.require_intact()?;
    Ok(report)
}
