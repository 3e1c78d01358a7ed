//! What `solve` and `propagator` share: the arguments of a solver, and the report on a solve.

use lanefield::solver::{SolveReport, SolvedRhs};

use crate::args::{HopArgs, iterations, of_arithmetic};
use crate::numbers::{bits, with_bits};
use crate::output::Layout;
use crate::prelude::*;

/// When a solver stops, and which system it solves.
#[derive(Args)]
#[command(next_help_heading = "Solver")]
pub struct SolverArgs {
    /// Stop each right-hand side when |r| ≤ tolerance · |b| [default: 1e-10 in f64, 1e-6 in f32]
    #[arg(long, value_name = "TOLERANCE", value_parser = tolerance, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Maximum number of iterations [default: 10000]
    #[arg(long, value_name = "N", value_parser = iterations)]
    max_iterations: Option<usize>,
    /// Precision of the solver
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = of_arithmetic())]
    pub precision: Precision,
    /// Solve M on all sites instead of the even-odd Schur complement: with conjugate gradients, its normal equations
    #[arg(long)]
    pub unpreconditioned: bool,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| (1e-100..1.0).contains(value));
    value.ok_or_else(|| format!("invalid tolerance '{text}': expected a number from 1e-100 to below 1, such as 1e-10"))
}

impl SolverArgs {
    /// The defaults in f64.
    pub fn of_precision_f64(unpreconditioned: bool) -> Self {
        Self { tolerance: None, max_iterations: None, precision: Precision::F64, unpreconditioned }
    }

    pub fn solve<R: Vectors, M>(&self, operator: M, method: Method, lanes: LaneChoice) -> Solve<M> {
        let auto = SolverParams::auto::<R>();
        Solve {
            operator,
            preconditioning: if self.unpreconditioned { Preconditioning::None } else { Preconditioning::EvenOdd },
            method,
            params: SolverParams {
                tolerance: self.tolerance.unwrap_or(auto.tolerance),
                max_iterations: self.max_iterations.unwrap_or(auto.max_iterations),
                ..auto
            },
            lanes,
        }
    }
}

/// The lattice as the solver will lay it out. A lattice that does not fit is refused before a device is opened.
pub fn lay_out<R: Vectors, M>(solve: &Solve<M>, configuration: &Configuration) -> anyhow::Result<Lattice> {
    let hint = match solve.preconditioning {
        Preconditioning::EvenOdd => " for the even-odd solver (--unpreconditioned needs no parities)",
        Preconditioning::None => "",
    };
    solve.lattice::<R>(configuration).with_context(|| format!("failed to lay out the lattice{hint}"))
}

/// Reports that the inputs have changed since the solve began.
pub fn changed_inputs() -> Outcome {
    say!(
        "error: the configuration or the source changed during the solve: memory lost bits, or a file was written meanwhile; the solution is \
         written, but may be wrong"
    );
    Outcome::CheckFailed
}

/// The fields of a solve. As JSON, these fields.
#[derive(Default, Serialize)]
pub struct Fields {
    #[serde(flatten)]
    layout: Layout,
    pub precision: &'static str,
    reconstruct: usize,
    /// The order in which the hop adds its legs.
    legs: String,
    /// Boundary phases in x,y,z,t.
    boundary: String,
}

/// How the solver was set, and whether it converged. As JSON, these fields.
#[derive(Default, Serialize)]
pub struct Course {
    /// `even-odd` or `none`.
    preconditioning: &'static str,
    tolerance: f64,
    max_iterations: usize,
    plaquette: f64,
    pub converged: bool,
    pub failure: Option<String>,
    /// Why the true residuals could not be computed, if so. The solution is written all the same.
    unchecked: Option<String>,
}

/// The time of a solve and its rates; null if it did not converge. As JSON, these fields.
#[derive(Serialize, Default)]
pub struct Rates {
    /// Wall time of the recurrence in this run, without that of building kernels.
    pub seconds: Option<f64>,
    pub building_seconds: Option<f64>,
    pub flops_per_second: Option<f64>,
    /// Counts the inputs and outputs of each kernel once.
    pub bytes_per_second: Option<f64>,
}

/// One right-hand side. As JSON, these fields.
#[derive(Serialize)]
pub struct RhsSummary {
    pub iterations: usize,
    /// The last |r|² of the history.
    residual_squared: Option<f64>,
    residual_squared_bits: Option<String>,
    /// |r| / |b| of the recurrence at its end.
    relative_residual: f64,
    /// |b − Aψ| / |b| of the system that the solver solved, in f64.
    pub true_residual: f64,
    /// |η − Mψ| / |η| on all sites, in f64.
    pub solution_residual: f64,
    /// For the solve, the source was multiplied by 2 to this power, and so each |r|² by 4 to this power.
    source_scale: i32,
}

