//! The specifications of the library's kernels: all that other code needs to know about each ([`Kernel`]). Each family has a file with the same name
//! here and in `reference/src/kernels/`, `reference/src/scalar/`, `cl/` and `tests/`. Backends launch kernels by these specifications. `verify`, the
//! benchmarks, the tuner and the models go through [`all`], and have no lists of their own.

#[macro_use]
mod usual;

pub mod blas;
pub(crate) mod body_kernel;
mod case;
pub mod clover;
pub mod clover_term;
mod colour_vectors;
pub mod convert;
mod coordinates;
pub mod domain_wall;
pub mod fusion;
pub mod gauge_fixing;
pub mod ghosts;
pub mod heat_bath;
pub mod hisq;
pub mod hop;
pub mod interpreter;
pub mod laplace;
pub mod links;
mod list;
pub mod loops;
pub mod molecular_dynamics;
pub(crate) mod plain;
pub mod reduce;
pub mod rhs;
mod site_lists;
pub mod staggered;
pub mod staples;
mod su2;
mod test_data;
pub(crate) mod twin;
pub mod twisted_mass;
pub mod wilson;
pub mod with_hop;

pub use crate::backend::specification::*;
pub use crate::body::Role;
pub use body_kernel::LOCAL;
pub use case::{Case, CaseOn, CaseOptions, GivenArguments, Outcome, Scalars};
pub use list::{KernelList, all, definition, is_in_plain_c, prelude};
pub use test_data::{Links, Numbers, TestData};
