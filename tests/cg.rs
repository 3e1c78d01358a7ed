//! Conjugate gradients: agreement with Grid, errors, and the same history wherever it runs. The solver is `src/solver`.

use lanefield::backend::Backend;
use lanefield::operator::{HopParameters, Operator as _, WilsonParameters};
use lanefield::solver::{
    self, Method, Preconditioning, SolveError, SolverError, SolverParams, WilsonSolve, conjugate_gradient,
};
use lanefield_reference::field::Spinors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Extents, Sites};
use lanefield_reference::links::BoundaryPhases;
use lanefield_reference::random::{Stream, gaussian_pair};
use num_complex::Complex;

use crate::common::backends::on_every_backend;
use crate::common::fields::{lattice, upload};
use crate::common::grid::{BOUNDARIES, GridData, MASS, distance};
use crate::common::models::{image, normal_solve};
use crate::common::multiple::Multiple;
use crate::common::solves::{bits_of, how, is_the_same};

fn gaussian(extents: Extents, seed: u64) -> Vec<Complex<f64>> {
    let words = Spinors::WORDS;
    let draw = |k: usize| gaussian_pair(seed, Stream::SpinorSource, (k / words) as u64, (k % words) as u32);
    (0..extents.volume() * words).map(draw).map(|(re, im)| Complex::new(re, im)).collect()
}

fn wilson(boundary: BoundaryPhases) -> WilsonParameters {
    WilsonParameters { mass: MASS, hop: HopParameters { boundary, ..HopParameters::default() } }
}

fn solve<R: Vectors>(preconditioning: Preconditioning) -> WilsonSolve {
    how::<R, _>(wilson(BoundaryPhases::ANTIPERIODIC_IN_TIME), preconditioning, Method::ConjugateGradients)
}

// Agreement with Grid

/// |source − M†M x| / |source|.
fn true_residual<B: Backend>(backend: &B, data: &GridData, boundary: BoundaryPhases, x: &[Complex<f64>]) -> f64 {
    let m =
        |psi: &[Complex<f64>], dagger| image::<f64, B, _>(backend, wilson(boundary), &data.configuration, psi, dagger);
    distance(&m(&m(x, Dagger::No), Dagger::Yes), &data.spinor("src"))
}

/// Solves as Grid did. Both stop at the same iteration, with residuals r that agree to many digits. So the iterates x = A⁻¹(b − r) can be
/// compared far below the tolerance of the solve: 4e-16 apart was seen.
fn assert_solves_as_grid<B: Backend>(backend: &B, data: &GridData, (suffix, boundary): (&str, BoundaryPhases)) {
    let name = format!("wilson_cg_mdagm_{suffix}");
    let (iterations, residual) = data.solve(&name);
    let theirs = data.spinor(&name);

    let residual_here = true_residual(backend, data, boundary, &theirs);
    assert!(
        (residual_here / residual - 1.0).abs() < 1e-3,
        "{} {name}: {residual_here:e} not {residual:e}",
        data.name()
    );

    let (ours, found) = normal_solve(backend, wilson(boundary), &data.configuration, &data.spinor("src"));
    assert_eq!(found, iterations, "{} {name}", data.name());
    let distance = distance(&ours, &theirs);
    assert!(distance < 1e-13, "{} {name}: relative distance {distance:e}", data.name());
}

fn solution_on_random_links_is_that_of_grid<B: Backend>(backend: &B) {
    for boundary in BOUNDARIES {
        assert_solves_as_grid(backend, &GridData::hot(), boundary);
    }
}

fn solution_on_weak_links_is_that_of_grid<B: Backend>(backend: &B) {
    assert_solves_as_grid(backend, &GridData::tepid(), BOUNDARIES[1]);
}

fn solution_on_the_thermalised_configuration_is_that_of_grid<B: Backend>(backend: &B) {
    assert_solves_as_grid(backend, &GridData::quenched(), BOUNDARIES[1]);
}

// Solutions of M ψ = η

fn even_odd_solution_is_that_of_the_full_lattice<B: Backend>(backend: &B) {
    let data = GridData::tepid();
    let eta = data.spinor("src");
    let solved = [Preconditioning::EvenOdd, Preconditioning::None].map(|preconditioning| {
        let mut solve = solve::<f64>(preconditioning);
        solve.params.tolerance = 1e-13;
        solver::solve::<f64, B, _>(backend, &data.configuration, &eta, &solve, |_, _| ()).unwrap()
    });
    let distance = distance(&solved[0].solution, &solved[1].solution);
    assert!(distance < 1e-12, "relative distance {distance:e}");
    assert!(solved[0].info().iterations < solved[1].info().iterations);
}

