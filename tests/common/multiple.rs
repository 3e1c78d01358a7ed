//! An operator whose inverse is known.

use std::marker::PhantomData;

use lanefield::prelude::*;

/// A multiple of the identity.
pub struct Multiple<'b, B, R> {
    backend: &'b B,
    lattice: Lattice,
    sites: Sites,
    factor: f64,
    precision: PhantomData<R>,
}

impl<'b, B, R> Multiple<'b, B, R> {
    pub fn new(backend: &'b B, lattice: Lattice, sites: Sites, factor: f64) -> Self {
        Self { backend, lattice, sites, factor, precision: PhantomData }
    }
}

impl<B: Backend, R> ActsOn<B> for Multiple<'_, B, R> {
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

impl<B: Backend, R: Vectors> Operator<B, R> for Multiple<'_, B, R> {
    fn sites(&self) -> Sites {
        self.sites
    }
    fn apply(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
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
