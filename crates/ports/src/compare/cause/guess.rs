//! A cause, and how sure it is.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// It explains every number that differs.
    Certain,
    /// It explains where they lie, or how far apart they are.
    Likely,
    /// It fits, as other causes might.
    Possible,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cause {
    /// A name for programs: `spins`, `boundary`, `leg`, `lane`, …
    pub kind: &'static str,
    pub confidence: Confidence,
    pub sentence: String,
    /// What speaks for it, in numbers.
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
