//! Lane layout, canonical arithmetic and CPU kernels of Lanefield.

pub mod body;
mod dagger;
pub mod domains;
mod doubles;
mod ensure;
pub mod exact;
pub mod extreme;
pub mod field;
pub mod forks;
pub mod gauge;
pub mod half;
pub mod instructions;
pub mod kernels;
pub mod layout;
pub mod links;
mod memory;
#[doc(hidden)]
pub mod named;
pub mod object;
pub mod random;
pub mod real;
pub mod scalar;
pub mod tasks;
pub mod tensor;

/// The names that most code on lattice fields uses: `use lanefield_reference::prelude::*`.
pub mod prelude {
    pub use crate::field::{ColourVectors, Field, Spinors};
    pub use crate::gauge::Configuration;
    pub use crate::kernels::Vectors;
    pub use crate::kernels::hop::Dagger;
    pub use crate::layout::{Direction, Extents, LaneChoice, Lattice, LatticeOptions, Leg, LegOrder, Parity, Sites};
    pub use crate::links::{BoundaryPhases, LinkFormat};
    pub use crate::real::Precision;
    pub use num_complex::Complex;
}
