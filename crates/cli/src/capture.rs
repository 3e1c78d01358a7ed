//! `lanefield capture`: writes one launch of a kernel to a directory. `lanefield::capture` describes the files.

use std::collections::BTreeMap;

use lanefield::backend::opencl::Tuning;
use lanefield::capture::{Capture as Captured, OutputDifference, WorkEntry, WrittenFiles};
use lanefield::kernel::{Case, Kernel, Shape};
use lanefield_lab::{BenchCase, FieldFacts, usual_sites};

use super::args::PlaceArgs;
use super::files::{replaces, require_no_file};
use super::kernel_args::CaseArgs;
use super::kernel_args::sites;
use super::kernels::of_library;
use super::numbers::bytes;
use super::output::{facts, joined, print};
use crate::prelude::*;

/// Write one launch of a kernel with all its arguments.
///
/// Another program can then run the same launch.
///
/// The directory contains the binary of the program (PTX on NVIDIA's GPUs), the sizes, every argument, and each buffer before and after the launch.
/// Fields hold random numbers. The launch is repeated from these files, and must produce the same bits. If a call makes several launches, the first
/// of the kernel itself is written.
///
/// On NVIDIA's GPUs, scripts/profile_nvidia.py runs the launch through CUDA, so that Nsight Compute can profile it: see docs/counters.md.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield capture --kernel hop --lattice 4.4.4.4 --output hop
  lanefield capture --kernel norm2 --lattice 4.4.4.4 --precision f64 \\
    --output norm2")]
pub struct Capture {
    /// Kernel to capture
    #[arg(long, alias = "kernels", value_name = "KERNEL", value_parser = of_library)]
    kernel: &'static Kernel,
    /// Directory to write
    #[arg(long, help_heading = "Output", value_name = "DIRECTORY")]
    output: PathBuf,
    /// Sites of the result: full, even or odd [default: one parity of a hop, else all sites]
    #[arg(long, value_name = "SITES", value_parser = sites)]
    onto: Option<Sites>,
    #[command(flatten)]
    case: CaseArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Capture {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let kernel = self.kernel;
        ensure!(
            kernel.is_launched(),
            "{kernel} is a part of other operations, and not launched by itself: capture norm2 or sum"
        );
        // This is checked before anything is computed.
        require_no_file(&self.output)?;
        Captured::require_new(&self.output, replaces())?;
        let mut backend = self.place.open(Precision::F32, Tuning::OPEN)?;
        let Some(device) = backend.opencl_mut() else {
            bail!(
                "launches are captured on OpenCL devices, not on the CPU reference: choose a device with --device, or install PoCL"
            );
        };
        let is_cpu = lanefield_lab::Timed::is_cpu(&*device);
        let case = self.onto(self.case.case(is_cpu, kernel)?)?;
        let tuning = self.case.tuning();
        device.set_tuning(tuning);
        let (captured, shape) = captured(device, &case)?;
        let about = about(&shape, tuning);
        let work = shape.work();
        let work = Some(WorkEntry { flops: work.flops, bytes: work.bytes });
        let captured = Captured { work, about, ..Captured::new(captured, device.context().info()) };
        let written = captured.write(&self.output, replaces())?;
        // Read from the files, which are all that another program has.
        let read = Captured::read(&self.output)?;
        let found = device.context().replay(&read.launch).context("failed to run the captured launch once more")?;
        let differences = read.differences(&found);
        print(self.text(device, &read, written, &differences))?;
        Ok(if differences.is_empty() { Outcome::Done } else { Outcome::CheckFailed })
    }

    fn onto(&self, case: BenchCase) -> anyhow::Result<BenchCase> {
        let Some(sites) = self.onto else { return Ok(case) };
        let usual = usual_sites(case.kernel);
        let of_kind = |other: &Sites| (*other == Sites::Full) == (sites == Sites::Full);
        let known: Vec<&str> =
            usual.iter().map(|sites| if *sites == Sites::Full { "full" } else { "even or odd" }).collect();
        ensure!(
            usual.iter().any(of_kind),
            "{} does not run on {sites} sites: expected {}",
            case.kernel,
            known.join(" or ")
        );
        Ok(BenchCase { sites, ..case })
    }

    fn text(
        &self,
        device: &OpenCl,
        captured: &Captured,
        written: WrittenFiles,
        differences: &[OutputDifference],
    ) -> String {
        let launch = &captured.launch;
        let sizes = |sizes: &[usize; 3]| joined(sizes, " × ");
        let files = format!("{}: {} files, {}", self.output.display(), written.files, bytes(written.bytes));
        let code = format!("{}, {}", bytes(launch.binary.len() as u64), captured.binary_format());
        let mut known = vec![
            ("written", files),
            ("device", device.context().info().name.clone()),
            ("kernel", format!("{}, launch {} of {}", launch.kernel, launch.number, launch.launches)),
            ("work-items", format!("{} in groups of {}", sizes(&launch.launch.global), sizes(&launch.launch.local))),
            ("arguments", format!("{}, with {} buffers", launch.arguments.len(), launch.buffers.len())),
            ("code", code),
        ];
        let again = match differences {
            [] => format!("the same bits in all buffers, of which {} are written", captured.written()),
            [OutputDifference { buffer: (number, what), byte, bytes }, ..] => format!(
                "OTHER BITS in {} buffers: {bytes} bytes of buffer {number} ({what}) differ, the first at byte {byte}",
                differences.len()
            ),
        };
        known.push(("run once more", again));
        facts(known)
    }
}

/// The launch, and the device code that it called.
fn captured(device: &OpenCl, case: &BenchCase) -> anyhow::Result<(lanefield::backend::opencl::CapturedLaunch, Shape)> {
    let lattice = case.lattice(device)?;
    let arguments = Case::new(case.kernel, &case.options(lattice))?;
    let mut on = arguments.on(device)?;
    let launch = device
        .capture(case.kernel.name, &mut || on.launch(&arguments, device, Sum::Exact).map(drop))
        .with_context(|| format!("failed to capture a launch of {}", case.kernel))?;
    Ok((launch, arguments.shape().clone()))
}

/// Facts about a launch, as text.
fn about(shape: &Shape, tuning: Tuning) -> BTreeMap<String, String> {
    let fields = FieldFacts::of(shape);
    let mut about = vec![
        ("lattice", joined(&fields.lattice, ".")),
        ("fields", fields.to_string()),
        ("precision", fields.precision.to_string()),
        ("tuning", tuning.to_string()),
    ];
    about.extend(fields.legs.map(|legs| ("legs", legs)));
    about.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
