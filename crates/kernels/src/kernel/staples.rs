//! Sums of staples (`docs/arithmetic.md` §20): the factors of a link in the plaquettes that contain it. Kernels read the links of each direction as
//! a field of its own. The direction μ of the link is that of the first leg of the call, so one kernel serves all four. Kernel functions define them.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{LEGS, LegOrder, directions};
use lanefield_reference::scalar::{Link, matrix_adjoint, matrix_times_matrix, real_madd};

use super::plain::PlainCall;
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, Launch};
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&STAPLE_SUM, &STAPLE_UP, &STAPLE_DOWN];

/// One step in a direction.
#[inline(always)]
pub(crate) fn step(direction: Direction, steps: i8) -> Displacement {
    Displacement::along(direction, steps)
}

/// One step in each of two directions.
#[inline(always)]
pub(crate) fn corner((mu, to_mu): (Direction, i8), (nu, to_nu): (Direction, i8)) -> Displacement {
    let mut steps = [0; 4];
    steps[mu.index()] = to_mu;
    steps[nu.index()] = to_nu;
    Displacement::new(steps)
}

/// Σ_ν [U_ν(x) U_μ(x+ν) U_ν(x+μ)† + U_ν(x−ν)† U_μ(x−ν) U_ν(x−ν+μ)] over the three ν ≠ μ in their order, up before down.
///
/// `even`: the links in the directions ν on the sites of x. `odd`: those on the sites of its neighbours. `along`: the links in direction μ on the
/// sites of its neighbours.
#[inline(always)]
pub(crate) fn staple_sum_at<S: Site>(
    legs: [Leg; LEGS],
    even: [EvenDistance<S, ColourMatrix>; 3],
    odd: [OddDistance<S, ColourMatrix>; 3],
    along: OddDistance<S, ColourMatrix>,
) -> Matrix<S::Complex> {
    let [mu, others @ ..] = directions(legs);
    let mut sum = Matrix::empty_sum();
    for (k, nu) in others.into_iter().enumerate() {
        let up = even[k].here() * along.at(step(nu, 1)) * odd[k].at(step(mu, 1)).adjoint();
        let down = odd[k].at(step(nu, -1)).adjoint() * along.at(step(nu, -1)) * even[k].at(corner((mu, 1), (nu, -1)));
        sum = sum + up + down;
    }
    sum
}

/// staples = the sum of the staples of the links in the direction of the first leg. The other directions are a, b and c, in the order of the call.
#[lane_kernel(family = "staples", twin = staple_sum_twin)]
#[allow(clippy::too_many_arguments)]
pub fn staple_sum<S: Site>(
    site: S,
    staples: Write<S, ColourMatrix>,
    along: OddDistance<S, ColourMatrix>,
    a: EvenDistance<S, ColourMatrix>,
    b: EvenDistance<S, ColourMatrix>,
    c: EvenDistance<S, ColourMatrix>,
    odd_a: OddDistance<S, ColourMatrix>,
    odd_b: OddDistance<S, ColourMatrix>,
    odd_c: OddDistance<S, ColourMatrix>,
) {
    staples.write(staple_sum_at(site.legs(), [a, b, c], [odd_a, odd_b, odd_c], along));
}

/// The staples of a link by the scalar reference. `link(site, direction, is_odd_distance)` returns the links.
pub(crate) fn plain_staple_sum<R: Vectors>(
    call: &PlainCall<'_, R>,
    site: usize,
    even: [&str; 3],
    odd: [&str; 3],
    along: &str,
) -> Link<R> {
    let [mu, others @ ..] = directions(call.legs());
    let there = |name: &str, displacement| call.matrix_at(name, site, displacement);
    let mut sum: Option<Link<R>> = None;
    for (k, nu) in others.into_iter().enumerate() {
        let up = matrix_times_matrix(
            &matrix_times_matrix(&call.matrix(even[k], site), &there(along, step(nu, 1))),
            &matrix_adjoint(&there(odd[k], step(mu, 1))),
        );
        let down = matrix_times_matrix(
            &matrix_times_matrix(&matrix_adjoint(&there(odd[k], step(nu, -1))), &there(along, step(nu, -1))),
            &there(even[k], corner((mu, 1), (nu, -1))),
        );
        for staple in [up, down] {
            let added = |sum: Link<R>| std::array::from_fn(|i| std::array::from_fn(|j| sum[i][j] + staple[i][j]));
            sum = Some(sum.map_or(staple, added));
        }
    }
    sum.unwrap_or_else(|| unreachable!("there are three other directions"))
}

fn staple_sum_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.write_matrices("staples", |call, site| {
        plain_staple_sum(call, site, ["a", "b", "c"], ["odd_a", "odd_b", "odd_c"], "along")
    });
}