fn operator_times_solution_is_the_source<B: Backend>(backend: &B) {
    let configuration = Configuration::hot(Extents::new([4, 6, 2, 4]).unwrap(), 3);
    let eta = gaussian(configuration.extents(), 19);
    for preconditioning in [Preconditioning::EvenOdd, Preconditioning::None] {
        let solve = solve::<f64>(preconditioning);
        let report = solver::solve::<f64, B, _>(backend, &configuration, &eta, &solve, |_, _| ()).unwrap();
        let product = image::<f64, B, _>(backend, solve.operator, &configuration, &report.solution, Dagger::No);
        let residual = distance(&product, &eta);
        assert!(residual < 1e-9, "{residual:e}");
        assert!(
            (residual / report.rhs[0].solution_residual - 1.0).abs() < 1e-3,
            "{residual:e} {}",
            report.rhs[0].solution_residual
        );
    }
}

fn a_source_of_zero_is_solved_by_zero_at_once<B: Backend>(backend: &B) {
    let configuration = Configuration::hot(Extents::new([4, 4, 2, 2]).unwrap(), 3);
    let eta = vec![Complex::ZERO; configuration.extents().volume() * Spinors::WORDS];
    let solve = solve::<f64>(Preconditioning::EvenOdd);
    let report = solver::solve::<f64, B, _>(backend, &configuration, &eta, &solve, |_, _| ()).unwrap();
    assert_eq!((report.info().iterations, &report.info().history), (0, &vec![0.0]));
    assert!(report.solution == eta);
}

fn a_source_of_tiny_or_huge_numbers_has_the_bits_of_a_usual_one<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B, powers: &[i32]) {
        let configuration = Configuration::hot(Extents::new([4, 4, 2, 2]).unwrap(), 3);
        let eta = gaussian(configuration.extents(), 19);
        let how = solve::<R>(Preconditioning::EvenOdd);
        let run = |eta: &[Complex<f64>]| solver::solve::<R, B, _>(backend, &configuration, eta, &how, |_, _| ());
        let usual = run(&eta).unwrap();
        assert_eq!(usual.scale, 0);
        let expected = |power: i32| usual.solution.iter().map(move |c| [c.re, c.im].map(|x| times(x.to_f64(), power)));
        for &power in powers {
            let of_power: Vec<_> = eta.iter().map(|c| Complex::new(times(c.re, power), times(c.im, power))).collect();
            let found = run(&of_power).unwrap();
            assert_ne!(found.scale, 0, "{power}");
            assert_eq!(found.info().iterations, usual.info().iterations, "{power}");
            let found = found.solution.iter().map(|c| [c.re.to_f64(), c.im.to_f64()]);
            assert!(found.eq(expected(power)), "{} × 2^{power}", R::NAME);
        }
    }
    check::<f64, B>(backend, &[-520, -540, -900, 500]);
    check::<f32, B>(backend, &[-60, 60]);
}

/// x · 2^power.
fn times(x: f64, power: i32) -> f64 {
    x * 2.0_f64.powi(power)
}

// Errors

fn no_convergence_is_an_error_that_keeps_the_history<B: Backend>(backend: &B) {
    let configuration = Configuration::hot(Extents::new([4, 4, 2, 2]).unwrap(), 3);
    let eta = gaussian(configuration.extents(), 19);
    let mut solve = solve::<f64>(Preconditioning::EvenOdd);
    solve.params.max_iterations = 5;
    let error = solver::solve::<f64, B, _>(backend, &configuration, &eta, &solve, |_, _| ()).unwrap_err();
    assert!(matches!(error, SolveError::Recurrence(SolverError::NotConverged { .. })), "{error}");
    assert_eq!(error.history().unwrap().len(), 6);
    assert!(error.to_string().starts_with("no convergence in 5 iterations: |r|/|b| is "), "{error}");
}

