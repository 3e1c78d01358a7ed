//! The Laplacian and its even-odd pieces on every backend: the same bits as plain loops (`reference/src/scalar/laplace.rs`), and the identities
//! that make it −Δ + mass². The operator is `src/operator/laplace.rs`, its kernel the body in `reference/src/kernels/laplace.rs`.

use lanefield::backend::opencl::{Count, Tuning};
use lanefield::check::builds;
use lanefield::kernel::{Links, Numbers, TestData};
use lanefield::operator::{Laplace, SchurComplement};
use lanefield::prelude::*;
use lanefield::verify::compare_fields;
use lanefield_reference::layout::{AcceleratorThreads, Checkerboard, Stencil};
use lanefield_reference::links::{DoubledGauge, double};
use lanefield_reference::scalar::ScalarWilson;

use crate::common;
use crate::common::backends::{check_library_kernels, on_every_backend};
use crate::common::fields::{EVEN, ODD, applied, gaussian, lattice, lattice_in, plain_loops, upload};
use crate::common::grid::distance;
use crate::common::models::{TWISTED, image, momentum, plane_wave, random_case};

const COLOURS: usize = ColourVectors::WORDS;
const MASS: f64 = 0.3;

// The same bits as plain loops

check_library_kernels! {
    laplace::laplace_full: twin, linear, covariant;
    laplace::eo_laplace: twin, linear, covariant;
    laplace::oe_laplace: twin, linear, covariant;
}

/// What the bits of laplace_hop depend on, and what they do not.
#[derive(Clone, Copy)]
struct Case {
    extents: [usize; 4],
    lanes: &'static str,
    boundary: &'static str,
    legs: LegOrder,
    vectors: usize,
    links: Links,
    numbers: Numbers,
}

const ORDINARY: Case = Case {
    extents: [4, 4, 4, 6],
    lanes: "64",
    boundary: "1,-1,0,-1",
    legs: LegOrder::DEFAULT,
    vectors: 2,
    links: Links::Hot,
    numbers: Numbers::Ordinary,
};

/// Compares on all the sites that the lattice has, with all link formats that such links have.
fn compare<R: Vectors>(backend: &impl Backend, case: Case) {
    let extents = Extents::new(case.extents).unwrap();
    let lattice = lattice_in(extents, R::COMPLEX, case.lanes.parse().unwrap(), None);
    let has_parities = lattice.checkerboard() == Checkerboard::RedBlack;
    let sites = if has_parities { &[Sites::Full, EVEN, ODD][..] } else { &[Sites::Full] };
    let boundary: BoundaryPhases = case.boundary.parse().unwrap();
    let data = TestData::new(extents.volume() as u64);
    let configuration = data.configuration::<R>(extents, case.links).unwrap();
    let object = ColourVectors::new(case.vectors);
    let psi = data.field::<R, _>(lattice, Sites::Full, object, case.numbers, 0).unwrap().to_site_order();
    for &sites in sites {
        let stencil = backend.stencil(Stencil::new(lattice, sites).unwrap()).unwrap();
        let source = Field::from_site_order(lattice, sites.neighbours(), object, &psi).unwrap();
        let source = backend.upload(source).unwrap();
        for &format in case.links.formats() {
            let plain = ScalarWilson { configuration: &configuration, boundary, format, legs: case.legs };
            let expected = plain.laplace_hop(&psi, case.vectors, sites);
            let expected = Field::from_site_order(lattice, sites, object, &expected).unwrap();
            let links = double(&configuration, lattice, sites, DoubledGauge { format, boundary }).unwrap();
            let links = backend.upload(links).unwrap();
            let mut out = backend.zeros(lattice, sites, object).unwrap();
            backend.laplace_hop(&mut out, &stencil, &links, &source, case.legs).unwrap();
            if let Some(mismatch) = compare_fields(&backend.download(&out).unwrap(), &expected).unwrap() {
                panic!("{}, {format}-real links: {mismatch}", expected.describe());
            }
        }
    }
}

fn hop_is_bitwise_equal_to_plain_loops_in_another_leg_order<B: Backend>(backend: &B) {
    compare::<f32>(backend, Case { legs: "+x-x+t-z-t+z+y-y".parse().unwrap(), ..ORDINARY });
}

