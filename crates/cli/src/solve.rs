//! `lanefield solve`: M ψ = η for any operator, in any solver, with the residual history that can be compared as integers; checkpoints and
//! records for long runs.

mod summary;

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};
use lanefield::backend::Backend;
use lanefield::io::identity::{Identity, describe_configuration, digest_of_numbers};
use lanefield::io::npy::ArrayReal;
use lanefield::operator::{AnyModel, Model, ModelTask};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::reduce::Sum;
use lanefield::reference::layout::{Checkerboard, LaneChoice, Lattice, LatticeOptions};
use lanefield::reference::real::Precision;
use lanefield::solver::{
    Method, Preconditioning, ReplayDifference, SavedState, Solve as LibrarySolve, SolveError, SolveReport, SolverError,
    SolverParams, Stopped, Watcher, Watchers, solve_from,
};
use lanefield_lab::Timed;
use lanefield_lab::trace::{Group, span};
use num_complex::Complex;

use super::Outcome;
use super::args::{BackendArgs, BackendTask, HopArgs, SumArgs, SumKind, iterations, of_arithmetic};
use super::fields::FieldShape;
use super::files::{require_distinct, require_writable};
use super::history::{Progress, write_batch_history, write_history};
use super::long_run::{LongRun, LongRunArgs};
use super::operator::{Invertible, OperatorArgs, check};
use super::output::print_json;
use super::source::{InputArgs, Loaded, Source, rounded};
use super::walls::{export_solution, import_source};
use summary::Summary;

/// Solve M ψ = η, with the same residual history to the last bit on every device.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 8.8.8.8 --seed 1 --output weak.nersc
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --history history.csv
  lanefield solve --config weak.nersc --source point:0,0,0,0,0,0 --mass 0.1 \\
      --precision f32 --output x.npy --device cpu
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --tolerance 1e-8 --unpreconditioned --json
  lanefield solve --operator clover --csw 1.3 --config weak.nersc --mass 0.1 \\
      --source gauss:7 --batch 3 --history batch.csv
  lanefield solve --operator dwf --ls 4 --config weak.nersc --mass 0.1 \\
      --source point:0,0,0,0,0,0 --solver mixed-f32 --output x.npy
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --checkpoint state --checkpoint-every 20 --resume --output x.npy
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --record record.jsonl
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --verify record.jsonl --device cpu --threads 1")]
pub struct Solve {
    #[command(flatten)]
    operator: OperatorArgs<Invertible>,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    hop: HopArgs,
    /// Number of right-hand sides to solve together, with cg: --source gauss:SEED gives those of SEED, SEED + 1, …
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    batch: Option<u16>,
    /// The solver
    #[arg(long, value_name = "SOLVER", default_value = "cg")]
    solver: Solver,
    /// Stop when |r| ≤ tolerance · |b| [default: 1e-10 in f64, 1e-6 in f32]
    #[arg(long, value_name = "TOLERANCE", value_parser = tolerance)]
    tolerance: Option<f64>,
    /// Maximum number of iterations [default: 10000]
    #[arg(long, value_name = "N", value_parser = iterations)]
    max_iterations: Option<usize>,
    /// Precision of the solver
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = of_arithmetic())]
    precision: Precision,
    /// Solve M itself on all sites (with cg its normal equations) instead of the even-odd Schur complement
    #[arg(long)]
    unpreconditioned: bool,
    /// Write the solution as a NumPy array of the shape of the source, complex64 for f32 and complex128 for f64. With --batch, the first
    /// axis is that of the right-hand sides
    #[arg(long, value_name = "X.npy")]
    output: Option<PathBuf>,
    /// Write the history as CSV: iteration, squared residual |r|², and the 16 hex digits of that double; with --batch, the number of the
    /// right-hand side comes first. Without --batch, it is also written when the solver does not converge
    #[arg(long, value_name = "H.csv")]
    history: Option<PathBuf>,
    /// Measure the copy bandwidth after the solve, and compare the memory traffic of the solve with it
    #[arg(long)]
    bandwidth: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    long_run: LongRunArgs,
    #[command(flatten)]
    sums: SumArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Solver {
    /// Conjugate gradients, on the normal equations unless the operator is positive definite
    Cg,
    /// The same in f64, with a recurrence in f32
    MixedF32,
    /// The same in f64, with a recurrence in half precision
    MixedHalf,
    /// BiCGStab
    Bicgstab,
}

