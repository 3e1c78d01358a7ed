//! `lanefield peak`: the ceilings of a device, measured, and the roofline of this program's kernels. What is measured, and how:
//! `lanefield_lab::peak`.

mod plot;
mod table;

use crate::kernels::Known;
use crate::prelude::*;

use lanefield::backend::opencl::Tuning;
use lanefield::dynamic::Here;
use lanefield::kernel::{Geometry, Kernel};
use lanefield_lab::ceilings::MemoryOf;
use lanefield_lab::peak::roofline::Roofline;
use lanefield_lab::peak::{Operation, Part, Peak as Ceilings, PeakOptions};
use lanefield_lab::study::Run;
use lanefield_lab::{BenchOptions, KernelRecord, kernels_to_time, usual_sites};

use super::args::{PlaceArgs, of_storage};
use super::bench::arguments::time;
use super::build_ahead::{Builder, JobsArgs};
use super::files::{figure, named, require_outputs, write_figure};
use super::interrupt;
use super::progress::with_bar;

/// Measure the ceilings of a device, and draw its roofline.
///
/// It measures memory, caches, arithmetic, latency, launches and transfers.
///
/// Bandwidths are in 10⁹ bytes per second, on buffers of random numbers larger than the caches. Each is the median of several runs, by the fastest of
/// several methods, which the table names. A copy counts the bytes that are read and written; a triad (x + s · y) counts two streams read and one
/// written.
///
/// L1 and local memory: all compute units together read small sets, each its own. L2: they read one set that does not fit L1, past L1 if the device
/// supports it; on CPUs, sets of the next larger size. These are the highest values; for L1, the highest on a plateau of neighbouring sizes that
/// differ by less than 15 %.
///
/// Arithmetic: fused multiply-adds, two operations each, k of them on each number that is read and written.
///
/// Latency: loads that depend on each other, through all lines of a set in random order, address computation included.
///
/// Launch: the time from one start to the next of empty kernels in the queue. Transfers: wall time until the bytes have arrived.
///
/// The copy is measured cold, warmed up, at the end and after a second of rest; if the warm ones differ by more than 3 %, the table says so. Times
/// are device times if the device reports them, else wall times.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield peak --quick --bytes 1MiB
  lanefield peak --quick --bytes 4MiB --parts streams,intensity --json
  lanefield peak --quick --bytes 4MiB --parts streams,intensity \\
      --roofline roofline.svg --kernel hop,blas --lattice 4.4.4.4")]
pub struct Peak {
    /// Ceilings to measure
    #[arg(long, value_name = "PART,…", value_delimiter = ',', value_parser = part,
          default_value = "streams,caches,latency,launch,transfers,intensity")]
    parts: Vec<Part>,
    /// Use fewer methods, sizes and runs
    #[arg(long)]
    quick: bool,
    /// Maximum bytes per buffer, as 64MiB or 1GiB. If it fits a cache, bandwidths are those of the cache [default: larger than the caches]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    bytes: Option<usize>,
    /// Print JSON, with all sweeps, instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Draw the roofline to this file (.svg, .pdf or .png), with kernels that are timed for it
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = named(figure))]
    roofline: Option<PathBuf>,
    /// Kernels on the roofline: all, a family or a kernel [default: stencils and blas]
    #[arg(long = "kernel", alias = "kernels", value_name = "KERNEL,…", value_delimiter = ',', requires = "roofline")]
    kernels: Vec<String>,
    /// Extents of the kernels' lattice [default: 32.32.32.64; 16.16.16.16 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T", requires = "roofline")]
    lattice: Option<Extents>,
    /// Precisions of the kernels' fields
    #[arg(long, value_name = "PRECISION,…", value_delimiter = ',', requires = "roofline", value_parser = of_storage(), default_value = "f32")]
    precision: Vec<Precision>,
    /// Gauge compression: 18, 12 or 8 reals stored per link
    #[arg(
        long = "reconstruct",
        alias = "links",
        value_name = "NUMBERS,…",
        value_delimiter = ',',
        requires = "roofline",
        default_value = "18,12"
    )]
    links: Vec<LinkFormat>,
    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

/// The families on the roofline where none is named: stencils, and vector operations; or a caller's kernels.
fn usual_kernels(list: &Known) -> Vec<&'static str> {
    if list.has_own() {
        return vec!["all"];
    }
    let is_stencil = |kernel: &Kernel| matches!(kernel.geometry, Geometry::Stencil { .. });
    let has_stencils = |family: &&str| list.all().any(|kernel| kernel.family == *family && is_stencil(kernel));
    list.families().into_iter().filter(has_stencils).chain(["blas"]).collect()
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    peak: Ceilings,
    /// The roofs and kernels that were drawn; null where none were.
    roofline: Option<Roofline>,
}

