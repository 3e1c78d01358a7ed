//! Backends: who holds fields and runs kernels. A backend is three small things: [`Memory`], [`Launch`] and [`Reduce`]. The kernels of all families
//! are functions over these (`kernel`), operators and solvers are written once over [`Backend`], and none asks which backend it runs on: every
//! backend gives the same bits.

mod cpu;
mod error;
mod field;
pub mod ghosts;
pub mod graph;
pub mod packet_memory;
mod queued;
pub mod specification;
pub mod timeline;

use std::borrow::Cow;
use std::time::Duration;

use lanefield_reference::field::{Field, FieldError, SiteObject, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::hop::HopTerm;
use lanefield_reference::layout::{LaneChoice, Lattice, Reach, Sites, Stencil};
use lanefield_reference::links::{DoubledGauge, LinkFormat};
use lanefield_reference::real::Precision;

pub use cpu::{Cpu, Threads};
pub use error::BackendError;
pub use field::{AnyField, FieldOn, HostField};
pub use lanefield_reference::kernels::reduce::{PartialSums, Sum};
pub use queued::{Bounds, MOST_QUEUED, QueuedIterations, QueuedSums};

use specification::{Call, MatrixFacts};

/// A hop of fields that a backend holds, with which a kernel goes on.
pub type HopOn<'a, B, R, K = Spinors> =
    HopTerm<'a, <B as Memory>::Table, FieldOn<B, R, DoubledGauge>, FieldOn<B, R, K>>;

/// What is known of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableFacts {
    /// The neighbours of these sites.
    Stencil {
        /// The lattice.
        lattice: Lattice,
        /// The sites.
        sites: Sites,
    },
    /// A matrix along s, for fields of these numbers.
    Matrix {
        /// What it is.
        facts: MatrixFacts,
        /// The precision for which it was rounded.
        precision: Precision,
    },
}

/// A table that a backend holds.
pub trait Table {
    /// What it is.
    fn facts(&self) -> TableFacts;
}

/// A table on the host.
#[derive(Clone, Debug)]
pub enum HostTable {
    /// Neighbours.
    Stencil(Stencil),
    /// A matrix along s, and the precision of fields that it is for.
    Matrix(SMatrix, Precision),
}

impl Table for HostTable {
    fn facts(&self) -> TableFacts {
        match self {
            Self::Stencil(stencil) => TableFacts::Stencil { lattice: *stencil.lattice(), sites: stencil.sites() },
            Self::Matrix(matrix, precision) => {
                let (form, ls, dagger) = (matrix.form(), matrix.ls(), matrix.dagger());
                TableFacts::Matrix { facts: MatrixFacts { form, ls, dagger }, precision: *precision }
            }
        }
    }
}

/// Holds the numbers of fields, and tables. Work may be queued: results are there when they are read.
///
/// # Errors
/// Every function of a backend, and all that is built on one, may return what the driver, the system or another rank reports: memory that is not
/// there, a kernel that does not build, a device that was lost. Errors of earlier work that was queued may come later.
pub trait Memory {
    /// The numbers of a field, in the layout that the backend chose for it.
    type Storage: Send + Sync;
    /// A stencil's neighbours, or the coefficients of a matrix along s.
    type Table: Table + Send;

    /// One line for people: the device and its driver, or the CPU's threads and vectors.
    fn describe(&self) -> String;

    /// Wall time that went into building kernels so far: a solver leaves it out of its own.
    fn building(&self) -> Duration {
        Duration::ZERO
    }

