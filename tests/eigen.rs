//! Lowest eigenpairs by Lanczos with thick restarts, and solves that begin with them: free fermions against their momenta, restarts against a basis of the whole
//! space, files, errors, and the same bits wherever they run. The code is `src/solver/lanczos.rs` and `src/solver/eigenpairs.rs`.

use std::f64::consts::TAU;

use lanefield::comm::WholeLattice;
use lanefield::io::checkpoint;
use lanefield::prelude::*;
use lanefield::solver::{
    EigenError, EigenParams, Eigenpairs, SolveError, SolveReport, eigen_identity, eigenpairs, solve_deflated,
};

use crate::common::backends::{cpu, on_every_backend};
use crate::common::fields::gaussian;
use crate::common::grid::distance;
use crate::common::models::antiperiodic;
use crate::common::solves::{self, configuration, is_the_same, quiet};

fn wilson() -> WilsonParameters {
    WilsonParameters { mass: -0.2, hop: antiperiodic() }
}

fn found<B: Backend, M: Model>(
    backend: &B,
    (configuration, model, preconditioning): (&Configuration, M, Preconditioning),
    params: EigenParams,
) -> Result<Eigenpairs, EigenError> {
    let how = (model, preconditioning, LaneChoice::Auto);
    eigenpairs(backend, configuration, how, params, &mut |_| Ok(())).map(|(pairs, _)| pairs)
}

/// Those of the lattice of the tests.
fn usual<B: Backend>(backend: &B, count: usize) -> Eigenpairs {
    found(backend, (&configuration(), wilson(), Preconditioning::EvenOdd), EigenParams::auto(count)).unwrap()
}

/// M†M of free Wilson fermions is (m + Σ(1 − cos p))² + Σ sin² p. Of values that come several times not all need be found.
fn free_fermions_have_the_eigenvalues_of_their_momenta<B: Backend>(backend: &B) {
    let extents = [2, 4, 2, 6];
    let (free, mass) = (Configuration::unit(Extents::new(extents).unwrap()), 0.3);
    let model = WilsonParameters { mass, hop: antiperiodic() };
    let params = EigenParams { basis: Some(48), ..EigenParams::auto(8) };
    let pairs = found(backend, (&free, model, Preconditioning::None), params).unwrap();
    let mut expected = Vec::new();
    for k in 0..extents.iter().product::<usize>() {
        let [x, y, z, t] = Extents::new(extents).unwrap().coordinate(k);
        let p = [(x, 0.0), (y, 0.0), (z, 0.0), (t, 0.5)].into_iter().zip(extents);
        let p: Vec<f64> = p.map(|((n, shift), extent)| TAU * (n as f64 + shift) / extent as f64).collect();
        let a = mass + p.iter().map(|p| 1.0 - p.cos()).sum::<f64>();
        expected.push(a * a + p.iter().map(|p| p.sin() * p.sin()).sum::<f64>());
    }
    expected.sort_by(f64::total_cmp);
    expected.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    let mut distinct = pairs.values().to_vec();
    distinct.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    assert_eq!(pairs.len(), 8);
    for (found, expected) in distinct.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-10, "{distinct:?}, {expected:?}");
    }
}

fn restarts_find_what_a_basis_of_the_whole_space_has<B: Backend>(backend: &B) {
    let small = Configuration::hot(Extents::new([2, 2, 2, 4]).unwrap(), 3);
    let model = StaggeredParameters { mass: 0.1, components: 1, hop: antiperiodic() };
    // Three numbers at each of 16 odd sites.
    let whole = EigenParams { basis: Some(48), ..EigenParams::auto(7) };
    let whole = found(backend, (&small, model, Preconditioning::EvenOdd), whole).unwrap();
    let restarted = EigenParams { basis: Some(14), seed: 9, ..EigenParams::auto(7) };
    let restarted = found(backend, (&small, model, Preconditioning::EvenOdd), restarted).unwrap();
    for (a, b) in restarted.values().iter().zip(whole.values()) {
        assert!((a - b).abs() < 1e-11, "{a} {b}");
    }
}

