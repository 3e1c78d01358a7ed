//! Watchers for long runs: several together, checkpoints, and a record of a solve with its replay.

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

/// Several watchers, called one after the other.
#[derive(Default)]
pub struct Watchers<'a>(Vec<&'a mut dyn Watcher>);

impl<'a> Watchers<'a> {
    /// Adds a watcher, if there is one.
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

/// Writes a checkpoint each time `every` iterations are done, and at the maximum number of iterations. If one cannot be written, for example because
/// the disk is full, the solve continues, and the previous one stays.
pub struct Checkpoints {
    /// The path of the file, which is replaced each time.
    pub path: PathBuf,
    /// Number of iterations between checkpoints; 0 writes none.
    pub every: usize,
    /// The identity of the solve.
    pub identity: Identity,
    /// The ranks that run it.
    pub lattice: WholeLattice,
    /// Called with the reason if a checkpoint could not be written.
    pub warn: fn(&WriteError),
}

impl Checkpoints {
    /// Writes a checkpoint now. Returns false if it could not be written.
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

/// A scalar as an entry of a record.
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

/// The first multiple of `every` above a number; `usize::MAX` if `every` is 0.
fn next_multiple(number: usize, every: usize) -> usize {
    number.checked_div(every).map_or(usize::MAX, |times| (times + 1) * every)
}

/// Whether the record has the fields of this state: at the start, and each time `every` iterations are done.
fn has_fields(recurrence: &dyn Recurrence, every: usize) -> bool {
    recurrence.info().iterations.is_multiple_of(every.max(1))
}

/// The content of the last line of a record, except for the number of iterations.
#[derive(Clone, Debug)]
pub struct Digests {
    links: String,
    source: String,
    solution: Option<String>,
}

impl Digests {
    /// Digests of the inputs, and of the solution in site order if there is one; on ranks, from the local volume of each.
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

/// Writes a record. If a line cannot be written, for example because the disk is full, the solve continues, and the record ends there.
pub struct SolveRecorder {
    /// Only on rank 0.
    writer: Option<RecordWriter>,
    lattice: WholeLattice,
    every: usize,
    iterations: usize,
    warn: fn(&RecordError),
    breaks_off: bool,
}

impl SolveRecorder {
    /// Writes to `writer`, which only rank 0 has, with digests of fields each time `every` iterations are done. `warn` is called with the reason if
    /// lines can no longer be written.
    pub fn new(writer: Option<RecordWriter>, lattice: WholeLattice, every: usize, warn: fn(&RecordError)) -> Self {
        Self { writer, lattice, every, iterations: 0, warn, breaks_off: false }
    }

    /// Whether the record is incomplete because a line could not be written.
    pub fn breaks_off(&self) -> bool {
        self.breaks_off
    }

    /// Passes all lines so far to the operating system, for a solve that is interrupted.
    pub fn flush(&mut self) {
        self.write(RecordWriter::flush);
    }

    /// Writes the last line, after the solve has ended.
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

/// A solve differs from its record. Iterations are counted as in the record.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the solve differs from its record {} at line {line}: {}", .path.display(), self.what_differs())]
pub struct ReplayDifference {
    /// The path of the record.
    pub path: PathBuf,
    /// The line number in the file, from 1: the first line that differs, or the one after the last.
    pub line: usize,
    /// The entry in the record; `None` if the record ended.
    pub recorded: Option<Entry>,
    /// The entry of this solve.
    pub found: Entry,
}

impl ReplayDifference {
    /// Both in words: "|r|² of iteration 3 has the bits …, and in the record …".
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

/// The subject of an entry.
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

/// A value with its description; `None` if the entry does not have it.
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

/// Compares a running solve with its record, and stops it at the first difference.
pub struct Replay {
    /// Only on rank 0.
    reader: Option<RecordReader>,
    /// Number of iterations between digests; 0 for none.
    every: usize,
    lattice: WholeLattice,
    iterations: usize,
    compared: usize,
}

impl Replay {
    /// Compares with `reader`, which only rank 0 has.
    pub fn new(reader: Option<RecordReader>, lattice: WholeLattice) -> Result<Self, CommError> {
        let mut every = [reader.as_ref().map_or(0, |reader| reader.every() as i64)];
        lattice.communicator().sum(&mut every)?;
        Ok(Self { reader, every: every[0] as usize, lattice, iterations: 0, compared: 0 })
    }

    /// Number of lines that were equal.
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// Checks that the record ends here too.
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
            // After the header.
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
