//! What a machine's memory can do, measured: the ceilings that kernels are held against.

pub mod copy;
