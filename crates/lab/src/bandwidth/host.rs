//! Bandwidths of the host's memory, measured with the threads of the current rayon pool in wall time. Counterpart: `cl/peak.cl`.

use std::fmt;
use std::time::{Duration, Instant};

use lanefield::backend::BackendError;
use lanefield_reference::field::{ComplexNumber, Field};
use lanefield_reference::layout::{Checkerboard, Extents, LaneChoice, LaneWidth, Lattice, LatticeOptions, Sites};
use lanefield_reference::real::Real as _;
use rayon::prelude::*;

use super::{Operation, RUNS, TRIAD_FACTOR, random_word};
use crate::spread::median;

/// Words per cache line; every piece of a buffer is a whole number of lines.
const LINE: usize = 8;
const HOST_BYTES: usize = 256 << 20;
/// The smallest number of words that a thread reads.
const LEAST_TASK: usize = (64 << 10) / size_of::<u64>();

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Plain,
    /// Loads, with a prefetch of lines this many bytes ahead: processors that prefetch too little themselves then read faster.
    Ahead(usize),
    /// Stores that bypass the caches, which then need not fetch the lines that are overwritten.
    PastCaches,
}

impl Way {
    pub fn of(operation: Operation) -> &'static [Self] {
        match operation {
            Operation::Read => &[Self::Plain, Self::Ahead(1024), Self::Ahead(4096)],
            Operation::Write | Operation::Copy | Operation::Triad => &[Self::Plain, Self::PastCaches],
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::Ahead(bytes) => write!(f, "prefetched {bytes} bytes ahead"),
            Self::PastCaches => f.write_str("past the caches"),
        }
    }
}

/// An operation on buffers of random numbers, which the threads that work on them touched first. Call all functions in the pool whose threads are
/// to be measured.
pub struct HostStreams {
    operation: Operation,
    /// The first is written, or read if nothing is written; the others are read.
    buffers: Vec<Field<f64, ComplexNumber>>,
    bytes: usize,
}

impl HostStreams {
    /// Creates buffers of at least `bytes` bytes each.
    pub fn new(operation: Operation, bytes: usize) -> Result<Self, BackendError> {
        let buffers: Vec<_> =
            (0..operation.buffers()).map(|number| host_source(bytes, number)).collect::<Result<_, _>>()?;
        let bytes = size_of_val(buffers[0].vectors::<u64>());
        Ok(Self { operation, buffers, bytes })
    }

    pub fn bytes_moved(&self) -> usize {
        self.operation.buffers() * self.bytes
    }

    pub fn target(&self) -> &[u64] {
        self.buffers[0].vectors()
    }

