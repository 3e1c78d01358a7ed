//! The clover kernels on OpenCL and on the CPU reference: the same bits for every choice that a user has; awkward lattices and hard numbers for the
//! fused ones: `tests/kernels.rs`. Grid's numbers are in `tests/clover_grid.rs`; `reference/tests/clover.rs` compares the CPU reference with plain loops.

use lanefield::backend::opencl::{Accumulators, Count, SiteOrder, Tuning};
use lanefield::check::builds;
use lanefield::kernel::{Links, Numbers, TestData};
use lanefield::prelude::*;
use lanefield::reference::field::{CloverBlocks, ComplexNumber, FieldStrength, Gauge, SiteObject};
use lanefield::reference::kernels::clover_term::CloverCoefficients;
use lanefield::reference::kernels::hop::HopTerm;
use lanefield::reference::layout::{Checkerboard, LaneWidth, Stencil};
use lanefield::reference::links::{DoubledGauge, double, raw};
use lanefield::verify::compare_fields;

use crate::common::backends::Both;
use crate::common::fields::{lattice_in, one_of};

const PARITIES: [Sites; 2] = [Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];

/// A lattice, and what lies on it.
#[derive(Clone, Copy)]
struct Case<'a> {
    extents: [usize; 4],
    nsimd: usize,
    boundary: &'a str,
    links: Links,
    numbers: Numbers,
}

impl Case<'_> {
    fn lattice<R: Vectors>(&self) -> Lattice {
        let lanes = LaneChoice::Width(LaneWidth::new(self.nsimd * 2 * size_of::<R>()).unwrap());
        lattice_in(Extents::new(self.extents).unwrap(), R::COMPLEX, lanes, None)
    }

    fn data(&self) -> TestData {
        TestData::new(self.extents.iter().product::<usize>() as u64)
    }

    fn boundary(&self) -> BoundaryPhases {
        self.boundary.parse().unwrap()
    }

    fn raw_links<R: Vectors>(&self) -> Field<R, Gauge> {
        let lattice = self.lattice::<R>();
        let configuration = self.data().configuration::<R>(lattice.extents(), self.links).unwrap();
        raw(&configuration, lattice, self.boundary()).unwrap()
    }
}

const COEFFICIENTS: CloverCoefficients = CloverCoefficients { diagonal: 4.1, spatial: 0.65, temporal: 0.45 };

/// What a backend makes of raw links: field strength, clover term, inverse and pivots on all sites, and the term of one parity.
type Made<R> = (
    Field<R, FieldStrength>,
    Field<R, CloverBlocks>,
    Field<R, CloverBlocks>,
    Field<R, ComplexNumber>,
    Option<Field<R, CloverBlocks>>,
);

fn make<R: Vectors, B: Backend>(backend: &B, links: &Field<R, Gauge>, parity: Option<Sites>) -> Made<R> {
    let (lattice, full) = (*links.lattice(), Sites::Full);
    let links = backend.upload(links.clone()).unwrap();
    let stencil = backend.stencil(Stencil::new(lattice, full).unwrap()).unwrap();
    let mut strength = backend.zeros(lattice, full, FieldStrength).unwrap();
    backend.field_strength(&mut strength, &stencil, &links).unwrap();
    let mut term = backend.zeros(lattice, full, CloverBlocks).unwrap();
    backend.clover_term(&mut term, &strength, COEFFICIENTS).unwrap();
    let mut inverse = backend.zeros(lattice, full, CloverBlocks).unwrap();
    let mut pivots = backend.zeros(lattice, full, ComplexNumber).unwrap();
    backend.clover_inverse(&mut inverse, &mut pivots, &term).unwrap();
    let picked = parity.map(|sites| {
        let mut picked = backend.zeros(lattice, sites, CloverBlocks).unwrap();
        backend.pick_checkerboard(&mut picked, &term).unwrap();
        backend.download(&picked).unwrap()
    });
    let [term, inverse] = [&term, &inverse].map(|field| backend.download(field).unwrap());
    (backend.download(&strength).unwrap(), term, inverse, backend.download(&pivots).unwrap(), picked)
}

fn assert_same<R: Vectors, K: SiteObject>(found: &Field<R, K>, expected: &Field<R, K>, what: &str) {
    if let Some(mismatch) = compare_fields(found, expected).unwrap() {
        panic!("{what}, {}: {mismatch}", expected.describe());
    }
}

/// Which of the two kernels that go on from a hop.
#[derive(Clone, Copy, Debug)]
enum Fused {
    Eo,
    Oe,
}

impl Fused {
    const BOTH: [Self; 2] = [Self::Eo, Self::Oe];
}

