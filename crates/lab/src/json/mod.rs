//! What all JSON documents share: their kinds, the description of the device, and how quantities and values are written.

mod device;
mod kind;
pub(crate) mod si;
pub(crate) mod text;

pub use device::Device;
pub use kind::Kind;
