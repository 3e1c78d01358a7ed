//! The Wilson hop on OpenCL and on the CPU reference: the same bits on awkward lattices, for every choice that a user has. `lanefield
//! verify` does the same at random, and at length.

use lanefield::backend::opencl::{
    AccessWidth, LaneForm, LinkSharing, Mapping, Neighbours, SiteOrder, Traversal, Tuning, Walk,
};
use lanefield::backend::{Backend, Cpu, OpenCl};
use lanefield::reference::field::{Field, Spinors};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{
    AcceleratorThreads, Checkerboard, Extents, LaneChoice, Lattice, LatticeOptions, LegOrder, Parity, PartsShape,
    Sites, Stencil,
};
use lanefield::reference::links::{BoundaryPhases, DoubledGauge, LinkFormat, double};
use lanefield::reference::sixteen::Sixteen;
use lanefield::verify::{Links, Numbers, TestData, Tested as _, compare_fields};

use crate::common;

const RED_BLACK: [Sites; 3] = [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];

struct Backends {
    cpu: Cpu,
    device: OpenCl,
}

impl Backends {
    fn open(threads: usize) -> Option<Self> {
        let device = OpenCl::open(&common::opencl_device()?, AcceleratorThreads::new(threads).unwrap()).unwrap();
        Some(Self { cpu: Cpu::new(None).unwrap(), device })
    }

    /// Compares all of dagger, link format, and the sites that the lattice has.
    fn compare<R: Vectors>(&self, extents: [usize; 4], lanes: &str, boundary: &str, legs: LegOrder, data: Data) {
        let Self { cpu, device } = self;
        let extents = Extents::new(extents).unwrap();
        let red_black = extents.as_array().iter().all(|extent| extent % 2 == 0);
        let (checkerboard, sites) = match red_black {
            true => (Checkerboard::RedBlack, &RED_BLACK[..]),
            false => (Checkerboard::FullOnly, &RED_BLACK[..1]),
        };
        let lanes: LaneChoice = lanes.parse().unwrap();
        let lattice = Lattice::new(extents, R::COMPLEX, LatticeOptions { lanes, nodes: None, checkerboard }).unwrap();
        let boundary: BoundaryPhases = boundary.parse().unwrap();
        let numbers = TestData::new(extents.volume() as u64);
        let configuration = numbers.configuration::<R>(extents, data.links).unwrap();
        for &sites in sites {
            let source = numbers.spinor::<R>(lattice, sites.neighbours(), data.spinors, 0).unwrap();
            let stencil = Stencil::new(lattice, sites).unwrap();
            for &format in data.links.formats() {
                let kind = DoubledGauge { format, boundary };
                let links: Field<R, DoubledGauge> = double(&configuration, lattice, sites, kind).unwrap();
                for dagger in Dagger::BOTH {
                    let mut expected = cpu.zeros(lattice, sites, Spinors::ONE).unwrap();
                    cpu.hop(&mut expected, &stencil, &links, &source, legs, dagger).unwrap();
                    let found = hop_on(device, &stencil, &links, &source, legs, dagger);
                    if let Some(mismatch) = compare_fields(&found, &expected).unwrap() {
                        panic!("{}, {format}-real links, {dagger:?}: {mismatch}", expected.describe());
                    }
                }
            }
        }
    }
}

fn hop_on<R: Vectors>(
    device: &OpenCl,
    stencil: &Stencil,
    links: &Field<R, DoubledGauge>,
    source: &Field<R, Spinors>,
    legs: LegOrder,
    dagger: Dagger,
) -> Field<R, Spinors> {
    let mut out = device.zeros(*stencil.lattice(), stencil.sites(), Spinors::ONE).unwrap();
    let (links, source) = (device.upload(links.clone()).unwrap(), device.upload(source.clone()).unwrap());
    device.hop(&mut out, &device.stencil(stencil.clone()).unwrap(), &links, &source, legs, dagger).unwrap();
    device.download(&out).unwrap()
}

#[derive(Clone, Copy)]
struct Data {
    links: Links,
    spinors: Numbers,
}

const ORDINARY: Data = Data { links: Links::Hot, spinors: Numbers::Ordinary };

