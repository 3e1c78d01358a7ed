//! Kernels for devices that this machine does not have: the source, the build options and the launch that the backend would use there. They
//! are for compilers that need no device. The plans are those of the backend itself (`tuning/plan/`).

use lanefield_reference::field::DoubledGauge;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::TreePlan;
use lanefield_reference::prelude::*;
use serde::Serialize;

use super::backend::OpenCl;
use super::device::{DeviceInfo, DeviceKind, Retirement};
use super::ghosts::{PACKETS, packet_options};
use super::prebuild::NeededKernel;
use super::probe::probe_programs;
use super::program::{Source, expand_for, full_options};
use super::tuning::{
    AccessWidth, ChoiceSource, Count, Layout, Planner, SiteOrder, SumOptions, Tuned, Tuning, exchange_bytes,
};
use crate::backend::BackendError;
use crate::backend::specification::{Kernel, Shape};

/// A kernel as it would be built and launched.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OfflineKernel {
    /// The file, in `cl/` or the kernel's own.
    pub file: String,
    /// The name of the OpenCL C kernel.
    pub kernel: &'static str,
    /// Its source with all includes.
    #[serde(skip)]
    pub source: String,
    /// Its source before includes are resolved.
    #[serde(skip)]
    pub of: Source,
    /// All build options.
    pub options: String,
    /// Work-items of a work-group in each dimension.
    pub group: [usize; 3],
    /// The local memory of a work-group that is passed as kernel arguments, in bytes.
    pub local_bytes: usize,
}

impl OfflineKernel {
    /// The number of work-items in a work-group.
    pub fn group_size(&self) -> usize {
        self.group.iter().product()
    }
}

/// A program in the form that a driver receives.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OfflineProgram {
    /// The file, for messages.
    pub file: String,
    /// Its source with all includes.
    pub source: String,
    /// All build options.
    pub options: String,
}

/// A device that this machine need not have, and how it is used.
#[derive(Clone, Debug)]
pub struct OfflineDevice {
    /// The properties that its driver would report.
    pub info: DeviceInfo,
    /// The lattice, since some tuning parameters depend on its size.
    pub extents: Extents,
    /// Lane width.
    pub lanes: LaneChoice,
    /// The tuning parameters that were set by hand.
    pub tuning: Tuning,
    /// How sums are computed.
    pub sums: SumOptions,
    tuned: Tuned,
}

impl OfflineDevice {
    /// A device with the tuning defaults of the library.
    pub fn new(info: DeviceInfo, extents: Extents, lanes: LaneChoice) -> Self {
        let (tuning, sums) = (Tuning::OPEN, SumOptions::default());
        Self { info, extents, lanes, tuning, sums, tuned: Tuned::shipped() }
    }

    /// A GPU of AMD with this architecture, as ROCm's OpenCL presents it.
    pub fn amd(architecture: &str, extents: Extents) -> Self {
        Self::new(amd(architecture), extents, LaneChoice::OF_GPUS)
    }

    /// An unknown device, on which a work-item computes only one component: every device supports code that is built for it.
    pub(crate) fn any(extents: Extents, lanes: LaneChoice) -> Self {
        let info = DeviceInfo { kind: DeviceKind::Cpu, ..DeviceInfo::imagined("any device") };
        let tuning = Tuning { rhs_per_work_item: Count::new(1), ..Tuning::OPEN };
        Self { tuning, ..Self::new(info, extents, lanes) }
    }

    /// The number of lanes of fields in this precision.
    ///
    /// # Errors
    /// If the lattice does not support the lane width.
    pub fn nsimd(&self, precision: Precision) -> Result<usize, BackendError> {
        Ok(self.lattice(precision)?.nsimd())
    }

    fn lattice(&self, precision: Precision) -> Result<Lattice, BackendError> {
        let options = LatticeOptions { lanes: self.lanes, ..LatticeOptions::default() };
        Ok(Lattice::new(self.extents, precision.scalar(), options)?)
    }

