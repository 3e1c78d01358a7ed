//! The arguments and watchers of long solves: checkpoints to resume from, records to compare with, and signals that end a solve.

use std::error::Error;
use std::fmt;

use lanefield::comm::WholeLattice;
use lanefield::io::atomic::WriteError;
use lanefield::io::checkpoint;
use lanefield::io::claims;
use lanefield::io::identity::Identity;
use lanefield::io::lock::Lock;
use lanefield::io::record::{RecordError, RecordReader, RecordWriter};
use lanefield::solver::{
    Checkpoints, Digests, Recurrence, Replay, ReplayDifference, SavedState, SolveError, SolveRecorder, SolverError,
    SolverInfo, Stopped, WatchedScalar, Watcher,
};

use crate::files::{but_with, given, lock_file, stopped};
use crate::interrupt::{self, interrupted};
use crate::output::print_json;
use crate::prelude::*;
use crate::ranks;
use crate::solving::course::Fact;

/// Checkpoints of a long computation.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Long runs")]
pub struct CheckpointArgs {
    /// Write the state of the solver to this file periodically: --resume continues an interrupted run
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Iterations between two checkpoints
    #[arg(long, hide_short_help = true, value_name = "N", default_value = "100", requires = "checkpoint", value_parser = crate::args::iterations)]
    checkpoint_every: usize,
    /// Resume from the --checkpoint file, or start if it does not exist. The results are the same bytes as without interruption
    #[arg(long, requires = "checkpoint")]
    resume: bool,
}

#[derive(Args, Clone, Debug)]
pub struct LongRunArgs {
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    /// Write a record of the solve: each scalar, and periodically the SHA-256 of all fields, as JSON lines
    #[arg(long, hide_short_help = true, value_name = "FILE", conflicts_with = "resume")]
    record: Option<PathBuf>,
    /// Iterations between two sets of SHA-256
    #[arg(long, hide_short_help = true, value_name = "N", default_value = "10", requires = "record", value_parser = crate::args::iterations)]
    record_every: usize,
    /// Compare with this record, and stop at the first difference: it may come from any device, with any threads and lane width
    #[arg(long, hide_short_help = true, value_name = "FILE", conflicts_with_all = ["resume", "record"])]
    verify: Option<PathBuf>,
}

/// The watchers of a long solve, and the state that it resumes from.
#[derive(Default)]
pub struct LongRun {
    checkpoints: Option<Checkpoints>,
    recorder: Option<SolveRecorder>,
    replay: Option<Replay>,
    state: Option<SavedState>,
    histories: Vec<Vec<f64>>,
    lattice: Option<WholeLattice>,
    lock: Option<Lock>,
    /// The checkpoint that was written when the iterations ran out.
    given_up: Option<LastCheckpoint>,
    what: &'static str,
}

/// The error for a solve or search that a signal ended.
#[derive(Debug)]
pub struct Interrupted {
    what: &'static str,
    iterations: usize,
    checkpoint: Option<LastCheckpoint>,
}

#[derive(Debug)]
struct LastCheckpoint {
    path: PathBuf,
    is_written: bool,
    /// Whether --checkpoint names the file.
    is_named: bool,
}

impl LastCheckpoint {
    /// How to continue, with the same command and `more` arguments.
    fn continues(&self, more: &str) -> String {
        let Self { path, is_written, is_named } = self;
        let path = path.display();
        match (is_written, is_named) {
            (true, true) => format!("the same command with --resume{more} continues from {path}"),
            (true, false) => format!("the same command with --checkpoint {path} --resume{more} continues"),
            (false, true) => {
                format!(
                    "with --resume{more} it continues from the last checkpoint that was written, if {path} is there"
                )
            }
            (false, false) => {
                format!("it cannot be continued, since {path} could not be written: give a --checkpoint elsewhere")
            }
        }
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let continues = match &self.checkpoint {
            Some(last) => last.continues(""),
            None => "it cannot be continued, since it has no --checkpoint".to_owned(),
        };
        write!(f, "a signal ended the {} after iteration {}: {continues}", self.what, self.iterations)
    }
}

impl Error for Interrupted {}

