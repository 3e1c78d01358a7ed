//! Gauge fixing (`docs/arithmetic.md` §26): relaxation of a gauge transformation G(x), while the links do not change. Each step increases the
//! functional on one parity, in the SU(2) subgroups (Cabibbo and Marinari 1982) and with overrelaxation (Mandula and Ogilvie 1990). Kernel functions
//! define the kernels; `su2.rs` has the operations in an SU(2) subgroup.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::reduce::{PartialSums, Sum};
use lanefield_reference::layout::{LegOrder, directions};
use lanefield_reference::links::DoubledGauge;
use lanefield_reference::scalar::gauge_fixing as plain;
use lanefield_reference::scalar::{Link, matrix_adjoint, matrix_times_matrix, real_madd, real_times, site_norm2};

use super::loops::{plain_traceless, traceless};
use super::plain::PlainCall;
use super::staples::Matrices;
use super::su2::{self, Quaternion};
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, Launch, Reduce};
use crate::body::number;
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&GAUGE_RELAXED, &GAUGE_CONDITION, &GAUGE_TRANSFORMED];

/// The inverse of the factor −½ in doubled links.
const UNDOUBLED: f64 = -2.0;

/// Σ_μ [U_μ(x) G(x+μ)† + U_μ(x−μ)† G(x−μ)†] in leg order. The direction of the first leg is multiplied by `weight`.
#[inline(always)]
fn sum_of_legs<S: Site>(links: Links<S>, there: Neighbours<S, ColourMatrix>, weight: S::Real) -> Matrix<S::Complex> {
    let legs = links.legs();
    let [weighted, ..] = directions(legs);
    let mut sum = Matrix::empty_sum();
    for leg in legs {
        let product = links.at(leg) * there.at(leg).adjoint();
        let is_weighted = leg.dimension() == weighted.index();
        sum = if is_weighted { product.scaled_add(weight, sum) } else { sum + product };
    }
    sum.scaled(S::Real::constant(UNDOUBLED))
}

/// For q = (cos φ, n sin φ), the quaternion of φ' with tan(φ'/2) = ω·tan(φ/2). It is q itself for ω = 1, and close to q^ω for small φ.
#[inline(always)]
fn further<R: number::RealNumber>(Quaternion([a, x, y, z]): Quaternion<R>, omega: R) -> Quaternion<R> {
    let (one, square) = (R::constant(1.0), omega * omega);
    let (below, above) = (one - a, one + a);
    let denominator = square.fma(below, above);
    let factor = (omega + omega) / denominator;
    Quaternion([(-square).fma(below, above) / denominator, factor * x, factor * y, factor * z])
}

/// g ← relaxed g: each SU(2) subgroup in turn maximises Re tr g·(sum over legs of links and neighbours), overrelaxed by `omega`.
#[lane_kernel(family = "gauge_fixing", twin = gauge_relaxed_twin)]
pub fn gauge_relaxed<S: Site>(
    g: Update<S, ColourMatrix>,
    links: Links<S>,
    there: Neighbours<S, ColourMatrix>,
    weight: Scalar<S>,
    omega: Scalar<S>,
) {
    let sum = sum_of_legs(links, there, weight.get());
    let mut turned = g.here();
    for subgroup in su2::SUBGROUPS {
        let (q, length) = su2::projected::<S>(turned, sum, subgroup);
        let exists = S::Real::constant(0.0).less(length);
        turned = su2::times_where::<S>(exists, further(q.conjugate(), omega.get()), turned, subgroup);
    }
    g.write(su2::special_unitary::<S>(turned));
}

/// For each slice functional = Σ Re tr w and divergence = Σ |traceless anti-Hermitian part of w|², w = g·(sum over legs of links and neighbours).
#[lane_kernel(family = "gauge_fixing", twin = gauge_condition_twin)]
pub fn gauge_condition<S: Site>(
    g: Read<S, ColourMatrix>,
    links: Links<S>,
    there: Neighbours<S, ColourMatrix>,
    weight: Scalar<S>,
    functional: SliceSum<S>,
    divergence: SliceSum<S>,
) {
    let w = g.here() * sum_of_legs(links, there, weight.get());
    let [first, second, third] = [0, 4, 8].map(|word| w.0[word].re().promoted());
    functional.add(first + second + third);
    divergence.add(traceless(w).norm2());
}

/// link ← g(x) link(x) g(x+μ)†, μ the first leg of the call.
#[lane_kernel(family = "gauge_fixing", twin = gauge_transformed_twin)]
pub fn gauge_transformed<S: Site>(
    site: S,
    link: Update<S, ColourMatrix>,
    g: Read<S, ColourMatrix>,
    there: Neighbours<S, ColourMatrix>,
) {
    let [leg, ..] = site.legs();
    link.write(g.here() * link.here() * there.at(leg).adjoint());
}