fn eigenvectors_are_orthonormal_and_solve_their_equation<B: Backend>(backend: &B) {
    let pairs = usual(backend, 10);
    assert!(pairs.values().is_sorted() && pairs.values()[0] > 0.0, "{:?}", pairs.values());
    assert!(pairs.residuals().iter().all(|&residual| residual < 1e-8), "{:?}", pairs.residuals());
    let state = pairs.into_state();
    for (i, x) in state.fields.iter().enumerate() {
        for (j, y) in state.fields.iter().enumerate() {
            let product: Complex<f64> = x.values.iter().zip(&y.values).map(|(x, y)| x.conj() * y).sum();
            let expected = if i == j { 1.0 } else { 0.0 };
            assert!((product - expected).norm() < 1e-12, "{i}, {j}: {product}");
        }
    }
}

fn how<R: Vectors>(method: Method) -> Solve<WilsonParameters> {
    solves::how::<R, _>(wilson(), Preconditioning::EvenOdd, method)
}

fn deflated<R: Vectors, B: Backend>(
    backend: &B,
    rhs: usize,
    method: Method,
    pairs: Option<&Eigenpairs>,
) -> Result<SolveReport<R>, SolveError> {
    let eta = gaussian(configuration().extents(), rhs * Spinors::WORDS, 21);
    solve_deflated::<R, B, _>(backend, &configuration(), &eta, &how::<R>(method), pairs, &mut quiet(), None)
}

fn solves_that_begin_with_eigenvectors_take_fewer_iterations<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B, rhs: usize, method: Method, pairs: &Eigenpairs) {
        let without = deflated::<R, B>(backend, rhs, method, None).unwrap();
        let with = deflated::<R, B>(backend, rhs, method, Some(pairs)).unwrap();
        for (with, without) in with.rhs.iter().zip(&without.rhs) {
            let (with, without) = (with.info.iterations, without.info.iterations);
            assert!((with as f64) < 0.9 * without as f64, "{} {method:?}: {with}, {without}", R::NAME);
        }
        let of = |report: &SolveReport<R>| {
            report.solution.iter().map(|c| Complex::new(c.re.to_f64(), c.im.to_f64())).collect::<Vec<_>>()
        };
        let apart = distance(&of(&with), &of(&without));
        assert!(apart < 100.0 * SolverParams::auto::<R>().tolerance, "{} {method:?}: {apart:e}", R::NAME);
    }
    let pairs = usual(backend, 24);
    check::<f64, B>(backend, 1, Method::ConjugateGradients, &pairs);
    check::<f64, B>(backend, 3, Method::ConjugateGradients, &pairs);
    check::<f64, B>(backend, 1, Method::MixedF32, &pairs);
    check::<f32, B>(backend, 2, Method::ConjugateGradients, &pairs);
    let block = |pairs| deflated::<f64, B>(backend, 3, Method::BlockConjugateGradients, pairs).unwrap();
    assert!(block(Some(&pairs)).info().iterations < block(None).info().iterations);
}

/// Of a batch each right-hand side has the bits of its own solve, also from a guess.
fn right_hand_sides_of_a_deflated_batch_have_the_bits_of_their_own_solve<B: Backend>(backend: &B) {
    let pairs = usual(backend, 6);
    let words = Spinors::WORDS;
    let eta = gaussian(configuration().extents(), 2 * words, 21);
    let solved = |eta: &[Complex<f64>]| {
        let how = &how::<f64>(Method::ConjugateGradients);
        solve_deflated::<f64, B, _>(backend, &configuration(), eta, how, Some(&pairs), &mut quiet(), None).unwrap()
    };
    let both = solved(&eta);
    for number in 0..2 {
        let of_site = |site: &[Complex<f64>]| site[number * words..][..words].to_vec();
        let alone = solved(&eta.chunks_exact(2 * words).flat_map(of_site).collect::<Vec<_>>());
        assert_eq!(both.rhs[number].info, alone.rhs[0].info);
        let ours: Vec<_> = both.solution.chunks_exact(2 * words).flat_map(of_site).collect();
        assert_eq!(ours, alone.solution);
    }
}

