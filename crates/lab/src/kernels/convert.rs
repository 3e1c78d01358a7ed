//! Spinor fields from one precision to the others, on the same cut into lanes. Kernels: `reference/src/kernels/convert.rs` and
//! `cl/convert.cl`.

use lanefield::backend::{Backend, BackendError};
use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Sites};
use lanefield_reference::real::Real as _;
use lanefield_reference::sixteen::Sixteen;

use super::{KernelSet, field, number_of_sites};
use crate::record::{Ceiling, Family, FieldFacts, KernelFacts, Work};

/// A conversion: the precision of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConvertKernel {
    /// To f32.
    ToF32,
    /// To f64.
    ToF64,
    /// To 16-bit storage.
    ToSixteen,
}

/// Conversions of spinors of precision `R`, on all sites.
pub struct ConvertKernels<B: Backend, R: Vectors> {
    lattice: Lattice,
    spinors: usize,
    x: B::Field<R, Spinors>,
    f32: B::Field<f32, Spinors>,
    f64: B::Field<f64, Spinors>,
    sixteen: B::Field<Sixteen, Spinors>,
}

impl<B: Backend, R: Vectors> ConvertKernels<B, R> {
    /// Conversions of fields of `spinors` spinors a site.
    ///
    /// # Errors
    /// Lanes that do not exist in another precision; what the backend reports.
    pub fn new(backend: &B, lattice: Lattice, spinors: usize) -> Result<Self, BackendError> {
        let object = Spinors::new(spinors);
        Ok(Self {
            lattice,
            spinors,
            x: field(backend, lattice, Sites::Full, object, 1)?,
            f32: zeros(backend, lattice, object)?,
            f64: zeros(backend, lattice, object)?,
            sixteen: zeros(backend, lattice, object)?,
        })
    }
}

/// Zeros of precision `S` on lanes that hold the same sites.
fn zeros<S: Vectors, B: Backend>(
    backend: &B,
    lattice: Lattice,
    object: Spinors,
) -> Result<B::Field<S, Spinors>, BackendError> {
    backend.zeros(lattice.in_scalar(S::COMPLEX)?, Sites::Full, object)
}

impl<B: Backend, R: Vectors> KernelSet<B> for ConvertKernels<B, R> {
    type Kernel = ConvertKernel;

    fn kernels(&self) -> Vec<ConvertKernel> {
        let all = [(ConvertKernel::ToF32, 32), (ConvertKernel::ToF64, 64), (ConvertKernel::ToSixteen, 16)];
        all.into_iter().filter(|(_, bits)| *bits != R::BITS).map(|(kernel, _)| kernel).collect()
    }

    fn facts(&self, kernel: ConvertKernel) -> KernelFacts {
        let (name, bytes) = match kernel {
            ConvertKernel::ToF32 => ("convert to f32", f32::device_bytes(Spinors::WORDS)),
            ConvertKernel::ToF64 => ("convert to f64", f64::device_bytes(Spinors::WORDS)),
            ConvertKernel::ToSixteen => ("convert to 16-bit", Sixteen::device_bytes(Spinors::WORDS)),
        };
        let a_spinor = (R::device_bytes(Spinors::WORDS) + bytes) as u64;
        let spinors = number_of_sites(&self.lattice, Sites::Full) * self.spinors as u64;
        KernelFacts {
            family: Family::Convert,
            kernel: name.to_owned(),
            fields: FieldFacts::new::<R>(&self.lattice, Sites::Full, self.spinors),
            work: Work { flops: 0, bytes: spinors * a_spinor },
            ceiling: Ceiling::Copy,
        }
    }

    fn launch(&mut self, backend: &B, kernel: ConvertKernel) -> Result<(), BackendError> {
        match kernel {
            ConvertKernel::ToF32 => backend.convert(&mut self.f32, &self.x),
            ConvertKernel::ToF64 => backend.convert(&mut self.f64, &self.x),
            ConvertKernel::ToSixteen => backend.convert(&mut self.sixteen, &self.x),
        }
    }
}
