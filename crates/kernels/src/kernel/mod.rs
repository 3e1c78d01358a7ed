//! The kernels of the library as data: of each, all that anything else needs to know ([`Kernel`]). One file a family, with the name of its
//! counterparts: `reference/src/kernels/`, `reference/src/scalar/`, `cl/`, `tests/`. Backends launch what is described here; `verify`, the
//! benchmarks, the tuner and the models go through [`all`], and have no list of their own.

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
