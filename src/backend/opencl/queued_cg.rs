//! Iterations of conjugate gradients that are queued one after the other. Each sum has its own place in a workspace, where the kernels
//! after it (`cl/queued_cg.clh`) read it. All sums are read to the host at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::LaunchGeometry;

use super::backend::OpenCl;
use super::device::lock;
use super::prebuild::NeededKernel;
use super::program::{Program, Source};
use super::queue::{Arg, Launch, Replay, ReplayGuard, ScalarArg, Varying};
use super::tuning::{Layout, Mapping, Planner, Reduction, exchange_bytes, sums_file};
use super::workspace::Workspace;
use crate::backend::specification::{Call, Shape};
use crate::backend::{BackendError, LaunchSequence, MOST_QUEUED, QueuedBounds, QueuedIterations, QueuedSums, Step};

/// Names of kernels: all vector operations of an iteration; those after ⟨p, A p⟩; the end of an iteration; and adding up the sums of
/// work-groups.
const AT_ONCE: &str = "cg_iteration";
const RESIDUAL: &str = "cg_residual";
const ADVANCE: &str = "cg_advance";
const FINISH: &str = "finish";
const SUMS: usize = 2;

/// The minimum number of iterations, queued together, from which the first one is replayed.
const LEAST_REPLAYED: usize = 3;

/// Iterations in the queue of a device.
pub(crate) struct Iterations {
    sum: Sum,
    /// The scalars of the iterations that were begun together, and the number of these iterations.
    scalars: [f64; SCALARS],
    iterations: usize,
    /// The iteration that is replayed, once there were enough of them.
    repeats: Option<Repeats>,
    /// Memory for sums, allocated by the first one.
    workspace: Option<Workspace>,
    /// Whether all queued sums are known, so that others may use the workspace.
    is_settled: bool,
    /// The pool of unused workspaces.
    spare_workspaces: Arc<Mutex<Vec<Workspace>>>,
    /// The built programs, by the names of their kernels.
    programs: HashMap<&'static str, Arc<Program>>,
    /// The number of queued sums, and of the elements of each.
    sums: usize,
    elements: usize,
}

/// An iteration that is replayed.
struct Repeats {
    guard: ReplayGuard,
    replay: Replay,
    /// Whether there was an iteration that consists only of launches.
    is_complete: bool,
}

/// The number of scalars of iterations: the number of the iteration, those of its sums, and the bounds of the iterations that are begun
/// together.
const SCALARS: usize = 7;
const ITERATION: ScalarArg = (0, count);
const OF_SUM: [ScalarArg; SUMS] = [(1, count), (2, count)];
const C: ScalarArg = (3, Arg::F64);
const LOW: ScalarArg = (4, Arg::F64);
const HIGH: ScalarArg = (5, Arg::F64);
const KEEP: ScalarArg = (6, Arg::F64);

fn count(number: f64) -> Arg<'static> {
    Arg::U32(number as u32)
}

impl Repeats {
    fn new(device: &OpenCl) -> Self {
        Self { guard: device.context.replay_guard(), replay: Replay::default(), is_complete: false }
    }

    /// Adds varying arguments of the next launch, beginning with argument number `first`.
    fn add(&mut self, first: usize, of_launch: &[ScalarArg], scalars: &[f64; SCALARS]) {
        let launch = self.guard.launches();
        let numbered = of_launch.iter().enumerate();
        let varying =
            numbered.map(|(k, &scalar)| Varying { launch, argument: first + k, scalar, value: scalars[scalar.0] });
        self.replay.varying.extend(varying);
    }

    /// Replays an iteration, if there was one that consists only of launches. Otherwise keeps the launches that follow.
    fn launch(&mut self, device: &OpenCl, scalars: &[f64; SCALARS]) -> Result<bool, BackendError> {
        if !self.is_complete {
            self.replay.varying.clear();
            self.guard.begin();
            return Ok(false);
        }
        self.replay.set(scalars)?;
        device.context.launch_again(&self.replay)?;
        Ok(true)
    }
}

impl Iterations {
    pub(crate) fn new(device: &OpenCl, sum: Sum) -> Self {
        Self {
            sum,
            // No iteration begins with these.
            scalars: [f64::NAN; SCALARS],
            iterations: 0,
            repeats: None,
            workspace: lock(&device.spare_workspaces).pop(),
            is_settled: true,
            spare_workspaces: Arc::clone(&device.spare_workspaces),
            programs: HashMap::new(),
            sums: 0,
            elements: 0,
        }
    }

    /// A program, looked up once.
    fn program(
        &mut self,
        device: &OpenCl,
        kernel: &'static str,
        source: impl FnOnce() -> Result<(Source, String), BackendError>,
    ) -> Result<Arc<Program>, BackendError> {
        if let Some(program) = self.programs.get(kernel) {
            return Ok(Arc::clone(program));
        }
        let (source, options) = source()?;
        let program = device.program(&source, &options)?;
        self.programs.insert(kernel, Arc::clone(&program));
        Ok(program)
    }

