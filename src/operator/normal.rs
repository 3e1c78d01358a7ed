//! The normal equations of an operator: D†D, Hermitian and positive definite, as conjugate gradients need it.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};

use super::{ActsOn, Operator, fit};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;

/// D†D.
pub struct NormalEquations<B: Backend, R: Vectors, D: Operator<B, R>> {
    operator: D,
    between: FieldOn<B, R, D::Object>,
}

impl<B: Backend, R: Vectors, D: Operator<B, R>> NormalEquations<B, R, D> {
    /// The normal equations of `operator`, with a temporary field.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn new(operator: D) -> Result<Self, BackendError> {
        let between = operator.zeros()?;
        Ok(Self { operator, between })
    }

    /// The operator D.
    pub fn operator(&mut self) -> &mut D {
        &mut self.operator
    }
}

impl<B: Backend, R: Vectors, D: Operator<B, R>> ActsOn<B> for NormalEquations<B, R, D> {
    type Object = D::Object;

    fn backend(&self) -> &B {
        self.operator.backend()
    }
    fn lattice(&self) -> Lattice {
        self.operator.lattice()
    }
    fn object(&self, rhs: usize) -> D::Object {
        self.operator.object(rhs)
    }
}

impl<B: Backend, R: Vectors, D: Operator<B, R>> Operator<B, R> for NormalEquations<B, R, D> {
    fn sites(&self) -> Sites {
        self.operator.sites()
    }

    /// out = D†D ψ; the operator is its own Hermitian conjugate, so `dagger` makes no difference.
    fn apply(
        &mut self,
        out: &mut FieldOn<B, R, D::Object>,
        psi: &FieldOn<B, R, D::Object>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        fit::<B, R, _>(&mut self.between, psi, self.operator.backend())?;
        self.operator.apply(&mut self.between, psi, Dagger::No)?;
        self.operator.apply(out, &self.between, Dagger::Yes)
    }

    fn flops(&self) -> u64 {
        2 * self.operator.flops()
    }
    fn bytes(&self) -> u64 {
        2 * self.operator.bytes()
    }
}

/// What an iterative solver is given: an operator itself, or its normal equations.
pub enum System<B: Backend, R: Vectors, D: Operator<B, R>> {
    /// D.
    Itself(D),
    /// D†D.
    Normal(NormalEquations<B, R, D>),
}

impl<B: Backend, R: Vectors, D: Operator<B, R>> System<B, R, D> {
    /// The operator, or its normal equations.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn new(operator: D, normal: bool) -> Result<Self, BackendError> {
        Ok(match normal {
            true => Self::Normal(NormalEquations::new(operator)?),
            false => Self::Itself(operator),
        })
    }

    /// The operator D.
    pub fn operator(&mut self) -> &mut D {
        match self {
            Self::Itself(operator) => operator,
            Self::Normal(normal) => normal.operator(),
        }
    }

    /// out = the right-hand side of the system for D ψ = η: η, or D†η.
    ///
    /// # Errors
    /// As [`Operator::apply`].
    pub fn source(
        &mut self,
        out: &mut FieldOn<B, R, D::Object>,
        eta: &FieldOn<B, R, D::Object>,
    ) -> Result<(), BackendError> {
        match self {
            Self::Itself(operator) => operator.backend().copy(out, eta),
            Self::Normal(normal) => normal.operator().apply(out, eta, Dagger::Yes),
        }
    }
}

/// What both have in common, of whichever there is.
macro_rules! either {
    ($self:ident, $system:ident => $body:expr) => {
        match $self {
            Self::Itself($system) => $body,
            Self::Normal($system) => $body,
        }
    };
}

impl<B: Backend, R: Vectors, D: Operator<B, R>> ActsOn<B> for System<B, R, D> {
    type Object = D::Object;

    fn backend(&self) -> &B {
        either!(self, system => system.backend())
    }
    fn lattice(&self) -> Lattice {
        either!(self, system => system.lattice())
    }
    fn object(&self, rhs: usize) -> D::Object {
        either!(self, system => system.object(rhs))
    }
}

impl<B: Backend, R: Vectors, D: Operator<B, R>> Operator<B, R> for System<B, R, D> {
    fn sites(&self) -> Sites {
        either!(self, system => system.sites())
    }

    fn apply(
        &mut self,
        out: &mut FieldOn<B, R, D::Object>,
        psi: &FieldOn<B, R, D::Object>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        either!(self, system => system.apply(out, psi, dagger))
    }
    fn flops(&self) -> u64 {
        either!(self, system => system.flops())
    }
    fn bytes(&self) -> u64 {
        either!(self, system => system.bytes())
    }
}
