//! What holds of every operator that is given by its parameters.

use lanefield::backend::{Backend, Sum};
use lanefield::kernel::prelude::*;
use lanefield::operator::{ActsOn as _, EvenOdd as _, Model, Operator as _, SchurComplement};
use lanefield::solver::{Method, Preconditioning, Solve, SolverParams, solve};
use lanefield_reference::field::SiteObject as _;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{LaneChoice, Sites};
use num_complex::Complex;

use super::fields::{EVEN, ODD, applied, gaussian, lattice, upload};
use super::gauge::GaugeTransformation;
use super::grid::distance;

/// M ψ or M† ψ in site order.
pub fn image<R: Vectors, B: Backend, M: Model>(
    backend: &B,
    model: M,
    configuration: &Configuration,
    psi: &[Complex<f64>],
    dagger: Dagger,
) -> Vec<Complex<f64>> {
    let lattice = lattice::<R>(configuration.extents());
    let mut operator = model.full::<B, R>(backend, configuration, lattice).unwrap();
    applied::<R, M::Object, B>(backend, lattice, [Sites::Full; 2], psi, |out, psi| {
        operator.apply(out, psi, dagger).unwrap();
    })
}

/// The even-odd pieces of M, and of M†, add up to it.
pub fn pieces_make_the_operator<B: Backend, M: Model>(backend: &B, model: M, configuration: &Configuration) {
    let lattice = lattice::<f64>(configuration.extents());
    let psi = gaussian(lattice.extents(), model.object(1).words(), 31);
    for dagger in Dagger::BOTH {
        let whole = image::<f64, B, M>(backend, model, configuration, &psi, dagger);
        let mut pieces = model.even_odd::<B, f64>(backend, configuration, lattice).unwrap();
        let mut sum = vec![Complex::new(0.0, 0.0); psi.len()];
        for (target, source) in [(EVEN, ODD), (ODD, EVEN)] {
            let off =
                applied(backend, lattice, [target, source], &psi, |out, psi| pieces.meooe(out, psi, dagger).unwrap());
            let on = applied(backend, lattice, [target; 2], &psi, |out, psi| pieces.mooee(out, psi, dagger).unwrap());
            sum.iter_mut().zip(off.iter().zip(&on)).for_each(|(sum, (off, on))| *sum += off + on);
        }
        assert!(distance(&sum, &whole) < 1e-15);
    }
}

/// ⟨φ, D χ⟩ = ⟨D† φ, χ⟩, and D + D† = 2 m, of staggered fermions.
pub fn the_hop_is_anti_hermitian<B: Backend, M: Model>(backend: &B, model: M, configuration: &Configuration) {
    let d = |psi: &[Complex<f64>], dagger| image::<f64, B, M>(backend, model, configuration, psi, dagger);
    let [phi, chi] = [13, 17].map(|seed| gaussian(configuration.extents(), model.object(1).words(), seed));
    let product =
        |a: &[Complex<f64>], b: &[Complex<f64>]| -> Complex<f64> { a.iter().zip(b).map(|(a, b)| a.conj() * b).sum() };
    let d_chi = d(&chi, Dagger::No);
    let left = product(&phi, &d_chi);
    let right = product(&d(&phi, Dagger::Yes), &chi);
    let scale = (product(&phi, &phi).re * product(&chi, &chi).re).sqrt();
    assert!((left - right).norm() < 1e-13 * scale, "{left} is not {right}");
    assert!(left.norm() > 1e-4 * scale, "{left} shows nothing");
    let sum: Vec<_> = d_chi.iter().zip(d(&chi, Dagger::Yes)).map(|(a, b)| a + b).collect();
    let twice: Vec<_> = chi.iter().map(|c| c * 2.0 * model.mass()).collect();
    assert!(distance(&sum, &twice) < 1e-14, "D + D† is not twice the mass");
}

