//! All parts of a measurement, one after the other, on a device or on the CPU reference.

use std::time::SystemTime;

use lanefield::backend::opencl::Context;
use lanefield::backend::{BackendError, Cpu, Memory as _};

use super::measuring::Measuring;
use super::options::{Part, PeakOptions, in_order};
use super::record::Peak;
use super::scale::Scale;
use super::{caches, clocks, host, intensity, latency, launches, streams, transfers};
use crate::Progress;
use crate::bandwidth::{Operation, Shape};

#[derive(Debug, thiserror::Error)]
#[error("the measurement was stopped")]
struct Ended;

/// Whether to continue after a part; false if it was stopped, so that the result is what was measured before.
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
    /// Measures an OpenCL device. Times are device times, except when the host waits.
    pub fn measure(
        context: &Context,
        options: &PeakOptions,
        mut observe: impl FnMut(Progress<'_>) -> bool,
    ) -> Result<Self, BackendError> {
        let info = context.info();
        let scale = Scale::of_device(context, options);
        let mut peak = Self {
            device: info.with_driver(),
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

    /// Measures the CPU reference's threads in wall time. It has no local memory and no transfers.
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
}