impl Solver {
    fn method(self) -> Method {
        match self {
            Self::Cg => Method::ConjugateGradients,
            Self::MixedF32 => Method::MixedF32,
            Self::MixedHalf => Method::MixedHalf,
            Self::Bicgstab => Method::BiCgStab,
        }
    }

    /// As on the command line.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn describe(self, precision: &str) -> String {
        match self {
            Self::Cg => format!("conjugate gradients in {precision}"),
            Self::MixedF32 => "conjugate gradients in f64 and f32".to_owned(),
            Self::MixedHalf => "conjugate gradients in f64 and half precision".to_owned(),
            Self::Bicgstab => format!("BiCGStab in {precision}"),
        }
    }
}

pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| (1e-100..1.0).contains(value));
    value.ok_or_else(|| format!("invalid tolerance '{text}': expected a number from 1e-100 to below 1, as 1e-10"))
}

/// How to solve, whatever the operator.
#[derive(Clone, Copy)]
struct How {
    preconditioning: Preconditioning,
    method: Method,
    params: SolverParams,
    lanes: LaneChoice,
}

impl How {
    fn solve<M>(self, operator: M) -> LibrarySolve<M> {
        let Self { preconditioning, method, params, lanes } = self;
        LibrarySolve { operator, preconditioning, method, params, lanes }
    }

    /// The lattice as the solver will lay it out, so that one that does not fit is refused before a device is opened.
    fn lay_out<R: Vectors>(self, configuration: &Configuration) -> anyhow::Result<Lattice> {
        let checkerboard = match self.preconditioning {
            Preconditioning::EvenOdd => Checkerboard::RedBlack,
            Preconditioning::None => Checkerboard::FullOnly,
        };
        let options = LatticeOptions { lanes: self.lanes, nodes: None, checkerboard };
        let lattice = Lattice::new(configuration.extents(), R::COMPLEX, options);
        let hint = match checkerboard {
            Checkerboard::RedBlack => " for the even-odd solver (--unpreconditioned needs no parities)",
            Checkerboard::FullOnly => "",
        };
        lattice.with_context(|| format!("failed to lay out the lattice{hint}"))
    }
}

