//! Differences of the size of rounding: contracted or uncontracted products, sums in another order.

use super::case::Case;
use super::guess::{Cause, Confidence};
use crate::compare::histogram::Histogram;
use crate::compare::numbers::Kind;
use crate::compare::wording::percent;
use crate::order::GammaBasis;

/// The largest difference for operators with few terms, in roundings of a site's largest number.
const MOST: f64 = 64.0;
/// The least difference at half of the sites, in half ulps of f32, for a step in single precision.
const LEAST: f64 = 0.1;
/// The largest relative norm of a difference that is attributed to a solver's tolerance.
const TOLERANCE: f64 = 1e-3;
/// The largest difference that it leaves at half of the sites, relative to the numbers there: more is another field.
const OF_SITE: f64 = 0.05;

pub(super) fn causes(case: &Case<'_>) -> Vec<Cause> {
    let Some(shares) = shares(case) else { return Vec::new() };
    let (Some(&largest), Some(&middle)) = (shares.last(), shares.get(shares.len() / 2)) else { return Vec::new() };
    let roundings = largest / case.unit();
    let comparison = case.comparison;
    let share = percent(comparison.differing, comparison.numbers);
    if roundings <= MOST {
        let ulp = comparison.largest_ulp.as_ref().and_then(|difference| difference.ulp);
        let far = match ulp {
            Some(ulp @ 0..=2) => format!("by {ulp} ulp at most"),
            _ => "by roundings, more than 2 ulp only where terms cancel".to_owned(),
        };
        let evidence = format!(
            "no |A-B| above {roundings:.1} halves of an ulp of its site's largest number; {share} of the numbers differ"
        );
        if let Some(basis) = rounded_basis(case) {
            let sentence = format!(
                "all differ {far}: the conversion from the basis {basis} rounds each number, and differences of this size come from it"
            );
            return vec![Cause::new("conversion", Confidence::Likely, sentence, evidence)];
        }
        // How many numbers contraction changes depends on the number of operations of each.
        let sentence = format!(
            "all differ {far}: contracted or uncontracted products (a compiler that makes fma, or does not), or a sum in another order (of legs, of columns)"
        );
        return vec![Cause::new("rounding", Confidence::Likely, sentence, evidence)];
    }
    let half_ulp = f64::from(f32::EPSILON) / 2.0;
    // Rounding has the same size everywhere; the error of a solver does not, and may have any size.
    if case.kind == Kind::F64 && middle >= LEAST * half_ulp && largest <= MOST * half_ulp {
        let sentence = "they differ by roundings of f32, though both are f64: something on the way was in single precision (a constant, a literal, a link), or a solver stopped at such a residual";
        let evidence = format!(
            "no |A-B| above {largest:.1e} of its site's largest number, {middle:.1e} at half of the sites; half an ulp of f32 is 6.0e-8"
        );
        return vec![Cause::new("single_steps", Confidence::Likely, sentence, evidence)];
    }
    let norm = comparison.relative_norm;
    // Nearly all numbers differ, and nearly all of them by much more than rounding.
    let far: u64 = comparison.histograms.iter().filter(|histogram| histogram.by == "ulp").map(above_roundings).sum();
    if norm <= TOLERANCE && middle <= OF_SITE && 10 * far >= 9 * comparison.numbers {
        let sentence = format!(
            "all differ by about {norm:.0e} of the norm, not by roundings: two solutions, of which one has a tolerance near that, or a parameter that has few digits: their residuals tell which"
        );
        let evidence = format!(
            "|A-B| is {largest:.1e} of its site's largest number at most, {middle:.1e} at half of the sites; {share} of the numbers differ"
        );
        return vec![Cause::new("tolerance", Confidence::Likely, sentence, evidence)];
    }
    Vec::new()
}

/// A basis from which one of the arrays was converted with rounding.
fn rounded_basis(case: &Case<'_>) -> Option<GammaBasis> {
    [case.options.b.gamma, case.options.a.gamma].into_iter().find(|basis| !basis.to_ours().is_exact())
}

/// The number of numbers that differ by more than a few roundings.
fn above_roundings(histogram: &Histogram) -> u64 {
    let few = ["1", "2", "3-4", "5-8", "9-16"];
    histogram.bins.iter().filter(|bin| !few.contains(&bin.at.as_str())).map(|bin| bin.differing).sum()
}

/// The largest |a − b| of each site that differs, divided by the largest number of that site, in ascending order; `None` if numbers are not finite.
fn shares(case: &Case<'_>) -> Option<Vec<f64>> {
    let mut shares = Vec::new();
    let words = case.axes.words() * case.parts;
    for &site in &case.sites {
        for s in 0..case.axes.ls {
            let start = case.axes.number(site, s, 0) * case.parts;
            let (a, b) = (&case.a[start..start + words], &case.b[start..start + words]);
            let far = a.iter().zip(b).fold(0.0f64, |far, (a, b)| if a == b { far } else { far.max((a - b).abs()) });
            let size = a.iter().chain(b).fold(0.0f64, |size, x| size.max(x.abs()));
            if !size.is_finite() || a.iter().zip(b).any(|(a, b)| a.is_nan() != b.is_nan()) {
                return None;
            }
            if far > 0.0 {
                shares.push(far / size);
            }
        }
    }
    shares.sort_by(f64::total_cmp);
    Some(shares)
}
