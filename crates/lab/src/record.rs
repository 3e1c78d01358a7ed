//! The record of one kernel, timed in one tuning.

use std::fmt;

use lanefield::backend::opencl::Tuning;
use lanefield::kernel::{Ceiling, Kernel, Shape, Work};
use lanefield::prelude::*;
use lanefield_reference::field::Object;
use serde::Serialize;

use super::ceilings::{MemoryOf, Share};
use super::spread::Spread;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FieldFacts {
    pub lattice: [usize; 4],
    /// Bytes per vector; `None` if the lattice has no such layout.
    pub lane_bytes: Option<usize>,
    /// The lane layout: x, y, z, t.
    pub virtual_nodes: Option<[usize; 4]>,
    pub precision: Precision,
    /// The sites of the result: `full`, `even` or `odd`; `None` if nothing could be created.
    pub sites: Option<String>,
    pub spinors: usize,
    /// Reals stored per link; `None` if there are no links.
    pub reconstruct: Option<usize>,
    pub legs: Option<String>,
}

impl FieldFacts {
    pub fn of(shape: &Shape) -> Self {
        let (lattice, links) = (shape.lattice(), shape.links());
        let spinors = match shape.target.object {
            Object::Spinors(count) | Object::ColourVectors(count) => count,
            _ => 1,
        };
        Self {
            lane_bytes: Some(lattice.width().bytes()),
            virtual_nodes: Some(lattice.nodes().as_array()),
            sites: Some(shape.sites().to_string()),
            reconstruct: links.map(|links| links.format.reals()),
            legs: links.map(|_| shape.legs.to_string()),
            ..Self::unmade(lattice.extents(), shape.precision(), spinors)
        }
    }

    pub(crate) fn unmade(extents: Extents, precision: Precision, spinors: usize) -> Self {
        Self {
            lattice: extents.as_array(),
            lane_bytes: None,
            virtual_nodes: None,
            precision,
            sites: None,
            spinors,
            reconstruct: None,
            legs: None,
        }
    }
}

impl fmt::Display for FieldFacts {
    /// The properties that distinguish rows of a table, without the lattice and the leg order.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.precision.fmt(f)?;
        if let Some(reals) = self.reconstruct {
            write!(f, ", reconstruct {reals}")?;
        }
        if self.spinors != 1 {
            write!(f, ", ×{}", self.spinors)?;
        }
        if let Some(sites) = &self.sites {
            write!(f, ", {sites}")?;
        }
        match self.lane_bytes {
            Some(bytes) => write!(f, ", lanes {bytes}"),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct KernelRecord {
    pub family: &'static str,
    pub kernel: &'static Kernel,
    #[serde(flatten)]
    pub fields: FieldFacts,
    /// The variant in words: `default`, or that of a study.
    pub variant: String,
    pub tuning: Tuning,
    /// Whether the bits are those of the reference; false only in a study of the cost of correct bits.
    pub bit_true: bool,
    /// The work of a launch; `None` if it could not be prepared.
    pub work: Option<Work>,
    pub ceiling: Ceiling,
    /// Seconds per launch; `None` if it could not run.
    pub seconds: Option<Spread>,
    /// Seconds per launch of several that are queued back to back, from the first start to the last end. If launches overlap, this is less than one
    /// alone takes. `None` if it was not requested, or if kernels are not queued.
    pub back_to_back_seconds: Option<f64>,
    pub failure: Option<String>,
    pub flops_per_second: Option<f64>,
    /// Ideal bytes per second, at the median time.
    pub bytes_per_second: Option<f64>,
    /// Their ratio to the ceiling; `None` if fields stay in a cache.
    pub share_of_ceiling: Option<f64>,
    /// Whether they stay in a cache, completely or partly.
    pub in_cache: bool,
}

impl KernelRecord {
    pub fn new(shape: &Shape, tuning: Tuning) -> Self {
        let record = Self::unprepared(shape.kernel, FieldFacts::of(shape), tuning, String::new());
        Self { work: Some(shape.work()), failure: None, ..record }
    }

    pub(crate) fn unprepared(kernel: &'static Kernel, fields: FieldFacts, tuning: Tuning, failure: String) -> Self {
        Self {
            family: kernel.family,
            kernel,
            fields,
            variant: tuning.to_string(),
            tuning,
            bit_true: true,
            work: None,
            ceiling: kernel.ceiling,
            seconds: None,
            back_to_back_seconds: None,
            failure: Some(failure),
            flops_per_second: None,
            bytes_per_second: None,
            share_of_ceiling: None,
            in_cache: false,
        }
    }

    /// Floating-point operations and ideal bytes per second, at the median time.
    pub fn rates(&self) -> Option<(f64, f64)> {
        let (work, seconds) = (self.work?, self.seconds?.median);
        Some((work.flops as f64 / seconds, work.bytes as f64 / seconds))
    }

    /// Computes its rates, and compares them with a memory bandwidth in bytes per second and with an empty launch. An implausible time is a
    /// failure.
    pub fn hold_against(&mut self, memory: MemoryOf<'_>, ceiling: Option<f64>, empty_launch: f64) {
        let (Some(work), Some(seconds), Some((flops, bytes))) = (self.work, self.seconds, self.rates()) else { return };
        match memory.held(work.bytes, seconds.median, ceiling, empty_launch) {
            Ok(share) => {
                (self.flops_per_second, self.bytes_per_second) = (Some(flops), Some(bytes));
                self.share_of_ceiling = share.and_then(Share::of_ceiling);
                self.in_cache = share == Some(Share::InCache);
            }
            Err(reason) => {
                (self.seconds, self.back_to_back_seconds) = (None, None);
                self.failure = Some(reason.to_string());
            }
        }
    }
}
