//! Options of a verification.

use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::{AcceleratorThreads, LaneChoice, LegOrder};

use crate::kernel::{self, Kernel};

/// Which cases to verify, and with which layouts and builds.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Key of all random choices and data.
    pub seed: u64,
    /// Random cases per precision: each is a lattice, a layout and data, on which every kernel runs.
    pub cases: u32,
    /// Random cases of sums over sites, with six operations each.
    pub sums: u32,
    /// The kernels to compare.
    pub kernels: Vec<&'static Kernel>,
    /// Whether to compare random sums and solves too.
    pub sums_and_solves: bool,
    /// Runs only the case with this number.
    pub only: Option<u64>,
    /// Two lane widths per precision, one work-group size for each, and one link format per case, to keep the number of programs small.
    pub few_programs: bool,
    /// Only the default lane width and build of each kernel, one link format, and few solves.
    pub defaults_only: bool,
    /// Whether one case in four is on a lattice of at least a hundred thousand sites.
    pub large_lattices: bool,
    /// The lane widths: one, or all of them.
    pub lanes: LaneChoice,
    /// The leg order; the default one and a few others if `None`.
    pub legs: Option<LegOrder>,
    /// The number of outer sites per work-group; several if `None`.
    pub accelerator_threads: Option<AcceleratorThreads>,
    /// The largest work-group of the device.
    pub most_work_items: usize,
    /// Local memory per work-group on the device, in bytes.
    pub local_memory_bytes: u64,
    /// The largest random work-group. 256 fits any GPU, even for kernels that need many registers; on a CPU there is no such limit.
    pub largest_group: usize,
    /// One lane layout per lane width, plus the default one, instead of one per case: for devices whose programs are built for a lane layout
    /// ([`crate::backend::opencl::LaneForm::Vectors`]).
    pub few_cuts: bool,
    /// A configuration for solves, in addition to the hot one.
    pub configuration: Option<Configuration>,
}

impl VerifyOptions {
    /// A full run: at least 10⁹ real numbers.
    pub fn full(seed: u64) -> Self {
        Self {
            seed,
            cases: 48,
            sums: 2400,
            kernels: kernel::all().collect(),
            sums_and_solves: true,
            only: None,
            few_programs: false,
            defaults_only: false,
            large_lattices: true,
            lanes: LaneChoice::Auto,
            legs: None,
            accelerator_threads: None,
            most_work_items: 1024,
            local_memory_bytes: 32 << 10,
            largest_group: 256,
            few_cuts: false,
            configuration: None,
        }
    }

    /// The usual run: few programs, no large lattices.
    pub fn standard(seed: u64) -> Self {
        Self { cases: 6, sums: 120, few_programs: true, few_cuts: true, large_lattices: false, ..Self::full(seed) }
    }

    /// Every kernel once, in its default build.
    pub fn smoke(seed: u64) -> Self {
        Self { cases: 1, sums: 16, defaults_only: true, ..Self::standard(seed) }
    }
}
