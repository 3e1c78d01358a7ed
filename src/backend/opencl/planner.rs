//! What decides how kernels are built and launched: a device, what was set by hand, and where the rest is looked up. It needs no driver, so that
//! kernels can be compiled for devices that are not there (`offline.rs`).

use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{AcceleratorThreads, LaunchGeometry, PartsShape};

use super::lanes::WorkItemLanes;
use super::plan::Plan;
use super::tuning::Build;
use super::variant::{Choices, Variant};
use super::{
    AccessWidth, Accumulators, DeviceInfo, KernelChoice, KernelKey, OpenCl, SiteOrder, SumOptions, Tuned, Tuning,
};

/// Where choices are looked up that nobody made.
#[derive(Clone, Copy)]
pub(super) enum ChoiceSource<'a> {
    /// Where this backend does, which remembers them.
    Backend(&'a OpenCl),
    /// There.
    Tuned(&'a Tuned),
}

/// A kernel that begins with a hop, as it will be built and launched.
pub(super) struct Planned {
    pub plan: Plan,
    pub build: Build,
    pub geometry: LaunchGeometry,
    pub kernel: &'static str,
    pub variant: Variant,
    /// Bytes of local memory of a group in which the hop is added up.
    pub accumulated: usize,
}

impl Planned {
    /// Bytes of local memory of a group, all of them.
    pub fn local_bytes(&self) -> usize {
        let staged = self.build.stage.map_or(0, |stage| stage.bytes_of(self.geometry.group_size()));
        staged + self.build.shared_links + self.accumulated
    }
}

/// Plans kernels for a device. The fields are those of [`OpenCl`].
#[derive(Clone, Copy)]
pub(super) struct Planner<'a> {
    pub device: &'a DeviceInfo,
    pub source: ChoiceSource<'a>,
    pub threads: AcceleratorThreads,
    pub threads_chosen: bool,
    pub parts_shape: PartsShape,
    pub accumulators: Option<Accumulators>,
    pub tuning: Tuning,
    pub access: AccessWidth,
    pub site_order: SiteOrder,
    pub relaxed_math: bool,
    pub sums: SumOptions,
}

impl Planner<'_> {
    /// The choice for a kernel.
    pub fn choice(&self, key: &KernelKey) -> KernelChoice {
        match self.source {
            ChoiceSource::Backend(backend) => backend.choice(key),
            ChoiceSource::Tuned(tuned) => tuned.choice(self.device, key),
        }
    }

    /// Whether the compiler keeps the arithmetic of vectors; of one that cannot be asked it is not assumed.
    pub fn vectors_are_bitwise(&self) -> bool {
        match self.source {
            ChoiceSource::Backend(backend) => backend.vectors_are_bitwise(),
            ChoiceSource::Tuned(_) => false,
        }
    }

    /// `file` for fields of precision `R`, in this layout.
    pub fn variant<R: Vectors>(&self, file: &'static str, nsimd: usize, choices: Choices) -> Variant {
        Variant { file, precision: R::BITS, nsimd, lanes: WorkItemLanes::One, access: self.access, choices }
    }

    pub fn geometry_over_parts(
        &self,
        nsimd: usize,
        parts_and_osites: (usize, usize),
        shape: PartsShape,
    ) -> LaunchGeometry {
        let most_osites = self.device.max_work_item_sizes[2];
        LaunchGeometry::over_parts(nsimd, parts_and_osites, shape, self.threads, most_osites)
    }
}
