//! Kernels of several queues of a process may not be in flight at once on PoCL. It keeps their machine code in a list, finds an entry by the kernel, the
//! size of groups, and the size and the offset of the launch, but gives it back by the first two alone (`pocl_release_dlhandle_cache`, as in PoCL 3.1).
//! Where two queues run one kernel with launches that differ in the rest, an entry in use counts as free, and PoCL aborts the process.

use std::sync::Mutex;

use opencl3::command_queue as queue;

use crate::backend::opencl::device::{Device, OpenClError, RawQueue, lock};

/// The queue that the last kernel of this process was put in on PoCL. It lives until another one takes its place.
static LAST: Mutex<Option<RawQueue>> = Mutex::new(None);

impl Device {
    /// Puts a kernel in a queue. On PoCL the queue of the kernel before finishes first, if it is another one.
    pub(crate) fn in_turn<R>(
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
                // A failure is told to whoever waits for that queue.
                let _ = queue::finish(other.get());
            }
            *last = in_queue.retained();
        }
        enqueue()
    }
}
