//! Vector operations with norms in wide lanes: the same bits as plain loops (`scalar.rs`), whatever the lattice and the lane width.

use lanefield_reference::kernels::blas;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{Checkerboard, gather};
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;
use lanefield_reference::scalar;
use proptest::prelude::*;

use crate::common;
use crate::common::{
    ALL_SITES, Numbers, any_checkerboard, any_extents, any_numbers, every_width, extents, first_difference,
};
use crate::common::{lattice, random_words, spinors};

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
    fields: [Vec<Complex<R>>; 2],
    a: f64,
    b: f64,
}

/// Compares `in_lanes`, given three fields, with `plain`, given the spinors of the same sites, bit by bit.
fn assert_equal<R: Vectors>(
    case: &Case<R>,
    in_lanes: impl Fn(&mut [Field<R, Spinors>; 2]),
    plain: impl Fn(&mut [Vec<Complex<R>>; 2]),
) -> Result<(), TestCaseError> {
    let some_sites = if case.checkerboard == Checkerboard::RedBlack { &ALL_SITES[..] } else { &ALL_SITES[..1] };
    for &sites in some_sites {
        let mut lists = case.fields.each_ref().map(|field| gather(case.extents, sites, Spinors::WORDS, field));
        plain(&mut lists);
        for lattice in every_width::<R>(case.extents, case.checkerboard) {
            let mut fields = case.fields.each_ref().map(|field| spinors(lattice, sites, field));
            in_lanes(&mut fields);
            for (which, (field, list)) in fields.iter().zip(&lists).enumerate() {
                let found = gather(case.extents, sites, Spinors::WORDS, &field.to_site_order());
                let difference = first_difference(&found, list);
                prop_assert!(difference.is_none(), "{lattice:?}, field {which}: {difference:?}");
            }
        }
    }
    Ok(())
}

fn updates_are_bitwise_equal_to_plain_loops<R: Vectors>(case: &Case<R>) -> Result<(), TestCaseError> {
    let &Case { a, b, .. } = case;
    assert_equal(case, |[x, y]| drop(blas::axpy_norm(a, x, y, Sum::Exact).unwrap()), |[x, y]| scalar::axpy(a, x, y))?;
    assert_equal(
        case,
        |[x, y]| drop(blas::axpby_norm(a, x, b, y, Sum::Exact).unwrap()),
        |[x, y]| scalar::axpby(a, x, b, y),
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
            let field = |k| random_words::<R>(extents, Spinors::WORDS, 2 * u64::from(seed) + k, numbers);
            Case { extents, checkerboard, fields: [0, 1].map(field), a, b }
        }
        if double_precision {
            updates_are_bitwise_equal_to_plain_loops(&case::<f64>(extents, checkerboard, seed, numbers, a, b))?;
        } else {
            updates_are_bitwise_equal_to_plain_loops(&case::<f32>(extents, checkerboard, seed, numbers, a, b))?;
        }
    }
}

fn gaussian<R: Real>(lattice: Lattice, sites: Sites, seed: u64) -> Field<R, Spinors> {
    spinors(lattice, sites, &random_words(lattice.extents(), Spinors::WORDS, seed, Numbers::Gaussian))
}

#[test]
fn fields_of_different_lattices_or_sites_are_refused() {
    let extents = extents("4.4.4.4");
    let [lattice, other] = [16, 32].map(|width| lattice::<f32>(extents, width, Checkerboard::RedBlack));
    let [full, even, odd] = ALL_SITES.map(|sites| gaussian::<f32>(lattice, sites, 1));
    let wider = gaussian::<f32>(other, Sites::Full, 1);
    assert_eq!(
        blas::axpy_norm(1.0, &even, &mut odd.clone(), Sum::Exact).unwrap_err().to_string(),
        "axpy_norm: f32 spinor field on 4.4.4.4, even sites, 16-byte lanes, lane layout 1.1.1.2 does not match \
         f32 spinor field on 4.4.4.4, odd sites, 16-byte lanes, lane layout 1.1.1.2"
    );
    for (x, y) in [(&full, &even), (&even, &odd), (&full, &wider)] {
        assert!(blas::axpy_norm(2.0, x, &mut y.clone(), Sum::Exact).is_err());
        assert!(blas::axpby_norm(2.0, x, 3.0, &mut y.clone(), Sum::Exact).is_err());
    }
}
