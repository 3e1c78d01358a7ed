//! `lanefield bench`: kernels timed on one device, in the way of running them that is chosen, and studies that compare several. What is
//! measured, and how: `lanefield_lab`.

pub mod arguments;
mod gauge;
pub mod kernels;
mod orders;
mod ranks;
mod reduce;
mod sprint;
mod table;
mod threads;

use crate::kernels::Known;
use clap::Args;

use super::outcome::Outcome;

/// Time kernels, and compare them with the copy bandwidth.
///
/// Times kernels on one device, or runs one of the studies below.
///
/// Kernels are selected by family, by name, or by `all` (`lanefield verify --list` lists them). The kernel of a dagger is timed only if it is named
/// itself.
///
/// Times are device times if the device reports them, else wall times: the median, and the range from the 10th to the 90th percentile. "Back to back"
/// is the time per launch of several that are queued one after the other. On lattices of fewer than a million sites, launches overlap.
///
/// GB/s count each input and each output once. If the fields fit the last cache ("in cache"), they are not compared with the bandwidth of memory.
/// Bandwidths are stored with the program cache, and measured again if a kernel exceeds them.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  lanefield bench --kernel hop,blas --lattice 4.4.4.4 --samples 3
  lanefield bench --kernel eo_clover --lattice 4.4.4.8 --precision f32,f64 \\
      --reconstruct 12 --lanes 32,64 --samples 3 --json")]
pub struct Bench {
    #[command(subcommand)]
    study: Option<Study>,
    #[command(flatten)]
    kernels: kernels::Kernels,
}

commands! {
    Study(kernels: &Known) {
        Gauge(gauge::Gauge),
        Reduce(reduce::Reduce),
        Threads(threads::Threads) with kernels,
        Orders(orders::Orders),
        Ranks(ranks::Ranks) with kernels,
        Sprint(sprint::Sprint),
    }
}

impl Bench {
    pub fn run(self, kernels: &Known) -> anyhow::Result<Outcome> {
        match self.study {
            None => self.kernels.run(kernels),
            Some(study) => study.run(kernels),
        }
    }
}
