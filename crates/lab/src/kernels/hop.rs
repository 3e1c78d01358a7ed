//! The Wilson hop onto one set of sites. Kernels: `reference/src/kernels/hop.rs` and `cl/hop.cl`.

use lanefield::backend::{Backend, BackendError};
use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::{Dagger, FLOPS_PER_SITE, ideal_bytes_per_spinor};
use lanefield_reference::layout::{LegOrder, Sites};

use super::{KernelSet, Onto, StencilSetup, field, number_of_sites};
use crate::record::{Ceiling, Family, FieldFacts, KernelFacts, Work};

/// The hop, with links and spinors.
pub struct HopKernels<B: Backend, R: Vectors> {
    setup: StencilSetup,
    family: Family,
    onto: Onto<B, R>,
    source: B::Field<R, Spinors>,
    out: B::Field<R, Spinors>,
}

impl<B: Backend, R: Vectors> HopKernels<B, R> {
    /// The hop onto `sites`; `family`: where it is counted.
    ///
    /// # Errors
    /// What the backend reports: no room, say.
    pub fn new(backend: &B, setup: StencilSetup, sites: Sites, family: Family) -> Result<Self, BackendError> {
        let (lattice, object) = (setup.lattice, Spinors::new(setup.spinors));
        Ok(Self {
            setup,
            family,
            onto: Onto::new(backend, &setup, sites)?,
            source: field(backend, lattice, sites.neighbours(), object, 1)?,
            out: backend.zeros(lattice, sites, object)?,
        })
    }

    /// Adds the legs in another order from now on.
    pub fn set_legs(&mut self, legs: LegOrder) {
        self.setup.legs = legs;
    }
}

impl<B: Backend, R: Vectors> KernelSet<B> for HopKernels<B, R> {
    type Kernel = Dagger;

    /// The hop; its conjugate is no other work.
    fn kernels(&self) -> Vec<Dagger> {
        vec![Dagger::No]
    }

    fn facts(&self, dagger: Dagger) -> KernelFacts {
        let StencilSetup { lattice, links, legs, spinors } = self.setup;
        let all = number_of_sites(&lattice, self.onto.sites) * spinors as u64;
        let bytes = all as f64 * ideal_bytes_per_spinor(links, R::BITS as usize / 8, spinors);
        KernelFacts {
            family: self.family,
            kernel: if dagger == Dagger::No { "hop" } else { "hop dagger" }.to_owned(),
            fields: FieldFacts::new::<R>(&lattice, self.onto.sites, spinors).with_links(links, legs),
            work: Work { flops: all * FLOPS_PER_SITE, bytes: bytes as u64 },
            ceiling: Ceiling::Copy,
        }
    }

    fn launch(&mut self, backend: &B, dagger: Dagger) -> Result<(), BackendError> {
        let Onto { stencil, links, .. } = &self.onto;
        backend.hop(&mut self.out, stencil, links, &self.source, self.setup.legs, dagger)
    }
}
