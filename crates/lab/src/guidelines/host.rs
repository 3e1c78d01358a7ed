//! Experiments timed by the host's clock: launches, several queues, transfers, host memory that the device can access, allocation.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use lanefield::backend::opencl::{Arg, Buffer, OpenClError, Program};

use super::bench::{Bench, Call, GROUP};
use super::opencl::{Queues, Ready, with_queues};
use super::sides::{Measured, Side, Trouble, words_of};

const MEMORY: &str = "guidelines_memory.cl";
const ARITHMETIC: &str = "guidelines_arithmetic.cl";
/// Number of launches instead of one, and the words of each.
const LAUNCHES: usize = 64;
const TINY: usize = 4096;
const QUEUES: usize = 4;
/// Number of pieces that are written, processed and read.
const PIECES: usize = 8;
/// Number of kernels that wait for each other, and the words of each.
const WAITING: usize = 16;
const SHORT: usize = 4096;
/// Number of kernels that run concurrently.
const KERNELS: usize = 8;
/// Number of small transfers, and the bytes of each.
const TRANSFERS: usize = 64;
const SMALL: usize = 4096;
/// Number of steps that need a temporary buffer between two kernels.
const STEPS: usize = 8;
/// Number of buffers that would fill a device's memory.
const PARTS: u64 = 8;
/// The most bytes to allocate beyond a device's memory, which a driver may move to host memory.
const BEYOND: u64 = 1 << 30;

pub(super) fn launches(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(MEMORY)?;
    let words = LAUNCHES * TINY;
    let (x, y) = (bench.source(words)?, bench.source(words)?);
    let outputs = [bench.zeros(words)?, bench.zeros(words)?];
    let many: Vec<_> = (0..LAUNCHES).map(|k| Call::axpy([&x, &y], k * TINY, TINY).to(&outputs[0])).collect();
    let one = [Call::axpy([&x, &y], 0, words).to(&outputs[1])];
    let without = bench.calls(|| bench.launch(&program, &many).map(drop), &outputs[0]);
    let with = bench.calls(|| bench.launch(&program, &one).map(drop), &outputs[1]);
    bench.compare(without, with)
}

/// Seconds from the start of `work` until all its queues are done, without the time to create queues.
fn timed_in_queues<'env>(
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

