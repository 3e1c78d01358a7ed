//! The components of experiments: arrays of a size that fits the device, launches, and two sides whose results are compared and which are timed
//! alternately.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lanefield::backend::opencl::{Arg, Buffer, Context, DeviceKind, Launch, LaunchEvent, Program};
use serde::Serialize;

use super::guideline::Agreement;
use super::sides::{Measured, Side, Trouble, agree};
use crate::sources;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// As small as possible: to check that both sides have the same result, not to time them.
    Tiny,
    Quick,
    /// Larger than the last cache on a GPU; 16 MiB each on a CPU.
    Full,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub scale: Scale,
    /// Number of pairs of samples per experiment; if `None`, as many as there is time for, 3 to 15.
    pub samples: Option<usize>,
}

const SAMPLES: [usize; 2] = [3, 15];
/// The time for the samples of an experiment if their number is not set.
const BUDGET: Duration = Duration::from_millis(800);
/// Length of the warm-up of both sides before they are timed, in which clocks rise.
const WARM_UP: Duration = Duration::from_millis(20);
/// Work-items per group, if group sizes are not what is compared.
pub(super) const GROUP: usize = 256;

/// One launch of a kernel, whose first argument is the buffer that it writes.
pub(super) struct Call<'a> {
    pub kernel: &'static str,
    pub launch: Launch,
    pub args: Vec<Arg<'a>>,
}

impl<'a> Call<'a> {
    /// A one-dimensional launch, with the arguments that follow the output.
    pub fn new(kernel: &'static str, items: usize, group: usize, args: Vec<Arg<'a>>) -> Self {
        Self { kernel, launch: Launch { global: [items, 1, 1], local: [group, 1, 1] }, args }
    }

    /// 3 x + y with `guidelines_memory.cl`, for `words` words from `first` on, one per item.
    pub fn axpy([x, y]: [&'a Buffer; 2], first: usize, words: usize) -> Self {
        let args = vec![Arg::U32(3), Arg::Buffer(x), Arg::Buffer(y), Arg::U32(first as u32), Arg::U32(words as u32)];
        Self::new("axpy", words, GROUP, args)
    }

    pub fn rows(kernel: &'static str, items: usize, rows: usize, args: Vec<Arg<'a>>) -> Self {
        Self { kernel, launch: Launch { global: [items, rows, 1], local: [GROUP, 1, 1] }, args }
    }

    pub fn to(mut self, output: &'a Buffer) -> Self {
        self.args.insert(0, Arg::Buffer(output));
        self
    }
}

pub(super) struct Bench<'c> {
    pub context: &'c Context,
    options: Options,
    /// Created once: all experiments start with the same words.
    source: OnceCell<Vec<u32>>,
    pub agreement: Agreement,
}

impl<'c> Bench<'c> {
    pub fn new(context: &'c Context, options: Options) -> Self {
        Self { context, options, source: OnceCell::new(), agreement: Agreement::Words }
    }

    pub fn lacks(&self, what: &str) -> Result<Measured, Trouble> {
        let reason = format!("{} has no {what}", self.context.info().name);
        Err(Trouble::DoesNotApply { reason })
    }

    pub fn on_cpu(&self) -> bool {
        self.context.info().kind == DeviceKind::Cpu
    }

    pub fn bits(&self) -> u32 {
        let info = self.context.info();
        // As many words as the cache has bytes: four times its size.
        let beyond_cache = (info.global_cache_bytes as usize).next_power_of_two().ilog2();
        let full = if self.on_cpu() { 22 } else { beyond_cache.clamp(24, 27) };
        let fits = (info.max_allocation_bytes / 32).max(1 << 14).ilog2();
        match self.options.scale {
            Scale::Tiny => 14,
            Scale::Quick if self.on_cpu() => full - 2,
            Scale::Quick => full - 1,
            Scale::Full => full,
        }
        .min(fits)
    }

    pub fn words(&self) -> usize {
        1 << self.bits()
    }

    /// One of three numbers depending on the scale; the last two are halved for the quick scale.
    pub fn scaled(&self, tiny: usize, on_cpu: usize, on_gpu: usize) -> usize {
        let full = if self.on_cpu() { on_cpu } else { on_gpu };
        match self.options.scale {
            Scale::Tiny => tiny,
            Scale::Quick => (full / 2).max(tiny),
            Scale::Full => full,
        }
    }

    /// Number of work-items for kernels that compute without memory: enough groups for every compute unit.
    pub fn items(&self) -> usize {
        GROUP * self.scaled(2, 16, 16 * self.context.info().compute_units as usize)
    }

    /// Work-items per wavefront; 32 if only a built kernel could tell.
    pub fn wavefront(&self) -> usize {
        self.context.info().preferred_work_group_multiple.unwrap_or(32).clamp(2, 64)
    }