#[test]
fn hop_is_bitwise_equal_to_reference() {
    let Some(backends) = Backends::open(8) else { return };
    let legs = LegOrder::DEFAULT;
    for boundary in ["1,1,1,-1", "-1,1,-1,1"] {
        backends.compare::<f32>([2, 2, 2, 2], "8", boundary, legs, ORDINARY);
        backends.compare::<f64>([2, 2, 2, 2], "16", boundary, legs, ORDINARY);
        backends.compare::<f32>([6, 4, 2, 10], "8", boundary, legs, ORDINARY);
        backends.compare::<f64>([6, 4, 2, 10], "16", boundary, legs, ORDINARY);
        backends.compare::<f32>([3, 5, 1, 7], "8", boundary, legs, ORDINARY);
        backends.compare::<f64>([3, 5, 1, 7], "16", boundary, legs, ORDINARY);
        // Virtual nodes of two sites in a direction, or one where there are no parities.
        backends.compare::<f32>([4, 4, 4, 6], "64", boundary, legs, ORDINARY);
        backends.compare::<f64>([2, 6, 4, 4], "64", boundary, legs, ORDINARY);
        backends.compare::<f32>([4, 4, 8, 8], "256", boundary, legs, ORDINARY);
        backends.compare::<f32>([3, 2, 4, 4], "256", boundary, legs, ORDINARY);
    }
}

#[test]
fn hop_is_bitwise_equal_to_reference_on_numbers_that_are_hard() {
    let Some(backends) = Backends::open(8) else { return };
    for numbers in Numbers::ALL {
        for links in [Links::Hot, Links::Arbitrary(Numbers::Wide), Links::Arbitrary(Numbers::Special)] {
            let data = Data { links, spinors: numbers };
            backends.compare::<f32>([4, 4, 4, 6], "64", "1,-1,1,-1", LegOrder::DEFAULT, data);
            backends.compare::<f64>([2, 6, 4, 4], "64", "1,-1,1,-1", LegOrder::DEFAULT, data);
            backends.compare::<Sixteen>([4, 4, 4, 6], "64", "1,0,1,-1", LegOrder::DEFAULT, data);
        }
    }
}

#[test]
fn hop_is_bitwise_equal_to_reference_for_another_leg_order_and_work_group() {
    let Some(backends) = Backends::open(3) else { return };
    let legs: LegOrder = "+x-x+t-z-t+z+y-y".parse().unwrap();
    backends.compare::<f32>([4, 4, 4, 6], "64", "1,1,1,-1", legs, ORDINARY);
}

#[test]
fn no_choice_of_layout_or_build_changes_a_bit() {
    let Some(mut backends) = Backends::open(6) else { return };
    let legs = LegOrder::DEFAULT;
    for build in common::builds::builds() {
        backends.device.set_build(build).unwrap();
        backends.compare::<f32>([4, 4, 4, 6], "64", "1,0,1,-1", legs, ORDINARY);
        backends.compare::<Sixteen>([4, 4, 4, 6], "64", "1,0,1,-1", legs, ORDINARY);
    }
    backends.compare::<f64>([2, 6, 4, 4], "64", "1,1,1,-1", legs, ORDINARY);
}

#[test]
fn fields_are_not_left_in_another_layout() {
    let Some(Backends { mut device, .. }) = Backends::open(8) else { return };
    let extents = Extents::new([4, 4, 4, 4]).unwrap();
    let lattice = Lattice::new(extents, <f32 as lanefield::reference::real::Real>::COMPLEX, LatticeOptions::default());
    let field = device.zeros::<f32, _>(lattice.unwrap(), Sites::Full, Spinors::ONE).unwrap();
    device.set_access(AccessWidth::Word).unwrap();
    let error = device.set_access(AccessWidth::Sixteen).unwrap_err().to_string();
    assert!(error.contains("1 fields are held") && error.contains("accesses of word"), "{error}");
    drop(field);
    device.set_access(AccessWidth::Sixteen).unwrap();
    assert_eq!(device.access(), AccessWidth::Sixteen);
}

