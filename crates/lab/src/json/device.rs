//! A device as every JSON document names it.

use lanefield::backend::Cpu;
use lanefield::backend::opencl::{DeviceInfo, DeviceKind};
use serde::Serialize;

/// An OpenCL device, or the CPU reference. As JSON, these fields; what there is not, or what the driver does not tell, is null.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Device {
    /// The device; `CPU reference`.
    pub name: String,
    pub platform: Option<String>,
    pub driver: Option<String>,
    /// `OpenCL 3.0 CUDA`, say.
    pub opencl: Option<String>,
    /// `cpu`, `gpu`, `accelerator` or `other`.
    pub kind: DeviceKind,
    /// Its number, as `--device` takes it.
    pub index: Option<usize>,
    /// `sm_90`, `gfx90a`.
    pub architecture: Option<String>,
    /// Compute units; threads of the CPU reference.
    pub compute_units: usize,
    pub clock_hertz: Option<f64>,
    pub memory_bytes: Option<u64>,
    pub cache_bytes: Option<u64>,
    /// Local memory that a work-group can take.
    pub local_bytes: Option<u64>,
    /// What the CPU reference computes with: `AVX-512`, say.
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
