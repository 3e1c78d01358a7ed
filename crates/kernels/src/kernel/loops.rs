//! Closed paths of links (`docs/arithmetic.md` §21): plaquettes, rectangles, the clover leaves of a plane, and lines of links, from which Polyakov
//! and Wilson loops are computed. Kernels read the links of each direction as a field of its own. The plane μν is that of the first two directions
//! of the call, so one kernel serves all planes. Kernel functions define them.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::reduce::{PartialSums, Sum};
use lanefield_reference::layout::{LegOrder, directions};
use lanefield_reference::real::Real;
use lanefield_reference::scalar::{
    Link, matrix_adjoint, matrix_times_matrix, real_times, site_inner_product, site_norm2,
};
use num_complex::Complex;

use super::plain::PlainCall;
use super::staples::{Matrices, corner, step};
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, Reduce};
use crate::body::number;
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[
    &PLAQUETTE_SUM,
    &RECTANGLE_SUM,
    &CLOVER_LEAVES,
    &WIDE_CLOVER_LEAVES,
    &TRANSPORTED,
    &SHIFTED,
    &LOOP_SUM,
    &LINK_DISTANCE,
];

/// plaquettes = Σ Re tr P of the plane of the call: U_μ(x) U_ν(x+μ) against U_ν(x) U_μ(x+ν).
#[lane_kernel(family = "loops", twin = plaquette_sum_twin)]
pub fn plaquette_sum<S: Site>(
    site: S,
    mu: Read<S, ColourMatrix>,
    nu: Read<S, ColourMatrix>,
    odd_mu: OddDistance<S, ColourMatrix>,
    odd_nu: OddDistance<S, ColourMatrix>,
    plaquettes: ExactSum<S>,
) {
    let [to_mu, to_nu, ..] = directions(site.legs());
    let one = mu.here() * odd_nu.at(step(to_mu, 1));
    let other = nu.here() * odd_mu.at(step(to_nu, 1));
    let [re, _] = one.inner_product(other);
    plaquettes.add(re);
}

/// Re tr A B†, as the kernels compute it.
fn real_trace<R: Vectors>(a: &Link<R>, b: &Link<R>) -> f64 {
    site_inner_product(&a.concat(), &b.concat()).re
}

fn plaquette_sum_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let [mu, nu, ..] = directions(call.legs());
    call.each(|call, site, part| {
        let here = |name| call.matrix(name, site);
        let one = matrix_times_matrix(&here("mu"), &call.matrix_at("odd_nu", site, step(mu, 1)));
        let other = matrix_times_matrix(&here("nu"), &call.matrix_at("odd_mu", site, step(nu, 1)));
        call.add(0, site, part, real_trace(&one, &other));
    });
}

/// rectangles = Σ Re tr of two steps along μ by one along ν: U_μ(x) U_μ(x+μ) U_ν(x+2μ) against U_ν(x) U_μ(x+ν) U_μ(x+ν+μ).
#[lane_kernel(family = "loops", twin = rectangle_sum_twin)]
pub fn rectangle_sum<S: Site>(
    site: S,
    mu: EvenDistance<S, ColourMatrix>,
    nu: EvenDistance<S, ColourMatrix>,
    odd_mu: OddDistance<S, ColourMatrix>,
    rectangles: ExactSum<S>,
) {
    let [to_mu, to_nu, ..] = directions(site.legs());
    let one = mu.here() * odd_mu.at(step(to_mu, 1)) * nu.at(step(to_mu, 2));
    let other = nu.here() * odd_mu.at(step(to_nu, 1)) * mu.at(corner((to_mu, 1), (to_nu, 1)));
    let [re, _] = one.inner_product(other);
    rectangles.add(re);
}