/// The sum over legs at a site, for the reference implementations.
fn plain_sum_of_legs<R: Vectors>(call: &PlainCall<'_, R>, site: usize, weight: R) -> Link<R> {
    let [weighted, ..] = directions(call.legs());
    let mut sum: Option<Link<R>> = None;
    for leg in call.legs() {
        let there = call.matrix("there", call.neighbour(site, leg));
        let product = matrix_times_matrix(&call.link(site, leg), &matrix_adjoint(&there));
        let is_weighted = leg.dimension() == weighted.index();
        let word = |row: usize, column: usize| match (&sum, is_weighted) {
            (None, true) => real_times(weight, product[row][column]),
            (None, false) => product[row][column],
            (Some(sum), true) => real_madd(weight, product[row][column], sum[row][column]),
            (Some(sum), false) => sum[row][column] + product[row][column],
        };
        sum = Some(std::array::from_fn(|row| std::array::from_fn(|column| word(row, column))));
    }
    sum.unwrap_or_default().map(|row| row.map(|word| real_times(R::from_f64(UNDOUBLED), word)))
}

fn gauge_relaxed_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let (weight, omega) = (call.scalar("weight"), call.scalar("omega"));
    call.write_matrices("g", |call, site| {
        plain::relaxed(&call.matrix("g", site), &plain_sum_of_legs(call, site, weight), omega)
    });
}

fn gauge_condition_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let weight = call.scalar("weight");
    call.each(|call, site, _| {
        let w = matrix_times_matrix(&call.matrix("g", site), &plain_sum_of_legs(call, site, weight));
        let [first, second, third] = [0, 1, 2].map(|k| w[k][k].re.to_f64());
        call.add(0, site, 0, first + second + third);
        call.add(1, site, 0, site_norm2(&plain_traceless(&w).concat()));
    });
}

fn gauge_transformed_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let [leg, ..] = call.legs();
    call.write_matrices("link", |call, site| {
        let [link, g] = ["link", "g"].map(|name| call.matrix(name, site));
        let there = call.matrix("there", call.neighbour(site, leg));
        matrix_times_matrix(&matrix_times_matrix(&g, &link), &matrix_adjoint(&there))
    });
}

/// The inputs of a step and of a measurement at the sites of a stencil, in addition to the gauge transformation there.
pub struct Surroundings<'a, B: Launch + ?Sized, R: Vectors> {
    /// The stencil of these sites.
    pub stencil: &'a B::Table,
    /// The links of these sites, periodic.
    pub links: &'a FieldOn<B, R, DoubledGauge>,
    /// The gauge transformation at the neighbours.
    pub there: &'a Matrices<B, R>,
    /// The first direction in leg order. Slices are across it.
    pub direction: Direction,
    /// The weight of the links in this direction: 1 like the others, or 0 to leave them out.
    pub weight: f64,
}

/// Steps of gauge fixing, on any backend.
pub trait GaugeFixingKernels: Launch {
    /// Updates the gauge transformation g to increase the functional, overrelaxed by ω. The sites must not be neighbours of each other.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn gauge_relaxed<R: Vectors>(
        &self,
        g: &mut Matrices<Self, R>,
        around: &Surroundings<'_, Self, R>,
        omega: f64,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&GAUGE_RELAXED).write("g", g).read("links", around.links);
        let arguments = arguments.stencil(around.stencil).legs(LegOrder::beginning_with(around.direction));
        let arguments = arguments.scalar("weight", around.weight).scalar("omega", omega);
        self.launch(arguments.read("there", around.there).call()?)
    }

    /// For each slice, the exact sums of Re tr w and of |traceless anti-Hermitian part of w|².
    fn gauge_condition<R: Vectors>(
        &self,
        g: &Matrices<Self, R>,
        around: &Surroundings<'_, Self, R>,
    ) -> Result<PartialSums, BackendError>
    where
        Self: Reduce,
    {
        let arguments = Arguments::new(&GAUGE_CONDITION).read("g", g).read("links", around.links);
        let arguments = arguments.stencil(around.stencil).legs(LegOrder::beginning_with(around.direction));
        let arguments = arguments.direction(around.direction).scalar("weight", around.weight);
        self.reduce(arguments.read("there", around.there).call()?, Sum::Exact)
    }

    /// link ← g(x) link(x) g(x+μ)†, for links in one direction.
    fn gauge_transformed<R: Vectors>(
        &self,
        link: &mut Matrices<Self, R>,
        stencil: &Self::Table,
        mu: Direction,
        [g, there]: [&Matrices<Self, R>; 2],
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&GAUGE_TRANSFORMED).write("link", link).stencil(stencil);
        self.launch(arguments.legs(LegOrder::beginning_with(mu)).read("g", g).read("there", there).call()?)
    }
}
