//! A kernel run on a device, beside its estimate: as `lanefield bench` times it.

use anyhow::bail;
use lanefield::backend::opencl::StoredPrecision;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Lattice, LatticeOptions, LegOrder, Sites};
use lanefield::reference::sixteen::Sixteen;
use lanefield::verify::KernelBuild;
use lanefield_lab::access::StencilKernel;
use lanefield_lab::estimate::KernelWork;
use lanefield_lab::kernels::{BlasKernel, KernelSet, KernelTask, NamedKernel, StencilSetup, with_kernel_onto};
use lanefield_lab::{KernelRecord, Sampling, Timed, Variant, time_kernel};
use serde::Serialize;

use crate::args::AnyBackend;

/// Sites from which on launches overlap no more, so that single ones are what counts.
const MANY_SITES: usize = 1_000_000;

/// What a device took.
#[derive(Serialize)]
pub struct Times {
    /// The device.
    pub device: String,
    /// Median of single launches.
    pub seconds: f64,
    /// For each of several launches that are queued one after the other, of lattices where these overlap.
    pub back_to_back_seconds: Option<f64>,
}

impl Times {
    /// What estimates are held against: launches that follow each other.
    pub fn best(&self) -> f64 {
        self.back_to_back_seconds.unwrap_or(self.seconds)
    }
}

/// Runs a kernel on a backend.
pub fn measure(backend: AnyBackend, work: &KernelWork, samples: usize) -> anyhow::Result<Times> {
    match backend {
        AnyBackend::Cpu(mut cpu) => in_precision(&mut cpu, work, samples),
        AnyBackend::OpenCl(mut device) => in_precision(&mut *device, work, samples),
    }
}

fn in_precision<B: Timed>(backend: &mut B, work: &KernelWork, samples: usize) -> anyhow::Result<Times> {
    match work.precision {
        StoredPrecision::F32 => run::<f32, B>(backend, work, samples),
        StoredPrecision::F64 => run::<f64, B>(backend, work, samples),
        StoredPrecision::Sixteen => run::<Sixteen, B>(backend, work, samples),
    }
}

fn run<R: Vectors, B: Timed>(backend: &mut B, work: &KernelWork, samples: usize) -> anyhow::Result<Times> {
    let options = LatticeOptions { lanes: backend.lanes(work.lanes), ..LatticeOptions::default() };
    let lattice = Lattice::new(work.extents, R::COMPLEX, options)?;
    let setup = StencilSetup { lattice, links: work.links, legs: LegOrder::DEFAULT, spinors: work.parts };
    let sampling = Sampling { samples, back_to_back: work.extents.volume() < MANY_SITES };
    let build = KernelBuild { access: work.access, ..KernelBuild::default() };
    let variant = Variant { build, ..Variant::default() };
    let kernel = named(work.kernel);
    if !kernel.has_links() && work.sites != Sites::Full {
        bail!("{} is timed on all sites: add --onto full", work.kernel)
    }
    backend.choose(&variant)?;
    let timing = Timing { variant: &variant, sampling };
    let record = with_kernel_onto::<R, B, _>(backend, kernel, (setup, work.sites), timing)?;
    match (record.seconds, record.failure) {
        (Some(spread), _) => Ok(Times {
            device: backend.device(),
            seconds: spread.median,
            back_to_back_seconds: record.back_to_back_seconds,
        }),
        (None, failure) => bail!("failed to time {}: {}", record.kernel, failure.unwrap_or_default()),
    }
}

/// What it is to be timed.
fn named(kernel: StencilKernel) -> NamedKernel {
    match kernel {
        StencilKernel::Hop => NamedKernel::Hop,
        StencilKernel::DomainWall => NamedKernel::DomainWallHop,
        StencilKernel::CloverEo => NamedKernel::EoClover,
        StencilKernel::CloverOe => NamedKernel::OeClover,
        StencilKernel::Laplace => NamedKernel::Laplace,
        StencilKernel::Axpy => NamedKernel::Blas(BlasKernel::Axpy),
        StencilKernel::Copy => NamedKernel::Blas(BlasKernel::Copy),
        StencilKernel::Norm2 => NamedKernel::Blas(BlasKernel::Norm2),
    }
}

/// Times a kernel.
struct Timing<'v> {
    variant: &'v Variant,
    sampling: Sampling,
}

impl<B: Timed> KernelTask<B> for Timing<'_> {
    type Output = KernelRecord;

    fn run<S: KernelSet<B>>(self, backend: &mut B, set: &mut S, kernel: S::Kernel) -> KernelRecord {
        time_kernel(backend, set, kernel, self.variant, self.sampling)
    }
}
