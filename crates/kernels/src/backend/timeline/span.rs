//! Spans of the host, and what a thread says of its next launch.

use std::cell::Cell;

use super::{Group, NameId, Timeline, Work};

/// A span that ends when this is dropped; nothing where there is no timeline.
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
    /// A span of nothing.
    pub fn none() -> Self {
        Self(None)
    }

    pub(super) fn begin(timeline: &'a Timeline, group: Group, name: &str) -> Self {
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

/// Begins a span on the timeline of the process, if there is one; else `name` is not asked for.
pub fn span<N: AsRef<str>>(group: Group, name: impl FnOnce() -> N) -> SpanGuard<'static> {
    match Timeline::of_process() {
        Some(timeline) => timeline.span(group, name().as_ref()),
        None => SpanGuard::none(),
    }
}

thread_local! {
    static NEXT: Cell<Work> = const { Cell::new(Work { flops: 0, bytes: 0 }) };
}

/// Says what this thread's next launch does: the runtime, which knows no lattice, cannot tell.
pub fn announce(work: Work) {
    NEXT.set(work);
}

/// What was announced since the last launch, and nothing from now on.
pub fn taken() -> Work {
    NEXT.take()
}
