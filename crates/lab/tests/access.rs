//! The access model against addresses that are written down here once more, one by one.

use std::collections::{BTreeMap, BTreeSet};

use lanefield::backend::opencl::{AccessWidth, Count, Mapping, Traversal, Tuning};
use lanefield::kernel::{self, Kernel, Shape};
use lanefield::prelude::*;
use lanefield::reference::layout::{AcceleratorThreads, DIMENSIONS, LaneWidth, Leg, LegOrder, Place, Reach};
use lanefield::reference::links::DoubledGauge;
use lanefield_lab::access::{EXAMPLES, Example, kernel_arrays};
use lanefield_lab::machine::Machine;
use lanefield_lab::model::{Array, Item, Launched, ModelError, SECTOR, is_described};

use super::kernel_named;

/// Sectors, half lines and lines of some addresses of 16 bytes, and distinct lines.
fn segments(addresses: &[u64]) -> [usize; 3] {
    [32, 64, 128].map(|size| {
        let touched: BTreeSet<u64> = addresses.iter().flat_map(|a| [a / size, (a + 15) / size]).collect();
        touched.len()
    })
}

/// The accesses of an example, wavefront by wavefront, as loops.
fn example_by_hand(name: &str) -> Vec<Vec<u64>> {
    const WAVEFRONT: u64 = 64;
    let mut accesses = Vec::new();
    match name {
        "words-across-work-items" => {
            for wave in 0..64 * 12 / WAVEFRONT {
                let items = wave * WAVEFRONT..(wave + 1) * WAVEFRONT;
                accesses.push(items.map(|item| 192 * (item / 12) + 16 * (item % 12)).collect());
            }
        }
        "words-serial-per-work-item" => {
            for word in 0..12 {
                accesses.push((0..WAVEFRONT).map(|site| 192 * site + 16 * word).collect());
            }
        }
        "lane-fast" => {
            for wave in 0..4 {
                for word in 0..12 {
                    let items = wave * WAVEFRONT..(wave + 1) * WAVEFRONT;
                    accesses.push(items.map(|item| 768 * (item / 4) + 64 * word + 16 * (item % 4)).collect());
                }
            }
        }
        "site-fast" => {
            for lane in 0..4 {
                for word in 0..12 {
                    accesses.push((0..WAVEFRONT).map(|site| 768 * site + 64 * word + 16 * lane).collect());
                }
            }
        }
        other => panic!("{other}"),
    }
    accesses
}

#[test]
fn examples_touch_what_loops_over_their_addresses_touch() {
    for example in EXAMPLES {
        let by_hand = example_by_hand(example.name);
        let pattern = example.pattern(64).unwrap();
        let accesses: Vec<Vec<u64>> = pattern.accesses().unwrap().into_iter().map(|access| access.addresses).collect();
        assert_eq!(accesses, by_hand, "{}", example.name);
        let report = pattern.report(128).unwrap();
        let sum = |k: usize| by_hand.iter().map(|addresses| segments(addresses)[k] as u64).sum::<u64>();
        let all = report.all;
        assert_eq!([all.transactions_32, all.transactions_64, all.transactions_128], [sum(0), sum(1), sum(2)]);
    }
}

#[test]
fn good_orders_move_what_they_ask_for_and_bad_ones_twice_as_much() {
    let of = |name: &str| Example::named(name).unwrap().pattern(64).unwrap().report(128).unwrap();
    let numbers = |name: &str| {
        let report = of(name);
        (report.first.transactions_32, report.first.transactions_128, report.all.sector_efficiency())
    };
    assert_eq!(numbers("words across-work-items"), (32, 8, 1.0));
    assert_eq!(numbers("words serial per work-item"), (64, 64, 0.5));
    assert_eq!(numbers("lane-fast"), (32, 16, 1.0));
    assert_eq!(numbers("site-fast"), (64, 64, 0.5));
    for example in EXAMPLES {
        assert_eq!(example.good, of(example.name).all.sector_efficiency() == 1.0, "{}", example.name);
    }
    // Words one after the other come back to each line eight times: 64 sites of 192 bytes are 96 lines; twelve accesses touch 64 each.
    let serial = of("words-serial-per-work-item").all;
    assert_eq!((serial.distinct_lines, serial.line_touches), (96, 768));
}

