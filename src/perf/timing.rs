//! One kernel, timed in one variant: device time where there are device events, else wall time.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::kernels::KernelSet;
use super::record::KernelRecord;
use super::variant::{Timed, Variant};
use crate::backend::BackendError;

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

/// Seconds of the timed launches of a kernel.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The 10th percentile.
    pub tenth: f64,
    /// The 90th percentile.
    pub ninetieth: f64,
}

impl Spread {
    /// Of some times, in any order, by nearest rank; `None` of none.
    pub fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_unstable_by(f64::total_cmp);
        let last = times.len().checked_sub(1)?;
        let at = |share: f64| times[(share * last as f64).round() as usize];
        Some(Self { median: at(0.5), tenth: at(0.1), ninetieth: at(0.9) })
    }

    /// Whether the ranges from the 10th to the 90th percentile overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.tenth <= other.ninetieth && other.tenth <= self.ninetieth
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_goes_from_the_tenth_to_the_ninetieth_percentile() {
        let times = [7, 3, 0, 9, 1, 10, 5, 2, 8, 4, 6].map(f64::from).to_vec();
        assert_eq!(Spread::of(times), Some(Spread { median: 5.0, tenth: 1.0, ninetieth: 9.0 }));
        assert_eq!(Spread::of(vec![2.0]), Some(Spread { median: 2.0, tenth: 2.0, ninetieth: 2.0 }));
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn spreads_that_touch_overlap() {
        let spread = |tenth, median, ninetieth| Spread { median, tenth, ninetieth };
        let (a, b, c) = (spread(1.0, 2.0, 3.0), spread(3.0, 4.0, 5.0), spread(3.5, 4.0, 5.0));
        assert!(a.overlaps(&b) && b.overlaps(&a) && !a.overlaps(&c) && !c.overlaps(&a));
    }
}
