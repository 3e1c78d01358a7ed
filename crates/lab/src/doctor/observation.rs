//! What is known about a run before it is judged: times, launches, code, addresses and the timeline, as plain numbers.

use serde::Serialize;

use crate::binding::{Binding, Limit, what_binds};
use crate::counters::KernelCounters;
use crate::model::lanes_filled;
use crate::{Compared, Spread};

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct DeviceFacts {
    pub name: String,
    pub wavefront: usize,
    pub units: usize,
    /// Copy bandwidth in bytes per second, read and written.
    #[serde(rename = "copy_bytes_per_second")]
    pub copy_bandwidth: f64,
    /// Seconds of an empty launch on the device.
    #[serde(rename = "launch_seconds")]
    pub launch: f64,
    /// Whether kernels run on the processor of the host.
    pub is_cpu: bool,
    /// Whether it is a CPU that stands in for a GPU with that wavefront: launches, code and addresses are judged as for the GPU, whatever the times
    /// on the CPU.
    pub stands_for_gpu: bool,
    /// The AMD architecture for which described kernels are compiled to see their registers, if it is not the device's own.
    pub compiled_for: Option<String>,
}

/// The compiler's result for a kernel; `None` if the driver does not report it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Code {
    pub registers: Option<usize>,
    /// Bytes per work-item for spilled registers, stored and loaded.
    pub spilled_bytes: Option<usize>,
    /// Bytes per work-item for arrays and spilled registers.
    pub scratch_bytes: Option<usize>,
    pub most_registers: Option<usize>,
}

