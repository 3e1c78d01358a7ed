//! The OpenCL backend: fields in device memory, and the kernels of `cl/` launched over (lane, outer site). The layout determines the
//! geometry: tables become buffers, and lane counts become build options.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use lanefield_reference::field::FieldShape;
use lanefield_reference::layout::LaunchGeometry;
use lanefield_reference::real::Precision;

use super::device::{DeviceError, DeviceInfo, RawEvent, lock};
use super::memory::Buffer;
use super::packets::{PacketQueues, Packets, PacketsKey};
use super::program::{Program, Source, expand_for};
use super::queue::{Arg, CapturedLaunch, Captures, Context, DeviceTimes, Launch, LaunchEvent, Place};
use super::tuning::{
    AccessWidth, ChoiceSource, Choices, KernelKey, Layout, Plan, Planner, SiteOrder, SumOptions, Tuned, Tuning,
    TuningSource, VectorsVerdict,
};
use super::workspace::Workspace;
use crate::backend::specification::Shape;
use crate::backend::{BackendError, Memory as _};

/// A built kernel and its plan.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub program: Arc<Program>,
    pub plan: Arc<Plan>,
    pub launched: LaunchGeometry,
}

/// The kind of field that a table on the device belongs to.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct TableKey {
    pub name: &'static str,
    pub target: FieldShape,
    pub layout: Layout,
    pub direction: usize,
}

/// A backend that computes on an OpenCL device.
pub struct OpenCl {
    pub(crate) context: Context,
    /// The tuning parameters that were set by hand.
    tuning: Tuning,
    choices: Choices,
    vectors: VectorsVerdict,
    /// Only for a study.
    relaxed_math: bool,
    verbose_builds: bool,
    /// Requested build options, in addition to those that the bits require.
    build_options: String,
    pub(crate) sums: SumOptions,
    programs: Mutex<HashMap<(Source, String), Arc<Program>>>,
    pub(crate) prepared: Mutex<HashMap<(Shape, Layout), Prepared>>,
    /// Tables that lattices determine.
    pub(crate) tables: Mutex<HashMap<TableKey, Arc<Buffer>>>,
    /// Memory for sums, allocated by the first one.
    pub(crate) workspace: Mutex<Option<Workspace>>,
    /// Workspaces of queued iterations that have finished.
    pub(crate) spare_workspaces: Arc<Mutex<Vec<Workspace>>>,
    /// Buffers for packets, for calls on local volumes.
    pub(crate) packets: Mutex<HashMap<PacketsKey, Arc<Mutex<Packets>>>>,
    pub(crate) packet_queues: OnceLock<PacketQueues>,
    /// Whether new fields are on local volumes.
    on_parts: bool,
    /// The launches so far, while [`Self::launches_of`] runs.
    recorded: Mutex<Option<Vec<LaunchEvent>>>,
    captures: Captures,
}

impl OpenCl {
    /// Opens a device. Kernels use the tuning results ([`TuningSource::from_environment`]), or else the defaults of the device.
    ///
    /// # Errors
    /// Errors of the OpenCL runtime.
    pub fn open(device: &DeviceInfo) -> Result<Self, BackendError> {
        let context = Context::open(device)?;
        let tuned = Tuned::load(&TuningSource::from_environment(context.cache()), device);
        Ok(Self {
            context,
            tuning: Tuning::OPEN,
            choices: Choices::new(tuned),
            vectors: VectorsVerdict::default(),
            relaxed_math: false,
            verbose_builds: false,
            build_options: String::new(),
            sums: SumOptions::default(),
            programs: Mutex::default(),
            prepared: Mutex::default(),
            tables: Mutex::default(),
            workspace: Mutex::default(),
            spare_workspaces: Arc::default(),
            packets: Mutex::default(),
            packet_queues: OnceLock::new(),
            on_parts: false,
            recorded: Mutex::default(),
            captures: Captures::default(),
        })
    }

    /// As [`Self::open`], without a cache: for programs that are never built a second time.
    #[cfg(feature = "check")]
    pub fn open_without_cache(device: &DeviceInfo) -> Result<Self, BackendError> {
        let context = Context::open_with_cache(device, super::program::Cache::disabled())?;
        Ok(Self { context, ..Self::open(device)? })
    }

    /// Discards plans that were made with other tuning parameters.
    pub(crate) fn plan_anew(&self) {
        lock(&self.prepared).clear();
    }

    /// The tuning parameters that were set by hand.
    pub fn tuning(&self) -> Tuning {
        self.tuning
    }

    /// Sets tuning parameters by hand: the layout of new fields, and how kernels are built and launched. They override tuning results.
    /// Existing fields keep their layout. No bit of any result changes.
    pub fn set_tuning(&mut self, tuning: Tuning) {
        self.tuning = tuning;
        self.plan_anew();
    }

    /// Where tuning parameters are looked up.
    pub fn tuned(&self) -> &Tuned {
        self.choices.tuned()
    }

