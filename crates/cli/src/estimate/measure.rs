//! A kernel run on a device, beside its estimate: as `lanefield bench` times it.

use anyhow::bail;
use lanefield::backend::opencl::Tuning;
use lanefield_lab::estimate::KernelWork;
use lanefield_lab::{BenchCase, Timed};
use serde::Serialize;

use crate::args::AnyBackend;
use crate::bench::arguments::{TimedTask, run_on, sampling};

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
    /// What estimates are compared with: launches that follow each other.
    pub fn best(&self) -> f64 {
        self.back_to_back_seconds.unwrap_or(self.seconds)
    }
}

/// Runs a kernel on a backend.
pub fn measure(backend: &mut AnyBackend, work: &KernelWork, samples: u32) -> anyhow::Result<Times> {
    run_on(backend, Measure { work, samples })
}

struct Measure<'w> {
    work: &'w KernelWork,
    samples: u32,
}

impl TimedTask for Measure<'_> {
    type Output = anyhow::Result<Times>;

    fn run<B: Timed>(self, backend: &mut B) -> anyhow::Result<Times> {
        let KernelWork { kernel, extents, sites, precision, links, parts, lanes, access, .. } = *self.work;
        let case = BenchCase { kernel, extents, sites, precision, links, rhs: Some(parts), lanes };
        let record = case.time(backend, Tuning { access, ..Tuning::OPEN }, sampling(extents, self.samples));
        match (record.seconds, record.failure) {
            (Some(spread), _) => Ok(Times {
                device: backend.describe(),
                seconds: spread.median,
                back_to_back_seconds: record.back_to_back_seconds,
            }),
            (None, failure) => bail!("failed to time {kernel}: {}", failure.unwrap_or_default()),
        }
    }
}
