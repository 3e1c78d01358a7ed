//! What conjugate gradients of a batch need of fields of several columns, and half of the columns taken and put back. Kernels:
//! `reference/src/kernels/columns.rs` and `cl/columns.cl`.

use lanefield::backend::{Backend, BackendError, Sum};
use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Parity, Sites};

use super::{KernelSet, field, number_of_sites};
use crate::record::{Ceiling, Family, FieldFacts, KernelFacts, Work};

const SITES: Sites = Sites::Parity(Parity::Odd);
/// Scalars with which fields neither grow nor shrink much, however often they are applied.
const SMALL: f64 = 1e-6;
const HALF: f64 = 0.5;

/// An operation on columns. Sums are exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKernel {
    /// Every other column is taken.
    Take,
    /// Every other column is put back.
    Put,
    /// Re ⟨x, y⟩ of each.
    Products,
    /// y ← a x + y, and |y|² of each.
    AxpyNorm,
    /// ψ ← a p + ψ, p ← b p + r, of each.
    CgUpdate,
}

impl ColumnKernel {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Take, Self::Put, Self::Products, Self::AxpyNorm, Self::CgUpdate];
}

/// Operations on columns of a spinor each, on odd sites.
pub struct ColumnKernels<B: Backend, R: Vectors> {
    lattice: Lattice,
    scalars: [Vec<f64>; 2],
    taken: Vec<usize>,
    x: B::Field<R, Spinors>,
    y: B::Field<R, Spinors>,
    z: B::Field<R, Spinors>,
    /// The columns that are put back.
    part: B::Field<R, Spinors>,
}

impl<B: Backend, R: Vectors> ColumnKernels<B, R> {
    /// Operations on fields of `columns` columns.
    ///
    /// # Errors
    /// What the backend reports: no room, say.
    pub fn new(backend: &B, lattice: Lattice, columns: usize) -> Result<Self, BackendError> {
        let field = |number| field(backend, lattice, SITES, Spinors::new(columns), number);
        let (x, taken): (_, Vec<usize>) = (field(1)?, (0..columns).step_by(2).collect());
        let part = backend.take_columns(&x, &taken, 1)?;
        let scalars = [SMALL, HALF].map(|scalar| vec![scalar; columns]);
        Ok(Self { lattice, scalars, taken, x, y: field(2)?, z: field(3)?, part })
    }

    fn columns(&self) -> usize {
        self.scalars[0].len()
    }
}

impl<B: Backend, R: Vectors> KernelSet<B> for ColumnKernels<B, R> {
    type Kernel = ColumnKernel;

    fn kernels(&self) -> Vec<ColumnKernel> {
        ColumnKernel::ALL.to_vec()
    }

    fn facts(&self, kernel: ColumnKernel) -> KernelFacts {
        let (columns, taken) = (self.columns() as u64, self.taken.len() as u64);
        // Operations on a real component, spinors of a site read and written, and what bounds it.
        let (name, operations, moved, ceiling) = match kernel {
            ColumnKernel::Take => ("take_columns", 0, 2 * taken, Ceiling::Copy),
            ColumnKernel::Put => ("put_columns", 0, 2 * taken, Ceiling::Copy),
            ColumnKernel::Products => ("column_products", 2, 2 * columns, Ceiling::Read),
            ColumnKernel::AxpyNorm => ("column_axpy_norm", 4, 3 * columns, Ceiling::Copy),
            ColumnKernel::CgUpdate => ("column_cg_update", 4, 5 * columns, Ceiling::Copy),
        };
        let sites = number_of_sites(&self.lattice, SITES);
        KernelFacts {
            family: Family::Columns,
            kernel: name.to_owned(),
            fields: FieldFacts::new::<R>(&self.lattice, SITES, self.columns()),
            work: Work {
                flops: operations * sites * columns * (2 * Spinors::WORDS) as u64,
                bytes: moved * sites * R::device_bytes(Spinors::WORDS) as u64,
            },
            ceiling,
        }
    }

    fn launch(&mut self, backend: &B, kernel: ColumnKernel) -> Result<(), BackendError> {
        let Self { scalars: [a, b], taken, x, y, z, part, .. } = self;
        match kernel {
            ColumnKernel::Take => backend.take_columns(x, taken, 1).map(drop),
            ColumnKernel::Put => backend.put_columns(y, part, taken, 1),
            ColumnKernel::Products => backend.column_products(x, y, 1, Sum::Exact).map(drop),
            ColumnKernel::AxpyNorm => backend.column_axpy_norm(a, x, y, Sum::Exact).map(drop),
            ColumnKernel::CgUpdate => backend.column_cg_update(y, z, x, a, b),
        }
    }
}
