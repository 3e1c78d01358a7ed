//! Kernels from a profile: they are judged by their counters after the fact, without a device. The counters of a profile can also be added to an
//! observation.

use super::observation::{Code, DeviceFacts, Observation, Pass, Timeline};
use crate::Spread;
use crate::counters::KernelCounters;

/// Work-items per warp on NVIDIA's GPUs, whose counters determine what limits a kernel.
const WARP: usize = 32;

/// An observation for each kernel of a profile that has a time, the longest first.
pub fn of_profile(kernels: &[KernelCounters]) -> Vec<Observation> {
    kernels.iter().filter_map(observed).collect()
}

fn observed(counters: &KernelCounters) -> Option<Observation> {
    let seconds = counters.seconds.filter(|&seconds| seconds > 0.0)?;
    let whole = |number: Option<f64>| number.map(|number| number as usize);
    let work_items = counters.work_items.unwrap_or(0) as usize;
    let pass = Pass {
        kernel: counters.kernel.clone(),
        work_items,
        turns: 1,
        group: whole(counters.group_size).unwrap_or(WARP),
        lanes: 1,
        launches: 1,
        seconds: Spread { median: seconds, tenth: seconds, ninetieth: seconds },
        code: Code { registers: whole(counters.registers), ..Code::default() },
        counters: Some(counters.clone()),
        ..Pass::default()
    };
    let machine = DeviceFacts {
        name: "as in the profile".to_owned(),
        wavefront: WARP,
        units: 1,
        copy_bandwidth: f64::NAN,
        ..DeviceFacts::default()
    };
    Some(Observation {
        subject: format!("{}, {work_items} work-items, calls in the profile: {}", counters.kernel, counters.calls),
        machine,
        bytes: counters.total_rw_bytes.unwrap_or(0.0) as u64,
        passes: vec![pass],
        timeline: Timeline { kernels: seconds, launches: 1, ..Timeline::default() },
        ..Observation::default()
    })
}

impl Observation {
    /// Adds the counters of a profile to the passes with the same kernel and number of work-items. Returns the number of passes that have counters.
    pub fn add_counters(&mut self, kernels: &[KernelCounters]) -> usize {
        let mut found = 0;
        for pass in &mut self.passes {
            let is_it = |kernel: &&KernelCounters| {
                let same_size = kernel.work_items.is_none_or(|items| items == pass.work_items as u64);
                kernel.kernel == pass.kernel && same_size
            };
            pass.counters = kernels.iter().find(is_it).cloned();
            found += usize::from(pass.counters.is_some());
        }
        found
    }
}
