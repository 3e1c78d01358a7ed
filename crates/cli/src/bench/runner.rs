//! Kernels timed one after the other, with a bar on standard error.

use indicatif::ProgressBar;
use lanefield::backend::BackendError;
use lanefield_lab::kernels::KernelSet;
use lanefield_lab::sprint::Stage;
use lanefield_lab::{Family, FieldFacts, KernelRecord, Sampling, Timed, Variant, time_kernel};

use super::progress::progress_bar;

/// What is timed, on one backend.
pub struct Runner<'b, B> {
    /// The backend.
    pub backend: &'b mut B,
    sampling: Sampling,
    bar: ProgressBar,
    records: Vec<KernelRecord>,
}

impl<'b, B: Timed> Runner<'b, B> {
    /// Nothing timed yet.
    pub fn new(backend: &'b mut B, sampling: Sampling) -> Self {
        Self { backend, sampling, bar: progress_bar(), records: Vec::new() }
    }

    /// Makes the fields of some kernels; where that fails, a record says why. `unmade`: what they would have been.
    pub fn prepare<S: KernelSet<B>>(
        &mut self,
        family: Family,
        unmade: FieldFacts,
        variant: &Variant,
        make: impl FnOnce(&B) -> Result<S, BackendError>,
    ) -> Option<S> {
        self.bar.set_message(format!("fields of {family}, {unmade}"));
        match self.backend.choose(variant).and_then(|()| make(self.backend)) {
            Ok(set) => Some(set),
            Err(error) => {
                self.records.push(KernelRecord::unprepared(family, unmade, *variant, error.to_string()));
                None
            }
        }
    }

    /// Times one kernel.
    pub fn time<S: KernelSet<B>>(&mut self, set: &mut S, kernel: S::Kernel, variant: &Variant) -> KernelRecord {
        self.bar.inc_length(1);
        self.bar.set_message(set.facts(kernel).kernel);
        let record = time_kernel(self.backend, set, kernel, variant, self.sampling);
        self.bar.inc(1);
        record
    }

    /// Times one kernel in a stage of a study, and keeps the record.
    pub fn keep_stage<S: KernelSet<B>>(&mut self, set: &mut S, kernel: S::Kernel, stage: &Stage) {
        self.bar.inc_length(1);
        self.bar.set_message(format!("{}, {}", set.facts(kernel).kernel, stage.name));
        let record = stage.time(self.backend, set, kernel, self.sampling);
        self.records.push(record);
        self.bar.inc(1);
    }

    /// Times one kernel, and keeps the record.
    pub fn keep<S: KernelSet<B>>(&mut self, set: &mut S, kernel: S::Kernel, variant: &Variant) {
        let record = self.time(set, kernel, variant);
        self.records.push(record);
    }

    /// Makes fields, and times all their kernels.
    pub fn all<S: KernelSet<B>>(
        &mut self,
        family: Family,
        unmade: FieldFacts,
        variant: &Variant,
        make: impl FnOnce(&B) -> Result<S, BackendError>,
    ) {
        self.some(family, unmade, variant, make, |_| true);
    }

    /// Makes fields, and times those of their kernels that are `wanted`.
    pub fn some<S: KernelSet<B>>(
        &mut self,
        family: Family,
        unmade: FieldFacts,
        variant: &Variant,
        make: impl FnOnce(&B) -> Result<S, BackendError>,
        wanted: impl Fn(S::Kernel) -> bool,
    ) {
        if let Some(mut set) = self.prepare(family, unmade, variant, make) {
            for kernel in set.kernels().into_iter().filter(|&kernel| wanted(kernel)) {
                self.keep(&mut set, kernel, variant);
            }
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
