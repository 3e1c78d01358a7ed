//! Kernels for devices that are not there: the source, the options and the launch that the backend would take on one, for compilers that need no
//! device. The plans are those of the backend itself (`planner.rs`).

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{
    AcceleratorThreads, Extents, LaneChoice, LaneWidth, Lattice, LatticeOptions, LaunchGeometry, LegOrder, Parity,
    PartsShape, Sites,
};
use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::Real as _;
use lanefield_reference::sixteen::Sixteen;
use serde::Serialize;

use super::planner::{ChoiceSource, Planned, Planner};
use super::product::{LS, MANY, Which};
use super::program::full_options;
use super::reduce::exchange_bytes;
use super::variant::{Choices, Variant};
use super::{
    AccessWidth, DeviceInfo, DeviceKind, OpenCl, ProductKernel, Retirement, SiteOrder, StoredPrecision, SumOptions,
    Tuned, Tuning, expand_for,
};
use crate::backend::BackendError;

/// A kernel as it would be built and launched.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OfflineKernel {
    /// The file of `cl/`.
    pub file: &'static str,
    /// The OpenCL C kernel.
    pub kernel: &'static str,
    /// Its source, with all that it includes.
    #[serde(skip)]
    pub source: String,
    /// The build options, all of them.
    pub options: String,
    /// Work-items of a group in each dimension.
    pub group: [usize; 3],
    /// Bytes of local memory of a group that are kernel arguments.
    pub local_bytes: usize,
}

impl OfflineKernel {
    /// Work-items of a group.
    pub fn group_size(&self) -> usize {
        self.group.iter().product()
    }
}

/// A device that need not be there, and how it is used.
#[derive(Clone, Debug)]
pub struct OfflineDevice {
    /// What the driver would tell.
    pub info: DeviceInfo,
    /// The lattice: some choices depend on its size.
    pub extents: Extents,
    /// Lane width.
    pub lanes: LaneChoice,
    /// Outer sites of a group, where they were chosen by hand.
    pub threads: Option<AcceleratorThreads>,
    tuned: Tuned,
}

impl OfflineDevice {
    /// As which a GPU of AMD's with this architecture presents itself under ROCm's OpenCL, with the choices that ship with the library.
    pub fn amd(architecture: &str, extents: Extents) -> Self {
        let lanes = LaneChoice::UpTo(LaneWidth::OF_GPUS);
        Self { info: amd(architecture), extents, lanes, threads: None, tuned: Tuned::shipped() }
    }

    /// Lanes of fields of that precision.
    ///
    /// # Errors
    /// A lane width that the lattice does not take.
    pub fn nsimd(&self, precision: StoredPrecision) -> Result<usize, BackendError> {
        Ok(match precision {
            StoredPrecision::F32 => self.lattice::<f32>()?,
            StoredPrecision::F64 => self.lattice::<f64>()?,
            StoredPrecision::Sixteen => self.lattice::<Sixteen>()?,
        }
        .nsimd())
    }

    fn lattice<R: Vectors>(&self) -> Result<Lattice, BackendError> {
        let options = LatticeOptions { lanes: self.lanes, ..LatticeOptions::default() };
        Ok(Lattice::new(self.extents, R::COMPLEX, options)?)
    }

    /// How the backend would build and launch a kernel there.
    ///
    /// # Errors
    /// A lane width that the lattice does not take.
    pub fn kernel(
        &self,
        kernel: ProductKernel,
        precision: StoredPrecision,
        links: LinkFormat,
    ) -> Result<OfflineKernel, BackendError> {
        match precision {
            StoredPrecision::F32 => self.kernel_of::<f32>(kernel, links),
            StoredPrecision::F64 => self.kernel_of::<f64>(kernel, links),
            StoredPrecision::Sixteen => self.kernel_of::<Sixteen>(kernel, links),
        }
    }

    fn kernel_of<R: Vectors>(&self, kernel: ProductKernel, links: LinkFormat) -> Result<OfflineKernel, BackendError> {
        let planner = Planner {
            device: &self.info,
            source: ChoiceSource::Tuned(&self.tuned),
            threads: self.threads.unwrap_or_default(),
            threads_chosen: self.threads.is_some(),
            parts_shape: PartsShape::default(),
            accumulators: None,
            tuning: Tuning::default(),
            access: AccessWidth::of_device(&self.info),
            site_order: SiteOrder::default(),
            relaxed_math: false,
            sums: SumOptions::default(),
        };
        planner.offline::<R>(kernel, &self.lattice::<R>()?, links)
    }
}