    /// The lanes for a lattice whose fields this backend is to hold: what was asked for, and in place of `auto` what suits it. No bit of any result
    /// depends on it.
    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        asked_for
    }

    /// Refuses links in whose format this backend's arithmetic would not have the bits of its definition.
    ///
    /// # Errors
    /// Why.
    fn takes_links(&self, _format: LinkFormat, _precision: Precision) -> Result<(), BackendError> {
        Ok(())
    }

    /// The largest of the numbers that all who work on the lattice have: this one, where nobody else does.
    fn largest(&self, here: f64) -> Result<f64, BackendError> {
        Ok(here)
    }

    /// Storage of zeros for a field. The shape was checked.
    ///
    /// # Errors
    /// What the backend reports: no room, say; so for every function here.
    fn allocate(&self, shape: &lanefield_reference::field::FieldShape) -> Result<Self::Storage, BackendError>;
    /// Makes all of a field +0.
    fn fill_zero(&self, field: &mut AnyField<Self::Storage>) -> Result<(), BackendError>;
    /// Takes the numbers of a field over from the host; of a field that is only borrowed it makes no more copies than it needs.
    fn store(&self, field: Cow<'_, HostField>) -> Result<Self::Storage, BackendError>;
    /// A copy of a field on the host.
    fn load(&self, field: &AnyField<Self::Storage>) -> Result<HostField, BackendError>;
    /// The same with what fields on a part of a lattice hold of other parts, for reads that go so far; of a whole lattice there is nothing more.
    fn load_with_ghosts(&self, field: &AnyField<Self::Storage>, _: Reach) -> Result<HostField, BackendError> {
        self.load(field)
    }
    /// Takes a stencil's tables over from the host.
    fn stencil(&self, stencil: Stencil) -> Result<Self::Table, BackendError>;
    /// Takes a matrix along the fifth dimension over from the host, rounded to the precision in which fields of `precision` are computed with.
    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<Self::Table, BackendError>;
    /// Waits until all queued work is done.
    fn finish(&self) -> Result<(), BackendError>;

    /// A field of zeros.
    fn zeros<R: Vectors, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        kind: K,
    ) -> Result<FieldOn<Self, R, K>, BackendError> {
        FieldOn::zeros(self, lattice, sites, kind)
    }
    /// Makes all of a field +0.
    fn clear<R: Vectors, K: SiteObject>(&self, field: &mut FieldOn<Self, R, K>) -> Result<(), BackendError> {
        self.fill_zero(field.any_mut())
    }
    /// Takes a field over from the host.
    fn upload<R: Vectors, K: SiteObject>(&self, field: Field<R, K>) -> Result<FieldOn<Self, R, K>, BackendError> {
        FieldOn::store(self, field.into_data())
    }
    /// A copy of a field on the host.
    fn download<R: Vectors, K: SiteObject>(&self, field: &FieldOn<Self, R, K>) -> Result<Field<R, K>, BackendError> {
        let loaded = self.load(field.any())?.into::<R>().and_then(|data| data.into_of::<K>());
        loaded.ok_or_else(|| {
            let (left, right) = (field.describe(), "what the backend returned".to_owned());
            FieldError::Mismatch { what: "downloading a field", left, right }.into()
        })
    }
}

/// Runs kernels.
pub trait Launch: Memory {
    /// Runs a kernel that writes fields, as its specification says.
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError>;

    /// Queues whose launches may overlap, until they are joined. A backend that has none runs them in turn.
    fn side_by_side(&self, _queues: usize) -> Result<Box<dyn SideBySide<Self> + '_>, BackendError>
    where
        Self: Sized,
    {
        Ok(Box::new(InTurn(self)))
    }
}

/// Launches on several queues. Those of one queue run in order.
pub trait SideBySide<B: Launch + ?Sized> {
    /// Queues a launch in queue `queue` (counted round); it waits for those whose numbers `after` names, in the order in which launches were made.
    fn launch(&mut self, call: Call<'_, B>, queue: usize, after: &[usize]) -> Result<(), BackendError>;
    /// Has all that is asked of the backend from now on wait for these launches.
    fn join(self: Box<Self>) -> Result<(), BackendError>;
}

/// One launch after the other.
pub struct InTurn<'b, B: ?Sized>(pub &'b B);

impl<B: Launch> SideBySide<B> for InTurn<'_, B> {
    fn launch(&mut self, call: Call<'_, B>, _: usize, _: &[usize]) -> Result<(), BackendError> {
        self.0.launch(call)
    }
    fn join(self: Box<Self>) -> Result<(), BackendError> {
        Ok(())
    }
}

/// Runs kernels that sum over sites.
pub trait Reduce: Launch {
    /// Runs a kernel that sums, as its specification says. The sums are not rounded yet, so that those of several ranks can be merged.
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError>;

    /// Iterations of conjugate gradients, whose scalars stay where the fields are; `None` of a backend that has none of them, so that the caller waits for
    /// each scalar.
    fn queued_iterations(&self, _sum: Sum) -> Option<Box<dyn QueuedIterations<Self>>>
    where
        Self: Sized,
    {
        None
    }
}

/// All that operators and solvers need. Each operation is defined to the last bit in `docs/arithmetic.md`; scalars are f64, and rounded to the
/// precision in which one computes. Threads may share a backend.
pub trait Backend: Reduce + Sync {}

impl<B: Reduce + Sync> Backend for B {}