fn a_source_that_is_no_number_is_an_error<B: Backend>(backend: &B) {
    let configuration = Configuration::hot(Extents::new([4, 4, 2, 2]).unwrap(), 3);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut eta = gaussian(configuration.extents(), 19);
        eta[100].im = bad;
        let solve = solve::<f64>(Preconditioning::None);
        let error = solver::solve::<f64, B, _>(backend, &configuration, &eta, &solve, |_, _| ()).unwrap_err();
        assert!(matches!(error, SolveError::Recurrence(SolverError::NotFinite { quantity: "|b|²", .. })), "{error}");
    }
}

fn a_tolerance_that_f32_cannot_reach_fails_by_the_true_residual<B: Backend>(backend: &B) {
    let configuration = Configuration::hot(Extents::new([4, 4, 2, 2]).unwrap(), 3);
    let eta = gaussian(configuration.extents(), 19);
    let mut solve = solve::<f32>(Preconditioning::EvenOdd);
    solve.params.tolerance = 1e-10;
    let error = solver::solve::<f32, B, _>(backend, &configuration, &eta, &solve, |_, _| ()).unwrap_err();
    let SolveError::TrueResidual { true_residual, recurrence, ref history, .. } = error else { panic!("{error}") };
    assert!(recurrence <= 1e-10 && true_residual > 1e-9 && true_residual < 1e-5, "{error}");
    assert!(history.len() > 10);
    assert!(error.to_string().contains("rounding has the better of f32"), "{error}");
}

fn an_operator_that_is_not_positive_is_an_error<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 4, 2, 2]).unwrap();
    let lattice = lattice::<f64>(extents);
    let source = upload::<f64, Spinors, B>(backend, lattice, Sites::Full, &gaussian(extents, 19));
    let run = |factor| {
        let mut operator = Multiple::<B, f64>::new(backend, lattice, Sites::Full, factor);
        let mut x = operator.zeros().unwrap();
        conjugate_gradient(&mut operator, &source, &mut x, SolverParams::auto::<f64>(), |_, _| ())
    };
    assert_eq!(run(2.0).unwrap().iterations, 1);
    let error = run(-2.0).unwrap_err();
    assert!(matches!(error, SolverError::Indefinite { curvature, .. } if curvature < 0.0), "{error}");
    assert!(matches!(run(0.0), Err(SolverError::Indefinite { curvature: 0.0, .. })));
}

on_every_backend! {
    in test-all:
    even_odd_solution_is_that_of_the_full_lattice,
    solution_on_random_links_is_that_of_grid,
    solution_on_weak_links_is_that_of_grid,
    solution_on_the_thermalised_configuration_is_that_of_grid,
    operator_times_solution_is_the_source,
    a_source_of_zero_is_solved_by_zero_at_once,
    a_source_of_tiny_or_huge_numbers_has_the_bits_of_a_usual_one,
    no_convergence_is_an_error_that_keeps_the_history,
    a_source_that_is_no_number_is_an_error,
    a_tolerance_that_f32_cannot_reach_fails_by_the_true_residual,
    an_operator_that_is_not_positive_is_an_error,
}

// The same bits wherever it runs

/// On the CPU, and on OpenCL in lanes of these bytes.
fn history_and_solution_are_the_same_bits<R: Vectors>(on_opencl: &[usize]) {
    let configuration = Configuration::hot(Extents::new([8, 4, 4, 8]).unwrap(), 23);
    let eta = gaussian(configuration.extents(), 29);
    for preconditioning in [Preconditioning::EvenOdd, Preconditioning::None] {
        let on_the_cpu = [(1, 16), (1, 256), (2, 64), (2, 256), (3, 16), (3, 64)];
        is_the_same(&on_the_cpu, on_opencl, |backend, lanes| {
            let solve = WilsonSolve { lanes, ..solve::<R>(preconditioning) };
            let report = solver::solve::<R, _, _>(backend, &configuration, &eta, &solve, |_, _| ()).unwrap();
            assert!(report.info().history.len() > 10);
            bits_of(&report)
        });
    }
}

#[test]
fn f64_history_and_solution_are_the_same_bits_everywhere() {
    history_and_solution_are_the_same_bits::<f64>(&[64]);
}

#[test]
fn f32_history_and_solution_are_the_same_bits_everywhere() {
    history_and_solution_are_the_same_bits::<f32>(&[]);
}

#[test]
#[ignore = "test-all: all builds"]
fn history_and_solution_are_the_same_bits_in_all_lanes_on_opencl() {
    history_and_solution_are_the_same_bits::<f64>(&[16, 256]);
    history_and_solution_are_the_same_bits::<f32>(&[16, 64, 256]);
}
