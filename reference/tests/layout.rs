//! The lane layout against plain coordinate arithmetic, on random lattices that lanes only just divide.

use std::collections::HashSet;

use lanefield_reference::layout::{AcceleratorThreads, Checkerboard, Coordinate, DIMENSIONS};
use lanefield_reference::layout::{BlockOrder, LaneWidth, LaunchGeometry, LayoutError, reduction_groups};
use lanefield_reference::layout::{Place, Scalar, SiteCoordinates, Stencil, VirtualNodes};
use lanefield_reference::links::{Phase, cis_pi};
use lanefield_reference::prelude::*;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common;
use crate::common::{ALL_SITES, any_checkerboard, any_extents, any_legs};

const SCALARS: [Scalar; 4] = [Scalar::RealF, Scalar::RealD, Scalar::ComplexF, Scalar::ComplexD];
use Checkerboard::{FullOnly, RedBlack};

fn options(lanes: LaneChoice, nodes: Option<[usize; DIMENSIONS]>, checkerboard: Checkerboard) -> LatticeOptions {
    LatticeOptions { lanes, nodes, checkerboard }
}

/// Whether `parts` virtual nodes divide `extent`, into even parts where the lattice is red-black.
fn divides(extent: usize, parts: usize, checkerboard: Checkerboard) -> bool {
    extent.is_multiple_of(parts) && (checkerboard == FullOnly || (extent / parts).is_multiple_of(2))
}

/// Every cut of `extents` into `nsimd` virtual nodes, by trying all.
fn possible_cuts(extents: Extents, nsimd: usize, checkerboard: Checkerboard) -> Vec<[usize; DIMENSIONS]> {
    let powers = [1usize, 2, 4, 8, 16, 32, 64];
    let mut cuts = Vec::new();
    for x in powers {
        for y in powers {
            for z in powers {
                for t in powers {
                    let cut = [x, y, z, t];
                    if x * y * z * t == nsimd && (0..DIMENSIONS).all(|d| divides(extents[d], cut[d], checkerboard)) {
                        cuts.push(cut);
                    }
                }
            }
        }
    }
    cuts
}

/// Grid's `GridDefaultSimd`: a factor of two in each dimension from the last one down, or nothing.
fn grid_default_simd(mut nsimd: usize) -> Option<[usize; DIMENSIONS]> {
    let mut cut = [1; DIMENSIONS];
    for d in (0..DIMENSIONS).rev() {
        if nsimd >= 2 {
            cut[d] = 2;
            nsimd /= 2;
        }
    }
    (nsimd == 1).then_some(cut)
}

/// A lattice with lanes: a cut and the extents of a virtual node are drawn, so that every width is met. The cut is given explicitly, or
/// the lattice finds its own.
fn any_lattice(volume: usize) -> impl Strategy<Value = Lattice> {
    let lanes = select(LaneWidth::ALL.to_vec())
        .prop_flat_map(|width| (Just(width), select(SCALARS.to_vec())))
        .prop_filter_map("wide enough", |(width, scalar)| Some((width, scalar, width.nsimd(scalar).ok()?)));
    let factors = prop::collection::vec(0..DIMENSIONS, 6);
    let local = prop::array::uniform4(1..=6usize);
    (lanes, any_checkerboard(), factors, local, any::<bool>()).prop_map(
        move |((width, scalar, nsimd), checkerboard, factors, mut local, explicit)| {
            let unit = if checkerboard == RedBlack { 2 } else { 1 };
            local = local.map(|l| l.next_multiple_of(unit));
            while nsimd * local.iter().product::<usize>() > volume && local != [unit; DIMENSIONS] {
                let largest = local.iter_mut().max().unwrap();
                *largest = (*largest / 2).next_multiple_of(unit);
            }
            let mut cut = [1; DIMENSIONS];
            factors.iter().take(nsimd.ilog2() as usize).for_each(|&d| cut[d] *= 2);
            let extents = Extents::new(std::array::from_fn(|d| cut[d] * local[d])).unwrap();
            let options = options(LaneChoice::Width(width), explicit.then_some(cut), checkerboard);
            Lattice::new(extents, scalar, options).unwrap()
        },
    )
}

fn sites_of(lattice: &Lattice) -> &'static [Sites] {
    if lattice.checkerboard() == RedBlack { &ALL_SITES } else { &ALL_SITES[..1] }
}

