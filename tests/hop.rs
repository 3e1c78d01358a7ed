//! The Wilson hop on OpenCL and on the CPU reference: the same bits for every choice that a user has. Awkward lattices, lane widths and hard numbers:
//! `tests/kernels.rs`; `lanefield verify` does the same at random, and at length.

use lanefield::backend::opencl::{
    AccessWidth, Count, DeviceError, DeviceTable, GridStride, LaneForm, LinkSharing, Mapping, Neighbours, SiteOrder,
    Traversal, Tuning,
};
use lanefield::check::builds;
use lanefield::kernel::{Links, Numbers, TestData};
use lanefield::prelude::*;
use lanefield::reference::half::Half;
use lanefield::reference::layout::{AcceleratorThreads, Stencil};
use lanefield::reference::links::{DoubledGauge, double};
use lanefield::reference::real::Real as _;
use lanefield::verify::compare_fields;

use crate::common::backends::Both;
use crate::common::fields::one_of;

impl Both {
    /// Compares on all sites and on each parity, of eight or four lanes.
    fn compare<R: Vectors>(&self, extents: [usize; 4], format: LinkFormat, boundary: &str, legs: LegOrder) {
        let Self { cpu, device } = self;
        let extents = Extents::new(extents).unwrap();
        let lattice = Lattice::new(extents, R::COMPLEX, LatticeOptions::default()).unwrap();
        let numbers = TestData::new(extents.volume() as u64);
        let configuration = numbers.configuration::<R>(extents, Links::Hot).unwrap();
        let kind = DoubledGauge { format, boundary: boundary.parse().unwrap() };
        for sites in [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)] {
            let source = numbers.spinor::<R>(lattice, sites.neighbours(), Numbers::Ordinary, 0).unwrap();
            let stencil = Stencil::new(lattice, sites).unwrap();
            let links: Field<R, DoubledGauge> = double(&configuration, lattice, sites, kind).unwrap();
            for dagger in Dagger::BOTH {
                let expected = hop_on(cpu, &stencil, &links, &source, legs, dagger);
                let found = hop_on(device, &stencil, &links, &source, legs, dagger);
                if let Some(mismatch) = compare_fields(&found, &expected).unwrap() {
                    panic!("{}, {format}-real links, {dagger:?}: {mismatch}", expected.describe());
                }
            }
        }
    }
}

/// The hop of as many spinors as the source has.
fn hop_on<R: Vectors, B: Backend>(
    backend: &B,
    stencil: &Stencil,
    links: &Field<R, DoubledGauge>,
    source: &Field<R, Spinors>,
    legs: LegOrder,
    dagger: Dagger,
) -> Field<R, Spinors> {
    let mut out = backend.zeros(*stencil.lattice(), stencil.sites(), source.kind()).unwrap();
    let (links, source) = (backend.upload(links.clone()).unwrap(), backend.upload(source.clone()).unwrap());
    backend.hop(&mut out, &backend.stencil(stencil.clone()).unwrap(), &links, &source, legs, dagger).unwrap();
    backend.download(&out).unwrap()
}

#[test]
fn hop_is_bitwise_equal_to_reference_for_another_leg_order_and_work_group() {
    let Some(backends) = Both::open(3) else { return };
    let legs: LegOrder = "+x-x+t-z-t+z+y-y".parse().unwrap();
    backends.compare::<f32>([4, 4, 4, 6], LinkFormat::TwoRows, "1,1,1,-1", legs);
}

