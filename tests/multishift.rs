//! Conjugate gradients with shifts: the solution of each shift is that of its own solve, the smallest one to the bit; states, errors, and the same bits
//! wherever they run. The solver is `src/solver/multishift.rs`, the solve from source to solutions `src/solver/shifts.rs`.

use lanefield::operator::{Shifted, System};
use lanefield::prelude::*;
use lanefield::solver::{
    MultiShiftConjugateGradients, Recurrence, SolveError, SolverError, conjugate_gradient,
    multi_shift_conjugate_gradient, run, solve_with_shifts,
};
use lanefield_reference::field::SiteObject as _;

use crate::common::backends::on_every_backend;
use crate::common::by_function::multiple;
use crate::common::fields::{ODD, gaussian, lattice, upload};
use crate::common::grid::distance;
use crate::common::models::antiperiodic;
use crate::common::solves::{self, After, bits, bits_of, configuration, is_the_same, normal, quiet, staggered};

/// Not in order, one of them twice.
const SHIFTS: [f64; 5] = [0.3, 0.01, 4.0, 0.3, 0.0];
/// The place of the smallest.
const LEAST: usize = 4;

fn wilson() -> WilsonParameters {
    WilsonParameters { mass: -0.1, hop: antiperiodic() }
}

fn source<B: Backend, R: Vectors>(backend: &B) -> FieldOn<B, R, Spinors> {
    let extents = configuration().extents();
    upload(backend, lattice::<R>(extents), ODD, &gaussian(extents, Spinors::WORDS, 5))
}

fn each_solution_is_that_of_its_own_solve<B: Backend>(backend: &B) {
    let mut operator = normal::<B, f64>(backend, wilson());
    let b = source::<B, f64>(backend);
    let params = SolverParams { tolerance: 1e-11, ..SolverParams::auto::<f64>() };
    let (found, infos) = multi_shift_conjugate_gradient(&mut operator, &b, &SHIFTS, params, quiet()).unwrap();
    let norm2 = backend.norm2(&b, Sum::Exact).unwrap();
    for ((psi, info), shift) in found.iter().zip(&infos).zip(SHIFTS) {
        let mut shifted = Shifted::new(&mut operator, shift);
        let mut image = shifted.zeros().unwrap();
        shifted.apply(&mut image, psi, Dagger::No).unwrap();
        let true_residual = (backend.axpy_norm(-1.0, &b, &mut image, Sum::Exact).unwrap() / norm2).sqrt();
        assert!(true_residual < 1.1 * params.tolerance, "shift {shift}: {true_residual:e}");
        // The residual that the recurrence has by ζ is the true one.
        assert!((true_residual / info.relative_residual() - 1.0).abs() < 1e-2, "shift {shift}: {true_residual:e}");
        let mut alone = shifted.zeros().unwrap();
        let of_one = conjugate_gradient(&mut shifted, &b, &mut alone, params, quiet()).unwrap();
        assert!(info.iterations.abs_diff(of_one.iterations) <= 1, "{} {}", info.iterations, of_one.iterations);
        let norm2 = backend.norm2(&alone, Sum::Exact).unwrap();
        let apart = (backend.axpy_norm(-1.0, psi, &mut alone, Sum::Exact).unwrap() / norm2).sqrt();
        assert!(apart < 1e-9, "shift {shift}: {apart:e}");
    }
}

fn the_smallest_shift_has_the_bits_of_its_own_solve<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B, add: f64) {
        let mut operator = normal::<B, R>(backend, wilson());
        let b = source::<B, R>(backend);
        let params = SolverParams::auto::<R>();
        let shifts = SHIFTS.map(|shift| shift + add);
        let (found, infos) = multi_shift_conjugate_gradient(&mut operator, &b, &shifts, params, quiet()).unwrap();
        let mut shifted = Shifted::new(&mut operator, add);
        let mut alone = shifted.zeros().unwrap();
        let of_one = conjugate_gradient(&mut shifted, &b, &mut alone, params, quiet()).unwrap();
        assert_eq!(bits(&infos[LEAST].history), bits(&of_one.history));
        let [found, alone] = [&found[LEAST], &alone].map(|field| backend.download(field).unwrap());
        assert!(found.reals().iter().zip(alone.reals()).all(|(a, b)| a.same_bits(*b)));
    }
    check::<f64, B>(backend, 0.0);
    check::<f64, B>(backend, 0.05);
    check::<f32, B>(backend, 0.0);
}

fn a_larger_shift_is_frozen_earlier<B: Backend>(backend: &B) {
    let mut operator = normal::<B, f64>(backend, wilson());
    let b = source::<B, f64>(backend);
    let params = SolverParams::auto::<f64>();
    let mut recurrence = MultiShiftConjugateGradients::new(&mut operator, &b, &SHIFTS, params).unwrap();
    run(&mut recurrence, &mut quiet()).unwrap();
    let applications = recurrence.applications();
    let (_, infos) = recurrence.into_solutions().unwrap();
    let iterations: Vec<usize> = infos.iter().map(|info| info.iterations).collect();
    let [a, b, c, d, e] = iterations[..] else { panic!("{iterations:?}") };
    assert!(c < a && a < b && b <= e && a == d && e == applications, "{iterations:?}");
    assert_eq!(bits(&infos[0].history), bits(&infos[3].history), "equal shifts");
    for info in &infos {
        let stop = params.tolerance * params.tolerance * info.source_norm2;
        let (last, before) = info.history.split_last().unwrap();
        assert!(*last <= stop && before.iter().all(|&c| c > stop), "it ends where it has converged");
    }
}

