//! Looks up tuning parameters: results of `lanefield tune` for this device, or else for its architecture, or else the defaults of the
//! library for its vendor, its kind, and any device. A file that is not valid is never an error: it is skipped, with a warning.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use super::access::AccessWidth;
use super::file::{Fit, KernelKey, OneOf, SUFFIX, TunedKernel, TuningFile};
use super::parameters::Tuning;
use super::site_order::SiteOrder;
use crate::backend::opencl::device::{DeviceInfo, lock};
use crate::backend::opencl::program::Cache;

/// Where tuning results are stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TuningSource {
    /// Nowhere: only the defaults of the library.
    Off,
    /// In one file.
    File(PathBuf),
    /// In a directory with a file for each device.
    Directory(PathBuf),
}

impl TuningSource {
    /// The source that `LANEFIELD_TUNING` names (`off`, or a file); by default the directory of `cache`.
    pub fn from_environment(cache: &Cache) -> Self {
        match std::env::var_os("LANEFIELD_TUNING").filter(|value| !value.is_empty()) {
            Some(value) if value.eq_ignore_ascii_case("off") => Self::Off,
            Some(file) => Self::File(file.into()),
            None => cache.directory().map_or(Self::Off, |directory| Self::Directory(directory.to_owned())),
        }
    }

    /// The file with the results for `device`; `None` if there is none to look up.
    pub fn file(&self, device: &DeviceInfo) -> Option<PathBuf> {
        match self {
            Self::Off => None,
            Self::File(path) => Some(path.clone()),
            Self::Directory(directory) => Some(TuningFile::path(directory, device)),
        }
    }
}

/// Tuning parameters for lookup.
#[derive(Clone, Debug, Default)]
pub struct Tuned {
    /// Entries that precede the defaults of the library.
    entries: Vec<TunedKernel>,
    access: Option<AccessWidth>,
    site_order: Option<SiteOrder>,
    /// Parameters that override all others.
    fixed: Tuning,
    warnings: Vec<String>,
}

impl Tuned {
    /// Only the defaults of the library.
    pub fn shipped() -> Self {
        Self::default()
    }

    /// These parameters for every kernel. Those that are left open have the defaults of the library.
    pub fn fixed(choice: Tuning) -> Self {
        Self { fixed: choice, ..Self::default() }
    }

    /// Loads the tuning results for `device`. Files that cannot be used are skipped, with a sentence in [`Self::warnings`].
    pub fn load(source: &TuningSource, device: &DeviceInfo) -> Self {
        let mut tuned = Self::default();
        match source {
            TuningSource::Off => {}
            TuningSource::File(path) => tuned.add(path, device),
            TuningSource::Directory(directory) => {
                let own = TuningFile::path(directory, device);
                if own.exists() {
                    tuned.add(&own, device);
                }
                tuned.add_relatives(directory, &own, device);
            }
        }
        tuned
    }

    fn add(&mut self, path: &Path, device: &DeviceInfo) {
        match TuningFile::read(path, device) {
            Ok(file) => {
                (self.access, self.site_order) = file.tuned.map(|tuned| (tuned.access, tuned.site_order)).unzip();
                self.entries.extend(file.kernel);
            }
            Err(sentence) => self.warnings.push(sentence),
        }
    }

    /// Adds results for other devices of the same architecture from this version. Files that cannot be used are silently skipped here.
    fn add_relatives(&mut self, directory: &Path, own: &Path, device: &DeviceInfo) {
        if device.architecture.is_empty() {
            return;
        }
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(SUFFIX) && path != own);
        paths.sort();
        for path in paths {
            let file = crate::bounded::read_text(&path).ok().and_then(|text| TuningFile::parse(&text).ok());
            let related = |file: &TuningFile| {
                file.tuned.as_ref().is_some_and(|tuned| {
                    tuned.architecture == device.architecture && tuned.lanefield == env!("CARGO_PKG_VERSION")
                })
            };
            if let Some(file) = file.filter(related) {
                self.entries.extend(file.kernel);
            }
        }
    }

    /// Sentences about files that are not used, and how to renew them.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The access width with the shortest total time on the device, if it was tuned.
    pub fn access(&self) -> Option<AccessWidth> {
        self.access
    }

    /// The order of outer sites with the shortest total time on the device, if it was tuned.
    pub(crate) fn site_order(&self) -> Option<SiteOrder> {
        self.site_order
    }

    /// The parameters of a kernel. Each one is from the best fitting of the entries that have it.
    pub fn choice(&self, device: &DeviceInfo, key: &KernelKey) -> Tuning {
        let measured_here = shipped().iter().any(|entry| entry.measured.as_deref() == Some(device.name.as_str()));
        let entries = shipped().iter().chain(&self.entries);
        let mut fitting: Vec<(Fit, Tuning)> = entries
            .filter_map(|entry| Some((entry.holds_for.fit(device, key, measured_here)?, entry.choose)))
            .collect();
        // The sort is stable: of entries that fit equally well, the later one is better.
        fitting.sort_by_key(|&(fit, _)| fit);
        fitting.into_iter().rev().fold(self.fixed, |choice, (_, next)| choice.or(next))
    }

    /// The defaults of the library for other kernels on the same fields and links.
    pub fn of_other_kernels(device: &DeviceInfo, key: &KernelKey) -> Vec<Tuning> {
        let named = shipped().iter().filter_map(|entry| entry.holds_for.kernel.as_ref());
        let mut names: Vec<&'static str> = named.flat_map(OneOf::all).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let others = names.into_iter().filter(|name| *name != key.kernel);
        others.map(|kernel| Self::shipped().choice(device, &KernelKey { kernel, ..*key })).collect()
    }
}

