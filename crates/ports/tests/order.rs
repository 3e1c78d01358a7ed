//! Orders and bases of other programs: there and back is the identity, and what is there is what their formulas say.

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield_ports::order::{Convention, GammaBasis, Inner, OrderError, SiteOrder, from_ours, require_shape, to_ours};
use num_complex::Complex;
use proptest::prelude::*;

/// An array whose numbers say where they are.
fn numbered(shape: &[usize]) -> ComplexArray {
    let number = |k: usize| Complex::new(k as f64 + 0.25, -(k as f64) / 3.0);
    let values = (0..shape.iter().product()).map(number).collect();
    ComplexArray { shape: shape.to_vec(), values: ComplexValues::F64(values) }
}

fn bits(array: &ComplexArray) -> Vec<[u64; 2]> {
    array.values.clone().into_f64().iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
}

#[derive(Clone, Debug)]
enum Object {
    Spinor,
    FiveDimensional(usize),
    Links,
    Propagator,
    ColourVectors(usize),
}

impl Object {
    fn shape(&self, [x, y, z, t]: [usize; 4]) -> Vec<usize> {
        match self {
            Self::Spinor => vec![t, z, y, x, 4, 3],
            Self::FiveDimensional(ls) => vec![*ls, t, z, y, x, 4, 3],
            Self::Links => vec![t, z, y, x, 4, 3, 3],
            Self::Propagator => vec![t, z, y, x, 4, 4, 3, 3],
            Self::ColourVectors(n) => vec![t, z, y, x, *n, 3],
        }
    }
}

