//! How a device computes sums, as far as this can be chosen.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::layout::AcceleratorThreads;

/// The maximum number of words of a bundle.
const MOST_BUNDLE: usize = 1024;
/// The default number of words of a bundle: for exact sums, which keep four doubles for each word, and for tree sums. It is the fastest on
/// an H200.
const EXACT_BUNDLE: usize = 3;
const TREE_BUNDLE: usize = 2;

/// How the words of large objects are summed. The result is the same in every form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SumForm {
    /// This number of consecutive words is loaded and reduced in place at a time: one pass over memory.
    Fused(usize),
    /// This number of words is first packed into a buffer at a time: three passes over memory.
    Staged(usize),
    /// One work-item loops over all words of a site. The bundle is not in registers, which cannot hold it.
    SerialWords,
}

impl SumForm {
    /// The default for tree sums of words: the fastest on an H200.
    pub const FASTEST_TREE: Self = Self::Fused(TREE_BUNDLE);
    /// The default for exact sums of words.
    pub const FASTEST_EXACT: Self = Self::Fused(EXACT_BUNDLE);
}

impl fmt::Display for SumForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fused(words) => write!(f, "fused:{words}"),
            Self::Staged(words) => write!(f, "staged:{words}"),
            Self::SerialWords => f.write_str("serial-words"),
        }
    }
}

impl FromStr for SumForm {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let words = |text: &str| text.parse().ok().filter(|&words: &usize| (1..=MOST_BUNDLE).contains(&words));
        let form = match text.split_once(':') {
            Some(("fused", number)) => words(number).map(Self::Fused),
            Some(("staged", number)) => words(number).map(Self::Staged),
            _ if text == "serial-words" => Some(Self::SerialWords),
            _ => None,
        };
        form.ok_or_else(|| {
            format!("invalid form of a sum '{text}': expected fused:R, staged:R (R words, 1 to {MOST_BUNDLE}) or serial-words")
        })
    }
}

/// How the sums of work-groups are combined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Finish {
    /// By a second kernel, on any device.
    SecondKernel,
    /// By the group that retires last, in the same launch, if the device's memory model lets it read the results of others
    /// ([`Retirement`](crate::backend::opencl::Retirement)).
    RetirementCount,
}

lanefield_reference::named!(Finish, "way to finish a sum": SecondKernel = "second-kernel", RetirementCount = "retirement-count");

/// How a device computes sums. By default the backend decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SumOptions {
    /// How words are summed.
    pub form: Option<SumForm>,
    /// How the sums of groups are combined. The default is a second kernel; on GPUs it is the retirement count if one number is summed and
    /// the device's memory model allows it.
    pub finish: Option<Finish>,
    /// The work-group size of exact sums. A tree sum has that of its plan.
    pub group: Option<usize>,
    /// The maximum number of groups of exact sums for each compute unit.
    pub groups_per_unit: Option<usize>,
    /// Whether kernels are built for the number of words, with long loops unrolled. The default is yes, except on CPUs, whose compilers
    /// take seconds for each.
    pub specialised: Option<bool>,
    /// Whether queued iterations of conjugate gradients have one launch for all vector operations
    /// ([`CG_ITERATION`](crate::kernel::blas::CG_ITERATION)). This needs fields so small that all work-groups run at the same time: one for
    /// each compute unit on NVIDIA GPUs, and only one on other devices. By default it is on for NVIDIA GPUs of compute capability 8.0 and
    /// up.
    pub at_once: Option<bool>,
    /// The number of adjacent words that one work-item of `pack` copies, in the staged form.
    pub pack: AcceleratorThreads,
}