fn coordinates(extents: Extents) -> impl Iterator<Item = Coordinate> {
    let [lx, ly, lz, lt] = extents.as_array();
    (0..lt).flat_map(move |t| (0..lz).flat_map(move |z| (0..ly).flat_map(move |y| (0..lx).map(move |x| [x, y, z, t]))))
}

proptest! {
    #![proptest_config(common::cases(128))]

    #[test]
    fn site_order_has_x_fastest(extents in any_extents(FullOnly, 2000)) {
        for (site, x) in coordinates(extents).enumerate() {
            prop_assert_eq!(extents.site(x), site);
            prop_assert_eq!(extents.coordinate(site), x);
        }
        prop_assert_eq!(extents.volume(), coordinates(extents).count());
    }

    #[test]
    fn an_order_by_blocks_is_a_permutation_and_has_an_inverse(
        outer in prop::array::uniform4(1..7usize), wanted in prop::array::uniform4(0..9usize), by_number in any::<bool>(),
    ) {
        let order = if by_number { BlockOrder::of_numbers(outer, wanted) } else { BlockOrder::of_extents(outer, wanted) };
        let mut seen = HashSet::new();
        for place in 0..order.osites() {
            let osite = order.osite_at(place);
            prop_assert!(osite < order.osites() && seen.insert(osite));
            prop_assert_eq!(order.place_of(osite), place);
        }
        let plain = (0..order.osites()).all(|place| order.osite_at(place) == place);
        prop_assert_eq!(order.is_lexicographic(), plain);
        // Groups at the end of a launch stick out: their sites must not come back into the lattice.
        for place in order.osites()..2 * order.osites() + 50 {
            prop_assert!(order.osite_at(place) >= order.osites());
        }
    }

    #[test]
    fn the_sites_of_a_block_follow_each_other(
        outer in prop::array::uniform4(1..7usize), numbers in prop::array::uniform4(1..5usize),
    ) {
        let order = BlockOrder::of_numbers(outer, numbers);
        let block = order.block();
        prop_assert!((0..DIMENSIONS).all(|d| outer[d].is_multiple_of(block[d]) && outer[d] / block[d] <= numbers[d]));
        let volume: usize = block.iter().product();
        let of_block = |osite: usize| {
            let [x, y, z] = [osite % outer[0], osite / outer[0] % outer[1], osite / (outer[0] * outer[1]) % outer[2]];
            [x / block[0], y / block[1], z / block[2], osite / (outer[0] * outer[1] * outer[2]) / block[3]]
        };
        for place in 0..order.osites() {
            prop_assert_eq!(of_block(order.osite_at(place)), of_block(order.osite_at(place / volume * volume)));
        }
    }

    #[test]
    fn coordinates_are_those_of_the_outer_site_plus_those_of_the_lane(lattice in any_lattice(2000)) {
        for &sites in sites_of(&lattice) {
            let found = SiteCoordinates::new(&lattice, sites).unwrap();
            prop_assert_eq!((found.osites().len(), found.lanes().len()), (lattice.osites(sites), lattice.nsimd()));
            for x in coordinates(lattice.extents()).filter(|&x| sites.contain(x)) {
                let Place { osite, lane } = lattice.place(sites, x);
                let sum: [usize; DIMENSIONS] =
                    std::array::from_fn(|d| usize::from(found.osites()[osite][d]) + usize::from(found.lanes()[lane][d]));
                prop_assert_eq!(sum, x);
            }
            let packed = SiteCoordinates::packed(found.osites(), 2);
            prop_assert!(packed.iter().zip(found.osites()).all(|(&zt, x)| zt == u32::from(x[2]) + (u32::from(x[3]) << 16)));
        }
        if lattice.checkerboard() == FullOnly {
            prop_assert!(SiteCoordinates::new(&lattice, ALL_SITES[1]).is_err());
        }
    }

    #[test]
    fn every_site_has_a_place_of_its_own(lattice in any_lattice(2000)) {
        for &sites in sites_of(&lattice) {
            let mut taken = HashSet::new();
            for x in coordinates(lattice.extents()).filter(|&x| sites.contain(x)) {
                let place = lattice.place(sites, x);
                prop_assert!(place.osite < lattice.osites(sites) && place.lane < lattice.nsimd());
                prop_assert!(taken.insert(place));
                prop_assert_eq!(lattice.coordinate(sites, place), x);
            }
            prop_assert_eq!(taken.len(), lattice.osites(sites) * lattice.nsimd());
        }
    }

    /// Grid: osite = Σ ostride[d] (x[d] mod r[d]), lane = Σ istride[d] (x[d] / r[d]), with r outer sites and s virtual nodes in each
    /// dimension; on one parity, x/2 takes the place of x.
    #[test]
    fn places_are_those_of_grid(lattice in any_lattice(600)) {
        for &sites in sites_of(&lattice) {
            let halved = if sites == Sites::Full { 1 } else { 2 };
            let s = lattice.nodes().as_array();
            let mut r: [usize; DIMENSIONS] = std::array::from_fn(|d| lattice.extents()[d] / s[d]);
            r[0] /= halved;
            let ostride = [1, r[0], r[0] * r[1], r[0] * r[1] * r[2]];
            let istride = [1, s[0], s[0] * s[1], s[0] * s[1] * s[2]];
            for x in coordinates(lattice.extents()).filter(|&x| sites.contain(x)) {
                let h = [x[0] / halved, x[1], x[2], x[3]];
                let osite = (0..DIMENSIONS).map(|d| ostride[d] * (h[d] % r[d])).sum();
                let lane = (0..DIMENSIONS).map(|d| istride[d] * (h[d] / r[d])).sum();
                prop_assert_eq!(lattice.place(sites, x), Place { osite, lane });
            }
            prop_assert_eq!(lattice.outer_extents(sites), r);
        }
    }

    #[test]
    fn neighbours_are_those_of_the_torus(lattice in any_lattice(600)) {
        let extents = lattice.extents();
        for &sites in sites_of(&lattice) {
            let stencil = Stencil::new(lattice, sites).unwrap();
            prop_assert_eq!(stencil.osites(), lattice.osites(sites));
            for x in coordinates(extents).filter(|&x| sites.contain(x)) {
                for leg in Leg::all() {
                    let (d, l) = (leg.dimension(), extents[leg.dimension()]);
                    let mut there = x;
                    there[d] = (x[d] + if leg.is_forward() { 1 } else { l - 1 }) % l;
                    let crosses = x[d] == if leg.is_forward() { l - 1 } else { 0 };
                    prop_assert_eq!(extents.neighbour(x, leg), there);
                    prop_assert_eq!(
                        stencil.follow(lattice.place(sites, x), leg),
                        (lattice.place(sites.neighbours(), there), crosses),
                        "{:?}, {} sites, {:?} from {:?}", lattice, sites, leg, x
                    );
                }
            }
        }
    }

    #[test]
    fn default_cut_exists_where_any_does_and_is_grids_where_that_exists(
        (checkerboard, extents) in any_checkerboard().prop_flat_map(|c| (Just(c), any_extents(c, usize::MAX))),
        nsimd in select(vec![1usize, 2, 4, 8, 16, 32]),
    ) {
        let cuts = possible_cuts(extents, nsimd, checkerboard);
        match VirtualNodes::fit(extents, nsimd, checkerboard) {
            Err(error) => {
                prop_assert!(cuts.is_empty(), "{}", error);
                let nothing_larger_fits = (0..6).rev().map(|k| 1 << k).find(|&n| !possible_cuts(extents, n, checkerboard).is_empty());
                let largest = nothing_larger_fits.unwrap();
                prop_assert!(error.to_string().contains(&format!(": {largest} fit, as ")), "{}", error);
            }
            Ok(nodes) => {
                prop_assert!(cuts.contains(&nodes.as_array()));
                prop_assert_eq!(nodes.count(), nsimd);
                let largest = |cut: &[usize; DIMENSIONS]| *cut.iter().max().unwrap();
                prop_assert_eq!(largest(&nodes.as_array()), cuts.iter().map(largest).min().unwrap());
                if let Some(grid) = grid_default_simd(nsimd).filter(|cut| cuts.contains(cut)) {
                    prop_assert_eq!(nodes.as_array(), grid);
                }
            }
        }
    }

    #[test]
    fn auto_is_the_largest_width_up_to_64_that_fits(
        (checkerboard, extents) in any_checkerboard().prop_flat_map(|c| (Just(c), any_extents(c, 2000))),
        scalar in select(SCALARS.to_vec()),
    ) {
        let fits = |width: &LaneWidth| {
            width.bytes() <= 64
                && width.nsimd(scalar).is_ok_and(|nsimd| !possible_cuts(extents, nsimd, checkerboard).is_empty())
        };
        let expected = LaneWidth::ALL.into_iter().rev().find(fits);
        let found = Lattice::new(extents, scalar, options(LaneChoice::Auto, None, checkerboard));
        prop_assert_eq!(found.ok().map(|lattice| lattice.width()), expected);
    }

    #[test]
    fn launches_cover_every_outer_site_in_whole_groups(
        nsimd in select(vec![1usize, 2, 4, 8, 16, 32]),
        osites in 1usize..5000,
        threads in 1usize..=64,
    ) {
        let launch = LaunchGeometry::over_sites(nsimd, osites, AcceleratorThreads::new(threads).unwrap());
        prop_assert_eq!(launch.local, [nsimd, threads, 1]);
        prop_assert_eq!(launch.global, [nsimd, threads * launch.groups(), 1]);
        prop_assert!(launch.global[1] >= osites && launch.global[1] - osites < threads);
        prop_assert_eq!(launch.group_size(), nsimd * threads);
    }

    #[test]
    fn groups_of_a_reduction_share_its_stretches_evenly(
        elements in 0usize..100_000,
        stretch in 1usize..=2048,
        most in 1usize..2000,
    ) {
        let groups = reduction_groups(elements, stretch, most);
        prop_assert!((1..=most).contains(&groups));
        let stretches = elements.div_ceil(stretch);
        // No fewer rounds are possible with `most`, and no group is without work.
        prop_assert_eq!(stretches.div_ceil(groups), stretches.div_ceil(most));
        prop_assert!(groups <= stretches.max(1));
    }

    #[test]
    fn leg_orders_read_what_they_print(order in any_legs()) {
        prop_assert_eq!(order.to_string().parse(), Ok(order));
        let spaced: String = order.legs().iter().map(|leg| format!("{leg}, ")).collect();
        prop_assert_eq!(spaced.parse(), Ok(order));
    }

    #[test]
    fn extents_read_what_they_print(extents in any_extents(FullOnly, usize::MAX)) {
        prop_assert_eq!(extents.to_string().parse(), Ok(extents));
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "[-+−xyzt0-9., a-zé]{0,20}") {
        let _ = text.parse::<Extents>();
        let _ = text.parse::<LegOrder>();
        let _ = text.parse::<LaneChoice>();
        let _ = text.parse::<AcceleratorThreads>();
        let _ = text.parse::<BoundaryPhases>();
        let _ = text.parse::<Parity>();
    }
}

