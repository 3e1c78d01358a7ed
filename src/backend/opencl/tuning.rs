//! The choices by which stencil kernels are built and launched, beside the access width: none changes a bit of any result. Each has a default
//! that depends on the device and on the kernel; each can be overridden. Counterparts: `cl/access.clh`, `cl/traversal.clh`,
//! `cl/accelerator.clh`.

use lanefield_reference::layout::DIMENSIONS;

use super::{DeviceInfo, DeviceKind};

/// How links, and the blocks of a clover term, are loaded: each is read once by one work-item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinkLoads {
    /// As all else.
    Cached,
    /// Past the nearest cache, which then keeps neighbours' spinors, where the compiler has a way to say so (NVIDIA's PTX, and clang's
    /// non-temporal loads); else as all else.
    PastL1,
}

/// How results are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stores {
    /// As all else.
    Cached,
    /// As data that are not read again soon, where the compiler has a way to say so; else as all else.
    Streaming,
}

/// Which outer sites a work-group takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Walk {
    /// Those of its place in the launch, and no others.
    EachGroupOnce,
    /// As many groups are launched as run at the same time, and each walks over the sites. The number of groups a compute unit holds; `None`: what
    /// its registers allow, where the driver tells how many the kernel takes (NVIDIA's), else as [`Self::EachGroupOnce`].
    Persistent(Option<usize>),
}

/// In which order outer sites are launched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Traversal {
    /// That of the memory.
    Memory,
    /// Block by block, each of so many outer sites in x, y, z and t (of one parity: half as many in x). Blocks that do not divide the lattice are
    /// made smaller until they do.
    Blocks([usize; DIMENSIONS]),
}

/// What is chosen; `None`: the default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tuning {
    /// How links are loaded.
    pub link_loads: Option<LinkLoads>,
    /// How results are stored.
    pub stores: Option<Stores>,
    /// Which outer sites a group takes.
    pub walk: Option<Walk>,
    /// In which order.
    pub traversal: Option<Traversal>,
}

/// The choices for one kernel, as it is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Build {
    pub link_loads: LinkLoads,
    pub stores: Stores,
    pub persistent: bool,
    /// Extents of the outer lattice, and of a block.
    pub blocks: Option<[[usize; DIMENSIONS]; 2]>,
    /// Whether the compiler is to say what a kernel takes.
    pub verbose: bool,
}

impl Build {
    /// `walk`, `traversal`: the defaults of the kernel on GPUs. `outer`: extents of the outer lattice.
    pub fn new(
        tuning: Tuning,
        device: &DeviceInfo,
        (walk, traversal): (Walk, Traversal),
        outer: [usize; DIMENSIONS],
    ) -> Self {
        let cpu = device.kind == DeviceKind::Cpu;
        let default = |on_gpus, on_cpus| if cpu { on_cpus } else { on_gpus };
        let walk = tuning.walk.unwrap_or(if cpu { Walk::EachGroupOnce } else { walk });
        let blocks = match tuning.traversal.unwrap_or(if cpu { Traversal::Memory } else { traversal }) {
            Traversal::Memory => None,
            Traversal::Blocks(wanted) => {
                let block: [usize; DIMENSIONS] = std::array::from_fn(|mu| largest_divisor(outer[mu], wanted[mu]));
                (block[..] != outer[..]).then_some([outer, block])
            }
        };
        let persistent = matches!(walk, Walk::Persistent(_));
        Self {
            link_loads: tuning.link_loads.unwrap_or_else(|| if cpu { LinkLoads::Cached } else { LinkLoads::PastL1 }),
            stores: tuning.stores.unwrap_or(if cpu { Stores::Cached } else { Stores::Streaming }),
            persistent,
            blocks,
            verbose: persistent && default(device.tells_registers(), false),
        }
    }

    pub fn options(&self) -> String {
        let mut options = String::new();
        if self.link_loads == LinkLoads::PastL1 {
            options += " -DLINKS_PAST_L1";
        }
        if self.stores == Stores::Streaming {
            options += " -DSTREAMING_STORES";
        }
        if self.persistent {
            options += " -DPERSISTENT";
        }
        if let Some([outer, block]) = self.blocks {
            for (mu, name) in ["X", "Y", "Z", "T"].into_iter().enumerate() {
                options += &format!(" -DOUTER_{name}={} -DTRAVERSAL_BLOCK_{name}={}", outer[mu], block[mu]);
            }
        }
        if self.verbose {
            options += " -cl-nv-verbose";
        }
        options
    }
}

/// The largest divisor of `extent` that is at most `most`, at least 1.
fn largest_divisor(extent: usize, most: usize) -> usize {
    (1..=most.clamp(1, extent)).rev().find(|&divisor| extent.is_multiple_of(divisor)).unwrap_or(1)
}

/// Registers a compute unit of NVIDIA's GPUs has since compute capability 3.5, in units of which a warp of 32 takes a multiple of 8.
const REGISTERS: usize = 65536;
/// Work-items that a compute unit holds at most (2048 on the larger GPUs of each generation since Kepler).
const MOST_WORK_ITEMS: usize = 2048;

/// Groups of `work_items` that a compute unit of an NVIDIA GPU holds, as registers allow, and `local_bytes` of `local_memory`. At least 1.
pub(super) fn resident_groups(registers: usize, work_items: usize) -> usize {
    let warps = work_items.div_ceil(32).max(1);
    let by_registers = REGISTERS / (registers.next_multiple_of(8).max(8) * 32 * warps);
    by_registers.min(MOST_WORK_ITEMS / (32 * warps)).max(1)
}

/// Registers a work-item of `kernel`, as the log of NVIDIA's compiler tells them.
pub(super) fn registers_in(log: &str, kernel: &str) -> Option<usize> {
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
            [(108, 128, 4), (85, 128, 5), (142, 128, 3), (244, 256, 1), (108, 256, 2)]
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
    fn blocks_divide_the_lattice() {
        assert_eq!([largest_divisor(12, 8), largest_divisor(7, 4), largest_divisor(4, 16)], [6, 1, 4]);
    }
}
