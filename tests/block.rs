//! Block conjugate gradients: they solve all systems, of dependent right-hand sides too, in fewer iterations than each alone; states, errors, and the same bits
//! wherever they run. The solver is `src/solver/block.rs`.

use lanefield::prelude::*;
use lanefield::solver::{
    BlockConjugateGradients, Recurrence, SolveError, SolverError, SolverInfo, block_conjugate_gradient,
    conjugate_gradient, conjugate_gradient_batch, run,
};
use lanefield_reference::field::SiteObject as _;

use crate::common::backends::{cpu, on_every_backend};
use crate::common::by_function::multiple;
use crate::common::fields::{ODD, gaussian, lattice, upload};
use crate::common::models::antiperiodic;
use crate::common::solves::{After, Normal, bits_of, configuration, how, is_the_same, normal, quiet, staggered};

fn wilson() -> WilsonParameters {
    WilsonParameters { mass: -0.2, hop: antiperiodic() }
}

/// Gaussian right-hand sides, each multiplied by a number, plus other ones by other numbers.
fn sources<B: Backend, R: Vectors>(backend: &B, columns: &[&[(usize, f64)]]) -> FieldOn<B, R, Spinors> {
    let extents = configuration().extents();
    let words = Spinors::WORDS;
    let all: Vec<Vec<Complex<f64>>> = (0..columns.len()).map(|k| gaussian(extents, words, 5 + k as u64)).collect();
    let number = |site: usize, column: &[(usize, f64)], word: usize| {
        column.iter().map(|&(k, factor)| all[k][site * words + word] * factor).sum::<Complex<f64>>()
    };
    let of_site =
        |site: usize| columns.iter().flat_map(move |column| (0..words).map(move |word| (site, *column, word)));
    let values: Vec<Complex<f64>> =
        (0..extents.volume()).flat_map(of_site).map(|(site, column, word)| number(site, column, word)).collect();
    upload(backend, lattice::<R>(extents), ODD, &values)
}

/// Independent ones, so many.
fn independent<B: Backend, R: Vectors>(backend: &B, count: usize) -> FieldOn<B, R, Spinors> {
    let columns: Vec<[(usize, f64); 1]> = (0..count).map(|k| [(k, 1.0)]).collect();
    sources(backend, &columns.iter().map(|column| &column[..]).collect::<Vec<_>>())
}

/// |b − A x| / |b| of each right-hand side; 0 of those that are zero.
fn residuals<B: Backend, R: Vectors>(
    operator: &mut Normal<'_, B, R>,
    b: &FieldOn<B, R, Spinors>,
    x: &FieldOn<B, R, Spinors>,
) -> Vec<f64> {
    let columns = b.kind().count();
    let mut product = operator.zeros_of(columns).unwrap();
    operator.apply(&mut product, x, Dagger::No).unwrap();
    let backend = lanefield::operator::ActsOn::backend(operator);
    let norms = backend.rhs_products(b, b, 1, Sum::Exact).unwrap();
    let left = backend.rhs_axpy_norm(&vec![-1.0; columns], b, &mut product, Sum::Exact).unwrap();
    left.iter().zip(norms).map(|(left, norm2)| if norm2 > 0.0 { (left / norm2).sqrt() } else { left.sqrt() }).collect()
}

fn iterations(infos: &[SolverInfo]) -> Vec<usize> {
    infos.iter().map(|info| info.iterations).collect()
}

fn all_systems_are_solved_in_fewer_iterations_than_each_alone<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B, share: f64) {
        let columns = 6;
        let mut operator = normal::<B, R>(backend, wilson());
        let (b, params) = (independent::<B, R>(backend, columns), SolverParams::auto::<R>());
        let (_, alone) = conjugate_gradient_batch(&mut operator, &b, columns, params, quiet()).unwrap();
        let (x, infos) = block_conjugate_gradient(&mut operator, &b, columns, params, quiet()).unwrap();
        for (info, residual) in infos.iter().zip(residuals(&mut operator, &b, &x)) {
            assert!(residual <= 2.0 * params.tolerance, "{}: {residual:e}", R::NAME);
            // The last of the history is that of the solution.
            assert!((residual / info.relative_residual() - 1.0).abs() < 1e-3, "{residual:e}, {info:?}");
            // All end together.
            assert_eq!(info.iterations, infos[0].iterations);
        }
        let (ours, theirs) = (infos[0].iterations, iterations(&alone).into_iter().max().unwrap());
        assert!((ours as f64) < share * theirs as f64, "{}: {ours} iterations, alone {theirs}", R::NAME);
    }
    check::<f64, B>(backend, 0.7);
    check::<f32, B>(backend, 0.9);
}

