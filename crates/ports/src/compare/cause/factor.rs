//! B is A times one number: another normalisation, or a constant that is slightly wrong.

use num_complex::Complex;

use super::case::Case;
use super::guess::{Cause, Confidence};
use crate::Content;

/// Number of roundings by which each number may differ from the product.
const ROUNDINGS: f64 = 4.0;
/// A factor closer to 1 than this number of roundings does not count: numbers that differ by rounding have one too.
const LEAST: f64 = 32.0;

/// B = c·A with one number c, at the sites that differ. Minus signs and powers of i are found by [`super::spins`], with all bits.
pub(super) fn cause(case: &Case<'_>) -> Option<Cause> {
    // With few numbers that differ, some factor is easily found.
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
    let known = if off < 1e-2 { String::new() } else { meaning(c.into(), case) };
    let sentence = format!("{}B is {shown} times A: {what}{known}", case.where_they_differ());
    Some(Cause::new("factor", Confidence::Certain, sentence, format!("{}, to {ROUNDINGS} roundings", case.counted())))
}

/// The ratio of the largest numbers, which is the most accurate.
fn ratio(case: &Case<'_>) -> Option<f64> {
    let largest = case.differing().max_by(|&x, &y| case.a[x].abs().total_cmp(&case.a[y].abs()))?;
    Some(case.b[largest] / case.a[largest])
}

/// The possible origin of a factor, in brackets; empty if none is known.
pub(super) fn meaning(c: Complex<f64>, case: &Case<'_>) -> String {
    let near = |x: f64, y: f64| (x - y).abs() <= 1e-6 * y.abs();
    if !near(c.re, c.norm().copysign(c.re)) {
        return String::new();
    }
    let size = c.re.abs();
    let lattice = case.extents().map(|extents| (extents.volume() as f64, (extents.volume() / extents[3]) as f64));
    let numbers = [
        (2.0, "2m + D, as of MILC's staggered quarks, the −1/2 of the hop, or 1 ± γ for (1 ± γ)/2"),
        (std::f64::consts::SQRT_2, "√2: the norm of a basis, of a state, or of complex noise"),
        (3.0, "the number of colours: an average or a sum"),
        (4.0, "the number of spins: an average or a sum"),
        (12.0, "spins times colours: an average or a sum"),
        (9.0, "3²"),
        (16.0, "4²"),
        (144.0, "12²"),
    ];
    let mut known: Vec<String> = Vec::new();
    let mut power = |value: f64, what: &str| {
        if near(size, value) {
            known.push(what.to_owned());
        } else if near(size, 1.0 / value) {
            known.push(format!("1/{value:.6}: {what}"));
        }
    };
    numbers.iter().for_each(|(value, what)| power(*value, what));
    if let Some((volume, slice)) = lattice.filter(|(volume, _)| *volume > 1.0) {
        power(volume, "the number of sites: an average or a sum");
        power(slice, "the sites of a time slice: an average or a sum");
    }
    let named = known.len();
    // The κ that would explain it, if it is a plausible one.
    let (single, squared) = match size > 1.0 {
        true => ((0.5 / size, "1/(2κ) = 4 + mass"), (0.5 / size.sqrt(), "1/(2κ)²")),
        false => ((0.5 * size, "2κ = 1/(4 + mass)"), (0.5 * size.sqrt(), "(2κ)²")),
    };
    // Correlators have two propagators.
    let likely = if case.axes.content == Content::List { [squared, single] } else { [single, squared] };
    if let Some((kappa, what)) = likely.into_iter().find(|(kappa, _)| (0.1..0.3).contains(kappa)) {
        known.push(format!("{what} with κ {kappa:.6}, mass {:.6}?", 0.5 / kappa - 4.0));
    }
    if named > 0 && size < 10.0 && size > 0.1 && near(size * 2.0, (size * 2.0).round()) {
        known.truncate(named);
    }
    if known.is_empty() { String::new() } else { format!(" ({})", known.join("; or ")) }
}

/// A factor that is known to a relative error: a real or imaginary part within the error becomes 0, and a number close to one with few digits
/// becomes that.
pub(super) fn rounded(c: Complex<f64>, error: f64) -> Complex<f64> {
    let size = c.norm();
    let digits = (-error.log10() - 1.0).clamp(1.0, 14.0) as usize;
    let part = |x: f64| match x.abs() <= 10.0 * error * size {
        true => 0.0,
        false => format!("{x:.digits$e}").parse().unwrap_or(x),
    };
    Complex::new(part(c.re), part(c.im))
}

/// "2", "−i", "0.6 + 0.8 i"
pub(super) fn shown(c: Complex<f64>) -> String {
    match (c.re, c.im) {
        (re, 0.0) => re.to_string(),
        (0.0, 1.0) => "i".to_owned(),
        (0.0, -1.0) => "−i".to_owned(),
        (0.0, im) => format!("{im} i"),
        (re, im) => {
            let sign = if im < 0.0 { '−' } else { '+' };
            let angle = c.arg() / std::f64::consts::PI;
            format!("{re} {sign} {} i ({:.6} e^{{{angle:.6} πi}})", im.abs(), c.norm())
        }
    }
}
