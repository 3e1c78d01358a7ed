//! Tries all hypotheses, one after the other.

use super::case::Case;
use super::guess::{Cause, Confidence};
use super::{bits, conventions, legs, moved, places, reading, rounding, spins};
use crate::Content;
use crate::compare::axes::Axes;
use crate::compare::comparison::{CompareOptions, Comparison};
use crate::compare::numbers::Numbers;

const MOST: usize = 4;

pub(in crate::compare) fn causes(
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
    // Once every number is explained, another hypothesis would fit by chance: two exchanged spins look like a leg.
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
    // A hypothesis that fits in addition does so by chance.
    if is_explained(&causes) {
        causes.retain(|cause| cause.confidence != Confidence::Possible);
    }
    causes.sort_by_key(|cause| cause.confidence);
    causes.truncate(MOST);
    causes
}
