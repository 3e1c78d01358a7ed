//! Which of Lanefield's kernels are examined, and in which tuning.

use clap::Args;
use lanefield::backend::OpenCl;
use lanefield::backend::opencl::Tuning;
use lanefield::kernel::Kernel;
use lanefield::reference::layout::Extents;
use lanefield::reference::real::Precision;
use lanefield_lab::BenchCase;
use lanefield_lab::ahead::KernelStep;
use lanefield_lab::doctor::{Examination, Machine, Observation};

use crate::args::of_storage;
use crate::bench::arguments::LayoutArgs;
use crate::kernel_work::require_rhs;
use crate::tuning::TuningArgs;

/// A kernel's fields and tuning.
#[derive(Args)]
pub struct ProductArgs {
    /// Extents X.Y.Z.T [default: 32.32.32.32; 8.8.8.8 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Precision of fields
    #[arg(long, value_name = "PRECISION", default_value = "f32", value_parser = of_storage())]
    precision: Precision,
    #[command(flatten)]
    layout: LayoutArgs,
    /// Right-hand sides: spinors or colour vectors per site [default: what is usual for the kernel]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    rhs: Option<u16>,
    #[command(flatten)]
    tuning: TuningArgs,
}

impl ProductArgs {
    /// The tuning that was asked for.
    pub fn tuning(&self) -> Tuning {
        self.tuning.tuning()
    }

    /// What a kernel is examined on.
    fn case(&self, machine: &Machine, kernel: &'static Kernel) -> anyhow::Result<BenchCase> {
        let usual = if machine.is_cpu { [8; 4] } else { [32; 4] };
        let extents = self.lattice.map_or_else(|| Extents::new(usual), Ok)?;
        let usual = BenchCase { rhs: self.rhs.map(usize::from), ..BenchCase::usual(kernel, extents) };
        let case = self.layout.case(usual, self.precision);
        require_rhs(kernel, case.components())?;
        Ok(case)
    }

    /// What the observation of a kernel builds, but for its changes.
    pub fn step(&self, machine: &Machine, kernel: &'static Kernel, tuning: Tuning) -> anyhow::Result<KernelStep> {
        Ok(KernelStep::new(&self.case(machine, kernel)?, tuning).with_log())
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
        let case = self.case(machine, kernel)?;
        // Fields are made in the layout of the tuning.
        backend.set_tuning(tuning);
        let mut prepared = case.prepare(backend)?;
        Ok(Examination { tuning, machine, samples, other_groups }.observe(backend, &mut prepared)?)
    }
}
