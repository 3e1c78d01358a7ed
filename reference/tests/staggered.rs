//! The staggered hop in wide lanes: the same bits as plain loops over coordinates (`scalar/staggered.rs`), whatever the lattice, the lane
//! width, the colour vectors a site and the number of threads; and the identities that make it the staggered hop.

use lanefield_reference::field::FieldError;
use lanefield_reference::half::Half;
use lanefield_reference::kernels::staggered::staggered_hop;
use lanefield_reference::layout::Stencil;
use lanefield_reference::layout::{Checkerboard, LaneWidth};
use lanefield_reference::links::{DoubledGauge, double};
use lanefield_reference::prelude::*;
use lanefield_reference::scalar::{self, ScalarWilson};
use proptest::prelude::*;

use crate::common;
use crate::common::hops::{
    self, Hop as _, TWISTED, WAVES, antiperiodic, any_case, colour_hop, has_the_bits_of_plain_loops,
};
use crate::common::hops::{momentum, plane_wave};
use crate::common::{ALL_SITES, Numbers, extents, first_difference, lattice, random_words, relative_distance};

const COLOURS: usize = ColourVectors::WORDS;

colour_hop!(StaggeredHop: staggered_hop);

proptest! {
    #![proptest_config(common::cases(150))]

    #[test]
    fn hop_is_bitwise_equal_to_plain_loops(case in any_case(600), vectors in 1..10usize) {
        case.check(StaggeredHop(vectors))?;
    }
}

/// All lattices of these extents, in every precision.
fn is_bitwise_equal_to_plain_loops(text: &str, checkerboard: Checkerboard, vectors: usize) {
    for boundary in ["1,1,-1,-1", "-1,1,1,0"] {
        let hop = StaggeredHop(vectors);
        has_the_bits_of_plain_loops::<f32>(hop, (text, None), boundary, checkerboard);
        has_the_bits_of_plain_loops::<f64>(hop, (text, None), boundary, checkerboard);
        has_the_bits_of_plain_loops::<Half>(hop, (text, None), boundary, checkerboard);
    }
}

#[test]
fn hop_is_bitwise_equal_to_plain_loops_on_lattices_that_lanes_only_just_divide() {
    for (text, vectors) in [("2.2.2.2", 1), ("6.4.2.10", 3), ("4.4.4.8", 5)] {
        is_bitwise_equal_to_plain_loops(text, Checkerboard::RedBlack, vectors);
    }
    // Dimensions that are cut into four and more, where a stencil rotates lanes and does not just swap them.
    is_bitwise_equal_to_plain_loops("2.2.2.64", Checkerboard::RedBlack, 2);
}

#[test]
fn hop_is_bitwise_equal_to_plain_loops_where_virtual_nodes_have_odd_extents() {
    // Odd extents, and even ones whose virtual nodes are odd.
    for (text, vectors) in [("2.2.2.2", 1), ("3.5.1.7", 4), ("3.2.4.4", 5), ("6.6.2.10", 2), ("1.1.1.32", 1)] {
        is_bitwise_equal_to_plain_loops(text, Checkerboard::FullOnly, vectors);
    }
}

#[test]
fn lanes_may_have_different_signs() {
    let extents = extents("6.6.6.3");
    let configuration = Configuration::hot(extents, 2);
    let operator = antiperiodic(&configuration);
    let psi = random_words::<f32>(extents, 2 * COLOURS, 3, Numbers::Gaussian);
    let expected = operator.staggered_hop(&psi, 2, Sites::Full);
    for nodes in [[2, 2, 2, 1], [1, 2, 2, 1]] {
        let nsimd = nodes.iter().product::<usize>();
        let options = LatticeOptions {
            lanes: LaneChoice::Width(LaneWidth::new(8 * nsimd).unwrap()),
            nodes: Some(nodes),
            checkerboard: Checkerboard::FullOnly,
        };
        let lattice = Lattice::new(extents, lanefield_reference::layout::Scalar::ComplexF, options).unwrap();
        assert_eq!(first_difference(&StaggeredHop(2).apply(&operator, lattice, &psi, Sites::Full), &expected), None);
    }
}

#[test]
fn hop_does_not_depend_on_the_number_of_threads() {
    hops::does_not_depend_on_the_number_of_threads(StaggeredHop(3));
}

