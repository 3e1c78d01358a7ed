//! Launches: a kernel, its arguments and its work-items, checked before the driver sees them, since drivers answer a wrong size
//! with a bare number. The geometry itself comes from the layout (`reference/src/layout`).

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use opencl3::command_queue::{enqueue_marker_with_wait_list, enqueue_nd_range_kernel};
use opencl3::error_codes::CL_INVALID_EVENT;
use opencl3::event as cl;
use opencl3::kernel::set_kernel_arg;
use opencl3::types::cl_event;

use super::context::{Buffer, Context, lock};
use super::error::OpenClError;
use super::program::{Kernel, Program};
use super::raw::{RawEvent, RawKernel, RawQueue, enqueue_without_event, unsigned};
use super::recorder::Note;
use crate::backend::timeline::{CommandKind, Group, Work, taken};

/// The call that launches.
const ENQUEUE: &str = "clEnqueueNDRangeKernel";

/// One kernel argument, in the order of the kernel's declaration.
#[derive(Debug, Clone, Copy)]
pub enum Arg<'a> {
    /// `global T *`
    Buffer(&'a Buffer),
    /// `uint`
    U32(u32),
    /// `int`
    I32(i32),
    /// `ulong`
    U64(u64),
    /// `float`
    F32(f32),
    /// `double`
    F64(f64),
    /// `local T *`: so many bytes for each work-group.
    Local(usize),
}

impl Arg<'_> {
    fn describe(&self) -> String {
        match self {
            Arg::Buffer(buffer) => format!("buffer {} of {} bytes", buffer.what(), buffer.bytes()),
            Arg::U32(value) => format!("uint {value}, 4 bytes"),
            Arg::I32(value) => format!("int {value}, 4 bytes"),
            Arg::U64(value) => format!("ulong {value}, 8 bytes"),
            Arg::F32(value) => format!("float {value}, 4 bytes"),
            Arg::F64(value) => format!("double {value}, 8 bytes"),
            Arg::Local(bytes) => format!("{bytes} bytes of local memory"),
        }
    }
}

/// Work-items of a launch, in all and in a work-group; dimensions that are not used have size 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Work-items in each dimension.
    pub global: [usize; 3],
    /// Work-items of a work-group in each dimension.
    pub local: [usize; 3],
}

impl Launch {
    /// The launch of a kernel, as errors name it.
    fn of(self, kernel: &Kernel) -> String {
        format!("{}, global {:?}, local {:?}", kernel.label, self.global, self.local)
    }
}

/// A queue of a context, and what a launch there waits for beside those before it in the queue.
#[derive(Clone, Copy)]
pub(super) struct Place<'q> {
    pub queue: &'q RawQueue,
    /// Events that live through the launch.
    pub after: &'q [cl_event],
    /// The number of the first work-item in each dimension.
    pub offset: [usize; 3],
    /// Whether somebody waits for the launch by its event, or will ask that for times. One without costs NVIDIA's driver less than half as much
    /// (docs/performance.md).
    pub event: bool,
}

impl Place<'_> {
    /// The same, with an event.
    pub fn with_event(self) -> Self {
        Self { event: true, ..self }
    }

    /// Whether it is simply what comes next in a context's own queue, from the first work-item on.
    fn is_next_in(&self, context: &Context) -> bool {
        ptr::eq(self.queue, context.queue()) && self.after.is_empty() && self.offset == [0; 3]
    }
}

/// When a command ran, in nanoseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceTimes {
    /// When it started.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

impl DeviceTimes {
    /// The time from start to end.
    pub fn seconds(self) -> f64 {
        self.end.saturating_sub(self.start) as f64 * 1e-9
    }
}

/// A launch whose times can be asked for once it is done. Many can be in flight.
#[derive(Debug)]
pub struct LaunchEvent {
    event: RawEvent,
    entry: Arc<Kernel>,
    launch: Launch,
}

impl LaunchEvent {
    /// Another reference to the event.
    pub(super) fn event(&self) -> Option<RawEvent> {
        self.event.retained()
    }

    /// The work-items of the launch.
    pub fn work_items(&self) -> Launch {
        self.launch
    }

    /// The kernel as it was built.
    pub fn kernel(&self) -> &Kernel {
        &self.entry
    }
}

