//! An ensemble in a directory: what it is of (`ensemble.json`), the plaquette after each sweep (`history.csv`), and configurations by the number of sweeps
//! (`000100.nersc`). A run that was ended goes on from the last configuration there; where a signal ended it, that is `stopped.nersc`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lanefield_reference::gauge::Configuration;
use lanefield_reference::real::Precision;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::comm::WholeLattice;
use crate::io::atomic::{WriteError, write_atomically};
use crate::io::nersc::{self, NerscError, WriteOptions};

/// What an ensemble is of: all that determines its configurations to the last bit. As JSON, these fields.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnsembleParameters {
    /// The action: `wilson`, `symanzik` or `iwasaki`.
    pub action: String,
    /// β.
    pub beta: f64,
    /// Extents x, y, z, t.
    pub lattice: [usize; 4],
    /// What it began from: `unit`, `hot`, or the checksum of a configuration.
    pub start: String,
    /// Overrelaxation sweeps after each one of the heat bath.
    pub overrelaxations: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// In which one computes.
    pub precision: Precision,
    /// Sweeps before the first configuration that is kept.
    pub thermalisation: u64,
    /// Sweeps from one configuration that is kept to the next.
    pub every: u64,
}

/// Why an ensemble is not made. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum EnsembleError {
    /// There is one already, or other files.
    #[error("{} has files in it: give an empty directory, or --resume to go on with the ensemble there", .0.display())]
    NotEmpty(PathBuf),
    /// There is another one.
    #[error("{} is of another ensemble: {what} is {there} there, and {asked} here", path.display())]
    Other { path: PathBuf, what: String, there: String, asked: String },
    /// A file that does not say what it should.
    #[error("{} {problem}", path.display())]
    Malformed { path: PathBuf, problem: String },
    /// A file or directory cannot be read or made.
    #[error("failed to access {}", path.display())]
    Access { path: PathBuf, source: io::Error },
    /// A configuration.
    #[error("{}", path.display())]
    Nersc { path: PathBuf, source: Box<NerscError> },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// An ensemble in a directory.
#[derive(Debug)]
pub struct Ensemble {
    /// Of which each rank has a part; rank 0 makes the directory.
    lattice: WholeLattice,
    directory: PathBuf,
    parameters: EnsembleParameters,
    /// The plaquette after each sweep.
    history: Vec<f64>,
}

const DESCRIPTION: &str = "ensemble.json";
const HISTORY: &str = "history.csv";
const STOPPED: &str = "stopped.nersc";

fn access(path: &Path) -> impl FnOnce(io::Error) -> EnsembleError + '_ {
    |source| EnsembleError::Access { path: path.to_owned(), source }
}

impl Ensemble {
    /// An ensemble that begins, in an empty directory, or one that is made. On ranks all of them call this, and every function here.
    ///
    /// # Errors
    /// [`EnsembleError`] of a directory with files in it, or that cannot be made.
    pub fn begin(
        directory: &Path,
        parameters: EnsembleParameters,
        lattice: WholeLattice,
    ) -> Result<Self, EnsembleError> {
        let ensemble = Self { lattice, directory: directory.to_owned(), parameters, history: Vec::new() };
        if !ensemble.lattice.is_first() {
            return Ok(ensemble);
        }
        fs::create_dir_all(directory).map_err(access(directory))?;
        if fs::read_dir(directory).map_err(access(directory))?.next().is_some() {
            return Err(EnsembleError::NotEmpty(directory.to_owned()));
        }
        let path = ensemble.path(DESCRIPTION);
        let text = serde_json::to_string_pretty(&ensemble.parameters)
            .map_err(|error| EnsembleError::Malformed { path: path.clone(), problem: error.to_string() })?;
        write_atomically(&path, |writer| writeln!(writer, "{text}"))?;
        Ok(ensemble)
    }

    /// An ensemble that goes on, with the last configuration there and its number of sweeps; none where there is none yet.
    ///
    /// # Errors
    /// [`EnsembleError`] of another ensemble, and of files that are damaged.
    pub fn resume(
        directory: &Path,
        parameters: EnsembleParameters,
        lattice: WholeLattice,
    ) -> Result<(Self, Option<(u64, Configuration)>), EnsembleError> {
        let path = directory.join(DESCRIPTION);
        let text = fs::read_to_string(&path).map_err(access(&path))?;
        let malformed = |path: &Path, problem: String| EnsembleError::Malformed { path: path.to_owned(), problem };
        let there: EnsembleParameters =
            serde_json::from_str(&text).map_err(|error| malformed(&path, format!("describes no ensemble: {error}")))?;
        if let Some((what, there, asked)) = difference(&there, &parameters) {
            return Err(EnsembleError::Other { path, what, there, asked });
        }
        let mut ensemble = Self { lattice, directory: directory.to_owned(), parameters, history: Vec::new() };
        let Some((sweeps, path)) = ensemble.last_configuration()? else { return Ok((ensemble, None)) };
        let failed = |source: NerscError| EnsembleError::Nersc { path: path.clone(), source: source.into() };
        let extents = nersc::read_header(&path).map_err(failed)?.extents.as_array();
        if extents != ensemble.parameters.lattice {
            return Err(malformed(&path, format!("is on {extents:?}, not on {:?}", ensemble.parameters.lattice)));
        }
        let file = nersc::read_part(&path, &ensemble.lattice).map_err(failed)?;
        ensemble.history = ensemble.read_history(sweeps)?;
        Ok((ensemble, Some((sweeps, file.configuration))))
    }