fn lattice(extents: [usize; DIMENSIONS], scalar: Scalar, width: usize) -> Lattice {
    let lanes = LaneChoice::Width(LaneWidth::new(width).unwrap());
    Lattice::new(Extents::new(extents).unwrap(), scalar, LatticeOptions { lanes, ..LatticeOptions::default() }).unwrap()
}

fn hop(lattice: Lattice, sites: Sites, tuning: Tuning) -> Launched {
    launched("hop", lattice, sites, 1, tuning).unwrap()
}

fn launched(name: &str, lattice: Lattice, sites: Sites, parts: usize, tuning: Tuning) -> Result<Launched, ModelError> {
    let links = DoubledGauge { format: LinkFormat::Full, boundary: BoundaryPhases::PERIODIC };
    let shape = Shape::usual(kernel_named(name), (lattice, sites), Precision::F32, links, parts);
    Launched::new(shape, AccessWidth::Sixteen, tuning)
}

/// All work-items that have something to do.
fn items(launched: &Launched) -> Vec<Item> {
    let (of_parts, of_sites) = launched.groups();
    (0..of_parts * of_sites).flat_map(|group| launched.items(group)).flatten().collect()
}

fn threads(number: usize) -> Option<AcceleratorThreads> {
    Some(AcceleratorThreads::new(number).unwrap())
}

/// Where word `word` of a site lies, of fields of `words` words in f32, two words of a lane together.
fn address(place: Place, words: usize, word: usize, nsimd: usize) -> u64 {
    (((place.osite * words + word / 2 * 2) * nsimd + place.lane * 2 + word % 2) * 8) as u64
}

/// The neighbour of a site, from its coordinates alone.
fn neighbour(lattice: &Lattice, sites: Sites, place: Place, leg: Leg) -> Place {
    let mut x = lattice.coordinate(sites, place);
    let (d, extent) = (leg.dimension(), lattice.extents()[leg.dimension()]);
    x[d] = (x[d] + if leg.is_forward() { 1 } else { extent - 1 }) % extent;
    lattice.place(sites.neighbours(), x)
}

/// Sectors that wavefronts of 32 touch of the source, by leg, and of links and results.
fn hop_by_hand(lattice: &Lattice, sites: Sites, threads: usize, site_fast: bool) -> BTreeMap<String, u64> {
    let nsimd = lattice.nsimd();
    let mut touched = BTreeMap::new();
    for group in 0..lattice.osites(sites) / threads {
        let places: Vec<Place> = (0..threads * nsimd)
            .map(|item| match site_fast {
                false => Place { osite: group * threads + item / nsimd, lane: item % nsimd },
                true => Place { osite: group * threads + item % threads, lane: item / threads },
            })
            .collect();
        for wave in places.chunks(32) {
            let mut add = |name: String, addresses: Vec<u64>| {
                *touched.entry(name).or_insert(0) += segments(&addresses)[0] as u64;
            };
            for leg in Leg::all() {
                for word in (0..12).step_by(2) {
                    let to = |place: &Place| address(neighbour(lattice, sites, *place, leg), 12, word, nsimd);
                    add(format!("in {leg}"), wave.iter().map(to).collect());
                }
                // Nine words from an odd one on begin in the middle of a pair.
                let first = leg.point() * 9 / 2 * 2;
                for word in (first..leg.point() * 9 + 9).step_by(2) {
                    add(format!("links {leg}"), wave.iter().map(|place| address(*place, 72, word, nsimd)).collect());
                }
            }
            for word in (0..12).step_by(2) {
                add("out ".to_owned(), wave.iter().map(|place| address(*place, 12, word, nsimd)).collect());
            }
        }
    }
    touched
}

#[test]
fn the_hop_touches_what_coordinates_and_the_layout_say() {
    for (width, sites, mapping) in [
        (128, Sites::Parity(Parity::Even), Mapping::LaneFast),
        (128, Sites::Parity(Parity::Odd), Mapping::SiteFast),
        (64, Sites::Full, Mapping::LaneFast),
        (32, Sites::Parity(Parity::Even), Mapping::SiteFast),
    ] {
        let lattice = lattice([4, 8, 4, 8], Scalar::ComplexF, width);
        let choice = Tuning { mapping: Some(mapping), accelerator_threads: threads(4), ..Tuning::OPEN };
        let launched = hop(lattice, sites, choice);
        let counted: BTreeMap<String, u64> = kernel_arrays(&launched, 32, 128)
            .into_iter()
            .filter(|row| matches!(row.array, Array::Field(_)))
            .map(|row| (format!("{} {}", row.array.name(), row.leg.unwrap_or_default()), row.counts.transactions_32))
            .collect();
        assert_eq!(
            counted,
            hop_by_hand(&lattice, sites, 4, mapping == Mapping::SiteFast),
            "{width} {sites} {mapping:?}"
        );
    }
}

