//! Conjugate gradients: agreement with Grid, errors, and the same history wherever it runs. The solver is `src/solver`.

use lanefield::operator::ModelChoice;
use lanefield::prelude::*;
use lanefield::solver::{self, SolveError, SolverError, WilsonSolve, conjugate_gradient};
use lanefield_reference::random::{Stream, gaussian_pair};

use crate::common::backends::on_every_backend;
use crate::common::by_function::multiple;
use crate::common::fields::{lattice, upload};
use crate::common::grid::{BOUNDARIES, GridData, MASS, distance};
use crate::common::models::{image, normal_solve};
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
    fn check<R: Vectors, B: Backend>(backend: &B, powers: &[i32], method: Method, shifts: &[f64]) {
        let configuration = Configuration::hot(Extents::new([4, 4, 2, 2]).unwrap(), 3);
        let eta = gaussian(configuration.extents(), 19);
        let how = WilsonSolve { method, ..solve::<R>(Preconditioning::EvenOdd) };
        let run = |eta: &[Complex<f64>]| match shifts {
            [] => solver::solve::<R, B, _>(backend, &configuration, eta, &how, |_, _| ()),
            _ => solver::solve_with_shifts::<R, B, _>(backend, &configuration, eta, shifts, &how, &mut |_, _| (), None),
        };
        let usual = run(&eta).unwrap();
        assert_eq!(usual.rhs[0].source_scale, 0);
        let expected = |power: i32| usual.solution.iter().map(move |c| [c.re, c.im].map(|x| times(x.to_f64(), power)));
        for &power in powers {
            let of_power: Vec<_> = eta.iter().map(|c| Complex::new(times(c.re, power), times(c.im, power))).collect();
            let found = run(&of_power).unwrap();
            assert_ne!(found.rhs[0].source_scale, 0, "{power}");
            assert_eq!(found.info().iterations, usual.info().iterations, "{power}");
            let found = found.solution.iter().map(|c| [c.re.to_f64(), c.im.to_f64()]);
            assert!(found.eq(expected(power)), "{} × 2^{power}", R::NAME);
        }
    }
    check::<f64, B>(backend, &[-520, -540, -900, 500], Method::ConjugateGradients, &[]);
    check::<f64, B>(backend, &[-520, 500], Method::ConjugateGradients, &[0.0, 0.5]);
    check::<f64, B>(backend, &[-60, -900, 500], Method::MixedF32, &[]);
    check::<f32, B>(backend, &[-60, 60], Method::ConjugateGradients, &[]);
}

