//! The OpenCL platforms and devices of this machine as plain data: the properties that matter for lattice kernels, and whether the device
//! can be used. The counterpart on the CPU, the reference backend, needs none of this.

use std::fmt;

use opencl3::device as cl;
use opencl3::platform::platform::{CL_PLATFORM_NAME, CL_PLATFORM_VERSION, get_platform_data};
use opencl3::types::{cl_device_id, cl_platform_id};
use serde::Serialize;

use super::drivers::DriverFact;
use super::handles::{text, unsigned};

/// The environment variable that removes features from all devices, to test on any device how the library works without them.
pub(super) const LACKS: &str = "LANEFIELD_DEVICE_LACKS";

/// Without it, the largest buffer is a quarter of the memory, the minimum that drivers guarantee. Many drivers allow more than they
/// guarantee.
pub(crate) const LARGE_BUFFERS: &str = "large-buffers";

/// A `size_t` of 64 bits. Without it, programs are built for one of 32 bits.
pub(crate) const WIDE_SIZE: &str = "wide-size";

type Loss = fn(&mut DeviceInfo);

/// The features that a device may lose, by their names in [`LACKS`], and the change to a device that loses them.
const LOSSES: [(&str, Loss); 6] = [
    ("f64", |device| {
        (device.fp64, device.fp64_denormals) = (false, false);
        device.extensions.retain(|extension| extension != "cl_khr_fp64");
    }),
    ("division", |device| device.fp32_correctly_rounded_divide_sqrt = false),
    ("large-groups", |device| device.max_work_group_size = device.max_work_group_size.min(64)),
    ("local-memory", |device| device.local_memory_bytes = device.local_memory_bytes.min(32 << 10)),
    (LARGE_BUFFERS, |device| {
        device.max_allocation_bytes = device.max_allocation_bytes.min(device.global_memory_bytes / 4);
    }),
    // This concerns sizes in its kernels (cl/short_sizes.clh).
    (WIDE_SIZE, |_| {}),
];

fn named(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|feature| !feature.is_empty())
}

/// Whether the environment removes a feature.
pub(crate) fn is_lost(feature: &str) -> bool {
    named(&std::env::var(LACKS).unwrap_or_default()).any(|lost| lost == feature)
}

/// The kind of a device's processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A processor of the host.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// An accelerator card.
    Accelerator,
    /// Anything else.
    Other,
}

lanefield_reference::named!(DeviceKind: Cpu = "CPU", Gpu = "GPU", Accelerator = "accelerator", Other = "other");

/// Whether the work-group that retires last may read, in the same launch, the results of the others; and which rule guarantees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Retirement {
    /// The memory model of OpenCL 3.0: the device reports acquire and release atomics at device scope.
    OpenCl3,
    /// NVIDIA's PTX memory model, on compute capability 7.0 and up, whatever the driver reports for OpenCL C.
    NvidiaPtx,
    /// Nothing that the device reports guarantees it.
    Unsupported {
        /// What is missing.
        reason: String,
    },
}

impl fmt::Display for Retirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenCl3 => f.write_str("may be finished by retirement count, by the memory model of OpenCL 3.0"),
            Self::NvidiaPtx => f.write_str("may be finished by retirement count, by the memory model of NVIDIA's PTX"),
            Self::Unsupported { reason } => write!(f, "are finished by a second kernel: {reason}"),
        }
    }
}

