//! Operators, written once over [`Backend`]: none asks which backend it runs on. Definitions: `docs/arithmetic.md` §9.

mod hop;
mod normal;
mod schur;
mod wilson;

pub use hop::{HopOperator, HopParameters};
pub use normal::NormalEquations;
pub use schur::{EvenOdd, SchurComplement};
pub use wilson::{Wilson, WilsonParameters};

use lanefield_reference::field::Spinor;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};

use crate::backend::{Backend, BackendError};

/// A linear operator on spinor fields of precision `R` held by `B`. It may hold temporary fields, hence `&mut self`.
pub trait Operator<B: Backend, R: Vectors> {
    /// The backend that runs it.
    fn backend(&self) -> &B;
    /// The lattice that it acts on.
    fn lattice(&self) -> Lattice;
    /// The sites that it acts on.
    fn sites(&self) -> Sites;
    /// out = D ψ, or D† ψ.
    ///
    /// # Errors
    /// Fields that do not lie on the operator's lattice and sites; what the backend reports.
    fn apply(
        &mut self,
        out: &mut B::Field<R, Spinor>,
        psi: &B::Field<R, Spinor>,
        dagger: Dagger,
    ) -> Result<(), BackendError>;
    /// Floating-point operations of one application, as the field counts them.
    fn flops(&self) -> u64;
    /// Bytes that one application has to move at least, each of its kernels' inputs and outputs once.
    fn bytes(&self) -> u64;

    /// A field of zeros that the operator can act on.
    ///
    /// # Errors
    /// What the backend reports.
    fn zeros(&self) -> Result<B::Field<R, Spinor>, BackendError> {
        self.backend().zeros(self.lattice(), self.sites(), Spinor)
    }
}
