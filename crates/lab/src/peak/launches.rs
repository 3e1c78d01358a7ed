//! The cost of a launch, from empty kernels.

use std::time::Instant;

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{Context, DeviceTimes};

use super::latency::Chaser;
use super::measuring::Measuring;
use super::record::LaunchCost;
use crate::Spread;

/// Launches that are queued back to back.
const QUEUED: usize = 200;
const WAITED: usize = 50;

/// Prepares an empty kernel, and launches it once.
fn ready(context: &Context) -> Result<Chaser<'_>, BackendError> {
    let chaser = Chaser::new(context)?;
    context.times(&chaser.nothing()?)?;
    Ok(chaser)
}

pub(super) fn measure(Measuring { context, peak, tell, .. }: Measuring<'_>) -> Result<(), BackendError> {
    tell("launches")?;
    let chaser = ready(context)?;

    let (mut queued, mut run, mut trips) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..WAITED {
        let start = Instant::now();
        let event = chaser.nothing()?;
        context.finish()?;
        trips.push(start.elapsed().as_secs_f64());
        queued.push(context.seconds_queued(&event)?);
        run.push(context.times(&event)?.seconds());
    }
    let events = (0..QUEUED).map(|_| chaser.nothing()).collect::<Result<Vec<_>, _>>()?;
    context.finish()?;
    let starts = events.iter().map(|event| Ok(context.times(event)?)).collect::<Result<Vec<_>, BackendError>>()?;
    let apart = starts.windows(2).map(|pair| DeviceTimes { start: pair[0].start, end: pair[1].start }.seconds());
    let apart = Spread::of_some(apart.collect());
    peak.launch_microseconds = Some(apart.median * 1e6);
    peak.launch = Some(LaunchCost {
        queued_to_start_microseconds: Some(in_microseconds(Spread::of_some(queued))),
        run_microseconds: Some(in_microseconds(Spread::of_some(run))),
        back_to_back_microseconds: Some(in_microseconds(apart)),
        round_trip_microseconds: in_microseconds(Spread::of_some(trips)),
    });
    Ok(())
}

pub(super) fn in_microseconds(Spread { median, tenth, ninetieth }: Spread) -> Spread {
    Spread { median: median * 1e6, tenth: tenth * 1e6, ninetieth: ninetieth * 1e6 }
}
