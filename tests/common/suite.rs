//! What the tests of operators and solvers share: the backends that they run on, and Grid's data. Beside `mod.rs`, which tests of the
//! runtime alone use.

pub mod backends;
#[path = "mod.rs"]
mod device;
pub mod grid;

use device::opencl_device;
