//! The programs that a measurement will build, known before it starts, so that other processes of the caller can build them in parallel. Each
//! [`Step`] says what to build, in a form that can be sent to another process.

use std::collections::HashMap;

use lanefield::backend::opencl::{Context, NeededKernel, OpenCl, Source, Tuned, Tuning};
use lanefield::backend::{BackendError, Memory as _, Sum};
use lanefield::kernel::{Case, Kernel, KernelList};
use serde::{Deserialize, Serialize};

use super::bench::BenchCase;
use super::peak::intensity::Mixed;
use super::peak::{Part, Peak, PeakOptions, Stored, in_order};
use super::sources;
use super::study::Run;
use crate::bandwidth::{DeviceStreams, Operation, Shape};
use crate::ceilings::MemoryOf;

/// Builds, before steps are measured, the programs that they need and the cache does not have.
pub type BuildAhead<'a> = &'a mut dyn FnMut(&mut OpenCl, Vec<Step>);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Step<K = &'static Kernel> {
    /// A kernel on fields, with its tuning.
    Kernel(Box<KernelStep<K>>),
    Program(NeededKernel),
    Stream(Operation, Shape),
    /// Arithmetic on numbers that are stored in this format.
    Mixed(Stored),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KernelStep<K = &'static Kernel> {
    pub run: Run<K>,
    /// Replaces the tuning results on file; `None` to use those.
    pub tuned: Option<Tuning>,
    /// Whether to build it so that the compiler reports the kernel's resources.
    pub with_log: bool,
}

impl From<Run> for KernelStep {
    fn from(run: Run) -> Self {
        Self { run, tuned: None, with_log: false }
    }
}

impl KernelStep {
    /// Calls `work` with the case while the device has the step's tuning.
    fn on<T>(
        &self,
        device: &mut OpenCl,
        work: impl FnOnce(&mut OpenCl, &BenchCase) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let (tuning, tuned) = (device.tuning(), device.tuned().clone());
        device.set_tuning(self.run.way.tuning);
        if let Some(tuned) = self.tuned {
            device.set_tuned(Tuned::fixed(tuned));
        }
        device.set_relaxed_math(self.run.way.relaxed_math);
        device.set_verbose_builds(self.with_log);
        let done = work(device, &self.run.case);
        device.set_verbose_builds(false);
        device.set_relaxed_math(false);
        device.set_tuned(tuned);
        device.set_tuning(tuning);
        done
    }

    fn needs(&self, device: &mut OpenCl) -> Result<Vec<NeededKernel>, BackendError> {
        self.on(device, |device, case| {
            let mut shape = Case::shape_of(case.kernel, &case.options(case.lattice(device)?));
            shape.legs = self.run.way.legs;
            device.needs(&shape, Sum::Exact)
        })
    }

    fn launch(&self, device: &mut OpenCl) -> Result<(), BackendError> {
        self.on(device, |device, case| {
            let mut timed = case.prepare(device)?;
            timed.case.set_legs(self.run.way.legs);
            timed.launch(device)?;
            device.finish()
        })
    }
}

/// The buffer size for trying streams and arithmetic: enough for one group of each kernel.
const FEW_BYTES: usize = 1 << 20;

impl MemoryOf<'_> {
    /// The steps to build before an operation is measured; empty if its result is in the cache.
    pub fn steps(self, operation: Operation) -> Vec<Step> {
        self.shapes_to_build(operation).into_iter().map(|shape| Step::Stream(operation, shape)).collect()
    }
}

impl Peak {
    /// The steps to build for [`Self::measure`], except the few programs for caches, latency and launches.
    pub fn steps(context: &Context, options: &PeakOptions) -> Vec<Step> {
        let mut steps = vec![Step::Stream(Operation::Copy, Shape::PLAIN)];
        for part in in_order(&options.parts) {
            match part {
                Part::Streams => steps.extend(
                    Self::stream_shapes(context, options)
                        .into_iter()
                        .map(|(operation, shape)| Step::Stream(operation, shape)),
                ),
                Part::Intensity => steps.extend(Stored::ALL.map(Step::Mixed)),
                Part::Caches | Part::Latency | Part::Launch | Part::Transfers => {}
            }
        }
        steps
    }
}

impl Step<String> {
    /// The step that another process sent, with the kernel looked up by name.
    pub fn resolved(self, list: &KernelList) -> Result<Step, String> {
        Ok(match self {
            Self::Kernel(step) => {
                let KernelStep { run: Run { case, way }, tuned, with_log } = *step;
                let kernel = list.find(&case.kernel).ok_or_else(|| format!("unknown kernel '{}'", case.kernel))?;
                Step::Kernel(Box::new(KernelStep { run: Run { case: case.with_kernel(kernel), way }, tuned, with_log }))
            }
            Self::Program(needed) => Step::Program(needed),
            Self::Stream(operation, shape) => Step::Stream(operation, shape),
            Self::Mixed(stored) => Step::Mixed(stored),
        })
    }
}

