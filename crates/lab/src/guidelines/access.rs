//! Accesses to device memory: neighbouring, aligned, wide, in padded rows.

use lanefield::backend::opencl::Arg;

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Clock, Guideline, Topic, dace, hip, usual};
use super::sides::{Measured, Trouble};

/// The programs of this topic.
const FILE: &str = "guidelines_memory.cl";
/// Words between the accesses of neighbouring items, as a power of two: one 128-byte line each.
const STRIDE: u32 = 5;
/// Words before aligned data: a line.
const ALIGNED: usize = 32;
/// A width of rows that no wavefront divides, and what it is padded to.
const WIDTH: usize = 1001;
const PITCH: usize = 1024;

const MEMORY: &str = "Device Memory Access";

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "coalesced",
        advice: "Let work-items that run in step access words that lie next to each other.",
        sources: &[hip(MEMORY), dace("Global memory access")],
        without: "copy, neighbouring items 128 bytes apart",
        with: "copy, neighbouring items on neighbouring words",
        experiment: |bench| copies(bench, [(ALIGNED, STRIDE), (ALIGNED, 0)]),
        ..usual(Topic::Access, Clock::Device)
    },
    Guideline {
        name: "aligned",
        advice: "Let the accesses of a wavefront begin where a transaction of 32, 64 or 128 bytes begins.",
        sources: &[hip(MEMORY)],
        without: "copy from one word behind a line's start",
        with: "copy from a line's start",
        experiment: |bench| copies(bench, [(ALIGNED + 1, 0), (ALIGNED, 0)]),
        ..usual(Topic::Access, Clock::Device)
    },
    Guideline {
        name: "wide-8",
        advice: "Access 8 bytes at a time rather than 4.",
        sources: &[hip(MEMORY), dace("Global memory access")],
        without: "copy, 4 bytes a work-item",
        with: "copy, 8 bytes a work-item",
        experiment: |bench| widths(bench, [("copy_word", 1), ("copy_two_words", 2)]),
        ..usual(Topic::Access, Clock::Device)
    },
    Guideline {
        name: "wide-16",
        advice: "Access 16 bytes at a time rather than 4.",
        sources: &[hip(MEMORY), dace("Global memory access")],
        without: "copy, 4 bytes a work-item",
        with: "copy, 16 bytes a work-item",
        experiment: |bench| widths(bench, [("copy_word", 1), ("copy_four_words", 4)]),
        ..usual(Topic::Access, Clock::Device)
    },
    Guideline {
        name: "natural-alignment",
        advice: "Use types of 8 or 16 bytes that are aligned by nature, so that what a work-item needs takes one access and not several.",
        sources: &[hip(MEMORY), dace("Global memory access")],
        without: "copy, 16 bytes a work-item as four words",
        with: "copy, 16 bytes a work-item as one vector",
        experiment: |bench| widths(bench, [("copy_four_by_one", 4), ("copy_four_words", 4)]),
        ..usual(Topic::Access, Clock::Device)
    },
    Guideline {
        name: "padded-rows",
        advice: "Pad the rows of a two-dimensional array to a multiple of the wavefront.",
        sources: &[hip(MEMORY)],
        without: "rows of 1001 words, 1001 words apart",
        with: "rows of 1001 words, 1024 words apart",
        experiment: rows,
        ..usual(Topic::Access, Clock::Device)
    },
];

/// Copies from words `offset` on, items turned by so many bits.
fn copies(bench: &Bench<'_>, sides: [(usize, u32); 2]) -> Result<Measured, Trouble> {
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
    bench.compare_kernels(FILE, words, calls)
}

/// Copies by two kernels of so many words an item.
fn widths(bench: &Bench<'_>, kernels: [(&'static str, usize); 2]) -> Result<Measured, Trouble> {
    let words = bench.words();
    let source = bench.source(words)?;
    let calls = kernels.map(|(kernel, words_an_item)| {
        let mut args = vec![Arg::Buffer(&source)];
        if kernel == "copy_word" {
            // Neither shifted nor turned.
            args.extend([Arg::U32(0), Arg::U32(0), Arg::U32(bench.bits())]);
        }
        Call::new(kernel, words / words_an_item, GROUP, args)
    });
    bench.compare_kernels(FILE, words, calls)
}

fn rows(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let rows = bench.words() / PITCH;
    let program = bench.program(FILE)?;
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
