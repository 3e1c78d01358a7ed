//! State shared by the parts of a measurement.

use lanefield::backend::BackendError;
use lanefield::backend::opencl::Context;

use super::plateau::{Place, nearest_caches, plateaus};
use super::record::{Chase, Peak, WorkingSet};
use super::scale::Scale;
use crate::{Spread, plausible};

pub(super) struct Measuring<'m> {
    pub context: &'m Context,
    pub scale: &'m Scale,
    pub peak: &'m mut Peak,
    /// Called with what is measured next; fails if the measurement is to stop.
    pub tell: &'m mut dyn FnMut(&str) -> Result<(), BackendError>,
}

/// Runs once as a warm-up, then `samples` times, at least once.
pub(super) fn sampled(
    samples: usize,
    mut run: impl FnMut() -> Result<f64, BackendError>,
) -> Result<Spread, BackendError> {
    run()?;
    let times = (0..samples.max(1)).map(|_| run()).collect::<Result<Vec<f64>, _>>()?;
    let spread = Spread::of_some(times);
    plausible::time(spread.median, 0.0).map_err(BackendError::device)?;
    Ok(spread)
}

pub(super) fn rate(amount: usize, seconds: &Spread) -> f64 {
    amount as f64 / seconds.median / 1e9
}

impl Peak {
    /// Keeps the results for working sets of each size, and their plateaus. Returns those of the nearest and of the second cache.
    pub(super) fn keep_working_sets(&mut self, place: Place, sets: Vec<WorkingSet>) -> (Option<f64>, Option<f64>) {
        let curve: Vec<(u64, f64)> = sets.iter().map(|set| (set.bytes, set.gb_per_second)).collect();
        let rates: Vec<f64> = curve.iter().map(|&(_, rate)| rate).collect();
        self.working_sets.extend(sets);
        self.plateaus.extend(plateaus(place, &curve));
        nearest_caches(&rates, f64::max)
    }

    /// Keeps latencies by size, those of the caches, and that of the largest size.
    pub(super) fn keep_chases(&mut self, chases: Vec<Chase>) {
        let times: Vec<f64> = chases.iter().map(|chase| chase.nanoseconds).collect();
        (self.latency_nanoseconds.l1, self.latency_nanoseconds.l2) = nearest_caches(&times, f64::min);
        self.latency_nanoseconds.memory = times.last().copied();
        self.chases.extend(chases);
    }
}
