//! Memories and caches near a compute unit: local memory and its banks, the constant cache, images, arrays of a work-item's own.

use lanefield::backend::opencl::Arg;

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Clock, Guideline, Topic, dace, hip, usual};
use super::opencl::{Image, Ready, with_queues};
use super::sides::{Measured, Side, Trouble};

/// The programs of this topic.
const FILE: &str = "guidelines_memory.cl";
/// Words of the table of coefficients, as the kernels have it.
const TABLE: usize = 256;
/// Rows of a tile in local memory, as many as it has banks.
const BANKS: usize = 32;
/// Texels in each dimension of the tile of a group.
const TILE: usize = 16;
/// Words of an item's own array.
const OWN: u32 = 16;

const MEMORY: &str = "Device Memory Access";

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "local-memory",
        advice: "Stage in local memory what work-items of a group pass on to each other, so that all accesses to device memory are coalesced.",
        sources: &[hip("Memory optimization"), dace("Kernel fusion and data movement")],
        without: "transpose, each item writing where its word belongs",
        with: "transpose, tiles turned in local memory",
        experiment: transposes,
        ..usual(Topic::OnChip, Clock::Device)
    },
    Guideline {
        name: "bank-conflicts",
        advice: "Lay data out in local memory so that work-items that run in step access different banks.",
        sources: &[hip(MEMORY)],
        without: "columns of a tile with rows of 32 words",
        with: "columns of a tile with rows padded to 33 words",
        experiment: columns_of_tiles,
        ..usual(Topic::OnChip, Clock::Device)
    },
    Guideline {
        name: "constant-memory",
        advice: "Keep in constant memory what all work-items read at the same time.",
        sources: &[hip(MEMORY)],
        without: "a table read by all items alike, in global memory",
        with: "the same, in constant memory",
        experiment: |bench| tables(bench, [("table_in_global", 0), ("table_in_constant", 0)]),
        ..usual(Topic::OnChip, Clock::Device)
    },
    Guideline {
        name: "constant-uniform",
        advice: "Let all work-items that run in step read the same address of constant memory, for requests are split by address.",
        sources: &[hip(MEMORY)],
        without: "a table in constant memory, each item at another address",
        with: "the same, all items at one address",
        experiment: |bench| tables(bench, [("table_in_constant", 1), ("table_in_constant", 0)]),
        ..usual(Topic::OnChip, Clock::Device)
    },
    Guideline {
        name: "images",
        advice: "Read data with locality in two dimensions through images, whose cache is made for it.",
        sources: &[hip(MEMORY)],
        without: "sums of 5 × 5 texels from a buffer",
        with: "the same from an image",
        experiment: windows,
        ..usual(Topic::OnChip, Clock::Device)
    },
    Guideline {
        name: "local-loads",
        advice: "Keep arrays of a work-item in registers by indices that the compiler knows, for others go to device memory.",
        sources: &[hip(MEMORY), dace("Global memory access (local loads and stores)")],
        without: "16 words of an item, indexed by an argument",
        with: "the same, indexed by constants",
        experiment: own_arrays,
        ..usual(Topic::OnChip, Clock::Device)
    },
];

fn transposes(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let width = 1usize << (bench.bits() / 2);
    let words = width * width;
    let source = bench.source(words)?;
    let calls = ["transpose_directly", "transpose_in_local_memory"].map(|kernel| {
        let args = vec![Arg::Buffer(&source), Arg::U32(width as u32)];
        Call::new(kernel, words, TILE * TILE, args)
    });
    bench.compare_kernels(FILE, words, calls)
}

fn columns_of_tiles(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let (items, rounds) = (bench.items(), bench.scaled(4, 256, 1024));
    let source = bench.source(items / GROUP * BANKS * BANKS)?;
    let calls = [BANKS, BANKS + 1].map(|pitch| {
        let tile = Arg::Local(BANKS * pitch * size_of::<u32>());
        let args = vec![Arg::Buffer(&source), tile, Arg::U32(pitch as u32), Arg::U32(rounds as u32)];
        Call::new("columns_of_tile", items, GROUP, args)
    });
    bench.compare_kernels(FILE, items, calls)
}

/// Two kernels with how many coefficients apart neighbouring items begin.
fn tables(bench: &Bench<'_>, sides: [(&'static str, u32); 2]) -> Result<Measured, Trouble> {
    let items = bench.items();
    let (source, table) = (bench.source(items)?, bench.source(TABLE)?);
    let calls = sides.map(|(kernel, spread)| {
        let args = vec![Arg::Buffer(&source), Arg::Buffer(&table), Arg::U32(spread)];
        Call::new(kernel, items, GROUP, args)
    });
    bench.compare_kernels(FILE, items, calls)
}

fn windows(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let Some([most_width, most_height]) = Image::largest(bench.context) else {
        let reason = format!("{} has no images", bench.context.info().name);
        return Err(Trouble::DoesNotApply { reason });
    };
    // Images of few texels on CPUs, whose drivers read each by a function call.
    let width = bench.scaled(2 * TILE, 128, 2048).min(most_width.min(most_height) / TILE * TILE);
    let texels = width * width;
    let content = bench.fractions(4 * texels);
    let buffer = bench.buffer(&content, "texels in a buffer")?;
    let image = Image::new(bench.context, width, &content)?;
    let program = bench.program(FILE)?;
    let outputs = [bench.zeros(4 * texels)?, bench.zeros(4 * texels)?];
    let call = |kernel, output, mut args: Vec<_>| {
        args.extend([Arg::I32(width as i32); 2]);
        Call::new(kernel, texels, TILE * TILE, args).to(output)
    };
    let without = call("window_of_buffer", &outputs[0], vec![Arg::Buffer(&buffer)]);
    let without = bench.kernels(&program, vec![without], &outputs[0]);
    let with = call("window_of_image", &outputs[1], Vec::new());
    let ready = Ready::new(&program, &with, Some(&image))?;
    let run = || Ok(with_queues(bench.context, 1, |queues| queues.launch(0, &ready)?.seconds())?);
    bench.compare(without, Side { run: Box::new(run), result: Box::new(|| bench.read(&outputs[1])) })
}

fn own_arrays(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let (items, rounds) = (bench.items(), bench.scaled(2, 32, 64));
    let source = bench.source(items)?;
    let calls = ["own_array_by_argument", "own_array_by_constant"].map(|kernel| {
        let args = vec![Arg::Buffer(&source), Arg::U32(rounds as u32), Arg::U32(OWN)];
        Call::new(kernel, items, GROUP, args)
    });
    bench.compare_kernels(FILE, items, calls)
}
