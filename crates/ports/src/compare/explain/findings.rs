//! The relation of two arrays to the hop that one of them should be.

use std::fmt;

use serde::Serialize;

use crate::compare::cause::Cause;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Likeness {
    #[serde(rename = "same bits")]
    Bits,
    #[serde(rename = "but for roundings")]
    Roundings,
    #[serde(rename = "another")]
    Other,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HopFindings {
    pub a: Likeness,
    pub b: Likeness,
    /// The operator: "the hop", "M = 4 + mass + hop".
    pub operator: &'static str,
    /// The faults of the hop with which an array agrees.
    #[serde(skip)]
    pub causes: Vec<Cause>,
}

impl fmt::Display for HopFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hop = format!("{} of this source, links and boundary", self.operator);
        match (self.b, self.a) {
            (Likeness::Other, Likeness::Other) if self.causes.is_empty() => write!(
                f,
                "neither A nor B is {hop}, nor is B with one thing wrong: check --config, --source, --boundary, --legs{}",
                if self.operator.starts_with('M') { ", --mass" } else { ", and --mass of M" }
            ),
            (Likeness::Other, Likeness::Other) => write!(f, "neither A nor B is {hop}"),
            (Likeness::Other, _) => write!(f, "B is not {hop}; A is{}", self.a.words()),
            (b, Likeness::Other) => write!(f, "B is {hop}{}; A is not", b.words()),
            (b, a) if a == b => write!(f, "A and B are {hop}{}", b.words()),
            (b, a) => write!(f, "B is {hop}{}; A is{}", b.words(), a.words()),
        }
    }
}

impl Likeness {
    fn words(self) -> &'static str {
        match self {
            Self::Bits => ", bit for bit",
            Self::Roundings => ", but for roundings",
            Self::Other => " not",
        }
    }
}
