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

use lanefield::kernel::{self, Kernel};

fn kernel_named(name: &str) -> &'static Kernel {
    kernel::all().find(|kernel| kernel.name == name).unwrap_or_else(|| panic!("no kernel {name}"))
}
