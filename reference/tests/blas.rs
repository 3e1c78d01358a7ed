//! Vector operations and sums over sites in wide lanes: the same bits as plain loops (`scalar.rs`), whatever the lattice, the lane
//! width and the number of threads.

mod common;

use common::{ALL_SITES, Numbers, any_checkerboard, any_extents, any_numbers, every_width, extents, first_difference};
use common::{in_pools, lattice, random_words, spinors};
use lanefield_reference::field::{Field, Spinor};
use lanefield_reference::kernels::reduce::{self, Sum};
use lanefield_reference::kernels::{Vectors, blas};
use lanefield_reference::layout::{Checkerboard, Extents, Lattice, Sites};
use lanefield_reference::real::Real;
use lanefield_reference::scalar;
use num_complex::Complex;
use proptest::prelude::*;

/// A scalar of the operations: plain, not representable in f32, or special.
fn any_scalar() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0f64,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NAN, 1e-310, 3e-46, 3e38, 1e300]),
    ]
}

/// Random data of one case, in site order.
struct Case<R> {
    extents: Extents,
    checkerboard: Checkerboard,
    fields: [Vec<Complex<R>>; 3],
    a: f64,
    b: f64,
}

/// Compares `in_lanes`, given three fields, with `plain`, given the spinors of the same sites: fields as bits, numbers as bits.
fn assert_equal<R: Vectors>(
    case: &Case<R>,
    in_lanes: impl Fn(&mut [Field<R, Spinor>; 3]) -> Vec<f64>,
    plain: impl Fn(&mut [Vec<Complex<R>>; 3]) -> Vec<f64>,
) -> Result<(), TestCaseError> {
    let some_sites = if case.checkerboard == Checkerboard::RedBlack { &ALL_SITES[..] } else { &ALL_SITES[..1] };
    for &sites in some_sites {
        let mut lists = case.fields.each_ref().map(|field| scalar::gather(case.extents, sites, Spinor::WORDS, field));
        let expected = plain(&mut lists);
        for lattice in every_width::<R>(case.extents, case.checkerboard) {
            let mut fields = case.fields.each_ref().map(|field| spinors(lattice, sites, field));
            let found = in_lanes(&mut fields);
            for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
                prop_assert!(found.same_bits(*expected), "{lattice:?}, number {number}: {found:e} {expected:e}");
            }
            for (which, (field, list)) in fields.iter().zip(&lists).enumerate() {
                let found = scalar::gather(case.extents, sites, Spinor::WORDS, &field.to_site_order());
                let difference = first_difference(&found, list);
                prop_assert!(difference.is_none(), "{lattice:?}, field {which}: {difference:?}");
            }
        }
    }
    Ok(())
}

fn every_operation_is_bitwise_equal_to_plain_loops<R: Vectors>(case: &Case<R>) -> Result<(), TestCaseError> {
    let &Case { a, b, .. } = case;
    assert_equal(
        case,
        |[x, out, _]| {
            blas::copy(out, x).unwrap();
            vec![]
        },
        |[x, out, _]| {
            out.clone_from(x);
            vec![]
        },
    )?;
    assert_equal(
        case,
        |[x, out, _]| {
            blas::scale(out, a, x).unwrap();
            vec![]
        },
        |[x, out, _]| {
            *out = scalar::scale(a, x);
            vec![]
        },
    )?;
    assert_equal(
        case,
        |[x, y, _]| {
            blas::axpy(a, x, y).unwrap();
            vec![]
        },
        |[x, y, _]| {
            scalar::axpy(a, x, y);
            vec![]
        },
    )?;
    assert_equal(
        case,
        |[x, y, _]| vec![blas::axpy_norm(a, x, y, Sum::Exact).unwrap()],
        |[x, y, _]| {
            scalar::axpy(a, x, y);
            vec![scalar::norm2(Spinor::WORDS, y)]
        },
    )?;
    assert_equal(
        case,
        |[psi, p, r]| {
            blas::cg_update(psi, p, r, a, b).unwrap();
            vec![]
        },
        |[psi, p, r]| {
            scalar::cg_update(psi, p, r, a, b);
            vec![]
        },
    )?;
    let parts = |z: Complex<f64>| vec![z.re, z.im];
    assert_equal(
        case,
        |[x, _, _]| vec![reduce::norm2(x, Sum::Exact)],
        |[x, _, _]| vec![scalar::norm2(Spinor::WORDS, x)],
    )?;
    assert_equal(
        case,
        |[x, y, _]| parts(reduce::inner_product(x, y, Sum::Exact).unwrap()),
        |[x, y, _]| parts(scalar::inner_product(Spinor::WORDS, x, y)),
    )
}

proptest! {
    #![proptest_config(common::cases(128))]

    #[test]
    fn vector_operations_are_bitwise_equal_to_plain_loops(
        (checkerboard, extents) in any_checkerboard().prop_flat_map(|c| (Just(c), any_extents(c, 500))),
        seed: u32,
        numbers in any_numbers(),
        a in any_scalar(),
        b in any_scalar(),
        double_precision: bool,
    ) {
        fn case<R: Real>(
            extents: Extents,
            checkerboard: Checkerboard,
            seed: u32,
            numbers: Numbers,
            a: f64,
            b: f64,
        ) -> Case<R> {
            let field = |k| random_words::<R>(extents, Spinor::WORDS, 3 * u64::from(seed) + k, numbers);
            Case { extents, checkerboard, fields: [0, 1, 2].map(field), a, b }
        }
        if double_precision {
            every_operation_is_bitwise_equal_to_plain_loops(&case::<f64>(extents, checkerboard, seed, numbers, a, b))?;
        } else {
            every_operation_is_bitwise_equal_to_plain_loops(&case::<f32>(extents, checkerboard, seed, numbers, a, b))?;
        }
    }
}

