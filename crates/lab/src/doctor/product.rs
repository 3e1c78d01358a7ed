//! Observes one of Lanefield's own kernels in a tuning: its cost, its launches, and its time with other work-groups.

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{LaunchEvent, Mapping, OpenCl, Tuning};
use lanefield_reference::layout::AcceleratorThreads;

use super::error::DoctorError;
use super::facts::code_of_kernel;
use super::model::modelled;
use super::observation::{Code, DeviceFacts, Observation, OtherGroup, Pass, Timeline};
use crate::{Compared, FieldFacts, Sampling, Spread, TimedCase, sample};

/// The numbers of outer sites per group to try for each stencil, as in Grid's study of `accelerator_threads`.
const THREADS: [usize; 4] = [4, 8, 16, 32];

#[derive(Clone, Debug)]
pub struct Examination<'m> {
    pub tuning: Tuning,
    pub machine: &'m DeviceFacts,
    pub samples: usize,
    pub other_groups: bool,
}

impl Examination<'_> {
    pub fn observe(&self, backend: &mut OpenCl, case: &mut TimedCase<OpenCl>) -> Result<Observation, DoctorError> {
        let (launches, times) = self.timed(backend, case, self.tuning)?;
        let shape = case.case.shape().clone();
        let ((accesses, estimated), work) = (modelled(backend, self.machine, &shape)?, shape.work());
        let kernels = whole_runs(&times).map_or(0.0, |all| all.median);
        let sites = (shape.lattice().nsimd(), shape.volume() as usize);
        let mut passes = Vec::with_capacity(launches.len());
        for (launch, times) in launches.iter().zip(times) {
            passes.extend(Spread::of(times).map(|seconds| self.pass(backend, launch, sites, seconds)));
        }
        let longest = passes.iter_mut().max_by(|a, b| a.seconds.median.total_cmp(&b.seconds.median));
        if let Some(pass) = longest {
            pass.accesses = accesses;
            if self.other_groups {
                pass.other_groups = self.others(backend, case, &launches)?;
            }
        }
        backend.set_tuning(self.tuning);
        let (kernel, extents, fields) = (shape.kernel, shape.lattice().extents(), FieldFacts::of(&shape));
        Ok(Observation {
            subject: format!("{kernel}, {extents}, {fields}; {}", self.tuning),
            machine: self.machine.clone(),
            bytes: work.bytes,
            flops: work.flops,
            passes,
            outputs: Vec::new(),
            timeline: Timeline { kernels, ..Timeline::default() },
            estimated: estimated.as_ref().map(|estimate| estimate.seconds),
            estimated_limit: estimated.as_ref().map(|estimate| estimate.binds),
        })
    }

    fn timed(
        &self,
        backend: &mut OpenCl,
        case: &mut TimedCase<OpenCl>,
        tuning: Tuning,
    ) -> Result<(Vec<LaunchEvent>, Vec<Vec<f64>>), DoctorError> {
        case.prepare(backend, tuning)?;
        backend.set_verbose_builds(true);
        // This also warms up.
        sample(&*backend, Sampling { samples: 1, back_to_back: false }, |backend| case.launch(backend))?;
        let mut times: Vec<Vec<f64>> = Vec::new();
        let mut last = Vec::new();
        for _ in 0..self.samples.max(1) {
            last = backend.launches_of(&mut || case.launch(backend))?;
            times.resize(last.len(), Vec::new());
            for (times, launch) in times.iter_mut().zip(&last) {
                times.push(backend.context().times(launch)?.seconds());
            }
        }
        backend.set_verbose_builds(false);
        Ok((last, times))
    }

    /// A pass for a launch over the sites of `items` work-items.
    fn pass(&self, backend: &OpenCl, launch: &LaunchEvent, (nsimd, items): (usize, usize), seconds: Spread) -> Pass {
        let sizes = launch.work_items();
        let most = self.tuning.max_registers.filter(|&most| most > 0);
        let code = Code {
            most_registers: most.map(|most| most as usize),
            ..code_of_kernel(backend.context(), launch.kernel())
        };
        let site_fast = self.tuning.mapping == Some(Mapping::SiteFast);
        let group = sizes.local.iter().product::<usize>();
        let over_lanes = sizes.local[usize::from(site_fast)] == nsimd && sizes.global[usize::from(site_fast)] == nsimd;
        let work_items = sizes.global.iter().product::<usize>().max(1);
        Pass {
            kernel: launch.kernel().name().to_owned(),
            work_items,
            turns: if over_lanes { items.div_ceil(work_items).max(1) } else { 1 },
            group,
            any_group_size: over_lanes,
            lanes: if over_lanes { nsimd } else { 1 },
            launches: 1,
            seconds,
            code,
            lane_fast: over_lanes.then_some(!site_fast),
            ..Pass::default()
        }
    }

    /// Times the kernel with other numbers of outer sites per group than those of `launches`, if the device supports them.
    fn others(
        &self,
        backend: &mut OpenCl,
        case: &mut TimedCase<OpenCl>,
        launches: &[LaunchEvent],
    ) -> Result<Vec<OtherGroup>, DoctorError> {
        let sizes = |launches: &[LaunchEvent]| launches.iter().map(LaunchEvent::work_items).collect::<Vec<_>>();
        let present = sizes(launches);
        let mut others = Vec::new();
        for size in THREADS {
            let accelerator_threads = Some(AcceleratorThreads::new(size).map_err(BackendError::from)?);
            let changed = Tuning { accelerator_threads, ..self.tuning };
            // Sizes that a device does not support are left out, and so are those that lead to the same launches.
            let launched =
                case.prepare(backend, changed).and_then(|()| backend.launches_of(&mut || case.launch(backend)));
            match launched {
                Ok(launches) if sizes(&launches) != present => {}
                _ => continue,
            }
            others.push(OtherGroup { size, compared: self.compared(backend, case, changed)? });
        }
        Ok(others)
    }

    /// Times the kernel in its tuning and in another one, alternately.
    pub fn compared(
        &self,
        backend: &mut OpenCl,
        case: &mut TimedCase<OpenCl>,
        changed: Tuning,
    ) -> Result<Compared, DoctorError> {
        let present = self.tuning;
        // Programs are built, and clocks have risen.
        for tuning in [present, changed] {
            case.prepare(backend, tuning)?;
            sample(&*backend, Sampling { samples: 1, back_to_back: false }, |backend| case.launch(backend))?;
        }
        let compared = Compared::alternately(self.samples, |is_changed| {
            case.prepare(backend, if is_changed { changed } else { present })?;
            backend.time(&mut || case.launch(backend))
        });
        backend.set_tuning(present);
        Ok(compared?)
    }
}

/// Seconds of whole runs, from those of each launch in all runs.
fn whole_runs(times: &[Vec<f64>]) -> Option<Spread> {
    let runs = times.iter().map(Vec::len).min().unwrap_or(0);
    Spread::of((0..runs).map(|run| times.iter().map(|times| times[run]).sum()).collect())
}
