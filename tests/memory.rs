//! Memory of an OpenCL device: the pool, the ways of transfers, what falls back to the host's memory; and that solvers allocate nothing while they iterate,
//! on every backend. The pool is `src/backend/opencl/memory/pool.rs`.

use std::borrow::Cow;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use lanefield::backend::opencl::{
    AccessWidth, Cache, Context, MemoryKind, OpenClError, SiteOrder, TransferWay, Tuning,
};
use lanefield::backend::specification::Call;
use lanefield::backend::{AnyField, HostField};
use lanefield::prelude::*;
use lanefield::reference::field::FieldShape;
use lanefield::reference::half::Half;
use lanefield::reference::kernels::domain_wall::SMatrix;
use lanefield::reference::kernels::reduce::PartialSums;
use lanefield::reference::layout::Stencil;

use crate::common;
use crate::common::backends::{on_every_backend, opencl};

fn context() -> Option<Context> {
    let device = common::opencl_device()?;
    Some(Context::open_with_cache(&device, Cache::disabled()).unwrap())
}

#[test]
fn a_block_that_is_given_back_is_used_again() {
    let Some(context) = context() else { return };
    drop(context.allocate(1000, "a field").unwrap());
    let again = context.allocate(1020, "another of that size").unwrap();
    assert_eq!((again.bytes(), again.kind()), (1020, MemoryKind::Device));
    let statistics = *context.memory_statistics().of(MemoryKind::Device);
    assert_eq!((statistics.allocations, statistics.reuses, statistics.releases), (1, 1, 0));
    assert_eq!((statistics.bytes_in_use, statistics.bytes_idle, statistics.most_bytes_in_use), (1024, 0, 1024));
    assert_eq!((context.memory().bytes, context.memory().buffers), (1020, 1));
    drop(again);
    assert_eq!(context.trim_memory(), 1);
    let statistics = *context.memory_statistics().of(MemoryKind::Device);
    assert_eq!((statistics.releases, statistics.bytes_idle), (1, 0));
    let pinned = context.allocate_host(100, "staging").unwrap();
    drop(pinned);
    assert!(context.allocate_host(100, "staging").unwrap().as_slice().iter().all(|&byte| byte == 0));
    assert_eq!(context.memory_statistics().of(MemoryKind::Pinned).reuses, 1);
}

/// NVIDIA's driver crashed when several threads had a buffer made at once.
#[test]
fn threads_may_allocate_at_once() {
    let Some(context) = context() else { return };
    let start = Barrier::new(16);
    let allocate = &|thread: usize| {
        start.wait();
        for round in 0..20 {
            let bytes = 1000 * (1 + thread) + 100_000 * round;
            let buffer = context.allocate(bytes, "a field").unwrap();
            context.fill_zero(&buffer).unwrap();
            let mut zeros = vec![1; bytes];
            context.read(&buffer, 0, &mut zeros).unwrap();
            assert!(zeros.iter().all(|&byte| byte == 0), "thread {thread}, {bytes} bytes");
        }
    };
    thread::scope(|scope| (0..16).for_each(|number| drop(scope.spawn(move || allocate(number)))));
    assert_eq!(context.memory().buffers, 0);
}

#[test]
fn what_waits_is_given_back_when_the_device_is_full() {
    let Some(context) = context() else { return };
    context.set_memory_limit(Some(1 << 20));
    drop(context.allocate(600 << 10, "a field").unwrap());
    let other = context.allocate(700 << 10, "a larger one").unwrap();
    let statistics = *context.memory_statistics().of(MemoryKind::Device);
    assert_eq!((statistics.allocations, statistics.releases, other.kind()), (2, 1, MemoryKind::Device));
}

#[test]
fn a_pool_holds_little_more_than_was_once_in_use() {
    let Some(context) = context() else { return };
    for size in 1..40 {
        drop(context.allocate(size << 20, "one of many sizes").unwrap());
        let statistics = *context.memory_statistics().of(MemoryKind::Device);
        let most = statistics.most_bytes_in_use;
        assert!(statistics.bytes_idle <= most + (most / 8).max(16 << 20), "{statistics:?}");
    }
}

