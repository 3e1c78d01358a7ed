//! Tests of kernels, what `check_kernel!` makes: a kernel against itself on an OpenCL device, against its twin in plain loops, and identities. Cases are
//! drawn over lattices, lanes, parities, precisions, links and how they are stored, numbers that are hard on arithmetic, orders of the legs, and
//! components a site. One that fails is shrunk to the least that does.
//!
//! Every run draws the same cases, and builds kernels for the device in the few ways that all kernels share, so that a compiler's cache has them from
//! the second run on. `PROPTEST_RNG_SEED=7` searches: it draws other cases, for the device over all lanes, layouts and tuning parameters, and nearly each
//! of these is a build. `PROPTEST_CASES` is the largest number of cases; `LANEFIELD_DEVICE` names the device, `LANEFIELD_SKIP_OPENCL=1` runs without one.

mod bits;
mod cases;
mod identities;

pub use bits::{CUTS, backends, builds, device, twin};
pub(crate) use bits::{compare, run_tuned};
pub(crate) use cases::{Drawn, any_case, failed};
pub use identities::{IdentityFields, anti_hermitian, covariant, hermitian, linear};
