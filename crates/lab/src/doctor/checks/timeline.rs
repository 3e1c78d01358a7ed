//! The time spent on the host and between launches.

use super::words::{megabytes, micros, percent};
use crate::doctor::finding::{Fault, Finding, Remedy};
use crate::doctor::observation::{Observation, Timeline};

/// Fewer launches per run than this are not many.
const MANY_LAUNCHES: usize = 8;
/// A kernel shorter than this number of empty launches is dominated by its launch.
const SHORT: f64 = 4.0;

pub fn transfers(observation: &Observation) -> Option<Finding> {
    let Timeline { transfers, transferred_bytes, .. } = observation.timeline;
    let run = observation.run_seconds();
    (transferred_bytes > 0).then(|| {
        let (bytes, copy) = (transferred_bytes as f64, observation.machine.copy_bandwidth);
        let on_device = if copy.is_nan() { String::new() } else { format!(", where the device copies {:.1} GB/s", copy / 1e9) };
        let evidence = vec![
            format!("{} of {} of a run", micros(transfers), micros(run)),
            format!("{} at {:.1} GB/s{on_device}", megabytes(bytes), bytes / transfers.max(1e-9) / 1e9),
        ];
        let title = format!("{} of the time is spent on transfers between host and device", percent(transfers / run));
        let change = "keep the data on the device: write it once before and read it once after all runs; use pinned memory for the other transfers";
        Finding::new(Fault::Transfers, title, transfers / run, evidence, change, Remedy::KeepOnDevice)
    })
}

pub fn allocations(observation: &Observation) -> Option<Finding> {
    let Timeline { allocations, allocated_buffers, .. } = observation.timeline;
    let run = observation.run_seconds();
    (allocated_buffers > 0).then(|| {
        let evidence =
            vec![format!("{allocated_buffers} buffers allocated in a run, {} of {}", micros(allocations), micros(run))];
        let title = format!("{} of the time is spent on allocations", percent(allocations / run));
        let change = "allocate once, outside of the loop, or from a pool";
        Finding::new(Fault::Allocations, title, allocations / run, evidence, change, Remedy::KeepBuffers)
    })
}

pub fn launches(observation: &Observation) -> Option<Finding> {
    let timeline = observation.timeline;
    let Timeline { launches, kernels, .. } = timeline;
    if launches < MANY_LAUNCHES {
        return None;
    }
    let (run, empty) = (observation.run_seconds(), observation.machine.launch);
    let (each, between) = (kernels / launches as f64, timeline.gaps() / launches as f64);
    if each > SHORT * empty && between < each / 10.0 {
        return None;
    }
    let overhead = timeline.gaps() + (launches - 1) as f64 * empty.min(each);
    let evidence = vec![
        format!("{launches} launches of {} each, {} between them", micros(each), micros(between)),
        match observation.machine.copy_bandwidth.is_nan() {
            true => format!("the shortest kernel that was seen took {}", micros(empty)),
            false => format!("an empty kernel takes {}", micros(empty)),
        },
    ];
    let title =
        format!("{launches} launches: {} of the time is overhead of launching", percent((overhead / run).min(1.0)));
    let change = "launch fewer, larger kernels: more work in each launch, or several steps in one";
    Some(Finding::new(Fault::Launches, title, (overhead / run).min(1.0), evidence, change, Remedy::OneLaunch))
}