fn part(text: &str) -> Result<Part, String> {
    let known = Part::ALL.into_iter().find(|part| part.to_string() == text);
    known.ok_or_else(|| {
        let parts = Part::ALL.map(|part| part.to_string()).join(", ");
        format!("invalid part '{text}': expected {parts}")
    })
}

/// Reads a number of bytes, at least 4096.
fn bytes(text: &str) -> Result<usize, String> {
    const UNITS: [(&str, usize); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("", 1)];
    let read = || {
        let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
        number.trim().parse::<usize>().ok()?.checked_mul(*unit)
    };
    let refused = || format!("invalid size '{text}': expected 4096 bytes or more, as 65536, 512KiB, 64MiB or 1GiB");
    read().filter(|bytes| *bytes >= 4096).ok_or_else(refused)
}

/// Keeps the bandwidths of memory for the commands that hold kernels against them.
fn keep(peak: &Ceilings, memory: MemoryOf<'_>) {
    let found = [
        (Operation::Read, peak.read_gb_per_second),
        (Operation::Write, peak.write_gb_per_second),
        (Operation::Copy, peak.copy_gb_per_second),
        (Operation::Triad, peak.triad_gb_per_second),
    ];
    for (operation, rate) in found {
        rate.into_iter().for_each(|rate| memory.keep(operation, 1e9 * rate));
    }
}

impl Peak {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        if let Some(path) = &self.roofline {
            require_outputs(&[("--roofline", path)], &[])?;
        }
        let mut backend = self.place.open(Precision::F32, Tuning::OPEN)?;
        let options = PeakOptions { quick: self.quick, most_bytes: self.bytes, parts: self.parts.clone() };
        if let Some(device) = backend.opencl_mut() {
            let steps = Ceilings::steps(device.context(), &options);
            Builder::new(self.jobs).build(device, steps);
        }
        // A part takes long, and each of its figures is worth keeping.
        interrupt::keep();
        let peak = with_bar(|observe| match backend.here() {
            Here::Cpu(cpu) => Ceilings::measure_cpu(cpu, &options, observe),
            Here::OpenCl(device) => Ceilings::measure(device.context(), &options, observe),
        });
        let peak = peak.context("failed to measure the device")?;
        if self.bytes.is_none() {
            backend.install(|| keep(&peak, backend.memory()));
        }

        let mut roofline = None;
        if let Some(path) = &self.roofline {
            let (extents, records) = self.kernels(list, &mut backend)?;
            let found = Roofline::new(&peak, &records);
            write_figure(path, &plot::plot(&found, &peak.device, extents))?;
            roofline = Some(found);
        }
        let head = Head::on(Kind::Peak, backend.device());
        show(self.json, head, &Report { peak, roofline }, |Report { peak, roofline }| {
            table::text(peak, roofline.as_ref())
        })
    }

    /// The kernels of the roofline, and the lattice that they were timed on.
    fn kernels(&self, list: &Known, backend: &mut AnyBackend) -> anyhow::Result<(Extents, Vec<KernelRecord>)> {
        const SAMPLES: u32 = 11;
        let Self { kernels, lattice, precision, links, .. } = self;
        let usual = if backend.is_cpu() { [16; 4] } else { [32, 32, 32, 64] };
        let lattice = lattice.map_or_else(|| Extents::new(usual), Ok)?;
        let usual = usual_kernels(list);
        let words = kernels.iter().map(String::as_str).chain(usual.into_iter().filter(|_| kernels.is_empty()));
        let kernels = kernels_to_time(list, words).map_err(anyhow::Error::msg)?;
        let options =
            BenchOptions { precisions: precision.clone(), links: links.clone(), ..BenchOptions::new(kernels, lattice) };
        let mut records = time(backend, self.jobs, &Run::all(&options, Tuning::OPEN), SAMPLES);
        // Where a kernel is timed on all sites and on one parity, the parity, which solvers use.
        let is_wanted = |record: &KernelRecord| {
            usual_sites(record.kernel).len() == 1 || record.fields.sites.as_deref() != Some("full")
        };
        records.retain(is_wanted);
        if let Some(failure) = records.iter().find_map(|record| record.failure.as_ref())
            && records.iter().all(|record| record.failure.is_some())
        {
            anyhow::bail!("failed to time the kernels of the roofline: {failure}");
        }
        Ok((lattice, records))
    }
}