impl OpenCl {
    /// How a kernel is built and launched here, on a lattice of `extents` with lanes of that choice.
    ///
    /// # Errors
    /// A lane width that the lattice does not take.
    pub fn planned_kernel(
        &self,
        kernel: ProductKernel,
        (precision, links): (StoredPrecision, LinkFormat),
        (extents, lanes): (Extents, LaneChoice),
    ) -> Result<(OfflineKernel, usize), BackendError> {
        let lattice = |scalar| Lattice::new(extents, scalar, LatticeOptions { lanes, ..LatticeOptions::default() });
        let planner = self.planner();
        let (lattice, planned) = match precision {
            StoredPrecision::F32 => {
                let lattice = lattice(f32::COMPLEX)?;
                (lattice, planner.offline::<f32>(kernel, &lattice, links)?)
            }
            StoredPrecision::F64 => {
                let lattice = lattice(f64::COMPLEX)?;
                (lattice, planner.offline::<f64>(kernel, &lattice, links)?)
            }
            StoredPrecision::Sixteen => {
                let lattice = lattice(Sixteen::COMPLEX)?;
                (lattice, planner.offline::<Sixteen>(kernel, &lattice, links)?)
            }
        };
        Ok((planned, lattice.nsimd()))
    }
}

/// What is built, the kernel's name, its launch, and the local memory that it takes as an argument.
type Product = (Variant, &'static str, LaunchGeometry, usize);

impl Planner<'_> {
    /// A kernel of the library on fields of one parity.
    fn offline<R: Vectors>(
        self,
        kernel: ProductKernel,
        lattice: &Lattice,
        links: LinkFormat,
    ) -> Result<OfflineKernel, BackendError> {
        let device = self.device;
        let sites = Sites::Parity(Parity::Odd);
        let (variant, name, geometry, local_bytes) = self.product::<R>(kernel, (lattice, sites), links)?;
        Ok(OfflineKernel {
            file: variant.file,
            kernel: name,
            source: expand_for(device, variant.file)?,
            options: full_options(device, &variant.options()),
            group: geometry.local,
            local_bytes,
        })
    }

    fn product<R: Vectors>(
        mut self,
        kernel: ProductKernel,
        (lattice, sites): (&Lattice, Sites),
        links: LinkFormat,
    ) -> Result<Product, BackendError> {
        let (nsimd, osites) = (lattice.nsimd(), lattice.osites(sites));
        let legs = (LegOrder::default(), Dagger::No);
        let of_planned = |planned: Planned| {
            let local = planned.local_bytes();
            (planned.variant, planned.kernel, planned.geometry, local)
        };
        let each = PartsShape::default();
        Ok(match kernel.which {
            Which::Hop { spinors } => of_planned(self.hop::<R>((lattice, sites), links, spinors, legs)),
            Which::CloverHop { spinors, with_chi, accumulators } => {
                self.accumulators = Some(accumulators);
                of_planned(self.clover_hop::<R>((lattice, sites), links, spinors, legs, with_chi))
            }
            Which::CloverApply => {
                let variant = self.clover_apply::<R>(lattice);
                let launched = variant.lanes.launched(nsimd);
                (variant, kernel.name, self.geometry_over_parts(launched, (1, osites), each), 0)
            }
            Which::Laplace => of_planned(self.laplace::<R>((lattice, sites), links, MANY, legs.0)),
            Which::AlongS { form, adds } => {
                let along = self.along_s::<R>(lattice, form, adds, (1, LS));
                let shape = PartsShape { at_once: Some(along.at_once), ..each };
                let geometry = self.geometry_over_parts(along.launched, (along.parts, osites), shape);
                (along.variant, along.kernel, geometry, 0)
            }
            Which::CloverTerm { parts } => {
                let geometry = match parts {
                    0 => LaunchGeometry::over_sites(nsimd, osites, self.threads),
                    _ => self.geometry_over_parts(nsimd, (parts, osites), each),
                };
                (self.variant::<R>("clover_term.cl", nsimd, Choices::None), kernel.name, geometry, 0)
            }
            Which::Convert => {
                // Between 64 and 32 bits, and from 32 to 16.
                let from = if R::BITS == 32 { 64 } else { 32 };
                let choices = Choices::Convert { from, words: Spinors::WORDS };
                let geometry = LaunchGeometry::over_sites(nsimd, osites, self.threads);
                (self.variant::<R>("convert.cl", nsimd, choices), kernel.name, geometry, 0)
            }
            Which::Blas(sums) => self.summing::<R>(kernel, ("blas.cl", Spinors::WORDS), None, nsimd, osites, sums)?,
            Which::Columns(sums) => {
                self.summing::<R>(kernel, ("columns.cl", Spinors::WORDS), None, nsimd, osites, sums)?
            }
            Which::Reduce { bundled } => {
                let bundle = bundled.then(|| self.bundle(self.form(Sum::Exact), Spinors::WORDS));
                self.summing::<R>(kernel, ("reduce.cl", Spinors::WORDS), bundle, nsimd, osites, true)?
            }
        })
    }

    /// A kernel of the files whose programs are built for sums, exact ones; `sums`: whether this one takes any.
    fn summing<R: Vectors>(
        &self,
        kernel: ProductKernel,
        (file, words): (&'static str, usize),
        bundle: Option<usize>,
        nsimd: usize,
        osites: usize,
        sums: bool,
    ) -> Result<Product, BackendError> {
        let a_row = 2 * bundle.unwrap_or(1);
        let group = sums.then(|| self.exact_group(bundle, a_row));
        let variant = self.sum_variant::<R>(file, nsimd, words, (bundle, 1), Sum::Exact, group)?;
        let columns = kernel.family == "columns";
        let (geometry, local) = match group {
            Some(group) => {
                let local = [group, 1, 1];
                (LaunchGeometry { global: local, local }, exchange_bytes(Sum::Exact, a_row, group))
            }
            None if columns => (self.geometry_over_parts(nsimd, (MANY, osites), PartsShape::default()), 0),
            None => (LaunchGeometry::over_sites(nsimd, osites, self.threads), 0),
        };
        Ok((variant, kernel.name, geometry, local))
    }
}

/// What ROCm's OpenCL tells of a GPU with this architecture, as far as kernels depend on it.
fn amd(architecture: &str) -> DeviceInfo {
    let compute_units = match architecture {
        "gfx906" => 60,
        "gfx908" => 120,
        "gfx90a" => 110,
        "gfx942" => 304,
        _ => 96,
    };
    DeviceInfo {
        index: 0,
        platform_index: 0,
        device_index: 0,
        platform_name: "AMD Accelerated Parallel Processing".into(),
        platform_version: "OpenCL 2.1 AMD-APP".into(),
        name: architecture.into(),
        vendor: "Advanced Micro Devices, Inc.".into(),
        architecture: architecture.into(),
        driver_version: "offline".into(),
        device_version: "OpenCL 2.0".into(),
        opencl_c_version: "OpenCL C 2.0".into(),
        kind: DeviceKind::Gpu,
        compute_units,
        max_clock_mhz: 1700,
        global_memory_bytes: 64 << 30,
        max_allocation_bytes: 54 << 30,
        local_memory_bytes: 64 << 10,
        global_cache_bytes: 16 << 10,
        // ROCm's OpenCL takes groups of 256 unless a kernel declares a larger one.
        max_work_group_size: 256,
        preferred_work_group_multiple: Some(64),
        max_work_item_sizes: [1024; 3],
        fp64: true,
        fp32_correctly_rounded_divide_sqrt: true,
        fp32_denormals: true,
        fp64_denormals: true,
        available: true,
        compiler_available: true,
        retirement: Retirement::Unsupported {
            reason: "it is of an OpenCL before 3.0, whose atomics order nothing".to_owned(),
        },
        extensions: vec!["cl_khr_fp64".into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> OfflineDevice {
        OfflineDevice::amd("gfx90a", Extents::new([16, 16, 16, 32]).unwrap())
    }

    #[test]
    fn every_kernel_is_planned_in_every_precision_that_it_takes() {
        for &kernel in ProductKernel::all() {
            for precision in StoredPrecision::ALL.into_iter().filter(|&precision| kernel.takes(precision)) {
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
            device.threads = Some(AcceleratorThreads::new(threads).unwrap());
            let hop = device.kernel("hop".parse().unwrap(), StoredPrecision::F32, LinkFormat::Full).unwrap();
            assert_eq!(hop.group, [8, threads, 1]);
        }
        assert_eq!(device.nsimd(StoredPrecision::F64).unwrap(), 4);
    }

    #[test]
    fn sums_in_local_memory_take_twelve_words_a_work_item() {
        let kernel = "eo_clover_local".parse().unwrap();
        let planned = device().kernel(kernel, StoredPrecision::F32, LinkFormat::Full).unwrap();
        assert_eq!(planned.local_bytes, planned.group_size() * 96);
        assert!(planned.options.contains("-DACCUMULATORS_IN_LOCAL") && planned.kernel == "eo_clover");
    }
}
