//! Launches: a kernel, its arguments and its work-items. They are checked before the driver sees them, since drivers answer a wrong size
//! with only a number.

use std::ptr;
use std::sync::{Arc, Mutex};

use opencl3::command_queue::{enqueue_barrier_with_wait_list, enqueue_marker_with_wait_list, enqueue_nd_range_kernel};
use opencl3::error_codes::CL_INVALID_EVENT;
use opencl3::event as cl;

use super::arguments::{Arg, Launch};
use super::context::Context;
use super::replay::{KeptLaunches, Replay};
use crate::backend::opencl::device::{
    Device, Note, OpenClError, RawEvent, RawKernel, RawQueue, WaitList, enqueue_without_event, lock,
};
use crate::backend::opencl::program::{BuiltKernel, Program, note_launched, was_launched};
use crate::backend::timeline::{CommandKind, Group, Work, taken};

const ENQUEUE: &str = "clEnqueueNDRangeKernel";

/// A queue of a device, and the events that a launch in it waits for, in addition to earlier commands in the queue.
#[derive(Clone, Copy)]
pub(crate) struct Place<'q> {
    pub queue: &'q RawQueue,
    pub after: &'q [&'q RawEvent],
    /// The offset of the work-items in each dimension.
    pub offset: [usize; 3],
    /// Whether somebody waits for the launch by its event, or will read its times. A launch without an event costs NVIDIA's driver less
    /// than half as much (docs/performance.md).
    pub event: bool,
    /// Where the launch is kept for a replay.
    pub kept: Option<&'q KeptLaunches>,
}

impl Place<'_> {
    pub(crate) fn with_event(self) -> Self {
        Self { event: true, kept: None, ..self }
    }

    /// Whether it is a normal launch: next in the device's own queue, without an offset.
    fn is_next_in(&self, context: &Context) -> bool {
        ptr::eq(self.queue, context.queue()) && self.after.is_empty() && self.offset == [0; 3]
    }
}

/// The times at which a command ran, in nanoseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceTimes {
    /// The start.
    pub start: u64,
    /// The end.
    pub end: u64,
}

impl DeviceTimes {
    /// The time from start to end.
    pub fn seconds(self) -> f64 {
        self.end.saturating_sub(self.start) as f64 * 1e-9
    }
}

/// The event of a launch, whose times can be read once it is done. Many can be in flight.
#[derive(Debug)]
pub struct LaunchEvent {
    event: RawEvent,
    entry: Arc<BuiltKernel>,
    launch: Launch,
}

impl LaunchEvent {
    pub(crate) fn event(&self) -> Option<RawEvent> {
        self.event.retained()
    }

    /// The work-items of the launch.
    pub fn work_items(&self) -> Launch {
        self.launch
    }

    /// The built kernel.
    pub fn kernel(&self) -> &BuiltKernel {
        &self.entry
    }
}