fn what_cannot_be_used_is_an_error<B: Backend>(backend: &B) {
    let attempt = |params| found(backend, (&configuration(), wilson(), Preconditioning::EvenOdd), params).unwrap_err();
    let auto = EigenParams::auto(4);
    let says = |params, text: &str| {
        let error = attempt(params).to_string();
        assert!(error.contains(text), "{error}");
    };
    says(EigenParams::auto(0), "0 eigenpairs were requested");
    says(EigenParams { basis: Some(5), ..auto }, "a basis of 5 vectors is too small for 4 eigenpairs: give at least 6");
    says(EigenParams { basis: Some(5000), ..auto }, "has 3072 dimensions");
    says(EigenParams { degree: Some(0), ..auto }, "degree 0");
    says(EigenParams { above: Some(-1.0), ..auto }, "cannot begin at -1");
    says(
        EigenParams { above: Some(1e-6), degree: Some(6), max_restarts: 8, ..auto },
        "the range that it suppresses begins too low, at 1e-6",
    );
    says(EigenParams { max_restarts: 1, tolerance: 1e-14, ..auto }, "of 4 eigenpairs were found in 1 restarts");

    let pairs = usual(backend, 2);
    let error = deflated::<f64, B>(backend, 1, Method::BiCgStab, Some(&pairs)).unwrap_err();
    assert!(matches!(error, SolveError::NoDeflation { .. }), "{error}");
    let other = Solve { preconditioning: Preconditioning::None, ..how::<f64>(Method::ConjugateGradients) };
    let eta = gaussian(configuration().extents(), Spinors::WORDS, 21);
    let error = solve_deflated::<f64, B, _>(backend, &configuration(), &eta, &other, Some(&pairs), &mut quiet(), None);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("its field 'v 0' has 3072 f64 numbers"), "{error}");
}

on_every_backend! {
    in test-all:
    eigenvectors_are_orthonormal_and_solve_their_equation,
    free_fermions_have_the_eigenvalues_of_their_momenta,
    restarts_find_what_a_basis_of_the_whole_space_has,
    solves_that_begin_with_eigenvectors_take_fewer_iterations,
    right_hand_sides_of_a_deflated_batch_have_the_bits_of_their_own_solve,
    what_cannot_be_used_is_an_error,
}

#[test]
fn eigenpairs_are_the_same_bits_everywhere() {
    is_the_same(&[(1, 16), (3, 16)], &[64], |backend, lanes| {
        let how = (wilson(), Preconditioning::EvenOdd, lanes);
        eigenpairs(backend, &configuration(), how, EigenParams::auto(5), &mut |_| Ok(())).unwrap().0
    });
}

#[test]
fn eigenpairs_come_back_from_a_file_of_the_same_operator_alone() {
    let pairs = usual(&cpu(), 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("eigen");
    let (configuration, other) = (configuration(), Configuration::hot(configuration().extents(), 2));
    let lattice = WholeLattice::alone(configuration.extents());
    let identity = |operator: &str, preconditioning, configuration: &Configuration| {
        eigen_identity(operator, antiperiodic(), preconditioning, (configuration, &lattice)).unwrap()
    };
    let ours = identity("wilson, mass -0.2", Preconditioning::EvenOdd, &configuration);
    checkpoint::write(&path, &ours, &pairs.clone().into_state(), &lattice).unwrap();
    let back = Eigenpairs::of_state(checkpoint::read(&path, &ours, &lattice).unwrap()).unwrap();
    assert!(back == pairs);
    assert_eq!(back.digest(&lattice).unwrap(), pairs.digest(&lattice).unwrap());
    for (theirs, name) in [
        (identity("wilson, mass -0.1", Preconditioning::EvenOdd, &configuration), "operator"),
        (identity("wilson, mass -0.2", Preconditioning::None, &configuration), "preconditioning"),
        (identity("wilson, mass -0.2", Preconditioning::EvenOdd, &other), "configuration"),
    ] {
        let error = checkpoint::read(&path, &theirs, &lattice).unwrap_err().to_string();
        assert!(error.contains(&format!("its {name} is")), "{error}");
    }
    let mut state = pairs.into_state();
    state.scalars[0].1[0] = -1.0;
    let error = Eigenpairs::of_state(state.clone()).unwrap_err().to_string();
    assert!(error.contains("eigenvalue -1"), "{error}");
    state.recurrence = "conjugate gradients".to_owned();
    let error = Eigenpairs::of_state(state).unwrap_err().to_string();
    assert!(error.contains("has the state of conjugate gradients"), "{error}");
}
