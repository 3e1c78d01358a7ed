//! The clover kernels in wide lanes: the same bits as plain loops over coordinates (`scalar/clover.rs`), whatever the lattice, the lane width
//! and the number of threads.

use lanefield_reference::field::{CloverBlocks, ComplexNumber, FieldStrength, SiteObject};
use lanefield_reference::gauge::SITE_WORDS;
use lanefield_reference::kernels::clover::{clover_apply, eo_clover, oe_clover};
use lanefield_reference::kernels::clover_term::{
    CloverCoefficients, clover_inverse, clover_term, field_strength, pick_checkerboard,
};
use lanefield_reference::kernels::hop::{HopTerm, HostHop};
use lanefield_reference::layout::{Checkerboard, Stencil};
use lanefield_reference::links::{DoubledGauge, double, raw};
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;
use lanefield_reference::scalar::{self, CLOVER_WORDS, SPINOR_WORDS, ScalarClover, ScalarWilson};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common;
use crate::common::{ALL_SITES, Numbers, any_boundary, any_checkerboard, any_extents, any_numbers};
use crate::common::{every_width, extents, first_difference, in_pools, lattice, masked, random_words, spinors};

fn operator(configuration: &Configuration, boundary: BoundaryPhases, format: LinkFormat) -> ScalarClover<'_> {
    let wilson = ScalarWilson { configuration, boundary, format, legs: LegOrder::DEFAULT };
    ScalarClover { wilson, mass: 0.1, csw_r: 1.3, csw_t: 0.7 }
}

fn coefficients(operator: &ScalarClover) -> CloverCoefficients {
    CloverCoefficients { diagonal: 4.0 + operator.mass, spatial: operator.csw_r / 2.0, temporal: operator.csw_t / 2.0 }
}

/// Field strength, clover term, inverse and pivots in lanes, in site order.
fn terms_in_lanes<R: Vectors>(operator: &ScalarClover, lattice: Lattice) -> [Vec<Complex<R>>; 4] {
    let ScalarWilson { configuration, boundary, .. } = operator.wilson;
    let stencil = Stencil::new(lattice, Sites::Full).unwrap();
    let mut strength = Field::zeros(lattice, Sites::Full, FieldStrength).unwrap();
    field_strength(&mut strength, &stencil, &raw::<R>(configuration, lattice, boundary).unwrap()).unwrap();
    let [mut term, mut inverse] = [(); 2].map(|()| Field::zeros(lattice, Sites::Full, CloverBlocks).unwrap());
    let mut pivots = Field::zeros(lattice, Sites::Full, ComplexNumber).unwrap();
    clover_term(&mut term, &strength, coefficients(operator)).unwrap();
    clover_inverse(&mut inverse, &mut pivots, &term).unwrap();
    [strength.to_site_order(), term.to_site_order(), inverse.to_site_order(), pivots.to_site_order()]
}

fn terms_in_plain_loops<R: Real>(operator: &ScalarClover) -> [Vec<Complex<R>>; 4] {
    let strength = operator.field_strength();
    let term = operator.term(&strength);
    let (inverse, pivots) = scalar::clover_inverse(&term);
    [strength, term, inverse, pivots]
}

/// The links of any numbers: the arithmetic does not care.
fn configuration(extents: Extents, seed: u64, numbers: Numbers) -> Configuration {
    match numbers {
        Numbers::Gaussian => Configuration::hot(extents, seed),
        _ => Configuration::new(extents, random_words(extents, SITE_WORDS, seed + 1, numbers)).unwrap(),
    }
}

fn terms_are_the_same_at_every_width<R: Vectors>(
    operator: &ScalarClover,
    checkerboard: Checkerboard,
) -> Result<(), TestCaseError> {
    let expected = terms_in_plain_loops::<R>(operator);
    for lattice in every_width::<R>(operator.wilson.configuration.extents(), checkerboard) {
        let found = terms_in_lanes::<R>(operator, lattice);
        for (what, (found, expected)) in
            ["strength", "term", "inverse", "pivots"].iter().zip(found.iter().zip(&expected))
        {
            let difference = first_difference(found, expected);
            prop_assert!(difference.is_none(), "{what}, {lattice:?}: {difference:?}");
        }
    }
    Ok(())
}

/// Blocks and spinors of numbers of one kind, in site order.
struct Data<R> {
    blocks: Vec<Complex<R>>,
    psi: Vec<Complex<R>>,
    chi: Vec<Complex<R>>,
}

impl<R: Real> Data<R> {
    fn new(extents: Extents, seed: u64, numbers: Numbers) -> Self {
        Self {
            blocks: random_words(extents, CLOVER_WORDS, seed, numbers),
            psi: random_words(extents, SPINOR_WORDS, seed + 1, numbers),
            chi: random_words(extents, SPINOR_WORDS, seed + 2, numbers),
        }
    }
}

