//! The system that an iterative solver solves: an operator D, or its normal equations D†D, which are Hermitian and positive definite, as conjugate
//! gradients require.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};

use super::traits::acts_as;
use super::traits::{On, fit};
use super::{ActsOn, Operator};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

/// D or D†D.
pub struct System<B: Backend, R: Vectors, D: Operator<B, R>> {
    operator: D,
    /// Dψ, for the normal equations.
    between: Option<On<B, R, D>>,
}

impl<B: Backend, R: Vectors, D: Operator<B, R>> System<B, R, D> {
    /// The operator or its normal equations, with a temporary field.
    pub fn new(operator: D, normal: bool) -> Result<Self, BackendError> {
        let between = normal.then(|| operator.zeros()).transpose()?;
        Ok(Self { operator, between })
    }

    /// The operator D.
    pub fn operator(&mut self) -> &mut D {
        &mut self.operator
    }

    /// out = the right-hand side of the system for D ψ = η: η or D†η.
    pub fn source(&mut self, out: &mut On<B, R, D>, eta: &On<B, R, D>) -> Result<(), BackendError> {
        match self.between {
            None => self.operator.backend().copy(out, eta),
            Some(_) => self.operator.apply(out, eta, Dagger::Yes),
        }
    }

    /// Number of applications of the operator in one of the system.
    fn applications(&self) -> u64 {
        if self.between.is_some() { 2 } else { 1 }
    }
}

acts_as!(System<B, R, D>, [B: Backend, R: Vectors, D: Operator<B, R>], operator, D::Object, |this, rhs| this.operator.object(rhs));

impl<B: Backend, R: Vectors, D: Operator<B, R>> Operator<B, R> for System<B, R, D> {
    fn sites(&self) -> Sites {
        self.operator.sites()
    }

    /// The normal equations are their own Hermitian conjugate, so `dagger` has no effect on them.
    fn apply(&mut self, out: &mut On<B, R, D>, psi: &On<B, R, D>, dagger: Dagger) -> Result<(), BackendError> {
        let Some(between) = &mut self.between else { return self.operator.apply(out, psi, dagger) };
        fit::<B, R, _>(between, psi, self.operator.backend())?;
        self.operator.apply(between, psi, Dagger::No)?;
        self.operator.apply(out, between, Dagger::Yes)
    }

    fn flops(&self) -> u64 {
        self.applications() * self.operator.flops()
    }
    fn bytes(&self) -> u64 {
        self.applications() * self.operator.bytes()
    }
}
