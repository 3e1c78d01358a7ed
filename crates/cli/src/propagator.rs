//! `lanefield propagator`: the propagator of a quark from a point, twelve solves in one batch.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use lanefield::backend::Backend;
use lanefield::io::npy::ArrayReal;
use lanefield::observable::{COLUMNS, PropagatorError, PropagatorReport, Quark, propagator, require_inside};
use lanefield::operator::HopParameters;
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Coordinate, Lattice};
use lanefield::solver::{Method, Preconditioning, Solve, SolverParams};
use serde::Serialize;

use super::Outcome;
use super::args::{BackendArgs, BackendTask, HopArgs, Precision};
use super::files::{read_configuration, require_distinct, require_writable, write_propagator};
use super::history::Progress;
use super::operator::{AnyModel, OperatorArgs, OperatorName};
use super::output::{bits, facts, print, print_json};
use super::solve::{max_iterations, tolerance};

/// Compute the propagator of a quark from a point: M S = δ for each spin and colour of the source, in one batch.
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
    /// The point from which the quark goes
    #[arg(long, value_name = "point:x,y,z,t")]
    source: Point,
    /// The operator M: wilson, clover, dwf or mobius
    #[arg(long, value_name = "OPERATOR")]
    operator: OperatorName,
    #[command(flatten)]
    parameters: OperatorArgs,
    #[command(flatten)]
    hop: HopArgs,
    /// Stop each column when |r| ≤ tolerance · |b| [default: 1e-10 in f64, 1e-6 in f32]
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
        let form = || format!("'{text}' is no point: give four whole numbers, as in point:0,0,0,0 for x,y,z,t");
        let numbers = text.strip_prefix("point:").ok_or_else(form)?.split(',');
        let numbers: Vec<usize> = numbers.map(|n| n.trim().parse().map_err(|_| form())).collect::<Result<_, _>>()?;
        Ok(Self(numbers.try_into().map_err(|_| form())?))
    }
}

impl Propagator {
    pub fn run(self) -> anyhow::Result<Outcome> {
        if self.operator == OperatorName::Laplace {
            bail!("--operator laplace has no spin, and no quark propagator: take wilson, clover, dwf or mobius");
        }
        let model = self.parameters.model(self.operator, &self.hop)?;
        require_distinct(&[("--output", &self.output)], &[("--config", &self.config)])?;
        require_writable(&self.output)?;
        match self.precision {
            Precision::F32 => self.with_precision::<f32>(model),
            Precision::F64 => self.with_precision::<f64>(model),
        }
    }

    fn with_precision<R: Vectors + ArrayReal>(&self, model: AnyModel) -> anyhow::Result<Outcome> {
        model.check::<R>()?;
        let described = model.describe();
        match model {
            AnyModel::Wilson(wilson) => {
                ensure!(
                    self.unpreconditioned || R::from_f64(1.0 / wilson.diagonal()).to_f64().is_finite(),
                    "mass {} makes the diagonal 4 + mass {:e}, which even-odd preconditioning divides by: use \
                     --unpreconditioned",
                    wilson.mass,
                    wilson.diagonal()
                );
                self.compute::<R, _>(wilson, described)
            }
            AnyModel::Clover(clover) => self.compute::<R, _>(clover, described),
            AnyModel::DomainWall(wall) => self.compute::<R, _>(wall, described),
            AnyModel::Laplace(_) => bail!("{described} has no quark propagator"),
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

    fn run<B: Backend>(self, backend: &B) -> anyhow::Result<Outcome> {
        let Self { command, configuration, solve, mut summary, .. } = self;
        let progress = Progress::new(solve.params.tolerance);
        let watch = |iteration: usize, c: f64| progress.show(iteration, c);
        let computed = propagator::<R, B, Q>(backend, configuration, command.source.0, &solve, watch);
        progress.end();
        match computed {
            Ok(report) => {
                write_propagator(&command.output, configuration.extents(), &report.propagator)?;
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
    /// Reals stored a link.
    links: usize,
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
    /// Each solve, column 3·spin + colour of the source.
    columns: Vec<Column>,
    /// Wall time of conjugate gradients.
    seconds: Option<f64>,
    gflop_per_second: Option<f64>,
    /// With each kernel's inputs and outputs counted once, in 10⁹ bytes.
    gb_per_second: Option<f64>,
}

#[derive(Serialize)]
struct Column {
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
            links: links.reals(),
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
            columns: Vec::new(),
            seconds: None,
            gflop_per_second: None,
            gb_per_second: None,
        }
    }

    fn converged<R>(&mut self, report: &PropagatorReport<R>) {
        self.converged = true;
        self.columns = report
            .columns
            .iter()
            .enumerate()
            .map(|(k, column)| {
                let residual = column.info.history.last().copied();
                Column {
                    spin: k / 3,
                    colour: k % 3,
                    iterations: column.info.iterations,
                    residual,
                    residual_bits: residual.map(bits),
                    true_residual: column.true_residual,
                    solution_residual: column.solution_residual,
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
            ("operator", format!("{}, boundary {}, {} reals a link", self.operator, self.boundary, self.links)),
            (
                "lattice",
                format!("{}, {}-byte lanes cut {}", dots(self.lattice), self.lane_bytes, dots(self.virtual_nodes)),
            ),
            ("plaquette", self.plaquette.to_string()),
            ("source", format!("x,y,z,t = {}", self.source.map(|n| n.to_string()).join(","))),
            (
                "solver",
                format!(
                    "conjugate gradients in {}, {COLUMNS} columns, {preconditioned}, tolerance {:e}",
                    self.precision, self.tolerance
                ),
            ),
        ];
        if self.converged {
            let largest = |of: fn(&Column) -> f64| self.columns.iter().map(of).fold(0.0, f64::max);
            let iterations = self.columns.iter().map(|column| column.iterations);
            let (least, most) = (iterations.clone().min().unwrap_or(0), iterations.clone().max().unwrap_or(0));
            rows.push(("iterations", format!("{least} to {most} a column")));
            rows.push(("true residual", format!("{:.3e} at most", largest(|column| column.true_residual))));
            rows.push(("|η − Mψ| / |η|", format!("{:.3e} at most", largest(|column| column.solution_residual))));
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