fn right_hand_sides_of_all_scales_have_in_one_batch_the_bits_that_they_have_alone<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend, M: ModelChoice>(backend: &B, operator: M, words: usize, scales: &[f64]) {
        let configuration = Configuration::weak(Extents::new([4, 4, 2, 2]).unwrap(), 3, 0.3);
        let one: Vec<Complex<f64>> = gaussian(configuration.extents(), 19)
            .chunks(Spinors::WORDS)
            .flat_map(|site| site[..words].to_vec())
            .collect();
        let alone: Vec<Vec<_>> = scales.iter().map(|scale| one.iter().map(|c| c * scale).collect()).collect();
        let batch: Vec<Complex<f64>> = (0..one.len() / words)
            .flat_map(|site| alone.iter().flat_map(move |eta| eta[site * words..][..words].to_vec()))
            .collect();
        for method in [Method::ConjugateGradients, Method::BlockConjugateGradients] {
            let Solve { preconditioning, params, lanes, .. } = solve::<R>(Preconditioning::EvenOdd);
            let how = Solve { operator, method, preconditioning, params, lanes };
            let run = |eta: &[Complex<f64>], how: &Solve<M>| {
                solver::solve::<R, B, _>(backend, &configuration, eta, how, |_, _| ()).unwrap()
            };
            let all = run(&batch, &how);
            for (k, eta) in alone.iter().enumerate() {
                let single = run(eta, &Solve { method: Method::ConjugateGradients, ..how });
                let (found, expected) = (&all.rhs[k], &single.rhs[0]);
                let of_batch: Vec<Complex<R>> = all
                    .solution
                    .chunks(scales.len() * words)
                    .flat_map(|site| site[k * words..][..words].to_vec())
                    .collect();
                assert_eq!(
                    (found.source_scale, scales[k] == 0.0),
                    (expected.source_scale, found.info.source_norm2 == 0.0)
                );
                assert!(found.true_residual <= 10.0 * params.tolerance, "{} × {}: {found:?}", R::NAME, scales[k]);
                if method == Method::ConjugateGradients {
                    assert!(of_batch == single.solution, "{} × {}", R::NAME, scales[k]);
                    assert_eq!(found, expected, "{} × {}", R::NAME, scales[k]);
                }
            }
        }
    }
    let wilson = solve::<f64>(Preconditioning::EvenOdd).operator;
    check::<f64, B, _>(backend, wilson, Spinors::WORDS, &[1.0, 1e-150, 1e150, 1e-300, 1e300, 0.0, 1e-310, 1e-77]);
    check::<f32, B, _>(backend, wilson, Spinors::WORDS, &[1e-30, 1.0, 1e30, 1e-37, 0.0, 3e37]);
    let staggered = StaggeredParameters { mass: 0.2, components: 1, hop: HopParameters::default() };
    check::<f64, B, _>(backend, staggered, 3, &[1e-170, 1.0, 1e160]);
}

fn a_source_whose_solution_cannot_be_held_is_refused<B: Backend>(backend: &B) {
    let configuration = Configuration::weak(Extents::new([4, 4, 2, 2]).unwrap(), 3, 0.3);
    let usual = gaussian(configuration.extents(), 19);
    let how = solve::<f64>(Preconditioning::EvenOdd);
    // The source is a few times the smallest number: rounding to multiples of that leaves no correct digit in the solution.
    let site = |of: &Complex<f64>| [*of, Complex::new((of.re * 3.0).round() * f64::from_bits(1), 0.0)];
    let eta: Vec<Complex<f64>> = usual
        .chunks(Spinors::WORDS)
        .flat_map(|spinor| [0, 1].into_iter().flat_map(move |k| spinor.iter().map(move |c| site(c)[k])))
        .collect();
    let error = solver::solve::<f64, B, _>(backend, &configuration, &eta, &how, |_, _| ()).unwrap_err().to_string();
    assert!(error.starts_with("the solution of right-hand side 1 has numbers such as "), "{error}");
}

/// Recurrences scale nothing themselves.
fn a_source_whose_square_underflows_is_an_error_of_a_recurrence<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 4, 2, 2]).unwrap();
    let lattice = lattice::<f64>(extents);
    let run = |scale: f64| {
        let eta: Vec<_> = gaussian(extents, 19).iter().map(|c| c * scale).collect();
        let source = upload::<f64, Spinors, B>(backend, lattice, Sites::Full, &eta);
        let mut operator = multiple::<B, f64>(backend, lattice, Sites::Full, 2.0);
        let mut x = operator.zeros().unwrap();
        conjugate_gradient(&mut operator, &source, &mut x, SolverParams::auto::<f64>(), |_, _| ())
    };
    assert_eq!(run(1e-100).unwrap().iterations, 1);
    assert_eq!(run(0.0).unwrap().iterations, 0);
    for scale in [1e-145, 1e-170, 1e-300] {
        let error = run(scale).unwrap_err();
        assert!(matches!(error, SolverError::Underflow { .. }), "{scale}: {error}");
    }
}

/// x · 2^power.
fn times(x: f64, power: i32) -> f64 {
    x * 2.0_f64.powi(power)
}

