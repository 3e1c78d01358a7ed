//! Kernels that are written once. A kernel function is a generic function of one site ([`Body`]), over numbers ([`number`]) and values made of them
//! ([`value`]). On the CPU it runs on lane vectors (`kernels::bodies`); the library `lanefield` records it, and writes it in OpenCL C and other
//! languages.

pub mod functions;
mod fused;
pub mod number;
mod site;
pub mod value;

pub use fused::Fused;
pub use site::{
    Any, Argument, Body, ComplexScalar, ComplexSliceSum, ComplexSum, Converted, Coordinates, EvenDistance, ExactSum,
    FieldUse, Greatest, Holds, Least, Links, MOST_ARGUMENTS, Neighbours, OddDistance, Read, Role, Scalar, Site,
    SliceSum, Update, Write, extreme, sums_over_slices, uses_displacements, uses_neighbours,
};
