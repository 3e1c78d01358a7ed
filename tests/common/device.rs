//! What the tests of all packages share: the OpenCL device that they run on.

use std::io::Write as _;

use lanefield::backend::opencl::DeviceInfo;
use lanefield::backend::select::device_for_tests;

/// The OpenCL device for tests. `None`, with a line that says so, if `LANEFIELD_SKIP_OPENCL` is 1.
///
/// # Panics
///
/// Without a device and without that permission, with a sentence that says what to install.
pub fn opencl_device() -> Option<DeviceInfo> {
    let device = device_for_tests().unwrap_or_else(|error| panic!("{error}"));
    if device.is_none() {
        // Not eprintln, whose output the test harness keeps to itself.
        let _ = writeln!(std::io::stderr(), "skipped: LANEFIELD_SKIP_OPENCL is 1");
    }
    device
}
