//! Features of OpenCL that only experiments use: several in-order queues in one context, for transfers concurrent with kernels and for concurrent
//! small kernels; and images, which are read through a device's texture units if it has any.

use std::ffi::{CString, c_void};
use std::marker::PhantomData;
use std::ptr;

use lanefield::backend::opencl::{Arg, Buffer, ClStatus, Context, Launch, OpenClError, Program};
use opencl3::types::{CL_NON_BLOCKING, cl_image_desc, cl_image_format};
use opencl3::{command_queue as queue, device, event, kernel, memory};

use super::bench::Call;

struct Owned {
    object: *mut c_void,
    release: unsafe fn(*mut c_void) -> Result<(), i32>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the only reference, as returned by a `clCreate…` or `clEnqueue…` call. There is nothing to do after a failure.
        let _ = unsafe { (self.release)(self.object) };
    }
}

type Outcome<T> = Result<T, OpenClError>;

fn failed(call: &'static str, what: &str) -> impl FnOnce(i32) -> OpenClError {
    move |status| OpenClError::Call { call, status: ClStatus(status), what: what.to_owned() }
}

/// Texels of four floats, the only number of floats that OpenCL 1.2 guarantees.
pub(super) struct Image(Owned);

impl Image {
    /// The largest width and height; `None` if the device has no images.
    pub fn largest(context: &Context) -> Option<[usize; 2]> {
        let (_, of) = context.handles();
        let number = |what| number(device::get_device_data(of, what)) as usize;
        (number(device::CL_DEVICE_IMAGE_SUPPORT) != 0)
            .then(|| [device::CL_DEVICE_IMAGE2D_MAX_WIDTH, device::CL_DEVICE_IMAGE2D_MAX_HEIGHT].map(number))
    }

    pub fn new(context: &Context, width: usize, texels: &[f32]) -> Outcome<Self> {
        assert_eq!(texels.len(), 4 * width * width, "four reals a texel");
        let format =
            cl_image_format { image_channel_order: memory::CL_RGBA, image_channel_data_type: memory::CL_FLOAT };
        let description = cl_image_desc {
            image_type: memory::CL_MEM_OBJECT_IMAGE2D,
            image_width: width,
            image_height: width,
            image_depth: 0,
            image_array_size: 0,
            image_row_pitch: 0,
            image_slice_pitch: 0,
            num_mip_levels: 0,
            num_samples: 0,
            buffer: ptr::null_mut(),
        };
        let flags = memory::CL_MEM_READ_ONLY | memory::CL_MEM_COPY_HOST_PTR;
        let content = texels.as_ptr().cast::<c_void>().cast_mut();
        // SAFETY: format and description live through the call; the content, whose size was checked, is copied by the call and not written.
        unsafe { memory::create_image(context.handles().0, flags, &raw const format, &raw const description, content) }
            .map(|object| Self(Owned { object, release: memory::release_mem_object }))
            .map_err(failed("clCreateImage", "an image"))
    }
}

pub(super) struct Ready<'env> {
    kernel: Owned,
    launch: Launch,
    /// Its memory lives until the queues are done.
    memory: PhantomData<&'env Buffer>,
}

impl<'env> Ready<'env> {
    /// Arguments in the order of the declaration; an image, if there is one, follows the first of them. The kernel stays inside their memory, as
    /// required by [`Context::program`].
    pub fn new(program: &Program, call: &Call<'env>, image: Option<&'env Image>) -> Outcome<Self> {
        let Call { kernel: name, launch, ref args } = *call;
        let c_name =
            CString::new(name).map_err(|_| OpenClError::NulByte { what: "a kernel's name", value: name.to_owned() })?;
        let object = kernel::create_kernel(program.handle(), &c_name).map_err(failed("clCreateKernel", name))?;
        let kernel = Owned { object, release: kernel::release_kernel };
        let mut index = 0;
        let mut set = |bytes: usize, value: *const c_void| {
            // SAFETY: the driver copies as many bytes as the value has, and reports a wrong index or size with a status.
            let done = unsafe { kernel::set_kernel_arg(object, index, bytes, value) };
            index += 1;
            done.map_err(failed("clSetKernelArg", name))
        };
        for (k, arg) in args.iter().enumerate() {
            match *arg {
                Arg::Buffer(buffer) => {
                    let memory = buffer.handle();
                    set(size_of_val(&memory), (&raw const memory).cast())?;
                }
                Arg::U32(number) => set(4, (&raw const number).cast())?,
                Arg::I32(number) => set(4, (&raw const number).cast())?,
                Arg::U64(number) => set(8, (&raw const number).cast())?,
                Arg::F32(number) => set(4, (&raw const number).cast())?,
                Arg::F64(number) => set(8, (&raw const number).cast())?,
                Arg::Local(bytes) => set(bytes, ptr::null())?,
            }
            if let (0, Some(Image(image))) = (k, image) {
                set(size_of_val(&image.object), (&raw const image.object).cast())?;
            }
        }
        Ok(Self { kernel, launch, memory: PhantomData })
    }
}

/// Queues of a context. Commands in one queue run in order; different queues are not ordered.
pub(super) struct Queues<'env> {
    queues: Vec<Owned>,
    /// Borrowed memory must outlive the call, so `'env` must not be shortened.
    env: PhantomData<&'env mut &'env ()>,
}

