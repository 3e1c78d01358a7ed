//! Between host and device: fewer transfers, larger ones.

use lanefield::backend::opencl::Buffer;

use super::bench::{Bench, Call};
use super::guideline::{Clock, Guideline, Topic, dace, hip, usual};
use super::queues::timed_in_queues;
use super::sides::{Measured, Side, Trouble};

/// Small transfers.
const TRANSFERS: usize = 64;
const SMALL: usize = 4096;

const TRANSFER: &str = "Data Transfer";

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "keep-on-device",
        advice: "Keep on the device what one kernel writes and the next one reads.",
        sources: &[hip(TRANSFER), dace("Minimize host<->GPU transfers")],
        without: "two axpy, what is between read and written back",
        with: "two axpy, what is between stays",
        experiment: round_trip,
        ..usual(Topic::Transfers, Clock::Host)
    },
    Guideline {
        name: "batched-transfers",
        advice: "Batch small transfers into a large one.",
        sources: &[hip(TRANSFER)],
        without: "64 writes of 4 KiB, waited for once",
        with: "one write of 256 KiB",
        experiment: batches,
        ..usual(Topic::Transfers, Clock::Host)
    },
];

fn round_trip(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program("guidelines_memory.cl")?;
    let words = bench.words();
    let (x, y) = (bench.source(words)?, bench.source(words)?);
    let between = [bench.zeros(words)?, bench.zeros(words)?];
    let outputs = [bench.zeros(words)?, bench.zeros(words)?];
    let step = |of: [&Buffer; 2], to: &Buffer| {
        let call = Call::axpy(of, 0, words).to(to);
        bench.launch(&program, &[call]).map(drop)
    };
    let mut host = vec![0u8; words * size_of::<u32>()];
    let there_and_back = || {
        step([&x, &y], &between[0])?;
        bench.context.read(&between[0], 0, &mut host)?;
        bench.context.write(&between[0], 0, &host)?;
        step([&between[0], &x], &outputs[0])
    };
    let without = bench.calls(there_and_back, &outputs[0]);
    let stay = || step([&x, &y], &between[1]).and_then(|()| step([&between[1], &x], &outputs[1]));
    let with = bench.calls(stay, &outputs[1]);
    bench.compare(without, with)
}

fn batches(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let bytes = TRANSFERS * SMALL;
    let content = bench.random(bytes / size_of::<u32>());
    let content: &[u8] = bytemuck::cast_slice(&content);
    let targets = [bench.context.allocate(bytes, "small transfers")?, bench.context.allocate(bytes, "one transfer")?];
    let side = |target, size: usize| {
        let write = move || {
            timed_in_queues(bench, 1, |queues| {
                content.chunks(size).enumerate().try_for_each(|(k, part)| queues.write(0, target, k * size, part))
            })
        };
        Side { run: Box::new(write), result: Box::new(move || bench.read(target)) }
    };
    bench.compare(side(&targets[0], SMALL), side(&targets[1], bytes))
}
