//! What the benchmarks share: which backends, lattice and lane widths they run on, how a kernel is timed (device events on OpenCL, wall
//! time on the CPU), and the table at the end, which holds each kernel against the copy bandwidth, or the read bandwidth where it writes
//! nothing, measured in the same run.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `LANEFIELD_BENCH_LATTICE` | extents X.Y.Z.T | 16.16.16.32 |
//! | `LANEFIELD_BENCH_LANES` | lane widths in bytes, with commas between | the benchmark's own |
//! | `LANEFIELD_DEVICE` | one device, as for `--device` | the CPU reference and each OpenCL device |

use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use lanefield::backend::opencl::{Accumulators, DeviceInfo, DeviceKind, devices};
use lanefield::backend::select::{DeviceChoice, Selected, resolve};
use lanefield::backend::{Backend, BackendError, Cpu, OpenCl};
use lanefield_lab::bandwidth::{Bandwidth, median};
use lanefield_reference::field::{Field, SiteObject, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{
    AcceleratorThreads, Extents, LaneChoice, LaneWidth, Lattice, LatticeOptions, LayoutError, PartsShape, Sites,
};
use lanefield_reference::random::{Stream, gaussian_pair};
use num_complex::Complex;

/// What a benchmark may fail with.
pub type Failure = Box<dyn Error>;

/// Timed samples of a kernel; criterion takes no fewer.
const SAMPLES: usize = 10;

/// What marks runs that add up hops in local memory.
const IN_LOCAL_MEMORY: &str = ", sums in local memory";

/// What kernels are held against.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "each benchmark is compiled with this module, and needs one of them")]
pub enum Ceiling {
    /// Copy bandwidth: bytes read and written.
    Copy,
    /// Read bandwidth.
    Read,
}

/// The kernels of one family.
pub trait Suite {
    /// Name of the family.
    const FAMILY: &'static str;
    /// Lane widths where `LANEFIELD_BENCH_LANES` names none.
    const LANES: &'static str;
    /// What they are held against.
    const CEILING: Ceiling = Ceiling::Copy;
    /// Cuts of groups over parts of sites to try on OpenCL devices that are no CPU; elsewhere the default alone.
    fn shapes() -> Vec<PartsShape> {
        vec![PartsShape::default()]
    }
    /// Where kernels that go on from a hop add it up, on OpenCL: each place is a run of its own.
    const ACCUMULATORS: &'static [Accumulators] = &[Accumulators::Registers];
    /// Times them on one backend, in one such cut.
    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure>;
}

/// What one launch of a kernel does.
#[derive(Clone, Copy)]
pub struct Work {
    /// Floating-point operations, as the field counts them.
    pub flops: u64,
    /// Bytes that it has to move at least: each input once, each output once.
    pub bytes: u64,
}

/// One line of the table.
struct Row {
    kernel: String,
    seconds: f64,
    work: Work,
}

/// One backend under test.
pub struct Bench<'b, B> {
    criterion: &'b mut Criterion,
    family: &'static str,
    place: String,
    lanes: Vec<LaneWidth>,
    extents: Extents,
    shape: PartsShape,
    rows: Vec<Row>,
    /// The backend.
    pub backend: &'b B,
}

impl<B: Backend> Bench<'_, B> {
    /// Extents of the lattice.
    pub fn extents(&self) -> Extents {
        self.extents
    }

    /// The cut of groups over parts of sites.
    #[allow(dead_code, reason = "each benchmark is compiled with this module, and few have parts")]
    pub fn shape(&self) -> PartsShape {
        self.shape
    }

    /// The lattice in lanes of each width asked for; widths that do not fit are named and passed over.
    pub fn lattices<R: Vectors>(&self) -> Vec<Lattice> {
        let layout = |&width: &LaneWidth| -> Result<Lattice, LayoutError> {
            Lattice::new(
                self.extents,
                R::COMPLEX,
                LatticeOptions { lanes: LaneChoice::Width(width), ..LatticeOptions::default() },
            )
        };
        let laid_out = self.lanes.iter().map(|width| (width, layout(width)));
        laid_out
            .filter_map(|(width, lattice)| {
                lattice.inspect_err(|error| eprintln!("no {width}-byte lanes: {error}")).ok()
            })
            .collect()
    }

    /// A Gaussian spinor field.
    #[allow(dead_code, reason = "each benchmark is compiled with this module, and not each needs spinors")]
    pub fn spinor<R: Vectors>(
        &self,
        lattice: Lattice,
        sites: Sites,
        seed: u64,
    ) -> Result<B::Field<R, Spinors>, Failure> {
        self.field(lattice, sites, Spinors::ONE, seed)
    }

    /// A Gaussian field.
    pub fn field<R: Vectors, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        object: K,
        seed: u64,
    ) -> Result<B::Field<R, K>, Failure> {
        let field = Field::from_sites(lattice, sites, object, |site, object| {
            for (word, value) in object.iter_mut().enumerate() {
                let (re, im) = gaussian_pair(seed, Stream::TestData, site as u64, word as u32);
                *value = Complex::new(R::from_f64(re), R::from_f64(im));
            }
        })?;
        Ok(self.backend.upload(field)?)
    }

    /// Times `launch`.
    pub fn kernel(
        &mut self,
        kernel: &str,
        work: Work,
        mut launch: impl FnMut() -> Result<(), BackendError>,
    ) -> Result<(), Failure> {
        let (backend, mut times, mut failure) = (self.backend, Vec::new(), None);
        let mut group = self.criterion.benchmark_group(format!("{} on {}", self.family, self.place));
        // criterion knows elements, not operations: its "elem/s" are Flop/s.
        group.throughput(Throughput::ElementsAndBytes { elements: work.flops, bytes: work.bytes });
        group.bench_function(kernel, |bencher| {
            bencher.iter_custom(|launches| {
                let timed = backend.time(&mut || (0..launches).try_for_each(|_| launch()));
                let seconds = timed.unwrap_or_else(|error| {
                    failure.get_or_insert(error);
                    f64::MIN_POSITIVE
                });
                times.push(seconds / launches as f64);
                // criterion cannot compare samples that took no time at all.
                Duration::from_secs_f64(seconds).max(Duration::from_nanos(1))
            });
        });
        group.finish();
        if let Some(error) = failure {
            return Err(format!("failed to run {kernel} on {}: {error}", self.place).into());
        }
        // The first calls warm up. None at all: a filter on the command line left the kernel out.
        let samples = times.split_off(times.len().saturating_sub(SAMPLES));
        if !samples.is_empty() {
            self.rows.push(Row { kernel: kernel.to_owned(), seconds: median(samples), work });
        }
        Ok(())
    }
}

