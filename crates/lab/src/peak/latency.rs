//! Latency: one work-item follows a chain of dependent loads (`cl/peak_caches.cl`), in sets of every size.

use std::sync::Arc;

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{Arg, Buffer, Context, LaunchEvent, OpenClError, Program};

use super::chain::chain;
use super::measuring::{Measuring, sampled};
use super::plateau::{Place, ladder};
use super::record::Chase;
use crate::Spread;
use crate::empty::{ONE, OPTIONS};
use crate::sources;

/// Steps per launch: long compared with a launch, and short compared with a second if each takes 1 µs.
const STEPS: u32 = 1 << 15;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visited {
    pub at: u32,
    /// The sum of all words visited, modulo 2³².
    pub sum: u32,
}

/// The kernels with one work-item, which follow a chain, or do nothing.
pub struct Chaser<'c> {
    context: &'c Context,
    program: Arc<Program>,
    out: Buffer,
}

impl<'c> Chaser<'c> {
    pub fn new(context: &'c Context) -> Result<Self, BackendError> {
        let program = sources::program(context, "peak_caches.cl", OPTIONS)?;
        Ok(Self { context, program, out: context.allocate(8, "end of a chase")? })
    }

    /// Follows `steps` links (a multiple of 8) from `start`. Returns the seconds, and the end point.
    pub fn run(&self, next: &Buffer, start: u32, steps: u32) -> Result<(f64, Visited), BackendError> {
        let arguments = [Arg::Buffer(&self.out), Arg::Buffer(next), Arg::U32(start), Arg::U32(steps)];
        let seconds = self.context.launch_timed(&self.program, "chase", ONE, &arguments)?;
        Ok((seconds, self.visited()?))
    }

    /// The same in local memory, into which a chain of `n` words is copied first.
    pub fn run_local(&self, next: &Buffer, n: usize, steps: u32) -> Result<(f64, Visited), BackendError> {
        let arguments =
            [Arg::Buffer(&self.out), Arg::Buffer(next), Arg::U32(n as u32), Arg::U32(steps), Arg::Local(4 * n)];
        let seconds = self.context.launch_timed(&self.program, "chase_local", ONE, &arguments)?;
        Ok((seconds, self.visited()?))
    }

    fn visited(&self) -> Result<Visited, BackendError> {
        let mut words = [0u32; 2];
        self.context.read(&self.out, 0, bytemuck::cast_slice_mut(&mut words))?;
        Ok(Visited { at: words[0], sum: words[1] })
    }

    pub(super) fn nothing(&self) -> Result<LaunchEvent, OpenClError> {
        self.context.launch_event(&self.program, "nothing", ONE, &[Arg::Buffer(&self.out)])
    }

    pub fn upload(&self, next: &[u32]) -> Result<Buffer, BackendError> {
        let buffer = self.context.allocate(size_of_val(next), "chain of loads")?;
        self.context.write(&buffer, 0, bytemuck::cast_slice(next))?;
        Ok(buffer)
    }
}

pub(super) fn measure(Measuring { context, scale, peak, tell }: Measuring<'_>) -> Result<(), BackendError> {
    let chaser = Chaser::new(context)?;
    let mut chases = Vec::new();
    for bytes in scale.sizes(scale.chase_most) {
        tell(&format!("latency, {} KiB", bytes >> 10))?;
        let next = chaser.upload(&chain(bytes, scale.line))?;
        let lines = (bytes / scale.line) as u32;
        // First goes through the whole set, if it fits a cache. Each run continues where the last one ended, so that no line of a large set repeats
        // soon.
        let warm_up = lines.clamp(STEPS, 16 * STEPS).next_multiple_of(8);
        let (_, mut visited) = chaser.run(&next, 0, warm_up)?;
        let mut times = Vec::new();
        for _ in 0..scale.samples.min(5) {
            let (seconds, end) = chaser.run(&next, visited.at, STEPS)?;
            visited = end;
            times.push(seconds);
        }
        chases.push(chase(Place::Own, bytes, STEPS, Spread::of_some(times)));
    }
    peak.keep_chases(chases);

    let most = context.info().local_memory_bytes.min(4096) as usize;
    let Some(bytes) = ladder(4, most).pop() else { return Ok(()) };
    let next = chain(bytes, size_of::<u32>());
    let buffer = chaser.upload(&next)?;
    let seconds = sampled(scale.samples, || Ok(chaser.run_local(&buffer, next.len(), STEPS)?.0))?;
    let local = chase(Place::Local, bytes, STEPS, seconds);
    peak.latency_nanoseconds.local = Some(local.nanoseconds);
    peak.chases.push(local);
    Ok(())
}

pub(super) fn chase(place: Place, bytes: usize, steps: u32, seconds: Spread) -> Chase {
    Chase { place, bytes: bytes as u64, nanoseconds: seconds.median / f64::from(steps) * 1e9, seconds }
}
