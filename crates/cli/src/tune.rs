//! `lanefield tune`: the fastest build and launch of each stencil kernel on a device, kept for all later runs. How it searches:
//! `lanefield_lab::tune`.

use super::maps::{ComparedMap, Map, TimedMap, TunedMaps, fastest_ways};
use crate::kernels::Known;
use crate::prelude::*;
use std::time::Duration;

use lanefield::backend::Threads;
use lanefield::backend::opencl::{AccessWidth, OpenCl, SiteOrder, Tuning, TuningFile, TuningSource};
use lanefield::backend::select::DeviceChoice;
use lanefield_lab::tune::{KernelReport, TuneOptions, TuneReport, require_place, save, subjects, tune};

use super::args::{PlaceArgs, of_storage, supported};
use super::build_ahead::{Builder, JobsArgs};
use super::files::require_writable;
use super::interrupt;
use super::kernels::wanted;
use super::output::{Device, facts, joined, table};
use super::progress::with_bar;

/// Find the fastest settings of each kernel on a device.
///
/// The settings are stored, and all later runs on the device use them.
///
/// No tuning parameter changes a bit of any result. The result of each candidate is compared with that of the default, and that with the CPU
/// reference's. Exit code 1 if bits differ or a kernel could not be tuned.
///
/// Results are stored in a readable file in the directory of the program cache (LANEFIELD_CACHE_DIR), or in the file that LANEFIELD_TUNING names.
/// With LANEFIELD_TUNING=off, no command uses them.
///
/// Kernels for which the budget was too small are listed. A run with more time, or for fewer kernels, adds to the file. Ctrl-C keeps what was found
/// so far, with exit code 130.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield tune --kernel hop --lattice 8.8.8.8 --budget 20 --json
  lanefield tune --kernel hop,clover --precision f32
  lanefield tune --budget 600

The examples take 20 seconds, one minute and ten minutes.")]
pub struct Tune {
    /// Kernels to tune: all, a family or a kernel. Kernels without tuning parameters of their own are skipped; a dagger uses those of its kernel
    #[arg(long = "kernel", alias = "kernels", value_name = "KERNEL,…", value_delimiter = ',', default_value = "all")]
    kernels: Vec<String>,
    /// Precisions of fields
    #[arg(long, value_name = "PRECISION,…", value_delimiter = ',', value_parser = of_storage(), default_value = "f32,f64,half")]
    precision: Vec<Precision>,
    /// Gauge compression: 18, 12 or 8 reals stored per link
    #[arg(long = "reconstruct", alias = "links", value_name = "NUMBERS,…", value_delimiter = ',', default_values_t = LinkFormat::ALL)]
    links: Vec<LinkFormat>,
    /// Extents of the lattice [default: 32.32.32.64, for several right-hand sides 16.16.32.32; on CPUs 8.8.8.16 and 8.8.8.8]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Access widths in bytes to try: word, 8 or 16, in addition to the device's default
    #[arg(long, value_name = "WIDTH,…", value_delimiter = ',', default_values_t = AccessWidth::ALL)]
    access: Vec<AccessWidth>,
    /// Orders of sites in memory to try: lexicographic, or numbers of subdomains X.Y.Z.T, in addition to the device's default. Each is tried with the
    /// default access width
    #[arg(long, value_name = "ORDER,…", value_delimiter = ',', default_value = "lexicographic,4.4.4.1")]
    site_order: Vec<SiteOrder>,
    /// Time budget in seconds, divided among the kernels
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    budget: u32,
    /// Print JSON, with every candidate, instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// OpenCL device to tune: auto (the first GPU, else any OpenCL device), a number from `lanefield devices`, or part of a device's name [env:
    /// LANEFIELD_DEVICE]
    #[arg(long, value_name = "DEVICE", default_value = crate::args::default_device())]
    device: DeviceChoice,
    /// Number of CPU threads of the reference [default: RAYON_NUM_THREADS, else all cores]
    #[arg(long, value_name = "N")]
    threads: Option<Threads>,
    /// Lane width in bytes, or lane layout: 8, 16, 32, 64, 128 or 256; a layout such as 2.1.4.1; or auto, the largest width that fits the lattice.
    /// With auto, the width is at most 64, on GPUs at most 128
    #[arg(long, value_name = "LANES", default_value_t)]
    lanes: LaneChoice,
    #[command(flatten)]
    jobs: JobsArgs,
}

const UNKEPT: &str = "failed to keep the results";
const NO_PLACE: &str =
    "nothing was measured, since there is no place for the results (LANEFIELD_TUNING names another file)";

impl Tune {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        let place = PlaceArgs { device: self.device.clone(), threads: self.threads };
        let maps = list.maps_of(&self.kernels)?;
        if !maps.is_empty() {
            return self.maps(&maps, &place);
        }
        let mut backend = place.open_to_tune(Precision::F32, Tuning::OPEN)?;
        let Some(device) = backend.opencl_mut() else {
            bail!("the CPU reference has nothing to tune; name an OpenCL device (`lanefield devices` lists them)")
        };
        let cpu = place.open_cpu()?;
        let options = self.options(list, device)?;
        let file = TuningSource::from_environment(device.context().cache()).file(device.context().info());
        if let Some(path) = file.as_ref().filter(|_| !super::files::replaces()) {
            TuningFile::require_replaceable(path, device.context().info()).map_err(anyhow::Error::msg)?;
        }
        if let Some(path) = &file {
            require_place(path).map_err(Into::into).and_then(|()| require_writable(path)).context(NO_PLACE)?;
        }
        let mut builder = Builder::new(self.jobs).within(options.budget);
        let mut ahead = |device: &mut OpenCl, steps| builder.build(device, steps);
        // The default build of the first kernel is worth keeping, too.
        interrupt::keep();
        let report = with_bar(|observe| tune(device, &cpu, &options, &mut ahead, observe));

