//! A fictitious device for unit tests that need no driver.

use super::info::DeviceInfo;

/// A usable GPU called `name` on the platform "Test platform".
pub(crate) fn device(name: &str) -> DeviceInfo {
    DeviceInfo {
        platform_name: "Test platform".into(),
        platform_version: "OpenCL 3.0".into(),
        vendor: "Test vendor".into(),
        driver_version: "1".into(),
        device_version: "OpenCL 3.0".into(),
        opencl_c_version: "OpenCL C 1.2".into(),
        global_memory_bytes: 1 << 30,
        max_allocation_bytes: 1 << 28,
        local_memory_bytes: 1 << 15,
        global_cache_bytes: 1 << 22,
        extensions: vec!["cl_khr_fp64".into()],
        ..DeviceInfo::imagined(name)
    }
}
