//! An operator whose inverse is known.

#![allow(dead_code, reason = "not every test needs it")]

use lanefield::backend::{Backend, BackendError};
use lanefield::operator::{ActsOn, Operator};
use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};

/// A multiple of the identity.
pub struct Multiple<'b, B> {
    pub backend: &'b B,
    pub lattice: Lattice,
    pub sites: Sites,
    pub factor: f64,
}

impl<B: Backend> ActsOn<B> for Multiple<'_, B> {
    type Object = Spinors;

    fn backend(&self) -> &B {
        self.backend
    }
    fn lattice(&self) -> Lattice {
        self.lattice
    }
    fn object(&self, columns: usize) -> Spinors {
        Spinors::new(columns)
    }
}

impl<B: Backend> Operator<B, f64> for Multiple<'_, B> {
    fn sites(&self) -> Sites {
        self.sites
    }
    fn apply(
        &mut self,
        out: &mut B::Field<f64, Spinors>,
        psi: &B::Field<f64, Spinors>,
        _: Dagger,
    ) -> Result<(), BackendError> {
        self.backend.scale(out, self.factor, psi)
    }
    fn flops(&self) -> u64 {
        0
    }
    fn bytes(&self) -> u64 {
        0
    }
}
