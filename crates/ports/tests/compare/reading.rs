//! Orders and bases that were said wrongly, or not at all: what is said to be right.

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield_ports::compare::{CompareOptions, Comparison, Confidence, compare};
use lanefield_ports::order::{Convention, GammaBasis, Inner, SiteOrder, from_ours, to_ours};

use super::{Fault, configuration, extents, hop, shape, source, spinors};

fn right() -> ComplexArray {
    spinors(hop(&source(), Fault::None))
}

fn links() -> ComplexArray {
    let [x, y, z, t] = extents().as_array();
    let values = ComplexValues::F64(configuration().links().to_vec());
    ComplexArray { shape: vec![t, z, y, x, 4, 3, 3], values }
}

/// What is said of two arrays that are read as `a` and `b`.
fn read([a, b]: [&ComplexArray; 2], of_a: Convention, of_b: Convention) -> Comparison {
    let options = CompareOptions { a: of_a, b: of_b, ..CompareOptions::default() };
    compare(&to_ours(a.clone(), of_a).unwrap(), &to_ours(b.clone(), of_b).unwrap(), options).unwrap()
}

fn first(found: &Comparison) -> &str {
    assert_eq!(found.causes[0].confidence, Confidence::Certain, "{found}");
    &found.causes[0].sentence
}

fn in_order(order: SiteOrder) -> Convention {
    Convention { order, ..Convention::OURS }
}

fn in_basis(gamma: GammaBasis) -> Convention {
    Convention { gamma, ..Convention::OURS }
}

#[test]
fn an_option_that_should_not_be_there_is_to_be_left_out() {
    let (array, ours) = (right(), Convention::OURS);
    let same = [&array, &array];
    let even_odd = in_order(SiteOrder::EvenOdd);
    assert_eq!(first(&read(same, ours, even_odd)), "B is lexicographic: leave out --order even-odd");
    assert_eq!(first(&read(same, even_odd, ours)), "A is lexicographic: leave out --a-order even-odd");
    let colour_spin = Convention { inner: Inner::ColourSpin, ..ours };
    assert_eq!(first(&read(same, ours, colour_spin)), "B has spin before colour: leave out --inner colour-spin");
    assert_eq!(first(&read(same, colour_spin, ours)), "A has spin before colour: leave out --a-inner colour-spin");
    for basis in [GammaBasis::Chiral, GammaBasis::DiracPauli, GammaBasis::Ukqcd] {
        let said = "is in the basis degrand-rossi of the γ matrices: leave out";
        let b = read(same, ours, in_basis(basis));
        assert_eq!(first(&b), format!("B {said} --gamma {basis}"));
        let a = read(same, in_basis(basis), ours);
        assert_eq!(first(&a), format!("A {said} --a-gamma {basis}"));
    }
    let links = links();
    let quda = from_ours(links.clone(), in_order(SiteOrder::Quda)).unwrap();
    let found = read([&links, &quda], in_order(SiteOrder::EvenOdd), in_order(SiteOrder::Quda));
    assert_eq!(first(&found), "A is lexicographic: leave out --a-order even-odd");
}

#[test]
fn another_option_is_named_in_place_of_a_wrong_one() {
    let (array, ours) = (right(), Convention::OURS);
    // QUDA's shape with the odd sites first.
    let there = from_ours(array.clone(), in_order(SiteOrder::OddEven)).unwrap();
    assert_eq!(there.shape[0], 2);
    let found = read([&array, &there], ours, in_order(SiteOrder::Quda));
    assert_eq!(first(&found), "B has its sites in odd-even order, the odd ones first: read it with --order odd-even");
    assert!(read([&array, &there], ours, in_order(SiteOrder::OddEven)).is_same());
    let ukqcd = from_ours(array.clone(), in_basis(GammaBasis::Ukqcd)).unwrap();
    let found = read([&array, &ukqcd], ours, in_basis(GammaBasis::DiracPauli));
    assert_eq!(first(&found), "B is in the basis ukqcd of the γ matrices: read it with --gamma ukqcd");
    // Two at once.
    let both = Convention { order: SiteOrder::EvenOdd, gamma: GammaBasis::Chiral, ..ours };
    let there = from_ours(array.clone(), both).unwrap();
    let found = read([&array, &there], ours, in_order(SiteOrder::EvenOdd));
    assert_eq!(first(&found), "B is in the basis chiral of the γ matrices: read it with --gamma chiral");
    let there = ComplexArray { shape: shape(), ..from_ours(array.clone(), in_basis(GammaBasis::Chiral)).unwrap() };
    let found = read([&array, &there], ours, in_order(SiteOrder::EvenOdd));
    assert_eq!(
        first(&found),
        "B is lexicographic, and is in the basis chiral of the γ matrices: read it with --gamma chiral, and leave out --order even-odd"
    );
}

#[test]
fn links_that_lie_direction_by_direction_in_the_shape_of_ours_are_to_be_reshaped() {
    let links = links();
    for (order, said) in [
        (
            SiteOrder::Qdp,
            "B has its links in qdp order, the direction slowest: reshape it to (4, 2, T, Z, Y, X/2, 3, 3), and read it with --order qdp",
        ),
        (
            SiteOrder::Gpt,
            "B has its links in gpt order, the direction slowest: reshape it to (4, T, Z, Y, X, 3, 3), and read it with --order gpt",
        ),
        (SiteOrder::Milc, "B has its sites in even-odd order: read it with --order even-odd"),
    ] {
        let there = from_ours(links.clone(), in_order(order)).unwrap();
        let there = ComplexArray { shape: links.shape.clone(), ..there };
        assert_eq!(first(&read([&links, &there], Convention::OURS, Convention::OURS)), said);
    }
}

#[test]
fn differences_of_a_conversion_that_rounds_are_laid_to_it() {
    let array = right();
    for basis in [GammaBasis::Ukqcd, GammaBasis::DiracPauli] {
        let there = from_ours(array.clone(), in_basis(basis)).unwrap();
        let found = read([&array, &there], Convention::OURS, in_basis(basis));
        let cause = &found.causes[0];
        assert_eq!(cause.kind, "conversion", "{found}");
        let said = format!(
            "the conversion from the basis {basis} rounds each number, and differences of this size come from it"
        );
        assert!(cause.sentence.ends_with(&said), "{found}");
        // What docs/ports.md says of them.
        assert!(found.relative_norm < 2e-16, "{}", found.relative_norm);
    }
}

#[test]
fn two_arrays_with_an_axis_of_parities_are_noted() {
    let array = right();
    let even_odd = from_ours(array.clone(), in_order(SiteOrder::EvenOdd)).unwrap();
    let odd_even = from_ours(array, in_order(SiteOrder::OddEven)).unwrap();
    let found = compare(&even_odd, &odd_even, CompareOptions::default()).unwrap();
    assert_eq!(
        found.notes,
        [
            "both arrays are read as five-dimensional fermion on 2.4.4.6, Ls 2; if their shape (2, 6, 4, 4, 2, 4, 3) has an axis of parities, say --order even-odd --a-order even-odd"
        ]
    );
    assert!(found.to_string().contains("\n  note: both arrays"), "{found}");
    let found = read([&even_odd, &even_odd], in_order(SiteOrder::EvenOdd), in_order(SiteOrder::EvenOdd));
    assert!(found.is_same() && found.notes.is_empty());
}
