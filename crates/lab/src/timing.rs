//! One kernel on its arguments, timed in one tuning after the other: device time where there are device events, else wall time.

use std::time::{Duration, Instant};

use lanefield::backend::opencl::{Layout, Tuning};
use lanefield::backend::{BackendError, Sum};
use lanefield::kernel::{Case, CaseOn};

use super::record::KernelRecord;
use super::spread::Spread;
use super::timed::Timed;

/// A kernel runs so long, and at least once, before it is timed: clocks go up, programs are built.
const WARM_UP: Duration = Duration::from_millis(20);
const BACK_TO_BACK: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Timed launches; at least one is taken.
    pub samples: usize,
    /// Whether launches are timed one after the other without a wait, too.
    pub back_to_back: bool,
}

/// Times `launch`: the spread of single launches, and the seconds for each of several that are queued one after the other, where that is asked
/// for and the backend queues.
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
    let times = (0..samples.max(1)).map(|_| backend.time(&mut || launch(backend))).collect::<Result<_, _>>()?;
    let span = match back_to_back {
        true => backend.span(&mut || (0..BACK_TO_BACK).try_for_each(|_| launch(backend)))?,
        false => None,
    };
    Ok((Spread::of_some(times), span.map(|seconds| seconds / BACK_TO_BACK as f64)))
}

/// A kernel with its arguments. They are held by a backend as long as tunings lay fields out alike, and else made anew.
pub struct TimedCase<B: Timed> {
    /// The kernel and its arguments on the host; the order of its legs may change from run to run.
    pub case: Case,
    pub sum: Sum,
    on: Option<(Option<Layout>, CaseOn<B>)>,
}

impl<B: Timed> TimedCase<B> {
    pub fn new(case: Case) -> Self {
        Self { case, sum: Sum::Exact, on: None }
    }

    /// Lets `backend` take a tuning, and hold the arguments as this lays them out.
    pub fn prepare(&mut self, backend: &mut B, tuning: Tuning) -> Result<(), BackendError> {
        backend.set_tuning(tuning);
        let layout = backend.opencl().map(|device| device.layout());
        if self.on.as_ref().is_none_or(|(held, _)| *held != layout) {
            // Room for the new ones first.
            self.on = None;
            self.on = Some((layout, self.case.on(backend)?));
        }
        Ok(())
    }

    /// Launches the kernel, of which the last [`Self::prepare`] held the arguments.
    pub fn launch(&mut self, backend: &B) -> Result<(), BackendError> {
        let (_, on) = match &mut self.on {
            Some(held) => held,
            none => none.insert((backend.opencl().map(|device| device.layout()), self.case.on(backend)?)),
        };
        on.launch(&self.case, backend, self.sum).map(drop)
    }

    /// Times the kernel in a tuning. That it cannot be run is part of the record.
    pub fn time(&mut self, backend: &mut B, tuning: Tuning, sampling: Sampling) -> KernelRecord {
        let mut record = KernelRecord::new(self.case.shape(), tuning);
        let prepared = self.prepare(backend, tuning);
        match prepared.and_then(|()| sample(&*backend, sampling, |backend| self.launch(backend))) {
            Ok((seconds, back_to_back)) => {
                record.seconds = Some(seconds);
                record.back_to_back_seconds = back_to_back;
            }
            Err(error) => record.failure = Some(error.to_string()),
        }
        record
    }
}
