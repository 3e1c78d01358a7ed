//! `lanefield emit`: a kernel as a source that stands by itself. What is written: `lanefield::emit`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use lanefield::emit::{EmitOptions, Language, emit};
use lanefield::io::atomic::write_atomically;
use lanefield::kernel::{self, Kernel};
use lanefield::reference::layout::LegOrder;
use lanefield::reference::links::LinkFormat;
use lanefield::reference::real::Precision;

use super::Outcome;
use super::args::of_storage;
use super::files::{failed_to_write, require_outputs};
use super::output::print;

/// Write a kernel as a source for other programs, with the same bits: in C, CUDA, HIP or OpenCL C.
///
/// Kernels that are written once, as a body (the Laplacian's and the staggered hop, and kernels of one's own), are written in C99, CUDA or HIP, on arrays
/// in site order; every kernel is in OpenCL C as it is built here, with all that it includes. The head of the source says what its arguments are, how they
/// lie, and how it is compiled. The order of the legs and the format of links are part of the kernel: they change the last bits.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield emit --kernel laplace_hop --language c
  lanefield emit --kernel staggered_hop --language cuda --precision f64 \\
    --links 12 --output staggered_hop.cu
  lanefield emit --kernel hop --language opencl --output hop.cl")]
pub struct Emit {
    /// The kernel
    #[arg(long, value_name = "KERNEL", value_parser = one)]
    kernel: &'static Kernel,
    /// The language: c, cuda, hip or opencl
    #[arg(long, value_name = "LANGUAGE")]
    language: Language,
    /// Precision of fields; half in OpenCL C alone
    #[arg(long, value_name = "PRECISION", default_value = "f32", value_parser = of_storage())]
    precision: Precision,
    /// Reals stored per link: 18, 12 (the third row is reconstructed), or 8 (the whole SU(3) matrix is reconstructed)
    #[arg(long = "reconstruct", visible_alias = "links", value_name = "REALS", default_value_t)]
    links: LinkFormat,
    /// The order in which legs are added
    #[arg(long, value_name = "ORDER", default_value_t, allow_hyphen_values = true)]
    legs: LegOrder,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Reads the name of one kernel.
pub fn one(name: &str) -> Result<&'static Kernel, String> {
    kernel::all().find(|kernel| kernel.name == name).ok_or_else(|| {
        let known: Vec<&str> = kernel::all().map(|kernel| kernel.name).collect();
        format!("unknown kernel '{name}': expected one of {}", known.join(", "))
    })
}

impl Emit {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let Self { kernel, language, precision, links, legs, output } = self;
        if let Some(path) = &output {
            require_outputs(&[("--output", path)], &[])?;
            require_extension(path, language)?;
        }
        let source = emit(kernel, &EmitOptions { language, precision, links, legs })?;
        match output {
            Some(path) => write_atomically(&path, |out| out.write_all(source.as_bytes()))
                .with_context(|| failed_to_write(&path))?,
            None => print(source.trim_end())?,
        }
        Ok(Outcome::Done)
    }
}

/// Refuses a name that ends as files of another language do.
fn require_extension(path: &Path, language: Language) -> anyhow::Result<()> {
    let given = path.extension().and_then(|extension| extension.to_str());
    let other = Language::ALL.into_iter().find(|other| Some(other.extension()) == given && *other != language);
    match other {
        Some(other) => bail!(
            "--output {} ends as files of {other} do, and --language is {language}: expected a name that ends in .{}",
            path.display(),
            language.extension()
        ),
        None => Ok(()),
    }
}
