//! The list of devices, with the facts about each.

use lanefield::backend::opencl::{
    Context, DeviceInfo, DriverFact, OpenClError, ProbeCheck, ProbeVerdict, Retirement, devices, faults, probe,
};
use lanefield::backend::select::{DeviceChoice, Selected, resolve};
use lanefield_lab::sources::program;

use crate::build_progress::announce;
use crate::numbers::bytes;
use crate::output::{Device, facts};
use crate::prelude::*;

/// All devices. As JSON, these fields.
#[derive(Serialize)]
pub struct Listing {
    /// The CPU reference, which is always available: `--device cpu`.
    cpu: Device,
    /// The OpenCL devices, in the order of `--device INDEX`.
    pub opencl: Vec<OpenClDevice>,
    /// Why there is no OpenCL, and how to install it; null if there is.
    no_opencl: Option<String>,
    /// Drivers that are installed but have no device, with the reason.
    faults: Vec<String>,
    /// What `--device auto` chooses: `cpu`, or an index.
    auto: String,
}

/// A device, with facts that the documents of other commands do not contain.
#[derive(Serialize)]
pub struct OpenClDevice {
    #[serde(flatten)]
    device: Device,
    #[serde(flatten)]
    details: Details,
    #[serde(skip)]
    pub info: DeviceInfo,
    /// Whether results have the bits of the reference; null if the device could not be tested.
    pub bitwise: Option<bool>,
    /// `bitwise`, or why not.
    pub verdict: String,
    /// The results of the probe, if it ran.
    #[serde(skip)]
    pub checks: Vec<ProbeCheck>,
}

/// Facts from an OpenCL driver that [`Device`] does not have.
#[derive(Serialize)]
struct Details {
    vendor: String,
    platform_index: usize,
    platform_version: String,
    /// Its number on its platform.
    device_index: usize,
    opencl_c: String,
    max_allocation_bytes: u64,
    max_work_group_size: usize,
    max_work_item_sizes: [usize; 3],
    /// Null if the driver does not report it and no kernel can be built.
    preferred_work_group_multiple: Option<usize>,
    fp64: bool,
    fp32_correctly_rounded_divide_sqrt: bool,
    fp32_denormals: bool,
    fp64_denormals: bool,
    available: bool,
    compiler_available: bool,
    /// How work-groups can finish a sum in one launch.
    retirement: Retirement,
    extensions: Vec<String>,
    /// Known facts about the driver.
    known: Vec<DriverFact>,
}

impl From<&DeviceInfo> for Details {
    fn from(info: &DeviceInfo) -> Self {
        let info = info.clone();
        Self {
            vendor: info.vendor,
            platform_index: info.platform_index,
            platform_version: info.platform_version,
            device_index: info.device_index,
            opencl_c: info.opencl_c_version,
            max_allocation_bytes: info.max_allocation_bytes,
            max_work_group_size: info.max_work_group_size,
            max_work_item_sizes: info.max_work_item_sizes,
            preferred_work_group_multiple: info.preferred_work_group_multiple,
            fp64: info.fp64,
            fp32_correctly_rounded_divide_sqrt: info.fp32_correctly_rounded_divide_sqrt,
            fp32_denormals: info.fp32_denormals,
            fp64_denormals: info.fp64_denormals,
            available: info.available,
            compiler_available: info.compiler_available,
            retirement: info.retirement,
            extensions: info.extensions,
            known: info.known,
        }
    }
}

