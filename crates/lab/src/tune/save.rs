//! Writes results of the tuner. A file is read, changed and replaced under a lock, so that concurrent processes keep each other's results. Readers
//! see the old file or the new one, never a part.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use lanefield::backend::opencl::{DeviceInfo, TunedKernel, TunedOn, TuningFile, Where};
use lanefield::io::atomic::{WriteError, write_atomically};
use thiserror::Error;

use super::{KernelReport, TuneReport, Verdict};

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SaveError {
    #[error("cannot lock {}: {source}; choose another place with LANEFIELD_TUNING=FILE", .path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Checks, before the results are computed, that [`save`] will be able to write to this place.
pub fn require_place(path: &Path) -> Result<(), SaveError> {
    locked(path).map(drop)
}

fn locked(path: &Path) -> Result<File, SaveError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let lock = path.with_file_name(name);
    let failed = |source| SaveError::Lock { path: lock.clone(), source };
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    // The lock file stays: removing it could take it away from another process that waits for it.
    let locked = File::options().create(true).truncate(false).write(true).open(&lock).map_err(failed)?;
    locked.lock().map_err(failed)?;
    Ok(locked)
}

/// Adds the results of `report` to the file at `path`. Results of other kernels stay if they are still valid for `device`; an outdated or damaged
/// file is replaced.
pub fn save(path: &Path, device: &DeviceInfo, report: &TuneReport) -> Result<(), SaveError> {
    let _locked = locked(path)?;
    let mut file = TuningFile::read(path, device).unwrap_or_default();
    file.tuned = Some(TunedOn::now(device, report.access, report.site_order));
    for kernel in &report.kernels {
        let entry = entry(device, kernel);
        file.kernel.retain(|known| known.holds_for != entry.holds_for);
        file.kernel.push(entry);
    }
    let text =
        file.text().map_err(|error| SaveError::Lock { path: path.to_owned(), source: io::Error::other(error) })?;
    Ok(write_atomically(path, |writer| writer.write_all(text.as_bytes()))?)
}

fn entry(device: &DeviceInfo, kernel: &KernelReport) -> TunedKernel {
    let searched = &kernel.searched;
    let us = |seconds: f64| (seconds * 1e9).round() / 1e3;
    TunedKernel {
        holds_for: Where::exactly(device, &kernel.key),
        choose: searched.choice,
        measured: Some(device.name.clone()),
        default_us: Some(us(searched.default_seconds)),
        tuned_us: Some(us(searched.seconds)),
        candidates: searched
            .candidates
            .iter()
            .map(|candidate| {
                let time = candidate.seconds.map_or(String::new(), |seconds| format!("{} µs, ", us(seconds)));
                format!("{}: {time}{}", candidate.choice, candidate.verdict)
            })
            .collect(),
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Chosen => f.write_str("chosen"),
            Self::Slower { percent } => write!(f, "slower by {percent:.1} %"),
            Self::BitsDiffer { difference } => write!(f, "BITS DIFFER: {difference}"),
            Self::Refused { reason } => write!(f, "refused: {}", reason.replace('\n', " ")),
            Self::LeftOut => f.write_str("left out for lack of time"),
        }
    }
}
