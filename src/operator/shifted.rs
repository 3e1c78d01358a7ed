//! An operator plus a multiple of the identity.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};

use super::traits::acts_as;
use super::traits::{AXPY_FLOPS, On, bytes_of};
use super::{ActsOn, Operator};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

/// A + σ with a real σ: A ψ, followed by an `axpy` unless σ is 0.
pub struct Shifted<D> {
    operator: D,
    shift: f64,
}

impl<D> Shifted<D> {
    /// Adds `shift` times the identity to an operator.
    pub fn new(operator: D, shift: f64) -> Self {
        Self { operator, shift }
    }
}

acts_as!(Shifted<D>, [B: Backend, D: ActsOn<B>], operator, D::Object, |this, rhs| this.operator.object(rhs));

impl<B: Backend, R: Vectors, D: Operator<B, R>> Operator<B, R> for Shifted<D> {
    fn sites(&self) -> Sites {
        self.operator.sites()
    }

    fn apply(&mut self, out: &mut On<B, R, D>, psi: &On<B, R, D>, dagger: Dagger) -> Result<(), BackendError> {
        self.operator.apply(out, psi, dagger)?;
        match self.shift {
            0.0 => Ok(()),
            shift => self.operator.backend().axpy(shift, psi, out),
        }
    }

    fn flops(&self) -> u64 {
        let of_shift = if self.shift == 0.0 { 0 } else { AXPY_FLOPS * self.words(self.sites()) };
        self.operator.flops() + of_shift
    }
    fn bytes(&self) -> u64 {
        let of_shift = if self.shift == 0.0 { 0 } else { 3 * bytes_of::<R>(self.words(self.sites())) };
        self.operator.bytes() + of_shift
    }
}
