//! The sidecar of an array: a JSON file next to it, `x.npy.json` next to `x.npy`. It describes how the array was computed: operator,
//! parameters, configuration, source. It also has the SHA-256 of the array's file, so a reader can refuse an array that does not fit.
//! `docs/sidecars.md` describes the members.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use lanefield_reference::ensure;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::Coordinate;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::atomic::{WriteError, write_atomically};
use super::claims;
use super::seal::{sealed, unseal};
use crate::comm::{CommError, WholeLattice};

/// The `kind` of every sidecar.
pub const KIND: &str = "lanefield sidecar";
/// The version of the format that is written, and the only one that is read.
pub const FORMAT: u32 = 1;
/// The maximum length of a sidecar in bytes. A longer file is not a sidecar.
const MOST_BYTES: u64 = 1 << 20;

/// The description of an array that was computed from the inputs `I`. The JSON has these fields.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sidecar<I = SidecarInputs> {
    /// [`KIND`].
    pub kind: String,
    /// [`FORMAT`].
    pub format: u32,
    /// The version of the library that wrote it.
    pub lanefield: String,
    /// The file of the array.
    pub array: ArrayFile,
    /// The command that computed it: `solve`, `propagator`, `apply`, `source`.
    pub command: String,
    /// The names of the files that were read, by argument. They are for people; the inputs identify the contents.
    pub files: BTreeMap<String, String>,
    /// Everything that the bits of the array depend on.
    pub inputs: I,
    /// For a propagator, its estimated relative error on each time slice, beginning at the source. Empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relative_errors: Vec<f64>,
    /// The ensemble of a configuration, if its header cannot say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// The ensemble of a configuration, and its number there.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Provenance {
    /// ENSEMBLE_ID of NERSC files.
    pub ensemble_id: String,
    /// ENSEMBLE_LABEL.
    pub ensemble_label: String,
    /// SEQUENCE_NUMBER.
    pub sequence_number: String,
    /// The logical file name of ILDG files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lfn: Option<String>,
}

/// The file of an array.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArrayFile {
    /// Its name when it was written.
    pub file: String,
    /// The SHA-256 of the whole file, 64 hex digits.
    pub sha256: String,
    /// The extents of its axes, the slowest first.
    pub shape: Vec<usize>,
    /// `complex64` or `complex128`.
    pub dtype: String,
}

/// What an array was computed from, and how. Device, threads and lanes are not included, since they change no bit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SidecarInputs {
    /// The operator, or the kernel of a hop.
    pub operator: String,
    /// Masses and all other parameters of the operator, by name.
    pub parameters: Map<String, Value>,
    /// Boundary phases in x,y,z,t.
    pub boundary: String,
    /// The number of reals stored for each link.
    pub reconstruct: usize,
    /// The leg order of the hop.
    pub legs: String,
    /// The gauge configuration.
    pub configuration: ConfigurationInput,
    /// The source.
    pub source: SourceInput,
    /// f32 or f64.
    pub precision: String,
    /// Other settings of the command, for example solver and tolerance.
    pub settings: Map<String, Value>,
}

/// A configuration, identified by its content.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConfigurationInput {
    /// Extents x, y, z, t.
    pub lattice: [usize; 4],
    /// Average plaquette.
    pub plaquette: f64,
    /// The SHA-256 of its links in site order, in little-endian f64.
    pub sha256_of_links: String,
}

impl ConfigurationInput {
    /// Identifies a configuration from the local volumes of all ranks.
    pub fn of(configuration: &Configuration, lattice: &WholeLattice) -> Result<Self, CommError> {
        Ok(Self {
            lattice: lattice.extents().as_array(),
            plaquette: lattice.plaquette(configuration)?,
            sha256_of_links: lattice.digest(configuration.links())?,
        })
    }
}

/// The inputs of an array that is only a source.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SourceInputs {
    /// Extents x, y, z, t.
    pub lattice: [usize; 4],
    /// The source.
    pub source: SourceInput,
    /// f32 or f64.
    pub precision: String,
}

/// A source, and how it is smeared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceInput {
    /// The source without smearing.
    #[serde(flatten)]
    pub kind: SourceKind,
    /// α and the number of steps of Wuppertal smearing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smearing: Option<String>,
    /// The links of the smearing if they are not the operator's: how they were smeared, or their SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smear_links: Option<String>,
}

