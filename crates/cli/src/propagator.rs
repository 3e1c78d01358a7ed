//! `lanefield propagator`: the propagator of a quark from a point, twelve solves in one batch.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, bail};
use clap::Args;
use lanefield::io::npy::ArrayReal;
use lanefield::observable::{COLUMNS, PropagatorError, Quark, propagator, require_inside};
use lanefield::operator::{AnyModel, HopParameters};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Coordinate, Lattice};
use lanefield::reference::real::Precision;
use lanefield::solver::{Method, Preconditioning, Solve, SolveReport, SolverParams};
use lanefield_lab::Timed;
use serde::Serialize;

use super::Outcome;
use super::args::{BackendArgs, BackendTask, HopArgs, iterations, of_arithmetic};
use super::files::{read_configuration, require_distinct, require_writable, write_propagator};
use super::history::Progress;
use super::operator::{OnSpinors, OperatorArgs, check};
use super::output::{bits, facts, print, print_json};
use super::solve::tolerance;

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
    /// Stop each right-hand side when |r| ≤ tolerance · |b| [default: 1e-10 in f64, 1e-6 in f32]
    #[arg(long, value_name = "TOLERANCE", value_parser = tolerance)]
    tolerance: Option<f64>,
    /// Maximum number of iterations [default: 10000]
    #[arg(long, value_name = "N", value_parser = iterations)]
    max_iterations: Option<usize>,
    /// Precision of the solver
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = of_arithmetic())]
    precision: Precision,
    /// Solve M†M on all sites instead of the even-odd Schur complement
    #[arg(long)]
    unpreconditioned: bool,
    /// Write the propagator as a NumPy array (T, Z, Y, X, 4, 4, 3, 3): sink spin, source spin, sink colour, source colour; complex64
    /// for f32 and complex128 for f64
    #[arg(long, value_name = "P.npy")]
    output: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

/// A point of the lattice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Point(Coordinate);

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("invalid point '{text}': expected four whole numbers, as in point:0,0,0,0 for x,y,z,t");
        let numbers = text.strip_prefix("point:").ok_or_else(form)?.split(',');
        let numbers: Vec<usize> = numbers.map(|n| n.trim().parse().map_err(|_| form())).collect::<Result<_, _>>()?;
        Ok(Self(numbers.try_into().map_err(|_| form())?))
    }
}

impl Propagator {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let model = self.operator.model(&self.hop)?;
        require_distinct(&[("--output", &self.output)], &[("--config", &self.config)])?;
        require_writable(&self.output)?;
        match self.precision {
            Precision::F32 => self.with_precision::<f32>(model),
            _ => self.with_precision::<f64>(model),
        }
    }

    fn with_precision<R: Vectors + ArrayReal>(&self, model: AnyModel) -> anyhow::Result<Outcome> {
        check::<R>(&model, !self.unpreconditioned)?;
        let described = model.describe();
        match model {
            AnyModel::Wilson(wilson) => self.compute::<R, _>(wilson, described),
            AnyModel::Clover(clover) => self.compute::<R, _>(clover, described),
            AnyModel::DomainWall(wall) => self.compute::<R, _>(wall, described),
            // Not offered.
            _ => bail!("{described} does not act on spinors, and has no quark propagator"),
        }
    }

    fn compute<R: Vectors + ArrayReal, Q: Quark + Send + Sync>(
        &self,
        operator: Q,
        described: String,
    ) -> anyhow::Result<Outcome> {
        self.backend.limit_host_threads();
        let configuration = read_configuration(&self.config)?.configuration;
        require_inside(configuration.extents(), self.source.0)?;
        let auto = SolverParams::auto::<R>();
        let solve = Solve {
            operator,
            preconditioning: if self.unpreconditioned { Preconditioning::None } else { Preconditioning::EvenOdd },
            params: SolverParams {
                tolerance: self.tolerance.unwrap_or(auto.tolerance),
                max_iterations: self.max_iterations.unwrap_or(auto.max_iterations),
                ..auto
            },
            lanes: self.backend.lanes,
            method: Method::ConjugateGradients,
        };
        let hint = match solve.preconditioning {
            Preconditioning::EvenOdd => " for the even-odd solver (--unpreconditioned needs no parities)",
            Preconditioning::None => "",
        };
        let lattice = solve.lattice::<R>(&configuration);
        let lattice = lattice.with_context(|| format!("failed to lay out the lattice{hint}"))?;
        let backend = self.backend.open()?;
        let solve = Solve { lanes: backend.lanes(solve.lanes), ..solve };
        let lattice = solve.lattice::<R>(&configuration).unwrap_or(lattice);
        let summary = Summary::new::<R, Q>(self, backend.describe(), described, &solve, lattice, &configuration);
        let precision = std::marker::PhantomData::<R>;
        backend.run(Task { command: self, configuration: &configuration, solve, summary, precision })
    }
}

