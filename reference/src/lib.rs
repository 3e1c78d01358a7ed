//! Lane layout, canonical arithmetic and CPU kernels of Lanefield.

pub mod exact;
pub mod field;
pub mod gauge;
pub mod kernels;
pub mod layout;
pub mod links;
pub mod random;
pub mod real;
pub mod tensor;
