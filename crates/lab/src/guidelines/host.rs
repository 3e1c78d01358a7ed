//! Memory of the host that the device reaches: pinned, for faster transfers, or worked in by kernels without any.

use std::cell::RefCell;

use lanefield::backend::opencl::{Arg, Buffer, Program};

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Clock, Guideline, Topic, dace, hip, usual};
use super::sides::{Measured, Side, Trouble, words_of};

const TRANSFER: &str = "Data Transfer";

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "pinned-host-memory",
        advice: "Transfer from and to pinned memory of the host, which the device fetches by itself.",
        sources: &[hip(TRANSFER), dace("Memory (CPU_Pinned)")],
        without: "write and read, host memory as the system gives it",
        with: "write and read, pinned host memory",
        experiment: pinned,
        ..usual(Topic::Transfers, Clock::Host)
    },
    Guideline {
        name: "mapped-host-memory",
        advice: "Let kernels work in mapped, pinned memory of the host on data that they touch once, with no transfer.",
        sources: &[hip(TRANSFER)],
        without: "written from pinned memory, copied by a kernel, read",
        with: "copied by a kernel in the host's memory",
        experiment: |bench| transfers_or_none(bench, false),
        ..usual(Topic::Transfers, Clock::Host)
    },
    Guideline {
        name: "zero-copy",
        advice: "Map buffers of a device whose memory is the host's instead of copying them.",
        sources: &[hip(TRANSFER)],
        without: "written from pinned memory, copied by a kernel, read",
        with: "filled and looked at where the kernel works on it",
        experiment: |bench| transfers_or_none(bench, true),
        ..usual(Topic::Transfers, Clock::Host)
    },
];

/// Writes to a buffer, and reads it back to other memory.
fn pinned(bench: &Bench<'_>) -> Result<Measured, Trouble> {
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

/// The host fills memory, a kernel copies it, the host takes the copy: by transfers from and to memory of the host that is pinned, or with the
/// kernel working in the host's memory. For devices whose memory is the host's, or for the others.
fn transfers_or_none(bench: &Bench<'_>, shares_host_memory: bool) -> Result<Measured, Trouble> {
    let (context, name) = (bench.context, &bench.context.info().name);
    if context.shares_host_memory() != shares_host_memory {
        let reason = match shares_host_memory {
            true => format!("{name} has memory of its own: see mapped-host-memory"),
            false => format!("the memory of {name} is the host's: see zero-copy"),
        };
        return Err(Trouble::DoesNotApply { reason });
    }
    let program = bench.program("guidelines_memory.cl")?;
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
