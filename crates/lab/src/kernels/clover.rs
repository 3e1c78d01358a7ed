//! The clover kernels, each in one launch, and the product with blocks alone. Kernels: `reference/src/kernels/clover.rs` and `cl/clover.cl`.

use lanefield::backend::{Backend, BackendError};
use lanefield_reference::field::{CloverBlocks, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover::FLOPS_PER_SITE;
use lanefield_reference::kernels::hop::{self, Dagger, HopTerm};
use lanefield_reference::layout::{LegOrder, Parity, Sites};

use super::{KernelSet, Onto, StencilSetup, field, number_of_sites};
use crate::record::{Ceiling, Family, FieldFacts, KernelFacts, Work};

const EVEN: Sites = Sites::Parity(Parity::Even);
const ODD: Sites = Sites::Parity(Parity::Odd);
/// Floating-point operations of a difference of spinors, counted as an axpy.
const DIFFERENCE_FLOPS: u64 = 48;

/// A clover kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloverKernel {
    /// ψe = Mee⁻¹ Meo ψo: EOClover, and EOCloverDag.
    EvenFromOdd(Dagger),
    /// χo = Moo χ − Moe ψe: OEClover, and OECloverDag.
    OddFromEven(Dagger),
    /// The product with the blocks of odd sites.
    Apply,
}

impl CloverKernel {
    /// Those that go on from a hop.
    pub const AFTER_HOP: [Self; 4] = [
        Self::EvenFromOdd(Dagger::No),
        Self::EvenFromOdd(Dagger::Yes),
        Self::OddFromEven(Dagger::No),
        Self::OddFromEven(Dagger::Yes),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::EvenFromOdd(Dagger::No) => "EOClover",
            Self::EvenFromOdd(Dagger::Yes) => "EOCloverDag",
            Self::OddFromEven(Dagger::No) => "OEClover",
            Self::OddFromEven(Dagger::Yes) => "OECloverDag",
            Self::Apply => "clover apply",
        }
    }
}

/// The clover kernels, with the links, blocks and spinors of both parities.
pub struct CloverKernels<B: Backend, R: Vectors> {
    setup: StencilSetup,
    even: Half<B, R>,
    odd: Half<B, R>,
    chi: B::Field<R, Spinors>,
}

/// What lies on one parity.
struct Half<B: Backend, R: Vectors> {
    onto: Onto<B, R>,
    blocks: B::Field<R, CloverBlocks>,
    psi: B::Field<R, Spinors>,
    out: B::Field<R, Spinors>,
}

impl<B: Backend, R: Vectors> Half<B, R> {
    fn new(backend: &B, setup: &StencilSetup, sites: Sites) -> Result<Self, BackendError> {
        let (lattice, object) = (setup.lattice, Spinors::new(setup.spinors));
        Ok(Self {
            onto: Onto::new(backend, setup, sites)?,
            blocks: field(backend, lattice, sites, CloverBlocks, 1)?,
            psi: field(backend, lattice, sites, object, 2)?,
            out: backend.zeros(lattice, sites, object)?,
        })
    }
}

impl<B: Backend, R: Vectors> CloverKernels<B, R> {
    /// The kernels of both parities.
    ///
    /// # Errors
    /// What the backend reports: no room, say.
    pub fn new(backend: &B, setup: StencilSetup) -> Result<Self, BackendError> {
        Ok(Self {
            setup,
            even: Half::new(backend, &setup, EVEN)?,
            odd: Half::new(backend, &setup, ODD)?,
            chi: field(backend, setup.lattice, ODD, Spinors::new(setup.spinors), 3)?,
        })
    }

    /// Adds the legs in another order from now on.
    pub fn set_legs(&mut self, legs: LegOrder) {
        self.setup.legs = legs;
    }
}

impl<B: Backend, R: Vectors> KernelSet<B> for CloverKernels<B, R> {
    type Kernel = CloverKernel;

    fn kernels(&self) -> Vec<CloverKernel> {
        CloverKernel::AFTER_HOP.into_iter().chain([CloverKernel::Apply]).collect()
    }

    /// Links and blocks are read once for all spinors of a site.
    fn facts(&self, kernel: CloverKernel) -> KernelFacts {
        let StencilSetup { lattice, links, legs, spinors } = self.setup;
        let real_bytes = R::BITS as usize / 8;
        let a_spinor = (2 * Spinors::WORDS * real_bytes) as u64;
        let blocks = (2 * CloverBlocks::WORDS * real_bytes) as u64;
        let links_of_site = hop::ideal_bytes_per_site(links, real_bytes) - 2 * a_spinor;
        let after_hop = hop::FLOPS_PER_SITE + FLOPS_PER_SITE;
        // Operations a spinor, bytes a site, and spinors read or written.
        let (sites, flops, once, moved) = match kernel {
            CloverKernel::EvenFromOdd(_) => (EVEN, after_hop, links_of_site + blocks, 2),
            CloverKernel::OddFromEven(_) => (ODD, after_hop + DIFFERENCE_FLOPS, links_of_site + blocks, 3),
            CloverKernel::Apply => (ODD, FLOPS_PER_SITE, blocks, 2),
        };
        let (count, each) = (number_of_sites(&lattice, sites), spinors as u64);
        let fields = FieldFacts::new::<R>(&lattice, sites, spinors);
        KernelFacts {
            family: Family::Clover,
            kernel: kernel.name().to_owned(),
            fields: if kernel == CloverKernel::Apply { fields } else { fields.with_links(links, legs) },
            work: Work { flops: count * each * flops, bytes: count * (once + each * moved * a_spinor) },
            ceiling: Ceiling::Copy,
        }
    }

    fn launch(&mut self, backend: &B, kernel: CloverKernel) -> Result<(), BackendError> {
        let (even, odd, legs) = (&mut self.even, &mut self.odd, self.setup.legs);
        match kernel {
            CloverKernel::EvenFromOdd(dagger) => {
                let Onto { stencil, links, .. } = &even.onto;
                let hop = HopTerm { stencil, links, source: &odd.psi, legs, dagger };
                backend.clover_inverse_hop(&mut even.out, &even.blocks, hop)
            }
            CloverKernel::OddFromEven(dagger) => {
                let Onto { stencil, links, .. } = &odd.onto;
                let hop = HopTerm { stencil, links, source: &even.psi, legs, dagger };
                backend.clover_minus_hop(&mut odd.out, &odd.blocks, &self.chi, hop)
            }
            CloverKernel::Apply => backend.clover_apply(&mut odd.out, &odd.blocks, &self.chi),
        }
    }
}
