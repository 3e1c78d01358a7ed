//! Arithmetic and control flow: cheap operations, independent ones, and work-items that go the same way.

use lanefield::backend::opencl::Arg;

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Agreement, Clock, Guideline, Topic, hip};
use super::sides::{Measured, Trouble};

/// The programs of this topic.
const FILE: &str = "guidelines_arithmetic.cl";
/// By how much sums of 16 products of native functions may differ from precise ones, where those of a GPU are good to about 2⁻²⁰ each.
const NATIVE: Agreement = Agreement::Within(1e-3);
/// Terms of these sums.
const TERMS: u32 = 16;

const INSTRUCTIONS: &str = "Arithmetic instructions";

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "division",
        topic: Topic::Arithmetic,
        advice: "Multiply by a reciprocal rather than divide.",
        sources: &[hip(INSTRUCTIONS)],
        without: "f32 divisions by powers of two",
        with: "f32 multiplications by their reciprocals",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: |bench| {
            let rounds = bench.scaled(4, 256, 1024);
            let rest = [Arg::U32(rounds as u32), Arg::F32(4.0), Arg::F32(0.25)];
            let content = bench.fractions(bench.items());
            kernels(
                bench,
                ["divide", "multiply_by_reciprocal"],
                &content,
                Work { items: bench.items(), group: GROUP, rest: [&rest, &rest] },
            )
        },
    },
    Guideline {
        name: "native-functions",
        topic: Topic::Arithmetic,
        advice: "Use the device's own functions where their accuracy is enough.",
        sources: &[hip(INSTRUCTIONS)],
        without: "sin and exp",
        with: "native_sin and native_exp",
        timed: Clock::Device,
        agreement: NATIVE,
        experiment: |bench| {
            let (items, rest) = (bench.items(), [Arg::U32(TERMS)]);
            let content = bench.fractions(items);
            kernels(
                bench,
                ["series", "series_by_native_functions"],
                &content,
                Work { items, group: GROUP, rest: [&rest, &rest] },
            )
        },
    },
    Guideline {
        name: "single-precision",
        topic: Topic::Arithmetic,
        advice: "Compute in single precision where it does not change the result.",
        sources: &[hip(INSTRUCTIONS)],
        without: "fma in f64",
        with: "fma in f32, exact alike",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: |bench| {
            if !bench.context.info().fp64 {
                let reason = format!("{} has no f64", bench.context.info().name);
                return Err(Trouble::DoesNotApply { reason });
            }
            let rounds = bench.scaled(4, 256, 1024);
            let rest = [Arg::U32(rounds as u32), Arg::F32(1.0), Arg::F32(1.0)];
            let content = bench.random(bench.items());
            kernels(
                bench,
                ["chain_in_double", "chain_in_single"],
                &content,
                Work { items: bench.items(), group: GROUP, rest: [&rest, &rest] },
            )
        },
    },
    Guideline {
        name: "instruction-parallelism",
        topic: Topic::Arithmetic,
        advice: "Give each work-item operations that do not wait for each other.",
        sources: &[hip(INSTRUCTIONS), hip("Multiprocessor level")],
        without: "four chains of fma, one after the other",
        with: "four chains of fma side by side",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: |bench| {
            // Few items, so that no other wavefront hides what an operation waits.
            let items = 128 * bench.context.info().compute_units.max(1) as usize;
            let rounds = bench.scaled(4, 4096, 4096);
            let rest = [Arg::U32(rounds as u32), Arg::F32(-1e-4)];
            let content = bench.fractions(4 * items);
            kernels(
                bench,
                ["chains_in_turn", "chains_together"],
                &content,
                Work { items, group: 128, rest: [&rest, &rest] },
            )
        },
    },
    Guideline {
        name: "divergence",
        topic: Topic::Arithmetic,
        advice: "Let the condition of a branch be the same for all work-items that run in step.",
        sources: &[hip("Control flow instructions"), hip(INSTRUCTIONS)],
        without: "neighbouring items go different ways",
        with: "whole wavefronts go different ways",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: |bench| {
            let rounds = Arg::U32(bench.scaled(4, 256, 1024) as u32);
            // 64 is no less than any wavefront, and divides a group's half.
            let (each, run) = ([rounds, Arg::U32(1)], [rounds, Arg::U32(64)]);
            let content = bench.random(bench.items());
            kernels(
                bench,
                ["two_ways", "two_ways"],
                &content,
                Work { items: bench.items(), group: GROUP, rest: [&each, &run] },
            )
        },
    },
];

/// What two kernels have in common.
struct Work<'a> {
    items: usize,
    group: usize,
    /// What follows output and input among the arguments, without and with.
    rest: [&'a [Arg<'static>]; 2],
}

/// Two kernels over the same content; their results are as long as it.
fn kernels<T: bytemuck::NoUninit>(
    bench: &Bench<'_>,
    names: [&'static str; 2],
    content: &[T],
    Work { items, group, rest }: Work<'_>,
) -> Result<Measured, Trouble> {
    let program = bench.program(FILE)?;
    let source = bench.buffer(content, "source of an experiment")?;
    let words = size_of_val(content) / size_of::<u32>();
    let outputs = [bench.zeros(words)?, bench.zeros(words)?];
    let [without, with] = [0, 1].map(|side| {
        let mut args = vec![Arg::Buffer(&outputs[side]), Arg::Buffer(&source)];
        args.extend_from_slice(rest[side]);
        bench.kernels(&program, vec![Call::new(names[side], items, group, args)], &outputs[side])
    });
    bench.compare(without, with)
}
