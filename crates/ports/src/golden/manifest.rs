//! The manifest of golden data, `manifest.json`, and the list of cases for programs that do not read JSON, `cases.tsv`. Both come from the same
//! structures.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use lanefield::bounded;
use lanefield::reference::ensure;
use lanefield::reference::real::Precision;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::error::GoldenError;
use crate::Content;

pub const MANIFEST: &str = "manifest.json";
pub(super) const CASES: &str = "cases.tsv";

const FORMAT: &str = "lanefield golden data";
const VERSION: u64 = 1;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    format: String,
    version: u64,
    /// Everything on which the data depend.
    #[serde(flatten)]
    pub parameters: Parameters,
    pub cases: Vec<CaseEntry>,
    pub stages: Vec<StageEntry>,
    /// Every file except the manifest, by path.
    pub files: BTreeMap<String, FileEntry>,
}

/// Everything on which golden data depend, except the set of requested kernels.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// X.Y.Z.T.
    pub lattice: String,
    pub seed: u64,
    pub boundary: String,
    pub legs: String,
    pub precisions: Vec<Precision>,
}

/// A call of a kernel. Paths are relative to the directory.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CaseEntry {
    /// Its directory under `cases/`.
    pub case: String,
    pub kernel: String,
    pub computes: String,
    /// The section of `docs/arithmetic.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Precision of the target: f32, f64 or half.
    pub precision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconstruct: Option<usize>,
    /// Sites of the target: full, even or odd.
    pub sites: String,
    /// Boundary phases, if links are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<String>,
    /// The leg order, if it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legs: Option<String>,
    /// Spinors or colour vectors per site of the target, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
    /// Extent of the fifth dimension, for matrices along s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ls: Option<usize>,
    /// Components per right-hand side, if that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rhs_parts: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Fields that are read; several for a list.
    #[serde(rename = "in", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Vec<String>>,
    /// Coefficients of a matrix along s.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub matrix: BTreeMap<String, String>,
    /// The 16 hex digits of a scalar; those of both parts for a complex one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scalar: BTreeMap<String, Vec<String>>,
    /// The same for scalars of each right-hand side.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scalars: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub indices: BTreeMap<String, Vec<usize>>,
    /// The contents of an updated field before the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub out: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums: Option<String>,
}

impl CaseEntry {
    pub fn results(&self) -> impl Iterator<Item = &str> {
        self.out.values().chain(&self.sums).map(String::as_str)
    }

    fn line(&self) -> String {
        fn number(value: Option<usize>) -> Option<String> {
            value.map(|value| value.to_string())
        }
        let one: [(&str, Option<String>); 12] = [
            ("case", Some(self.case.clone())),
            ("kernel", Some(self.kernel.clone())),
            ("definition", self.definition.clone()),
            ("precision", Some(self.precision.clone())),
            ("reconstruct", number(self.reconstruct)),
            ("sites", Some(self.sites.clone())),
            ("boundary", self.boundary.clone()),
            ("legs", self.legs.clone()),
            ("parts", number(self.parts)),
            ("ls", number(self.ls)),
            ("rhs_parts", number(self.rhs_parts)),
            ("direction", self.direction.clone()),
        ];
        let mut fields: Vec<String> =
            one.into_iter().filter_map(|(key, value)| value.map(|value| format!("{key}={value}"))).collect();
        let mut named = |key: &str, name: &str, value: &str| fields.push(format!("{key}.{name}={value}"));
        self.inputs.iter().for_each(|(name, paths)| named("in", name, &paths.join(",")));
        self.matrix.iter().for_each(|(name, path)| named("matrix", name, path));
        self.scalar.iter().for_each(|(name, bits)| named("scalar", name, &bits.join(",")));
        self.scalars.iter().for_each(|(name, bits)| named("scalars", name, &bits.join(",")));
        for (name, numbers) in &self.indices {
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            named("indices", name, &numbers.join(","));
        }
        self.before.iter().for_each(|(name, path)| named("before", name, path));
        self.out.iter().for_each(|(name, path)| named("out", name, path));
        fields.extend(self.sums.iter().map(|path| format!("sums={path}")));
        fields.join("\t")
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StageEntry {
    /// Its directory under `stages/`.
    pub stage: String,
    /// The section of `docs/arithmetic.md`.
    pub definition: String,
    pub about: String,
    /// The values on which they depend, in addition to the parameters of all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    pub files: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FileEntry {
    /// The type of its elements in NumPy's notation; `None` if it is not an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// Its axes, the slowest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<usize>>,
    /// Its content, which determines the meaning of its axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Content>,
    pub sha256: String,
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

impl Manifest {
    pub(super) fn new(
        parameters: Parameters,
        cases: Vec<CaseEntry>,
        stages: Vec<StageEntry>,
        files: BTreeMap<String, FileEntry>,
    ) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, parameters, cases, stages, files }
    }

    pub(super) fn lines(cases: &[CaseEntry]) -> String {
        cases.iter().fold(String::new(), |mut text, case| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", case.line());
            text
        })
    }

    pub fn read(directory: &Path) -> Result<Self, GoldenError> {
        let not_golden = |why: String| GoldenError::NotGolden { path: directory.to_owned(), why };
        let bytes =
            bounded::read(&directory.join(MANIFEST)).map_err(|error| not_golden(format!("{MANIFEST}: {error}")))?;
        let value: serde_json::Value =
            serde_json::from_slice(&bytes).map_err(|error| not_golden(format!("{MANIFEST}: {error}")))?;
        ensure!(value["format"] == FORMAT, not_golden(format!("{MANIFEST} does not say \"format\": \"{FORMAT}\"")));
        if value["version"] != VERSION {
            return Err(not_golden(format!("{MANIFEST} has version {}, and {VERSION} is read", value["version"])));
        }
        let manifest: Self =
            serde_json::from_value(value).map_err(|error| not_golden(format!("{MANIFEST}: {error}")))?;
        // A path that leads out of the directory is not one of its files.
        let leads_out = |path: &&String| {
            let mut parts = Path::new(path).components();
            !parts.all(|part| matches!(part, std::path::Component::Normal(_)))
        };
        let listed = manifest.cases.iter().flat_map(CaseEntry::results);
        let listed = listed.chain(manifest.stages.iter().flat_map(|stage| stage.files.iter().map(String::as_str)));
        let unknown = listed.map(str::to_owned).find(|path| !manifest.files.contains_key(path));
        match manifest.files.keys().find(leads_out).cloned().or(unknown) {
            Some(path) => Err(not_golden(format!("{MANIFEST} names {path}, which is not one of its files"))),
            None => Ok(manifest),
        }
    }

    /// Checks that the files are those of the manifest.
    pub fn verify(&self, directory: &Path) -> Result<(), GoldenError> {
        for (file, entry) in &self.files {
            let damaged = |what: String| {
                let (path, file) = (directory.to_owned(), file.clone());
                Err(GoldenError::Damaged { path, file, what })
            };
            let path = directory.join(file);
            let read = if path.is_file() { fs::read(path) } else { bounded::read(&path) };
            match read {
                Ok(bytes) if sha256(&bytes) == entry.sha256 => {}
                Ok(_) => return damaged("does not have the SHA-256 of the manifest".to_owned()),
                Err(error) => return damaged(format!("cannot be read: {error}")),
            }
        }
        Ok(())
    }
}