/// The comparisons above would be empty if they did not.
fn leg_order_and_link_format_change_bits<B: Backend>(backend: &B) {
    let lattice = lattice::<f64>(Extents::new([4, 4, 4, 4]).unwrap());
    let configuration = Configuration::hot(lattice.extents(), 1);
    let psi = gaussian(lattice.extents(), COLOURS, 2);
    let hop = |links, legs: &str| {
        let hop = HopParameters { links, legs: legs.parse().unwrap(), ..HopParameters::default() };
        let laplace = laplace(backend, &configuration, lattice, hop, 1);
        applied(backend, lattice, [Sites::Full; 2], &psi, |out, psi| laplace.hop(out, psi, Dagger::No).unwrap())
    };
    let usual = hop(LinkFormat::Full, "-t-y-z+t+y+z-x+x");
    assert!(hop(LinkFormat::TwoRows, "-t-y-z+t+y+z-x+x") != usual);
    assert!(hop(LinkFormat::Eight, "-t-y-z+t+y+z-x+x") != usual);
    assert!(hop(LinkFormat::Full, "+x-x+t-z-t+z+y-y") != usual);
}

fn several_colour_vectors_give_the_bits_of_each_alone<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    let several = 6;
    let psi = gaussian(lattice.extents(), several * COLOURS, 3);
    let apply = |components: usize, columns: usize, psi: &[Complex<f64>]| {
        let mut laplace = laplace(backend, &configuration, lattice, hop, components);
        assert_eq!(laplace.object(columns), ColourVectors::new(components * columns));
        applied(backend, lattice, [Sites::Full; 2], psi, |out, psi| {
            laplace.apply(out, psi, Dagger::No).unwrap();
        })
    };
    let together = apply(several, 1, &psi);
    assert!(apply(2, 3, &psi) == together, "three columns of two vectors");
    for k in 0..several {
        assert!(apply(1, 1, &one_of(&psi, several, k)) == one_of(&together, several, k), "vector {k}");
    }
}

#[test]
#[ignore = "test-all: three builds"]
fn work_group_and_vectors_a_work_item_do_not_change_bits() {
    let Some(mut device) = common::backends::opencl() else { return };
    // The last one: two work-items over vectors, and four over outer sites.
    for (threads, rhs_per_work_item, rhs_per_group) in
        [(3, None, None), (8, Count::new(2), None), (8, Count::new(3), Count::new(2))]
    {
        let accelerator_threads = AcceleratorThreads::new(threads).ok();
        device.set_tuning(Tuning { accelerator_threads, rhs_per_work_item, rhs_per_group, ..Tuning::OPEN });
        compare::<f32>(&device, Case { vectors: 6, ..ORDINARY });
    }
}

fn change_no_bit(builds: &[Tuning]) {
    let Some(mut device) = common::backends::opencl() else { return };
    for &build in builds {
        device.set_tuning(build);
        compare::<f32>(&device, Case { vectors: 3, ..ORDINARY });
    }
}

#[test]
fn another_choice_of_layout_and_build_changes_no_bit() {
    change_no_bit(&builds()[..1]);
}

#[test]
#[ignore = "test-all: all builds"]
fn no_choice_of_layout_or_build_changes_a_bit() {
    change_no_bit(&builds());
}

fn the_operator_is_bitwise_equal_to_plain_loops<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let psi = gaussian(configuration.extents(), 2 * COLOURS, 4);
    let plain = plain_loops(&configuration, hop);
    let parameters = LaplaceParameters { mass: MASS, components: 2, hop };
    let found = image::<f64, B, _>(backend, parameters, &configuration, &psi, Dagger::No);
    assert!(found == plain.laplace(&psi, 2, MASS));
}

// Identities, in f64

fn laplace<'b, B: Backend>(
    backend: &'b B,
    configuration: &Configuration,
    lattice: Lattice,
    hop: HopParameters,
    components: usize,
) -> Laplace<'b, B, f64> {
    LaplaceParameters { mass: MASS, components, hop }.full(backend, configuration, lattice).unwrap()
}

/// Vector number `k` of each site of `vectors`.
fn one_of(psi: &[Complex<f64>], vectors: usize, k: usize) -> Vec<Complex<f64>> {
    psi.chunks_exact(COLOURS).skip(k).step_by(vectors).flatten().copied().collect()
}

