//! Backends and operators that are chosen at run time, on which programs and the interfaces to C and Python are built. Code that is generic over
//! [`Backend`](crate::backend::Backend) is compiled once for [`AnyBackend`], and solvers accept an [`AnyModel`](crate::operator::AnyModel).

mod array_shape;
mod backend;
mod index_kernel;
mod kept;
mod operator;

pub use array_shape::ArrayShape;
pub use backend::{AnyBackend, AnyStorage, AnyTable, Here};
pub use index_kernel::{Compared, IndexKernel, PreparedLaunch};
pub use kept::KeptOperator;
pub use operator::{
    Applicable, Applied, DynField, HopKernel, Piece, PreparedOperator, apply_to_array, beyond, download, field_shape,
    norm2, upload,
};
