//! The kernels that are timed, one file a family, each with the fields that it acts on. They are launched on a backend that is named anew each
//! time, so that the same fields serve in several variants. Links and blocks are random numbers: no time depends on them.

mod blas;
mod clover;
mod columns;
mod convert;
mod domain_wall;
mod hop;
mod laplace;
mod named;

use lanefield_reference::field::SiteObject;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, LegOrder, Sites, Stencil};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat};

pub use blas::{BlasKernel, BlasKernels};
pub use clover::{CloverKernel, CloverKernels};
pub use columns::{ColumnKernel, ColumnKernels};
pub use convert::{ConvertKernel, ConvertKernels};
pub use domain_wall::{AlongS, AlongSKernels, LS};
pub use hop::HopKernels;
pub use laplace::LaplaceKernels;
pub use named::{KernelTask, NamedKernel, with_kernel, with_kernel_onto};

use lanefield::backend::{Backend, BackendError};
use lanefield::verify::{Numbers, TestData};

use super::record::KernelFacts;

/// Kernels that share fields, ready to be launched.
pub trait KernelSet<B: Backend> {
    /// One of them.
    type Kernel: Copy;
    /// All of them, in the order of a table.
    fn kernels(&self) -> Vec<Self::Kernel>;
    /// What is known of one.
    fn facts(&self, kernel: Self::Kernel) -> KernelFacts;
    /// Launches one on the backend that holds the fields.
    ///
    /// # Errors
    /// What the backend reports.
    fn launch(&mut self, backend: &B, kernel: Self::Kernel) -> Result<(), BackendError>;
}

/// What stencil kernels are made for.
#[derive(Clone, Copy, Debug)]
pub struct StencilSetup {
    /// The lattice in lanes.
    pub lattice: Lattice,
    /// Reals stored a link.
    pub links: LinkFormat,
    /// The order of the legs.
    pub legs: LegOrder,
    /// Spinors or colour vectors a site.
    pub spinors: usize,
}

/// Stencil and links onto one set of sites.
struct Onto<B: Backend, R: Vectors> {
    sites: Sites,
    stencil: B::Stencil,
    links: B::Field<R, DoubledGauge>,
}

impl<B: Backend, R: Vectors> Onto<B, R> {
    fn new(backend: &B, setup: &StencilSetup, sites: Sites) -> Result<Self, BackendError> {
        let object = DoubledGauge { format: setup.links, boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME };
        Ok(Self {
            sites,
            stencil: backend.stencil(Stencil::new(setup.lattice, sites)?)?,
            links: field(backend, setup.lattice, sites, object, 0)?,
        })
    }
}

/// A field of ordinary random numbers, another one for each `number`.
fn field<R: Vectors, K: SiteObject, B: Backend>(
    backend: &B,
    lattice: Lattice,
    sites: Sites,
    object: K,
    number: u32,
) -> Result<B::Field<R, K>, BackendError> {
    backend.upload(TestData::new(1).field(lattice, sites, object, Numbers::Ordinary, number)?)
}

/// Number of sites of a field on `sites`.
fn number_of_sites(lattice: &Lattice, sites: Sites) -> u64 {
    (lattice.osites(sites) * lattice.nsimd()) as u64
}
