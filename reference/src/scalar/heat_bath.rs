//! Heat bath and overrelaxation of a link in the field of its staples (`docs/arithmetic.md`, "Heat bath"), in plain numbers.

use num_complex::Complex;

use super::functions::{cos_sin_2pi, ln, sqrt, uniform};
use super::{Link, madd, matrix_adjoint, matrix_times_matrix, mul, real_times};
use crate::layout::Coordinate;
use crate::real::Real;

/// The maximum number of trials in a subgroup.
const ATTEMPTS: u32 = 5;
const DRAWS: u32 = 8;

/// A quaternion (a, x, y, z).
pub(super) type QuaternionWords<R> = [R; 4];

fn product<R: Real>([a, x, y, z]: QuaternionWords<R>, [b, u, v, w]: QuaternionWords<R>) -> QuaternionWords<R> {
    [
        (-z).fused(w, (-y).fused(v, (-x).fused(u, a * b))),
        z.fused(v, (-y).fused(w, x.fused(b, a * u))),
        x.fused(w, (-z).fused(u, y.fused(b, a * v))),
        y.fused(u, (-x).fused(v, z.fused(b, a * w))),
    ]
}

pub(super) fn conjugate<R: Real>([a, x, y, z]: QuaternionWords<R>) -> QuaternionWords<R> {
    [a, -x, -y, -z]
}

/// The link after a step in each subgroup. A step receives the unit quaternion, its length and the number of the subgroup.
pub(super) fn updated<R: Real>(
    u: &Link<R>,
    staples: &Link<R>,
    mut step: impl FnMut(QuaternionWords<R>, R, u32) -> Option<QuaternionWords<R>>,
) -> Link<R> {
    let [zero, half, one] = [0.0, 0.5, 1.0].map(R::from_f64);
    let (mut u, adjoint) = (*u, matrix_adjoint(staples));
    for (number, [i, j]) in [[0, 1], [0, 2], [1, 2]].into_iter().enumerate() {
        let w = matrix_times_matrix(&u, &adjoint);
        let q = [w[i][i].re + w[j][j].re, w[i][j].im + w[j][i].im, w[i][j].re - w[j][i].re, w[i][i].im - w[j][j].im];
        let q = q.map(|part| part * half);
        let length = sqrt(q[3].fused(q[3], q[2].fused(q[2], q[1].fused(q[1], q[0] * q[0]))));
        let inverse = one / if zero < length { length } else { one };
        let g = step(q.map(|part| part * inverse), length, number as u32);
        let Some([a, x, y, z]) = g.filter(|_| zero < length) else { continue };
        let (above, below) = (u[i], u[j]);
        u[i] = std::array::from_fn(|k| madd(Complex::new(y, x), below[k], mul(Complex::new(a, z), above[k])));
        u[j] = std::array::from_fn(|k| madd(Complex::new(a, -z), below[k], mul(Complex::new(-y, x), above[k])));
    }
    special_unitary(u)
}

fn special_unitary<R: Real>(u: Link<R>) -> Link<R> {
    let normalised = |row: [Complex<R>; 3]| {
        let add = |sum: R, z: &Complex<R>| z.im.fused(z.im, z.re.fused(z.re, sum));
        let inverse = R::from_f64(1.0) / sqrt(row.iter().fold(R::from_f64(0.0), add));
        row.map(|z| real_times(inverse, z))
    };
    let first = normalised(u[0]);
    let dot = |a: [Complex<R>; 3], b: [Complex<R>; 3]| madd(a[2], b[2], madd(a[1], b[1], mul(a[0], b[0])));
    let overlap = dot(first.map(|z| z.conj()), u[1]);
    let second = normalised(std::array::from_fn(|k| madd(-overlap, first[k], u[1][k])));
    let cross = |k: usize, l: usize| madd(-first[l], second[k], mul(first[k], second[l])).conj();
    [first, second, [cross(1, 2), cross(2, 0), cross(0, 1)]]
}

/// Heat bath of a link: `coupling` is 2β/3, `x` its site in the whole lattice; `key` and `event` are integers.
pub fn heat_bath<R: Real>(
    u: &Link<R>,
    staples: &Link<R>,
    coupling: R,
    x: Coordinate,
    key: [R; 3],
    event: R,
) -> Link<R> {
    let [half, one, two] = [0.5, 1.0, 2.0].map(R::from_f64);
    let drawn = |draw: u32| uniform(x, key, event, R::from_f64(f64::from(draw)));
    updated(u, staples, |q, length, subgroup| {
        let alpha = coupling * length;
        let distance = (0..ATTEMPTS).find_map(|attempt| {
            let [first, angle, second, threshold] = drawn(subgroup * DRAWS + attempt);
            let [cosine, _] = cos_sin_2pi(angle);
            let tried = -(cosine * cosine).fused(ln(second), ln(first)) / alpha;
            (threshold * threshold <= (-tried).fused(half, one)).then_some(tried)
        })?;
        let radius = sqrt(distance * (two - distance));
        let [height, angle, ..] = drawn(subgroup * DRAWS + DRAWS - 1);
        let [cosine, sine] = cos_sin_2pi(angle);
        let across = radius * two * sqrt(height * (one - height));
        let along = radius * (-two).fused(height, one);
        let h = [one - distance, across * cosine, across * sine, along];
        Some(product(h, conjugate(q)))
    })
}

/// Overrelaxation of a link: a reflection with the same energy.
pub fn overrelaxation<R: Real>(u: &Link<R>, staples: &Link<R>) -> Link<R> {
    updated(u, staples, |q, _, _| Some(product(conjugate(q), conjugate(q))))
}
