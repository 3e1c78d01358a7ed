//! The result of a comparison.

use serde::Serialize;

use super::cause::{Cause, Confidence};
use super::explain::HopFindings;
use super::histogram::{Histogram, SiteMap};
use crate::Content;
use crate::order::Convention;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompareOptions {
    /// The largest accepted distance of numbers, in units in the last place; 0 requires the same bits.
    pub ulps: u64,
    /// Leaves out the search for causes, which reads the arrays several times.
    pub without_causes: bool,
    /// The content of the arrays; if `None`, it follows from their shape and numbers.
    pub holds: Option<Content>,
    /// The convention of the first array before it was converted to ours: a wrong one can be reported as a cause.
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
    /// Starting at 0; directions are x, y, z, t, and legs +x, +y, +z, +t, −x, −y, −z, −t.
    pub index: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// The site x, y, z, t; `None` for lists of numbers.
    pub site: Option<[usize; 4]>,
    /// The position within the site: s, spin, colour, or other axes.
    pub at: Vec<AxisIndex>,
    /// `re` or `im`; `None` for real numbers.
    pub part: Option<&'static str>,
    /// The value in the first array; null in JSON if it is infinite or NaN.
    pub a: f64,
    /// Its bits: 16 hexadecimal digits; those of f32 are padded with zeros.
    pub a_bits: String,
    pub b: f64,
    pub b_bits: String,
    /// Distance in units in the last place; `None` if one is NaN, and for integers.
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
    /// The object at each site, in words.
    pub object: &'static str,
    pub holds: Content,
    pub lattice: Option<[usize; 4]>,
    /// Sites of the fifth dimension; `None` if there is none.
    pub ls: Option<usize>,
    /// The type in which they were compared: `f32`, `f64` or `whole`.
    pub precision: &'static str,
    /// The array that was rounded from f64 to f32 before the comparison, because the other one is in f32.
    pub rounded: Option<Side>,
    pub ulps: u64,
    /// Real numbers per array.
    pub numbers: u64,
    /// Numbers that differ by more than [`Self::ulps`].
    pub differing: u64,
    pub accepted: u64,
    pub sites: u64,
    /// Sites with a number that differs by more than [`Self::ulps`].
    pub differing_sites: u64,
    /// The first number that differs: sites in the order x fastest, then y, z, t; within a site s, then its axes, re before im.
    pub first: Option<Difference>,
    pub largest_ulp: Option<Difference>,
    pub largest_absolute: Option<Difference>,
    /// The largest |a − b| / max(|a|, |b|).
    pub largest_relative: Option<Difference>,
    /// |A − B| / |A| as vectors, over finite numbers; 0 if A is 0.
    pub relative_norm: f64,
    pub histograms: Vec<Histogram>,
    /// Remarks on how the arrays were read.
    pub notes: Vec<String>,
    pub causes: Vec<Cause>,
    /// Whether they are the hop that B should be, if that is known.
    pub hop: Option<HopFindings>,
    #[serde(skip)]
    pub map: SiteMap,
}

impl Comparison {
    /// Whether all numbers are the same, or within the accepted distance.
    pub fn is_same(&self) -> bool {
        self.differing == 0
    }

    /// Adds the findings about the hop that B should be; its causes come first.
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
