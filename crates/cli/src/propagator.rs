//! `lanefield propagator`: the propagator of a quark from a point, twelve solves in one batch.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail};
use clap::Args;
use lanefield::io::identity::Identity;
use lanefield::io::npy::{self, ArrayReal};
use lanefield::io::sidecar::SourceInput;
use lanefield::observable::{COLUMNS, PropagatorError, Quark, propagator, require_inside, sources};
use lanefield::operator::AnyModel;
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::Coordinate;
use lanefield::reference::real::Precision;
use lanefield::solver::{
    Described, Digests, Method, Solve, SolveError, SolveReport, SolverError, Stopped, Watchers, identity,
};
use lanefield_lab::Timed;
use serde::Serialize;

use super::Outcome;
use super::args::{BackendArgs, HopArgs, on_backend};
use super::array_output::{self, ArrayOutput};
use super::files::{npy_unwritten, read_configuration, require_written};
use super::history::Progress;
use super::long_run::{Interrupted, LongRun, LongRunArgs, differs, since};
use super::operator::{OnSpinors, OperatorArgs, check, json_of};
use super::output::{Head, Kind, facts, joined, show};
use super::solver::{Course, Fields, Rates, RhsSummary, SolverArgs, changed_inputs, lay_out, preconditioning_name};
use super::source::whole_numbers;

/// Compute the propagator of a quark from a point: M S = δ for each spin and colour of the source, in one batch.
///
/// Operators on colour vectors have no spin, and no such propagator.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield propagator --config weak.nersc --source point:0,0,0,0 \\
      --operator clover --mass 0.1 --csw 1.2 --output p.npy
  lanefield propagator --config weak.nersc --source point:1,2,3,4 \\
      --operator mobius --mass 0.05 --ls 8 --precision f32 --output mobius.npy")]
pub struct Propagator {
    /// The gauge configuration: a NERSC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if it ends in .npy
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The point from which the quark propagates
    #[arg(long, value_name = "point:x,y,z,t")]
    source: Point,
    #[command(flatten)]
    operator: OperatorArgs<OnSpinors>,
    #[command(flatten)]
    hop: HopArgs,
    #[command(flatten)]
    settings: SolverArgs,
    /// Write the propagator as a NumPy array (T, Z, Y, X, 4, 4, 3, 3): sink spin, source spin, sink colour, source colour; complex64
    /// for f32 and complex128 for f64. Beside it P.npy.json says what it is
    #[arg(long, value_name = "P.npy")]
    output: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    long_run: LongRunArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// A point of the lattice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Point(Coordinate);

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let point = text.strip_prefix("point:").and_then(whole_numbers).map(Self);
        point.ok_or_else(|| {
            format!("invalid point '{text}': expected four whole numbers, as in point:0,0,0,0 for x,y,z,t")
        })
    }
}