impl Context {
    /// Queues a kernel; it runs after all that was submitted before. Returns without waiting for it.
    ///
    /// # Errors
    ///
    /// An argument or size that does not fit the kernel or the device, by name and value; otherwise the failing call. What
    /// goes wrong while the kernel runs is reported by a later [`Context::read`] or [`Context::finish`].
    pub fn launch(&self, program: &Program, kernel: &str, launch: Launch, args: &[Arg<'_>]) -> Result<(), OpenClError> {
        self.launch_in(self.own_place(), program, kernel, launch, args).map(drop)
    }

    /// As [`Context::launch`], but waits, and returns the seconds that the kernel took by the device's own clock.
    ///
    /// # Errors
    ///
    /// As [`Context::launch`], and what went wrong while the kernel ran.
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

    /// As [`Context::launch`], and returns the event, so that many launches can be timed without a wait between them.
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
    pub(super) fn launch_event_in(
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

    /// As [`Context::launch`], in any queue of this context; the event where one is asked for, or commands are recorded.
    pub(super) fn launch_in(
        &self,
        place: Place<'_>,
        program: &Program,
        kernel: &str,
        launch: Launch,
        args: &[Arg<'_>],
    ) -> Result<Option<LaunchEvent>, OpenClError> {
        let work = taken();
        self.check_owns_program(program)?;
        for arg in args {
            if let Arg::Buffer(buffer) = arg {
                self.check_owns(buffer)?;
            }
        }
        let entry = program.kernel(kernel)?;
        self.check_launch(program, kernel, &entry, launch, args)?;
        // PoCL compiles a kernel for a size of groups when it is first launched so: that is no time of the kernel's.
        if self.info().keeps_programs() && program.is_new_in(kernel, launch.local) {
            self.finish()?;
            let _span = self.span(Group::Build, || format!("first launch of {kernel}"));
            let cached = self.was_launched(&program.key, (kernel, launch.local));
            let event = self.builds().during(cached, || {
                let event = self.enqueue(place.with_event(), &entry, launch, args, work)?;
                if let Some(event) = &event {
                    cl::wait_for_events(&[event.event.get()])
                        .map_err(|status| self.failed("clWaitForEvents", status, entry.label.to_string()))?;
                }
                Ok::<_, OpenClError>(event)
            })?;
            if !cached {
                self.note_launched(&program.key, (kernel, launch.local));
            }
            return Ok(event);
        }
        self.enqueue(place, &entry, launch, args, work)
    }

    /// Queues a launch that was checked.
    fn enqueue(
        &self,
        place: Place<'_>,
        entry: &Arc<Kernel>,
        launch: Launch,
        args: &[Arg<'_>],
        work: Work,
    ) -> Result<Option<LaunchEvent>, OpenClError> {
        let has_event = place.event || self.is_recorded();
        if !place.is_next_in(self) {
            self.spoil_tape();
        }
        if !has_event && let Some(raw) = self.kernel_for_tape(entry)? {
            entry.set_all(&raw, args)?;
            self.enqueue_kernel(place, &raw, entry, launch)?;
            self.add_to_tape(raw, entry, launch);
            return Ok(None);
        }
        // Held until the kernel is queued, which fixes the values of its arguments.
        let raw = lock(&entry.raw);
        entry.set_all(&raw, args)?;
        if !has_event {
            return self.enqueue_kernel(place, &raw, entry, launch).map(|()| None);
        }
        let note = || {
            let [global, local] = [launch.global, launch.local].map(|sizes| sizes.map(|size| size as u32));
            Note { kind: CommandKind::Kernel { global, local }, name: Some(Arc::clone(&entry.short)), work }
        };
        let after = if place.after.is_empty() { ptr::null() } else { place.after.as_ptr() };
        let enqueue = |queue| {
            // SAFETY: the offset, the two sizes and the events of the wait list live through the call, all arguments are set with the buffers
            // alive (the driver keeps them until the kernel is done), and the source stays inside them (`program`).
            unsafe {
                enqueue_nd_range_kernel(
                    queue,
                    raw.get(),
                    3,
                    place.offset.as_ptr(),
                    launch.global.as_ptr(),
                    launch.local.as_ptr(),
                    place.after.len() as u32,
                    after,
                )
            }
        };
        let event =
            self.in_turn(place.queue, || self.submit_to(place.queue, ENQUEUE, || launch.of(entry), note, enqueue))?;
        self.note_launch(&entry.label);
        drop(raw);
        Ok(Some(LaunchEvent { event, entry: Arc::clone(entry), launch }))
    }

    /// Queues a kernel object whose arguments are set, without an event.
    pub(super) fn enqueue_kernel(
        &self,
        place: Place<'_>,
        raw: &RawKernel,
        entry: &Kernel,
        launch: Launch,
    ) -> Result<(), OpenClError> {
        let sizes = [place.offset, launch.global, launch.local];
        self.in_turn(place.queue, || {
            // SAFETY: as in `enqueue`.
            unsafe { enqueue_without_event(place.queue, raw, &sizes, place.after) }
                .map_err(|status| self.failed(ENQUEUE, status, launch.of(entry)))
        })?;
        self.note_launch(&entry.label);
        Ok(())
    }

    /// The context's own queue.
    pub(super) fn own_place(&self) -> Place<'_> {
        Place { queue: self.queue(), after: &[], offset: [0; 3], event: false }
    }

    /// Waits for a launch, and returns when it ran.
    ///
    /// # Errors
    ///
    /// What went wrong while the kernel ran.
    pub fn times(&self, launch: &LaunchEvent) -> Result<DeviceTimes, OpenClError> {
        let [start, end] = self.profile(launch, [cl::CL_PROFILING_COMMAND_START, cl::CL_PROFILING_COMMAND_END])?;
        Ok(DeviceTimes { start, end })
    }

    /// Queues a mark: an event of nothing, which is over when all before it in the queue is.
    pub(super) fn mark(&self) -> Result<RawEvent, OpenClError> {
        self.spoil_tape();
        // SAFETY: a live queue and no events to wait for.
        unsafe { enqueue_marker_with_wait_list(self.queue().get(), 0, ptr::null()) }
            .map(RawEvent::own)
            .map_err(|status| self.failed("clEnqueueMarkerWithWaitList", status, "a mark".to_owned()))
    }

    /// Waits for a mark, and returns when it was over, in nanoseconds of the device's clock.
    pub(super) fn end_of(&self, mark: &RawEvent) -> Result<u64, OpenClError> {
        let failed = |call, status| self.failed(call, status, "a mark".to_owned());
        cl::wait_for_events(&[mark.get()]).map_err(|status| failed("clWaitForEvents", status))?;
        cl::get_event_profiling_data(mark.get(), cl::CL_PROFILING_COMMAND_END)
            .map(|bytes| unsigned(Ok(bytes)))
            .map_err(|status| failed("clGetEventProfilingInfo", status))
    }

    /// Waits for a launch, and returns the seconds from when the host queued it to when it started.
    ///
    /// # Errors
    ///
    /// What went wrong while the kernel ran.
    pub fn seconds_queued(&self, launch: &LaunchEvent) -> Result<f64, OpenClError> {
        let [queued, start] =
            self.profile(launch, [cl::CL_PROFILING_COMMAND_QUEUED, cl::CL_PROFILING_COMMAND_START])?;
        Ok(DeviceTimes { start: queued, end: start }.seconds())
    }

    fn profile<const N: usize>(&self, launch: &LaunchEvent, what: [u32; N]) -> Result<[u64; N], OpenClError> {
        let _wait = self.span(Group::Wait, || "wait for a launch");
        let event = launch.event.get();
        cl::wait_for_events(&[event])
            .map_err(|status| self.failed("clWaitForEvents", status, launch.entry.label.to_string()))?;
        let mut times = [0; N];
        for (time, what) in times.iter_mut().zip(what) {
            *time = cl::get_event_profiling_data(event, what)
                .map(|bytes| unsigned(Ok(bytes)))
                .map_err(|status| self.failed("clGetEventProfilingInfo", status, launch.entry.label.to_string()))?;
        }
        Ok(times)
    }

    fn check_launch(
        &self,
        program: &Program,
        kernel: &str,
        entry: &Kernel,
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
                device: device.name.clone(),
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
                device: device.name.clone(),
                available: device.local_memory_bytes,
            });
        }
        Ok(())
    }
}