#[test]
fn each_column_of_a_batch_has_a_scale_of_its_own_and_the_bits_that_it_has_alone() {
    fn check<R: Vectors>(powers: [Option<i32>; 5]) {
        let (backend, configuration) =
            (Cpu::new(None).unwrap(), Configuration::hot(Extents::new([4, 4, 2, 2]).unwrap(), 3));
        let eta = gaussian(configuration.extents(), 19);
        let columns = powers.map(|power| -> Vec<_> {
            let times = |x| power.map_or(0.0, |power| times(x, power));
            eta.iter().map(|c| Complex::new(times(c.re), times(c.im))).collect()
        });
        let words = Spinors::WORDS;
        let sites = 0..configuration.extents().volume();
        let batch: Vec<_> =
            sites.flat_map(|site| columns.iter().flat_map(move |c| c[site * words..][..words].to_vec())).collect();
        for preconditioning in [Preconditioning::EvenOdd, Preconditioning::None] {
            let run = |how: &WilsonSolve, eta: &[_]| {
                solver::solve::<R, Cpu, _>(&backend, &configuration, eta, how, |_, _| ()).unwrap()
            };
            let how = solve::<R>(preconditioning);
            let (together, of_a_usual_one) = (run(&how, &batch), run(&how, &eta));
            for (k, power) in powers.into_iter().enumerate() {
                let of_column = together.solution.chunks_exact(words).skip(k).step_by(powers.len());
                assert!(of_column.flatten().eq(&run(&how, &columns[k]).solution), "{} × 2^{power:?}", R::NAME);
                let solved = &together.rhs[k];
                match power {
                    Some(_) => assert_eq!(solved.info.iterations, of_a_usual_one.info().iterations),
                    None => assert_eq!((solved.info.iterations, solved.true_residual), (0, 0.0)),
                }
            }
            // Columns that depend on each other, which one block solves all the same.
            let in_block = run(&WilsonSolve { method: Method::BlockConjugateGradients, ..how }, &batch);
            assert!(in_block.rhs.iter().all(|rhs| rhs.solution_residual < 1e3 * how.params.tolerance));
        }
    }
    check::<f64>([Some(0), Some(-515), Some(-940), Some(900), None]);
    check::<f32>([Some(0), Some(-100), Some(-60), Some(120), None]);
}

#[test]
fn a_residual_that_would_underflow_is_an_error() {
    let (backend, extents) = (Cpu::new(None).unwrap(), Extents::new([4, 4, 2, 2]).unwrap());
    let lattice = lattice::<f64>(extents);
    let source: Vec<_> = gaussian(extents, 19).into_iter().map(|c| c * 1e-155).collect();
    let source = upload::<f64, Spinors, _>(&backend, lattice, Sites::Full, &source);
    let mut operator = multiple::<_, f64>(&backend, lattice, Sites::Full, 2.0);
    let mut x = operator.zeros().unwrap();
    let found = conjugate_gradient(&mut operator, &source, &mut x, SolverParams::auto::<f64>(), |_, _| ());
    assert!(matches!(found, Err(SolverError::Underflow { .. })), "{found:?}");
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
        assert!(matches!(error, SolveError::Source { rhs: 0, site: Some(_), .. }), "{error}");
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
    assert!(error.to_string().contains("the rounding of f32 limits the accuracy"), "{error}");
}

fn an_operator_that_is_not_positive_is_an_error<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 4, 2, 2]).unwrap();
    let lattice = lattice::<f64>(extents);
    let source = upload::<f64, Spinors, B>(backend, lattice, Sites::Full, &gaussian(extents, 19));
    let run = |factor| {
        let mut operator = multiple::<B, f64>(backend, lattice, Sites::Full, factor);
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
    right_hand_sides_of_all_scales_have_in_one_batch_the_bits_that_they_have_alone,
    a_source_whose_solution_cannot_be_held_is_refused,
    a_source_whose_square_underflows_is_an_error_of_a_recurrence,
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