impl Propagator {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let model = self.operator.model(&self.hop)?;
        let others: Vec<(&str, &Path)> = self.long_run.outputs().collect();
        let inputs: Vec<(&str, &Path)> =
            [("--config", &*self.config)].into_iter().chain(self.long_run.inputs()).collect();
        let goes_on = |argument: &str| self.long_run.goes_on(argument);
        array_output::require_outputs(Some(&self.output), &others, &inputs, goes_on)?;
        match self.settings.precision {
            Precision::F32 => self.with_precision::<f32>(model),
            _ => self.with_precision::<f64>(model),
        }
    }

    fn with_precision<R: Vectors + ArrayReal>(&self, model: AnyModel) -> anyhow::Result<Outcome> {
        check::<R>(&model, !self.settings.unpreconditioned)?;
        match model {
            AnyModel::Wilson(wilson) => self.compute::<R, _>(wilson, &model),
            AnyModel::TwistedMass(twisted) => self.compute::<R, _>(twisted, &model),
            AnyModel::Clover(clover) => self.compute::<R, _>(clover, &model),
            AnyModel::DomainWall(wall) => self.compute::<R, _>(wall, &model),
            // Not offered.
            _ => bail!("{} does not act on spinors, and has no quark propagator", model.describe()),
        }
    }

    fn compute<R: Vectors + ArrayReal, Q: Quark + Send + Sync>(
        &self,
        operator: Q,
        model: &AnyModel,
    ) -> anyhow::Result<Outcome> {
        let configuration = read_configuration(&self.config)?.configuration;
        require_inside(configuration.extents(), self.source.0)?;
        let mut solve = self.settings.solve::<R, _>(operator, Method::ConjugateGradients, self.backend.lanes);
        // One that does not fit is refused before a device is opened.
        lay_out::<R, _>(&solve, &configuration)?;
        let long_run = match self.long_run.is_wanted() {
            true => self.long_run.open(&self.identity::<R, _>(&solve, &configuration, &model.describe()))?,
            false => LongRun::default(),
        };
        let output = self.array_output::<R, _>(model, &solve, &configuration)?;
        let backend = self.backend.open()?;
        solve.lanes = backend.lanes(solve.lanes);
        let summary = Summary {
            device: backend.describe(),
            operator: model.describe(),
            fields: Fields::new::<R>(lay_out::<R, _>(&solve, &configuration)?, &self.hop),
            source: self.source.0,
            resumed_from: long_run.resumed_from(),
            compared_with_record: None,
            course: Course::new(&solve, &configuration),
            rhs: Vec::new(),
            rates: Rates::default(),
        };
        on_backend!(&backend, b => self.on::<R, _, _>(b, &configuration, &solve, summary, (long_run, output)))
    }

    /// All that the bits of the propagator depend on.
    fn identity<R: Vectors, M>(&self, how: &Solve<M>, configuration: &Configuration, operator: &str) -> Identity {
        let source = format!("point:{}, {COLUMNS} right-hand sides", joined(&self.source.0, ","));
        let described = Described { operator, source, solver: "cg", sum: how.params.sum.to_string() };
        identity::<R, M>(how, self.hop.parameters(), configuration, described)
    }

    /// The array that will hold the propagator.
    fn array_output<R: Vectors, Q>(
        &self,
        model: &AnyModel,
        solve: &Solve<Q>,
        configuration: &Configuration,
    ) -> anyhow::Result<ArrayOutput<'_>> {
        let source = SourceInput::Point { position: self.source.0, spin: None, colour: None };
        let settings = [
            ("solver", "cg".into()),
            ("preconditioning", preconditioning_name(solve.preconditioning).into()),
            ("tolerance", solve.params.tolerance.into()),
        ];
        let operator = (model.name(), json_of(model), &self.hop);
        let inputs = array_output::inputs(operator, configuration, source, R::NAME, settings);
        ArrayOutput::new(&self.output, "propagator", &[("--config", &self.config)], inputs)
    }

    /// The batch on a backend, and all that is said and written of it.
    fn on<R: Vectors + ArrayReal, B: Timed, Q: Quark>(
        &self,
        backend: &B,
        configuration: &Configuration,
        solve: &Solve<Q>,
        mut summary: Summary,
        (mut long_run, output): (LongRun, ArrayOutput<'_>),
    ) -> anyhow::Result<Outcome> {
        let progress = Progress::new(solve.params.tolerance);
        let (point, state) = (self.source.0, long_run.take_state());
        let mut watch = |iteration: usize, c: f64| progress.show(iteration, c);
        let mut watcher = Watchers::default().with(Some(&mut long_run)).with(Some(&mut watch));
        let computed = propagator::<R, B, Q>(backend, configuration, point, solve, &mut watcher, state.as_ref());
        progress.end();

        let failed =
            |error: &PropagatorError| matches!(error, PropagatorError::Solve(error) if error.history().is_some());
        let solution = computed.as_ref().ok().map(|report| &report.solution[..]);
        if solution.is_some() || computed.as_ref().is_err_and(failed) {
            let digests = || {
                let sources = sources(backend, configuration, point, &solve.operator)?;
                Ok(Digests::new(configuration, &sources, solution))
            };
            match long_run.finish(digests) {
                Ok(compared) => summary.compared_with_record = compared,
                Err(error) => return differs(error, (self.json, Head::on(Kind::SolveDifference, backend.device()))),
            }
        }
        let error = match computed {
            Ok(report) => {
                output.begin()?;
                let shape = npy::propagator_shape(configuration.extents());
                let written = npy::write_complex(&self.output, &shape, &report.solution);
                written.map_err(|error| npy_unwritten(&self.output, error))?;
                require_written(&self.output, report.solution.iter())?;
                report.require_intact()?;
                summary.converged(&report);
                show(self.json, Head::on(Kind::Propagator, backend.device()), &summary, Summary::text)?;
                let again = read_configuration(&self.config).context("failed to read the configuration again")?;
                if again.configuration != *configuration {
                    return Ok(changed_inputs());
                }
                if summary.course.is_checked() {
                    output.describe::<R>(shape)?;
                }
                return Ok(long_run.outcome(summary.course.outcome()));
            }
            Err(PropagatorError::Solve(error)) => *error,
            Err(error) => return Err(error).context("failed to compute the propagator"),
        };
        match error {
            SolveError::Recurrence(SolverError::Stopped(Stopped(error))) => {
                if !error.is::<Interrupted>() {
                    return differs(error, (self.json, Head::on(Kind::SolveDifference, backend.device())));
                }
                summary.course.failure = Some(error.to_string());
                show(self.json, Head::on(Kind::Propagator, backend.device()), &summary, Summary::text)?;
                say!("interrupted: {error}");
                Ok(Outcome::Done)
            }
            error if error.history().is_some() => {
                summary.course.failure = Some(error.to_string());
                show(self.json, Head::on(Kind::Propagator, backend.device()), &summary, Summary::text)?;
                say!("error: {error}");
                Ok(Outcome::CheckFailed)
            }
            error => Err(error).context("failed to compute the propagator"),
        }
    }
}

