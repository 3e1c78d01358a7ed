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
