//! Propagators of quarks from a source.

use std::sync::Arc;

use lanefield::comm::WholeLattice;
use lanefield::dynamic::AnyBackend;
use lanefield::gauge::{GaugeField, GaugeFieldError};
use lanefield::observable::{
    self, COLUMNS, PropagatorError, Quark as _, QuarkSource, Source, Wuppertal, columns_of_propagator, require_quark,
    times_of_columns,
};
use lanefield::operator::AnyModel;
use lanefield::reference::ensure;
use lanefield::reference::field::{Propagator, Spinors, list_of};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::layout::{Extents, LaneChoice};
use lanefield::reference::real::Precision;
use lanefield::solver::{Method, Solve, SolveReport};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arguments;
use super::arrays::{Given, Number, on_values, tuple};
use super::convention::{self, Convention, Order, fill, reordered};
use super::device::on_host;
use super::errors::{self, value};
use super::operator::{self, Operator};
use super::quark_source::{self, QuarkColumns, SmearLinks};
use super::result::SolveResult;
use super::running::{self, Courier};
use super::solve::{How, by_name};

/// Axes of a propagator's site: sink spin, source spin, sink colour, source colour.
pub const OF_SITE: [usize; 4] = [4, 4, 3, 3];

/// The default source.
const ORIGIN: Source = Source::Point { position: [0; 4], component: None };

/// Computes the propagator S of a quark from a source: M S = η for each spin and colour of the source. `source` is one of:
///
/// - a point (x, y, z, t);
/// - a name, as of `lanefield propagator --source`: "wall:t", "momentum:nx,ny,nz,t", "z2:SEED,t" or "z4:SEED,t";
/// - an array of twelve columns (12, T, Z, Y, X, 4, 3), where column 3·spin + colour is that of this spin and colour;
/// - a propagator (T, Z, Y, X, 4, 4, 3, 3).
///
/// `solution` is (T, Z, Y, X, 4, 4, 3, 3): sink spin, source spin, sink colour, source colour. For twisted mass it is in the twisted
/// basis; pass the twist angle to `correlator`.
///
/// solver: "cg" solves all twelve in one batch, and "block-cg" in one block. The others solve one after the other, and `progress`
///     then counts the iterations of each from the start.
/// smear_source: (alpha, steps) of Gaussian smearing of the source within its time slices (docs/spectrum.md).
/// smear_sink: the same for the sink, after the solve. The solution is then complex128.
/// smear_links: the links of both smearings, if they are not those of the operator: a Configuration, or a smearing of the operator's
///     links, such as "spatial-ape:0.5,10".
///
/// The other keywords are those of `solve`.
#[pyfunction]
#[pyo3(
    signature = (
        operator, source=QuarkColumns::Named(ORIGIN), *, solver="cg", tolerance=None, max_iterations=None, precision="f64",
        even_odd=true, smear_source=None, smear_sink=None, smear_links=None, progress=None, every=10, convention="lanefield",
        method=None, tol=None
    ),
    text_signature = "(operator, source=(0, 0, 0, 0), *, solver='cg', tolerance=None, max_iterations=None, precision='f64', even_odd=True, \
                      smear_source=None, smear_sink=None, smear_links=None, progress=None, every=10, convention='lanefield')"
)]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn propagator<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = operator::operator)] operator: Py<Operator>,
    #[pyo3(from_py_with = quark_source::quark_source)] source: QuarkColumns<'py>,
    #[pyo3(from_py_with = arguments::solver)] solver: &'static str,
    #[pyo3(from_py_with = arguments::tolerance)] tolerance: Option<f64>,
    #[pyo3(from_py_with = arguments::max_iterations)] max_iterations: Option<usize>,
    #[pyo3(from_py_with = arguments::precision)] precision: Option<&'static str>,
    #[pyo3(from_py_with = arguments::even_odd)] even_odd: bool,
    #[pyo3(from_py_with = arguments::smear_source)] smear_source: Option<Wuppertal>,
    #[pyo3(from_py_with = arguments::smear_sink)] smear_sink: Option<Wuppertal>,
    #[pyo3(from_py_with = quark_source::smear_links)] smear_links: Option<SmearLinks>,
    progress: Option<Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::every)] every: usize,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
    #[pyo3(from_py_with = arguments::method)] method: Option<&'static str>,
    #[pyo3(from_py_with = arguments::tol)] tol: Option<f64>,
) -> PyResult<SolveResult> {
    let (operator, convention) = (operator.bind(py), Convention::of(convention));
    let (solver, tolerance) = by_name(py, (solver, tolerance), (method, tol))?;
    let how = How::new(solver, tolerance, max_iterations, even_odd, progress, every)?;
    if smear_links.is_some() && smear_source.is_none() && smear_sink.is_none() {
        return Err(value("smear_links needs smear_source or smear_sink: without them no quark is smeared"));
    }
    require_quark(&operator.get().model()).map_err(value)?;
    let extents = operator.get().configuration().get().extents();
    let (source, columns) = match source {
        QuarkColumns::Named(source) => {
            source.require_inside(extents).map_err(value)?;
            (source, None)
        }
        QuarkColumns::Array(given) => {
            (Source::File("source".into()), Some(columns_of(py, &given, extents, convention)?))
        }
    };
    let links = smear_links.map(|links| links_of(py, operator.get(), links)).transpose()?;
    let file = columns.as_ref().map(|(columns, time)| (&columns[..], *time));
    let source = &QuarkSource { source, file, smearing: smear_source, links: links.as_deref() };
    match how.precision(precision, Precision::F64)? {
        Precision::F32 => in_precision::<f32>(operator, source, &how, (smear_sink, convention)),
        _ => in_precision::<f64>(operator, source, &how, (smear_sink, convention)),
    }
}