    /// Makes the device begin with the first iteration while the host queues the others.
    fn flush_first(&self, device: &OpenCl) -> Result<(), BackendError> {
        if self.sums == SUMS {
            device.context.flush()?;
        }
        Ok(())
    }

    /// Launches a kernel that sums, and the kernel that adds up the sums of its work-groups.
    fn launch_sum(&mut self, device: &OpenCl, call: &Call<'_, OpenCl>) -> Result<(), BackendError> {
        let (shape, layout) = (call.shape(), device.layout_of(call)?);
        let planner = device.planner(layout);
        let work = planner.reduction(shape, self.sum)?;
        let (group, groups) = planner.groups(&work)?;
        let build = planner.sum_build(work.of, self.sum, Some(group))?.in_order_of_the_host(&work);
        let name = shape.kernel.name;
        let program = self.program(device, name, || Ok((file_of(shape), planner.options_of_sum(&work, &build))))?;
        let finish = match planner.finishes_in_second_kernel(work.of.bundle) {
            true => Some(self.program(device, FINISH, || Ok((sums_file(), planner.options_of_finish(&build))))?),
            false => None,
        };

        let all = Reduction { rows: SUMS * MOST_QUEUED, ..work };
        let workspace = Workspace::for_sum(&mut self.workspace, &device.context, &all, groups)?;
        let of_sums = workspace.arguments(exchange_bytes(self.sum, 1, group));
        let scalars = if name == RESIDUAL { &[ITERATION, C][..] } else { &[ITERATION, C, LOW, HIGH] };
        let launch = Launch { global: [group, groups, 1], local: [group, 1, 1] };
        let scalars = (scalars, &self.scalars);
        launch_numbered(&mut self.repeats, (device, call, layout), (&program, launch), scalars, &of_sums)?;
        if let Some(finish) = finish {
            let launch = Launch { global: [group, 1, 1], local: [group, 1, 1] };
            if let Some(repeats) = &mut self.repeats {
                repeats.add(1, &[OF_SUM[self.sums % SUMS]], &self.scalars);
            }
            let which = [Arg::U32(groups as u32), Arg::U32(self.sums as u32)];
            device.launch_of(&finish, FINISH, launch, &[&which[..], &of_sums].concat())?;
        }
        (self.sums, self.elements) = (self.sums + 1, work.elements);
        Ok(())
    }

    /// Launches the kernel that ends an iteration.
    fn launch_advance(&mut self, device: &OpenCl, call: &Call<'_, OpenCl>) -> Result<(), BackendError> {
        let (shape, layout) = (call.shape(), device.layout_of(call)?);
        let planner = device.planner(layout);
        let name = shape.kernel.name;
        let (LaunchGeometry { global, local }, options) = planner.advance(shape, self.sum);
        let program = self.program(device, name, || Ok((file_of(shape), options)))?;
        let Some(workspace) = &self.workspace else { unreachable!("sums come first") };
        let (scalars, result) = ((&[ITERATION, C, KEEP][..], &self.scalars), [Arg::Buffer(&workspace.result)]);
        let launch = Launch { global, local };
        launch_numbered(&mut self.repeats, (device, call, layout), (&program, launch), scalars, &result)?;
        self.flush_first(device)
    }
}

impl Planner<'_> {
    /// The launch of the kernel that ends an iteration, and its build options.
    fn advance(&self, shape: &Shape, sum: Sum) -> (LaunchGeometry, String) {
        let nsimd = shape.lattice().nsimd();
        let osites = shape.target.osites() * shape.parts();
        let geometry = LaunchGeometry::over_sites(nsimd, osites, self.threads());
        let (geometry, lane_groups) = self.fitted(geometry, Mapping::LaneFast);
        let tree = if let Sum::Tree(_) = sum { " -DTREE" } else { "" };
        let common = self.common_options(shape.precision(), nsimd, self.access(shape));
        (geometry, format!("{common}{lane_groups} -DWORDS={}{tree}", shape.target.object.part_words()))
    }

    /// The programs of a kernel of queued iterations, except the one that adds up the sums of work-groups; empty for other kernels.
    pub(crate) fn needs_of_queued(&self, shape: &Shape, sum: Sum) -> Result<Vec<NeededKernel>, BackendError> {
        let options = match shape.kernel.name {
            ADVANCE => self.advance(shape, sum).1,
            RESIDUAL => {
                let work = self.reduction(shape, sum)?;
                let (group, _) = self.groups(&work)?;
                self.options_of_sum(&work, &self.sum_build(work.of, sum, Some(group))?.in_order_of_the_host(&work))
            }
            AT_ONCE => {
                let work = self.reduction(shape, sum)?;
                let Some((build, ..)) = self.sum_at_once(&work)? else { return Ok(Vec::new()) };
                self.options_of_sum(&work, &build)
            }
            _ => return Ok(Vec::new()),
        };
        Ok(vec![NeededKernel::program_alone(file_of(shape), options)])
    }
}

