//! What the tests of the hops share: links, stencils, and plain loops over coordinates to compare with at every lane width.

use lanefield_reference::field::Field;
use lanefield_reference::gauge::{Configuration, SITE_WORDS};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Checkerboard, Extents, Lattice, LegOrder, Sites, Stencil};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat, double};
use lanefield_reference::scalar::ScalarWilson;
use num_complex::Complex;
use proptest::prelude::*;

use super::{ALL_SITES, Numbers, every_width, first_difference, in_pools, lattice, random_words};

/// Antiperiodic in time, with whole links and the usual order of the legs.
pub fn antiperiodic(configuration: &Configuration) -> ScalarWilson<'_> {
    let boundary = BoundaryPhases::ANTIPERIODIC_IN_TIME;
    ScalarWilson { configuration, boundary, format: LinkFormat::Full, legs: LegOrder::DEFAULT }
}

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

/// Compares an f32 hop of such a lattice on one thread with that on two and five, on all the sites that it has.
pub fn does_not_depend_on_the_number_of_threads(
    extents: Extents,
    in_lanes: impl Fn(Lattice, Sites) -> Vec<Complex<f32>> + Sync,
) {
    let lattice = lattice::<f32>(extents, 32, Checkerboard::RedBlack);
    for sites in ALL_SITES {
        let [one, two, five] = in_pools(|| in_lanes(lattice, sites));
        assert_eq!(first_difference(&one, &two), None);
        assert_eq!(first_difference(&one, &five), None);
    }
}
