//! Watchers for long runs: several at once, checkpoints, and a record of a solve with its replay.

use std::path::PathBuf;

use lanefield_reference::gauge::Configuration;
use lanefield_reference::real::Real;
use num_complex::Complex;
use thiserror::Error;

use super::SolverInfo;
use super::error::Stopped;
use super::recurrence::{Recurrence, WatchedScalar, Watcher};
use crate::backend::BackendError;
use crate::comm::{CommError, WholeLattice};
use crate::io::atomic::WriteError;
use crate::io::checkpoint;
use crate::io::identity::Identity;
use crate::io::record::{Entry, RecordError, RecordReader, RecordWriter};

/// Several watchers, in turn.
#[derive(Default)]
pub struct Watchers<'a>(Vec<&'a mut dyn Watcher>);

impl<'a> Watchers<'a> {
    /// Adds one, if there is one.
    #[must_use]
    pub fn with(mut self, watcher: Option<&'a mut impl Watcher>) -> Self {
        self.0.extend(watcher.map(|watcher| watcher as &mut dyn Watcher));
        self
    }
}

impl Watcher for Watchers<'_> {
    fn begin(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.0.iter_mut().try_for_each(|watcher| watcher.begin(recurrence))
    }
    fn scalar(&mut self, scalar: WatchedScalar) -> Result<(), Stopped> {
        self.0.iter_mut().try_for_each(|watcher| watcher.scalar(scalar))
    }
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.0.iter_mut().try_for_each(|watcher| watcher.iteration(recurrence))
    }
    fn passed(&mut self, info: &SolverInfo) -> Result<(), Stopped> {
        self.0.iter_mut().try_for_each(|watcher| watcher.passed(info))
    }
    fn given_up(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.0.iter_mut().try_for_each(|watcher| watcher.given_up(recurrence))
    }
    fn next_state(&self, iterations: usize) -> usize {
        self.0.iter().map(|watcher| watcher.next_state(iterations)).min().unwrap_or(usize::MAX)
    }
}

fn stop(error: impl std::error::Error + Send + Sync + 'static) -> Stopped {
    Stopped(Box::new(error))
}

/// Writes a checkpoint every so many iterations, and when no more are allowed. That one cannot be written, because the disk is full say, does not end the solve: the one before stays.
pub struct Checkpoints {
    /// The file, which is replaced each time.
    pub path: PathBuf,
    /// Iterations from one to the next; 0 writes none.
    pub every: usize,
    /// The solve.
    pub identity: Identity,
    /// The ranks that run it.
    pub lattice: WholeLattice,
    /// Is told why a checkpoint was not written.
    pub warn: fn(&WriteError),
}

impl Checkpoints {
    /// Writes a checkpoint now; false if it could not be written.
    pub fn write(&self, recurrence: &dyn Recurrence) -> Result<bool, BackendError> {
        let state = recurrence.save()?;
        let written = checkpoint::write(&self.path, &self.identity, &state, &self.lattice);
        if let Err(error) = &written {
            (self.warn)(error);
        }
        Ok(written.is_ok())
    }
}

impl Watcher for Checkpoints {
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        match self.every == 0 || !recurrence.info().iterations.is_multiple_of(self.every) {
            true => Ok(()),
            false => self.write(recurrence).map(drop).map_err(stop),
        }
    }
    fn given_up(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.write(recurrence).map(drop).map_err(stop)
    }
    fn next_state(&self, iterations: usize) -> usize {
        next_multiple(iterations, self.every)
    }
}

/// What a recurrence shows, as entries of a record.
fn scalar_entry(scalar: WatchedScalar) -> Entry {
    let WatchedScalar { iteration, rhs, quantity, value } = scalar;
    Entry::Scalar { iteration, rhs, quantity: quantity.to_owned(), bits: format!("{:016x}", value.to_bits()) }
}