impl Watcher for LongRun {
    fn begin(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.histories = vec![Vec::new(); recurrence.infos().len()];
        self.follow(recurrence.infos());
        self.replay.as_mut().map_or(Ok(()), |replay| replay.begin(recurrence))?;
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.begin(recurrence))
    }

    fn scalar(&mut self, scalar: WatchedScalar) -> Result<(), Stopped> {
        self.replay.as_mut().map_or(Ok(()), |replay| replay.scalar(scalar))?;
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.scalar(scalar))
    }

    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        // An iteration is done, which would be lost. Files may be written from now on.
        interrupt::keep();
        self.follow(recurrence.infos());
        self.replay.as_mut().map_or(Ok(()), |replay| replay.iteration(recurrence))?;
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.iteration(recurrence))?;
        if !self.is_to_stop() {
            self.checkpoints.as_mut().map_or(Ok(()), |checkpoints| checkpoints.iteration(recurrence))?;
            if let Some(checkpoints) = self.checkpoints.as_ref().filter(|_| self.is_to_save())
                && checkpoints.write(recurrence).map_err(|error| Stopped(error.into()))?
            {
                let (iteration, path) = (recurrence.info().iterations, claims::written_to(&checkpoints.path));
                say!("checkpoint of iteration {iteration}: {}", path.display());
            }
            return Ok(());
        }
        let stop = |error: AnyError| Stopped(error);
        if let Some(recorder) = &mut self.recorder {
            recorder.flush();
        }
        let checkpoint = self.write_last(recurrence)?;
        Err(stop(Box::new(Interrupted { what: self.what, iterations: recurrence.info().iterations, checkpoint })))
    }

    fn given_up(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.given_up = self.write_last(recurrence)?;
        Ok(())
    }

    fn passed(&mut self, info: &SolverInfo) -> Result<(), Stopped> {
        self.follow(std::slice::from_ref(info));
        self.replay.as_mut().map_or(Ok(()), |replay| replay.passed(info))?;
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.passed(info))
    }

    fn next_state(&self, iterations: usize) -> usize {
        let replay = self.replay.as_ref().map(|replay| replay.next_state(iterations));
        let recorder = self.recorder.as_ref().map(|recorder| recorder.next_state(iterations));
        let checkpoints = self.checkpoints.as_ref().map(|checkpoints| checkpoints.next_state(iterations));
        [replay, recorder, checkpoints].into_iter().flatten().min().unwrap_or(usize::MAX)
    }
}

impl LongRun {
    /// A run that a signal ends without keeping anything.
    pub fn of(lattice: &WholeLattice) -> Self {
        Self { lattice: Some(lattice.clone()), what: "solve", ..Self::default() }
    }

    /// Writes the last checkpoint of a run, if it has any.
    fn write_last(&self, recurrence: &dyn Recurrence) -> Result<Option<LastCheckpoint>, Stopped> {
        let last = self.checkpoints.as_ref().map(|last| {
            let is_written = last.write(recurrence)?;
            Ok(LastCheckpoint { path: claims::written_to(&last.path), is_written, is_named: last.every > 0 })
        });
        last.transpose().map_err(|error: BackendError| Stopped(error.into()))
    }

    /// How to continue a run that needs a larger `limit`, `but` with other arguments. This text follows the error.
    pub fn continues(&self, limit: &str, but: impl FnOnce() -> String) -> String {
        let last = self.given_up.as_ref();
        last.map_or_else(String::new, |last| {
            format!("; {}{}", last.continues(&format!(" and a larger {limit}")), but())
        })
    }

    /// Adds the new numbers of the histories.
    fn follow(&mut self, infos: &[SolverInfo]) {
        for (ours, info) in self.histories.iter_mut().zip(infos) {
            ours.extend(info.history.iter().skip(ours.len()));
        }
    }

    /// |r|² of each right-hand side, up to the last complete iteration.
    pub fn histories(&self) -> impl Iterator<Item = &[f64]> {
        self.histories.iter().map(Vec::as_slice)
    }

    /// The history of the right-hand side that took longest.
    pub fn history(&self) -> &[f64] {
        self.histories().max_by_key(|history| history.len()).unwrap_or_default()
    }

