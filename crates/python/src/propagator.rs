//! Propagators of quarks from a source.

use lanefield::dynamic::AnyBackend;
use lanefield::observable::{self, COLUMNS, PropagatorError, QuarkSource, Source, require_quark};
use lanefield::operator::AnyModel;
use lanefield::reference::field::{Propagator, Spinors, list_of};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::real::Precision;
use lanefield::solver::{Method, Solve, SolveReport};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arguments;
use super::arrays::Number;
use super::convention::{Convention, Order, reordered};
use super::errors::{self, value};
use super::operator::Operator;
use super::result::SolveResult;
use super::running::{self, Courier};
use super::solve::How;

/// Axes of a propagator's site: sink spin, source spin, sink colour, source colour.
pub const OF_SITE: [usize; 4] = [4, 4, 3, 3];

/// The source where none is given.
const ORIGIN: Source = Source::Point { position: [0; 4], component: None };

/// The propagator S(x, point) of a quark: M S = δ for each spin and colour of the source. In place of (x, y, z, t) `point` may be the name of a source: "wall:t",
/// "momentum:nx,ny,nz,t", "z2:SEED,t" or "z4:SEED,t". `solution` is (T, Z, Y, X, 4, 4, 3, 3): sink spin, source
/// spin, sink colour, source colour. That of twisted mass is in the twisted basis, for which `correlator` takes the twist angle.
///
/// method: "cg" solves all twelve in one batch, others one after the other, and `progress` then counts the iterations of each anew.
///
/// Otherwise as `solve`.
#[pyfunction]
#[pyo3(
    signature = (
        operator, point=ORIGIN, *, method="cg", tol=None, max_iterations=None, precision="f64", even_odd=true, progress=None,
        every=10, convention="lanefield"
    ),
    text_signature = "(operator, point=(0, 0, 0, 0), *, method='cg', tol=None, max_iterations=None, precision='f64', even_odd=True, \
                      progress=None, every=10, convention='lanefield')"
)]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn propagator<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = arguments::operator)] operator: Py<Operator>,
    #[pyo3(from_py_with = arguments::point)] point: Source,
    #[pyo3(from_py_with = arguments::method)] method: &'static str,
    #[pyo3(from_py_with = arguments::tol)] tol: Option<f64>,
    #[pyo3(from_py_with = arguments::max_iterations)] max_iterations: Option<usize>,
    #[pyo3(from_py_with = arguments::precision)] precision: Option<&'static str>,
    #[pyo3(from_py_with = arguments::even_odd)] even_odd: bool,
    progress: Option<Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::every)] every: usize,
    #[pyo3(from_py_with = arguments::convention)] convention: &'static str,
) -> PyResult<SolveResult> {
    let operator = operator.bind(py);
    let how = How::new(method, tol, max_iterations, even_odd, progress, every)?;
    point.require_inside(operator.get().configuration().get().extents()).map_err(value)?;
    let point = &QuarkSource::from(point);
    match how.precision(precision, Precision::F64)? {
        Precision::F32 => in_precision::<f32>(operator, point, &how, Convention::of(convention)),
        _ => in_precision::<f64>(operator, point, &how, Convention::of(convention)),
    }
}

fn in_precision<R: Number>(
    operator: &Bound<'_, Operator>,
    point: &QuarkSource<'_>,
    how: &How<'_>,
    convention: Convention,
) -> PyResult<SolveResult> {
    let (py, operator) = (operator.py(), operator.get());
    require_quark(&operator.model()).map_err(value)?;
    let solve = how.solve::<R>(operator)?;
    let (configuration, device) = (operator.configuration().get(), operator.device().backend().as_ref());
    let computed = running::run(py, how.progress.as_ref(), |courier| {
        device.install(|| match solve.method {
            // All columns in one batch.
            Method::ConjugateGradients => {
                let mut report = observable::propagator(device, configuration, point.clone(), &solve, courier, None)?;
                report.require_intact()?;
                Ok((std::mem::take(&mut report.solution), vec![report]))
            }
            _ => one_by_one::<R>(device, configuration, point, &solve, courier),
        })
    })?;
    let (solution, reports) = computed.map_err(|error| errors::propagator(py, error))?;
    let extents = configuration.extents();
    let axes = [&convention.axes(extents, None)?[..], &OF_SITE].concat();
    let (ours, theirs) = (Order::together(extents, 1), convention.order(extents, 1));
    let solution = match ours == theirs {
        true => R::array(py, solution, &axes)?,
        false => reordered(py, (&solution, ours), (&axes, theirs), Propagator::WORDS)?,
    };
    SolveResult::new(py, solution.unbind(), &reports)
}

/// The propagator in site order, and reports without it.
type Solved<R> = (Vec<Complex<R>>, Vec<SolveReport<R>>);

/// Column by column, for methods that take one right-hand side.
fn one_by_one<R: Number>(
    backend: &AnyBackend,
    configuration: &Configuration,
    point: &QuarkSource<'_>,
    solve: &Solve<AnyModel>,
    courier: &mut Courier<'_>,
) -> Result<Solved<R>, PropagatorError> {
    let extents = configuration.extents();
    let zeros = std::iter::repeat(Complex::new(R::default(), R::default()));
    let mut solution = list_of(|| format!("a propagator on {extents}"), extents.volume() * Propagator::WORDS, zeros)
        .map_err(lanefield::backend::BackendError::from)?;
    let mut reports = Vec::with_capacity(COLUMNS);
    for column in 0..COLUMNS {
        let columns = (point, column..column + 1);
        let mut report =
            observable::solve_columns::<R, _, _>(backend, configuration, columns, (solve, None), courier, None)?;
        report.require_intact()?;
        let psi = std::mem::take(&mut report.solution);
        let [source_spin, source_colour] = [column / 3, column % 3];
        for (site, psi) in solution.chunks_exact_mut(Propagator::WORDS).zip(psi.chunks_exact(Spinors::WORDS)) {
            for (word, number) in psi.iter().enumerate() {
                let [sink_spin, sink_colour] = [word / 3, word % 3];
                site[((sink_spin * 4 + source_spin) * 3 + sink_colour) * 3 + source_colour] = *number;
            }
        }
        reports.push(report);
    }
    Ok((solution, reports))
}
