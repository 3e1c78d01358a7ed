//! Heat bath and overrelaxation of links in the field of their staples (`docs/arithmetic.md` §21): by the SU(2) subgroups of Cabibbo and Marinari (1982), with
//! the method of Kennedy and Pendleton (1985) and of Creutz (1987). The random numbers are functions of (seed, sweep, site, direction, draw). The kernels
//! are bodies; what they do in an SU(2) subgroup is in `su2.rs`.

use lanefield_reference::body::functions::{cos_sin_2pi, ln};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::random::key_of_seed;
use lanefield_reference::scalar::functions::{self as plain, sqrt};
use lanefield_reference::scalar::{
    Link, madd, matrix_adjoint, matrix_times_matrix, mul, real_times, site_inner_product,
};
use num_complex::Complex;

use super::staples::matrix_of;
use super::su2::{self, Quaternion};
use super::twin::PlainCall;
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, Launch, Reduce};
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&HEAT_BATH, &OVERRELAXATION, &LINK_ENERGY];

/// How often a number is tried to be drawn in a subgroup. Where none of them is taken the link stays what it is in this subgroup: whether one is taken does
/// not depend on it, so that the distribution is the same.
pub const ATTEMPTS: usize = 5;

/// Draws of a subgroup: those of the attempts, and the last one for the direction.
const DRAWS: usize = 8;

/// The random quaternion h with the probability ∝ √(1 − h₀²) exp(α h₀), and whether there is one.
#[inline(always)]
fn drawn<S: Site>(
    site: S,
    x: Coordinates<S>,
    key: [S::Real; 3],
    event: S::Real,
    first_draw: usize,
    alpha: S::Real,
) -> (Quaternion<S::Real>, S::Choice) {
    let constant = S::Real::constant;
    let (zero, one, two) = (constant(0.0), constant(1.0), constant(2.0));
    // 1 − h₀ of the first attempt that is taken.
    let start = ((zero, one.less(zero)), constant(first_draw as f64));
    let ((distance, taken), _) = site.repeat(site.count(ATTEMPTS), start, |_, ((distance, taken), draw)| {
        let [first, angle, second, threshold] = x.uniform(key, event, draw);
        let [cosine, _] = cos_sin_2pi(angle);
        let tried = -(cosine * cosine).fma(ln(second), ln(first)) / alpha;
        let accepted = (threshold * threshold).at_most((-tried).fma(constant(0.5), one));
        let distance = S::Real::select(taken, distance, S::Real::select(accepted, tried, distance));
        ((distance, taken.or(accepted)), draw + one)
    });
    let length = (distance * (two - distance)).sqrt();
    let [height, angle, ..] = x.uniform(key, event, constant((first_draw + DRAWS - 1) as f64));
    let [cosine, sine] = cos_sin_2pi(angle);
    let across = length * two * (height * (one - height)).sqrt();
    let along = length * (-two).fma(height, one);
    (Quaternion([one - distance, across * cosine, across * sine, along]), taken)
}

/// A link drawn anew in the field of its staples, subgroup by subgroup. `coupling`: 2β/3. `key`: of the seed, `event`: of the sweep and the direction.
#[lane_kernel(family = "heat_bath", twin = heat_bath_twin)]
#[allow(clippy::too_many_arguments)]
pub fn heat_bath<S: Site>(
    site: S,
    link: Update<S, ColourMatrix>,
    staples: Read<S, ColourMatrix>,
    coupling: Scalar<S>,
    key_low: Scalar<S>,
    key_middle: Scalar<S>,
    key_high: Scalar<S>,
    event: Scalar<S>,
    x: Coordinates<S>,
) {
    let key = [key_low.get(), key_middle.get(), key_high.get()];
    let (mut u, adjoint) = (link.here(), staples.here().adjoint());
    for (number, subgroup) in su2::SUBGROUPS.into_iter().enumerate() {
        let (q, length) = su2::projected::<S>(u, adjoint, subgroup);
        let exists = S::Real::constant(0.0).less(length);
        let (h, taken) = drawn(site, x, key, event.get(), number * DRAWS, coupling.get() * length);
        u = su2::times_where::<S>(exists.and(taken), h.times(q.conjugate()), u, subgroup);
    }
    link.write(su2::special_unitary::<S>(u));
}

