//! Experiments with two kernels each, timed by the device's clock: accesses, on-chip memory, reuse, groups, arithmetic, and cooperating work-items.

use lanefield::backend::opencl::{Arg, Launch};

use super::bench::{Bench, Call, GROUP};
use super::opencl::{Image, Ready, with_queues};
use super::sides::{Measured, Side, Trouble};

const MEMORY: &str = "guidelines_memory.cl";
const ARITHMETIC: &str = "guidelines_arithmetic.cl";
const LAUNCHES: &str = "guidelines_launches.cl";
/// A width of rows that no wavefront size divides, and the width to which it is padded.
const WIDTH: usize = 1001;
const PITCH: usize = 1024;
/// Words in the table of coefficients, as in the kernels.
const TABLE: usize = 256;
/// Rows of a tile in local memory: the number of banks.
const BANKS: usize = 32;
const TILE: usize = 16;
/// Words in an item's private array.
const OWN: u32 = 16;
/// Words in a row whose columns are added up, and rows per result, as in the kernels.
const COLUMNS: usize = 1024;
const SUMMED: usize = 8;
/// Words per row and rows per plane of a three-dimensional array; not powers of two, so that dividing by them is not a shift.
const ROW: usize = 3 * GROUP;
const ROWS: usize = 10;
/// Number of phases after which work-items wait for each other: an even number.
const PHASES: usize = 8;

/// Copies starting at word `offset`, with items rotated by this number of bits.
pub(super) fn copies(bench: &Bench<'_>, sides: [(usize, u32); 2]) -> Result<Measured, Trouble> {
    let words = bench.words();
    let shifted = |(offset, _): (usize, u32)| {
        let mut content = vec![0; offset];
        content.extend(bench.random(words));
        bench.buffer(&content, "source words, shifted")
    };
    let sources = [shifted(sides[0])?, shifted(sides[1])?];
    let calls = [0, 1].map(|side| {
        let (offset, turn) = sides[side];
        let args = vec![Arg::Buffer(&sources[side]), Arg::U32(offset as u32), Arg::U32(turn), Arg::U32(bench.bits())];
        Call::new("copy_word", words, GROUP, args)
    });
    bench.compare_kernels(MEMORY, words, calls)
}

pub(super) fn widths(bench: &Bench<'_>, kernels: [(&'static str, usize); 2]) -> Result<Measured, Trouble> {
    let words = bench.words();
    let source = bench.source(words)?;
    let calls = kernels.map(|(kernel, words_an_item)| {
        let mut args = vec![Arg::Buffer(&source)];
        if kernel == "copy_word" {
            // Neither shifted nor rotated.
            args.extend([Arg::U32(0), Arg::U32(0), Arg::U32(bench.bits())]);
        }
        Call::new(kernel, words / words_an_item, GROUP, args)
    });
    bench.compare_kernels(MEMORY, words, calls)
}

pub(super) fn rows(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let rows = bench.words() / PITCH;
    let program = bench.program(MEMORY)?;
    let content = bench.random(rows * WIDTH);
    let padded: Vec<u32> = content
        .chunks(WIDTH)
        .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0, PITCH - WIDTH)))
        .collect();
    let sources = [bench.buffer(&content, "rows")?, bench.buffer(&padded, "padded rows")?];
    let outputs = [bench.zeros(rows * WIDTH)?, bench.zeros(rows * PITCH)?];
    let [without, mut with] = [WIDTH, PITCH].map(|pitch| {
        let side = usize::from(pitch == PITCH);
        let args = vec![Arg::Buffer(&sources[side]), Arg::U32(WIDTH as u32), Arg::U32(pitch as u32)];
        let call = Call::rows("copy_rows", PITCH, rows, args).to(&outputs[side]);
        bench.kernels(&program, vec![call], &outputs[side])
    });
    with.result = Box::new(|| {
        let padded = bench.read(&outputs[1])?;
        Ok(padded.chunks(PITCH).flat_map(|row| &row[..WIDTH]).copied().collect())
    });
    bench.compare(without, with)
}

pub(super) fn transposes(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let width = 1usize << (bench.bits() / 2);
    let words = width * width;
    let source = bench.source(words)?;
    let calls = ["transpose_directly", "transpose_in_local_memory"].map(|kernel| {
        let args = vec![Arg::Buffer(&source), Arg::U32(width as u32)];
        Call::new(kernel, words, TILE * TILE, args)
    });
    bench.compare_kernels(MEMORY, words, calls)
}

pub(super) fn columns_of_tiles(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let (items, rounds) = (bench.items(), bench.scaled(4, 256, 1024));
    let source = bench.source(items / GROUP * BANKS * BANKS)?;
    let calls = [BANKS, BANKS + 1].map(|pitch| {
        let tile = Arg::Local(BANKS * pitch * size_of::<u32>());
        let args = vec![Arg::Buffer(&source), tile, Arg::U32(pitch as u32), Arg::U32(rounds as u32)];
        Call::new("columns_of_tile", items, GROUP, args)
    });
    bench.compare_kernels(MEMORY, items, calls)
}

/// Two kernels, each with the distance in coefficients between the starting points of neighbouring items.
pub(super) fn tables(bench: &Bench<'_>, sides: [(&'static str, u32); 2]) -> Result<Measured, Trouble> {
    let items = bench.items();
    let (source, table) = (bench.source(items)?, bench.source(TABLE)?);
    let calls = sides.map(|(kernel, spread)| {
        let args = vec![Arg::Buffer(&source), Arg::Buffer(&table), Arg::U32(spread)];
        Call::new(kernel, items, GROUP, args)
    });
    bench.compare_kernels(MEMORY, items, calls)
}