/// out ← c·a(x) x(x+ν) b(x+μ)† + out, with μ and ν the first two directions of the call. x lies along μ: with links in direction ν for a and b, a staple.
#[lane_kernel(family = "staples", twin = staple_up_twin)]
pub fn staple_up<S: Site>(
    site: S,
    out: Update<S, ColourMatrix>,
    c: Scalar<S>,
    a: Read<S, ColourMatrix>,
    x: OddDistance<S, ColourMatrix>,
    b: OddDistance<S, ColourMatrix>,
) {
    let [mu, nu, ..] = directions(site.legs());
    let staple = a.here() * x.at(step(nu, 1)) * b.at(step(mu, 1)).adjoint();
    out.write(staple.scaled_add(c.get(), out.here()));
}

fn staple_up_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let ([mu, nu, ..], c) = (directions(call.legs()), call.scalar("c"));
    call.write_matrices("out", |call, site| {
        let (x, b) = (call.matrix_at("x", site, step(nu, 1)), call.matrix_at("b", site, step(mu, 1)));
        let staple = matrix_times_matrix(&matrix_times_matrix(&call.matrix("a", site), &x), &matrix_adjoint(&b));
        added(c, &staple, &call.matrix("out", site))
    });
}

/// out ← c·a(x−ν)† x(x−ν) b(x−ν+μ) + out, with μ and ν the first two directions of the call: as [`staple_up`], but downwards.
#[lane_kernel(family = "staples", twin = staple_down_twin)]
pub fn staple_down<S: Site>(
    site: S,
    out: Update<S, ColourMatrix>,
    c: Scalar<S>,
    a: OddDistance<S, ColourMatrix>,
    x: OddDistance<S, ColourMatrix>,
    b: EvenDistance<S, ColourMatrix>,
) {
    let [mu, nu, ..] = directions(site.legs());
    let staple = a.at(step(nu, -1)).adjoint() * x.at(step(nu, -1)) * b.at(corner((mu, 1), (nu, -1)));
    out.write(staple.scaled_add(c.get(), out.here()));
}

fn staple_down_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let ([mu, nu, ..], c) = (directions(call.legs()), call.scalar("c"));
    call.write_matrices("out", |call, site| {
        let [a, x] = ["a", "x"].map(|name| call.matrix_at(name, site, step(nu, -1)));
        let b = call.matrix_at("b", site, corner((mu, 1), (nu, -1)));
        let staple = matrix_times_matrix(&matrix_times_matrix(&matrix_adjoint(&a), &x), &b);
        added(c, &staple, &call.matrix("out", site))
    });
}

/// c·staple + before.
fn added<R: Vectors>(c: R, staple: &Link<R>, before: &Link<R>) -> Link<R> {
    std::array::from_fn(|row| std::array::from_fn(|column| real_madd(c, staple[row][column], before[row][column])))
}

/// A field of colour matrices on a backend.
pub(crate) type Matrices<B, R> = FieldOn<B, R, ColourMatrix>;

/// Sums of staples, on any backend.
pub trait StaplesKernels: Launch {
    /// staples = the sum of the staples of the links in direction `mu`, at the stencil's sites. `even`: the links of the four directions on the
    /// target's sites. `odd`: those on the sites of their neighbours. If the target has all sites, both are the same.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn staple_sum<R: Vectors>(
        &self,
        staples: &mut Matrices<Self, R>,
        stencil: &Self::Table,
        [even, odd]: [[&Matrices<Self, R>; 4]; 2],
        mu: Direction,
    ) -> Result<(), BackendError> {
        let legs = LegOrder::beginning_with(mu);
        let [_, a, b, c] = directions(legs.legs()).map(Direction::index);
        let arguments = Arguments::new(&STAPLE_SUM).write("staples", staples).stencil(stencil).legs(legs);
        let arguments = arguments.read("along", odd[mu.index()]);
        let arguments = arguments.read("a", even[a]).read("b", even[b]).read("c", even[c]);
        self.launch(arguments.read("odd_a", odd[a]).read("odd_b", odd[b]).read("odd_c", odd[c]).call()?)
    }

    /// out ← c·a(x) x(x+ν) b(x+μ)† + out.
    fn staple_up<R: Vectors>(
        &self,
        out: &mut Matrices<Self, R>,
        stencil: &Self::Table,
        (mu, nu): (Direction, Direction),
        c: f64,
        [a, x, b]: [&Matrices<Self, R>; 3],
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&STAPLE_UP).write("out", out).scalar("c", c).stencil(stencil);
        let arguments = arguments.legs(LegOrder::beginning_with_plane(mu, nu));
        self.launch(arguments.read("a", a).read("x", x).read("b", b).call()?)
    }

    /// out ← c·a(x−ν)† x(x−ν) b(x−ν+μ) + out.
    fn staple_down<R: Vectors>(
        &self,
        out: &mut Matrices<Self, R>,
        stencil: &Self::Table,
        (mu, nu): (Direction, Direction),
        c: f64,
        [a, x, b]: [&Matrices<Self, R>; 3],
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&STAPLE_DOWN).write("out", out).scalar("c", c).stencil(stencil);
        let arguments = arguments.legs(LegOrder::beginning_with_plane(mu, nu));
        self.launch(arguments.read("a", a).read("x", x).read("b", b).call()?)
    }
}
