//! The solvers beside plain conjugate gradients: batches, mixed precision, BiCGStab; states that are saved and restored; errors. The solvers
//! are `src/solver`.

use lanefield::operator::{SchurComplement, System};
use lanefield::prelude::*;
use lanefield::solver::{
    BatchConjugateGradients, BiCgStab, ConjugateGradients, MixedConjugateGradients, Recurrence, SavedState,
    SolverError, SolverInfo, bicgstab, conjugate_gradient, conjugate_gradient_batch, mixed_conjugate_gradient, run,
};
use lanefield_reference::half::Half;
use lanefield_reference::random::{Stream, gaussian_pair};
use lanefield_reference::real::Real as _;

use crate::common::backends::{cpu, on_every_backend, opencl};
use crate::common::by_function::multiple;
use crate::common::fields::ODD;
use crate::common::models::antiperiodic;
use crate::common::solves::{After, bits, configuration, quiet};

/// The f64 lattice; those of the other precisions have the same cut.
fn lattice<R: Vectors>() -> Lattice {
    let of_f64 = Lattice::new(configuration().extents(), f64::COMPLEX, LatticeOptions::default()).unwrap();
    of_f64.in_scalar(R::COMPLEX).unwrap()
}

fn parameters() -> WilsonParameters {
    WilsonParameters { mass: -0.1, hop: HopParameters { links: LinkFormat::TwoRows, ..antiperiodic() } }
}

type Schur<'b, B, R> = SchurComplement<'b, B, R, Spinors>;
type NormalSchur<'b, B, R> = System<B, R, Schur<'b, B, R>>;

fn schur<B: Backend, R: Vectors>(backend: &B) -> Schur<'_, B, R> {
    SchurComplement::new(parameters().even_odd(backend, &configuration(), lattice::<R>()).unwrap()).unwrap()
}

fn normal<B: Backend, R: Vectors>(backend: &B) -> NormalSchur<'_, B, R> {
    System::new(schur(backend), true).unwrap()
}

/// Gaussian right-hand sides, all zero in the columns `zero`.
fn sources<R: Vectors>(columns: usize, zero: &[usize]) -> Field<R, Spinors> {
    Field::from_sites(lattice::<R>(), ODD, Spinors::new(columns), |site, words| {
        for (k, word) in words.iter_mut().enumerate() {
            let (re, im) = gaussian_pair(5, Stream::TestData, site as u64, k as u32);
            let scale = if zero.contains(&(k / Spinors::WORDS)) { 0.0 } else { 1.0 };
            *word = Complex::new(R::from_f64(scale * re), R::from_f64(scale * im));
        }
    })
    .unwrap()
}

fn source<B: Backend, R: Vectors>(backend: &B) -> FieldOn<B, R, Spinors> {
    backend.upload(sources::<R>(1, &[])).unwrap()
}

/// |b − A x| / |b|.
fn residual<B: Backend, A: Operator<B, f64, Object = Spinors>>(
    operator: &mut A,
    b: &FieldOn<B, f64, Spinors>,
    x: &FieldOn<B, f64, Spinors>,
) -> f64 {
    let mut product = operator.zeros().unwrap();
    operator.apply(&mut product, x, Dagger::No).unwrap();
    let backend = operator.backend();
    let norm2 = backend.norm2(b, Sum::Exact).unwrap();
    (backend.axpy_norm(-1.0, b, &mut product, Sum::Exact).unwrap() / norm2).sqrt()
}

// Batches

fn every_column_of_a_batch_has_the_bits_of_its_own_solve<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B) {
        let columns = 4;
        let all = sources::<R>(columns, &[2]);
        let mut operator = normal::<B, R>(backend);
        let params = SolverParams::auto::<R>();
        let held = backend.upload(all.clone()).unwrap();
        let (together, infos) = conjugate_gradient_batch(&mut operator, &held, columns, params, quiet()).unwrap();
        let iterations: Vec<usize> = infos.iter().map(|info| info.iterations).collect();
        assert!(iterations[2] == 0 && iterations[0] > 10, "{iterations:?}");
        for (column, info) in infos.iter().enumerate() {
            let solution = backend.take_rhs(&together, &[column], 1).unwrap();
            let alone = backend.take_rhs(&held, &[column], 1).unwrap();
            let mut psi = operator.zeros().unwrap();
            let expected = conjugate_gradient(&mut operator, &alone, &mut psi, params, quiet()).unwrap();
            assert_eq!(bits(&info.history), bits(&expected.history), "column {column}");
            let [found, expected] = [&solution, &psi].map(|field| backend.download(field).unwrap());
            assert!(found.reals().iter().zip(expected.reals()).all(|(a, b)| a.same_bits(*b)), "column {column}");
        }
    }
    check::<f32, B>(backend);
    check::<f64, B>(backend);
}

// Mixed precision

