//! What is done with an operator, and onto which sites.

use lanefield::backend::{AnyField, BackendError};
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{Parity, Sites};

/// A piece of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// What connects the parities.
    Meooe,
    /// What stays on a parity.
    Mooee,
    /// The inverse of that.
    MooeeInverse,
    /// The Schur complement on the odd sites.
    Schur,
}

/// What is done with an operator, and onto which sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// All of it, or of a hop, onto all sites.
    Full,
    /// A hop onto one parity.
    Onto(Parity),
    /// A piece onto one parity.
    Piece(Piece, Parity),
}

impl Step {
    /// The sites of the result.
    pub fn onto(self) -> Sites {
        match self {
            Self::Full => Sites::Full,
            Self::Onto(parity) | Self::Piece(_, parity) => Sites::Parity(parity),
        }
    }

    /// The sites of the source.
    pub fn from(self) -> Sites {
        match self {
            Self::Full => Sites::Full,
            Self::Onto(_) | Self::Piece(Piece::Meooe, _) => self.onto().neighbours(),
            Self::Piece(..) => self.onto(),
        }
    }
}

/// Result and source, which a backend holds.
pub struct Fields<S> {
    pub out: AnyField<S>,
    pub psi: AnyField<S>,
}

/// An operator on fields with the storage `S`. Fields are those that it was asked for: of its lattice, object and precision.
pub trait Applied<S> {
    /// Applies it; the fields come back.
    fn apply(&mut self, step: Step, dagger: Dagger, fields: Fields<S>) -> (Fields<S>, Result<(), BackendError>);
}
