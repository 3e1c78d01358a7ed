//! Where the numbers that differ are.

use serde::Serialize;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Bin {
    /// The place: an index, a parity, a boundary, a range of ulps.
    pub at: String,
    pub differing: u64,
    /// Real numbers there; for ulps, all that differ.
    pub of: u64,
}

/// The numbers that differ, by one of their coordinates.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Histogram {
    /// `spin`, `colour`, `direction`, … of the site; `part`; `s`; `parity`; `x`, `y`, `z`, `t`; `boundary`; `ulp`.
    pub by: &'static str,
    pub bins: Vec<Bin>,
}

impl Histogram {
    /// Whether all places have the same share of numbers that differ, to a tenth: then the histogram shows nothing.
    pub(crate) fn is_flat(&self) -> bool {
        let shares = self.bins.iter().filter(|bin| bin.of > 0).map(|bin| bin.differing as f64 / bin.of as f64);
        let (least, most) = shares.fold((f64::INFINITY, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
        self.bins.len() < 2 || most - least <= 0.1 * most
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct SiteMap {
    /// Real numbers per site, for all s.
    pub a_site: u64,
    pub differing: Vec<u32>,
    /// The largest |a − b| at the site, divided by the root mean square of A's real numbers; infinite if one of the two is not finite.
    pub relative: Vec<f64>,
}
