//! What a verification found, row by row.

use std::fmt;

use lanefield_reference::kernels::domain_wall::Form;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::links::LinkFormat;
use serde::Serialize;

use super::compare::Mismatch;
use crate::solver::Preconditioning;

/// An operation that sums over sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SumOperation {
    /// |x|².
    Norm2,
    /// ⟨x, y⟩ for several x.
    InnerProducts,
    /// The sum of each word.
    Words,
    /// The sum of each word over each slice.
    Slices,
    /// y ← a · x + y and |y|².
    AxpyNorm,
    /// y ← a · x + b · y and |y|².
    AxpbyNorm,
}

/// An operation on fields of several columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnOperation {
    /// Columns into a field of their own, and back into another one.
    TakeAndPut,
    /// Re ⟨x, y⟩ of each column.
    Products,
    /// y ← a · x + y and |y|², with an a for each column.
    AxpyNorm,
    /// The two updates of conjugate gradients, with scalars for each column.
    CgUpdate,
}

/// What a row of the report compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The Wilson hop.
    Hop(LinkFormat, Dagger),
    /// The Laplacian's hop, of several colour vectors a site.
    LaplaceHop(LinkFormat),
    /// Field strength, clover term, its inverse and the pivots.
    CloverTerm,
    /// Blocks times a hop, or blocks times a field minus a hop; with and without dagger.
    CloverHop(bool),
    /// out = x.
    Copy,
    /// out = a · x.
    Scale,
    /// y ← a · x + y.
    Axpy,
    /// The same with |y|².
    AxpyNorm,
    /// The two updates of conjugate gradients.
    CgUpdate,
    /// |x|².
    Norm2,
    /// ⟨x, y⟩.
    InnerProduct,
    /// A matrix along the fifth dimension, perhaps with a sum; with and without dagger.
    AlongS(Form, bool),
    /// An operation on fields of several columns.
    Columns(ColumnOperation),
    /// A field in another precision, by its name.
    ConvertTo(&'static str),
    /// An operation on random objects of any size, exact, or as a tree.
    Sum(SumOperation, bool),
    /// The history of a whole solve on a hot configuration, and its solution.
    HotSolve(Preconditioning, LinkFormat),
    /// The same on the configuration that the user gave.
    FileSolve(Preconditioning, LinkFormat),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |preconditioning: &Preconditioning| match preconditioning {
            Preconditioning::EvenOdd => "even-odd",
            Preconditioning::None => "full",
        };
        match self {
            Self::Hop(format, Dagger::No) => write!(f, "hop, {format}-real links"),
            Self::Hop(format, Dagger::Yes) => write!(f, "hop†, {format}-real links"),
            Self::LaplaceHop(format) => write!(f, "laplace_hop, {format}-real links"),
            Self::CloverTerm => f.write_str("clover term and inverse"),
            Self::CloverHop(false) => f.write_str("clover · hop (EOClover)"),
            Self::CloverHop(true) => f.write_str("clover − hop (OEClover)"),
            Self::Copy => f.write_str("copy"),
            Self::Scale => f.write_str("scale"),
            Self::Axpy => f.write_str("axpy"),
            Self::AxpyNorm => f.write_str("axpy_norm"),
            Self::CgUpdate => f.write_str("cg_update"),
            Self::Norm2 => f.write_str("norm2"),
            Self::InnerProduct => f.write_str("inner_product"),
            Self::AlongS(Form::Tridiagonal, false) => f.write_str("tridiagonal along s"),
            Self::AlongS(Form::Tridiagonal, true) => f.write_str("tridiagonal along s, with sum"),
            Self::AlongS(Form::Sweep, _) => f.write_str("inverse along s, sweep"),
            Self::AlongS(Form::Dense, _) => f.write_str("inverse along s, dense"),
            Self::Columns(ColumnOperation::TakeAndPut) => f.write_str("take_columns, put_columns"),
            Self::Columns(ColumnOperation::Products) => f.write_str("column_products"),
            Self::Columns(ColumnOperation::AxpyNorm) => f.write_str("column_axpy_norm"),
            Self::Columns(ColumnOperation::CgUpdate) => f.write_str("column_cg_update"),
            Self::ConvertTo(precision) => write!(f, "convert to {precision}"),
            Self::Sum(operation, tree) => {
                let operation = match operation {
                    SumOperation::Norm2 => "norm2",
                    SumOperation::InnerProducts => "inner_products",
                    SumOperation::Words => "sum",
                    SumOperation::Slices => "slice_sums",
                    SumOperation::AxpyNorm => "axpy_norm",
                    SumOperation::AxpbyNorm => "axpby_norm",
                };
                write!(f, "{operation}, any object, {}", if *tree { "tree" } else { "exact" })
            }
            Self::HotSolve(preconditioning, format) => {
                write!(f, "CG {}, hot, {format}-real links", name(preconditioning))
            }
            Self::FileSolve(preconditioning, format) => {
                write!(f, "CG {}, file, {format}-real links", name(preconditioning))
            }
        }
    }
}

/// The first thing in a row that differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failure {
    /// Number of the case.
    pub case: u64,
    /// The case in words.
    pub description: String,
    /// What differs.
    pub mismatch: Mismatch,
}

/// One kernel, or one kind of solve, in one precision.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The kernel.
    pub kernel: String,
    /// "f32", "f64" or "16-bit".
    pub precision: &'static str,
    /// Fields and numbers compared; of a solve, the solves.
    pub comparisons: u64,
    /// Comparisons in which something differed.
    pub different: u64,
    /// Real numbers compared.
    pub components: u64,
    /// Iterations of the last solve, where the row is one.
    pub iterations: Option<usize>,
    /// Wall time in seconds: both sides, the comparison, and building what had to be built.
    pub seconds: f64,
    /// The first difference.
    pub failure: Option<Failure>,
    #[serde(skip)]
    pub(super) subject: Subject,
}

impl Row {
    /// An empty row.
    pub(super) fn new(subject: Subject, precision: &'static str) -> Self {
        Self {
            kernel: subject.to_string(),
            precision,
            comparisons: 0,
            different: 0,
            components: 0,
            iterations: None,
            seconds: 0.0,
            failure: None,
            subject,
        }
    }

    /// Whether all that was compared is the same bits.
    pub fn same_bits(&self) -> bool {
        self.different == 0
    }
}

/// What a verification found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VerifyReport {
    /// The backend under test.
    pub tested: String,
    /// What it was compared with.
    pub reference: &'static str,
    /// The seed of all data.
    pub seed: u64,
    /// A row for each kernel and precision.
    pub rows: Vec<Row>,
}

impl VerifyReport {
    /// Whether something was compared, and all of it is the same bits.
    pub fn same_bits(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(Row::same_bits)
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