    /// How the backend would build and launch a kernel there, on one parity, with the usual number of components.
    ///
    /// # Errors
    /// If the lattice does not support the lane width.
    pub fn kernel(
        &self,
        kernel: &'static Kernel,
        precision: Precision,
        links: LinkFormat,
    ) -> Result<OfflineKernel, BackendError> {
        self.kernel_of(&usual(kernel, self.lattice(precision)?, precision, links))
    }

    /// As [`Self::kernel`], with this leg order.
    ///
    /// # Errors
    /// If the lattice does not support the lane width.
    pub(crate) fn kernel_with_legs(
        &self,
        kernel: &'static Kernel,
        precision: Precision,
        links: LinkFormat,
        legs: LegOrder,
    ) -> Result<OfflineKernel, BackendError> {
        self.kernel_of(&Shape { legs, ..usual(kernel, self.lattice(precision)?, precision, links) })
    }

    /// The programs that calls of a kernel build, with exact sums or with `tree`, and those of queued iterations of conjugate gradients.
    /// Empty if a field is in f64 and the device has no f64.
    ///
    /// # Errors
    /// If the lattice does not support the lane width.
    pub fn programs(
        &self,
        kernel: &'static Kernel,
        (precision, links): (Precision, LinkFormat),
        tree: TreePlan,
    ) -> Result<Vec<OfflineProgram>, BackendError> {
        let (planner, shape) = (self.planner(), usual(kernel, self.lattice(precision)?, precision, links));
        if !self.info.fp64 && shape.precisions().any(|precision| precision == Precision::F64) {
            return Ok(Vec::new());
        }
        let mut needed = Vec::new();
        for sum in [Sum::Exact, Sum::Tree(tree)] {
            match kernel.is_launched() {
                true => needed.extend(planner.needs(&shape, sum)?),
                false => needed.extend(planner.needs_of_queued(&shape, sum)?),
            }
        }
        let program = |NeededKernel { source, options, .. }| self.program(&source, &options);
        needed.into_iter().map(program).collect()
    }

    /// The programs that belong to no kernel: the probe of the arithmetic, and the packets between ranks.
    ///
    /// # Errors
    /// If the lattice does not support the lane width.
    pub fn other_programs(&self) -> Result<Vec<OfflineProgram>, BackendError> {
        let (source, options) = probe_programs(&self.info)?;
        let of_probe = |options| OfflineProgram { file: "probe.cl".to_owned(), source: source.clone(), options };
        let mut programs: Vec<_> = options.into_iter().map(of_probe).collect();
        let precisions = [Precision::F32, Precision::Half, Precision::F64];
        for precision in precisions.into_iter().filter(|&precision| self.info.fp64 || precision != Precision::F64) {
            let nsimd = self.nsimd(precision)?;
            for options in packet_options(&self.planner(), precision, nsimd) {
                programs.push(self.program(&Source::of_library(PACKETS), &options)?);
            }
        }
        Ok(programs)
    }

    fn program(&self, source: &Source, options: &str) -> Result<OfflineProgram, BackendError> {
        let text = expand_for(&self.info, source, options)?;
        Ok(OfflineProgram { file: source.file.clone(), source: text, options: full_options(&self.info, options) })
    }

    fn kernel_of(&self, shape: &Shape) -> Result<OfflineKernel, BackendError> {
        self.planner().offline(shape)
    }

    fn planner(&self) -> Planner<'_> {
        let access = self.tuning.access.unwrap_or(AccessWidth::of_device(&self.info));
        Planner {
            device: &self.info,
            source: ChoiceSource::Tuned(&self.tuned),
            tuning: self.tuning,
            layout: Layout { access, site_order: self.tuning.site_order.unwrap_or(SiteOrder::Lexicographic) },
            relaxed_math: false,
            sums: self.sums,
        }
    }
}

