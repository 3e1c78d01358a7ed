//! Sums on a device: launches the kernels of `reduce.cl` (and those of `blas.cl` that end in a norm), and computes the results on the host
//! from their output.

use lanefield_reference::exact::{self, ExactSum};
use lanefield_reference::kernels::reduce::{PartialSums, Sum};

use super::backend::OpenCl;
use super::device::{DeviceError, DeviceInfo, lock};
use super::program::Program;
use super::queue::{Arg, Launch};
use super::queued_cg::Iterations;
use super::tuning::{Planner, Reduction, SumBuild, SumForm, SumOptions, exchange_bytes, sums_file};
use super::workspace::{EXACT_RESULT, SPILL_WORDS, TREE_RESULT, Workspace};
use crate::backend::specification::{Call, Geometry};
use crate::backend::{BackendError, QueuedIterations, Reduce};

impl Reduce for OpenCl {
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        call.check_reduced(sum)?;
        self.takes(call.shape())?;
        self.sum(&call, sum)
    }

    fn queued_iterations(&self, sum: Sum) -> Option<Box<dyn QueuedIterations<Self>>> {
        Some(Box::new(Iterations::new(self, sum)))
    }
}

impl OpenCl {
    /// The options for sums.
    pub fn sum_options(&self) -> SumOptions {
        self.sums
    }

    /// Changes the options for sums. No bit of any result changes.
    pub fn set_sum_options(&mut self, options: SumOptions) {
        self.sums = options;
        self.plan_anew();
    }

