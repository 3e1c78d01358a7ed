//! Staggered fermions on every backend: the same bits as plain loops (`reference/src/scalar/staggered.rs`), and the identities that make the operator
//! Kogut and Susskind's. The operator is `src/operator/staggered.rs`, its kernel the body in `reference/src/kernels/staggered.rs`.

use lanefield::backend::Backend;
use lanefield::body::check_kernel;
use lanefield::operator::{HopParameters, StaggeredParameters};
use lanefield::solver::{Method, Preconditioning};
use lanefield_reference::field::ColourVectors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::Extents;
use lanefield_reference::links::BoundaryPhases;
use lanefield_reference::scalar::ScalarWilson;
use num_complex::Complex;

use crate::common::backends::on_every_backend;
use crate::common::fields::gaussian;
use crate::common::gauge::GaugeTransformation;
use crate::common::grid::distance;
use crate::common::models;

const COLOURS: usize = ColourVectors::WORDS;
const MASS: f64 = 0.3;

check_kernel!(lanefield::kernel::staggered::staggered_full, twin, linear, covariant);
check_kernel!(lanefield::kernel::staggered::eo_staggered, twin, linear, covariant);
check_kernel!(lanefield::kernel::staggered::oe_staggered, twin, linear, covariant);

/// An awkward lattice, a random configuration on it, and two kinds of boundary at once.
fn random_case() -> (Configuration, HopParameters) {
    let configuration = Configuration::hot(Extents::new([4, 6, 2, 10]).unwrap(), 5);
    let boundary = BoundaryPhases::antiperiodic([true, false, false, true]);
    (configuration, HopParameters { boundary, ..HopParameters::default() })
}

fn parameters(hop: HopParameters, components: usize) -> StaggeredParameters {
    StaggeredParameters { mass: MASS, components, hop }
}

/// D ψ or D† ψ in site order.
fn d<B: Backend>(
    backend: &B,
    configuration: &Configuration,
    hop: HopParameters,
    psi: &[Complex<f64>],
    dagger: Dagger,
) -> Vec<Complex<f64>> {
    let components = psi.len() / configuration.extents().volume() / COLOURS;
    models::image::<f64, B, _>(backend, parameters(hop, components), configuration, psi, dagger)
}

fn the_operator_is_bitwise_equal_to_plain_loops<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let psi = gaussian(configuration.extents(), 2 * COLOURS, 4);
    let HopParameters { boundary, links: format, legs } = hop;
    let plain = ScalarWilson { configuration: &configuration, boundary, format, legs };
    assert!(d(backend, &configuration, hop, &psi, Dagger::No) == plain.staggered(&psi, 2, MASS));
}

/// ⟨φ, D χ⟩ = ⟨D† φ, χ⟩, and D + D† = 2 m.
fn the_hop_is_anti_hermitian<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let extents = configuration.extents();
    let [phi, chi] = [13, 17].map(|seed| gaussian(extents, COLOURS, seed));
    let product =
        |a: &[Complex<f64>], b: &[Complex<f64>]| -> Complex<f64> { a.iter().zip(b).map(|(a, b)| a.conj() * b).sum() };
    let d_chi = d(backend, &configuration, hop, &chi, Dagger::No);
    let left = product(&phi, &d_chi);
    let right = product(&d(backend, &configuration, hop, &phi, Dagger::Yes), &chi);
    let scale = (product(&phi, &phi).re * product(&chi, &chi).re).sqrt();
    assert!((left - right).norm() < 1e-13 * scale, "{left} is not {right}");
    assert!(left.norm() > 1e-4 * scale, "{left} shows nothing");
    let sum: Vec<_> =
        d_chi.iter().zip(d(backend, &configuration, hop, &chi, Dagger::Yes)).map(|(a, b)| a + b).collect();
    let twice: Vec<_> = chi.iter().map(|c| c * 2.0 * MASS).collect();
    assert!(distance(&sum, &twice) < 1e-14, "D + D† is not twice the mass");
}

