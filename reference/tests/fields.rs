//! Fields: to and from site order without loss in every layout, and Grid's bytes in memory.

use lanefield_reference::field::{FieldError, Gauge, SiteObject, Words};
use lanefield_reference::half::Half;
use lanefield_reference::layout::{Checkerboard, LayoutError};
use lanefield_reference::links::{DoubledGauge, double};
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;
use lanefield_reference::scalar::ScalarWilson;
use proptest::prelude::*;

use crate::common;
use crate::common::{
    ALL_SITES, Numbers, any_checkerboard, any_extents, any_numbers, every_width, extents, first_difference,
};
use crate::common::{lattice, masked, random_words};

fn sites_of(lattice: &Lattice) -> &'static [Sites] {
    if lattice.checkerboard() == Checkerboard::RedBlack { &ALL_SITES } else { &ALL_SITES[..1] }
}

fn site_order_is_kept<R: Real, K: SiteObject>(
    extents: Extents,
    checkerboard: Checkerboard,
    kind: K,
    seed: u64,
    numbers: Numbers,
) -> Result<(), TestCaseError> {
    let values = random_words::<R>(extents, kind.words(), seed, numbers);
    for lattice in every_width::<R>(extents, checkerboard) {
        for &sites in sites_of(&lattice) {
            let field = Field::from_site_order(lattice, sites, kind, &values).unwrap();
            let expected = masked(extents, sites, kind.words(), &values);
            prop_assert_eq!(first_difference(&field.to_site_order(), &expected), None);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::cases(48))]

    #[test]
    fn site_order_comes_back_from_every_layout(
        (checkerboard, extents) in any_checkerboard().prop_flat_map(|c| (Just(c), any_extents(c, 600))),
        seed: u32,
        numbers in any_numbers(),
    ) {
        site_order_is_kept::<f32, _>(extents, checkerboard, Spinors::ONE, seed.into(), numbers)?;
        site_order_is_kept::<f64, _>(extents, checkerboard, Spinors::ONE, seed.into(), numbers)?;
        site_order_is_kept::<f32, _>(extents, checkerboard, Gauge, seed.into(), numbers)?;
    }

    #[test]
    fn bytes_are_at_grids_addresses(
        (checkerboard, extents) in any_checkerboard().prop_flat_map(|c| (Just(c), any_extents(c, 300))),
        seed: u32,
    ) {
        let values = random_words::<f32>(extents, Gauge::WORDS, seed.into(), Numbers::Bits);
        for lattice in every_width::<f32>(extents, checkerboard) {
            for &sites in sites_of(&lattice) {
                let field = Field::from_site_order(lattice, sites, Gauge, &values).unwrap();
                let bytes: &[u8] = bytemuck::cast_slice(field.reals());
                let (words, width) = (Gauge::WORDS, lattice.width().bytes());
                prop_assert_eq!(bytes.len(), extents.volume() * words * 8 / if sites == Sites::Full { 1 } else { 2 });
                for (k, value) in values.iter().enumerate() {
                    let (x, w) = (extents.coordinate(k / words), k % words);
                    if sites.contain(x) {
                        let place = lattice.place(sites, x);
                        let address = place.osite * words * width + w * width + place.lane * 2 * 4;
                        let at = |address: usize| f32::from_le_bytes(bytes[address..][..4].try_into().unwrap());
                        prop_assert!(at(address).same_bits(value.re) && at(address + 4).same_bits(value.im));
                    }
                }
            }
        }
    }

    #[test]
    fn every_value_survives_f64_and_another_layout(
        extents in any_extents(Checkerboard::RedBlack, 300),
        seed: u32,
        numbers in any_numbers(),
    ) {
        let values = random_words::<f32>(extents, Spinors::WORDS, seed.into(), numbers);
        for &sites in &ALL_SITES {
            let narrow = every_width::<f32>(extents, Checkerboard::RedBlack);
            let wide = every_width::<f64>(extents, Checkerboard::RedBlack);
            for (&from, &through) in narrow.iter().zip(wide.iter().rev()) {
                let field = Field::from_site_order(from, sites, Spinors::ONE, &values).unwrap();
                let back = field.convert::<f64>(through).unwrap().convert::<f32>(narrow[0]).unwrap();
                prop_assert_eq!(first_difference(&back.to_site_order(), &field.to_site_order()), None);
            }
        }
    }
}

