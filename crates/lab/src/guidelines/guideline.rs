//! A guideline as data: what it advises, who says so, the two sides of its experiment in words; and the list of all.

use std::fmt;

use serde::Serialize;

use super::bench::Bench;
use super::sides::{Measured, Trouble};
use super::{access, allocation, arithmetic, groups, host, on_chip, queues, reuse, together, transfers};

/// A document that advises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Document {
    /// AMD, HIP documentation, "Performance guidelines".
    Hip,
    /// SPCL, DaCe documentation, "Using GPUs and optimization best practices".
    DaCe,
}

/// Where a guideline stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Source {
    pub document: Document,
    /// Its section, or the name of its paragraph.
    pub section: &'static str,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document = match self.document {
            Document::Hip => "HIP performance guidelines",
            Document::DaCe => "DaCe GPU best practices",
        };
        write!(f, "{document}, {}", self.section)
    }
}

/// A section of the HIP performance guidelines.
pub(super) const fn hip(section: &'static str) -> Source {
    Source { document: Document::Hip, section }
}

/// A paragraph of DaCe's best practices.
pub(super) const fn dace(section: &'static str) -> Source {
    Source { document: Document::DaCe, section }
}

/// What a guideline is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    Access,
    /// Local memory, constant memory, images, private arrays.
    OnChip,
    Reuse,
    Groups,
    Arithmetic,
    Together,
    Queues,
    Transfers,
    Allocation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The device's clock, from the start of the first kernel to the end of the last.
    Device,
    /// The host's clock, from the first call until all is done.
    Host,
}

/// What of the two sides' results must be the same.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    Words,
    /// Every float, but for so much: the functions' accuracy is the device's own.
    Within(f32),
    /// There is one side only.
    Observation,
}

/// A guideline and its experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Guideline {
    pub name: &'static str,
    pub topic: Topic,
    pub advice: &'static str,
    pub sources: &'static [Source],
    /// The side that does not follow it, in words.
    pub without: &'static str,
    pub with: &'static str,
    pub timed: Clock,
    pub agreement: Agreement,
    #[serde(skip)]
    pub(super) experiment: fn(&Bench<'_>) -> Result<Measured, Trouble>,
}

/// A guideline before its own is said: one of a topic, timed by a clock, whose sides give the same words.
pub(super) const fn usual(topic: Topic, timed: Clock) -> Guideline {
    Guideline {
        name: "",
        topic,
        advice: "",
        sources: &[],
        without: "",
        with: "",
        timed,
        agreement: Agreement::Words,
        experiment: |_| Ok(Measured::Pairs(Vec::new())),
    }
}

pub fn all() -> Vec<Guideline> {
    [
        access::GUIDELINES,
        on_chip::GUIDELINES,
        reuse::GUIDELINES,
        groups::GUIDELINES,
        arithmetic::GUIDELINES,
        together::GUIDELINES,
        queues::GUIDELINES,
        transfers::GUIDELINES,
        host::GUIDELINES,
        allocation::GUIDELINES,
    ]
    .concat()
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no guideline '{name}'; there are: {known}")]
pub struct UnknownGuideline {
    name: String,
    known: String,
}

/// The guidelines of these names in the order of the list; all where none is named.
///
/// # Errors
/// A name that no guideline has, with those that there are.
pub fn named<S: AsRef<str>>(names: &[S]) -> Result<Vec<Guideline>, UnknownGuideline> {
    let all = all();
    let known = |name: &str| all.iter().any(|guideline| guideline.name == name);
    if let Some(name) = names.iter().map(AsRef::as_ref).find(|name| !known(name)) {
        let known = all.iter().map(|guideline| guideline.name).collect::<Vec<_>>().join(", ");
        return Err(UnknownGuideline { name: name.to_owned(), known });
    }
    let wanted = |guideline: &Guideline| names.is_empty() || names.iter().any(|name| name.as_ref() == guideline.name);
    Ok(all.into_iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guideline_has_a_source_and_advises_in_one_sentence() {
        for Guideline { name, advice, sources, without, with, .. } in all() {
            assert!(
                !name.is_empty() && !sources.is_empty() && sources.iter().all(|source| !source.section.is_empty()),
                "{name}"
            );
            assert!(advice.starts_with(char::is_uppercase) && advice.ends_with('.'), "{name}: {advice}");
            assert!(!advice.trim_end_matches('.').contains(". "), "{name}: {advice}");
            assert!(!without.is_empty() && !with.is_empty() && without != with, "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_that_there_are() {
        let error = named(&["coalesced", "magic"]).unwrap_err().to_string();
        assert!(error.starts_with("there is no guideline 'magic'; there are: coalesced, "), "{error}");
        assert!(named::<&str>(&[]).unwrap().len() == all().len());
        let two: Vec<_> = named(&["atomics", "coalesced"]).unwrap().iter().map(|guideline| guideline.name).collect();
        assert_eq!(two, ["coalesced", "atomics"]);
    }
}
