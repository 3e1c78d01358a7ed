//! The OpenCL backend: fields in device memory, and the kernels of `cl/` launched over (lane, outer site). Geometry comes from the
//! layout: tables as buffers, lane counts as build options.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use lanefield_reference::field::{
    CloverBlocks, ColourVectors, ComplexNumber, Field, FieldStrength, Gauge, Repeated, SiteObject, Spinors,
};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover_term::CloverCoefficients;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::hop::{Dagger, HopTerm};
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{
    AcceleratorThreads, Direction, LaneChoice, LaneWidth, Lattice, LaunchGeometry, LegOrder, PartsShape, Sites, Stencil,
};
use lanefield_reference::links::{DoubledGauge, LinkFormat};
use num_complex::Complex;

use super::context::lock;
use super::domain_wall::DeviceSMatrix;
use super::lanes::VectorsVerdict;
use super::reduce::{SumOptions, Workspace};
use super::tuning::Tuning;
use super::variant::Variant;
use super::{
    AccessWidth, Accumulators, Arg, ChoiceSource, Context, DeviceField, DeviceInfo, DeviceKind, DeviceStencil,
    DeviceTimes, KernelChoice, KernelKey, Launch, LaunchEvent, Planner, Program, SiteOrder, Tuned, TuningSource,
    expand_for,
};
use crate::backend::{Backend, BackendError, HeldHop};

/// An OpenCL device as a backend.
pub struct OpenCl {
    pub(super) context: Context,
    pub(super) threads: AcceleratorThreads,
    /// Whether that number was asked for, so that no kernel takes a tuned one.
    pub(super) threads_chosen: bool,
    pub(super) parts_shape: PartsShape,
    pub(super) accumulators: Option<Accumulators>,
    pub(super) tuning: Tuning,
    pub(super) tuned: Tuned,
    pub(super) vectors: VectorsVerdict,
    /// What was looked up so far.
    pub(super) looked_up: Mutex<HashMap<KernelKey, KernelChoice>>,
    pub(super) access: AccessWidth,
    pub(super) site_order: SiteOrder,
    /// Held by every field too, so that their number is known.
    pub(super) fields: Arc<()>,
    /// The same of stencils, whose tables name outer sites.
    pub(super) stencils: Arc<()>,
    /// For a study alone.
    pub(super) relaxed_math: bool,
    verbose_builds: bool,
    pub(super) sums: SumOptions,
    programs: Mutex<HashMap<Variant, Arc<Program>>>,
    /// Where sums are made; there from the first one on.
    pub(super) workspace: Mutex<Option<Workspace>>,
    /// The launches of a [`Backend::time`] in progress.
    recorded: Mutex<Option<Vec<LaunchEvent>>>,
}

impl OpenCl {
    /// Opens a device, with `threads` outer sites a work-group. Stencil kernels take tuned choices ([`TuningSource::from_environment`]); their
    /// number of outer sites too, if `threads` is the default.
    ///
    /// # Errors
    /// [`BackendError::NoDoubles`] if the device has no f64; what the runtime reports.
    pub fn open(device: &DeviceInfo, threads: AcceleratorThreads) -> Result<Self, BackendError> {
        let mut opened = Self::open_with_access(device, threads, AccessWidth::Word)?;
        (opened.access, opened.site_order) = (opened.default_access(), opened.default_site_order());
        Ok(opened)
    }

