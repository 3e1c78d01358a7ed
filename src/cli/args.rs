//! Arguments that several commands share: where to run, and what operator.

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use lanefield::backend::opencl::{DeviceInfo, OpenCl, OpenClError, devices, probe};
use lanefield::backend::select::{DeviceChoice, Selected, resolve};
use lanefield::backend::{Backend, Cpu, Threads};
use lanefield::operator::{HopParameters, WilsonParameters};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{AcceleratorThreads, LaneChoice, LegOrder};
use lanefield::reference::links::{BoundaryPhases, LinkFormat};

/// Where to run, and in which layout. None of it changes a bit of any result, but the order of the legs.
#[derive(Args, Clone, Debug)]
pub struct BackendArgs {
    /// Where to run: cpu, auto (the first GPU, else any OpenCL device, else the CPU reference), a number from `lanefield devices`, or
    /// part of a name
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "LANEFIELD_DEVICE")]
    pub device: DeviceChoice,
    /// CPU threads [default: RAYON_NUM_THREADS, else all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<Threads>,
    /// Outer sites a work-group on an OpenCL device
    #[arg(long, value_name = "N", default_value_t)]
    pub accelerator_threads: AcceleratorThreads,
    /// Lane width in bytes: 8, 16, 32, 64, 128, 256, or auto (the largest up to 64 that fits the lattice)
    #[arg(long, value_name = "BYTES|auto", default_value_t)]
    pub lanes: LaneChoice,
    /// The order in which the hop adds its legs; it is part of the operator and changes the last bits
    #[arg(long, value_name = "ORDER", default_value_t, allow_hyphen_values = true)]
    pub legs: LegOrder,
}

/// A task that runs on whichever backend was chosen.
pub trait BackendTask {
    /// What it gives.
    type Output;
    /// Runs it.
    fn run<B: Backend>(self, backend: &B) -> Self::Output;
}

/// The backend that was chosen.
pub enum AnyBackend {
    /// The CPU reference.
    Cpu(Cpu),
    /// An OpenCL device.
    OpenCl(Box<OpenCl>),
}

impl AnyBackend {
    /// Runs a task on it; what the task does on the host shares the threads of the CPU reference.
    pub fn run<T: BackendTask + Send>(&self, task: T) -> T::Output
    where
        T::Output: Send,
    {
        match self {
            Self::Cpu(cpu) => cpu.install(|| task.run(cpu)),
            Self::OpenCl(device) => task.run(&**device),
        }
    }

    /// One line about it.
    pub fn describe(&self) -> String {
        match self {
            Self::Cpu(cpu) => cpu.describe(),
            Self::OpenCl(device) => device.describe(),
        }
    }
}

impl BackendArgs {
    /// Makes what the host does around the backend (files, layouts) use no more threads than the backend was given.
    pub fn limit_host_threads(&self) {
        if let Some(threads) = self.threads {
            // Fails only if the pool is there already: then it has been in use with its own number of threads.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global();
        }
    }

    /// Opens the backend that was asked for, and says on standard error which one was taken, and whether its results can be called
    /// bitwise.
    pub fn open(&self) -> anyhow::Result<AnyBackend> {
        let devices = match devices() {
            Ok(devices) => devices,
            Err(OpenClError::NoOpenCl { .. }) if self.device == DeviceChoice::Cpu => Vec::new(),
            Err(error @ OpenClError::NoOpenCl { .. }) if self.device == DeviceChoice::Auto => {
                eprintln!("{error}; taking the CPU reference");
                Vec::new()
            }
            Err(error) => {
                return Err(error).with_context(|| format!("failed to find the device '{}'", self.device));
            }
        };
        let backend = match resolve(&self.device, &devices)? {
            Selected::Cpu => AnyBackend::Cpu(self.open_cpu()?),
            Selected::OpenCl(device) => AnyBackend::OpenCl(Box::new(self.open_device(&device)?)),
        };
        eprintln!("running on {}", backend.describe());
        Ok(backend)
    }

    /// The CPU reference with the threads asked for.
    pub fn open_cpu(&self) -> anyhow::Result<Cpu> {
        Cpu::new(self.threads).context("failed to start the CPU reference")
    }

    /// An OpenCL device with the work-group asked for.
    pub fn open_device(&self, device: &DeviceInfo) -> anyhow::Result<OpenCl> {
        let opened = OpenCl::open(device, self.accelerator_threads)
            .with_context(|| format!("failed to open the device {}", device.name))?;
        let verdict = probe(opened.context()).context("failed to probe the device's arithmetic")?;
        if let Some(reason) = verdict.why_not() {
            eprintln!("warning: results of this device are not bitwise: {reason}");
        }
        Ok(opened)
    }
}

/// What defines the hop, beside configuration and leg order.
#[derive(Args, Clone, Debug)]
pub struct HopArgs {
    /// Boundary phases of the fermion in x,y,z,t, each 1 or -1
    #[arg(long, value_name = "PHASES", default_value = "1,1,1,-1", allow_hyphen_values = true)]
    pub boundary: BoundaryPhases,
    /// Reals stored a link: 18, or 12 (the third row is rebuilt); it is part of the operator and changes the last bits
    #[arg(long, value_name = "REALS", default_value_t)]
    pub links: LinkFormat,
}

impl HopArgs {
    /// The hop's parameters.
    pub fn parameters(&self, backend: &BackendArgs) -> HopParameters {
        HopParameters { boundary: self.boundary, links: self.links, legs: backend.legs }
    }
}

/// The precision of a computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Precision {
    /// 32-bit
    F32,
    /// 64-bit
    F64,
}

/// Reads a seed.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is no seed: give a whole number from 0 to {}", u64::MAX))
}

/// Reads a mass: any finite number.
pub fn mass(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| format!("'{text}' is no mass: give a finite number"))
}

/// The diagonal 4 + mass, which must be finite in the precision of the computation.
pub fn check_diagonal<R: Vectors>(mass: f64) -> anyhow::Result<f64> {
    let diagonal = WilsonParameters { mass, hop: HopParameters::default() }.diagonal();
    anyhow::ensure!(
        R::from_f64(diagonal).to_f64().is_finite(),
        "mass {mass:e} is beyond {}: take a smaller one",
        R::NAME
    );
    Ok(diagonal)
}
