//! The ceilings of kernels that stream their fields. Copy: bytes read plus bytes written, over the time of a copy between buffers larger
//! than the caches. Read: bytes read, over the time to read one. The median of several runs.

use std::time::Instant;

use lanefield_reference::field::{ComplexNumber, Field};
use lanefield_reference::layout::{Checkerboard, Extents, LaneChoice, LaneWidth, Lattice, LatticeOptions, Sites};
use lanefield_reference::real::Real as _;
use rayon::prelude::*;

use super::BackendError;
use super::opencl::{Arg, Buffer, Context, DeviceKind, Launch, expand};

/// Bytes of one host buffer.
const HOST_BYTES: usize = 256 << 20;
/// Bytes of one buffer on a GPU, where its memory allows.
const DEVICE_BYTES: usize = 1 << 30;
/// Timed runs; the median counts.
const RUNS: usize = 9;
/// Bytes of one element of the kernels of `cl/peak.cl`.
const ELEMENT: usize = 16;
/// Work-items a group of these kernels.
const GROUP: usize = 256;
/// Work-groups for each compute unit with which reading is tried.
const GROUPS_A_UNIT: [usize; 4] = [4, 8, 16, 32];

/// Copy bandwidth of the host's memory with the threads of the present rayon pool, in bytes a second: the better of plain stores
/// and of stores past the caches.
///
/// # Errors
/// [`BackendError::Field`] where the host has no room for two buffers.
pub fn host_copy_bandwidth() -> Result<f64, BackendError> {
    let (source, mut target) = (host_source(HOST_BYTES)?, host_source(HOST_BYTES)?);
    let (source, target) = (source.vectors::<u64>(), target.vectors_mut::<u64>());
    let a_thread = source.len().div_ceil(rayon::current_num_threads());
    let bandwidths = [copy_plain, copy_past_caches].map(|copy: Copy| {
        let mut run = || {
            let start = Instant::now();
            target.par_chunks_mut(a_thread).zip(source.par_chunks(a_thread)).for_each(|(to, from)| copy(to, from));
            start.elapsed().as_secs_f64()
        };
        run();
        2.0 * HOST_BYTES as f64 / median((0..RUNS).map(|_| run()).collect())
    });
    std::hint::black_box(&target);
    Ok(bandwidths[0].max(bandwidths[1]))
}

/// Memory as fields have it (on huge pages where the system gives them), of at least so many bytes, touched by the threads that will use
/// it, and not all the same.
fn host_source(bytes: usize) -> Result<Field<f64, ComplexNumber>, BackendError> {
    let sites = bytes.div_ceil(size_of::<[f64; 2]>()).max(1);
    let options = LatticeOptions {
        lanes: LaneChoice::Width(LaneWidth::new(size_of::<[f64; 2]>())?),
        nodes: None,
        checkerboard: Checkerboard::FullOnly,
    };
    let lattice = Lattice::new(Extents::new([sites, 1, 1, 1])?, f64::COMPLEX, options)?;
    let mut source = Field::zeros(lattice, Sites::Full, ComplexNumber)?;
    let words = source.vectors_mut::<u64>();
    let a_thread = words.len().div_ceil(rayon::current_num_threads());
    words.par_chunks_mut(a_thread).enumerate().for_each(|(thread, chunk)| {
        for (k, word) in chunk.iter_mut().enumerate() {
            *word = (thread * a_thread + k) as u64;
        }
    });
    Ok(source)
}

/// Read bandwidth of the host's memory with the threads of the present rayon pool, in bytes a second.
///
/// # Errors
/// As [`host_copy_bandwidth`].
pub fn host_read_bandwidth() -> Result<f64, BackendError> {
    Ok(HOST_BYTES as f64 / host_read_time(HOST_BYTES)?)
}

/// Seconds that these threads take to read so many bytes, in the best of a few ways.
///
/// # Errors
/// As [`host_copy_bandwidth`].
pub fn host_read_time(bytes: usize) -> Result<f64, BackendError> {
    let source = host_source(bytes)?;
    let words = source.vectors::<u64>();
    // Tasks smaller than a thread's share, so that no thread waits long for another.
    let a_task = words.len().div_ceil(8 * rayon::current_num_threads());
    let times = [read::<0>, read::<1024>, read::<4096>].map(|read: fn(&[u64]) -> u64| {
        let run = || {
            let start = Instant::now();
            let all: u64 = words.par_chunks(a_task).map(read).reduce(|| 0, |a, b| a ^ b);
            std::hint::black_box(all);
            start.elapsed().as_secs_f64()
        };
        run();
        median((0..RUNS).map(|_| run()).collect())
    });
    Ok(times.into_iter().fold(f64::INFINITY, f64::min))
}