impl Listing {
    pub fn new() -> anyhow::Result<Self> {
        let cpu = Device::from(&Cpu::new(None)?);
        let (found, no_opencl) = match devices() {
            Ok(found) => (found, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let faults = faults().unwrap_or_default();
        let auto = match resolve(&DeviceChoice::Auto, &found)? {
            Selected::Cpu => "cpu".to_owned(),
            Selected::OpenCl(device) => device.index.to_string(),
        };
        Ok(Self { cpu, opencl: found.into_iter().map(OpenClDevice::ask).collect(), no_opencl, faults, auto })
    }

    pub fn to_text(&self) -> String {
        let mut blocks: Vec<String> = self.opencl.iter().map(OpenClDevice::to_text).collect();
        let cpu = [
            ("threads", self.cpu.compute_units.to_string()),
            ("vector instructions", self.cpu.vector_instructions.unwrap_or_default().to_owned()),
            ("f64", "yes".to_owned()),
            ("arithmetic", "bitwise: it is the reference".to_owned()),
        ];
        blocks.push(format!("cpu: CPU reference\n{}", facts(cpu)));
        blocks.extend(self.no_opencl.clone());
        blocks.extend(self.faults.iter().map(|fault| format!("no device: {fault}")));
        blocks.push(format!("--device auto takes {}", self.auto));
        blocks.join("\n\n")
    }
}

impl OpenClDevice {
    fn new(info: DeviceInfo, bitwise: Option<bool>, verdict: String) -> Self {
        Self { device: (&info).into(), details: (&info).into(), info, bitwise, verdict, checks: Vec::new() }
    }

    /// Opens the device and probes its arithmetic. A device that fails is listed with the reason.
    fn ask(mut info: DeviceInfo) -> Self {
        if let Some(reason) = info.unusable_because() {
            return Self::new(info, None, format!("cannot be used: {reason}"));
        }
        match OpenCl::open(&info).map(|device| {
            announce(device.context().builds());
            // Before OpenCL 3.0, only a built kernel reports it.
            let multiple = info.preferred_work_group_multiple.or_else(|| multiple_of_a_kernel(device.context()).ok());
            (multiple, probe(device.context()))
        }) {
            Ok((multiple, probed)) => {
                info.preferred_work_group_multiple = multiple;
                let (bitwise, verdict) = match probed.as_ref().map(ProbeVerdict::why_not) {
                    Err(error) => (None, format!("cannot be probed: {error}")),
                    Ok(None) => (Some(true), "bitwise".to_owned()),
                    Ok(Some(reason)) => (Some(false), format!("not bitwise: {reason}")),
                };
                let checks = probed.map_or_else(|_| Vec::new(), |probed| probed.checks);
                Self { checks, ..Self::new(info, bitwise, verdict) }
            }
            Err(error) => Self::new(info, None, format!("cannot be opened: {error}")),
        }
    }

    fn to_text(&self) -> String {
        let info = &self.info;
        let multiple = info.preferred_work_group_multiple.map(|multiple| format!("of {multiple}"));
        let multiple = multiple.unwrap_or_else(|| "unknown".to_owned());
        let rows = [
            ("platform", format!("{} ({})", info.platform_name, info.platform_version)),
            ("driver", format!("{} ({})", info.driver_version, info.device_version)),
            ("kind", format!("{}, {} compute units at {} MHz", info.kind, info.compute_units, info.max_clock_mhz)),
            ("memory", bytes(info.global_memory_bytes)),
            ("largest buffer", bytes(info.max_allocation_bytes)),
            ("local memory", format!("{} per work-group", bytes(info.local_memory_bytes))),
            ("cache", bytes(info.global_cache_bytes)),
            ("work-group", format!("multiples {multiple}, at most {}", info.max_work_group_size)),
            ("f64", if info.fp64 { "yes" } else { NO_F64 }.to_owned()),
            ("f32 division", info.division().to_owned()),
            ("sums", info.retirement.to_string()),
            ("arithmetic", self.verdict.clone()),
        ];
        let known = info.known.iter().map(|fact| ("known", format!("{}; so {}", fact.wrong, fact.instead)));
        format!("{}: {}\n{}", info.index, info.name, facts(rows.into_iter().chain(known)))
    }
}

/// What a device without f64 can do, and at what cost (`docs/devices.md`).
const NO_F64: &str = "no: kernels and solves in f32 and half; doubles of sums are made in integers, which takes about 10 times as long; \
                      mixed-f32 and mixed-half compute in f64 on the CPU reference";

fn multiple_of_a_kernel(context: &Context) -> Result<usize, OpenClError> {
    let program = program(context, "peak.cl", "")?;
    Ok(program.kernel_info("copy_ceiling")?.preferred_work_group_multiple)
}