/// A kind of source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum SourceKind {
    /// 1 at a point. Without spin and colour, there is one source for each spin and colour.
    Point {
        /// x, y, z, t.
        position: Coordinate,
        /// The spin, or the component of colour vectors.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spin: Option<usize>,
        /// The colour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        colour: Option<usize>,
    },
    /// Gaussian numbers; right-hand side k has the seed `seed` + k.
    Gauss(NoiseInput),
    /// Each number one of 1, i, −1, −i; right-hand side k has the seed `seed` + k.
    Z4(NoiseInput),
    /// Each number 1 or −1; right-hand side k has the seed `seed` + k.
    Z2(NoiseInput),
    /// exp(+ip·x) on a time slice, p = 2πn/L. Without spin and colour, there is one source for each spin and colour.
    Wall {
        /// n in x, y, z.
        momentum: [i32; 3],
        /// The time slice.
        time: usize,
        /// The spin, or the component of colour vectors.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spin: Option<usize>,
        /// The colour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        colour: Option<usize>,
    },
    /// Read from an array.
    File {
        /// The SHA-256 of its numbers in site order, in little-endian f64.
        sha256_of_numbers: String,
        /// The time slice outside which all numbers are zero, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time: Option<usize>,
    },
}

/// Random numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NoiseInput {
    /// The first seed.
    pub seed: u64,
    /// The number of right-hand sides, each with its own seed.
    pub nrhs: usize,
    /// The time slice of the noise, if it is limited to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<usize>,
}

impl SourceInput {
    /// The time slice of the source, if it is limited to one.
    pub fn time(&self) -> Option<usize> {
        match &self.kind {
            SourceKind::Point { position, .. } => Some(position[3]),
            SourceKind::Wall { time, .. } => Some(*time),
            SourceKind::Gauss(noise) | SourceKind::Z4(noise) | SourceKind::Z2(noise) => noise.time,
            SourceKind::File { time, .. } => *time,
        }
    }
}

/// Why a sidecar was not read or written, or does not fit the array. Messages name the file.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum SidecarError {
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not the sidecar of an array: {reason}; rename it if it is a file of its own", .path.display())]
    Malformed { path: PathBuf, reason: String },
    #[error(
        "{} has the SHA-256 {found}, and its sidecar {} describes a file of {expected}: the array was changed or replaced; remove the sidecar if that is right",
        .array.display(),
        .sidecar.display()
    )]
    OtherArray { array: PathBuf, sidecar: PathBuf, found: String, expected: String },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The path of an array's sidecar.
