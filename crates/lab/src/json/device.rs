//! The description of a device in every JSON document.

use lanefield::backend::Cpu;
use lanefield::backend::opencl::{DeviceInfo, DeviceKind};
use serde::Serialize;

/// An OpenCL device, or the CPU reference, with its keys in JSON. Values that do not exist, or that the driver does not report, are null.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Device {
    /// The name of the device, or `CPU reference`.
    pub name: String,
    pub platform: Option<String>,
    pub driver: Option<String>,
    /// For example `OpenCL 3.0 CUDA`.
    pub opencl: Option<String>,
    /// `cpu`, `gpu`, `accelerator` or `other`.
    pub kind: DeviceKind,
    /// The number by which `--device` selects it.
    pub index: Option<usize>,
    /// For example `sm_90`, `gfx90a`.
    pub architecture: Option<String>,
    /// Compute units; for the CPU reference, threads.
    pub compute_units: usize,
    pub clock_hertz: Option<f64>,
    pub memory_bytes: Option<u64>,
    pub cache_bytes: Option<u64>,
    /// Local memory available to a work-group.
    pub local_bytes: Option<u64>,
    /// The vector instructions of the CPU reference, for example `AVX-512`.
    pub vector_instructions: Option<&'static str>,
}

impl From<&DeviceInfo> for Device {
    fn from(info: &DeviceInfo) -> Self {
        let told = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let some = |number: u64| Some(number).filter(|&number| number > 0);
        Self {
            name: info.name.clone(),
            platform: told(&info.platform_name),
            driver: told(&info.driver_version),
            opencl: told(&info.device_version),
            kind: info.kind,
            index: Some(info.index),
            architecture: told(&info.architecture),
            compute_units: info.compute_units as usize,
            clock_hertz: some(info.max_clock_mhz.into()).map(|mega| mega as f64 * 1e6),
            memory_bytes: some(info.global_memory_bytes),
            cache_bytes: some(info.global_cache_bytes),
            local_bytes: some(info.local_memory_bytes),
            vector_instructions: None,
        }
    }
}

impl From<&Cpu> for Device {
    fn from(cpu: &Cpu) -> Self {
        Self {
            name: "CPU reference".to_owned(),
            platform: None,
            driver: None,
            opencl: None,
            kind: DeviceKind::Cpu,
            index: None,
            architecture: None,
            compute_units: cpu.threads(),
            clock_hertz: None,
            memory_bytes: None,
            cache_bytes: None,
            local_bytes: None,
            vector_instructions: Some(Cpu::vector_instructions()),
        }
    }
}