fn cut(extents: &str, width: usize, scalar: Scalar, checkerboard: Checkerboard) -> String {
    let lanes = LaneChoice::Width(LaneWidth::new(width).unwrap());
    let lattice = Lattice::new(common::extents(extents), scalar, options(lanes, None, checkerboard));
    lattice.unwrap().nodes().to_string()
}

#[test]
fn default_cuts_are_those_of_grids_examples() {
    for checkerboard in [FullOnly, RedBlack] {
        assert_eq!(cut("8.8.8.8", 64, Scalar::ComplexD, checkerboard), "1.1.2.2");
        assert_eq!(cut("8.8.8.8", 64, Scalar::ComplexF, checkerboard), "1.2.2.2");
        assert_eq!(cut("8.8.8.8", 64, Scalar::RealF, checkerboard), "2.2.2.2");
    }
}

#[test]
fn default_cut_goes_around_what_does_not_divide() {
    assert_eq!(cut("8.8.8.6", 32, Scalar::ComplexF, RedBlack), "1.2.2.1");
    assert_eq!(cut("8.8.8.6", 32, Scalar::ComplexF, FullOnly), "1.1.2.2");
    assert_eq!(cut("4.4.4.8", 256, Scalar::ComplexF, RedBlack), "2.2.2.4");
    assert_eq!(cut("2.2.2.16", 64, Scalar::ComplexF, RedBlack), "1.1.1.8");
}

