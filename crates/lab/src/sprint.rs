//! The successive changes of a study of a clover stencil on AMD's GPUs (EmPRiSM, a mentored sprint at Pawsey), as tuning choices of Lanefield's
//! kernels:
//!
//! - where the hop is accumulated, and the leg order;
//! - launch bounds;
//! - neighbours in local memory, and accesses that bypass the caches;
//! - subdomains.
//!
//! It also measures the cost of two things that Lanefield does not give up: its mapping of work-items, and its bits.

use lanefield::backend::opencl::{
    Accumulators, GridStride, GroupSize, LinkLoads, Mapping, Neighbours, SiteOrder, Stores, Traversal, Tuning,
};
use lanefield_reference::layout::{AcceleratorThreads, DIMENSIONS, LayoutError, LegOrder};

use super::orders::{POINTS, SPRINT};
use super::study::Way;

pub const LATTICES: [[usize; DIMENSIONS]; 3] = [[16, 16, 16, 32], [32, 32, 32, 64], [48, 48, 48, 64]];
/// Numbers of subdomains in x, y and z.
pub(crate) const SUBDOMAINS: [[usize; 3]; 4] = [[8, 4, 4], [4, 4, 4], [8, 8, 4], [1, 1, 1]];
/// Registers per work-item under the launch bounds: two groups of 256 fit a compute unit of an NVIDIA GPU.
const REGISTERS: u32 = 128;
/// Work-items per group if neighbours are kept in local memory.
const LARGE_GROUP: usize = 512;

#[derive(Clone, Copy, Debug)]
pub struct StageSetup {
    pub threads: AcceleratorThreads,
    /// Outer sites of a result on one parity, in each direction.
    pub outer: [usize; DIMENSIONS],
    pub variants: bool,
    /// Whether the compiler supports launch bounds.
    pub bounds: bool,
    pub lanes: usize,
    /// The largest group, in work-items, that can hold a spinor for each in local memory.
    pub most_work_items: usize,
}

/// The stages. Each includes the changes of those before it, with these exceptions:
///
/// - stages named `with …` are not carried over;
/// - each division into blocks or subdomains replaces the one before. Blocks are visited one after the other in unchanged memory; subdomains change
///   the layout of memory.
///
/// The last stage is Lanefield's default. A backend with only one variant of a kernel has just the leg orders.
pub fn stages(setup: StageSetup) -> Result<Vec<Way>, LayoutError> {
    let StageSetup { threads, outer, variants, bounds, lanes, most_work_items } = setup;
    let base = Tuning {
        accelerator_threads: Some(threads),
        link_loads: Some(LinkLoads::Cached),
        stores: Some(Stores::Cached),
        grid_stride: Some(GridStride::Off),
        traversal: Some(Traversal::Memory),
        mapping: Some(Mapping::LaneFast),
        group_size: Some(GroupSize::Any),
        max_registers: Some(0),
        accumulators: Some(Accumulators::Registers),
        neighbours: Some(Neighbours::Registers),
        ..Tuning::OPEN
    };
    let in_local_memory = Tuning { accumulators: Some(Accumulators::LocalMemory), ..base };
    let past_caches = Tuning { link_loads: Some(LinkLoads::PastL1), stores: Some(Stores::Streaming), ..base };
    let (points, reordered) = (POINTS.parse()?, SPRINT.parse()?);

    let of_legs = |name: String, tuning, legs| Way { name, tuning, legs, relaxed_math: false };
    let stage = |name: &str, tuning| of_legs(name.to_owned(), tuning, reordered);
    let default = of_legs("Lanefield's defaults".to_owned(), Tuning::OPEN, LegOrder::DEFAULT);
    if !variants {
        let with_legs = |order: &str, legs| of_legs(format!("legs {order}"), Tuning::OPEN, legs);
        return Ok(vec![with_legs(POINTS, points), with_legs(SPRINT, reordered), default]);
    }
    let mut stages = vec![
        of_legs("accumulators in local memory".to_owned(), in_local_memory, points),
        of_legs("accumulators in registers".to_owned(), base, points),
        stage(&format!("+ legs {SPRINT}"), base),
    ];
    let sized = Tuning { group_size: Some(GroupSize::Required), ..base };
    stages.push(stage("with launch bounds: groups of required size", sized));
    if bounds {
        let bounded = Tuning { max_registers: Some(REGISTERS), ..base };
        stages.push(stage(&format!("with launch bounds: at most {REGISTERS} registers"), bounded));
    }
    let in_large_groups = AcceleratorThreads::new(power_of_two_in(LARGE_GROUP.min(most_work_items) / lanes))?;
    let staged =
        Tuning { accelerator_threads: Some(in_large_groups), neighbours: Some(Neighbours::LocalMemory), ..sized };
    let name = format!("with neighbours in local memory, {} work-items", in_large_groups.get() * lanes);
    stages.push(stage(&name, staged));
    stages.push(stage("with site-fast mapping", Tuning { mapping: Some(Mapping::SiteFast), ..base }));
    stages.push(Way { relaxed_math: true, ..stage("with relaxed math (NOT BIT-TRUE)", base) });
    stages.push(stage("+ non-temporal accesses", past_caches));
    let in_words = |number: [usize; 3]| number.map(|n| n.to_string()).join(".");
    for number in SUBDOMAINS.into_iter().filter(|number| *number != [1; 3]) {
        let traversal = Some(Traversal::Blocks(block(outer, number)));
        let name = format!("+ visited in {} blocks", in_words(number));
        stages.push(stage(&name, Tuning { traversal, ..past_caches }));
    }
    for number in SUBDOMAINS {
        let [x, y, z] = number;
        let site_order = Some(SiteOrder::Subdomains([x, y, z, 1]));
        let name = format!("+ {} subdomains", in_words(number));
        stages.push(stage(&name, Tuning { site_order, ..past_caches }));
    }
    stages.push(default);
    Ok(stages)
}