#[test]
fn conversion_to_f32_rounds_to_nearest_even() {
    let extents = extents("2.2.2.2");
    let ulp = f64::from(f32::EPSILON);
    let cases = [
        (1.0 + 0.5 * ulp, 1.0),
        (1.0 + 1.5 * ulp, 1.0 + 2.0 * ulp),
        (-0.0, -0.0),
        (1e39, f64::INFINITY),
        (f64::NEG_INFINITY, f64::NEG_INFINITY),
        (1e-46, 0.0),
        (0.75 * f64::from(f32::from_bits(1)), f64::from(f32::from_bits(1))),
    ];
    for (value, rounded) in cases {
        let values = vec![Complex::new(value, value); Spinors::WORDS * extents.volume()];
        let wide = lattice::<f64>(extents, 16, Checkerboard::RedBlack);
        let narrow = lattice::<f32>(extents, 8, Checkerboard::FullOnly);
        let field = Field::from_site_order(wide, Sites::Full, Spinors::ONE, &values).unwrap();
        let word = field.convert::<f32>(narrow).unwrap().words()[0];
        assert!(word.re.same_bits(rounded as f32) && word.im.same_bits(rounded as f32), "{value} became {word}");
    }
}

#[test]
fn fields_lie_on_64_byte_boundaries() {
    // Awkward sizes: 2·2·2·2 spinors in f32 are 1536 bytes, 3·1·1·1 are 288.
    for text in ["1.1.1.1", "3.1.1.1", "2.2.2.2", "5.3.7.2"] {
        for lattice in every_width::<f32>(extents(text), Checkerboard::FullOnly) {
            let field = Field::<f32, _>::zeros(lattice, Sites::Full, Spinors::ONE).unwrap();
            assert_eq!(field.reals().as_ptr().addr() % 64, 0);
            assert_eq!(field.clone().reals().as_ptr().addr() % 64, 0);
        }
    }
}

#[test]
fn even_and_odd_fields_are_the_full_field() {
    let extents = extents("4.6.2.8");
    let values = random_words::<f64>(extents, Spinors::WORDS, 1, Numbers::Gaussian);
    let lattice = lattice::<f64>(extents, 32, Checkerboard::RedBlack);
    let [even, odd] = Parity::BOTH
        .map(|p| Field::from_site_order(lattice, Sites::Parity(p), Spinors::ONE, &values).unwrap().to_site_order());
    let sum: Vec<_> = even.iter().zip(&odd).map(|(a, b)| a + b).collect();
    assert_eq!(first_difference(&sum, &values), None);
    // Site 0 is even, its neighbour in x is odd.
    assert_ne!(even[0], Complex::default());
    assert_eq!(even[Spinors::WORDS], Complex::default());
}

#[test]
fn doubled_links_of_a_site_are_those_that_it_uses() {
    // On 1.1.1.2, each of the two sites is the other's neighbour in t, and its own in x, y, z.
    let extents = extents("1.1.1.2");
    let configuration = Configuration::hot(extents, 1);
    let lattice = lattice::<f64>(extents, 16, Checkerboard::FullOnly);
    let kind = DoubledGauge { format: LinkFormat::Full, boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME };
    let doubled = double::<f64>(&configuration, lattice, Sites::Full, kind).unwrap().to_site_order();
    let element = |site: usize, point: usize, k: usize| doubled[72 * site + 9 * point + k];
    let u = |site: usize, mu: usize, k: usize| configuration.link(site, mu)[k];
    for (row, column) in [(0, 0), (0, 2), (1, 0), (2, 1)] {
        let (k, transposed) = (3 * row + column, 3 * column + row);
        for site in 0..2 {
            for mu in 0..3 {
                assert_eq!(element(site, mu, k), -0.5 * u(site, mu, k));
                assert_eq!(element(site, mu + 4, k), -0.5 * u(site, mu, transposed).conj());
            }
        }
        assert_eq!(element(0, 3, k), -0.5 * u(0, 3, k));
        assert_eq!(element(1, 3, k), 0.5 * u(1, 3, k));
        assert_eq!(element(0, 7, k), 0.5 * u(1, 3, transposed).conj());
        assert_eq!(element(1, 7, k), -0.5 * u(0, 3, transposed).conj());
    }
}

