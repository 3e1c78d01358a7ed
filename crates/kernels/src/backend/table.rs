//! Tables that backends store: neighbours, and matrices along s.

use lanefield_reference::kernels::domain_wall::{MatrixForm, SMatrix};
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites, Stencil};
use lanefield_reference::real::Precision;

/// The properties of a matrix along s.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatrixFacts {
    /// Its form.
    pub form: MatrixForm,
    /// Extent of the fifth dimension.
    pub ls: usize,
    /// Whether it is the Hermitian conjugate.
    pub dagger: Dagger,
}

/// The properties of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableFacts {
    /// The neighbours of these sites.
    Stencil {
        /// The lattice.
        lattice: Lattice,
        /// The sites.
        sites: Sites,
    },
    /// A matrix along s, for fields of this precision.
    Matrix {
        /// Its form and extent.
        facts: MatrixFacts,
        /// The precision for which it was rounded.
        precision: Precision,
    },
}

/// A table that a backend stores.
pub trait Table {
    /// Its properties.
    fn facts(&self) -> TableFacts;
}

/// A table on the host.
#[derive(Clone, Debug)]
pub enum HostTable {
    /// Neighbours.
    Stencil(Stencil),
    /// A matrix along s, and the precision of the fields for which it is used.
    Matrix(SMatrix, Precision),
}

impl Table for HostTable {
    fn facts(&self) -> TableFacts {
        match self {
            Self::Stencil(stencil) => TableFacts::Stencil { lattice: *stencil.lattice(), sites: stencil.sites() },
            Self::Matrix(matrix, precision) => {
                let (form, ls, dagger) = (matrix.form(), matrix.ls(), matrix.dagger());
                TableFacts::Matrix { facts: MatrixFacts { form, ls, dagger }, precision: *precision }
            }
        }
    }
}
