//! The OpenCL platforms and devices of this machine, as plain data: what matters for a lattice kernel, and whether the device
//! can be used at all. Counterpart on the CPU: the reference backend, which needs none of this.

use std::fmt;

use opencl3::device as cl;
use opencl3::platform::platform::{CL_PLATFORM_NAME, CL_PLATFORM_VERSION, get_platform_data};
use opencl3::types::{cl_device_id, cl_platform_id};
use serde::Serialize;

use super::drivers::DriverFact;
use super::handles::{text, unsigned};

/// The environment variable that takes features away from all devices: what happens on a device without them is then seen on any.
pub(super) const LACKS: &str = "LANEFIELD_DEVICE_LACKS";

/// The largest buffer is a quarter of the memory, as drivers promise at least. Others give more than they promise.
pub(crate) const LARGE_BUFFERS: &str = "large-buffers";

/// A `size_t` of 64 bits: programs are built for one of 32 without it.
pub(crate) const WIDE_SIZE: &str = "wide-size";

type Loss = fn(&mut DeviceInfo);

/// What a device may lose, by the names of [`LACKS`], and what is left of one that does.
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
    // Of the sizes in its kernels (cl/short_sizes.clh).
    (WIDE_SIZE, |_| {}),
];

fn named(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|feature| !feature.is_empty())
}

/// Whether the environment takes a feature away.
pub(crate) fn is_lost(feature: &str) -> bool {
    named(&std::env::var(LACKS).unwrap_or_default()).any(|lost| lost == feature)
}

/// What kind of processor a device is.
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

/// Whether the work-group that retires last may read, in the same launch, what the others wrote: what makes that sound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Retirement {
    /// By the memory model of OpenCL 3.0: the device reports atomics that acquire and release at the scope of the device.
    OpenCl3,
    /// By NVIDIA's PTX memory model, on compute capability 7.0 and up, whatever the driver reports for OpenCL C.
    NvidiaPtx,
    /// By nothing that the device reports.
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

/// One device and its platform. A number that the driver does not tell is 0, a text empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceInfo {
    /// Place in the list of all devices of all platforms, as `--device INDEX` takes it.
    pub index: usize,
    /// Place of the platform among the platforms.
    pub platform_index: usize,
    /// Place of the device on its platform.
    pub device_index: usize,
    /// Name of the platform: of the driver's family.
    pub platform_name: String,
    /// OpenCL version of the platform, with what the driver adds.
    pub platform_version: String,
    /// Name of the device.
    pub name: String,
    /// Its vendor.
    pub vendor: String,
    /// What the vendor calls the instruction set, as far as the device tells: `sm_90`, `gfx90a`; empty where it does not.
    pub architecture: String,
    /// Version of the driver.
    pub driver_version: String,
    /// `OpenCL 3.0 CUDA`, say.
    pub device_version: String,
    /// `OpenCL C 1.2`, say.
    pub opencl_c_version: String,
    /// What kind of device it is.
    pub kind: DeviceKind,
    /// Number of compute units.
    pub compute_units: u32,
    /// Highest clock, in MHz; 0 where the driver does not tell.
    pub max_clock_mhz: u32,
    /// Global memory, in bytes.
    pub global_memory_bytes: u64,
    /// The largest single buffer that the driver promises; some give more.
    pub max_allocation_bytes: u64,
    /// Local memory that a work-group can take, in bytes.
    pub local_memory_bytes: u64,
    /// Cache of global memory, in bytes; 0 where the device names none.
    pub global_cache_bytes: u64,
    /// Most work-items of a work-group.
    pub max_work_group_size: usize,
    /// Work-items that run in step (a warp, a wavefront, a vector); `None` where only a built kernel can tell.
    pub preferred_work_group_multiple: Option<usize>,
    /// Most work-items of a work-group in each dimension.
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
    /// What is known of its driver.
    pub known: Vec<DriverFact>,
}

impl DeviceInfo {
    /// A GPU that is not there and can run every kernel; what else is thought of it takes the place of what is here.
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

    /// Why the device cannot run lattice kernels, or `None` if nothing speaks against it.
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

    /// Its name with those of its platform and driver, as errors give it whose cause may be the driver.
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

    /// Takes away what a list names, separated by commas.
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

    /// Takes over what is known of its driver.
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

    /// Work-items of a group along one dimension, where `wanted` are best, which is a power of two: as many as the device takes.
    pub fn group_of(&self, wanted: usize) -> usize {
        let most = wanted.min(self.max_work_group_size).min(self.max_work_item_sizes[0]).max(1);
        1 << most.ilog2()
    }
}

impl DeviceInfo {
    /// The compute capability where the driver is NVIDIA's: 90 is 9.0.
    pub(crate) fn compute_capability(&self) -> Option<u32> {
        let number = self.architecture.strip_prefix("sm_").filter(|_| self.takes_nvidia_options())?;
        number.parse().ok()
    }

    /// Whether accesses say what is to stay in the last cache, as NVIDIA's do from compute capability 8.0 on.
    pub(crate) fn keeps_what_is_asked(&self) -> bool {
        self.compute_capability().is_some_and(|capability| capability >= 80)
    }

    /// Whether the compiler limits registers (`-cl-nv-maxrregcount`), and tells how many a kernel takes (`-cl-nv-verbose`).
    pub(crate) fn takes_nvidia_options(&self) -> bool {
        self.platform_name.contains("NVIDIA")
    }

    /// Whether the driver has a cache of programs from source (PoCL), and no need of another.
    pub(crate) fn keeps_programs(&self) -> bool {
        self.known.iter().any(|fact| fact.keeps_programs)
    }

    /// Whether kernels of several queues may not be in flight at once (`queue/launch.rs`).
    pub(crate) fn runs_one_queue(&self) -> bool {
        self.known.iter().any(|fact| fact.one_queue)
    }

    /// Whether no work-item has vectors of all lanes ([`super::super::LaneForm`]).
    pub(crate) fn takes_one_lane(&self) -> bool {
        self.known.iter().any(|fact| fact.one_lane)
    }

    /// Options for the compiler of its driver.
    pub(crate) fn driver_options(&self) -> impl Iterator<Item = &str> {
        self.known.iter().flat_map(|fact| fact.options.split_whitespace())
    }

    /// Whether the compiler can be told how many registers a kernel may take.
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

/// A thread of a CPU has the private memory of all work-items of a group on its stack: so many fit, of any kernel, on the stacks of `discovery.rs`.
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

/// NVIDIA's devices tell their compute capability; AMD's drivers name them `gfx90a:sramecc+:xnack-`, say.
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

/// The first three `size_t` of a query's answer, 1 where there are fewer.
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
