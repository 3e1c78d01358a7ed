//! The tests of the library, one file a family or subject, as in `src`. One binary, since each links the whole library.

mod common;

mod arguments;
mod backends;
mod blas;
mod body;
mod c_reference;
mod cg;
mod clover;
mod clover_grid;
mod convert;
mod domain_wall;
mod emit;
mod graph;
mod hop;
mod hunt;
mod kernels;
mod laplace;
mod maps;
mod memory;
mod multishift;
mod nersc;
mod npy;
mod observable;
mod opencl_runtime;
mod reduce;
mod reduce_grid;
mod rhs;
mod solvers;
mod staggered;
mod twisted_mass;
mod verify;
mod verify_faults;
mod wilson;
