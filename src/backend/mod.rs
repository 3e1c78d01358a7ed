//! Backends: the interface that every kernel uses (`lanefield_kernels::backend`), the OpenCL backend, and how one is selected.

pub mod opencl;
pub mod select;

pub use lanefield_kernels::backend::*;
pub use opencl::OpenCl;