    /// As [`Self::open`], with a layout of fields for another access width, outer sites in the order of the host. No bit of any result changes.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with_access(
        device: &DeviceInfo,
        threads: AcceleratorThreads,
        access: AccessWidth,
    ) -> Result<Self, BackendError> {
        if !device.fp64 {
            return Err(BackendError::NoDoubles { device: device.name.clone() });
        }
        let context = Context::open(device)?;
        let tuned = Tuned::load(&TuningSource::from_environment(context.cache()), device);
        Ok(Self {
            context,
            threads,
            threads_chosen: threads != AcceleratorThreads::DEFAULT,
            parts_shape: PartsShape::default(),
            accumulators: None,
            tuning: Tuning::default(),
            tuned,
            vectors: VectorsVerdict::default(),
            looked_up: Mutex::default(),
            access,
            site_order: SiteOrder::default(),
            fields: Arc::default(),
            stencils: Arc::default(),
            relaxed_math: false,
            verbose_builds: false,
            sums: SumOptions::default(),
            programs: Mutex::default(),
            workspace: Mutex::default(),
            recorded: Mutex::default(),
        })
    }

    /// The same device with another number of outer sites a work-group. Fields stay valid; no bit of any result changes.
    pub fn set_accelerator_threads(&mut self, threads: AcceleratorThreads) {
        (self.threads, self.threads_chosen) = (threads, true);
    }

    /// The same, or whatever was tuned for each kernel, else the default.
    pub fn choose_accelerator_threads(&mut self, threads: Option<AcceleratorThreads>) {
        (self.threads, self.threads_chosen) = (threads.unwrap_or_default(), threads.is_some());
    }

    /// Outer sites a work-group.
    pub fn accelerator_threads(&self) -> AcceleratorThreads {
        self.threads
    }

    /// The access width that fields are laid out for.
    pub fn access(&self) -> AccessWidth {
        self.access
    }

    /// Lays the fields that are made from now on out for another access width. No bit of any result changes.
    ///
    /// # Errors
    /// [`BackendError::FieldsHeld`] while there are fields in the layout of the present one.
    pub fn set_access(&mut self, access: AccessWidth) -> Result<(), BackendError> {
        match Arc::strong_count(&self.fields) - 1 {
            held if held > 0 && access != self.access => {
                Err(BackendError::FieldsHeld { held, present: self.access, wanted: access })
            }
            _ => {
                self.access = access;
                Ok(())
            }
        }
    }

    /// The order of outer sites in memory.
    pub fn site_order(&self) -> SiteOrder {
        self.site_order
    }

    /// Stores the outer sites of the fields that are made from now on in another order. No bit of any result changes.
    ///
    /// # Errors
    /// [`BackendError::SitesHeld`] while there are fields or stencils in the present one.
    pub fn set_site_order(&mut self, order: SiteOrder) -> Result<(), BackendError> {
        match Arc::strong_count(&self.fields) + Arc::strong_count(&self.stencils) - 2 {
            held if held > 0 && order != self.site_order => {
                Err(BackendError::SitesHeld { held, present: self.site_order, wanted: order })
            }
            _ => {
                self.site_order = order;
                Ok(())
            }
        }
    }

    /// Chooses how stencil kernels are built and launched, whatever was tuned. Fields stay valid; no bit of any result changes.
    pub fn set_tuning(&mut self, tuning: Tuning) {
        self.tuning = tuning;
    }

    /// Cuts groups of launches over several spinors a site in another way. No bit of any result changes.
    pub fn set_parts_shape(&mut self, shape: PartsShape) {
        self.parts_shape = shape;
    }

    /// Builds stencil kernels with relaxed arithmetic, whose bits are not the reference's: for studies of what the bits cost alone.
    pub fn set_relaxed_math(&mut self, relaxed: bool) {
        self.relaxed_math = relaxed;
    }

    /// Lets the compiler say what kernels take, where it can (NVIDIA's).
    pub fn set_verbose_builds(&mut self, verbose: bool) {
        let verbose = verbose && self.context.info().takes_nvidia_options();
        if self.verbose_builds != verbose {
            self.verbose_builds = verbose;
            lock(&self.programs).clear();
        }
    }

    /// The launches of `work`, in the order in which they were queued.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn launches_of(
        &self,
        work: &mut dyn FnMut() -> Result<(), BackendError>,
    ) -> Result<Vec<LaunchEvent>, BackendError> {
        *lock(&self.recorded) = Some(Vec::new());
        let outcome = work();
        let launches = lock(&self.recorded).take().unwrap_or_default();
        outcome.map(|()| launches)
    }

    /// When each of the kernels of `work` ran, in the order in which they were queued.
    fn times_of_launches(
        &self,
        work: &mut dyn FnMut() -> Result<(), BackendError>,
    ) -> Result<Vec<DeviceTimes>, BackendError> {
        let launches = self.launches_of(work)?;
        Ok(launches.iter().map(|launch| self.context.times(launch)).collect::<Result<_, _>>()?)
    }

    /// Seconds from the first start to the last end of the kernels of `work`: less than [`Backend::time`], which adds them up, where launches
    /// overlap, and more where the device waits between them.
    ///
    /// # Errors
    /// Those of `work`, and what the runtime reports.
    pub fn time_span(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        let times = self.times_of_launches(work)?;
        let start = times.iter().map(|times| times.start).min().unwrap_or(0);
        let end = times.iter().map(|times| times.end).max().unwrap_or(0);
        Ok(DeviceTimes { start, end }.seconds())
    }

    /// The device in use.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// What decides how kernels are built and launched here.
    pub(super) fn planner(&self) -> Planner<'_> {
        Planner {
            device: self.context.info(),
            source: ChoiceSource::Backend(self),
            threads: self.threads,
            threads_chosen: self.threads_chosen,
            parts_shape: self.parts_shape,
            accumulators: self.accumulators,
            tuning: self.tuning,
            access: self.access,
            site_order: self.site_order,
            relaxed_math: self.relaxed_math,
            sums: self.sums,
        }
    }

    pub(super) fn program(&self, variant: Variant) -> Result<Arc<Program>, BackendError> {
        if let Some(program) = lock(&self.programs).get(&variant) {
            return Ok(Arc::clone(program));
        }
        let mut options = variant.options();
        if self.verbose_builds && !options.contains("-cl-nv-verbose") {
            options += " -cl-nv-verbose";
        }
        let source = expand_for(self.context.info(), variant.file)?;
        let program = self.context.program(variant.file, &source, &options)?;
        lock(&self.programs).insert(variant, Arc::clone(&program));
        Ok(program)
    }

    pub(super) fn launch(
        &self,
        program: &Program,
        kernel: &str,
        geometry: LaunchGeometry,
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        let LaunchGeometry { global, local } = geometry;
        self.launch_of(program, kernel, Launch { global, local }, arguments)
    }

    /// Launches a kernel over (lane, parts, outer sites).
    pub(super) fn launch_over_parts(
        &self,
        program: &Program,
        kernel: &str,
        nsimd: usize,
        parts_and_osites: (usize, usize),
        at_once: usize,
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        let shape = PartsShape { at_once: Some(at_once), ..self.parts_shape };
        self.launch(program, kernel, self.planner().geometry_over_parts(nsimd, parts_and_osites, shape), arguments)
    }

    /// Launches, and keeps the event where launches are timed.
    pub(super) fn launch_of(
        &self,
        program: &Program,
        kernel: &str,
        launch: Launch,
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        let event = self.context.launch_event(program, kernel, launch, arguments)?;
        if let Some(recorded) = lock(&self.recorded).as_mut() {
            recorded.push(event);
        }
        Ok(())
    }
}

