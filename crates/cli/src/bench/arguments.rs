//! Arguments that the benchmarks share.

use anyhow::bail;
use clap::{Args, ValueEnum};
use lanefield::backend::Threads;
use lanefield::backend::opencl::{
    AccessWidth, Accumulators, GroupSize, LaneForm, LinkLoads, LinkSharing, Mapping, Neighbours, SiteOrder, Stores,
    Traversal, Tuning, Walk,
};
use lanefield::backend::select::DeviceChoice;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{AcceleratorThreads, Extents, LaneChoice, Lattice, LatticeOptions, LayoutError};
use lanefield::reference::links::LinkFormat;
use lanefield::verify::KernelBuild;
use lanefield_lab::{InWords, Sampling, Timed, Variant};

use crate::args::{AnyBackend, BackendArgs};

/// Sites from which on launches are long, and overlap no more.
const MANY_SITES: usize = 1_000_000;

/// Where to run.
#[derive(Args, Clone, Debug, Default)]
pub struct PlaceArgs {
    /// Where to run: cpu, auto (the first GPU, else any OpenCL device, else the CPU reference), a number from `lanefield devices`, or
    /// part of a name
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "LANEFIELD_DEVICE")]
    device: DeviceChoice,
    /// CPU threads [default: RAYON_NUM_THREADS, else all cores]
    #[arg(long, value_name = "N")]
    threads: Option<Threads>,
}

impl PlaceArgs {
    /// Opens the backend that was asked for.
    pub fn open(&self) -> anyhow::Result<AnyBackend> {
        let (device, lanes) = (self.device.clone(), LaneChoice::Auto);
        let backend = BackendArgs { device, threads: self.threads, accelerator_threads: None, lanes };
        backend.limit_host_threads();
        backend.open()
    }
}

/// How kernels are timed, and what is printed.
#[derive(Args, Clone, Copy, Debug)]
pub struct TimingArgs {
    /// Timed launches of each kernel
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

impl TimingArgs {
    /// How kernels on a lattice are sampled.
    pub fn sampling(self, extents: Extents) -> Sampling {
        Sampling { samples: self.samples as usize, back_to_back: extents.volume() < MANY_SITES }
    }
}

/// Ways to run kernels on an OpenCL device that change no bit.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Choices on OpenCL devices")]
pub struct VariantArgs {
    /// Outer sites a work-group [default: 8]
    #[arg(long, value_name = "N")]
    accelerator_threads: Option<AcceleratorThreads>,
    /// Bytes of an access, for which fields are laid out: word, 8 or 16 [default: that of the device]
    #[arg(long, value_name = "BYTES")]
    access: Option<AccessWidth>,
    /// The order of sites in memory: lexicographic, or so many subdomains in x, y, z and t [default: lexicographic]
    #[arg(long, value_name = "lexicographic|X.Y.Z.T")]
    site_order: Option<SiteOrder>,
    /// How links and blocks are loaded: cached or past-l1 [default: that of the kernel]
    #[arg(long, value_name = "HOW", value_parser = LinkLoads::from_words)]
    link_loads: Option<LinkLoads>,
    /// How results are stored: cached or streaming [default: that of the kernel]
    #[arg(long, value_name = "HOW", value_parser = Stores::from_words)]
    stores: Option<Stores>,
    /// Which sites a work-group takes: once (those of its place), persistent (groups walk over the sites), or persistent:N, with N groups a
    /// compute unit [default: that of the kernel]
    #[arg(long, value_name = "WALK", value_parser = Walk::from_words)]
    walk: Option<Walk>,
    /// In which order sites are visited: memory, or blocks of so many outer sites [default: that of the kernel]
    #[arg(long, value_name = "memory|X.Y.Z.T", value_parser = Traversal::from_words)]
    traversal: Option<Traversal>,
    /// Which work-items are neighbours: those of lanes (lane-fast) or of sites (site-fast) [default: that of the kernel]
    #[arg(long, value_name = "MAPPING", value_parser = Mapping::from_words)]
    mapping: Option<Mapping>,
    /// Whether kernels are built for any work-group, or for the size of their launch (required) [default: that of the kernel]
    #[arg(long, value_name = "any|required", value_parser = GroupSize::from_words)]
    group_size: Option<GroupSize>,
    /// Registers of a work-item at most, 0 for as many as the compiler likes, where it can be told (NVIDIA's) [default: that of the kernel]
    #[arg(long, value_name = "N")]
    registers: Option<u32>,
    /// Whether a work-item takes one lane or, on CPUs, all: work-items or vectors [default: that of the kernel]
    #[arg(long, value_name = "FORM", value_parser = LaneForm::from_words)]
    lane_form: Option<LaneForm>,
    /// Where clover kernels add up the hop: registers or local [default: that of the kernel]
    #[arg(long, value_name = "PLACE", value_parser = Accumulators::from_words)]
    accumulators: Option<Accumulators>,
    /// Where hops hold neighbours' spinors: registers or local [default: that of the kernel]
    #[arg(long, value_name = "PLACE", value_parser = Neighbours::from_words)]
    neighbours: Option<Neighbours>,
    /// How hops of several spinors load links: each work-item, or shared by those of a group that have the same site [default: that of the kernel]
    #[arg(long, value_name = "each|shared", value_parser = LinkSharing::from_words)]
    link_sharing: Option<LinkSharing>,
}

impl VariantArgs {
    /// What was chosen.
    ///
    /// # Errors
    /// A choice, on a backend that has none.
    pub fn variant<B: Timed>(&self) -> anyhow::Result<Variant> {
        let Self { accelerator_threads, access, site_order, link_loads, stores, walk, traversal, .. } = *self;
        let Self { mapping, group_size, registers: most_registers, lane_form, .. } = *self;
        let Self { accumulators, neighbours, link_sharing, .. } = *self;
        let tuning = Tuning {
            link_loads,
            stores,
            walk,
            traversal,
            mapping,
            group_size,
            most_registers,
            lane_form,
            neighbours,
            link_sharing,
        };
        let build = KernelBuild { access, site_order, tuning, accumulators };
        let variant = Variant { threads: accelerator_threads, build };
        if !B::HAS_VARIANTS && variant != Variant::default() {
            let chosen = variant.words().join(", ");
            bail!(
                "the CPU reference has one way to run a kernel, and cannot take: {chosen}; choose an OpenCL device by --device"
            );
        }
        Ok(variant)
    }
}

/// The precision of stored fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum StoredPrecision {
    /// 32-bit
    F32,
    /// 64-bit
    F64,
    /// 16-bit fractions, computed with in f32
    #[value(name = "16bit")]
    Sixteen,
}

