//! `lanefield bench reduce`: compares ways to sum large objects. `lanefield_lab::reduce` defines what is measured.

use lanefield::backend::opencl::{DeviceKind, Finish};
use lanefield::reference::field::{ColourMatrix, ComplexNumber, Gauge, HalfSpinor, Propagator, SiteObject as _, Words};
use lanefield::reference::layout::LayoutError;
use lanefield_lab::bandwidth;
use lanefield_lab::reduce::{Operation, ReduceBench, ReduceReport, ReduceRow, SITES_A_GROUP, measure, steps};

use crate::args::{BackendArgs, of_arithmetic, one_of};
use crate::build_ahead::{Builder, JobsArgs};
use crate::numbers::{bytes, number};
use crate::output::{Layout, facts, fitted, table_of};
use crate::prelude::*;
use crate::progress::with_bar;

/// Time the sums of the words of a large site object.
///
/// Times the staged, fused and serial forms of tree sums, and exact sums, in every launch shape.
///
/// Each row is one form in one shape of work-groups. GB/s count the field once, even if a form reads it several times. They are compared with the
/// read bandwidth of memory, unless the fields fit a cache ("in cache"). They are also compared with a kernel that only reads the same number of
/// bytes. Times are device times if the device reports them.
///
/// The last line says whether the sums that must have the same bits have them; exit code 1 if not.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield bench reduce --lattice 4.4.4.8 --object spinor --samples 3
  lanefield bench reduce --lattice 4.4.4.4 --precision f32 --device cpu --json")]
pub struct Reduce {
    /// Extents of the lattice [default: 32.32.32.32, halved until the field and its staged words take at most a third of the device's memory; 8.8.8.8
    /// on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Object at each site of the field
    #[arg(long, value_name = "OBJECT", default_value = "propagator", value_parser = one_of(OBJECTS))]
    object: Words,
    /// Precision of the field; sums are f64
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = of_arithmetic())]
    precision: Precision,
    /// Words per bundle of the staged and fused forms
    #[arg(long, value_name = "R", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=1024))]
    bundle: u16,
    /// Method of combining the sums of work-groups: second-kernel or retirement-count [default: second-kernel]
    #[arg(long, value_name = "WAY")]
    finish: Option<Finish>,
    /// Number of timed runs of each row
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

const OBJECTS: &[(&str, Words, &str)] = &[
    ("complex", Words(ComplexNumber::WORDS), "One complex number"),
    ("colour-vector", Words(ColourVectors::WORDS), "3 words"),
    ("half-spinor", Words(HalfSpinor::WORDS), "6 words"),
    ("spinor", Words(Spinors::WORDS), "12 words"),
    ("colour-matrix", Words(ColourMatrix::WORDS), "9 words"),
    ("gauge", Words(Gauge::WORDS), "The four links of a site, 36 words"),
    ("propagator", Words(Propagator::WORDS), "144 words"),
];

impl Reduce {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let mut backend = self.backend.open(self.precision)?;
        if backend.opencl().is_none() && self.finish.is_some() {
            bail!("--finish is for OpenCL devices; the CPU has one way to take sums");
        }
        let table = match self.precision {
            Precision::F32 => self.measure::<f32>(&mut backend),
            _ => self.measure::<f64>(&mut backend),
        }?;
        show(self.json, Head::on(Kind::BenchReduce, backend.device()), &table, ReduceTable::text)?;
        Ok(if table.same_bits { Outcome::Done } else { Outcome::CheckFailed })
    }

    fn measure<R: Vectors>(&self, backend: &mut AnyBackend) -> anyhow::Result<ReduceTable> {
        let info = backend.opencl().map(|device| device.context().info()).filter(|info| info.kind != DeviceKind::Cpu);
        let memory = info.map(|info| [info.global_memory_bytes, info.max_allocation_bytes]);
        let object = self.object;
        let a_word = size_of::<Complex<R>>();
        let bundle = usize::from(self.bundle).min(object.words());
        let a_site = [object.words(), bundle].map(|words| (words * a_word) as u64);
        let bench = ReduceBench {
            extents: match self.lattice {
                Some(extents) => extents,
                None => usual_extents(memory, a_site)?,
            },
            lanes: self.backend.lanes,
            object,
            bundle,
            finish: self.finish,
            samples: self.samples as usize,
        };
        if let Some(device) = backend.opencl_mut() {
            let mut steps = steps::<R>(device, &bench).context("failed to measure sums")?;
            steps.extend(device.memory().steps(bandwidth::Operation::Read));
            Builder::new(self.jobs).build(device, steps);
        }
        let report = with_bar(|observe| measure::<R, _>(backend, &bench, observe)).context("failed to measure sums")?;
        let field_bytes = (bench.extents.volume() * object.words() * a_word) as u64;
        let (layout, same_bits) = (report.lattice.into(), report.agreement.same_bits());
        Ok(ReduceTable {
            device: backend.describe(),
            layout,
            object: object.name(),
            precision: R::NAME,
            field_bytes,
            bundle,
            finish: self.finish.map(|finish| finish.to_string()),
            sites_a_group: SITES_A_GROUP,
            samples: bench.samples,
            report,
            same_bits,
        })
    }
}

