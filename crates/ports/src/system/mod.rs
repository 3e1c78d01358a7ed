//! Whether two arrays are solutions of a system M x = b: the residual of each, with the factor that makes it least, and what has to be changed in M (the sign
//! of μ, a boundary phase, the dagger), in b (its complex conjugate, a momentum of the other sign) or in the array (another basis of the spins, source and
//! sink exchanged, its complex conjugate) to make it one.

mod equation;
mod error;
mod fit;
mod reading;
mod residual;
mod tried_solutions;

pub use equation::Equation;
pub use error::SystemError;
pub use tried_solutions::TriedSolutions;
