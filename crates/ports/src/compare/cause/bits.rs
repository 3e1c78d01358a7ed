//! Causes that show in the bits of each number: a flipped bit, signs of zeros, flushed subnormals, swapped bytes, a lower precision.

use super::case::Case;
use super::factor;
use super::guess::{Cause, Confidence};
use crate::compare::numbers::{Kind, bits};
use crate::compare::wording::{counted, grouped};

pub(super) fn causes(case: &Case<'_>) -> Vec<Cause> {
    let whole = [flipped_bit, zeros_signs, flushed, swapped_bytes, single_precision, unwritten, factor::cause];
    let mut causes: Vec<Cause> = whole.iter().find_map(|test| test(case)).into_iter().collect();
    causes.extend(not_finite(case));
    causes
}

/// A single number differs, in one bit.
fn flipped_bit(case: &Case<'_>) -> Option<Cause> {
    if case.comparison.differing + case.comparison.accepted != 1 {
        return None;
    }
    let place = case.differing().next()?;
    let (a, b) = (bits(case.a[place], case.kind), bits(case.b[place], case.kind));
    let flipped = a ^ b;
    if !flipped.is_power_of_two() {
        let sentence =
            "a single number differs: memory, the disk, or an edit; a kernel rarely gets a single number wrong";
        return Some(Cause::new(
            "one_number",
            Confidence::Likely,
            sentence,
            format!("{} bits of it differ", flipped.count_ones()),
        ));
    }
    let bit = flipped.trailing_zeros();
    let (fraction, sign) = if case.kind == Kind::F32 { (23, 31) } else { (52, 63) };
    let part = match bit {
        bit if bit == sign => "the sign".to_owned(),
        bit if bit >= fraction => format!("bit {} of the exponent", bit - fraction),
        bit => format!("bit {bit} of the fraction"),
    };
    Some(Cause::new(
        "flipped_bit",
        Confidence::Certain,
        format!("one bit of one number is flipped, {part}: memory, the disk, or an edit"),
        format!("bit {bit} of {} is all that differs", if case.kind == Kind::F32 { 32 } else { 64 }),
    ))
}

fn all_that_differ(count: u64) -> String {
    if count == 1 {
        "the number that differs".to_owned()
    } else {
        format!("all {} numbers that differ", grouped(count))
    }
}

/// If `is_so` holds for all numbers that differ, returns how many they are.
fn all(case: &Case<'_>, is_so: impl Fn(f64, f64) -> bool) -> Option<u64> {
    case.differing().try_fold(0, |count, place| is_so(case.a[place], case.b[place]).then_some(count + 1))
}

fn zeros_signs(case: &Case<'_>) -> Option<Cause> {
    let count = all(case, |a, b| a == 0.0 && b == 0.0)?;
    let negative = case.differing().filter(|&place| case.b[place].is_sign_negative()).count() as u64;
    let sentence = "only the signs of zeros differ: a product that starts a sum was made an addition to +0, −x was computed as 0 − x, or x − y as −(y − x)";
    let evidence = format!("{}, −0 in B and +0 in A: {}", counted(count, "zero"), grouped(negative));
    Some(Cause::new("signs_of_zeros", Confidence::Certain, sentence, evidence))
}

fn flushed(case: &Case<'_>) -> Option<Cause> {
    let is_subnormal = |x: f64| if case.kind == Kind::F32 { (x as f32).is_subnormal() } else { x.is_subnormal() };
    for (name, flags, swap) in [("B", "B's", false), ("A", "A's", true)] {
        let count = all(case, |a, b| {
            let (kept, lost) = if swap { (b, a) } else { (a, b) };
            is_subnormal(kept) && lost == 0.0
        });
        if let Some(count) = count {
            return Some(Cause::new(
                "flushed_subnormals",
                Confidence::Certain,
                format!(
                    "subnormal numbers are zero in {name}: {flags} program flushes them (-ffast-math, -ftz=true, -cl-denorms-are-zero, DAZ and FTZ)"
                ),
                format!("{}: subnormal in one array, zero in the other", all_that_differ(count)),
            ));
        }
    }
    None
}