impl Step {
    /// The kernels that it builds, and whether each is built already.
    fn needs(&self, device: &mut OpenCl) -> Result<Vec<(NeededKernel, bool)>, BackendError> {
        let of_laboratory = |device: &OpenCl, file: &str, options: String, kernel: String, group: usize| {
            let local = [group, 1, 1];
            let built = device.context().is_built(&sources::expand(file)?, &options, (&kernel, local));
            Ok(vec![(NeededKernel { source: Source::of_library(file), options, kernel, local }, built)])
        };
        let needs = match self {
            Self::Kernel(step) => step.needs(device)?,
            Self::Program(needed) => vec![needed.clone()],
            Self::Stream(operation, shape) => {
                return of_laboratory(device, "peak.cl", shape.options(), operation.kernel(), shape.group);
            }
            Self::Mixed(stored) => {
                let (options, group) = Mixed::build_of(device.context(), *stored);
                return of_laboratory(device, "peak_intensity.cl", options, "mixed".to_owned(), group);
            }
        };
        let with_state = |needed: NeededKernel| Ok((needed.clone(), device.has_built(&needed)?));
        needs.into_iter().map(with_state).collect()
    }

    /// Builds it, and keeps it in the cache. On devices that compile kernels at launch it is launched once, unless it is only a program.
    pub fn build(&self, device: &mut OpenCl) -> Result<(), BackendError> {
        match self {
            Self::Kernel(step) if device.compiles_at_launch() => step.launch(device),
            Self::Kernel(_) | Self::Program(_) => self
                .needs(device)?
                .iter()
                .filter(|(_, built)| !built)
                .try_for_each(|(needed, _)| device.build(needed).map(drop)),
            Self::Stream(operation, shape) => {
                DeviceStreams::new(device.context(), *operation, FEW_BYTES)?.run(shape).map(drop)
            }
            Self::Mixed(stored) => Mixed::try_on(device.context(), *stored, FEW_BYTES),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ToBuild {
    /// The steps, grouped by the programs that they need, and the number of programs in each group.
    pub groups: Vec<(Vec<Step>, usize)>,
    pub cached: usize,
}

impl ToBuild {
    /// The programs that these steps need. Steps that cannot be planned are left out: measuring them will report the reason.
    pub fn of(device: &mut OpenCl, steps: Vec<Step>) -> Self {
        // The group that builds a program; `None` if it is built already.
        let mut programs: HashMap<(Source, String), Option<usize>> = HashMap::new();
        let mut groups: Vec<(Vec<Step>, usize)> = Vec::new();
        for step in steps {
            let Ok(needs) = step.needs(device) else { continue };
            let mut of_step = None;
            for (NeededKernel { source, options, .. }, built) in needs {
                let group = programs.entry((source, options)).or_default();
                if !built {
                    let place = *of_step.get_or_insert(group.unwrap_or(groups.len()));
                    if place == groups.len() {
                        groups.push((Vec::new(), 0));
                    }
                    if group.is_none() {
                        (*group, groups[place].1) = (Some(place), groups[place].1 + 1);
                    }
                }
            }
            if let Some(place) = of_step {
                groups[place].0.push(step);
            }
        }
        Self { cached: programs.values().filter(|group| group.is_none()).count(), groups }
    }

    pub fn programs(&self) -> usize {
        self.groups.iter().map(|(_, programs)| programs).sum()
    }
}

#[cfg(test)]
mod tests {
    use lanefield::kernel::hop::HOP;
    use lanefield_reference::layout::{Extents, Sites};
    use lanefield_reference::links::LinkFormat;

    use super::*;
    use crate::study::Way;

    #[test]
    fn a_step_is_the_same_after_it_was_sent_to_another_process() {
        let case = BenchCase { rhs: Some(2), ..BenchCase::usual(&HOP, Extents::new([4, 6, 8, 10]).unwrap()) };
        let tuning = Tuning { max_registers: Some(96), ..Tuning::OPEN };
        for case in [case, BenchCase { sites: Sites::Full, links: LinkFormat::TwoRows, ..case }] {
            let run = Run { case, way: Way { relaxed_math: true, ..Way::from(tuning) } };
            let step = KernelStep { tuned: Some(Tuning::OPEN), ..run.clone().into() };
            let sent = serde_json::to_string(&Step::Kernel(Box::new(step))).unwrap();
            let read: Step<String> = serde_json::from_str(&sent).unwrap();
            let Step::Kernel(step) = read.resolved(&KernelList::LIBRARY).unwrap() else { panic!("{sent}") };
            assert_eq!((step.run, step.tuned, step.with_log), (run, Some(Tuning::OPEN), false));
        }
    }
}
