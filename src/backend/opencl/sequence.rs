//! Repeated launches (`LaunchSequence`), in the device's own queue or in several at once. Each launch is kept, so that the host only sets
//! the scalars that changed, and queues it. At the end of a run the device's own queue waits for the others. Later commands in that queue
//! thus find the run completed.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use super::backend::OpenCl;
use super::device::{RawEvent, RawQueue};
use super::memory::{Buffer, DeviceMemory};
use super::queue::{Arg, Context, KeptLaunches, Place, Replay, ScalarArg, Varying};
use super::storage::DeviceStorage;
use super::tuning::Layout;
use crate::backend::specification::Call;
use crate::backend::timeline::Work;
use crate::backend::{AnyField, BackendError, LaunchSequence, Step};

pub(crate) struct Sequence {
    /// At least two queues, or none if everything goes to the device's own queue.
    queues: Vec<RawQueue>,
    wanted_queues: usize,
    scalars: Vec<f64>,
    /// The launches for a replay, after a complete run was kept.
    replay: Replay,
    steps: Vec<KeptStep>,
    is_complete: bool,
    /// The memory of the device on which they were kept.
    memory: Option<Arc<DeviceMemory>>,
    /// The launches of the run that is being kept, if there is one.
    kept: KeptLaunches,
    keeps: bool,
    run: Option<Run>,
}

/// A launch of the caller, which may be several launches of the device.
struct KeptStep {
    launches: Range<usize>,
    queue: usize,
    after: Vec<usize>,
    layout: Layout,
    /// The positions of its fields among its arguments.
    named: Vec<(&'static str, usize)>,
    /// The buffers that it reads, in addition to fields and tables.
    _buffers: Vec<Arc<Buffer>>,
}

/// A run in several queues.
struct Run {
    memory: Arc<DeviceMemory>,
    queues: Vec<RawQueue>,
    /// The last launch of each queue.
    last: Vec<Option<usize>>,
    /// The end of the earlier commands in the device's own queue.
    start: RawEvent,
    /// By the number of the launch.
    events: Vec<Option<RawEvent>>,
    /// Memory that the launches use. It must not be reused before they are done.
    buffers: Vec<Arc<Buffer>>,
    has_ended: bool,
}

impl Run {
    /// Begins a run. Everything in it waits for the device's own queue.
    fn new(context: &Context, queues: Vec<RawQueue>) -> Result<Self, BackendError> {
        let start = context.barrier(&[])?;
        context.flush()?;
        let memory = Arc::clone(context.shared_memory());
        memory.pool().enter_queues();
        let last = vec![None; queues.len()];
        Ok(Self { memory, queues, last, start, events: Vec::new(), buffers: Vec::new(), has_ended: false })
    }

    /// The events that a launch in a queue waits for.
    fn waits(&self, queue: usize, after: &[usize]) -> Vec<&RawEvent> {
        let mut events: Vec<_> = after.iter().filter_map(|&launch| self.events.get(launch)?.as_ref()).collect();
        if self.last[queue % self.queues.len()].is_none() {
            events.push(&self.start);
        }
        events
    }

    fn queue(&self, queue: usize) -> &RawQueue {
        &self.queues[queue % self.queues.len()]
    }

    fn launched(&mut self, queue: usize, event: Option<RawEvent>) -> Result<(), BackendError> {
        let number = queue % self.queues.len();
        self.last[number] = Some(self.events.len());
        self.events.push(event);
        // Other queues may wait for this launch only after it was flushed to the device.
        Ok(self.memory.flush_queue(&self.queues[number])?)
    }

    /// Makes the device's own queue wait for the whole run.
    fn join(mut self, context: &Context) -> Result<Vec<RawQueue>, BackendError> {
        let mut events = mem::take(&mut self.events);
        let last = self.last.iter().filter_map(|&launch| events.get_mut(launch?)?.take());
        context.barrier(&last.collect::<Vec<_>>())?;
        self.has_ended = true;
        Ok(mem::take(&mut self.queues))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // If they were not joined, nobody else waits for them.
        if !self.has_ended {
            for queue in &self.queues {
                // If this fails, nothing is left to do: the driver has given up the commands.
                let _ = queue.finish();
            }
        }
        self.buffers.clear();
        self.memory.pool().leave_queues();
    }
}

impl Sequence {
    pub(crate) fn new(queues: usize) -> Self {
        Self {
            queues: Vec::new(),
            wanted_queues: queues,
            scalars: Vec::new(),
            replay: Replay::default(),
            steps: Vec::new(),
            is_complete: false,
            memory: None,
            kept: KeptLaunches::default(),
            keeps: false,
            run: None,
        }
    }

    /// Forgets kept launches: the caller must make all of them once more.
    fn forget(&mut self) {
        self.is_complete = false;
        self.replay = Replay::default();
        self.steps.clear();
        self.kept.take();
    }

    fn begin(&mut self, context: &Context) -> Result<(), BackendError> {
        self.run = None;
        if self.wanted_queues > 1 {
            let mut queues = mem::take(&mut self.queues);
            while queues.len() < self.wanted_queues {
                queues.push(context.new_queue()?);
            }
            self.run = Some(Run::new(context, queues)?);
        }
        Ok(())
    }

