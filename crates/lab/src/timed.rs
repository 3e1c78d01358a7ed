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
    /// Seconds that the kernels of `work` take, added up: by the device's clock where there is one, else wall time.
    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError>;
    /// Seconds from the first start to the last end of the kernels of `work`; `None` where kernels are not queued.
    fn span(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<Option<f64>, BackendError>;
    /// Its memory, whose bandwidths bound kernels.
    fn memory(&self) -> MemoryOf<'_>;
    /// Seconds that reading `bytes` bytes takes, with the least that a kernel costs besides: what bounds a sum over a field of that size.
    fn read_time(&self, bytes: usize) -> Result<f64, BackendError>;
    /// The OpenCL device that it is, if it is one: then there is more than one way to run a kernel.
    fn opencl(&self) -> Option<&OpenCl>;
    fn opencl_mut(&mut self) -> Option<&mut OpenCl>;

    fn device(&self) -> Device;

    /// Whether kernels run on a CPU.
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
    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64())
    }
    fn span(&self, _: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<Option<f64>, BackendError> {
        Ok(None)
    }
    fn memory(&self) -> MemoryOf<'_> {
        MemoryOf::Host(self)
    }
    fn read_time(&self, bytes: usize) -> Result<f64, BackendError> {
        self.install(|| host_time(Operation::Read, bytes))
    }
    fn opencl(&self) -> Option<&OpenCl> {
        None
    }
    fn opencl_mut(&mut self) -> Option<&mut OpenCl> {
        None
    }
    fn device(&self) -> Device {
        self.into()
    }
}

/// Evaluates an expression with `$b` as what computes on this rank.
macro_rules! here {
    ($backend:expr, $b:ident => $work:expr) => {
        match $backend.here() {
            Here::Cpu($b) => $work,
            Here::OpenCl($b) => $work,
        }
    };
}

impl Timed for AnyBackend {
    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        here!(self, b => Timed::time(b, work))
    }
    fn span(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<Option<f64>, BackendError> {
        here!(self, b => b.span(work))
    }
    fn memory(&self) -> MemoryOf<'_> {
        here!(self, b => b.memory())
    }
    fn read_time(&self, bytes: usize) -> Result<f64, BackendError> {
        here!(self, b => b.read_time(bytes))
    }
    fn opencl(&self) -> Option<&OpenCl> {
        Self::opencl(self)
    }
    fn opencl_mut(&mut self) -> Option<&mut OpenCl> {
        Self::opencl_mut(self)
    }
    fn device(&self) -> Device {
        here!(self, b => b.device())
    }
}

impl Timed for OpenCl {
    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        OpenCl::time(self, work)
    }
    fn span(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<Option<f64>, BackendError> {
        self.time_span(work).map(Some)
    }
    fn memory(&self) -> MemoryOf<'_> {
        MemoryOf::Device(self.context())
    }
    fn read_time(&self, bytes: usize) -> Result<f64, BackendError> {
        device_time(self.context(), Operation::Read, bytes)
    }
    fn opencl(&self) -> Option<&OpenCl> {
        Some(self)
    }
    fn opencl_mut(&mut self) -> Option<&mut OpenCl> {
        Some(self)
    }
    fn device(&self) -> Device {
        self.context().info().into()
    }
}
