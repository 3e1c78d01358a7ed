//! Backends whose kernels can be timed.

use std::time::Instant;

use lanefield::backend::opencl::{DeviceKind, SumOptions, Tuning};
use lanefield::backend::{Backend, BackendError, Cpu, OpenCl};
use lanefield::dynamic::{AnyBackend, Here};

use super::Device;
use super::bandwidth::{Operation, device_time, host_time};
use super::ceilings::MemoryOf;

/// A backend whose kernels, and whose memory, can be timed.
pub trait Timed: Backend {
    fn here(&self) -> Here<'_>;
    /// The OpenCL device that it is, if it is one: then there is more than one way to run a kernel.
    fn opencl_mut(&mut self) -> Option<&mut OpenCl>;

    fn opencl(&self) -> Option<&OpenCl> {
        match self.here() {
            Here::Cpu(_) => None,
            Here::OpenCl(device) => Some(device),
        }
    }
    /// Seconds that the kernels of `work` take, added up: by the device's clock where there is one, else wall time.
    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        if let Here::OpenCl(device) = self.here() {
            return device.time(work);
        }
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64())
    }
    /// Seconds from the first start to the last end of the kernels of `work`; `None` where kernels are not queued.
    fn span(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<Option<f64>, BackendError> {
        self.opencl().map(|device| device.time_span(work)).transpose()
    }
    fn memory(&self) -> MemoryOf<'_> {
        match self.here() {
            Here::Cpu(cpu) => MemoryOf::Host(cpu),
            Here::OpenCl(device) => MemoryOf::Device(device.context()),
        }
    }
    /// Seconds that reading `bytes` bytes takes, with the least that a kernel costs besides: what bounds a sum over a field of that size.
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
    /// Takes a tuning from now on, for fields that are made from now on too; a backend that knows one way only goes on as before.
    fn set_tuning(&mut self, tuning: Tuning) {
        if let Some(device) = self.opencl_mut() {
            device.set_tuning(tuning);
        }
    }
    /// Takes sums in that form from now on, likewise.
    fn set_sum_options(&mut self, options: SumOptions) {
        if let Some(device) = self.opencl_mut() {
            device.set_sum_options(options);
        }
    }
    /// Computes stencil kernels in relaxed arithmetic from now on, whose bits are not those of the reference, to measure what the bits cost; likewise.
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