    /// Changes where tuning parameters are looked up. No bit of any result changes.
    pub fn set_tuned(&mut self, tuned: Tuned) {
        self.choices = Choices::new(tuned);
        self.plan_anew();
    }

    /// The tuning parameters of a kernel, looked up once.
    pub fn choice(&self, key: &KernelKey) -> Tuning {
        self.choices.of(self.context.info(), key)
    }

    /// The key by which the tuner identifies a call on new fields; `None` if its kernel is not tuned.
    pub fn kernel_key(&self, shape: &Shape) -> Option<KernelKey> {
        KernelKey::of(shape, self.layout(), self.context.info())
    }

    /// The layout of new fields: what was set by hand, or else the tuning result, or else the default of the device.
    pub fn layout(&self) -> Layout {
        let access = self.tuning.access.or(self.tuned().access());
        let site_order = self.tuning.site_order.or(self.tuned().site_order());
        Layout {
            access: access.unwrap_or_else(|| AccessWidth::of_device(self.context.info())),
            site_order: site_order.unwrap_or(if self.on_parts {
                SiteOrder::InteriorFirst
            } else {
                SiteOrder::Lexicographic
            }),
        }
    }

    /// Uses a layout of new fields that suits local volumes, unless another site order was set by hand. Sites that need no neighbours of
    /// other ranks are stored together, and are computed during the exchange. No bit of any result changes.
    pub fn set_on_parts(&mut self, on_parts: bool) {
        self.on_parts = on_parts;
        self.plan_anew();
    }

    /// Builds stencil kernels with relaxed arithmetic, whose bits are not the reference's. Only for the study in `perf::sprint`.
    pub fn set_relaxed_math(&mut self, relaxed: bool) {
        self.relaxed_math = relaxed;
        self.plan_anew();
    }

    /// Has the compiler report the resources of kernels, if it can (NVIDIA's).
    pub fn set_verbose_builds(&mut self, verbose: bool) {
        let verbose = verbose && self.context.info().takes_nvidia_options();
        if self.verbose_builds != verbose {
            self.verbose_builds = verbose;
            lock(&self.programs).clear();
            self.plan_anew();
        }
    }

    /// Whether launches are recorded or captured. Replayed launches would be missed.
    pub(crate) fn is_watched(&self) -> bool {
        self.context.is_recorded() || lock(&self.recorded).is_some() || self.captures.is_waiting()
    }

    /// The launches of `work`, in the order in which they were queued.
    pub fn launches_of(
        &self,
        work: &mut dyn FnMut() -> Result<(), BackendError>,
    ) -> Result<Vec<LaunchEvent>, BackendError> {
        *lock(&self.recorded) = Some(Vec::new());
        let outcome = work();
        let launches = lock(&self.recorded).take().unwrap_or_default();
        outcome.map(|()| launches)
    }

    /// The first launch of a kernel in `work`, with the contents of its buffers before and after it. All of them are read to the host.
    ///
    /// # Errors
    /// The errors of `work`; [`DeviceError::NotLaunched`] if it does not launch this kernel; [`DeviceError::NoBinary`] if the driver does
    /// not return the program's binary.
    pub fn capture(
        &self,
        kernel: &str,
        work: &mut dyn FnMut() -> Result<(), BackendError>,
    ) -> Result<CapturedLaunch, BackendError> {
        self.captures.first(kernel, work)
    }

    /// The times at which the kernels of `work` ran, in the order in which they were queued.
    fn times_of_launches(
        &self,
        work: &mut dyn FnMut() -> Result<(), BackendError>,
    ) -> Result<Vec<DeviceTimes>, BackendError> {
        let launches = self.launches_of(work)?;
        Ok(launches.iter().map(|launch| self.context.times(launch)).collect::<Result<_, _>>()?)
    }