fn swapped_bytes(case: &Case<'_>) -> Option<Cause> {
    let is_so = |a: f64, b: f64| {
        let (a, b) = (bits(a, case.kind), bits(b, case.kind));
        if case.kind == Kind::F32 { (a as u32).swap_bytes() == b as u32 } else { a.swap_bytes() == b }
    };
    let count = all(case, is_so)?;
    let sentence =
        "the bytes of each number are in the opposite order in B: big-endian numbers read as little-endian ones";
    Some(Cause::new("bytes", Confidence::Certain, sentence, all_that_differ(count)))
}

/// Whether an f64 can be represented as an f32.
fn is_single(x: f64) -> bool {
    x.is_nan() || f64::from(x as f32) == x
}

fn single_precision(case: &Case<'_>) -> Option<Cause> {
    if case.kind == Kind::F32 || case.comparison.differing < 2 {
        return None;
    }
    for (name, other, rounded, exact) in [("B", "A", case.b, case.a), ("A", "B", case.a, case.b)] {
        if !rounded.iter().all(|&x| is_single(x)) || exact.iter().all(|&x| is_single(x)) {
            continue;
        }
        if exact
            .iter()
            .zip(rounded)
            .all(|(&exact, &rounded)| exact.is_nan() || f64::from(exact as f32).to_bits() == rounded.to_bits())
        {
            let sentence = format!("{name} is {other} rounded to f32: it was stored in single precision on the way");
            let evidence = "each of its numbers is the f32 nearest to the other's".to_owned();
            return Some(Cause::new("rounded_to_f32", Confidence::Certain, sentence, evidence));
        }
        if case.comparison.relative_norm < 1e-5 {
            let sentence = format!("{name} was computed or stored in single precision: all of its numbers are f32");
            let evidence =
                format!("|A-B| is {:.1e} of the norm, an ulp of f32 is 1.2e-7", case.comparison.relative_norm);
            return Some(Cause::new("single_precision", Confidence::Likely, sentence, evidence));
        }
    }
    None
}

/// Numbers that were not written: zero, or all the same, wherever the arrays differ.
fn unwritten(case: &Case<'_>) -> Option<Cause> {
    for (name, other, found) in [("B", "A", case.b), ("A", "B", case.a)] {
        if case.comparison.differing > 1 && case.differing().all(|place| found[place] == 0.0) {
            let sentence = format!(
                "{name} is zero wherever they differ: {other}'s numbers there were not computed, not written, or multiplied by a phase 0"
            );
            return Some(Cause::new("zeros", Confidence::Certain, sentence, case.counted()));
        }
    }
    None
}

fn not_finite(case: &Case<'_>) -> Option<Cause> {
    let lost = |kept: &[f64], lost: &[f64]| {
        let pairs = kept.iter().zip(lost);
        pairs.filter(|(kept, lost)| kept.is_finite() && !lost.is_finite()).count() as u64
    };
    let (in_b, in_a) = (lost(case.a, case.b), lost(case.b, case.a));
    let (name, count) = if in_b >= in_a { ("B", in_b) } else { ("A", in_a) };
    if count == 0 {
        return None;
    }
    let confidence = if count == case.comparison.differing { Confidence::Certain } else { Confidence::Likely };
    let sentence = format!(
        "{name} has numbers that are infinite or NaN where the other's are finite: memory that was not written, a division by zero, or an overflow"
    );
    let evidence = match count == case.comparison.differing {
        true => all_that_differ(count),
        false => format!("{} of {} numbers that differ", grouped(count), grouped(case.comparison.differing)),
    };
    Some(Cause::new("not_finite", confidence, sentence, evidence))
}
