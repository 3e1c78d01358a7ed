//! One kernel on its arguments, timed in one tuning after the other: in device time if there are device events, otherwise in wall time.

use std::time::{Duration, Instant};

use lanefield::backend::opencl::{Layout, Tuning};
use lanefield::backend::{BackendError, Sum};
use lanefield::kernel::{Case, CaseOn};

use super::record::KernelRecord;
use super::spread::Spread;
use super::timed::Timed;

/// Length of the warm-up of a kernel, at least one launch: clocks rise, and programs are built.
const WARM_UP: Duration = Duration::from_millis(20);
const BACK_TO_BACK: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Number of timed launches, at least one.
    pub samples: usize,
    /// Whether to time launches back to back too.
    pub back_to_back: bool,
}

/// Times `launch`: the spread of single launches, and the seconds per launch of several that are queued back to back, if this is requested and the
/// backend queues.
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

/// A kernel with its arguments. They stay on a backend as long as tunings have the same layout of fields, and are created again otherwise.
pub struct TimedCase<B: Timed> {
    /// The kernel and its arguments on the host; the leg order may change from run to run.
    pub case: Case,
    pub sum: Sum,
    on: Option<(Option<Layout>, CaseOn<B>)>,
}

impl<B: Timed> TimedCase<B> {
    pub fn new(case: Case) -> Self {
        Self { case, sum: Sum::Exact, on: None }
    }

    /// Sets the tuning of `backend`, and places the arguments there in its layout.
    pub fn prepare(&mut self, backend: &mut B, tuning: Tuning) -> Result<(), BackendError> {
        backend.set_tuning(tuning);
        let layout = backend.opencl().map(|device| device.layout());
        if self.on.as_ref().is_none_or(|(held, _)| *held != layout) {
            // Frees the old ones first, to have room.
            self.on = None;
            self.on = Some((layout, self.case.on(backend)?));
        }
        Ok(())
    }

    /// Launches the kernel on the arguments of the last [`Self::prepare`].
    pub fn launch(&mut self, backend: &B) -> Result<(), BackendError> {
        let (_, on) = match &mut self.on {
            Some(held) => held,
            none => none.insert((backend.opencl().map(|device| device.layout()), self.case.on(backend)?)),
        };
        on.launch(&self.case, backend, self.sum).map(drop)
    }

    /// Times the kernel in a tuning. If it cannot run, the record has the reason.
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
