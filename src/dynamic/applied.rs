//! What is applied to fields, whatever operator it is of.

use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Parity, Sites};

use super::backend::AnyStorage;
use crate::backend::{AnyField, BackendError};

/// What of an operator is applied, and onto which sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// All of it, on all sites.
    Full,
    /// The part that connects the parities, onto one.
    Meooe(Parity),
    /// The part that stays on a parity.
    Mooee(Parity),
    /// The inverse of that.
    MooeeInverse(Parity),
    /// The Schur complement on the odd sites.
    Mpc,
}

impl Piece {
    /// The sites of the result.
    pub fn onto(self) -> Sites {
        match self {
            Self::Full => Sites::Full,
            Self::Meooe(parity) | Self::Mooee(parity) | Self::MooeeInverse(parity) => Sites::Parity(parity),
            Self::Mpc => Sites::Parity(Parity::Odd),
        }
    }

    /// The sites of the source.
    pub fn from(self) -> Sites {
        if matches!(self, Self::Meooe(_)) { self.onto().neighbours() } else { self.onto() }
    }

    /// Whether it divides by the diagonal.
    pub fn divides(self) -> bool {
        matches!(self, Self::MooeeInverse(_) | Self::Mpc)
    }
}

/// A field that a backend holds.
pub type DynField = AnyField<AnyStorage>;

/// An operator on fields of its object and precision.
pub trait Applied {
    /// Makes `out` the piece, or its Hermitian conjugate, of `psi`.
    ///
    /// # Errors
    /// Fields of other objects, sites or precisions; what the backend reports.
    fn apply(&mut self, piece: Piece, dagger: Dagger, out: &mut DynField, psi: &DynField) -> Result<(), BackendError>;
}

/// An operator that is ready on a backend, and may move to another thread.
pub type PreparedOperator<'b> = Box<dyn Applied + Send + 'b>;
