//! Owned OpenCL objects, and the answers of queries as text and numbers. Each object releases itself once when dropped, and never panics.
//! (opencl3's own types `expect` in `Drop`, which would abort a process whose device has disappeared.)

use std::marker::PhantomData;
use std::ptr;

use opencl3::types::{cl_command_queue, cl_context, cl_device_id, cl_event, cl_kernel, cl_mem, cl_program};

macro_rules! owned {
    ($(#[$doc:meta] $name:ident($cl:ty), $release:path;)*) => {$(
        #[$doc]
        #[derive(Debug)]
        pub(crate) struct $name($cl);

        impl $name {
            /// Takes ownership of one reference, as returned by a `clCreate…` or `clEnqueue…` call.
            pub(crate) fn own(object: $cl) -> Self {
                Self(object)
            }

            pub(crate) fn get(&self) -> $cl {
                self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // A forked child has none of the threads that a driver may wait for.
                if !super::forked::is_of_parent() {
                    // SAFETY: the reference was taken over in `own` and is given back only here. A failure leaves nothing to
                    // do: the driver has already lost the object.
                    let _ = unsafe { $release(self.0) };
                }
            }
        }

        // SAFETY: OpenCL 1.2, appendix A.2: every call is thread-safe except clSetKernelArg on one kernel object, and
        // `Kernel` guards that one with a mutex.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    )*};
}

owned! {
    /// A context.
    RawContext(cl_context), opencl3::context::context::release_context;
    /// A command queue. Releasing it also flushes it.
    RawQueue(cl_command_queue), opencl3::command_queue::release_command_queue;
    /// A buffer. It holds its context, so the order of drops does not matter.
    RawMem(cl_mem), opencl3::memory::release_mem_object;
    /// A program.
    RawProgram(cl_program), opencl3::program::release_program;
    /// A kernel with the arguments that were set last.
    RawKernel(cl_kernel), opencl3::kernel::release_kernel;
    /// A queued command.
    RawEvent(cl_event), opencl3::event::release_event;
}

/// A root device. The driver owns it for the life of the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawDevice(pub(crate) cl_device_id);

// SAFETY: a device id is a name that the driver never frees or changes for root devices.
unsafe impl Send for RawDevice {}
// SAFETY: as above.
unsafe impl Sync for RawDevice {}

impl RawQueue {
    /// Waits until everything in the queue is done. Returns the status if the driver could not.
    pub(crate) fn finish(&self) -> Result<(), i32> {
        opencl3::command_queue::finish(self.0)
    }

    pub(crate) fn retained(&self) -> Option<Self> {
        // SAFETY: the queue is alive, since `self` holds a reference; the new one is given back when the result is dropped.
        unsafe { opencl3::command_queue::retain_command_queue(self.0) }.ok().map(|()| Self(self.0))
    }
}

impl RawEvent {
    /// Waits until the command is done. Returns the status if it failed.
    pub(crate) fn wait(&self) -> Result<(), i32> {
        opencl3::event::wait_for_events(&[self.0])
    }

    /// One of the command's times (`CL_PROFILING_COMMAND_…`), in nanoseconds of the device's clock.
    pub(crate) fn time(&self, what: u32) -> Result<u64, i32> {
        opencl3::event::get_event_profiling_data(self.0, what).map(|bytes| unsigned(Ok(bytes)))
    }

    pub(crate) fn retained(&self) -> Option<Self> {
        // SAFETY: the event is alive, since `self` holds a reference; the new one is given back when the result is dropped.
        unsafe { opencl3::event::retain_event(self.0) }.ok().map(|()| Self(self.0))
    }
}

/// Events that a command waits for, in the form of OpenCL calls. They outlive the list.
pub(crate) struct WaitList<'e>(Vec<cl_event>, PhantomData<&'e RawEvent>);

impl<'e> WaitList<'e> {
    pub(crate) fn of(events: impl IntoIterator<Item = &'e RawEvent>) -> Self {
        Self(events.into_iter().map(RawEvent::get).collect(), PhantomData)
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// A pointer to the first event; null for an empty list, as the standard demands.
    pub(crate) fn start(&self) -> *const cl_event {
        if self.0.is_empty() { ptr::null() } else { self.0.as_ptr() }
    }
}

/// Queues a kernel without an event, which opencl3 always creates. `sizes`: the offset, the number of work-items, and the size of a
/// work-group.
///
/// # Safety
/// As for `clEnqueueNDRangeKernel`: the arguments are set, the buffers live, and the kernel stays inside them.
pub(crate) unsafe fn enqueue_without_event(
    queue: &RawQueue,
    kernel: &RawKernel,
    [offset, global, local]: &[[usize; 3]; 3],
    after: &WaitList<'_>,
) -> Result<(), i32> {
    let runtime = cl3::load_library().as_ref().map_err(|_| cl3::error_codes::DLOPEN_RUNTIME_LOAD_FAILED)?;
    let (count, list, no_event) = (after.len(), after.start(), ptr::null_mut());
    let [offset, global, local] = [offset, global, local].map(|sizes| sizes.as_ptr());
    match runtime.clEnqueueNDRangeKernel(queue.get(), kernel.get(), 3, offset, global, local, count, list, no_event) {
        Some(0) => Ok(()),
        Some(status) => Err(status),
        None => Err(cl3::error_codes::DLOPEN_FUNCTION_NOT_AVAILABLE),
    }
}

/// A query's answer as text; drivers pad with NULs and blanks.
pub(crate) fn text(answer: Result<Vec<u8>, i32>) -> String {
    let bytes = answer.unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()
}

/// A query's answer as a number of 4 or 8 bytes (`cl_uint`, `cl_bool`, `cl_ulong`, `size_t`); 0 if there is none.
pub(crate) fn unsigned(answer: Result<Vec<u8>, i32>) -> u64 {
    match answer.unwrap_or_default()[..] {
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_drops_the_padding_of_drivers() {
        assert_eq!(text(Ok(b"  NVIDIA H200\0\0".to_vec())), "NVIDIA H200");
        assert_eq!(text(Err(-30)), "");
    }

    #[test]
    fn numbers_of_either_size_are_read_and_a_failed_query_is_zero() {
        assert_eq!(unsigned(Ok(7u32.to_ne_bytes().to_vec())), 7);
        assert_eq!(unsigned(Ok((1u64 << 40).to_ne_bytes().to_vec())), 1 << 40);
        assert_eq!(unsigned(Err(-30)), 0);
        assert_eq!(unsigned(Ok(vec![1, 2, 3])), 0);
    }
}
