//! What the integration tests share: the OpenCL device that they run on.

use std::io::Write as _;

use lanefield::backend::opencl::{
    AccessWidth, DeviceInfo, HOW_TO_GET_OPENCL, LinkLoads, Stores, Traversal, Tuning, Walk, devices,
};
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

/// Ways to lay fields out, and to build and launch stencil kernels, in which every choice appears; the last one has most of them.
pub fn builds() -> [(AccessWidth, Tuning); 3] {
    let few_groups = Tuning { walk: Some(Walk::Persistent(Some(1))), ..Tuning::default() };
    let all = Tuning {
        link_loads: Some(LinkLoads::PastL1),
        stores: Some(Stores::Streaming),
        walk: Some(Walk::Persistent(None)),
        traversal: Some(Traversal::Blocks([1, 2, 3, 1])),
    };
    [(AccessWidth::Word, few_groups), (AccessWidth::Eight, Tuning::default()), (AccessWidth::Sixteen, all)]
}
