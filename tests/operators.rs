//! What holds of every operator on every backend, whatever the configuration. What is special to one is in the file of its name; the identities are written
//! in `tests/common/models.rs`.

use lanefield::backend::Backend;
use lanefield::operator::{
    CloverParameters, DomainWallParameters, HisqParameters, HopParameters, LaplaceParameters, StaggeredParameters,
    TwistedMassParameters, WilsonParameters,
};
use lanefield::solver::{Method, Preconditioning};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::Extents;

use crate::common::backends::{cpu, on_every_backend};
use crate::common::models::{self, TWISTED, antiperiodic, random_case};

fn wilson(hop: HopParameters) -> WilsonParameters {
    WilsonParameters { mass: 0.1, hop }
}

fn clover(hop: HopParameters) -> CloverParameters {
    CloverParameters { mass: 0.1, csw_r: 1.1, csw_t: 0.9, hop }
}

fn twisted_mass(hop: HopParameters) -> TwistedMassParameters {
    TwistedMassParameters { mass: -0.3, mu: 0.4, hop }
}

fn mobius(hop: HopParameters) -> DomainWallParameters {
    DomainWallParameters { b: 1.5, c: 0.5, hop, ..DomainWallParameters::shamir(4, 0.1, 1.4) }
}

fn staggered(hop: HopParameters) -> StaggeredParameters {
    StaggeredParameters { mass: 0.3, components: 1, hop }
}

fn hisq(hop: HopParameters) -> HisqParameters {
    HisqParameters { mass: 0.3, naik_epsilon: -0.2, components: 1, hop }
}

fn laplace(hop: HopParameters) -> LaplaceParameters {
    LaplaceParameters { mass: 0.3, components: 1, hop }
}

fn m_dagger_is_the_adjoint_of_m<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::m_dagger_is_the_adjoint_of_m(backend, wilson(hop), &configuration);
    models::m_dagger_is_the_adjoint_of_m(backend, clover(hop), &configuration);
    models::m_dagger_is_the_adjoint_of_m(backend, twisted_mass(hop), &configuration);
    models::m_dagger_is_the_adjoint_of_m(backend, mobius(hop), &configuration);
    models::m_dagger_is_the_adjoint_of_m(backend, staggered(hop), &configuration);
    models::m_dagger_is_the_adjoint_of_m(backend, hisq(hop), &configuration);
    models::m_dagger_is_the_adjoint_of_m(backend, laplace(hop), &configuration);
}

fn m_is_gauge_covariant<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::it_is_gauge_covariant(backend, wilson(hop), &configuration, 1e-14);
    models::it_is_gauge_covariant(backend, clover(hop), &configuration, 1e-14);
    models::it_is_gauge_covariant(backend, twisted_mass(hop), &configuration, 1e-13);
    models::it_is_gauge_covariant(backend, staggered(hop), &configuration, 1e-13);
    models::it_is_gauge_covariant(backend, hisq(hop), &configuration, 1e-12);
    models::it_is_gauge_covariant(backend, laplace(hop), &configuration, 1e-14);
}

fn even_odd_pieces_make_the_operator<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    models::pieces_make_the_operator(backend, wilson(hop), &configuration);
    models::pieces_make_the_operator(backend, twisted_mass(hop), &configuration);
    models::pieces_make_the_operator(backend, staggered(hop), &configuration);
    models::pieces_make_the_operator(backend, hisq(hop), &configuration);
    models::pieces_make_the_operator(backend, laplace(hop), &configuration);
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

/// By both preconditionings, and by every method that takes the operator: the solution solves the equation on all sites.
fn solves_solve<B: Backend>(backend: &B) {
    use Method::{BiCgStab, ConjugateGradients, MixedF32, MixedHalf};
    use Preconditioning::{EvenOdd, None};
    let configuration = Configuration::hot(Extents::new([4, 4, 4, 4]).unwrap(), 7);
    let usual = [(EvenOdd, ConjugateGradients), (None, ConjugateGradients)];
    let with =
        |others: &[Method]| [&usual[..], &others.iter().map(|&method| (EvenOdd, method)).collect::<Vec<_>>()].concat();
    models::solves_solve(backend, laplace(antiperiodic()), &configuration, &usual);
    models::solves_solve(backend, staggered(antiperiodic()), &configuration, &with(&[MixedF32]));
    models::solves_solve(backend, hisq(antiperiodic()), &configuration, &with(&[MixedHalf]));
    let all = with(&[MixedF32, MixedHalf, BiCgStab]);
    models::solves_solve(backend, twisted_mass(antiperiodic()), &configuration, &all);
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
    models::a_twist_is_that_of_links_which_share_it(&backend, wilson, &configuration);
    models::a_twist_is_that_of_links_which_share_it(&backend, clover, &configuration);
    models::a_twist_is_that_of_links_which_share_it(&backend, twisted_mass, &configuration);
    models::a_twist_is_that_of_links_which_share_it(&backend, mobius, &configuration);
    models::a_twist_is_that_of_links_which_share_it(&backend, staggered, &configuration);
    models::a_twist_is_that_of_links_which_share_it(&backend, hisq, &configuration);
    models::a_twist_is_that_of_links_which_share_it(&backend, laplace, &configuration);
    let hop = HopParameters { boundary: TWISTED.parse().unwrap(), ..HopParameters::default() };
    models::the_dagger_is_gamma5_m_gamma5(&backend, [clover(hop); 2], &configuration);
    models::epsilon_turns_the_operator_into_its_conjugate(&backend, hisq(hop), &configuration);
    let method = [(Preconditioning::EvenOdd, Method::ConjugateGradients)];
    models::solves_solve(&backend, wilson(hop), &configuration, &method);
    models::solves_solve(&backend, staggered(hop), &configuration, &method);
}
