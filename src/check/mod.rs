//! The tests that `check_kernel!` generates for a kernel:
//!
//! - the same bits on an OpenCL device as on the CPU;
//! - the same bits as its reference implementation;
//! - identities: linear, Hermitian, gauge covariant.
//!
//! The random cases vary the lattice, lanes, parities, precisions, links and how they are stored, numbers that are hard on arithmetic, leg
//! orders, and the number of components. A case that fails is shrunk to the smallest one that still fails.
//!
//! Every run draws the same cases, and builds kernels in a few variants that all kernels share. From the second run on they come from the
//! compiler's cache.
//!
//! | variable | effect |
//! |---|---|
//! | `PROPTEST_RNG_SEED=7` | draws other cases: on the device, over all lanes, layouts and tuning parameters. Nearly each is a build |
//! | `PROPTEST_CASES` | the largest number of cases |
//! | `LANEFIELD_DEVICE` | the device |
//! | `LANEFIELD_SKIP_OPENCL=1` | runs without a device |

mod bits;
mod cases;
mod identities;

pub use bits::{CUTS, backends, builds, device, twin};
pub(crate) use bits::{compare, run_tuned};
pub(crate) use cases::{Drawn, any_case, failed};
pub use identities::{IdentityFields, anti_hermitian, covariant, hermitian, linear};