fn gaussian<R: Real>(lattice: Lattice, sites: Sites, seed: u64) -> Field<R, Spinor> {
    spinors(lattice, sites, &random_words(lattice.extents(), Spinor::WORDS, seed, Numbers::Gaussian))
}

#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    let lattice = lattice::<f32>(extents("10.4.6.4"), 16, Checkerboard::RedBlack);
    for sites in ALL_SITES {
        let [x, y] = [1, 2].map(|seed| gaussian::<f32>(lattice, sites, seed));
        let [one, two, three] = in_pools(|| {
            let mut z = y.clone();
            let inner = reduce::inner_product(&x, &y, Sum::Exact).unwrap();
            [reduce::norm2(&x, Sum::Exact), inner.re, inner.im, blas::axpy_norm(0.3, &x, &mut z, Sum::Exact).unwrap()]
                .map(f64::to_bits)
        });
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}

/// Numbers that a reader adds up in the head: 16 sites of 12 words.
#[test]
fn sums_over_ones_count_them() {
    let lattice = lattice::<f32>(extents("2.2.2.2"), 8, Checkerboard::RedBlack);
    let words = 16 * Spinor::WORDS;
    let x = spinors(lattice, Sites::Full, &vec![Complex::new(1.0f32, 2.0); words]);
    let y = spinors(lattice, Sites::Full, &vec![Complex::new(3.0f32, -1.0); words]);
    assert_eq!(reduce::norm2(&x, Sum::Exact), 5.0 * 192.0);
    // conj(1 + 2i) (3 − i) = 1 − 7i.
    assert_eq!(reduce::inner_product(&x, &y, Sum::Exact).unwrap(), Complex::new(192.0, -7.0 * 192.0));
}

#[test]
fn norms_are_exact_where_doubles_added_in_turn_are_not() {
    // One site of 2⁵⁴, where doubles are 4 apart, and 15 sites of 1: added in turn, every 1 is lost.
    let extents = extents("2.2.2.2");
    let lattice = lattice::<f64>(extents, 16, Checkerboard::RedBlack);
    let mut values = vec![Complex::new(0.0f64, 0.0); 16 * Spinor::WORDS];
    for (site, spinor) in values.chunks_exact_mut(Spinor::WORDS).enumerate() {
        spinor[0].re = if site == 0 { (1u64 << 27) as f64 } else { 1.0 };
    }
    let norm = reduce::norm2(&spinors(lattice, Sites::Full, &values), Sum::Exact);
    assert_eq!(norm, ((1u64 << 54) + 16) as f64);
}

#[test]
fn infinities_and_nan_reach_the_sum_from_any_lane() {
    let extents = extents("4.2.2.2");
    let lattice = lattice::<f32>(extents, 16, Checkerboard::RedBlack);
    let mut values = random_words::<f32>(extents, Spinor::WORDS, 3, Numbers::Gaussian);
    values[100].im = f32::INFINITY;
    assert_eq!(reduce::norm2(&spinors(lattice, Sites::Full, &values), Sum::Exact), f64::INFINITY);
    values[200].re = f32::NAN;
    assert!(reduce::norm2(&spinors(lattice, Sites::Full, &values), Sum::Exact).is_nan());
}

#[test]
fn fields_of_different_lattices_or_sites_are_refused() {
    let extents = extents("4.4.4.4");
    let [lattice, other] = [16, 32].map(|width| lattice::<f32>(extents, width, Checkerboard::RedBlack));
    let [full, even, odd] = ALL_SITES.map(|sites| gaussian::<f32>(lattice, sites, 1));
    let wider = gaussian::<f32>(other, Sites::Full, 1);
    assert_eq!(
        blas::axpy(1.0, &even, &mut odd.clone()).unwrap_err().to_string(),
        "axpy: f32 spinor field on 4.4.4.4, even sites, 16-byte lanes cut 1.1.1.2 does not match \
         f32 spinor field on 4.4.4.4, odd sites, 16-byte lanes cut 1.1.1.2"
    );
    for (x, y) in [(&full, &even), (&even, &odd), (&full, &wider)] {
        assert!(blas::copy(&mut y.clone(), x).is_err());
        assert!(blas::scale(&mut y.clone(), 2.0, x).is_err());
        assert!(blas::axpy(2.0, x, &mut y.clone()).is_err());
        assert!(blas::axpy_norm(2.0, x, &mut y.clone(), Sum::Exact).is_err());
        assert!(blas::cg_update(&mut x.clone(), &mut x.clone(), y, 1.0, 2.0).is_err());
        assert!(blas::cg_update(&mut x.clone(), &mut y.clone(), x, 1.0, 2.0).is_err());
        assert!(reduce::inner_product(x, y, Sum::Exact).is_err());
    }
}
