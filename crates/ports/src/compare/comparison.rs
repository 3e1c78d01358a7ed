//! What a comparison found.

use serde::Serialize;

use super::cause::{Cause, Confidence};
use super::explain::HopFindings;
use super::histogram::{Histogram, SiteMap};
use crate::Content;
use crate::order::Convention;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompareOptions {
    /// Numbers so many units in the last place apart, or fewer, are accepted; 0 asks for the same bits.
    pub ulps: u64,
    /// Leaves out the search for causes, which reads the arrays several times.
    pub without_causes: bool,
    /// What the arrays hold; else their shape and their numbers tell.
    pub holds: Option<Content>,
    /// What the first array was before it was converted to our order and basis: where that was wrong, a cause says so.
    pub a: Convention,
    pub b: Convention,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Side {
    A,
    B,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AxisIndex {
    /// "s", "spin", "colour", "direction", …
    pub axis: &'static str,
    /// From 0; directions are x, y, z, t, legs +x, +y, +z, +t, −x, −y, −z, −t.
    pub index: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// The site x, y, z, t; `None` for lists of numbers.
    pub site: Option<[usize; 4]>,
    /// Where it is at the site: s, spin, colour, or other axes.
    pub at: Vec<AxisIndex>,
    /// `re` or `im`; `None` of real numbers.
    pub part: Option<&'static str>,
    /// In the first array. As JSON null where it is infinite or NaN.
    pub a: f64,
    /// Its bits: 16 hexadecimal digits, of f32 behind zeros.
    pub a_bits: String,
    pub b: f64,
    pub b_bits: String,
    /// Distance in units in the last place; `None` where one is NaN, and of whole numbers.
    pub ulp: Option<u64>,
    pub absolute: f64,
    /// |a − b| / max(|a|, |b|).
    pub relative: f64,
    #[serde(skip)]
    pub(super) is_whole: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Extents of both, the slowest axis first.
    pub shape: Vec<usize>,
    /// What a site holds, in words.
    pub object: &'static str,
    pub holds: Content,
    pub lattice: Option<[usize; 4]>,
    /// Sites of the fifth dimension; `None` where there is none.
    pub ls: Option<usize>,
    /// `f32`, `f64` or `whole`: as what they were compared.
    pub precision: &'static str,
    /// The array that was rounded from f64 to f32 before, because the other is in f32.
    pub rounded: Option<Side>,
    pub ulps: u64,
    /// Real numbers of each array.
    pub numbers: u64,
    /// Those that differ, by more than [`Self::ulps`].
    pub differing: u64,
    pub accepted: u64,
    pub sites: u64,
    /// Those with a number that differs by more than [`Self::ulps`].
    pub differing_sites: u64,
    /// The first number that differs, in site order: x fastest, then y, z, t; of a site s, then its axes, re before im.
    pub first: Option<Difference>,
    pub largest_ulp: Option<Difference>,
    pub largest_absolute: Option<Difference>,
    /// The largest |a − b| / max(|a|, |b|).
    pub largest_relative: Option<Difference>,
    /// |A − B| / |A|, as vectors, over finite numbers; 0 where A is.
    pub relative_norm: f64,
    pub histograms: Vec<Histogram>,
    /// What to know of how the arrays were read.
    pub notes: Vec<String>,
    pub causes: Vec<Cause>,
    /// Whether they are the hop that B should be, where that is known.
    pub hop: Option<HopFindings>,
    #[serde(skip)]
    pub map: SiteMap,
}

impl Comparison {
    /// Whether all numbers are the same, or within the accepted distance.
    pub fn is_same(&self) -> bool {
        self.differing == 0
    }

    /// Adds what is known of the hop that B should be; its causes come first.
    pub fn add_hop(&mut self, mut findings: HopFindings) {
        if !self.is_same() {
            self.causes.splice(0..0, findings.causes.iter().cloned());
        } else {
            findings.causes.clear();
        }
        if self.causes.iter().any(|cause| cause.confidence == Confidence::Certain) {
            self.causes.retain(|cause| cause.confidence != Confidence::Possible);
        }
        self.hop = Some(findings);
    }
}
