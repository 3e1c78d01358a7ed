//! `lanefield solve`: the Wilson equation by conjugate gradients, with the residual history that can be compared as integers.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use lanefield::backend::Backend;
use lanefield::io::atomic::write_atomically;
use lanefield::io::npy::ArrayReal;
use lanefield::operator::WilsonParameters;
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Checkerboard, Lattice, LatticeOptions};
use lanefield::solver::{self, CgParams, Method, Preconditioning, SolveError, SolveReport, WilsonSolve};
use num_complex::Complex;
use serde::Serialize;

use super::Outcome;
use super::args::{BackendArgs, BackendTask, HopArgs, Precision, SumArgs, check_diagonal, mass};
use super::files::{require_distinct, require_writable, write_spinor};
use super::output::{bits, facts, print, print_json, with_bits};
use super::source::{InputArgs, rounded};

/// Solve M ψ = η by conjugate gradients, with the same residual history to the last bit on every device.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 8.8.8.8 --seed 1 --output weak.nersc
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --history history.csv
  lanefield solve --config weak.nersc --source point:0,0,0,0,0,0 --mass 0.1 \\
      --precision f32 --output x.npy --device cpu
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --tolerance 1e-8 --unpreconditioned --json")]
pub struct Solve {
    /// The operator M
    #[arg(long, value_name = "OPERATOR", default_value = "wilson")]
    operator: Operator,
    #[command(flatten)]
    input: InputArgs,
    /// Bare quark mass in lattice units
    #[arg(long, value_name = "M", value_parser = mass, allow_negative_numbers = true)]
    mass: f64,
    #[command(flatten)]
    hop: HopArgs,
    /// Stop when |r| ≤ tolerance · |b| [default: 1e-10 in f64, 1e-6 in f32]
    #[arg(long, value_name = "TOLERANCE", value_parser = tolerance)]
    tolerance: Option<f64>,
    /// Give up after so many iterations [default: 10000]
    #[arg(long, value_name = "N", value_parser = max_iterations)]
    max_iterations: Option<usize>,
    /// Precision of the solver
    #[arg(long, value_name = "PRECISION", default_value = "f64")]
    precision: Precision,
    /// Solve M†M on all sites instead of the even-odd Schur complement
    #[arg(long)]
    unpreconditioned: bool,
    /// Write the solution as a NumPy array (T, Z, Y, X, 4, 3), complex64 for f32 and complex128 for f64
    #[arg(long, value_name = "X.npy")]
    output: Option<PathBuf>,
    /// Write the history as CSV: iteration, squared residual |r|², and the 16 hex digits of that double; also when the solver does
    /// not converge
    #[arg(long, value_name = "H.csv")]
    history: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sums: SumArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operator {
    /// The Wilson operator, hop + (4 + mass)
    Wilson,
}

pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| (1e-100..1.0).contains(value));
    value.ok_or_else(|| format!("'{text}' is no tolerance: give a number from 1e-100 to below 1, as 1e-10"))
}

pub(super) fn max_iterations(text: &str) -> Result<usize, String> {
    let value = text.parse().ok().filter(|&value| value > 0);
    value.ok_or_else(|| format!("'{text}' is no number of iterations: give a whole number of at least 1"))
}

