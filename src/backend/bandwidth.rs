//! Copy bandwidth, the ceiling of every kernel that streams its fields: bytes read plus bytes written, over the time of a copy between
//! buffers larger than the caches. The median of several runs.

use std::time::Instant;

use rayon::prelude::*;

use super::BackendError;
use super::opencl::{Arg, Context, DeviceKind, Launch, expand};

/// Bytes of one host buffer.
const HOST_BYTES: usize = 256 << 20;
/// Bytes of one buffer on a GPU, where its memory allows.
const DEVICE_BYTES: usize = 1 << 30;
/// Timed runs; the median counts.
const RUNS: usize = 9;
/// Bytes of one element of `copy_ceiling` in `cl/peak.cl`.
const ELEMENT: usize = 16;
/// Work-items a group of `copy_ceiling`.
const GROUP: usize = 256;

/// Copy bandwidth of the host's memory with the threads of the present rayon pool, in bytes a second: the better of plain stores
/// and of stores past the caches.
pub fn host_copy_bandwidth() -> f64 {
    let mut source = vec![0u64; HOST_BYTES / 8];
    let mut target = vec![0u64; HOST_BYTES / 8];
    // Touched by the threads that will use them, and not all the same value.
    let a_thread = source.len().div_ceil(rayon::current_num_threads());
    source.par_chunks_mut(a_thread).enumerate().for_each(|(thread, chunk)| {
        for (k, word) in chunk.iter_mut().enumerate() {
            *word = (thread * a_thread + k) as u64;
        }
    });
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
    let info = context.info();
    let wanted = if info.kind == DeviceKind::Cpu { HOST_BYTES } else { DEVICE_BYTES };
    let most = (info.max_allocation_bytes).min(info.global_memory_bytes / 8) as usize;
    let bytes = wanted.min(most) / (ELEMENT * GROUP) * (ELEMENT * GROUP);
    let source = context.allocate(bytes, "copy source")?;
    let target = context.allocate(bytes, "copy target")?;
    context.fill_zero(&source)?;
    let program = context.program("peak.cl", &expand("peak.cl")?, "")?;
    let elements = bytes / ELEMENT;
    let launch = Launch { global: [elements, 1, 1], local: [GROUP, 1, 1] };
    let arguments = [Arg::Buffer(&target), Arg::Buffer(&source), Arg::U64(elements as u64)];
    context.launch_timed(&program, "copy_ceiling", launch, &arguments)?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        times.push(context.launch_timed(&program, "copy_ceiling", launch, &arguments)?);
    }
    Ok(2.0 * bytes as f64 / median(times))
}

/// The middle one of some times, in any order.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