    fn launch_next(&mut self, device: &OpenCl, call: &Call<'_, OpenCl>, step: &Step) -> Result<(), BackendError> {
        call.check_launched()?;
        device.takes(call.shape())?;
        let Step { queue, ref after, ref scalars } = *step;
        let waits = self.run.as_ref().map(|run| run.waits(queue, after));
        let own = device.context().own_place();
        let mut place = match (&self.run, &waits) {
            (Some(run), Some(after)) => Place { queue: run.queue(queue), after, event: true, kept: None, ..own },
            _ => own,
        };
        if self.keeps {
            place.kept = Some(&self.kept);
        }
        let first = self.kept.len();
        let (event, packed) = device.launch_call(call, place)?;
        if self.keeps {
            let launches = first..self.kept.len();
            let (arguments, named) = (packed.arguments(), packed.named());
            for &(name, number) in scalars {
                let argument = place_of(&named, name).ok_or_else(|| no_scalar(call, name))?;
                let scalar: ScalarArg = match arguments[argument] {
                    Arg::F32(_) => (number, |value| Arg::F32(value as f32)),
                    _ => (number, Arg::F64),
                };
                let value = self.scalars.get(number).copied().unwrap_or_default();
                let varying = |launch| Varying { launch, argument, scalar, value };
                self.replay.varying.extend(launches.clone().map(varying));
            }
            let (layout, buffers) = (device.layout_of(call)?, packed.buffers());
            self.steps.push(KeptStep { launches, queue, after: after.clone(), layout, named, _buffers: buffers });
        } else if let Some(run) = &mut self.run {
            run.buffers.extend(packed.buffers());
        }
        self.run.as_mut().map_or(Ok(()), |run| run.launched(queue, event))
    }

    fn launch_again(&mut self, context: &Context) -> Result<(), BackendError> {
        self.replay.set(&self.scalars)?;
        let Some(run) = &mut self.run else { return Ok(context.launch_again(&self.replay)?) };
        for KeptStep { launches, queue, after, .. } in &self.steps {
            let waits = run.waits(*queue, after);
            let place =
                Place { queue: run.queue(*queue), after: &waits, event: true, kept: None, ..context.own_place() };
            let mut event = None;
            for one in &self.replay.launches[launches.clone()] {
                event = context.enqueue_kernel(place, &one.raw, &one.kernel, one.launch, Work::default())?;
            }
            run.launched(*queue, event.and_then(|event| event.event()))?;
        }
        Ok(())
    }
}

fn place_of(named: &[(&'static str, usize)], name: &str) -> Option<usize> {
    named.iter().find(|(known, _)| *known == name).map(|(_, place)| *place)
}

fn no_scalar(call: &Call<'_, OpenCl>, name: &'static str) -> BackendError {
    let (given, expected) = ("a scalar that changes".to_owned(), "a real number".to_owned());
    BackendError::Argument { kernel: call.kernel().name, argument: name.to_owned(), given, expected }
}

impl LaunchSequence<OpenCl> for Sequence {
    fn set(&mut self, scalar: usize, value: f64) {
        if self.scalars.len() <= scalar {
            self.scalars.resize(scalar + 1, 0.0);
        }
        self.scalars[scalar] = value;
    }

    fn set_field(
        &mut self,
        launch: usize,
        name: &'static str,
        field: &AnyField<DeviceStorage>,
    ) -> Result<(), BackendError> {
        if !self.is_complete {
            return Ok(());
        }
        let DeviceStorage { buffer, layout } = field.storage();
        let step = self.steps.get(launch).filter(|step| step.layout == *layout);
        let is_here = self.memory.as_ref().is_some_and(|memory| memory.check_owns(buffer).is_ok());
        let place = step.and_then(|step| Some((step, place_of(&step.named, name)?)));
        match place.filter(|_| is_here) {
            Some((step, argument)) => {
                let mut launches = self.replay.launches[step.launches.clone()].iter();
                Ok(launches.try_for_each(|one| one.set(argument, &Arg::Buffer(buffer)))?)
            }
            // Another plan, or a list of fields.
            None => {
                self.forget();
                Ok(())
            }
        }
    }

    fn repeat(&mut self, device: &OpenCl) -> Result<bool, BackendError> {
        let context = device.context();
        context.check_process()?;
        self.begin(context)?;
        // Watched launches are not replayed. A thread whose launches are kept for another replay keeps these, too.
        self.keeps = !device.is_watched() && context.keeps_launches().is_none();
        if !self.keeps {
            return Ok(false);
        }
        if self.is_complete && self.memory.as_ref().is_some_and(|memory| Arc::ptr_eq(memory, context.shared_memory())) {
            self.launch_again(context)?;
            return Ok(true);
        }
        self.forget();
        self.memory = Some(Arc::clone(context.shared_memory()));
        Ok(false)
    }

    fn launch(&mut self, device: &OpenCl, call: Call<'_, OpenCl>, step: &Step) -> Result<(), BackendError> {
        let outcome = self.launch_next(device, &call, step);
        if outcome.is_err() {
            self.run = None;
            self.forget();
        }
        outcome
    }

    fn end(&mut self, device: &OpenCl) -> Result<(), BackendError> {
        if let Some(run) = self.run.take() {
            self.queues = run.join(device.context())?;
        }
        if self.keeps && !self.is_complete {
            self.replay.launches = self.kept.take();
            self.is_complete = true;
        }
        Ok(())
    }
}