fn one_right_hand_side_is_solved_as_by_conjugate_gradients<B: Backend>(backend: &B) {
    let mut operator = normal::<B, f64>(backend, wilson());
    let (b, params) = (independent::<B, f64>(backend, 1), SolverParams::auto::<f64>());
    let mut alone = operator.zeros().unwrap();
    let of_one = conjugate_gradient(&mut operator, &b, &mut alone, params, quiet()).unwrap();
    let (x, infos) = block_conjugate_gradient(&mut operator, &b, 1, params, quiet()).unwrap();
    // One more: that of the true residual.
    assert_eq!(infos[0].iterations, of_one.iterations + 1);
    for (ours, theirs) in infos[0].history.iter().zip(&of_one.history).take(20) {
        assert!((ours / theirs - 1.0).abs() < 1e-9, "{ours:e} {theirs:e}");
    }
    let norm2 = backend.norm2(&alone, Sum::Exact).unwrap();
    let apart = (backend.axpy_norm(-1.0, &x, &mut alone, Sum::Exact).unwrap() / norm2).sqrt();
    assert!(apart < 1e-9, "{apart:e}");
}

/// Two that are equal, a combination of others, one that is zero, one of other size, and two that are nearly the same.
fn right_hand_sides_that_depend_on_others_are_solved_too<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B, columns: &[&[(usize, f64)]], kept: usize) {
        let mut operator = normal::<B, R>(backend, wilson());
        let (b, params) = (sources::<B, R>(backend, columns), SolverParams::auto::<R>());
        let count = columns.len();
        let block = BlockConjugateGradients::new(&mut operator, &b, count, None, params).unwrap();
        assert_eq!(block.columns(), kept, "{columns:?}");
        let (x, infos) = block_conjugate_gradient(&mut operator, &b, count, params, quiet()).unwrap();
        for (k, residual) in residuals(&mut operator, &b, &x).into_iter().enumerate() {
            assert!(residual <= 2.0 * params.tolerance, "{}: {residual:e}, {columns:?}", R::NAME);
            assert!(!columns[k].is_empty() || infos[k].history.iter().all(|&c| c == 0.0));
        }
    }
    let equal: [&[(usize, f64)]; 3] = [&[(0, 1.0)], &[(1, 1.0)], &[(0, 1.0)]];
    let combined: [&[(usize, f64)]; 4] = [&[(0, 1.0)], &[(0, 2.0), (2, -0.5)], &[], &[(2, 1e-20)]];
    let near: [&[(usize, f64)]; 3] = [&[(0, 1.0)], &[(0, 1.0), (1, 1e-9)], &[(2, 1.0)]];
    check::<f64, B>(backend, &equal, 2);
    check::<f32, B>(backend, &equal, 2);
    check::<f64, B>(backend, &combined, 2);
    // What the first solution leaves of the second one is solved for in a second beginning.
    check::<f64, B>(backend, &near, 2);
}

fn a_source_of_zeros_takes_no_iteration<B: Backend>(backend: &B) {
    let mut operator = normal::<B, f64>(backend, wilson());
    let b = sources::<B, f64>(backend, &[&[], &[]]);
    let (x, infos) = block_conjugate_gradient(&mut operator, &b, 2, SolverParams::auto::<f64>(), quiet()).unwrap();
    assert_eq!(iterations(&infos), [0, 0]);
    assert_eq!(backend.norm2(&x, Sum::Exact).unwrap(), 0.0);
}

fn a_guess_is_gone_on_from<B: Backend>(backend: &B) {
    let mut operator = normal::<B, f64>(backend, wilson());
    let b = independent::<B, f64>(backend, 3);
    let rough = SolverParams { tolerance: 1e-5, ..SolverParams::auto::<f64>() };
    let (guess, _) = block_conjugate_gradient(&mut operator, &b, 3, rough, quiet()).unwrap();
    let params = SolverParams::auto::<f64>();
    let mut block = BlockConjugateGradients::new(&mut operator, &b, 3, Some(guess), params).unwrap();
    assert!(block.infos().iter().all(|info| info.history[0] < 1e-9 * info.source_norm2));
    run(&mut block, &mut quiet()).unwrap();
    let (x, _) = block.into_solution().unwrap();
    assert!(residuals(&mut operator, &b, &x).into_iter().all(|residual| residual <= 2.0 * params.tolerance));
}

