//! The ceilings of kernels that stream their fields. Copy: bytes read plus bytes written, over the time of a copy between buffers larger
//! than the caches. Read: bytes read, over the time to read one. The median of several runs.

use std::time::Instant;

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
pub fn host_copy_bandwidth() -> f64 {
    let (source, a_thread) = host_source(HOST_BYTES);
    let mut target = vec![0u64; source.len()];
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
    bandwidths[0].max(bandwidths[1])
}

/// Bytes to be read, touched by the threads that will read them, and not all the same; with it, words of a thread.
fn host_source(bytes: usize) -> (Vec<u64>, usize) {
    let mut source = vec![0u64; bytes.div_ceil(8).max(1)];
    let a_thread = source.len().div_ceil(rayon::current_num_threads());
    source.par_chunks_mut(a_thread).enumerate().for_each(|(thread, chunk)| {
        for (k, word) in chunk.iter_mut().enumerate() {
            *word = (thread * a_thread + k) as u64;
        }
    });
    (source, a_thread)
}

/// Read bandwidth of the host's memory with the threads of the present rayon pool, in bytes a second.
pub fn host_read_bandwidth() -> f64 {
    HOST_BYTES as f64 / host_read_time(HOST_BYTES)
}

/// Seconds that these threads take to read so many bytes.
pub fn host_read_time(bytes: usize) -> f64 {
    // One accumulator a cache line's word: nothing waits for anything but memory.
    fn read(chunk: &[u64]) -> u64 {
        let (lines, _) = chunk.as_chunks::<32>();
        let all = lines.iter().fold([0u64; 32], |all, line| std::array::from_fn(|k| all[k] ^ line[k]));
        all.into_iter().fold(0, |all, word| all ^ word)
    }
    let (source, a_thread) = host_source(bytes);
    let run = || {
        let start = Instant::now();
        let all: u64 = source.par_chunks(a_thread).map(read).reduce(|| 0, |a, b| a ^ b);
        std::hint::black_box(all);
        start.elapsed().as_secs_f64()
    };
    run();
    median((0..RUNS).map(|_| run()).collect())
}

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
