//! What acts along the fifth dimension of domain wall fermions. Kernels: `reference/src/kernels/domain_wall.rs` and `cl/domain_wall.cl`.

use lanefield::backend::{Backend, BackendError};
use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::{InverseForm, MobiusCoefficients};
use lanefield_reference::layout::{Lattice, Sites};

use super::{KernelSet, field, number_of_sites};
use crate::record::{Ceiling, Family, FieldFacts, KernelFacts, Work};

/// Sites of the fifth dimension.
pub const LS: usize = 16;
/// Floating-point operations of a sum of spinors.
const SUM_FLOPS: u64 = 24;

/// A product along s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlongS {
    /// With a tridiagonal matrix.
    Tridiagonal,
    /// The same, and a sum.
    TridiagonalWithSum,
    /// With its inverse.
    Inverse(InverseForm),
}

/// The products along s, with their matrices, and spinors of `LS` · right-hand sides a site.
pub struct AlongSKernels<B: Backend, R: Vectors> {
    lattice: Lattice,
    right_hand_sides: usize,
    matrices: [Matrix<B, R>; 3],
    x: B::Field<R, Spinors>,
    z: B::Field<R, Spinors>,
    out: B::Field<R, Spinors>,
}

/// A matrix that the backend holds, and the operations of a product with it.
struct Matrix<B: Backend, R: Vectors> {
    held: B::SMatrix<R>,
    flops: u64,
}

impl<B: Backend, R: Vectors> AlongSKernels<B, R> {
    /// The matrices of Möbius fermions with mass 0.01, M5 1.8, b 1.5 and c 0.5, on all sites.
    ///
    /// # Errors
    /// What the backend reports: no room, say.
    pub fn new(backend: &B, lattice: Lattice, right_hand_sides: usize) -> Result<Self, BackendError> {
        let diagonal = MobiusCoefficients::new(LS, 0.01, 1.8, 1.5, 0.5)?.diagonal();
        let held = |matrix| -> Result<Matrix<B, R>, BackendError> {
            Ok(Matrix { held: backend.s_matrix(&matrix)?, flops: matrix.flops() })
        };
        let inverse = |form| -> Result<_, BackendError> { held(diagonal.inverse(form)?) };
        let object = Spinors::new(LS * right_hand_sides);
        Ok(Self {
            lattice,
            right_hand_sides,
            matrices: [held(diagonal.matrix())?, inverse(InverseForm::Sweep)?, inverse(InverseForm::Dense)?],
            x: field(backend, lattice, Sites::Full, object, 1)?,
            z: field(backend, lattice, Sites::Full, object, 2)?,
            out: backend.zeros(lattice, Sites::Full, object)?,
        })
    }

    fn matrix(&self, kernel: AlongS) -> &Matrix<B, R> {
        let [tridiagonal, sweep, dense] = &self.matrices;
        match kernel {
            AlongS::Tridiagonal | AlongS::TridiagonalWithSum => tridiagonal,
            AlongS::Inverse(InverseForm::Sweep) => sweep,
            AlongS::Inverse(InverseForm::Dense) => dense,
        }
    }
}

impl<B: Backend, R: Vectors> KernelSet<B> for AlongSKernels<B, R> {
    type Kernel = AlongS;

    fn kernels(&self) -> Vec<AlongS> {
        let inverses = InverseForm::ALL.map(AlongS::Inverse);
        [AlongS::Tridiagonal, AlongS::TridiagonalWithSum].into_iter().chain(inverses).collect()
    }

    fn facts(&self, kernel: AlongS) -> KernelFacts {
        let columns = number_of_sites(&self.lattice, Sites::Full) * self.right_hand_sides as u64;
        let spinors = columns * LS as u64;
        let a_field = spinors * R::device_bytes(Spinors::WORDS) as u64;
        let (name, sum_flops, moved) = match kernel {
            AlongS::Tridiagonal => ("tridiagonal", 0, 2),
            AlongS::TridiagonalWithSum => ("tridiagonal with sum", SUM_FLOPS, 3),
            AlongS::Inverse(InverseForm::Sweep) => ("inverse by sweep", 0, 2),
            AlongS::Inverse(InverseForm::Dense) => ("dense inverse", 0, 2),
        };
        let flops = columns * self.matrix(kernel).flops + spinors * sum_flops;
        KernelFacts {
            family: Family::DomainWall,
            kernel: name.to_owned(),
            fields: FieldFacts::new::<R>(&self.lattice, Sites::Full, LS * self.right_hand_sides),
            work: Work { flops, bytes: moved * a_field },
            ceiling: Ceiling::Copy,
        }
    }

    fn launch(&mut self, backend: &B, kernel: AlongS) -> Result<(), BackendError> {
        let Self { matrices: [tridiagonal, sweep, dense], x, z, out, .. } = self;
        match kernel {
            AlongS::Tridiagonal => backend.s_multiply(out, &tridiagonal.held, x),
            AlongS::TridiagonalWithSum => backend.s_multiply_add(out, &tridiagonal.held, x, z),
            AlongS::Inverse(InverseForm::Sweep) => backend.s_multiply(out, &sweep.held, x),
            AlongS::Inverse(InverseForm::Dense) => backend.s_multiply(out, &dense.held, x),
        }
    }
}
