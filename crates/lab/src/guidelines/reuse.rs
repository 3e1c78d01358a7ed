//! Loads that results share, and passes that share what they read.

use lanefield::backend::opencl::Arg;

use super::bench::{Bench, Call};
use super::guideline::{Clock, Guideline, Topic, dace, hip, usual};
use super::sides::{Measured, Trouble};

/// The programs of this topic.
const FILE: &str = "guidelines_memory.cl";
/// Words of a row.
const WIDTH: usize = 1024;
/// Rows that a result adds up, as the kernels have it.
const ROWS: usize = 8;

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "register-reuse",
        advice: "Let a work-item do several results that share what they read, so that it is read once into registers.",
        sources: &[hip("Memory optimization"), dace("Kernel fusion and data movement"), dace("Block size")],
        without: "sums of 8 words of a column, one an item",
        with: "the same, four an item",
        experiment: column_sums,
        ..usual(Topic::Reuse, Clock::Device)
    },
    Guideline {
        name: "fused-passes",
        advice: "Fuse passes over the same arrays, so that what is between them never leaves the registers.",
        sources: &[dace("Kernel fusion and data movement"), dace("GPU kernel granularity")],
        without: "two axpy, one after the other",
        with: "both in one pass",
        experiment: passes,
        ..usual(Topic::Reuse, Clock::Device)
    },
];

fn column_sums(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let rows = bench.words() / WIDTH;
    let source = bench.source((rows + ROWS) * WIDTH)?;
    let calls = [("column_sums", rows), ("column_sums_of_four", rows / 4)].map(|(kernel, rows)| {
        let args = vec![Arg::Buffer(&source), Arg::U32(WIDTH as u32)];
        Call::rows(kernel, WIDTH, rows, args)
    });
    bench.compare_kernels(FILE, rows * WIDTH, calls)
}

fn passes(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(FILE)?;
    let words = bench.words();
    let (x, y) = (bench.source(words)?, bench.source(words)?);
    let (between, outputs) = (bench.zeros(words)?, [bench.zeros(words)?, bench.zeros(words)?]);
    let first = Call::axpy([&x, &y], 0, words);
    let fused = Call { kernel: "axpy_twice", ..Call::axpy([&x, &y], 0, words) };
    let calls = vec![first.to(&between), Call::axpy([&between, &x], 0, words).to(&outputs[0])];
    let without = bench.kernels(&program, calls, &outputs[0]);
    let with = bench.kernels(&program, vec![fused.to(&outputs[1])], &outputs[1]);
    bench.compare(without, with)
}