/// One batch, on any backend.
struct Task<'a, R, Q> {
    command: &'a Propagator,
    configuration: &'a Configuration,
    solve: Solve<Q>,
    summary: Summary,
    precision: std::marker::PhantomData<R>,
}

impl<R: Vectors + ArrayReal, Q: Quark + Send + Sync> BackendTask for Task<'_, R, Q> {
    type Output = anyhow::Result<Outcome>;

    fn run<B: Timed>(self, backend: &B) -> anyhow::Result<Outcome> {
        let Self { command, configuration, solve, mut summary, .. } = self;
        let progress = Progress::new(solve.params.tolerance);
        let watch = |iteration: usize, c: f64| progress.show(iteration, c);
        let computed = propagator::<R, B, Q>(backend, configuration, command.source.0, &solve, watch);
        progress.end();
        match computed {
            Ok(report) => {
                write_propagator(&command.output, configuration.extents(), &report.solution)?;
                summary.converged(&report);
                summary.print(command.json)?;
                Ok(Outcome::Done)
            }
            Err(PropagatorError::Solve(error)) if error.history().is_some() => {
                summary.failure = Some(error.to_string());
                summary.print(command.json)?;
                eprintln!("error: {error}");
                Ok(Outcome::CheckFailed)
            }
            Err(error) => Err(error).context("failed to compute the propagator"),
        }
    }
}

/// What was computed, and how it went. As JSON, these fields; what a batch that did not converge cannot tell is null or empty.
#[derive(Serialize)]
struct Summary {
    /// What it ran on.
    device: String,
    /// The operator and its parameters.
    operator: String,
    /// Extents x, y, z, t.
    lattice: [usize; 4],
    /// Bytes of a vector.
    lane_bytes: usize,
    /// The cut into lanes, x, y, z, t.
    virtual_nodes: [usize; 4],
    /// f32 or f64.
    precision: &'static str,
    /// Reals stored per link.
    reconstruct: usize,
    /// The order in which the hop adds its legs.
    legs: String,
    /// Boundary phases in x,y,z,t.
    boundary: String,
    /// The point, x, y, z, t.
    source: [usize; 4],
    /// `even-odd` or `none`.
    preconditioning: &'static str,
    tolerance: f64,
    max_iterations: usize,
    /// Average plaquette of the configuration.
    plaquette: f64,
    converged: bool,
    /// Why it did not converge.
    failure: Option<String>,
    /// Each solve, number 3·spin + colour of the source.
    rhs: Vec<Rhs>,
    /// Why the true residuals could not be computed, if they could not; the propagator is written all the same.
    unchecked: Option<String>,
    /// Wall time of conjugate gradients.
    seconds: Option<f64>,
    gflop_per_second: Option<f64>,
    /// With each kernel's inputs and outputs counted once, in 10⁹ bytes.
    gb_per_second: Option<f64>,
}

#[derive(Serialize)]
struct Rhs {
    spin: usize,
    colour: usize,
    iterations: usize,
    /// The last |r|² of the history.
    residual: Option<f64>,
    /// Its 16 hex digits.
    residual_bits: Option<String>,
    /// |b − Aψ| / |b| of the system that conjugate gradients solved, in f64.
    true_residual: f64,
    /// |η − Mψ| / |η| on all sites, in f64.
    solution_residual: f64,
}