/// The inputs of a kernel that goes on from a hop, on the host.
struct Inputs<R> {
    stencil: Stencil,
    links: Field<R, DoubledGauge>,
    blocks: Field<R, CloverBlocks>,
    source: Field<R, Spinors>,
    chi: Field<R, Spinors>,
}

impl<R: Vectors> Inputs<R> {
    fn new(case: Case<'_>, sites: Sites, format: LinkFormat, spinors: usize) -> Self {
        let (lattice, data) = (case.lattice::<R>(), case.data());
        let configuration = data.configuration::<R>(lattice.extents(), case.links).unwrap();
        let kind = DoubledGauge { format, boundary: case.boundary() };
        let spinors = Spinors::new(spinors);
        Self {
            stencil: Stencil::new(lattice, sites).unwrap(),
            links: double(&configuration, lattice, sites, kind).unwrap(),
            blocks: data.field(lattice, sites, CloverBlocks, case.numbers, 2).unwrap(),
            source: data.field(lattice, sites.neighbours(), spinors, case.numbers, 0).unwrap(),
            chi: data.field(lattice, sites, spinors, case.numbers, 1).unwrap(),
        }
    }

    /// In one launch.
    fn fused<B: Backend>(&self, backend: &B, fused: Fused, legs: LegOrder, dagger: Dagger) -> Field<R, Spinors> {
        self.run(backend, fused, (legs, dagger), true)
    }

    /// The same in two or three.
    fn in_steps<B: Backend>(&self, backend: &B, fused: Fused, legs: LegOrder, dagger: Dagger) -> Field<R, Spinors> {
        self.run(backend, fused, (legs, dagger), false)
    }

    fn run(&self, backend: &impl Backend, fused: Fused, how: (LegOrder, Dagger), at_once: bool) -> Field<R, Spinors> {
        let (legs, dagger) = how;
        let stencil = backend.stencil(self.stencil.clone()).unwrap();
        let links = backend.upload(self.links.clone()).unwrap();
        let blocks = backend.upload(self.blocks.clone()).unwrap();
        let [source, chi] = [&self.source, &self.chi].map(|field| backend.upload(field.clone()).unwrap());
        let zeros = || backend.zeros(*self.chi.lattice(), self.chi.sites(), self.chi.kind()).unwrap();
        let (mut hop, mut out) = (zeros(), zeros());
        let term = HopTerm { stencil: &stencil, links: &links, source: &source, legs, dagger };
        if !at_once {
            backend.hop(&mut hop, &stencil, &links, &source, legs, dagger).unwrap();
        }
        match (fused, at_once) {
            (Fused::Eo, true) => backend.eo_clover(&mut out, &blocks, term).unwrap(),
            (Fused::Oe, true) => backend.oe_clover(&mut out, &blocks, &chi, term).unwrap(),
            (Fused::Eo, false) => backend.clover_apply(&mut out, &blocks, &hop).unwrap(),
            (Fused::Oe, false) => {
                backend.clover_apply(&mut out, &blocks, &chi).unwrap();
                backend.axpy(-1.0, &hop, &mut out).unwrap();
            }
        }
        backend.download(&out).unwrap()
    }
}

const ORDINARY: Case<'static> =
    Case { extents: [4, 4, 4, 6], nsimd: 8, boundary: "1,1,1,-1", links: Links::Hot, numbers: Numbers::Ordinary };

impl Both {
    /// Chooses these, and what they leave open as before.
    fn choose(&mut self, tuning: Tuning) {
        self.device.set_tuning(tuning.or(self.device.tuning()));
    }

    /// Compares what both make of raw links.
    fn compare_terms<R: Vectors>(&self, case: Case<'_>) {
        let links = case.raw_links::<R>();
        let parities = if links.lattice().checkerboard() == Checkerboard::RedBlack {
            PARITIES.map(Some).to_vec()
        } else {
            vec![None]
        };
        for parity in parities {
            let expected = make(&self.cpu, &links, parity);
            let found = make(&self.device, &links, parity);
            assert_same(&found.0, &expected.0, "field strength");
            assert_same(&found.1, &expected.1, "clover term");
            assert_same(&found.2, &expected.2, "inverse");
            assert_same(&found.3, &expected.3, "pivots");
            if let (Some(found), Some(expected)) = (found.4, expected.4) {
                assert_same(&found, &expected, "one parity");
            }
        }
    }

    /// Compares both fused kernels in one form with each other.
    fn compare_products<R: Vectors>(&self, case: Case<'_>, sites: Sites, format: LinkFormat, legs: LegOrder) {
        let inputs = Inputs::<R>::new(case, sites, format, 1);
        for dagger in Dagger::BOTH {
            for fused in Fused::BOTH {
                let expected = inputs.fused(&self.cpu, fused, legs, dagger);
                let found = inputs.fused(&self.device, fused, legs, dagger);
                assert_same(&found, &expected, &format!("{fused:?}, {format}-real links, {dagger:?}"));
            }
        }
    }
}