#[test]
fn memory_that_is_not_to_be_had_names_who_holds_most() {
    let Some(context) = context() else { return };
    context.set_memory_limit(Some(1 << 20));
    let _held = [0, 1].map(|_| context.allocate(300 << 10, "a large field").unwrap());
    let _small = context.allocate(10 << 10, "a table").unwrap();
    let message = context.allocate(600 << 10, "a spinor").unwrap_err().to_string();
    for part in [
        "no room for 614400 bytes of a spinor on",
        "624640 bytes in 3 buffers, most of them 614400 bytes in 2 of a large field, 10240 bytes in 1 of a table",
        "LANEFIELD_MEMORY_LIMIT allows 1048576",
    ] {
        assert!(message.contains(part), "{part} is missing from: {message}");
    }
}

#[test]
fn what_does_not_fit_the_device_falls_back_to_the_host_and_is_told() {
    let Some(context) = context() else { return };
    let told = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&told);
    assert!(context.tell_of_fallbacks(move |fallback| list.lock().unwrap().push(fallback.to_string())));
    context.set_memory_limit(Some(100 << 10));
    let fits = context.allocate_anywhere(64 << 10, "a table").unwrap();
    let falls = context.allocate_anywhere(64 << 10, "a spinor").unwrap();
    assert_eq!([fits.kind(), falls.kind()], [MemoryKind::Device, MemoryKind::Reachable]);
    let statistics = context.memory_statistics();
    assert_eq!((statistics.fallbacks, statistics.fallback_bytes), (1, 64 << 10));
    assert!(matches!(&told.lock().unwrap()[..], [one] if one.starts_with("no room for 65536 bytes of a spinor in")));
    // What is as large as no memory is refused by both.
    let refusal = context.allocate_anywhere(1 << 50, "too much").map(|buffer| buffer.kind()).unwrap_err();
    assert!(matches!(refusal, OpenClError::OutOfMemory { .. }), "{refusal}");
}

#[test]
fn new_memory_is_nan_where_that_is_asked_for() {
    let Some(context) = context() else { return };
    let used = context.allocate(1000, "used before").unwrap();
    context.fill_zero(&used).unwrap();
    drop(used);
    context.overwrite_new_memory(true);
    let again = context.allocate(1000, "used again").unwrap();
    let mut numbers = [0.0f64; 125];
    context.read(&again, 0, bytemuck::cast_slice_mut(&mut numbers)).unwrap();
    assert!(numbers.iter().all(|number| number.is_nan()));
}

#[test]
fn a_block_waits_for_the_queues_that_use_it() {
    let Some(device) = common::backends::opencl() else { return };
    let context = device.context();
    let reuses = || context.memory_statistics().of(MemoryKind::Device).reuses;
    let mut launches = device.sequence(2);
    launches.repeat(&device).unwrap();
    let before = reuses();
    let two = || [0, 1].map(|_| drop(context.allocate(256, "64 words").unwrap()));
    two();
    assert_eq!(reuses(), before);
    launches.end(&device).unwrap();
    let _held = [0, 1].map(|_| context.allocate(256, "64 words").unwrap());
    assert_eq!(reuses(), before + 2);
}

fn spinors<R: Vectors>(sites: Sites) -> Field<R, Spinors> {
    let lattice = Lattice::new(Extents::new([4, 4, 4, 8]).unwrap(), R::COMPLEX, LatticeOptions::default()).unwrap();
    let number = |site: usize, word: usize| R::from_f64(((site * 24 + word) % 1009) as f64 / 64.0 - 8.0);
    Field::from_sites(lattice, sites, Spinors::new(3), |site, words| {
        for (k, word) in words.iter_mut().enumerate() {
            *word = Complex::new(number(site, 2 * k), number(site, 2 * k + 1));
        }
    })
    .unwrap()
}