fn mixed_precision_reaches_the_tolerance_of_f64_in_about_as_many_iterations<B: Backend>(backend: &B) {
    fn check<S: Vectors, B: Backend>(backend: &B, most: f64) {
        let (mut operator, mut low) = (normal::<B, f64>(backend), normal::<B, S>(backend));
        let b = source::<B, f64>(backend);
        let params = SolverParams::auto::<f64>();
        let mut pure = operator.zeros().unwrap();
        let of_f64 = conjugate_gradient(&mut operator, &b, &mut pure, params, quiet()).unwrap();
        let mut psi = operator.zeros().unwrap();
        let info = mixed_conjugate_gradient((&mut operator, &mut low), &b, &mut psi, params, quiet()).unwrap();
        let ratio = info.iterations as f64 / of_f64.iterations as f64;
        assert!(ratio <= most, "{}: {} iterations, f64 {}", S::NAME, info.iterations, of_f64.iterations);
        let residual = residual(&mut operator, &b, &psi);
        assert!(residual <= params.tolerance, "{}: {residual:e}", S::NAME);
        // The last of the history is of f64.
        assert_eq!((residual / info.relative_residual() * 1e3).round(), 1e3);
    }
    check::<f32, B>(backend, 1.2);
    check::<Half, B>(backend, 1.6);
}

fn a_guess_is_gone_on_from_in_mixed_precision<B: Backend>(backend: &B) {
    let (mut operator, mut low) = (normal::<B, f64>(backend), normal::<B, f32>(backend));
    let b = source::<B, f64>(backend);
    let rough = SolverParams { tolerance: 1e-4, ..SolverParams::auto::<f64>() };
    let mut psi = operator.zeros().unwrap();
    mixed_conjugate_gradient((&mut operator, &mut low), &b, &mut psi, rough, quiet()).unwrap();
    let fine = SolverParams::auto::<f64>();
    let info = mixed_conjugate_gradient((&mut operator, &mut low), &b, &mut psi, fine, quiet()).unwrap();
    assert!(info.history[0] <= 1e-8 * info.source_norm2);
    assert!(residual(&mut operator, &b, &psi) <= fine.tolerance);
}

// BiCGStab

fn bicgstab_solves_without_normal_equations<B: Backend>(backend: &B) {
    let mut operator = schur::<B, f64>(backend);
    let b = source::<B, f64>(backend);
    let mut psi = operator.zeros().unwrap();
    let info = bicgstab(&mut operator, &b, &mut psi, SolverParams::auto::<f64>(), quiet()).unwrap();
    assert!(info.iterations > 5);
    let residual = residual(&mut operator, &b, &psi);
    assert!(residual < 2e-10, "{residual:e}");
}

fn a_zero_operator_breaks_bicgstab_down<B: Backend>(backend: &B) {
    let mut operator = multiple::<B, f64>(backend, lattice::<f64>(), ODD, 0.0);
    let b = source::<B, f64>(backend);
    let mut psi = operator.zeros().unwrap();
    let error = bicgstab(&mut operator, &b, &mut psi, SolverParams::auto::<f64>(), quiet()).unwrap_err();
    assert!(matches!(error, SolverError::Breakdown { quantity: "<r0, A p>", .. }), "{error}");
    assert!(error.to_string().contains("in iteration 1 (|r|/|b| was 1.000e0 at first"), "{error}");
}

// Errors

/// Residuals of conjugate gradients rise now and then.
fn a_residual_that_does_not_fall_for_too_long_is_an_error<B: Backend>(backend: &B) {
    let mut operator = normal::<B, f64>(backend);
    let b = source::<B, f64>(backend);
    let mut psi = operator.zeros().unwrap();
    let params = SolverParams { patience: 1, ..SolverParams::auto::<f64>() };
    let error = conjugate_gradient(&mut operator, &b, &mut psi, params, quiet()).unwrap_err();
    let SolverError::Stagnation { patience: 1, ref info } = error else { panic!("{error}") };
    let [.., before, last] = info.history[..] else { panic!("{:?}", info.history) };
    assert!(last > before);
    assert!(error.to_string().contains("no new minimum of |r| in 1 iterations, up to iteration"), "{error}");
}

/// The operator of the low precision is another one, so that each update makes the residual larger.
fn mixed_precision_that_stands_still_names_its_idle_updates<B: Backend>(backend: &B) {
    let mut operator = multiple::<B, f64>(backend, lattice::<f64>(), ODD, 1.0);
    let mut low = multiple::<B, f32>(backend, lattice::<f32>(), ODD, 0.4);
    let b = source::<B, f64>(backend);
    let mut psi = operator.zeros().unwrap();
    let params = SolverParams::auto::<f64>();
    let error = mixed_conjugate_gradient((&mut operator, &mut low), &b, &mut psi, params, quiet()).unwrap_err();
    assert!(matches!(error, SolverError::IdleUpdates { updates: 10, .. }), "{error}");
    assert!(error.to_string().contains("no new minimum of |r| in 10 reliable updates, up to iteration"), "{error}");
}

