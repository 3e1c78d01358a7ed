//! One number times the other array: another normalisation, or a constant that is a little wrong.

use super::{Case, Cause, Confidence};

/// Roundings by which each number may miss the product.
const ROUNDINGS: f64 = 4.0;
/// A factor nearer to 1 than so many roundings is none: numbers that differ by their roundings have one, too.
const LEAST: f64 = 32.0;

/// B = c·A with one number c, where they differ. Minus signs and powers of i are found by [`super::spins`], with all their bits.
pub(super) fn cause(case: &Case<'_>) -> Option<Cause> {
    // Where few numbers differ, a factor is soon found.
    if case.comparison.differing < 16 {
        return None;
    }
    let c = ratio(case)?;
    if !c.is_finite() || c == 0.0 || c == -1.0 || (c - 1.0).abs() < LEAST * case.unit() {
        return None;
    }
    let tolerance = ROUNDINGS * case.unit();
    let fits = |place: usize| {
        let (expected, b) = (c * case.a[place], case.b[place]);
        (b - expected).abs() <= tolerance * expected.abs() + f64::MIN_POSITIVE
    };
    if !case.differing().all(fits) {
        return None;
    }
    let off = (c - 1.0).abs();
    let (shown, what) = match off {
        off if off < 1e-6 => {
            let sign = if c > 1.0 { '+' } else { '−' };
            (format!("1 {sign} {off:.1e}"), "a constant that was rounded, to single precision or to a few digits")
        }
        off if off < 1e-2 => (c.to_string(), "a constant that is a little wrong"),
        _ => (c.to_string(), "another normalisation"),
    };
    let known = match c {
        2.0 | 0.5 | -2.0 | -0.5 => " (the −1/2 of the hop, or (1 ± γ) with another norm)".to_owned(),
        c if c > 2.0 && c < 16.0 => format!(" (4 + mass with mass {:.6}? 1/(2κ) with κ {:.6}?)", c - 4.0, 0.5 / c),
        c if c > 0.0 && c < 0.5 => format!(" (2κ with κ {:.6}? 1/(4 + mass) with mass {:.6}?)", 0.5 * c, 1.0 / c - 4.0),
        _ => String::new(),
    };
    let sentence = format!("{}B is {shown} times A: {what}{known}", case.where_they_differ());
    Some(Cause::new("factor", Confidence::Certain, sentence, format!("{}, to {ROUNDINGS} roundings", case.counted())))
}

/// That of the largest number, which is nearest to its bits.
fn ratio(case: &Case<'_>) -> Option<f64> {
    let largest = case.differing().max_by(|&x, &y| case.a[x].abs().total_cmp(&case.a[y].abs()))?;
    Some(case.b[largest] / case.a[largest])
}