#[test]
fn lane_counts_are_those_of_grid_at_64_bytes() {
    let width = LaneWidth::DEFAULT;
    assert_eq!(SCALARS.map(|scalar| width.nsimd(scalar).unwrap()), [16, 8, 8, 4]);
    assert_eq!(LaneWidth::ALL.map(|width| width.nsimd(Scalar::RealF).unwrap()), [2, 4, 8, 16, 32, 64]);
}

#[test]
fn neighbours_of_one_parity_have_the_other() {
    assert_eq!(ALL_SITES.map(Sites::neighbours), [Sites::Full, ALL_SITES[2], ALL_SITES[1]]);
    assert_eq!(Parity::of([1, 2, 3, 4]), Parity::Even);
    assert_eq!(Parity::of([1, 0, 0, 0]), Parity::Odd);
}

fn refusal(extents: &str, width: usize, nodes: Option<[usize; DIMENSIONS]>, checkerboard: Checkerboard) -> String {
    let lanes = LaneChoice::Width(LaneWidth::new(width).unwrap());
    let lattice = Lattice::new(common::extents(extents), Scalar::ComplexF, options(lanes, nodes, checkerboard));
    lattice.unwrap_err().to_string()
}

#[test]
fn refusals_say_what_would_be_possible() {
    assert_eq!(
        refusal("6.4.4.4", 32, Some([4, 1, 1, 1]), FullOnly),
        "extent 6 of x cannot be divided into 4 virtual nodes: possible are 1, 2"
    );
    assert_eq!(
        refusal("8.4.4.12", 32, Some([1, 1, 1, 4]), RedBlack),
        "extent 12 of t cannot be divided into 4 virtual nodes: possible are 1, 2 (each virtual node needs even extents)"
    );
    assert_eq!(
        refusal("8.4.4.4", 32, Some([2, 2, 2, 2]), FullOnly),
        "invalid lane layout '2.2.2.2' for 4 lanes: expected four numbers X.Y.Z.T with product 4"
    );
    assert_eq!(
        refusal("6.6.6.6", 32, None, RedBlack),
        "6.6.6.6 cannot be divided into 4 virtual nodes of even extents: 1 fit, as 1.1.1.1; take narrower lanes or a larger lattice"
    );
    assert_eq!(
        refusal("6.6.6.5", 128, None, FullOnly),
        "6.6.6.5 cannot be divided into 16 virtual nodes: 8 fit, as 2.2.2.1; take narrower lanes or a larger lattice"
    );
    assert_eq!(
        refusal("4.4.3.4", 8, None, RedBlack),
        "extent 3 of z is odd: even and odd sites need an even extent in every direction"
    );
}

