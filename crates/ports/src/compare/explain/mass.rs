//! A field that is α·hop + β·ψ with two numbers: another mass, the hop instead of M, M instead of the hop, another normalisation or sign.

use lanefield::reference::layout::Coordinate;
use lanefield::reference::real::Real;
use num_complex::Complex;

use super::fault::Fault;
use super::findings::Likeness;
use super::hop::{Fit, Hop, Spinor, largest, unit};
use super::inputs::HopInputs;
use crate::compare::cause::{Cause, Confidence};
use crate::projection::size;

/// The number of sites from which the numbers are determined.
const SITES: usize = 512;

impl<R: Real> Hop<'_, R> {
    pub(super) fn combination(&self, b: &[Complex<R>], name: &str) -> Option<Cause> {
        let inputs = HopInputs { mass: None, ..self.inputs.clone() };
        let hop = Hop { inputs: &inputs, psi: self.psi, extents: self.extents };
        let hop = |x: Coordinate| hop.spinor(x, Fault::None);
        let (alpha, beta) = self.numbers(b, &hop)?;
        let psi = |x: Coordinate, word: usize| self.psi[12 * self.extents.site(x) + word];
        let wide = |z: Complex<R>| Complex::new(z.re.to_f64(), z.im.to_f64());
        let near = |site: usize| {
            let x = self.extents.coordinate(site);
            let hop = hop(x);
            let b = &b[12 * site..][..12];
            let far = (0..12).map(|word| size(wide(b[word]) - alpha * wide(hop[word]) - beta * wide(psi(x, word))));
            let of_psi: Spinor<R> = std::array::from_fn(|word| psi(x, word));
            let terms = (alpha * largest(&hop)).abs().max((beta * largest(&of_psi)).abs());
            far.fold(0.0, f64::max) <= 32.0 * unit::<R>() * terms
        };
        if !(0..self.extents.volume()).all(near) {
            return None;
        }
        let is_one = |x: f64| (x - 1.0).abs() < 64.0 * unit::<R>();
        let is_zero = |x: f64| x.abs() < 64.0 * unit::<R>();
        let (shown_alpha, shown_beta) = (rounded::<R>(alpha), rounded::<R>(beta));
        // If only one number is free, its bits can be tried.
        let likeness = match (is_one(alpha), is_zero(beta)) {
            (true, true) => {
                self.fit(b, hop).map(|fit| if fit == Fit::Bits { Likeness::Bits } else { Likeness::Roundings })
            }
            (true, false) => {
                let dm = R::from_f64(shown_beta);
                let fit = self.fit(b, |x| self.with_mass(x, dm, &hop(x)));
                fit.map(|fit| if fit == Fit::Bits { Likeness::Bits } else { Likeness::Roundings })
            }
            _ => None,
        };
        let mass = shown(rounded::<R>(shown_beta - 4.0));
        let sentence = match (self.inputs.mass, is_one(alpha), is_zero(beta)) {
            (Some(_), true, true) => format!("{name} is the hop alone, without the mass term (4 + mass)·ψ"),
            (Some(expected), true, false) => format!("{name} is M with mass {mass}, not {expected}"),
            (None, true, false) => format!("{name} is M = 4 + mass + hop with mass {mass}, not the hop alone"),
            (_, false, true) => format!("{name} is {} times the hop{}", shown(shown_alpha), known(shown_alpha)),
            (_, _, _) if is_one(-alpha) => {
                format!("{name} is {} − hop: the hop has the opposite sign", times(shown_beta, "ψ"))
            }
            (_, _, _) => {
                // β·(ψ + 2κ·hop), with 2κ = 1/(4 + mass).
                let kappa = 0.5 * alpha / beta;
                format!(
                    "{name} is {} + {}: another normalisation (κ {:.6}, mass {:.6})",
                    times(shown_beta, "ψ"),
                    times(shown_alpha, "hop"),
                    kappa,
                    0.5 / kappa - 4.0
                )
            }
        };
        let (confidence, how) = match likeness {
            Some(Likeness::Bits) => (Confidence::Certain, "bit for bit"),
            _ => (Confidence::Likely, "but for roundings"),
        };
        Some(Cause::new("mass", confidence, sentence, format!("all spinors are so, {how}")))
    }

    /// α and β by least squares, in two steps: the second one is on the remainder of the first, so that little is lost in the sums.
    fn numbers(&self, b: &[Complex<R>], hop: &impl Fn(Coordinate) -> Spinor<R>) -> Option<(f64, f64)> {
        let parts = |numbers: &[Complex<R>]| numbers.iter().flat_map(|z| [z.re.to_f64(), z.im.to_f64()]).collect();
        let sites = self.extents.volume().min(SITES);
        let of_hop: Vec<Complex<R>> = (0..sites).flat_map(|site| hop(self.extents.coordinate(site))).collect();
        let [h, p, b]: [Vec<f64>; 3] = [parts(&of_hop), parts(&self.psi[..12 * sites]), parts(&b[..12 * sites])];
        let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let (hh, hp, pp) = (product(&h, &h), product(&h, &p), product(&p, &p));
        let determinant = hh * pp - hp * hp;
        let (mut alpha, mut beta) = (0.0, 0.0);
        for _ in 0..2 {
            let left = h.iter().zip(&p).zip(&b).map(|((h, p), b)| b - alpha * h - beta * p);
            let left: Vec<f64> = left.collect();
            let (hb, pb) = (product(&h, &left), product(&p, &left));
            alpha += (hb * pp - pb * hp) / determinant;
            beta += (pb * hh - hb * hp) / determinant;
        }
        // A point source leaves nothing by which to divide.
        (determinant > 1e-12 * hh * pp && alpha.is_finite() && beta.is_finite()).then_some((alpha, beta))
    }
}

/// Rounds to the digits that are certain.
fn rounded<R: Real>(x: f64) -> f64 {
    let digits = if R::BITS == 64 { 11 } else { 5 };
    format!("{x:.digits$e}").parse().unwrap_or(x)
}

fn shown(x: f64) -> String {
    if x.abs() < 1e-9 { "0".to_owned() } else { x.to_string() }
}

fn times(factor: f64, what: &str) -> String {
    if factor == 1.0 { what.to_owned() } else { format!("{}·{what}", shown(factor)) }
}

/// The possible origin of a factor.
fn known(factor: f64) -> &'static str {
    match factor {
        -2.0 => ": the −1/2 of the links is left out (arithmetic §5)",
        2.0 => ": the −1/2 of the links is −1, or left out with a sign",
        -1.0 => ": the opposite sign",
        _ => "",
    }
}
