//! What the tests share: the backends that they run on, fields, what holds of every operator, solves, and Grid's data.

pub mod backends;
mod device;
pub mod fields;
pub mod grid;
pub mod models;
pub mod multiple;
pub mod solves;

pub use device::opencl_device;
