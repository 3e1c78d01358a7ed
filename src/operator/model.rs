//! Operators by their parameters: what a solve needs to know to make one, on all sites or in even-odd pieces, in any precision and on any
//! backend.

use lanefield_reference::field::Repeated;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::Lattice;

use super::{EvenOdd, Operator};
use crate::backend::{Backend, BackendError};
#[allow(unused_imports)]
use crate::kernel::prelude::*;

/// The parameters of an operator, which can make it.
pub trait Model: Copy {
    /// What its fields hold at each site.
    type Object: Repeated;
    /// The operator on all sites.
    type Full<'b, B: Backend + 'b, R: Vectors>: Operator<B, R, Object = Self::Object>;
    /// The operator in even-odd pieces.
    type Pieces<'b, B: Backend + 'b, R: Vectors>: EvenOdd<B, R, Object = Self::Object>;

    /// What it is called: "wilson".
    fn name(&self) -> &'static str;
    /// What a field of `columns` columns holds at each site.
    fn object(&self, columns: usize) -> Self::Object;
    /// Whether it is Hermitian and positive definite, so that conjugate gradients need no normal equations.
    fn is_positive(&self) -> bool {
        false
    }
    /// Makes it on all sites.
    ///
    /// # Errors
    /// Extents of configuration and lattice that differ; what the backend reports.
    fn full<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Self::Full<'b, B, R>, BackendError>;
    /// Makes its even-odd pieces.
    ///
    /// # Errors
    /// As [`Self::full`].
    fn even_odd<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Self::Pieces<'b, B, R>, BackendError>;
}
