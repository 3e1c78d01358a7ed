//! Operators on spinors that are functions.

use lanefield::prelude::*;

pub struct ByFunction<'b, B, F> {
    backend: &'b B,
    lattice: Lattice,
    sites: Sites,
    apply: F,
}

impl<'b, B: Backend, F> ByFunction<'b, B, F> {
    pub fn new<R: Vectors>(backend: &'b B, lattice: Lattice, sites: Sites, apply: F) -> Self
    where
        F: FnMut(&mut FieldOn<B, R, Spinors>, &FieldOn<B, R, Spinors>, Dagger) -> Result<(), BackendError>,
    {
        Self { backend, lattice, sites, apply }
    }
}

/// A multiple of the identity, whose inverse is known.
pub fn multiple<B: Backend, R: Vectors>(
    backend: &B,
    lattice: Lattice,
    sites: Sites,
    factor: f64,
) -> impl Operator<B, R, Object = Spinors> {
    ByFunction::new::<R>(backend, lattice, sites, move |out, psi, _| backend.scale(out, factor, psi))
}

impl<B: Backend, F> ActsOn<B> for ByFunction<'_, B, F> {
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

impl<B: Backend, R: Vectors, F> Operator<B, R> for ByFunction<'_, B, F>
where
    F: FnMut(&mut FieldOn<B, R, Spinors>, &FieldOn<B, R, Spinors>, Dagger) -> Result<(), BackendError>,
{
    fn sites(&self) -> Sites {
        self.sites
    }
    fn apply(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        (self.apply)(out, psi, dagger)
    }
    fn flops(&self) -> u64 {
        0
    }
    fn bytes(&self) -> u64 {
        0
    }
}
