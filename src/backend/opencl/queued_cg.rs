//! Iterations of conjugate gradients that are queued one behind the other: each sum has a place of its own in a workspace of sums, where the kernels behind it
//! (`cl/queued_cg.clh`) find it. All sums come to the host in one read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::LaunchGeometry;

use super::backend::OpenCl;
use super::device::lock;
use super::program::{Program, Source};
use super::queue::{Arg, Launch, Replay, ReplayGuard};
use super::tuning::{Layout, Mapping, Reduction, exchange_bytes, sums_file};
use super::workspace::Workspace;
use crate::backend::specification::{Call, Shape};
use crate::backend::{BackendError, MOST_QUEUED, QueuedBounds, QueuedIterations, QueuedSums};

/// Kernels by their names: all vector operations of an iteration, what follows ⟨p, A p⟩, what ends it, and what adds up the sums of groups.
const AT_ONCE: &str = "cg_iteration";
const RESIDUAL: &str = "cg_residual";
const ADVANCE: &str = "cg_advance";
const FINISH: &str = "finish";
/// Sums of an iteration.
const SUMS: usize = 2;

/// Iterations are launched again as the first one was where at least so many are queued together.
const LEAST_REPLAYED: usize = 3;

/// Iterations in the queue of a device.
pub(crate) struct Iterations {
    sum: Sum,
    /// Of those that were begun together, and how many these are.
    bounds: QueuedBounds,
    iterations: usize,
    /// What is launched again, from when there were iterations enough.
    repeats: Option<Repeats>,
    /// Where sums are made; there from the first one on.
    workspace: Option<Workspace>,
    /// Whether all sums that were queued are known, so that others may use the workspace.
    is_settled: bool,
    /// Where workspaces lie that nobody uses.
    spare_workspaces: Arc<Mutex<Vec<Workspace>>>,
    /// What was built, by the names of kernels.
    programs: HashMap<&'static str, Arc<Program>>,
    /// Sums that were queued, and the elements of each.
    sums: usize,
    elements: usize,
}

/// An iteration that is made again as it was.
struct Repeats {
    guard: ReplayGuard,
    /// From when there is an iteration that consists of launches alone.
    replay: Option<Replay>,
    varying: Vec<Varying>,
}

/// An argument of a launch whose value changes from one iteration to another.
struct Varying {
    launch: usize,
    argument: usize,
    value: Value,
}

#[derive(Clone, Copy)]
enum Value {
    /// The number of an iteration or of a sum: in the first iteration, and its step from one to the next.
    Number { first: usize, step: usize },
    /// One of the bounds of iterations that are begun together.
    Bound(fn(&QueuedBounds) -> f64),
}

impl Value {
    fn of(self, iteration: usize, bounds: &QueuedBounds) -> Arg<'static> {
        match self {
            Self::Number { first, step } => Arg::U32((first + step * iteration) as u32),
            Self::Bound(bound) => Arg::F64(bound(bounds)),
        }
    }
}

const ITERATION: Value = Value::Number { first: 0, step: 1 };
const C: Value = Value::Bound(|bounds| bounds.c);
const LOW: Value = Value::Bound(|bounds| bounds.low);
const HIGH: Value = Value::Bound(|bounds| bounds.high);
const KEEP: Value = Value::Bound(|bounds| bounds.keep);

impl Repeats {
    fn new(device: &OpenCl) -> Self {
        Self { guard: device.context.replay_guard(), replay: None, varying: Vec::new() }
    }

    /// Adds arguments of the launch that comes next, from the one of number `first` on.
    fn add(repeats: &mut Option<Self>, first: usize, values: &[Value]) {
        if let Some(Self { guard, varying, .. }) = repeats {
            let launch = guard.launches();
            let numbered = values.iter().enumerate();
            varying.extend(numbered.map(|(k, &value)| Varying { launch, argument: first + k, value }));
        }
    }

    /// Launches the iteration of this number as those before it, if one was launches alone; else the next one is written down.
    fn launch(&mut self, device: &OpenCl, iteration: usize, bounds: &QueuedBounds) -> Result<bool, BackendError> {
        let Self { guard, replay, varying } = self;
        // Since the last iterations launches may be recorded, or another thread may go on.
        if iteration == 0 && replay.as_ref().is_some_and(|replay| device.is_watched() || !replay.is_of_this_thread()) {
            *replay = None;
        }
        if replay.is_none() {
            *replay = guard.end();
        }
        let Some(replay) = replay else {
            varying.clear();
            guard.begin();
            return Ok(false);
        };
        // Bounds are the same in all iterations that are begun together.
        let changed = varying.iter().filter(|one| iteration == 0 || matches!(one.value, Value::Number { .. }));
        let arguments = changed.map(|one| (one.launch, one.argument, one.value.of(iteration, bounds)));
        device.context.launch_again(replay, &arguments.collect::<Vec<_>>())?;
        Ok(true)
    }
}

