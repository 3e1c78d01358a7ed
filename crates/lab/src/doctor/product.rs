//! Observing one of Lanefield's own kernels in a variant: what it takes, what it launches, and what it takes in other work-groups.

use lanefield::backend::opencl::{LaunchEvent, Mapping, OpenCl};
use lanefield_reference::layout::{AcceleratorThreads, Lattice};

use super::DoctorError;
use super::machine::code_of_kernel;
use super::model::Modelled;
use super::observation::{Code, Machine, Observation, Pass, Timeline};
use crate::kernels::{KernelSet, KernelTask};
use crate::{Sampling, Spread, Timed as _, Variant, sample};

/// Outer sites a group that each stencil is tried with, as in Grid's study of `accelerator_threads`.
const THREADS: [usize; 4] = [4, 8, 16, 32];

/// What is examined, and against what.
#[derive(Clone, Debug)]
pub struct Examination<'m> {
    /// The variant that the kernel runs in.
    pub variant: Variant,
    /// The device.
    pub machine: &'m Machine,
    /// The lattice in lanes.
    pub lattice: Lattice,
    /// Timed launches.
    pub samples: usize,
    /// What the models say of it.
    pub modelled: Modelled,
    /// Whether the kernel is tried in other work-groups.
    pub other_groups: bool,
}

impl KernelTask<OpenCl> for Examination<'_> {
    type Output = Result<Observation, DoctorError>;

    fn run<S: KernelSet<OpenCl>>(self, backend: &mut OpenCl, set: &mut S, kernel: S::Kernel) -> Self::Output {
        let facts = set.facts(kernel);
        let (launches, times) = self.timed(backend, set, kernel, &self.variant)?;
        let whole: Vec<f64> = (0..self.samples.max(1)).map(|run| times.iter().map(|times| times[run]).sum()).collect();
        let volume = self.lattice.extents().volume();
        let items = if facts.fields.sites.as_deref() == Some("full") { volume } else { volume / 2 };
        let mut passes = Vec::with_capacity(launches.len());
        for (launch, times) in launches.iter().zip(times) {
            passes.extend(Spread::of(times).map(|seconds| self.pass(backend, (launch, items), seconds)));
        }
        let longest = passes.iter_mut().max_by(|a, b| a.seconds.median.total_cmp(&b.seconds.median));
        if let Some(pass) = longest {
            pass.accesses = self.modelled.accesses.clone();
            if self.other_groups {
                pass.other_groups = self.others(backend, set, kernel, pass.group)?;
            }
        }
        backend.choose(&self.variant)?;
        Ok(Observation {
            subject: format!("{}, {}, {}; {}", facts.kernel, self.lattice.extents(), facts.fields, self.variant),
            machine: self.machine.clone(),
            bytes: facts.work.bytes,
            flops: facts.work.flops,
            passes,
            outputs: Vec::new(),
            timeline: Timeline { kernels: Spread::of(whole).map_or(0.0, |all| all.median), ..Timeline::default() },
            estimated: self.modelled.seconds,
        })
    }
}

impl Examination<'_> {
    /// The launches of a kernel, and the seconds of each of them over the samples.
    fn timed<S: KernelSet<OpenCl>>(
        &self,
        backend: &mut OpenCl,
        set: &mut S,
        kernel: S::Kernel,
        variant: &Variant,
    ) -> Result<(Vec<LaunchEvent>, Vec<Vec<f64>>), DoctorError> {
        backend.choose(variant)?;
        backend.set_verbose_builds(true);
        // Warms up, too.
        sample(&*backend, Sampling { samples: 1, back_to_back: false }, |backend| set.launch(backend, kernel))?;
        let mut times: Vec<Vec<f64>> = Vec::new();
        let mut last = Vec::new();
        for _ in 0..self.samples.max(1) {
            last = backend.launches_of(&mut || set.launch(backend, kernel))?;
            times.resize(last.len(), Vec::new());
            for (times, launch) in times.iter_mut().zip(&last) {
                times.push(backend.context().times(launch)?.seconds());
            }
        }
        backend.set_verbose_builds(false);
        Ok((last, times))
    }

    /// A launch that goes over so many work-items' worth of sites.
    fn pass(&self, backend: &OpenCl, (launch, items): (&LaunchEvent, usize), seconds: Spread) -> Pass {
        let sizes = launch.work_items();
        let most = self.variant.build.tuning.most_registers.filter(|&most| most > 0);
        let code = Code {
            most_registers: most.map(|most| most as usize),
            ..code_of_kernel(backend.context(), launch.kernel())
        };
        let site_fast = self.variant.build.tuning.mapping == Some(Mapping::SiteFast);
        let (nsimd, group) = (self.lattice.nsimd(), sizes.local.iter().product::<usize>());
        let over_lanes = sizes.local[usize::from(site_fast)] == nsimd && sizes.global[usize::from(site_fast)] == nsimd;
        let work_items = sizes.global.iter().product::<usize>().max(1);
        Pass {
            kernel: launch.kernel().name().to_owned(),
            work_items,
            turns: if over_lanes { items.div_ceil(work_items).max(1) } else { 1 },
            group,
            any_group_size: over_lanes,
            any_number_of_groups: false,
            lanes: if over_lanes { nsimd } else { 1 },
            launches: 1,
            seconds,
            code,
            accesses: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            lane_fast: over_lanes.then_some(!site_fast),
            other_groups: Vec::new(),
        }
    }

    /// The kernel in groups of other numbers of outer sites than make `group` work-items.
    fn others<S: KernelSet<OpenCl>>(
        &self,
        backend: &mut OpenCl,
        set: &mut S,
        kernel: S::Kernel,
        group: usize,
    ) -> Result<Vec<(usize, Spread)>, DoctorError> {
        let most = backend.context().info().max_work_group_size;
        let mut others = Vec::new();
        for threads in THREADS {
            if threads * self.lattice.nsimd() == group || threads * self.lattice.nsimd() > most {
                continue;
            }
            let threads = AcceleratorThreads::new(threads).map_err(lanefield::backend::BackendError::from)?;
            // A device may refuse a size; then it is not one to change to.
            let Ok((_, times)) = self.timed(backend, set, kernel, &Variant { threads: Some(threads), ..self.variant })
            else {
                continue;
            };
            let runs = (0..self.samples.max(1)).map(|run| times.iter().map(|times| times[run]).sum()).collect();
            others.extend(Spread::of(runs).map(|seconds| (threads.get(), seconds)));
        }
        Ok(others)
    }
}
