//! A kernel run on a device, beside its estimate: as `lanefield bench` times it.

use anyhow::Context as _;
use lanefield::backend::opencl::Tuning;
use lanefield_lab::estimate::KernelWork;
use lanefield_lab::{BenchCase, Timed};
use serde::Serialize;

use crate::bench::arguments::sampling;

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
pub fn measure<B: Timed>(backend: &mut B, work: &KernelWork, samples: u32) -> anyhow::Result<Times> {
    let KernelWork { kernel, extents, sites, precision, links, parts, lanes, access, .. } = *work;
    let case = BenchCase { kernel, extents, sites, precision, links, rhs: Some(parts), lanes };
    let record = case.time(backend, Tuning { access, ..Tuning::OPEN }, sampling(extents, samples));
    let failed = || format!("failed to time {kernel}: {}", record.failure.unwrap_or_default());
    Ok(Times {
        device: backend.describe(),
        seconds: record.seconds.with_context(failed)?.median,
        back_to_back_seconds: record.back_to_back_seconds,
    })
}