impl Iterations {
    pub(crate) fn new(device: &OpenCl, sum: Sum) -> Self {
        Self {
            sum,
            // No iteration is begun with these.
            bounds: QueuedBounds { c: f64::NAN, low: 0.0, high: 0.0, keep: 0.0 },
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

    /// A program, which is looked for once.
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

    /// The device begins with the first iteration while the host queues the others.
    fn flush_first(&self, device: &OpenCl) -> Result<(), BackendError> {
        if self.sums == SUMS {
            device.context.flush()?;
        }
        Ok(())
    }

    /// Queues a kernel that sums, and what adds up the sums of its groups.
    fn queue_sum(&mut self, device: &OpenCl, call: &Call<'_, OpenCl>) -> Result<(), BackendError> {
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
        let at = (self.sums / SUMS, &self.bounds);
        let values = if name == RESIDUAL { &[ITERATION, C][..] } else { &[ITERATION, C, LOW, HIGH] };
        let launch = Launch { global: [group, groups, 1], local: [group, 1, 1] };
        launch_numbered(&mut self.repeats, (device, call, layout), (&program, launch), (at, values), &of_sums)?;
        if let Some(finish) = finish {
            let launch = Launch { global: [group, 1, 1], local: [group, 1, 1] };
            Repeats::add(&mut self.repeats, 1, &[Value::Number { first: self.sums % SUMS, step: SUMS }]);
            let which = [Arg::U32(groups as u32), Arg::U32(self.sums as u32)];
            device.launch_of(&finish, FINISH, launch, &[&which[..], &of_sums].concat())?;
        }
        (self.sums, self.elements) = (self.sums + 1, work.elements);
        Ok(())
    }

    /// Queues what ends an iteration.
    fn queue_advance(&mut self, device: &OpenCl, call: &Call<'_, OpenCl>) -> Result<(), BackendError> {
        let (shape, layout) = (call.shape(), device.layout_of(call)?);
        let planner = device.planner(layout);
        let (nsimd, name) = (shape.lattice().nsimd(), shape.kernel.name);
        let tree = if let Sum::Tree(_) = self.sum { " -DTREE" } else { "" };
        let osites = shape.target.osites() * shape.parts();
        let geometry = LaunchGeometry::over_sites(nsimd, osites, planner.threads());
        let (LaunchGeometry { global, local }, lane_groups) = planner.fitted(geometry, Mapping::LaneFast);
        let program = self.program(device, name, || {
            let common = planner.common_options(shape.precision(), nsimd, planner.access(shape));
            Ok((file_of(shape), format!("{common}{lane_groups} -DWORDS={}{tree}", shape.target.object.part_words())))
        })?;
        let Some(workspace) = &self.workspace else { unreachable!("sums come first") };
        let at = (self.sums / SUMS - 1, &self.bounds);
        let result = [Arg::Buffer(&workspace.result)];
        let launch = Launch { global, local };
        let values = [ITERATION, C, KEEP];
        launch_numbered(&mut self.repeats, (device, call, layout), (&program, launch), (at, &values), &result)?;
        self.flush_first(device)
    }
}

/// Launches the kernel of a call. Behind the arguments of the call come those that change from one iteration to another, then those that stay.
fn launch_numbered(
    repeats: &mut Option<Repeats>,
    (device, call, layout): (&OpenCl, &Call<'_, OpenCl>, Layout),
    (program, launch): (&Program, Launch),
    ((iteration, bounds), values): ((usize, &QueuedBounds), &[Value]),
    same: &[Arg<'_>],
) -> Result<(), BackendError> {
    let packed = device.pack(call, layout, None)?;
    device.announce(call.shape());
    let arguments = packed.arguments();
    Repeats::add(repeats, arguments.len(), values);
    let values: Vec<Arg<'_>> = values.iter().map(|value| value.of(iteration, bounds)).collect();
    device.launch_of(program, call.kernel().name, launch, &[&arguments[..], &values, same].concat())
}

fn file_of(shape: &Shape) -> Source {
    Source::of_library(shape.kernel.file()).of_kernel(shape.kernel.name)
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
        (self.bounds, self.iterations, self.sums, self.is_settled) = (bounds, iterations, 0, false);
        Ok(())
    }

    fn repeat(&mut self, device: &OpenCl) -> Result<bool, BackendError> {
        if self.iterations >= LEAST_REPLAYED {
            self.repeats.get_or_insert_with(|| Repeats::new(device));
        }
        let Some(repeats) = &mut self.repeats else { return Ok(false) };
        let repeated = repeats.launch(device, self.sums / SUMS, &self.bounds)?;
        if repeated {
            self.sums += SUMS;
            self.flush_first(device)?;
        }
        Ok(repeated)
    }

    fn queue_at_once(&mut self, device: &OpenCl, call: Call<'_, OpenCl>) -> Result<bool, BackendError> {
        let (shape, layout) = (call.shape(), device.layout_of(&call)?);
        let planner = device.planner(layout);
        let work = planner.reduction(shape, self.sum)?;
        let Some((build, group, groups)) = planner.sum_at_once(&work)? else { return Ok(false) };
        let name = shape.kernel.name;
        let program = self.program(device, name, || Ok((file_of(shape), planner.options_of_sum(&work, &build))))?;
        let all = Reduction { rows: SUMS * MOST_QUEUED, ..work };
        let workspace = Workspace::for_sum(&mut self.workspace, &device.context, &all, groups)?;
        let of_sums = workspace.arguments(planner.exchange_at_once(group));
        let at = (self.sums / SUMS, &self.bounds);
        let launch = Launch { global: [group, groups, 1], local: [group, 1, 1] };
        let values = [ITERATION, C, LOW, HIGH, KEEP];
        launch_numbered(&mut self.repeats, (device, &call, layout), (&program, launch), (at, &values), &of_sums)?;
        (self.sums, self.elements) = (self.sums + SUMS, work.elements);
        self.flush_first(device)?;
        Ok(true)
    }

    fn queue(&mut self, device: &OpenCl, call: Call<'_, OpenCl>) -> Result<(), BackendError> {
        match call.kernel().name == ADVANCE {
            true => self.queue_advance(device, &call),
            false => self.queue_sum(device, &call),
        }
    }

    fn sums(&mut self, device: &OpenCl) -> Result<QueuedSums, BackendError> {
        if let Some(Repeats { guard, replay: None, .. }) = &self.repeats {
            // What comes between these iterations and the next ones is not of an iteration.
            guard.end();
        }
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