fn rectangle_sum_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let [mu, nu, ..] = directions(call.legs());
    call.each(|call, site, part| {
        let here = |name| call.matrix(name, site);
        let product = |[a, b, c]: [Link<R>; 3]| matrix_times_matrix(&matrix_times_matrix(&a, &b), &c);
        let one =
            product([here("mu"), call.matrix_at("odd_mu", site, step(mu, 1)), call.matrix_at("nu", site, step(mu, 2))]);
        let other = [
            here("nu"),
            call.matrix_at("odd_mu", site, step(nu, 1)),
            call.matrix_at("mu", site, corner((mu, 1), (nu, 1))),
        ];
        call.add(0, site, part, real_trace(&one, &product(other)));
    });
}

/// The traceless anti-Hermitian part of a matrix: (m − m†)/2 minus a third of its trace.
#[inline(always)]
pub(crate) fn traceless<C: number::ComplexNumber>(m: Matrix<C>) -> Matrix<C> {
    let half = C::Real::constant(0.5);
    let mut part = m;
    for (row, column) in [(0, 1), (0, 2), (1, 2)] {
        let difference = (m.0[3 * row + column] - m.0[3 * column + row].conj()).scaled(half);
        part.0[3 * row + column] = difference;
        part.0[3 * column + row] = -difference.conj();
    }
    let third = (m.0[0].im() + m.0[4].im() + m.0[8].im()) * C::Real::constant(1.0 / 3.0);
    for word in [0, 4, 8] {
        part.0[word] = C::new(C::Real::constant(0.0), m.0[word].im() - third);
    }
    part
}

/// As [`traceless`], in plain numbers.
pub(crate) fn plain_traceless<R: Real>(m: &Link<R>) -> Link<R> {
    let mut part = *m;
    for row in 0..3 {
        for column in row + 1..3 {
            let difference = real_times(R::from_f64(0.5), m[row][column] - m[column][row].conj());
            part[row][column] = difference;
            part[column][row] = -difference.conj();
        }
    }
    let third = (m[0][0].im + m[1][1].im + m[2][2].im) * R::from_f64(1.0 / 3.0);
    for k in 0..3 {
        part[k][k] = Complex::new(R::from_f64(0.0), m[k][k].im - third);
    }
    part
}

/// out = the field strength of the plane: a quarter of the traceless anti-Hermitian part of the sum of the four leaves about x.
///
/// Each leaf begins along +μ, +ν, −μ or −ν, and goes round anticlockwise.
#[lane_kernel(family = "loops", twin = clover_leaves_twin)]
pub fn clover_leaves<S: Site>(
    site: S,
    out: Write<S, ColourMatrix>,
    mu: EvenDistance<S, ColourMatrix>,
    nu: EvenDistance<S, ColourMatrix>,
    odd_mu: OddDistance<S, ColourMatrix>,
    odd_nu: OddDistance<S, ColourMatrix>,
) {
    let [m, n, ..] = directions(site.legs());
    let (up, down) = (1, -1);
    let first = mu.here() * odd_nu.at(step(m, up)) * odd_mu.at(step(n, up)).adjoint() * nu.here().adjoint();
    let second = nu.here()
        * mu.at(corner((m, down), (n, up))).adjoint()
        * odd_nu.at(step(m, down)).adjoint()
        * odd_mu.at(step(m, down));
    let third = odd_mu.at(step(m, down)).adjoint()
        * nu.at(corner((m, down), (n, down))).adjoint()
        * mu.at(corner((m, down), (n, down)))
        * odd_nu.at(step(n, down));
    let fourth = odd_nu.at(step(n, down)).adjoint()
        * odd_mu.at(step(n, down))
        * nu.at(corner((m, up), (n, down)))
        * mu.here().adjoint();
    out.write(strength([first, second, third, fourth]));
}

/// The field strength of four leaves.
#[inline(always)]
fn strength<C: number::ComplexNumber>([first, second, third, fourth]: [Matrix<C>; 4]) -> Matrix<C> {
    traceless(first + second + third + fourth).scaled(C::Real::constant(0.25))
}

