//! Sizes, numbers and dimensions of work-groups, mostly on a kernel that does nothing but stream: axpy.

use lanefield::backend::opencl::{Arg, Launch};

use super::bench::{Bench, Call, GROUP};
use super::guideline::{Clock, Guideline, Topic, dace, hip, usual};
use super::sides::{Measured, Trouble};

/// The programs of this topic.
const FILE: &str = "guidelines_memory.cl";
/// Groups a compute unit that stay for all of the work.
const GROUPS_A_UNIT: usize = 8;

/// Words of a row and rows of a plane of an array of three dimensions: what divides by them is no shift.
const WIDTH: usize = 3 * GROUP;
const ROWS: usize = 10;

const OCCUPANCY: &str = "Multiprocessor level";

pub(super) const GUIDELINES: &[Guideline] = &[
    Guideline {
        name: "group-fills-wavefront",
        advice: "Give a work-group at least as many work-items as run in step.",
        sources: &[hip(OCCUPANCY), dace("Block size")],
        without: "axpy, groups of 8 items",
        with: "axpy, groups of 64 items",
        experiment: |bench| sizes(bench, |_| [8, 64]),
        ..usual(Topic::Groups, Clock::Device)
    },
    Guideline {
        name: "group-multiple-of-wavefront",
        advice: "Give a work-group a multiple of the work-items that run in step.",
        sources: &[hip("Device Memory Access"), dace("Using AMD GPUs")],
        without: "axpy, groups of a wavefront and a half",
        with: "axpy, groups of two wavefronts",
        experiment: |bench| sizes(bench, |wavefront| [wavefront + wavefront / 2, 2 * wavefront]),
        ..usual(Topic::Groups, Clock::Device)
    },
    Guideline {
        name: "occupancy",
        advice: "Keep enough wavefronts on a compute unit for one to be ready while others wait.",
        sources: &[hip(OCCUPANCY)],
        without: "axpy, one group of 64 items for each compute unit",
        with: "axpy, eight groups of 256 items for each compute unit",
        experiment: |bench| {
            let units = bench.context.info().compute_units.max(1) as usize;
            axpys(bench, [(64 * units, 64), (GROUPS_A_UNIT * GROUP * units, GROUP)])
        },
        ..usual(Topic::Groups, Clock::Device)
    },
    Guideline {
        name: "block-size",
        advice: "Choose the size of a work-group by measurement, for neither the smallest nor the largest is best.",
        sources: &[dace("Block size")],
        without: "axpy, groups of 64 items",
        with: "axpy, groups of 256 items",
        experiment: |bench| sizes(bench, |_| [64, GROUP]),
        ..usual(Topic::Groups, Clock::Device)
    },
    Guideline {
        name: "persistent-groups",
        advice: "Launch as many work-groups as the device holds, and let each do many pieces of work.",
        sources: &[dace("Advanced GPU Map schedules")],
        without: "axpy, one word an item",
        with: "axpy, eight groups for each compute unit that stay",
        experiment: |bench| {
            let units = bench.context.info().compute_units.max(1) as usize;
            axpys(bench, [(bench.words(), GROUP), (GROUPS_A_UNIT * GROUP * units, GROUP)])
        },
        ..usual(Topic::Groups, Clock::Device)
    },
    Guideline {
        name: "range-dimensions",
        advice: "Launch over the dimensions of an array rather than find its indices by division.",
        sources: &[dace("Multi-Dimensional Maps")],
        without: "an array of three dimensions, indices by division",
        with: "the same, indices from the launch's range",
        experiment: ranges,
        ..usual(Topic::Groups, Clock::Device)
    },
];

fn ranges(bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let planes = (bench.words() / (WIDTH * ROWS)).max(1);
    let words = planes * ROWS * WIDTH;
    let source = bench.source(words)?;
    let sides = [("weigh_by_division", [words, 1, 1]), ("weigh_by_range", [WIDTH, ROWS, planes])];
    let calls = sides.map(|(kernel, global)| {
        let args = vec![Arg::Buffer(&source), Arg::U32(WIDTH as u32), Arg::U32(ROWS as u32)];
        Call { kernel, launch: Launch { global, local: [GROUP, 1, 1] }, args }
    });
    bench.compare_kernels(FILE, words, calls)
}

/// One word an item, in groups of two sizes that follow from the wavefront.
fn sizes(bench: &Bench<'_>, sizes: impl Fn(usize) -> [usize; 2]) -> Result<Measured, Trouble> {
    let words = bench.words();
    axpys(bench, sizes(bench.wavefront()).map(|size| (words.next_multiple_of(size), size)))
}

/// So many items, in groups of that size.
fn axpys(bench: &Bench<'_>, sides: [(usize, usize); 2]) -> Result<Measured, Trouble> {
    let words = bench.words();
    let (x, y) = (bench.source(words)?, bench.source(words)?);
    let calls = sides.map(|(items, group)| {
        let launch = Launch { global: [items, 1, 1], local: [group, 1, 1] };
        Call { launch, ..Call::axpy([&x, &y], 0, words) }
    });
    bench.compare_kernels(FILE, words, calls)
}
