//! The kernels of the library, one after the other, in every precision and link format, sums exact and as an H200's tree: timed by device events on
//! OpenCL, by wall time on the CPU. Each backend ends in a table that holds every kernel against the bandwidth measured in the same run: of copies, or
//! of reads where next to nothing is written. `cargo bench`, or `cargo bench --bench kernels -- axpy`: a part of a name leaves all others out.
//! What is timed, and on what: `crates/lab/src/bench.rs`.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `LANEFIELD_BENCH_LATTICE` | extents X.Y.Z.T | 16.16.16.32 |
//! | `LANEFIELD_BENCH_LANES` | lane widths in bytes, with commas between | auto |
//! | `LANEFIELD_BENCH_RHS` | right-hand sides | what each kernel is usually for |
//! | `LANEFIELD_BENCH_TUNING` | tuning, as `stores=streaming,mapping=site-fast` | what was tuned, or ships with the library |
//! | `LANEFIELD_DEVICE` | one device, as for `--device` | the CPU reference and each OpenCL device |

use lanefield::kernel::KernelList;
use std::error::Error;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use lanefield::backend::opencl::{Tuning, devices};
use lanefield::backend::select::{DeviceChoice, Selected, resolve};
use lanefield::backend::{BackendError, Cpu, OpenCl, Sum};
use lanefield::kernel::{Case, Ceiling, Work};
use lanefield_lab::bandwidth::Operation;
use lanefield_lab::ceilings::Share;
use lanefield_lab::{BenchCase, BenchOptions, FieldFacts, Timed, kernels_to_time, median};
use lanefield_reference::layout::{ReductionDevice, get_num_blocks_and_threads};

/// What a benchmark may fail with.
type Failure = Box<dyn Error>;

/// Timed samples of a kernel; criterion takes no fewer.
const SAMPLES: usize = 10;

/// One line of the table.
struct Row {
    name: String,
    seconds: f64,
    work: Work,
    ceiling: Ceiling,
}

fn variable<T>(name: &str, default: &str, read: impl Fn(&str) -> Result<T, Failure>) -> Result<T, Failure> {
    let text = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    read(&text).map_err(|error| format!("{name}={text}: {error}").into())
}

/// `stores=streaming,mapping=site-fast`
fn tuning(text: &str) -> Result<Tuning, Failure> {
    let mut tuning = Tuning::OPEN;
    for choice in text.split(',').filter(|choice| !choice.is_empty()) {
        let (name, value) = choice.split_once('=').ok_or("expected NAME=VALUE,…")?;
        Tuning::parameter(name)?.set(&mut tuning, value)?;
    }
    Ok(tuning)
}

fn options() -> Result<BenchOptions, Failure> {
    let extents = variable("LANEFIELD_BENCH_LATTICE", "16.16.16.32", |text| Ok(text.parse()?))?;
    let widths = |text: &str| text.split(',').map(|width| Ok(width.trim().parse()?)).collect();
    let lanes = variable("LANEFIELD_BENCH_LANES", "auto", widths)?;
    let rhs = variable("LANEFIELD_BENCH_RHS", "", |text| match text {
        "" => Ok(None),
        number => Ok(Some(number.parse()?)),
    })?;
    Ok(BenchOptions { lanes, rhs, ..BenchOptions::new(kernels_to_time(&KernelList::LIBRARY, ["all"])?, extents) })
}