fn clover_leaves_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let [m, n, ..] = directions(call.legs());
    call.write_matrices("out", |call, site| {
        let here = |name| call.matrix(name, site);
        let there = |name, to| call.matrix_at(name, site, to);
        let back = |link: Link<R>| matrix_adjoint(&link);
        let (up, down) = (1, -1);
        let leaves = [
            [here("mu"), there("odd_nu", step(m, up)), back(there("odd_mu", step(n, up))), back(here("nu"))],
            [
                here("nu"),
                back(there("mu", corner((m, down), (n, up)))),
                back(there("odd_nu", step(m, down))),
                there("odd_mu", step(m, down)),
            ],
            [
                back(there("odd_mu", step(m, down))),
                back(there("nu", corner((m, down), (n, down)))),
                there("mu", corner((m, down), (n, down))),
                there("odd_nu", step(n, down)),
            ],
            [
                back(there("odd_nu", step(n, down))),
                there("odd_mu", step(n, down)),
                there("nu", corner((m, up), (n, down))),
                back(here("mu")),
            ],
        ];
        plain_strength(leaves)
    });
}

/// The field strength of four leaves, each a product of links from the left.
fn plain_strength<R: Real>(leaves: [[Link<R>; 4]; 4]) -> Link<R> {
    let products =
        leaves.map(|[first, rest @ ..]| rest.iter().fold(first, |product, link| matrix_times_matrix(&product, link)));
    let sum = products.into_iter().reduce(|sum, leaf| {
        std::array::from_fn(|row| std::array::from_fn(|column| sum[row][column] + leaf[row][column]))
    });
    plain_traceless(&sum.unwrap_or_default()).map(|row| row.map(|word| real_times(R::from_f64(0.25), word)))
}

/// out = the field strength from squares of two by two steps.
///
/// As [`clover_leaves`], with lines of two links, `mu` and `nu`. `mu_up`: mu(x + 2ν); `mu_down`: mu(x − 2ν); `nu_down`: nu(x − 2ν).
#[lane_kernel(family = "loops", twin = wide_clover_leaves_twin)]
pub fn wide_clover_leaves<S: Site>(
    site: S,
    out: Write<S, ColourMatrix>,
    mu: EvenDistance<S, ColourMatrix>,
    nu: EvenDistance<S, ColourMatrix>,
    mu_up: EvenDistance<S, ColourMatrix>,
    mu_down: EvenDistance<S, ColourMatrix>,
    nu_down: EvenDistance<S, ColourMatrix>,
) {
    let [m, ..] = directions(site.legs());
    let (up, down) = (step(m, 2), step(m, -2));
    let first = mu.here() * nu.at(up) * mu_up.here().adjoint() * nu.here().adjoint();
    let second = nu.here() * mu_up.at(down).adjoint() * nu.at(down).adjoint() * mu.at(down);
    let third = mu.at(down).adjoint() * nu_down.at(down).adjoint() * mu_down.at(down) * nu_down.here();
    let fourth = nu_down.here().adjoint() * mu_down.here() * nu_down.at(up) * mu.here().adjoint();
    out.write(strength([first, second, third, fourth]));
}

fn wide_clover_leaves_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let [m, ..] = directions(call.legs());
    call.write_matrices("out", |call, site| {
        let here = |name| call.matrix(name, site);
        let up = |name| call.matrix_at(name, site, step(m, 2));
        let down = |name| call.matrix_at(name, site, step(m, -2));
        let back = |link: Link<R>| matrix_adjoint(&link);
        let leaves = [
            [here("mu"), up("nu"), back(here("mu_up")), back(here("nu"))],
            [here("nu"), back(down("mu_up")), back(down("nu")), down("mu")],
            [back(down("mu")), back(down("nu_down")), down("mu_down"), here("nu_down")],
            [back(here("nu_down")), here("mu_down"), up("nu_down"), back(here("mu"))],
        ];
        plain_strength(leaves)
    });
}

