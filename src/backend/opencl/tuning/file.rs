//! The key of a kernel for the tuner, and files with tuning parameters. The files are TOML, which people can read: each entry has its
//! conditions and the chosen values. The defaults of the library and the results of `lanefield tune` have the same format.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use lanefield_reference::prelude::*;

use super::access::AccessWidth;
use super::parameters::Tuning;
use super::site_order::{Layout, SiteOrder};
use crate::backend::opencl::device::{DeviceInfo, DeviceKind};
use crate::backend::specification::Shape;

/// The beginning of files that `lanefield tune` writes.
const FIRST_WORDS: &str = "# Written by `lanefield tune`";
/// The end of the names of files that `lanefield tune` writes.
pub(crate) const SUFFIX: &str = ".tuning.toml";

/// The minimum cache size that is assumed for a GPU, because some drivers report a wrong size (an H200 reports 4 MiB, and has 50).
const GPU_CACHE_BYTES: u64 = 48 << 20;

/// The properties of a call that tuning parameters depend on, in addition to the device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KernelKey {
    /// The kernel.
    pub kernel: &'static str,
    /// The precision of its fields.
    pub precision: Precision,
    /// The storage of links.
    pub links: LinkFormat,
    /// The number of spinors or colour vectors at each site.
    pub parts: usize,
    /// The number of lanes.
    pub lanes: usize,
    /// The base-2 logarithm of the lattice's volume, rounded down.
    pub volume_class: u32,
    /// The access width of the layout of its fields.
    pub access: AccessWidth,
    /// The order of outer sites in memory.
    pub site_order: SiteOrder,
    /// Whether three time slices of the source fit the device's cache. Neighbours in time are read three times.
    pub slices_in_cache: bool,
}

impl fmt::Display for KernelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, precision, links, parts, .. } = self;
        write!(f, "{kernel} {precision} reconstruct {links}")?;
        if *parts > 1 { write!(f, " x{parts}") } else { Ok(()) }
    }
}

impl KernelKey {
    /// The key of a call on fields with this layout; `None` if its kernel is not tuned.
    pub fn of(shape: &Shape, layout: Layout, device: &DeviceInfo) -> Option<Self> {
        let (lattice, precision, parts) = (shape.lattice(), shape.precision(), shape.parts());
        Some(Self {
            kernel: shape.kernel.tuned_as?,
            precision,
            links: shape.links().map(|links| links.format).unwrap_or_default(),
            parts,
            lanes: lattice.nsimd(),
            volume_class: lattice.extents().volume().ilog2(),
            access: layout.access,
            site_order: layout.site_order.as_tuned(),
            slices_in_cache: slices_in_cache(device, (lattice, shape.sites()), parts, precision),
        })
    }
}

/// Whether three time slices with `parts` spinors at each site fit half of the device's cache; links and results use the cache, too.
pub(crate) fn slices_in_cache(
    device: &DeviceInfo,
    (lattice, sites): (&Lattice, Sites),
    parts: usize,
    precision: Precision,
) -> bool {
    let [.., slices] = lattice.outer_extents(sites);
    let slice = lattice.osites(sites) / slices * lattice.nsimd() * precision.device_bytes(Spinors::WORDS);
    2 * 3 * parts * slice <= device.global_cache_bytes.max(GPU_CACHE_BYTES) as usize
}

/// A file with tuning parameters.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TuningFile {
    /// The device that was tuned, and its software. The defaults of the library have none.
    pub tuned: Option<TunedOn>,
    /// The entries.
    #[serde(default)]
    pub kernel: Vec<TunedKernel>,
}

/// Where the results in a file were measured. They are valid only for this device, driver and version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TunedOn {
    /// Version of the library.
    pub lanefield: String,
    /// Name of the device.
    pub device: String,
    /// Its vendor.
    pub vendor: String,
    /// Its architecture, if the driver reports it.
    pub architecture: String,
    /// The name of its platform.
    pub platform: String,
    /// Version of the driver.
    pub driver: String,
    /// The access width with the shortest total time.
    pub access: AccessWidth,
    /// The order of outer sites with the shortest total time.
    #[serde(default)]
    pub site_order: SiteOrder,
}

impl TunedOn {
    /// The current state of a device.
    pub fn now(device: &DeviceInfo, access: AccessWidth, site_order: SiteOrder) -> Self {
        Self {
            lanefield: env!("CARGO_PKG_VERSION").to_owned(),
            device: device.name.clone(),
            vendor: device.vendor.clone(),
            architecture: device.architecture.clone(),
            platform: device.platform_name.clone(),
            driver: device.driver_version.clone(),
            access,
            site_order,
        }
    }

    /// Why the results are no longer valid for `device`, as the end of a sentence.
    fn stale(&self, device: &DeviceInfo) -> Option<String> {
        let now = Self::now(device, self.access, self.site_order);
        let changes = [
            ("lanefield", &self.lanefield, &now.lanefield),
            ("the device", &self.device, &now.device),
            ("the driver", &self.driver, &now.driver),
        ];
        let (what, then, now) = changes.into_iter().find(|(_, then, now)| then != now)?;
        Some(format!("{what} was {then} and is {now}"))
    }
}

