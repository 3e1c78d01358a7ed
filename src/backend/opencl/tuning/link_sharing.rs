//! Whether the work-items of a work-group that need the same link load it once for all of them. Counterpart: `cl/shared_links.clh`.

use lanefield_reference::layout::LaunchGeometry;
use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::Precision;

use super::choices::Mapping;

/// How the hop of several spinors at each site, alone or in clover kernels, loads links. No bit of any result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LinkSharing {
    /// Each work-item loads its own links. Work-items of a group that share a site find them in the nearest cache.
    #[default]
    Each,
    /// Work-items of a group that share a site load each link once into local memory, in turn, and wait for each other at every leg.
    ///
    /// In three cases it is as [`Self::Each`]: a group has one work-item for each lane of a site; its local memory is too small for two
    /// links for each of them; or a work-item has all lanes.
    Shared,
}

lanefield_reference::named!(LinkSharing, "link sharing": Each = "each", Shared = "shared");

/// The number of legs whose links are in local memory: while links of one leg are read, those of the next are loaded next to them.
const LEGS: usize = 2;

/// The local memory for the links that a group shares, in bytes, for a launch over components. `together`: the number of contiguous stored
/// words. `None` if no two work-items share a site.
pub(crate) fn shared_bytes(
    precision: Precision,
    geometry: LaunchGeometry,
    mapping: Mapping,
    format: LinkFormat,
    together: usize,
) -> Option<usize> {
    let part_dimension = if mapping == Mapping::SiteFast { 2 } else { 1 };
    let sharing = geometry.local[part_dimension];
    let blocks = (format.reals() / 2 + together - 2) / together + 1;
    let block = together * precision.bits() / 4;
    (sharing > 1).then(|| LEGS * blocks * block * geometry.group_size() / sharing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_shares_links_where_work_items_share_sites() {
        let bytes = |local: [usize; 3], mapping| {
            let geometry = LaunchGeometry { global: local, local };
            shared_bytes(Precision::F32, geometry, mapping, LinkFormat::Full, 2)
        };
        // Nine words lie in five blocks of 16 bytes; there are 32 lanes and sites, and links of two legs.
        assert_eq!(bytes([8, 2, 4], Mapping::LaneFast), Some(2 * 5 * 16 * 32));
        assert_eq!(bytes([4, 8, 2], Mapping::SiteFast), Some(2 * 5 * 16 * 32));
        assert_eq!([bytes([8, 1, 4], Mapping::LaneFast), bytes([4, 8, 1], Mapping::SiteFast)], [None, None]);
        let geometry = LaunchGeometry { global: [1, 2, 1], local: [1, 2, 1] };
        let of = |format, together| shared_bytes(Precision::Half, geometry, Mapping::LaneFast, format, together);
        // Nine words in at most three blocks of four, six in at most three, one by one in six.
        assert_eq!(of(LinkFormat::Full, 4), Some(2 * 3 * 16));
        assert_eq!((of(LinkFormat::TwoRows, 4), of(LinkFormat::TwoRows, 1)), (Some(2 * 3 * 16), Some(2 * 6 * 4)));
    }
}