impl Solve {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let model = self.operator.model(&self.hop)?;
        ensure!(
            self.precision == Precision::F64 || !matches!(self.solver, Solver::MixedF32 | Solver::MixedHalf),
            "--solver {} computes solutions in f64: leave out --precision {}, or use --solver cg",
            self.solver.name(),
            self.precision
        );
        ensure!(
            self.batch.is_none() || self.solver == Solver::Cg,
            "--batch is for --solver cg; {} takes one right-hand side",
            self.solver.name()
        );
        let outputs = [("--output", &self.output), ("--history", &self.history)];
        let outputs = outputs.iter().filter_map(|(name, path)| Some((*name, path.as_deref()?)));
        let outputs: Vec<(&str, &Path)> = outputs.chain(self.long_run.outputs()).collect();
        let inputs: Vec<(&str, &Path)> = self.input.files().into_iter().chain(self.long_run.inputs()).collect();
        require_distinct(&outputs, &inputs)?;
        for (_, path) in outputs {
            require_writable(path)?;
        }
        match self.precision {
            Precision::F32 => self.solve::<f32>(model),
            _ => self.solve::<f64>(model),
        }
    }

    fn solve<R: Vectors + ArrayReal>(&self, model: AnyModel) -> anyhow::Result<Outcome> {
        check::<R>(&model, !self.unpreconditioned)?;
        self.backend.limit_host_threads();
        let configuration = self.input.configuration()?;
        let (shape, extents) = (FieldShape::of_model(&model)?, configuration.extents());
        let eta = match self.batch {
            Some(nrhs) => self.input.batch(shape, extents, nrhs),
            None => self.input.source(shape, extents, true),
        }?;
        // Only to refuse what does not fit; the solver rounds for itself.
        rounded::<R>(&eta.values)?;
        let auto = SolverParams::auto::<R>();
        let how = How {
            preconditioning: if self.unpreconditioned { Preconditioning::None } else { Preconditioning::EvenOdd },
            method: self.solver.method(),
            params: SolverParams {
                tolerance: self.tolerance.unwrap_or(auto.tolerance),
                max_iterations: self.max_iterations.unwrap_or(auto.max_iterations),
                patience: auto.patience,
                sum: self.sums.sum(size_of::<Complex<f64>>()).context("failed to plan the sums")?,
            },
            lanes: self.backend.lanes,
        };
        let lattice = how.lay_out::<R>(&configuration)?;
        let long_run = match self.long_run.is_wanted() {
            true => self.long_run.open(&self.identity::<R>(model, how, lattice, &configuration, &eta))?,
            false => LongRun::default(),
        };
        let backend = self.backend.open()?;
        let (how, lattice) = match how.params.sum {
            Sum::Exact => {
                let how = How { lanes: backend.lanes(how.lanes), ..how };
                (how, how.lay_out::<R>(&configuration)?)
            }
            // A tree depends on the number of lanes.
            Sum::Tree(_) => (how, lattice),
        };
        let device = backend.describe();
        let configuration = &configuration;
        let precision = PhantomData::<R>;
        backend.run(Task { command: self, model, shape, configuration, eta, how, lattice, device, long_run, precision })
    }

    /// All that the bits of the solve depend on.
    fn identity<R: Vectors>(
        &self,
        model: AnyModel,
        how: How,
        lattice: Lattice,
        configuration: &Configuration,
        eta: &Loaded,
    ) -> Identity {
        let hop = self.hop.parameters();
        let source = match (&self.input.source, self.batch) {
            (Source::File(_), _) => format!("of SHA-256 {}", digest_of_numbers(&eta.values)),
            (source, None) => source.to_string(),
            (source, Some(nrhs)) => format!("{source}, {nrhs} right-hand sides"),
        };
        let sum = match self.sums.sum {
            SumKind::Exact => "exact".to_owned(),
            SumKind::Tree => format!("{} in {}-byte lanes", how.params.sum, lattice.width().bytes()),
        };
        Identity::default()
            .with("operator", model.describe())
            .with("boundary", hop.boundary)
            .with("links", hop.links)
            .with("legs", hop.legs)
            .with("configuration", describe_configuration(configuration))
            .with("source", source)
            .with("precision", R::NAME)
            .with("solver", self.solver.name())
            .with("preconditioning", preconditioning_name(how.preconditioning))
            .with("tolerance", format!("{:e}", how.params.tolerance))
            .with("sum", sum)
    }
}

fn preconditioning_name(preconditioning: Preconditioning) -> &'static str {
    match preconditioning {
        Preconditioning::EvenOdd => "even-odd",
        Preconditioning::None => "none",
    }
}

/// One solve, on any backend.
struct Task<'a, R> {
    command: &'a Solve,
    model: AnyModel,
    shape: FieldShape,
    configuration: &'a Configuration,
    eta: Loaded,
    how: How,
    lattice: Lattice,
    device: String,
    long_run: LongRun,
    precision: PhantomData<R>,
}

/// The solve itself, by any operator.
struct Solving<'a, B, R> {
    backend: &'a B,
    configuration: &'a Configuration,
    eta: &'a [Complex<f64>],
    how: How,
    watcher: &'a mut dyn Watcher,
    resume: Option<&'a SavedState>,
    precision: PhantomData<R>,
}

impl<B: Backend, R: Vectors> ModelTask for Solving<'_, B, R> {
    type Output = Result<SolveReport<R>, SolveError>;

    fn run<M: Model>(self, model: M) -> Self::Output {
        let solve = self.how.solve(model);
        solve_from::<R, B, M>(self.backend, self.configuration, self.eta, &solve, self.watcher, self.resume)
    }
}

