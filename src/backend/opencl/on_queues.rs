//! Launches of kernels on several queues at once, which a graph of launches puts there (`backend/graph.rs`). The context's own queue waits for them when
//! they are joined, so that whoever uses the device afterwards, in that queue, finds them done.

use std::mem;
use std::ptr;

use opencl3::command_queue as queue;

use super::context::{lock, new_queue};
use super::launch::Place;
use super::raw::{RawEvent, RawQueue};
use super::{Buffer, OpenCl, OpenClError};
use crate::backend::specification::Call;
use crate::backend::{BackendError, SideBySide};

/// Queues in use.
pub(super) struct OnQueues<'b> {
    device: &'b OpenCl,
    queues: Vec<Used>,
    /// What was in the context's own queue before.
    start: RawEvent,
    /// By the number of the launch.
    events: Vec<Option<RawEvent>>,
    /// Memory that launches use and nobody else may have before they are done.
    kept: Vec<Buffer>,
}

/// A queue, and whether anything was queued there.
struct Used {
    queue: RawQueue,
    last: Option<usize>,
}

impl<'b> OnQueues<'b> {
    /// So many queues, at least one, which wait for the context's own.
    pub fn new(device: &'b OpenCl, count: usize) -> Result<Self, BackendError> {
        let context = device.context();
        let mut queues = Vec::with_capacity(count.max(1));
        for _ in 0..count.max(1) {
            let kept = lock(&device.queues).pop();
            let made = || new_queue(context.raw(), context.device(), format!("device {}", context.info()));
            queues.push(Used { queue: kept.map_or_else(made, Ok)?, last: None });
        }
        let start = barrier(device, &[])?;
        context.flush()?;
        context.pool().enter_queues();
        Ok(Self { device, queues, start, events: Vec::new(), kept: Vec::new() })
    }

    /// Waits for all that was queued.
    fn finish(&self) {
        for Used { queue, .. } in &self.queues {
            // A failure leaves nothing to do: the driver has given the commands up.
            let _ = queue::finish(queue.get());
        }
    }
}

/// Has what is queued from now on in the context's own queue wait for these events.
pub(super) fn barrier(device: &OpenCl, after: &[RawEvent]) -> Result<RawEvent, OpenClError> {
    device.context().spoil_tape();
    let events: Vec<_> = after.iter().map(RawEvent::get).collect();
    let (context, list) = (device.context(), if events.is_empty() { ptr::null() } else { events.as_ptr() });
    // SAFETY: the events live through the call, and the list is as long as is said.
    unsafe { queue::enqueue_barrier_with_wait_list(context.queue().get(), events.len() as u32, list) }
        .map(RawEvent::own)
        .map_err(|status| {
            context.failed("clEnqueueBarrierWithWaitList", status, "launches on several queues".to_owned())
        })
}

impl SideBySide<OpenCl> for OnQueues<'_> {
    fn launch(&mut self, call: Call<'_, OpenCl>, queue: usize, after: &[usize]) -> Result<(), BackendError> {
        call.check_launched()?;
        self.device.takes(call.shape())?;
        let number = queue % self.queues.len();
        let Used { queue, last } = &mut self.queues[number];
        let mut events: Vec<_> =
            after.iter().filter_map(|&launch| self.events.get(launch)?.as_ref()).map(RawEvent::get).collect();
        if last.is_none() {
            events.push(self.start.get());
        }
        let place = Place { queue, after: &events, offset: [0; 3], event: true };
        let (event, kept) = self.device.launch_call(&call, place)?;
        *last = Some(self.events.len());
        self.events.push(event);
        self.kept.extend(kept);
        // Other queues may wait for this launch only when the device was told of it.
        let flushed = queue::flush(queue.get());
        flushed.map_err(|status| self.device.context().failed("clFlush", status, String::new()))?;
        Ok(())
    }

    fn join(mut self: Box<Self>) -> Result<(), BackendError> {
        let mut events = mem::take(&mut self.events);
        let last: Vec<RawEvent> = self.queues.iter().filter_map(|used| events.get_mut(used.last?)?.take()).collect();
        barrier(self.device, &last)?;
        for used in &mut self.queues {
            used.last = None;
        }
        Ok(())
    }
}

impl Drop for OnQueues<'_> {
    fn drop(&mut self) {
        // Where they were not joined, nobody else waits for them.
        if self.queues.iter().any(|used| used.last.is_some()) {
            self.finish();
        }
        self.kept.clear();
        self.device.context().pool().leave_queues();
        lock(&self.device.queues).extend(self.queues.drain(..).map(|used| used.queue));
    }
}
