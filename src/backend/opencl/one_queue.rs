//! PoCL may run the kernels of one queue of a process at a time. It keeps the machine code of kernels in a list, finds an entry by the kernel, the size
//! of groups, and the size and the offset of the launch, but gives it back by the first two alone (`pocl_release_dlhandle_cache`, PoCL 1.8 to 5.0). Where
//! two queues have launches of one kernel in flight that differ in the rest, an entry that is in use counts as free, and PoCL asserts.

use std::sync::Mutex;

use opencl3::command_queue as queue;

use super::context::{Context, lock};
use super::error::OpenClError;
use super::raw::RawQueue;

/// The queue in which the last kernel of this process was put on PoCL.
static LAST: Mutex<Option<RawQueue>> = Mutex::new(None);

impl Context {
    /// Puts a kernel in a queue. On PoCL other queues finish first.
    pub(super) fn in_turn<R>(
        &self,
        in_queue: &RawQueue,
        enqueue: impl FnOnce() -> Result<R, OpenClError>,
    ) -> Result<R, OpenClError> {
        if !self.info().runs_one_queue() {
            return enqueue();
        }
        let mut last = lock(&LAST);
        if last.as_ref().map(RawQueue::get) != Some(in_queue.get()) {
            if let Some(other) = last.take() {
                // A failure is of the other queue's commands, whose owner is told of it.
                let _ = queue::finish(other.get());
            }
            *last = in_queue.retained();
        }
        enqueue()
    }
}