fn it_goes_on_from_a_saved_state_to_the_same_bits<B: Backend>(backend: &B) {
    let mut operator = normal::<B, f64>(backend, wilson());
    let b = source::<B, f64>(backend);
    let params = SolverParams::auto::<f64>();
    let mut whole = MultiShiftConjugateGradients::new(&mut operator, &b, &SHIFTS, params).unwrap();
    run(&mut whole, &mut quiet()).unwrap();
    let (whole, frozen) = (whole.save().unwrap(), whole.infos().iter().map(|info| info.iterations).min().unwrap());
    // While all go on, and when one is frozen.
    for after in [3, frozen + 2] {
        let mut half = MultiShiftConjugateGradients::new(&mut operator, &b, &SHIFTS, params).unwrap();
        run(&mut half, &mut After(after)).unwrap_err();
        let half = half.save().unwrap();
        assert!(half != whole);
        let mut resumed = MultiShiftConjugateGradients::new(&mut operator, &b, &SHIFTS, params).unwrap();
        resumed.restore(&half).unwrap();
        run(&mut resumed, &mut quiet()).unwrap();
        assert!(resumed.save().unwrap() == whole, "after {after} iterations");
        let other = &mut MultiShiftConjugateGradients::new(&mut operator, &b, &[0.0, 1.0], params).unwrap();
        let error = other.restore(&half).unwrap_err().to_string();
        assert!(error.contains("its shifts, less the smallest, are [0.3"), "{error}");
    }
}

fn shifts_that_cannot_be_solved_are_errors<B: Backend>(backend: &B) {
    let extents = configuration().extents();
    let lattice = lattice::<f64>(extents);
    let b = upload(backend, lattice, Sites::Full, &gaussian(extents, Spinors::WORDS, 7));
    let mut identity = multiple::<B, f64>(backend, lattice, Sites::Full, 1.0);
    let mut run = |shifts: &[f64]| {
        let solved = multi_shift_conjugate_gradient(&mut identity, &b, shifts, SolverParams::auto::<f64>(), quiet());
        solved.map(|(_, infos)| infos.iter().map(|info| info.iterations).collect::<Vec<_>>())
    };
    assert_eq!(run(&[0.5, -0.5]).unwrap(), [1, 1]);
    let error = run(&[]).unwrap_err();
    assert!(matches!(error, SolverError::NoShifts), "{error}");
    let error = run(&[0.5, f64::INFINITY]).unwrap_err();
    assert_eq!(error.to_string(), "the shift inf is not finite");
    let error = run(&[0.5, -2.0]).unwrap_err();
    assert!(matches!(error, SolverError::Indefinite { curvature, .. } if curvature < 0.0), "{error}");
}

fn how<R: Vectors, M>(operator: M, preconditioning: Preconditioning) -> Solve<M> {
    solves::how::<R, _>(operator, preconditioning, Method::ConjugateGradients)
}

/// D†D + σ of staggered fermions is that of the mass √(mass² + σ).
fn shifts_of_staggered_fermions_are_masses<B: Backend>(backend: &B) {
    let extents = configuration().extents();
    let words = ColourVectors::WORDS;
    let mut eta = gaussian(extents, words, 9);
    for (site, eta) in eta.chunks_exact_mut(words).enumerate() {
        if !ODD.contain(extents.coordinate(site)) {
            eta.fill(Complex::ZERO);
        }
    }
    let shifts = [0.0, 0.21];
    let how_with = how::<f64, _>(staggered(), Preconditioning::EvenOdd);
    let report =
        solve_with_shifts::<f64, B, _>(backend, &configuration(), &eta, &shifts, &how_with, &mut quiet(), None);
    let report = report.unwrap();
    for (number, shift) in shifts.into_iter().enumerate() {
        let mass = (staggered().mass * staggered().mass + shift).sqrt();
        let of_mass = how::<f64, _>(StaggeredParameters { mass, ..staggered() }, Preconditioning::EvenOdd);
        let alone = solve::<f64, B, _>(backend, &configuration(), &eta, &of_mass, quiet()).unwrap();
        // D ψ = η on the odd sites: (mass² − Doe Deo) ψ = mass · η there.
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for (site, (all, one)) in
            report.solution.chunks_exact(2 * words).zip(alone.solution.chunks_exact(words)).enumerate()
        {
            let ours = &all[number * words..][..words];
            match ODD.contain(extents.coordinate(site)) {
                true => {
                    found.extend(ours.iter().map(|c| c * mass));
                    expected.extend_from_slice(one);
                }
                false => assert!(ours.iter().all(|&c| c == Complex::ZERO)),
            }
        }
        let apart = distance(&found, &expected);
        assert!(apart < 1e-9, "shift {shift}: {apart:e}");
        assert!(report.rhs[number].true_residual < 1.1e-10, "{:?}", report.rhs[number]);
    }
    // So small on the sites that are read that |b|² underflows, whatever is on the others.
    let small = 2.0_f64.powi(-515);
    for (site, eta) in eta.chunks_exact_mut(words).enumerate() {
        match ODD.contain(extents.coordinate(site)) {
            true => eta.iter_mut().for_each(|c| *c *= small),
            false => eta.fill(Complex::new(1.0, 0.0)),
        }
    }
    let of_small =
        solve_with_shifts::<f64, B, _>(backend, &configuration(), &eta, &shifts, &how_with, &mut quiet(), None);
    assert!(report.solution.iter().map(|c| c * small).eq(of_small.unwrap().solution));
}

