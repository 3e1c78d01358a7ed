//! The ceilings of the CPU reference's threads, in wall time. All functions run in its pool. Counterparts: `cl/peak_intensity.cl`,
//! `cl/peak_caches.cl`; bandwidths are in `bandwidth/host.rs`.

use std::hint::black_box;
use std::time::Instant;

use bytemuck::{Pod, Zeroable};
use lanefield::prelude::*;
use lanefield_reference::kernels::multiply_adds::{NUMBERS, multiply_adds};
use lanefield_reference::tensor::Task;
use lanefield_reference::tensor::sets::run as run_task;
use rayon::prelude::*;

use super::chain::chain;
use super::intensity::{intensity, steps};
use super::latency::chase;
use super::launches::in_microseconds;
use super::measuring::rate;
use super::options::Part;
use super::plateau::Place;
use super::record::{LaunchCost, Peak, Stored, WorkingSet};
use super::scale::Scale;
use super::streams::stream;
use crate::Spread;
use crate::bandwidth::{HostStreams, Operation, Way, random_word};

/// The least number of bytes that a thread reads from its own set in a run.
const OWN_READ: usize = 64 << 20;
const STEPS: u32 = 1 << 18;
const REGIONS: usize = 200;

/// Reports progress, and fails if the measurement is to stop.
type Tell<'t> = &'t mut dyn FnMut() -> Result<(), BackendError>;

pub(super) fn measure(
    part: Part,
    scale: &Scale,
    peak: &mut Peak,
    tell: &mut dyn FnMut(&str) -> Result<(), BackendError>,
) -> Result<(), BackendError> {
    let name = part.to_string();
    let tell: Tell<'_> = &mut || tell(&name);
    tell()?;
    match part {
        Part::Streams => streams(scale, peak, tell),
        Part::Caches => caches(scale, peak, tell),
        Part::Latency => latency(scale, peak, tell),
        Part::Launch => {
            regions(peak);
            Ok(())
        }
        Part::Transfers => Ok(()),
        Part::Intensity => {
            sweep::<f32>(Stored::F32, scale, peak, tell)?;
            sweep::<f64>(Stored::F64, scale, peak, tell)
        }
    }
}

fn streams(scale: &Scale, peak: &mut Peak, tell: Tell<'_>) -> Result<(), BackendError> {
    for operation in Operation::ALL {
        tell()?;
        let mut streams = HostStreams::new(operation, scale.stream_bytes)?;
        let moved = streams.bytes_moved();
        let ways = Way::of(operation).iter();
        let found = ways.map(|&way| stream(operation, way.to_string(), moved, streams.times(way, scale.samples)));
        peak.keep_streams(operation, found.collect());
    }
    Ok(())
}

/// The spread of `run` in wall time, after a warm-up run.
fn timed(samples: usize, mut run: impl FnMut()) -> Spread {
    run();
    let once = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    Spread::of_some((0..samples.max(1)).map(once).collect())
}

/// A separate set for each thread: all caches of a CPU except the last belong to its cores.
fn caches(scale: &Scale, peak: &mut Peak, tell: Tell<'_>) -> Result<(), BackendError> {
    let mut sets = Vec::new();
    for bytes in scale.sizes(scale.own_most) {
        tell()?;
        let words = bytes / size_of::<u64>();
        let passes = OWN_READ.div_ceil(bytes).max(2);
        let run = |set: &Vec<u64>| {
            for _ in 0..passes {
                black_box(run_task(&Read, black_box(&set[..])));
            }
        };
        // Allocated, and so touched, by the thread that reads it.
        let seconds = rayon::broadcast(|_| {
            let set: Vec<u64> = (0..words as u64).collect();
            timed(scale.samples, || run(&set))
        });
        // By the slowest thread, after which all have read.
        let slowest = seconds.into_iter().max_by(|a, b| a.median.total_cmp(&b.median));
        let Some(seconds) = slowest else { continue };
        let read = passes * bytes * scale.units;
        sets.push(WorkingSet { place: Place::Own, bytes: bytes as u64, gb_per_second: rate(read, &seconds), seconds });
    }
    (peak.l1_gb_per_second, peak.l2_gb_per_second) = peak.keep_working_sets(Place::Own, sets);
    Ok(())
}

/// Reads eight cache lines at a time, each with its own sums.
struct Read;

impl Task<&[u64]> for Read {
    type Output = u64;
    #[inline(always)]
    fn run(&self, set: &[u64]) -> u64 {
        const AT_ONCE: usize = 64;
        let mut all = [0u64; AT_ONCE];
        for block in set.as_chunks::<AT_ONCE>().0 {
            for (all, word) in all.iter_mut().zip(block) {
                *all ^= word;
            }
        }
        all.into_iter().fold(0, |all, word| all ^ word)
    }
}

fn latency(scale: &Scale, peak: &mut Peak, tell: Tell<'_>) -> Result<(), BackendError> {
    let mut chases = Vec::new();
    for bytes in scale.sizes(scale.chase_most) {
        tell()?;
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
    Ok(())
}

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

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// x ← x · a + b for numbers stored as `R`.
fn sweep<R: Vectors>(stored: Stored, scale: &Scale, peak: &mut Peak, tell: Tell<'_>) -> Result<(), BackendError> {
    let a_block = NUMBERS * size_of::<R>();
    let blocks = (scale.intensity_bytes / a_block).max(1);
    // In cache lines, for their alignment.
    let numbers = |number: usize| -> Vec<Line> {
        let mut lines = vec![Line::zeroed(); blocks * a_block / size_of::<Line>()];
        let all: &mut [R] = bytemuck::cast_slice_mut(&mut lines);
        let number_at = |k: usize| R::from_f64(f32::from_bits(random_word((k + number) as u32)).into());
        all.par_iter_mut().enumerate().for_each(|(k, x)| *x = number_at(k));
        lines
    };
    let (x, mut out) = (numbers(0), numbers(1));
    let a_thread = blocks.div_ceil(rayon::current_num_threads()) * NUMBERS;
    let (x, out): (&[R], &mut [R]) = (bytemuck::cast_slice(&x), bytemuck::cast_slice_mut(&mut out));
    let [a, b] = [-1.0, 1.5].map(R::from_f64);
    for k in steps(scale.quick) {
        tell()?;
        let seconds = timed(scale.samples, || {
            out.par_chunks_mut(a_thread)
                .zip(x.par_chunks(a_thread))
                .for_each(|(out, x)| multiply_adds(out, x, a, b, k));
            black_box(&out);
        });
        peak.keep_intensity(intensity(stored, k, blocks * a_block / stored.bytes(), seconds));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_meets_every_word_once() {
        let set: Vec<u64> = (0..640u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        assert_eq!(run_task(&Read, &set[..]), set.iter().fold(0, |all, word| all ^ word));
    }
}
