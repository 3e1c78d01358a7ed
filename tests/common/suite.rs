//! What the tests of operators and solvers share: the backends that they run on, fields, gauge transformations, and Grid's data. Beside
//! `mod.rs`, which tests of the runtime alone use.

pub mod backends;
#[path = "mod.rs"]
mod device;
pub mod fields;
#[path = "../../reference/tests/common/gauge.rs"]
pub mod gauge;
pub mod grid;
pub mod multiple;

use device::opencl_device;
