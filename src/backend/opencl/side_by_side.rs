//! Launches of kernels on several queues at once, which a graph of launches puts there (`backend/graph.rs`). The device's own queue waits for them when
//! they are joined, so that whoever uses the device afterwards, in that queue, finds them done.

use std::mem;

use opencl3::command_queue as queue;

use super::backend::OpenCl;
use super::device::{RawEvent, RawQueue, lock};
use super::memory::Buffer;
use super::queue::Place;
use crate::backend::specification::Call;
use crate::backend::{BackendError, SideBySide};

pub(crate) struct OnQueues<'b> {
    device: &'b OpenCl,
    queues: Vec<Used>,
    /// What was in the device's own queue before.
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
    /// So many queues, at least one, which wait for the device's own.
    pub(crate) fn new(device: &'b OpenCl, count: usize) -> Result<Self, BackendError> {
        let context = device.context();
        let mut queues = Vec::with_capacity(count.max(1));
        for _ in 0..count.max(1) {
            let kept = lock(&device.queues).pop();
            queues.push(Used { queue: kept.map_or_else(|| context.new_queue(), Ok)?, last: None });
        }
        let start = context.barrier(&[])?;
        context.flush()?;
        context.pool().enter_queues();
        Ok(Self { device, queues, start, events: Vec::new(), kept: Vec::new() })
    }

    fn finish(&self) {
        for Used { queue, .. } in &self.queues {
            // A failure leaves nothing to do: the driver has given the commands up.
            let _ = queue::finish(queue.get());
        }
    }
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
        Ok(self.device.context().flush_queue(queue)?)
    }

    fn join(mut self: Box<Self>) -> Result<(), BackendError> {
        let mut events = mem::take(&mut self.events);
        let last: Vec<RawEvent> = self.queues.iter().filter_map(|used| events.get_mut(used.last?)?.take()).collect();
        self.device.context().barrier(&last)?;
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