impl Solve {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let outputs = [("--output", &self.output), ("--history", &self.history)];
        let outputs: Vec<(&str, &Path)> =
            outputs.iter().filter_map(|(name, path)| Some((*name, path.as_deref()?))).collect();
        require_distinct(&outputs, &self.input.files())?;
        for (_, path) in outputs {
            require_writable(path)?;
        }
        match (self.operator, self.precision) {
            (Operator::Wilson, Precision::F32) => self.solve::<f32>(),
            (Operator::Wilson, Precision::F64) => self.solve::<f64>(),
        }
    }

    fn solve<R: Vectors + ArrayReal>(&self) -> anyhow::Result<Outcome> {
        let diagonal = check_diagonal::<R>(self.mass)?;
        ensure!(
            self.unpreconditioned || R::from_f64(1.0 / diagonal).to_f64().is_finite(),
            "mass {} makes the diagonal 4 + mass {diagonal:e}, which even-odd preconditioning divides by: use \
             --unpreconditioned",
            self.mass
        );
        self.backend.limit_host_threads();
        let (configuration, eta) = self.input.read()?;
        // Only to refuse what does not fit; the solver rounds for itself.
        rounded::<R>(&eta)?;
        let auto = CgParams::auto::<R>();
        let solve = WilsonSolve {
            operator: WilsonParameters { mass: self.mass, hop: self.hop.parameters() },
            preconditioning: if self.unpreconditioned { Preconditioning::None } else { Preconditioning::EvenOdd },
            cg: CgParams {
                tolerance: self.tolerance.unwrap_or(auto.tolerance),
                max_iterations: self.max_iterations.unwrap_or(auto.max_iterations),
                patience: auto.patience,
                sum: self.sums.sum(size_of::<Complex<f64>>()).context("failed to plan the sums")?,
            },
            lanes: self.backend.lanes,
            method: Method::ConjugateGradients,
        };
        let lattice = lay_out::<R>(&configuration, &solve)?;
        let backend = self.backend.open()?;
        let device = backend.describe();
        backend.run(Task::<R> {
            command: self,
            configuration: &configuration,
            eta: &eta,
            solve,
            lattice,
            device,
            precision: std::marker::PhantomData,
        })
    }
}

/// The lattice as the solver will lay it out, so that one that does not fit is refused before a device is opened.
fn lay_out<R: Vectors>(configuration: &Configuration, solve: &WilsonSolve) -> anyhow::Result<Lattice> {
    let checkerboard = match solve.preconditioning {
        Preconditioning::EvenOdd => Checkerboard::RedBlack,
        Preconditioning::None => Checkerboard::FullOnly,
    };
    let options = LatticeOptions { lanes: solve.lanes, nodes: None, checkerboard };
    let lattice = Lattice::new(configuration.extents(), R::COMPLEX, options);
    let hint = match checkerboard {
        Checkerboard::RedBlack => " for the even-odd solver (--unpreconditioned needs no parities)",
        Checkerboard::FullOnly => "",
    };
    lattice.with_context(|| format!("failed to lay out the lattice{hint}"))
}

/// One solve, on any backend.
struct Task<'a, R> {
    command: &'a Solve,
    configuration: &'a Configuration,
    eta: &'a [Complex<f64>],
    solve: WilsonSolve,
    lattice: Lattice,
    device: String,
    precision: std::marker::PhantomData<R>,
}

impl<R: Vectors + ArrayReal> BackendTask for Task<'_, R> {
    type Output = anyhow::Result<Outcome>;

    fn run<B: Backend>(self, backend: &B) -> anyhow::Result<Outcome> {
        let Self { command, configuration, eta, solve, lattice, device, .. } = self;
        let progress = Progress::new(solve.cg.tolerance);
        let solved =
            solver::solve::<R, B, _>(backend, configuration, eta, &solve, |iteration, c| progress.show(iteration, c));
        progress.end();
        let mut summary = Summary::new::<R>(device, &solve, lattice, configuration.plaquette());
        match solved {
            Ok(report) => {
                write_history(command.history.as_deref(), &report.cg().history)?;
                if let Some(path) = &command.output {
                    write_spinor(path, configuration.extents(), &report.solution)?;
                }
                let bandwidth = backend.copy_bandwidth();
                if let Err(error) = &bandwidth {
                    eprintln!("warning: failed to measure the copy bandwidth: {error}");
                }
                summary.converged(&report, bandwidth.ok());
                summary.print(command.json)?;
                Ok(Outcome::Done)
            }
            Err(error) => {
                let Some(history) = error.history() else { return Err(error).context("failed to solve") };
                write_history(command.history.as_deref(), history)?;
                summary.failed(&error, history);
                summary.print(command.json)?;
                eprintln!("error: {error}");
                Ok(Outcome::CheckFailed)
            }
        }
    }
}