impl fmt::Debug for OpenCl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Backend for OpenCl {
    type Field<R: Vectors, K: SiteObject> = DeviceField<R, K>;
    type Stencil = DeviceStencil;
    type SMatrix<R: Vectors> = DeviceSMatrix<R>;

    fn describe(&self) -> String {
        let info = self.context.info();
        format!(
            "{} ({}, driver {}), {} accelerator threads",
            info.name, info.platform_name, info.driver_version, self.threads
        )
    }

    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        match asked_for {
            LaneChoice::Auto if self.context.info().kind != DeviceKind::Cpu => LaneChoice::UpTo(LaneWidth::OF_GPUS),
            _ => asked_for,
        }
    }

    fn takes_links<R: Vectors>(&self, format: LinkFormat) -> Result<(), BackendError> {
        self.context.info().takes_links(format, R::BITS)
    }

    fn zeros<R: Vectors, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        kind: K,
    ) -> Result<DeviceField<R, K>, BackendError> {
        let field = self.allocate(lattice, sites, kind)?;
        self.context.fill_zero(&field.buffer)?;
        Ok(field)
    }

    fn clear<R: Vectors, K: SiteObject>(&self, field: &mut DeviceField<R, K>) -> Result<(), BackendError> {
        Ok(self.context.fill_zero(&field.buffer)?)
    }

    fn upload<R: Vectors, K: SiteObject>(&self, field: Field<R, K>) -> Result<DeviceField<R, K>, BackendError> {
        self.upload_field(field)
    }

    fn download<R: Vectors, K: SiteObject>(&self, field: &DeviceField<R, K>) -> Result<Field<R, K>, BackendError> {
        self.download_field(field)
    }

    fn stencil(&self, stencil: Stencil) -> Result<DeviceStencil, BackendError> {
        self.upload_stencil(&stencil)
    }

    fn hop<R: Vectors>(
        &self,
        out: &mut DeviceField<R, Spinors>,
        stencil: &DeviceStencil,
        links: &DeviceField<R, DoubledGauge>,
        source: &DeviceField<R, Spinors>,
        legs: LegOrder,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let hop = HopTerm { stencil, links, source, legs, dagger };
        self.launch_hop(out, hop)
    }

    fn field_strength<R: Vectors>(
        &self,
        out: &mut DeviceField<R, FieldStrength>,
        stencil: &DeviceStencil,
        links: &DeviceField<R, Gauge>,
    ) -> Result<(), BackendError> {
        self.launch_field_strength(out, stencil, links)
    }

    fn clover_term<R: Vectors>(
        &self,
        out: &mut DeviceField<R, CloverBlocks>,
        strength: &DeviceField<R, FieldStrength>,
        coefficients: CloverCoefficients,
    ) -> Result<(), BackendError> {
        self.launch_clover_term(out, strength, coefficients)
    }

    fn clover_inverse<R: Vectors>(
        &self,
        out: &mut DeviceField<R, CloverBlocks>,
        pivots: &mut DeviceField<R, ComplexNumber>,
        term: &DeviceField<R, CloverBlocks>,
    ) -> Result<(), BackendError> {
        self.launch_clover_inverse(out, pivots, term)
    }

    fn clover_apply<R: Vectors>(
        &self,
        out: &mut DeviceField<R, Spinors>,
        blocks: &DeviceField<R, CloverBlocks>,
        x: &DeviceField<R, Spinors>,
    ) -> Result<(), BackendError> {
        self.launch_clover_apply(out, blocks, x)
    }

    fn clover_inverse_hop<R: Vectors>(
        &self,
        out: &mut DeviceField<R, Spinors>,
        inverse: &DeviceField<R, CloverBlocks>,
        hop: HeldHop<'_, Self, R>,
    ) -> Result<(), BackendError> {
        self.launch_clover_hop(out, inverse, None, hop)
    }

    fn clover_minus_hop<R: Vectors>(
        &self,
        out: &mut DeviceField<R, Spinors>,
        term: &DeviceField<R, CloverBlocks>,
        chi: &DeviceField<R, Spinors>,
        hop: HeldHop<'_, Self, R>,
    ) -> Result<(), BackendError> {
        self.launch_clover_hop(out, term, Some(chi), hop)
    }

    fn pick_checkerboard<R: Vectors, K: SiteObject>(
        &self,
        out: &mut DeviceField<R, K>,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        self.launch_pick_checkerboard(out, x)
    }

    fn copy<R: Vectors, K: SiteObject>(
        &self,
        out: &mut DeviceField<R, K>,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        self.launch_copy(out, x)
    }

    fn scale<R: Vectors, K: SiteObject>(
        &self,
        out: &mut DeviceField<R, K>,
        a: f64,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        self.launch_scale(out, a, x)
    }

    fn axpy<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        self.launch_axpy(a, x, y)
    }

    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError> {
        self.launch_axpy_norm(a, x, y, sum)
    }

    fn axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        b: f64,
        y: &mut DeviceField<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError> {
        self.launch_axpby_norm(a, x, b, y, sum)
    }

    fn cg_update<R: Vectors, K: SiteObject>(
        &self,
        psi: &mut DeviceField<R, K>,
        p: &mut DeviceField<R, K>,
        r: &DeviceField<R, K>,
        a: f64,
        b: f64,
    ) -> Result<(), BackendError> {
        self.launch_cg_update(psi, p, r, a, b)
    }

    fn complex_axpy<R: Vectors, K: SiteObject>(
        &self,
        a: Complex<f64>,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        self.launch_complex_axpy(a, x, y)
    }

    fn complex_xpay<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        b: Complex<f64>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        self.launch_complex_xpay(x, b, y)
    }

    fn laplace_hop<R: Vectors>(
        &self,
        out: &mut DeviceField<R, ColourVectors>,
        stencil: &DeviceStencil,
        links: &DeviceField<R, DoubledGauge>,
        source: &DeviceField<R, ColourVectors>,
        legs: LegOrder,
    ) -> Result<(), BackendError> {
        self.launch_laplace_hop(out, stencil, links, source, legs)
    }

    fn norm2<R: Vectors, K: SiteObject>(&self, x: &DeviceField<R, K>, sum: Sum) -> Result<f64, BackendError> {
        self.norm2_of(x, sum)
    }

    fn convert<S: Vectors, R: Vectors, K: SiteObject>(
        &self,
        out: &mut DeviceField<S, K>,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        self.convert_field(out, x)
    }

    fn take_columns<R: Vectors, K: Repeated>(
        &self,
        x: &DeviceField<R, K>,
        columns: &[usize],
        column_parts: usize,
    ) -> Result<DeviceField<R, K>, BackendError> {
        self.take_columns_of(x, columns, column_parts)
    }

    fn put_columns<R: Vectors, K: Repeated>(
        &self,
        out: &mut DeviceField<R, K>,
        x: &DeviceField<R, K>,
        columns: &[usize],
        column_parts: usize,
    ) -> Result<(), BackendError> {
        self.put_columns_into(out, x, columns, column_parts)
    }

    fn column_products<R: Vectors, K: Repeated>(
        &self,
        x: &DeviceField<R, K>,
        y: &DeviceField<R, K>,
        column_parts: usize,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        self.products_of_columns(x, y, column_parts, sum)
    }

    fn column_axpy_norm<R: Vectors, K: Repeated>(
        &self,
        a: &[f64],
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        self.axpy_norm_of_columns(a, x, y, sum)
    }

    fn column_cg_update<R: Vectors, K: Repeated>(
        &self,
        psi: &mut DeviceField<R, K>,
        p: &mut DeviceField<R, K>,
        r: &DeviceField<R, K>,
        a: &[f64],
        b: &[f64],
    ) -> Result<(), BackendError> {
        self.cg_update_of_columns(psi, p, r, [a, b])
    }

    fn inner_products<R: Vectors, K: SiteObject>(
        &self,
        xs: &[&DeviceField<R, K>],
        y: &DeviceField<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        self.inner_products_of(xs, y, sum)
    }

    fn sum<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        self.sum_of_words(x, sum)
    }

    fn slice_sums<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, BackendError> {
        self.sums_of_slices(x, direction, sum)
    }

    fn s_matrix<R: Vectors>(&self, matrix: &SMatrix) -> Result<DeviceSMatrix<R>, BackendError> {
        self.upload_s_matrix(matrix)
    }

    fn s_multiply<R: Vectors>(
        &self,
        out: &mut DeviceField<R, Spinors>,
        matrix: &DeviceSMatrix<R>,
        x: &DeviceField<R, Spinors>,
    ) -> Result<(), BackendError> {
        self.launch_s_multiply(out, matrix, x, None)
    }

    fn s_multiply_add<R: Vectors>(
        &self,
        out: &mut DeviceField<R, Spinors>,
        matrix: &DeviceSMatrix<R>,
        x: &DeviceField<R, Spinors>,
        z: &DeviceField<R, Spinors>,
    ) -> Result<(), BackendError> {
        self.launch_s_multiply(out, matrix, x, Some(z))
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        Ok(self.times_of_launches(work)?.into_iter().map(DeviceTimes::seconds).sum())
    }

    fn finish(&self) -> Result<(), BackendError> {
        Ok(self.context.finish()?)
    }
}