/// A device and its platform. If the driver does not report a value, a number is 0 and a text is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceInfo {
    /// Index in the list of all devices of all platforms, as in `--device INDEX`.
    pub index: usize,
    /// Index of the platform among the platforms.
    pub platform_index: usize,
    /// Index of the device on its platform.
    pub device_index: usize,
    /// Name of the platform, which identifies the driver.
    pub platform_name: String,
    /// OpenCL version of the platform, with the driver's additions.
    pub platform_version: String,
    /// Name of the device.
    pub name: String,
    /// Its vendor.
    pub vendor: String,
    /// The vendor's name for the instruction set: `sm_90`, `gfx90a`; empty if the device does not report it.
    pub architecture: String,
    /// Version of the driver.
    pub driver_version: String,
    /// For example `OpenCL 3.0 CUDA`.
    pub device_version: String,
    /// For example `OpenCL C 1.2`.
    pub opencl_c_version: String,
    /// The kind of its processor.
    pub kind: DeviceKind,
    /// Number of compute units.
    pub compute_units: u32,
    /// Highest clock rate in MHz; 0 if the driver does not report it.
    pub max_clock_mhz: u32,
    /// Global memory, in bytes.
    pub global_memory_bytes: u64,
    /// The largest single buffer that the driver guarantees; some allow more.
    pub max_allocation_bytes: u64,
    /// Maximum local memory of a work-group, in bytes.
    pub local_memory_bytes: u64,
    /// Cache of global memory, in bytes; 0 if the device does not report it.
    pub global_cache_bytes: u64,
    /// Maximum number of work-items in a work-group.
    pub max_work_group_size: usize,
    /// Work-items that run in step (a warp, a wavefront, a vector); `None` if only a built kernel can tell.
    pub preferred_work_group_multiple: Option<usize>,
    /// Maximum number of work-items of a work-group in each dimension.
    pub max_work_item_sizes: [usize; 3],
    /// Whether it computes in f64.
    pub fp64: bool,
    /// Whether the build option `-cl-fp32-correctly-rounded-divide-sqrt` is supported.
    pub fp32_correctly_rounded_divide_sqrt: bool,
    /// Whether f32 has subnormal numbers.
    pub fp32_denormals: bool,
    /// Whether f64 has subnormal numbers.
    pub fp64_denormals: bool,
    /// Whether it can be used now.
    pub available: bool,
    /// Whether its driver compiles OpenCL C.
    pub compiler_available: bool,
    /// How work-groups may finish a sum in one launch.
    pub retirement: Retirement,
    /// Extensions by name.
    pub extensions: Vec<String>,
    /// Facts about its driver.
    pub known: Vec<DriverFact>,
}

impl DeviceInfo {
    /// A fictitious GPU that can run every kernel. Callers overwrite the properties that matter to them.
    pub fn imagined(name: &str) -> Self {
        Self {
            index: 0,
            platform_index: 0,
            device_index: 0,
            platform_name: String::new(),
            platform_version: String::new(),
            name: name.to_owned(),
            vendor: String::new(),
            architecture: String::new(),
            driver_version: String::new(),
            device_version: String::new(),
            opencl_c_version: String::new(),
            kind: DeviceKind::Gpu,
            compute_units: 1,
            max_clock_mhz: 1000,
            global_memory_bytes: u64::MAX,
            max_allocation_bytes: u64::MAX,
            local_memory_bytes: 48 << 10,
            global_cache_bytes: 0,
            max_work_group_size: 1024,
            preferred_work_group_multiple: Some(32),
            max_work_item_sizes: [1024, 1024, 64],
            fp64: true,
            fp32_correctly_rounded_divide_sqrt: true,
            fp32_denormals: true,
            fp64_denormals: true,
            available: true,
            compiler_available: true,
            retirement: Retirement::OpenCl3,
            extensions: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Why the device cannot run lattice kernels; `None` if it can.
    pub fn unusable_because(&self) -> Option<&'static str> {
        if !self.available {
            Some("the driver says that the device is not available")
        } else if !self.compiler_available {
            Some("the driver has no OpenCL C compiler")
        } else if self.max_work_group_size == 0 || self.max_work_item_sizes.contains(&0) {
            Some("the driver says that a work-group has no work-items")
        } else {
            None
        }
    }

    /// Its name with those of its platform and driver, for errors that the driver may have caused.
    pub fn with_driver(&self) -> String {
        format!("{} ({}, driver {})", self.name, self.platform_name, self.driver_version)
    }

    /// How quotients and square roots in f32 are rounded correctly.
    pub fn division(&self) -> &'static str {
        match (self.fp32_correctly_rounded_divide_sqrt, self.fp64) {
            (true, _) => "rounded by the driver",
            (false, true) => "rounded by way of f64",
            (false, false) => "rounded in integers",
        }
    }