    pub fn run(&mut self, way: Way) -> f64 {
        let Some((target, sources)) = self.buffers.split_first_mut() else { return f64::NAN };
        let threads = rayon::current_num_threads();
        let words = target.vectors_mut::<u64>();
        let a_thread = words.len().div_ceil(threads).next_multiple_of(LINE);
        let past_caches = way == Way::PastCaches;
        let start = Instant::now();
        match (self.operation, sources) {
            (Operation::Read, _) => {
                let read: fn(&[u64]) -> u64 = match way {
                    Way::Ahead(..2048) => read::<1024>,
                    Way::Ahead(_) => read::<4096>,
                    Way::Plain | Way::PastCaches => read::<0>,
                };
                // Tasks are smaller than a thread's share, so that no thread waits long for another. Less than a task is read before another thread
                // would wake.
                let a_task = words.len().div_ceil(8 * threads).next_multiple_of(LINE).max(LEAST_TASK);
                let all: u64 = words.par_chunks(a_task).map(read).reduce(|| 0, |a, b| a ^ b);
                std::hint::black_box(all);
            }
            (Operation::Copy, [from, ..]) => {
                let copy = if past_caches { copy::<true> } else { <[u64]>::copy_from_slice };
                let pieces = words.par_chunks_mut(a_thread).zip(from.vectors::<u64>().par_chunks(a_thread));
                pieces.for_each(|(to, from)| copy(to, from));
            }
            (Operation::Triad, [x, y, ..]) => {
                let triad = if past_caches { triad::<true> } else { triad::<false> };
                let sources = x.vectors::<u64>().par_chunks(a_thread).zip(y.vectors::<u64>().par_chunks(a_thread));
                words.par_chunks_mut(a_thread).zip(sources).for_each(|(to, (x, y))| triad(to, x, y));
            }
            (Operation::Write | Operation::Copy | Operation::Triad, _) => {
                words.par_chunks_mut(a_thread).for_each(if past_caches { write::<true> } else { write::<false> });
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        std::hint::black_box(&self.buffers);
        seconds
    }

    /// Seconds of several runs, after a warm-up run.
    pub fn times(&mut self, way: Way, runs: usize) -> Vec<f64> {
        self.run(way);
        (0..runs.max(1)).map(|_| self.run(way)).collect()
    }
}

/// Bandwidth of the host's memory with the threads of the current rayon pool, in bytes per second, after a warm-up of this length.
pub(crate) fn host_bandwidth(operation: Operation, warm_up: Duration) -> Result<f64, BackendError> {
    let mut streams = HostStreams::new(operation, HOST_BYTES)?;
    let start = Instant::now();
    while start.elapsed() < warm_up {
        streams.run(Way::Plain);
    }
    Ok((operation.buffers() * HOST_BYTES) as f64 / best_time(&mut streams))
}

/// Seconds that these threads take for an operation on buffers of this size, the best of the ways.
pub(crate) fn host_time(operation: Operation, bytes: usize) -> Result<f64, BackendError> {
    Ok(best_time(&mut HostStreams::new(operation, bytes)?))
}

fn best_time(streams: &mut HostStreams) -> f64 {
    let times = Way::of(streams.operation).iter().map(|&way| median(streams.times(way, RUNS)));
    times.fold(f64::INFINITY, f64::min)
}

/// Random memory of at least `bytes` bytes, allocated like that of fields (on huge pages if the system provides them) and touched by the threads
/// that will use it: part `number` of a sequence.
fn host_source(bytes: usize, number: usize) -> Result<Field<f64, ComplexNumber>, BackendError> {
    let sites = bytes.max(1).next_multiple_of(size_of::<[u64; LINE]>()) / size_of::<[f64; 2]>();
    let options = LatticeOptions {
        lanes: LaneChoice::Width(LaneWidth::new(size_of::<[f64; 2]>())?),
        nodes: None,
        checkerboard: Checkerboard::FullOnly,
    };
    let lattice = Lattice::new(Extents::new([sites, 1, 1, 1])?, f64::COMPLEX, options)?;
    let mut source = Field::zeros(lattice, Sites::Full, ComplexNumber)?;
    let words = source.vectors_mut::<u32>();
    let first = (number * words.len()) as u32;
    let a_thread = words.len().div_ceil(rayon::current_num_threads()).next_multiple_of(2 * LINE);
    words.par_chunks_mut(a_thread).enumerate().for_each(|(thread, chunk)| {
        for (k, word) in chunk.iter_mut().enumerate() {
            *word = random_word(first.wrapping_add((thread * a_thread + k) as u32));
        }
    });
    Ok(source)
}

/// Reads four cache lines at a time, each with its own accumulators, so that it waits only for memory. Prefetches lines `AHEAD` bytes ahead unless
/// that is 0: processors that prefetch too little themselves then read faster.
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
    // SAFETY: a hint about a valid address; it has no visible effect.
    unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *line).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
fn prefetch(_: &u64) {}

/// Writes to out the result of `line` for each line of eight words.
#[inline(always)]
fn store_lines<const PAST_CACHES: bool>(out: &mut [u64], line: impl Fn(usize) -> [u64; LINE]) {
    let (lines, _) = out.as_chunks_mut::<LINE>();
    for (number, out) in lines.iter_mut().enumerate() {
        let line = line(number);
        if PAST_CACHES {
            store_past_caches(out, line);
        } else {
            *out = line;
        }
    }
    if PAST_CACHES {
        fence();
    }
}

fn write<const PAST_CACHES: bool>(out: &mut [u64]) {
    store_lines::<PAST_CACHES>(out, |number| [(number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15); LINE]);
}

fn copy<const PAST_CACHES: bool>(out: &mut [u64], from: &[u64]) {
    let (from, _) = from.as_chunks::<LINE>();
    store_lines::<PAST_CACHES>(out, |number| from[number]);
}

/// out ← x + s · y for the f32 in them, with fused multiply-adds.
fn triad<const PAST_CACHES: bool>(out: &mut [u64], x: &[u64], y: &[u64]) {
    let ((x, _), (y, _)) = (x.as_chunks::<LINE>(), y.as_chunks::<LINE>());
    store_lines::<PAST_CACHES>(out, |number| {
        let (x, y): (&[f32; 2 * LINE], &[f32; 2 * LINE]) =
            (bytemuck::cast_ref(&x[number]), bytemuck::cast_ref(&y[number]));
        bytemuck::cast(std::array::from_fn::<f32, { 2 * LINE }, _>(|k| TRIAD_FACTOR.mul_add(y[k], x[k])))
    });
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn store_past_caches(out: &mut [u64; LINE], line: [u64; LINE]) {
    use std::arch::x86_64::_mm_stream_si64;
    for (out, word) in out.iter_mut().zip(line) {
        // SAFETY: an aligned, exclusively borrowed u64; the fence at the end of each piece orders the store before whoever reads next.
        unsafe { _mm_stream_si64((&raw mut *out).cast(), word as i64) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn store_past_caches(out: &mut [u64; LINE], line: [u64; LINE]) {
    *out = line;
}

/// Orders stores that bypass the caches before everything that follows.
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: no operands.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