    /// Whether to stop after this iteration, the same one on all ranks.
    fn is_to_stop(&self) -> bool {
        self.lattice.as_ref().map_or_else(interrupted, interrupt::ends_on)
    }

    /// Whether a signal requested a checkpoint. All ranks write it after the same iteration.
    fn is_to_save(&self) -> bool {
        let Some(lattice) = &self.lattice else { return false };
        if interrupt::takes_request() {
            lattice.ask_to_save();
        }
        lattice.takes_save()
    }

    /// The iteration of the checkpoint from which it resumes.
    pub fn resumed_from(&self) -> Option<usize> {
        self.state.as_ref().map(SavedState::iterations)
    }

    /// The state from which it resumes.
    pub fn take_state(&mut self) -> Option<SavedState> {
        self.state.take()
    }

    /// Ends the record of a solve, or checks that the record that it is compared with ends here. `digests` are computed only if needed. Returns
    /// the number of lines that were compared.
    pub fn finish(&mut self, digests: impl FnOnce() -> Result<Digests, AnyError>) -> Result<Option<usize>, AnyError> {
        if let Some(recorder) = &mut self.recorder {
            recorder.finish(digests()?);
        } else if let Some(replay) = &mut self.replay {
            replay.finish(digests()?).map_err(|Stopped(error)| error)?;
            return Ok(Some(replay.compared()));
        }
        Ok(None)
    }

    /// The outcome of a run with the outcome of its solve. An incomplete record is a failure.
    pub fn outcome(&self, solved: Outcome) -> Outcome {
        if !self.recorder.as_ref().is_some_and(SolveRecorder::breaks_off) {
            return solved;
        }
        say!("error: the record is incomplete");
        Outcome::CheckFailed
    }
}

/// The error with which watchers end a solve.
type AnyError = Box<dyn Error + Send + Sync>;

/// Reports where a solve differs from its record. Other errors are returned.
pub fn differs(error: AnyError, (json, head): (bool, Head)) -> anyhow::Result<Outcome> {
    if !error.is::<ReplayDifference>() {
        return Err(anyhow::Error::from_boxed(error));
    }
    if json {
        print_json(head, &serde_json::json!({ "difference": error.to_string() }))?;
    }
    // Rank 0 has the record, and other ranks wait for it.
    ranks::abort(|| say!("error: {error}"), 1);
    Ok(Outcome::CheckFailed)
}

/// Where a solve began, and what it was compared with, as text.
pub fn since(resumed_from: Option<usize>, compared: Option<usize>) -> impl Iterator<Item = Fact> {
    let resumed = resumed_from.map(|iteration| ("resumed from", format!("the checkpoint of iteration {iteration}")));
    let record = compared.map(|lines| ("record", format!("the same in all {lines} lines")));
    resumed.into_iter().chain(record)
}

fn warn(error: &WriteError) {
    say!("warning: a checkpoint was not written, and the one before stays, if there is one: {error}");
}

fn warn_of_record(error: &RecordError) {
    say!("warning: the solve continues without its record, which is incomplete: {error}");
}

impl CheckpointArgs {
    /// The file that is written, with the name of its argument.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        given([("--checkpoint", &self.checkpoint)])
    }

    /// Whether the run resumes from the file of an argument; `None` if it cannot.
    pub fn resumes(&self, argument: &str) -> Option<bool> {
        (argument == "--checkpoint").then_some(self.resume)
    }

    /// Opens the checkpoint of a solve, or of another computation `what`. Without a checkpoint, a signal writes the state to `spare`.
    pub fn open(
        &self,
        identity: &Identity,
        lattice: &WholeLattice,
        (what, spare): (&'static str, Option<&Path>),
    ) -> anyhow::Result<LongRun> {
        let mut run = LongRun { what, ..LongRun::of(lattice) };
        let checkpoints = |path: PathBuf, every| {
            let (identity, lattice) = (identity.clone(), lattice.clone());
            Some(Checkpoints { path, every, identity, lattice, warn })
        };
        if let Some(path) = &self.checkpoint {
            run.lock = lattice.is_first().then(|| lock_file(path)).transpose()?.flatten();
            run.state = self.state(path, identity, lattice)?;
            run.checkpoints = checkpoints(path.clone(), self.checkpoint_every);
            interrupt::heed_requests();
        } else if let Some(path) = spare {
            run.checkpoints = checkpoints(stopped(path), 0);
        }
        Ok(run)
    }

    fn state(&self, path: &Path, identity: &Identity, lattice: &WholeLattice) -> anyhow::Result<Option<SavedState>> {
        // As rank 0 sees it, because other ranks may see a file later.
        let exists =
            || path.try_exists().with_context(|| format!("failed to look for the checkpoint {}", path.display()));
        if !self.resume || !lattice.communicator().any(lattice.is_first() && exists()?)? {
            return Ok(None);
        }
        let state = checkpoint::read(path, identity, lattice);
        state.map(Some).with_context(|| format!("cannot resume from the checkpoint {}", path.display()))
    }
}

