//! The ceilings of a device, measured: what its memory, its caches, its arithmetic, its launches and its way to the host give at most,
//! in the manner of BabelStream, mixbench and clpeak. Nothing here knows a lattice.
//!
//! | file | subject |
//! |---|---|
//! | `record.rs` | what is recorded |
//! | `scale.rs` | how large buffers and sets are, and how often is measured |
//! | `streams.rs` | read, write, copy, triad, in several ways; the copy over time |
//! | `intensity.rs` | bandwidth and arithmetic against arithmetic intensity |
//! | `caches.rs`, `plateau.rs` | bandwidth by size of the working set; where it stays the same |
//! | `latency.rs`, `chain.rs` | loads that wait for each other; the order in which they go through memory |
//! | `launches.rs` | empty kernels |
//! | `transfers.rs` | to the device and back |
//! | `host.rs` | the same on the threads of the CPU reference |
//! | `clocks.rs` | what the vendor's tool says of clocks |
//! | `roofline.rs` | roofs and ridges |

pub mod caches;
mod chain;
mod clocks;
mod host;
pub mod intensity;
pub mod latency;
mod launches;
mod plateau;
mod record;
pub mod roofline;
mod scale;
mod streams;
mod transfers;

use std::time::SystemTime;

use serde::Serialize;

pub use crate::bandwidth::Operation;
pub use chain::chain;
pub use plateau::{Plateau, flat_ranges, ladder, nearest_caches, plateaus};
pub use record::{
    Chase, Clocks, Drift, HostMemory, Intensity, Latencies, LaunchCost, Peak, Place, Stored, Stream, Transfer,
    WorkingSet,
};
pub use scale::Scale;

use lanefield::backend::opencl::Context;
use lanefield::backend::{BackendError, Cpu, Memory as _};

use crate::bandwidth::Shape;
use crate::{Progress, Spread, plausible};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    Streams,
    /// Bandwidth by size of the working set: caches and local memory.
    Caches,
    Latency,
    Launch,
    Transfers,
    /// Arithmetic, by operations a byte: the heaviest, and so the last.
    Intensity,
}
lanefield_reference::named!(
    Part: Streams = "streams", Caches = "caches", Latency = "latency", Launch = "launch", Transfers = "transfers",
        Intensity = "intensity"
);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeakOptions {
    pub quick: bool,
    /// The most bytes that a buffer may have; none: as many as make sense.
    pub most_bytes: Option<usize>,
    pub parts: Vec<Part>,
}

struct Measuring<'m> {
    context: &'m Context,
    scale: &'m Scale,
    peak: &'m mut Peak,
    /// Is told what is measured now, and fails where nothing more is wanted.
    tell: &'m mut dyn FnMut(&str) -> Result<(), BackendError>,
}

#[derive(Debug, thiserror::Error)]
#[error("the measurement was ended")]
struct Ended;

/// What a part gave; `false` where it was ended, so that what was measured before is the result.
fn goes_on(measured: Result<(), BackendError>) -> Result<bool, BackendError> {
    match measured {
        Err(error) if error.of_device::<Ended>().is_some() => Ok(false),
        measured => measured.map(|()| true),
    }
}