#[test]
fn several_colour_vectors_have_the_bits_of_each_alone() {
    let extents = extents("4.4.2.6");
    let configuration = Configuration::hot(extents, 5);
    let operator = antiperiodic(&configuration);
    let several = 7;
    let psi = random_words::<f64>(extents, several * COLOURS, 6, Numbers::Mixed);
    let lattice = lattice::<f64>(extents, 32, Checkerboard::RedBlack);
    let vector = |psi: &[Complex<f64>], k: usize| -> Vec<Complex<f64>> {
        psi.chunks_exact(several * COLOURS).flat_map(|site| site[COLOURS * k..][..COLOURS].to_vec()).collect()
    };
    for sites in ALL_SITES {
        let together = StaggeredHop(several).apply(&operator, lattice, &psi, sites);
        for k in 0..several {
            let alone = StaggeredHop(1).apply(&operator, lattice, &vector(&psi, k), sites);
            assert_eq!(first_difference(&vector(&together, k), &alone), None);
        }
    }
}

/// The comparisons above would be empty if they did not.
#[test]
fn leg_order_and_link_format_change_bits() {
    let extents = extents("4.4.4.4");
    let configuration = Configuration::hot(extents, 1);
    let psi = gaussian(extents, 2);
    let usual = antiperiodic(&configuration);
    let expected = hop_of_all(&usual, &psi);
    for operator in [
        ScalarWilson { format: LinkFormat::TwoRows, ..usual },
        ScalarWilson { format: LinkFormat::Eight, ..usual },
        ScalarWilson { legs: "+x-x+t-z-t+z+y-y".parse().unwrap(), ..usual },
    ] {
        let other = hop_of_all(&operator, &psi);
        assert!(first_difference(&other, &expected).is_some());
        assert!(relative_distance(&other, &expected) < 1e-14);
    }
}

#[test]
fn hop_refuses_fields_that_do_not_belong_together() {
    let extents = extents("4.4.4.4");
    let configuration = Configuration::unit(extents);
    let [lattice, other] = [16, 64].map(|width| lattice::<f32>(extents, width, Checkerboard::RedBlack));
    let (even, odd) = (Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd));
    let stencil = Stencil::new(lattice, even).unwrap();
    let links = |lattice, sites| double::<f32>(&configuration, lattice, sites, DoubledGauge::default()).unwrap();
    let field = |lattice, sites, vectors| Field::zeros(lattice, sites, ColourVectors::new(vectors)).unwrap();
    struct Fields {
        out: Field<f32, ColourVectors>,
        links: Field<f32, DoubledGauge>,
        source: Field<f32, ColourVectors>,
    }
    let right = || Fields { out: field(lattice, even, 2), links: links(lattice, even), source: field(lattice, odd, 2) };
    let hop = |fields: Fields| {
        let Fields { mut out, links, source } = fields;
        staggered_hop(&mut out, &stencil, &links, &source, LegOrder::DEFAULT)
    };
    assert_eq!(hop(right()), Ok(()));
    for (fields, name) in [
        (Fields { out: field(lattice, even, 3), ..right() }, "the staggered hop's source"),
        (Fields { links: links(lattice, odd), ..right() }, "the staggered hop's links"),
        (Fields { source: field(lattice, even, 2), ..right() }, "the staggered hop's source"),
    ] {
        assert!(matches!(hop(fields), Err(FieldError::Mismatch { what, .. }) if what == name), "{name}");
    }
    let wrong_lanes = hop(Fields { links: links(other, even), ..right() });
    assert_eq!(
        wrong_lanes.unwrap_err().to_string(),
        "the staggered hop's links: f32 doubled gauge field on 4.4.4.4, even sites, 64-byte lanes, lane layout 1.2.2.2 does not match \
         f32 doubled gauge field on 4.4.4.4, even sites, 16-byte lanes, lane layout 1.1.1.2"
    );
}

/// The f64 hop of one colour vector at all sites.
fn hop_of_all(operator: &ScalarWilson, psi: &[Complex<f64>]) -> Vec<Complex<f64>> {
    StaggeredHop(1).of_all(operator, psi)
}

fn gaussian(extents: Extents, seed: u64) -> Vec<Complex<f64>> {
    random_words(extents, COLOURS, seed, Numbers::Gaussian)
}