/// An entry for one or more kernels.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TunedKernel {
    /// Its conditions.
    #[serde(default, rename = "where")]
    pub holds_for: Where,
    /// The chosen tuning parameters.
    pub choose: Tuning,
    /// The device on which it was measured; `None` if it was inferred.
    pub measured: Option<String>,
    /// The time of a launch with the defaults, in microseconds.
    pub default_us: Option<f64>,
    /// The time of a launch with the chosen parameters, in microseconds.
    pub tuned_us: Option<f64>,
    /// The candidates, with their times and why they were not chosen, one a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

/// The conditions of an entry. A condition that is missing is always met.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Where {
    /// The name of the device.
    pub device: Option<String>,
    /// Its architecture.
    pub architecture: Option<String>,
    /// A part of its vendor's name.
    pub vendor: Option<String>,
    /// `cpu`, or `gpu` for all other devices.
    pub kind: Option<Kind>,
    /// The kernels.
    pub kernel: Option<OneOf<String>>,
    /// The precisions of the fields.
    pub precision: Option<OneOf<Precision>>,
    /// The number of reals that are stored for a link.
    pub reconstruct: Option<OneOf<usize>>,
    /// The number of spinors or colour vectors at each site.
    pub spinors: Option<usize>,
    /// Whether there are several of them.
    pub several: Option<bool>,
    /// The number of lanes.
    pub lanes: Option<usize>,
    /// The access width. If no entry has the right one, an entry with another one is used.
    pub access: Option<AccessWidth>,
    /// The order of outer sites. If no entry has the right one, an entry with another one is used.
    pub site_order: Option<SiteOrder>,
    /// The base-2 logarithm of the volume. If no entry has the right one, the nearest one is used.
    pub volume_class: Option<u32>,
    /// The largest base-2 logarithm of the volume.
    pub volume_class_at_most: Option<u32>,
    /// Whether three time slices of the source fit the device's cache.
    pub slices_in_cache: Option<bool>,
}

/// One value or several.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOf<T> {
    /// One.
    One(T),
    /// Several.
    Several(Vec<T>),
}

impl<T> OneOf<T> {
    pub(crate) fn all(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

/// Kinds of devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Cpu,
    /// All other devices.
    Gpu,
}

/// How well an entry fits. The largest is used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Fit {
    origin: Origin,
    closeness: Closeness,
    same_access: bool,
    same_order: bool,
    /// Smaller is better.
    volume_distance: std::cmp::Reverse<u32>,
    conditions: usize,
}

/// The origin of an entry, the least trusted first. Results for a lattice with a quarter of the volume, or four times the volume, may lose
/// as much as they gained there (about 10 % on an H200). Defaults that were measured on the same device are therefore better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Origin {
    Defaults,
    TunedElsewhere,
    DefaultsMeasuredHere,
    TunedHere,
}

/// The maximum difference between the volume classes of a call and of a result for the same device.
const NEAR: u32 = 1;

/// How specifically an entry names the device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Closeness {
    Any,
    Kind,
    Vendor,
    Architecture,
    Device,
}

impl Where {
    /// The exact conditions of a tuned kernel.
    pub fn exactly(device: &DeviceInfo, key: &KernelKey) -> Self {
        Self {
            device: Some(device.name.clone()),
            architecture: (!device.architecture.is_empty()).then(|| device.architecture.clone()),
            kernel: Some(OneOf::One(key.kernel.to_owned())),
            precision: Some(OneOf::One(key.precision)),
            reconstruct: Some(OneOf::One(key.links.reals())),
            spinors: Some(key.parts),
            lanes: Some(key.lanes),
            access: Some(key.access),
            site_order: Some(key.site_order),
            volume_class: Some(key.volume_class),
            slices_in_cache: Some(key.slices_in_cache),
            ..Self::default()
        }
    }