    /// Pseudo-random words, the same for every experiment; none is zero.
    pub fn random(&self, words: usize) -> Vec<u32> {
        let word = |k: usize| {
            let mixed = (k as u32 ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b1);
            (mixed ^ (mixed >> 15)).wrapping_mul(0x85eb_ca6b) | 1
        };
        let kept = self.source.get_or_init(|| (0..self.words()).map(word).collect());
        kept.iter().copied().chain((kept.len()..words).map(word)).take(words).collect()
    }

    pub fn fractions(&self, number: usize) -> Vec<f32> {
        self.random(number).into_iter().map(|word| (word >> 8) as f32 / (1 << 24) as f32).collect()
    }

    pub fn buffer<T: bytemuck::NoUninit>(&self, content: &[T], what: &str) -> Result<Buffer, Trouble> {
        let buffer = self.context.allocate(size_of_val(content), what)?;
        self.context.write(&buffer, 0, bytemuck::cast_slice(content))?;
        Ok(buffer)
    }

    pub fn source(&self, words: usize) -> Result<Buffer, Trouble> {
        self.buffer(&self.random(words), "source words of an experiment")
    }

    pub fn zeros(&self, words: usize) -> Result<Buffer, Trouble> {
        let buffer = self.context.allocate(words * size_of::<u32>(), "results of an experiment")?;
        self.context.fill_zero(&buffer)?;
        Ok(buffer)
    }

    pub fn program(&self, file: &str) -> Result<Arc<Program>, Trouble> {
        Ok(sources::program(self.context, file, "")?)
    }

    pub fn read(&self, buffer: &Buffer) -> Result<Vec<u32>, Trouble> {
        let mut words = vec![0u32; buffer.bytes() / size_of::<u32>()];
        self.context.read(buffer, 0, bytemuck::cast_slice_mut(&mut words))?;
        Ok(words)
    }

    pub fn launch(&self, program: &Program, calls: &[Call<'_>]) -> Result<Vec<LaunchEvent>, Trouble> {
        let launch = |call: &Call<'_>| self.context.launch_event(program, call.kernel, call.launch, &call.args);
        Ok(calls.iter().map(launch).collect::<Result<_, _>>()?)
    }

    /// Seconds of host time until `work` and all that it queued are done.
    pub fn wall(&self, work: impl FnOnce() -> Result<(), Trouble>) -> Result<f64, Trouble> {
        self.context.finish()?;
        let start = Instant::now();
        work()?;
        self.context.finish()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// A side that launches kernels, timed by the device from the first start to the last end. Its result is `output`.
    pub fn kernels<'s>(&'s self, program: &'s Program, calls: Vec<Call<'s>>, output: &'s Buffer) -> Side<'s> {
        let run = move || {
            let events = self.launch(program, &calls)?;
            let times = events.iter().map(|event| self.context.times(event)).collect::<Result<Vec<_>, _>>()?;
            let start = times.iter().map(|times| times.start).min().unwrap_or_default();
            let end = times.iter().map(|times| times.end).max().unwrap_or_default();
            Ok(end.saturating_sub(start) as f64 * 1e-9)
        };
        Side { run: Box::new(run), result: Box::new(move || self.read(output)) }
    }

    /// A side timed by the host: `work`, and everything that it queues.
    pub fn calls<'s>(&'s self, mut work: impl FnMut() -> Result<(), Trouble> + 's, output: &'s Buffer) -> Side<'s> {
        let run = move || self.wall(&mut work);
        Side { run: Box::new(run), result: Box::new(move || self.read(output)) }
    }

    /// Compares one launch of each of two kernels of a program, each with an output of this number of words.
    pub(crate) fn compare_kernels(&self, file: &str, words: usize, calls: [Call<'_>; 2]) -> Result<Measured, Trouble> {
        let program = self.program(file)?;
        let outputs = [self.zeros(words)?, self.zeros(words)?];
        let [without, with] = calls;
        let without = self.kernels(&program, vec![without.to(&outputs[0])], &outputs[0]);
        let with = self.kernels(&program, vec![with.to(&outputs[1])], &outputs[1]);
        self.compare(without, with)
    }

    /// Runs both sides, compares their results, and times them alternately, so that a drift affects both.
    pub fn compare(&self, mut without: Side<'_>, mut with: Side<'_>) -> Result<Measured, Trouble> {
        (without.run)()?;
        let expected = (without.result)()?;
        (with.run)()?;
        agree(self.agreement, &expected, &(with.result)()?)?;
        let start = Instant::now();
        while self.options.scale != Scale::Tiny && start.elapsed() < WARM_UP {
            (without.run)()?;
            (with.run)()?;
        }
        let [least, most] = self.options.samples.map_or(SAMPLES, |number| [number.max(1); 2]);
        let (start, mut pairs) = (Instant::now(), Vec::with_capacity(most));
        while pairs.len() < least || (pairs.len() < most && start.elapsed() < BUDGET) {
            pairs.push([(without.run)()?, (with.run)()?]);
        }
        Ok(Measured::Pairs(pairs))
    }
}