#[test]
fn neither_fields_nor_stencils_are_left_in_another_order_of_sites() {
    let Some(Backends { mut device, .. }) = Backends::open(8) else { return };
    let extents = Extents::new([4, 4, 4, 4]).unwrap();
    let lattice = Lattice::new(extents, <f32 as lanefield::reference::real::Real>::COMPLEX, LatticeOptions::default());
    let lattice = lattice.unwrap();
    let order = SiteOrder::Subdomains([2, 2, 1, 1]);
    let refused = |device: &mut OpenCl| {
        let error = device.set_site_order(order).unwrap_err().to_string();
        assert!(error.contains("1 fields and stencils") && error.contains("lexicographic"), "{error}");
    };
    let field = device.zeros::<f32, _>(lattice, Sites::Full, Spinors::ONE).unwrap();
    device.set_site_order(SiteOrder::Lexicographic).unwrap();
    refused(&mut device);
    drop(field);
    let stencil = device.stencil(Stencil::new(lattice, Sites::Full).unwrap()).unwrap();
    refused(&mut device);
    drop(stencil);
    device.set_site_order(order).unwrap();
    assert_eq!(device.site_order(), order);
}

#[test]
fn leg_order_and_link_format_change_bits() {
    // The comparison above would be empty if they did not.
    let cpu = Cpu::new(None).unwrap();
    let extents = Extents::new([4, 4, 4, 4]).unwrap();
    let lattice = Lattice::new(extents, <f32 as lanefield::reference::real::Real>::COMPLEX, LatticeOptions::default());
    let lattice = lattice.unwrap();
    let data = TestData::new(1);
    let configuration = data.configuration::<f32>(extents, Links::Hot).unwrap();
    let source = data.spinor::<f32>(lattice, Sites::Full, Numbers::Ordinary, 0).unwrap();
    let stencil = Stencil::new(lattice, Sites::Full).unwrap();
    let hop = |format, legs: &str| {
        let kind = DoubledGauge { format, boundary: BoundaryPhases::PERIODIC };
        let links = double(&configuration, lattice, Sites::Full, kind).unwrap();
        let mut out = cpu.zeros(lattice, Sites::Full, Spinors::ONE).unwrap();
        cpu.hop(&mut out, &stencil, &links, &source, legs.parse().unwrap(), Dagger::No).unwrap();
        out
    };
    let usual = hop(LinkFormat::Full, "-t-y-z+t+y+z-x+x");
    let [two_rows, eight] = [LinkFormat::TwoRows, LinkFormat::Eight].map(|format| hop(format, "-t-y-z+t+y+z-x+x"));
    assert!(compare_fields(&two_rows, &usual).unwrap().is_some());
    assert!(compare_fields(&eight, &usual).unwrap().is_some());
    assert!(compare_fields(&eight, &two_rows).unwrap().is_some());
    assert!(compare_fields(&hop(LinkFormat::Full, "+x-x+t-z-t+z+y-y"), &usual).unwrap().is_some());
}

/// The spinors numbered `part` of each site.
fn one_of(several: &Field<f32, Spinors>, part: usize) -> Field<f32, Spinors> {
    let count = several.kind().count();
    let values = several.to_site_order();
    let spinors = values.chunks_exact(Spinors::WORDS).skip(part).step_by(count);
    let values = spinors.flatten().copied().collect::<Vec<_>>();
    Field::from_site_order(*several.lattice(), several.sites(), Spinors::ONE, &values).unwrap()
}

