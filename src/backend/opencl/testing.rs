//! A made-up device for unit tests that need no driver.

use super::device::{DeviceInfo, DeviceKind};

/// A usable GPU called `name` on the platform "Test platform".
pub(crate) fn device(name: &str) -> DeviceInfo {
    DeviceInfo {
        index: 0,
        platform_index: 0,
        device_index: 0,
        platform_name: "Test platform".into(),
        platform_version: "OpenCL 3.0".into(),
        name: name.into(),
        vendor: "Test vendor".into(),
        architecture: String::new(),
        driver_version: "1".into(),
        device_version: "OpenCL 3.0".into(),
        opencl_c_version: "OpenCL C 1.2".into(),
        kind: DeviceKind::Gpu,
        compute_units: 1,
        max_clock_mhz: 1000,
        global_memory_bytes: 1 << 30,
        max_allocation_bytes: 1 << 28,
        local_memory_bytes: 1 << 15,
        global_cache_bytes: 1 << 22,
        max_work_group_size: 1024,
        preferred_work_group_multiple: Some(32),
        max_work_item_sizes: [1024, 1024, 64],
        fp64: true,
        fp32_correctly_rounded_divide_sqrt: true,
        fp32_denormals: true,
        fp64_denormals: true,
        available: true,
        compiler_available: true,
        retirement: super::Retirement::OpenCl3,
        extensions: vec!["cl_khr_fp64".into()],
    }
}
