//! The Wilson hop in wide lanes: the same bits as plain loops over coordinates (`scalar.rs`), whatever the lattice, the lane width and
//! the number of threads; and the identities that make it the Wilson hop.

use lanefield_reference::kernels::hop::{HopTerm, hop};
use lanefield_reference::layout::{Checkerboard, Stencil};
use lanefield_reference::links::{DoubledGauge, double};
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;
use lanefield_reference::scalar::{self, SPINOR_WORDS, ScalarWilson};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common;
use crate::common::hops::{
    self, Hop as _, TWISTED, WAVES, WilsonHop, antiperiodic, any_case, has_the_bits_of_plain_loops,
};
use crate::common::hops::{is_the_same_at_every_width, momentum, plane_wave};
use crate::common::{Numbers, extents, first_difference, lattice, random_words, relative_distance};

proptest! {
    #![proptest_config(common::cases(200))]

    #[test]
    fn hop_is_bitwise_equal_to_plain_loops(case in any_case(1200), dagger in select(Dagger::BOTH.to_vec())) {
        case.check(WilsonHop(dagger))?;
    }
}

#[test]
fn hop_is_bitwise_equal_to_plain_loops_at_every_width() {
    // The widest lanes cut a dimension into four and more, where a stencil rotates lanes and does not just swap them.
    for text in ["4.4.4.8", "4.2.4.16", "2.2.2.64"] {
        for checkerboard in [Checkerboard::FullOnly, Checkerboard::RedBlack] {
            for dagger in Dagger::BOTH {
                let hop = WilsonHop(dagger);
                has_the_bits_of_plain_loops::<f32>(hop, (text, Some(6)), "1,1,-1,-1", checkerboard);
                has_the_bits_of_plain_loops::<f64>(hop, (text, Some(5)), "1,1,-1,-1", checkerboard);
            }
        }
    }
}

#[test]
fn a_lattice_whose_slices_no_cache_holds_has_the_bits_of_plain_loops() {
    let configuration = Configuration::hot(extents("16.16.16.4"), 5);
    let operator = antiperiodic(&configuration);
    let (checkerboard, numbers) = (Checkerboard::RedBlack, (6, Numbers::Gaussian));
    is_the_same_at_every_width::<f64>(WilsonHop(Dagger::No), &operator, checkerboard, numbers).unwrap();
}

#[test]
fn hop_does_not_depend_on_the_number_of_threads() {
    hops::does_not_depend_on_the_number_of_threads(WilsonHop(Dagger::No));
}

#[test]
fn hop_refuses_fields_that_do_not_belong_together() {
    let extents = extents("4.4.4.4");
    let configuration = Configuration::unit(extents);
    let [lattice, other] = [16, 64].map(|width| lattice::<f32>(extents, width, Checkerboard::RedBlack));
    let (even, odd) = (Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd));
    let stencil = Stencil::new(lattice, even).unwrap();
    let links = |lattice, sites| double::<f32>(&configuration, lattice, sites, DoubledGauge::default()).unwrap();
    let field = |lattice, sites| Field::<f32, Spinors>::zeros(lattice, sites, Spinors::ONE).unwrap();
    let refused = |mut out: Field<f32, Spinors>, links: Field<f32, DoubledGauge>, source: Field<f32, Spinors>| {
        let (legs, dagger) = (LegOrder::DEFAULT, Dagger::No);
        let term = HopTerm { stencil: &stencil, links: &links, source: &source, legs, dagger };
        hop(&mut out, term).map_err(|e| e.to_string())
    };
    assert_eq!(refused(field(lattice, even), links(lattice, even), field(lattice, odd)), Ok(()));
    let source_of_own_parity = refused(field(lattice, even), links(lattice, even), field(lattice, even));
    assert_eq!(
        source_of_own_parity.unwrap_err(),
        "the hop's source: f32 spinor field on 4.4.4.4, even sites, 16-byte lanes, lane layout 1.1.1.2 does not match \
         f32 spinor field on 4.4.4.4, odd sites, 16-byte lanes, lane layout 1.1.1.2"
    );
    assert!(refused(field(other, even), links(lattice, even), field(lattice, odd)).is_err());
    assert!(refused(field(lattice, even), links(lattice, odd), field(lattice, odd)).is_err());
    assert!(refused(field(lattice, even), links(other, even), field(lattice, odd)).is_err());
}

/// The f64 hop of all sites.
fn hop_of_all(operator: &ScalarWilson, psi: &[Complex<f64>], dagger: Dagger) -> Vec<Complex<f64>> {
    WilsonHop(dagger).of_all(operator, psi)
}

fn gaussian(extents: Extents, seed: u64) -> Vec<Complex<f64>> {
    random_words(extents, SPINOR_WORDS, seed, Numbers::Gaussian)
}

#[test]
fn even_and_odd_hops_together_are_the_hop_of_all_sites_exactly() {
    for dagger in Dagger::BOTH {
        hops::even_and_odd_together_are_the_hop_of_all_sites_exactly(WilsonHop(dagger));
    }
}

#[test]
fn hop_dagger_is_the_adjoint_of_hop() {
    let extents = extents("4.2.6.4");
    let configuration = Configuration::hot(extents, 7);
    let operator = antiperiodic(&configuration);
    let (phi, chi) = (gaussian(extents, 8), gaussian(extents, 9));
    let left = scalar::inner_product(scalar::SPINOR_WORDS, &phi, &hop_of_all(&operator, &chi, Dagger::No));
    let right = scalar::inner_product(scalar::SPINOR_WORDS, &hop_of_all(&operator, &phi, Dagger::Yes), &chi);
    assert!((left - right).norm() < 1e-13 * scalar::norm2(scalar::SPINOR_WORDS, &phi), "{left} {right}");
    assert!(left.norm() > 1e-3 * scalar::norm2(scalar::SPINOR_WORDS, &phi));
}

