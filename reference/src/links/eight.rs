//! The eight reals of an SU(3) link (`docs/arithmetic.md` §5). The host computes them, in f64, so that kernels can rebuild the link without
//! trigonometry. Row 0 is a unit vector of ℂ³, a point of a 5-sphere, and is stored by stereographic projection. Row 1 is then a point of a
//! 3-sphere, and is stored by that of half its angle. Counterpart: `tensor/su3.rs`, which rebuilds.

use num_complex::Complex;

type LinkRow = [Complex<f64>; 3];

/// The largest max |U U† − 1| and |det U − 1| of a link that can be stored as eight reals. The rebuilt link is in SU(3), and differs from the
/// original by as much. The limit is that of links that were read in f32.
pub(super) const SU3_TOLERANCE: f64 = crate::gauge::SU3_TOLERANCE;

/// The four words that stand for the SU(3) matrix with the first rows `a` and `b`: (v1, v2, (x, z1), (z2, z3)).
pub(super) fn encode(a: LinkRow, b: LinkRow) -> [Complex<f64>; 4] {
    // The projection is from the far side of the sphere: of a or −a the one that is nearer to (1, 0, 0) is taken.
    let sign = if a[0].re < 0.0 { -1.0 } else { 1.0 };
    let a = a.map(|element| Complex::new(sign * element.re, sign * element.im));
    let n = 1.0 / (1.0 + a[0].re);
    let s = n * a[0].im;
    let [v1, v2] = [a[1], a[2]].map(|element| Complex::new(n * element.re, n * element.im));
    let squared = s.mul_add(s, 1.0);
    let t = Complex::new(s.mul_add(b[0].im, b[0].re) / squared, (-s).mul_add(b[0].re, b[0].im) / squared);
    let (alpha, beta) = (madd(-t, v1, b[1]), madd(-t, v2, b[2]));
    let [z1, z2, z3] = quarter_angle(alpha.re, [alpha.im, beta.re, beta.im]);
    // The sign of a rides on s, which is in [−1, 1].
    let x = sign * s.mul_add(0.5, 0.625);
    [v1, v2, Complex::new(x, z1), Complex::new(z2, z3)]
}

/// tan(θ/4) · q / |q| for the direction (q0, q), where θ is its angle to (1, 0, 0, 0).
fn quarter_angle(q0: f64, q: [f64; 3]) -> [f64; 3] {
    let squared = q[0].mul_add(q[0], q[1].mul_add(q[1], q[2] * q[2]));
    let (sine, length) = (squared.sqrt(), q0.mul_add(q0, squared).sqrt());
    // Of sin(θ/2) and cos(θ/2) the larger one is a root, the other one a quotient: neither loses digits.
    let factor = if q0 < 0.0 {
        if sine == 0.0 {
            return [1.0, 0.0, 0.0];
        }
        let half_sine = (0.5 * (1.0 - q0 / length)).sqrt();
        let half_cosine = sine / ((2.0 * length) * half_sine);
        half_sine / ((1.0 + half_cosine) * sine)
    } else {
        let half_cosine = (0.5 * (1.0 + q0 / length)).sqrt();
        1.0 / ((2.0 * length) * (half_cosine * (1.0 + half_cosine)))
    };
    q.map(|component| factor * component)
}

/// a·b + c of §2.
fn madd(a: Complex<f64>, b: Complex<f64>, c: Complex<f64>) -> Complex<f64> {
    Complex::new((-a.im).mul_add(b.im, a.re.mul_add(b.re, c.re)), a.im.mul_add(b.re, a.re.mul_add(b.im, c.im)))
}