/// A link reflected in the field of its staples, subgroup by subgroup, with the same energy.
#[lane_kernel(family = "heat_bath", twin = overrelaxation_twin)]
pub fn overrelaxation<S: Site>(link: Update<S, ColourMatrix>, staples: Read<S, ColourMatrix>) {
    let (mut u, adjoint) = (link.here(), staples.here().adjoint());
    for subgroup in su2::SUBGROUPS {
        let (q, length) = su2::projected::<S>(u, adjoint, subgroup);
        let exists = S::Real::constant(0.0).less(length);
        let conjugate = q.conjugate();
        u = su2::times_where::<S>(exists, conjugate.times(conjugate), u, subgroup);
    }
    link.write(su2::special_unitary::<S>(u));
}

/// energy = Σ Re tr U V†: of all directions together four times the sum over plaquettes of their Re tr.
#[lane_kernel(family = "heat_bath", twin = link_energy_twin)]
pub fn link_energy<S: Site>(link: Read<S, ColourMatrix>, staples: Read<S, ColourMatrix>, energy: ExactSum<S>) {
    // Re tr U V† = Re Σ conj(V_ij) U_ij.
    let [re, _] = staples.here().inner_product(link.here());
    energy.add(re);
}

/// A quaternion in plain numbers.
type Plain<R> = [R; 4];

fn plain_product<R: Vectors>([a, x, y, z]: Plain<R>, [b, u, v, w]: Plain<R>) -> Plain<R> {
    [
        (-z).fused(w, (-y).fused(v, (-x).fused(u, a * b))),
        z.fused(v, (-y).fused(w, x.fused(b, a * u))),
        x.fused(w, (-z).fused(u, y.fused(b, a * v))),
        y.fused(u, (-x).fused(v, z.fused(b, a * w))),
    ]
}

fn plain_conjugate<R: Vectors>([a, x, y, z]: Plain<R>) -> Plain<R> {
    [a, -x, -y, -z]
}

/// A link by steps in its subgroups: each is given the unit quaternion, its length and the number of the subgroup.
fn plain_update<R: Vectors>(
    call: &PlainCall<'_, R>,
    site: usize,
    mut step: impl FnMut(Plain<R>, R, usize) -> Option<Plain<R>>,
) -> Link<R> {
    let [zero, half, one] = [0.0, 0.5, 1.0].map(R::from_f64);
    let mut u: Link<R> = matrix_of(&call.read("link", site, 0));
    let adjoint = matrix_adjoint(&matrix_of(&call.read("staples", site, 0)));
    for (number, [i, j]) in [[0, 1], [0, 2], [1, 2]].into_iter().enumerate() {
        let w = matrix_times_matrix(&u, &adjoint);
        let q = [w[i][i].re + w[j][j].re, w[i][j].im + w[j][i].im, w[i][j].re - w[j][i].re, w[i][i].im - w[j][j].im];
        let q = q.map(|part| part * half);
        let length = sqrt(q[3].fused(q[3], q[2].fused(q[2], q[1].fused(q[1], q[0] * q[0]))));
        let inverse = one / if zero < length { length } else { one };
        let g = step(q.map(|part| part * inverse), length, number);
        let Some([a, x, y, z]) = g.filter(|_| zero < length) else { continue };
        for k in 0..3 {
            let (above, below) = (u[i][k], u[j][k]);
            u[i][k] = madd(Complex::new(y, x), below, mul(Complex::new(a, z), above));
            u[j][k] = madd(Complex::new(a, -z), below, mul(Complex::new(-y, x), above));
        }
    }
    plain_special_unitary(u)
}

