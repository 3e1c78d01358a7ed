//! What a timeline records, as plain data. Times are nanoseconds since the timeline began.

use std::collections::HashMap;
use std::sync::Arc;

use crate::backend::work::Work;

/// The number of a name in [`Recording::names`].
pub type NameId = u32;

/// What events are counted under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Group {
    /// Kernels on a device.
    Kernel,
    /// Calls of the CPU reference.
    Cpu,
    /// Transfers between host and device, copies and fills.
    Transfer,
    /// The host waits for a device.
    Wait,
    /// Programs are built, or loaded from the cache.
    Build,
    /// Files are read or written.
    File,
    /// Other ranks are sent packets, and sums are merged with theirs.
    Ranks,
    /// The command itself, and its parts.
    Host,
}

lanefield_reference::named!(Group:
    Kernel = "kernel", Cpu = "CPU reference", Transfer = "transfer", Wait = "wait", Build = "build", File = "file", Ranks = "ranks",
    Host = "host"
);

/// What a command does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommandKind {
    /// Runs a kernel, with so many work-items in all and in a group.
    Kernel {
        /// In all.
        global: [u32; 3],
        /// In a work-group.
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
    /// Makes the device hold a buffer.
    Allocate,
    /// Gives the host a buffer's bytes to work on.
    Map,
    /// Takes them back.
    Unmap,
}

impl CommandKind {
    /// What it is counted under.
    pub fn group(self) -> Group {
        match self {
            Self::Kernel { .. } => Group::Kernel,
            _ => Group::Transfer,
        }
    }

    /// The name of a command that has none of its own.
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

/// When a command went through the stages of a queue, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stages {
    /// The host put it into the queue.
    pub queued: i64,
    /// The driver gave it to the device.
    pub submitted: i64,
    /// It started.
    pub started: i64,
    /// It was done.
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
    /// What it does.
    pub kind: CommandKind,
    /// Its name: that of the kernel and its precision.
    pub name: NameId,
    /// When.
    pub stages: Stages,
    /// How much.
    pub work: Work,
    /// Nanoseconds that the call took on the host.
    pub call: i64,
}

/// Something that a thread of the host did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The number of the thread.
    pub thread: usize,
    /// What it is counted under.
    pub group: Group,
    /// Its name.
    pub name: NameId,
    /// When it began.
    pub start: i64,
    /// When it ended.
    pub end: i64,
}

/// Memory of a device that is held from some time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldBytes {
    /// The number of the queue.
    pub queue: usize,
    /// From when on.
    pub at: i64,
    /// Bytes of all buffers.
    pub bytes: u64,
}

/// The sum over all events of a name.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Total {
    /// How many there were.
    pub calls: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// The shortest, in seconds.
    pub least: f64,
    /// The longest, in seconds.
    pub most: f64,
    /// Work in all.
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

/// All that a timeline recorded.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Names, by number.
    pub names: Vec<Arc<str>>,
    /// Devices, by number of the queue.
    pub queues: Vec<String>,
    /// Threads of the host, by number.
    pub threads: Vec<String>,
    /// Commands, each queue's in the order in which they were queued; none where only sums are kept.
    pub commands: Vec<Command>,
    /// Spans, in the order in which they ended; none where only sums are kept.
    pub spans: Vec<Span>,
    /// Memory held; nothing where only sums are kept.
    pub held: Vec<HeldBytes>,
    /// Sums by group and name.
    pub totals: Vec<(Group, NameId, Total)>,
}

impl Recording {
    /// The name of a number.
    pub fn name(&self, id: NameId) -> &str {
        self.names.get(id as usize).map_or("", |name| name)
    }
}

/// Names by number, each once.
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
