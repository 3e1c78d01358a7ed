//! The plain loops themselves, on numbers that a reader checks by hand, and against what they compute.

use lanefield_reference::layout::gather;
use lanefield_reference::prelude::*;
use lanefield_reference::scalar::{self, SPINOR_WORDS, ScalarWilson, Stop};

use crate::common;
use crate::common::hops::antiperiodic;
use crate::common::{Numbers, extents, random_words, relative_distance};

fn gaussian(extents: Extents, seed: u64) -> Vec<Complex<f64>> {
    random_words(extents, SPINOR_WORDS, seed, Numbers::Gaussian)
}

#[test]
fn hop_of_a_point_reaches_its_eight_neighbours() {
    // On unit links, a source of spin 0 at x gives −½ (1 ∓ γ_μ) e0 at x ∓ μ: at x − μ the forward leg looks at x.
    let lattice = extents("4.4.4.4");
    let configuration = Configuration::unit(lattice);
    let operator = ScalarWilson { boundary: BoundaryPhases::PERIODIC, ..antiperiodic(&configuration) };
    let centre = [1, 2, 1, 2];
    let mut psi = vec![Complex::new(0.0f32, 0.0); SPINOR_WORDS * lattice.volume()];
    psi[SPINOR_WORDS * lattice.site(centre)] = Complex::new(1.0, 0.0);
    let result = operator.hop(&psi, Sites::Full, Dagger::No);

    // The column of γ_μ that e0 picks: row and value.
    let column =
        [(3, -Complex::<f32>::i()), (3, -Complex::from(1.0)), (2, -Complex::<f32>::i()), (2, Complex::from(1.0))];
    let mut expected = vec![Complex::new(0.0, 0.0); psi.len()];
    for (mu, (row, gamma)) in column.into_iter().enumerate() {
        for (step, sign) in [(3, -1.0), (1, 1.0)] {
            let mut x = centre;
            x[mu] = (x[mu] + step) % 4;
            let word = SPINOR_WORDS * lattice.site(x);
            expected[word] = Complex::from(-0.5);
            expected[word + 3 * row] = gamma * (-0.5 * sign);
        }
    }
    assert_eq!(result, expected);
}

#[test]
fn a_step_across_an_antiperiodic_boundary_changes_the_sign() {
    // On one site with unit links every leg comes back: Σ over legs of −½ (1 ∓ γ) is −1 a direction, +1 where antiperiodic.
    let configuration = Configuration::unit(extents("1.1.1.1"));
    let psi: Vec<Complex<f64>> = (0..SPINOR_WORDS).map(|k| Complex::new(k as f64, 1.0)).collect();
    for (boundary, factor) in [("1,1,1,1", -4.0), ("1,1,1,-1", -2.0), ("-1,1,1,-1", 0.0), ("-1,-1,-1,-1", 4.0)] {
        for format in LinkFormat::ALL {
            let operator = ScalarWilson { boundary: boundary.parse().unwrap(), format, ..antiperiodic(&configuration) };
            for dagger in Dagger::BOTH {
                let expected: Vec<_> = psi.iter().map(|w| w * factor).collect();
                assert_eq!(operator.hop(&psi, Sites::Full, dagger), expected, "{boundary}");
            }
        }
    }
}

#[test]
fn a_constant_field_of_free_fermions_has_the_mass_as_eigenvalue() {
    // On unit periodic links D is −4 on constants, so M = 4 + mass − 4. All is exact for mass 0.25.
    let lattice = extents("2.3.1.4");
    let configuration = Configuration::unit(lattice);
    let operator = ScalarWilson { boundary: BoundaryPhases::PERIODIC, ..antiperiodic(&configuration) };
    let psi = vec![Complex::new(1.0f32, -2.0); SPINOR_WORDS * lattice.volume()];
    for dagger in Dagger::BOTH {
        assert_eq!(operator.m(&psi, 0.25, dagger), vec![Complex::new(0.25, -0.5); psi.len()]);
    }
}