#[test]
fn hop_is_anti_hermitian() {
    // Also where an extent is odd: η_μ does not depend on x_μ, so that forward and backward legs have the same sign.
    for (text, boundary) in [("4.2.6.4", "1,1,1,-1"), ("4.4.2.6", "-1,0,1,1"), ("3.5.2.5", "1,-1,1,0")] {
        let extents = extents(text);
        let configuration = Configuration::hot(extents, 7);
        let (phi, chi) = (gaussian(extents, 8), gaussian(extents, 9));
        for format in LinkFormat::ALL {
            let boundary = boundary.parse().unwrap();
            let operator = ScalarWilson { boundary, format, ..antiperiodic(&configuration) };
            let left = scalar::inner_product(COLOURS, &phi, &hop_of_all(&operator, &chi));
            let right = scalar::inner_product(COLOURS, &hop_of_all(&operator, &phi), &chi);
            let scale = scalar::norm2(COLOURS, &phi);
            assert!((left + right).norm() < 1e-13 * scale, "{text}: {left} {right}");
            assert!(left.norm() > 1e-3 * scale, "{text}: {left}");
        }
    }
}

#[test]
fn hop_anticommutes_with_epsilon_exactly() {
    // ε(x) = (−1)^(x + y + z + t), the remnant of chiral symmetry. No sum over eight legs of these is a zero, whose sign would differ.
    let extents = extents("4.6.2.4");
    let configuration = Configuration::hot(extents, 10);
    let operator = antiperiodic(&configuration);
    let epsilon = |psi: &[Complex<f64>]| -> Vec<Complex<f64>> {
        let sign = |k: usize| if extents.coordinate(k / COLOURS).iter().sum::<usize>() % 2 == 0 { 1.0 } else { -1.0 };
        psi.iter().enumerate().map(|(k, w)| w.scale(sign(k))).collect()
    };
    let psi = gaussian(extents, 11);
    let after = epsilon(&hop_of_all(&operator, &psi));
    let before: Vec<_> = hop_of_all(&operator, &epsilon(&psi)).iter().map(|w| -w).collect();
    assert_eq!(first_difference(&before, &after), None);
}

#[test]
fn even_and_odd_hops_together_are_the_hop_of_all_sites_exactly() {
    hops::even_and_odd_together_are_the_hop_of_all_sites_exactly(StaggeredHop(1));
}

#[test]
fn hop_is_gauge_covariant() {
    hops::is_gauge_covariant(StaggeredHop(1));
}

#[test]
fn hop_of_a_plane_wave_has_the_free_spectrum() {
    // On unit links, D e^{ipx} = i Σ_μ η_μ(x) sin p_μ e^{ipx}, and D² = −Σ_μ sin² p_μ, since the phases anticommute; with
    // p = (2πn + θ)/L.
    let extents = extents("4.6.2.8");
    let configuration = Configuration::unit(extents);
    let chi = [Complex::new(1.0, 0.5), Complex::new(-2.0, 0.25), Complex::new(0.0, -1.5)];
    let waves = ["1,-1,1,-1", TWISTED].into_iter().flat_map(|boundary| WAVES.map(|n| (boundary.parse().unwrap(), n)));
    for (boundary, n) in waves {
        let boundary: BoundaryPhases = boundary;
        let p = momentum(extents, n, boundary);
        let wave = plane_wave(extents, p, &chi);
        let once = |k: usize| {
            let [x, y, z, _] = extents.coordinate(k / COLOURS);
            let eta = [0, x, x + y, x + y + z].map(|exponent| if exponent % 2 == 0 { 1.0 } else { -1.0 });
            let sum: f64 = (0..4).map(|mu| eta[mu] * p[mu].sin()).sum();
            Complex::new(0.0, sum) * wave[k]
        };
        let square: f64 = p.iter().map(|p| p.sin() * p.sin()).sum();
        let mass = 0.3;
        for format in LinkFormat::ALL.into_iter().filter(|&format| boundary.require_links(format).is_ok()) {
            let operator = ScalarWilson { configuration: &configuration, boundary, format, legs: LegOrder::DEFAULT };
            let hop = hop_of_all(&operator, &wave);
            let twice = hop_of_all(&operator, &hop);
            let of_mass = operator.staggered(&wave, 1, mass);
            let largest = |found: &[Complex<f64>], expected: &dyn Fn(usize) -> Complex<f64>| {
                found.iter().enumerate().map(|(k, w)| (w - expected(k)).norm()).fold(0.0, f64::max)
            };
            assert!(largest(&hop, &once) < 1e-13, "momentum {n:?}: {}", largest(&hop, &once));
            assert!(largest(&twice, &|k| -square * wave[k]) < 1e-13, "momentum {n:?}");
            assert!(largest(&of_mass, &|k| once(k) + mass * wave[k]) < 1e-13, "momentum {n:?}");
        }
    }
}