/// A typical call of a kernel onto one parity.
fn usual(kernel: &'static Kernel, lattice: Lattice, precision: Precision, format: LinkFormat) -> Shape {
    let links = DoubledGauge { format, boundary: BoundaryPhases::PERIODIC };
    Shape::usual(kernel, (lattice, Sites::Parity(Parity::Odd)), precision, links, kernel.usual_parts)
}

impl OpenCl {
    /// How a kernel is built and launched on this device, for a lattice of `extents` and this choice of lanes.
    ///
    /// # Errors
    /// If the lattice does not support the lane width.
    pub fn planned_kernel(
        &self,
        kernel: &'static Kernel,
        (precision, links): (Precision, LinkFormat),
        (extents, lanes): (Extents, LaneChoice),
    ) -> Result<(OfflineKernel, usize), BackendError> {
        let options = LatticeOptions { lanes, ..LatticeOptions::default() };
        let lattice = Lattice::new(extents, precision.scalar(), options)?;
        let planned = self.planner(self.layout()).offline(&usual(kernel, lattice, precision, links))?;
        Ok((planned, lattice.nsimd()))
    }
}

impl Planner<'_> {
    /// How a call would be built and launched. Sums are exact.
    fn offline(&self, shape: &Shape) -> Result<OfflineKernel, BackendError> {
        let kernel = shape.kernel;
        let (source, options, group, local_bytes) = match kernel.sums() {
            false => {
                let plan = self.plan(shape)?;
                (plan.source, plan.options, plan.geometry.local, plan.local.bytes())
            }
            true => {
                let work = self.reduction(shape, Sum::Exact)?;
                let group = self.exact_group(work.of.bundle, work.a_row);
                let build = self.sum_build(work.of, Sum::Exact, Some(group))?;
                (
                    self.source(shape, 1)?,
                    self.options_of_sum(&work, &build),
                    [group, 1, 1],
                    exchange_bytes(Sum::Exact, work.a_row, group),
                )
            }
        };
        Ok(OfflineKernel {
            kernel: kernel.name,
            source: expand_for(self.device, &source, &options)?,
            file: source.file.clone(),
            of: source,
            options: full_options(self.device, &options),
            group,
            local_bytes,
        })
    }
}

