//! The data that a timeline records. Times are nanoseconds since the timeline began.

use std::collections::HashMap;
use std::sync::Arc;

use crate::backend::work::Work;

/// The number of a name in [`Recording::names`].
pub type NameId = u32;

/// The groups under which events are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Group {
    /// Kernels on a device.
    Kernel,
    /// Calls of the CPU reference.
    Cpu,
    /// Transfers between host and device, copies and fills.
    Transfer,
    /// Waits of the host for a device.
    Wait,
    /// Building programs, or loading them from the cache.
    Build,
    /// Reading and writing files.
    File,
    /// Sending packets to other ranks, and merging sums with theirs.
    Ranks,
    /// Other work of the host.
    Host,
}

lanefield_reference::named!(Group:
    Kernel = "kernel", Cpu = "CPU reference", Transfer = "transfer", Wait = "wait", Build = "build", File = "file", Ranks = "ranks",
    Host = "host"
);

/// The kind of a command.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommandKind {
    /// Runs a kernel.
    Kernel {
        /// The number of work-items.
        global: [u32; 3],
        /// The size of a work-group.
        local: [u32; 3],
    },
    /// Host to device.
    Write,
    /// Device to host.
    Read,
    /// Device to device.
    Copy,
    /// Fills a buffer.
    Fill,
    /// Allocates a buffer on the device.
    Allocate,
    /// Maps a buffer, so that the host can access it.
    Map,
    /// Unmaps a buffer.
    Unmap,
}

impl CommandKind {
    /// The group under which it is counted.
    pub fn group(self) -> Group {
        match self {
            Self::Kernel { .. } => Group::Kernel,
            _ => Group::Transfer,
        }
    }

    /// The name of a command without a name of its own.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel { .. } => "kernel",
            Self::Write => "write to device",
            Self::Read => "read from device",
            Self::Copy => "copy on device",
            Self::Fill => "fill",
            Self::Allocate => "allocate",
            Self::Map => "map",
            Self::Unmap => "unmap",
        }
    }
}

/// The times at which a command went through the stages of a queue, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stages {
    /// The host queued it.
    pub queued: i64,
    /// The driver submitted it to the device.
    pub submitted: i64,
    /// It started.
    pub started: i64,
    /// It ended.
    pub ended: i64,
}

impl Stages {
    /// The time from start to end, in seconds.
    pub fn seconds(&self) -> f64 {
        (self.ended - self.started) as f64 * 1e-9
    }
}

/// A command of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// The number of the queue.
    pub queue: usize,
    /// What the command does.
    pub kind: CommandKind,
    /// The name of the kernel and its precision.
    pub name: NameId,
    /// The times of its stages.
    pub stages: Stages,
    /// The flops and bytes of the launch.
    pub work: Work,
    /// The time that the call took on the host, in nanoseconds.
    pub call: i64,
}

/// A span of work of a host thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The number of the thread.
    pub thread: usize,
    /// The group under which it is counted.
    pub group: Group,
    /// Its name.
    pub name: NameId,
    /// The time at which it began.
    pub start: i64,
    /// The time at which it ended.
    pub end: i64,
}

/// The memory in use on a device from some time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldBytes {
    /// The number of the queue.
    pub queue: usize,
    /// The time from which it applies.
    pub at: i64,
    /// The size of all buffers, in bytes.
    pub bytes: u64,
}

/// The total over all events with a name.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Total {
    /// The number of events.
    pub calls: u64,
    /// The total time, in seconds.
    pub seconds: f64,
    /// The shortest time, in seconds.
    pub least: f64,
    /// The longest time, in seconds.
    pub most: f64,
    /// The total work.
    pub work: Work,
}

impl Total {
    pub(super) fn add(&mut self, seconds: f64, work: Work) {
        self.least = if self.calls == 0 { seconds } else { self.least.min(seconds) };
        self.most = self.most.max(seconds);
        self.calls += 1;
        self.seconds += seconds;
        self.work.flops += work.flops;
        self.work.bytes += work.bytes;
    }
}

/// Everything that a timeline recorded.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Names, by number.
    pub names: Vec<Arc<str>>,
    /// Devices, by number of the queue.
    pub queues: Vec<String>,
    /// Threads of the host, by number.
    pub threads: Vec<String>,
    /// Commands, in the order in which each queue received them; empty if only sums are kept.
    pub commands: Vec<Command>,
    /// Spans, in the order in which they ended; empty if only sums are kept.
    pub spans: Vec<Span>,
    /// Memory in use; empty if only sums are kept.
    pub held: Vec<HeldBytes>,
    /// Sums by group and name.
    pub totals: Vec<(Group, NameId, Total)>,
}

impl Recording {
    /// The name with this number.
    pub fn name(&self, id: NameId) -> &str {
        self.names.get(id as usize).map_or("", |name| name)
    }
}

/// Names by number, without repetition.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: HashMap<Arc<str>, NameId>,
    names: Vec<Arc<str>>,
}

impl Names {
    pub(super) fn id(&mut self, name: &str) -> NameId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let (id, name) = (self.names.len() as NameId, Arc::<str>::from(name));
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        id
    }

    pub(super) fn all(&self) -> Vec<Arc<str>> {
        self.names.clone()
    }
}
