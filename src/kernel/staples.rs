//! Sums of staples (`docs/arithmetic.md` §20): what multiplies a link in the plaquettes that it is part of. Kernels read the links of each direction as a
//! field of its own. The direction μ of the link is that of the first leg of the call, so that a kernel is one for all four. The kernels are bodies.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{LEGS, LegOrder, directions};
use lanefield_reference::scalar::{Link, matrix_adjoint, matrix_times_matrix};
use num_complex::Complex;

use super::twin::PlainCall;
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, Launch, Memory};
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&STAPLE_SUM];

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

/// Σ_ν [U_ν(x) U_μ(x+ν) U_ν(x+μ)† + U_ν(x−ν)† U_μ(x−ν) U_ν(x−ν+μ)] over the three ν ≠ μ in their order, up before down. `even`: the links in the
/// directions ν on the sites of x; `odd`: on the sites of its neighbours; `along`: those in direction μ, there.
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

/// The words of a matrix, row by row.
pub(crate) fn matrix_of<R: Vectors>(words: &[Complex<R>]) -> Link<R> {
    std::array::from_fn(|row| std::array::from_fn(|column| words[3 * row + column]))
}

/// The staples of a link in plain loops: `link(site, direction, is_odd_distance)` gives the links.
pub(crate) fn plain_staple_sum<R: Vectors>(
    call: &PlainCall<'_, R>,
    site: usize,
    even: [&str; 3],
    odd: [&str; 3],
    along: &str,
) -> Link<R> {
    let [mu, others @ ..] = directions(call.legs());
    let read = |name: &str, site: usize| matrix_of(&call.read(name, site, 0));
    let mut sum: Option<Link<R>> = None;
    for (k, nu) in others.into_iter().enumerate() {
        let at = |displacement| call.displaced(site, displacement);
        let up = matrix_times_matrix(
            &matrix_times_matrix(&read(even[k], site), &read(along, at(step(nu, 1)))),
            &matrix_adjoint(&read(odd[k], at(step(mu, 1)))),
        );
        let down = matrix_times_matrix(
            &matrix_times_matrix(&matrix_adjoint(&read(odd[k], at(step(nu, -1)))), &read(along, at(step(nu, -1)))),
            &read(even[k], at(corner((mu, 1), (nu, -1)))),
        );
        for staple in [up, down] {
            let added = |sum: Link<R>| std::array::from_fn(|i| std::array::from_fn(|j| sum[i][j] + staple[i][j]));
            sum = Some(sum.map_or(staple, added));
        }
    }
    sum.unwrap_or_else(|| unreachable!("there are three other directions"))
}

fn staple_sum_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, _| {
        let sum = plain_staple_sum(call, site, ["a", "b", "c"], ["odd_a", "odd_b", "odd_c"], "along");
        call.write("staples", site, 0, &sum.concat());
    });
}

/// The links that staples around those of one direction are made of. Of a target with all sites, `even` and `odd` are the same.
pub struct StapleLinks<'a, B: Memory + ?Sized, R> {
    /// Links in the direction, on the sites of the target's neighbours.
    pub along: &'a FieldOn<B, R, ColourMatrix>,
    /// Links in the other directions, in their order, on the sites of the target.
    pub even: [&'a FieldOn<B, R, ColourMatrix>; 3],
    /// The same on the sites of the target's neighbours.
    pub odd: [&'a FieldOn<B, R, ColourMatrix>; 3],
}

/// Sums of staples, on any backend.
pub trait StaplesKernels: Launch {
    /// staples = the sum of those of the links in a direction, at the stencil's sites.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports.
    fn staple_sum<R: Vectors>(
        &self,
        staples: &mut FieldOn<Self, R, ColourMatrix>,
        stencil: &Self::Table,
        direction: Direction,
        links: &StapleLinks<'_, Self, R>,
    ) -> Result<(), BackendError> {
        let StapleLinks { along, even: [a, b, c], odd: [odd_a, odd_b, odd_c] } = *links;
        let arguments = Arguments::new(&STAPLE_SUM).write("staples", staples).stencil(stencil);
        let arguments = arguments.legs(LegOrder::beginning_with(direction)).read("along", along);
        let arguments = arguments.read("a", a).read("b", b).read("c", c);
        self.launch(arguments.read("odd_a", odd_a).read("odd_b", odd_b).read("odd_c", odd_c).call()?)
    }
}
