//! An ensemble in a directory: its parameters (`ensemble.json`), the plaquette after each sweep (`history.csv`), and configurations named by the
//! number of sweeps (`000100.nersc`), each with the id of the ensemble in its header. An interrupted run resumes from the last configuration there;
//! if a signal stopped it, that is `stopped.nersc`. Only one process at a time writes to the directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lanefield_reference::gauge::Configuration;
use lanefield_reference::real::Precision;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::bounded::read_text;
use crate::comm::{CommError, WholeLattice};
use crate::io::atomic::{WriteError, write_atomically};
use crate::io::claims;
use crate::io::lock::{LOCK, Lock, LockError};
use crate::io::nersc::{self, NerscError, NerscOptions};

/// The parameters of an ensemble: all that determines its configurations to the last bit. They are the keys of `ensemble.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names say it")]
pub struct EnsembleParameters {
    /// The action: `wilson`, `symanzik` or `iwasaki`.
    pub action: String,
    pub beta: f64,
    pub lattice: [usize; 4],
    /// The starting configuration: `unit`, `hot`, or the checksum of a configuration.
    pub start: String,
    /// Overrelaxation sweeps after each heat bath sweep.
    pub overrelaxations: usize,
    pub seed: u64,
    pub precision: Precision,
    /// Sweeps before the first configuration that is kept.
    pub thermalisation: u64,
    /// Sweeps between configurations that are kept.
    pub every: u64,
}

/// The prefix of ENSEMBLE_ID in the header of a configuration of such an ensemble.
const ID: &str = "LANEFIELD-";

impl EnsembleParameters {
    /// ENSEMBLE_ID of the configurations. Two ensembles with the same parameters have the same configurations and the same id.
    pub fn id(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{ID}{}", hex::encode(&Sha256::digest(text)[..8]))
    }

    /// The parameters of the ensemble in a directory; `None` if it has no `ensemble.json`.
    fn of_directory(directory: &Path) -> Option<Result<Self, String>> {
        match read_text(&directory.join(DESCRIPTION)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(Err(error.to_string())),
            Ok(text) => Some(serde_json::from_str(&text).map_err(|error| error.to_string())),
        }
    }
}

/// Checks that no configuration in a directory names an ensemble other than that of its `ensemble.json`, or than that of the first configuration.
/// Configurations without a name, such as files of other programs, pass.
///
/// # Errors
/// [`EnsembleError::Stranger`]; [`EnsembleError::Malformed`] if an `ensemble.json` cannot be parsed.
pub fn require_one_ensemble(directory: &Path, files: &[PathBuf]) -> Result<(), EnsembleError> {
    let of_directory = EnsembleParameters::of_directory(directory);
    if of_directory.is_none() && files.len() < 2 {
        return Ok(());
    }
    let description = directory.join(DESCRIPTION);
    let mut expected =
        of_directory.map(|parameters| (description.clone(), parameters.map(|parameters| parameters.id())));
    for path in files.iter().filter(|path| path.is_file()) {
        // A file that cannot be read is reported when it is read.
        let Ok(header) = nersc::read_header(path) else { continue };
        let id = header.ensemble_id.trim().to_owned();
        if !id.starts_with(ID) {
            continue;
        }
        let (other, expected) = expected.get_or_insert_with(|| (path.clone(), Ok(id.clone())));
        let expected = expected.as_ref().map_err(|error| EnsembleError::Malformed {
            path: description.clone(),
            problem: format!("is damaged, and {} names the ensemble {id}: {error}", path.display()),
        })?;
        if id != *expected {
            let (other, expected) = (other.clone(), expected.clone());
            return Err(EnsembleError::Stranger { path: path.clone(), id, other, expected });
        }
    }
    Ok(())
}

/// Like [`require_one_ensemble`], for one configuration, in any format, in a directory of the ensemble `id`.
pub fn require_ensemble_of_directory(directory: &Path, path: &Path, id: &str) -> Result<(), EnsembleError> {
    let (id, other) = (id.trim().to_owned(), directory.join(DESCRIPTION));
    match EnsembleParameters::of_directory(directory).filter(|_| id.starts_with(ID)) {
        Some(Ok(parameters)) if parameters.id() != id => {
            Err(EnsembleError::Stranger { path: path.to_owned(), id, other, expected: parameters.id() })
        }
        _ => Ok(()),
    }
}