impl Context {
    /// Queues a kernel, which runs after all earlier commands. Returns without waiting for it.
    ///
    /// # Errors
    /// If an argument or size does not fit the kernel or the device, by name and value; otherwise the call that failed. An error while the
    /// kernel runs is reported by a later `read` or `finish`.
    pub fn launch(&self, program: &Program, kernel: &str, launch: Launch, args: &[Arg<'_>]) -> Result<(), OpenClError> {
        self.launch_in(self.own_place(), program, kernel, launch, args).map(drop)
    }

    /// As [`Context::launch`], but waits, and returns the time of the kernel in seconds by the device's clock.
    ///
    /// # Errors
    /// As [`Context::launch`], and errors while the kernel ran.
    pub fn launch_timed(
        &self,
        program: &Program,
        kernel: &str,
        launch: Launch,
        args: &[Arg<'_>],
    ) -> Result<f64, OpenClError> {
        let event = self.launch_event(program, kernel, launch, args)?;
        Ok(self.times(&event)?.seconds())
    }

    /// As [`Context::launch`], but returns the event, so that many launches can be timed without a wait between them.
    pub fn launch_event(
        &self,
        program: &Program,
        kernel: &str,
        launch: Launch,
        args: &[Arg<'_>],
    ) -> Result<LaunchEvent, OpenClError> {
        self.launch_event_in(self.own_place(), program, kernel, launch, args)
    }

    /// As [`Context::launch_event`], in any queue of this context.
    pub(crate) fn launch_event_in(
        &self,
        place: Place<'_>,
        program: &Program,
        kernel: &str,
        launch: Launch,
        args: &[Arg<'_>],
    ) -> Result<LaunchEvent, OpenClError> {
        let event = self.launch_in(place.with_event(), program, kernel, launch, args)?;
        event.ok_or_else(|| self.failed(ENQUEUE, CL_INVALID_EVENT, kernel.to_owned()))
    }

    /// As [`Context::launch`], in any queue of this context. Returns the event if it was requested, or if commands are recorded.
    pub(crate) fn launch_in(
        &self,
        place: Place<'_>,
        program: &Program,
        kernel: &str,
        launch: Launch,
        args: &[Arg<'_>],
    ) -> Result<Option<LaunchEvent>, OpenClError> {
        let work = taken();
        self.programs().check_owns(program)?;
        for arg in args {
            if let Arg::Buffer(buffer) = arg {
                self.check_owns(buffer)?;
            }
        }
        let entry = program.kernel(kernel)?;
        self.check_launch(program, kernel, &entry, launch, args)?;
        // PoCL compiles a kernel for a work-group size at its first launch. That time does not belong to the kernel.
        if self.info().keeps_programs() && program.is_new_in(kernel, launch.local) {
            self.finish()?;
            let _span = self.span(Group::Build, || format!("first launch of {kernel}"));
            let cached = was_launched(self.cache(), &program.key, (kernel, launch.local));
            let event = self.builds().during(cached, || {
                let event = self.enqueue(Place { event: true, ..place }, &entry, launch, args, work)?;
                if let Some(event) = &event {
                    self.await_event(&event.event, || entry.label.to_string())?;
                }
                Ok::<_, OpenClError>(event)
            })?;
            if !cached {
                note_launched(self.cache(), &program.key, (kernel, launch.local));
            }
            return Ok(event);
        }
        self.enqueue(place, &entry, launch, args, work)
    }

    /// Queues a launch that was checked. A launch that is kept has its own kernel object.
    fn enqueue(
        &self,
        place: Place<'_>,
        entry: &Arc<BuiltKernel>,
        launch: Launch,
        args: &[Arg<'_>],
        work: Work,
    ) -> Result<Option<LaunchEvent>, OpenClError> {
        if !place.is_next_in(self) {
            self.note_other_command();
        }
        let Some(kept) = place.kept else {
            // Held until the kernel is queued, which fixes the values of its arguments.
            let raw = lock(&entry.raw);
            entry.set_all(&raw, args)?;
            return self.enqueue_kernel(place, &raw, entry, launch, work);
        };
        let raw = entry.another()?;
        entry.set_all(&raw, args)?;
        let event = self.enqueue_kernel(place, &raw, entry, launch, work)?;
        kept.add(raw, entry, launch);
        Ok(event)
    }

    /// Queues a kernel object whose arguments are set.
    pub(crate) fn enqueue_kernel(
        &self,
        place: Place<'_>,
        raw: &RawKernel,
        entry: &Arc<BuiltKernel>,
        launch: Launch,
        work: Work,
    ) -> Result<Option<LaunchEvent>, OpenClError> {
        let after = WaitList::of(place.after.iter().copied());
        if !place.event && !self.is_recorded() {
            let sizes = [place.offset, launch.global, launch.local];
            self.in_turn(place.queue, || {
                // SAFETY: the arguments are set, their buffers are alive (the driver keeps them until the kernel is done), and the source
                // stays inside the buffers (`program`).
                unsafe { enqueue_without_event(place.queue, raw, &sizes, &after) }
                    .map_err(|status| self.failed(ENQUEUE, status, launch.of(entry)))
            })?;
            self.note_launch(&entry.label);
            return Ok(None);
        }
        let note = || {
            let [global, local] = [launch.global, launch.local].map(|sizes| sizes.map(|size| size as u32));
            Note { kind: CommandKind::Kernel { global, local }, name: Some(Arc::clone(&entry.short)), work }
        };
        let enqueue = |queue| {
            // SAFETY: as above; the offset, the two sizes and the wait list live through the call.
            unsafe {
                enqueue_nd_range_kernel(
                    queue,
                    raw.get(),
                    3,
                    place.offset.as_ptr(),
                    launch.global.as_ptr(),
                    launch.local.as_ptr(),
                    after.len(),
                    after.start(),
                )
            }
        };
        let event =
            self.in_turn(place.queue, || self.submit_to(place.queue, ENQUEUE, || launch.of(entry), note, enqueue))?;
        self.note_launch(&entry.label);
        Ok(Some(LaunchEvent { event, entry: Arc::clone(entry), launch }))
    }

    /// The device's own queue. If this thread's launches are kept for a replay, so are those at this place.
    pub(crate) fn own_place(&self) -> Place<'_> {
        let kept = (self.keeps_launches() == Some(true)).then(|| self.kept_launches());
        Place { queue: self.queue(), after: &[], offset: [0; 3], event: false, kept }
    }

    /// Waits for a launch, and returns its times.
    pub fn times(&self, launch: &LaunchEvent) -> Result<DeviceTimes, OpenClError> {
        let [start, end] = self.profile(launch, [cl::CL_PROFILING_COMMAND_START, cl::CL_PROFILING_COMMAND_END])?;
        Ok(DeviceTimes { start, end })
    }

    /// Replays launches in the device's own queue.
    pub(crate) fn launch_again(&self, replay: &Replay) -> Result<(), OpenClError> {
        let place = Place { kept: None, ..self.own_place() };
        let mut launches = replay.launches.iter();
        launches.try_for_each(|one| {
            self.enqueue_kernel(place, &one.raw, &one.kernel, one.launch, Work::default()).map(drop)
        })
    }

    /// Queues a marker: an event without a command, which completes when all earlier commands in the queue are done.
    pub(crate) fn mark(&self) -> Result<RawEvent, OpenClError> {
        self.note_other_command();
        // SAFETY: a live queue and no events to wait for.
        unsafe { enqueue_marker_with_wait_list(self.queue().get(), 0, ptr::null()) }
            .map(RawEvent::own)
            .map_err(|status| self.failed("clEnqueueMarkerWithWaitList", status, "a mark".to_owned()))
    }

    /// Makes commands that are queued from now on in the device's own queue wait for these events.
    pub(crate) fn barrier(&self, after: &[RawEvent]) -> Result<RawEvent, OpenClError> {
        self.note_other_command();
        let after = WaitList::of(after);
        // SAFETY: the events live as long as the list, which is as long as is said.
        unsafe { enqueue_barrier_with_wait_list(self.queue().get(), after.len(), after.start()) }
            .map(RawEvent::own)
            .map_err(|status| {
                self.failed("clEnqueueBarrierWithWaitList", status, "launches on several queues".to_owned())
            })
    }

    /// Waits for a marker, and returns the time at which it completed, in nanoseconds of the device's clock.
    pub(crate) fn end_of(&self, mark: &RawEvent) -> Result<u64, OpenClError> {
        let [end] = self.times_of(mark, || "a mark".to_owned(), [cl::CL_PROFILING_COMMAND_END])?;
        Ok(end)
    }

    /// Waits for a launch, and returns the seconds between the time when the host queued it and its start.
    pub fn seconds_queued(&self, launch: &LaunchEvent) -> Result<f64, OpenClError> {
        let [queued, start] =
            self.profile(launch, [cl::CL_PROFILING_COMMAND_QUEUED, cl::CL_PROFILING_COMMAND_START])?;
        Ok(DeviceTimes { start: queued, end: start }.seconds())
    }

    fn profile<const N: usize>(&self, launch: &LaunchEvent, what: [u32; N]) -> Result<[u64; N], OpenClError> {
        let _wait = self.span(Group::Wait, || "wait for a launch");
        self.times_of(&launch.event, || launch.entry.label.to_string(), what)
    }

    /// Waits for a command, and returns some of its times.
    fn times_of<const N: usize>(
        &self,
        event: &RawEvent,
        name: impl Fn() -> String,
        what: [u32; N],
    ) -> Result<[u64; N], OpenClError> {
        self.await_event(event, &name)?;
        let mut times = [0; N];
        for (time, what) in times.iter_mut().zip(what) {
            *time = event.time(what).map_err(|status| self.failed("clGetEventProfilingInfo", status, name()))?;
        }
        Ok(times)
    }

    fn check_launch(
        &self,
        program: &Program,
        kernel: &str,
        entry: &BuiltKernel,
        launch: Launch,
        args: &[Arg<'_>],
    ) -> Result<(), OpenClError> {
        let Launch { global, local } = launch;
        let device = self.info();
        if args.len() != entry.info.arguments {
            return Err(OpenClError::ArgumentCount {
                program: program.name().to_owned(),
                kernel: kernel.to_owned(),
                expected: entry.info.arguments,
                given: args.len(),
            });
        }
        if global.iter().zip(local).any(|(&global, local)| global == 0 || local == 0 || global % local != 0) {
            return Err(OpenClError::GlobalSize { kernel: kernel.to_owned(), global, local });
        }
        let work_items = local.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        let kernel_max = entry.info.max_work_group_size.min(device.max_work_group_size);
        if work_items.is_none_or(|items| items > kernel_max)
            || local.iter().zip(device.max_work_item_sizes).any(|(&size, max)| size > max)
        {
            return Err(OpenClError::LocalSize {
                kernel: kernel.to_owned(),
                local,
                device: device.with_driver(),
                kernel_max,
                device_max: device.max_work_group_size,
                item_max: device.max_work_item_sizes,
            });
        }
        let local_bytes: usize = args.iter().map(|arg| if let Arg::Local(bytes) = arg { *bytes } else { 0 }).sum();
        if local_bytes as u64 > device.local_memory_bytes {
            return Err(OpenClError::LocalMemory {
                kernel: kernel.to_owned(),
                bytes: local_bytes,
                device: device.with_driver(),
                available: device.local_memory_bytes,
            });
        }
        Ok(())
    }
}

/// The queue of this process's last kernel, on drivers on which only one queue may run at a time. It stays alive until another queue takes
/// its place.
static LAST_QUEUE: Mutex<Option<RawQueue>> = Mutex::new(None);

impl Device {
    /// Puts a kernel in a queue. If kernels of several queues of a process must not be in flight at the same time (PoCL), the queue of the
    /// previous kernel is finished first, if it is a different one.
    ///
    /// PoCL keeps the machine code of kernels in a list. It looks up an entry by the kernel, the work-group size, and the size and offset
    /// of the launch, but releases it by the first two alone.
    fn in_turn<R>(
        &self,
        in_queue: &RawQueue,
        enqueue: impl FnOnce() -> Result<R, OpenClError>,
    ) -> Result<R, OpenClError> {
        if !self.info().runs_one_queue() {
            return enqueue();
        }
        let mut last = lock(&LAST_QUEUE);
        if last.as_ref().map(RawQueue::get) != Some(in_queue.get()) {
            if let Some(other) = last.take() {
                // A failure is reported to whoever waits for that queue.
                let _ = other.finish();
            }
            *last = in_queue.retained();
        }
        enqueue()
    }
}
