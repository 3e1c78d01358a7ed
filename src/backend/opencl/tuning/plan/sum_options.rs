//! How a device takes sums, as far as one may choose.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::layout::AcceleratorThreads;

/// Most words of a bundle.
const MOST_BUNDLE: usize = 1024;
/// Words of a bundle where nobody chose: of exact sums, which keep four doubles for each, and of tree sums. The fastest on an H200.
const EXACT_BUNDLE: usize = 3;
const TREE_BUNDLE: usize = 2;

/// How the words of large objects are summed. What is summed is the same in every form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SumForm {
    /// So many consecutive words at a time are loaded and reduced in place: one pass over memory.
    Fused(usize),
    /// So many words at a time are first packed into a buffer: three passes.
    Staged(usize),
    /// One work-item walks all words of a site, and keeps the bundle: registers do not hold it.
    SerialWords,
}

impl SumForm {
    /// What tree sums of words take where nobody chose: the fastest on an H200.
    pub const FASTEST_TREE: Self = Self::Fused(TREE_BUNDLE);
    /// What exact sums of words take where nobody chose.
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

/// How the sums of work-groups become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Finish {
    /// By a second kernel: on any device.
    SecondKernel,
    /// By the group that retires last, in the same launch, where the device's memory model lets it read what others wrote
    /// ([`Retirement`](crate::backend::opencl::Retirement)).
    RetirementCount,
}

lanefield_reference::named!(Finish, "way to finish a sum": SecondKernel = "second-kernel", RetirementCount = "retirement-count");

/// How a device takes sums. The default leaves every choice to the backend.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SumOptions {
    /// How words are gone through.
    pub form: Option<SumForm>,
    /// How the sums of groups become one. Where nobody chose, by a second kernel; on GPUs by retirement count where one number is summed
    /// and the device's memory model allows it.
    pub finish: Option<Finish>,
    /// Work-items of a group of exact sums; a tree sum has those of its plan.
    pub group: Option<usize>,
    /// Groups of exact sums for each compute unit, at most.
    pub groups_per_unit: Option<usize>,
    /// Whether kernels are built for the number of words, with long loops unrolled: where nobody chose, on all devices but CPUs, whose
    /// compilers take seconds for each.
    pub specialised: Option<bool>,
    /// Whether queued iterations of conjugate gradients have one launch for all vector operations ([`CG_ITERATION`](crate::kernel::blas::CG_ITERATION)), where
    /// fields are so small that all its work-groups run at the same time: on NVIDIA GPUs one for each multiprocessor, on other devices one alone. Where
    /// nobody chose, on NVIDIA GPUs of compute capability 8.0 and up.
    pub at_once: Option<bool>,
    /// Words that one work-item of `pack` takes side by side, in the staged form.
    pub pack: AcceleratorThreads,
}