impl Summary {
    fn new<R: Vectors, Q>(
        command: &Propagator,
        device: String,
        operator: String,
        solve: &Solve<Q>,
        lattice: Lattice,
        configuration: &Configuration,
    ) -> Self {
        let HopParameters { boundary, links, legs } = command.hop.parameters();
        Self {
            device,
            operator,
            lattice: lattice.extents().as_array(),
            lane_bytes: lattice.width().bytes(),
            virtual_nodes: lattice.nodes().as_array(),
            precision: R::NAME,
            reconstruct: links.reals(),
            legs: legs.to_string(),
            boundary: boundary.to_string(),
            source: command.source.0,
            preconditioning: match solve.preconditioning {
                Preconditioning::EvenOdd => "even-odd",
                Preconditioning::None => "none",
            },
            tolerance: solve.params.tolerance,
            max_iterations: solve.params.max_iterations,
            plaquette: configuration.plaquette(),
            converged: false,
            failure: None,
            rhs: Vec::new(),
            unchecked: None,
            seconds: None,
            gflop_per_second: None,
            gb_per_second: None,
        }
    }

    fn converged<R>(&mut self, report: &SolveReport<R>) {
        self.converged = true;
        self.unchecked = report.unchecked.clone();
        self.rhs = report
            .columns
            .iter()
            .enumerate()
            .map(|(k, rhs)| {
                let residual = rhs.info.history.last().copied();
                Rhs {
                    spin: k / 3,
                    colour: k % 3,
                    iterations: rhs.info.iterations,
                    residual,
                    residual_bits: residual.map(bits),
                    true_residual: rhs.true_residual,
                    solution_residual: rhs.solution_residual,
                }
            })
            .collect();
        self.seconds = Some(report.seconds);
        self.gflop_per_second = Some(report.flops as f64 / report.seconds / 1e9);
        self.gb_per_second = Some(report.bytes as f64 / report.seconds / 1e9);
    }

    fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let dots = |numbers: [usize; 4]| numbers.map(|n| n.to_string()).join(".");
        let preconditioned = if self.preconditioning == "none" { "not preconditioned" } else { self.preconditioning };
        let mut rows = vec![
            ("device", self.device.clone()),
            ("operator", format!("{}, boundary {}, reconstruct {}", self.operator, self.boundary, self.reconstruct)),
            (
                "lattice",
                format!("{}, {}-byte lanes cut {}", dots(self.lattice), self.lane_bytes, dots(self.virtual_nodes)),
            ),
            ("plaquette", self.plaquette.to_string()),
            ("source", format!("x,y,z,t = {}", self.source.map(|n| n.to_string()).join(","))),
            (
                "solver",
                format!(
                    "conjugate gradients in {}, {COLUMNS} right-hand sides, {preconditioned}, tolerance {:e}",
                    self.precision, self.tolerance
                ),
            ),
        ];
        if self.converged {
            let largest = |of: fn(&Rhs) -> f64| self.rhs.iter().map(of).fold(0.0, f64::max);
            let iterations = self.rhs.iter().map(|rhs| rhs.iterations);
            let (least, most) = (iterations.clone().min().unwrap_or(0), iterations.clone().max().unwrap_or(0));
            rows.push(("iterations", format!("{least} to {most} per right-hand side")));
            match &self.unchecked {
                Some(why) => rows.push(("not checked", format!("no true residual could be computed: {why}"))),
                None => {
                    rows.push(("true residual", format!("{:.3e} at most", largest(|rhs| rhs.true_residual))));
                    rows.push(("|η − Mψ| / |η|", format!("{:.3e} at most", largest(|rhs| rhs.solution_residual))));
                }
            }
        } else {
            rows.push(("iterations", "not converged".to_owned()));
        }
        let mut row = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
        row("time", self.seconds.map(|s| format!("{s:.3} s")));
        row("speed", self.gflop_per_second.map(|rate| format!("{rate:.2} GFlop/s")));
        row("memory traffic", self.gb_per_second.map(|rate| format!("{rate:.2} GB/s")));
        print(facts(rows))
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
