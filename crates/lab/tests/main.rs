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
mod portability;
mod tune;

use std::io::Write as _;

use lanefield::kernel::{self, Kernel};
use lanefield_lab::code::Clang;

fn kernel_named(name: &str) -> &'static Kernel {
    kernel::all().find(|kernel| kernel.name == name).unwrap_or_else(|| panic!("no kernel {name}"))
}

/// `None` without a compiler if that is allowed.
fn found_or_skipped(found: Result<Clang, String>) -> Option<Clang> {
    match found {
        Ok(clang) => Some(clang),
        Err(reason) if std::env::var("LANEFIELD_SKIP_OPENCL").is_ok_and(|value| value == "1") => {
            // Not eprintln, whose output the test harness keeps to itself.
            let _ = writeln!(std::io::stderr(), "skipped: {reason}");
            None
        }
        Err(reason) => panic!("{reason}; LANEFIELD_SKIP_OPENCL=1 skips this test"),
    }
}
