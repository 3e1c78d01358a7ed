//! What is known of a run before it is judged: times, launches, code, addresses and the timeline, as plain numbers.

use serde::Serialize;

use crate::Spread;

/// The device, as far as it matters for the checks.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Machine {
    /// Name, platform and driver.
    pub name: String,
    /// Work-items that run in step.
    pub wavefront: usize,
    /// Compute units.
    pub units: usize,
    /// Bytes a second: copy, read and written.
    pub copy_bandwidth: f64,
    /// Seconds that an empty launch takes on the device.
    pub launch: f64,
    /// Whether kernels run on the processor that the host runs on.
    pub is_cpu: bool,
    /// Whether it is a CPU that stands for a GPU of that wavefront: launches, code and addresses are judged as there, whatever time they take here.
    pub stands_for_gpu: bool,
    /// The architecture of AMD's for which described kernels are compiled to see their registers, if not the device's own.
    pub compiled_for: Option<String>,
}

/// What a compiler made of a kernel; `None` where the driver does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Code {
    /// Registers a work-item.
    pub registers: Option<usize>,
    /// Bytes a work-item that registers are spilled to, stored and loaded.
    pub spilled_bytes: Option<usize>,
    /// Bytes a work-item of arrays and spilled registers.
    pub scratch_bytes: Option<usize>,
    /// The limit that was set for its registers.
    pub most_registers: Option<usize>,
}

/// How the work-items of a wavefront reach one array.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ArrayAccess {
    /// The array.
    pub array: String,
    /// Bytes that the kernel asks for in all, at least once each.
    pub bytes: u64,
    /// Bytes asked for, as a share of those of the sectors that are moved for them, 0 to 1.
    pub efficiency: f64,
    /// Bytes asked for, as a share of those of the cache lines that accesses touch, each access by itself, 0 to 1: a first cache serves an access
    /// line by line.
    pub line_efficiency: f64,
    /// What the pattern is, for people.
    pub pattern: String,
}

/// One launch of a run, or several that are alike.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Pass {
    /// The kernel.
    pub kernel: String,
    /// Work-items in all, of one launch.
    pub work_items: usize,
    /// How often each does its work: groups that stay go on to the next sites.
    pub turns: usize,
    /// Work-items a group.
    pub group: usize,
    /// Whether the kernel is right for groups of any size; else a change of it is a change of the source.
    pub any_group_size: bool,
    /// Whether it is right for any number of groups.
    pub any_number_of_groups: bool,
    /// Work-items a group for each outer site, where groups hold outer sites: their lanes. 1 elsewhere.
    pub lanes: usize,
    /// Launches a run.
    pub launches: usize,
    /// Seconds of all its launches in a run.
    pub seconds: Spread,
    /// What the compiler made of it.
    pub code: Code,
    /// How it reaches its arrays.
    pub accesses: Vec<ArrayAccess>,
    /// Buffers that it reads, by name and bytes.
    pub reads: Vec<(String, u64)>,
    /// Buffers that it writes, by name and bytes.
    pub writes: Vec<(String, u64)>,
    /// Whether lanes are the fast dimension of its groups; `None` where it has none.
    pub lane_fast: Option<bool>,
    /// The same work in groups of other sizes: outer sites a group (work-items where there are none), and seconds.
    pub other_groups: Vec<(usize, Spread)>,
}

impl Pass {
    /// Bytes that it reads and writes of buffers, as far as they are known.
    pub fn bytes(&self) -> u64 {
        self.reads.iter().chain(&self.writes).map(|(_, bytes)| bytes).sum()
    }

    /// Number of work-groups of a launch.
    pub fn groups(&self) -> usize {
        self.work_items.div_ceil(self.group.max(1))
    }

    /// Number of wavefronts of a launch.
    pub fn wavefronts(&self, wavefront: usize) -> usize {
        self.groups() * self.group.div_ceil(wavefront.max(1))
    }

    /// Share of the lanes of its wavefronts that have a work-item, 0 to 1.
    pub fn filled(&self, wavefront: usize) -> f64 {
        let wavefront = wavefront.max(1);
        self.group as f64 / (self.group.div_ceil(wavefront) * wavefront) as f64
    }
}

/// What happens on the host and between the launches of a run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Timeline {
    /// Seconds of a run from its begin to its end; 0 where it was not watched.
    pub wall: f64,
    /// Seconds in which kernels ran.
    pub kernels: f64,
    /// Launches.
    pub launches: usize,
    /// Seconds in which bytes went between host and device.
    pub transfers: f64,
    /// Those bytes.
    pub transferred_bytes: u64,
    /// Seconds in which buffers were made and given back.
    pub allocations: f64,
    /// Buffers made.
    pub allocated_buffers: usize,
}

impl Timeline {
    /// Seconds in which the device waited for a launch.
    pub fn gaps(&self) -> f64 {
        (self.wall - self.kernels - self.transfers - self.allocations).max(0.0)
    }
}

/// A run, as it was observed.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Observation {
    /// What was examined.
    pub subject: String,
    /// On what.
    pub machine: Machine,
    /// Bytes that the whole of it has to move at least: each input once, each output once.
    pub bytes: u64,
    /// Floating-point operations; 0 where nobody counted them.
    pub flops: u64,
    /// Its launches, in order.
    pub passes: Vec<Pass>,
    /// Buffers that are results.
    pub outputs: Vec<String>,
    /// Host and gaps.
    pub timeline: Timeline,
    /// Seconds that the kernels would take by the estimate, where there is one.
    pub estimated: Option<f64>,
}

impl Observation {
    /// Seconds of all passes, at their medians.
    pub fn kernel_seconds(&self) -> f64 {
        self.passes.iter().map(|pass| pass.seconds.median).sum()
    }

    /// Seconds of a run: by the timeline where it was watched, else those of its kernels.
    pub fn run_seconds(&self) -> f64 {
        self.timeline.wall.max(self.kernel_seconds())
    }

    /// Share of the kernels' time that is above what no change brings them below (one launch, or the bytes at the copy bandwidth), 0 to 1: no finding
    /// about kernels can gain more.
    pub fn headroom(&self) -> f64 {
        if self.machine.stands_for_gpu {
            return 1.0;
        }
        let seconds = self.kernel_seconds();
        let floor = (self.bytes as f64 / self.machine.copy_bandwidth).max(self.machine.launch);
        if seconds > 0.0 { (1.0 - floor / seconds).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The same of one pass, whose own bytes and launches it is that count; of all where nothing is known of the bytes of any.
    pub fn headroom_of(&self, pass: &Pass) -> f64 {
        let known = self.passes.iter().any(|pass| pass.bytes() > 0);
        if !known || self.passes.len() == 1 || self.machine.stands_for_gpu {
            return self.headroom();
        }
        let floor = (pass.bytes() as f64 / self.machine.copy_bandwidth).max(self.machine.launch * pass.launches as f64);
        (1.0 - floor / pass.seconds.median).clamp(0.0, 1.0)
    }
}