#[test]
fn fields_come_back_as_they_were_by_every_way_of_transfer() {
    fn round_trip<R: Vectors>(device: &OpenCl, what: &str) {
        for sites in [Sites::Full, Sites::Parity(Parity::Odd)] {
            // What half precision keeps is what comes back from the first trip.
            let first = device.download(&device.upload(spinors::<R>(sites)).unwrap()).unwrap();
            let second = device.download(&device.upload(first.clone()).unwrap()).unwrap();
            assert_eq!(first.reals(), second.reals(), "{} {what} {sites}", R::NAME);
            if R::PRECISION != Precision::Half {
                assert_eq!(first.reals(), spinors::<R>(sites).reals(), "{} {what} {sites}", R::NAME);
            }
        }
    }
    let Some(mut device) = opencl() else { return };
    let blocks = [100, 5000, 1 << 20].map(|block_bytes| TransferWay::Ring { block_bytes });
    for way in blocks.into_iter().chain([TransferWay::Mapped]) {
        device.context().set_transfer_way(way);
        for access in AccessWidth::ALL {
            for site_order in [SiteOrder::Lexicographic, SiteOrder::Subdomains([1, 2, 2, 2])] {
                let (access, site_order) = (Some(access), Some(site_order));
                device.set_tuning(Tuning { access, site_order, ..Tuning::OPEN });
                let what = format!("{way:?} {access:?} {site_order:?}");
                round_trip::<f32>(&device, &what);
                round_trip::<f64>(&device, &what);
                round_trip::<Half>(&device, &what);
            }
        }
    }
}

fn with_short_blocks() -> Option<OpenCl> {
    let device = opencl()?;
    device.context().set_transfer_way(TransferWay::Ring { block_bytes: 5000 });
    Some(device)
}

#[test]
fn a_transfer_goes_on_where_the_host_has_one_thread() {
    let Some(device) = with_short_blocks() else { return };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let x = spinors::<f64>(Sites::Full);
    let back = pool.install(|| device.download(&device.upload(x.clone()).unwrap()).unwrap());
    assert_eq!(back.reals(), x.reals());
}

#[test]
fn what_makes_a_piece_may_panic() {
    let Some(device) = with_short_blocks() else { return };
    let mut buffer = device.context().allocate(1 << 20, "pieces").unwrap();
    let mut write = |fault: Option<usize>| {
        let fill = |range: Range<usize>, to: &mut [u8]| {
            assert_ne!(Some(range.start), fault, "no such piece");
            to.fill((range.start / 4096) as u8);
        };
        let written = AssertUnwindSafe(|| device.context().write_pieces(&mut buffer, 1 << 20, 4096, fill).unwrap());
        catch_unwind(written).is_ok()
    };
    assert!(!write(Some(40 << 12)));
    assert!(write(None));
    let mut back = vec![0; 1 << 20];
    device.context().read_pieces(&mut buffer, (1 << 20, 4096), &mut back, |from, to| to.copy_from_slice(from)).unwrap();
    assert!(back.chunks(4096).enumerate().all(|(k, piece)| piece.iter().all(|&byte| byte == k as u8)));
}

fn configuration() -> Configuration {
    Configuration::weak(Extents::new([4, 4, 4, 4]).unwrap(), 3, 0.3)
}

fn eta(words: usize) -> Vec<Complex<f64>> {
    (0..configuration().extents().volume() * words)
        .map(|k| Complex::new((k % 7) as f64 - 3.0, (k % 5) as f64))
        .collect()
}

fn how<M>(operator: M, method: Method, preconditioning: Preconditioning) -> Solve<M> {
    let params = SolverParams { tolerance: 1e-8, ..SolverParams::auto::<f64>() };
    Solve { operator, preconditioning, method, params, lanes: LaneChoice::Auto }
}

fn wilson() -> WilsonParameters {
    WilsonParameters { mass: 0.3, hop: HopParameters::default() }
}

#[test]
fn a_solve_whose_fields_do_not_fit_the_device_has_the_same_bits() {
    let Some(fits) = opencl() else { return };
    let Some(full) = opencl() else { return };
    full.context().set_memory_limit(Some(150 << 10));
    let how = how(wilson(), Method::ConjugateGradients, Preconditioning::EvenOdd);
    let [whole, fallen] = [&fits, &full]
        .map(|device| solve::<f64, _, _>(device, &configuration(), &eta(12), &how, |_: usize, _: f64| ()).unwrap());
    assert_eq!(whole.solution, fallen.solution);
    assert_eq!(whole.info().history, fallen.info().history);
    assert!(whole.unchecked.is_none() && fallen.unchecked.is_none());
    assert_eq!(fits.context().memory_statistics().fallbacks, 0);
    let statistics = full.context().memory_statistics();
    assert!(statistics.fallbacks > 5 && statistics.of(MemoryKind::Device).allocations > 1, "{statistics}");
    assert!(statistics.of(MemoryKind::Device).most_bytes_in_use <= 150 << 10, "{statistics}");
}

/// A backend that counts what is allocated on it.
struct Counting<'b, B> {
    inner: &'b B,
    allocations: AtomicU64,
}