/// Launches the kernel of a call. After the call's arguments come those that change from iteration to iteration, then those that stay.
fn launch_numbered(
    repeats: &mut Option<Repeats>,
    (device, call, layout): (&OpenCl, &Call<'_, OpenCl>, Layout),
    (program, launch): (&Program, Launch),
    (of_launch, scalars): (&[ScalarArg], &[f64; SCALARS]),
    same: &[Arg<'_>],
) -> Result<(), BackendError> {
    let packed = device.pack(call, layout, None)?;
    device.announce(call.shape());
    let arguments = packed.arguments();
    if let Some(repeats) = repeats {
        repeats.add(arguments.len(), of_launch, scalars);
    }
    let values: Vec<Arg<'_>> = of_launch.iter().map(|(number, of)| of(scalars[*number])).collect();
    device.launch_of(program, call.kernel().name, launch, &[&arguments[..], &values, same].concat())
}

fn file_of(shape: &Shape) -> Source {
    Source::of_library(shape.kernel.file()).of_kernel(shape.kernel.name)
}

impl LaunchSequence<OpenCl> for Iterations {
    fn repeat(&mut self, device: &OpenCl) -> Result<bool, BackendError> {
        let iteration = self.sums / SUMS;
        for (scalar, number) in [ITERATION, OF_SUM[0], OF_SUM[1]].into_iter().zip([iteration, self.sums, self.sums + 1])
        {
            self.scalars[scalar.0] = number as f64;
        }
        if self.iterations >= LEAST_REPLAYED {
            self.repeats.get_or_insert_with(|| Repeats::new(device));
        }
        let Some(repeats) = &mut self.repeats else { return Ok(false) };
        // Somebody may have begun to watch launches since the last iterations.
        if iteration == 0 && device.is_watched() {
            repeats.is_complete = false;
        }
        let repeated = repeats.launch(device, &self.scalars)?;
        if repeated {
            self.sums += SUMS;
            self.flush_first(device)?;
        }
        Ok(repeated)
    }

    fn launch(&mut self, device: &OpenCl, call: Call<'_, OpenCl>, _: &Step) -> Result<(), BackendError> {
        match call.kernel().name == ADVANCE {
            true => self.launch_advance(device, &call),
            false => self.launch_sum(device, &call),
        }
    }

    fn end(&mut self, _: &OpenCl) -> Result<(), BackendError> {
        if let Some(Repeats { guard, replay, is_complete }) = &mut self.repeats
            && !*is_complete
            && let Some(launches) = guard.end()
        {
            (replay.launches, *is_complete) = (launches, true);
        }
        Ok(())
    }
}

impl QueuedIterations<OpenCl> for Iterations {
    fn begin(&mut self, bounds: QueuedBounds, iterations: usize) -> Result<(), BackendError> {
        if iterations > MOST_QUEUED {
            return Err(BackendError::Argument {
                kernel: AT_ONCE,
                argument: "iterations".to_owned(),
                given: iterations.to_string(),
                expected: format!("{MOST_QUEUED} at most"),
            });
        }
        (self.iterations, self.sums, self.is_settled) = (iterations, 0, false);
        let QueuedBounds { c, low, high, keep } = bounds;
        for (scalar, bound) in [C, LOW, HIGH, KEEP].into_iter().zip([c, low, high, keep]) {
            self.scalars[scalar.0] = bound;
        }
        Ok(())
    }

    fn launch_at_once(&mut self, device: &OpenCl, call: Call<'_, OpenCl>) -> Result<bool, BackendError> {
        let (shape, layout) = (call.shape(), device.layout_of(&call)?);
        let planner = device.planner(layout);
        let work = planner.reduction(shape, self.sum)?;
        let Some((build, group, groups)) = planner.sum_at_once(&work)? else { return Ok(false) };
        let name = shape.kernel.name;
        let program = self.program(device, name, || Ok((file_of(shape), planner.options_of_sum(&work, &build))))?;
        let all = Reduction { rows: SUMS * MOST_QUEUED, ..work };
        let workspace = Workspace::for_sum(&mut self.workspace, &device.context, &all, groups)?;
        let of_sums = workspace.arguments(planner.exchange_at_once(group));
        let launch = Launch { global: [group, groups, 1], local: [group, 1, 1] };
        let scalars = (&[ITERATION, C, LOW, HIGH, KEEP][..], &self.scalars);
        launch_numbered(&mut self.repeats, (device, &call, layout), (&program, launch), scalars, &of_sums)?;
        (self.sums, self.elements) = (self.sums + SUMS, work.elements);
        self.flush_first(device)?;
        Ok(true)
    }

    fn sums(&mut self, device: &OpenCl) -> Result<QueuedSums, BackendError> {
        let Some(workspace) = &self.workspace else { return Ok(QueuedSums { values: Vec::new(), breaks_off: false }) };
        let (values, breaks_off) = match self.sum {
            Sum::Tree(_) => (device.tree_sums(workspace, self.sums)?, false),
            Sum::Exact => device.rounded_sums(workspace, self.sums, self.elements as u64)?,
        };
        self.is_settled = true;
        Ok(QueuedSums { values, breaks_off })
    }
}

impl Drop for Iterations {
    fn drop(&mut self) {
        if self.is_settled
            && let Some(workspace) = self.workspace.take()
        {
            lock(&self.spare_workspaces).push(workspace);
        }
    }
}
