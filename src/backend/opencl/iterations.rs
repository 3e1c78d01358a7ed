//! Iterations of conjugate gradients that are queued one behind the other: each sum has a place of its own in a workspace of sums, where the kernels behind it
//! (`cl/queued.clh`) find it. All sums come to the host in one read.

use std::collections::HashMap;
use std::sync::Arc;

use lanefield_reference::exact::ExactSum;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::LaunchGeometry;

use super::context::lock;
use super::reduce::{Workspace, sum_arguments};
use super::sum_plan::{Reduction, exchange_bytes, sums_file};
use super::tape::{Tape, Taping};
use super::{Arg, Launch, Layout, OpenCl, Program, Source};
use crate::backend::specification::{Call, Shape};
use crate::backend::{BackendError, Bounds, MOST_QUEUED, QueuedIterations, QueuedSums};

/// Kernels by their names: what follows ⟨p, A p⟩, what ends an iteration, and what adds up the sums of groups.
const RESIDUAL: &str = "cg_residual";
const ADVANCE: &str = "cg_advance";
const FINISH: &str = "finish";
/// Sums of an iteration.
const SUMS: usize = 2;

/// So many iterations are made from a tape at least: it is written in one, and serves those behind it.
const LEAST_TAPED: usize = 3;

/// Iterations in the queue of a device.
pub(super) struct Iterations {
    sum: Sum,
    bounds: Bounds,
    /// What is launched again, where there are iterations enough.
    repeats: Option<Repeats>,
    /// Where sums are made; there from the first one on.
    workspace: Option<Workspace>,
    /// What was built, by the names of kernels.
    programs: HashMap<&'static str, Arc<Program>>,
    /// Sums that were queued, and the elements of each.
    sums: usize,
    elements: usize,
}

/// An iteration that is made again as it was.
struct Repeats {
    taping: Taping,
    /// From when there is an iteration that consists of launches alone.
    tape: Option<Tape>,
    numbers: Vec<Number>,
}

/// An argument that is the number of an iteration or of a sum: it grows from one iteration to the next.
struct Number {
    launch: usize,
    argument: usize,
    /// Its value in the first iteration, and its step.
    first: usize,
    step: usize,
}

impl Repeats {
    fn new(device: &OpenCl) -> Self {
        Self { taping: Taping::new(&device.context), tape: None, numbers: Vec::new() }
    }

    /// Adds an argument of the launch that comes next.
    fn number(repeats: &mut Option<Self>, argument: usize, first: usize, step: usize) {
        if let Some(Self { taping, numbers, .. }) = repeats {
            numbers.push(Number { launch: taping.launches(), argument, first, step });
        }
    }

    /// Launches the iteration of this number as those before it, if one was launches alone; else the next one is written down.
    fn launch(&mut self, device: &OpenCl, iteration: usize) -> Result<bool, BackendError> {
        let Self { taping, tape, numbers } = self;
        if tape.is_none() {
            *tape = taping.end();
        }
        let Some(tape) = tape else {
            numbers.clear();
            taping.begin();
            return Ok(false);
        };
        let number = |n: &Number| (n.launch, n.argument, (n.first + n.step * iteration) as u32);
        device.context.launch_again(tape, &numbers.iter().map(number).collect::<Vec<_>>())?;
        Ok(true)
    }
}

