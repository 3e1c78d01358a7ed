//! What a verification found, row by row.

use lanefield_reference::real::Precision;
use serde::{Deserialize, Serialize};

use super::compare::Mismatch;
use crate::kernel::{self, Kernel};

/// What a row is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The kernel, by its name, or the solve.
    pub kernel: String,
    /// Its precision.
    pub precision: Precision,
    /// Reals stored a link, where it reads links.
    pub reconstruct: Option<usize>,
}

impl Subject {
    pub(crate) fn of_kernel(kernel: &'static Kernel, precision: Precision, reconstruct: Option<usize>) -> Self {
        Self { kernel: kernel.name.to_owned(), precision, reconstruct }
    }
}

/// The first thing in a row that differs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Failure {
    pub case: u64,
    pub description: String,
    pub mismatch: Mismatch,
}

/// What a row says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum RowVerdict {
    SameBits,
    Differs,
    /// Nothing was compared: the device lacks what that takes, and says so. It is no failure.
    NotSupported,
}

/// One kernel, or one kind of solve, in one precision.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Row {
    /// The kernel, or the solve.
    pub kernel: String,
    pub precision: Precision,
    /// Reals stored a link, where it reads links.
    pub reconstruct: Option<usize>,
    pub verdict: RowVerdict,
    /// Fields and numbers compared; of a solve, the solves.
    pub comparisons: u64,
    /// Comparisons in which something differed.
    pub different: u64,
    pub components: u64,
    /// Iterations of the last solve, where the row is one.
    pub iterations: Option<usize>,
    /// Wall time in seconds: both sides, the comparison, and building what had to be built.
    pub seconds: f64,
    pub failure: Option<Failure>,
    /// What the device lacks, where a comparison was left out for that.
    pub lacks: Option<String>,
}

impl Row {
    pub(super) fn new(subject: &Subject) -> Self {
        let Subject { kernel, precision, reconstruct } = subject.clone();
        Self {
            kernel,
            precision,
            reconstruct,
            verdict: RowVerdict::SameBits,
            comparisons: 0,
            different: 0,
            components: 0,
            iterations: None,
            seconds: 0.0,
            failure: None,
            lacks: None,
        }
    }

    /// The kernel, precision and link format.
    pub(super) fn subject(&self) -> Subject {
        Subject { kernel: self.kernel.clone(), precision: self.precision, reconstruct: self.reconstruct }
    }

    /// Where it stands in the table: kernels as they are listed, then solves by their names.
    pub(super) fn place(&self) -> (usize, String, Precision, Option<usize>) {
        let number = kernel::all().position(|kernel| kernel.name == self.kernel).unwrap_or(usize::MAX);
        (number, self.kernel.clone(), self.precision, self.reconstruct)
    }

    /// Adds what other cases gave.
    pub(super) fn add(&mut self, other: Self) {
        self.comparisons += other.comparisons;
        self.different += other.different;
        self.components += other.components;
        self.seconds += other.seconds;
        self.iterations = other.iterations.or(self.iterations);
        let failures = [self.failure.take(), other.failure];
        self.failure = failures.into_iter().flatten().min_by_key(|failure| failure.case);
        self.lacks = self.lacks.take().or(other.lacks);
        self.judge();
    }

    /// Draws the verdict from what was found.
    pub(super) fn judge(&mut self) {
        self.verdict = match (self.different, self.comparisons, &self.lacks) {
            (0, 0, Some(_)) => RowVerdict::NotSupported,
            (0, ..) => RowVerdict::SameBits,
            _ => RowVerdict::Differs,
        };
    }
}

/// What a verification found.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct VerifyReport {
    pub tested: String,
    /// What it was compared with.
    pub reference: &'static str,
    pub seed: u64,
    pub rows: Vec<Row>,
    /// Cases that could not be run to their end.
    pub errors: Vec<UnitError>,
}

/// Why a case could not be run to its end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnitError {
    /// Its number.
    pub case: u64,
    /// The case in words, and the reason.
    pub error: String,
}

impl VerifyReport {
    /// Whether something was compared, all that the device supports, and all of it is the same bits.
    pub fn same_bits(&self) -> bool {
        self.comparisons() > 0 && self.errors.is_empty() && !self.differs()
    }

    /// Whether a row differs.
    pub fn differs(&self) -> bool {
        self.rows.iter().any(|row| row.verdict == RowVerdict::Differs)
    }

    /// Real numbers compared.
    pub fn components(&self) -> u64 {
        self.rows.iter().map(|row| row.components).sum()
    }

    /// Fields, numbers and solves compared.
    pub fn comparisons(&self) -> u64 {
        self.rows.iter().map(|row| row.comparisons).sum()
    }

    /// Wall time in seconds.
    pub fn seconds(&self) -> f64 {
        self.rows.iter().map(|row| row.seconds).sum()
    }
}