impl<R: Vectors + ArrayReal> BackendTask for Task<'_, R> {
    type Output = anyhow::Result<Outcome>;

    fn run<B: Timed>(self, backend: &B) -> anyhow::Result<Outcome> {
        let Self { command, model, shape, configuration, eta, how, lattice, device, mut long_run, precision } = self;
        let mut summary = Summary::new::<R>(device, command, model, how, lattice, configuration);
        summary.resumed_from = long_run.state.as_ref().map(SavedState::iterations);
        // The walls that a physical source is put onto, and its solution taken from.
        let walls = match (model, eta.shape) {
            (AnyModel::DomainWall(parameters), FieldShape::Spinor) => Some(parameters),
            _ => None,
        };
        let eta = match walls {
            Some(parameters) => {
                let eta = import_source(backend, configuration, parameters, &eta.values);
                let eta = eta.context("failed to put the source onto the walls")?;
                rounded::<R>(&eta)?;
                eta
            }
            None => eta.values,
        };

        let progress = Progress::new(how.params.tolerance);
        let LongRun { checkpoints, recorder, replay, state } = &mut long_run;
        let mut show = |iteration: usize, c: f64| progress.show(iteration, c);
        let mut watcher = Watchers::default()
            .with(replay.as_mut())
            .with(recorder.as_mut())
            .with(checkpoints.as_mut())
            .with(Some(&mut show));
        let (watcher, resume) = (&mut watcher, state.as_ref());
        let solving = span(Group::Host, || "solve");
        let solved = model.run(Solving { backend, configuration, eta: &eta, how, watcher, resume, precision });
        drop(solving);
        progress.end();

        if solved.as_ref().is_ok() || solved.as_ref().is_err_and(|error| error.history().is_some()) {
            if let Some(recorder) = &mut long_run.recorder {
                recorder.finish()?;
            }
            if let Some(Err(Stopped(error))) = long_run.replay.as_mut().map(|replay| replay.finish()) {
                return differs(error, command.json);
            }
            summary.compared_with_record = long_run.replay.as_ref().map(|replay| replay.compared());
        }
        match solved {
            Ok(report) => {
                let extents = configuration.extents();
                let histories = report.rhs.iter().map(|rhs| &rhs.info.history[..]);
                match command.batch {
                    Some(_) => write_batch_history(command.history.as_deref(), histories)?,
                    None => write_history(command.history.as_deref(), &report.info().history)?,
                }
                if let Some(path) = &command.output {
                    let nrhs = command.batch.map(usize::from);
                    match walls {
                        Some(parameters) => {
                            let solution = export_solution(configuration, parameters, &report.solution)?;
                            FieldShape::Spinor.write(path, extents, nrhs, &solution)
                        }
                        None => shape.write(path, extents, nrhs, &report.solution),
                    }?;
                }
                let bandwidth = command.bandwidth.then(|| {
                    let _span = span(Group::Host, || "measure the copy bandwidth");
                    backend.copy_bandwidth()
                });
                if let Some(Err(error)) = &bandwidth {
                    eprintln!("warning: failed to measure the copy bandwidth: {error}");
                }
                summary.converged(&report, bandwidth.and_then(Result::ok));
                summary.print(command.json)?;
                Ok(Outcome::Done)
            }
            Err(SolveError::Recurrence(SolverError::Stopped(Stopped(error)))) if error.is::<ReplayDifference>() => {
                differs(error, command.json)
            }
            Err(error) => {
                let Some(history) = error.history() else { return Err(error).context("failed to solve") };
                if command.batch.is_none() {
                    write_history(command.history.as_deref(), history)?;
                }
                summary.failed(&error, history);
                summary.print(command.json)?;
                eprintln!("error: {error}");
                Ok(Outcome::CheckFailed)
            }
        }
    }
}

/// Says where a solve differs from its record. An error of reading the record is none of the solve's.
fn differs(error: Box<dyn std::error::Error + Send + Sync>, json: bool) -> anyhow::Result<Outcome> {
    if !error.is::<ReplayDifference>() {
        return Err(anyhow::Error::from_boxed(error));
    }
    if json {
        print_json(&serde_json::json!({ "same_as_record": false, "difference": error.to_string() }))?;
    }
    eprintln!("error: {error}");
    Ok(Outcome::CheckFailed)
}
