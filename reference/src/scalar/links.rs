//! Doubled links in the scalar reference (`docs/arithmetic.md` §5): the stored words, and rebuilding.

use num_complex::Complex;

use super::{COLOURS, Colour, Link, ScalarWilson, complex, madd, mul, real_times, step};
use crate::layout::{Coordinate, Leg};
use crate::links::{LinkFormat, Phase};
use crate::real::Real;

impl ScalarWilson<'_> {
    /// §5: the doubled link V of `leg` at the site `x`.
    pub fn link<R: Real>(&self, x: Coordinate, leg: Leg) -> Link<R> {
        let mut words = self.stored_words::<R>(x, leg);
        if R::BITS == 16 {
            // §12: what is stored of the eight links of a site has one step.
            let site = Leg::all().flat_map(|leg| self.stored_words::<R>(x, leg));
            let mut site: Vec<R> = site.flat_map(|word| [word.re, word.im]).collect();
            let reals = site.len();
            R::quantize(&mut site, reals, 1);
            let first = leg.point() * self.format.words();
            for (k, word) in words.iter_mut().enumerate() {
                *word = Complex::new(site[2 * (first + k)], site[2 * (first + k) + 1]);
            }
        }
        let (_, crosses) = step(self.configuration.extents(), x, leg);
        let phase = match self.boundary.phase(leg.dimension()) {
            Phase::Antiperiodic if crosses => -1.0,
            Phase::Fixed if crosses && self.format == LinkFormat::Eight => 0.0,
            _ => 1.0,
        };
        let row = |row: usize| std::array::from_fn(|column| words[COLOURS * row + column]);
        match self.format {
            LinkFormat::Full => [row(0), row(1), row(2)],
            LinkFormat::TwoRows => with_third_row(row(0), row(1), phase),
            LinkFormat::Eight => {
                let [r0, r1] = two_rows_of_eight_reals([words[0], words[1], words[2], words[3]], phase);
                with_third_row(r0, r1, phase)
            }
        }
    }

    /// §5: the stored words of the doubled link: 9, 6 or 4.
    pub fn stored_words<R: Real>(&self, x: Coordinate, leg: Leg) -> Vec<Complex<R>> {
        let extents = self.configuration.extents();
        let (there, crosses) = step(extents, x, leg);
        let owner = if leg.is_forward() { x } else { there };
        let u = self.configuration.link(extents.site(owner), leg.dimension());
        let element = |row: usize, column: usize| match leg.is_forward() {
            true => u[COLOURS * row + column],
            false => u[COLOURS * column + row].conj(),
        };
        if self.format == LinkFormat::Eight {
            let row = |row| [element(row, 0), element(row, 1), element(row, 2)];
            return eight_reals(row(0), row(1)).map(|word| complex(word.re, word.im)).to_vec();
        }
        let phase = self.boundary.phase(leg.dimension()).of_leg(leg, crosses);
        let word = |k: usize| {
            let element = element(k / COLOURS, k % COLOURS);
            phase.times(real_times(R::from_f64(-0.5), complex(element.re, element.im)))
        };
        (0..self.format.words()).map(word).collect()
    }
}

/// The third row for reconstruct 12 and 8.
fn with_third_row<R: Real>(r0: Colour<R>, r1: Colour<R>, phase: f64) -> Link<R> {
    let f = R::from_f64(-2.0 * phase);
    let mut r2 = Colour::<R>::default();
    for (i, j, k) in [(1, 2, 0), (2, 0, 1), (0, 1, 2)] {
        let c = madd(-r0[j], r1[i], mul(r0[i], r1[j]));
        r2[k] = Complex::new(f * c.re, (-f) * c.im);
    }
    [r0, r1, r2]
}

/// Reconstruct 8: the stored words (v1, v2, (x, z1), (z2, z3)) of the matrix with the rows a and b.
fn eight_reals(a: Colour<f64>, b: Colour<f64>) -> [Complex<f64>; 4] {
    let sign = if a[0].re < 0.0 { -1.0 } else { 1.0 };
    let n = 1.0 / (1.0 + sign * a[0].re);
    let s = n * (sign * a[0].im);
    let v1 = real_times(n, real_times(sign, a[1]));
    let v2 = real_times(n, real_times(sign, a[2]));
    let u = mul(Complex::new(1.0, -s), b[0]);
    let t = Complex::new(u.re / s.fused(s, 1.0), u.im / s.fused(s, 1.0));
    let alpha = madd(-t, v1, b[1]);
    let beta = madd(-t, v2, b[2]);

    let q = [alpha.im, beta.re, beta.im];
    let rho2 = q[0].fused(q[0], q[1].fused(q[1], q[2] * q[2]));
    let (rho, m) = (rho2.sqrt(), alpha.re.fused(alpha.re, rho2).sqrt());
    let z = if alpha.re >= 0.0 {
        let c = (0.5 * (1.0 + alpha.re / m)).sqrt();
        q.map(|q| (1.0 / (2.0 * m * (c * (1.0 + c)))) * q)
    } else if rho > 0.0 {
        let d = (0.5 * (1.0 - alpha.re / m)).sqrt();
        let c = rho / (2.0 * m * d);
        q.map(|q| (d / ((1.0 + c) * rho)) * q)
    } else {
        [1.0, 0.0, 0.0]
    };
    let x = sign * s.fused(0.5, 0.625);
    [v1, v2, Complex::new(x, z[0]), Complex::new(z[1], z[2])]
}

/// Reconstruct 8: the rebuilt rows 0 and 1.
fn two_rows_of_eight_reals<R: Real>([v1, v2, xz, zz]: [Complex<R>; 4], phase: f64) -> [Colour<R>; 2] {
    let real = R::from_f64;
    let (one, two, f) = (real(1.0), real(2.0), real(-0.5 * phase));
    let is_negative = xz.re.to_f64().is_sign_negative();
    let e = if is_negative { -f } else { f };
    let s = two.fused(if is_negative { -xz.re } else { xz.re }, real(-1.25));
    let (z1, z2, z3) = (xz.im, zz.re, zz.im);
    let p2 = s.fused(s, one);
    let d = v1.re.fused(v1.re, v1.im.fused(v1.im, v2.re.fused(v2.re, v2.im.fused(v2.im, p2))));
    let t = z1.fused(z1, z2.fused(z2, z3.fused(z3, one)));
    let q = two / ((d * p2) * t);

    let h = q * (d * p2);
    let (m, g) = (two - t, f * (h * h));
    let alpha = Complex::new(g * (real(0.25) * m).fused(m, -(t - one)), (g * m) * z1);
    let beta = Complex::new((g * m) * z2, (g * m) * z3);
    let w = madd(v2.conj(), beta, mul(v1.conj(), alpha));
    // (1 + i s) times a complex number.
    let times_p = |a: Complex<R>| Complex::new(s.fused(-a.im, a.re), s.fused(a.re, a.im));
    let k = real_times(-(q * t), times_p(w));
    let r1 = [times_p(k), madd(k, v1, alpha), madd(k, v2, beta)];

    let er = e * (q * (p2 * t));
    let r0 = [Complex::new(er * real(-0.5).fused(d, one), er * s), real_times(er, v1), real_times(er, v2)];
    [r0, r1]
}
