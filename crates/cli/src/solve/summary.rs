//! What `lanefield solve` says at its end: a table for people, JSON for programs.

use lanefield::operator::AnyModel;
use lanefield::solver::{Solve as How, SolveError, SolveReport};

use crate::args::HopArgs;
use crate::numbers::{bits, with_bits};
use crate::operator::json_of;
use crate::output::facts;
use crate::prelude::*;
use crate::solving::course::{Course, Fields, Rates, RhsSummary};
use crate::solving::deflation::deflated;
use crate::solving::long_run::since;

/// What was solved, and how it went. As JSON, these fields; what a solver that did not converge cannot tell is null.
#[derive(Default, Serialize)]
pub struct Summary {
    #[serde(skip)]
    device: String,
    operator: &'static str,
    /// Its parameters other than those of the hop, by name.
    parameters: serde_json::Map<String, serde_json::Value>,
    #[serde(skip)]
    description: String,
    /// `cg`, `block-cg`, `mixed-f32`, `mixed-half`, `bicgstab`.
    solver: &'static str,
    #[serde(skip)]
    solver_description: String,
    /// The shifts of the systems, one for each of `rhs`; null without `--shifts`.
    shifts: Option<Vec<f64>>,
    /// Eigenvectors of the guess; null without `--deflate`.
    pub deflation: Option<usize>,
    /// The iteration of the checkpoint from which it resumed.
    pub resumed_from: Option<usize>,
    /// Lines of the record that were the same; null where none was compared with.
    pub compared_with_record: Option<usize>,
    #[serde(flatten)]
    fields: Fields,
    #[serde(flatten)]
    pub course: Course,
    iterations: usize,
    /// The last |r|² of the history; null where the source was not finite.
    residual_squared: Option<f64>,
    residual_squared_bits: Option<String>,
    /// |r| / |b| of the recurrence at its end.
    relative_residual: Option<f64>,
    /// |b − Aψ| / |b| of the system that the solver solved, in f64.
    true_residual: Option<f64>,
    /// |η − Mψ| / |η| on all sites, in f64.
    solution_residual: Option<f64>,
    /// The power of two that the source was multiplied by for the solve, and every |r|² twice.
    source_scale: i32,
    /// Each right-hand side; empty where the solver did not converge. What stands above is the first one's.
    rhs: Vec<RhsSummary>,
    #[serde(flatten)]
    rates: Rates,
    /// Bytes of fields and tables for which the device had no room, and which lay in the host's memory.
    fallback_bytes: u64,
    /// Copy bandwidth measured in this run, bytes a second read plus written; null without `--bandwidth`.
    copy_bytes_per_second: Option<f64>,
    /// The ratio of the two; above 1 where fields stay in a cache.
    share_of_copy_bandwidth: Option<f64>,
}

impl Summary {
    pub fn new<R: Vectors>(
        (device, solver_description): (String, String),
        how: &How<AnyModel>,
        (lattice, plaquette): (Lattice, f64),
        hop: &HopArgs,
        shifts: Option<Vec<f64>>,
    ) -> Self {
        let model = how.operator;
        Self {
            device,
            operator: model.name(),
            parameters: json_of(&model),
            description: model.describe(),
            solver: how.method.name(),
            solver_description,
            shifts,
            fields: Fields::new::<R>(lattice, hop),
            course: Course::new(how, plaquette),
            ..Self::default()
        }
    }

    /// What a figure is of: the operator, and the solver.
    pub fn captions(&self) -> [String; 2] {
        let settings = self.course.describe(&self.solver_description);
        [self.description.clone(), format!("{settings}; {}", self.fields.describe())]
    }

    /// What did not fit the device.
    pub fn fell_back(&mut self, device: Option<&OpenCl>) {
        self.fallback_bytes = device.map_or(0, |device| device.context().memory_statistics().fallback_bytes);
    }

    fn set_history(&mut self, history: &[f64]) {
        self.iterations = history.len().saturating_sub(1);
        self.residual_squared = history.last().copied();
        self.residual_squared_bits = self.residual_squared.map(bits);
    }

    /// `work` are the operations and the bytes of all ranks.
    pub fn converged<R>(&mut self, report: &SolveReport<R>, [flops, bytes]: [u64; 2], bandwidth: Option<f64>) {
        self.course.converge(report);
        self.set_history(&report.info().history);
        self.source_scale = report.rhs[0].source_scale;
        self.relative_residual = Some(report.info().relative_residual());
        if self.course.is_checked() {
            self.true_residual = Some(report.rhs[0].true_residual);
            self.solution_residual = Some(report.rhs[0].solution_residual);
        }
        self.rhs = report.rhs.iter().map(RhsSummary::from).collect();
        // A source of zero is solved in no iteration, and has no rate; iterations before a checkpoint were not timed.
        if report.info().iterations > 0 && self.resumed_from.is_none() {
            self.rates = Rates::new((report.seconds, report.building), flops, bytes);
            // Of this rank, as the bandwidth.
            let rate = report.bytes as f64 / report.seconds;
            self.share_of_copy_bandwidth = bandwidth.map(|bandwidth| rate / bandwidth);
        } else {
            (self.rates.seconds, self.rates.building_seconds) = (Some(report.seconds), Some(report.building));
        }
        self.copy_bytes_per_second = bandwidth;
    }

    /// Where there is no solution that counts as one.
    pub fn failed(&mut self, error: &(dyn std::error::Error + 'static), history: &[f64]) {
        self.course.failure = Some(error.to_string());
        self.set_history(history);
        if let Some(SolveError::TrueResidual { true_residual, .. }) = error.downcast_ref() {
            self.true_residual = Some(*true_residual);
        }
    }

    pub fn text(&self) -> String {
        let converged = if self.course.converged { "" } else { ", not converged" };
        let mut rows = self.fields.facts(&self.device, &self.description, &self.course);
        rows.push(("solver", self.course.describe(&self.solver_description)));
        rows.extend(deflated(self.deflation));
        rows.push(("iterations", format!("{}{converged}", self.iterations)));
        rows.extend(since(self.resumed_from, self.compared_with_record));
        let mut row = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
        let batch: Vec<String> = self.rhs.iter().map(|rhs| rhs.iterations.to_string()).collect();
        let each = if self.shifts.is_some() { "each shift" } else { "each right-hand side" };
        row(each, (batch.len() > 1).then(|| format!("{} iterations", batch.join(", "))));
        let residuals = self.rhs.iter().map(|rhs| format!("{:.3e}", rhs.true_residual)).collect::<Vec<_>>().join(", ");
        row("true residuals", (self.shifts.is_some() && self.course.is_checked()).then_some(residuals));
        row("last |r|²", self.residual_squared.map(with_bits));
        row("true residual", self.true_residual.map(|r| format!("{r:.3e} of the system that was solved")));
        row("|η − Mψ| / |η|", self.solution_residual.map(|r| format!("{r:.3e}")));
        let fallback = (self.fallback_bytes > 0).then(|| {
            format!(
                "{} bytes did not fit the device, and lay in the host's memory: no speed of the device's",
                self.fallback_bytes
            )
        });
        rows.extend(fallback.map(|text| ("memory", text)));
        rows.extend(self.course.facts(self.rhs.iter()));
        let beside = self
            .share_of_copy_bandwidth
            .zip(self.copy_bytes_per_second)
            .map(|(share, copy)| format!(", {:.0}% of the copy bandwidth, {:.2} GB/s", 100.0 * share, copy / 1e9));
        rows.extend(self.rates.facts(&beside.unwrap_or_default()));
        facts(rows)
    }
}
