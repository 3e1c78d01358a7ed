//! Molecular dynamics of links (`docs/arithmetic.md` §24): momenta, which are traceless anti-Hermitian matrices P = i Σₐ ξₐ λₐ/2, and integration
//! steps of links and momenta. Kernel functions define them.

use lanefield_reference::body::functions::{cos_sin_2pi, ln};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::random::key_of_seed;
use lanefield_reference::scalar::functions::{self as plain, sqrt};
use lanefield_reference::scalar::{matrix_adjoint, matrix_times_matrix, real_madd, real_times, site_norm2};
use num_complex::Complex;

use super::links::{exponential, plain_exponential};
use super::loops::{plain_traceless, traceless};
use super::plain::PlainCall;
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, Launch, Reduce};
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&RANDOM_MOMENTUM, &MOMENTUM_STEP, &LINK_STEP, &KINETIC_ENERGY];

/// The numbers of the draws of a momentum. They differ from those of a heat bath with the same key and event.
const DRAWS: [f64; 2] = [1000.0, 1001.0];

/// 1/√3.
const HYPERCHARGE: f64 = 0.577_350_269_189_625_8;

/// momentum ← a·momentum + b·i Σₐ ξₐ λₐ/2, ξ of mean 0 and variance 1.
#[lane_kernel(family = "molecular_dynamics", twin = random_momentum_twin)]
#[allow(clippy::too_many_arguments)]
pub fn random_momentum<S: Site>(
    momentum: Update<S, ColourMatrix>,
    a: Scalar<S>,
    b: Scalar<S>,
    key_low: Scalar<S>,
    key_middle: Scalar<S>,
    key_high: Scalar<S>,
    event: Scalar<S>,
    x: Coordinates<S>,
) {
    let key = [key_low.get(), key_middle.get(), key_high.get()];
    let constant = S::Real::constant;
    let mut gaussian = [constant(0.0); 8];
    for (number, draw) in DRAWS.into_iter().enumerate() {
        let u = x.uniform(key, event.get(), constant(draw));
        for pair in 0..2 {
            let radius = (constant(-2.0) * ln(u[2 * pair])).sqrt();
            let [cosine, sine] = cos_sin_2pi(u[2 * pair + 1]);
            gaussian[4 * number + 2 * pair] = radius * cosine;
            gaussian[4 * number + 2 * pair + 1] = radius * sine;
        }
    }
    let [g1, g2, g3, g4, g5, g6, g7, g8] = gaussian.map(|number| number * constant(0.5));
    let (zero, g8) = (constant(0.0), g8 * constant(HYPERCHARGE));
    let new = S::Complex::new;
    let drawn = Matrix([
        new(zero, g3 + g8),
        new(g2, g1),
        new(g5, g4),
        new(-g2, g1),
        new(zero, g8 - g3),
        new(g7, g6),
        new(-g5, g4),
        new(-g7, g6),
        new(zero, -(g8 + g8)),
    ]);
    momentum.write(drawn.scaled_add(b.get(), momentum.here().scaled(a.get())));
}

fn random_momentum_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let key = ["key_low", "key_middle", "key_high"].map(|name| call.scalar(name));
    let [a, b, event] = ["a", "b", "event"].map(|name| call.scalar(name));
    let real = R::from_f64;
    call.each(|call, site, _| {
        let x = call.coordinate(site);
        let gaussian: Vec<R> = DRAWS
            .into_iter()
            .flat_map(|draw| {
                let u = plain::uniform(x, key, event, real(draw));
                [[u[0], u[1]], [u[2], u[3]]].into_iter().flat_map(|[first, second]| {
                    let radius = sqrt(real(-2.0) * plain::ln(first));
                    plain::cos_sin_2pi(second).map(|part| radius * part)
                })
            })
            .map(|number| number * real(0.5))
            .collect();
        let g = |a: usize| gaussian[a - 1];
        let (zero, g8) = (real(0.0), g(8) * real(HYPERCHARGE));
        let new = Complex::new;
        let drawn = [
            new(zero, g(3) + g8),
            new(g(2), g(1)),
            new(g(5), g(4)),
            new(-g(2), g(1)),
            new(zero, g8 - g(3)),
            new(g(7), g(6)),
            new(-g(5), g(4)),
            new(-g(7), g(6)),
            new(zero, -(g8 + g8)),
        ];
        let before = call.read("momentum", site, 0);
        let momentum: Vec<_> =
            drawn.into_iter().zip(before).map(|(drawn, before)| real_madd(b, drawn, real_times(a, before))).collect();
        call.write("momentum", site, 0, &momentum);
    });
}