/// What was computed, and how it went. As JSON, these fields; what a batch that did not converge cannot tell is null or empty.
#[derive(Serialize)]
struct Summary {
    #[serde(skip)]
    device: String,
    /// The operator and its parameters.
    operator: String,
    #[serde(flatten)]
    fields: Fields,
    /// The point, x, y, z, t.
    source: [usize; 4],
    /// The iteration of the checkpoint from which it resumed.
    resumed_from: Option<usize>,
    /// Lines of the record that were the same; null where none was compared with.
    compared_with_record: Option<usize>,
    #[serde(flatten)]
    course: Course,
    /// Each solve, number 3·spin + colour of the source.
    rhs: Vec<Rhs>,
    #[serde(flatten)]
    rates: Rates,
}

#[derive(Serialize)]
struct Rhs {
    spin: usize,
    colour: usize,
    #[serde(flatten)]
    summary: RhsSummary,
}

impl Summary {
    fn converged<R>(&mut self, report: &SolveReport<R>) {
        self.course.converge(report);
        let rhs = report.rhs.iter().enumerate();
        self.rhs = rhs.map(|(k, rhs)| Rhs { spin: k / 3, colour: k % 3, summary: rhs.into() }).collect();
        self.rates = Rates::new((report.seconds, report.building), report.flops, report.bytes);
    }

    fn text(&self) -> String {
        let mut rows = self.fields.facts(&self.device, &self.operator, &self.course);
        rows.push(("source", format!("x,y,z,t = {}", joined(&self.source, ","))));
        let solver = format!("conjugate gradients in {}, {COLUMNS} right-hand sides", self.fields.precision);
        rows.push(("solver", self.course.describe(&solver)));
        rows.extend(since(self.resumed_from, self.compared_with_record));
        if self.course.converged {
            let rhs = || self.rhs.iter().map(|rhs| &rhs.summary);
            let largest = |of: fn(&RhsSummary) -> f64| rhs().map(of).fold(0.0, f64::max);
            let iterations = rhs().map(|rhs| rhs.iterations);
            let (least, most) = (iterations.clone().min().unwrap_or(0), iterations.clone().max().unwrap_or(0));
            rows.push(("iterations", format!("{least} to {most} per right-hand side")));
            if self.course.is_checked() {
                rows.push(("true residual", format!("{:.3e} at most", largest(|rhs| rhs.true_residual))));
                rows.push(("|η − Mψ| / |η|", format!("{:.3e} at most", largest(|rhs| rhs.solution_residual))));
            }
            rows.extend(self.course.facts());
        } else {
            rows.push(("iterations", "not converged".to_owned()));
        }
        rows.extend(self.rates.facts(""));
        facts(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_four_whole_numbers() {
        assert_eq!("point:1,2,3,40".parse(), Ok(Point([1, 2, 3, 40])));
        for wrong in ["1,2,3,4", "point:1,2,3", "point:1,2,3,4,5", "point:1,2,3,-4", "gauss:1"] {
            let error = wrong.parse::<Point>().unwrap_err();
            assert!(error.contains(wrong) && error.contains("four whole numbers"), "{error}");
        }
    }
}