/// The accesses of a wavefront's work-items to one array.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ArrayAccess {
    pub array: String,
    /// Bytes that the kernel requests, each counted at least once.
    pub bytes: u64,
    /// Bytes requested divided by bytes of the sectors moved for them, 0 to 1.
    pub efficiency: f64,
    /// Bytes requested divided by bytes of the cache lines touched, each access on its own, 0 to 1: a first-level cache serves an access line by
    /// line.
    pub line_efficiency: f64,
    pub pattern: String,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct OtherGroup {
    /// Outer sites per group; work-items if there are no sites.
    pub size: usize,
    #[serde(flatten)]
    pub compared: Compared,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Pass {
    pub kernel: String,
    pub work_items: usize,
    /// How many times each group does its work: grid-stride groups continue with further sites.
    pub turns: usize,
    pub group: usize,
    /// Whether the kernel is correct for groups of any size; if not, another size needs a change of the source.
    pub any_group_size: bool,
    pub any_number_of_groups: bool,
    /// Work-items per outer site in a group (the lanes), if groups consist of outer sites; otherwise 1.
    pub lanes: usize,
    pub launches: usize,
    pub seconds: Spread,
    pub code: Code,
    pub accesses: Vec<ArrayAccess>,
    /// Buffers that it reads, with the number of bytes.
    pub reads: Vec<(String, u64)>,
    pub writes: Vec<(String, u64)>,
    /// Whether lanes are the fast dimension of its groups; `None` if it has no lanes.
    pub lane_fast: Option<bool>,
    pub other_groups: Vec<OtherGroup>,
    pub counters: Option<KernelCounters>,
}

impl Pass {
    /// Bytes that it reads from and writes to buffers, as far as they are known.
    pub fn bytes(&self) -> u64 {
        self.reads.iter().chain(&self.writes).map(|(_, bytes)| bytes).sum()
    }

    pub fn groups(&self) -> usize {
        self.work_items.div_ceil(self.group.max(1))
    }

    pub fn wavefronts(&self, wavefront: usize) -> usize {
        self.groups() * self.group.div_ceil(wavefront.max(1))
    }

    /// Fraction of the lanes of its wavefronts that have a work-item, 0 to 1.
    pub fn filled(&self, wavefront: usize) -> f64 {
        lanes_filled(self.group, wavefront.max(1))
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Timeline {
    /// Seconds of a run from start to end; 0 if they were not measured.
    #[serde(rename = "wall_seconds")]
    pub wall: f64,
    #[serde(rename = "kernel_seconds")]
    pub kernels: f64,
    pub launches: usize,
    #[serde(rename = "transfer_seconds")]
    pub transfers: f64,
    pub transferred_bytes: u64,
    #[serde(rename = "allocation_seconds")]
    pub allocations: f64,
    pub allocated_buffers: usize,
}

impl Timeline {
    /// Seconds in which the device waited for a launch.
    pub fn gaps(&self) -> f64 {
        (self.wall - self.kernels - self.transfers - self.allocations).max(0.0)
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Observation {
    #[serde(skip)]
    pub subject: String,
    #[serde(skip)]
    pub machine: DeviceFacts,
    /// The ideal bytes of the run: each input once, each output once.
    pub bytes: u64,
    /// Floating-point operations; 0 if they were not counted.
    pub flops: u64,
    pub passes: Vec<Pass>,
    pub outputs: Vec<String>,
    pub timeline: Timeline,
    /// Seconds of the kernels according to the estimate, if there is one.
    #[serde(rename = "estimated_seconds")]
    pub estimated: Option<f64>,
    pub estimated_limit: Option<Limit>,
}

impl Observation {
    pub fn kernel_seconds(&self) -> f64 {
        self.passes.iter().map(|pass| pass.seconds.median).sum()
    }

    /// What limits the run: the largest of the times that bytes, launches, the host and any estimate would take alone. If the bytes fit a
    /// cache (`in_cache`), the bandwidth of memory does not bound their time.
    pub fn binding(&self, in_cache: bool) -> Binding {
        if let Some(counted) = self.counted() {
            return counted;
        }
        let (run, timeline) = (self.run_seconds(), &self.timeline);
        let share = |seconds: f64| if run > 0.0 { seconds / run } else { 0.0 };
        let launches = self.passes.iter().map(|pass| pass.launches).sum::<usize>() as f64;
        let (memory, launch) = (self.bytes as f64 / self.machine.copy_bandwidth, launches * self.machine.launch);
        let candidate = |limit: Limit, seconds: f64, because: &str| {
            let share = share(seconds);
            Binding { limit, share, because: format!("{because}: {:.0}% of the time", 100.0 * share) }
        };
        let mut candidates = vec![
            candidate(Limit::Launch, launch, "empty launches take that long"),
            candidate(Limit::Transfers, timeline.transfers, "bytes are transferred between host and device meanwhile"),
            candidate(Limit::Allocations, timeline.allocations, "buffers are allocated and freed meanwhile"),
        ];
        if self.passes.is_empty() {
            let because = "kernels run meanwhile; examine the one that takes longest (--kernel)";
            candidates.push(candidate(Limit::Kernels, timeline.kernels, because));
        }
        if timeline.wall > 0.0 {
            candidates.push(candidate(Limit::Gaps, timeline.gaps(), "the device waits for the host meanwhile"));
        }
        if let (Some(limit), Some(estimated)) = (self.estimated_limit, self.estimated) {
            candidates.push(candidate(limit, estimated, "the estimate of this limit takes that long"));
        }
        if share(memory) > 1.0 {
            let because = "the bytes would take longer from memory: they stay in a cache";
            candidates.push(candidate(Limit::Cache, memory, because));
        } else if !in_cache {
            candidates.push(candidate(Limit::Memory, memory, "the bytes take that long at the copy bandwidth"));
        }
        let binds = what_binds(candidates, 0.5, |Binding { limit, share, .. }| {
            let percent = 100.0 * share;
            let because = format!(
                "computing, or waiting for data: of the other limits {limit} is the greatest, {percent:.0}% of the time"
            );
            Some(Binding { limit: Limit::Execution, share: 1.0 - share, because })
        });
        binds.unwrap_or(Binding { limit: Limit::Execution, share: 1.0, because: String::new() })
    }

    /// What limits the longest pass according to its counters, if they determine it.
    fn counted(&self) -> Option<Binding> {
        let longest = self.passes.iter().max_by(|a, b| a.seconds.median.total_cmp(&b.seconds.median))?;
        let binds = longest.counters.as_ref()?.binds.clone()?;
        Some(Binding { because: format!("counters: {}", binds.because), ..binds })
    }

    /// Seconds of a run: from the timeline if it was watched, otherwise those of its kernels.
    pub(crate) fn run_seconds(&self) -> f64 {
        self.timeline.wall.max(self.kernel_seconds())
    }

    /// The fraction of the kernels' time above the floor (one launch, or the bytes at the copy bandwidth), 0 to 1: no finding about kernels can
    /// gain more.
    pub(crate) fn headroom(&self) -> f64 {
        if self.machine.stands_for_gpu {
            return 1.0;
        }
        let seconds = self.kernel_seconds();
        let floor = (self.bytes as f64 / self.machine.copy_bandwidth).max(self.machine.launch);
        if seconds > 0.0 { (1.0 - floor / seconds).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The same for one pass, with its own bytes and launches; for the whole run if no pass has known bytes.
    pub(crate) fn headroom_of(&self, pass: &Pass) -> f64 {
        let known = self.passes.iter().any(|pass| pass.bytes() > 0);
        if !known || self.passes.len() == 1 || self.machine.stands_for_gpu {
            return self.headroom();
        }
        let floor = (pass.bytes() as f64 / self.machine.copy_bandwidth).max(self.machine.launch * pass.launches as f64);
        (1.0 - floor / pass.seconds.median).clamp(0.0, 1.0)
    }
}
