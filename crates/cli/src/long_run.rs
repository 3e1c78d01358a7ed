//! The arguments of long solves: checkpoints to resume from, and records to compare with.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use lanefield::io::checkpoint;
use lanefield::io::identity::Identity;
use lanefield::io::record::{RecordReader, RecordWriter};
use lanefield::solver::{Checkpoints, Recorder, Replay, SavedState};

use super::files::given;

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
        given([("--checkpoint", &self.checkpoint), ("--record", &self.record)])
    }

    /// Those of them that may be there already.
    pub fn goes_on(&self, argument: &str) -> bool {
        self.resume && argument == "--checkpoint"
    }

    /// The files that are read.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        given([("--verify", &self.verify)])
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
        let exists =
            || path.try_exists().with_context(|| format!("failed to look for the checkpoint {}", path.display()));
        if !self.resume || !exists()? {
            return Ok(None);
        }
        let state = checkpoint::read(path, identity);
        state.map(Some).with_context(|| format!("cannot resume from the checkpoint {}", path.display()))
    }
}