/// The largest power of two that is at most `number`, and at least 1.
fn power_of_two_in(number: usize) -> usize {
    number.checked_ilog2().map_or(1, |power| 1 << power)
}

/// Outer sites of one of this number of blocks in x, y and z; time is not divided.
fn block([x, y, z, t]: [usize; DIMENSIONS], [in_x, in_y, in_z]: [usize; 3]) -> [usize; DIMENSIONS] {
    [(x, in_x), (y, in_y), (z, in_z), (t, 1)].map(|(extent, number)| (extent / number).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a device whose groups of 1024 work-items hold a spinor each in local memory.
    fn setup(variants: bool, bounds: bool) -> StageSetup {
        let (threads, outer) = (AcceleratorThreads::DEFAULT, [8; 4]);
        StageSetup { threads, outer, variants, bounds, lanes: 8, most_work_items: 1024 }
    }

    fn names(variants: bool, bounds: bool) -> Vec<String> {
        let setup = setup(variants, bounds);
        stages(setup).unwrap().into_iter().map(|stage| stage.name).collect()
    }

    #[test]
    fn subdomains_share_the_lattice_among_them() {
        assert_eq!(
            SUBDOMAINS.map(|number| block([8, 16, 16, 64], number)),
            [[1, 4, 4, 64], [2, 4, 4, 64], [1, 2, 4, 64], [8, 16, 16, 64]]
        );
        assert_eq!(block([4, 2, 8, 3], [8, 4, 4]), [1, 1, 2, 3]);
    }

    #[test]
    fn the_stages_are_those_of_the_sprint_in_its_order() {
        let expected = [
            "accumulators in local memory",
            "accumulators in registers",
            "+ legs -y-z-t+y+z+t-x+x",
            "with launch bounds: groups of required size",
            "with neighbours in local memory, 512 work-items",
            "with site-fast mapping",
            "with relaxed math (NOT BIT-TRUE)",
            "+ non-temporal accesses",
            "+ visited in 8.4.4 blocks",
            "+ visited in 4.4.4 blocks",
            "+ visited in 8.8.4 blocks",
            "+ 8.4.4 subdomains",
            "+ 4.4.4 subdomains",
            "+ 8.8.4 subdomains",
            "+ 1.1.1 subdomains",
            "Lanefield's defaults",
        ];
        assert_eq!(names(true, false), expected);
        // Launch bounds are a stage if the compiler supports them.
        let mut with_bounds = names(true, true);
        assert_eq!(with_bounds.remove(4), "with launch bounds: at most 128 registers");
        assert_eq!(with_bounds, expected);
        // If there is only one variant of a kernel, the orders remain.
        assert_eq!(names(false, false), [&format!("legs {POINTS}"), &format!("legs {SPRINT}"), "Lanefield's defaults"]);
    }

    #[test]
    fn neighbours_wait_in_groups_as_large_as_local_memory_allows() {
        let staged = |most_work_items, lanes| {
            let stages = stages(StageSetup { most_work_items, lanes, ..setup(true, false) }).unwrap();
            let of_neighbours = |stage: &&Way| stage.tuning.neighbours == Some(Neighbours::LocalMemory);
            let found: Vec<_> = stages.iter().filter(of_neighbours).map(|stage| (&stage.name, stage.tuning)).collect();
            let [(name, tuning)] = found[..] else { panic!("{found:?}") };
            assert_eq!(tuning.group_size, Some(GroupSize::Required));
            (tuning.accelerator_threads.unwrap().get(), name.clone())
        };
        let named = |work_items| format!("with neighbours in local memory, {work_items} work-items");
        assert_eq!(staged(1024, 8), (64, named(512)));
        assert_eq!(staged(1024, 16), (32, named(512)));
        assert_eq!(staged(341, 8), (32, named(256)));
        assert_eq!(staged(1, 8), (1, named(8)));
    }

    #[test]
    fn relaxed_math_is_in_one_stage_and_named() {
        let mut stages = stages(setup(true, true)).unwrap();
        stages.retain(|stage| stage.relaxed_math);
        assert!(stages.len() == 1 && stages[0].name.contains("NOT BIT-TRUE"), "{stages:?}");
    }
}