/// U(1)_ε: ε D ε = D†, with ε(x) = (−1)^(x + y + z + t).
fn epsilon_turns_the_operator_into_its_conjugate<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let extents = configuration.extents();
    let psi = gaussian(extents, COLOURS, 23);
    let epsilon = |psi: &[Complex<f64>]| -> Vec<Complex<f64>> {
        let sign =
            |site: usize| if extents.coordinate(site / COLOURS).iter().sum::<usize>() % 2 == 0 { 1.0 } else { -1.0 };
        psi.iter().enumerate().map(|(k, c)| c * sign(k)).collect()
    };
    let turned = epsilon(&d(backend, &configuration, hop, &epsilon(&psi), Dagger::No));
    assert!(distance(&turned, &d(backend, &configuration, hop, &psi, Dagger::Yes)) < 1e-14);
}

/// ψ(x) → g(x) ψ(x) and U_μ(x) → g(x) U_μ(x) g(x + μ)† turn D ψ into g D ψ.
fn it_is_gauge_covariant<B: Backend>(backend: &B) {
    let (before, hop) = random_case();
    let psi = gaussian(before.extents(), COLOURS, 29);
    let g = GaugeTransformation { seed: 13 };
    let turned_before = d(backend, &g.of_links(&before), hop, &g.of_field(COLOURS, &psi), Dagger::No);
    let turned_after = g.of_field(COLOURS, &d(backend, &before, hop, &psi, Dagger::No));
    assert!(distance(&turned_before, &turned_after) < 1e-13);
}

/// On unit links D†D ψ = (m² + Σ sin² p) ψ for plane waves.
fn the_free_spectrum_is_that_of_sines<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 6, 2, 10]).unwrap();
    let configuration = Configuration::unit(extents);
    let hop = HopParameters::default();
    for n in [[1usize, 0, 0, 0], [0, 1, 1, 3], [2, 5, 0, 1], [3, 2, 1, 7]] {
        let p: Vec<f64> = (0..4).map(|d| 2.0 * std::f64::consts::PI * n[d] as f64 / extents[d] as f64).collect();
        let phase = |site: usize| (0..4).map(|d| p[d] * extents.coordinate(site)[d] as f64).sum::<f64>();
        let psi: Vec<_> = (0..extents.volume() * COLOURS)
            .map(|k| Complex::from_polar(1.0 + (k % COLOURS) as f64, phase(k / COLOURS)))
            .collect();
        let d_psi = d(backend, &configuration, hop, &psi, Dagger::No);
        let found = d(backend, &configuration, hop, &d_psi, Dagger::Yes);
        let eigenvalue = MASS * MASS + p.iter().map(|p| p.sin() * p.sin()).sum::<f64>();
        let expected: Vec<_> = psi.iter().map(|c| c * eigenvalue).collect();
        assert!(distance(&found, &expected) < 1e-14, "momentum {n:?}");
    }
}

fn even_odd_pieces_make_the_operator<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::pieces_make_the_operator(backend, parameters(hop, 1), &configuration);
}

fn the_schur_complement_is_d_dagger_d_on_the_odd_sites<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::the_schur_complement_is_d_dagger_d_on_the_odd_sites(backend, parameters(hop, 1), &configuration);
}

/// By both preconditionings, and by every method that takes it.
fn solves_solve<B: Backend>(backend: &B) {
    let configuration = Configuration::hot(Extents::new([4, 4, 4, 4]).unwrap(), 7);
    let hop = HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, ..HopParameters::default() };
    let methods = [
        (Preconditioning::EvenOdd, Method::ConjugateGradients),
        (Preconditioning::EvenOdd, Method::MixedF32),
        (Preconditioning::None, Method::ConjugateGradients),
    ];
    models::solves_solve(backend, parameters(hop, 1), &configuration, &methods);
}

on_every_backend! {
    the_operator_is_bitwise_equal_to_plain_loops,
    the_hop_is_anti_hermitian,
    epsilon_turns_the_operator_into_its_conjugate,
    it_is_gauge_covariant,
    the_free_spectrum_is_that_of_sines,
    even_odd_pieces_make_the_operator,
    the_schur_complement_is_d_dagger_d_on_the_odd_sites,
    solves_solve,
}
