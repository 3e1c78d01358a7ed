//! What holds of every operator on every backend, whatever the configuration. What is special to one is in the file of its name; the identities are written
//! in `tests/common/models.rs`.

use lanefield::prelude::*;

use crate::common::backends::{cpu, on_every_backend};
use crate::common::models::{self, TWISTED, antiperiodic, every_operator, random_case};

fn m_dagger_is_the_adjoint_of_m<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    every_operator(hop).for_each(|model| models::m_dagger_is_the_adjoint_of_m(backend, model, &configuration));
}

fn m_is_gauge_covariant<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    for model in every_operator(hop) {
        let tolerance = match model.name() {
            "twisted-mass" | "staggered" => 1e-13,
            "hisq" => 1e-12,
            _ => 1e-14,
        };
        models::it_is_gauge_covariant(backend, model, &configuration, tolerance);
    }
}

fn even_odd_pieces_make_the_operator<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    every_operator(hop).for_each(|model| models::pieces_make_the_operator(backend, model, &configuration));
}

fn staggered(hop: HopParameters) -> StaggeredParameters {
    StaggeredParameters { mass: 0.3, components: 1, hop }
}

fn hisq(hop: HopParameters) -> HisqParameters {
    HisqParameters { mass: 0.3, naik_epsilon: -0.2, components: 1, hop }
}

fn the_hop_of_staggered_fermions_is_anti_hermitian<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::the_hop_is_anti_hermitian(backend, staggered(hop), &configuration);
    models::the_hop_is_anti_hermitian(backend, hisq(hop), &configuration);
}

fn epsilon_turns_staggered_operators_into_their_conjugates<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::epsilon_turns_the_operator_into_its_conjugate(backend, staggered(hop), &configuration);
    models::epsilon_turns_the_operator_into_its_conjugate(backend, hisq(hop), &configuration);
}

fn the_schur_complement_of_staggered_fermions_is_d_dagger_d_on_the_odd_sites<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::the_schur_complement_is_d_dagger_d_on_the_odd_sites(backend, staggered(hop), &configuration);
    models::the_schur_complement_is_d_dagger_d_on_the_odd_sites(backend, hisq(hop), &configuration);
}

/// By both preconditionings, and some by every method that takes the operator: the solution solves the equation on all sites.
fn solves_solve<B: Backend>(backend: &B) {
    use Method::{BiCgStab, ConjugateGradients, MixedF32, MixedHalf};
    use Preconditioning::{EvenOdd, None};
    let configuration = Configuration::hot(Extents::new([4, 4, 4, 4]).unwrap(), 7);
    for model in every_operator(antiperiodic()) {
        let others: &[Method] = match model.name() {
            "twisted-mass" => &[MixedF32, MixedHalf, BiCgStab],
            "staggered" => &[MixedF32],
            "hisq" => &[MixedHalf],
            _ => &[],
        };
        let usual = [(EvenOdd, ConjugateGradients), (None, ConjugateGradients)];
        let methods = [&usual[..], &others.iter().map(|&method| (EvenOdd, method)).collect::<Vec<_>>()].concat();
        models::solves_solve(backend, model, &configuration, &methods);
    }
}

on_every_backend! {
    in test-all:
    m_dagger_is_the_adjoint_of_m,
    m_is_gauge_covariant,
    even_odd_pieces_make_the_operator,
    the_hop_of_staggered_fermions_is_anti_hermitian,
    epsilon_turns_staggered_operators_into_their_conjugates,
    the_schur_complement_of_staggered_fermions_is_d_dagger_d_on_the_odd_sites,
    solves_solve,
}

#[test]
fn a_twist_is_that_of_links_which_share_it() {
    let (backend, (configuration, _)) = (cpu(), random_case());
    let of_boundary =
        |boundary: &str| HopParameters { boundary: boundary.parse().unwrap(), ..HopParameters::default() };
    let hop = of_boundary(TWISTED);
    for (twisted, periodic) in every_operator(hop).zip(every_operator(of_boundary("1,1,1,1"))) {
        models::a_twist_is_that_of_links_which_share_it(&backend, [twisted, periodic], &configuration);
    }
    let clover = CloverParameters { mass: 0.1, csw_r: 1.1, csw_t: 0.9, hop };
    models::the_dagger_is_gamma5_m_gamma5(&backend, [clover; 2], &configuration);
    models::epsilon_turns_the_operator_into_its_conjugate(&backend, hisq(hop), &configuration);
    let method = [(Preconditioning::EvenOdd, Method::ConjugateGradients)];
    models::solves_solve(&backend, WilsonParameters { mass: 0.1, hop }.into(), &configuration, &method);
    models::solves_solve(&backend, staggered(hop).into(), &configuration, &method);
}
