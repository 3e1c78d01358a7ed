//! What `lanefield solve` says at its end: a table for people, JSON for programs.

use lanefield::operator::AnyModel;
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::Lattice;
use lanefield::solver::{SolveError, SolveReport, SolvedRhs};
use serde::Serialize;

use super::super::operator::json_of;
use super::super::output::{bits, facts, print, print_json, with_bits};
use super::{How, Solve, preconditioning_name};

/// One right-hand side, as JSON.
#[derive(Serialize)]
struct RhsSummary {
    iterations: usize,
    /// The last |r|² of the history.
    residual: Option<f64>,
    /// Its 16 hex digits.
    residual_bits: Option<String>,
    true_residual: f64,
    solution_residual: f64,
}

/// What was solved, and how it went. As JSON, these fields; what a solver that did not converge cannot tell is null.
#[derive(Serialize)]
pub struct Summary {
    /// What it ran on.
    device: String,
    /// Its name.
    operator: &'static str,
    /// Its parameters beside those of the hop, by name.
    parameters: serde_json::Value,
    /// The same in words.
    #[serde(skip)]
    description: String,
    /// `cg`, `mixed-f32`, `mixed-half`, `bicgstab`.
    solver: String,
    #[serde(skip)]
    solver_description: String,
    /// The iteration of the checkpoint from which it resumed.
    pub resumed_from: Option<usize>,
    /// Lines of the record that were the same; null where none was compared with.
    pub compared_with_record: Option<usize>,
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
    /// |b − Aψ| / |b| of the system that the solver solved, in f64.
    true_residual: Option<f64>,
    /// |η − Mψ| / |η| on all sites, in f64.
    solution_residual: Option<f64>,
    /// Why the two could not be computed, if they could not; the solution is written all the same.
    unchecked: Option<String>,
    /// Each right-hand side; empty where the solver did not converge. What stands above is the first one's.
    rhs: Vec<RhsSummary>,
    /// Wall time of the recurrence in this run.
    seconds: Option<f64>,
    gflop_per_second: Option<f64>,
    /// With each kernel's inputs and outputs counted once, in 10⁹ bytes.
    gb_per_second: Option<f64>,
    /// Copy bandwidth measured in this run, read plus written; null without `--bandwidth`.
    copy_gb_per_second: Option<f64>,
    /// The ratio of the two; above 1 where fields stay in a cache.
    share_of_copy_bandwidth: Option<f64>,
}

impl Summary {
    pub fn new<R: Vectors>(
        device: String,
        command: &Solve,
        model: AnyModel,
        how: How,
        lattice: Lattice,
        configuration: &Configuration,
    ) -> Self {
        let hop = command.hop.parameters();
        Self {
            device,
            operator: model.name(),
            parameters: json_of(&model),
            description: model.describe(),
            solver: command.solver.name(),
            solver_description: command.solver.describe(R::NAME),
            resumed_from: None,
            compared_with_record: None,
            lattice: lattice.extents().as_array(),
            lane_bytes: lattice.width().bytes(),
            virtual_nodes: lattice.nodes().as_array(),
            precision: R::NAME,
            reconstruct: hop.links.reals(),
            legs: hop.legs.to_string(),
            boundary: hop.boundary.to_string(),
            mass: model.mass(),
            preconditioning: preconditioning_name(how.preconditioning),
            tolerance: how.params.tolerance,
            max_iterations: how.params.max_iterations,
            plaquette: configuration.plaquette(),
            converged: false,
            failure: None,
            iterations: 0,
            residual: None,
            residual_bits: None,
            true_residual: None,
            solution_residual: None,
            unchecked: None,
            rhs: Vec::new(),
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

    pub fn converged<R>(&mut self, report: &SolveReport<R>, bandwidth: Option<f64>) {
        self.converged = true;
        self.set_history(&report.info().history);
        self.unchecked = report.unchecked.clone();
        if report.unchecked.is_none() {
            self.true_residual = Some(report.rhs[0].true_residual);
            self.solution_residual = Some(report.rhs[0].solution_residual);
        }
        let summary = |rhs: &SolvedRhs| RhsSummary {
            iterations: rhs.info.iterations,
            residual: rhs.info.history.last().copied(),
            residual_bits: rhs.info.history.last().copied().map(bits),
            true_residual: rhs.true_residual,
            solution_residual: rhs.solution_residual,
        };
        self.rhs = report.rhs.iter().map(summary).collect();
        self.seconds = Some(report.seconds);
        // A source of zero is solved in no iteration, and has no rate; iterations before a checkpoint were not timed.
        if report.info().iterations > 0 && self.resumed_from.is_none() {
            let rate = report.bytes as f64 / report.seconds;
            self.gflop_per_second = Some(report.flops as f64 / report.seconds / 1e9);
            self.gb_per_second = Some(rate / 1e9);
            self.share_of_copy_bandwidth = bandwidth.map(|bandwidth| rate / bandwidth);
        }
        self.copy_gb_per_second = bandwidth.map(|bandwidth| bandwidth / 1e9);
    }

    pub fn failed(&mut self, error: &SolveError, history: &[f64]) {
        self.failure = Some(error.to_string());
        self.set_history(history);
        if let SolveError::TrueResidual { true_residual, .. } = error {
            self.true_residual = Some(*true_residual);
        }
    }

    pub fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let dots = |numbers: [usize; 4]| numbers.map(|n| n.to_string()).join(".");
        let preconditioned = if self.preconditioning == "none" { "not preconditioned" } else { self.preconditioning };
        let mut rows = vec![
            ("device", self.device.clone()),
            ("operator", format!("{}, boundary {}, reconstruct {}", self.description, self.boundary, self.reconstruct)),
            (
                "lattice",
                format!("{}, {}-byte lanes cut {}", dots(self.lattice), self.lane_bytes, dots(self.virtual_nodes)),
            ),
            ("plaquette", self.plaquette.to_string()),
            ("solver", format!("{}, {preconditioned}, tolerance {:e}", self.solver_description, self.tolerance)),
            ("iterations", format!("{}{}", self.iterations, if self.converged { "" } else { ", not converged" })),
        ];
        let mut row = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
        row("resumed from", self.resumed_from.map(|iteration| format!("the checkpoint of iteration {iteration}")));
        row("record", self.compared_with_record.map(|lines| format!("the same in all {lines} lines")));
        let batch: Vec<String> = self.rhs.iter().map(|rhs| rhs.iterations.to_string()).collect();
        row("each right-hand side", (batch.len() > 1).then(|| format!("{} iterations", batch.join(", "))));
        row("last |r|²", self.residual.map(with_bits));
        row("true residual", self.true_residual.map(|r| format!("{r:.3e} of the system that was solved")));
        row("not checked", self.unchecked.as_ref().map(|why| format!("no true residual could be computed: {why}")));
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
