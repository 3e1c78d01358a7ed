//! Several queues: transfers beside kernels, small kernels beside each other.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use lanefield::backend::opencl::{Arg, Buffer, OpenClError};

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Clock, Guideline, Topic, dace, hip, usual};
use super::opencl::{Queues, Ready, with_queues};
use super::sides::{Measured, Side, Trouble, words_of};

/// The programs of this topic.
const FILE: &str = "guidelines_arithmetic.cl";
/// Queues where there are several.
const QUEUES: usize = 4;
/// Pieces that are written, worked on and read.
const PIECES: usize = 8;
/// Kernels that wait for each other, and the words that each works on.
const STEPS: usize = 16;
const SHORT: usize = 4096;
/// Kernels that run beside each other.
const KERNELS: usize = 8;

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "overlap",
        advice: "Let transfers and kernels of different pieces of work overlap, by several queues.",
        sources: &[hip("Application level"), hip("Device level"), dace("Streams")],
        without: "eight pieces written, worked on and read in one queue",
        with: "the same in four queues",
        experiment: pieces,
        ..usual(Topic::Queues, Clock::Host)
    },
    Guideline {
        name: "one-queue-for-sequences",
        advice: "Keep kernels that wait for each other in one queue.",
        sources: &[dace("Stream and synchronization overhead")],
        without: "16 axpy, each of the one before, in two queues by turns, waited for each time",
        with: "the same in one queue",
        experiment: sequence,
        ..usual(Topic::Queues, Clock::Host)
    },
    Guideline {
        name: "concurrent-kernels",
        advice: "Run kernels that are too small for the device beside each other, by several queues.",
        sources: &[hip("Device level"), hip("Synchronization")],
        without: "eight kernels of one work-group in one queue",
        with: "the same in four queues",
        experiment: small_kernels,
        ..usual(Topic::Queues, Clock::Host)
    },
];

/// Seconds from when `work` begins until all its queues are done; making queues is not part of it.
pub(super) fn timed_in_queues<'env>(
    bench: &Bench<'env>,
    count: usize,
    work: impl FnOnce(&Queues<'env>) -> Result<(), OpenClError>,
) -> Result<f64, Trouble> {
    Ok(with_queues(bench.context, count, |queues| {
        let start = Instant::now();
        work(queues)?;
        queues.finish()?;
        Ok(start.elapsed().as_secs_f64())
    })?)
}

fn small_kernels(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(FILE)?;
    let rounds = bench.scaled(4, 4096, 16384);
    let source = bench.buffer(&bench.fractions(4 * GROUP), "source of small kernels")?;
    let outputs = || (0..KERNELS).map(|_| bench.zeros(4 * GROUP)).collect::<Result<Vec<_>, _>>();
    let outputs = [outputs()?, outputs()?];
    let [without, with] = [(1, &outputs[0]), (QUEUES, &outputs[1])].map(|(count, outputs)| {
        let ready = outputs.iter().map(|output| Ready::new(&program, &call(output, &source, rounds), None));
        let ready = ready.collect::<Result<Vec<_>, _>>()?;
        let run = move || {
            timed_in_queues(bench, count, |queues| {
                ready.iter().enumerate().try_for_each(|(k, ready)| queues.launch(k, ready).map(drop))
            })
        };
        let result =
            move || Ok(outputs.iter().map(|output| bench.read(output)).collect::<Result<Vec<_>, _>>()?.concat());
        Ok::<_, Trouble>(Side { run: Box::new(run), result: Box::new(result) })
    });
    bench.compare(without?, with?)
}

fn sequence(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program("guidelines_memory.cl")?;
    let source = bench.source(SHORT)?;
    let fields = [bench.zeros(SHORT)?, bench.zeros(SHORT)?, bench.zeros(SHORT)?, bench.zeros(SHORT)?];
    let pairs = [(2, [&fields[0], &fields[1]]), (1, [&fields[2], &fields[3]])];
    let [without, with] = pairs.map(|(count, [even, odd])| {
        let step = |k: usize| {
            let (to, from) = if k % 2 == 0 { (even, odd) } else { (odd, even) };
            let from = if k == 0 { &source } else { from };
            Ready::new(&program, &Call::axpy([from, &source], 0, SHORT).to(to), None)
        };
        let steps = (0..STEPS).map(step).collect::<Result<Vec<_>, _>>()?;
        let run = move || {
            timed_in_queues(bench, count, |queues| {
                for (k, step) in steps.iter().enumerate() {
                    queues.launch(k, step)?;
                    if count > 1 {
                        queues.finish_one(k)?;
                    }
                }
                Ok(())
            })
        };
        let last = if STEPS % 2 == 1 { even } else { odd };
        Ok::<_, Trouble>(Side { run: Box::new(run), result: Box::new(move || bench.read(last)) })
    });
    bench.compare(without?, with?)
}

/// Chains of multiply-adds of all floats of a buffer, four an item.
fn call<'a>(output: &'a Buffer, source: &'a Buffer, rounds: usize) -> Call<'a> {
    let items = source.bytes() / size_of::<[f32; 4]>();
    let args = vec![Arg::Buffer(source), Arg::U32(rounds as u32), Arg::F32(-1e-4)];
    Call::new("chains_together", items, GROUP, args).to(output)
}

/// Writes, works on and reads pieces.
fn pieces(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(FILE)?;
    let (words, rounds) = (bench.words(), bench.scaled(4, 64, 1024));
    let bytes = words * size_of::<f32>();
    let piece = bytes / PIECES;
    // Pinned: from other memory a driver may copy while the call waits.
    let mut content = bench.context.allocate_host(bytes, "what is written in pieces")?;
    content.as_mut_slice().copy_from_slice(bytemuck::cast_slice(&bench.fractions(words)));
    let pair = |_| Ok([bench.zeros(words / PIECES)?, bench.zeros(words / PIECES)?]);
    let buffers = (0..2 * PIECES).map(pair).collect::<Result<Vec<_>, Trouble>>()?;
    let (first, second) = buffers.split_at(PIECES);
    let [without, with] = [(1, first), (QUEUES, second)].map(|(count, buffers)| {
        let received = Rc::new(RefCell::new(bench.context.allocate_host(bytes, "what is read in pieces")?));
        let (result, content) = (Rc::clone(&received), content.as_slice());
        let ready = buffers.iter().map(|[input, output]| Ready::new(&program, &call(output, input, rounds), None));
        let ready = ready.collect::<Result<Vec<_>, _>>()?;
        let run = move || {
            let mut received = received.borrow_mut();
            let to = received.as_mut_slice().chunks_mut(piece);
            timed_in_queues(bench, count, |queues| {
                for (k, ((from, to), [input, output])) in content.chunks(piece).zip(to).zip(buffers).enumerate() {
                    queues.write(k, input, 0, from)?;
                    queues.launch(k, &ready[k])?;
                    queues.read(k, output, 0, to)?;
                    queues.flush()?;
                }
                Ok(())
            })
        };
        let result = move || Ok(words_of(result.borrow().as_slice()));
        Ok::<_, Trouble>(Side { run: Box::new(run), result: Box::new(result) })
    });
    bench.compare(without?, with?)
}
