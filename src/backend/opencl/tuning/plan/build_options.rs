//! The build of a stencil kernel: what was chosen for it, as build options. Counterparts: `cl/access.clh`, `cl/traversal.clh`, `cl/accelerator.clh`.

use lanefield_reference::layout::{BlockOrder, DIMENSIONS};

use crate::backend::opencl::device::DeviceInfo;
use crate::backend::opencl::tuning::choices::{GridStride, LinkLoads, Mapping, Stores, Traversal};
use crate::backend::opencl::tuning::neighbours::Stage;

/// The choices for one kernel, as it is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Build {
    pub link_loads: LinkLoads,
    pub stores: Stores,
    pub grid_stride: bool,
    /// 0: as the compiler likes.
    pub max_registers: u32,
    /// The order of a launch, where it is not that of the memory.
    pub blocks: Option<BlockOrder>,
    pub mapping: Mapping,
    /// The only size of groups.
    pub group: Option<[usize; 3]>,
    /// Whether a part of the links is asked to stay in the last cache.
    pub keeps_links: bool,
    /// Where neighbours' spinors wait, if not in registers.
    pub stage: Option<Stage>,
    /// Bytes of the links that a group shares, 0 where it shares none.
    pub shared_links: usize,
    /// Whether arithmetic is relaxed: for a study alone, since its bits are not the reference's.
    pub relaxed: bool,
    /// Whether the compiler is to say what a kernel takes.
    pub verbose: bool,
}

impl Build {
    /// `outer`: extents of the outer lattice, where the memory has its order.
    pub(crate) fn new(
        (link_loads, stores, grid_stride, traversal): (LinkLoads, Stores, GridStride, Traversal),
        max_registers: u32,
        device: &DeviceInfo,
        outer: Option<[usize; DIMENSIONS]>,
    ) -> Self {
        let blocks = match (traversal, outer) {
            (Traversal::Blocks(wanted), Some(outer)) => Some(BlockOrder::of_extents(outer, wanted)),
            _ => None,
        };
        let blocks = blocks.filter(|blocks| !blocks.is_lexicographic());
        let grid_stride = grid_stride != GridStride::Off;
        let nvidia = device.takes_nvidia_options();
        let max_registers = if nvidia { max_registers } else { 0 };
        let (mapping, group, relaxed) = (Mapping::LaneFast, None, false);
        let (stage, shared_links) = (None, 0);
        let verbose = grid_stride && nvidia;
        let keeps_links = link_loads == LinkLoads::Kept && device.keeps_what_is_asked();
        Self {
            link_loads,
            keeps_links,
            stores,
            grid_stride,
            max_registers,
            blocks,
            mapping,
            group,
            stage,
            shared_links,
            relaxed,
            verbose,
        }
    }

    pub(crate) fn options(&self) -> String {
        let mut options = String::new();
        options += match self.link_loads {
            LinkLoads::Cached => "",
            LinkLoads::PastL1 | LinkLoads::Kept => " -DLINKS_PAST_L1",
            LinkLoads::Ahead => " -DLINKS_ASKED_FOR",
        };
        if self.keeps_links {
            options += " -DLINKS_KEPT";
        }
        if self.stores == Stores::Streaming {
            options += " -DSTREAMING_STORES";
        }
        if self.grid_stride {
            options += " -DPERSISTENT";
        }
        if let Some(blocks) = &self.blocks {
            options += &block_options(blocks, "TRAVERSAL_BLOCK");
        }
        if self.mapping == Mapping::SiteFast {
            options += " -DSITE_FAST";
        }
        if let Some([x, y, z]) = self.group {
            options += &format!(" -DGROUP_X={x} -DGROUP_Y={y} -DGROUP_Z={z}");
        }
        if let Some(stage) = self.stage {
            options += &stage.options();
        }
        if self.shared_links > 0 {
            options += " -DLINKS_SHARED";
        }
        if self.relaxed {
            options += " -DRELAXED_MATH -cl-fast-relaxed-math";
        }
        if self.max_registers > 0 {
            options += &format!(" -cl-nv-maxrregcount={}", self.max_registers);
        }
        if self.verbose {
            options += " -cl-nv-verbose";
        }
        options
    }
}

