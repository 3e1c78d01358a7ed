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
/// Kernels of one device, against the bandwidth of its memory; or one of the studies below.
///
/// Kernels are named by a family, by their own name, or by `all` (`lanefield verify --list` lists them); the kernel of a dagger is timed only where it is
/// named itself. Times are device times where there are device events, else wall times: the median, and the range from the 10th to the 90th
/// percentile. GB/s count each input and each output once. Where the fields fit the last cache, they are held against no
/// bandwidth of memory ("in cache"). Bandwidths are kept with the cache of programs, and measured again when a kernel beats them. "Back to back" is the time per
/// launch of several that are queued one after the other: on lattices of fewer than a million sites launches overlap.
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