/// 32⁴, halved in t, z, y, x in turn until two conditions hold. The field fits the largest buffer, and the field with its bundle fits a third of the
/// memory. The bytes per site of both are `a_site`; those of the memory and of the largest buffer are `memory`. CPUs are timed on a small lattice.
fn usual_extents(memory: Option<[u64; 2]>, a_site: [u64; 2]) -> Result<Extents, LayoutError> {
    let Some([all, buffer]) = memory else { return Extents::new([8; 4]) };
    let fits = |extents: &[usize; 4]| {
        let [field, staged] = a_site.map(|bytes| bytes * extents.iter().product::<usize>() as u64);
        field + staged <= all / 3 && field <= buffer
    };
    let halved = |extents: &[usize; 4]| {
        let mut extents = *extents;
        let largest = extents.into_iter().max()?;
        *extents.iter_mut().rfind(|extent| **extent == largest)? /= 2;
        (largest > 4).then_some(extents)
    };
    Extents::new(std::iter::successors(Some([32; 4]), halved).find(fits).unwrap_or([4; 4]))
}

#[derive(Serialize)]
struct ReduceTable {
    #[serde(skip)]
    device: String,
    #[serde(flatten)]
    layout: Layout,
    object: &'static str,
    precision: &'static str,
    field_bytes: u64,
    bundle: usize,
    /// `second-kernel` or `retirement-count`; null if the backend chose.
    finish: Option<String>,
    sites_a_group: [usize; 4],
    samples: usize,
    #[serde(flatten)]
    report: ReduceReport,
    /// Whether sums that must have the same bits do.
    same_bits: bool,
}

impl ReduceTable {
    /// Device and lattice, the table, and the verdict.
    fn text(&self) -> String {
        let Self { precision, object, layout, field_bytes, report, .. } = self;
        let field = format!("{precision} {object} on {}: {}", layout.with(""), bytes(*field_bytes));
        let mut lines = vec![facts([
            ("device", self.device.clone()),
            ("field", field),
            ("plan", report.plan.clone().unwrap_or_else(|| "none for bundles of this size".to_owned())),
            ("finished by", self.finish.clone().unwrap_or_else(|| "the backend's choice".to_owned())),
            ("read bandwidth", format!("{:.1} GB/s", report.read_bandwidth / 1e9)),
        ])];
        lines.push(
            fitted(table_of(report.rows.iter().map(cells), 2..), &["least – most, µs", "of same read", "group"])
                .to_string(),
        );
        let failed = report.rows.iter().filter(|row| row.seconds.is_none());
        lines.extend(
            failed.map(|row| format!("{}: {}", shape_of(row), row.failure.as_deref().unwrap_or("it was not timed"))),
        );
        lines.push(format!("\n{}", report.agreement));
        lines.join("\n")
    }
}

/// What is summed, and how.
fn shape_of(ReduceRow { operation, object, precision, shape, .. }: &ReduceRow) -> String {
    match operation {
        Operation::Sum => shape.to_string(),
        operation => format!("{operation}, {precision} {object}"),
    }
}

fn cells(row: &ReduceRow) -> [(&'static str, String); 8] {
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    let spread = row.seconds.map(|seconds| format!("{:.1} – {:.1}", seconds.least * 1e6, seconds.most * 1e6));
    let in_cache = if row.seconds.is_some() { "in cache" } else { "–" };
    [
        ("shape", shape_of(row)),
        ("form", row.form.to_string()),
        ("group", row.group.map_or("–".to_owned(), |group| group.to_string())),
        ("median, µs", number(row.seconds.map(|seconds| seconds.median * 1e6), 1)),
        ("least – most, µs", spread.unwrap_or_else(|| "failed".to_owned())),
        ("GB/s", number(row.bytes_per_second.map(|rate| rate / 1e9), 1)),
        ("of read", row.share_of_read_bandwidth.map_or(in_cache.to_owned(), percent)),
        ("of same read", row.share_of_same_read.map_or("–".to_owned(), percent)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_lattice_is_halved_from_t_on_until_it_fits() {
        // A propagator in f64, and twelve words of it staged.
        let a_site = [2304, 192];
        let extents = |memory| usual_extents(memory, a_site).unwrap().to_string();
        let gpu = |gib: u64| extents(Some([gib << 30, (gib << 30) / 4]));
        assert_eq!([140, 10, 6].map(gpu), ["32.32.32.32", "32.32.32.32", "32.32.32.16"]);
        // A quarter of 4 GiB is no buffer for 1.1 GiB, though a third of it would do.
        assert_eq!([4, 1].map(gpu), ["32.32.16.16", "16.16.16.16"]);
        assert_eq!([gpu(0), extents(None)], ["4.4.4.4", "8.8.8.8"]);
    }
}
