//! Staggered fermions on every backend: the same bits as plain loops (`reference/src/scalar/staggered.rs`), and the free spectrum; symmetries are in
//! `tests/operators.rs`. The operator is `src/operator/staggered.rs`, its kernel the body in `reference/src/kernels/staggered.rs`.

use lanefield::prelude::*;

use crate::common::backends::{check_library_kernels, on_every_backend};
use crate::common::fields::{gaussian, plain_loops};
use crate::common::grid::distance;
use crate::common::models::{self, momentum, plane_wave, random_case};

const COLOURS: usize = ColourVectors::WORDS;
const MASS: f64 = 0.3;

check_library_kernels! {
    staggered::staggered_full: twin, linear, covariant;
    staggered::eo_staggered: twin, linear, covariant;
    staggered::oe_staggered: twin, linear, covariant;
}

fn parameters(hop: HopParameters, components: usize) -> StaggeredParameters {
    StaggeredParameters { mass: MASS, components, hop }
}

/// D ψ or D† ψ in site order.
fn d<B: Backend>(
    backend: &B,
    configuration: &Configuration,
    hop: HopParameters,
    psi: &[Complex<f64>],
    dagger: Dagger,
) -> Vec<Complex<f64>> {
    let components = psi.len() / configuration.extents().volume() / COLOURS;
    models::image::<f64, B, _>(backend, parameters(hop, components), configuration, psi, dagger)
}

fn the_operator_is_bitwise_equal_to_plain_loops<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let psi = gaussian(configuration.extents(), 2 * COLOURS, 4);
    let plain = plain_loops(&configuration, hop);
    assert!(d(backend, &configuration, hop, &psi, Dagger::No) == plain.staggered(&psi, 2, MASS));
}

/// On unit links D†D ψ = (m² + Σ sin² p) ψ for plane waves.
fn the_free_spectrum_is_that_of_sines<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 6, 2, 10]).unwrap();
    let configuration = Configuration::unit(extents);
    let hop = HopParameters::default();
    for n in [[1usize, 0, 0, 0], [0, 1, 1, 3], [2, 5, 0, 1], [3, 2, 1, 7]] {
        let p = momentum(extents, n, hop.boundary);
        let psi = plane_wave(extents, p, COLOURS);
        let d_psi = d(backend, &configuration, hop, &psi, Dagger::No);
        let found = d(backend, &configuration, hop, &d_psi, Dagger::Yes);
        let eigenvalue = MASS * MASS + p.iter().map(|p| p.sin() * p.sin()).sum::<f64>();
        let expected: Vec<_> = psi.iter().map(|c| c * eigenvalue).collect();
        assert!(distance(&found, &expected) < 1e-14, "momentum {n:?}");
    }
}

on_every_backend! {
    the_operator_is_bitwise_equal_to_plain_loops;
    in test-all:
    the_free_spectrum_is_that_of_sines,
}