/// Rejects directories of ensembles with different actions or β: an average over both would belong to neither. Directories without an
/// `ensemble.json` pass.
pub fn require_one_action<'a>(directories: impl Iterator<Item = &'a Path>) -> Result<(), EnsembleError> {
    let described = |path: &'a Path| Some((path, EnsembleParameters::of_directory(path)?.ok()?));
    let mut described = directories.filter_map(described);
    let Some((first, ours)) = described.next() else { return Ok(()) };
    let of = |parameters: &EnsembleParameters| format!("{} at β = {}", parameters.action, parameters.beta);
    match described.find(|(_, theirs)| of(theirs) != of(&ours)) {
        None => Ok(()),
        Some((path, theirs)) => Err(EnsembleError::Mixed {
            first: first.to_owned(),
            path: path.to_owned(),
            ours: of(&ours),
            theirs: of(&theirs),
        }),
    }
}

/// Why an ensemble cannot be created, read or written. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum EnsembleError {
    #[error(
        "{} is not empty{}", .0.display(),
        if .0.join(DESCRIPTION).is_file() { ": give an empty directory, or --resume to continue the ensemble there" }
        else { ", and has no ensemble.json to resume: give an empty directory" }
    )]
    NotEmpty(PathBuf),
    #[error("{} belongs to another ensemble: {what} is {there} there, and {asked} was requested", path.display())]
    Other { path: PathBuf, what: String, there: String, asked: String },
    #[error(
        "{} is a configuration of the ensemble {id}, and {} next to it is of the ensemble {expected}: move one of them to another directory",
        path.display(), other.display()
    )]
    Stranger { path: PathBuf, id: String, other: PathBuf, expected: String },
    #[error("{} is an ensemble of {ours}, and {} of {theirs}: measure them separately", first.display(), path.display())]
    Mixed { first: PathBuf, path: PathBuf, ours: String, theirs: String },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("{} {problem}", path.display())]
    Malformed { path: PathBuf, problem: String },
    #[error("failed to access {}", path.display())]
    Access { path: PathBuf, source: io::Error },
    #[error("{}", path.display())]
    Nersc { path: PathBuf, source: Box<NerscError> },
    #[error(transparent)]
    Comm(#[from] CommError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// An ensemble in a directory.
#[derive(Debug)]
pub struct Ensemble {
    /// Each rank has a local volume of it; rank 0 creates the directory.
    lattice: WholeLattice,
    directory: PathBuf,
    parameters: EnsembleParameters,
    /// The plaquette after each sweep.
    history: Vec<f64>,
    /// Only on rank 0.
    _lock: Option<Lock>,
}

const DESCRIPTION: &str = "ensemble.json";
const HISTORY: &str = "history.csv";
const STOPPED: &str = "stopped.nersc";

fn access(path: &Path) -> impl FnOnce(io::Error) -> EnsembleError + '_ {
    |source| EnsembleError::Access { path: path.to_owned(), source }
}

impl Ensemble {
    /// Creates an ensemble in an empty directory, or in a new one. All ranks must call this function and those below.
    pub fn begin(
        directory: &Path,
        parameters: EnsembleParameters,
        lattice: WholeLattice,
    ) -> Result<Self, EnsembleError> {
        let directory = directory.to_owned();
        let mut ensemble = Self { lattice, directory, parameters, history: Vec::new(), _lock: None };
        if !ensemble.lattice.is_first() {
            return Ok(ensemble);
        }
        let directory = &ensemble.directory;
        if directory.is_file() {
            let problem = "is a file: give the name of a directory".to_owned();
            return Err(EnsembleError::Malformed { path: directory.clone(), problem });
        }
        fs::create_dir_all(directory).map_err(access(directory))?;
        let entries = || fs::read_dir(directory).map_err(access(directory));
        if entries()?.flatten().any(|entry| entry.file_name() != LOCK) {
            return Err(EnsembleError::NotEmpty(directory.clone()));
        }
        let lock = Lock::take(directory)?;
        // Another run may have started and ended in the meantime.
        if entries()?.flatten().any(|entry| entry.file_name() != LOCK) {
            return Err(EnsembleError::NotEmpty(directory.clone()));
        }
        ensemble._lock = Some(lock);
        ensemble.claim()?;
        let path = ensemble.path(DESCRIPTION);
        let text = serde_json::to_string_pretty(&ensemble.parameters)
            .map_err(|error| EnsembleError::Malformed { path: path.clone(), problem: error.to_string() })?;
        write_atomically(&path, |writer| writeln!(writer, "{text}"))?;
        Ok(ensemble)
    }