/// Extents, lanes that only just divide them, and boundaries.
const AWKWARD: [([usize; 4], usize, &str); 5] = [
    ([2, 2, 2, 2], 1, "1,1,1,-1"),
    ([6, 4, 2, 10], 2, "-1,0,1,-1"),
    ([2, 6, 4, 4], 4, "1,-1,1,0"),
    ([4, 4, 4, 6], 8, "1,1,0,0"),
    ([4, 4, 8, 8], 16, "1,1,1,1"),
];

#[test]
#[ignore = "test-all: forty builds"]
fn field_strength_term_and_inverse_are_bitwise_equal_to_reference() {
    let Some(mut backends) = Both::open(8) else { return };
    // Meant for hops: it must not leave parts out here.
    backends.choose(Tuning { rhs_per_work_item: Count::new(2), ..Tuning::OPEN });
    for (extents, nsimd, boundary) in AWKWARD.into_iter().chain([([3, 5, 1, 7], 1, "1,0,0,1")]) {
        backends.compare_terms::<f32>(Case { extents, nsimd, boundary, ..ORDINARY });
        backends.compare_terms::<f64>(Case { extents, nsimd, boundary, ..ORDINARY });
    }
}

#[test]
#[ignore = "test-all: builds that tests/kernels.rs has not"]
fn field_strength_term_and_inverse_are_bitwise_equal_to_reference_on_numbers_that_are_hard() {
    let Some(backends) = Both::open(8) else { return };
    for numbers in Numbers::ALL {
        let case = Case { links: Links::Arbitrary(numbers), boundary: "1,0,1,1", ..ORDINARY };
        backends.compare_terms::<f32>(case);
        backends.compare_terms::<f64>(case);
    }
}

#[test]
#[ignore = "test-all: builds for another order"]
fn fused_kernels_are_bitwise_equal_to_reference_for_another_leg_order_and_work_group() {
    let Some(backends) = Both::open(3) else { return };
    let legs = "+x-x+t-z-t+z+y-y".parse().unwrap();
    backends.compare_products::<f32>(ORDINARY, PARITIES[0], LinkFormat::Full, legs);
}

fn fused_is_in_steps<R: Vectors, B: Backend>(backend: &B, numbers: Numbers) {
    let inputs = Inputs::<R>::new(Case { numbers, ..ORDINARY }, PARITIES[1], LinkFormat::Full, 1);
    for dagger in Dagger::BOTH {
        for fused in Fused::BOTH {
            let [one, steps] =
                [Inputs::fused, Inputs::in_steps].map(|run| run(&inputs, backend, fused, LegOrder::DEFAULT, dagger));
            assert_same(&one, &steps, &format!("{fused:?}, {dagger:?}, {}", backend.describe()));
        }
    }
}

#[test]
fn fused_kernels_have_the_bits_of_their_steps() {
    for numbers in Numbers::ALL {
        fused_is_in_steps::<f32, _>(&Cpu::new(None).unwrap(), numbers);
        fused_is_in_steps::<f64, _>(&Cpu::new(None).unwrap(), numbers);
    }
}

#[test]
#[ignore = "test-all: runs on the CPU"]
fn fused_kernels_have_the_bits_of_their_steps_on_opencl() {
    let Some(Both { device, .. }) = Both::open(8) else { return };
    fused_is_in_steps::<f32, _>(&device, Numbers::Ordinary);
    fused_is_in_steps::<f64, _>(&device, Numbers::Ordinary);
}