fn field_entries(recurrence: &dyn Recurrence, lattice: &WholeLattice) -> Result<Vec<Entry>, Stopped> {
    let iteration = recurrence.info().iterations;
    let state = recurrence.save().map_err(stop)?;
    let entry = |field: &super::SavedField| {
        let sha256 = lattice.digest(&field.values)?;
        Ok(Entry::Field { iteration, field: field.name.clone(), sha256 })
    };
    state.fields.iter().map(entry).collect::<Result<_, _>>().map_err(|error: CommError| stop(error))
}

/// The first multiple of `every` behind a number; of 0 there is none.
fn next_multiple(number: usize, every: usize) -> usize {
    number.checked_div(every).map_or(usize::MAX, |times| (times + 1) * every)
}

/// Whether the fields of a state belong into the record: at first, and every so many iterations.
fn has_fields(recurrence: &dyn Recurrence, every: usize) -> bool {
    recurrence.info().iterations.is_multiple_of(every.max(1))
}

/// What the last line of a record says of a solve, beside its iterations.
#[derive(Clone, Debug)]
pub struct Digests {
    links: String,
    source: String,
    solution: Option<String>,
}

impl Digests {
    /// Of the inputs, and of the solution in site order where there is one: of each the part of this rank.
    pub fn new<R: Real>(
        lattice: &WholeLattice,
        configuration: &Configuration,
        source: &[Complex<f64>],
        solution: Option<&[Complex<R>]>,
    ) -> Result<Self, CommError> {
        let (links, source) = (lattice.digest(configuration.links())?, lattice.digest(source)?);
        Ok(Self { links, source, solution: solution.map(|solution| lattice.digest(solution)).transpose()? })
    }

    fn after(self, end: usize) -> Entry {
        let Self { links, source, solution } = self;
        Entry::End { end, links: Some(links), source: Some(source), solution: Some(solution) }
    }
}

/// Writes a record. That a line cannot be written, because the disk is full say, does not end the solve: the record breaks off.
pub struct SolveRecorder {
    /// At rank 0.
    writer: Option<RecordWriter>,
    lattice: WholeLattice,
    every: usize,
    iterations: usize,
    warn: fn(&RecordError),
    breaks_off: bool,
}

impl SolveRecorder {
    /// Writes to `writer`, which rank 0 of those that run the solve has, with digests of fields every so many iterations. `warn` is told why no more lines are
    /// written.
    pub fn new(writer: Option<RecordWriter>, lattice: WholeLattice, every: usize, warn: fn(&RecordError)) -> Self {
        Self { writer, lattice, every, iterations: 0, warn, breaks_off: false }
    }

    /// Whether a line could not be written, and none after it was.
    pub fn breaks_off(&self) -> bool {
        self.breaks_off
    }

    /// Hands all lines so far to the system, of a solve that is broken off.
    pub fn flush(&mut self) {
        self.write(RecordWriter::flush);
    }

    /// Says that the solve has ended.
    pub fn finish(&mut self, digests: Digests) {
        let end = digests.after(self.iterations);
        self.write(|writer| writer.push(&end));
        self.flush();
    }

    fn write(&mut self, lines: impl FnOnce(&mut RecordWriter) -> Result<(), RecordError>) {
        if self.breaks_off {
            return;
        }
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = lines(writer) {
            (self.warn)(&error);
            self.breaks_off = true;
        }
    }
}

impl Watcher for SolveRecorder {
    fn begin(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.iteration(recurrence)
    }
    fn scalar(&mut self, scalar: WatchedScalar) -> Result<(), Stopped> {
        self.write(|writer| writer.push(&scalar_entry(scalar)));
        Ok(())
    }
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.iterations = recurrence.info().iterations;
        if !has_fields(recurrence, self.every) {
            return Ok(());
        }
        let entries = field_entries(recurrence, &self.lattice)?;
        self.write(|writer| entries.iter().try_for_each(|entry| writer.push(entry)));
        self.flush();
        Ok(())
    }
    fn next_state(&self, iterations: usize) -> usize {
        next_multiple(iterations, self.every.max(1))
    }
}

