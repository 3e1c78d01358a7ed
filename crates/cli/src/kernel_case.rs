//! The arguments that say how one kernel is run: on which fields, and in which tuning.

use anyhow::ensure;
use clap::Args;
use lanefield::backend::opencl::Tuning;
use lanefield::kernel::Kernel;
use lanefield::reference::layout::Extents;
use lanefield::reference::real::Precision;
use lanefield_lab::BenchCase;

use crate::args::of_storage;
use crate::bench::arguments::LayoutArgs;
use crate::kernel_work::require_rhs;
use crate::tuning::TuningArgs;

/// A kernel's fields and tuning.
#[derive(Args)]
pub struct CaseArgs {
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

impl CaseArgs {
    pub fn tuning(&self) -> Tuning {
        self.tuning.tuning()
    }

    /// What a kernel is run on, on a CPU or a GPU.
    pub fn case(&self, is_cpu: bool, kernel: &'static Kernel) -> anyhow::Result<BenchCase> {
        let usual = if is_cpu { [8; 4] } else { [32; 4] };
        let extents = self.lattice.map_or_else(|| Extents::new(usual), Ok)?;
        require_precision(kernel, self.precision)?;
        let usual = BenchCase { rhs: self.rhs.map(usize::from), ..BenchCase::usual(kernel, extents) };
        let case = self.layout.case(usual, self.precision);
        require_rhs(kernel, case.components())?;
        Ok(case)
    }
}

/// Refuses a precision that a kernel does not have.
pub fn require_precision(kernel: &Kernel, precision: Precision) -> anyhow::Result<()> {
    let known: Vec<String> = kernel.precisions.iter().map(ToString::to_string).collect();
    ensure!(kernel.takes(precision), "{kernel} does not take {precision}: expected {}", known.join(" or "));
    Ok(())
}
