//! The experiment of each guideline, by its name in `guidelines.toml`.

use lanefield::backend::opencl::Arg;

use super::bench::{Bench, GROUP};
use super::sides::{Measured, Trouble};
use super::{host, kernels};

/// Offset of aligned data in words: one line.
const ALIGNED: usize = 32;
/// Distance between the accesses of neighbouring items in words, as a power of two: one 128-byte line each.
const STRIDE: u32 = 5;
/// Grid-stride groups per compute unit.
const GROUPS_A_UNIT: usize = 8;
const TERMS: u32 = 16;

/// Runs both sides of an experiment, first the one that does not follow the guideline.
pub(super) fn measure(name: &str, bench: &Bench<'_>) -> Result<Measured, Trouble> {
    let units = bench.context.info().compute_units.max(1) as usize;
    let staying = (GROUPS_A_UNIT * GROUP * units, GROUP);
    let (items, rounds) = (bench.items(), Arg::U32(bench.scaled(4, 256, 1024) as u32));
    match name {
        "coalesced" => kernels::copies(bench, [(ALIGNED, STRIDE), (ALIGNED, 0)]),
        "aligned" => kernels::copies(bench, [(ALIGNED + 1, 0), (ALIGNED, 0)]),
        "wide-8" => kernels::widths(bench, [("copy_word", 1), ("copy_two_words", 2)]),
        "wide-16" => kernels::widths(bench, [("copy_word", 1), ("copy_four_words", 4)]),
        "natural-alignment" => kernels::widths(bench, [("copy_four_by_one", 4), ("copy_four_words", 4)]),
        "padded-rows" => kernels::rows(bench),
        "local-memory" => kernels::transposes(bench),
        "bank-conflicts" => kernels::columns_of_tiles(bench),
        "constant-memory" => kernels::tables(bench, [("table_in_global", 0), ("table_in_constant", 0)]),
        "constant-uniform" => kernels::tables(bench, [("table_in_constant", 1), ("table_in_constant", 0)]),
        "images" => kernels::windows(bench),
        "local-loads" => kernels::own_arrays(bench),
        "register-reuse" => kernels::column_sums(bench),
        "fused-passes" => kernels::passes(bench),
        "group-fills-wavefront" => kernels::sizes(bench, [8, 64]),
        "group-multiple-of-wavefront" => {
            let wavefront = bench.wavefront();
            kernels::sizes(bench, [wavefront + wavefront / 2, 2 * wavefront])
        }
        "occupancy" => kernels::axpys(bench, [(64 * units, 64), staying]),
        "block-size" => kernels::sizes(bench, [64, GROUP]),
        "persistent-groups" => kernels::axpys(bench, [(bench.words(), GROUP), staying]),
        "range-dimensions" => kernels::ranges(bench),
        "division" => {
            let (names, rest) = (["divide", "multiply_by_reciprocal"], [rounds, Arg::F32(4.0), Arg::F32(0.25)]);
            kernels::arithmetic(bench, [items, GROUP], &bench.fractions(items), names, [&rest, &rest])
        }
        "native-functions" => {
            let (names, rest) = (["series", "series_by_native_functions"], [Arg::U32(TERMS)]);
            kernels::arithmetic(bench, [items, GROUP], &bench.fractions(items), names, [&rest, &rest])
        }
        "single-precision" if !bench.context.info().fp64 => bench.lacks("f64"),
        "single-precision" => {
            let (names, rest) = (["chain_in_double", "chain_in_single"], [rounds, Arg::F32(1.0), Arg::F32(1.0)]);
            kernels::arithmetic(bench, [items, GROUP], &bench.random(items), names, [&rest, &rest])
        }
        "instruction-parallelism" => {
            // Few items, so that no other wavefront hides the latency of an operation.
            let items = 128 * units;
            let rest = [Arg::U32(bench.scaled(4, 4096, 4096) as u32), Arg::F32(-1e-4)];
            let names = ["chains_in_turn", "chains_together"];
            kernels::arithmetic(bench, [items, 128], &bench.fractions(4 * items), names, [&rest, &rest])
        }
        "divergence" => {
            // 64 is at least the size of any wavefront, and divides half a group.
            let (each, run) = ([rounds, Arg::U32(1)], [rounds, Arg::U32(64)]);
            kernels::arithmetic(bench, [items, GROUP], &bench.random(items), ["two_ways"; 2], [&each, &run])
        }
        "atomics" => kernels::sums(bench),
        "barriers" => kernels::phases(bench),
        "launch-granularity" => host::launches(bench),
        "overlap" => host::pieces(bench),
        "one-queue-for-sequences" => host::sequence(bench),
        "concurrent-kernels" => host::small_kernels(bench),
        "keep-on-device" => host::round_trip(bench),
        "batched-transfers" => host::batches(bench),
        "pinned-host-memory" => host::pinned(bench),
        "mapped-host-memory" => host::transfers_or_none(bench, false),
        "zero-copy" => host::transfers_or_none(bench, true),
        "allocate-once" => host::each_time_or_once(bench),
        "beyond-memory" => host::beyond_memory(bench),
        _ => Err(Trouble::NoExperiment),
    }
}