/// Parameters that are looked up for a device, each once.
pub(crate) struct Choices {
    tuned: Tuned,
    looked_up: Mutex<HashMap<KernelKey, Tuning>>,
}

impl Choices {
    pub(crate) fn new(tuned: Tuned) -> Self {
        Self { tuned, looked_up: Mutex::default() }
    }

    pub(crate) fn tuned(&self) -> &Tuned {
        &self.tuned
    }

    pub(crate) fn of(&self, device: &DeviceInfo, key: &KernelKey) -> Tuning {
        *lock(&self.looked_up).entry(*key).or_insert_with(|| self.tuned.choice(device, key))
    }
}

/// The defaults of the library.
fn shipped() -> &'static [TunedKernel] {
    static SHIPPED: OnceLock<Vec<TunedKernel>> = OnceLock::new();
    // A test checks that the file is valid. A build with a broken one would use kernels without tuning.
    SHIPPED.get_or_init(|| TuningFile::parse(include_str!("defaults.toml")).map(|file| file.kernel).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use lanefield_reference::layout::AcceleratorThreads;
    use lanefield_reference::links::LinkFormat;
    use lanefield_reference::real::Precision;

    use super::super::choices::{Accumulators, Count, GridStride, LinkLoads, Stores, Traversal};
    use super::*;
    use crate::backend::opencl::device::DeviceKind;
    use crate::backend::opencl::device::testing::device;

    fn key(kernel: &'static str, precision: Precision, links: LinkFormat, parts: usize) -> KernelKey {
        KernelKey {
            kernel,
            precision,
            links,
            parts,
            lanes: 8,
            volume_class: 21,
            access: AccessWidth::Sixteen,
            site_order: SiteOrder::Lexicographic,
            slices_in_cache: true,
        }
    }

    #[test]
    fn the_defaults_of_the_crate_are_sound() {
        let file = TuningFile::parse(include_str!("defaults.toml")).unwrap();
        assert!(file.kernel.len() > 5 && file.tuned.is_none());
        assert_eq!(TuningFile::parse(&file.text().unwrap()).unwrap(), file);
    }

    #[test]
    fn a_gpu_takes_what_was_fastest() {
        use Precision::{F32, Half};
        let gpu = DeviceInfo { vendor: "NVIDIA Corporation".into(), ..device("NVIDIA H200") };
        let choice = |key: KernelKey| Tuned::shipped().choice(&gpu, &key);
        let one = choice(key("hop", F32, LinkFormat::Full, 1));
        assert_eq!((one.link_loads, one.stores), (Some(LinkLoads::PastL1), Some(Stores::Streaming)));
        assert_eq!((one.grid_stride, one.traversal), (Some(GridStride::On(None)), Some(Traversal::Memory)));
        assert_eq!(
            (one.accelerator_threads.map(|n| n.get()), one.accumulators),
            (Some(8), Some(Accumulators::Registers))
        );
        assert_eq!(choice(key("hop", Half, LinkFormat::Full, 1)).grid_stride, Some(GridStride::Off));
        assert_eq!(choice(key("hop", F32, LinkFormat::TwoRows, 1)).grid_stride, Some(GridStride::Off));
        let fused = |kernel, links, volume_class| {
            let chosen = choice(KernelKey { volume_class, lanes: 16, ..key(kernel, F32, links, 1) });
            (chosen.max_registers, chosen.traversal, chosen.accelerator_threads.map(|n| n.get()))
        };
        let rows = |t| Some(Traversal::Blocks([usize::MAX, 2, 2, t]));
        for kernel in ["eo_wilson", "oe_wilson", "eo_twisted_mass", "oe_clover"] {
            assert_eq!(fused(kernel, LinkFormat::Full, 20), (Some(128), rows(4), Some(16)), "{kernel}");
            assert_eq!(fused(kernel, LinkFormat::Full, 21), (Some(128), rows(2), Some(8)), "{kernel}");
            assert_eq!(
                fused(kernel, LinkFormat::TwoRows, 22),
                (Some(128), Some(Traversal::Memory), Some(8)),
                "{kernel}"
            );
            assert_eq!(fused(kernel, LinkFormat::Eight, 21).1, Some(Traversal::Memory), "{kernel}");
        }
        assert_eq!(fused("eo_wilson", LinkFormat::Eight, 17), (Some(128), rows(4), Some(16)));
        assert_eq!(choice(key("oe_twisted_mass", Half, LinkFormat::TwoRows, 1)).max_registers, Some(128));
        let many = choice(key("hop_many", F32, LinkFormat::TwoRows, 16));
        assert_eq!(
            (many.grid_stride, many.rhs_per_group, many.work_items, many.link_loads),
            (Some(GridStride::Slice), Count::new(4), Count::new(256), Some(LinkLoads::Ahead))
        );
        assert_eq!(
            (many.rhs_per_work_item, choice(key("hop_many", F32, LinkFormat::Full, 16)).rhs_per_work_item),
            (Count::new(1), Count::new(1))
        );
        let eight = choice(key("hop_many", F32, LinkFormat::Eight, 16));
        assert_eq!((eight.rhs_per_work_item, eight.work_items), (Count::new(1), Count::new(256)));
        // An H100 has as large a cache, and slower memory.
        let h100 = DeviceInfo { vendor: "NVIDIA Corporation".into(), ..device("NVIDIA H100 80GB HBM3") };
        let there = Tuned::shipped().choice(&h100, &key("hop_many", F32, LinkFormat::TwoRows, 16));
        assert_eq!((there.grid_stride, there.link_loads), (Some(GridStride::Slice), Some(LinkLoads::Cached)));
        let few = choice(KernelKey { volume_class: 17, ..key("hop_many", F32, LinkFormat::TwoRows, 16) });
        assert_eq!(
            (few.grid_stride, few.rhs_per_work_item, few.link_loads),
            (Some(GridStride::On(None)), Count::new(4), Some(LinkLoads::PastL1))
        );
        let large =
            |precision| KernelKey { slices_in_cache: false, ..key("hop_many", precision, LinkFormat::TwoRows, 12) };
        let of_many = choice(large(F32));
        assert_eq!((of_many.grid_stride, of_many.link_loads), (Some(GridStride::Slice), Some(LinkLoads::Cached)));
        assert_eq!(of_many.traversal, Some(Traversal::Blocks([usize::MAX, 2, 2, 1])));
        let large = choice(large(Half));
        assert_eq!(large.traversal, Some(Traversal::Blocks([usize::MAX, 8, 8, usize::MAX])));
        assert_eq!(
            (large.grid_stride, large.rhs_per_work_item, large.work_items),
            (Some(GridStride::Off), Count::new(2), Count::new(128))
        );
        assert_eq!(choice(key("oe_clover_many", F32, LinkFormat::TwoRows, 12)).rhs_per_work_item, Count::new(2));
        let small = KernelKey { volume_class: 17, lanes: 16, ..key("hop", F32, LinkFormat::Full, 1) };
        assert_eq!(
            (choice(small).accelerator_threads, choice(small).link_loads, choice(small).stores),
            (AcceleratorThreads::new(32).ok(), Some(LinkLoads::Kept), Some(Stores::Cached))
        );
        let narrow = KernelKey { lanes: 8, ..small };
        assert_eq!(choice(narrow).accelerator_threads, AcceleratorThreads::new(8).ok());
        let laplace = choice(key("laplace_hop", F32, LinkFormat::TwoRows, 12));
        assert_eq!(
            (laplace.rhs_per_work_item, laplace.stores, laplace.rhs_per_group),
            (Count::new(3), Some(Stores::Cached), Count::new(4))
        );
    }

    #[test]
    fn defaults_of_other_kernels_are_those_of_each_but_the_kernel_itself() {
        let gpu = DeviceInfo { vendor: "NVIDIA Corporation".into(), ..device("NVIDIA H200") };
        let of = |kernel| key(kernel, Precision::F32, LinkFormat::Full, 1);
        let others = Tuned::of_other_kernels(&gpu, &of("a kernel of one's own"));
        assert!(others.contains(&Tuned::shipped().choice(&gpu, &of("hop"))));
        assert_eq!(Tuned::of_other_kernels(&gpu, &of("hop")).len() + 1, others.len());
    }

    #[test]
    fn a_cpu_takes_plain_kernels_whatever_the_kernel() {
        let cpu = DeviceInfo { kind: DeviceKind::Cpu, vendor: "AuthenticAMD".into(), ..device("pthread") };
        for parts in [1, 12] {
            let choice = Tuned::shipped().choice(&cpu, &key("hop", Precision::F32, LinkFormat::Full, parts));
            assert_eq!((choice.link_loads, choice.stores), (Some(LinkLoads::Cached), Some(Stores::Cached)));
            assert_eq!((choice.grid_stride, choice.traversal), (Some(GridStride::Off), Some(Traversal::Memory)));
            assert_eq!(
                (choice.rhs_per_work_item, choice.rhs_per_group, choice.work_items),
                (Count::new(1), None, None)
            );
        }
    }

    #[test]
    fn the_vendor_comes_before_the_kind_and_any_device() {
        let amd = DeviceInfo { vendor: "Advanced Micro Devices, Inc.".into(), ..device("gfx90a") };
        let key = key("hop_many", Precision::F32, LinkFormat::TwoRows, 16);
        let choice = Tuned::shipped().choice(&amd, &key);
        assert_eq!((choice.rhs_per_work_item, choice.grid_stride), (Count::new(2), Some(GridStride::Off)));
        assert_eq!(choice.link_loads, Some(LinkLoads::PastL1), "what the vendor leaves open is that of any device");
    }
}