fn operators_that_are_not_positive_are_errors<B: Backend>(backend: &B) {
    let extents = configuration().extents();
    let b = upload(backend, lattice::<f64>(extents), Sites::Full, &gaussian(extents, 2 * Spinors::WORDS, 7));
    let mut negative = multiple::<B, f64>(backend, lattice::<f64>(extents), Sites::Full, -1.0);
    let error = block_conjugate_gradient(&mut negative, &b, 2, SolverParams::auto::<f64>(), quiet()).unwrap_err();
    assert!(matches!(error, SolverError::Indefinite { curvature, .. } if curvature < 0.0), "{error}");
    let mut operator = normal::<B, f64>(backend, wilson());
    let few = SolverParams { max_iterations: 3, ..SolverParams::auto::<f64>() };
    let b = independent::<B, f64>(backend, 2);
    let error = block_conjugate_gradient(&mut operator, &b, 2, few, quiet()).unwrap_err();
    assert!(matches!(error, SolverError::NotConverged { ref info, .. } if info.iterations == 3), "{error}");
}

fn it_goes_on_from_a_saved_state_to_the_same_bits<B: Backend>(backend: &B) {
    let mut operator = normal::<B, f64>(backend, wilson());
    let near: [&[(usize, f64)]; 3] = [&[(0, 1.0)], &[(0, 1.0), (1, 1e-9)], &[(2, 1.0)]];
    let (b, params) = (sources::<B, f64>(backend, &near), SolverParams::auto::<f64>());
    let mut whole = BlockConjugateGradients::new(&mut operator, &b, 3, None, params).unwrap();
    run(&mut whole, &mut quiet()).unwrap();
    let (whole, last) = (whole.save().unwrap(), whole.info().iterations);
    // In the middle, before the last true residual, and after the second beginning.
    for after in [5, last - 1, last - 2] {
        let mut half = BlockConjugateGradients::new(&mut operator, &b, 3, None, params).unwrap();
        run(&mut half, &mut After(after)).unwrap_err();
        let half = half.save().unwrap();
        assert!(half != whole);
        let mut resumed = BlockConjugateGradients::new(&mut operator, &b, 3, None, params).unwrap();
        resumed.restore(&half).unwrap();
        run(&mut resumed, &mut quiet()).unwrap();
        assert!(resumed.save().unwrap() == whole, "after {after} of {last} iterations");
        let other = independent::<B, f64>(backend, 3);
        let error = BlockConjugateGradients::new(&mut operator, &other, 3, None, params).unwrap().restore(&half);
        assert!(error.unwrap_err().to_string().contains("its source has |b|²"));
    }
}

on_every_backend! {
    in test-all:
    all_systems_are_solved_in_fewer_iterations_than_each_alone,
    one_right_hand_side_is_solved_as_by_conjugate_gradients,
    right_hand_sides_that_depend_on_others_are_solved_too,
    a_source_of_zeros_takes_no_iteration,
    a_guess_is_gone_on_from,
    operators_that_are_not_positive_are_errors,
    it_goes_on_from_a_saved_state_to_the_same_bits,
}

/// On the CPU, and on OpenCL in lanes of these bytes.
fn bits_are_the_same<R: Vectors, M: Model>(model: M, on_opencl: &[usize]) {
    let eta = gaussian(configuration().extents(), 3 * model.object(1).words(), 21);
    is_the_same(&[(1, 16), (3, 16)], on_opencl, |backend, lanes| {
        let method = Method::BlockConjugateGradients;
        let how = Solve { lanes, ..how::<R, _>(model, Preconditioning::EvenOdd, method) };
        bits_of(&solve::<R, _, M>(backend, &configuration(), &eta, &how, quiet()).unwrap())
    });
}

#[test]
fn histories_and_solutions_are_the_same_bits_everywhere() {
    bits_are_the_same::<f64, _>(wilson(), &[64]);
    bits_are_the_same::<f32, _>(wilson(), &[]);
    bits_are_the_same::<f64, _>(staggered(), &[]);
}

#[test]
#[ignore = "test-all: all builds"]
fn histories_and_solutions_are_the_same_bits_in_all_lanes_on_opencl() {
    bits_are_the_same::<f64, _>(wilson(), &[16]);
    bits_are_the_same::<f32, _>(wilson(), &[16, 64]);
    bits_are_the_same::<f64, _>(staggered(), &[16, 64]);
}

#[test]
fn mixed_precision_takes_no_block() {
    let eta = gaussian(configuration().extents(), 2 * Spinors::WORDS, 21);
    let how = how::<f64, _>(wilson(), Preconditioning::EvenOdd, Method::MixedF32);
    let error = solve::<f64, _, _>(&cpu(), &configuration(), &eta, &how, quiet()).unwrap_err();
    assert!(matches!(error, SolveError::NoBatch { rhs: 2, .. }), "{error}");
}