    /// What it is of.
    pub fn parameters(&self) -> &EnsembleParameters {
        &self.parameters
    }

    /// The plaquette after each sweep.
    pub fn history(&self) -> &[f64] {
        &self.history
    }

    /// The file of the configuration after so many sweeps.
    pub fn configuration_path(&self, sweeps: u64) -> PathBuf {
        self.path(&format!("{sweeps:06}.nersc"))
    }

    /// Adds the plaquette after a sweep.
    pub fn add(&mut self, plaquette: f64) {
        self.history.push(plaquette);
    }

    /// Whether the configuration after so many sweeps is kept.
    pub fn keeps(&self, sweeps: u64) -> bool {
        let EnsembleParameters { thermalisation, every, .. } = self.parameters;
        sweeps > thermalisation && (sweeps - thermalisation).is_multiple_of(every.max(1))
    }

    /// Keeps the configuration that is reached, and the history up to it.
    ///
    /// # Errors
    /// [`EnsembleError`] of what cannot be written.
    pub fn keep(&self, configuration: &Configuration) -> Result<PathBuf, EnsembleError> {
        let path = self.configuration_path(self.sweeps());
        self.write(&path, configuration)?;
        let stopped = self.path(STOPPED);
        if !self.lattice.is_first() {
            return Ok(path);
        }
        match fs::remove_file(&stopped) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(access(&stopped)(error)),
            _ => Ok(path),
        }
    }

    /// Writes what a run goes on from that ends before the next configuration is kept.
    ///
    /// # Errors
    /// [`EnsembleError`] of what cannot be written.
    pub fn stop(&self, configuration: &Configuration) -> Result<(), EnsembleError> {
        self.write(&self.path(STOPPED), configuration)
    }

    fn sweeps(&self) -> u64 {
        self.history.len() as u64
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The history first: it may know more sweeps than there are configurations, and not fewer.
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
        let options = WriteOptions {
            ensemble_label: format!("quenched {action} beta {beta}"),
            sequence_number: self.sweeps(),
            ..WriteOptions::default()
        };
        nersc::write_part(path, configuration, &options, &self.lattice).map_err(|error| match error {
            NerscError::Write(error) => error.into(),
            source => EnsembleError::Nersc { path: path.to_owned(), source: source.into() },
        })
    }

    /// The last configuration in the directory, and after how many sweeps it is.
    fn last_configuration(&self) -> Result<Option<(u64, PathBuf)>, EnsembleError> {
        let mut last = None;
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
            if let Some(sweeps) = sweeps.filter(|sweeps| last.as_ref().is_none_or(|(most, _)| sweeps > most)) {
                last = Some((sweeps, path));
            }
        }
        Ok(last)
    }

    /// The plaquettes of so many sweeps.
    fn read_history(&self, sweeps: u64) -> Result<Vec<f64>, EnsembleError> {
        let path = self.path(HISTORY);
        let text = fs::read_to_string(&path).map_err(access(&path))?;
        let bits = |row: &str| u64::from_str_radix(row.rsplit(',').next()?, 16).ok().map(f64::from_bits);
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

/// The first parameter in which two differ, and its values.
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
        let mut ensemble = Ensemble::begin(&path, parameters(), alone()).unwrap();
        assert!(Ensemble::resume(&path, parameters(), alone()).unwrap().1.is_none());
        (1..=5).for_each(|k| ensemble.add(f64::from(k) / 10.0));
        assert_eq!([2, 3, 5, 8].map(|sweeps| ensemble.keeps(sweeps)), [false, false, true, true]);
        assert!(ensemble.keep(&configuration(5)).unwrap().ends_with("000005.nersc"));
        ensemble.add(0.6);
        let (resumed, last) = Ensemble::resume(&path, parameters(), alone()).unwrap();
        assert_eq!((resumed.history(), last), (&[0.1, 0.2, 0.3, 0.4, 0.5][..], Some((5, configuration(5)))));
        ensemble.stop(&configuration(6)).unwrap();
        let (resumed, last) = Ensemble::resume(&path, parameters(), alone()).unwrap();
        assert_eq!((resumed.history(), last), (ensemble.history(), Some((6, configuration(6)))));
        (7..=8).for_each(|k| ensemble.add(f64::from(k) / 10.0));
        ensemble.keep(&configuration(8)).unwrap();
        assert!(!path.join(STOPPED).exists());
    }

    #[test]
    fn another_ensemble_is_not_gone_on_with() {
        let directory = tempfile::tempdir().unwrap();
        Ensemble::begin(directory.path(), parameters(), alone()).unwrap();
        let other = EnsembleParameters { beta: 6.0, ..parameters() };
        let error = Ensemble::resume(directory.path(), other, alone()).unwrap_err().to_string();
        assert!(error.ends_with("is of another ensemble: beta is 5.7 there, and 6.0 here"), "{error}");
        let error = Ensemble::begin(directory.path(), parameters(), alone()).unwrap_err().to_string();
        assert!(error.contains("has files in it"), "{error}");
        let nowhere = directory.path().join("nowhere");
        assert!(Ensemble::resume(&nowhere, parameters(), alone()).unwrap_err().to_string().contains("ensemble.json"));
    }
}