/// A solve did not go as its record says. Iterations are counted as the record counts them.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the solve differs from its record {} at line {line}: {}", .path.display(), self.what_differs())]
pub struct ReplayDifference {
    /// The record.
    pub path: PathBuf,
    /// The line of the file, from 1: the first that differs, or the one after its end.
    pub line: usize,
    /// What it says; none where the record ended.
    pub recorded: Option<Entry>,
    /// What came instead.
    pub found: Entry,
}

impl ReplayDifference {
    /// Both, in words: "|r|² of iteration 3 has the bits …, and in the record …".
    fn what_differs(&self) -> String {
        let Self { line, recorded, found, .. } = self;
        let Some(recorded) = recorded else {
            return format!("it has {}, where the record breaks off after line {}", what(found), line - 1);
        };
        let pairs = values(found).into_iter().zip(values(recorded));
        let differs = |((name, ours), (_, theirs)): (WatchedValue<'_>, WatchedValue<'_>)| {
            let (ours, theirs) = (ours?, theirs?);
            (ours != theirs).then(|| format!("{name} {ours}, and in the record {theirs}"))
        };
        let said: Vec<String> = pairs.filter_map(differs).collect();
        match what(recorded) == what(found) && !said.is_empty() {
            true => said.join("; "),
            false => format!("it has {}, where the record has {}", what(found), what(recorded)),
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

/// A value behind what has it; none where the entry does not say.
type WatchedValue<'a> = (String, Option<&'a str>);

/// The values of an entry.
fn values(entry: &Entry) -> Vec<WatchedValue<'_>> {
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

/// Compares a solve with its record as it goes, and ends it at the first difference.
pub struct Replay {
    /// At rank 0.
    reader: Option<RecordReader>,
    /// Iterations from one set of digests to the next; 0 has none.
    every: usize,
    lattice: WholeLattice,
    iterations: usize,
    compared: usize,
}

impl Replay {
    /// Compares with `reader`, which rank 0 of those that run the solve has.
    pub fn new(reader: Option<RecordReader>, lattice: WholeLattice) -> Result<Self, CommError> {
        let mut every = [reader.as_ref().map_or(0, |reader| reader.every() as i64)];
        lattice.communicator().sum(&mut every)?;
        Ok(Self { reader, every: every[0] as usize, lattice, iterations: 0, compared: 0 })
    }

    /// Lines that were equal.
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// Says that the solve has ended, as the record must.
    ///
    /// # Errors
    /// [`ReplayDifference`], or [`RecordError`].
    pub fn finish(&mut self, digests: Digests) -> Result<(), Stopped> {
        self.compare(digests.after(self.iterations))
    }

    fn compare(&mut self, found: Entry) -> Result<(), Stopped> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        let recorded = reader.next_entry().map_err(stop)?;
        if !recorded.as_ref().is_some_and(|recorded| found.agrees_with(recorded)) {
            // Behind the header.
            let (path, line) = (reader.path().to_owned(), self.compared + 2);
            return Err(stop(ReplayDifference { path, line, recorded, found }));
        }
        self.compared += 1;
        Ok(())
    }
}

impl Watcher for Replay {
    fn begin(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.iteration(recurrence)
    }
    fn scalar(&mut self, scalar: WatchedScalar) -> Result<(), Stopped> {
        self.compare(scalar_entry(scalar))
    }
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.iterations = recurrence.info().iterations;
        if self.every > 0 && has_fields(recurrence, self.every) {
            for entry in field_entries(recurrence, &self.lattice)? {
                self.compare(entry)?;
            }
        }
        Ok(())
    }
    fn next_state(&self, iterations: usize) -> usize {
        next_multiple(iterations, self.every)
    }
}