/// Evaluates `$work` with `$Real` standing for the type of a stored precision.
macro_rules! in_precision {
    ($precision:expr, $Real:ident => $work:expr) => {
        match $precision {
            $crate::bench::arguments::StoredPrecision::F32 => {
                type $Real = f32;
                $work
            }
            $crate::bench::arguments::StoredPrecision::F64 => {
                type $Real = f64;
                $work
            }
            $crate::bench::arguments::StoredPrecision::Sixteen => {
                type $Real = lanefield::reference::sixteen::Sixteen;
                $work
            }
        }
    };
}
pub(crate) use in_precision;

/// The lattice asked for, else one that is small where kernels run on a CPU.
///
/// # Errors
/// None that occurs.
pub fn extents_or_usual<B: Timed>(extents: Option<Extents>, backend: &B) -> Result<Extents, LayoutError> {
    match extents {
        Some(extents) => Ok(extents),
        None if backend.is_cpu() => Extents::new([8; 4]),
        None => Extents::new([16, 16, 16, 32]),
    }
}

/// A task that times kernels on whichever backend was chosen.
pub trait TimedTask {
    /// What it gives.
    type Output;
    /// Runs it.
    fn run<B: Timed>(self, backend: &mut B) -> Self::Output;
}

/// Runs a task on a backend.
pub fn run_on<T: TimedTask>(backend: &mut AnyBackend, task: T) -> T::Output {
    match backend {
        AnyBackend::Cpu(cpu) => task.run(cpu),
        AnyBackend::OpenCl(device) => task.run(&mut **device),
    }
}

/// How a study lays out the fields of a stencil kernel.
#[derive(Args)]
pub struct LayoutArgs {
    /// Reals stored a link
    #[arg(long, value_name = "REALS", default_value_t)]
    pub links: LinkFormat,
    /// Lane width in bytes: 8, 16, 32, 64, 128, 256, or auto
    #[arg(long, value_name = "BYTES|auto", default_value_t)]
    lanes: LaneChoice,
}

impl LayoutArgs {
    /// The lattice in the lanes asked for, or in those that suit the backend.
    ///
    /// # Errors
    /// Where it does not fit them.
    pub fn lattice<R: Vectors, B: Timed>(&self, backend: &B, extents: Extents) -> Result<Lattice, LayoutError> {
        let options = LatticeOptions { lanes: backend.lanes(self.lanes), ..LatticeOptions::default() };
        Lattice::new(extents, R::COMPLEX, options)
    }
}