/// out = a(x) y(x+μ), μ the first direction of the call: a line of links that is longer by one.
#[lane_kernel(family = "loops", twin = transported_twin)]
pub fn transported<S: Site>(
    site: S,
    out: Write<S, ColourMatrix>,
    a: Read<S, ColourMatrix>,
    y: OddDistance<S, ColourMatrix>,
) {
    let [mu, ..] = directions(site.legs());
    out.write(a.here() * y.at(step(mu, 1)));
}

fn transported_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let [mu, ..] = directions(call.legs());
    call.write_matrices("out", |call, site| {
        matrix_times_matrix(&call.matrix("a", site), &call.matrix_at("y", site, step(mu, 1)))
    });
}

/// out = y at the neighbour along the first leg of the call.
#[lane_kernel(family = "loops", twin = shifted_twin)]
pub fn shifted<S: Site>(site: S, out: Write<S, ColourMatrix>, y: OddDistance<S, ColourMatrix>) {
    let [leg, ..] = site.legs();
    out.write(y.at(leg.into()));
}

fn shifted_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let [leg, ..] = call.legs();
    call.write_matrices("out", |call, site| call.matrix_at("y", site, leg.into()));
}

/// loops = Σ Re tr (a·b)(c·d)†.
#[lane_kernel(family = "loops", twin = loop_sum_twin)]
pub fn loop_sum<S: Site>(
    a: Read<S, ColourMatrix>,
    b: Read<S, ColourMatrix>,
    c: Read<S, ColourMatrix>,
    d: Read<S, ColourMatrix>,
    loops: ExactSum<S>,
) {
    let (one, other) = (a.here() * b.here(), c.here() * d.here());
    let [re, _] = one.inner_product(other);
    loops.add(re);
}

fn loop_sum_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let here = |name| call.matrix(name, site);
        let one = matrix_times_matrix(&here("a"), &here("b"));
        let other = matrix_times_matrix(&here("c"), &here("d"));
        call.add(0, site, part, real_trace(&one, &other));
    });
}

/// out = |x − y|² of each site, rounded, and its exact sum.
#[lane_kernel(family = "loops", twin = link_distance_twin)]
pub fn link_distance<S: Site>(
    out: Write<S, ComplexNumber>,
    x: Read<S, ColourMatrix>,
    y: Read<S, ColourMatrix>,
    distances: ExactSum<S>,
) {
    let difference = x.here() - y.here();
    let mut squares = S::Real::constant(0.0);
    for word in difference.0 {
        squares = word.im().fma(word.im(), word.re().fma(word.re(), squares));
    }
    out.write(One([S::Complex::new(squares, S::Real::constant(0.0))]));
    distances.add(difference.norm2());
}

fn link_distance_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let (x, y) = (call.read("x", site, 0), call.read("y", site, 0));
        let difference: Vec<Complex<R>> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
        let zero = R::from_f64(0.0);
        let squares = difference.iter().fold(zero, |sum, word| word.im.fused(word.im, word.re.fused(word.re, sum)));
        call.write("out", site, part, &[Complex::new(squares, zero)]);
        call.add(0, site, part, site_norm2(&difference));
    });
}