fn objects() -> impl Strategy<Value = Object> {
    prop_oneof![
        Just(Object::Spinor),
        (3usize..6).prop_map(Object::FiveDimensional),
        Just(Object::Links),
        Just(Object::Propagator),
        (1usize..3).prop_map(Object::ColourVectors),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn there_and_back_is_the_identity(
        object in objects(),
        extents in [1usize..3, 1..4, 1..4, 3..5],
        order in prop::sample::select(SiteOrder::ALL.to_vec()),
        colour_spin in any::<bool>(),
        chiral in any::<bool>(),
        single in any::<bool>(),
    ) {
        let [x, y, z, t] = extents;
        let mut ours = numbered(&object.shape([2 * x, y, z, t]));
        if single {
            ours.values = ComplexValues::F32(ours.values.into_f32());
        }
        let are_spinors = matches!(object, Object::Spinor | Object::FiveDimensional(_));
        let inner = if colour_spin && are_spinors { Inner::ColourSpin } else { Inner::SpinColour };
        let has_spins = are_spinors || matches!(object, Object::Propagator);
        let gamma = if chiral && has_spins { GammaBasis::Chiral } else { GammaBasis::DegrandRossi };
        let convention = Convention { order, gamma, inner };
        let there = from_ours(ours.clone(), convention).unwrap();
        let back = to_ours(there.clone(), convention).unwrap();
        prop_assert_eq!(&back.shape, &ours.shape);
        prop_assert_eq!(bits(&back), bits(&ours));
        prop_assert_eq!(back.values.precision(), ours.values.precision());
        // Only the names of the axes differ where the shape is ours and the numbers are not, but where the shape is one of that order.
        let are_links = matches!(ours.shape[..], [4, 2, _, _, _, _, 3, 3]) && order.has_parities();
        let of_links = order.has_direction_slowest() && (matches!(object, Object::Links) || are_links);
        if !of_links {
            let named_as_ours = ComplexArray { shape: ours.shape.clone(), ..there };
            prop_assert_eq!(bits(&to_ours(named_as_ours, convention).unwrap()), bits(&ours));
        }
    }

    #[test]
    fn a_basis_with_roots_comes_back_to_two_roundings(
        gamma in prop::sample::select(vec![GammaBasis::DiracPauli, GammaBasis::Ukqcd]),
        propagator in any::<bool>(),
    ) {
        let object = if propagator { Object::Propagator } else { Object::Spinor };
        let ours = numbered(&object.shape([2, 1, 2, 3]));
        let convention = Convention { gamma, ..Convention::OURS };
        let back = to_ours(from_ours(ours.clone(), convention).unwrap(), convention).unwrap();
        let largest = ours.values.len() as f64;
        for (a, b) in ours.values.into_f64().iter().zip(back.values.into_f64()) {
            prop_assert!((a - b).norm() < 8.0 * f64::EPSILON * largest, "{} {}", a, b);
        }
    }
}

#[test]
fn even_sites_come_first_with_half_of_x() {
    let ours = numbered(&[2, 2, 2, 4]);
    let there = from_ours(ours.clone(), Convention { order: SiteOrder::EvenOdd, ..Convention::OURS });
    // Without axes of a site, numbers are sites.
    let there = there.unwrap();
    assert_eq!(there.shape, [2, 2, 2, 2, 2]);
    let values = there.values.into_f64();
    let site = |z: Complex<f64>| (z.re - 0.25) as usize;
    for (place, z) in values.into_iter().enumerate() {
        let [x, y, z, t] = [site(z) % 4, site(z) / 4 % 2, site(z) / 8 % 2, site(z) / 16];
        let parity = (x + y + z + t) % 2;
        assert_eq!(place, parity * 16 + (x / 2 + 2 * (y + 2 * (z + 2 * t))), "{x} {y} {z} {t}");
    }
}

#[test]
fn quda_and_qdp_have_the_direction_of_links_slowest_and_milc_has_not() {
    let ours = numbered(&[2, 2, 2, 4, 4, 3, 3]);
    let first = |order| {
        let there = from_ours(ours.clone(), Convention { order, ..Convention::OURS }).unwrap();
        let values = there.values.into_f64();
        (there.shape, [0, 9, 18].map(|k| (values[k].re - 0.25) as usize / 9))
    };
    // Matrix 4·site + direction of ours.
    assert_eq!(first(SiteOrder::Qdp), (vec![4, 2, 2, 2, 2, 2, 3, 3], [0, 4 * 2, 4 * 5]));
    assert_eq!(first(SiteOrder::Quda), first(SiteOrder::Qdp));
    assert_eq!(first(SiteOrder::Milc), (vec![2, 2, 2, 2, 2, 4, 3, 3], [0, 1, 2]));
}

#[test]
fn a_shape_of_another_order_is_refused_and_that_order_named() {
    let refused = |shape: &[usize], order| match require_shape(shape, order) {
        Ok(()) => None,
        Err(OrderError::OtherOrder { found, .. }) => Some(found),
        Err(other) => panic!("{other}"),
    };
    use SiteOrder::{EvenOdd, Gpt, Lexicographic, Milc, OddEven, Qdp, Quda};
    type Refusals = &'static [(SiteOrder, Option<SiteOrder>)];
    let cases: [(&[usize], Refusals); 11] = [
        (&[8, 4, 4, 4, 4, 3], &[(Lexicographic, None), (EvenOdd, None), (Quda, None), (Gpt, None)]),
        (
            &[2, 8, 4, 4, 2, 4, 3],
            &[(Lexicographic, Some(EvenOdd)), (Gpt, Some(EvenOdd)), (OddEven, None), (Quda, None)],
        ),
        (&[6, 2, 8, 4, 4, 2, 4, 3], &[(Lexicographic, Some(EvenOdd)), (Quda, None)]),
        // Links of a site together, lexicographic and even-odd.
        (
            &[8, 4, 4, 4, 4, 3, 3],
            &[(Lexicographic, None), (Milc, None), (Qdp, Some(Lexicographic)), (Gpt, Some(Lexicographic))],
        ),
        (
            &[2, 8, 4, 4, 2, 4, 3, 3],
            &[(Lexicographic, Some(Milc)), (EvenOdd, None), (Quda, Some(Milc)), (Gpt, Some(Milc))],
        ),
        // The direction first.
        (&[4, 2, 8, 4, 4, 2, 3, 3], &[(Lexicographic, Some(Quda)), (Milc, Some(Quda)), (Qdp, None), (Gpt, Some(Qdp))]),
        (&[4, 8, 4, 4, 2, 3, 3], &[(Lexicographic, Some(Gpt)), (EvenOdd, Some(Qdp)), (Gpt, None), (Quda, None)]),
        (&[4, 8, 4, 4, 4, 3, 3], &[(Lexicographic, Some(Gpt)), (Gpt, None)]),
        // Links on 4.4.4.4, which may be either.
        (&[4, 4, 4, 4, 4, 3, 3], &[(Lexicographic, None), (Gpt, None), (Quda, None)]),
        // A lattice with T = 2.
        (&[2, 4, 4, 4, 4, 3, 3], &[(Lexicographic, None)]),
        (&[2, 4, 4, 4, 4, 3], &[(Lexicographic, None)]),
    ];
    for (shape, orders) in cases {
        for &(order, expected) in orders {
            assert_eq!(refused(shape, order), expected, "{shape:?} as {order}");
        }
    }
    let said =
        to_ours(numbered(&[4, 2, 2, 2, 2, 1, 3, 3]), Convention { order: Milc, ..Convention::OURS }).unwrap_err();
    let expected = "the shape (4, 2, 2, 2, 2, 1, 3, 3) is that of quda order: it has the direction of links before the sites, unlike milc order";
    assert_eq!(said.to_string(), expected);
}

#[test]
fn what_has_no_spins_has_no_basis_and_words_are_checked() {
    let error = |shape: &[usize], convention| to_ours(numbered(shape), convention).unwrap_err().to_string();
    let ukqcd = Convention { gamma: GammaBasis::Ukqcd, ..Convention::OURS };
    let colour_spin = Convention { inner: Inner::ColourSpin, ..Convention::OURS };
    assert!(error(&[2, 2, 2, 4, 4, 3, 3], ukqcd).contains("has no spins whose basis could be converted"));
    assert!(error(&[2, 2, 2, 4, 3], colour_spin).contains("colour-spin has a meaning only for spinors"));
    let short = error(&[2, 2, 4], Convention { order: SiteOrder::Qdp, ..Convention::OURS });
    assert!(short.contains("a field in qdp order cannot have the shape (2, 2, 4)"), "{short}");
    let said = "dirac".parse::<GammaBasis>().unwrap_err().to_string();
    assert_eq!(said, "invalid basis of spins 'dirac': expected one of degrand-rossi, chiral, dirac-pauli, ukqcd");
    assert_eq!("DeGrand_Rossi".parse(), Ok(GammaBasis::DegrandRossi));
    assert_eq!(
        ["color-spin", "SPIN_COLOR"].map(|word| word.parse::<Inner>().unwrap()),
        [Inner::ColourSpin, Inner::SpinColour]
    );
    let odd = from_ours(numbered(&[2, 2, 2, 3, 4, 3]), Convention { order: SiteOrder::Quda, ..Convention::OURS });
    assert!(odd.unwrap_err().to_string().contains("X is 3"));
}
