//! The Wilson operator and its even-odd pieces: agreement with Grid, and identities; more of these are in `tests/operators.rs`. The
//! operator is `src/operator`, its kernels `reference/src/kernels/hop.rs` and `cl/hop.cl`.

use lanefield::operator::HopOperator;
use lanefield::prelude::*;

use crate::common::backends::{check_library_kernels, on_every_backend};
use crate::common::fields::{EVEN, ODD, applied, gaussian, lattice};
use crate::common::grid::{BOUNDARIES, GridData, MASS, assert_agrees, distance};
use crate::common::models::{image, random_case, the_dagger_is_gamma5_m_gamma5};

fn wilson(boundary: BoundaryPhases) -> WilsonParameters {
    WilsonParameters { mass: MASS, hop: HopParameters { boundary, ..HopParameters::default() } }
}

// Kernels

check_library_kernels! {
    wilson::wilson_full: twin, dagger, linear, covariant;
    wilson::eo_wilson: twin, dagger, linear, covariant;
    wilson::oe_wilson: twin, dagger, linear, covariant;
}

// Agreement with Grid

fn hop_agrees_with_grid<B: Backend>(backend: &B) {
    for data in [GridData::hot(), GridData::tepid()] {
        let source = data.spinor("src");
        for (suffix, boundary) in BOUNDARIES {
            for links in LinkFormat::ALL {
                let lattice = lattice::<f64>(data.configuration.extents());
                let parameters = HopParameters { boundary, links, ..HopParameters::default() };
                let hop = HopOperator::<B, f64>::new(backend, &data.configuration, lattice, parameters, &[Sites::Full])
                    .unwrap();
                for (name, dagger) in [("dhop", Dagger::No), ("dhopdag", Dagger::Yes)] {
                    let found = applied(backend, lattice, [Sites::Full; 2], &source, |out, psi| {
                        hop.apply(out, psi, dagger).unwrap();
                    });
                    assert_agrees::<f64>(&data, &format!("wilson_{name}_{suffix}"), &found);
                }
            }
        }
    }
}

fn m_and_m_dagger_agree_with_grid<B: Backend>(backend: &B) {
    for data in [GridData::hot(), GridData::tepid()] {
        for (suffix, boundary) in BOUNDARIES {
            for (name, dagger) in [("M", Dagger::No), ("Mdag", Dagger::Yes)] {
                let found =
                    image::<f64, B, _>(backend, wilson(boundary), &data.configuration, &data.spinor("src"), dagger);
                assert_agrees::<f64>(&data, &format!("wilson_{name}_{suffix}"), &found);
            }
        }
    }
}

fn m_in_f32_agrees_with_grid<B: Backend>(backend: &B) {
    for (data, boundaries) in [(GridData::hot(), &BOUNDARIES[..]), (GridData::tepid(), &BOUNDARIES[1..])] {
        for &(suffix, boundary) in boundaries {
            let source = data.spinor("src");
            let found = image::<f32, B, _>(backend, wilson(boundary), &data.configuration, &source, Dagger::No);
            assert_agrees::<f32>(&data, &format!("wilson_M_sp_{suffix}"), &found);
        }
    }
}

fn even_odd_pieces_agree_with_grid<B: Backend>(backend: &B) {
    for data in [GridData::hot(), GridData::tepid()] {
        let lattice = lattice::<f64>(data.configuration.extents());
        let source = data.spinor("src");
        for (suffix, boundary) in BOUNDARIES {
            let mut pieces = wilson(boundary).even_odd::<B, f64>(backend, &data.configuration, lattice).unwrap();
            for (name, sites, dagger) in [
                ("Meo", [EVEN, ODD], Dagger::No),
                ("Moe", [ODD, EVEN], Dagger::No),
                ("MeoDag", [EVEN, ODD], Dagger::Yes),
            ] {
                let found =
                    applied(backend, lattice, sites, &source, |out, psi| pieces.meooe(out, psi, dagger).unwrap());
                assert_agrees::<f64>(&data, &format!("wilson_{name}_{suffix}"), &found);
            }
        }
    }
}