/// Closed paths of links, on any backend. Fields are on all sites of a lattice; each field of links is of one direction.
pub trait LoopsKernels: Reduce {
    /// Σ Re tr of the plaquettes of a plane. `stencil`: that of all sites.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn plaquette_sum<R: Vectors>(
        &self,
        stencil: &Self::Table,
        (mu, nu): (Direction, Direction),
        [along_mu, along_nu]: [&Matrices<Self, R>; 2],
    ) -> Result<PartialSums, BackendError> {
        let arguments = Arguments::new(&PLAQUETTE_SUM).stencil(stencil).legs(LegOrder::beginning_with_plane(mu, nu));
        let arguments = arguments.read("mu", along_mu).read("nu", along_nu);
        self.reduce(arguments.read("odd_mu", along_mu).read("odd_nu", along_nu).call()?, Sum::Exact)
    }

    /// Σ Re tr of the rectangles of two steps along μ and one along ν.
    fn rectangle_sum<R: Vectors>(
        &self,
        stencil: &Self::Table,
        (mu, nu): (Direction, Direction),
        [along_mu, along_nu]: [&Matrices<Self, R>; 2],
    ) -> Result<PartialSums, BackendError> {
        let arguments = Arguments::new(&RECTANGLE_SUM).stencil(stencil).legs(LegOrder::beginning_with_plane(mu, nu));
        let arguments = arguments.read("mu", along_mu).read("nu", along_nu).read("odd_mu", along_mu);
        self.reduce(arguments.call()?, Sum::Exact)
    }

    /// out = the field strength of a plane, traceless and anti-Hermitian.
    fn clover_leaves<R: Vectors>(
        &self,
        out: &mut Matrices<Self, R>,
        stencil: &Self::Table,
        (mu, nu): (Direction, Direction),
        [along_mu, along_nu]: [&Matrices<Self, R>; 2],
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&CLOVER_LEAVES).write("out", out).stencil(stencil);
        let arguments = arguments.legs(LegOrder::beginning_with_plane(mu, nu));
        let arguments = arguments.read("mu", along_mu).read("nu", along_nu);
        self.launch(arguments.read("odd_mu", along_mu).read("odd_nu", along_nu).call()?)
    }

    /// out = the field strength from squares of two by two steps.
    ///
    /// `lines`: two links each, along μ and ν, then those of μ two steps up and down ν, and those of ν two steps down ν.
    fn wide_clover_leaves<R: Vectors>(
        &self,
        out: &mut Matrices<Self, R>,
        stencil: &Self::Table,
        (mu, nu): (Direction, Direction),
        lines: [&Matrices<Self, R>; 5],
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&WIDE_CLOVER_LEAVES).write("out", out).stencil(stencil);
        let arguments = arguments.legs(LegOrder::beginning_with_plane(mu, nu));
        let names = ["mu", "nu", "mu_up", "mu_down", "nu_down"];
        let arguments = names.into_iter().zip(lines).fold(arguments, |all, (name, line)| all.read(name, line));
        self.launch(arguments.call()?)
    }

    /// out = a(x) y(x+μ).
    fn transported<R: Vectors>(
        &self,
        out: &mut Matrices<Self, R>,
        stencil: &Self::Table,
        mu: Direction,
        a: &Matrices<Self, R>,
        y: &Matrices<Self, R>,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&TRANSPORTED).write("out", out).stencil(stencil);
        self.launch(arguments.legs(LegOrder::beginning_with(mu)).read("a", a).read("y", y).call()?)
    }

    /// out = y at the neighbour along a leg.
    fn shifted<R: Vectors>(
        &self,
        out: &mut Matrices<Self, R>,
        stencil: &Self::Table,
        leg: Leg,
        y: &Matrices<Self, R>,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&SHIFTED).write("out", out).stencil(stencil);
        self.launch(arguments.legs(LegOrder::beginning_with_leg(leg)).read("y", y).call()?)
    }

    /// Σ Re tr (a·b)(c·d)†.
    fn loop_sum<R: Vectors>(&self, [a, b, c, d]: [&Matrices<Self, R>; 4]) -> Result<PartialSums, BackendError> {
        let arguments = Arguments::new(&LOOP_SUM).read("a", a).read("b", b).read("c", c).read("d", d);
        self.reduce(arguments.call()?, Sum::Exact)
    }

    /// out = |x − y|² of each site, and the sum.
    fn link_distance<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, lanefield_reference::object::ComplexNumber>,
        x: &Matrices<Self, R>,
        y: &Matrices<Self, R>,
    ) -> Result<PartialSums, BackendError> {
        let arguments = Arguments::new(&LINK_DISTANCE).write("out", out).read("x", x).read("y", y);
        self.reduce(arguments.call()?, Sum::Exact)
    }
}