fn teller(
    observe: &mut impl FnMut(Progress<'_>) -> bool,
    (done, steps): (usize, usize),
) -> impl FnMut(&str) -> Result<(), BackendError> {
    move |now: &str| match observe(Progress { done, steps, now }) {
        true => Ok(()),
        false => Err(BackendError::device(Ended)),
    }
}

impl Peak {
    /// Measures an OpenCL device; times are the device's own but where the host waits.
    pub fn measure(
        context: &Context,
        options: &PeakOptions,
        mut observe: impl FnMut(Progress<'_>) -> bool,
    ) -> Result<Self, BackendError> {
        let info = context.info();
        let scale = Scale::of_device(context, options);
        let mut peak = Self {
            device: format!("{} ({}, driver {})", info.name, info.platform_name, info.driver_version),
            driver: info.driver_version.clone(),
            compute_units: info.compute_units,
            max_clock_mhz: (info.max_clock_mhz > 0).then_some(info.max_clock_mhz),
            ..Self::today(&scale)
        };
        let copies = streams::warm_up(context, &scale)?;
        for (done, part) in in_order(&options.parts).enumerate() {
            let mut tell = teller(&mut observe, (done, options.parts.len()));
            let measuring = Measuring { context, scale: &scale, peak: &mut peak, tell: &mut tell };
            let measured = match part {
                Part::Streams => streams::measure(measuring),
                Part::Caches => caches::measure(measuring),
                Part::Latency => latency::measure(measuring),
                Part::Launch => launches::measure(measuring),
                Part::Transfers => transfers::measure(measuring),
                Part::Intensity => intensity::measure(measuring),
            };
            if !goes_on(measured)? {
                return Ok(peak);
            }
        }
        peak.clocks = clocks::of(info);
        if options.parts.contains(&Part::Streams) {
            peak.drift = Some(streams::drift(context, &scale, copies)?);
        }
        Ok(peak)
    }

    /// Measures the CPU reference's threads, in wall time: all but local memory and transfers, which it does not have.
    ///
    /// # Errors
    /// [`BackendError::Field`] where the host has no room for the buffers.
    pub fn measure_cpu(
        cpu: &Cpu,
        options: &PeakOptions,
        mut observe: impl FnMut(Progress<'_>) -> bool + Send,
    ) -> Result<Self, BackendError> {
        let scale = Scale::of_host(cpu.threads(), options);
        let mut peak = Self {
            device: cpu.describe(),
            driver: Cpu::vector_instructions().to_owned(),
            compute_units: cpu.threads() as u32,
            ..Self::today(&scale)
        };
        cpu.install(|| {
            for (done, part) in in_order(&options.parts).enumerate() {
                let mut tell = teller(&mut observe, (done, options.parts.len()));
                if !goes_on(host::measure(part, &scale, &mut peak, &mut tell))? {
                    break;
                }
            }
            Ok(peak)
        })
    }

    /// The streams that [`Self::measure`] runs, in each shape that it tries.
    pub(crate) fn stream_shapes(context: &Context, options: &PeakOptions) -> Vec<(Operation, Shape)> {
        let scale = Scale::of_device(context, options);
        let of = |operation| streams::shapes(operation, &scale).into_iter().map(move |shape| (operation, shape));
        Operation::ALL.into_iter().flat_map(of).collect()
    }

    fn today(scale: &Scale) -> Self {
        Self {
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            buffer_bytes: scale.stream_bytes as u64,
            ..Self::default()
        }
    }

    /// Keeps what a working set of each size gives, and where that stays the same; what the nearest and the second cache give.
    fn keep_working_sets(&mut self, place: Place, sets: Vec<WorkingSet>) -> (Option<f64>, Option<f64>) {
        let curve: Vec<(u64, f64)> = sets.iter().map(|set| (set.bytes, set.gb_per_second)).collect();
        let rates: Vec<f64> = curve.iter().map(|&(_, rate)| rate).collect();
        self.working_sets.extend(sets);
        self.plateaus.extend(plateaus(place, &curve));
        nearest_caches(&rates, f64::max)
    }

    /// Keeps latencies by size, those of the caches, and that of the largest size.
    fn keep_chases(&mut self, chases: Vec<Chase>) {
        let times: Vec<f64> = chases.iter().map(|chase| chase.nanoseconds).collect();
        (self.latency_nanoseconds.l1, self.latency_nanoseconds.l2) = nearest_caches(&times, f64::min);
        self.latency_nanoseconds.memory = times.last().copied();
        self.chases.extend(chases);
    }
}

/// The parts that are wanted, each once, in the order in which they are measured.
pub(crate) fn in_order(wanted: &[Part]) -> impl Iterator<Item = Part> {
    Part::ALL.into_iter().filter(|part| wanted.contains(part))
}

/// Runs once uncounted, then `samples` times, at least once.
fn sampled(samples: usize, mut run: impl FnMut() -> Result<f64, BackendError>) -> Result<Spread, BackendError> {
    run()?;
    let times = (0..samples.max(1)).map(|_| run()).collect::<Result<Vec<f64>, _>>()?;
    let spread = Spread::of_some(times);
    plausible::time(spread.median, 0.0).map_err(BackendError::device)?;
    Ok(spread)
}

fn rate(amount: usize, seconds: &Spread) -> f64 {
    amount as f64 / seconds.median / 1e9
}