fn variable<T: FromStr<Err: Error>>(name: &str, default: &str) -> Result<T, Failure> {
    let text = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    text.parse().map_err(|error| format!("{name}={text}: {error}").into())
}

/// `64,128` as widths.
struct Lanes(Vec<LaneWidth>);

impl FromStr for Lanes {
    type Err = LayoutError;
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        text.split(',').map(|width| width.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

/// Runs a suite on every backend asked for.
pub fn run<S: Suite>(suite: &S) -> Result<(), Failure> {
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(SAMPLES)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .configure_from_args();
    let (mut cpu, mut devices) = (true, devices().unwrap_or_default());
    devices.retain(|device| device.unusable_because().is_none());
    if let Ok(choice) = std::env::var("LANEFIELD_DEVICE") {
        match resolve(&choice.parse::<DeviceChoice>()?, &devices)? {
            Selected::Cpu => devices.clear(),
            Selected::OpenCl(device) => (cpu, devices) = (false, vec![*device]),
        }
    }
    let mut tables = Vec::new();
    if cpu {
        let shapes = [PartsShape::default()];
        tables.push(run_on(&mut criterion, suite, &mut Cpu::new(None)?, "the CPU reference", &shapes, |_, _| ())?);
    }
    for device in devices {
        let shapes = if device.kind == DeviceKind::Cpu { vec![PartsShape::default()] } else { S::shapes() };
        for &accumulators in S::ACCUMULATORS {
            let mut backend = open(&device)?;
            backend.set_accumulators(Some(accumulators));
            let place = match accumulators {
                Accumulators::Registers => device.name.clone(),
                Accumulators::LocalMemory => format!("{}{IN_LOCAL_MEMORY}", device.name),
            };
            tables.push(run_on(&mut criterion, suite, &mut backend, &place, &shapes, OpenCl::set_parts_shape)?);
        }
    }
    criterion.final_summary();
    for table in tables {
        println!("\n{table}");
    }
    println!("\nGB/s: each input and output once. Over 100 % means that fields lie in a cache.");
    Ok(())
}

fn open(device: &DeviceInfo) -> Result<OpenCl, BackendError> {
    OpenCl::open(device, AcceleratorThreads::DEFAULT)
}

/// The table of one backend.
fn run_on<S: Suite, B: Bandwidth>(
    criterion: &mut Criterion,
    suite: &S,
    backend: &mut B,
    place: &str,
    shapes: &[PartsShape],
    cut: impl Fn(&mut B, PartsShape),
) -> Result<String, Failure> {
    let extents = variable("LANEFIELD_BENCH_LATTICE", "16.16.16.32")?;
    let Lanes(lanes) = variable("LANEFIELD_BENCH_LANES", S::LANES)?;
    let mut rows = Vec::new();
    for &shape in shapes {
        cut(backend, shape);
        let (place, lanes) = (place.to_owned(), lanes.clone());
        let mut bench = Bench { criterion, family: S::FAMILY, place, lanes, extents, shape, rows, backend };
        suite.run(&mut bench)?;
        rows = bench.rows;
    }
    let (ceiling, name) = match S::CEILING {
        Ceiling::Copy => (backend.copy_bandwidth()?, "copy"),
        Ceiling::Read => (backend.read_bandwidth()?, "read"),
    };
    let share = format!("of {name}");

    let mut table = format!(
        "{}{}, {extents}: {name} bandwidth {:.1} GB/s\n{:<38} {:>11} {:>9} {:>9} {:>9}",
        backend.describe(),
        if place.ends_with(IN_LOCAL_MEMORY) { IN_LOCAL_MEMORY } else { "" },
        ceiling * 1e-9,
        "kernel",
        "median, µs",
        "GFlop/s",
        "GB/s",
        share
    );
    for Row { kernel, seconds, work } in &rows {
        let (flops, bytes) = (work.flops as f64 / seconds, work.bytes as f64 / seconds);
        let (micros, gflops, gb, share) = (seconds * 1e6, flops * 1e-9, bytes * 1e-9, 100.0 * bytes / ceiling);
        table += &format!("\n{kernel:<38} {micros:>11.1} {gflops:>9.1} {gb:>9.1} {share:>7.1} %");
    }
    Ok(table)
}
