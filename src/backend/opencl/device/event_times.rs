//! The times of the commands in one queue, for a timeline (`backend/timeline`). Events are kept until many of them are done, and then
//! queried together. A run is thus rarely disturbed, and a long one never holds more than [`MOST_EVENTS`].
//!
//! The clocks of device and host differ by an unknown offset. Each command bounds it: by the device's clock, the command was queued after
//! the host began the call and before the call ended. The intersection of all bounds is narrower than any of them. It is computed anew for
//! each batch, since clocks drift.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use opencl3::event as cl;

use super::handles::RawEvent;
use super::lock::lock;
use crate::backend::timeline::{Command, CommandKind, Group, NameId, Stages, Timeline, Work};

/// The number of events after which those that are done are queried.
const BATCH: usize = 4096;
/// The maximum number of events that are held. Beyond it the host waits for half of them.
const MOST_EVENTS: usize = 16 * BATCH;

/// The description of a command when it is queued.
pub(crate) struct Note {
    pub kind: CommandKind,
    /// The name of the kernel; otherwise that of the kind.
    pub name: Option<Arc<str>>,
    pub work: Work,
}

impl Note {
    /// A command that moves bytes.
    pub(crate) fn of_bytes(kind: CommandKind, bytes: usize) -> Self {
        Self { kind, name: None, work: Work { flops: 0, bytes: bytes as u64 } }
    }
}

/// Collects the events of a queue.
#[derive(Debug)]
pub(crate) struct Recorder {
    timeline: Arc<Timeline>,
    queue: usize,
    pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    commands: VecDeque<Waiting>,
    offset: Offset,
}

/// A command whose times are not known yet.
#[derive(Debug)]
struct Waiting {
    event: RawEvent,
    kind: CommandKind,
    name: NameId,
    work: Work,
    /// Begin and end of the call by the host's clock.
    call: [i64; 2],
}

impl Recorder {
    pub(crate) fn new(timeline: Arc<Timeline>, device: &str) -> Self {
        let queue = timeline.add_queue(device);
        Self { timeline, queue, pending: Mutex::default() }
    }

    pub(crate) fn timeline(&self) -> &Arc<Timeline> {
        &self.timeline
    }

    pub(crate) fn queue(&self) -> usize {
        self.queue
    }

    /// Keeps the event of a command that was just queued by a call that began at `began`.
    pub(crate) fn keep(&self, event: &RawEvent, note: Note, began: i64) {
        let name = self.timeline.name(note.name.as_deref().unwrap_or(note.kind.name()));
        let call = [began, self.timeline.now()];
        let Some(event) = event.retained() else { return };
        let mut pending = lock(&self.pending);
        pending.commands.push_back(Waiting { event, kind: note.kind, name, work: note.work, call });
        let held = pending.commands.len();
        if held.is_multiple_of(BATCH) {
            if held >= MOST_EVENTS {
                // An error is reported to whoever waits next; here only the times matter.
                let _ = pending.commands[held / 2].event.wait();
            }
            self.resolve(&mut pending);
        }
    }

    /// Records all commands that are done.
    pub(crate) fn resolve_done(&self) {
        self.resolve(&mut lock(&self.pending));
    }

    fn resolve(&self, pending: &mut Pending) {
        if pending.commands.is_empty() {
            return;
        }
        let _span = self.timeline.span(Group::Wait, "times of events (trace)");
        let done = pending.commands.iter().take_while(|waiting| is_over(&waiting.event)).count();
        let batch: Vec<(Waiting, Option<[u64; 4]>)> = pending
            .commands
            .drain(..done)
            .map(|waiting| {
                let times = device_times(&waiting.event);
                (waiting, times)
            })
            .collect();
        // A command without a queued time does not bound the offset.
        let queued = |times: &Option<[u64; 4]>| times.map(|times| times[0]).filter(|&queued| queued > 0);
        let bounds = batch.iter().filter_map(|(waiting, times)| Some((waiting.call, queued(times)?)));
        let offset = pending.offset.narrowed(bounds);
        self.timeline.add_commands(batch.into_iter().map(|(waiting, times)| {
            let Waiting { kind, name, work, call: [began, ended], .. } = waiting;
            let stages = match times {
                Some(times) => stages(times, offset),
                // The driver keeps no times of failed commands.
                None => Stages { queued: began, submitted: ended, started: ended, ended },
            };
            Command { queue: self.queue, kind, name, stages, work, call: ended - began }
        }));
    }
}