    /// How well it fits a kernel on a device; `None` if it does not. `measured_here`: whether the defaults of the library were measured on
    /// this device.
    pub(crate) fn fit(&self, device: &DeviceInfo, key: &KernelKey, measured_here: bool) -> Option<Fit> {
        fn holds<T: PartialEq>(condition: &Option<T>, value: T) -> bool {
            condition.as_ref().is_none_or(|condition| *condition == value)
        }
        fn has<T: PartialEq<U>, U: ?Sized>(condition: &Option<OneOf<T>>, value: &U) -> bool {
            condition.as_ref().is_none_or(|condition| condition.all().iter().any(|one| one == value))
        }
        let kind = if device.kind == DeviceKind::Cpu { Kind::Cpu } else { Kind::Gpu };
        let of_kernel = has(&self.kernel, key.kernel)
            && has(&self.precision, &key.precision)
            && has(&self.reconstruct, &key.links.reals())
            && holds(&self.spinors, key.parts)
            && holds(&self.several, key.parts > 1)
            && holds(&self.lanes, key.lanes)
            && self.volume_class_at_most.is_none_or(|most| key.volume_class <= most)
            && holds(&self.slices_in_cache, key.slices_in_cache);
        let vendor = self.vendor.as_ref().is_none_or(|vendor| device.vendor.contains(vendor));
        if !of_kernel || !vendor || !holds(&self.kind, kind) {
            return None;
        }
        // An entry of another device is valid for devices of the same architecture.
        let same_architecture = self.architecture.as_ref().map(|architecture| *architecture == device.architecture);
        let closeness = match (&self.device, same_architecture) {
            (Some(name), _) if *name == device.name => Closeness::Device,
            (_, Some(true)) => Closeness::Architecture,
            (Some(_), _) | (None, Some(false)) => return None,
            _ if self.vendor.is_some() => Closeness::Vendor,
            _ if self.kind.is_some() => Closeness::Kind,
            _ => Closeness::Any,
        };
        let conditions = [
            self.kernel.is_some(),
            self.precision.is_some(),
            self.reconstruct.is_some(),
            self.spinors.is_some(),
            self.several.is_some(),
            self.lanes.is_some(),
            self.slices_in_cache.is_some(),
            self.volume_class_at_most.is_some(),
        ];
        let volume_distance = self.volume_class.map_or(0, |class| class.abs_diff(key.volume_class));
        let origin = match (&self.device, closeness) {
            (None, _) if measured_here => Origin::DefaultsMeasuredHere,
            (None, _) => Origin::Defaults,
            // Tuning results name a volume, so this is a default of the library.
            (Some(_), Closeness::Device) if self.volume_class.is_none() => Origin::DefaultsMeasuredHere,
            (Some(_), Closeness::Device) if volume_distance <= NEAR => Origin::TunedHere,
            (Some(_), _) => Origin::TunedElsewhere,
        };
        Some(Fit {
            origin,
            closeness,
            same_access: holds(&self.access, key.access),
            same_order: holds(&self.site_order, key.site_order),
            volume_distance: std::cmp::Reverse(volume_distance),
            conditions: conditions.into_iter().filter(|&named| named).count(),
        })
    }
}

impl TuningFile {
    /// The path of a device's file in a directory of the program cache.
    pub(crate) fn path(directory: &Path, device: &DeviceInfo) -> PathBuf {
        let name = device.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let name: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
        let name: String = name.join("-").chars().take(60).collect();
        let digest = Sha256::digest(format!("{:?} {:?}", device.platform_name, device.name));
        directory.join(format!("{name}-{:02x}{:02x}{:02x}{SUFFIX}", digest[0], digest[1], digest[2]))
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn parse(text: &str) -> Result<Self, String> {
        crate::toml_text::from_str(text)
    }

    /// Refuses to write results for `device` to a file that the tuner did not write, or that has results for another device, which would be
    /// lost.
    ///
    /// # Errors
    /// A sentence that says what the file is.
    pub fn require_replaceable(path: &Path, device: &DeviceInfo) -> Result<(), String> {
        let is = |what: String| {
            Err(format!("{} {what}: name another file with LANEFIELD_TUNING, or --force to replace it", path.display()))
        };
        let text = match crate::bounded::read_text(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return is(format!("cannot be read ({error})")),
        };
        match Self::parse(&text).map(|file| file.tuned) {
            Ok(Some(tuned)) if tuned.device != device.name => is(format!("holds results for {}", tuned.device)),
            Ok(Some(_)) => Ok(()),
            // A damaged file of the tuner.
            _ if text.is_empty() || text.starts_with(FIRST_WORDS) => Ok(()),
            _ => is("is not a file of `lanefield tune`".to_owned()),
        }
    }

    /// The text of the file.
    ///
    /// # Errors
    /// Does not occur: every part of a file can be written as TOML.
    pub fn text(&self) -> Result<String, toml::ser::Error> {
        const EXPLAINED: &str = "docs/tuning.md explains it. Choices change no bit of any result.";
        Ok(format!("{FIRST_WORDS}; {EXPLAINED}\n\n{}", toml::to_string_pretty(self)?))
    }

    /// Reads a file with results for `device`.
    ///
    /// # Errors
    /// A sentence that says why the file is not used, and how to renew it.
    pub fn read(path: &Path, device: &DeviceInfo) -> Result<Self, String> {
        let renew = format!("renew it with `lanefield tune --device '{}'`", device.name);
        let unused = |why: String| format!("the tuning file {} is not used: {why}; {renew}", path.display());
        let text = crate::bounded::read_text(path).map_err(|error| unused(error.to_string()))?;
        let file = Self::parse(&text).map_err(|fault| unused(format!("it is damaged ({fault})")))?;
        match file.tuned.as_ref().and_then(|tuned| tuned.stale(device)) {
            Some(change) => Err(unused(change)),
            None => Ok(file),
        }
    }
}