#[test]
fn explicit_cuts_into_nothing_are_refused() {
    for nodes in [[0, 1, 1, 1], [0; 4], [usize::MAX, 2, 1, 1], [1 << 32, 1 << 32, 1, 1]] {
        assert!(refusal("4.4.4.4", 8, Some(nodes), FullOnly).contains("for 1 lanes: expected four numbers X.Y.Z.T"));
    }
}

#[test]
fn a_cut_says_how_wide_lanes_are() {
    let lattice = |lanes, nodes| {
        Lattice::new(common::extents("8.8.4.6"), Scalar::ComplexD, options(lanes, nodes, RedBlack))
            .map_err(|error| error.to_string())
    };
    let of_width = lattice(LaneChoice::Width(LaneWidth::new(128).unwrap()), Some([2, 2, 2, 1]));
    assert_eq!(lattice("2.2.2.1".parse().unwrap(), None), of_width);
    let possible =
        "extent 6 of t cannot be divided into 2 virtual nodes: possible are 1 (each virtual node needs even extents)";
    assert_eq!(lattice(LaneChoice::Cut([2, 2, 1, 2]), None).unwrap_err(), possible);
    let width = "invalid lane width '48': expected 8, 16, 32, 64, 128 or 256 bytes";
    assert_eq!(lattice(LaneChoice::Cut([3, 1, 1, 1]), None).unwrap_err(), width);
}

