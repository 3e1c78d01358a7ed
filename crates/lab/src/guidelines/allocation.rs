//! Allocation of device memory: each time or once, and what happens beyond what there is.

use lanefield::backend::opencl::{Buffer, OpenClError};

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Agreement, Clock, Guideline, Topic, dace, hip, usual};
use super::sides::{Measured, Trouble};

/// Steps that need room between two kernels.
const STEPS: usize = 8;
/// Buffers that would fill a device's memory.
const PARTS: u64 = 8;
/// Bytes beyond all of it, at most: what a driver may push into the host's memory.
const BEYOND: u64 = 1 << 30;

const THRASHING: &str = "Minimizing memory thrashing";

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "allocate-once",
        advice: "Allocate memory once and use it again, for allocation is slow.",
        sources: &[hip(THRASHING), dace("Persistent memory allocation"), dace("Memory footprint reduction")],
        without: "eight steps of two axpy, a buffer between allocated each time",
        with: "the same with a buffer allocated once",
        experiment: each_time_or_once,
        ..usual(Topic::Allocation, Clock::Host)
    },
    Guideline {
        name: "beyond-memory",
        advice: "Know what happens when the device's memory is not enough: refused, or pushed out to the host.",
        sources: &[hip(THRASHING)],
        without: "twice the largest buffer, then more than all memory",
        with: "–",
        agreement: Agreement::Observation,
        experiment: beyond_memory,
        ..usual(Topic::Allocation, Clock::Host)
    },
];

fn each_time_or_once(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program("guidelines_memory.cl")?;
    let words = (bench.words() / 16).max(GROUP);
    let (x, y) = (bench.source(words)?, bench.source(words)?);
    let outputs = [bench.zeros(words)?, bench.zeros(words)?];
    let kept = bench.zeros(words)?;
    let step = |between: &Buffer, output: &Buffer| {
        let calls = [Call::axpy([&x, &y], 0, words).to(between), Call::axpy([between, &x], 0, words).to(output)];
        bench.launch(&program, &calls).map(drop)
    };
    let each_time = || {
        for _ in 0..STEPS {
            step(&bench.context.allocate(kept.bytes(), "a buffer between two kernels")?, &outputs[0])?;
            // Each time from the driver, and not from the pool.
            bench.context.trim_memory();
        }
        Ok(())
    };
    let without = bench.calls(each_time, &outputs[0]);
    let with = bench.calls(|| (0..STEPS).try_for_each(|_| step(&kept, &outputs[1])), &outputs[1]);
    bench.compare(without, with)
}

fn beyond_memory(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let info = bench.context.info();
    let (all, most) = (info.global_memory_bytes, info.max_allocation_bytes);
    let mut told = match attempt(bench, most.saturating_mul(2))? {
        Ok(_) => format!("one buffer of {}, twice the largest that is promised: given", gib(2 * most)),
        Err(status) => format!("one buffer of {}, twice the largest: refused, {status}", gib(2 * most)),
    };
    // The host's own memory is not to be filled: other programs run there.
    if bench.on_cpu() || bench.context.shares_host_memory() {
        told += "; the device works in the host's memory, which is not filled";
        return Ok(Measured::Observed(told));
    }
    let part = all / PARTS;
    let mut held = Vec::new();
    for bytes in std::iter::repeat_n(part, PARTS as usize).chain([BEYOND.min(part)]) {
        match attempt(bench, bytes)? {
            Ok(buffer) => held.push(buffer),
            Err(status) => {
                let sum = bench.context.memory().bytes;
                told += &format!("; {} more with {} of {} held: refused, {status}", gib(bytes), gib(sum), gib(all));
                return Ok(Measured::Observed(told));
            }
        }
    }
    let sum = bench.context.memory().bytes;
    told +=
        &format!("; {} held on a device of {}: given, so the driver pushes memory out to the host", gib(sum), gib(all));
    Ok(Measured::Observed(told))
}

/// So many bytes, which no kernel touches, or the status with which the driver refuses them.
fn attempt(bench: &Bench<'_>, bytes: u64) -> Result<Result<Buffer, String>, Trouble> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    match bench.context.allocate(bytes, "more than there is") {
        Ok(buffer) => Ok(Ok(buffer)),
        Err(OpenClError::OutOfMemory { status, .. }) => Ok(Err(status.to_string())),
        Err(other) => Err(other.into()),
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}
