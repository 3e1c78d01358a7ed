//! Backends whose kernels can be timed.

use std::time::Instant;

use lanefield::backend::opencl::{DeviceKind, SumOptions, Tuning};
use lanefield::backend::{Backend, BackendError, Cpu, OpenCl};
use lanefield::dynamic::{AnyBackend, Here};

use super::Device;
use super::bandwidth::{Operation, device_time, host_time};
use super::ceilings::MemoryOf;

/// A backend on which kernels and memory can be timed.
pub trait Timed: Backend {
    fn here(&self) -> Here<'_>;
    /// The OpenCL device, if it is one: then kernels have more than one variant.
    fn opencl_mut(&mut self) -> Option<&mut OpenCl>;

    fn opencl(&self) -> Option<&OpenCl> {
        match self.here() {
            Here::Cpu(_) => None,
            Here::OpenCl(device) => Some(device),
        }
    }
    /// Total seconds of the kernels of `work`: by the device's clock if there is one, otherwise in wall time.
    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        if let Here::OpenCl(device) = self.here() {
            return device.time(work);
        }
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64())
    }
    /// Seconds from the first start to the last end of the kernels of `work`; `None` if kernels are not queued.
    fn span(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<Option<f64>, BackendError> {
        self.opencl().map(|device| device.time_span(work)).transpose()
    }
    fn memory(&self) -> MemoryOf<'_> {
        match self.here() {
            Here::Cpu(cpu) => MemoryOf::Host(cpu),
            Here::OpenCl(device) => MemoryOf::Device(device.context()),
        }
    }
    /// Seconds to read `bytes` bytes, including the least cost of a kernel: a lower bound for a sum over a field of that size.
    fn read_time(&self, bytes: usize) -> Result<f64, BackendError> {
        match self.here() {
            Here::Cpu(cpu) => cpu.install(|| host_time(Operation::Read, bytes)),
            Here::OpenCl(device) => device_time(device.context(), Operation::Read, bytes),
        }
    }
    fn device(&self) -> Device {
        match self.here() {
            Here::Cpu(cpu) => cpu.into(),
            Here::OpenCl(device) => device.context().info().into(),
        }
    }
    fn is_cpu(&self) -> bool {
        self.opencl().is_none_or(|device| device.context().info().kind == DeviceKind::Cpu)
    }
    /// Uses a tuning from now on, also for fields that are created later. A backend with one variant ignores it.
    fn set_tuning(&mut self, tuning: Tuning) {
        if let Some(device) = self.opencl_mut() {
            device.set_tuning(tuning);
        }
    }
    /// Uses this form for sums from now on, likewise.
    fn set_sum_options(&mut self, options: SumOptions) {
        if let Some(device) = self.opencl_mut() {
            device.set_sum_options(options);
        }
    }
    /// Uses relaxed arithmetic in stencil kernels from now on, whose bits differ from those of the reference, to measure the cost of correct bits;
    /// likewise.
    fn set_relaxed_math(&mut self, relaxed: bool) {
        if let Some(device) = self.opencl_mut() {
            device.set_relaxed_math(relaxed);
        }
    }
}

impl Timed for Cpu {
    fn here(&self) -> Here<'_> {
        Here::Cpu(self)
    }
    fn opencl_mut(&mut self) -> Option<&mut OpenCl> {
        None
    }
}

impl Timed for OpenCl {
    fn here(&self) -> Here<'_> {
        Here::OpenCl(self)
    }
    fn opencl_mut(&mut self) -> Option<&mut OpenCl> {
        Some(self)
    }
}

impl Timed for AnyBackend {
    fn here(&self) -> Here<'_> {
        Self::here(self)
    }
    fn opencl_mut(&mut self) -> Option<&mut OpenCl> {
        Self::opencl_mut(self)
    }
}
