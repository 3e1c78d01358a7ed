//! Work-items that work together: by atomic operations, barriers, or one launch after the other.

use lanefield::backend::opencl::Arg;

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Clock, Guideline, Topic, dace, hip, usual};
use super::sides::{Measured, Side, Trouble};

/// The programs of this topic.
const FILE: &str = "guidelines_launches.cl";
/// Phases of work-items that wait for each other: an even number.
const PHASES: usize = 8;
/// Launches instead of one.
const LAUNCHES: usize = 64;
/// Words of a tiny launch.
const TINY: usize = 4096;

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "atomics",
        advice: "Add up in a work-group first, so that few atomic operations meet at one address.",
        sources: &[dace("Atomic write-conflicts")],
        without: "sum, one atomic addition a work-item",
        with: "sum, a tree in local memory and one a group",
        experiment: sums,
        ..usual(Topic::Together, Clock::Device)
    },
    Guideline {
        name: "barriers",
        advice: "Let work-items that share data wait for each other at barriers in one launch, not over several launches.",
        sources: &[hip("Application level"), hip("Synchronization"), dace("Stream and synchronization overhead")],
        without: "eight phases, a launch each",
        with: "eight phases in one launch, with barriers",
        experiment: phases,
        ..usual(Topic::Together, Clock::Device)
    },
    Guideline {
        name: "launch-granularity",
        advice: "Do in one launch what many tiny ones would do.",
        sources: &[dace("GPU kernel granularity")],
        without: "axpy, 64 launches of 4096 words",
        with: "axpy, one launch",
        experiment: launches,
        ..usual(Topic::Together, Clock::Host)
    },
];

fn sums(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(FILE)?;
    let words = (bench.words() / 16).max(GROUP);
    let source = bench.source(words)?;
    let outputs = [bench.zeros(1)?, bench.zeros(1)?];
    let side = |kernel, output, rest: Option<Arg<'static>>| {
        let args = std::iter::once(Arg::Buffer(&source)).chain(rest).collect();
        let call = Call::new(kernel, words, GROUP, args).to(output);
        let Side { mut run, result } = bench.kernels(&program, vec![call], output);
        let after_zeros = move || {
            bench.context.fill_zero(output)?;
            run()
        };
        Side { run: Box::new(after_zeros), result }
    };
    let without = side("sum_by_atomics", &outputs[0], None);
    let with = side("sum_by_trees", &outputs[1], Some(Arg::Local(GROUP * size_of::<u32>())));
    bench.compare(without, with)
}

fn phases(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(FILE)?;
    let words = (bench.words() / 16).max(GROUP);
    let source = bench.source(words)?;
    let between = [bench.zeros(words)?, bench.zeros(words)?];
    let output = bench.zeros(words)?;
    let from = |phase: usize| if phase == 0 { &source } else { &between[(phase - 1) % 2] };
    let phase = |phase: usize| Call::new("phase", words, GROUP, vec![Arg::Buffer(from(phase))]).to(&between[phase % 2]);
    let without = bench.kernels(&program, (0..PHASES).map(phase).collect(), &between[(PHASES - 1) % 2]);
    let args = vec![Arg::Buffer(&source), Arg::Local(GROUP * size_of::<u32>()), Arg::U32(PHASES as u32)];
    let call = Call::new("phases_with_barriers", words, GROUP, args).to(&output);
    let with = bench.kernels(&program, vec![call], &output);
    bench.compare(without, with)
}

fn launches(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program("guidelines_memory.cl")?;
    let words = LAUNCHES * TINY;
    let (x, y) = (bench.source(words)?, bench.source(words)?);
    let outputs = [bench.zeros(words)?, bench.zeros(words)?];
    let many: Vec<_> = (0..LAUNCHES).map(|k| Call::axpy([&x, &y], k * TINY, TINY).to(&outputs[0])).collect();
    let one = [Call::axpy([&x, &y], 0, words).to(&outputs[1])];
    let without = bench.calls(|| bench.launch(&program, &many).map(drop), &outputs[0]);
    let with = bench.calls(|| bench.launch(&program, &one).map(drop), &outputs[1]);
    bench.compare(without, with)
}
