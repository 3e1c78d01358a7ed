//! A requested launch of a kernel on a machine. Launches are those that the defaults of the crate choose for such a device
//! (`src/backend/opencl/defaults.toml`).

use lanefield::backend::opencl::{AccessWidth, KernelKey, Layout, LinkLoads, SiteOrder, Tuned, Tuning};
use lanefield::kernel::{Kernel, Shape};
use lanefield_reference::layout::{AcceleratorThreads, Extents, LaneChoice, Lattice, LatticeOptions, Parity, Sites};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat};
use lanefield_reference::real::Precision;

use super::error::ModelError;
use super::launched::Launched;
use crate::description::DescriptionError;
use crate::machine::{Machine, MachineKind};

/// The largest number of sites of a lattice, because its tables are created.
const MOST_SITES: usize = 1 << 28;

#[derive(Clone, Copy, Debug)]
pub struct KernelWork {
    pub kernel: &'static Kernel,
    pub extents: Extents,
    pub sites: Sites,
    pub precision: Precision,
    pub links: LinkFormat,
    pub parts: usize,
    pub lanes: LaneChoice,
    /// Bytes per access; if left out, those for the kind of machine.
    pub access: Option<AccessWidth>,
    /// How it is launched; values may be left out.
    pub tuning: Tuning,
}

impl KernelWork {
    /// One parity of a kernel in the lanes of GPUs, with the default launch.
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

    pub fn launched(&self, machine: &Machine) -> Result<Launched, ModelError> {
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
            // `cl/access.clh` also asks clang for loads that bypass the nearest cache; clang 15 keeps the hint of stores, and drops that of loads.
            if !machine.vendor.contains("NVIDIA") {
                tuning.link_loads = Some(LinkLoads::Cached);
            }
            let most = (device.max_work_group_size / lattice.nsimd()).max(1);
            let threads = tuning.accelerator_threads.map(|threads| AcceleratorThreads::new(threads.get().min(most)));
            tuning.accelerator_threads = threads.transpose()?;
        }
        if tuning.accelerator_threads.is_none() {
            // Vector operations have groups of 256 work-items.
            let threads = (256 / lattice.nsimd()).clamp(1, AcceleratorThreads::MOST);
            tuning.accelerator_threads = Some(AcceleratorThreads::new(threads)?);
        }
        Launched::new(shape, access, tuning)
    }
}