/// Writes `iteration,residual,residual_bits`. The bytes depend on the history alone.
fn write_history(path: Option<&Path>, history: &[f64]) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    write_atomically(path, |writer| {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(["iteration", "residual", "residual_bits"])?;
        for (iteration, &c) in history.iter().enumerate() {
            csv.write_record([iteration.to_string(), format!("{c:e}"), bits(c)])?;
        }
        csv.flush()
    })?;
    Ok(())
}

/// A bar on a terminal's standard error: the digits of the residual that are won, of those that are wanted.
pub(super) struct Progress {
    bar: ProgressBar,
    tolerance: f64,
    start: std::cell::Cell<f64>,
}

impl Progress {
    const STEPS: u64 = 1000;

    pub(super) fn new(tolerance: f64) -> Self {
        let bar = ProgressBar::new(Self::STEPS);
        if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} [{wide_bar}] {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, tolerance, start: std::cell::Cell::new(0.0) }
    }

    /// From a zero guess the first |r|² is |b|².
    pub(super) fn show(&self, iteration: usize, c: f64) {
        if iteration == 0 {
            self.start.set(c);
        }
        let relative = (c / self.start.get()).sqrt();
        let share = (relative.ln() / self.tolerance.ln()).clamp(0.0, 1.0);
        self.bar.set_position((share * Self::STEPS as f64) as u64);
        self.bar.set_message(format!("iteration {iteration}, |r|/|b| {relative:.2e}"));
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// What was solved, and how it went. As JSON, these fields; what a solver that did not converge cannot tell is null.
#[derive(Serialize)]
struct Summary {
    /// What it ran on.
    device: String,
    /// `wilson`.
    operator: &'static str,
    /// Extents x, y, z, t.
    lattice: [usize; 4],
    /// Bytes of a vector.
    lane_bytes: usize,
    /// The cut into lanes, x, y, z, t.
    virtual_nodes: [usize; 4],
    /// f32 or f64.
    precision: &'static str,
    /// Reals stored a link.
    links: usize,
    /// The order in which the hop adds its legs.
    legs: String,
    /// Boundary phases in x,y,z,t.
    boundary: String,
    mass: f64,
    /// `even-odd` or `none`.
    preconditioning: &'static str,
    tolerance: f64,
    max_iterations: usize,
    /// Average plaquette of the configuration.
    plaquette: f64,
    converged: bool,
    /// Why it did not converge.
    failure: Option<String>,
    iterations: usize,
    /// The last |r|² of the history; null where the source was not finite.
    residual: Option<f64>,
    /// Its 16 hex digits.
    residual_bits: Option<String>,
    /// |b − Aψ| / |b| of the system that conjugate gradients solved, in f64.
    true_residual: Option<f64>,
    /// |η − Mψ| / |η| on all sites, in f64.
    solution_residual: Option<f64>,
    /// Wall time of conjugate gradients.
    seconds: Option<f64>,
    gflop_per_second: Option<f64>,
    /// With each kernel's inputs and outputs counted once, in 10⁹ bytes.
    gb_per_second: Option<f64>,
    /// Copy bandwidth measured in this run, read plus written.
    copy_gb_per_second: Option<f64>,
    /// The ratio of the two; above 1 where fields stay in a cache.
    share_of_copy_bandwidth: Option<f64>,
}

impl Summary {
    fn new<R: Vectors>(device: String, solve: &WilsonSolve, lattice: Lattice, plaquette: f64) -> Self {
        let hop = solve.operator.hop;
        Self {
            device,
            operator: "wilson",
            lattice: lattice.extents().as_array(),
            lane_bytes: lattice.width().bytes(),
            virtual_nodes: lattice.nodes().as_array(),
            precision: R::NAME,
            links: hop.links.reals(),
            legs: hop.legs.to_string(),
            boundary: hop.boundary.to_string(),
            mass: solve.operator.mass,
            preconditioning: match solve.preconditioning {
                Preconditioning::EvenOdd => "even-odd",
                Preconditioning::None => "none",
            },
            tolerance: solve.cg.tolerance,
            max_iterations: solve.cg.max_iterations,
            plaquette,
            converged: false,
            failure: None,
            iterations: 0,
            residual: None,
            residual_bits: None,
            true_residual: None,
            solution_residual: None,
            seconds: None,
            gflop_per_second: None,
            gb_per_second: None,
            copy_gb_per_second: None,
            share_of_copy_bandwidth: None,
        }
    }

    fn set_history(&mut self, history: &[f64]) {
        self.iterations = history.len().saturating_sub(1);
        self.residual = history.last().copied();
        self.residual_bits = self.residual.map(bits);
    }

    fn converged<R>(&mut self, report: &SolveReport<R>, bandwidth: Option<f64>) {
        self.converged = true;
        self.set_history(&report.cg().history);
        self.true_residual = Some(report.columns[0].true_residual);
        self.solution_residual = Some(report.columns[0].solution_residual);
        self.seconds = Some(report.seconds);
        // A source of zero is solved in no iteration, and has no rate.
        if report.cg().iterations > 0 {
            let rate = report.bytes as f64 / report.seconds;
            self.gflop_per_second = Some(report.flops as f64 / report.seconds / 1e9);
            self.gb_per_second = Some(rate / 1e9);
            self.share_of_copy_bandwidth = bandwidth.map(|bandwidth| rate / bandwidth);
        }
        self.copy_gb_per_second = bandwidth.map(|bandwidth| bandwidth / 1e9);
    }

    fn failed(&mut self, error: &SolveError, history: &[f64]) {
        self.failure = Some(error.to_string());
        self.set_history(history);
        if let SolveError::TrueResidual { true_residual, .. } = error {
            self.true_residual = Some(*true_residual);
        }
    }

    fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let dots = |numbers: [usize; 4]| numbers.map(|n| n.to_string()).join(".");
        let preconditioned = if self.preconditioning == "none" { "not preconditioned" } else { self.preconditioning };
        let mut rows = vec![
            ("device", self.device.clone()),
            (
                "operator",
                format!(
                    "{}, mass {}, boundary {}, {} reals a link",
                    self.operator, self.mass, self.boundary, self.links
                ),
            ),
            (
                "lattice",
                format!("{}, {}-byte lanes cut {}", dots(self.lattice), self.lane_bytes, dots(self.virtual_nodes)),
            ),
            ("plaquette", self.plaquette.to_string()),
            (
                "solver",
                format!("conjugate gradients in {}, {preconditioned}, tolerance {:e}", self.precision, self.tolerance),
            ),
            ("iterations", format!("{}{}", self.iterations, if self.converged { "" } else { ", not converged" })),
        ];
        let mut row = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
        row("last |r|²", self.residual.map(with_bits));
        row("true residual", self.true_residual.map(|r| format!("{r:.3e} of the system that was solved")));
        row("|η − Mψ| / |η|", self.solution_residual.map(|r| format!("{r:.3e}")));
        row("time", self.seconds.map(|s| format!("{s:.3} s")));
        row("speed", self.gflop_per_second.map(|rate| format!("{rate:.2} GFlop/s")));
        row(
            "memory traffic",
            self.gb_per_second.map(|rate| match (self.share_of_copy_bandwidth, self.copy_gb_per_second) {
                (Some(share), Some(copy)) => {
                    format!("{rate:.2} GB/s, {:.0}% of the copy bandwidth, {copy:.2} GB/s", 100.0 * share)
                }
                _ => format!("{rate:.2} GB/s"),
            }),
        );
        print(facts(rows))
    }
}