/// γ5 = diag(1, 1, −1, −1).
fn gamma5(psi: &[Complex<f64>]) -> Vec<Complex<f64>> {
    psi.iter().enumerate().map(|(k, w)| if k % SPINOR_WORDS < 6 { *w } else { -w }).collect()
}

#[test]
fn hop_is_gamma5_hermitian() {
    let extents = extents("4.4.2.6");
    let configuration = Configuration::hot(extents, 10);
    let operator = antiperiodic(&configuration);
    let psi = gaussian(extents, 11);
    let conjugated = gamma5(&hop_of_all(&operator, &gamma5(&psi), Dagger::No));
    assert!(relative_distance(&conjugated, &hop_of_all(&operator, &psi, Dagger::Yes)) < 1e-15);
}

#[test]
fn hop_is_gauge_covariant() {
    hops::is_gauge_covariant(WilsonHop(Dagger::No));
}

#[test]
fn rebuilt_third_rows_change_only_rounding() {
    let extents = extents("4.2.4.6");
    let configuration = Configuration::hot(extents, 15);
    let full = antiperiodic(&configuration);
    let two_rows = ScalarWilson { format: LinkFormat::TwoRows, ..full };
    let psi = gaussian(extents, 16);
    let [a, b] = [full, two_rows].map(|operator| hop_of_all(&operator, &psi, Dagger::No));
    assert!(relative_distance(&b, &a) < 1e-15);
    assert!(first_difference(&a, &b).is_some());
}

#[test]
fn rebuilt_links_change_only_rounding() {
    let extents = extents("4.2.4.6");
    let configuration = Configuration::hot(extents, 15);
    let boundary = "1,0,-1,-1".parse().unwrap();
    let full = ScalarWilson { boundary, ..antiperiodic(&configuration) };
    let eight = ScalarWilson { format: LinkFormat::Eight, ..full };
    let psi = gaussian(extents, 16);
    let single: Vec<Complex<f32>> = psi.iter().map(|w| Complex::new(w.re as f32, w.im as f32)).collect();
    let lattice = lattice::<f32>(extents, 16, Checkerboard::RedBlack);
    for dagger in Dagger::BOTH {
        let [a, b] = [full, eight].map(|operator| hop_of_all(&operator, &psi, dagger));
        assert!(relative_distance(&b, &a) < 2e-15);
        assert!(first_difference(&a, &b).is_some());
        let b = WilsonHop(dagger).apply(&eight, lattice, &single, Sites::Full);
        let b: Vec<_> = b.iter().map(|w| Complex::new(w.re.into(), w.im.into())).collect();
        assert!(relative_distance(&b, &a) < 1e-6);
    }
}

/// γ_μ ψ in Grid's chiral basis: for each row, a factor and the row of ψ that it multiplies.
const GAMMA: [[(Complex<f64>, usize); 4]; 4] = {
    const ONE: Complex<f64> = Complex::new(1.0, 0.0);
    const MINUS: Complex<f64> = Complex::new(-1.0, 0.0);
    const I: Complex<f64> = Complex::new(0.0, 1.0);
    const MINUS_I: Complex<f64> = Complex::new(0.0, -1.0);
    [
        [(I, 3), (I, 2), (MINUS_I, 1), (MINUS_I, 0)],
        [(MINUS, 3), (ONE, 2), (ONE, 1), (MINUS, 0)],
        [(I, 2), (MINUS_I, 3), (MINUS_I, 0), (I, 1)],
        [(ONE, 2), (ONE, 3), (ONE, 0), (ONE, 1)],
    ]
};

#[test]
fn hop_of_a_plane_wave_is_that_of_momentum_space() {
    // On unit links, D e^{ipx} χ = e^{ipx} Σ_μ (−cos p_μ + i γ_μ sin p_μ) χ, with p = (2πn + θ)/L.
    let extents = extents("4.6.2.8");
    let configuration = Configuration::unit(extents);
    let chi: [Complex<f64>; SPINOR_WORDS] =
        std::array::from_fn(|k| Complex::new(1.0 + k as f64, 0.5 - 0.25 * k as f64));
    let waves = ["1,-1,1,-1", TWISTED].into_iter().flat_map(|boundary| WAVES.map(|n| (boundary.parse().unwrap(), n)));
    for (boundary, n) in waves {
        let boundary: BoundaryPhases = boundary;
        let p = momentum(extents, n, boundary);
        for (dagger, sign) in [(Dagger::No, 1.0), (Dagger::Yes, -1.0)] {
            let image_of_chi: Vec<Complex<f64>> = (0..SPINOR_WORDS)
                .map(|word| {
                    let (spin, colour) = (word / 3, word % 3);
                    let of_direction = |mu: usize| {
                        let (factor, row) = GAMMA[mu][spin];
                        let gamma_chi = factor * chi[3 * row + colour];
                        -p[mu].cos() * chi[word] + Complex::new(0.0, sign * p[mu].sin()) * gamma_chi
                    };
                    (0..4).map(of_direction).sum()
                })
                .collect();
            let expected = plane_wave(extents, p, &image_of_chi);
            for format in LinkFormat::ALL.into_iter().filter(|&format| boundary.require_links(format).is_ok()) {
                let operator =
                    ScalarWilson { configuration: &configuration, boundary, format, legs: LegOrder::DEFAULT };
                let found = hop_of_all(&operator, &plane_wave(extents, p, &chi), dagger);
                let largest =
                    found.iter().zip(&expected).map(|(a, b)| Real::to_f64((a - b).norm())).fold(0.0, f64::max);
                assert!(largest < 1e-12, "momentum {n:?}, {dagger:?}: {largest}");
            }
        }
    }
}