#[test]
fn links_with_angles_are_those_of_plain_loops() {
    fn compare<R: Real>() {
        // On one slice both legs cross the boundary.
        let (extents, boundary) = (extents("1.4.2.2"), "0.3pi,-0.5pi,0,2pi/3".parse().unwrap());
        let configuration = Configuration::hot(extents, 2);
        let kind = DoubledGauge { format: LinkFormat::Full, boundary };
        let plain =
            ScalarWilson { configuration: &configuration, boundary, format: LinkFormat::Full, legs: LegOrder::DEFAULT };
        let doubled =
            double::<R>(&configuration, lattice::<R>(extents, 16, Checkerboard::FullOnly), Sites::Full, kind).unwrap();
        let links = (0..extents.volume()).flat_map(|site| Leg::all().map(move |leg| (extents.coordinate(site), leg)));
        let expected: Vec<_> = links.flat_map(|(x, leg)| plain.link::<R>(x, leg).concat()).collect();
        assert_eq!(first_difference(&doubled.to_site_order(), &expected), None);
    }
    compare::<f64>();
    compare::<f32>();
    compare::<Half>();
    let refused = "0.3pi,1,1,1".parse::<BoundaryPhases>().unwrap().require_links(LinkFormat::Eight).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "boundary phases 0.3pi,1,1,1 need reconstruct 18: reconstruct 8 supports only the phases 1, -1 and 0"
    );
}

#[test]
fn two_row_links_are_the_first_two_rows() {
    let extents = extents("2.4.2.2");
    let configuration = Configuration::hot(extents, 2);
    let lattice = lattice::<f32>(extents, 16, Checkerboard::RedBlack);
    let doubled = |format| {
        let kind = DoubledGauge { format, boundary: BoundaryPhases::antiperiodic([true, false, true, false]) };
        double::<f32>(&configuration, lattice, Sites::Parity(Parity::Odd), kind).unwrap().to_site_order()
    };
    let full = doubled(LinkFormat::Full);
    let first_two_rows: Vec<_> = full.chunks_exact(9).flat_map(|link| link[..6].to_vec()).collect();
    assert_eq!(first_difference(&doubled(LinkFormat::TwoRows), &first_two_rows), None);
}

#[test]
fn links_of_8_reals_do_not_have_the_phases_in_them() {
    let extents = extents("2.4.2.2");
    let configuration = Configuration::hot(extents, 2);
    let lattice = lattice::<f64>(extents, 16, Checkerboard::RedBlack);
    let [periodic, other] = [BoundaryPhases::PERIODIC, "1,-1,0,-1".parse().unwrap()].map(|boundary| {
        let kind = DoubledGauge { format: LinkFormat::Eight, boundary };
        double::<f64>(&configuration, lattice, Sites::Full, kind).unwrap().to_site_order()
    });
    assert_eq!(first_difference(&periodic, &other), None);
}

#[test]
fn refusals_name_what_was_given_and_what_was_needed() {
    let extents = extents("4.4.4.4");
    let red_black = lattice::<f32>(extents, 16, Checkerboard::RedBlack);
    let full_only = lattice::<f32>(extents, 16, Checkerboard::FullOnly);
    let error = Field::<f64, _>::zeros(red_black, Sites::Full, Spinors::ONE).unwrap_err();
    assert_eq!(error.to_string(), "a lattice of ComplexF lanes cannot hold a field of ComplexD");
    let error = Field::<f32, _>::zeros(full_only, Sites::Parity(Parity::Even), Spinors::ONE).unwrap_err();
    assert_eq!(error, FieldError::Layout(LayoutError::NotRedBlack { extents: "4.4.4.4".to_owned() }));
    let error = Field::<f32, _>::zeros(full_only, Sites::Full, Words(0)).unwrap_err();
    assert_eq!(error.to_string(), "a word list without complex words cannot be a field: give it at least one");
    let error = Field::<f32, _>::from_site_order(full_only, Sites::Full, Spinors::ONE, &[]).unwrap_err();
    assert_eq!(error.to_string(), "a spinor field on 4.4.4.4 has 3072 complex numbers in site order, not 0");
    let other = lattice::<f32>(common::extents("4.4.4.8"), 16, Checkerboard::FullOnly);
    let field = Field::<f32, _>::zeros(full_only, Sites::Full, Spinors::ONE).unwrap();
    let error = field.convert::<f32>(other).unwrap_err();
    assert_eq!(error.to_string(), "converting a field: 4.4.4.4 does not match 4.4.4.8");
}