pub fn path_of(array: &Path) -> PathBuf {
    let mut name = array.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// Removes the sidecar of an array that is about to be replaced, since it would describe the new array wrongly. Files that are not sidecars
/// stay.
pub fn remove(array: &Path) -> Result<(), SidecarError> {
    let path = path_of(array);
    match Sidecar::<Value>::read(array) {
        Ok(Some(_)) => Ok(claims::remove(&path).map_err(|source| WriteError::Write { path, source })?),
        _ => Ok(()),
    }
}

/// If an array has a sidecar, checks that the sidecar describes it.
pub fn check(array: &Path) -> Result<(), SidecarError> {
    Sidecar::<Value>::read(array)?.map_or(Ok(()), |sidecar| sidecar.check(array))
}

/// The SHA-256 of a file, 64 hex digits.
pub(crate) fn sha256_of_file(path: &Path) -> Result<String, SidecarError> {
    let digest = || {
        let (mut file, mut hasher) = (File::open(path)?, Sha256::new());
        let mut buffer = vec![0; 1 << 18];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(hex::encode(hasher.finalize())),
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    digest().map_err(|source| SidecarError::Read { path: path.to_owned(), source })
}

impl<I: Serialize + DeserializeOwned> Sidecar<I> {
    /// The sidecar of an array that has just been written.
    pub fn new(
        array: &Path,
        (shape, dtype): (Vec<usize>, &str),
        command: &str,
        files: BTreeMap<String, String>,
        inputs: I,
    ) -> Result<Self, SidecarError> {
        let file = array.file_name().unwrap_or(array.as_os_str()).to_string_lossy().into_owned();
        let sha256 = sha256_of_file(array)?;
        Ok(Self {
            kind: KIND.to_owned(),
            format: FORMAT,
            lanefield: env!("CARGO_PKG_VERSION").to_owned(),
            array: ArrayFile { file, sha256, shape, dtype: dtype.to_owned() },
            command: command.to_owned(),
            files,
            inputs,
            relative_errors: Vec::new(),
            provenance: None,
        })
    }

    /// The sidecar of a copy of the array that has just been written with another precision or in another format.
    pub fn of_copy(self, copy: &Path, array: (Vec<usize>, &str)) -> Result<Self, SidecarError> {
        let Self { array, inputs, .. } = Self::new(copy, array, "", BTreeMap::new(), self.inputs)?;
        Ok(Self { array, inputs, ..self })
    }

    /// Writes the sidecar next to its array.
    pub fn write(&self, array: &Path) -> Result<(), SidecarError> {
        Ok(write_atomically(&path_of(array), |writer| writer.write_all(sealed(self)?.as_bytes()))?)
    }

    /// Reads the sidecar of an array, if there is one. The array itself is not checked: see [`Self::check`].
    pub fn read(array: &Path) -> Result<Option<Self>, SidecarError> {
        let path = path_of(array);
        let failed = |source| SidecarError::Read { path: path.clone(), source };
        let malformed = |reason: String| SidecarError::Malformed { path: path.clone(), reason };
        match fs::metadata(&path) {
            // Opening a pipe would wait for its writer.
            Ok(metadata) if !metadata.is_file() => return Err(malformed("it is not a file".to_owned())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let mut text = Vec::new();
        File::open(&path).map_err(failed)?.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        ensure!(text.len() as u64 <= MOST_BYTES, malformed(format!("it is longer than {MOST_BYTES} bytes")));
        let mut value: Value = serde_json::from_slice(&text).map_err(|error| malformed(error.to_string()))?;
        ensure!(value["kind"] == KIND, malformed(format!("its kind is {}, not \"{KIND}\"", value["kind"])));
        if value["format"] != FORMAT {
            return Err(malformed(format!("its format is {}, and this version reads {FORMAT}", value["format"])));
        }
        unseal(&mut value).map_err(malformed)?;
        serde_json::from_value(value).map(Some).map_err(|error| malformed(error.to_string()))
    }

    /// Checks that this sidecar describes the array.
    ///
    /// # Errors
    /// [`SidecarError::OtherArray`], or an array that cannot be read.
    pub fn check(&self, array: &Path) -> Result<(), SidecarError> {
        let found = sha256_of_file(array)?;
        if found == self.array.sha256 {
            return Ok(());
        }
        let expected = self.array.sha256.clone();
        Err(SidecarError::OtherArray { array: array.to_owned(), sidecar: path_of(array), found, expected })
    }
}

/// A difference between two inputs.
#[derive(Clone, PartialEq, Debug)]
pub struct SidecarDifference {
    /// The name of what differs: `parameters.mass`.
    pub name: String,
    /// The value in the first input as JSON; `null` if it has none.
    pub first: Value,
    /// The value in the second input.
    pub second: Value,
}

impl SidecarInputs {
    /// The first difference between these inputs and others, in the order of the names. `counts` says which names are compared.
    pub fn difference(&self, other: &Self, counts: impl Fn(&str) -> bool) -> Option<SidecarDifference> {
        let value = |inputs: &Self| serde_json::to_value(inputs).unwrap_or_default();
        difference_of(&value(self), &value(other), counts)
    }
}

/// The first difference between two inputs as JSON, in the order of the names. `counts` says which names are compared.
pub fn difference_of(first: &Value, second: &Value, counts: impl Fn(&str) -> bool) -> Option<SidecarDifference> {
    difference(String::new(), first, second, &counts)
}

fn difference(name: String, first: &Value, second: &Value, counts: &dyn Fn(&str) -> bool) -> Option<SidecarDifference> {
    let (Value::Object(ours), Value::Object(theirs)) = (first, second) else {
        let differs = first != second && counts(&name);
        return differs.then(|| SidecarDifference { name, first: first.clone(), second: second.clone() });
    };
    let added = theirs.keys().filter(|key| !ours.contains_key(*key));
    ours.keys().chain(added).find_map(|key| {
        let inner = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
        difference(inner, &first[key], &second[key], counts)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(mass: f64) -> SidecarInputs {
        SidecarInputs {
            operator: "wilson".into(),
            parameters: Map::from_iter([("mass".to_owned(), mass.into())]),
            boundary: "1,1,1,-1".into(),
            reconstruct: 18,
            legs: "-t-y-z+t+y+z-x+x".into(),
            configuration: ConfigurationInput {
                lattice: [4, 4, 4, 8],
                plaquette: 0.1 + 0.2,
                sha256_of_links: "00".repeat(32),
            },
            source: SourceInput {
                kind: SourceKind::Point { position: [0, 1, 2, 3], spin: None, colour: None },
                smearing: None,
                smear_links: None,
            },
            precision: "f64".into(),
            settings: Map::new(),
        }
    }

    fn written(folder: &Path) -> (PathBuf, Sidecar) {
        let array = folder.join("x.npy");
        std::fs::write(&array, b"abc").unwrap();
        let files = BTreeMap::from([("--config".to_owned(), "weak.nersc".to_owned())]);
        let sidecar = Sidecar::new(&array, (vec![1, 3], "complex128"), "propagator", files, inputs(0.1)).unwrap();
        sidecar.write(&array).unwrap();
        (array, sidecar)
    }

    #[test]
    fn what_was_written_is_read_again_and_describes_the_array() {
        let folder = tempfile::tempdir().unwrap();
        let (array, sidecar) = written(folder.path());
        assert_eq!(path_of(&array), folder.path().join("x.npy.json"));
        let read = Sidecar::read(&array).unwrap().unwrap();
        assert_eq!(read, sidecar);
        assert_eq!(read.array.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        read.check(&array).unwrap();
        assert_eq!(read.inputs.source.time(), Some(3));
    }

    #[test]
    fn an_array_that_was_changed_is_not_the_one_described() {
        let folder = tempfile::tempdir().unwrap();
        let (array, sidecar) = written(folder.path());
        std::fs::write(&array, b"abd").unwrap();
        let error = sidecar.check(&array).unwrap_err().to_string();
        assert!(error.contains("x.npy has the SHA-256 a52d159f") && error.contains("ba7816bf"), "{error}");
    }

    #[test]
    fn no_sidecar_is_none_and_another_file_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let array = folder.path().join("x.npy");
        assert!(Sidecar::<SidecarInputs>::read(&array).unwrap().is_none());
        let refusal = |text: &str| {
            std::fs::write(path_of(&array), text).unwrap();
            Sidecar::<SidecarInputs>::read(&array).unwrap_err().to_string()
        };
        for (text, says) in [
            ("my notes", "expected value at line 1"),
            ("{\"kind\": \"roofline\"}", "its kind is \"roofline\""),
            ("{\"kind\": \"lanefield sidecar\", \"format\": 2}", "its format is 2, and this version reads 1"),
            ("{\"kind\": \"lanefield sidecar\", \"format\": 1}", "missing field"),
            (&" ".repeat(MOST_BYTES as usize + 1), "longer than"),
        ] {
            let error = refusal(text);
            assert!(error.contains("x.npy.json is not the sidecar of an array: ") && error.contains(says), "{error}");
        }
        std::fs::remove_file(path_of(&array)).unwrap();
        std::fs::create_dir(path_of(&array)).unwrap();
        assert!(Sidecar::<SidecarInputs>::read(&array).unwrap_err().to_string().contains("it is not a file"));
    }

    #[test]
    fn the_first_difference_has_a_name_and_what_does_not_count_is_none() {
        let (ours, theirs) = (inputs(0.1), inputs(0.2));
        assert_eq!(ours.difference(&ours.clone(), |_| true), None);
        let found = ours.difference(&theirs, |_| true).unwrap();
        assert_eq!((found.name.as_str(), found.first, found.second), ("parameters.mass", 0.1.into(), 0.2.into()));
        assert_eq!(ours.difference(&theirs, |name| name != "parameters.mass"), None);
        let mut more = inputs(0.1);
        more.parameters.insert("csw".into(), 1.into());
        let found = ours.difference(&more, |_| true).unwrap();
        assert_eq!((found.name.as_str(), found.first, found.second), ("parameters.csw", Value::Null, 1.into()));
    }
}