fn change_no_bit(builds: &[Tuning]) {
    let Some(mut backends) = Both::open(8) else { return };
    let usual = backends.device.tuning();
    for build in builds {
        backends.device.set_tuning(build.or(usual));
        backends.compare_products::<f32>(ORDINARY, PARITIES[0], LinkFormat::Full, LegOrder::DEFAULT);
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
    let Some(mut backends) = Both::open(8) else { return };
    backends.choose(builds()[2]);
    backends.compare_terms::<f32>(ORDINARY);
    backends.compare_products::<f64>(ORDINARY, PARITIES[0], LinkFormat::TwoRows, LegOrder::DEFAULT);
}

#[test]
#[ignore = "test-all: another build"]
fn terms_do_not_depend_on_the_order_of_sites_in_memory() {
    let Some(mut backends) = Both::open(8) else { return };
    backends.choose(Tuning { site_order: Some(SiteOrder::Subdomains([2, 1, 2, 3])), ..Tuning::OPEN });
    backends.compare_terms::<f32>(ORDINARY);
}

#[test]
#[ignore = "test-all: two builds of each kernel"]
fn accumulators_in_local_memory_change_no_bit() {
    let Some(mut backends) = Both::open(8) else { return };
    backends.choose(Tuning { accumulators: Some(Accumulators::LocalMemory), ..Tuning::OPEN });
    backends.compare_products::<f32>(ORDINARY, PARITIES[0], LinkFormat::Full, LegOrder::DEFAULT);
    backends.compare_products::<f64>(ORDINARY, PARITIES[1], LinkFormat::TwoRows, LegOrder::DEFAULT);
}

fn products_with_several_are_those_with_each(on_opencl: bool) {
    let legs = LegOrder::DEFAULT;
    let cpu = Cpu::new(None).unwrap();
    let inputs = Inputs::<f32>::new(ORDINARY, PARITIES[0], LinkFormat::TwoRows, 4);
    for (fused, dagger) in [(Fused::Eo, Dagger::No), (Fused::Oe, Dagger::Yes)] {
        let together = inputs.fused(&cpu, fused, legs, dagger);
        for part in 0..4 {
            let alone = Inputs {
                stencil: inputs.stencil.clone(),
                links: inputs.links.clone(),
                blocks: inputs.blocks.clone(),
                source: one_of(&inputs.source, part),
                chi: one_of(&inputs.chi, part),
            };
            assert_same(&one_of(&together, part), &alone.fused(&cpu, fused, legs, dagger), &format!("part {part}"));
        }
        assert_same(&together, &inputs.in_steps(&cpu, fused, legs, dagger), "in steps");
        let Some(mut backends) = on_opencl.then(|| Both::open(6)).flatten() else { continue };
        let forms =
            [(None, Accumulators::Registers), (Some(2), Accumulators::Registers), (Some(2), Accumulators::LocalMemory)];
        for (at_once, accumulators) in forms {
            let (rhs_per_work_item, accumulators) = (at_once.and_then(Count::new), Some(accumulators));
            backends.choose(Tuning { rhs_per_work_item, accumulators, ..Tuning::OPEN });
            let found = inputs.fused(&backends.device, fused, legs, dagger);
            assert_same(&found, &together, &format!("{fused:?}, {at_once:?} at once, {accumulators:?}"));
        }
        assert_same(&inputs.in_steps(&backends.device, fused, legs, dagger), &together, "in steps on the device");
    }
}

#[test]
fn products_with_several_spinors_are_those_with_each() {
    products_with_several_are_those_with_each(false);
}

#[test]
#[ignore = "test-all: builds for several spinors a site"]
fn products_with_several_spinors_are_those_with_each_on_opencl() {
    products_with_several_are_those_with_each(true);
}

#[test]
fn fields_that_do_not_belong_together_are_refused() {
    fn refused<B: Backend>(backend: &B) {
        let lattice = ORDINARY.lattice::<f32>();
        let [even, odd] = PARITIES;
        let blocks = |sites| backend.zeros::<f32, _>(lattice, sites, CloverBlocks).unwrap();
        let spinors = |sites, count| backend.zeros::<f32, _>(lattice, sites, Spinors::new(count)).unwrap();
        assert!(backend.clover_apply(&mut spinors(even, 1), &blocks(even), &spinors(even, 1)).is_ok());
        let other = backend.clover_apply(&mut spinors(even, 1), &blocks(odd), &spinors(even, 1)).unwrap_err();
        assert!(
            other.to_string().starts_with("argument blocks of clover_apply is an f32 2 clover block pair field on"),
            "{other}"
        );
        assert!(backend.clover_apply(&mut spinors(even, 2), &blocks(even), &spinors(even, 1)).is_err());
        assert!(backend.pick_checkerboard(&mut blocks(odd), &blocks(Sites::Full)).is_ok());
        assert!(backend.pick_checkerboard(&mut blocks(odd), &blocks(even)).is_err());
        let full = backend.pick_checkerboard(&mut blocks(Sites::Full), &blocks(Sites::Full)).unwrap_err();
        assert!(full.to_string().ends_with("does not match a field of one parity"), "{full}");
        let mut strength = backend.zeros::<f32, _>(lattice, even, FieldStrength).unwrap();
        let stencil = backend.stencil(Stencil::new(lattice, even).unwrap()).unwrap();
        let links = backend.upload(ORDINARY.raw_links::<f32>()).unwrap();
        assert!(backend.field_strength(&mut strength, &stencil, &links).is_err());
    }
    refused(&Cpu::new(None).unwrap());
    let Some(Both { device, .. }) = Both::open(8) else { return };
    refused(&device);
}