#[test]
fn neighbouring_lanes_ask_for_whole_sectors_and_neighbouring_sites_for_half_ones() {
    let lattice = lattice([8, 8, 8, 16], Scalar::ComplexF, 128);
    let efficiency = |mapping| {
        let choice = Tuning { mapping: Some(mapping), accelerator_threads: threads(32), ..Tuning::OPEN };
        let launched = hop(lattice, Sites::Parity(Parity::Even), choice);
        let rows = kernel_arrays(&launched, 32, 128);
        rows.into_iter().find(|row| row.array == Array::Field("out")).unwrap().counts.sector_efficiency()
    };
    assert_eq!([efficiency(Mapping::LaneFast), efficiency(Mapping::SiteFast)], [1.0, 0.5]);
}

#[test]
fn steps_out_of_a_virtual_node_change_the_lane_and_cost_no_sector() {
    let lattice = lattice([8, 8, 8, 16], Scalar::ComplexF, 128);
    let launched = hop(lattice, Sites::Full, Tuning::OPEN);
    for row in kernel_arrays(&launched, 32, 128).into_iter().filter(|row| row.array == Array::Field("in")) {
        let cut = ["x", "y", "z", "t"].into_iter().position(|d| row.leg.as_ref().unwrap().ends_with(d)).unwrap();
        // Of 8.8.8.16 in 2.2.2.2 nodes one outer site in 4 lies at the edge, one in 8 in t.
        assert_eq!(lattice.nodes()[cut], 2);
        assert_eq!(row.other_lanes, if cut == 3 { 0.125 } else { 0.25 }, "{:?}", row.leg);
        assert_eq!(row.counts.sector_efficiency(), 1.0, "{:?}", row.leg);
    }
}

#[test]
fn a_sample_of_a_large_launch_meets_the_edges_of_all_directions() {
    let lattice = lattice([32, 32, 32, 64], Scalar::ComplexF, 128);
    assert_eq!(lattice.nodes().as_array(), [2; 4]);
    let launched = hop(lattice, Sites::Full, Tuning::OPEN);
    for row in kernel_arrays(&launched, 32, 128).into_iter().filter(|row| row.array == Array::Field("in")) {
        let along_t = row.leg.as_ref().unwrap().ends_with('t');
        let share = if along_t { 1.0 / 32.0 } else { 1.0 / 16.0 };
        assert!((share / 4.0..4.0 * share).contains(&row.other_lanes), "{:?}: {}", row.leg, row.other_lanes);
    }
}

#[test]
fn every_site_and_part_is_one_work_items_in_blocks_and_over_parts() {
    let lattice = lattice([8, 4, 4, 8], Scalar::ComplexF, 64);
    let sites = Sites::Parity(Parity::Odd);
    for mapping in Mapping::ALL {
        let choice = Tuning {
            rhs_per_work_item: Count::new(2),
            rhs_per_group: Count::new(3),
            work_items: Count::new(48),
            mapping: Some(mapping),
            traversal: Some(Traversal::Blocks([2, 2, 1, 2])),
            ..Tuning::OPEN
        };
        let launched = launched("hop_many", lattice, sites, 6, choice).unwrap();
        let mut found: Vec<_> = items(&launched).iter().map(|item| (item.osite, item.part, item.lane)).collect();
        found.sort_unstable();
        let osites = lattice.osites(sites);
        let expected: Vec<_> = (0..osites)
            .flat_map(|osite| [0, 2, 4].map(|part| (osite, part)))
            .flat_map(|(osite, part)| (0..lattice.nsimd()).map(move |lane| (osite, part, lane)))
            .collect();
        assert_eq!(found, expected, "{mapping:?}");
    }
}