pub(super) fn windows(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let Some([most_width, most_height]) = Image::largest(bench.context) else {
        return bench.lacks("images");
    };
    // Small images on CPUs, whose drivers read each texel with a function call.
    let width = bench.scaled(2 * TILE, 128, 2048).min(most_width.min(most_height) / TILE * TILE);
    let texels = width * width;
    let content = bench.fractions(4 * texels);
    let buffer = bench.buffer(&content, "texels in a buffer")?;
    let image = Image::new(bench.context, width, &content)?;
    let program = bench.program(MEMORY)?;
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

pub(super) fn own_arrays(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let (items, rounds) = (bench.items(), bench.scaled(2, 32, 64));
    let source = bench.source(items)?;
    let calls = ["own_array_by_argument", "own_array_by_constant"].map(|kernel| {
        let args = vec![Arg::Buffer(&source), Arg::U32(rounds as u32), Arg::U32(OWN)];
        Call::new(kernel, items, GROUP, args)
    });
    bench.compare_kernels(MEMORY, items, calls)
}

pub(super) fn column_sums(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let rows = bench.words() / COLUMNS;
    let source = bench.source((rows + SUMMED) * COLUMNS)?;
    let calls = [("column_sums", rows), ("column_sums_of_four", rows / 4)].map(|(kernel, rows)| {
        let args = vec![Arg::Buffer(&source), Arg::U32(COLUMNS as u32)];
        Call::rows(kernel, COLUMNS, rows, args)
    });
    bench.compare_kernels(MEMORY, rows * COLUMNS, calls)
}

pub(super) fn passes(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(MEMORY)?;
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

pub(super) fn ranges(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let planes = (bench.words() / (ROW * ROWS)).max(1);
    let words = planes * ROWS * ROW;
    let source = bench.source(words)?;
    let sides = [("weigh_by_division", [words, 1, 1]), ("weigh_by_range", [ROW, ROWS, planes])];
    let calls = sides.map(|(kernel, global)| {
        let args = vec![Arg::Buffer(&source), Arg::U32(ROW as u32), Arg::U32(ROWS as u32)];
        Call { kernel, launch: Launch { global, local: [GROUP, 1, 1] }, args }
    });
    bench.compare_kernels(MEMORY, words, calls)
}

/// One word per item, in groups of two sizes.
pub(super) fn sizes(bench: &Bench<'_>, sizes: [usize; 2]) -> Result<Measured, Trouble> {
    axpys(bench, sizes.map(|size| (bench.words().next_multiple_of(size), size)))
}

pub(super) fn axpys(bench: &Bench<'_>, sides: [(usize, usize); 2]) -> Result<Measured, Trouble> {
    let words = bench.words();
    let (x, y) = (bench.source(words)?, bench.source(words)?);
    let calls = sides.map(|(items, group)| {
        let launch = Launch { global: [items, 1, 1], local: [group, 1, 1] };
        Call { launch, ..Call::axpy([&x, &y], 0, words) }
    });
    bench.compare_kernels(MEMORY, words, calls)
}

/// Two kernels with this number of items and this group size on the same content; their results have the same length. `rest`: the arguments of each
/// after output and input.
pub(super) fn arithmetic<T: bytemuck::NoUninit>(
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
    bench.compare_kernels(ARITHMETIC, size_of_val(content) / size_of::<u32>(), calls)
}

pub(super) fn sums(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(LAUNCHES)?;
    let words = (bench.words() / 16).max(GROUP);
    let source = bench.source(words)?;
    let outputs = [bench.zeros(1)?, bench.zeros(1)?];
    let side = |kernel, output, rest: Option<Arg<'static>>| {
        let args = std::iter::once(Arg::Buffer(&source)).chain(rest).collect();
        let call = Call::new(kernel, words, GROUP, args).to(output);
        let Side { mut run, result } = bench.kernels(&program, vec![call], output);
        let after_zeros = move || {
            bench.context.fill_zero(output)?;
            run()
        };
        Side { run: Box::new(after_zeros), result }
    };
    let without = side("sum_by_atomics", &outputs[0], None);
    let with = side("sum_by_trees", &outputs[1], Some(Arg::Local(GROUP * size_of::<u32>())));
    bench.compare(without, with)
}

pub(super) fn phases(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let program = bench.program(LAUNCHES)?;
    let words = (bench.words() / 16).max(GROUP);
    let source = bench.source(words)?;
    let between = [bench.zeros(words)?, bench.zeros(words)?];
    let output = bench.zeros(words)?;
    let from = |phase: usize| if phase == 0 { &source } else { &between[(phase - 1) % 2] };
    let phase = |phase: usize| Call::new("phase", words, GROUP, vec![Arg::Buffer(from(phase))]).to(&between[phase % 2]);
    let without = bench.kernels(&program, (0..PHASES).map(phase).collect(), &between[(PHASES - 1) % 2]);
    let args = vec![Arg::Buffer(&source), Arg::Local(GROUP * size_of::<u32>()), Arg::U32(PHASES as u32)];
    let call = Call::new("phases_with_barriers", words, GROUP, args).to(&output);
    let with = bench.kernels(&program, vec![call], &output);
    bench.compare(without, with)
}