impl Iterations {
    pub fn new(device: &OpenCl, (sum, bounds): (Sum, Bounds), iterations: usize) -> Self {
        Self {
            sum,
            bounds,
            repeats: (iterations >= LEAST_TAPED).then(|| Repeats::new(device)),
            workspace: lock(&device.spare_workspaces).pop(),
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
        let workspace = device.workspace(&mut self.workspace, &all, groups)?;
        let of_sums = sum_arguments(workspace, exchange_bytes(self.sum, 1, group));
        let (iteration, Bounds { c, low, high, .. }) = (self.sums / SUMS, self.bounds);
        let mut others = vec![Arg::F64(c)];
        if name != RESIDUAL {
            others.extend([Arg::F64(low), Arg::F64(high)]);
        }
        others.extend(of_sums);
        let launch = Launch { global: [group, groups, 1], local: [group, 1, 1] };
        launch_numbered(&mut self.repeats, (device, call, layout), (&program, launch), iteration, &others)?;
        if let Some(finish) = finish {
            let launch = Launch { global: [group, 1, 1], local: [group, 1, 1] };
            Repeats::number(&mut self.repeats, 1, self.sums % SUMS, SUMS);
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
        let program = self.program(device, name, || {
            let common = planner.common_options(shape.precision(), nsimd, planner.access(shape));
            Ok((file_of(shape), format!("{common} -DWORDS={}{tree}", shape.target.object.part_words())))
        })?;
        let osites = shape.target.osites() * shape.parts();
        let LaunchGeometry { global, local } = LaunchGeometry::over_sites(nsimd, osites, planner.threads());
        let Some(workspace) = &self.workspace else { unreachable!("sums come first") };
        let (iteration, Bounds { c, keep, .. }) = (self.sums / SUMS - 1, self.bounds);
        let others = [Arg::F64(c), Arg::F64(keep), Arg::Buffer(workspace.result())];
        let launch = Launch { global, local };
        launch_numbered(&mut self.repeats, (device, call, layout), (&program, launch), iteration, &others)?;
        self.flush_first(device)
    }
}

/// Launches the kernel of a call: its arguments, the number of the iteration, and others.
fn launch_numbered(
    repeats: &mut Option<Repeats>,
    (device, call, layout): (&OpenCl, &Call<'_, OpenCl>, Layout),
    (program, launch): (&Program, Launch),
    iteration: usize,
    others: &[Arg<'_>],
) -> Result<(), BackendError> {
    let packed = device.pack(call, layout, None)?;
    device.announce(call.shape());
    let arguments = packed.arguments();
    Repeats::number(repeats, arguments.len(), 0, 1);
    let number = [Arg::U32(iteration as u32)];
    device.launch_of(program, call.kernel().name, launch, &[&arguments[..], &number, others].concat())
}

/// The file of a kernel, with it alone.
fn file_of(shape: &Shape) -> Source {
    Source::of_library(shape.kernel.file()).of_kernel(shape.kernel.name)
}

impl QueuedIterations<OpenCl> for Iterations {
    fn repeat(&mut self, device: &OpenCl) -> Result<bool, BackendError> {
        let Some(repeats) = &mut self.repeats else { return Ok(false) };
        let repeated = repeats.launch(device, self.sums / SUMS)?;
        if repeated {
            self.sums += SUMS;
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
        let workspace = device.workspace(&mut self.workspace, &all, groups)?;
        let of_sums = sum_arguments(workspace, planner.exchange_at_once(group));
        let (iteration, Bounds { c, low, high, keep }) = (self.sums / SUMS, self.bounds);
        let scalars = [c, low, high, keep].map(Arg::F64);
        let launch = Launch { global: [group, groups, 1], local: [group, 1, 1] };
        let others = [&scalars[..], &of_sums].concat();
        launch_numbered(&mut self.repeats, (device, &call, layout), (&program, launch), iteration, &others)?;
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

    fn sums(self: Box<Self>, device: &OpenCl) -> Result<QueuedSums, BackendError> {
        let Self { sum, workspace, sums, elements, .. } = *self;
        let Some(workspace) = workspace else { return Ok(QueuedSums { values: Vec::new(), breaks_off: false }) };
        let read = match sum {
            Sum::Tree(_) => QueuedSums { values: device.tree_sums(&workspace, sums)?, breaks_off: false },
            Sum::Exact => {
                let all = device.accumulators(&workspace, sums, elements as u64)?;
                let spilled = all.iter().position(|(_, spilled)| *spilled);
                let known = spilled.map_or(sums, |number| number + 1);
                let rounded = all.iter().take(known).map(|(sum, _)| ExactSum::round(sum));
                QueuedSums { values: rounded.collect(), breaks_off: spilled.is_some() }
            }
        };
        lock(&device.spare_workspaces).push(workspace);
        Ok(read)
    }
}
