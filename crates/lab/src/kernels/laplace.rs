//! The Laplacian's hop onto one set of sites. Kernels: `reference/src/kernels/laplace.rs` and `cl/laplace.cl`.

use lanefield::backend::{Backend, BackendError};
use lanefield_reference::field::ColourVectors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::laplace::{FLOPS_PER_VECTOR, ideal_bytes_per_site};
use lanefield_reference::layout::Sites;

use super::{KernelSet, Onto, StencilSetup, field, number_of_sites};
use crate::record::{Ceiling, Family, FieldFacts, KernelFacts, Work};

/// The Laplacian's hop, with links and colour vectors.
pub struct LaplaceKernels<B: Backend, R: Vectors> {
    setup: StencilSetup,
    onto: Onto<B, R>,
    source: B::Field<R, ColourVectors>,
    out: B::Field<R, ColourVectors>,
}

impl<B: Backend, R: Vectors> LaplaceKernels<B, R> {
    /// The hop onto `sites`, of as many colour vectors a site as `setup` has spinors.
    ///
    /// # Errors
    /// What the backend reports: no room, say.
    pub fn new(backend: &B, setup: StencilSetup, sites: Sites) -> Result<Self, BackendError> {
        let (lattice, object) = (setup.lattice, ColourVectors::new(setup.spinors));
        Ok(Self {
            setup,
            onto: Onto::new(backend, &setup, sites)?,
            source: field(backend, lattice, sites.neighbours(), object, 1)?,
            out: backend.zeros(lattice, sites, object)?,
        })
    }
}

impl<B: Backend, R: Vectors> KernelSet<B> for LaplaceKernels<B, R> {
    /// There is one.
    type Kernel = ();

    fn kernels(&self) -> Vec<()> {
        vec![()]
    }

    fn facts(&self, (): ()) -> KernelFacts {
        let StencilSetup { lattice, links, legs, spinors } = self.setup;
        let count = number_of_sites(&lattice, self.onto.sites);
        let work = Work {
            flops: count * spinors as u64 * FLOPS_PER_VECTOR,
            bytes: count * ideal_bytes_per_site(links, R::BITS as usize / 8, spinors),
        };
        KernelFacts {
            family: Family::Laplace,
            kernel: "laplace hop".to_owned(),
            fields: FieldFacts::new::<R>(&lattice, self.onto.sites, spinors).with_links(links, legs),
            work,
            ceiling: Ceiling::Copy,
        }
    }

    fn launch(&mut self, backend: &B, (): ()) -> Result<(), BackendError> {
        let Onto { stencil, links, .. } = &self.onto;
        backend.laplace_hop(&mut self.out, stencil, links, &self.source, self.setup.legs)
    }
}