    /// Removes the features in a comma-separated list.
    ///
    /// # Errors
    /// The name of a feature that is unknown.
    pub(crate) fn lose(&mut self, list: &str) -> Result<(), String> {
        for lost in named(list) {
            let loss = LOSSES.iter().find(|(feature, _)| *feature == lost).ok_or_else(|| {
                format!("{LACKS} names '{lost}': it may name {}", LOSSES.map(|(feature, _)| feature).join(", "))
            })?;
            (loss.1)(self);
        }
        Ok(())
    }

    /// Applies the facts about its driver.
    ///
    /// # Errors
    /// A feature that is unknown.
    pub(super) fn know(&mut self, facts: &[DriverFact]) -> Result<(), String> {
        let holds = |fact: &&DriverFact| fact.holds_of(&self.platform_name, &self.name, &self.driver_version);
        let known: Vec<DriverFact> = facts.iter().filter(holds).cloned().collect();
        for fact in known {
            self.local_memory_bytes = self.local_memory_bytes.saturating_sub(fact.local_memory_kept_back);
            self.max_work_group_size = self.max_work_group_size.min(fact.most_work_items.unwrap_or(usize::MAX));
            self.lose(&fact.lacks).map_err(|reason| format!("a driver's entry says what it lacks: {reason}"))?;
            self.known.push(fact);
        }
        Ok(())
    }

    /// The size of a work-group along one dimension: `wanted`, a power of two, or as many as the device supports.
    pub fn group_of(&self, wanted: usize) -> usize {
        let most = wanted.min(self.max_work_group_size).min(self.max_work_item_sizes[0]).max(1);
        1 << most.ilog2()
    }
}

impl DeviceInfo {
    /// The compute capability, if the driver is NVIDIA's: 90 is 9.0.
    pub(crate) fn compute_capability(&self) -> Option<u32> {
        let number = self.architecture.strip_prefix("sm_").filter(|_| self.takes_nvidia_options())?;
        number.parse().ok()
    }

    /// Whether loads can say what is to stay in the last cache, as on NVIDIA's GPUs from compute capability 8.0 on.
    pub(crate) fn keeps_what_is_asked(&self) -> bool {
        self.compute_capability().is_some_and(|capability| capability >= 80)
    }

    /// Whether the compiler can limit registers (`-cl-nv-maxrregcount`) and report how many a kernel uses (`-cl-nv-verbose`).
    pub(crate) fn takes_nvidia_options(&self) -> bool {
        self.platform_name.contains("NVIDIA")
    }

    /// Whether the driver has its own cache of programs by source (PoCL), and needs no other.
    pub(crate) fn keeps_programs(&self) -> bool {
        self.known.iter().any(|fact| fact.keeps_programs)
    }

    /// Whether kernels of several queues must not be in flight at the same time (`queue/launch.rs`).
    pub(crate) fn runs_one_queue(&self) -> bool {
        self.known.iter().any(|fact| fact.one_queue)
    }

    /// Whether work-items never have vectors of all lanes ([`super::super::LaneForm`]).
    pub(crate) fn takes_one_lane(&self) -> bool {
        self.known.iter().any(|fact| fact.one_lane)
    }

    /// Options for its driver's compiler.
    pub(crate) fn driver_options(&self) -> impl Iterator<Item = &str> {
        self.known.iter().flat_map(|fact| fact.options.split_whitespace())
    }