/// Whether a command is done or has failed, which a negative status shows.
fn is_over(event: &RawEvent) -> bool {
    // The answer to this query is an `i32`, so the conversion cannot fail.
    let status = cl::get_event_info(event.get(), cl::CL_EVENT_COMMAND_EXECUTION_STATUS).map(i32::from);
    status.is_ok_and(|status| status <= cl::CL_COMPLETE) || status.is_err()
}

/// The times at which a command was queued, submitted, started and ended, by the device's clock. `None` if the driver does not keep them.
fn device_times(event: &RawEvent) -> Option<[u64; 4]> {
    let time = |what| event.time(what).ok();
    let times = [
        time(cl::CL_PROFILING_COMMAND_QUEUED)?,
        time(cl::CL_PROFILING_COMMAND_SUBMIT)?,
        time(cl::CL_PROFILING_COMMAND_START)?,
        time(cl::CL_PROFILING_COMMAND_END)?,
    ];
    (times[2] > 0 && times[3] > 0).then_some(times)
}

/// Times of the device on the host's clock. Drivers sometimes report stages slightly out of order; here no stage begins before the previous
/// one.
fn stages(times: [u64; 4], offset: i64) -> Stages {
    // NVIDIA's driver returns 0 if it kept no queued time.
    let [queued, submitted, started, ended] = times.map(|time| if time == 0 { times[2] } else { time });
    let [queued, submitted, started, ended] =
        [queued, submitted, started, ended].map(|time| (time as i64).wrapping_add(offset));
    let submitted = submitted.max(queued);
    let started = started.max(submitted);
    Stages { queued, submitted, started, ended: ended.max(started) }
}

/// The range of offsets that convert the device's clock to the host's.
#[derive(Debug, Default)]
struct Offset(Option<[i64; 2]>);

impl Offset {
    /// The best estimate after the bounds of another batch: (begin and end of the call on the host, queued time on the device).
    fn narrowed(&mut self, bounds: impl Iterator<Item = ([i64; 2], u64)>) -> i64 {
        let both = |[a, b]: [i64; 2], [c, d]: [i64; 2]| [a.max(c), b.min(d)];
        let batch = bounds
            .map(|([began, ended], queued)| [began, ended].map(|host| host.wrapping_sub(queued as i64)))
            .reduce(both);
        self.0 = match (self.0, batch) {
            (Some(before), Some(batch)) => match both(before, batch) {
                [least, most] if least <= most => Some([least, most]),
                // The clocks have drifted since the last batch.
                _ => Some(batch),
            },
            (before, batch) => batch.or(before),
        };
        let [least, most] = self.0.unwrap_or_default();
        // Half the sum, without overflow.
        least + (most - least) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_in_the_middle_of_what_all_calls_allow() {
        let mut offset = Offset::default();
        // Queued at 1000 by the device while the host called from 10 to 30: between −990 and −970; the second call says −985 to −940.
        assert_eq!(offset.narrowed([([10, 30], 1000), ([115, 160], 1100)].into_iter()), -978);
        // No new bounds: what was known stays.
        assert_eq!(offset.narrowed(std::iter::empty()), -978);
    }

    #[test]
    fn a_batch_that_contradicts_those_before_it_replaces_them() {
        let mut offset = Offset::default();
        assert_eq!(offset.narrowed([([0, 10], 100)].into_iter()), -95);
        assert_eq!(offset.narrowed([([500, 510], 580)].into_iter()), -75);
    }

    #[test]
    fn stages_come_in_order_even_where_a_driver_mixes_them_up() {
        let stages = stages([100, 90, 120, 119], 1000);
        assert_eq!(stages, Stages { queued: 1100, submitted: 1100, started: 1120, ended: 1120 });
        let without_queue = self::stages([0, 0, 120, 130], 1000);
        assert_eq!(without_queue, Stages { queued: 1120, submitted: 1120, started: 1120, ended: 1130 });
    }
}
