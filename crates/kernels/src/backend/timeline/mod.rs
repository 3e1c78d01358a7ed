//! A timeline: what devices and the host did, and when, on one clock. Contexts and the CPU reference record into a timeline if they have one; if
//! not, the cost is the check of an `Option`. `opencl/device/event_times.rs` reads the times of a device; `lanefield_lab::trace` writes a timeline
//! for a viewer, and summarises it.

mod record;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

pub use record::{Command, CommandKind, Group, HeldBytes, NameId, Recording, Span, Stages, Total};

pub use super::work::Work;

use record::Names;

/// Records commands of devices, spans of the host, and allocated memory. Threads share it by reference.
#[derive(Debug)]
pub struct Timeline {
    origin: Instant,
    keep_events: bool,
    state: Mutex<TimelineState>,
}

#[derive(Debug, Default)]
struct TimelineState {
    names: Names,
    queues: Vec<String>,
    threads: Vec<(ThreadId, String)>,
    commands: Vec<Command>,
    spans: Vec<Span>,
    held: Vec<HeldBytes>,
    totals: BTreeMap<(Group, NameId), Total>,
}

/// The timeline of the process. Contexts and CPU backends attach to it when they are opened.
static OF_PROCESS: OnceLock<Arc<Timeline>> = OnceLock::new();

impl Timeline {
    /// A timeline that begins at this moment. With `keep_events` it keeps each event (about 100 bytes a command); without, only sums, whose memory
    /// does not grow with the length of the run.
    pub fn new(keep_events: bool) -> Arc<Self> {
        Arc::new(Self { origin: Instant::now(), keep_events, state: Mutex::default() })
    }

    /// Makes this the timeline of the process: every context and CPU backend that is opened afterwards records into it. Returns false if the process
    /// already has one.
    pub fn install(self: &Arc<Self>) -> bool {
        OF_PROCESS.set(Arc::clone(self)).is_ok()
    }

    /// The timeline of the process, if there is one.
    pub fn of_process() -> Option<&'static Arc<Self>> {
        OF_PROCESS.get()
    }

    /// Nanoseconds since it began.
    pub fn now(&self) -> i64 {
        i64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }

    /// Adds a queue of a device. Returns the number by which its commands and memory are recorded.
    pub fn add_queue(&self, device: &str) -> usize {
        let mut state = self.state();
        state.queues.push(device.to_owned());
        state.queues.len() - 1
    }

    /// The number of a name, by which commands and spans are recorded.
    pub fn name(&self, name: &str) -> NameId {
        self.state().names.id(name)
    }

    /// Records commands that have completed.
    pub fn add_commands(&self, commands: impl IntoIterator<Item = Command>) {
        let mut state = self.state();
        for command in commands {
            let total = state.totals.entry((command.kind.group(), command.name)).or_default();
            total.add(command.stages.seconds(), command.work);
            if self.keep_events {
                state.commands.push(command);
            }
        }
    }

    /// Records the number of bytes that the buffers of a queue's context occupy from this moment.
    pub fn add_held(&self, queue: usize, bytes: u64) {
        if self.keep_events {
            let held = HeldBytes { queue, at: self.now(), bytes };
            self.state().held.push(held);
        }
    }

    /// Begins a span of this thread, which ends when the guard is dropped. Totals are counted by `name`.
    pub fn span(&self, group: Group, name: &str) -> SpanGuard<'_> {
        SpanGuard::begin(self, group, name)
    }

    fn add_span(&self, group: Group, name: NameId, start: i64) {
        let end = self.now().max(start);
        let mut state = self.state();
        let total = state.totals.entry((group, name)).or_default();
        total.add((end - start) as f64 * 1e-9, Work::default());
        if self.keep_events {
            let thread = state.thread();
            state.spans.push(Span { thread, group, name, start, end });
        }
    }

    /// Everything that has been recorded. Commands that are still running are included only after `Context::finish`, or when their context has been
    /// dropped.
    pub fn recording(&self) -> Recording {
        let state = self.state();
        Recording {
            names: state.names.all(),
            queues: state.queues.clone(),
            threads: state.threads.iter().map(|(_, name)| name.clone()).collect(),
            commands: state.commands.clone(),
            spans: state.spans.clone(),
            held: state.held.clone(),
            totals: state.totals.iter().map(|(&(group, name), &total)| (group, name, total)).collect(),
        }
    }

    fn state(&self) -> MutexGuard<'_, TimelineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TimelineState {
    /// The number of this thread.
    fn thread(&mut self) -> usize {
        let current = std::thread::current();
        let known = self.threads.iter().position(|(id, _)| *id == current.id());
        known.unwrap_or_else(|| {
            let number = self.threads.len();
            let name = current.name().map_or_else(|| format!("thread {number}"), str::to_owned);
            self.threads.push((current.id(), name));
            number
        })
    }
}

/// A span that ends when this is dropped. It does nothing if there is no timeline.
#[derive(Debug)]
#[must_use = "the span ends when this is dropped"]
pub struct SpanGuard<'a>(Option<Running<'a>>);

#[derive(Debug)]
struct Running<'a> {
    timeline: &'a Timeline,
    group: Group,
    name: NameId,
    start: i64,
}

impl<'a> SpanGuard<'a> {
    /// A guard that does nothing.
    pub fn none() -> Self {
        Self(None)
    }

    fn begin(timeline: &'a Timeline, group: Group, name: &str) -> Self {
        let name = timeline.name(name);
        Self(Some(Running { timeline, group, name, start: timeline.now() }))
    }
}

impl Drop for SpanGuard<'_> {
    fn drop(&mut self) {
        if let Some(Running { timeline, group, name, start }) = self.0.take() {
            timeline.add_span(group, name, start);
        }
    }
}

/// Begins a span on the timeline of the process. If there is none, `name` is not called.
pub fn span<N: AsRef<str>>(group: Group, name: impl FnOnce() -> N) -> SpanGuard<'static> {
    match Timeline::of_process() {
        Some(timeline) => timeline.span(group, name().as_ref()),
        None => SpanGuard::none(),
    }
}

thread_local! {
    static NEXT: Cell<Work> = const { Cell::new(Work { flops: 0, bytes: 0 }) };
}

/// Declares the work of this thread's next launch, since the runtime does not know about lattices.
pub fn announce(work: Work) {
    NEXT.set(work);
}

/// The work that was declared since the last launch. It is reset.
pub fn taken() -> Work {
    NEXT.take()
}

#[cfg(test)]
mod tests;
