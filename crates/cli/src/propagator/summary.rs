//! The summary of `lanefield propagator`, as text and as JSON.

use lanefield::observable::COLUMNS;
use lanefield::solver::SolveReport;
use serde::Serialize;

use crate::far_times;
use crate::output::facts;
use crate::solving::course::{Course, Fields, Rates, RhsSummary};
use crate::solving::deflation::deflated;
use crate::solving::long_run::since;
use crate::source::quark::NamedSource;

/// The result of the command. As JSON, these fields; what is unknown because a batch did not converge is null or empty.
#[derive(Serialize)]
pub struct Summary {
    #[serde(skip)]
    pub device: String,
    pub operator: String,
    #[serde(flatten)]
    pub fields: Fields,
    /// The point x, y, z, t, or the name of another source.
    pub source: NamedSource,
    /// α and the number of steps of its smearing, or null.
    pub source_smearing: Option<String>,
    /// The links of the smearing; null if they are those of the operator.
    pub smear_links: Option<String>,
    /// `cg` or `block-cg`.
    pub solver: &'static str,
    /// Number of eigenvectors for the guess; null without `--deflate`.
    pub deflation: Option<usize>,
    /// The iteration of the checkpoint from which it resumed.
    pub resumed_from: Option<usize>,
    /// Number of lines of the record that were the same; null if there was no record to compare with.
    pub compared_with_record: Option<usize>,
    #[serde(flatten)]
    pub course: Course,
    /// Each solve, with number 3·spin + colour of the source.
    pub rhs: Vec<Rhs>,
    /// Estimated relative errors on each time slice from the source on, the largest of all solves. Empty if they are unknown.
    pub relative_errors: Vec<f64>,
    #[serde(flatten)]
    pub rates: Rates,
}

#[derive(Serialize)]
pub struct Rhs {
    pub spin: usize,
    pub colour: usize,
    #[serde(flatten)]
    pub summary: RhsSummary,
}

impl Summary {
    pub fn converged<R>(&mut self, report: &SolveReport<R>, [flops, bytes]: [u64; 2], rhs: Vec<RhsSummary>) {
        self.course.converge(report);
        let rhs = rhs.into_iter().enumerate();
        self.rhs = rhs.map(|(k, summary)| Rhs { spin: k / 3, colour: k % 3, summary }).collect();
        self.rates = Rates::new((report.seconds, report.building), flops, bytes);
    }

    pub fn text(&self) -> String {
        let mut rows = self.fields.facts(&self.device, &self.operator, &self.course);
        let smeared = self.source_smearing.as_ref();
        let smeared = smeared.map_or_else(String::new, |smearing| format!(", smeared by {smearing}"));
        let on = self.smear_links.as_ref().map_or_else(String::new, |links| format!(" on links {links}"));
        rows.push(("source", format!("{}{smeared}{on}", self.source.text())));
        let block = if self.solver == "cg" { "conjugate gradients" } else { "block conjugate gradients" };
        let solver = format!("{block} in {}, {COLUMNS} right-hand sides", self.fields.precision);
        rows.push(("solver", self.course.describe(&solver)));
        rows.extend(deflated(self.deflation));
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
            rows.extend(far_times::describe(&self.relative_errors).map(|error| ("far times", error)));
            rows.extend(self.course.facts(rhs()));
        } else {
            rows.push(("iterations", "not converged".to_owned()));
        }
        rows.extend(self.rates.facts(""));
        facts(rows)
    }
}
