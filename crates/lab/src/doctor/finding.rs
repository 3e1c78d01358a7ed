//! What the doctor found: a fault, what it costs, how that is known, and what to change.

use serde::{Deserialize, Serialize};

use crate::{Compared, Spread};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Work-groups that leave lanes of a wavefront idle, or another number of outer sites a group is faster.
    GroupSize,
    /// Fewer wavefronts than the device takes to hide the latency of its memory.
    LaunchShape,
    /// Registers spilled to memory, or arrays that lie there.
    Spills,
    /// A pass writes what the next one reads, and nobody else.
    Passes,
    /// Memory transactions that carry more bytes than are asked for.
    Access,
    Transfers,
    Allocations,
    /// Time between launches, in which the device waits.
    Launches,
    /// A unit that a profiler saw full, or warps that wait while none is.
    Counters,
}

/// A change that the doctor can make itself, to measure what it gains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// Work-groups of another number of outer sites, or of work-items where there are no sites.
    GroupSize(usize),
    Groups(usize),
    AllRegisters,
    LaneFast,
    KeepOnDevice,
    KeepBuffers,
    OneLaunch,
    Source,
    /// One of several changes, of which nothing tells the best.
    Several,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    pub fault: Fault,
    pub title: String,
    /// The kernel or pass that has it; empty where it is the run as a whole.
    pub kernel: String,
    /// Predicted gain: the share of the time of a run that the change saves, 0 to 1.
    pub gain: f64,
    pub evidence: Vec<String>,
    /// What to change: a flag, an axis of the tuner, or what in the source.
    pub change: String,
    /// What the change did gain, where it was made and the times with it and without it differ: the share of the time that it saved, below 0 where it
    /// cost some.
    pub confirmed_gain: Option<f64>,
    /// Why it could not be confirmed, where that was asked for.
    pub unconfirmed: Option<String>,
    #[serde(skip)]
    pub remedy: Remedy,
}

impl Finding {
    pub fn confirm(&mut self, compared: Compared) {
        let Compared { present, changed } = compared;
        self.confirmed_gain = compared.gain();
        let in_words = |Spread { median, tenth, ninetieth }: Spread| {
            let [median, tenth, ninetieth] = [median, tenth, ninetieth].map(|seconds| 1e6 * seconds);
            format!("{median:.1} µs (10 – 90 %: {tenth:.1} – {ninetieth:.1})")
        };
        self.unconfirmed = self.confirmed_gain.is_none().then(|| {
            format!(
                "in turns, the change takes {} and what there was {}: no difference",
                in_words(changed),
                in_words(present)
            )
        });
    }

    /// One that nobody tried to confirm, of the run as a whole.
    pub(super) fn new(
        fault: Fault,
        title: String,
        gain: f64,
        evidence: Vec<String>,
        change: &str,
        remedy: Remedy,
    ) -> Self {
        let (kernel, change) = (String::new(), change.to_owned());
        Self { fault, title, kernel, gain, evidence, change, confirmed_gain: None, unconfirmed: None, remedy }
    }
}

/// Gains below this share of the time are not worth a finding: they drown in the spread of the samples.
pub(crate) const WORTH_A_FINDING: f64 = 0.02;