/// ⟨φ, A χ⟩ = ⟨A φ, χ⟩, and ⟨φ, A φ⟩ ≥ `least` · |φ|².
fn assert_hermitian_and_positive<B: Backend, A: Operator<B, f64, Object = ColourVectors>>(
    operator: &mut A,
    least: f64,
) {
    let (lattice, sites) = (operator.lattice(), operator.sites());
    let [phi, chi] = [13, 17].map(|seed| {
        upload::<f64, ColourVectors, B>(operator.backend(), lattice, sites, &gaussian(lattice.extents(), COLOURS, seed))
    });
    let mut a_chi = operator.zeros().unwrap();
    operator.apply(&mut a_chi, &chi, Dagger::No).unwrap();
    let mut a_phi = operator.zeros().unwrap();
    operator.apply(&mut a_phi, &phi, Dagger::Yes).unwrap();
    let product = |a: &FieldOn<B, f64, ColourVectors>, b: &FieldOn<B, f64, ColourVectors>| {
        operator.backend().inner_product(a, b, Sum::Exact).unwrap()
    };
    let (left, right) = (product(&phi, &a_chi), product(&a_phi, &chi));
    let norm2 = product(&phi, &phi).re;
    let scale = (norm2 * product(&chi, &chi).re).sqrt() * 8.0;
    assert!((left - right).norm() < 1e-14 * scale, "{left} is not {right}");
    assert!(left.norm() > 1e-4 * scale, "{left} shows nothing");
    let expectation = product(&phi, &a_phi);
    assert!(expectation.re > least * norm2, "{expectation} is not above {least} times {norm2}");
    assert!(expectation.im.abs() < 1e-14 * scale, "{expectation} is not real");
}

fn it_is_hermitian_and_positive<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    assert_hermitian_and_positive(&mut laplace(backend, &configuration, lattice, hop, 1), MASS * MASS);
}

fn its_schur_complement_is_hermitian_and_positive<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let parameters = LaplaceParameters { mass: MASS, components: 1, hop };
    let pieces = parameters.even_odd(backend, &configuration, lattice::<f64>(configuration.extents())).unwrap();
    assert_hermitian_and_positive(&mut SchurComplement::new(pieces).unwrap(), MASS * MASS);
}

/// On unit links e^{ipx} has the eigenvalue mass² + Σ_μ (2 − 2 cos p_μ) of p = (2πn + θ)/L.
fn a_plane_wave_on_the_free_field_is_an_eigenvector<B: Backend>(backend: &B) {
    let configuration = Configuration::unit(Extents::new([4, 6, 2, 8]).unwrap());
    let extents = configuration.extents();
    for boundary in ["1,1,1,1", "1,-1,1,-1", TWISTED] {
        let boundary: BoundaryPhases = boundary.parse().unwrap();
        for n in [[0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 3], [3, 4, 1, 6]] {
            let p = momentum(extents, n, boundary);
            let wave = plane_wave(extents, p, COLOURS);
            let eigenvalue = MASS * MASS + p.iter().map(|p| 2.0 - 2.0 * p.cos()).sum::<f64>();
            let expected: Vec<_> = wave.iter().map(|c| c * eigenvalue).collect();
            let hop = HopParameters { boundary, ..HopParameters::default() };
            let parameters = LaplaceParameters { mass: MASS, components: 1, hop };
            let found = image::<f64, B, _>(backend, parameters, &configuration, &wave, Dagger::No);
            // 8.09 − 8 cancels to 0.09.
            let distance = distance(&found, &expected);
            assert!(distance < 1e-13, "momentum {n:?}, boundary {boundary}: {distance:e}");
        }
    }
}

fn fields_that_do_not_belong_together_are_refused<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    let laplace = laplace(backend, &configuration, lattice, hop, 1);
    let field = |sites, vectors| backend.zeros::<f64, _>(lattice, sites, ColourVectors::new(vectors)).unwrap();
    let refusal = |mut out, psi| laplace.hop(&mut out, &psi, Dagger::No).unwrap_err().to_string();
    assert_eq!(
        refusal(field(Sites::Full, 3), field(Sites::Full, 2)),
        "argument in of laplace_hop is an f64 2 colour vectors field on 4.6.2.10, full sites, 32-byte lanes, lane layout 2.1.1.1: \
         expected as many colour vectors a site, in f64, on full sites of the lattice of an f64 3 colour vectors field on \
         4.6.2.10, full sites, 32-byte lanes, lane layout 2.1.1.1"
    );
    assert_eq!(
        refusal(field(EVEN, 1), field(ODD, 1)),
        "a hop's result: even sites does not match a hop prepared for full sites"
    );
    assert!(refusal(field(Sites::Full, 1), field(ODD, 1)).starts_with("argument in of laplace_hop is "));
}

on_every_backend! {
    the_operator_is_bitwise_equal_to_plain_loops;
    in test-all:
    hop_is_bitwise_equal_to_plain_loops_in_another_leg_order,
    leg_order_and_link_format_change_bits,
    several_colour_vectors_give_the_bits_of_each_alone,
    it_is_hermitian_and_positive,
    its_schur_complement_is_hermitian_and_positive,
    a_plane_wave_on_the_free_field_is_an_eigenvector,
    fields_that_do_not_belong_together_are_refused,
}
