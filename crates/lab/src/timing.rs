//! One kernel, timed in one variant: device time where there are device events, else wall time.

use std::time::{Duration, Instant};

use lanefield::backend::BackendError;

use super::kernels::KernelSet;
use super::record::KernelRecord;
use super::spread::Spread;
use super::variant::{Timed, Variant};

/// A kernel runs so long, and at least once, before it is timed: clocks go up, programs are built.
const WARM_UP: Duration = Duration::from_millis(20);
/// Launches that are queued one after the other.
const BACK_TO_BACK: usize = 32;

/// How a kernel is sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Timed launches; at least one is taken.
    pub samples: usize,
    /// Whether launches are timed one after the other without a wait, too.
    pub back_to_back: bool,
}

/// Times `launch`: the spread of single launches, and the seconds for each of several that are queued one after the other, where that is asked
/// for and the backend queues.
///
/// # Errors
/// Those of `launch`, and what the backend reports.
pub fn sample<B: Timed>(
    backend: &B,
    Sampling { samples, back_to_back }: Sampling,
    mut launch: impl FnMut(&B) -> Result<(), BackendError>,
) -> Result<(Spread, Option<f64>), BackendError> {
    let start = Instant::now();
    loop {
        launch(backend)?;
        backend.finish()?;
        if start.elapsed() >= WARM_UP {
            break;
        }
    }
    let first = backend.time(&mut || launch(backend))?;
    let mut times = vec![first];
    for _ in 1..samples {
        times.push(backend.time(&mut || launch(backend))?);
    }
    let spread = Spread::of(times).unwrap_or(Spread { median: first, tenth: first, ninetieth: first });
    let span = match back_to_back {
        true => backend.span(&mut || (0..BACK_TO_BACK).try_for_each(|_| launch(backend)))?,
        false => None,
    };
    Ok((spread, span.map(|seconds| seconds / BACK_TO_BACK as f64)))
}

/// Times a kernel on its fields in a variant. That it cannot be run is part of the record.
pub fn time_kernel<B: Timed, S: KernelSet<B>>(
    backend: &mut B,
    set: &mut S,
    kernel: S::Kernel,
    variant: &Variant,
    sampling: Sampling,
) -> KernelRecord {
    let mut record = KernelRecord::new(set.facts(kernel), *variant);
    let times =
        backend.choose(variant).and_then(|()| sample(&*backend, sampling, |backend| set.launch(backend, kernel)));
    match times {
        Ok((seconds, back_to_back)) => {
            record.seconds = Some(seconds);
            record.back_to_back_seconds = back_to_back;
        }
        Err(error) => record.failure = Some(error.to_string()),
    }
    record
}
