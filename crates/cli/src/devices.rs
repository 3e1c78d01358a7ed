//! `lanefield devices`: what there is to run on, and whether its results can be called bitwise.

use clap::Args;
use lanefield::backend::opencl::{Context, DeviceInfo, HOW_TO_GET_OPENCL, OpenClError, devices, probe};
use lanefield::backend::select::{DeviceChoice, Selected, resolve};
use lanefield::backend::{Cpu, OpenCl};
use lanefield_lab::sources::program;
use serde::Serialize;

use super::Outcome;
use super::output::{bytes, facts, show};

/// List the OpenCL devices and the CPU reference, with what matters for a lattice kernel.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield devices
  lanefield devices --json")]
pub struct Devices {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// All there is to run on. As JSON, these fields.
#[derive(Serialize)]
struct Listing {
    /// The CPU reference, always there: `--device cpu`.
    cpu: CpuReference,
    /// The OpenCL devices, in the order of `--device INDEX`.
    opencl: Vec<OpenClDevice>,
    /// Why there is no OpenCL and how to get it; null where there is.
    no_opencl: Option<String>,
    /// What `--device auto` takes: `cpu`, or an index.
    auto: String,
}

#[derive(Serialize)]
struct CpuReference {
    threads: usize,
    vector_instructions: &'static str,
}

#[derive(Serialize)]
struct OpenClDevice {
    #[serde(flatten)]
    info: DeviceInfo,
    /// Whether results are the reference's, bit for bit; null where the device could not be asked.
    bitwise: Option<bool>,
    /// `bitwise`, or why not.
    verdict: String,
}

impl Devices {
    pub fn run(self) -> anyhow::Result<Outcome> {
        show(self.json, &Listing::new()?, Listing::to_text)
    }
}

impl Listing {
    fn new() -> anyhow::Result<Self> {
        let cpu = CpuReference { threads: Cpu::new(None)?.threads(), vector_instructions: Cpu::vector_instructions() };
        let (found, no_opencl) = match devices() {
            Ok(found) if found.is_empty() => {
                (found, Some(format!("OpenCL is installed, but no device was found; {HOW_TO_GET_OPENCL}")))
            }
            Ok(found) => (found, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let auto = match resolve(&DeviceChoice::Auto, &found)? {
            Selected::Cpu => "cpu".to_owned(),
            Selected::OpenCl(device) => device.index.to_string(),
        };
        Ok(Self { cpu, opencl: found.into_iter().map(OpenClDevice::ask).collect(), no_opencl, auto })
    }

    fn to_text(&self) -> String {
        let mut blocks: Vec<String> = self.opencl.iter().map(OpenClDevice::to_text).collect();
        let cpu = [
            ("threads", self.cpu.threads.to_string()),
            ("vector instructions", self.cpu.vector_instructions.to_owned()),
            ("f64", "yes".to_owned()),
            ("arithmetic", "bitwise: it is the reference".to_owned()),
        ];
        blocks.push(format!("cpu: CPU reference\n{}", facts(cpu)));
        blocks.extend(self.no_opencl.clone());
        blocks.push(format!("--device auto takes {}", self.auto));
        blocks.join("\n\n")
    }
}

impl OpenClDevice {
    /// Opens the device and probes its arithmetic. A device that fails is listed with the reason.
    fn ask(mut info: DeviceInfo) -> Self {
        if let Some(reason) = info.unusable_because() {
            return Self { info, bitwise: None, verdict: format!("cannot be used: {reason}") };
        }
        match OpenCl::open(&info).map(|device| {
            // Before OpenCL 3.0 only a built kernel tells.
            let multiple = info.preferred_work_group_multiple.or_else(|| multiple_of_a_kernel(device.context()).ok());
            (multiple, probe(device.context()))
        }) {
            Ok((multiple, probed)) => {
                info.preferred_work_group_multiple = multiple;
                let (bitwise, verdict) = match probed.map(|verdict| verdict.why_not()) {
                    Err(error) => (None, format!("cannot be probed: {error}")),
                    Ok(None) => (Some(true), "bitwise".to_owned()),
                    Ok(Some(reason)) => (Some(false), format!("not bitwise: {reason}")),
                };
                Self { info, bitwise, verdict }
            }
            Err(error) => Self { info, bitwise: None, verdict: format!("cannot be opened: {error}") },
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
            ("f64", if info.fp64 { "yes" } else { "no" }.to_owned()),
            ("sums", info.retirement.to_string()),
            ("arithmetic", self.verdict.clone()),
        ];
        format!("{}: {}\n{}", info.index, info.name, facts(rows))
    }
}

fn multiple_of_a_kernel(context: &Context) -> Result<usize, OpenClError> {
    let program = program(context, "peak.cl", "")?;
    Ok(program.kernel_info("copy_ceiling")?.preferred_work_group_multiple)
}
