//! Whether two arrays are solutions of a system M x = b. The result is the residual of each, with the factor that minimises it, and the change that
//! makes it a solution, if one is needed:
//!
//! - in M: the sign of μ, a boundary phase, the dagger;
//! - in b: its complex conjugate, a momentum with the other sign;
//! - in the array: another spin basis, source and sink exchanged, its complex conjugate.

mod equation;
mod error;
mod fit;
mod reading;
mod residual;
mod tried_solutions;

pub use equation::Equation;
pub use error::SystemError;
pub use tried_solutions::TriedSolutions;