/// momentum ← a·Z + momentum, Z the traceless anti-Hermitian part of staples·link†.
#[lane_kernel(family = "molecular_dynamics", twin = momentum_step_twin)]
pub fn momentum_step<S: Site>(
    momentum: Update<S, ColourMatrix>,
    a: Scalar<S>,
    link: Read<S, ColourMatrix>,
    staples: Read<S, ColourMatrix>,
) {
    let force = traceless(staples.here() * link.here().adjoint());
    momentum.write(force.scaled_add(a.get(), momentum.here()));
}

fn momentum_step_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.scalar("a");
    call.write_matrices("momentum", |call, site| {
        let [momentum, link, staples] = ["momentum", "link", "staples"].map(|name| call.matrix(name, site));
        let force = plain_traceless(&matrix_times_matrix(&staples, &matrix_adjoint(&link)));
        let word = |row: usize, column: usize| real_madd(a, force[row][column], momentum[row][column]);
        std::array::from_fn(|row| std::array::from_fn(|column| word(row, column)))
    });
}

/// link ← exp(a·momentum)·link.
#[lane_kernel(family = "molecular_dynamics", twin = link_step_twin)]
pub fn link_step<S: Site>(link: Update<S, ColourMatrix>, a: Scalar<S>, momentum: Read<S, ColourMatrix>) {
    link.write(exponential(momentum.here().scaled(a.get())) * link.here());
}

fn link_step_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.scalar("a");
    call.write_matrices("link", |call, site| {
        let exponent = call.matrix("momentum", site).map(|row| row.map(|word| real_times(a, word)));
        matrix_times_matrix(&plain_exponential(&exponent), &call.matrix("link", site))
    });
}

/// energy = Σ |P|² = −Σ tr P².
#[lane_kernel(family = "molecular_dynamics", twin = kinetic_energy_twin)]
pub fn kinetic_energy<S: Site>(momentum: Read<S, ColourMatrix>, energy: ExactSum<S>) {
    energy.add(momentum.here().norm2());
}

fn kinetic_energy_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, _| {
        let momentum = call.read("momentum", site, 0);
        call.add(0, site, 0, site_norm2(&momentum));
    });
}

/// Momenta of links, and integration steps, on any backend.
pub trait MolecularDynamicsKernels: Launch {
    /// momentum ← a·momentum + b·new. The new momenta, for links of one direction, are drawn from a seed and an event below 2²⁴.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn random_momentum<R: Vectors>(
        &self,
        momentum: &mut FieldOn<Self, R, ColourMatrix>,
        (a, b): (f64, f64),
        seed: u64,
        event: u32,
    ) -> Result<(), BackendError> {
        let [low, middle, high] = key_of_seed(seed);
        let arguments = Arguments::new(&RANDOM_MOMENTUM).write("momentum", momentum).scalar("event", f64::from(event));
        let arguments = arguments
            .scalar("a", a)
            .scalar("b", b)
            .scalar("key_low", low)
            .scalar("key_middle", middle)
            .scalar("key_high", high);
        self.launch(arguments.call()?)
    }

    /// momentum ← a·Z + momentum, Z the traceless anti-Hermitian part of staples·link†.
    fn momentum_step<R: Vectors>(
        &self,
        momentum: &mut FieldOn<Self, R, ColourMatrix>,
        a: f64,
        link: &FieldOn<Self, R, ColourMatrix>,
        staples: &FieldOn<Self, R, ColourMatrix>,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&MOMENTUM_STEP).write("momentum", momentum).scalar("a", a);
        self.launch(arguments.read("link", link).read("staples", staples).call()?)
    }

    /// link ← exp(a·momentum)·link.
    fn link_step<R: Vectors>(
        &self,
        link: &mut FieldOn<Self, R, ColourMatrix>,
        a: f64,
        momentum: &FieldOn<Self, R, ColourMatrix>,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&LINK_STEP).write("link", link).scalar("a", a).read("momentum", momentum);
        self.launch(arguments.call()?)
    }

    /// The exact sum −Σ tr P².
    fn kinetic_energy<R: Vectors>(&self, momentum: &FieldOn<Self, R, ColourMatrix>) -> Result<f64, BackendError>
    where
        Self: Reduce,
    {
        let call = Arguments::new(&KINETIC_ENERGY).read("momentum", momentum).call()?;
        Ok(self.reduce(call, Sum::Exact)?.round()[0])
    }
}
