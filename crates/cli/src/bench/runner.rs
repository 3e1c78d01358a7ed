//! Kernels of a study timed one after the other, with a bar on standard error.

use indicatif::ProgressBar;
use lanefield::backend::BackendError;
use lanefield::backend::opencl::Tuning;
use lanefield::dynamic::AnyBackend;
use lanefield_lab::sprint::Stage;
use lanefield_lab::{BenchCase, KernelRecord, Sampling, TimedCase};

use crate::progress::{goes_on, progress_bar};

/// What is timed, on one backend.
pub struct Runner<'b> {
    /// The backend.
    pub backend: &'b mut AnyBackend,
    sampling: Sampling,
    bar: ProgressBar,
    records: Vec<KernelRecord>,
}

impl<'b> Runner<'b> {
    /// Nothing timed yet.
    pub fn new(backend: &'b mut AnyBackend, sampling: Sampling) -> Self {
        Self { backend, sampling, bar: progress_bar(), records: Vec::new() }
    }

    /// Makes the fields of a kernel; where that fails, a record says why. After a signal there are none.
    pub fn prepare(&mut self, case: &BenchCase, tuning: Tuning) -> Option<TimedCase<AnyBackend>> {
        if !self.goes_on() {
            return None;
        }
        self.bar.set_message(format!("fields of {}", case.kernel));
        let failed = |error: BackendError| case.unprepared(self.backend, tuning, error.to_string());
        match case.prepare(self.backend).map_err(failed) {
            Ok(prepared) => Some(prepared),
            Err(record) => {
                self.records.extend(Some(record).filter(|_| self.goes_on()));
                None
            }
        }
    }

    /// Whether no signal has come.
    fn goes_on(&self) -> bool {
        goes_on(self.bar.position() as usize)
    }

    /// Times a kernel; after a signal none.
    pub fn time(&mut self, case: &mut TimedCase<AnyBackend>, tuning: Tuning) -> Option<KernelRecord> {
        let name = case.case.kernel().name.to_owned();
        self.step(name, |backend, sampling| case.time(backend, tuning, sampling))
    }

    /// Times a kernel in a stage of a study; after a signal none.
    pub fn time_stage(&mut self, case: &mut TimedCase<AnyBackend>, stage: &Stage) -> Option<KernelRecord> {
        let name = format!("{}, {}", case.case.kernel(), stage.name);
        self.step(name, |backend, sampling| stage.time(backend, case, sampling))
    }

    fn step(
        &mut self,
        name: String,
        timed: impl FnOnce(&mut AnyBackend, Sampling) -> KernelRecord,
    ) -> Option<KernelRecord> {
        if !self.goes_on() {
            return None;
        }
        self.bar.inc_length(1);
        self.bar.set_message(name);
        let record = timed(self.backend, self.sampling);
        self.bar.inc(1);
        Some(record).filter(|record| record.failure.is_none() || self.goes_on())
    }

    /// Times a kernel, and keeps the record.
    pub fn keep(&mut self, case: &mut TimedCase<AnyBackend>, tuning: Tuning) {
        let record = self.time(case, tuning);
        self.records.extend(record);
    }

    /// Makes the fields of a kernel, times it, and keeps the record.
    pub fn all(&mut self, case: &BenchCase, tuning: Tuning) {
        if let Some(mut prepared) = self.prepare(case, tuning) {
            self.keep(&mut prepared, tuning);
        }
    }

    /// Keeps a record that was made elsewhere.
    pub fn push(&mut self, record: KernelRecord) {
        self.records.push(record);
    }

    /// The records, in the order in which they were made.
    pub fn finish(self) -> Vec<KernelRecord> {
        self.bar.finish_and_clear();
        self.records
    }
}
