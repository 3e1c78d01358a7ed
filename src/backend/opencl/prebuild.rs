//! The kernels that a call builds, and whether the cache has them. Before it measures, a program can have separate processes fill the cache
//! with these kernels, since drivers build one program at a time within a process. This module starts no process.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::backend::OpenCl;
use super::program::{PROGRAM_ALONE, Program, Source, expand_for};
use super::tuning::{Planner, Reduction, SumForm, sums_file};
use crate::backend::specification::{Geometry, Shape};
use crate::backend::{BackendError, Sum};

/// A kernel with its build options and work-group size.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct NeededKernel {
    /// Its source.
    pub source: Source,
    /// The build options.
    pub options: String,
    /// Its name; empty if only the program is needed.
    pub kernel: String,
    /// The work-group size, because some drivers compile a kernel for each size. Zeros if only the program is needed.
    pub local: [usize; 3],
}

impl NeededKernel {
    fn new(source: Source, options: String, kernel: &str, local: [usize; 3]) -> Self {
        Self { source, options, kernel: kernel.to_owned(), local }
    }

    /// A program without a launch.
    pub fn program_alone(source: Source, options: String) -> Self {
        let (kernel, local) = PROGRAM_ALONE;
        Self::new(source, options, kernel, local)
    }
}

impl OpenCl {
    /// The kernels that a call builds with the device's current tuning. Nothing is built. `sum`: the kind of sum, for kernels that sum.
    ///
    /// # Errors
    /// If the device does not support the call.
    pub fn needs(&self, shape: &Shape, sum: Sum) -> Result<Vec<NeededKernel>, BackendError> {
        let needed = self.planner(self.layout()).needs(shape, sum)?;
        Ok(needed.into_iter().map(|needed| NeededKernel { options: self.with_log(needed.options), ..needed }).collect())
    }

    /// Whether a kernel need not be built ([`Context::is_built`](super::Context::is_built)).
    ///
    /// # Errors
    /// If a source file does not exist.
    pub fn has_built(&self, needed: &NeededKernel) -> Result<bool, BackendError> {
        let NeededKernel { source, options, kernel, local } = needed;
        let source = expand_for(self.context().info(), source, options)?;
        Ok(self.context().is_built(&source, options, (kernel, *local)))
    }

    /// The program of a kernel: from memory, from the cache, or built now.
    pub fn build(&self, needed: &NeededKernel) -> Result<Arc<Program>, BackendError> {
        self.program(&needed.source, &needed.options)
    }

    /// Whether kernels are compiled only when they are launched ([`Context::is_built`](super::Context::is_built)), so that building the
    /// program is not enough.
    pub fn compiles_at_launch(&self) -> bool {
        self.context().info().keeps_programs()
    }
}

impl Planner<'_> {
    /// As [`OpenCl::needs`], without the options for compiler reports.
    pub(crate) fn needs(&self, shape: &Shape, sum: Sum) -> Result<Vec<NeededKernel>, BackendError> {
        if shape.kernel.sums() {
            return self.needs_of_sum(shape, sum);
        }
        let plan = self.plan(shape)?;
        Ok(vec![NeededKernel::new(plan.source, plan.options, shape.kernel.name, plan.geometry.local)])
    }

    fn needs_of_sum(&self, shape: &Shape, sum: Sum) -> Result<Vec<NeededKernel>, BackendError> {
        let work = self.reduction(shape, sum)?;
        let staged = shape.kernel.geometry == Geometry::SumOfWords && matches!(self.form(sum), SumForm::Staged(_));
        let mut needed = Vec::new();
        let (group, build) = match work.of.bundle.filter(|_| staged) {
            Some(bundle) => {
                let (group, _) = self.groups(&Reduction { rows: 1, ..work })?;
                let [pack, build] = self.staged_builds(&work, (bundle, group))?;
                let local = [work.of.nsimd, self.sums.pack.get(), 1];
                needed.push(NeededKernel::new(
                    sums_file().of_kernel("pack"),
                    self.options_of_sum(&work, &pack),
                    "pack",
                    local,
                ));
                needed.push(NeededKernel::new(
                    sums_file().of_kernel("sum"),
                    self.options_of_sum(&work, &build),
                    "sum",
                    [group, 1, 1],
                ));
                (group, build)
            }
            None => {
                let (group, _) = self.groups(&work)?;
                let build = self.sum_build(work.of, sum, Some(group))?.in_order_of_the_host(&work);
                let options = self.options_of_sum(&work, &build);
                needed.push(NeededKernel::new(self.source(shape, 1)?, options, shape.kernel.name, [group, 1, 1]));
                (group, build)
            }
        };
        if self.finishes_in_second_kernel(work.of.bundle) {
            needed.push(NeededKernel::new(sums_file(), self.options_of_finish(&build), "finish", [group, 1, 1]));
        }
        Ok(needed)
    }
}