/// U(1)_ε: ε D ε = D†, with ε(x) = (−1)^(x + y + z + t), of staggered fermions.
pub fn epsilon_turns_the_operator_into_its_conjugate<B: Backend, M: Model>(
    backend: &B,
    model: M,
    configuration: &Configuration,
) {
    let (extents, words) = (configuration.extents(), model.object(1).words());
    let psi = gaussian(extents, words, 23);
    let epsilon = |psi: &[Complex<f64>]| -> Vec<Complex<f64>> {
        let sign = |k: usize| if EVEN.contain(extents.coordinate(k / words)) { 1.0 } else { -1.0 };
        psi.iter().enumerate().map(|(k, c)| c * sign(k)).collect()
    };
    let d = |psi: &[Complex<f64>], dagger| image::<f64, B, M>(backend, model, configuration, psi, dagger);
    assert!(distance(&epsilon(&d(&epsilon(&psi), Dagger::No)), &d(&psi, Dagger::Yes)) < 1e-14);
}

/// ψ(x) → g(x) ψ(x) and U_μ(x) → g(x) U_μ(x) g(x + μ)† turn D ψ into g D ψ.
pub fn it_is_gauge_covariant<B: Backend, M: Model>(
    backend: &B,
    model: M,
    configuration: &Configuration,
    tolerance: f64,
) {
    let words = model.object(1).words();
    let psi = gaussian(configuration.extents(), words, 29);
    let g = GaugeTransformation { seed: 13 };
    let d = |configuration, psi: &[Complex<f64>]| image::<f64, B, M>(backend, model, configuration, psi, Dagger::No);
    let (before, after) = (configuration, g.of_links(configuration));
    let distance = distance(&d(&after, &g.of_field(words, &psi)), &g.of_field(words, &d(before, &psi)));
    assert!(distance < tolerance, "{distance:e}");
}

/// Of staggered fermions the Schur complement is m² − Doe Deo: that part of D†D which lives on the odd sites.
pub fn the_schur_complement_is_d_dagger_d_on_the_odd_sites<B: Backend, M: Model>(
    backend: &B,
    model: M,
    configuration: &Configuration,
) {
    let lattice = lattice::<f64>(configuration.extents());
    let (extents, words) = (configuration.extents(), model.object(1).words());
    let odd: Vec<_> = gaussian(extents, words, 37)
        .into_iter()
        .enumerate()
        .map(|(k, c)| if ODD.contain(extents.coordinate(k / words)) { c } else { Complex::new(0.0, 0.0) })
        .collect();
    let pieces = model.even_odd::<B, f64>(backend, configuration, lattice).unwrap();
    let mut schur = SchurComplement::new(pieces).unwrap();
    let found = applied(backend, lattice, [ODD; 2], &odd, |out, psi| schur.apply(out, psi, Dagger::No).unwrap());
    let d_psi = image::<f64, B, M>(backend, model, configuration, &odd, Dagger::No);
    assert!(distance(&found, &image::<f64, B, M>(backend, model, configuration, &d_psi, Dagger::Yes)) < 1e-14);
    let phi = upload::<f64, M::Object, B>(backend, lattice, ODD, &odd);
    let mut a_phi = schur.zeros().unwrap();
    schur.apply(&mut a_phi, &phi, Dagger::No).unwrap();
    let expectation = backend.inner_product(&phi, &a_phi, Sum::Exact).unwrap();
    let norm2 = backend.norm2(&phi, Sum::Exact).unwrap();
    let mass = model.mass();
    assert!(expectation.re > mass * mass * norm2 && expectation.im.abs() < 1e-12 * norm2, "{expectation}");
    assert!(schur.object(2) == model.object(2));
}

/// M ψ is the source that ψ was solved for, by each of these methods.
pub fn solves_solve<B: Backend, M: Model>(
    backend: &B,
    model: M,
    configuration: &Configuration,
    methods: &[(Preconditioning, Method)],
) {
    let eta = gaussian(configuration.extents(), model.object(1).words(), 41);
    for &(preconditioning, method) in methods {
        let params = SolverParams { tolerance: 1e-10, ..SolverParams::auto::<f64>() };
        let how = Solve { operator: model, preconditioning, method, params, lanes: LaneChoice::Auto };
        let report = solve::<f64, B, _>(backend, configuration, &eta, &how, |_, _| ()).unwrap();
        let image = image::<f64, B, M>(backend, model, configuration, &report.solution, Dagger::No);
        assert!(distance(&image, &eta) < 1e-9, "{preconditioning:?} {method:?}");
    }
}
