//! Lists of numbers, such as correlators: a factor, an axis reversed or shifted, alternating signs, conjugation.

use num_complex::Complex;

use super::fit::{Fit, cause};
use crate::Content;
use crate::compare::cause::case::Case;
use crate::compare::cause::guess::Cause;

type Z = Complex<f64>;

/// With fewer nonzero numbers than this, every hypothesis would fit.
const LEAST: usize = 4;
/// The largest remainder relative to the norm: parts of an exponential are nearly multiples of each other.
const MOST: f64 = 1e-6;
/// For axes with more indices, only a factor and conjugation are tried.
const MOST_INDICES: usize = 1024;

#[derive(Clone, Copy)]
enum Along {
    Nothing,
    Reversed(usize),
    Shifted(usize),
    Alternating,
}

pub(in crate::compare::cause) fn causes(case: &Case<'_>) -> Vec<Cause> {
    let complex = |values: &[f64]| -> Vec<Z> {
        match case.parts {
            2 => values.as_chunks().0.iter().map(|&[re, im]| Z::new(re, im)).collect(),
            _ => values.iter().map(|&x| Z::from(x)).collect(),
        }
    };
    let (a, b) = (complex(case.a), complex(case.b));
    let nonzero = |array: &[Z]| array.iter().filter(|z| **z != Z::ZERO).count();
    if case.axes.content != Content::List || nonzero(&a) < LEAST || nonzero(&b) < LEAST {
        return Vec::new();
    }
    let mut found = Vec::new();
    for conjugated in [false, true].into_iter().take(case.parts) {
        for (axis, along) in hypotheses(case) {
            let of_a = transformed(case, &a, axis, along, conjugated);
            // Each number is a block of its own: those of a correlator differ by orders of magnitude.
            let pairs: Vec<_> = of_a.iter().zip(b.chunks_exact(1)).map(|(z, b)| (vec![*z], b)).collect();
            let Some(fit) = Fit::new(&pairs).filter(|fit| fit.left <= MOST) else { continue };
            let mut claims = Vec::new();
            let name = case.axes.site.get(axis).map_or("", |axis| axis.name);
            match along {
                Along::Nothing => {}
                Along::Reversed(0) => {
                    claims.push(("reflected", format!("with {name} reversed, −k (forward and backward)")))
                }
                Along::Reversed(_) => claims.push(("reflected", format!("with {name} in the opposite order"))),
                Along::Shifted(by) => claims.push(("shifted", format!("with {name} shifted, k + {by}"))),
                Along::Alternating => claims.push(("alternating", format!("times (−1)^k of {name}"))),
            }
            if conjugated {
                let what = "complex conjugated (the sign of a momentum, e^{ipx} for e^{−ipx})";
                claims.push(("conjugated", what.to_owned()));
            }
            found.push((fit, claims));
        }
    }
    let least = found.iter().map(|(fit, _): &(Fit, Vec<_>)| fit.left).fold(f64::INFINITY, f64::min);
    let near = found.into_iter().filter(|(fit, _)| fit.left <= (10.0 * least).max(64.0 * case.unit()));
    let Some((fit, claims)) = near.min_by_key(|(_, claims)| claims.len()) else { return Vec::new() };
    if claims.is_empty() && (fit.c - 1.0).norm() <= 10.0 * fit.left.max(4.0 * case.unit()) {
        return Vec::new();
    }
    vec![cause(case, claims, fit)]
}

fn hypotheses(case: &Case<'_>) -> Vec<(usize, Along)> {
    let mut all = vec![(0, Along::Nothing)];
    for (axis, extent) in case.axes.site.iter().map(|axis| axis.extent).enumerate() {
        if (3..=MOST_INDICES).contains(&extent) {
            let others = [Along::Reversed(0), Along::Reversed(extent - 1), Along::Alternating];
            all.extend(others.map(|along| (axis, along)));
            all.extend((1..extent).map(|by| (axis, Along::Shifted(by))));
        }
    }
    all
}

fn transformed(case: &Case<'_>, a: &[Z], axis: usize, along: Along, conjugated: bool) -> Vec<Z> {
    let of_number = |number: usize| {
        let Some(extent) = case.axes.site.get(axis).map(|axis| axis.extent) else { return a[number] };
        let stride = case.axes.stride(axis);
        let k = number / stride % extent;
        let from = match along {
            Along::Nothing | Along::Alternating => k,
            Along::Reversed(offset) => (offset + extent - k) % extent,
            Along::Shifted(by) => (k + by) % extent,
        };
        let z = a[number + from * stride - k * stride];
        if matches!(along, Along::Alternating) && k % 2 == 1 { -z } else { z }
    };
    (0..a.len()).map(of_number).map(|z| if conjugated { z.conj() } else { z }).collect()
}
