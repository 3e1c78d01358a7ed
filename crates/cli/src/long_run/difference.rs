//! Where a solve differs from its record, and how: the line of the file, and both values. Iterations are counted as the file counts them.

use std::fmt;
use std::path::PathBuf;

use lanefield::io::record::Entry;
use lanefield::solver::{Replay, ReplayDifference, Stopped};

/// A solve did not go as its record says.
#[derive(Debug)]
pub struct RecordDifference {
    path: PathBuf,
    /// Of the record, from 1: the first that differs, or the one after its end.
    line: usize,
    difference: ReplayDifference,
}

impl RecordDifference {
    /// What ended a replay: where that is a difference, with its place.
    pub fn located(path: &std::path::Path, replay: &Replay, Stopped(error): Stopped) -> Stopped {
        // Behind the header.
        let line = replay.compared() + 2;
        match error.downcast::<ReplayDifference>() {
            Ok(difference) => Stopped(Box::new(Self { path: path.to_owned(), line, difference: *difference })),
            Err(error) => Stopped(error),
        }
    }
}

impl std::error::Error for RecordDifference {}

impl fmt::Display for RecordDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, difference: ReplayDifference { recorded, found } } = self;
        let path = path.display();
        let Some(recorded) = recorded else {
            let last = line - 1;
            return write!(
                f,
                "the solve differs from its record {path}: it has {}, where the record breaks off after line {last}",
                what(found)
            );
        };
        write!(f, "the solve differs from its record {path} at line {line}: ")?;
        let pairs: Vec<_> = digests(found).into_iter().zip(digests(recorded)).filter_map(both).collect();
        match what(recorded) == what(found) && !pairs.is_empty() {
            true => {
                let said =
                    pairs.iter().map(|(name, ours, theirs)| format!("{name} {ours}, and in the record {theirs}"));
                f.write_str(&said.collect::<Vec<_>>().join("; "))
            }
            false => write!(f, "it has {}, where the record has {}", what(found), what(recorded)),
        }
    }
}

/// What an entry is about.
fn what(entry: &Entry) -> String {
    match entry {
        Entry::Scalar { iteration, rhs: 0, quantity, .. } => format!("{quantity} of iteration {iteration}"),
        Entry::Scalar { iteration, rhs, quantity, .. } => {
            format!("{quantity} of iteration {iteration}, right-hand side {rhs}")
        }
        Entry::Field { iteration, field, .. } => format!("the field {field} after {iteration} iterations"),
        Entry::End { end, .. } => format!("the end after {end} iterations"),
    }
}

/// The values of an entry, each behind what has it; none where the entry does not say.
fn digests(entry: &Entry) -> Vec<(String, Option<&str>)> {
    match entry {
        Entry::Scalar { bits, .. } => vec![(format!("{} has the bits", what(entry)), Some(bits))],
        Entry::Field { sha256, .. } => vec![(format!("{} has the SHA-256", what(entry)), Some(sha256))],
        Entry::End { links, source, solution, .. } => {
            let solution = solution.as_ref().map(|solution| solution.as_deref().unwrap_or("of none"));
            let all = [("configuration", links.as_deref()), ("source", source.as_deref()), ("solution", solution)];
            all.map(|(name, digest)| (format!("the {name} has the SHA-256"), digest)).to_vec()
        }
    }
}

type Value<'a> = (String, Option<&'a str>);

/// Both values, where both are there and they differ.
fn both<'a>(((name, ours), (_, theirs)): (Value<'a>, Value<'a>)) -> Option<(String, &'a str, &'a str)> {
    let (ours, theirs) = (ours?, theirs?);
    (ours != theirs).then_some((name, ours, theirs))
}