#[test]
fn a_first_cache_without_end_loads_each_sector_once() {
    let lattice = lattice([4, 4, 4, 8], Scalar::ComplexF, 64);
    let sites = Sites::Parity(Parity::Even);
    let launched = hop(lattice, sites, Tuning::OPEN);
    let h200 = Machine::named("h200").unwrap();
    // One unit that holds the whole launch at a time.
    let machine = Machine { compute_units: 1, registers: 1 << 30, l1_bytes: 1 << 30, ..h200 };
    let traffic = launched.unit_traffic(&machine);
    let items = items(&launched);
    let sectors = |store: bool| {
        let of_kind: BTreeSet<u64> = launched
            .program()
            .iter()
            .filter(|instruction| instruction.store == store)
            .flat_map(|instruction| items.iter().map(|item| launched.address(instruction, item) / SECTOR))
            .collect();
        of_kind.len() as f64 * SECTOR as f64
    };
    assert_eq!((traffic.loaded_bytes, traffic.stored_bytes), (sectors(false), sectors(true)));
    let sites = (4 * 4 * 4 * 8 / 2) as f64;
    assert_eq!(traffic.stored_bytes, 96.0 * sites);
    // Links and source once, and the tables.
    assert!(traffic.loaded_bytes > (576.0 + 96.0) * sites && traffic.loaded_bytes < (576.0 + 96.0 + 8.0) * sites);
}

/// Bytes that a work-item loads and stores of each field, by its role.
fn moved(kernel: &str, parts: usize) -> BTreeMap<&'static str, [usize; 2]> {
    let lattice = lattice([4, 4, 4, 8], Scalar::ComplexF, 64);
    let launched = launched(kernel, lattice, Sites::Parity(Parity::Even), parts, Tuning::OPEN).unwrap();
    let mut moved = BTreeMap::new();
    for instruction in launched.program() {
        moved.entry(instruction.array.name()).or_insert([0; 2])[usize::from(instruction.store)] += instruction.bytes;
    }
    moved
}

#[test]
fn loads_and_stores_follow_from_the_roles_of_the_fields() {
    // Nine words of a link from an odd one on take ten.
    let links = 8 * 80;
    let tables = [("lane steps", [32, 0]), ("neighbours", [32, 0]), ("links", [links, 0])];
    let with_tables =
        |fields: &[(&'static str, [usize; 2])]| -> BTreeMap<_, _> { tables.iter().chain(fields).copied().collect() };
    // Two blocks of eighteen words.
    let oe_clover = [("blocks", [2 * 18 * 8, 0]), ("chi", [96, 0]), ("in", [8 * 96, 0]), ("out", [0, 96])];
    assert_eq!(moved("oe_clover", 1), with_tables(&oe_clover));
    let of = |of| ["coordinates x and y of", "coordinates z and t of"].map(|pair| format!("{pair} {of}"));
    let tables = [of("outer sites"), of("lanes")].concat();
    let coordinates: Vec<_> = tables.iter().map(|table| (table.clone().leak() as &'static str, [4, 0])).collect();
    let mut expected = with_tables(&coordinates);
    expected.extend([("in", [8 * 24, 0]), ("out", [0, 24])]);
    assert_eq!(moved("staggered_hop", 1), expected);
    assert_eq!(moved("axpy", 1), BTreeMap::from([("x", [96, 0]), ("y", [96, 96])]));
    assert_eq!(moved("norm2", 1), BTreeMap::from([("x", [96, 0])]));
}

#[test]
fn kernels_that_are_not_described_are_refused_with_those_that_are() {
    let lattice = lattice([4, 4, 4, 8], Scalar::ComplexF, 64);
    let error = launched("s_dense", lattice, Sites::Full, 16, Tuning::OPEN).unwrap_err().to_string();
    assert!(error.contains("of s_dense are not described: give one of hop, ") && !error.contains(", s_"), "{error}");
    // What is read further away than at the nearest neighbours is not described.
    let reach = |kernel: &Kernel| kernel.fields().filter_map(|role| kernel.reach(&role, LegOrder::DEFAULT)).max();
    let nearest = |kernel: &&Kernel| reach(kernel).is_none_or(|reach| reach == Reach::Nearest);
    let stencils = || kernel::all().filter(|kernel| kernel.reads_links() && !kernel.sums()).filter(nearest);
    let tuned = stencils().filter(|kernel| kernel.tuned_as == Some(kernel.name));
    tuned.for_each(|kernel| assert!(error.contains(kernel.name), "{kernel}: {error}"));
    assert!(stencils().all(is_described), "every stencil of neighbours");
}