/// Blocks times χ, blocks times the hop of ψ, and blocks times χ minus the hop, at `sites`, in lanes.
fn products_in_lanes<R: Vectors>(
    operator: &ScalarClover,
    lattice: Lattice,
    sites: Sites,
    dagger: Dagger,
    data: &Data<R>,
) -> [Vec<Complex<R>>; 3] {
    let ScalarWilson { configuration, boundary, format, legs } = operator.wilson;
    let stencil = Stencil::new(lattice, sites).unwrap();
    let links = double::<R>(configuration, lattice, sites, DoubledGauge { format, boundary }).unwrap();
    let blocks = Field::from_site_order(lattice, sites, CloverBlocks, &data.blocks).unwrap();
    let (source, chi) = (spinors(lattice, sites.neighbours(), &data.psi), spinors(lattice, sites, &data.chi));
    let hop: HostHop<'_, R> = HopTerm { stencil: &stencil, links: &links, source: &source, legs, dagger };
    let [mut product, mut eo, mut oe] = [(); 3].map(|()| Field::zeros(lattice, sites, Spinors::ONE).unwrap());
    clover_apply(&mut product, &blocks, &chi).unwrap();
    eo_clover(&mut eo, &blocks, hop).unwrap();
    oe_clover(&mut oe, &blocks, &chi, hop).unwrap();
    [product, eo, oe].map(|field| field.to_site_order())
}

fn products_in_plain_loops<R: Real>(
    operator: &ScalarClover,
    sites: Sites,
    dagger: Dagger,
    data: &Data<R>,
) -> [Vec<Complex<R>>; 3] {
    let extents = operator.wilson.configuration.extents();
    let hop = operator.wilson.hop(&data.psi, sites, dagger);
    let product = scalar::clover_apply(&data.blocks, &data.chi);
    let mut oe = product.clone();
    scalar::axpy(-1.0, &hop, &mut oe);
    let eo = scalar::clover_apply(&data.blocks, &hop);
    [product, eo, oe].map(|field| masked(extents, sites, SPINOR_WORDS, &field))
}

