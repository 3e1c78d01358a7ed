//! The arguments of `lanefield occupancy`.

use clap::Args;
use lanefield::backend::select::DeviceChoice;
use lanefield::prelude::*;
use lanefield_lab::model::Architecture;
use lanefield_lab::occupancy::SweptQuantity;

use crate::args::of_storage;
use crate::build_ahead::JobsArgs;
use crate::tuning::TuningArgs;

/// Compute the occupancy of a kernel, and what limits it.
///
/// It computes the number of wavefronts that a compute unit holds at once. It names the resource that limits them, and what the next higher number
/// needs.
///
/// By hand: give --arch and the resources of a kernel. For kernels of the library, give --kernel. With --arch, clang compiles them for an AMD GPU,
/// without a GPU or ROCm (LANEFIELD_CLANG names another clang). Without --arch, they are built on the device in use, whose driver may report their
/// registers.
///
/// For gfx908 and gfx90a, the simplified formulas of the EmPRiSM report are shown in addition to the rules of the hardware. Instructions are counted
/// as they occur in the code: those of a loop once.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield occupancy --arch gfx908 --vgprs 52 --sgprs 64 --lds 24576 \\
      --group 256
  lanefield occupancy --arch sm_90 --registers 90 --group 128 --json
  lanefield occupancy --arch gfx90a --vgprs 128 \\
      --sweep accelerator_threads=2,4,8,16,32
  lanefield occupancy --kernel axpy --arch gfx90a --precision f32")]
pub struct Occupancy {
    /// Architectures of GPUs: gfx906, gfx908, gfx90a, gfx942, gfx1100, sm_70, sm_80, sm_89, sm_90
    #[arg(long, value_name = "ARCH,…", value_delimiter = ',')]
    pub arch: Vec<String>,
    /// Work-items per wavefront: for architectures with two sizes (gfx1100: 32 or 64)
    #[arg(long, value_name = "N")]
    pub wave: Option<usize>,
    /// Registers per work-item (architectural VGPRs)
    #[arg(long, visible_alias = "registers", value_name = "N")]
    pub vgprs: Option<usize>,
    /// Accumulation registers (AGPRs) per work-item
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub agprs: usize,
    /// Scalar registers per wavefront
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub sgprs: usize,
    /// Bytes of local (shared) memory per work-group
    #[arg(long, visible_alias = "shared", value_name = "BYTES", default_value_t = 0)]
    pub lds: usize,
    /// Work-items per work-group [default: 8 lanes times 8 sites]
    #[arg(long, value_name = "N")]
    pub group: Option<usize>,
    /// Kernels of the library: all, a family or a kernel
    #[arg(long, alias = "kernels", value_name = "KERNEL,…", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Precisions of fields [default: all, on a device f32]
    #[arg(long, value_name = "PRECISION,…", value_delimiter = ',', value_parser = of_storage())]
    pub precision: Vec<Precision>,
    /// Gauge compression: 18, 12 or 8 reals stored per link
    #[arg(
        long = "reconstruct",
        alias = "links",
        value_name = "NUMBERS,…",
        value_delimiter = ',',
        default_value = "18"
    )]
    pub links: Vec<LinkFormat>,
    /// Lane width in bytes, or lane layout: 8, 16, 32, 64, 128 or 256; a layout such as 2.1.4.1; or auto, the largest width up to 128 that fits the
    /// lattice
    #[arg(long, value_name = "BYTES|X.Y.Z.T|auto", default_value_t)]
    pub lanes: LaneChoice,
    /// Extents of the lattice, on which some choices depend
    #[arg(long, value_name = "X.Y.Z.T", default_value = "16.16.16.32")]
    pub lattice: Extents,
    /// Parameter to vary, and its values: accelerator_threads=2,4,8 (times 8 lanes, or those of the kernel), registers=… or lds=…
    #[arg(long, value_name = "WHAT=N,…", value_parser = read_sweep)]
    pub sweep: Option<Sweep>,
    /// OpenCL device if no architecture is given: auto, a number from `lanefield devices`, or part of a device's name [env: LANEFIELD_DEVICE]
    #[arg(long, value_name = "DEVICE", default_value = crate::args::default_device())]
    pub device: DeviceChoice,
    /// Print JSON instead of tables
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub jobs: JobsArgs,
    #[command(flatten)]
    pub tuning: TuningArgs,
}

#[derive(Clone, Debug)]
pub struct Sweep {
    pub quantity: SweptQuantity,
    pub values: Vec<usize>,
}

fn read_sweep(text: &str) -> Result<Sweep, String> {
    let (quantity, values) = text.split_once('=').ok_or_else(|| {
        format!("invalid sweep '{text}': expected what is varied and its values, as in accelerator_threads=2,4,8")
    })?;
    let number = |text: &str| {
        text.trim().parse().map_err(|_| format!("invalid value '{text}' of {quantity}: expected a whole number"))
    };
    Ok(Sweep { quantity: quantity.parse()?, values: values.split(',').map(number).collect::<Result<_, _>>()? })
}

impl Occupancy {
    pub fn architectures(&self) -> anyhow::Result<Vec<Architecture>> {
        let mut found: Vec<Architecture> = Vec::new();
        for name in &self.arch {
            let architecture = Architecture::find(name.trim(), self.wave)?;
            if !found.iter().any(|known| known.name == architecture.name) {
                found.push(architecture);
            }
        }
        Ok(found)
    }
}