        let info = device.context().info();
        let place = file.as_ref().filter(|_| !report.kernels.is_empty());
        let saved = place.map_or(Ok(()), |path| save(path, info, &report));
        let file = file.filter(|_| saved.is_ok());
        let head = Head::on(Kind::Tune, Device::from(info));
        let (device, same_bits) = (device.describe(), report.same_bits());
        let results = Results { device, budget_seconds: self.budget, report, file, same_bits };
        show(self.json, head, &results, Results::text)?;
        saved.context(UNKEPT)?;
        Ok(if same_bits { Outcome::Done } else { Outcome::CheckFailed })
    }

    /// Times maps in every way to launch them, which change no bit, and says what their authors would write. Nothing is kept: a map's way stands in
    /// its attribute.
    fn maps(&self, maps: &[Map], place: &PlaceArgs) -> anyhow::Result<Outcome> {
        const SAMPLES: u32 = 20;
        let (backend, cpu) = (place.open(Precision::F32, Tuning::OPEN)?, place.open_cpu()?);
        let compared = ComparedMap::all(maps, 1, &cpu, &backend);
        let maps = TimedMap::all(maps, &backend, SAMPLES, true)?;
        let same_bits = compared.iter().all(ComparedMap::same_bits);
        let tuned = TunedMaps { fastest: fastest_ways(&maps), maps, compared };
        show(self.json, Head::on(Kind::Tune, backend.device()), &tuned, TunedMaps::text)?;
        Ok(if same_bits { Outcome::Done } else { Outcome::CheckFailed })
    }

    /// The default layout comes first, so that a small budget is spent on it.
    fn options(&self, list: &Known, device: &OpenCl) -> anyhow::Result<TuneOptions> {
        fn first<T: Copy + PartialEq>(default: T, others: &[T]) -> Vec<T> {
            std::iter::once(default).chain(others.iter().copied().filter(|&other| other != default)).collect()
        }
        let kernels =
            wanted(list, &self.kernels, |kernel| kernel.tuned_as == Some(kernel.name), "has no tuning of its own")?;
        let (layout, place) = (device.layout(), (device.context().info().kind, self.lanes));
        Ok(TuneOptions {
            subjects: subjects(&kernels, &supported(&self.precision, Some(device)), &self.links, self.lattice, place)?,
            access: first(layout.access, &self.access),
            site_orders: first(layout.site_order, &self.site_order),
            budget: Duration::from_secs(self.budget.into()),
        })
    }
}

#[derive(Serialize)]
struct Results {
    #[serde(skip)]
    device: String,
    budget_seconds: u32,
    #[serde(flatten)]
    report: TuneReport,
    /// Where the results are kept; null where LANEFIELD_TUNING is off, or there is no directory.
    file: Option<PathBuf>,
    /// Whether every candidate had the bits of the default, and the default those of the CPU reference.
    same_bits: bool,
}

impl Results {
    fn text(&self) -> String {
        let header = ["kernel", "lattice", "access", "sites", "default, µs", "tuned, µs", "gain", "chosen"];
        let TuneReport { access, site_order, kernels, failures, left_out, seconds } = &self.report;
        let mut rows = table(header, 4..7);
        for report in kernels {
            let default = report.searched.candidates.first().map(|candidate| candidate.choice).unwrap_or_default();
            let chosen = report.searched.choice.beside(&default);
            rows.add_row([
                report.kernel.clone(),
                joined(&report.lattice, "."),
                report.access.to_string(),
                report.site_order.to_string(),
                format!("{:.1}", 1e6 * report.searched.default_seconds),
                format!("{:.1}", 1e6 * report.searched.seconds),
                format!("{:.1} %", 100.0 * (report.gain - 1.0)),
                if chosen == Tuning::OPEN { "the default".to_owned() } else { chosen.to_string() },
            ]);
        }
        let candidates = || kernels.iter().flat_map(|report| &report.searched.candidates);
        let timed = candidates().filter(|candidate| candidate.seconds.is_some()).count();
        let kept = match &self.file {
            _ if kernels.is_empty() => "nowhere: nothing was tuned".to_owned(),
            Some(path) => path.display().to_string(),
            None => "nowhere: LANEFIELD_TUNING is off, or there is no place for it".to_owned(),
        };
        let mut lines = vec![format!("{rows}\n")];
        lines.push(facts([
            ("device", self.device.clone()),
            ("access width", access.to_string()),
            ("order of sites", site_order.to_string()),
            ("time", format!("{seconds:.1} s of {} s, {timed} candidates timed", self.budget_seconds)),
            ("kept in", kept),
        ]));
        if !left_out.is_empty() {
            let some: Vec<&str> = left_out.iter().take(3).map(String::as_str).collect();
            let more = left_out.len() - some.len();
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let what = some.join("; ");
            lines.push(format!(
                "\nleft out for want of time (--budget, --kernel, --precision, --access, --site-order): {what}{more}"
            ));
        }
        for report in kernels {
            for candidate in report.different() {
                let KernelReport { kernel, access, site_order, .. } = report;
                lines.push(format!(
                    "BITS DIFFER, discarded: {kernel}, access {access}, sites {site_order}, {}: {}",
                    candidate.choice, candidate.verdict
                ));
            }
        }
        lines.extend(failures.iter().map(|failure| format!("FAILED: {failure}")));
        if self.same_bits {
            lines.push(format!("\nsame bits: the {timed} candidates, their defaults and the CPU reference"));
        }
        lines.join("\n")
    }
}
