//! Vector operations and sums that solvers need, on spinors. Kernels: `reference/src/kernels/{blas,reduce}.rs` and `cl/{blas,reduce}.cl`.

use lanefield::backend::{Backend, BackendError, Sum};
use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Sites};

use super::{KernelSet, field, number_of_sites};
use crate::record::{Ceiling, Family, FieldFacts, KernelFacts, Work};

/// Scalars with which fields neither grow nor shrink much, however often they are applied.
const SMALL: f64 = 1e-6;
const HALF: f64 = 0.5;

/// A vector operation. Sums are exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlasKernel {
    /// out = x.
    Copy,
    /// out = a x.
    Scale,
    /// y ← a x + y.
    Axpy,
    /// y ← a x + y, and |y|².
    AxpyNorm,
    /// ψ ← a p + ψ, p ← b p + r.
    CgUpdate,
    /// |x|².
    Norm2,
    /// ⟨x, y⟩.
    InnerProduct,
}

impl BlasKernel {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Copy, Self::Scale, Self::Axpy, Self::AxpyNorm, Self::CgUpdate, Self::Norm2, Self::InnerProduct];

    /// Its name, operations on a real component, fields read and written, and whether it writes.
    fn facts(self) -> (&'static str, u64, u64, Ceiling) {
        match self {
            Self::Copy => ("copy", 0, 2, Ceiling::Copy),
            Self::Scale => ("scale", 1, 2, Ceiling::Copy),
            Self::Axpy => ("axpy", 2, 3, Ceiling::Copy),
            Self::AxpyNorm => ("axpy_norm", 4, 3, Ceiling::Copy),
            Self::CgUpdate => ("cg_update", 4, 5, Ceiling::Copy),
            Self::Norm2 => ("norm2", 2, 1, Ceiling::Read),
            Self::InnerProduct => ("inner_product", 4, 2, Ceiling::Read),
        }
    }
}

/// Vector operations, with spinors on all sites.
pub struct BlasKernels<B: Backend, R: Vectors> {
    lattice: Lattice,
    spinors: usize,
    x: B::Field<R, Spinors>,
    y: B::Field<R, Spinors>,
    z: B::Field<R, Spinors>,
}

impl<B: Backend, R: Vectors> BlasKernels<B, R> {
    /// Operations on fields of `spinors` spinors a site.
    ///
    /// # Errors
    /// What the backend reports: no room, say.
    pub fn new(backend: &B, lattice: Lattice, spinors: usize) -> Result<Self, BackendError> {
        let field = |number| field(backend, lattice, Sites::Full, Spinors::new(spinors), number);
        Ok(Self { lattice, spinors, x: field(1)?, y: field(2)?, z: field(3)? })
    }
}

impl<B: Backend, R: Vectors> KernelSet<B> for BlasKernels<B, R> {
    type Kernel = BlasKernel;

    fn kernels(&self) -> Vec<BlasKernel> {
        BlasKernel::ALL.to_vec()
    }

    fn facts(&self, kernel: BlasKernel) -> KernelFacts {
        let (name, operations, moved, ceiling) = kernel.facts();
        let spinors = number_of_sites(&self.lattice, Sites::Full) * self.spinors as u64;
        KernelFacts {
            family: Family::Blas,
            kernel: name.to_owned(),
            fields: FieldFacts::new::<R>(&self.lattice, Sites::Full, self.spinors),
            work: Work {
                flops: operations * spinors * (2 * Spinors::WORDS) as u64,
                bytes: moved * spinors * R::device_bytes(Spinors::WORDS) as u64,
            },
            ceiling,
        }
    }

    fn launch(&mut self, backend: &B, kernel: BlasKernel) -> Result<(), BackendError> {
        let Self { x, y, z, .. } = self;
        match kernel {
            BlasKernel::Copy => backend.copy(y, x),
            BlasKernel::Scale => backend.scale(y, SMALL, x),
            BlasKernel::Axpy => backend.axpy(SMALL, x, y),
            BlasKernel::AxpyNorm => backend.axpy_norm(SMALL, x, y, Sum::Exact).map(drop),
            BlasKernel::CgUpdate => backend.cg_update(y, z, x, SMALL, HALF),
            BlasKernel::Norm2 => backend.norm2(x, Sum::Exact).map(drop),
            BlasKernel::InnerProduct => backend.inner_product(x, y, Sum::Exact).map(drop),
        }
    }
}
