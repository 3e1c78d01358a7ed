//! The ceilings of the CPU reference's threads, in wall time. All functions run in its pool. Counterparts: `cl/peak_intensity.cl`,
//! `cl/peak_caches.cl`; bandwidths: `bandwidth/host.rs`.

use std::hint::black_box;
use std::time::Instant;

use lanefield::backend::BackendError;
use rayon::prelude::*;
use wide::{f32x16, f64x8};

use super::intensity::{intensity, steps};
use super::latency::chase;
use super::launches::in_microseconds;
use super::record::{LaunchCost, Peak, Place, Stored, WorkingSet};
use super::streams::stream;
use super::{Operation, Part, Scale, chain, rate};
use crate::Spread;
use crate::bandwidth::{HostStreams, Way, random_word};

/// Bytes that a thread reads of its own set in a run, at least.
const OWN_READ: usize = 64 << 20;
/// Steps of a chase.
const STEPS: u32 = 1 << 18;
/// Parallel regions that are timed.
const REGIONS: usize = 200;
/// Vectors that are computed with side by side, so that none waits for itself.
const CHAINS: usize = 8;

/// Measures one part, if a CPU has it.
pub(super) fn measure(part: Part, scale: &Scale, peak: &mut Peak) -> Result<(), BackendError> {
    match part {
        Part::Streams => streams(scale, peak)?,
        Part::Caches => caches(scale, peak),
        Part::Latency => latency(scale, peak),
        Part::Launch => regions(peak),
        Part::Transfers => {}
        Part::Intensity => {
            sweep(Stored::F32, f32x16::splat, f32x16::mul_add, scale, peak);
            sweep(Stored::F64, |x| f64x8::splat(x.into()), f64x8::mul_add, scale, peak);
        }
    }
    Ok(())
}

fn streams(scale: &Scale, peak: &mut Peak) -> Result<(), BackendError> {
    for operation in Operation::ALL {
        let mut streams = HostStreams::new(operation, scale.stream_bytes)?;
        let moved = streams.bytes_moved();
        let ways = Way::of(operation).iter();
        let found = ways.map(|&way| stream(operation, way.to_string(), moved, streams.times(way, scale.samples)));
        peak.keep_streams(operation, found.collect());
    }
    Ok(())
}

/// The spread of `run` after one that is not counted, in wall time.
fn timed(samples: usize, mut run: impl FnMut()) -> Spread {
    run();
    let once = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    Spread::of_some((0..samples.max(1)).map(once).collect())
}

/// Sets of each thread for itself: a CPU's caches but the last are its cores' own.
fn caches(scale: &Scale, peak: &mut Peak) {
    let mut sets = Vec::new();
    for bytes in scale.sizes(scale.own_most) {
        let words = bytes / size_of::<u64>();
        let passes = OWN_READ.div_ceil(bytes).max(2);
        let run = |set: &Vec<u64>| {
            for _ in 0..passes {
                black_box(read(black_box(set)));
            }
        };
        // Made, and so touched, by the thread that reads it.
        let seconds = rayon::broadcast(|_| {
            let set: Vec<u64> = (0..words as u64).collect();
            timed(scale.samples, || run(&set))
        });
        // The slowest thread: all of them have read by then.
        let slowest = seconds.into_iter().max_by(|a, b| a.median.total_cmp(&b.median));
        let Some(seconds) = slowest else { continue };
        let read = passes * bytes * scale.units;
        sets.push(WorkingSet { place: Place::Own, bytes: bytes as u64, gb_per_second: rate(read, &seconds), seconds });
    }
    (peak.l1_gb_per_second, peak.l2_gb_per_second) = peak.keep_working_sets(Place::Own, sets);
}

/// Eight cache lines at a time, each with its own sums.
fn read(set: &[u64]) -> u64 {
    const AT_ONCE: usize = 64;
    let (blocks, _) = set.as_chunks::<AT_ONCE>();
    let all = blocks.iter().fold([0u64; AT_ONCE], |all, block| std::array::from_fn(|k| all[k] ^ block[k]));
    all.into_iter().fold(0, |all, word| all ^ word)
}

/// One thread follows a chain.
fn latency(scale: &Scale, peak: &mut Peak) {
    let mut chases = Vec::new();
    for bytes in scale.sizes(scale.chase_most) {
        let next = chain(bytes, scale.line);
        let mut at = 0;
        let seconds = timed(scale.samples.min(5), || {
            for _ in 0..STEPS {
                at = next[at as usize];
            }
            at = black_box(at);
        });
        chases.push(chase(Place::Own, bytes, STEPS, seconds));
    }
    peak.keep_chases(chases);
}

/// What a launch is here: all threads start, and are waited for.
fn regions(peak: &mut Peak) {
    let trips = timed(REGIONS, || drop(rayon::broadcast(|_| ())));
    peak.launch_microseconds = Some(trips.median * 1e6);
    peak.launch = Some(LaunchCost {
        queued_to_start_microseconds: None,
        run_microseconds: None,
        back_to_back_microseconds: None,
        round_trip_microseconds: in_microseconds(trips),
    });
}

/// out ← each number of x taken k times through `step`.
fn mixed<V: Copy>(out: &mut [V], x: &[V], step: impl Fn(V) -> V, k: u32) {
    let ((out, _), (x, _)) = (out.as_chunks_mut::<CHAINS>(), x.as_chunks::<CHAINS>());
    for (out, x) in out.iter_mut().zip(x) {
        let mut chains = *x;
        for _ in 0..k {
            chains = std::array::from_fn(|c| step(chains[c]));
        }
        *out = chains;
    }
}

/// x ← x · a + b of vectors of numbers, of which `splat` makes all the same, and `fma` computes that.
fn sweep<V: Copy + Send + Sync>(
    stored: Stored,
    splat: impl Fn(f32) -> V + Sync,
    fma: impl Fn(V, V, V) -> V + Sync,
    scale: &Scale,
    peak: &mut Peak,
) {
    let a_block = CHAINS * size_of::<V>();
    let blocks = (scale.intensity_bytes / a_block).max(1);
    let numbers = |number: usize| -> Vec<V> {
        let word = |k: usize| f32::from_bits(random_word((k + number) as u32));
        (0..blocks * CHAINS).into_par_iter().map(|k| splat(word(k))).collect()
    };
    let (x, mut out) = (numbers(0), numbers(1));
    let a_thread = blocks.div_ceil(rayon::current_num_threads()) * CHAINS;
    let (a, b) = (splat(-1.0), splat(1.5));
    let step = |x| fma(x, a, b);
    for k in steps(scale.quick) {
        let seconds = timed(scale.samples, || {
            out.par_chunks_mut(a_thread).zip(x.par_chunks(a_thread)).for_each(|(out, x)| mixed(out, x, step, k));
            black_box(&out);
        });
        peak.keep_intensity(intensity(stored, k, blocks * a_block / stored.bytes(), seconds));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_steps_with_factor_and_term_one_add_k() {
        let x = [f32x16::splat(3.0); CHAINS];
        for k in [0, 1, 7, 256] {
            let mut out = [f32x16::splat(0.0); CHAINS];
            mixed(&mut out, &x, |x| x.mul_add(f32x16::splat(1.0), f32x16::splat(1.0)), k);
            assert_eq!(out, [f32x16::splat(3.0 + k as f32); CHAINS]);
        }
    }

    #[test]
    fn reading_meets_every_word_once() {
        let set: Vec<u64> = (0..640u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        assert_eq!(read(&set), set.iter().fold(0, |all, word| all ^ word));
    }
}