#[test]
fn schur_complement_is_the_odd_part_of_the_operator_where_the_even_part_is_eliminated() {
    // With ψ_e = −Mee⁻¹ Meo ψ_o, (M ψ)_e = 0 and (M ψ)_o = Mpc ψ_o.
    let lattice = extents("4.2.2.4");
    let (mass, configuration) = (0.1, Configuration::hot(lattice, 1));
    let operator = antiperiodic(&configuration);
    let odd = Sites::Parity(Parity::Odd);
    for dagger in Dagger::BOTH {
        let psi_odd = common::masked(lattice, odd, SPINOR_WORDS, &gaussian(lattice, 2));
        let mut psi = scalar::scale(-1.0 / (4.0 + mass), &operator.hop(&psi_odd, Sites::Parity(Parity::Even), dagger));
        psi.iter_mut().zip(&psi_odd).for_each(|(psi, odd)| *psi += odd);
        let complement = operator.mpc(&psi_odd, mass, dagger);
        assert!(relative_distance(&operator.m(&psi, mass, dagger), &complement) < 1e-15);
        // Even sites of the source are not read, and of the result are zero.
        let even = Sites::Parity(Parity::Even);
        assert_eq!(operator.mpc(&gaussian(lattice, 2), mass, dagger), complement);
        assert!(gather(lattice, even, SPINOR_WORDS, &complement).iter().all(|w| *w == Complex::default()));
    }
}

#[test]
fn both_solvers_invert_the_operator() {
    let lattice = extents("2.4.2.4");
    let (mass, configuration) = (0.2, Configuration::hot(lattice, 3));
    let operator = antiperiodic(&configuration);
    let eta = gaussian(lattice, 4);
    let stop = Stop { tolerance: 1e-12, max_iterations: 1000 };
    for solution in [operator.solve(&eta, mass, stop), operator.solve_even_odd(&eta, mass, stop)] {
        assert!(solution.converged);
        assert!(relative_distance(&operator.m(&solution.psi, mass, Dagger::No), &eta) < 1e-11);
    }
}

#[test]
fn conjugate_gradients_solves_in_as_many_steps_as_there_are_eigenvalues() {
    // A = diag(1, 2, 1, 2, …) has two: the first residual of b = (1, 1, …) is r = (1/3, −1/3, …), the second is 0.
    let a = |x: &[Complex<f64>]| -> Vec<Complex<f64>> {
        x.iter().enumerate().map(|(k, x)| x * if k % 2 == 0 { 1.0 } else { 2.0 }).collect()
    };
    let b = vec![Complex::new(1.0, 0.0); SPINOR_WORDS];
    let stop = Stop { tolerance: 1e-15, max_iterations: 10 };
    let from_zero = scalar::cg(a, &b, &[Complex::default(); SPINOR_WORDS], stop);
    assert!(from_zero.converged);
    assert_eq!(from_zero.history.len(), 3);
    assert_eq!(from_zero.history[0], 12.0);
    assert!((from_zero.history[1] - 12.0 / 9.0).abs() < 1e-14);
    assert!((from_zero.psi[0].re - 1.0).abs() < 1e-15 && (from_zero.psi[1].re - 0.5).abs() < 1e-15);

    let from_solution = scalar::cg(a, &b, &a(&[Complex::new(0.5, 0.0); SPINOR_WORDS]), stop);
    assert_eq!(from_solution.history.len(), 3, "from (1/2, 1, …) the residual is (1/2, −1, …)");
    let done: Vec<Complex<f64>> =
        (0..SPINOR_WORDS).map(|k| Complex::from(if k % 2 == 0 { 1.0 } else { 0.5 })).collect();
    let at_once = scalar::cg(a, &b, &done, stop);
    assert_eq!((at_once.history, at_once.psi), (vec![0.0], done));

    let too_few = scalar::cg(a, &b, &[Complex::default(); SPINOR_WORDS], Stop { max_iterations: 1, ..stop });
    assert!(!too_few.converged);
    assert_eq!(too_few.history.len(), 2);
}
