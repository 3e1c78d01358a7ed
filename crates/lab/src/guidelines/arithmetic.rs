//! Arithmetic and control flow: cheap operations, independent ones, and work-items that go the same way.

use lanefield::backend::opencl::Arg;

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Agreement, Clock, Guideline, Topic, hip, usual};
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
        advice: "Multiply by a reciprocal rather than divide.",
        sources: &[hip(INSTRUCTIONS)],
        without: "f32 divisions by powers of two",
        with: "f32 multiplications by their reciprocals",
        experiment: |bench| {
            let (items, rounds) = (bench.items(), Arg::U32(bench.scaled(4, 256, 1024) as u32));
            let rest = [rounds, Arg::F32(4.0), Arg::F32(0.25)];
            let names = ["divide", "multiply_by_reciprocal"];
            kernels(bench, [items, GROUP], &bench.fractions(items), names, [&rest, &rest])
        },
        ..usual(Topic::Arithmetic, Clock::Device)
    },
    Guideline {
        name: "native-functions",
        advice: "Use the device's own functions where their accuracy is enough.",
        sources: &[hip(INSTRUCTIONS)],
        without: "sin and exp",
        with: "native_sin and native_exp",
        agreement: NATIVE,
        experiment: |bench| {
            let (items, rest) = (bench.items(), [Arg::U32(TERMS)]);
            let names = ["series", "series_by_native_functions"];
            kernels(bench, [items, GROUP], &bench.fractions(items), names, [&rest, &rest])
        },
        ..usual(Topic::Arithmetic, Clock::Device)
    },
    Guideline {
        name: "single-precision",
        advice: "Compute in single precision where it does not change the result.",
        sources: &[hip(INSTRUCTIONS)],
        without: "fma in f64",
        with: "fma in f32, exact alike",
        experiment: |bench| {
            if !bench.context.info().fp64 {
                let reason = format!("{} has no f64", bench.context.info().name);
                return Err(Trouble::DoesNotApply { reason });
            }
            let (items, rounds) = (bench.items(), Arg::U32(bench.scaled(4, 256, 1024) as u32));
            let rest = [rounds, Arg::F32(1.0), Arg::F32(1.0)];
            let names = ["chain_in_double", "chain_in_single"];
            kernels(bench, [items, GROUP], &bench.random(items), names, [&rest, &rest])
        },
        ..usual(Topic::Arithmetic, Clock::Device)
    },
    Guideline {
        name: "instruction-parallelism",
        advice: "Give each work-item operations that do not wait for each other.",
        sources: &[hip(INSTRUCTIONS), hip("Multiprocessor level")],
        without: "four chains of fma, one after the other",
        with: "four chains of fma side by side",
        experiment: |bench| {
            // Few items, so that no other wavefront hides what an operation waits.
            let items = 128 * bench.context.info().compute_units.max(1) as usize;
            let rest = [Arg::U32(bench.scaled(4, 4096, 4096) as u32), Arg::F32(-1e-4)];
            let names = ["chains_in_turn", "chains_together"];
            kernels(bench, [items, 128], &bench.fractions(4 * items), names, [&rest, &rest])
        },
        ..usual(Topic::Arithmetic, Clock::Device)
    },
    Guideline {
        name: "divergence",
        advice: "Let the condition of a branch be the same for all work-items that run in step.",
        sources: &[hip("Control flow instructions"), hip(INSTRUCTIONS)],
        without: "neighbouring items go different ways",
        with: "whole wavefronts go different ways",
        experiment: |bench| {
            let (items, rounds) = (bench.items(), Arg::U32(bench.scaled(4, 256, 1024) as u32));
            // 64 is no less than any wavefront, and divides a group's half.
            let (each, run) = ([rounds, Arg::U32(1)], [rounds, Arg::U32(64)]);
            kernels(bench, [items, GROUP], &bench.random(items), ["two_ways", "two_ways"], [&each, &run])
        },
        ..usual(Topic::Arithmetic, Clock::Device)
    },
];

/// Two kernels of so many items in such groups over the same content; their results are as long as it. `rest`: what follows output and input among the
/// arguments of each.
fn kernels<T: bytemuck::NoUninit>(
    bench: &Bench<'_>,
    [items, group]: [usize; 2],
    content: &[T],
    names: [&'static str; 2],
    rest: [&[Arg<'static>]; 2],
) -> Result<Measured, Trouble> {
    let source = bench.buffer(content, "source of an experiment")?;
    let calls = [0, 1].map(|side| {
        let mut args = vec![Arg::Buffer(&source)];
        args.extend_from_slice(rest[side]);
        Call::new(names[side], items, group, args)
    });
    bench.compare_kernels(FILE, size_of_val(content) / size_of::<u32>(), calls)
}