fn plain_special_unitary<R: Vectors>(u: Link<R>) -> Link<R> {
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

fn heat_bath_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let key = ["key_low", "key_middle", "key_high"].map(|name| call.scalar(name));
    let (coupling, event) = (call.scalar("coupling"), call.scalar("event"));
    let [half, one, two] = [0.5, 1.0, 2.0].map(R::from_f64);
    call.each(|call, site, _| {
        let x = call.coordinate(site);
        let uniform = |draw: usize| plain::uniform(x, key, event, R::from_f64(draw as f64));
        let link = plain_update(call, site, |q, length, subgroup| {
            let alpha = coupling * length;
            let distance = (0..ATTEMPTS).find_map(|attempt| {
                let [first, angle, second, threshold] = uniform(subgroup * DRAWS + attempt);
                let [cosine, _] = plain::cos_sin_2pi(angle);
                let tried = -(cosine * cosine).fused(plain::ln(second), plain::ln(first)) / alpha;
                (threshold * threshold <= (-tried).fused(half, one)).then_some(tried)
            })?;
            let radius = sqrt(distance * (two - distance));
            let [height, angle, ..] = uniform(subgroup * DRAWS + DRAWS - 1);
            let [cosine, sine] = plain::cos_sin_2pi(angle);
            let across = radius * two * sqrt(height * (one - height));
            let along = radius * (-two).fused(height, one);
            let h = [one - distance, across * cosine, across * sine, along];
            Some(plain_product(h, plain_conjugate(q)))
        });
        call.write("link", site, 0, &link.concat());
    });
}

fn overrelaxation_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, _| {
        let link = plain_update(call, site, |q, _, _| Some(plain_product(plain_conjugate(q), plain_conjugate(q))));
        call.write("link", site, 0, &link.concat());
    });
}

fn link_energy_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, _| {
        let (link, staples) = (call.read("link", site, 0), call.read("staples", site, 0));
        call.add(0, site, 0, site_inner_product(&staples, &link).re);
    });
}

/// What one draws a link by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Draw {
    /// β of Wilson's action, or what multiplies the sum of staples that is given in its place.
    pub beta: f64,
    /// The seed.
    pub seed: u64,
    /// The event, below 2²⁴: another one for each sweep and direction.
    pub event: u32,
}

/// Heat bath and overrelaxation, on any backend.
pub trait HeatBathKernels: Launch {
    /// Draws each link anew in the field of its staples. Sites must not be neighbours.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports.
    fn heat_bath<R: Vectors>(
        &self,
        link: &mut FieldOn<Self, R, ColourMatrix>,
        staples: &FieldOn<Self, R, ColourMatrix>,
        draw: Draw,
    ) -> Result<(), BackendError> {
        let [low, middle, high] = key_of_seed(draw.seed);
        let arguments = Arguments::new(&HEAT_BATH).write("link", link).read("staples", staples);
        let arguments = arguments.scalar("coupling", 2.0 * draw.beta / 3.0).scalar("event", f64::from(draw.event));
        let arguments = arguments.scalar("key_low", low).scalar("key_middle", middle).scalar("key_high", high);
        self.launch(arguments.call()?)
    }

    /// Reflects each link in the field of its staples. Sites must not be neighbours.
    ///
    /// # Errors
    /// As [`Self::heat_bath`].
    fn overrelaxation<R: Vectors>(
        &self,
        link: &mut FieldOn<Self, R, ColourMatrix>,
        staples: &FieldOn<Self, R, ColourMatrix>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&OVERRELAXATION).write("link", link).read("staples", staples).call()?)
    }

    /// Σ Re tr U V† over the sites, exact and rounded once.
    ///
    /// # Errors
    /// As [`Self::heat_bath`].
    fn link_energy<R: Vectors>(
        &self,
        link: &FieldOn<Self, R, ColourMatrix>,
        staples: &FieldOn<Self, R, ColourMatrix>,
    ) -> Result<f64, BackendError>
    where
        Self: Reduce,
    {
        let call = Arguments::new(&LINK_ENERGY).read("link", link).read("staples", staples).call()?;
        Ok(self.reduce(call, Sum::Exact)?.round()[0])
    }
}