/// A line of a table: a name and a value.
pub type Fact = (&'static str, String);

impl Fields {
    pub fn new<R: Vectors>(lattice: Lattice, hop: &HopArgs) -> Self {
        let HopParameters { boundary, links, legs } = hop.parameters();
        Self {
            layout: lattice.into(),
            precision: R::NAME,
            reconstruct: links.reals(),
            legs: legs.to_string(),
            boundary: boundary.to_string(),
        }
    }

    /// The lattice and its boundary, for a figure.
    pub fn describe(&self) -> String {
        format!("{}, boundary {}, {}", self.layout.extents(), self.boundary, self.precision)
    }

    /// The device, the operator in words, and these fields, as text.
    pub fn facts(&self, device: &str, operator: &str, course: &Course) -> Vec<Fact> {
        vec![
            ("device", device.to_owned()),
            ("operator", format!("{operator}, boundary {}, reconstruct {}", self.boundary, self.reconstruct)),
            ("lattice", self.layout.with("")),
            ("plaquette", with_bits(course.plaquette)),
        ]
    }
}

impl Course {
    /// For a solve on a configuration with that average plaquette.
    pub fn new<M>(solve: &Solve<M>, plaquette: f64) -> Self {
        Self {
            preconditioning: solve.preconditioning.name(),
            tolerance: solve.params.tolerance,
            max_iterations: solve.params.max_iterations,
            plaquette,
            ..Self::default()
        }
    }

    pub fn converge<R>(&mut self, report: &SolveReport<R>) {
        self.converged = true;
        self.unchecked.clone_from(&report.unchecked);
    }

    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    pub fn is_checked(&self) -> bool {
        self.converged && self.unchecked.is_none()
    }

    /// The outcome of a run. A solution that could not be checked does not count as right.
    pub fn outcome(&self) -> Outcome {
        let Some(why) = &self.unchecked else { return Outcome::Done };
        say!("error: the solution is written, but it could not be checked, so it may be wrong: {why}");
        Outcome::CheckFailed
    }

    /// Unusual facts about the solve and its right-hand sides, as text.
    pub fn facts<'a>(&'a self, rhs: impl Iterator<Item = &'a RhsSummary>) -> impl Iterator<Item = Fact> {
        let scales: Vec<_> = rhs.map(|rhs| rhs.source_scale).collect();
        let scale = scales.iter().any(|&scale| scale != 0).then(|| {
            let powers: Vec<_> = scales.iter().map(|scale| format!("2^{scale}")).collect();
            format!(
                "multiplied by {} for the solve, because |b|² is out of range; |r|² is that of the multiplied source",
                powers.join(", ")
            )
        });
        let unchecked = self.unchecked.as_ref().map(|why| format!("no true residual could be computed: {why}"));
        let facts = [("source", scale), ("not checked", unchecked)];
        facts.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }

    /// The settings of a solver, as text.
    pub fn describe(&self, solver: &str) -> String {
        let preconditioned = if self.preconditioning == "none" { "not preconditioned" } else { self.preconditioning };
        format!("{solver}, {preconditioned}, tolerance {:e}", self.tolerance)
    }
}

impl Rates {
    pub fn new((seconds, building): (f64, f64), flops: u64, bytes: u64) -> Self {
        let rate = |number: u64| (seconds > 0.0).then_some(number as f64 / seconds);
        Self {
            seconds: Some(seconds),
            building_seconds: Some(building),
            flops_per_second: rate(flops),
            bytes_per_second: rate(bytes),
        }
    }

    /// The rates as text. `beside` follows the memory traffic.
    pub fn facts(&self, beside: &str) -> impl Iterator<Item = Fact> {
        let built = self.building_seconds.filter(|&seconds| seconds > 0.0);
        let built = built.map_or_else(String::new, |s| format!(", and {s:.1} s for building kernels"));
        let time = self.seconds.map(|s| ("time", format!("{s:.3} s{built}")));
        let speed = self.flops_per_second.map(|rate| ("speed", format!("{:.2} GFlop/s", rate / 1e9)));
        let traffic = self.bytes_per_second.map(|rate| ("memory traffic", format!("{:.2} GB/s{beside}", rate / 1e9)));
        [time, speed, traffic].into_iter().flatten()
    }
}

impl RhsSummary {
    fn new(
        iterations: usize,
        residual_squared: Option<f64>,
        [relative_residual, true_residual, solution_residual]: [f64; 3],
        source_scale: i32,
    ) -> Self {
        let residual_squared_bits = residual_squared.map(bits);
        Self {
            iterations,
            residual_squared,
            residual_squared_bits,
            relative_residual,
            true_residual,
            solution_residual,
            source_scale,
        }
    }

    pub fn to_words(&self) -> [u64; 6] {
        // Each has a history, unless the source is not finite.
        let residual_squared = self.residual_squared.unwrap_or(f64::NAN);
        let residuals = [residual_squared, self.relative_residual, self.true_residual, self.solution_residual];
        let [squared, relative, of_system, of_solution] = residuals.map(f64::to_bits);
        [self.iterations as u64, i64::from(self.source_scale) as u64, squared, relative, of_system, of_solution]
    }

    /// From the words of another rank.
    pub fn of_words(&[iterations, source_scale, ref residuals @ ..]: &[u64; 6]) -> Self {
        let [squared, relative, of_system, of_solution] = residuals.map(f64::from_bits);
        let squared = Some(squared).filter(|squared| !squared.is_nan());
        Self::new(iterations as usize, squared, [relative, of_system, of_solution], source_scale as i64 as i32)
    }
}

impl From<&SolvedRhs> for RhsSummary {
    fn from(rhs: &SolvedRhs) -> Self {
        let SolvedRhs { info, true_residual, solution_residual, source_scale } = rhs;
        let residuals = [info.relative_residual(), *true_residual, *solution_residual];
        Self::new(info.iterations, info.history.last().copied(), residuals, *source_scale)
    }
}