fn diagonal_pieces_agree_with_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    let lattice = lattice::<f64>(data.configuration.extents());
    let source = data.spinor("src");
    let mut pieces =
        wilson(BoundaryPhases::PERIODIC).even_odd::<B, f64>(backend, &data.configuration, lattice).unwrap();
    let found = applied(backend, lattice, [EVEN; 2], &source, |out, psi| pieces.mooee(out, psi, Dagger::No).unwrap());
    assert_agrees::<f64>(&data, "wilson_Mooee_even", &found);
    let found =
        applied(backend, lattice, [ODD; 2], &source, |out, psi| pieces.mooee_inv(out, psi, Dagger::No).unwrap());
    assert_agrees::<f64>(&data, "wilson_MooeeInv_odd", &found);
}

// Identities

fn the_two_parities_of_the_hop_are_the_hop<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let extents = configuration.extents();
    let source = gaussian(extents, Spinors::WORDS, 7);
    for links in LinkFormat::ALL {
        for dagger in [Dagger::No, Dagger::Yes] {
            let lattice = lattice::<f32>(extents);
            let parameters = HopParameters { links, ..hop };
            let targets = [Sites::Full, EVEN, ODD];
            let hop = HopOperator::<B, f32>::new(backend, &configuration, lattice, parameters, &targets).unwrap();
            let onto = |sites: Sites| {
                applied(backend, lattice, [sites, sites.neighbours()], &source, |out, psi| {
                    hop.apply(out, psi, dagger).unwrap();
                })
            };
            let [full, even, odd] = targets.map(onto);
            for (k, value) in full.iter().enumerate() {
                let parity = Parity::of(extents.coordinate(k / Spinors::WORDS));
                let [piece, other] = if parity == Parity::Even { [even[k], odd[k]] } else { [odd[k], even[k]] };
                assert_eq!([*value, Complex::ZERO], [piece, other]);
            }
        }
    }
}

fn m_is_gamma5_hermitian<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    the_dagger_is_gamma5_m_gamma5(backend, [WilsonParameters { mass: MASS, hop }; 2], &configuration);
}

fn a_constant_on_the_free_field_is_an_eigenvector_of_eigenvalue_mass<B: Backend>(backend: &B) {
    let configuration = Configuration::unit(Extents::new([2, 4, 6, 2]).unwrap());
    let source: Vec<_> = (0..configuration.extents().volume() * Spinors::WORDS)
        .map(|k| Complex::new((k % Spinors::WORDS) as f64 + 1.0, 0.5))
        .collect();
    let expected: Vec<_> = source.iter().map(|c| c * MASS).collect();
    let found = image::<f64, B, _>(backend, wilson(BoundaryPhases::PERIODIC), &configuration, &source, Dagger::No);
    // 4.1 − 4 cancels to 0.1.
    assert!(distance(&found, &expected) < 1e-13);
}

/// M ψ = (mass + Σ_μ (1 − cos p_μ) + i γ_t sin p_t) ψ for a plane wave; here p = (0, 0, 0, π), so that the sine vanishes.
fn a_plane_wave_of_momentum_pi_is_an_eigenvector_of_the_doubler_mass<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 2, 2, 8]).unwrap();
    let configuration = Configuration::unit(extents);
    let sign = |site: usize| if extents.coordinate(site)[3].is_multiple_of(2) { 1.0 } else { -1.0 };
    let source: Vec<_> = (0..extents.volume() * Spinors::WORDS)
        .map(|k| Complex::new(sign(k / Spinors::WORDS), 0.25 * (k % Spinors::WORDS) as f64))
        .map(|c| Complex::new(c.re, c.im * c.re))
        .collect();
    let expected: Vec<_> = source.iter().map(|c| c * (MASS + 2.0)).collect();
    let found = image::<f64, B, _>(backend, wilson(BoundaryPhases::PERIODIC), &configuration, &source, Dagger::No);
    assert!(distance(&found, &expected) < 1e-14);
}

on_every_backend! {
    m_is_gamma5_hermitian;
    in test-all:
    hop_agrees_with_grid,
    m_and_m_dagger_agree_with_grid,
    m_in_f32_agrees_with_grid,
    even_odd_pieces_agree_with_grid,
    diagonal_pieces_agree_with_grid,
    the_two_parities_of_the_hop_are_the_hop,
    a_constant_on_the_free_field_is_an_eigenvector_of_eigenvalue_mass,
    a_plane_wave_of_momentum_pi_is_an_eigenvector_of_the_doubler_mass,
}
