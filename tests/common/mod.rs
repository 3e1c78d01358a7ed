//! What the tests share: the backends that they run on, fields, what holds of every operator, solves, and Grid's data.

pub mod backends;
pub mod by_function;
mod device;
pub mod fields;
pub mod grid;
pub mod models;
pub mod solves;

pub use device::opencl_device;
