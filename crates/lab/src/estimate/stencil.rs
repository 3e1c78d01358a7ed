//! The kernels of this library on a machine: what a launch takes at least, with every limit, before it is run. Launches are those that the defaults of
//! the crate choose for such a device (`src/backend/opencl/defaults.toml`).

use lanefield::backend::opencl::{AccessWidth, KernelKey, Layout, LinkLoads, SiteOrder, Tuned, Tuning};
use lanefield::kernel::{Ceiling, Kernel, Shape};
use lanefield_reference::layout::{AcceleratorThreads, Extents, LaneChoice, Lattice, LatticeOptions, Parity, Sites};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat};
use lanefield_reference::real::Precision;
use serde::Serialize;

use super::instructions::{Instructions, instructions_a_part};
use super::resident::{UnitTraffic, unit_traffic};
use super::streams::{Streams, streams};
use super::{EstimateError, Limit, LimitKind, Prediction};
use crate::access::Launched;
use crate::description::DescriptionError;
use crate::machine::{Machine, MachineKind};

/// Sites of a lattice at most: its tables are made.
const MOST_SITES: usize = 1 << 28;

#[derive(Clone, Copy, Debug)]
pub struct KernelWork {
    pub kernel: &'static Kernel,
    pub extents: Extents,
    pub sites: Sites,
    pub precision: Precision,
    pub links: LinkFormat,
    /// Spinors or colour vectors a site.
    pub parts: usize,
    pub lanes: LaneChoice,
    /// Bytes of an access; that of the kind of machine where nothing is said.
    pub access: Option<AccessWidth>,
    /// How it is launched, as far as that is said.
    pub tuning: Tuning,
}

impl KernelWork {
    /// One parity of a kernel in the lanes of GPUs, with the launch that is looked up.
    pub fn new(kernel: &'static Kernel, extents: Extents, precision: Precision, links: LinkFormat) -> Self {
        Self {
            kernel,
            extents,
            sites: Sites::Parity(Parity::Even),
            precision,
            links,
            parts: kernel.usual_parts,
            lanes: LaneChoice::Auto,
            access: None,
            tuning: Tuning::OPEN,
        }
    }

    /// What is laid out and launched on a machine.
    pub fn launched(&self, machine: &Machine) -> Result<Launched, EstimateError> {
        let Self { kernel, extents, sites, precision, links, parts, .. } = *self;
        let wrong = |name, value: usize, expected| {
            Err(DescriptionError::value(&format!("a launch of {kernel}"), name, value as f64, expected).into())
        };
        if parts == 0 || parts > 4096 {
            return wrong("spinors", parts, "a number from 1 to 4096");
        }
        if extents.volume() > MOST_SITES {
            return wrong("sites", extents.volume(), "a lattice of at most 2^28 sites");
        }
        let lanes = match (self.lanes, machine.kind) {
            (LaneChoice::Auto, MachineKind::Gpu) => LaneChoice::OF_GPUS,
            (lanes, _) => lanes,
        };
        let options = LatticeOptions { lanes, ..LatticeOptions::default() };
        let lattice = Lattice::new(extents, precision.scalar(), options)?;
        let device = machine.device();
        let access = self.access.unwrap_or_else(|| AccessWidth::of_device(&device));
        let links = DoubledGauge { format: links, boundary: BoundaryPhases::PERIODIC };
        let shape = Shape::usual(kernel, (lattice, sites), precision, links, parts);
        let mut tuning = self.tuning;
        let layout = Layout { access, site_order: SiteOrder::default() };
        if let Some(key) = KernelKey::of(&shape, layout, &device) {
            tuning = tuning.or(Tuned::shipped().choice(&device, &key));
            // `cl/access.clh` asks clang for loads past the nearest cache, too; clang 15 keeps the hint of stores, and drops that of loads.
            if !machine.vendor.contains("NVIDIA") {
                tuning.link_loads = Some(LinkLoads::Cached);
            }
            let most = (device.max_work_group_size / lattice.nsimd()).max(1);
            let threads = tuning.accelerator_threads.map(|threads| AcceleratorThreads::new(threads.get().min(most)));
            tuning.accelerator_threads = threads.transpose()?;
        }
        if tuning.accelerator_threads.is_none() {
            // Vector operations: groups of 256 work-items.
            let threads = (256 / lattice.nsimd()).clamp(1, AcceleratorThreads::MOST);
            tuning.accelerator_threads = Some(AcceleratorThreads::new(threads)?);
        }
        Ok(Launched::new(shape, access, tuning)?)
    }
}

/// What is known of a launch beside its time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelEstimate {
    #[serde(flatten)]
    pub prediction: Prediction,
    /// Floating-point operations, as the field counts them; none where nobody does.
    pub flops: Option<f64>,
    pub streams: Streams,
    /// Between the last cache and the units.
    pub traffic: UnitTraffic,
    pub instructions: Instructions,
    pub launch: String,
}

/// Estimates a launch of a kernel on a machine.
pub fn stencil(machine: &Machine, work: &KernelWork) -> Result<KernelEstimate, EstimateError> {
    let launched = work.launched(machine)?;
    let (streams, traffic) = (streams(&launched, machine), unit_traffic(&launched, machine));
    let instructions = instructions_a_part(&launched);
    let shape = &launched.shape;
    let parts = shape.volume() as f64 * shape.parts() as f64;
    let clocks = machine.unit_clocks();
    let lanes = if work.precision == Precision::F64 { machine.f64_lanes } else { machine.f32_lanes };
    let giga = 1e9;
    let memory_rate = match work.kernel.ceiling {
        Ceiling::Read => machine.read_gb_per_second,
        Ceiling::Copy => machine.copy_gb_per_second,
    };
    let flops = shape.work().flops as f64;
    let limits = vec![
        Limit::new(LimitKind::Memory, streams.bytes(), "bytes", memory_rate * giga),
        Limit::new(LimitKind::SecondCache, traffic.bytes(), "bytes", machine.l2_gb_per_second * giga),
        Limit::new(LimitKind::FirstCache, traffic.first_cache_bytes, "bytes", clocks * machine.l1_bytes_a_clock),
        Limit::new(LimitKind::Arithmetic, parts * instructions.arithmetic, "instructions", clocks * lanes),
        Limit::new(
            LimitKind::Conversion,
            parts * instructions.conversion,
            "instructions",
            clocks * machine.integer_lanes,
        ),
        Limit::new(LimitKind::Issue, parts * instructions.all(), "instructions", clocks * machine.issue_lanes),
    ];
    Ok(KernelEstimate {
        prediction: Prediction::new(machine.launch_microseconds * 1e-6, limits),
        flops: (flops > 0.0).then_some(flops),
        streams,
        traffic,
        instructions,
        launch: launched.tuning.to_string(),
    })
}
