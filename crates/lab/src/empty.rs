//! A kernel that does nothing, to measure the least time of a launch.

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{Arg, Context, Launch};

use crate::{Spread, sources};

/// The options of the read kernel on a CPU, so that both use the same program.
pub(crate) const OPTIONS: &str = "-DELEMENT_BYTES=64 -DAT_ONCE=8 -DGROUP=1";
pub(crate) const ONE: Launch = Launch { global: [1, 1, 1], local: [1, 1, 1] };
const RUNS: usize = 50;

pub struct EmptyKernel {
    pub median: f64,
    pub least: f64,
}

pub(crate) fn empty_kernel(context: &Context) -> Result<EmptyKernel, BackendError> {
    let program = sources::program(context, "peak_caches.cl", OPTIONS)?;
    let out = context.allocate(8, "target of a kernel that does nothing")?;
    let run =
        || -> Result<f64, BackendError> { Ok(context.launch_timed(&program, "nothing", ONE, &[Arg::Buffer(&out)])?) };
    // The first run may build programs.
    run()?;
    let times = (0..RUNS).map(|_| run()).collect::<Result<Vec<f64>, _>>()?;
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(EmptyKernel { median: Spread::of_some(times).median, least })
}