/// The twelve columns of an array in site order, and their time slice if they lie in one.
fn columns_of(
    py: Python<'_>,
    given: &Given<'_>,
    extents: Extents,
    convention: Convention,
) -> PyResult<(Vec<Complex<f64>>, Option<usize>)> {
    let lattice = convention.axes(extents, None)?;
    let (list, whole) = ([&[COLUMNS], &lattice[..], &[4, 3]].concat(), [&lattice[..], &OF_SITE].concat());
    let is_list = given.shape() == list;
    if !is_list && given.shape() != whole {
        let [found, list, whole] = [given.shape(), &list, &whole].map(tuple);
        return Err(value(format!(
            "the shape of source is {found}: expected twelve columns on {extents}, {list} or {whole}"
        )));
    }
    given.require_finite(py, "source")?;
    let parts = if is_list { COLUMNS } else { 1 };
    let (ours, theirs) = (Order::together(extents, parts), convention.order(extents, 1));
    let columns = on_values!(given, values => on_host(py, || {
        let zeros = std::iter::repeat(Complex::ZERO);
        let mut copy = list_of(|| "the columns of a source".to_owned(), values.len(), zeros)?;
        fill((&mut copy, ours), (values, theirs), Propagator::WORDS / parts);
        if is_list { Ok(copy) } else { columns_of_propagator(&copy) }
    }))?;
    let columns = columns.map_err(errors::field)?;
    let times = times_of_columns(&columns, extents, &WholeLattice::alone(extents)).map_err(value)?;
    match times[..] {
        [] => Err(value("source is zero everywhere")),
        [time] => Ok((columns, Some(time))),
        _ => Ok((columns, None)),
    }
}

