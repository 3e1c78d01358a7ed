//! The tests of the laboratory, one file a subject, as in `src`. The OpenCL device is what `tests/common/device.rs` of the library finds.

#[path = "../../../tests/common/device.rs"]
mod common;

mod access;
mod amd_spills;
mod bench;
mod doctor;
mod estimate;
mod guidelines;
mod peak;
mod tune;
