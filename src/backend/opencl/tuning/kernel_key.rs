//! What names a kernel to the tuner.

use std::fmt;

use lanefield_reference::prelude::*;

use super::access::AccessWidth;
use super::layout::Layout;
use super::site_order::SiteOrder;
use crate::backend::opencl::device::DeviceInfo;
use crate::backend::specification::Shape;

/// Cache of a GPU at least: some drivers tell another one's size (an H200 says 4 MiB, and has 50).
const GPU_CACHE_BYTES: u64 = 48 << 20;

/// What choices depend on, beside the device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KernelKey {
    /// The kernel.
    pub kernel: &'static str,
    /// How its fields are stored.
    pub precision: Precision,
    /// How links are stored.
    pub links: LinkFormat,
    /// Spinors, or colour vectors, a site.
    pub parts: usize,
    /// Lanes.
    pub lanes: usize,
    /// The power of two of the lattice's volume, rounded down.
    pub volume_class: u32,
    /// What fields are laid out for.
    pub access: AccessWidth,
    /// The order of outer sites in memory.
    pub site_order: SiteOrder,
    /// Whether what three time slices have of the source fits the device's cache: neighbours in time are read three times.
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
    /// What names a call on fields of this layout to the tuner; `None` if nothing is tuned of its kernel.
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

/// Whether three time slices of `parts` spinors a site fit half of the device's cache: links and results pass through it, too.
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