/// The links on which quarks are smeared.
fn links_of(py: Python<'_>, operator: &Operator, links: SmearLinks) -> PyResult<Arc<Configuration>> {
    let of_operator = operator.configuration().get();
    match links {
        SmearLinks::Of(links) => {
            let links = links.get().shared();
            let (given, expected) = (links.extents(), of_operator.extents());
            ensure!(given == expected, value(format!("smear_links are on {given}, and the operator is on {expected}")));
            Ok(Arc::clone(links))
        }
        SmearLinks::Smeared(smearing) => {
            let backend = operator.device().backend().as_ref();
            let smeared = on_host(py, || {
                backend.install(|| {
                    let mut field = GaugeField::new(backend, of_operator, LaneChoice::Auto)?;
                    field.smear(&smearing)?;
                    field.configuration()
                })
            })?;
            smeared.map(Arc::new).map_err(|error| match error {
                GaugeFieldError::Backend(error) => errors::backend(error),
                error => value(error),
            })
        }
    }
}

fn in_precision<R: Number>(
    operator: &Bound<'_, Operator>,
    source: &QuarkSource<'_>,
    how: &How<'_>,
    (smear_sink, convention): (Option<Wuppertal>, Convention),
) -> PyResult<SolveResult> {
    let (py, operator) = (operator.py(), operator.get());
    let solve = how.solve::<R>(operator)?;
    let (configuration, device) = (operator.configuration().get(), operator.device().backend().as_ref());
    let computed = running::run(py, how.progress.as_ref(), |courier| {
        device.install(|| {
            let (solution, reports) = match solve.method {
                // All columns in one batch or block.
                Method::ConjugateGradients | Method::BlockConjugateGradients => {
                    let mut report =
                        observable::propagator(device, configuration, source.clone(), &solve, courier, None)?;
                    report.require_intact()?;
                    (std::mem::take(&mut report.solution), vec![report])
                }
                _ => one_by_one::<R>(device, configuration, source, &solve, courier)?,
            };
            let links = source.links.unwrap_or(configuration);
            let smear = |sink: Wuppertal| sink.smear_sink(device, links, solve.operator.boundary(), &solution);
            let smeared = smear_sink.map(smear).transpose()?;
            Ok::<_, PropagatorError>((solution, smeared, reports))
        })
    })?;
    let (solution, smeared, reports) = computed.map_err(|error| errors::propagator(py, error))?;
    let extents = configuration.extents();
    let solution = match smeared {
        Some(smeared) => propagator_array(py, smeared, extents, convention),
        None => propagator_array(py, solution, extents, convention),
    }?;
    SolveResult::new(py, solution.unbind(), &reports)
}

/// A propagator in site order as an array.
fn propagator_array<R: Number>(
    py: Python<'_>,
    solution: Vec<Complex<R>>,
    extents: Extents,
    convention: Convention,
) -> PyResult<Bound<'_, PyAny>> {
    let axes = [&convention.axes(extents, None)?[..], &OF_SITE].concat();
    let (ours, theirs) = (Order::together(extents, 1), convention.order(extents, 1));
    match ours == theirs {
        true => R::array(py, solution, &axes),
        false => reordered(py, (&solution, ours), (&axes, theirs), Propagator::WORDS),
    }
}

/// The propagator in site order, and the reports without their solutions.
type Solved<R> = (Vec<Complex<R>>, Vec<SolveReport<R>>);

/// Solves column by column, for solvers of a single right-hand side.
fn one_by_one<R: Number>(
    backend: &AnyBackend,
    configuration: &Configuration,
    source: &QuarkSource<'_>,
    solve: &Solve<AnyModel>,
    courier: &mut Courier<'_>,
) -> Result<Solved<R>, PropagatorError> {
    let extents = configuration.extents();
    let zeros = std::iter::repeat(Complex::new(R::default(), R::default()));
    let mut solution = list_of(|| format!("a propagator on {extents}"), extents.volume() * Propagator::WORDS, zeros)
        .map_err(lanefield::backend::BackendError::from)?;
    let mut reports = Vec::with_capacity(COLUMNS);
    for column in 0..COLUMNS {
        let columns = (source, column..column + 1);
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
