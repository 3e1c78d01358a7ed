//! Watchers for long runs: several at once, checkpoints, and a record of a solve with its replay.

use std::path::PathBuf;

use thiserror::Error;

use super::recurrence::{Recurrence, Stopped, WatchedScalar, Watcher};
use crate::io::checkpoint;
use crate::io::identity::{Identity, digest_of_numbers};
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
}

fn stop(error: impl std::error::Error + Send + Sync + 'static) -> Stopped {
    Stopped(Box::new(error))
}

/// Writes a checkpoint every so many iterations; a failure to write ends the solve.
pub struct Checkpoints {
    /// The file, which is replaced each time.
    pub path: PathBuf,
    /// Iterations from one to the next; 0 writes none.
    pub every: usize,
    /// The solve.
    pub identity: Identity,
}

impl Watcher for Checkpoints {
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        if self.every == 0 || !recurrence.info().iterations.is_multiple_of(self.every) {
            return Ok(());
        }
        let state = recurrence.save().map_err(stop)?;
        checkpoint::write(&self.path, &self.identity, &state).map_err(stop)
    }
}

/// What a recurrence shows, as entries of a record.
fn scalar_entry(scalar: WatchedScalar) -> Entry {
    let WatchedScalar { iteration, rhs, quantity, value } = scalar;
    Entry::Scalar { iteration, rhs, quantity: quantity.to_owned(), bits: format!("{:016x}", value.to_bits()) }
}

fn field_entries(recurrence: &dyn Recurrence) -> Result<Vec<Entry>, Stopped> {
    let iteration = recurrence.info().iterations;
    let state = recurrence.save().map_err(stop)?;
    let entry = |field: &super::SavedField| Entry::Field {
        iteration,
        field: field.name.clone(),
        sha256: digest_of_numbers(&field.values),
    };
    Ok(state.fields.iter().map(entry).collect())
}

/// Whether the fields of a state belong into the record: at first, and every so many iterations.
fn has_fields(recurrence: &dyn Recurrence, every: usize) -> bool {
    recurrence.info().iterations.is_multiple_of(every.max(1))
}

/// Writes a record.
pub struct Recorder {
    writer: RecordWriter,
    every: usize,
    iterations: usize,
}

impl Recorder {
    /// Writes to `writer`, with digests of fields every so many iterations.
    pub fn new(writer: RecordWriter, every: usize) -> Self {
        Self { writer, every, iterations: 0 }
    }

    /// Says that the solve has ended.
    ///
    /// # Errors
    /// [`RecordError::File`].
    pub fn finish(&mut self) -> Result<(), RecordError> {
        self.writer.push(&Entry::End { end: self.iterations })?;
        self.writer.flush()
    }
}

impl Watcher for Recorder {
    fn begin(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.iteration(recurrence)
    }
    fn scalar(&mut self, scalar: WatchedScalar) -> Result<(), Stopped> {
        self.writer.push(&scalar_entry(scalar)).map_err(stop)
    }
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.iterations = recurrence.info().iterations;
        if !has_fields(recurrence, self.every) {
            return Ok(());
        }
        for entry in field_entries(recurrence)? {
            self.writer.push(&entry).map_err(stop)?;
        }
        self.writer.flush().map_err(stop)
    }
}

/// A solve did not go as its record says.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the solve differs from its record: {}", difference(.recorded.as_ref(), .found))]
pub struct ReplayDifference {
    /// The line of the record; none where it ended.
    pub recorded: Option<Entry>,
    /// What came instead.
    pub found: Entry,
}

fn difference(recorded: Option<&Entry>, found: &Entry) -> String {
    let Some(recorded) = recorded else {
        return format!("it has {}, where the record breaks off", what(found));
    };
    match (recorded, found, what(recorded) == what(found)) {
        (Entry::Scalar { bits: theirs, .. }, Entry::Scalar { bits: ours, .. }, true) => {
            format!("{} has the bits {ours}, and in the record {theirs}", what(found))
        }
        (Entry::Field { sha256: theirs, .. }, Entry::Field { sha256: ours, .. }, true) => {
            format!("{} has the SHA-256 {ours}, and in the record {theirs}", what(found))
        }
        _ => format!("it has {}, where the record has {}", what(found), what(recorded)),
    }
}

/// What an entry is about.
fn what(entry: &Entry) -> String {
    match entry {
        Entry::Scalar { iteration, rhs, quantity, .. } => {
            format!("{quantity} of iteration {}, right-hand side {rhs},", iteration + 1)
        }
        Entry::Field { iteration, field, .. } => format!("the field {field} after iteration {iteration}"),
        Entry::End { end } => format!("the end after iteration {end}"),
    }
}

/// Compares a solve with its record as it goes, and ends it at the first difference.
pub struct Replay {
    reader: RecordReader,
    iterations: usize,
    compared: usize,
}

impl Replay {
    /// Compares with `reader`.
    pub fn new(reader: RecordReader) -> Self {
        Self { reader, iterations: 0, compared: 0 }
    }

    /// Lines that were equal.
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// Says that the solve has ended, as the record must.
    ///
    /// # Errors
    /// [`ReplayDifference`], or [`RecordError`].
    pub fn finish(&mut self) -> Result<(), Stopped> {
        self.compare(Entry::End { end: self.iterations })
    }

    fn compare(&mut self, found: Entry) -> Result<(), Stopped> {
        let recorded = self.reader.next_entry().map_err(stop)?;
        if recorded.as_ref() != Some(&found) {
            return Err(stop(ReplayDifference { recorded, found }));
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
        if has_fields(recurrence, self.reader.every()) {
            for entry in field_entries(recurrence)? {
                self.compare(entry)?;
            }
        }
        Ok(())
    }
}