// States

/// Runs to the end, and again with a stop in between; compares the histories.
fn interrupted(mut recurrence: impl FnMut(&mut dyn FnMut(&mut dyn Recurrence) -> SavedState) -> SavedState) {
    let whole = recurrence(&mut |solver| {
        run(solver, &mut quiet()).unwrap();
        solver.save().unwrap()
    });
    let half = recurrence(&mut |solver| {
        let error = run(solver, &mut After(7)).unwrap_err();
        assert!(matches!(error, SolverError::Stopped(_)), "{error}");
        solver.save().unwrap()
    });
    let resumed = recurrence(&mut |solver| {
        solver.restore(&half).unwrap();
        run(solver, &mut quiet()).unwrap();
        solver.save().unwrap()
    });
    assert!(half != whole);
    assert!(resumed == whole, "the resumed run of {} is another", whole.recurrence);
}

fn every_solver_goes_on_from_a_saved_state_to_the_same_bits<B: Backend>(backend: &B) {
    let b = source::<B, f64>(backend);
    let params = SolverParams::auto::<f64>();
    let mut operator = normal::<B, f64>(backend);
    interrupted(|go| {
        let mut psi = operator.zeros().unwrap();
        go(&mut ConjugateGradients::new(&mut operator, &b, &mut psi, params).unwrap())
    });
    let mut low = normal::<B, Half>(backend);
    interrupted(|go| {
        let mut psi = operator.zeros().unwrap();
        go(&mut MixedConjugateGradients::new((&mut operator, &mut low), &b, &mut psi, params).unwrap())
    });
    let batch = backend.upload(sources::<f64>(3, &[1])).unwrap();
    interrupted(|go| go(&mut BatchConjugateGradients::new(&mut operator, &batch, 3, params).unwrap()));
    let mut schur = schur::<B, f64>(backend);
    interrupted(|go| {
        let mut psi = schur.zeros().unwrap();
        go(&mut BiCgStab::new(&mut schur, &b, &mut psi, params).unwrap())
    });
}

fn the_state_of_another_solve_is_refused<B: Backend>(backend: &B) {
    let mut operator = normal::<B, f64>(backend);
    let params = SolverParams::auto::<f64>();
    let (b, other) = (source::<B, f64>(backend), backend.upload(sources::<f64>(1, &[0])).unwrap());
    let mut psi = operator.zeros().unwrap();
    let state = ConjugateGradients::new(&mut operator, &b, &mut psi, params).unwrap().save().unwrap();
    let error = ConjugateGradients::new(&mut operator, &other, &mut psi, params).unwrap().restore(&state).unwrap_err();
    assert!(error.to_string().contains("its source has |b|² = "), "{error}");
    let error = BiCgStab::new(&mut operator, &b, &mut psi, params).unwrap().restore(&state).unwrap_err();
    assert!(
        error.to_string().contains("it is the state of conjugate gradients, but this solve uses BiCGStab"),
        "{error}"
    );
}

on_every_backend! {
    in test-all:
    every_column_of_a_batch_has_the_bits_of_its_own_solve,
    mixed_precision_reaches_the_tolerance_of_f64_in_about_as_many_iterations,
    bicgstab_solves_without_normal_equations,
    a_guess_is_gone_on_from_in_mixed_precision,
    a_zero_operator_breaks_bicgstab_down,
    a_residual_that_does_not_fall_for_too_long_is_an_error,
    mixed_precision_that_stands_still_names_its_idle_updates,
    every_solver_goes_on_from_a_saved_state_to_the_same_bits,
    the_state_of_another_solve_is_refused,
}

// The same bits on both backends

/// Histories of a mixed solve and of BiCGStab.
fn histories<B: Backend>(backend: &B) -> [SolverInfo; 3] {
    let (mut operator, b) = (normal::<B, f64>(backend), source::<B, f64>(backend));
    let params = SolverParams::auto::<f64>();
    let mut psi = operator.zeros().unwrap();
    let single =
        mixed_conjugate_gradient((&mut operator, &mut normal::<B, f32>(backend)), &b, &mut psi, params, quiet())
            .unwrap();
    let mut psi = operator.zeros().unwrap();
    let half =
        mixed_conjugate_gradient((&mut operator, &mut normal::<B, Half>(backend)), &b, &mut psi, params, quiet())
            .unwrap();
    let mut psi = operator.zeros().unwrap();
    let stabilised = bicgstab(&mut schur::<B, f64>(backend), &b, &mut psi, params, quiet()).unwrap();
    [single, half, stabilised]
}

#[test]
fn histories_are_the_same_bits_on_both_backends() {
    let Some(device) = opencl() else { return };
    for (found, expected) in histories(&device).iter().zip(histories(&cpu())) {
        assert_eq!(bits(&found.history), bits(&expected.history));
    }
}
