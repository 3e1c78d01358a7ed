//! The arguments and work-items of a launch. The geometry comes from the layout (`reference/src/layout`).

use std::ffi::c_void;
use std::ptr;

use opencl3::kernel::set_kernel_arg;

use crate::backend::opencl::device::{OpenClError, RawKernel};
use crate::backend::opencl::memory::Buffer;
use crate::backend::opencl::program::BuiltKernel;

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
    /// `local T *`: this number of bytes for each work-group.
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

/// The number of work-items of a launch, in total and in a work-group. Unused dimensions have size 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Total work-items in each dimension.
    pub global: [usize; 3],
    /// Work-items of a work-group in each dimension.
    pub local: [usize; 3],
}

impl Launch {
    /// The launch of a kernel, for errors.
    pub(crate) fn of(self, kernel: &BuiltKernel) -> String {
        format!("{}, global {:?}, local {:?}", kernel.label, self.global, self.local)
    }
}

impl BuiltKernel {
    /// Sets all arguments of one of its kernel objects. Nobody else may use the object at the same time.
    pub(crate) fn set_all(&self, raw: &RawKernel, args: &[Arg<'_>]) -> Result<(), OpenClError> {
        args.iter().enumerate().try_for_each(|(index, arg)| self.set(raw, index, arg))
    }

    pub(crate) fn set(&self, raw: &RawKernel, index: usize, arg: &Arg<'_>) -> Result<(), OpenClError> {
        set_arg(raw, index as u32, arg).map_err(|status| {
            let what = format!("argument {index} ({}) of {}", arg.describe(), self.label);
            OpenClError::call("clSetKernelArg", status, what)
        })
    }
}

/// Sets one argument. Nobody else may use the kernel object at the same time.
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
