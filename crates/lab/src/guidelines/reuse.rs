//! Loads that results share, and passes that share what they read.

use lanefield::backend::opencl::Arg;

use super::bench::{Bench, Call};
use super::guideline::{Agreement, Clock, Guideline, Topic, dace, hip};
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
        topic: Topic::Reuse,
        advice: "Let a work-item do several results that share what they read, so that it is read once into registers.",
        sources: &[hip("Memory optimization"), dace("Kernel fusion and data movement"), dace("Block size")],
        without: "sums of 8 words of a column, one an item",
        with: "the same, four an item",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: column_sums,
    },
    Guideline {
        name: "fused-passes",
        topic: Topic::Reuse,
        advice: "Fuse passes over the same arrays, so that what is between them never leaves the registers.",
        sources: &[dace("Kernel fusion and data movement"), dace("GPU kernel granularity")],
        without: "two axpy, one after the other",
        with: "both in one pass",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: passes,
    },
];

fn column_sums(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(FILE)?;
    let rows = bench.words() / WIDTH;
    let source = bench.source((rows + ROWS) * WIDTH)?;
    let outputs = [bench.zeros(rows * WIDTH)?, bench.zeros(rows * WIDTH)?];
    let side = |kernel, rows, output| {
        let args = vec![Arg::Buffer(output), Arg::Buffer(&source), Arg::U32(WIDTH as u32)];
        bench.kernels(&program, vec![Call::rows(kernel, WIDTH, rows, args)], output)
    };
    let without = side("column_sums", rows, &outputs[0]);
    let with = side("column_sums_of_four", rows / 4, &outputs[1]);
    bench.compare(without, with)
}

fn passes(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(FILE)?;
    let words = bench.words();
    let (x, y) = (bench.source(words)?, bench.source(words)?);
    let (between, outputs) = (bench.zeros(words)?, [bench.zeros(words)?, bench.zeros(words)?]);
    let calls = vec![Call::axpy(&between, [&x, &y], 0, words), Call::axpy(&outputs[0], [&between, &x], 0, words)];
    let without = bench.kernels(&program, calls, &outputs[0]);
    let fused = Call { kernel: "axpy_twice", ..Call::axpy(&outputs[1], [&x, &y], 0, words) };
    let with = bench.kernels(&program, vec![fused], &outputs[1]);
    bench.compare(without, with)
}