    /// Whether the compiler can limit the number of registers of a kernel.
    pub fn limits_registers(&self) -> bool {
        self.takes_nvidia_options()
    }
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({}, {})", self.index, self.name, self.kind, self.platform_name)
    }
}

pub(crate) fn describe(index: usize, platform: (usize, cl_platform_id), device: (usize, cl_device_id)) -> DeviceInfo {
    let (platform_index, platform) = platform;
    let (device_index, id) = device;
    let query = |what| cl::get_device_data(id, what);
    let number = |what| unsigned(query(what));
    let size = |what| usize::try_from(number(what)).unwrap_or(usize::MAX);
    let count = |what| u32::try_from(number(what)).unwrap_or(u32::MAX);
    let kind = kind(number(cl::CL_DEVICE_TYPE));
    let most_work_items = if kind == DeviceKind::Cpu { MOST_WORK_ITEMS_ON_CPUS } else { usize::MAX };
    let extensions: Vec<String> = text(query(cl::CL_DEVICE_EXTENSIONS)).split_whitespace().map(str::to_owned).collect();
    let single = number(cl::CL_DEVICE_SINGLE_FP_CONFIG);
    let double = number(cl::CL_DEVICE_DOUBLE_FP_CONFIG);
    DeviceInfo {
        index,
        platform_index,
        device_index,
        platform_name: text(get_platform_data(platform, CL_PLATFORM_NAME)),
        platform_version: text(get_platform_data(platform, CL_PLATFORM_VERSION)),
        name: text(query(cl::CL_DEVICE_NAME)),
        vendor: text(query(cl::CL_DEVICE_VENDOR)),
        architecture: architecture(&text(query(cl::CL_DEVICE_NAME)), &extensions, number),
        driver_version: text(query(cl::CL_DRIVER_VERSION)),
        device_version: text(query(cl::CL_DEVICE_VERSION)),
        opencl_c_version: text(query(cl::CL_DEVICE_OPENCL_C_VERSION)),
        kind,
        compute_units: count(cl::CL_DEVICE_MAX_COMPUTE_UNITS),
        max_clock_mhz: count(cl::CL_DEVICE_MAX_CLOCK_FREQUENCY),
        global_memory_bytes: number(cl::CL_DEVICE_GLOBAL_MEM_SIZE),
        max_allocation_bytes: number(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        local_memory_bytes: number(cl::CL_DEVICE_LOCAL_MEM_SIZE),
        global_cache_bytes: number(cl::CL_DEVICE_GLOBAL_MEM_CACHE_SIZE),
        max_work_group_size: size(cl::CL_DEVICE_MAX_WORK_GROUP_SIZE).min(most_work_items),
        preferred_work_group_multiple: [
            cl::CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
            cl::CL_DEVICE_WARP_SIZE_NV,
            cl::CL_DEVICE_WAVEFRONT_WIDTH_AMD,
        ]
        .into_iter()
        .map(size)
        .find(|&multiple| multiple > 0),
        max_work_item_sizes: triple(query(cl::CL_DEVICE_MAX_WORK_ITEM_SIZES)),
        fp64: double != 0 || extensions.iter().any(|name| name == "cl_khr_fp64"),
        fp32_correctly_rounded_divide_sqrt: single & cl::CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0,
        fp32_denormals: single & cl::CL_FP_DENORM != 0,
        fp64_denormals: double & cl::CL_FP_DENORM != 0,
        available: number(cl::CL_DEVICE_AVAILABLE) != 0,
        compiler_available: number(cl::CL_DEVICE_COMPILER_AVAILABLE) != 0,
        retirement: retirement(&extensions, number),
        extensions,
        known: Vec::new(),
    }
}

/// The name of PoCL's platform.
pub(crate) const POCL: &str = "Portable Computing Language";

/// The private memory of all work-items of a group is on the stack of one CPU thread. This many work-items of any kernel fit on the stacks
/// of `discovery.rs`.
const MOST_WORK_ITEMS_ON_CPUS: usize = 1024;

fn kind(bits: u64) -> DeviceKind {
    if bits & cl::CL_DEVICE_TYPE_GPU != 0 {
        DeviceKind::Gpu
    } else if bits & cl::CL_DEVICE_TYPE_CPU != 0 {
        DeviceKind::Cpu
    } else if bits & cl::CL_DEVICE_TYPE_ACCELERATOR != 0 {
        DeviceKind::Accelerator
    } else {
        DeviceKind::Other
    }
}

// cl_ext.h.
const CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV: u32 = 0x4000;
const CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV: u32 = 0x4001;

/// NVIDIA's devices report their compute capability; AMD's drivers give names such as `gfx90a:sramecc+:xnack-`.
fn architecture(name: &str, extensions: &[String], number: impl Fn(u32) -> u64) -> String {
    let nvidia = extensions.iter().any(|name| name == "cl_nv_device_attribute_query");
    match nvidia.then(|| number(CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV)) {
        Some(major) if major > 0 => format!("sm_{major}{}", number(CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV)),
        _ if name.starts_with("gfx") => name.split(':').next().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// What the device reports about its memory model.
fn retirement(extensions: &[String], number: impl Fn(u32) -> u64) -> Retirement {
    // cl.h of OpenCL 3.0.
    const CL_DEVICE_NUMERIC_VERSION: u32 = 0x105E;
    const CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES: u32 = 0x1063;
    const CL_DEVICE_ATOMIC_ORDER_ACQ_REL: u64 = 1 << 1;
    const CL_DEVICE_ATOMIC_SCOPE_DEVICE: u64 = 1 << 5;
    const OPENCL_3: u64 = 3 << 22;
    const VOLTA: u64 = 7;

    let atomics = CL_DEVICE_ATOMIC_ORDER_ACQ_REL | CL_DEVICE_ATOMIC_SCOPE_DEVICE;
    let is_3 = number(CL_DEVICE_NUMERIC_VERSION) >= OPENCL_3;
    let nvidia = extensions.iter().any(|name| name == "cl_nv_device_attribute_query");
    if is_3 && number(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES) & atomics == atomics {
        Retirement::OpenCl3
    } else if nvidia && number(CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV) >= VOLTA {
        Retirement::NvidiaPtx
    } else if !is_3 {
        Retirement::Unsupported { reason: "it is of an OpenCL before 3.0, whose atomics order nothing".to_owned() }
    } else {
        let reason = "it reports no atomics that acquire and release at the scope of the device".to_owned();
        Retirement::Unsupported { reason }
    }
}

/// The first three `size_t` of a query's answer; 1 for missing ones.
fn triple(answer: Result<Vec<u8>, i32>) -> [usize; 3] {
    let bytes = answer.unwrap_or_default();
    let mut sizes = [1; 3];
    for (size, chunk) in sizes.iter_mut().zip(bytes.chunks_exact(size_of::<usize>())) {
        *size = usize::try_from(unsigned(Ok(chunk.to_vec()))).unwrap_or(usize::MAX);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_is_a_compute_capability_or_a_gfx_number() {
        let nvidia = ["cl_nv_device_attribute_query".to_owned()];
        let capability = |what| u64::from(if what == CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV { 9u32 } else { 0 });
        assert_eq!(architecture("NVIDIA H200", &nvidia, capability), "sm_90");
        assert_eq!(architecture("gfx90a:sramecc+:xnack-", &[], capability), "gfx90a");
        assert_eq!(architecture("pthread-skylake", &[], capability), "");
    }

    #[test]
    fn a_device_with_two_dimensions_has_extent_one_in_the_third() {
        let bytes = [8usize, 4].iter().flat_map(|size| size.to_ne_bytes()).collect();
        assert_eq!(triple(Ok(bytes)), [8, 4, 1]);
    }
}