pub(super) fn small_kernels(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(ARITHMETIC)?;
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

pub(super) fn sequence(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(MEMORY)?;
    let source = bench.source(SHORT)?;
    let fields = [bench.zeros(SHORT)?, bench.zeros(SHORT)?, bench.zeros(SHORT)?, bench.zeros(SHORT)?];
    let pairs = [(2, [&fields[0], &fields[1]]), (1, [&fields[2], &fields[3]])];
    let [without, with] = pairs.map(|(count, [even, odd])| {
        let step = |k: usize| {
            let (to, from) = if k.is_multiple_of(2) { (even, odd) } else { (odd, even) };
            let from = if k == 0 { &source } else { from };
            Ready::new(&program, &Call::axpy([from, &source], 0, SHORT).to(to), None)
        };
        let steps = (0..WAITING).map(step).collect::<Result<Vec<_>, _>>()?;
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
        let last = if WAITING % 2 == 1 { even } else { odd };
        Ok::<_, Trouble>(Side { run: Box::new(run), result: Box::new(move || bench.read(last)) })
    });
    bench.compare(without?, with?)
}

/// Chains of multiply-adds on all floats of a buffer, four per item.
fn call<'a>(output: &'a Buffer, source: &'a Buffer, rounds: usize) -> Call<'a> {
    let items = source.bytes() / size_of::<[f32; 4]>();
    let args = vec![Arg::Buffer(source), Arg::U32(rounds as u32), Arg::F32(-1e-4)];
    Call::new("chains_together", items, GROUP, args).to(output)
}

pub(super) fn pieces(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(ARITHMETIC)?;
    let (words, rounds) = (bench.words(), bench.scaled(4, 64, 1024));
    let bytes = words * size_of::<f32>();
    let piece = bytes / PIECES;
    // Pinned memory: from other memory a driver may copy while the call waits.
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

pub(super) fn round_trip(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(MEMORY)?;
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

pub(super) fn batches(bench: &Bench<'_>) -> Result<Measured, Trouble> {
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

/// Writes to a buffer, and reads it back to other memory.
pub(super) fn pinned(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let words = bench.random(bench.words());
    let pageable: &[u8] = bytemuck::cast_slice(&words);
    let bytes = pageable.len();
    let allocate = || bench.context.allocate_host(bytes, "pinned memory");
    let (mut pinned, mut pinned_received, mut received) = (allocate()?, allocate()?, vec![0; bytes]);
    pinned.as_mut_slice().copy_from_slice(pageable);
    let sources = [pageable, pinned.as_slice()];
    let received = [received.as_mut_slice(), pinned_received.as_mut_slice()].map(RefCell::new);
    let buffers = [bench.zeros(words.len())?, bench.zeros(words.len())?];
    let [without, with] = [0, 1].map(|side: usize| {
        let (source, buffer, received) = (sources[side], &buffers[side], &received[side]);
        let run = move || {
            let mut received = received.borrow_mut();
            bench.wall(|| {
                bench.context.write(buffer, 0, source)?;
                Ok(bench.context.read(buffer, 0, &mut received)?)
            })
        };
        Side { run: Box::new(run), result: Box::new(move || Ok(words_of(&received.borrow()))) }
    });
    bench.compare(without, with)
}

/// The host fills memory, a kernel copies it, and the host reads the copy: with transfers from and to pinned host memory, or with the kernel
/// working in host memory. It runs on devices that share the host's memory, or on those that do not.
pub(super) fn transfers_or_none(bench: &Bench<'_>, shares_host_memory: bool) -> Result<Measured, Trouble> {
    let (context, name) = (bench.context, &bench.context.info().name);
    if context.shares_host_memory() != shares_host_memory {
        let reason = match shares_host_memory {
            true => format!("{name} has memory of its own: see mapped-host-memory"),
            false => format!("the memory of {name} is the host's: see zero-copy"),
        };
        return Err(Trouble::DoesNotApply { reason });
    }
    let program = bench.program(MEMORY)?;
    let content = bench.random(bench.words());
    let content: &[u8] = bytemuck::cast_slice(&content);
    let bytes = content.len();
    let taken = [0, 1].map(|_| RefCell::new(vec![0u8; bytes]));

    let mut staging = context.allocate_host(bytes, "pinned memory for transfers")?;
    let device = [context.allocate(bytes, "device's words")?, context.allocate(bytes, "device's copy")?];
    let mut by_transfers = || {
        staging.as_mut_slice().copy_from_slice(content);
        context.write(&device[0], 0, staging.as_slice())?;
        copy(bench, &program, &device[1], &device[0])?;
        context.read(&device[1], 0, staging.as_mut_slice())?;
        taken[0].borrow_mut().copy_from_slice(staging.as_slice());
        Ok(())
    };
    let mut from = context.allocate_reachable(bytes, "the host's words")?;
    let mut to = context.allocate_reachable(bytes, "the host's copy")?;
    let mut in_place = || {
        context.write_mapped(&mut from, 0, content)?;
        copy(bench, &program, &to, &from)?;
        context.read_mapped(&mut to, 0, bytes, |copy| taken[1].borrow_mut().copy_from_slice(copy))?;
        Ok(())
    };
    let result = |side: usize| {
        let taken = &taken[side];
        Box::new(move || Ok(words_of(&taken.borrow())))
    };
    let without = Side { run: Box::new(|| bench.wall(&mut by_transfers)), result: result(0) };
    let with = Side { run: Box::new(|| bench.wall(&mut in_place)), result: result(1) };
    bench.compare(without, with)
}

fn copy(bench: &Bench<'_>, program: &Program, to: &Buffer, from: &Buffer) -> Result<(), Trouble> {
    let call = Call::new("copy_four_words", to.bytes() / 16, GROUP, vec![Arg::Buffer(from)]);
    bench.launch(program, &[call.to(to)]).map(drop)
}

pub(super) fn each_time_or_once(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(MEMORY)?;
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
            // Allocated by the driver each time, not from the pool.
            bench.context.trim_memory();
        }
        Ok(())
    };
    let without = bench.calls(each_time, &outputs[0]);
    let with = bench.calls(|| (0..STEPS).try_for_each(|_| step(&kept, &outputs[1])), &outputs[1]);
    bench.compare(without, with)
}

pub(super) fn beyond_memory(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let info = bench.context.info();
    let (all, most) = (info.global_memory_bytes, info.max_allocation_bytes);
    let mut told = match attempt(bench, most.saturating_mul(2))? {
        Ok(_) => format!("one buffer of {}, twice the largest that is promised: given", gib(2 * most)),
        Err(status) => format!("one buffer of {}, twice the largest: refused, {status}", gib(2 * most)),
    };
    // Host memory must not be filled, since other programs need it.
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

/// Allocates this number of bytes, which no kernel touches. Returns the driver's status if it fails.
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