#[test]
fn hop_of_several_spinors_is_the_hop_of_each() {
    let Some(Backends { cpu, mut device }) = Backends::open(6) else { return };
    let legs = LegOrder::DEFAULT;
    let extents = Extents::new([4, 4, 4, 6]).unwrap();
    let lattice = Lattice::new(extents, <f32 as lanefield::reference::real::Real>::COMPLEX, LatticeOptions::default());
    let (lattice, data) = (lattice.unwrap(), TestData::new(4));
    let configuration = data.configuration::<f32>(extents, Links::Hot).unwrap();
    for (sites, count) in [(Sites::Full, 4), (Sites::Parity(Parity::Odd), 3)] {
        let stencil = Stencil::new(lattice, sites).unwrap();
        let kind = DoubledGauge { format: LinkFormat::TwoRows, boundary: "1,0,1,-1".parse().unwrap() };
        let links = double(&configuration, lattice, sites, kind).unwrap();
        let several = data.field(lattice, sites.neighbours(), Spinors::new(count), Numbers::Ordinary, 0).unwrap();
        for dagger in Dagger::BOTH {
            let mut together = cpu.zeros(lattice, sites, Spinors::new(count)).unwrap();
            cpu.hop(&mut together, &stencil, &links, &several, legs, dagger).unwrap();
            for part in 0..count {
                let mut alone = cpu.zeros(lattice, sites, Spinors::ONE).unwrap();
                cpu.hop(&mut alone, &stencil, &links, &one_of(&several, part), legs, dagger).unwrap();
                assert_eq!(compare_fields(&one_of(&together, part), &alone).unwrap(), None, "part {part}");
            }
            for (at_once, build) in [None, Some(2), Some(2)].into_iter().zip(common::builds::builds()) {
                device.set_build(build).unwrap();
                device.set_parts_shape(PartsShape { at_once, ..PartsShape::default() });
                let mut found = device.zeros(lattice, sites, Spinors::new(count)).unwrap();
                let links = device.upload(links.clone()).unwrap();
                let several = device.upload(several.clone()).unwrap();
                let stencil = device.stencil(stencil.clone()).unwrap();
                device.hop(&mut found, &stencil, &links, &several, legs, dagger).unwrap();
                assert_eq!(compare_fields(&device.download(&found).unwrap(), &together).unwrap(), None);
            }
        }
    }
}

/// Compares the hop of three spinors a site in groups of two parts and five outer sites, which neither divides.
fn compare_three<R: Vectors>(backends: &mut Backends, tuning: Tuning) {
    let Backends { cpu, device } = backends;
    device.set_access(AccessWidth::Sixteen).unwrap();
    device.set_tuning(Tuning { lane_form: Some(LaneForm::WorkItems), ..tuning });
    device.set_parts_shape(PartsShape { parts: Some(2), osites: Some(5), ..PartsShape::default() });
    let (extents, sites, legs) = (Extents::new([4, 4, 4, 6]).unwrap(), Sites::Parity(Parity::Even), LegOrder::DEFAULT);
    let lattice = Lattice::new(extents, R::COMPLEX, LatticeOptions::default()).unwrap();
    let (data, stencil) = (TestData::new(5), Stencil::new(lattice, sites).unwrap());
    let configuration = data.configuration::<R>(extents, Links::Hot).unwrap();
    let source = data.field::<R, _>(lattice, sites.neighbours(), Spinors::new(3), Numbers::Ordinary, 0).unwrap();
    for format in [LinkFormat::Full, LinkFormat::TwoRows] {
        let kind = DoubledGauge { format, boundary: "1,0,1,-1".parse().unwrap() };
        let links = double(&configuration, lattice, sites, kind).unwrap();
        let mut expected = cpu.zeros(lattice, sites, Spinors::new(3)).unwrap();
        cpu.hop(&mut expected, &stencil, &links, &source, legs, Dagger::No).unwrap();
        let mut found = device.zeros(lattice, sites, Spinors::new(3)).unwrap();
        let (links, source) = (device.upload(links).unwrap(), device.upload(source.clone()).unwrap());
        let stencil = device.stencil(stencil.clone()).unwrap();
        device.hop(&mut found, &stencil, &links, &source, legs, Dagger::No).unwrap();
        assert_eq!(compare_fields(&device.download(&found).unwrap(), &expected).unwrap(), None, "{format}-real links");
    }
}

#[test]
fn links_shared_by_a_group_that_sticks_out_change_no_bit() {
    let Some(mut backends) = Backends::open(8) else { return };
    let shared = Tuning { link_sharing: Some(LinkSharing::Shared), ..Tuning::default() };
    let walking = Tuning { walk: Some(Walk::Persistent(Some(1))), ..shared };
    let blocks = Tuning { traversal: Some(Traversal::Blocks([1, 2, 2, 3])), ..shared };
    let sites_first = Tuning { mapping: Some(Mapping::SiteFast), neighbours: Some(Neighbours::LocalMemory), ..walking };
    compare_three::<f32>(&mut backends, blocks);
    compare_three::<f32>(&mut backends, walking);
    compare_three::<f64>(&mut backends, walking);
    compare_three::<Sixteen>(&mut backends, sites_first);
}
