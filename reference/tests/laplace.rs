//! The Laplacian's hop in wide lanes: the same bits as plain loops over coordinates (`scalar/laplace.rs`), whatever the lattice, the lane
//! width, the colour vectors a site and the number of threads.

use lanefield_reference::field::{ColourVectors, Field};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::laplace::laplace_hop;
use lanefield_reference::layout::{Checkerboard, Lattice, LegOrder, Sites};
use lanefield_reference::links::{BoundaryPhases, LinkFormat};
use lanefield_reference::scalar::ScalarWilson;
use num_complex::Complex;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common;
use crate::common::hops::{antiperiodic, configuration, does_not_depend_on_the_number_of_threads};
use crate::common::hops::{is_the_same_at_every_width, stencil_and_links};
use crate::common::{Numbers, any_boundary, any_checkerboard, any_extents, any_legs, any_numbers};
use crate::common::{every_width, extents, random_words};

/// The hop from site order to site order.
fn hop_in_lanes<R: Vectors>(
    operator: &ScalarWilson,
    lattice: Lattice,
    psi: &[Complex<R>],
    vectors: usize,
    sites: Sites,
) -> Vec<Complex<R>> {
    let (stencil, links) = stencil_and_links(operator, lattice, sites);
    let object = ColourVectors::new(vectors);
    let source = Field::from_site_order(lattice, sites.neighbours(), object, psi).unwrap();
    let mut out = Field::zeros(lattice, sites, object).unwrap();
    laplace_hop(&mut out, &stencil, &links, &source, operator.legs).unwrap();
    out.to_site_order()
}

fn hop_is_the_same_at_every_width<R: Vectors>(
    operator: &ScalarWilson,
    checkerboard: Checkerboard,
    psi: &[Complex<R>],
    vectors: usize,
) -> Result<(), TestCaseError> {
    let expected = |sites| operator.laplace_hop(psi, vectors, sites);
    is_the_same_at_every_width(operator, checkerboard, expected, |lattice, sites| {
        hop_in_lanes(operator, lattice, psi, vectors, sites)
    })
}

proptest! {
    #![proptest_config(common::cases(100))]

    #[test]
    fn hop_is_bitwise_equal_to_plain_loops(
        (checkerboard, extents) in any_checkerboard().prop_flat_map(|c| (Just(c), any_extents(c, 600))),
        seed: u32,
        vectors in 1..10usize,
        numbers in any_numbers(),
        link_numbers in any_numbers(),
        boundary in any_boundary(),
        format in select(LinkFormat::ALL.to_vec()),
        legs in prop_oneof![Just(LegOrder::DEFAULT), any_legs()],
        double_precision: bool,
    ) {
        let configuration = configuration(extents, seed.into(), link_numbers, format);
        let operator = ScalarWilson { configuration: &configuration, boundary, format, legs };
        let words = ColourVectors::WORDS * vectors;
        if double_precision {
            let psi = random_words::<f64>(extents, words, seed.into(), numbers);
            hop_is_the_same_at_every_width(&operator, checkerboard, &psi, vectors)?;
        } else {
            let psi = random_words::<f32>(extents, words, seed.into(), numbers);
            hop_is_the_same_at_every_width(&operator, checkerboard, &psi, vectors)?;
        }
    }
}

#[test]
fn hop_is_bitwise_equal_to_plain_loops_at_every_width() {
    fn check<R: Vectors>(operator: &ScalarWilson, widths: usize) {
        let extents = operator.configuration.extents();
        let vectors = 5;
        let psi = random_words::<R>(extents, ColourVectors::WORDS * vectors, 1, Numbers::Gaussian);
        assert_eq!(every_width::<R>(extents, Checkerboard::RedBlack).len(), widths);
        hop_is_the_same_at_every_width(operator, Checkerboard::RedBlack, &psi, vectors).unwrap();
    }
    // The widest lanes cut a dimension into four and more, where a stencil rotates lanes and does not just swap them.
    for text in ["4.4.4.8", "2.2.2.64"] {
        let configuration = Configuration::hot(extents(text), 9);
        let boundary = BoundaryPhases::antiperiodic([false, false, true, true]);
        for format in LinkFormat::ALL {
            let operator = ScalarWilson { configuration: &configuration, boundary, format, legs: LegOrder::DEFAULT };
            check::<f32>(&operator, 6);
            check::<f64>(&operator, 5);
        }
    }
}

#[test]
fn hop_does_not_depend_on_the_number_of_threads() {
    let extents = extents("6.4.4.10");
    let configuration = Configuration::hot(extents, 3);
    let operator = antiperiodic(&configuration);
    let psi = random_words::<f32>(extents, 3 * ColourVectors::WORDS, 4, Numbers::Gaussian);
    does_not_depend_on_the_number_of_threads(extents, |lattice, sites| {
        hop_in_lanes(&operator, lattice, &psi, 3, sites)
    });
}