/// Extents of the outer lattice, and of its blocks under the names `block`_X … `block`_T.
pub(crate) fn block_options(blocks: &BlockOrder, block: &str) -> String {
    let extents = blocks.outer().into_iter().zip(blocks.block());
    let options = ["X", "Y", "Z", "T"].into_iter().zip(extents);
    options.map(|(name, (outer, extent))| format!(" -DOUTER_{name}={outer} -D{block}_{name}={extent}")).collect()
}

/// Parts of a compute unit of NVIDIA's GPUs, each of which has registers and warps of its own.
const PARTITIONS: usize = 4;
/// Registers of a partition since compute capability 5.0; a warp of 32 work-items takes a multiple of 8 for each.
const REGISTERS: usize = 16384;
/// Warps that a partition holds at most (the larger GPUs of each generation).
const MOST_WARPS: usize = 16;

/// Groups of `work_items` that a compute unit of an NVIDIA GPU holds, as registers allow, at least 1.
pub(crate) fn resident_groups(registers: usize, work_items: usize) -> usize {
    let warps = REGISTERS / (registers.next_multiple_of(8).max(8) * 32);
    (PARTITIONS * warps.min(MOST_WARPS) / work_items.div_ceil(32).max(1)).max(1)
}

/// Registers a work-item of `kernel`, as the log of NVIDIA's compiler tells them.
pub fn registers_in(log: &str, kernel: &str) -> Option<usize> {
    let of_kernel = log.split_once(&format!("'{kernel}'"))?.1;
    let number = of_kernel.split_once("Used ")?.1.split_whitespace().next()?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Compiling entry function 'hop_dagger' for 'sm_90'\n\
        ptxas info    : Function properties for hop_dagger\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 90 registers, 424 bytes cmem[0]\n\
        ptxas info    : Compiling entry function 'hop' for 'sm_90'\n\
        ptxas info    : Used 108 registers, 424 bytes cmem[0]\n";

    #[test]
    fn registers_are_those_of_the_kernel_asked_for() {
        assert_eq!(registers_in(LOG, "hop"), Some(108));
        assert_eq!(registers_in(LOG, "hop_dagger"), Some(90));
        assert_eq!(registers_in(LOG, "hop_many"), None);
    }

    #[test]
    fn resident_groups_are_those_that_ran_best_on_an_h200() {
        // (registers, work-items, groups): the fastest persistent launches there.
        for (registers, work_items, groups) in
            [(108, 128, 4), (85, 128, 5), (142, 128, 3), (142, 64, 6), (244, 256, 1), (108, 256, 2)]
        {
            assert_eq!(
                resident_groups(registers, work_items),
                groups,
                "{registers} registers, {work_items} work-items"
            );
        }
        assert_eq!(resident_groups(16, 1024), 2);
        assert_eq!(resident_groups(255, 1024), 1);
    }

    #[test]
    fn a_build_names_what_was_chosen_and_blocks_that_are_no_order_of_their_own_are_none() {
        let device = crate::backend::opencl::device::testing::device("NVIDIA H200");
        let build = |block, outer| {
            let choices = (LinkLoads::Cached, Stores::Cached, GridStride::Off, Traversal::Blocks(block));
            Build::new(choices, 0, &device, outer)
        };
        let outer = Some([4, 8, 8, 8]);
        let of_one_size = Build { group: Some([8, 4, 1]), mapping: Mapping::SiteFast, ..build([8, 8, 8, 2], outer) };
        assert_eq!(of_one_size.options(), " -DSITE_FAST -DGROUP_X=8 -DGROUP_Y=4 -DGROUP_Z=1");
        let blocks = build([2, 2, 8, 8], outer).options();
        assert!(blocks.contains("-DOUTER_Z=8 -DTRAVERSAL_BLOCK_Z=8") && blocks.contains("-DTRAVERSAL_BLOCK_X=2"));
        // Where the memory has subdomains, launches follow it.
        assert_eq!(build([2, 2, 8, 8], None).options(), "");
    }
}