impl LongRunArgs {
    /// The files that are written, with the names of their arguments.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.checkpoints.outputs().chain(given([("--record", &self.record)]))
    }

    /// How the same command must be changed to continue with --resume. `written` are the outputs that exist after a signal.
    pub fn but_with<'a>(&self, written: impl Iterator<Item = (&'a str, &'a Path)>) -> String {
        match (self.checkpoints.outputs().next(), &self.record) {
            (None, _) => String::new(),
            (Some(_), None) => but_with(&[], written),
            (Some(_), Some(_)) => but_with(&["--record"], written),
        }
    }

    /// Reports a solve that ended without a solution: its record differs, a signal came, or the iterations ran out. For other errors, `what` is
    /// what failed. `show` keeps and shows the work so far, and returns whether it could be kept. `written` are the outputs that exist.
    pub fn without_solution<'a>(
        &self,
        long_run: &LongRun,
        (error, what): (SolveError, &'static str),
        (json, difference): (bool, Head),
        written: impl Iterator<Item = (&'a str, &'a Path)>,
        show: impl FnOnce(&(dyn Error + 'static), &[f64]) -> anyhow::Result<Result<(), WriteError>>,
    ) -> anyhow::Result<Outcome> {
        match error {
            SolveError::Recurrence(SolverError::Stopped(Stopped(error))) => {
                if !error.is::<Interrupted>() {
                    return differs(error, (json, difference));
                }
                let kept = show(&*error, long_run.history())?;
                say!("interrupted: {error}{}", self.but_with(written));
                kept?;
                Ok(Outcome::Done)
            }
            error => {
                let Some(history) = error.history() else { return Err(error).context(what) };
                let kept = show(&error, history)?;
                say!("error: {error}{}", long_run.continues("--max-iterations", || self.but_with(written)));
                kept?;
                Ok(Outcome::CheckFailed)
            }
        }
    }

    /// As [`CheckpointArgs::resumes`].
    pub fn resumes(&self, argument: &str) -> Option<bool> {
        self.checkpoints.resumes(argument)
    }

    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        given([("--verify", &self.verify)])
    }

    /// Whether the identity of the solve is needed, for which the configuration is hashed.
    pub fn is_wanted(&self) -> bool {
        self.outputs().next().is_some() || self.verify.is_some()
    }

    /// Opens all files. Only rank 0 opens those of a record.
    pub fn open(&self, identity: &Identity, lattice: &WholeLattice) -> anyhow::Result<LongRun> {
        let mut run = self.checkpoints.open(identity, lattice, ("solve", None))?;
        let (lattice, is_first) = (lattice.clone(), lattice.is_first());
        if let Some(path) = &self.record {
            let writer = is_first.then(|| RecordWriter::create(path, identity, self.record_every)).transpose()?;
            run.recorder = Some(SolveRecorder::new(writer, lattice.clone(), self.record_every, warn_of_record));
        }
        if let Some(path) = &self.verify {
            let record = is_first.then(|| RecordReader::open(path, identity)).transpose()?;
            if let Some(record) = &record {
                if !record.left_out().is_empty() {
                    let left_out = record.left_out().join(", ");
                    say!("note: the record does not name these, so they are not compared: {left_out}");
                }
                if !record.is_checked() {
                    say!(
                        "note: the record has no checks: a damaged line cannot be distinguished from one that differs"
                    );
                }
            }
            run.replay = Some(Replay::new(record, lattice)?);
        }
        Ok(run)
    }
}