    /// Resumes an ensemble. Returns the last configuration in the directory and its number of sweeps, or `None` if there is none yet.
    pub fn resume(
        directory: &Path,
        parameters: EnsembleParameters,
        lattice: WholeLattice,
    ) -> Result<(Self, Option<(u64, Configuration)>), EnsembleError> {
        let path = directory.join(DESCRIPTION);
        let text = read_text(&path).map_err(access(&path))?;
        let malformed = |path: &Path, problem: String| EnsembleError::Malformed { path: path.to_owned(), problem };
        let there: EnsembleParameters = serde_json::from_str(&text)
            .map_err(|error| malformed(&path, format!("is not a valid description of an ensemble: {error}")))?;
        if let Some((what, there, asked)) = difference(&there, &parameters) {
            return Err(EnsembleError::Other { path, what, there, asked });
        }
        let lock = lattice.is_first().then(|| Lock::take(directory)).transpose()?;
        let directory = directory.to_owned();
        let mut ensemble = Self { lattice, directory, parameters, history: Vec::new(), _lock: lock };
        ensemble.claim()?;
        let Some((sweeps, path)) = ensemble.last_configuration()? else { return Ok((ensemble, None)) };
        let failed = |source: NerscError| EnsembleError::Nersc { path: path.clone(), source: source.into() };
        let extents = nersc::read_header(&path).map_err(failed)?.extents.as_array();
        if extents != ensemble.parameters.lattice {
            return Err(malformed(&path, format!("is on {extents:?}, not on {:?}", ensemble.parameters.lattice)));
        }
        let file = nersc::read_part(&path, &ensemble.lattice).map_err(failed)?;
        ensemble.history = ensemble.read_history(sweeps)?;
        let plaquette = ensemble.lattice.plaquette(&file.configuration)?;
        // The plaquette in the history was computed on a device, perhaps in f32.
        if let Some(there) = ensemble.history.last().filter(|there| (**there - plaquette).abs() > 1e-5) {
            let problem =
                format!("has the plaquette {plaquette}, and {HISTORY} says {there}: they belong to different runs");
            return Err(malformed(&path, problem));
        }
        Ok((ensemble, Some((sweeps, file.configuration))))
    }

    /// The parameters of the ensemble.
    pub fn parameters(&self) -> &EnsembleParameters {
        &self.parameters
    }

    /// The plaquette after each sweep.
    pub fn history(&self) -> &[f64] {
        &self.history
    }

    /// The path of the configuration after this number of sweeps.
    pub fn configuration_path(&self, sweeps: u64) -> PathBuf {
        self.path(&format!("{sweeps:06}.nersc"))
    }

    /// Appends the plaquette after a sweep to the history.
    pub fn add(&mut self, plaquette: f64) {
        self.history.push(plaquette);
    }

    /// Whether the configuration after this number of sweeps is kept.
    pub fn keeps(&self, sweeps: u64) -> bool {
        let EnsembleParameters { thermalisation, every, .. } = self.parameters;
        sweeps > thermalisation && (sweeps - thermalisation).is_multiple_of(every.max(1))
    }

    /// Writes the current configuration, and the history up to it.
    pub fn keep(&self, configuration: &Configuration) -> Result<PathBuf, EnsembleError> {
        let path = self.configuration_path(self.sweeps());
        if self.lattice.is_first() {
            claims::claim_new(&path, "a configuration");
        }
        self.write(&path, configuration)?;
        let path = claims::written_to(&path);
        let stopped = self.path(STOPPED);
        if !self.lattice.is_first() {
            return Ok(path);
        }
        claims::remove(&stopped).map_err(access(&stopped))?;
        Ok(path)
    }

    /// Writes the state from which a run resumes that stops before the next configuration is kept.
    pub fn stop(&self, configuration: &Configuration) -> Result<(), EnsembleError> {
        self.write(&self.path(STOPPED), configuration)
    }