fn products_are_the_same_at_every_width<R: Vectors>(
    operator: &ScalarClover,
    checkerboard: Checkerboard,
    dagger: Dagger,
    data: &Data<R>,
) -> Result<(), TestCaseError> {
    let some_sites = if checkerboard == Checkerboard::RedBlack { &ALL_SITES[..] } else { &ALL_SITES[..1] };
    for &sites in some_sites {
        let expected = products_in_plain_loops(operator, sites, dagger, data);
        for lattice in every_width::<R>(operator.wilson.configuration.extents(), checkerboard) {
            let found = products_in_lanes(operator, lattice, sites, dagger, data);
            for (what, (found, expected)) in ["apply", "eo", "oe"].iter().zip(found.iter().zip(&expected)) {
                let difference = first_difference(found, expected);
                prop_assert!(difference.is_none(), "{what}, {lattice:?}, {sites} sites: {difference:?}");
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(common::cases(60))]

    #[test]
    fn terms_are_bitwise_equal_to_plain_loops(
        (checkerboard, extents) in any_checkerboard().prop_flat_map(|c| (Just(c), any_extents(c, 300))),
        seed: u32,
        numbers in any_numbers(),
        boundary in any_boundary(),
        double_precision: bool,
    ) {
        let configuration = configuration(extents, seed.into(), numbers);
        let operator = operator(&configuration, boundary, LinkFormat::Full);
        match double_precision {
            true => terms_are_the_same_at_every_width::<f64>(&operator, checkerboard)?,
            false => terms_are_the_same_at_every_width::<f32>(&operator, checkerboard)?,
        }
    }

    #[test]
    fn products_are_bitwise_equal_to_plain_loops(
        (checkerboard, extents) in any_checkerboard().prop_flat_map(|c| (Just(c), any_extents(c, 600))),
        seed: u32,
        numbers in any_numbers(),
        boundary in any_boundary(),
        format in select(LinkFormat::ALL.to_vec()),
        dagger in select(Dagger::BOTH.to_vec()),
        double_precision: bool,
    ) {
        let configuration = Configuration::hot(extents, seed.into());
        let operator = operator(&configuration, boundary, format);
        if double_precision {
            let data = Data::<f64>::new(extents, seed.into(), numbers);
            products_are_the_same_at_every_width(&operator, checkerboard, dagger, &data)?;
        } else {
            let data = Data::<f32>::new(extents, seed.into(), numbers);
            products_are_the_same_at_every_width(&operator, checkerboard, dagger, &data)?;
        }
    }
}

#[test]
fn terms_and_products_do_not_depend_on_the_number_of_threads() {
    let extents = extents("6.4.4.10");
    let configuration = Configuration::hot(extents, 3);
    let operator = operator(&configuration, BoundaryPhases::ANTIPERIODIC_IN_TIME, LinkFormat::Full);
    let lattice = lattice::<f32>(extents, 32, Checkerboard::RedBlack);
    let data = Data::<f32>::new(extents, 4, Numbers::Gaussian);
    let [one, two, five] = in_pools(|| {
        let mut all = terms_in_lanes::<f32>(&operator, lattice).concat();
        all.extend(products_in_lanes(&operator, lattice, ALL_SITES[1], Dagger::No, &data).concat());
        all
    });
    assert_eq!(first_difference(&one, &two), None);
    assert_eq!(first_difference(&one, &five), None);
}

#[test]
fn picking_both_parities_takes_every_site_once() {
    let extents = extents("4.6.2.8");
    let values = random_words::<f32>(extents, CLOVER_WORDS, 6, Numbers::Gaussian);
    for lattice in every_width::<f32>(extents, Checkerboard::RedBlack) {
        let full = Field::from_site_order(lattice, Sites::Full, CloverBlocks, &values).unwrap();
        for sites in &ALL_SITES[1..] {
            let mut picked = Field::zeros(lattice, *sites, CloverBlocks).unwrap();
            pick_checkerboard(&mut picked, &full).unwrap();
            assert_eq!(picked.to_site_order(), masked(extents, *sites, CLOVER_WORDS, &values));
        }
    }
}

#[test]
fn blocks_of_a_term_have_the_words_of_grid() {
    // The strict upper triangle of a 6×6 matrix, row by row.
    let mut next = 0;
    for i in 0..6 {
        for j in i + 1..6 {
            assert_eq!(CloverBlocks::upper(i, j), next);
            next += 1;
        }
    }
    assert_eq!((next, CloverBlocks.words(), CloverBlocks.parts()), (15, 36, 2));
}

#[test]
fn inverse_of_a_block_that_a_reader_can_invert_is_exact() {
    // [[2, i], [−i, 1]] has determinant 1 and the inverse [[1, −i], [i, 2]]; d = (2, 1/2). The other rows are the diagonal 4.
    let mut block = vec![Complex::new(0.0f64, 0.0); CLOVER_WORDS];
    block[18] = Complex::new(4.0, 4.0);
    block[19] = Complex::new(4.0, 4.0);
    block[20] = Complex::new(4.0, 4.0);
    block[0] = Complex::new(2.0, 1.0);
    block[1] = Complex::new(4.0, 4.0);
    block[2] = Complex::new(4.0, 4.0);
    block[3] = Complex::new(0.0, 1.0);
    let (inverse, pivots) = scalar::clover_inverse(&block);
    assert_eq!(pivots, [Complex::new(0.5, 4.0)]);
    let mut expected = vec![Complex::new(0.0, 0.0); CLOVER_WORDS];
    expected[0] = Complex::new(1.0, 2.0);
    expected[1] = Complex::new(0.25, 0.25);
    expected[2] = Complex::new(0.25, 0.25);
    expected[3] = Complex::new(0.0, -1.0);
    expected[18..21].fill(Complex::new(0.25, 0.25));
    assert_eq!(inverse, expected);
}

#[test]
fn schur_complement_of_plain_loops_is_the_odd_part_of_m_where_the_even_part_is_eliminated() {
    // With ψ_e = −Mee⁻¹ Meo ψ_o, (M ψ)_e = 0 and (M ψ)_o = Mpc ψ_o.
    let extents = extents("4.2.2.4");
    let configuration = Configuration::hot(extents, 1);
    let operator = operator(&configuration, BoundaryPhases::ANTIPERIODIC_IN_TIME, LinkFormat::Full);
    let [_, even, odd] = ALL_SITES;
    let (inverse, _) = scalar::clover_inverse(&operator.term(&operator.field_strength::<f64>()));
    for dagger in Dagger::BOTH {
        let source = random_words::<f64>(extents, SPINOR_WORDS, 2, Numbers::Gaussian);
        let psi_odd = masked(extents, odd, SPINOR_WORDS, &source);
        let eliminated = scalar::clover_apply(&inverse, &operator.wilson.hop(&psi_odd, even, dagger));
        let eliminated = masked(extents, even, SPINOR_WORDS, &eliminated);
        let psi: Vec<_> = psi_odd.iter().zip(&eliminated).map(|(odd, even)| odd - even).collect();
        let (whole, complement) = (operator.m(&psi, dagger), operator.mpc(&source, dagger));
        let difference: Vec<_> = whole.iter().zip(&complement).map(|(a, b)| a - b).collect();
        let relative = scalar::norm2(SPINOR_WORDS, &difference) / scalar::norm2(SPINOR_WORDS, &complement);
        assert!(relative.sqrt() < 1e-14, "{relative:e}");
    }
}
