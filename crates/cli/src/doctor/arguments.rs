//! Which of Lanefield's kernels are examined, and in which tuning.

use clap::Args;
use lanefield::backend::OpenCl;
use lanefield::backend::opencl::Tuning;
use lanefield::kernel::Kernel;
use lanefield_lab::ahead::KernelStep;
use lanefield_lab::doctor::{Examination, Machine, Observation};

use crate::kernel_case::CaseArgs;

/// A kernel's fields and tuning.
#[derive(Args)]
pub struct ProductArgs {
    #[command(flatten)]
    case: CaseArgs,
}

impl ProductArgs {
    /// The tuning that was asked for.
    pub fn tuning(&self) -> Tuning {
        self.case.tuning()
    }

    /// What the observation of a kernel builds, but for its changes.
    pub fn step(&self, machine: &Machine, kernel: &'static Kernel, tuning: Tuning) -> anyhow::Result<KernelStep> {
        Ok(KernelStep::new(&self.case.case(machine.is_cpu, kernel)?, tuning).with_log())
    }

    /// Observes a kernel in a tuning; `other_groups`: whether it is tried in other work-groups.
    pub fn observe(
        &self,
        backend: &mut OpenCl,
        machine: &Machine,
        kernel: &'static Kernel,
        tuning: Tuning,
        (samples, other_groups): (usize, bool),
    ) -> anyhow::Result<Observation> {
        let case = self.case.case(machine.is_cpu, kernel)?;
        // Fields are made in the layout of the tuning.
        backend.set_tuning(tuning);
        let mut prepared = case.prepare(backend)?;
        Ok(Examination { tuning, machine, samples, other_groups }.observe(backend, &mut prepared)?)
    }
}