    /// Claims the files that are rewritten again and again; no other file is replaced.
    fn claim(&self) -> Result<(), EnsembleError> {
        for name in [DESCRIPTION, HISTORY, STOPPED].into_iter().filter(|_| self.lattice.is_first()) {
            let path = self.path(name);
            if let Some(other) = claims::claim(&path, name, false) {
                return Err(EnsembleError::Malformed { path, problem: format!("is named by {other}, too") });
            }
        }
        Ok(())
    }

    fn sweeps(&self) -> u64 {
        self.history.len() as u64
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes the history first: it may have more sweeps than the last configuration, but not fewer.
    fn write(&self, path: &Path, configuration: &Configuration) -> Result<(), EnsembleError> {
        if self.lattice.is_first() {
            write_atomically(&self.path(HISTORY), |writer| {
                writeln!(writer, "sweep,plaquette,plaquette_bits")?;
                let mut rows = self.history.iter().enumerate();
                let row = |(k, plaquette): (usize, &f64)| {
                    writeln!(writer, "{},{plaquette},{:016x}", k + 1, plaquette.to_bits())
                };
                rows.try_for_each(row)
            })?;
        }
        let EnsembleParameters { action, beta, .. } = &self.parameters;
        // A label is too short for the 300 zeros of 1e300.
        let beta = if *beta == 0.0 || (1e-5..1e16).contains(beta) { beta.to_string() } else { format!("{beta:e}") };
        let options = NerscOptions {
            ensemble_id: self.parameters.id(),
            ensemble_label: format!("quenched {action} beta {beta}"),
            sequence_number: self.sweeps(),
            ..NerscOptions::default()
        };
        nersc::write_part(path, configuration, &options, &self.lattice).map_err(|error| match error {
            NerscError::Write(error) => error.into(),
            source => EnsembleError::Nersc { path: path.to_owned(), source: source.into() },
        })
    }

    /// The last configuration in the directory, and its number of sweeps.
    fn last_configuration(&self) -> Result<Option<(u64, PathBuf)>, EnsembleError> {
        let (mut last, mut all) = (None, Vec::new());
        for entry in fs::read_dir(&self.directory).map_err(access(&self.directory))? {
            let path = entry.map_err(access(&self.directory))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let numbered = name.strip_suffix(".nersc").and_then(|number| number.parse::<u64>().ok());
            let sweeps = match numbered {
                None if name == STOPPED => {
                    let header = nersc::read_header(&path)
                        .map_err(|source| EnsembleError::Nersc { path: path.clone(), source: source.into() })?;
                    header.sequence_number.trim().parse().ok()
                }
                number => number,
            };
            all.extend(sweeps.map(|_| path.clone()));
            if let Some(sweeps) = sweeps.filter(|sweeps| last.as_ref().is_none_or(|(most, _)| sweeps > most)) {
                last = Some((sweeps, path));
            }
        }
        require_one_ensemble(&self.directory, &all)?;
        Ok(last)
    }

    /// Reads the plaquettes of this number of sweeps.
    fn read_history(&self, sweeps: u64) -> Result<Vec<f64>, EnsembleError> {
        let path = self.path(HISTORY);
        let text = read_text(&path).map_err(access(&path))?;
        // The number occurs twice.
        let bits = |row: &str| {
            let (decimal, bits) = row.split_once(',')?.1.split_once(',')?;
            let value = f64::from_bits(u64::from_str_radix(bits, 16).ok()?);
            decimal.parse().is_ok_and(|decimal: f64| decimal.to_bits() == value.to_bits()).then_some(value)
        };
        let rows = text.lines().skip(1).take(usize::try_from(sweeps).unwrap_or(usize::MAX));
        let history: Vec<f64> = rows.map_while(bits).collect();
        match history.len() as u64 == sweeps {
            true => Ok(history),
            false => {
                let problem = format!("holds {} of the {sweeps} sweeps up to the last configuration", history.len());
                Err(EnsembleError::Malformed { path, problem })
            }
        }
    }
}

/// The first parameter in which two ensembles differ, and its values.
fn difference(there: &EnsembleParameters, asked: &EnsembleParameters) -> Option<(String, String, String)> {
    let fields = |parameters| match serde_json::to_value(parameters) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (there, asked) = (fields(there), fields(asked));
    there.iter().find_map(|(what, value)| {
        let other = asked.get(what)?;
        (value != other).then(|| (what.clone(), value.to_string(), other.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use lanefield_reference::layout::Extents;

    use super::*;

    fn parameters() -> EnsembleParameters {
        EnsembleParameters {
            action: "wilson".to_owned(),
            beta: 5.7,
            lattice: [2, 2, 2, 4],
            start: "hot".to_owned(),
            overrelaxations: 4,
            seed: 1,
            precision: Precision::F64,
            thermalisation: 2,
            every: 3,
        }
    }

    fn alone() -> WholeLattice {
        WholeLattice::alone(configuration(0).extents())
    }

    fn configuration(seed: u64) -> Configuration {
        Configuration::hot(Extents::new([2, 2, 2, 4]).unwrap(), seed)
    }

    #[test]
    fn an_ensemble_goes_on_from_its_last_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("of");
        let resume = || Ensemble::resume(&path, parameters(), alone()).unwrap();
        let plaquettes: Vec<f64> = (1..=8).map(|seed| configuration(seed).plaquette()).collect();
        drop(Ensemble::begin(&path, parameters(), alone()).unwrap());
        let (mut ensemble, last) = resume();
        assert!(last.is_none());
        plaquettes[..5].iter().for_each(|&plaquette| ensemble.add(plaquette));
        assert_eq!([2, 3, 5, 8].map(|sweeps| ensemble.keeps(sweeps)), [false, false, true, true]);
        assert!(ensemble.keep(&configuration(5)).unwrap().ends_with("000005.nersc"));
        let refused = Ensemble::resume(&path, parameters(), alone()).unwrap_err().to_string();
        assert!(refused.contains("is being written by process "), "{refused}");
        drop(ensemble);
        let (mut ensemble, last) = resume();
        assert_eq!((ensemble.history(), last), (&plaquettes[..5], Some((5, configuration(5)))));
        ensemble.add(plaquettes[5]);
        ensemble.stop(&configuration(6)).unwrap();
        drop(ensemble);
        let (mut ensemble, last) = resume();
        assert_eq!((ensemble.history(), last), (&plaquettes[..6], Some((6, configuration(6)))));
        plaquettes[6..].iter().for_each(|&plaquette| ensemble.add(plaquette));
        // A file that another program put there stays.
        fs::write(path.join("000008.nersc"), "theirs").unwrap();
        assert!(ensemble.keep(&configuration(8)).unwrap().ends_with("000008.1.nersc"));
        assert_eq!(fs::read_to_string(path.join("000008.nersc")).unwrap(), "theirs");
        assert!(!path.join(STOPPED).exists());
    }

    #[test]
    fn a_history_of_another_run_is_not_continued() {
        let directory = tempfile::tempdir().unwrap();
        let mut ensemble = Ensemble::begin(directory.path(), parameters(), alone()).unwrap();
        (1..=5).for_each(|k| ensemble.add(f64::from(k) / 10.0));
        ensemble.keep(&configuration(5)).unwrap();
        drop(ensemble);
        let refused = || Ensemble::resume(directory.path(), parameters(), alone()).unwrap_err().to_string();
        assert!(refused().contains("history.csv says 0.5: they belong to different runs"), "{}", refused());
        let path = directory.path().join(HISTORY);
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("3,0.3,", "3,0.7,")).unwrap();
        assert!(refused().contains("holds 2 of the 5 sweeps"), "{}", refused());
    }

    #[test]
    fn another_ensemble_is_not_gone_on_with() {
        let directory = tempfile::tempdir().unwrap();
        Ensemble::begin(directory.path(), parameters(), alone()).unwrap();
        let other = EnsembleParameters { beta: 6.0, ..parameters() };
        let error = Ensemble::resume(directory.path(), other, alone()).unwrap_err().to_string();
        assert!(error.ends_with("belongs to another ensemble: beta is 5.7 there, and 6.0 was requested"), "{error}");
        let error = Ensemble::begin(directory.path(), parameters(), alone()).unwrap_err().to_string();
        assert!(error.contains("is not empty") && error.contains("--resume"), "{error}");
        fs::rename(directory.path().join(DESCRIPTION), directory.path().join("notes")).unwrap();
        let error = Ensemble::begin(directory.path(), parameters(), alone()).unwrap_err().to_string();
        assert!(
            error.ends_with("is not empty, and has no ensemble.json to resume: give an empty directory"),
            "{error}"
        );
        let nowhere = directory.path().join("nowhere");
        assert!(Ensemble::resume(&nowhere, parameters(), alone()).unwrap_err().to_string().contains("ensemble.json"));
    }
}
