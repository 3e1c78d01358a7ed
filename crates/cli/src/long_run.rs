//! The arguments of long solves: checkpoints to resume from, and records to compare with.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use lanefield::io::checkpoint;
use lanefield::io::identity::Identity;
use lanefield::io::record::{RecordReader, RecordWriter};
use lanefield::solver::{Checkpoints, Recorder, Replay, SavedState};

#[derive(Args, Clone, Debug)]
pub struct LongRunArgs {
    /// Write the state of the solver to this file periodically, so that an interrupted solve can be resumed with --resume
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Iterations between two checkpoints
    #[arg(long, value_name = "N", default_value = "100", requires = "checkpoint", value_parser = super::args::iterations)]
    checkpoint_every: usize,
    /// Resume from the --checkpoint file, or start if it does not exist. History and solution are the same bytes as without interruption
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// Write each scalar of the solve, and periodically the SHA-256 of all fields, to this file as JSON lines
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    record: Option<PathBuf>,
    /// Iterations between two sets of SHA-256
    #[arg(long, value_name = "N", default_value = "10", requires = "record", value_parser = super::args::iterations)]
    record_every: usize,
    /// Compare the solve with a record made on any device, with any threads and lane width. Stop at the first difference
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "record"])]
    verify: Option<PathBuf>,
}

/// What watches a long solve, and what it resumes from.
#[derive(Default)]
pub struct LongRun {
    pub checkpoints: Option<Checkpoints>,
    pub recorder: Option<Recorder>,
    pub replay: Option<Replay>,
    pub state: Option<SavedState>,
}

impl LongRunArgs {
    /// The files that are written, with the names of their arguments.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        let files = [("--checkpoint", &self.checkpoint), ("--record", &self.record)];
        files.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?)))
    }

    /// The files that are read.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.verify.as_deref().map(|path| ("--verify", path)).into_iter()
    }

    /// Whether the identity of the solve is needed, for which the configuration is hashed.
    pub fn is_wanted(&self) -> bool {
        self.outputs().next().is_some() || self.verify.is_some()
    }

    /// Opens all files.
    pub fn open(&self, identity: &Identity) -> anyhow::Result<LongRun> {
        let mut run = LongRun::default();
        if let Some(path) = &self.checkpoint {
            let every = self.checkpoint_every;
            run.checkpoints = Some(Checkpoints { path: path.clone(), every, identity: identity.clone() });
            run.state = self.state(path, identity)?;
        }
        if let Some(path) = &self.record {
            run.recorder =
                Some(Recorder::new(RecordWriter::create(path, identity, self.record_every)?, self.record_every));
        }
        if let Some(path) = &self.verify {
            run.replay = Some(Replay::new(RecordReader::open(path, identity)?));
        }
        Ok(run)
    }

    fn state(&self, path: &Path, identity: &Identity) -> anyhow::Result<Option<SavedState>> {
        if !self.resume {
            return Ok(None);
        }
        match path.try_exists() {
            Ok(false) => Ok(None),
            Ok(true) => {
                let state = checkpoint::read(path, identity);
                Ok(Some(state.with_context(|| format!("cannot resume from the checkpoint {}", path.display()))?))
            }
            Err(error) => bail!("failed to look for the checkpoint {}: {error}", path.display()),
        }
    }
}
