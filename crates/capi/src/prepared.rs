//! Operators that a context holds: made when they are first applied, and kept.

use std::sync::Arc;

use lanefield::backend::Memory as _;
use lanefield::dynamic::{AnyBackend, Prepared, What};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Checkerboard, Extents, LaneChoice, Lattice, LatticeOptions, LayoutError, Sites};
use lanefield::reference::real::Precision;
use self_cell::self_cell;

use crate::context::Context;

self_cell! {
    /// An operator with the context that it borrows.
    pub struct Kept {
        owner: Arc<Context>,
        #[covariant]
        dependent: Prepared,
    }
}

impl Kept {
    /// An operator in a precision: on the backend of the context, or on its CPU reference.
    pub fn of(
        context: &Arc<Context>,
        on_host: bool,
        (what, precision): (What, Precision),
        configuration: &Arc<Configuration>,
    ) -> Self {
        Self::new(Arc::clone(context), |context| {
            let backend = if on_host { &context.host } else { context.backend() };
            what.prepare(backend, precision, Arc::clone(configuration))
        })
    }
}

/// A lattice as a backend lays out fields of precision `R`: with parities where `sites` is one.
pub fn lattice<R: Vectors>(backend: &AnyBackend, extents: Extents, sites: Sites) -> Result<Lattice, LayoutError> {
    let checkerboard = match sites {
        Sites::Full => Checkerboard::FullOnly,
        Sites::Parity(_) => Checkerboard::RedBlack,
    };
    let options = LatticeOptions { lanes: backend.lanes(LaneChoice::Auto), nodes: None, checkerboard };
    Lattice::new(extents, R::COMPLEX, options)
}
