//! The comparison of `lanefield::verify`: that it can fail, and what it says then. The command: `crates/cli/tests/verify.rs`.

use lanefield::kernel::{Numbers, TestData};
use lanefield::prelude::*;
use lanefield::reference::random::{Stream, gaussian_pair};
use lanefield::verify::{ComplexPart, Mismatch, compare_fields, compare_histories};

fn lattice(lanes: &str, scalar: Scalar) -> Lattice {
    let lanes: LaneChoice = lanes.parse().unwrap();
    Lattice::new(Extents::new([4, 2, 6, 8]).unwrap(), scalar, LatticeOptions { lanes, ..LatticeOptions::default() })
        .unwrap()
}

fn gaussian(lattice: Lattice, sites: Sites) -> Field<f32, Spinors> {
    Field::from_sites(lattice, sites, Spinors::ONE, |site, words| {
        for (word, value) in (0..).zip(words) {
            let (re, im) = gaussian_pair(3, Stream::TestData, site as u64, word);
            *value = Complex::new(re as f32, im as f32);
        }
    })
    .unwrap()
}

/// The real number of a site, word and part in memory, as the address rule of the layout says.
fn index(field: &Field<f32, Spinors>, coordinate: [usize; 4], word: usize, part: usize) -> usize {
    let place = field.lattice().place(field.sites(), coordinate);
    ((place.osite * Spinors::WORDS + word) * field.lattice().nsimd() + place.lane) * 2 + part
}

#[test]
fn one_flipped_bit_is_found_where_it_is() {
    for (sites, coordinate) in [(Sites::Full, [3, 1, 4, 6]), (Sites::Parity(Parity::Odd), [2, 1, 5, 7])] {
        let expected = gaussian(lattice("32", Scalar::ComplexF), sites);
        let mut found = expected.clone();
        assert_eq!(compare_fields(&found, &expected).unwrap(), None);
        // Spin 2, colour 1, imaginary part; the last bit of the mantissa.
        let index = index(&found, coordinate, 7, 1);
        let value = &mut found.reals_mut()[index];
        let before = *value;
        *value = f32::from_bits(value.to_bits() ^ 1);
        let after = *value;

        let mismatch = compare_fields(&found, &expected).unwrap().expect("a flipped bit");
        let place = found.lattice().place(sites, coordinate);
        assert_eq!((mismatch.coordinate, mismatch.osite, mismatch.lane), (coordinate, place.osite, place.lane));
        assert_eq!((mismatch.spin, mismatch.colour, mismatch.part), (Some(2), Some(1), ComplexPart::Im));
        assert_eq!((mismatch.differing, mismatch.components), (1, expected.reals().len() as u64));
        assert_eq!(mismatch.difference.ulp, Some(1));
        assert_eq!(mismatch.difference.found_bits, format!("{:016x}", after.to_bits()));
        assert_eq!(mismatch.difference.expected_bits, format!("{:016x}", before.to_bits()));
        assert_eq!(mismatch.difference.expected.parse::<f32>().unwrap(), before);
        let text = mismatch.to_string();
        let [x, y, z, t] = coordinate;
        assert!(text.contains(&format!("site x,y,z,t = {x},{y},{z},{t}")), "{text}");
        assert!(text.contains("spin 2, colour 1, imaginary part") && text.ends_with("1 ulp apart"), "{text}");
    }
}

#[test]
fn the_first_of_several_differences_is_the_first_in_site_order() {
    let expected = gaussian(lattice("64", Scalar::ComplexF), Sites::Full);
    let mut found = expected.clone();
    for coordinate in [[0, 0, 0, 7], [3, 1, 2, 0], [1, 0, 3, 0]] {
        let index = index(&found, coordinate, 0, 0);
        found.reals_mut()[index] += 1.0;
    }
    let mismatch = compare_fields(&found, &expected).unwrap().unwrap();
    assert_eq!((mismatch.coordinate, mismatch.differing), ([3, 1, 2, 0], 3));
}

#[test]
fn fields_in_different_lanes_are_compared_by_site() {
    let narrow = gaussian(lattice("16", Scalar::ComplexF), Sites::Full);
    let mut wide = gaussian(lattice("64", Scalar::ComplexF), Sites::Full);
    assert_eq!(compare_fields(&wide, &narrow).unwrap(), None);
    let index = index(&wide, [1, 1, 1, 1], 11, 0);
    wide.reals_mut()[index] = -wide.reals()[index];
    let mismatch = compare_fields(&wide, &narrow).unwrap().unwrap();
    assert_eq!((mismatch.coordinate, mismatch.spin, mismatch.colour), ([1, 1, 1, 1], Some(3), Some(2)));
}

#[test]
fn a_nan_equals_any_nan_but_zeros_have_signs() {
    let mut expected = gaussian(lattice("32", Scalar::ComplexF), Sites::Full);
    let mut found = expected.clone();
    expected.reals_mut()[5] = f32::NAN;
    found.reals_mut()[5] = f32::from_bits(0xffc0_1234);
    assert_eq!(compare_fields(&found, &expected).unwrap(), None);
    expected.reals_mut()[6] = 0.0;
    found.reals_mut()[6] = -0.0;
    let mismatch = compare_fields(&found, &expected).unwrap().unwrap();
    assert_eq!((mismatch.differing, mismatch.difference.ulp), (1, Some(1)));
    found.reals_mut()[6] = f32::NAN;
    assert_eq!(compare_fields(&found, &expected).unwrap().unwrap().difference.ulp, None);
}

#[test]
fn fields_on_different_sites_are_not_compared() {
    let lattice = lattice("32", Scalar::ComplexF);
    let error = compare_fields(&gaussian(lattice, Sites::Full), &gaussian(lattice, Sites::Parity(Parity::Even)));
    assert!(error.unwrap_err().to_string().starts_with("comparing fields: "));
}

#[test]
fn histories_are_compared_as_integers_and_by_length() {
    let history = [3.0, 0.5, 1e-9];
    assert_eq!(compare_histories(&history, &history), None);
    let next = [3.0, f64::from_bits(0.5f64.to_bits() + 2), 1e-9];
    match compare_histories(&next, &history) {
        Some(Mismatch::History { iteration: 1, difference }) => assert_eq!(difference.ulp, Some(2)),
        other => panic!("{other:?}"),
    }
    assert_eq!(compare_histories(&history[..2], &history), Some(Mismatch::Iterations { found: 1, expected: 2 }));
}

#[test]
fn test_data_do_not_depend_on_the_layout_and_hold_what_they_say() {
    let data = TestData::of_case(5, 8);
    for numbers in Numbers::ALL {
        let [narrow, wide] = ["8", "64"].map(|lanes| {
            data.spinor::<f32>(lattice(lanes, Scalar::ComplexF), Sites::Full, numbers, 1).unwrap().to_site_order()
        });
        let same = |(a, b): (&Complex<f32>, &Complex<f32>)| {
            a.re.to_bits() == b.re.to_bits() && a.im.to_bits() == b.im.to_bits()
        };
        assert!(narrow.iter().zip(&wide).all(same));
        let any = |property: fn(f32) -> bool| narrow.iter().any(|value| property(value.re));
        assert_eq!(any(f32::is_nan) && any(f32::is_infinite), numbers == Numbers::Special, "{numbers}");
        assert_eq!(any(|x| x.is_subnormal()), matches!(numbers, Numbers::Tiny | Numbers::Special), "{numbers}");
        assert_eq!(any(|x| x.abs() > 1e9 && x.abs() < 1e30), numbers == Numbers::Wide, "{numbers}");
    }
}
