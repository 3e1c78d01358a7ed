//! Device memory for sums.

use lanefield_reference::exact;
use lanefield_reference::kernels::reduce::Sum;

use super::memory::Buffer;
use super::queue::{Arg, Context};
use super::tuning::{COUNTS_AT_ONCE, Reduction};
use crate::backend::BackendError;

/// The number of 64-bit words of a spilled sum: limbs, three counts, and whether there is a spilled part.
pub(crate) const SPILL_WORDS: usize = exact::LIMBS + 4;
/// The number of doubles of a finished exact sum: high, low, spilled. Other sums have one.
pub(crate) const EXACT_RESULT: usize = 3;
pub(crate) const TREE_RESULT: usize = 1;

/// Device memory for sums. It is kept, and enlarged when needed. `spills` and the counts in `retired` are zero between sums. After the
/// counts come the data that `cl/sum_in_launch.clh` keeps from one launch to the next.
pub(crate) struct Workspace {
    partials: Buffer,
    pub result: Buffer,
    retired: Buffer,
    pub spills: Buffer,
}

impl Workspace {
    fn new(context: &Context, sizes: [usize; 4]) -> Result<Self, BackendError> {
        let [partials, result, retired, spills] = sizes;
        let workspace = Self {
            partials: context.allocate_anywhere(partials, "sums of work-groups")?,
            result: context.allocate_anywhere(result, "finished sums")?,
            retired: context.allocate_anywhere(retired, "counts of retired work-groups")?,
            spills: context.allocate_anywhere(spills, "spilled sums")?,
        };
        context.fill_zero(&workspace.retired)?;
        context.fill_zero(&workspace.spills)?;
        Ok(workspace)
    }

    fn sizes(&self) -> [usize; 4] {
        [&self.partials, &self.result, &self.retired, &self.spills].map(Buffer::bytes)
    }

    /// The workspace, enlarged if a sum needs it.
    pub(crate) fn for_sum<'w>(
        held: &'w mut Option<Self>,
        context: &Context,
        work: &Reduction<'_>,
        groups: usize,
    ) -> Result<&'w Self, BackendError> {
        let sums = work.a_row * work.rows * work.planes;
        let wanted = [
            2 * size_of::<f64>() * sums * groups,
            EXACT_RESULT * size_of::<f64>() * sums,
            size_of::<u32>() * (work.rows * work.planes).max(1 + COUNTS_AT_ONCE),
            match work.sum {
                Sum::Exact => SPILL_WORDS * size_of::<u64>() * sums,
                Sum::Tree(_) => 0,
            },
        ];
        let sizes = held.as_ref().map_or([0; 4], Self::sizes);
        if sizes.iter().zip(wanted).any(|(&has, wants)| has < wants) {
            // The old workspace is released first, so that both need not fit.
            *held = None;
        }
        match held {
            Some(workspace) => Ok(workspace),
            none => Ok(none.insert(Self::new(context, std::array::from_fn(|k| sizes[k].max(wanted[k])))?)),
        }
    }

    /// The last arguments of a kernel that sums. `exchange`: local memory, in bytes.
    pub(crate) fn arguments(&self, exchange: usize) -> [Arg<'_>; 5] {
        let Self { partials, result, retired, spills } = self;
        let [partials, result, retired, spills] = [partials, result, retired, spills].map(Arg::Buffer);
        [partials, result, retired, spills, Arg::Local(exchange)]
    }
}
