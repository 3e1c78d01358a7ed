//! A cause, and how certain it is.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// It explains every number that differs.
    Certain,
    /// It explains where the differences are, or how large they are.
    Likely,
    /// It fits, but other causes might too.
    Possible,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cause {
    /// A name for programs: `spins`, `boundary`, `leg`, `lane`, …
    pub kind: &'static str,
    pub confidence: Confidence,
    pub sentence: String,
    /// The evidence, in numbers.
    pub evidence: String,
}

impl Cause {
    pub(in crate::compare) fn new(
        kind: &'static str,
        confidence: Confidence,
        sentence: impl Into<String>,
        evidence: impl Into<String>,
    ) -> Self {
        Self { kind, confidence, sentence: sentence.into(), evidence: evidence.into() }
    }
}
