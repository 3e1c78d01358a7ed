//! Compares results of a port with golden data: all results that exist are compared, and missing ones are listed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use lanefield::bounded;
use lanefield::io::npy::{NpyError, RawArray};
use lanefield::io::open::OpenError;
use lanefield::reference::ensure;
use serde::Serialize;
use serde_json::Value;

use super::error::GoldenError;
use super::manifest::{MANIFEST, Manifest, Parameters};
use crate::Content;
use crate::compare::{Axes, CompareOptions, Comparison, Numbers, compare_numbers, counted, grouped};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CheckOptions {
    /// The largest accepted distance in ulp; integers must be equal.
    pub ulps: u64,
    /// Whether to look for the causes of every file that differs, instead of the first one only.
    pub all: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    pub groups: Vec<CheckedGroup>,
    /// The first file that differs, in the order of the manifest.
    pub first: Option<FirstDifference>,
    /// The others, if all were requested.
    pub others: Vec<FirstDifference>,
    /// Arrays and records of the other directory that the golden data do not have; usually misspelt names.
    pub unknown: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CheckedGroup {
    /// The name of the kernel; for a stage, `stages/` and its name.
    pub name: String,
    pub compared: usize,
    pub differ: Vec<String>,
    pub missing: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct FirstDifference {
    /// Its path in both directories.
    pub file: String,
    pub what: String,
    /// The comparison with the golden array A; `None` if the file has another kind of array, or none.
    pub comparison: Option<Box<Comparison>>,
}

impl Checked {
    pub fn is_same(&self) -> bool {
        self.first.is_none()
    }

    pub fn compared(&self) -> usize {
        self.groups.iter().map(|group| group.compared).sum()
    }

    pub fn differ(&self) -> usize {
        self.groups.iter().map(|group| group.differ.len()).sum()
    }

    pub fn missing(&self) -> usize {
        self.groups.iter().map(|group| group.missing.len()).sum()
    }
}

/// Compares the results in `other` with the golden data in `directory`, after checking these against their own manifest. A file in `other` has the
/// same path as in the golden data.
pub fn check(directory: &Path, other: &Path, options: CheckOptions) -> Result<Checked, GoldenError> {
    let manifest = Manifest::read(directory)?;
    manifest.verify(directory)?;
    require_same_parameters(&manifest, other)?;
    let (mut groups, mut place) = (Vec::<CheckedGroup>::new(), BTreeMap::new());
    let mut differences = Vec::new();
    for (name, file) in results(&manifest) {
        let number = *place.entry(name.clone()).or_insert_with(|| {
            groups.push(CheckedGroup { name, compared: 0, differ: Vec::new(), missing: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[number];
        let holds = manifest.files.get(file).and_then(|entry| entry.holds);
        let explain = options.all || differences.is_empty();
        match one([&directory.join(file), &other.join(file)], holds, options, explain)? {
            Outcome::Missing => group.missing.push(file.to_owned()),
            Outcome::Same => group.compared += 1,
            Outcome::Differs { what, comparison } => {
                group.compared += 1;
                group.differ.push(file.to_owned());
                if explain {
                    differences.push(FirstDifference { file: file.to_owned(), what, comparison });
                }
            }
        }
    }
    let mut differences = differences.into_iter();
    let (first, others) = (differences.next(), differences.collect());
    let checked = Checked { groups, first, others, unknown: unknown(&manifest, other)? };
    match checked.compared() {
        0 => Err(GoldenError::NothingInCommon {
            path: directory.to_owned(),
            other: other.to_owned(),
            example: results(&manifest)
                .find(|(_, file)| file.starts_with("cases/"))
                .map_or_else(|| "none".to_owned(), |(_, file)| file.to_owned()),
            found: checked.unknown.first().cloned(),
        }),
        _ => Ok(checked),
    }
}

/// All results, with the names of their groups. Stages come first, so that the first difference is the first wrong step.
fn results(manifest: &Manifest) -> impl Iterator<Item = (String, &str)> {
    let of_cases = manifest.cases.iter().flat_map(|case| case.results().map(|file| (case.kernel.clone(), file)));
    let of_stages = manifest.stages.iter().flat_map(|stage| {
        let name = format!("stages/{}", stage.stage);
        stage.files.iter().map(move |file| (name.clone(), file.as_str()))
    });
    of_stages.chain(of_cases)
}

/// Arrays and records below a directory that golden data do not have, by path.
fn unknown(manifest: &Manifest, directory: &Path) -> Result<Vec<String>, GoldenError> {
    let (mut unknown, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(path) = directories.pop() {
        let failed = |source| GoldenError::File { path: path.clone(), source };
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (kind, file) = (entry.file_type().map_err(failed)?, entry.path());
            if kind.is_dir() {
                directories.push(file);
            } else if file.extension().is_some_and(|extension| extension == "npy" || extension == "jsonl") {
                let below = file.strip_prefix(directory).unwrap_or(&file);
                let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
                unknown.extend(Some(parts.join("/")).filter(|name| !manifest.files.contains_key(name)));
            }
        }
    }
    unknown.sort();
    Ok(unknown)
}

/// If the other directory has a manifest, it must have the same parameters.
fn require_same_parameters(manifest: &Manifest, other: &Path) -> Result<(), GoldenError> {
    ensure!(other.is_dir(), GoldenError::NoDirectory { path: other.to_owned(), exists: other.exists() });
    if !other.join(MANIFEST).exists() {
        return Ok(());
    }
    let of = |parameters: &Parameters| {
        let Parameters { lattice, seed, boundary, legs, .. } = parameters;
        [
            ("lattice", lattice.clone()),
            ("seed", seed.to_string()),
            ("boundary", boundary.clone()),
            ("order of the legs", legs.clone()),
        ]
    };
    let theirs = Manifest::read(other)?;
    let pairs = of(&manifest.parameters).into_iter().zip(of(&theirs.parameters));
    for ((what, ours), (_, theirs)) in pairs {
        ensure!(ours == theirs, GoldenError::OtherParameters { path: other.to_owned(), what, theirs, ours });
    }
    Ok(())
}

enum Outcome {
    Missing,
    Same,
    Differs { what: String, comparison: Option<Box<Comparison>> },
}

impl Outcome {
    /// An outcome without a comparison of numbers.
    fn other(what: String) -> Self {
        Self::Differs { what, comparison: None }
    }
}

/// Compares two files, the golden one first; with `explain`, it also looks for the causes.
fn one(
    [expected, found]: [&Path; 2],
    holds: Option<Content>,
    options: CheckOptions,
    explain: bool,
) -> Result<Outcome, GoldenError> {
    match fs::symlink_metadata(found) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Outcome::Missing),
        Err(source) => return Err(GoldenError::File { path: found.to_owned(), source }),
        Ok(_) => {}
    }
    if expected.extension().is_some_and(|extension| extension == "jsonl") {
        return records(expected, found);
    }
    let expected = RawArray::read(expected)?;
    let array = match RawArray::read(found) {
        Ok(array) => array,
        Err(NpyError::Open(OpenError::System { path, source })) => return Err(GoldenError::File { path, source }),
        Err(error) => return Ok(Outcome::other(error.to_string())),
    };
    if (expected.element, &expected.shape) != (array.element, &array.shape) {
        return Ok(Outcome::other(format!("it is {} instead of {}", array.describe(), expected.describe())));
    }
    if expected.bytes == array.bytes {
        return Ok(Outcome::Same);
    }
    let [Some(a), Some(b)] = [&expected, &array].map(Numbers::of_raw) else {
        return Ok(Outcome::other("it holds whole numbers above 2^53".to_owned()));
    };
    let holds = holds.filter(|content| Axes::holding(*content, &expected.shape).is_some());
    let options = CompareOptions { ulps: options.ulps, without_causes: !explain, holds, ..CompareOptions::default() };
    Ok(match compare_numbers(a, b, options) {
        Ok(comparison) => match &comparison.first {
            None => Outcome::Same,
            Some(first) => {
                let (differing, numbers) = (grouped(comparison.differing), counted(comparison.numbers, "number"));
                let what = format!("{differing} of {numbers} differ, first {first}");
                Outcome::Differs { what, comparison: Some(Box::new(comparison)) }
            }
        },
        Err(error) => Outcome::other(error.to_string()),
    })
}

/// A line of a record; null if it is not JSON.
fn line_of_record(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_default()
}

/// Keys that a line of a port's record may leave out (`docs/arithmetic.md` §18): the first right-hand side, and the digests of the last line.
const LEFT_OUT: [&str; 5] = ["rhs", "links", "source", "solution", "check"];

/// Whether a line agrees with another one. Keys that only `found` has are ignored.
fn agrees(expected: &Value, found: &Value) -> bool {
    let Value::Object(members) = expected else { return expected == found };
    members.iter().all(|(name, value)| match found.get(name) {
        _ if name == "check" => true,
        None => LEFT_OUT.contains(&name.as_str()),
        Some(found) => found == value,
    })
}

/// Compares records line by line, by content, without the header, which identifies the solve. A port's record may have fewer digests.
fn records(expected: &Path, found: &Path) -> Result<Outcome, GoldenError> {
    let read = |path: &Path| {
        let text = bounded::read_text(path);
        text.map_err(|source| GoldenError::File { path: path.to_owned(), source })
    };
    let (expected, found) = (read(expected)?, read(found)?);
    let mut lines = (2..).zip(found.lines().skip(1)).peekable();
    for expected in expected.lines().skip(1) {
        let should = line_of_record(expected);
        let is_digest = |line: &Value| line.get("field").is_some();
        let same_place = |is: &Value| ["iteration", "rhs", "field"].iter().all(|name| is.get(name) == should.get(name));
        // The digest of a field may be missing.
        if is_digest(&should) && lines.peek().is_none_or(|(_, line)| !same_place(&line_of_record(line))) {
            continue;
        }
        match lines.next() {
            None => return Ok(Outcome::other(format!("it ends before {expected}"))),
            Some((number, line)) if !agrees(&should, &line_of_record(line)) => {
                return Ok(Outcome::other(format!("line {number} says {line} instead of {expected}")));
            }
            Some(_) => {}
        }
    }
    Ok(match lines.next() {
        None => Outcome::Same,
        Some((number, line)) => Outcome::other(format!("line {number} says {line}, and should not be there")),
    })
}