/// The properties that ROCm's OpenCL reports for a GPU with this architecture, as far as kernels depend on them.
fn amd(architecture: &str) -> DeviceInfo {
    let compute_units = match architecture {
        "gfx906" => 60,
        "gfx908" => 120,
        "gfx90a" => 110,
        "gfx942" => 304,
        _ => 96,
    };
    DeviceInfo {
        platform_name: "AMD Accelerated Parallel Processing".into(),
        platform_version: "OpenCL 2.1 AMD-APP".into(),
        vendor: "Advanced Micro Devices, Inc.".into(),
        architecture: architecture.into(),
        driver_version: "offline".into(),
        device_version: "OpenCL 2.0".into(),
        opencl_c_version: "OpenCL C 2.0".into(),
        compute_units,
        max_clock_mhz: 1700,
        global_memory_bytes: 64 << 30,
        max_allocation_bytes: 54 << 30,
        local_memory_bytes: 64 << 10,
        global_cache_bytes: 16 << 10,
        // ROCm's OpenCL supports groups of 256 unless a kernel declares a larger size.
        max_work_group_size: 256,
        preferred_work_group_multiple: Some(64),
        max_work_item_sizes: [1024; 3],
        retirement: Retirement::Unsupported {
            reason: "it is of an OpenCL before 3.0, whose atomics order nothing".to_owned(),
        },
        extensions: vec!["cl_khr_fp64".into()],
        ..DeviceInfo::imagined(architecture)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tuning::{Accumulators, LinkLoads};
    use super::*;
    use crate::kernel;

    fn device() -> OfflineDevice {
        OfflineDevice::amd("gfx90a", Extents::new([16, 16, 16, 32]).unwrap())
    }

    fn named(name: &str) -> &'static Kernel {
        kernel::all().find(|kernel| kernel.name == name).unwrap()
    }

    #[test]
    fn every_kernel_is_planned_in_every_precision_that_it_takes() {
        for kernel in kernel::all().filter(|kernel| kernel.is_launched()) {
            for &precision in kernel.precisions {
                let planned = device().kernel(kernel, precision, LinkFormat::Full).unwrap();
                let declared = format!("{}(", planned.kernel);
                assert!(planned.source.contains(&declared), "{declared}");
                assert!((1..=256).contains(&planned.group_size()), "{kernel}: {:?}", planned.group);
                assert!(planned.options.starts_with("-cl-std=CL1.2 -cl-fp32-correctly-rounded"), "{}", planned.options);
            }
        }
    }

    #[test]
    fn accelerator_threads_times_lanes_are_the_group() {
        let mut device = device();
        device.lanes = "64".parse().unwrap();
        for threads in [2, 8, 32] {
            device.tuning.accelerator_threads = Some(threads.to_string().parse().unwrap());
            let hop = device.kernel(named("hop"), Precision::F32, LinkFormat::Full).unwrap();
            assert_eq!(hop.group, [8, threads, 1]);
        }
        assert_eq!(device.nsimd(Precision::F64).unwrap(), 4);
    }

    /// A device of NVIDIA's, or one that is called like one.
    fn nvidia(platform: &str, architecture: &str) -> OfflineDevice {
        let extents = Extents::new([16, 16, 16, 32]).unwrap();
        let mut device = OfflineDevice::amd(architecture, extents);
        device.info.platform_name = platform.into();
        device
    }

    #[test]
    fn what_an_nvidia_gpu_does_by_itself_is_asked_of_those_that_do_it() {
        let options = |device: &OfflineDevice, precision| {
            device.kernel(named("hop"), precision, LinkFormat::TwoRows).unwrap().options
        };
        let adds_halves = |architecture, precision| {
            options(&nvidia("NVIDIA CUDA", architecture), precision).contains("-DDOT_PRODUCTS")
        };
        assert!(adds_halves("sm_61", Precision::Half) && adds_halves("sm_90", Precision::Half));
        assert!(!adds_halves("sm_60", Precision::Half) && !adds_halves("gfx90a", Precision::Half));
        assert!(!adds_halves("sm_90", Precision::F32) && !adds_halves("sm_90", Precision::F64));

        let keeps = |platform, architecture| {
            let mut device = nvidia(platform, architecture);
            device.tuning.link_loads = Some(LinkLoads::Kept);
            let options = options(&device, Precision::F32);
            assert!(options.contains("-DLINKS_PAST_L1"), "{options}");
            options.contains("-DLINKS_KEPT")
        };
        let mut ahead = nvidia("NVIDIA CUDA", "sm_90");
        ahead.tuning.link_loads = Some(LinkLoads::Ahead);
        let ahead = options(&ahead, Precision::F32);
        assert!(ahead.contains("-DLINKS_ASKED_FOR") && !ahead.contains("-DLINKS_PAST_L1"), "{ahead}");
        assert!(keeps("NVIDIA CUDA", "sm_80") && keeps("NVIDIA CUDA", "sm_90"));
        assert!(!keeps("NVIDIA CUDA", "sm_75") && !keeps("PoCL", "sm_90") && !keeps("AMD", "gfx90a"));
    }

    #[test]
    fn sums_in_local_memory_take_twelve_words_a_work_item() {
        let mut device = device();
        device.tuning.accumulators = Some(Accumulators::LocalMemory);
        let planned = device.kernel(named("eo_clover"), Precision::F32, LinkFormat::Full).unwrap();
        assert_eq!(planned.local_bytes, planned.group_size() * 96);
        assert!(planned.options.contains("-DACCUMULATORS_IN_LOCAL") && planned.kernel == "eo_clover");
    }
}
