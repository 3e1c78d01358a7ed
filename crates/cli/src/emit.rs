//! `lanefield emit`: writes a kernel as a source file without dependencies. `lanefield::emit` describes the files.

use super::kernels::{Known, one};
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use clap::Args;
use lanefield::backend::opencl::Tuning;
use lanefield::backend::select::DeviceChoice;
use lanefield::emit::{Dialect, EmitOptions, emit, ptx};
use lanefield::io::atomic::write_atomically;
use lanefield::kernel::{Case, CaseOptions, Kernel};
use lanefield::reference::layout::{Extents, LaneChoice, LegOrder};
use lanefield::reference::links::LinkFormat;
use lanefield::reference::real::Precision;
use lanefield_lab::BenchCase;

use super::args::{PlaceArgs, default_device, of_storage};
use super::bench::arguments::extents_or_usual;
use super::files::require_outputs;
use super::kernel_args::require_precision;
use super::kernel_args::require_rhs;
use super::outcome::Outcome;
use super::output::print;
use super::tuning::TuningArgs;

/// Write a kernel as source code for other programs.
///
/// The source is C, CUDA, HIP or OpenCL C, and computes the same bits.
///
/// A kernel that is defined by a kernel function is written in C99, CUDA or HIP, on arrays in site order: hops of colour vectors, operators that are
/// one launch, and your own kernels. Every kernel can be written in OpenCL C, as Lanefield builds it, with all included files. Your own maps
/// (docs/maps.md) can be written in all four languages: --kernel MAP --language c, cuda, hip or opencl.
///
/// The head of the source describes the arguments, their layout, and how to compile it. The order of the legs and the gauge compression are part of
/// the kernel: they change the last bits.
///
/// --ptx writes the PTX that the driver of an NVIDIA GPU generates for a kernel in a tuning; `lanefield capture` writes it with its arguments.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield emit --kernel wilson_full --language c
  lanefield emit --kernel staggered_hop --language cuda --precision f64 \\
    --links 12 --output staggered_hop.cu
  lanefield emit --kernel staggered_hop --language hip
  lanefield emit --kernel hop --language opencl --output hop.cl")]
pub struct Emit {
    /// Kernel to write
    #[arg(long, alias = "kernels", value_name = "KERNEL")]
    kernel: String,
    /// Language of the source: c, cuda, hip or opencl
    #[arg(long, value_name = "LANGUAGE", required_unless_present = "ptx")]
    language: Option<Dialect>,
    /// Write the PTX that the driver generates: NVIDIA's GPUs only
    #[arg(long, conflicts_with = "language")]
    ptx: bool,
    /// Precision of fields; half only in OpenCL C
    #[arg(long, value_name = "PRECISION", default_value = "f32", value_parser = of_storage())]
    precision: Precision,
    /// Gauge compression: 18, 12 (the kernel rebuilds the third row) or 8 (it rebuilds the whole matrix) reals stored per link
    #[arg(long = "reconstruct", alias = "links", value_name = "NUMBERS", default_value_t)]
    links: LinkFormat,
    /// Order in which legs are added
    #[arg(long, value_name = "ORDER", default_value_t, allow_hyphen_values = true)]
    legs: LegOrder,
    /// File to write [default: standard output]
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    built: BuiltArgs,
}

/// Device and layout for --ptx.
#[derive(Args)]
#[command(next_help_heading = "With --ptx")]
struct BuiltArgs {
    /// Device, as in other commands [default: LANEFIELD_DEVICE, else the first GPU]
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceChoice>,
    /// Extents of the lattice [default: 16.16.16.32; 8.8.8.8 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Lane width in bytes: 8, 16, 32, 64, 128, 256, or auto [default: auto]
    #[arg(long, value_name = "BYTES|auto")]
    lanes: Option<LaneChoice>,
    /// Number of right-hand sides [default: the usual number of the kernel]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    rhs: Option<u16>,
    #[command(flatten)]
    tuning: TuningArgs,
}

impl BuiltArgs {
    /// Whether none of these flags was given. Because `--ptx` has conflicts, clap does not check what it requires.
    fn is_open(&self) -> bool {
        let Self { device, lattice, lanes, rhs, tuning } = self;
        let nothing = device.is_none() && lattice.is_none() && lanes.is_none() && rhs.is_none();
        nothing && tuning.tuning() == Tuning::OPEN
    }
}

impl Emit {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        if let Some(path) = &self.output {
            require_outputs(&[("--output", path)], &[])?;
            require_extension(path, self.language)?;
        }
        let Self { precision, links, legs, .. } = self;
        let kernel = || one(list, &self.kernel).map_err(anyhow::Error::msg);
        let source = match (self.language, list.map(&self.kernel)) {
            (Some(language), Some(map)) => map.source(language)?,
            (Some(language), None) => {
                ensure!(
                    self.built.is_open(),
                    "--device, --lattice, --lanes, --rhs and tuning are for --ptx: a source file is for every device"
                );
                emit(kernel()?, &EmitOptions { language, precision, links, legs })?
            }
            (None, _) => self.ptx(kernel()?)?,
        };
        match self.output {
            Some(path) => write_atomically(&path, |out| out.write_all(source.as_bytes()))?,
            None => print(source.trim_end())?,
        }
        Ok(Outcome::Done)
    }

    /// The PTX that a device's driver compiles the kernel to.
    fn ptx(&self, kernel: &'static Kernel) -> anyhow::Result<String> {
        let Self { precision, links, legs, ref built, .. } = *self;
        require_precision(kernel, precision)?;
        let device = match &built.device {
            Some(device) => device.clone(),
            None => default_device().parse()?,
        };
        let mut backend = (PlaceArgs { device, threads: None }).open(Precision::F32, Tuning::OPEN)?;
        let Some(device) = backend.opencl_mut() else {
            bail!("the CPU reference has no PTX: choose an NVIDIA GPU with --device");
        };
        device.set_tuning(built.tuning.tuning());
        let extents = extents_or_usual(built.lattice, &*device)?;
        let (rhs, lanes) = (built.rhs.map(usize::from), built.lanes.unwrap_or_default());
        let case = BenchCase { precision, links, rhs, lanes, ..BenchCase::usual(kernel, extents) };
        require_rhs(kernel, case.components())?;
        let options = CaseOptions { legs, ..case.options(case.lattice(&*device)?) };
        Ok(ptx(device, &Case::shape_of(kernel, &options))?)
    }
}

/// Fails if the name has the extension of another language, or of any language in the case of PTX.
fn require_extension(path: &Path, language: Option<Dialect>) -> anyhow::Result<()> {
    let given = path.extension().and_then(|extension| extension.to_str());
    let other = Dialect::ALL.into_iter().find(|other| Some(other.extension()) == given && Some(*other) != language);
    let wanted = language.map_or("--ptx is given".to_owned(), |language| format!("--language is {language}"));
    match other {
        Some(other) => bail!(
            "--output {} has the extension of {other}, but {wanted}: expected a name that ends in .{}",
            path.display(),
            language.map_or("ptx", Dialect::extension)
        ),
        None => Ok(()),
    }
}