    fn sum(&self, call: &Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        let (shape, layout) = (call.shape(), self.layout_of(call)?);
        let mut planner = self.planner(layout);
        let work = planner.reduction(shape, sum)?;
        let is_of_words = work.of.bundle.is_some() && shape.kernel.geometry == Geometry::SumOfWords;
        if is_of_words && matches!(planner.form(sum), SumForm::Staged(_)) {
            return self.sum_staged(call, &planner, &work);
        }
        let name = shape.kernel.name;
        let built = |planner: &Planner<'_>| -> Result<_, BackendError> {
            let sum = planner.shape_of_sum(shape, sum)?;
            let work = planner.reduction(shape, sum)?;
            let (group, groups) = planner.groups(&work)?;
            let build = planner.sum_build(work.of, sum, Some(group))?.in_order_of_the_host(&work);
            let program = self.program(&planner.source(shape, 1)?, &planner.options_of_sum(&work, &build))?;
            Ok((work, group, groups, build, program))
        };
        let (mut work, mut group, mut groups, mut build, mut program) = built(&planner)?;
        // A kernel may support only smaller groups than the device.
        let most = program.kernel_info(name)?.max_work_group_size;
        let device;
        if most < group {
            device = DeviceInfo { max_work_group_size: most, ..self.context.info().clone() };
            planner = Planner { device: &device, ..planner };
            (work, group, groups, build, program) = built(&planner)?;
        }
        let packed = self.pack(call, layout, None)?;
        let mut held = lock(&self.workspace);
        let workspace = Workspace::for_sum(&mut held, &self.context, &work, groups)?;
        self.launch_sum(&program, name, &packed.arguments(), &work, workspace, (group, groups))?;
        self.finish_sums(&planner, &work, workspace, (group, groups), build)
    }

    /// The sum of each word in the staged form: bundle by bundle, packed and then summed.
    fn sum_staged(
        &self,
        call: &Call<'_, Self>,
        planner: &Planner<'_>,
        whole: &Reduction<'_>,
    ) -> Result<PartialSums, BackendError> {
        let Reduction { shape, of, .. } = *whole;
        let (osites, words, nsimd) = (shape.target.osites(), of.words, of.nsimd);
        let Some(bundle) = of.bundle else { unreachable!("sums of words have bundles") };
        let lanes = shape.lattice().width().bytes();
        let packed = self
            .context
            .allocate_anywhere(osites * bundle * lanes, "packed words of a sum")
            .map_err(BackendError::from)?;
        let one_row = Reduction { rows: 1, ..*whole };
        let (group, groups) = planner.groups(&one_row)?;
        let [pack, build] = planner.staged_builds(whole, (bundle, group))?;
        let pack = self.program(&sums_file().of_kernel("pack"), &planner.options_of_sum(whole, &pack))?;
        let program = self.program(&sums_file().of_kernel("sum"), &planner.options_of_sum(whole, &build))?;
        let Some(field) = call.field("x") else { unreachable!("the call was checked") };
        let mut held = lock(&self.workspace);
        let workspace = Workspace::for_sum(&mut held, &self.context, whole, groups)?;
        let threads = self.sums.pack.get().min(self.context.info().max_work_group_size / nsimd).max(1);
        let local = [nsimd, threads, 1];
        let global = [nsimd, bundle.div_ceil(threads) * threads, osites];
        let count = |number: usize| Arg::U32(number as u32);
        for row in 0..whole.rows {
            let buffer = &field.storage().buffer;
            let arguments = [Arg::Buffer(&packed), Arg::Buffer(buffer), count(words), count(row * bundle)];
            self.launch_of(&pack, "pack", Launch { global, local }, &arguments)?;
            // The last bundle may be incomplete: words that were packed there earlier are summed, too, and ignored.
            let arguments = [Arg::Buffer(&packed), count(osites), count(bundle), count(0), count(row)];
            self.launch_sum(&program, "sum", &arguments, &one_row, workspace, (group, groups))?;
        }
        self.finish_sums(planner, whole, workspace, (group, groups), build)
    }

    fn launch_sum(
        &self,
        program: &Program,
        kernel: &str,
        arguments: &[Arg<'_>],
        work: &Reduction<'_>,
        workspace: &Workspace,
        (group, groups): (usize, usize),
    ) -> Result<(), BackendError> {
        let launch = Launch { global: [group * work.rows, groups, work.planes], local: [group, 1, 1] };
        let of_sums = workspace.arguments(exchange_bytes(work.sum, work.a_row, group));
        self.announce(work.shape);
        self.launch_of(program, kernel, launch, &[arguments, &of_sums].concat())
    }

    /// Adds up the sums of work-groups if that is still to be done, and reads the results.
    fn finish_sums(
        &self,
        planner: &Planner<'_>,
        work: &Reduction<'_>,
        workspace: &Workspace,
        (group, groups): (usize, usize),
        build: SumBuild,
    ) -> Result<PartialSums, BackendError> {
        let sums = work.a_row * work.rows * work.planes;
        if planner.finishes_in_second_kernel(work.of.bundle) {
            let program = self.program(&sums_file(), &planner.options_of_finish(&build))?;
            let launch = Launch { global: [group * sums, 1, 1], local: [group, 1, 1] };
            let of_sums = workspace.arguments(exchange_bytes(work.sum, 1, group));
            self.launch_of(
                &program,
                "finish",
                launch,
                &[&[Arg::U32(groups as u32), Arg::U32(0)][..], &of_sums].concat(),
            )?;
        }
        match work.sum {
            Sum::Tree(_) => {
                let values = work.of_words(self.tree_sums(workspace, sums)?);
                Ok(match work.shape.kernel.extreme() {
                    Some(extreme) => PartialSums::Extremes(extreme, values),
                    None => PartialSums::Tree(values),
                })
            }
            Sum::Exact => {
                let sums = self.accumulators(workspace, sums, work.elements as u64)?;
                Ok(PartialSums::Exact(work.of_words(sums)))
            }
        }
    }

    pub(crate) fn tree_sums(&self, workspace: &Workspace, sums: usize) -> Result<Vec<f64>, BackendError> {
        let mut results = vec![0.0; TREE_RESULT * sums];
        self.context.read(&workspace.result, 0, bytemuck::cast_slice_mut(&mut results))?;
        Ok(results)
    }

    fn accumulators(&self, workspace: &Workspace, sums: usize, terms: u64) -> Result<Vec<ExactSum>, BackendError> {
        let results = self.exact_results(workspace, sums)?;
        let numbered = results.into_iter().enumerate();
        numbered.map(|(number, parts)| self.accumulator(workspace, number, parts, terms)).collect()
    }

    /// Exact sums of `terms` terms each, rounded, up to the first one with a spilled part; and whether there is one.
    pub(crate) fn rounded_sums(
        &self,
        workspace: &Workspace,
        sums: usize,
        terms: u64,
    ) -> Result<(Vec<f64>, bool), BackendError> {
        let results = self.exact_results(workspace, sums)?;
        let whole = results.iter().take_while(|[.., spilled]| *spilled == 0.0);
        // As `queued_sum` in cl/queued_cg.clh: the sum of two doubles, rounded once. The sign of a zero `low` has no meaning.
        let mut values: Vec<f64> = whole.map(|&[high, low, _]| high + if low == 0.0 { -0.0 } else { low }).collect();
        let first = values.len();
        // All are read, so that no spilled part is left behind.
        for (number, &parts) in results.iter().enumerate().skip(first).filter(|(_, [.., spilled])| *spilled != 0.0) {
            let sum = self.accumulator(workspace, number, parts, terms)?;
            if number == first {
                values.push(sum.round());
            }
        }
        Ok((values, first < sums))
    }

    /// The output of kernels for exact sums: high, low, spilled.
    fn exact_results(&self, workspace: &Workspace, sums: usize) -> Result<Vec<[f64; EXACT_RESULT]>, BackendError> {
        let mut results = vec![[0.0; EXACT_RESULT]; sums];
        self.context.read(&workspace.result, 0, bytemuck::cast_slice_mut(results.as_flattened_mut()))?;
        Ok(results)
    }

    /// An exact sum with its spilled part.
    fn accumulator(
        &self,
        workspace: &Workspace,
        number: usize,
        [high, low, spilled]: [f64; EXACT_RESULT],
        terms: u64,
    ) -> Result<ExactSum, BackendError> {
        if spilled == 0.0 {
            let mut sum = ExactSum::new();
            sum.add_pair(high, low, terms);
            return Ok(sum);
        }
        let mut sum = self.take_spilled(workspace, number, terms)?;
        sum.add_pair(high, low, 0);
        Ok(sum)
    }

    /// The spilled part of a sum. It is cleared on the device.
    fn take_spilled(&self, workspace: &Workspace, number: usize, terms: u64) -> Result<ExactSum, BackendError> {
        let mut words = [0i64; SPILL_WORDS];
        let offset = number * size_of_val(&words);
        self.context.read(&workspace.spills, offset, bytemuck::bytes_of_mut(&mut words))?;
        self.context.write(&workspace.spills, offset, &[0; SPILL_WORDS * size_of::<i64>()])?;
        let (limbs, counts) = words.split_at(exact::LIMBS);
        ExactSum::from_limbs(limbs, [counts[0], counts[1], counts[2], 1, terms as i64]).map_err(|error| {
            DeviceError::DamagedSum { device: self.context.info().with_driver(), reason: error.to_string() }.into()
        })
    }
}
