//! Staggered fermions on every backend: the same bits as plain loops (`reference/src/scalar/staggered.rs`), and the identities that make the operator
//! Kogut and Susskind's. The operator is `src/operator/staggered.rs`, its kernel the body in `reference/src/kernels/staggered.rs`.

use lanefield::backend::Backend;
use lanefield::operator::{HopParameters, StaggeredParameters};
use lanefield::solver::{Method, Preconditioning};
use lanefield_reference::field::ColourVectors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::Extents;
use lanefield_reference::links::BoundaryPhases;
use lanefield_reference::scalar::ScalarWilson;
use num_complex::Complex;

use crate::common::backends::{check_library_kernels, on_every_backend};
use crate::common::fields::gaussian;
use crate::common::grid::distance;
use crate::common::models;

const COLOURS: usize = ColourVectors::WORDS;
const MASS: f64 = 0.3;

check_library_kernels! {
    staggered::staggered_full: twin, linear, covariant;
    staggered::eo_staggered: twin, linear, covariant;
    staggered::oe_staggered: twin, linear, covariant;
}

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

fn the_hop_is_anti_hermitian<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::the_hop_is_anti_hermitian(backend, parameters(hop, 1), &configuration);
}

fn epsilon_turns_the_operator_into_its_conjugate<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::epsilon_turns_the_operator_into_its_conjugate(backend, parameters(hop, 1), &configuration);
}

fn it_is_gauge_covariant<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::it_is_gauge_covariant(backend, parameters(hop, 1), &configuration, 1e-13);
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
    the_operator_is_bitwise_equal_to_plain_loops;
    in test-all:
    the_hop_is_anti_hermitian,
    epsilon_turns_the_operator_into_its_conjugate,
    it_is_gauge_covariant,
    the_free_spectrum_is_that_of_sines,
    even_odd_pieces_make_the_operator,
    the_schur_complement_is_d_dagger_d_on_the_odd_sites,
    solves_solve,
}
