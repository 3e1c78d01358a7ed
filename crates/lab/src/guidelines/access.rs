//! Accesses to device memory: neighbouring, aligned, wide, in padded rows.

use lanefield::backend::opencl::Arg;

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Agreement, Clock, Guideline, Topic, dace, hip};
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
        topic: Topic::Access,
        advice: "Let work-items that run in step access words that lie next to each other.",
        sources: &[hip(MEMORY), dace("Global memory access")],
        without: "copy, neighbouring items 128 bytes apart",
        with: "copy, neighbouring items on neighbouring words",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: |bench| copies(bench, [(ALIGNED, STRIDE), (ALIGNED, 0)]),
    },
    Guideline {
        name: "aligned",
        topic: Topic::Access,
        advice: "Let the accesses of a wavefront begin where a transaction of 32, 64 or 128 bytes begins.",
        sources: &[hip(MEMORY)],
        without: "copy from one word behind a line's start",
        with: "copy from a line's start",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: |bench| copies(bench, [(ALIGNED + 1, 0), (ALIGNED, 0)]),
    },
    Guideline {
        name: "wide-8",
        topic: Topic::Access,
        advice: "Access 8 bytes at a time rather than 4.",
        sources: &[hip(MEMORY), dace("Global memory access")],
        without: "copy, 4 bytes a work-item",
        with: "copy, 8 bytes a work-item",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: |bench| widths(bench, Narrow::OneWord, "copy_two_words", 2),
    },
    Guideline {
        name: "wide-16",
        topic: Topic::Access,
        advice: "Access 16 bytes at a time rather than 4.",
        sources: &[hip(MEMORY), dace("Global memory access")],
        without: "copy, 4 bytes a work-item",
        with: "copy, 16 bytes a work-item",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: |bench| widths(bench, Narrow::OneWord, "copy_four_words", 4),
    },
    Guideline {
        name: "natural-alignment",
        topic: Topic::Access,
        advice: "Use types of 8 or 16 bytes that are aligned by nature, so that what a work-item needs takes one access and not several.",
        sources: &[hip(MEMORY), dace("Global memory access")],
        without: "copy, 16 bytes a work-item as four words",
        with: "copy, 16 bytes a work-item as one vector",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: |bench| widths(bench, Narrow::FourWords, "copy_four_words", 4),
    },
    Guideline {
        name: "padded-rows",
        topic: Topic::Access,
        advice: "Pad the rows of a two-dimensional array to a multiple of the wavefront.",
        sources: &[hip(MEMORY)],
        without: "rows of 1001 words, 1001 words apart",
        with: "rows of 1001 words, 1024 words apart",
        timed: Clock::Device,
        agreement: Agreement::Words,
        experiment: rows,
    },
];

/// Copies from words `offset` on of two buffers, items turned by so many bits.
fn copies(bench: &Bench<'_>, sides: [(usize, u32); 2]) -> Result<Measured, Trouble> {
    let (words, bits) = (bench.words(), bench.bits());
    let program = bench.program(FILE)?;
    let shifted = |offset: usize| {
        let mut content = vec![0; offset];
        content.extend(bench.random(words));
        bench.buffer(&content, "source words, shifted")
    };
    let sources = [shifted(sides[0].0)?, shifted(sides[1].0)?];
    let outputs = [bench.zeros(words)?, bench.zeros(words)?];
    let [without, with] = [0, 1].map(|side| {
        let (offset, turn) = sides[side];
        let args = vec![
            Arg::Buffer(&outputs[side]),
            Arg::Buffer(&sources[side]),
            Arg::U32(offset as u32),
            Arg::U32(turn),
            Arg::U32(bits),
        ];
        bench.kernels(&program, vec![Call::new("copy_word", words, GROUP, args)], &outputs[side])
    });
    bench.compare(without, with)
}

/// The side of narrow accesses.
enum Narrow {
    /// One word an item.
    OneWord,
    /// Four words an item, one by one.
    FourWords,
}

fn widths(bench: &Bench<'_>, narrow: Narrow, wide: &'static str, words_an_item: usize) -> Result<Measured, Trouble> {
    let words = bench.words();
    let program = bench.program(FILE)?;
    let source = bench.source(words)?;
    let outputs = [bench.zeros(words)?, bench.zeros(words)?];
    let mut args = vec![Arg::Buffer(&outputs[0]), Arg::Buffer(&source)];
    let call = match narrow {
        Narrow::OneWord => {
            args.extend([Arg::U32(0), Arg::U32(0), Arg::U32(bench.bits())]);
            Call::new("copy_word", words, GROUP, args)
        }
        Narrow::FourWords => Call::new("copy_four_by_one", words / 4, GROUP, args),
    };
    let without = bench.kernels(&program, vec![call], &outputs[0]);
    let args = vec![Arg::Buffer(&outputs[1]), Arg::Buffer(&source)];
    let with = bench.kernels(&program, vec![Call::new(wide, words / words_an_item, GROUP, args)], &outputs[1]);
    bench.compare(without, with)
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
        let args = vec![
            Arg::Buffer(&outputs[side]),
            Arg::Buffer(&sources[side]),
            Arg::U32(WIDTH as u32),
            Arg::U32(pitch as u32),
        ];
        bench.kernels(&program, vec![Call::rows("copy_rows", PITCH, rows, args)], &outputs[side])
    });
    with.result = Box::new(|| {
        let padded = bench.read(&outputs[1])?;
        Ok(padded.chunks(PITCH).flat_map(|row| &row[..WIDTH]).copied().collect())
    });
    bench.compare(without, with)
}