/// Reads four cache lines at a time, each with its own accumulators: nothing waits for anything but memory. Lines that lie `AHEAD` bytes
/// ahead are asked for, if that is not 0: processors that fetch too little by themselves then read faster.
fn read<const AHEAD: usize>(chunk: &[u64]) -> u64 {
    const LINES: usize = 32;
    let (blocks, _) = chunk.as_chunks::<LINES>();
    let all = blocks.iter().enumerate().fold([0u64; LINES], |all, (number, block)| {
        if AHEAD > 0 {
            let ahead = &blocks[(number + AHEAD / size_of_val(block)).min(blocks.len() - 1)];
            ahead.iter().step_by(8).for_each(prefetch);
        }
        std::array::from_fn(|k| all[k] ^ block[k])
    });
    all.into_iter().fold(0, |all, word| all ^ word)
}

#[cfg(target_arch = "x86_64")]
fn prefetch(line: &u64) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint about a valid address; it changes nothing that can be seen.
    unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *line).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
fn prefetch(_: &u64) {}

/// A way to copy.
type Copy = fn(&mut [u64], &[u64]);

fn copy_plain(to: &mut [u64], from: &[u64]) {
    to.copy_from_slice(from);
}

#[cfg(target_arch = "x86_64")]
fn copy_past_caches(to: &mut [u64], from: &[u64]) {
    use std::arch::x86_64::{_mm_sfence, _mm_stream_si64};
    for (to, from) in to.iter_mut().zip(from) {
        // SAFETY: an aligned, exclusively borrowed u64; the fence below orders the store before whoever reads next.
        unsafe { _mm_stream_si64((&raw mut *to).cast(), *from as i64) };
    }
    // SAFETY: no operands.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn copy_past_caches(to: &mut [u64], from: &[u64]) {
    copy_plain(to, from);
}

/// Copy bandwidth of a device's memory, in bytes a second of device time.
///
/// # Errors
/// What the runtime reports.
pub fn device_copy_bandwidth(context: &Context) -> Result<f64, BackendError> {
    let (source, elements) = device_source(context, usual_bytes(context))?;
    let target = context.allocate(source.bytes(), "copy target")?;
    let launch = Launch { global: [elements, 1, 1], local: [GROUP, 1, 1] };
    let arguments = [Arg::Buffer(&target), Arg::Buffer(&source), Arg::U64(elements as u64)];
    Ok(2.0 * source.bytes() as f64 / median_time(context, "copy_ceiling", launch, &arguments)?)
}

/// Read bandwidth of a device's memory, in bytes a second of device time.
///
/// # Errors
/// What the runtime reports.
pub fn device_read_bandwidth(context: &Context) -> Result<f64, BackendError> {
    let bytes = usual_bytes(context);
    Ok(bytes as f64 / device_read_time(context, bytes)?)
}

/// Seconds of device time to read so many bytes: the best of a few numbers of work-groups.
///
/// # Errors
/// What the runtime reports.
pub fn device_read_time(context: &Context, bytes: usize) -> Result<f64, BackendError> {
    let (source, elements) = device_source(context, bytes)?;
    let target = context.allocate(ELEMENT, "read target")?;
    let arguments = [Arg::Buffer(&target), Arg::Buffer(&source), Arg::U64(elements as u64)];
    let mut best = f64::INFINITY;
    for groups_a_unit in GROUPS_A_UNIT {
        let groups = (context.info().compute_units as usize * groups_a_unit).clamp(1, elements.div_ceil(GROUP));
        let launch = Launch { global: [groups * GROUP, 1, 1], local: [GROUP, 1, 1] };
        best = best.min(median_time(context, "read_ceiling", launch, &arguments)?);
    }
    Ok(best)
}

/// Bytes that are larger than the caches, where the device has room.
fn usual_bytes(context: &Context) -> usize {
    let info = context.info();
    let wanted = if info.kind == DeviceKind::Cpu { HOST_BYTES } else { DEVICE_BYTES };
    let most = (info.max_allocation_bytes).min(info.global_memory_bytes / 8) as usize;
    wanted.min(most) / (ELEMENT * GROUP) * (ELEMENT * GROUP)
}

/// A buffer of zeros, and its number of elements: at least one.
fn device_source(context: &Context, bytes: usize) -> Result<(Buffer, usize), BackendError> {
    let elements = bytes.div_ceil(ELEMENT).max(1);
    let source = context.allocate(elements * ELEMENT, "source of a bandwidth measurement")?;
    context.fill_zero(&source)?;
    Ok((source, elements))
}

/// The median time of a kernel of `peak.cl`, in seconds.
fn median_time(context: &Context, kernel: &str, launch: Launch, arguments: &[Arg<'_>]) -> Result<f64, BackendError> {
    let program = context.program("peak.cl", &expand("peak.cl")?, "")?;
    context.launch_timed(&program, kernel, launch, arguments)?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        times.push(context.launch_timed(&program, kernel, launch, arguments)?);
    }
    Ok(median(times))
}

/// The middle one of some times, in any order.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