    /// The sum of the times of all kernels of `work`, in seconds of the device's clock.
    pub fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        Ok(self.times_of_launches(work)?.into_iter().map(DeviceTimes::seconds).sum())
    }

    /// The time in seconds from the first to the end of the last command of `work`, which begins when the device is idle. It is less than
    /// [`Self::time`] if launches overlap, and more if the device waits between them. As in a solver, launches have no events.
    pub fn time_span(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        self.context.finish()?;
        let start = self.context.mark()?;
        work()?;
        let end = self.context.mark()?;
        Ok(DeviceTimes { start: self.context.end_of(&start)?, end: self.context.end_of(&end)? }.seconds())
    }

    /// Adds options to those that every program is built with. Some (`-cl-fast-relaxed-math`) change the bits of a compiler's code; this
    /// finds out which ([`crate::hunt`]).
    #[cfg(feature = "check")]
    pub fn set_build_options(&mut self, options: &str) {
        options.clone_into(&mut self.build_options);
        self.forget_programs();
    }

    /// Discards built programs and their plans, so that the driver may free them.
    #[cfg(feature = "check")]
    pub(crate) fn forget_programs(&self) {
        lock(&self.programs).clear();
        self.context.programs().forget();
        self.plan_anew();
    }

    /// Runs a kernel with two arguments (numbers that it reads, and two that it writes) in one work-item.
    #[cfg(feature = "check")]
    pub(crate) fn run_text(&self, text: &str, kernel: &str, inputs: &[f64]) -> Result<[f64; 2], BackendError> {
        let context = &self.context;
        if !context.info().fp64 {
            return Err(DeviceError::NoDoubles { device: context.info().with_driver() }.into());
        }
        let program = self.program(&Source::written(format!("{kernel}.cl"), text.to_owned()), "")?;
        let read = context.allocate(size_of_val(inputs), "the inputs of a few operations")?;
        let written = context.allocate(size_of::<[f64; 2]>(), "the result of a few operations")?;
        context.write(&read, 0, bytemuck::cast_slice(inputs))?;
        let launch = Launch { global: [1; 3], local: [1; 3] };
        self.launch_of(&program, kernel, launch, &[Arg::Buffer(&read), Arg::Buffer(&written)])?;
        let mut result = [0.0; 2];
        context.read(&written, 0, bytemuck::cast_slice_mut(&mut result))?;
        Ok(result)
    }

    /// The device in use.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Plans how kernels on fields with this layout are built and launched.
    pub(crate) fn planner(&self, layout: Layout) -> Planner<'_> {
        Planner {
            device: self.context.info(),
            source: ChoiceSource::Device { context: &self.context, choices: &self.choices, vectors: &self.vectors },
            tuning: self.tuning,
            layout,
            relaxed_math: self.relaxed_math,
            sums: self.sums,
        }
    }

    /// The build options, with the one for a log if it is wanted.
    pub(crate) fn with_log(&self, options: String) -> String {
        if self.verbose_builds && !options.contains("-cl-nv-verbose") { options + " -cl-nv-verbose" } else { options }
    }

    /// The program of a source, built once for these options.
    pub(crate) fn program(&self, source: &Source, options: &str) -> Result<Arc<Program>, BackendError> {
        let options = [options, &self.build_options].join(" ");
        let key = (source.clone(), self.with_log(options.trim().to_owned()));
        if let Some(program) = lock(&self.programs).get(&key) {
            return Ok(Arc::clone(program));
        }
        let text = expand_for(self.context.info(), source, &key.1)?;
        // SAFETY: the sources are those of `cl/`, written from bodies, or of a caller who promised the same of them (`OwnFiles::new`); the launcher
        // holds arguments and sizes against the specification of each kernel.
        let program = unsafe { self.context.program(&source.file, &text, &key.1)? };
        lock(&self.programs).insert(key, Arc::clone(&program));
        Ok(program)
    }

    /// The program of another crate's source, built once for these options.
    ///
    /// # Safety
    /// The source has no undefined behaviour unless its arguments cause it.
    #[doc(hidden)]
    pub unsafe fn program_of(&self, source: &Source, options: &str) -> Result<Arc<Program>, BackendError> {
        self.program(source, options)
    }

    /// Launches a kernel of such a program.
    ///
    /// # Safety
    /// The arguments are those of the kernel, and the launch touches no memory except theirs.
    #[doc(hidden)]
    pub unsafe fn launch_program(
        &self,
        program: &Program,
        kernel: &str,
        launch: Launch,
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        self.launch_of(program, kernel, launch, arguments)
    }

    /// Launches a kernel, and keeps the event if launches are timed.
    pub(crate) fn launch_of(
        &self,
        program: &Program,
        kernel: &str,
        launch: Launch,
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        self.launch_at(self.context.own_place(), (program, kernel), launch, arguments).map(drop)
    }

    /// Launches a kernel in any queue. Returns the event, if one was requested.
    pub(crate) fn launch_at(
        &self,
        mut place: Place<'_>,
        (program, kernel): (&Program, &str),
        launch: Launch,
        arguments: &[Arg<'_>],
    ) -> Result<Option<RawEvent>, BackendError> {
        place.event |= lock(&self.recorded).is_some();
        let launched = match self.captures.is_waiting() {
            true => self.captures.launch(&self.context, place, (program, kernel), launch, arguments)?,
            false => self.context.launch_in(place, program, kernel, launch, arguments)?,
        };
        let Some(event) = launched else { return Ok(None) };
        let once_more = event.event();
        if let Some(recorded) = lock(&self.recorded).as_mut() {
            recorded.push(event);
        }
        Ok(once_more)
    }
}

impl fmt::Debug for OpenCl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl OpenCl {
    /// Refuses fields that the device cannot compute with.
    pub(crate) fn takes(&self, shape: &Shape) -> Result<(), BackendError> {
        let info = self.context.info();
        match shape.precisions().any(|precision| precision == Precision::F64) && !info.fp64 {
            true => Err(DeviceError::NoDoubles { device: info.with_driver() }.into()),
            false => Ok(()),
        }
    }
}
