//! Heat bath and overrelaxation of links in the field of their staples (`docs/arithmetic.md` §23). They act in the SU(2) subgroups of Cabibbo and
//! Marinari (1982), by the method of Kennedy and Pendleton (1985) and that of Creutz (1987). The random numbers are functions of (seed, sweep, site,
//! direction, draw). Kernel functions define the kernels; `su2.rs` has the operations in an SU(2) subgroup.

use lanefield_reference::body::functions::{cos_sin_2pi, ln};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::random::key_of_seed;
use lanefield_reference::scalar::heat_bath as plain;
use lanefield_reference::scalar::site_inner_product;

use super::plain::PlainCall;
use super::su2::{self, Quaternion};
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, Launch, Reduce};
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&HEAT_BATH, &OVERRELAXATION, &LINK_ENERGY];

/// The maximum number of trials in a subgroup. If none is accepted, the link does not change in this subgroup. This keeps the distribution, because
/// acceptance does not depend on the link.
pub const ATTEMPTS: usize = 5;

/// The number of draws in a subgroup: one for each trial, and the last for the direction.
const DRAWS: usize = 8;

/// A random quaternion h with probability ∝ √(1 − h₀²) exp(α h₀), and whether a trial was accepted.
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
    let ((distance, taken), _) = site.repeat(
        site.count(ATTEMPTS),
        start,
        #[inline(always)]
        |_, ((distance, taken), draw)| {
            let [first, angle, second, threshold] = x.uniform(key, event, draw);
            let [cosine, _] = cos_sin_2pi(angle);
            let tried = -(cosine * cosine).fma(ln(second), ln(first)) / alpha;
            let accepted = (threshold * threshold).at_most((-tried).fma(constant(0.5), one));
            let distance = S::Real::select(taken, distance, S::Real::select(accepted, tried, distance));
            ((distance, taken.or(accepted)), draw + one)
        },
    );
    let length = (distance * (two - distance)).sqrt();
    let [height, angle, ..] = x.uniform(key, event, constant((first_draw + DRAWS - 1) as f64));
    let [cosine, sine] = cos_sin_2pi(angle);
    let across = length * two * (height * (one - height)).sqrt();
    let along = length * (-two).fma(height, one);
    (Quaternion([one - distance, across * cosine, across * sine, along]), taken)
}

/// Heat bath of a link in the field of its staples.
///
/// `coupling`: 2β/3; `key`: from the seed; `event`: from the sweep and the direction.
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

/// Overrelaxation of a link in the field of its staples: each SU(2) subgroup is reflected, with the same energy.
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

/// energy = Σ Re tr U V†; summed over directions, this is four times the sum of Re tr P over plaquettes.
#[lane_kernel(family = "heat_bath", twin = link_energy_twin)]
pub fn link_energy<S: Site>(link: Read<S, ColourMatrix>, staples: Read<S, ColourMatrix>, energy: ExactSum<S>) {
    // Re tr U V† = Re Σ conj(V_ij) U_ij.
    let [re, _] = staples.here().inner_product(link.here());
    energy.add(re);
}

fn heat_bath_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let key = ["key_low", "key_middle", "key_high"].map(|name| call.scalar(name));
    let (coupling, event) = (call.scalar("coupling"), call.scalar("event"));
    call.write_matrices("link", |call, site| {
        let [u, v] = ["link", "staples"].map(|name| call.matrix(name, site));
        plain::heat_bath(&u, &v, coupling, call.coordinate(site), key, event)
    });
}

fn overrelaxation_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.write_matrices("link", |call, site| {
        plain::overrelaxation(&call.matrix("link", site), &call.matrix("staples", site))
    });
}

fn link_energy_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, _| {
        let (link, staples) = (call.read("link", site, 0), call.read("staples", site, 0));
        call.add(0, site, 0, site_inner_product(&staples, &link).re);
    });
}

/// The parameters of a heat bath update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Draw {
    /// β of the Wilson action, or the factor of the sum of staples that is passed.
    pub beta: f64,
    /// The seed.
    pub seed: u64,
    /// The event, below 2²⁴. It must differ for each sweep and direction.
    pub event: u32,
}

/// Heat bath and overrelaxation, on any backend.
pub trait HeatBathKernels: Launch {
    /// Draws each link from the heat bath of its staples. The sites must not be neighbours of each other.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
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

    /// Reflects each link in the field of its staples. The sites must not be neighbours of each other.
    fn overrelaxation<R: Vectors>(
        &self,
        link: &mut FieldOn<Self, R, ColourMatrix>,
        staples: &FieldOn<Self, R, ColourMatrix>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&OVERRELAXATION).write("link", link).read("staples", staples).call()?)
    }

    /// The exact sum Σ Re tr U V† over the sites, rounded once.
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
