//! What the tests of all packages share: the OpenCL device that they run on.

use std::io::Write as _;

use lanefield::backend::opencl::{DeviceInfo, HOW_TO_GET_OPENCL, devices};
use lanefield::backend::select::{DeviceChoice, Selected, resolve};

/// The OpenCL device for tests: what `LANEFIELD_DEVICE` names, else what `auto` takes. `None`, with a line that says so, where
/// there is none and `LANEFIELD_SKIP_OPENCL=1` allows that.
///
/// # Panics
///
/// Without a device and without that permission, with a sentence that says what to install.
pub fn opencl_device() -> Option<DeviceInfo> {
    let choice = match std::env::var("LANEFIELD_DEVICE") {
        Ok(text) => text.parse().expect("LANEFIELD_DEVICE"),
        Err(_) => DeviceChoice::Auto,
    };
    let found = devices().map_err(|error| error.to_string()).and_then(|devices| {
        match resolve(&choice, &devices).map_err(|error| error.to_string())? {
            Selected::OpenCl(device) => Ok(*device),
            Selected::Cpu => Err(format!("no OpenCL device can be used; {HOW_TO_GET_OPENCL}")),
        }
    });
    match found {
        Ok(device) => Some(device),
        Err(reason) if std::env::var("LANEFIELD_SKIP_OPENCL").is_ok_and(|value| value == "1") => {
            // Not eprintln, whose output the test harness keeps to itself.
            let _ = writeln!(std::io::stderr(), "skipped: {reason}");
            None
        }
        Err(reason) => panic!("the OpenCL tests need a device: {reason}; LANEFIELD_SKIP_OPENCL=1 skips these tests"),
    }
}