/// (M†M + σ) ψ = η on all sites.
fn shifts_are_added_to_the_normal_equations<B: Backend>(backend: &B) {
    let extents = configuration().extents();
    let eta = gaussian(extents, Spinors::WORDS, 3);
    let shifts = [0.7, 0.02];
    let solve = how::<f64, _>(wilson(), Preconditioning::None);
    let report =
        solve_with_shifts::<f64, B, _>(backend, &configuration(), &eta, &shifts, &solve, &mut quiet(), None).unwrap();
    let lattice = lattice::<f64>(extents);
    let m = wilson().full::<B, f64>(backend, &configuration(), lattice).unwrap();
    let mut normal = System::new(m, true).unwrap();
    for (number, shift) in shifts.into_iter().enumerate() {
        let of_shift = |site: &[Complex<f64>]| site[number * Spinors::WORDS..][..Spinors::WORDS].to_vec();
        let psi: Vec<_> = report.solution.chunks_exact(2 * Spinors::WORDS).flat_map(of_shift).collect();
        let psi = upload::<f64, Spinors, B>(backend, lattice, Sites::Full, &psi);
        let mut image = normal.zeros().unwrap();
        Shifted::new(&mut normal, shift).apply(&mut image, &psi, Dagger::No).unwrap();
        let residual = distance(&backend.download(&image).unwrap().to_site_order(), &eta);
        assert!(residual < 1.1e-10, "{residual:e}");
        let told = report.rhs[number].true_residual;
        assert!((residual / told - 1.0).abs() < 1e-3, "{residual:e} {told:e}");
    }
    report.require_intact().unwrap();
    let refused = |eta: &[Complex<f64>], solve: &Solve<WilsonParameters>| {
        solve_with_shifts::<f64, B, _>(backend, &configuration(), eta, &shifts, solve, &mut quiet(), None).unwrap_err()
    };
    let error = refused(&[eta.clone(), eta.clone()].concat(), &solve);
    assert!(matches!(error, SolveError::OneRightHandSide { .. }), "{error}");
    let error = refused(&eta, &Solve { method: Method::BiCgStab, ..solve });
    assert!(matches!(error, SolveError::NoShifts { .. }), "{error}");
}

on_every_backend! {
    in test-all:
    each_solution_is_that_of_its_own_solve,
    the_smallest_shift_has_the_bits_of_its_own_solve,
    a_larger_shift_is_frozen_earlier,
    it_goes_on_from_a_saved_state_to_the_same_bits,
    shifts_that_cannot_be_solved_are_errors,
    shifts_of_staggered_fermions_are_masses,
    shifts_are_added_to_the_normal_equations,
}

/// On the CPU, and on OpenCL in lanes of these bytes.
fn bits_are_the_same<R: Vectors, M: Model>(model: M, on_opencl: &[usize]) {
    let eta = gaussian(configuration().extents(), model.object(1).words(), 21);
    is_the_same(&[(1, 16)], on_opencl, |backend, lanes| {
        let how = Solve { lanes, ..how::<R, _>(model, Preconditioning::EvenOdd) };
        let report = solve_with_shifts::<R, _, M>(backend, &configuration(), &eta, &SHIFTS, &how, &mut quiet(), None);
        bits_of(&report.unwrap())
    });
}

#[test]
fn histories_and_solutions_of_all_shifts_are_the_same_bits_everywhere() {
    bits_are_the_same::<f64, _>(wilson(), &[]);
    bits_are_the_same::<f32, _>(wilson(), &[]);
    bits_are_the_same::<f64, _>(staggered(), &[64]);
}

#[test]
#[ignore = "test-all: all builds"]
fn histories_and_solutions_of_all_shifts_are_the_same_bits_in_all_lanes_on_opencl() {
    bits_are_the_same::<f64, _>(wilson(), &[16, 64]);
    bits_are_the_same::<f32, _>(wilson(), &[16, 64]);
    bits_are_the_same::<f64, _>(staggered(), &[16]);
}