#[test]
fn lanes_in_space_are_as_many_and_cut_time_only_where_space_does_not_suffice() {
    let cut = |extents, bytes, checkerboard| {
        let lattice = |lanes| {
            Lattice::new(common::extents(extents), Scalar::ComplexF, options(lanes, None, checkerboard)).unwrap()
        };
        let width = LaneWidth::new(bytes).unwrap();
        let (in_space, by_default) = (lattice(LaneChoice::InSpace(width)), lattice(LaneChoice::UpTo(width)));
        assert_eq!(in_space.nsimd(), by_default.nsimd(), "{extents}");
        in_space.nodes().to_string()
    };
    assert_eq!(cut("32.32.32.64", 128, RedBlack), "16.1.1.1");
    assert_eq!(cut("24.24.24.48", 128, RedBlack), "4.4.1.1");
    assert_eq!(cut("16.16.32.32", 128, RedBlack), "8.2.1.1");
    assert_eq!(cut("16.16.32.32", 64, RedBlack), "4.2.1.1");
    assert_eq!(cut("4.8.8.8", 128, RedBlack), "2.4.2.1");
    assert_eq!(cut("4.4.4.4", 128, RedBlack), "2.2.2.2");
    assert_eq!(cut("4.4.4.4", 256, FullOnly), "4.4.2.1");
    assert_eq!(cut("6.6.6.8", 128, FullOnly), "2.2.2.2");
    assert_eq!(cut("2.2.2.16", 128, RedBlack), "1.1.1.8");
}

#[test]
fn too_narrow_lanes_are_refused() {
    let error = LaneWidth::new(8).unwrap().nsimd(Scalar::ComplexD).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a lane width of 8 bytes is too small for ComplexD, which has 16 bytes: use at least 16"
    );
}

#[test]
fn parities_need_a_red_black_lattice() {
    let extents = common::extents("4.4.4.4");
    let lattice = Lattice::new(extents, Scalar::ComplexF, options(LaneChoice::Auto, None, FullOnly)).unwrap();
    let error = Stencil::new(lattice, Sites::Parity(Parity::Odd)).unwrap_err();
    assert_eq!(error, LayoutError::NotRedBlack { extents: "4.4.4.4".to_owned() });
}

#[test]
fn what_is_no_lattice_is_refused() {
    for text in [
        "",
        "4",
        "4.4.4",
        "4.4.4.4.4",
        "0.4.4.4",
        "4.4.4.-4",
        "4.4.4.x",
        "4.4.4.",
        "46341.46341.1.1",
        "65536.65536.65536.65536",
    ] {
        let error = text.parse::<Extents>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("invalid lattice '{text}': expected four extents X.Y.Z.T")), "{error}");
    }
    assert!("46340.46340.1.1".parse::<Extents>().is_ok());
}

#[test]
fn what_is_no_lane_width_is_refused() {
    for text in ["", "0", "4", "12", "512", "-8", "wide", "2.2.2", "2.2.2.0"] {
        let error = text.parse::<LaneChoice>().unwrap_err().to_string();
        assert_eq!(error, format!("invalid lane width '{text}': expected 8, 16, 32, 64, 128 or 256 bytes"));
    }
    for text in ["auto", "8", "16", "32", "64", "128", "256", "2.2.2.1"] {
        assert_eq!(text.parse::<LaneChoice>().unwrap().to_string(), text);
    }
}

#[test]
fn what_is_no_leg_order_is_refused() {
    assert_eq!(LegOrder::DEFAULT.to_string(), "-t-y-z+t+y+z-x+x");
    for text in
        ["", "-t", "-t-y-z+t+y+z-x-x", "-t-y-z+t+y+z-x+x+x", "-t-y-z+t+y+z-x+w", "t-y-z+t+y+z-x+x", "tttttttttttttttt"]
    {
        let error = text.parse::<LegOrder>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "invalid leg order '{text}': expected each of -x +x -y +y -z +z -t +t once, as in -t-y-z+t+y+z-x+x"
            )
        );
    }
    assert!(LegOrder::new([Leg::forward(0); 8]).is_err());
}