/// Calls `work` with `count` queues, and waits for all commands submitted to them. Commands in the context's own queue finish first.
pub(super) fn with_queues<'env, T>(
    context: &'env Context,
    count: usize,
    work: impl FnOnce(&Queues<'env>) -> Outcome<T>,
) -> Outcome<T> {
    context.finish()?;
    let (raw, device) = context.handles();
    // Waits when it is dropped, even if `work` panics.
    let mut queues = Queues { queues: Vec::new(), env: PhantomData };
    for _ in 0..count {
        // SAFETY: the context is live, was made for this device, and the queue keeps it alive.
        let made = unsafe { queue::create_command_queue(raw, device, queue::CL_QUEUE_PROFILING_ENABLE) };
        let object = made.map_err(failed("clCreateCommandQueue", "a queue of several"))?;
        queues.queues.push(Owned { object, release: queue::release_command_queue });
    }
    let outcome = work(&queues)?;
    queues.finish()?;
    Ok(outcome)
}

impl<'env> Queues<'env> {
    /// Queue `index`, modulo the number of queues.
    fn at(&self, index: usize) -> *mut c_void {
        self.queues[index % self.queues.len()].object
    }

    pub fn launch(&self, queue: usize, ready: &Ready<'env>) -> Outcome<Launched> {
        let Launch { global, local } = ready.launch;
        // SAFETY: the sizes live through the call, and the kernel stays inside its arguments, which outlive the queues.
        unsafe {
            queue::enqueue_nd_range_kernel(
                self.at(queue),
                ready.kernel.object,
                3,
                ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                ptr::null(),
            )
        }
        .map(|object| Launched(Owned { object, release: event::release_event }))
        .map_err(failed("clEnqueueNDRangeKernel", "a queue of several"))
    }

    /// Queues a write of `data` into the buffer from byte `offset` on. Does not wait.
    pub fn write(&self, queue: usize, buffer: &'env Buffer, offset: usize, data: &'env [u8]) -> Outcome<()> {
        check_range(buffer, offset, data.len())?;
        let (queue, start) = (self.at(queue), data.as_ptr().cast());
        // SAFETY: the range was checked, and the data is borrowed beyond the call that made the queues, which waits for them.
        unsafe {
            queue::enqueue_write_buffer(
                queue,
                buffer.handle(),
                CL_NON_BLOCKING,
                offset,
                data.len(),
                start,
                0,
                ptr::null(),
            )
        }
        .map(|object| drop(Owned { object, release: event::release_event }))
        .map_err(failed("clEnqueueWriteBuffer", buffer.what()))
    }

    /// Queues a read of the buffer from byte `offset` on into `data`. Does not wait.
    pub fn read(&self, queue: usize, buffer: &'env Buffer, offset: usize, data: &'env mut [u8]) -> Outcome<()> {
        check_range(buffer, offset, data.len())?;
        let (queue, start, bytes) = (self.at(queue), data.as_mut_ptr().cast(), data.len());
        // SAFETY: as for `write`; the borrow is exclusive.
        unsafe {
            queue::enqueue_read_buffer(queue, buffer.handle(), CL_NON_BLOCKING, offset, bytes, start, 0, ptr::null())
        }
        .map(|object| drop(Owned { object, release: event::release_event }))
        .map_err(failed("clEnqueueReadBuffer", buffer.what()))
    }

    /// Makes the device start with the queued commands: drivers may wait for more.
    pub fn flush(&self) -> Outcome<()> {
        self.queues.iter().try_for_each(|one| queue::flush(one.object).map_err(failed("clFlush", "a queue of several")))
    }

    pub(crate) fn finish_one(&self, queue: usize) -> Outcome<()> {
        queue::finish(self.at(queue)).map_err(failed("clFinish", "a queue of several"))
    }

    pub fn finish(&self) -> Outcome<()> {
        self.flush()?;
        (0..self.queues.len()).try_for_each(|queue| self.finish_one(queue))
    }
}

impl Drop for Queues<'_> {
    fn drop(&mut self) {
        // There is nothing to do after a failure: the driver has abandoned the commands.
        for one in &self.queues {
            let _ = queue::finish(one.object);
        }
    }
}

pub(super) struct Launched(Owned);

impl Launched {
    /// Waits for it, and returns its seconds by the device's clock.
    pub fn seconds(&self) -> Outcome<f64> {
        let event = self.0.object;
        event::wait_for_events(&[event]).map_err(failed("clWaitForEvents", "a kernel"))?;
        let [start, end] = [event::CL_PROFILING_COMMAND_START, event::CL_PROFILING_COMMAND_END]
            .map(|what| number(event::get_event_profiling_data(event, what)));
        Ok(end.saturating_sub(start) as f64 * 1e-9)
    }
}

/// The result of a query with 4 or 8 bytes; 0 if there is none.
fn number(answer: Result<Vec<u8>, i32>) -> u64 {
    match answer.as_deref() {
        Ok(&[a, b, c, d]) => u32::from_ne_bytes([a, b, c, d]).into(),
        Ok(&[a, b, c, d, e, f, g, h]) => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

fn check_range(buffer: &Buffer, offset: usize, len: usize) -> Outcome<()> {
    let (what, bytes) = (buffer.what().to_owned(), buffer.bytes());
    let fits = offset.checked_add(len).is_some_and(|end| end <= bytes);
    if fits { Ok(()) } else { Err(OpenClError::OutOfRange { what, bytes, offset, len }) }
}
