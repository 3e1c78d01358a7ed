//! Operators that a context holds: made when they are first applied, and kept. Who calls knows neither their type nor the backend's.

use std::sync::Arc;

use lanefield::backend::{Backend, Cpu, Memory, OpenCl};
use lanefield::operator::prepared::{self, prepare};
use lanefield::operator::{AnyModel, HopParameters};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Checkerboard, Extents, LaneChoice, Lattice, LatticeOptions, LayoutError, Sites};
use self_cell::self_cell;

use crate::context::Context;
use crate::hop::{Hop, OfHop};

/// What is applied.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// An operator.
    Model(AnyModel),
    /// The kernel of a hop.
    Hop(Hop, HopParameters),
}

impl What {
    fn on<'b, B: Backend, R: Vectors>(
        self,
        backend: &'b B,
        configuration: Arc<Configuration>,
    ) -> prepared::Prepared<'b, B> {
        match self {
            Self::Model(model) => prepare::<B, R>(backend, model, configuration),
            Self::Hop(hop, parameters) => Box::new(OfHop::<'b, B, R>::new(backend, hop, parameters, configuration)),
        }
    }
}

/// An operator, ready on a backend.
pub enum Prepared<'b> {
    /// The CPU reference.
    Cpu(prepared::Prepared<'b, Cpu>),
    /// An OpenCL device.
    OpenCl(prepared::Prepared<'b, OpenCl>),
}

self_cell! {
    /// An operator with the context that it borrows.
    pub struct Kept {
        owner: Arc<Context>,
        #[covariant]
        dependent: Prepared,
    }
}

impl Kept {
    /// An operator in precision `R`: of the device of the context if there is one and `on_device`, else of the CPU reference.
    pub fn of<R: Vectors>(
        context: &Arc<Context>,
        on_device: bool,
        what: What,
        configuration: &Arc<Configuration>,
    ) -> Self {
        let configuration = Arc::clone(configuration);
        Self::new(Arc::clone(context), |context| match &context.device {
            Some(device) if on_device => Prepared::OpenCl(what.on::<_, R>(&device.opencl, configuration)),
            _ => Prepared::Cpu(what.on::<_, R>(&context.cpu, configuration)),
        })
    }
}

/// A lattice as a backend lays out fields of precision `R`: with parities where `sites` is one.
pub fn lattice<R: Vectors>(backend: &impl Memory, extents: Extents, sites: Sites) -> Result<Lattice, LayoutError> {
    let checkerboard = match sites {
        Sites::Full => Checkerboard::FullOnly,
        Sites::Parity(_) => Checkerboard::RedBlack,
    };
    let options = LatticeOptions { lanes: backend.lanes(LaneChoice::Auto), nodes: None, checkerboard };
    Lattice::new(extents, R::COMPLEX, options)
}
