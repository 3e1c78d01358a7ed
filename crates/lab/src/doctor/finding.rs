//! A finding of the doctor: a fault, its cost, the evidence, and what to change.

use serde::{Deserialize, Serialize};

use crate::{Compared, Spread};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Work-groups leave lanes of a wavefront idle, or another number of outer sites per group is faster.
    GroupSize,
    /// There are fewer wavefronts than the device needs to hide the latency of its memory.
    LaunchShape,
    /// Registers are spilled to memory, or arrays are there.
    Spills,
    /// A pass writes what the next one reads, and nobody else needs.
    Passes,
    /// Memory transactions have more bytes than were requested.
    Access,
    Transfers,
    Allocations,
    /// The device waits between launches.
    Launches,
    /// A profiler saw a unit fully used, or warps waiting although none is.
    Counters,
}

/// A change that the doctor can make itself, to measure its gain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// Work-groups with another number of outer sites, or of work-items if there are no sites.
    GroupSize(usize),
    Groups(usize),
    AllRegisters,
    LaneFast,
    KeepOnDevice,
    KeepBuffers,
    OneLaunch,
    Source,
    /// One of several changes; nothing shows which is the best.
    Several,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    pub fault: Fault,
    pub title: String,
    /// The kernel or pass with the fault; empty for the run as a whole.
    pub kernel: String,
    /// Predicted gain: the fraction of a run's time that the change saves, 0 to 1.
    pub gain: f64,
    pub evidence: Vec<String>,
    /// What to change: a flag, a tuning parameter, or a place in the source.
    pub change: String,
    /// The measured gain, if the change was made and the times with and without it differ: the fraction of the time that it saved, negative if it
    /// cost time.
    pub confirmed_gain: Option<f64>,
    /// Why the gain could not be confirmed, if that was requested.
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
                "alternately, the change takes {} and the original {}: no difference",
                in_words(changed),
                in_words(present)
            )
        });
    }

    /// A finding for the run as a whole, not confirmed.
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

/// Gains below this fraction of the time are not reported: they are within the spread of the samples.
pub(crate) const WORTH_A_FINDING: f64 = 0.02;
