//! What a kernel is limited by according to a profiler's counters (`crate::counters`), and what to try. The advice comes from docs/performance.md
//! and docs/tuning.md. The gain is an upper bound, since counters do not tell how much of the data moved, or of the arithmetic, is needed.

use super::words::{megabytes, percent};
use crate::binding::Limit;
use crate::binding::Unit;
use crate::counters::{Busy, KernelCounters, OccupancyLimit, Stall};
use crate::doctor::finding::{Fault, Finding, Remedy};
use crate::doctor::observation::{Observation, Pass};

const TOLD: usize = 3;
const WORTH_A_WORD: f64 = 0.05;

pub fn counters(observation: &Observation, pass: &Pass) -> Option<Finding> {
    let counters = pass.counters.as_ref()?;
    let binds = counters.binds.as_ref()?;
    let busiest = counters.busiest();
    let (gain, bound) = match binds.limit {
        Limit::Unit(Unit::Dram) => of_memory(observation, counters, binds.share),
        Limit::Unit(unit) => match busiest.iter().find(|busy| busy.unit != unit) {
            Some(next) => (1.0 - next.share / binds.share, format!("at most: the next limit is {}", next.unit)),
            None => (1.0 - binds.share, "at most: up to its peak".to_owned()),
        },
        _ => {
            let unit = busiest.first().map_or_else(String::new, |busy| busy.unit.to_string());
            (1.0 - binds.share, format!("at most: the next limit is {unit}"))
        }
    };
    let gain = gain.clamp(0.0, 1.0).min(observation.headroom_of(pass));
    let mut evidence = vec![format!("{} of the time, {bound}", percent(gain))];
    let busy = busiest.iter().filter(|busy| busy.share >= WORTH_A_WORD).map(Busy::to_string);
    evidence.push(busy.collect::<Vec<_>>().join(", "));
    let stalls = counters.waits().filter(|stalled| stalled.share >= WORTH_A_WORD).take(TOLD);
    let stalls: Vec<String> = stalls.map(|stalled| stalled.to_string()).collect();
    if !stalls.is_empty() {
        evidence.push(format!("warps stalled on {}", stalls.join(", ")));
    }
    if let Some(bytes) = counters.private_bytes.filter(|&bytes| bytes > 0.0) {
        evidence.push(format!("{bytes:.0} bytes a call of spilled registers and private arrays"));
    }
    evidence.retain(|line| !line.is_empty());
    let title = format!("counters: {}", binds.because);
    Some(Finding::new(Fault::Counters, title, gain, evidence, &to_try(counters, binds.limit), Remedy::Several))
}

/// The possible gain if device memory is the limit: bytes moved beyond the ideal bytes, if these are known.
fn of_memory(observation: &Observation, counters: &KernelCounters, share: f64) -> (f64, String) {
    let needed = observation.bytes as f64;
    match counters.total_rw_bytes {
        Some(moved) if needed > 0.0 && observation.passes.len() == 1 && moved > needed => {
            let of = format!("if the {} that must be moved were all of {}", megabytes(needed), megabytes(moved));
            (1.0 - needed / moved, of)
        }
        _ => (1.0 - share, "at most: up to its peak".to_owned()),
    }
}

fn to_try(counters: &KernelCounters, limit: Limit) -> String {
    let mut tries: Vec<&str> = Vec::new();
    match limit {
        Limit::Unit(Unit::Dram) => tries.extend([
            "fewer bytes: gauge compression (--reconstruct 12), half precision, fused kernels (eo_clover)",
            "bytes that others read again kept in L2: --stores streaming, --link-loads past-l1",
        ]),
        Limit::Unit(Unit::L2) => tries.extend([
            "more hits in L1: --link-loads past-l1 leaves L1 to the spinors, --traversal or --site-order puts neighbours together",
            "fewer bytes: --reconstruct 12, half precision, several right-hand sides in one kernel (hop_many)",
        ]),
        Limit::Unit(Unit::L1) => tries.extend([
            "fewer and wider accesses: --access 16, --lanes 128",
            "links once for several right-hand sides: --rhs-per-work-item, --link-sharing shared",
            "what is read once past it: --link-loads past-l1",
        ]),
        Limit::Unit(Unit::Lsu) => tries.push("fewer and wider accesses: --access 16, --lanes 128"),
        Limit::Unit(Unit::Issue | Unit::Alu | Unit::Fma) => tries.extend([
            "fewer instructions: wider accesses (--access 16), --reconstruct 18 instead of rebuilding links, f32 instead of unpacking half precision",
            "work that right-hand sides share: --rhs-per-work-item",
        ]),
        Limit::Unit(Unit::Fp64) => tries.push("f32 where f64 is not needed: a solver of mixed precision"),
        Limit::Launch => tries.push(
            "more groups: a larger lattice, several right-hand sides in one launch, smaller groups (--accelerator-threads), narrower lanes (--lanes)",
        ),
        _ => tries.extend(against_latency(counters)),
    }
    // For any limit: if more than this share of a warp's wide accesses is wasted.
    let poor = |sectors: Option<f64>| sectors.is_some_and(|sectors| sectors > MOST_SECTORS);
    if poor(counters.sectors_per_load) || poor(counters.sectors_per_store) {
        tries.push("accesses of a warp that lie together: --mapping lane-fast, wider lanes (--lanes 128)");
    }
    if counters.private_bytes.is_some_and(|bytes| bytes > 0.0) {
        tries.push("nothing spilled: --max-registers 0");
    }
    tries.join("; ")
}

/// Sectors of 32 bytes per request if each of a warp's 32 work-items accesses 16 contiguous bytes.
const MOST_SECTORS: f64 = 16.5;

fn against_latency(counters: &KernelCounters) -> Vec<&'static str> {
    let more_warps = match counters.occupancy_limits.first() {
        Some(OccupancyLimit::Registers) => {
            "more warps: fewer registers (--max-registers), as long as nothing is spilled; other groups (lanefield bench threads)"
        }
        Some(OccupancyLimit::LocalMemory) => {
            "more warps: less local memory (--accumulators registers, --neighbours registers)"
        }
        _ => "more warps: other groups (--accelerator-threads; lanefield bench threads tries them)",
    };
    let Some(largest) = counters.largest_stall() else { return vec![more_warps] };
    match largest.reason {
        Stall::LONG_SCOREBOARD => vec![
            "more bytes in flight: wider accesses (--access 16), grid-stride launches (--grid-stride on)",
            more_warps,
        ],
        Stall::SHORT_SCOREBOARD | Stall::MIO_THROTTLE => {
            vec!["less local memory: --accumulators registers, --neighbours registers", more_warps]
        }
        Stall::BARRIER => vec!["fewer barriers: --link-sharing each, smaller groups (--accelerator-threads)"],
        Stall::LG_THROTTLE => vec!["fewer and wider accesses: --access 16, --lanes 128"],
        Stall::MATH_PIPE_THROTTLE | Stall::WAIT | Stall::NOT_SELECTED => {
            vec![
                "fewer instructions: wider accesses (--access 16), --reconstruct 18 instead of rebuilding links",
                more_warps,
            ]
        }
        Stall::NO_INSTRUCTION => vec!["shorter code: fewer right-hand sides for each work-item (--rhs-per-work-item)"],
        _ => vec![more_warps],
    }
}