#[test]
fn boundary_phases_read_what_they_print() {
    for mask in 0..16u32 {
        let phases = BoundaryPhases::antiperiodic(std::array::from_fn(|d| mask >> d & 1 == 1));
        assert_eq!(phases.to_string().parse(), Ok(phases));
        assert_eq!(phases.mask(), mask);
    }
    assert_eq!(BoundaryPhases::FIXED_IN_TIME.to_string(), "1,1,1,0");
    assert_eq!("1,1,1,0".parse(), Ok(BoundaryPhases::FIXED_IN_TIME));
    assert_eq!("1, 1, +1, -1".parse(), Ok(BoundaryPhases::ANTIPERIODIC_IN_TIME));
    for text in [
        "",
        "1,1,1",
        "1,1,1,1,1",
        "1,1,1,2",
        "1,1,1,i",
        "1 1 1 1",
        "1,1,1,0.5",
        "1,1,1,nanpi",
        "1,1,1,infpi",
        "1,1,1,1e999pi",
        "1,1,1,pi/0",
        "1,1,1,pi/",
        "1,1,1,pi4",
    ] {
        assert!(
            text.parse::<BoundaryPhases>()
                .unwrap_err()
                .to_string()
                .starts_with(&format!("invalid boundary phases '{text}': expected four"))
        );
    }
}

#[test]
fn phases_of_angles_are_reduced_and_exact_at_quarter_turns() {
    let phase = |text: &str| text.parse::<Phase>().unwrap();
    for (text, printed) in [
        ("0.25pi", "0.25pi"),
        ("-1.75pi", "0.25pi"),
        (" 9 pi / 4 ", "0.25pi"),
        ("pi/3", "0.3333333333333333pi"),
        ("-pi/2", "-0.5pi"),
        ("1e-7pi", "1e-7pi"),
        ("pi", "-1"),
        ("-pi", "-1"),
        ("3pi", "-1"),
        ("0pi", "1"),
        ("-2pi", "1"),
        ("1e300pi", "1"),
    ] {
        assert_eq!(phase(text).to_string(), printed, "{text}");
        assert_eq!(phase(printed), phase(text), "{text}");
    }
    let z = Complex::new(0.3, -0.7);
    assert_eq!(phase("0.5pi").times(z), z * Complex::I);
    assert_eq!(phase("-0.5pi").times(z), z * -Complex::I);
    assert_eq!(phase("-1").times(z), -z);
    // Several crossings, and the way back.
    for (text, crossings, product) in [
        ("pi/4", 3, "0.75pi"),
        ("pi/4", -1, "-0.25pi"),
        ("0.5pi", 2, "-1"),
        ("0.5pi", 3, "-0.5pi"),
        ("-1", 2, "1"),
        ("-1", -3, "-1"),
        ("0", -3, "0"),
        ("0", 0, "1"),
    ] {
        assert_eq!(phase(text).of_crossings(crossings), phase(product), "{text}, {crossings}");
    }
    for k in -100..=100 {
        let a = f64::from(k) / 100.0;
        let (found, expected) = (cis_pi(a), Complex::cis(std::f64::consts::PI * a));
        assert!((found - expected).norm() < 4e-16, "{a}: {found}");
        assert_eq!(found.conj(), cis_pi(-a));
        let [read, phase] = [Phase::of_number(found), Phase::of_angle(a)].map(|phase| phase.unwrap().angle());
        assert!((read - phase).abs() < 4e-16, "{a}: {read}");
    }
    assert_eq!(Phase::of_number(Complex::cis(2.0 * std::f64::consts::PI)), Some(Phase::Periodic));
    assert_eq!(Phase::of_number(Complex::new(0.0, -0.0)), Some(Phase::Fixed));
    assert_eq!(Phase::of_number(Complex::new(0.5, 0.0)), None);
    assert_eq!(Phase::of_number(Complex::new(f64::NAN, 0.0)), None);
}

#[test]
fn link_formats_and_parities_read_what_they_print() {
    for format in LinkFormat::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    assert_eq!(
        "9".parse::<LinkFormat>().unwrap_err().to_string(),
        "invalid reconstruct '9': expected 18 (full), 12 (two rows) or 8 (an SU(3) matrix)"
    );
    for parity in Parity::BOTH {
        assert_eq!(parity.to_string().parse(), Ok(parity));
    }
    assert_eq!("red".parse::<Parity>().unwrap_err().to_string(), "invalid parity 'red': expected even or odd");
}

#[test]
fn accelerator_threads_are_1_to_1024() {
    for text in ["", "0", "1025", "-1", "eight"] {
        let error = text.parse::<AcceleratorThreads>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!("invalid number of accelerator threads '{text}' (outer sites of a work-group): expected 1 to 1024")
        );
    }
    assert_eq!("1024".parse::<AcceleratorThreads>().unwrap().get(), 1024);
    assert_eq!(AcceleratorThreads::default().to_string(), "8");
}