fn change_no_bit(builds: &[Tuning]) {
    let Some(mut backends) = Both::open(6) else { return };
    let legs = LegOrder::DEFAULT;
    let usual = backends.device.tuning();
    // The formats take turns: each takes a build.
    let formats = LinkFormat::ALL.into_iter().cycle();
    for ((build, of_f32), of_half) in builds.iter().zip(formats.clone()).zip(formats.skip(1)) {
        backends.device.set_tuning(build.or(usual));
        backends.compare::<f32>([4, 4, 4, 6], of_f32, "1,0,1,-1", legs);
        backends.compare::<Half>([4, 4, 4, 6], of_half, "1,0,1,-1", legs);
    }
    backends.compare::<f64>([2, 6, 4, 4], LinkFormat::TwoRows, "1,1,1,-1", legs);
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

/// A hop on a device, to be launched again and again.
struct Held {
    stencil: DeviceTable,
    links: FieldOn<OpenCl, f32, DoubledGauge>,
    source: FieldOn<OpenCl, f32, Spinors>,
}

impl Held {
    fn new(
        device: &OpenCl,
        (stencil, links, source): &(Stencil, Field<f32, DoubledGauge>, Field<f32, Spinors>),
    ) -> Self {
        Self {
            stencil: device.stencil(stencil.clone()).unwrap(),
            links: device.upload(links.clone()).unwrap(),
            source: device.upload(source.clone()).unwrap(),
        }
    }

    fn zeros(&self, device: &OpenCl) -> FieldOn<OpenCl, f32, Spinors> {
        device.zeros(*self.source.lattice(), Sites::Full, Spinors::ONE).unwrap()
    }
}

/// What a hop of one spinor takes, and gives.
type Inputs = (Stencil, Field<f32, DoubledGauge>, Field<f32, Spinors>);

fn small_hop(cpu: &Cpu) -> (Inputs, Field<f32, Spinors>) {
    let extents = Extents::new([4, 4, 4, 4]).unwrap();
    let lattice = Lattice::new(extents, f32::COMPLEX, LatticeOptions::default()).unwrap();
    let data = TestData::new(1);
    let configuration = data.configuration::<f32>(extents, Links::Hot).unwrap();
    let kind = DoubledGauge { format: LinkFormat::Full, boundary: BoundaryPhases::PERIODIC };
    let links = double(&configuration, lattice, Sites::Full, kind).unwrap();
    let source = data.spinor::<f32>(lattice, Sites::Full, Numbers::Ordinary, 0).unwrap();
    let stencil = Stencil::new(lattice, Sites::Full).unwrap();
    let expected = hop_on(cpu, &stencil, &links, &source, LegOrder::DEFAULT, Dagger::No);
    ((stencil, links, source), expected)
}

#[test]
fn fields_keep_their_layout_when_another_is_chosen_and_are_not_mixed_with_new_ones() {
    let Some(Both { cpu, mut device }) = Both::open(8) else { return };
    let (inputs, expected) = small_hop(&cpu);
    let word =
        Tuning { access: Some(AccessWidth::Word), site_order: Some(SiteOrder::Lexicographic), ..device.tuning() };
    let sixteen = Tuning { access: Some(AccessWidth::Sixteen), ..word };
    let subdomains = Tuning { site_order: Some(SiteOrder::Subdomains([2, 2, 1, 1])), ..word };
    device.set_tuning(word);
    let old = Held::new(&device, &inputs);
    let mut of_old = old.zeros(&device);
    let layout = old.source.any().storage().layout();
    let (legs, dagger) = (LegOrder::DEFAULT, Dagger::No);
    for other in [sixteen, subdomains] {
        device.set_tuning(other);
        assert_ne!(device.layout(), layout);
        assert_eq!(old.source.any().storage().layout(), layout);
        // Old fields together.
        device.clear(&mut of_old).unwrap();
        device.hop(&mut of_old, &old.stencil, &old.links, &old.source, legs, dagger).unwrap();
        assert_eq!(compare_fields(&device.download(&of_old).unwrap(), &expected).unwrap(), None);
        assert_eq!(compare_fields(&device.download(&old.source).unwrap(), &inputs.2).unwrap(), None);
        // New ones together.
        let new = Held::new(&device, &inputs);
        let mut of_new = new.zeros(&device);
        assert_eq!(new.source.any().storage().layout(), device.layout());
        device.hop(&mut of_new, &new.stencil, &new.links, &new.source, legs, dagger).unwrap();
        assert_eq!(compare_fields(&device.download(&of_new).unwrap(), &expected).unwrap(), None);
        // And not one beside the other.
        let refused = |error: BackendError, kernel: &str, names: [&str; 2]| match error.of_device() {
            Some(DeviceError::Layouts { kernel: of, first, other }) => {
                assert_eq!((*of, [*first, *other]), (kernel, names), "{error}");
            }
            _ => panic!("{error}"),
        };
        let error = device.hop(&mut of_new, &new.stencil, &new.links, &old.source, legs, dagger).unwrap_err();
        refused(error, "hop", ["out", "in"]);
        let error = device.hop(&mut of_new, &new.stencil, &old.links, &new.source, legs, dagger).unwrap_err();
        refused(error, "hop", ["out", "links"]);
        let error = device.hop(&mut of_old, &old.stencil, &new.links, &new.source, legs, dagger).unwrap_err();
        refused(error, "hop", ["out", "links"]);
        let error = device.inner_product(&old.source, &new.source, Sum::Exact).unwrap_err();
        refused(error, "inner_products", ["xs", "y"]);
        // A stencil has an order of sites, and no words.
        let mixed = device.hop(&mut of_new, &old.stencil, &new.links, &new.source, legs, dagger);
        match other == sixteen {
            true => {
                mixed.unwrap();
                assert_eq!(compare_fields(&device.download(&of_new).unwrap(), &expected).unwrap(), None);
            }
            false => refused(mixed.unwrap_err(), "hop", ["out", "stencil"]),
        }
    }
}

#[test]
fn a_refusal_of_layouts_says_what_to_do() {
    let Some(Both { cpu, mut device }) = Both::open(8) else { return };
    let ((.., source), _) = small_hop(&cpu);
    device.set_tuning(Tuning { access: Some(AccessWidth::Eight), ..Tuning::OPEN });
    let x = device.upload(source.clone()).unwrap();
    device.set_tuning(Tuning { access: Some(AccessWidth::Word), ..Tuning::OPEN });
    let mut y = device.upload(source).unwrap();
    let error = device.axpy(1.0, &x, &mut y).unwrap_err().to_string();
    assert!(error.starts_with("y and x of axpy have different layouts in device memory"), "{error}");
    assert!(error.contains("the same access width and site order"), "{error}");
}

#[test]
fn leg_order_and_link_format_change_bits() {
    // The comparison above would be empty if they did not.
    let cpu = Cpu::new(None).unwrap();
    let extents = Extents::new([4, 4, 4, 4]).unwrap();
    let lattice = Lattice::new(extents, f32::COMPLEX, LatticeOptions::default());
    let lattice = lattice.unwrap();
    let data = TestData::new(1);
    let configuration = data.configuration::<f32>(extents, Links::Hot).unwrap();
    let source = data.spinor::<f32>(lattice, Sites::Full, Numbers::Ordinary, 0).unwrap();
    let stencil = Stencil::new(lattice, Sites::Full).unwrap();
    let hop = |format, legs: &str| {
        let kind = DoubledGauge { format, boundary: BoundaryPhases::PERIODIC };
        let links = double(&configuration, lattice, Sites::Full, kind).unwrap();
        hop_on(&cpu, &stencil, &links, &source, legs.parse().unwrap(), Dagger::No)
    };
    let usual = hop(LinkFormat::Full, "-t-y-z+t+y+z-x+x");
    let [two_rows, eight] = [LinkFormat::TwoRows, LinkFormat::Eight].map(|format| hop(format, "-t-y-z+t+y+z-x+x"));
    assert!(compare_fields(&two_rows, &usual).unwrap().is_some());
    assert!(compare_fields(&eight, &usual).unwrap().is_some());
    assert!(compare_fields(&eight, &two_rows).unwrap().is_some());
    assert!(compare_fields(&hop(LinkFormat::Full, "+x-x+t-z-t+z+y-y"), &usual).unwrap().is_some());
}

#[test]
#[ignore = "test-all: builds for several spinors a site"]
fn hop_of_several_spinors_is_the_hop_of_each() {
    let Some(Both { cpu, mut device }) = Both::open(6) else { return };
    let usual = device.tuning();
    let legs = LegOrder::DEFAULT;
    let extents = Extents::new([4, 4, 4, 6]).unwrap();
    let lattice = Lattice::new(extents, f32::COMPLEX, LatticeOptions::default());
    let (lattice, data) = (lattice.unwrap(), TestData::new(4));
    let configuration = data.configuration::<f32>(extents, Links::Hot).unwrap();
    for (sites, count) in [(Sites::Full, 4), (Sites::Parity(Parity::Odd), 3)] {
        let stencil = Stencil::new(lattice, sites).unwrap();
        let kind = DoubledGauge { format: LinkFormat::TwoRows, boundary: "1,0,1,-1".parse().unwrap() };
        let links = double(&configuration, lattice, sites, kind).unwrap();
        let several = data.field(lattice, sites.neighbours(), Spinors::new(count), Numbers::Ordinary, 0).unwrap();
        for dagger in Dagger::BOTH {
            let together = hop_on(&cpu, &stencil, &links, &several, legs, dagger);
            for part in 0..count {
                let alone = hop_on(&cpu, &stencil, &links, &one_of(&several, part), legs, dagger);
                assert_eq!(compare_fields(&one_of(&together, part), &alone).unwrap(), None, "part {part}");
            }
            for (at_once, build) in [None, Some(2), Some(2)].into_iter().zip(builds()) {
                device.set_tuning(Tuning { rhs_per_work_item: at_once.and_then(Count::new), ..build.or(usual) });
                let found = hop_on(&device, &stencil, &links, &several, legs, dagger);
                assert_eq!(compare_fields(&found, &together).unwrap(), None);
            }
        }
    }
}

/// Compares the hop of three spinors a site in groups of two parts and five outer sites, which neither divides.
fn compare_three<R: Vectors>(backends: &mut Both, tuning: Tuning) {
    let Both { cpu, device } = backends;
    device.set_tuning(Tuning {
        access: Some(AccessWidth::Sixteen),
        lane_form: Some(LaneForm::WorkItems),
        accelerator_threads: AcceleratorThreads::new(10).ok(),
        rhs_per_group: Count::new(2),
        ..tuning
    });
    let (extents, sites, legs) = (Extents::new([4, 4, 4, 6]).unwrap(), Sites::Parity(Parity::Even), LegOrder::DEFAULT);
    let lattice = Lattice::new(extents, R::COMPLEX, LatticeOptions::default()).unwrap();
    let (data, stencil) = (TestData::new(5), Stencil::new(lattice, sites).unwrap());
    let configuration = data.configuration::<R>(extents, Links::Hot).unwrap();
    let source = data.field::<R, _>(lattice, sites.neighbours(), Spinors::new(3), Numbers::Ordinary, 0).unwrap();
    for format in [LinkFormat::Full, LinkFormat::TwoRows] {
        let kind = DoubledGauge { format, boundary: "1,0,1,-1".parse().unwrap() };
        let links = double(&configuration, lattice, sites, kind).unwrap();
        let expected = hop_on(cpu, &stencil, &links, &source, legs, Dagger::No);
        let found = hop_on(device, &stencil, &links, &source, legs, Dagger::No);
        assert_eq!(compare_fields(&found, &expected).unwrap(), None, "{format}-real links");
    }
}

#[test]
#[ignore = "test-all: ten builds"]
fn links_shared_by_a_group_that_sticks_out_change_no_bit() {
    let Some(mut backends) = Both::open(8) else { return };
    let shared = Tuning { link_sharing: Some(LinkSharing::Shared), ..Tuning::default() };
    let striding = Tuning { grid_stride: Some(GridStride::On(Some(1))), ..shared };
    let blocks = Tuning { traversal: Some(Traversal::Blocks([1, 2, 2, 3])), ..shared };
    let sites_first =
        Tuning { mapping: Some(Mapping::SiteFast), neighbours: Some(Neighbours::LocalMemory), ..striding };
    compare_three::<f32>(&mut backends, blocks);
    compare_three::<f32>(&mut backends, striding);
    compare_three::<f32>(&mut backends, Tuning { grid_stride: Some(GridStride::Slice), ..blocks });
    compare_three::<f64>(&mut backends, striding);
    compare_three::<Half>(&mut backends, sites_first);
}
