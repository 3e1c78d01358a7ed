//! What the tests of the hops share: links, stencils, and plain loops over coordinates to compare with at every lane width.

use lanefield_reference::field::Field;
use lanefield_reference::gauge::{Configuration, SITE_WORDS};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Checkerboard, Extents, Lattice, Sites, Stencil};
use lanefield_reference::links::{DoubledGauge, LinkFormat, double};
use lanefield_reference::scalar::ScalarWilson;
use num_complex::Complex;
use proptest::prelude::*;

use super::{ALL_SITES, Numbers, every_width, first_difference, random_words};

/// Links that are no SU(3) matrices, but any numbers, where the format takes them: the arithmetic does not care.
pub fn configuration(extents: Extents, seed: u64, numbers: Numbers, format: LinkFormat) -> Configuration {
    match numbers {
        _ if !LinkFormat::OF_ANY_MATRICES.contains(&format) => Configuration::hot(extents, seed),
        Numbers::Gaussian => Configuration::hot(extents, seed),
        _ => Configuration::new(extents, random_words(extents, SITE_WORDS, seed + 1, numbers)).unwrap(),
    }
}

/// What a hop onto `sites` reads beside its source.
pub fn stencil_and_links<R: Vectors>(
    operator: &ScalarWilson,
    lattice: Lattice,
    sites: Sites,
) -> (Stencil, Field<R, DoubledGauge>) {
    let kind = DoubledGauge { format: operator.format, boundary: operator.boundary };
    let links = double(operator.configuration, lattice, sites, kind).unwrap();
    (Stencil::new(lattice, sites).unwrap(), links)
}

/// Compares a hop in lanes with plain loops, on all the sites and at every width that the lattice has.
pub fn is_the_same_at_every_width<R: Vectors>(
    operator: &ScalarWilson,
    checkerboard: Checkerboard,
    plain: impl Fn(Sites) -> Vec<Complex<R>>,
    in_lanes: impl Fn(Lattice, Sites) -> Vec<Complex<R>>,
) -> Result<(), TestCaseError> {
    let lattices = every_width::<R>(operator.configuration.extents(), checkerboard);
    let some_sites = if checkerboard == Checkerboard::RedBlack { &ALL_SITES[..] } else { &ALL_SITES[..1] };
    for &sites in some_sites {
        let expected = plain(sites);
        for &lattice in &lattices {
            let difference = first_difference(&in_lanes(lattice, sites), &expected);
            prop_assert!(difference.is_none(), "{lattice:?}, {sites} sites: {difference:?}");
        }
    }
    Ok(())
}
