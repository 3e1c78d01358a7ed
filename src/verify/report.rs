//! The results of a verification, row by row.

use lanefield_reference::real::Precision;
use serde::{Deserialize, Serialize};

use super::compare::Mismatch;
use crate::kernel::{self, Kernel};

/// The subject of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The name of the kernel or of the solve.
    pub kernel: String,
    /// The precision.
    pub precision: Precision,
    /// Number of reals stored per link, if it reads links.
    pub reconstruct: Option<usize>,
}

impl Subject {
    pub(crate) fn of_kernel(kernel: &'static Kernel, precision: Precision, reconstruct: Option<usize>) -> Self {
        Self { kernel: kernel.name.to_owned(), precision, reconstruct }
    }
}

/// The first difference in a row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Failure {
    pub case: u64,
    pub description: String,
    pub mismatch: Mismatch,
}

/// The verdict of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum RowVerdict {
    SameBits,
    Differs,
    /// Nothing was compared, because the device reports that it lacks a required feature. This is not a failure.
    NotSupported,
}

/// One kernel, or one kind of solve, in one precision.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Row {
    /// The kernel, or the solve.
    pub kernel: String,
    pub precision: Precision,
    /// Number of reals stored per link, if it reads links.
    pub reconstruct: Option<usize>,
    pub verdict: RowVerdict,
    /// Number of fields and scalars compared; for a solve, the number of solves.
    pub comparisons: u64,
    /// Comparisons in which something differed.
    pub different: u64,
    pub components: u64,
    /// Iterations of the last solve, for rows of solves.
    pub iterations: Option<usize>,
    /// Wall time in seconds: both sides, the comparison, and building programs.
    pub seconds: f64,
    pub failure: Option<Failure>,
    /// The feature that the device lacks, if a comparison was left out for that reason.
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

    /// Its position in the table: kernels in the order of their list, then solves by name.
    pub(super) fn place(&self) -> (usize, String, Precision, Option<usize>) {
        let number = kernel::all().position(|kernel| kernel.name == self.kernel).unwrap_or(usize::MAX);
        (number, self.kernel.clone(), self.precision, self.reconstruct)
    }

    /// Adds the results of other cases.
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

    /// Sets the verdict from the results.
    pub(super) fn judge(&mut self) {
        self.verdict = match (self.different, self.comparisons, &self.lacks) {
            (0, 0, Some(_)) => RowVerdict::NotSupported,
            (0, ..) => RowVerdict::SameBits,
            _ => RowVerdict::Differs,
        };
    }
}

/// The results of a verification.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct VerifyReport {
    pub tested: String,
    /// The implementation with which it was compared.
    pub reference: &'static str,
    pub seed: u64,
    pub rows: Vec<Row>,
    /// Cases that could not be completed.
    pub errors: Vec<UnitError>,
}

/// Why a case could not be completed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnitError {
    /// The number of the case.
    pub case: u64,
    /// A description of the case, and the reason.
    pub error: String,
}

impl VerifyReport {
    /// Whether something was compared, everything that the device supports, and all of it has the same bits.
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

    /// Number of fields, scalars and solves compared.
    pub fn comparisons(&self) -> u64 {
        self.rows.iter().map(|row| row.comparisons).sum()
    }

    /// Wall time in seconds.
    pub fn seconds(&self) -> f64 {
        self.rows.iter().map(|row| row.seconds).sum()
    }
}
