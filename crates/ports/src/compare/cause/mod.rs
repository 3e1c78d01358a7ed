//! A guess at the cause, from the pattern of what differs, and from hypotheses that are tried on the numbers: is B what A becomes where spins are
//! exchanged, sites shifted, a lane read for another, numbers rounded? Each cause has what speaks for it, in numbers. None is better than a wrong one.

mod bits;
mod conventions;
mod factor;
mod legs;
mod moved;
mod places;
mod reading;
mod rounding;
mod spins;

use serde::Serialize;

use lanefield::reference::layout::Extents;

use super::numbers::{Kind, Numbers, same, ulps_between};
use super::text::counted;
use super::{Axes, CompareOptions, Comparison};
use crate::Content;

/// How sure a cause is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// It explains every number that differs.
    Certain,
    /// It explains where they lie, or how far apart they are.
    Likely,
    /// It fits, as other causes might.
    Possible,
}

/// What may have made two arrays differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cause {
    /// A name for programs: `spins`, `boundary`, `leg`, `lane`, …
    pub kind: &'static str,
    /// How sure it is.
    pub confidence: Confidence,
    /// What it is, as a sentence.
    pub sentence: String,
    /// What speaks for it, in numbers.
    pub evidence: String,
}

impl Cause {
    pub(super) fn new(
        kind: &'static str,
        confidence: Confidence,
        sentence: impl Into<String>,
        evidence: impl Into<String>,
    ) -> Self {
        Self { kind, confidence, sentence: sentence.into(), evidence: evidence.into() }
    }
}

/// What the tests of hypotheses look at.
struct Case<'a> {
    a: &'a [f64],
    b: &'a [f64],
    axes: &'a Axes,
    /// Real numbers of a number: 2 of a complex one.
    parts: usize,
    kind: Kind,
    /// Sites with differences, ascending.
    sites: Vec<usize>,
    comparison: &'a Comparison,
    options: CompareOptions,
}

impl Case<'_> {
    fn unit(&self) -> f64 {
        if self.kind == Kind::F32 { f64::from(f32::EPSILON) / 2.0 } else { f64::EPSILON / 2.0 }
    }

    fn extents(&self) -> Option<Extents> {
        self.axes.extents
    }

    /// The places of all real numbers that differ by more than is accepted, in the order of memory.
    fn differing(&self) -> impl Iterator<Item = usize> {
        let ulps = self.comparison.ulps;
        let accepted = move |a, b| ulps > 0 && ulps_between(a, b, self.kind).is_some_and(|distance| distance <= ulps);
        (0..self.a.len()).filter(move |&place| {
            let (a, b) = (self.a[place], self.b[place]);
            !same(a, b) && !accepted(a, b)
        })
    }

    fn complex(array: &[f64], k: usize) -> [f64; 2] {
        [array[2 * k], array[2 * k + 1]]
    }

    /// "1536 real numbers at 64 sites"
    fn counted(&self) -> String {
        let differing = counted(self.comparison.differing, "real number");
        match self.extents() {
            Some(_) => format!("{differing} at {}", counted(self.comparison.differing_sites, "site")),
            None => differing,
        }
    }

    /// "at the sites that differ ", where not all do.
    fn where_they_differ(&self) -> &'static str {
        match self.comparison.differing_sites < self.comparison.sites {
            true => "at the sites that differ, ",
            false => "",
        }
    }
}

/// Causes that are said at most.
const MOST: usize = 4;

/// All causes that were found, the most certain first.
pub(super) fn causes(
    a: &Numbers,
    b: &Numbers,
    axes: &Axes,
    comparison: &Comparison,
    options: CompareOptions,
) -> Vec<Cause> {
    let differing = comparison.map.differing.iter().enumerate().filter(|(_, count)| **count > 0);
    let case = Case {
        a: &a.values,
        b: &b.values,
        axes,
        parts: a.parts,
        kind: a.kind,
        sites: differing.map(|(site, _)| site).collect(),
        comparison,
        options,
    };
    let mut causes: Vec<Cause> = Vec::new();
    causes.extend(bits::causes(&case));
    // Once every number is explained, the next hypothesis would fit by chance: two spins exchanged look like a leg.
    let is_explained = |causes: &[Cause]| causes.iter().any(|cause| cause.confidence == Confidence::Certain);
    for family in [reading::causes, spins::causes, moved::causes, legs::causes] {
        if case.parts == 2 && !is_explained(&causes) {
            causes.extend(family(&case));
        }
    }
    // Signs of half of the numbers may be a γ matrix, and those of half of the sites staggered phases.
    if matches!(&causes[..], [sign] if sign.kind == "unit") && comparison.differing < comparison.numbers {
        let found: Vec<Cause> = conventions::causes(&case);
        if matches!(&found[..], [cause] if ["gamma", "phase"].contains(&cause.kind)) {
            causes = found;
        }
    }
    for family in [conventions::of_lists, conventions::causes] {
        if !is_explained(&causes) && (case.parts == 2 || axes.content == Content::List) {
            causes.extend(family(&case));
        }
    }
    causes.extend(places::causes(&case));
    if !is_explained(&causes) {
        causes.extend(rounding::causes(&case));
    }
    // What fits beside it by chance is none.
    if is_explained(&causes) {
        causes.retain(|cause| cause.confidence != Confidence::Possible);
    }
    causes.sort_by_key(|cause| cause.confidence);
    causes.truncate(MOST);
    causes
}
