//! A guideline as data: its advice, its source, and descriptions of the two sides of its experiment. `guidelines.toml` is the list of all.

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Document {
    /// AMD, HIP documentation, "Performance guidelines".
    Hip,
    /// SPCL, DaCe documentation, "Using GPUs and optimization best practices".
    DaCe,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Source {
    pub document: Document,
    pub section: String,
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

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    Access,
    /// Local memory, constant memory, images, private arrays.
    OnChip,
    /// Loads and passes that are shared.
    Reuse,
    Groups,
    Arithmetic,
    /// Atomics, barriers, launches.
    Together,
    Queues,
    Transfers,
    Allocation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The device's clock, from the start of the first kernel to the end of the last.
    Device,
    /// The host's clock, from the first call until all is done.
    Host,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    #[default]
    Words,
    /// Every float agrees within this tolerance, since the accuracy of functions depends on the device.
    Within(f32),
    /// There is one side only.
    Observation,
}

/// A guideline; its experiment is in `experiments.rs`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guideline {
    pub name: String,
    pub topic: Topic,
    pub advice: String,
    pub sources: Vec<Source>,
    /// A description of the side that does not follow it.
    pub without: String,
    pub with: String,
    pub timed: Clock,
    #[serde(default)]
    pub agreement: Agreement,
}

pub fn all() -> &'static [Guideline] {
    #[derive(Deserialize)]
    struct List {
        guideline: Vec<Guideline>,
    }
    static ALL: LazyLock<Vec<Guideline>> = LazyLock::new(|| {
        let list: Result<List, _> = toml::from_str(include_str!("guidelines.toml"));
        // A test checks that the file is valid.
        list.map_or_else(|_| Vec::new(), |list| list.guideline)
    });
    &ALL
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no guideline '{name}'; there are: {known}")]
pub struct UnknownGuideline {
    name: String,
    known: String,
}

/// The guidelines with these names, in the order of the list; all if no name is given.
pub fn named<S: AsRef<str>>(names: &[S]) -> Result<Vec<Guideline>, UnknownGuideline> {
    let all = all();
    let known = |name: &str| all.iter().any(|guideline| guideline.name == name);
    if let Some(name) = names.iter().map(AsRef::as_ref).find(|name| !known(name)) {
        let known = all.iter().map(|guideline| guideline.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(UnknownGuideline { name: name.to_owned(), known });
    }
    let wanted = |guideline: &&Guideline| names.is_empty() || names.iter().any(|name| name.as_ref() == guideline.name);
    Ok(all.iter().filter(wanted).cloned().collect())
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
        let two = named(&["atomics", "coalesced"]).unwrap();
        assert_eq!([&two[0].name, &two[1].name], ["coalesced", "atomics"]);
    }
}
