//! What to verify.

use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::{AcceleratorThreads, LaneChoice, LegOrder};

use crate::kernel::{self, Kernel};

/// What to verify.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Key of all random choices and data.
    pub seed: u64,
    /// Random cases for each precision: a lattice, a layout and data each, on which every kernel runs.
    pub cases: u32,
    /// Random cases of sums over sites, on each of which six operations run.
    pub sums: u32,
    /// The kernels that are compared.
    pub kernels: Vec<&'static Kernel>,
    /// Whether random sums and solves are compared, too.
    pub sums_and_solves: bool,
    /// Only the case of this number.
    pub only: Option<u64>,
    /// Two lane widths for each precision, one work-group size for each of them, and one link format a case: few programs to build.
    pub few_programs: bool,
    /// The default lane width and build of each kernel alone, one link format, and few solves.
    pub defaults_only: bool,
    /// Whether one case in four is on a lattice of a hundred thousand sites and more.
    pub large_lattices: bool,
    /// One lane width instead of all.
    pub lanes: LaneChoice,
    /// One leg order instead of the default one with a few others.
    pub legs: Option<LegOrder>,
    /// One number of outer sites a work-group instead of several.
    pub accelerator_threads: Option<AcceleratorThreads>,
    /// Largest work-group of the device.
    pub most_work_items: usize,
    /// Local memory that a work-group of the device can take, in bytes.
    pub local_memory_bytes: u64,
    /// The largest that is drawn: 256 fit any GPU, also kernels that need many registers; a CPU has none to run out of.
    pub largest_group: usize,
    /// One cut into lanes for each lane width, and the default one, instead of one for each case: for devices whose programs are built for a cut
    /// ([`crate::backend::opencl::LaneForm::Vectors`]).
    pub few_cuts: bool,
    /// A configuration for solves, beside the hot one.
    pub configuration: Option<Configuration>,
}

impl VerifyOptions {
    /// A full run: 10⁹ real numbers and more.
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