impl<B> Counting<'_, B> {
    fn one_more(&self) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
    }
}

impl<B: Memory> Memory for Counting<'_, B> {
    type Storage = B::Storage;
    type Table = B::Table;

    fn describe(&self) -> String {
        self.inner.describe()
    }
    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        self.inner.lanes(asked_for)
    }
    fn allocate(&self, shape: &FieldShape) -> Result<B::Storage, BackendError> {
        self.one_more();
        self.inner.allocate(shape)
    }
    fn fill_zero(&self, field: &mut AnyField<B::Storage>) -> Result<(), BackendError> {
        self.inner.fill_zero(field)
    }
    fn store(&self, field: Cow<'_, HostField>) -> Result<B::Storage, BackendError> {
        self.one_more();
        self.inner.store(field)
    }
    fn load(&self, field: &AnyField<B::Storage>) -> Result<HostField, BackendError> {
        self.one_more();
        self.inner.load(field)
    }
    fn stencil(&self, stencil: Stencil) -> Result<B::Table, BackendError> {
        self.one_more();
        self.inner.stencil(stencil)
    }
    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<B::Table, BackendError> {
        self.one_more();
        self.inner.matrix(matrix, precision)
    }
    fn finish(&self) -> Result<(), BackendError> {
        self.inner.finish()
    }
}

impl<B: Launch> Launch for Counting<'_, B> {
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError> {
        self.inner.launch(call.on())
    }
}

impl<B: Reduce> Reduce for Counting<'_, B> {
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        self.inner.reduce(call.on(), sum)
    }
}

/// Solves, and holds what `count` says after the second iteration and after each later one against each other. Where a right-hand side of a batch is done, the
/// others go on in smaller fields: those are the last iterations, since all right-hand sides are alike.
fn allocates_nothing<M: Model, B: Backend>(
    backend: &B,
    how: &Solve<M>,
    (words, rhs): (usize, usize),
    count: &dyn Fn() -> u64,
) {
    let mut counts = Vec::new();
    let eta = eta(words).repeat(rhs);
    let watch = |_: usize, _: f64| counts.push(count());
    solve::<f64, _, _>(backend, &configuration(), &eta, how, watch).unwrap();
    assert!(counts.len() > 8, "{counts:?}");
    let counts = &counts[2..counts.len() - if rhs > 1 { 3 } else { 0 }];
    assert!(counts.iter().all(|&count| count == counts[0]), "{:?}: {counts:?}", how.method);
}

/// Every method, and operators whose steps differ.
fn iterations_allocate_no_fields(backend: &impl Backend) {
    let counting = Counting { inner: backend, allocations: AtomicU64::new(0) };
    let count = || counting.allocations.load(Ordering::Relaxed);
    for (method, preconditioning) in [
        (Method::ConjugateGradients, Preconditioning::EvenOdd),
        (Method::ConjugateGradients, Preconditioning::None),
        (Method::BiCgStab, Preconditioning::EvenOdd),
        (Method::MixedF32, Preconditioning::EvenOdd),
    ] {
        allocates_nothing(&counting, &how(wilson(), method, preconditioning), (12, 1), &count);
    }
    let batch = how(wilson(), Method::ConjugateGradients, Preconditioning::EvenOdd);
    allocates_nothing(&counting, &batch, (12, 2), &count);
    let staggered = StaggeredParameters {
        mass: 0.3,
        components: 1,
        hop: HopParameters { links: LinkFormat::Full, ..HopParameters::default() },
    };
    for preconditioning in [Preconditioning::EvenOdd, Preconditioning::None] {
        allocates_nothing(&counting, &how(staggered, Method::ConjugateGradients, preconditioning), (3, 1), &count);
    }
}

on_every_backend!(iterations_allocate_no_fields);

#[test]
fn iterations_ask_the_driver_for_no_memory() {
    let Some(device) = opencl() else { return };
    let count = || device.context().memory_statistics().allocations();
    let how = how(wilson(), Method::ConjugateGradients, Preconditioning::EvenOdd);
    allocates_nothing(&device, &how, (12, 1), &count);
    allocates_nothing(&device, &how, (12, 2), &count);
    let statistics = device.context().memory_statistics();
    assert!(statistics.of(MemoryKind::Device).reuses > 10, "{statistics}");
}