/// Times one kernel; nothing where its lattice does not take the lanes, or a filter on the command line left it out.
fn time<B: Timed>(
    criterion: &mut Criterion,
    backend: &mut B,
    (place, tuning): (&str, Tuning),
    (case, form, sum): (&BenchCase, &str, Sum),
) -> Result<Option<Row>, Failure> {
    let lattice = match case.lattice(backend) {
        Ok(lattice) => lattice,
        Err(error) => {
            eprintln!("{}, lanes {}: {error}", case.kernel, case.lanes);
            return Ok(None);
        }
    };
    let shape = Case::shape_of(case.kernel, &case.options(lattice));
    let (work, name) = (shape.work(), format!("{}{form}, {}", case.kernel, FieldFacts::of(&shape)));
    let (mut times, mut failure) = (Vec::new(), None);
    let mut group = criterion.benchmark_group(place);
    // criterion knows elements, not operations: its "elem/s" are Flop/s.
    group.throughput(Throughput::ElementsAndBytes { elements: work.flops, bytes: work.bytes });
    group.bench_function(&name, |bencher| {
        let prepared = case.prepare(backend).and_then(|mut timed| {
            timed.sum = sum;
            timed.prepare(backend, tuning).map(|()| timed)
        });
        let mut prepared = prepared.map_err(|error| failure = Some(error)).ok();
        bencher.iter_custom(|launches| {
            let timed = prepared
                .as_mut()
                .map_or(Ok(0.0), |timed| backend.time(&mut || (0..launches).try_for_each(|_| timed.launch(backend))));
            let seconds = timed.unwrap_or_else(|error: BackendError| {
                failure.get_or_insert(error);
                0.0
            });
            times.push(seconds / launches as f64);
            // criterion cannot compare samples that took no time at all.
            Duration::from_secs_f64(seconds).max(Duration::from_nanos(1))
        });
    });
    group.finish();
    if let Some(error) = failure {
        eprintln!("{name}: {error}");
        return Ok(None);
    }
    // The first calls warm up.
    let samples = times.split_off(times.len().saturating_sub(SAMPLES));
    let row = |seconds| Row { name, seconds, work, ceiling: case.kernel.ceiling };
    Ok((!samples.is_empty()).then(|| row(median(samples))))
}

/// Times all kernels on one backend: their table.
fn run_on<B: Timed>(
    criterion: &mut Criterion,
    options: &BenchOptions,
    (place, tuning): (&str, Tuning),
    backend: &mut B,
) -> Result<String, Failure> {
    let tree = Sum::Tree(get_num_blocks_and_threads(16, &ReductionDevice::H200)?);
    let mut rows = Vec::new();
    for case in options.cases() {
        let forms = [("", Sum::Exact), (" as a tree", tree)];
        for (form, sum) in forms.into_iter().take(if case.kernel.sums() { 2 } else { 1 }) {
            rows.extend(time(criterion, backend, (place, tuning), (&case, form, sum))?);
        }
    }
    let memory = backend.memory();
    let (copy, read) = (memory.ceiling(Operation::Copy, None)?, memory.ceiling(Operation::Read, None)?);
    let mut table = format!(
        "{}, {}, {tuning}: copy bandwidth {:.1} GB/s, read bandwidth {:.1} GB/s\n{:<56} {:>11} {:>9} {:>9} {:>10}",
        backend.describe(),
        options.extents,
        copy * 1e-9,
        read * 1e-9,
        "kernel",
        "median, µs",
        "GFlop/s",
        "GB/s",
        "of ceiling"
    );
    for Row { name, seconds, work, ceiling } in &rows {
        let (flops, bytes) = (work.flops as f64 / seconds, work.bytes as f64 / seconds);
        let share = match memory.share(work.bytes, bytes, if *ceiling == Ceiling::Copy { copy } else { read }) {
            Ok(Share::InCache) => "in cache".to_owned(),
            Ok(Share::Of(share)) => format!("{:.1} %", 100.0 * share),
            Err(reason) => reason.to_string(),
        };
        let (micros, gflops, gb) = (seconds * 1e6, flops * 1e-9, bytes * 1e-9);
        table += &format!("\n{name:<56} {micros:>11.1} {gflops:>9.1} {gb:>9.1} {share:>10}");
    }
    Ok(table)
}

fn main() -> Result<(), Failure> {
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(SAMPLES)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .configure_from_args();
    let (options, tuning) = (options()?, variable("LANEFIELD_BENCH_TUNING", "", tuning)?);
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
        let place = ("the CPU reference", Tuning::OPEN);
        tables.push(run_on(&mut criterion, &options, place, &mut Cpu::new(None)?)?);
    }
    for device in devices {
        let mut backend = OpenCl::open(&device)?;
        tables.push(run_on(&mut criterion, &options, (&device.name, tuning), &mut backend)?);
    }
    criterion.final_summary();
    for table in tables {
        println!("\n{table}");
    }
    println!("\nGB/s: each input and output once. Over 100 % means that fields lie in a cache.");
    Ok(())
}