impl Kernel {
    /// Sets all arguments of one of its kernel objects, which nobody else uses now.
    fn set_all(&self, raw: &RawKernel, args: &[Arg<'_>]) -> Result<(), OpenClError> {
        args.iter().enumerate().try_for_each(|(index, arg)| self.set(raw, index, arg))
    }

    /// Sets one argument, likewise.
    pub(super) fn set(&self, raw: &RawKernel, index: usize, arg: &Arg<'_>) -> Result<(), OpenClError> {
        set_arg(raw, index as u32, arg).map_err(|status| {
            let what = format!("argument {index} ({}) of {}", arg.describe(), self.label);
            OpenClError::call("clSetKernelArg", status, what)
        })
    }
}

/// Sets one argument; nobody else uses the kernel object now.
fn set_arg(kernel: &RawKernel, index: u32, arg: &Arg<'_>) -> Result<(), i32> {
    fn value<T>(kernel: &RawKernel, index: u32, value: T) -> Result<(), i32> {
        // SAFETY: the driver copies `size_of::<T>()` bytes from a live value, and answers a wrong index or size with a
        // status.
        unsafe { set_kernel_arg(kernel.get(), index, size_of::<T>(), (&raw const value).cast::<c_void>()) }
    }
    match *arg {
        Arg::Buffer(buffer) => value(kernel, index, buffer.mem()),
        Arg::U32(number) => value(kernel, index, number),
        Arg::I32(number) => value(kernel, index, number),
        Arg::U64(number) => value(kernel, index, number),
        Arg::F32(number) => value(kernel, index, number),
        Arg::F64(number) => value(kernel, index, number),
        // SAFETY: a null value with a size asks for local memory; the driver reads nothing.
        Arg::Local(bytes) => unsafe { set_kernel_arg(kernel.get(), index, bytes, ptr::null()) },
    }
}
