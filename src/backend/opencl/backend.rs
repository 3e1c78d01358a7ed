//! The OpenCL backend: fields in device memory, and the kernels of `cl/` launched over (lane, outer site). Geometry comes from the
//! layout: tables as buffers, lane counts as build options.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use lanefield_reference::field::{
    CloverBlocks, ColourVectors, ComplexNumber, Field, FieldError, FieldStrength, Gauge, Repeated, SiteObject, Spinors,
    check, describe,
};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover_term::CloverCoefficients;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{
    AcceleratorThreads, Direction, Lattice, LaunchGeometry, LegOrder, PartsShape, Sites, Slices, Stencil,
};
use lanefield_reference::links::DoubledGauge;
use num_complex::Complex;

use super::access::PartLayout;
use super::clover::Accumulators;
use super::context::lock;
use super::domain_wall::DeviceSMatrix;
use super::laplace::LaplaceChoices;
use super::plan::Plan;
use super::reduce::{MOST_FIELDS, Reduction, SumChoices, SumForm, SumOptions, Workspace};
use super::tuning::{Build, Tuning, registers_in, resident_groups};
use super::{
    AccessWidth, Arg, Buffer, Context, DeviceInfo, DeviceKind, DeviceTimes, KernelChoice, KernelFamily, KernelKey,
    Launch, LaunchEvent, Program, Tuned, TuningSource, Walk, expand,
};
use crate::backend::{Backend, BackendError, HeldField, HeldHop};

/// An OpenCL device as a backend.
pub struct OpenCl {
    pub(super) context: Context,
    threads: AcceleratorThreads,
    /// Whether that number was asked for, so that no kernel takes a tuned one.
    pub(super) threads_chosen: bool,
    pub(super) parts_shape: PartsShape,
    pub(super) accumulators: Option<Accumulators>,
    pub(super) tuning: Tuning,
    pub(super) tuned: Tuned,
    /// What was looked up so far.
    pub(super) looked_up: Mutex<HashMap<KernelKey, KernelChoice>>,
    access: AccessWidth,
    /// Held by every field too, so that their number is known.
    fields: Arc<()>,
    pub(super) sums: SumOptions,
    programs: Mutex<HashMap<Variant, Arc<Program>>>,
    /// Where sums are made; there from the first one on.
    pub(super) workspace: Mutex<Option<Workspace>>,
    /// The launches of a [`Backend::time`] in progress.
    recorded: Mutex<Option<Vec<LaunchEvent>>>,
}

/// A field in device memory.
pub struct DeviceField<R, K> {
    pub(super) lattice: Lattice,
    pub(super) sites: Sites,
    pub(super) kind: K,
    pub(super) buffer: Buffer,
    precision: std::marker::PhantomData<R>,
    _counted: Arc<()>,
}

/// A stencil's tables in device memory.
pub struct DeviceStencil {
    pub(super) lattice: Lattice,
    pub(super) sites: Sites,
    pub(super) neighbours: Buffer,
    pub(super) lane_steps: Buffer,
}

/// A kernel file with the choices that are made when it is built.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    pub file: &'static str,
    pub precision: u32,
    pub nsimd: usize,
    pub access: AccessWidth,
    pub choices: Choices,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Choices {
    Hop {
        link_reals: usize,
        legs: LegOrder,
        at_once: usize,
        build: Build,
    },
    /// Of `clover.cl`: a product with blocks alone, or after a hop.
    CloverApply,
    CloverHop {
        link_reals: usize,
        legs: LegOrder,
        at_once: usize,
        many: bool,
        accumulators: Accumulators,
        build: Build,
    },
    Laplace(LaplaceChoices),
    DomainWall {
        at_once: usize,
    },
    Convert {
        from: u32,
        words: usize,
    },
    Sum(SumChoices),
    /// A file without choices.
    None,
}

impl Variant {
    fn options(&self) -> String {
        let mut options =
            format!("-DPRECISION={} -DNSIMD={} -DACCESS_BYTES={}", self.precision, self.nsimd, self.access.bytes());
        match &self.choices {
            Choices::Hop { link_reals, legs, at_once, build }
            | Choices::CloverHop { link_reals, legs, at_once, build, .. } => {
                options += &build.options();
                options += &format!(" -DLINK_REALS={link_reals} -DSPINORS_AT_ONCE={at_once}");
                for (k, leg) in legs.legs().iter().enumerate() {
                    options += &format!(" -DLEG_{k}={}", leg.point());
                }
                if let Choices::CloverHop { many, accumulators, .. } = self.choices {
                    options += if many { " -DMANY" } else { "" };
                    options += if accumulators == Accumulators::LocalMemory { " -DACCUMULATORS_IN_LOCAL" } else { "" };
                }
            }
            Choices::Laplace(choices) => options += &choices.options(),
            Choices::DomainWall { at_once } => options += &format!(" -DS_AT_ONCE={at_once}"),
            Choices::CloverApply => options += " -DAPPLY_ONLY",
            Choices::None => {}
            Choices::Sum(choices) => options += &choices.options(),
            Choices::Convert { from, words } => options += &format!(" -DFROM={from} -DWORDS={words}"),
        }
        options
    }
}

impl<R: Vectors, K: SiteObject> HeldField<K> for DeviceField<R, K> {
    fn lattice(&self) -> &Lattice {
        &self.lattice
    }
    fn sites(&self) -> Sites {
        self.sites
    }
    fn kind(&self) -> K {
        self.kind
    }
}

impl<R: Vectors, K: SiteObject> DeviceField<R, K> {
    pub(super) fn describe(&self) -> String {
        describe::<R, K>(&self.lattice, self.sites, self.kind)
    }

    pub(super) fn osites(&self) -> usize {
        self.lattice.osites(self.sites)
    }

    /// Parts of all outer sites, and words of one: to vector operations and norms, a field with n parts a site is one with n times as many
    /// outer sites.
    pub(super) fn parts(&self) -> (usize, usize) {
        (self.osites() * self.kind.parts(), self.kind.words() / self.kind.parts())
    }

    pub(super) fn check(&self, what: &'static str, lattice: &Lattice, sites: Sites) -> Result<(), FieldError> {
        match (&self.lattice, self.sites) == (lattice, sites) {
            true => Ok(()),
            false => Err(FieldError::Mismatch {
                what,
                left: self.describe(),
                right: describe::<R, K>(lattice, sites, self.kind),
            }),
        }
    }

    pub(super) fn check_like(&self, what: &'static str, other: &Self) -> Result<(), FieldError> {
        self.check(what, &other.lattice, other.sites)?;
        self.check_kind(what, other)
    }

    pub(super) fn check_kind(&self, what: &'static str, other: &Self) -> Result<(), FieldError> {
        match self.kind == other.kind {
            true => Ok(()),
            false => Err(FieldError::Mismatch { what, left: self.describe(), right: other.describe() }),
        }
    }
}

impl OpenCl {
    /// Opens a device, with `threads` outer sites a work-group. Stencil kernels take tuned choices ([`TuningSource::from_environment`]); their
    /// number of outer sites too, if `threads` is the default.
    ///
    /// # Errors
    /// [`BackendError::NoDoubles`] if the device has no f64; what the runtime reports.
    pub fn open(device: &DeviceInfo, threads: AcceleratorThreads) -> Result<Self, BackendError> {
        let mut opened = Self::open_with_access(device, threads, AccessWidth::Word)?;
        opened.access = opened.default_access();
        Ok(opened)
    }

    /// As [`Self::open`], with a layout of fields for another access width. No bit of any result changes.
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
            looked_up: Mutex::default(),
            access,
            fields: Arc::default(),
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

    /// Chooses how stencil kernels are built and launched, whatever was tuned. Fields stay valid; no bit of any result changes.
    pub fn set_tuning(&mut self, tuning: Tuning) {
        self.tuning = tuning;
    }

    /// Cuts groups of launches over several spinors a site in another way. No bit of any result changes.
    pub fn set_parts_shape(&mut self, shape: PartsShape) {
        self.parts_shape = shape;
    }

    /// Parts that one work-item takes of `parts`: where nobody chose, up to `most` on GPUs. On an H200 four spinors of a hop with 12-real links
    /// are the fastest, two with 18-real ones, and four results of a dense matrix along s.
    pub(super) fn at_once(&self, parts: usize, most: usize) -> usize {
        match self.parts_shape.at_once {
            None if self.context.info().kind != DeviceKind::Cpu => {
                [4, 2, 3].into_iter().find(|&n| n <= most && parts.is_multiple_of(n)).unwrap_or(1)
            }
            _ => self.parts_shape.at_once(parts),
        }
    }

    /// The launch of a kernel whose groups walk over the sites, dimension `dimension`: no more of them than run at the same time.
    pub(super) fn walked(
        &self,
        mut geometry: LaunchGeometry,
        program: &Program,
        kernel: &str,
        (plan, dimension): (&Plan, usize),
    ) -> LaunchGeometry {
        if !plan.build.persistent {
            return geometry;
        }
        let chosen = match plan.walk {
            Walk::Persistent(Some(groups)) => Some(groups),
            _ => registers_in(program.log(), kernel).map(|number| resident_groups(number, geometry.group_size())),
        };
        if let Some(a_unit) = chosen {
            let most = (a_unit * self.context.info().compute_units as usize).max(1);
            let others = geometry.groups() / (geometry.global[dimension] / geometry.local[dimension]);
            let groups = (most / others).max(1) * geometry.local[dimension];
            geometry.global[dimension] = geometry.global[dimension].min(groups);
        }
        geometry
    }

    /// When each of the kernels of `work` ran, in the order in which they were queued.
    fn times_of_launches(
        &self,
        work: &mut dyn FnMut() -> Result<(), BackendError>,
    ) -> Result<Vec<DeviceTimes>, BackendError> {
        *lock(&self.recorded) = Some(Vec::new());
        let outcome = work();
        let launches = lock(&self.recorded).take().unwrap_or_default();
        outcome?;
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

    /// `file` for fields of precision `R`, in this backend's layout.
    pub(super) fn variant<R: Vectors>(&self, file: &'static str, nsimd: usize, choices: Choices) -> Variant {
        Variant { file, precision: R::BITS, nsimd, access: self.access, choices }
    }

    /// The access width of kernels that see a site of `kind` as one object, whatever its parts.
    pub(super) fn access_of_sites<K: SiteObject>(&self, kind: K) -> AccessWidth {
        match kind.parts() == 1 || self.access.divides(kind.words() / kind.parts()) {
            true => self.access,
            false => AccessWidth::Word,
        }
    }

    pub(super) fn program(&self, variant: Variant) -> Result<Arc<Program>, BackendError> {
        if let Some(program) = lock(&self.programs).get(&variant) {
            return Ok(Arc::clone(program));
        }
        let program = self.context.program(variant.file, &expand(variant.file)?, &variant.options())?;
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
        let most_osites = self.context.info().max_work_item_sizes[2];
        let shape = PartsShape { at_once: Some(at_once), ..self.parts_shape };
        let geometry = LaunchGeometry::over_parts(nsimd, parts_and_osites, shape, self.threads, most_osites);
        self.launch(program, kernel, geometry, arguments)
    }

    pub(super) fn geometry_over_parts(
        &self,
        nsimd: usize,
        parts_and_osites: (usize, usize),
        shape: PartsShape,
    ) -> LaunchGeometry {
        let most_osites = self.context.info().max_work_item_sizes[2];
        LaunchGeometry::over_parts(nsimd, parts_and_osites, shape, self.threads, most_osites)
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

    /// Launches a kernel of `blas.cl` that sums nothing, one work-item for each lane and outer site of a field.
    fn launch_over<R: Vectors, K: SiteObject>(
        &self,
        kernel: &str,
        field: &DeviceField<R, K>,
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        let nsimd = field.lattice.nsimd();
        let (parts, words) = field.parts();
        let program = self.program(self.sum_variant::<R>("blas.cl", nsimd, words, (None, 1), Sum::Exact, None)?)?;
        let geometry = LaunchGeometry::over_sites(nsimd, parts, self.threads);
        self.launch(&program, kernel, geometry, &[arguments, &extent_of_parts(field)].concat())
    }

    /// One number for each site of a field, summed: `FIELDS` numbers for `inner_products`.
    fn sum_of_sites<R: Vectors, K: SiteObject>(
        &self,
        (file, kernel): (&'static str, &'static str),
        field: &DeviceField<R, K>,
        arguments: &[Arg<'_>],
        (a_row, fields): (usize, usize),
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        let arguments = &[arguments, &extent_of_parts(field)].concat();
        let (parts, words) = field.parts();
        let elements = parts * field.lattice.nsimd();
        let work = Reduction {
            file,
            kernel,
            arguments,
            elements,
            a_row,
            rows: 1,
            planes: 1,
            fields,
            bundle: None,
            access: self.access,
            sum,
        };
        self.reduce::<R>(&field.lattice, words, &work)
    }

    pub(super) fn upload_table(&self, table: &[u32], what: &str) -> Result<Buffer, BackendError> {
        let buffer = self.context.allocate(size_of_val(table), what)?;
        self.context.write(&buffer, 0, bytemuck::cast_slice(table))?;
        Ok(buffer)
    }

    fn layout<R: Vectors, K: SiteObject>(&self, field: &DeviceField<R, K>) -> PartLayout {
        let (_, words) = field.parts();
        let bits = R::BITS as usize;
        PartLayout {
            bits,
            nsimd: field.lattice.nsimd(),
            words: R::device_bytes(words) / (bits / 4),
            access: self.access,
        }
    }

    pub(super) fn allocate<R: Vectors, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        kind: K,
    ) -> Result<DeviceField<R, K>, BackendError> {
        check::<R, K>(&lattice, sites, kind)?;
        let parts = lattice.osites(sites) * lattice.nsimd() * kind.parts();
        let bytes = parts * R::device_bytes(kind.words() / kind.parts());
        let buffer = self.context.allocate(bytes, &describe::<R, K>(&lattice, sites, kind))?;
        let _counted = Arc::clone(&self.fields);
        Ok(DeviceField { lattice, sites, kind, buffer, precision: std::marker::PhantomData, _counted })
    }
}

/// A scalar of the recurrence, rounded to the field's precision.
fn scalar<R: Vectors>(value: f64) -> Arg<'static> {
    match R::BITS {
        64 => Arg::F64(value),
        _ => Arg::F32(value as f32),
    }
}

pub(super) fn osites<R: Vectors, K: SiteObject>(field: &DeviceField<R, K>) -> Arg<'static> {
    Arg::U32(field.osites() as u32)
}

/// Parts of outer sites, and words of one, as kernels that know no object take them.
fn extent_of_parts<R: Vectors, K: SiteObject>(field: &DeviceField<R, K>) -> [Arg<'static>; 2] {
    let (parts, words) = field.parts();
    [parts, words].map(|number| Arg::U32(number as u32))
}

/// Outer sites and words, as kernels that know no object take them.
fn extent<R: Vectors, K: SiteObject>(field: &DeviceField<R, K>) -> [Arg<'static>; 2] {
    [osites(field), Arg::U32(field.kind.words() as u32)]
}

/// Real and imaginary parts in turn as complex numbers, the first `words` of them.
fn complex(parts: &[f64], words: usize) -> Vec<Complex<f64>> {
    parts.chunks_exact(2).take(words).map(|parts| Complex::new(parts[0], parts[1])).collect()
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
        let device = self.allocate(*field.lattice(), field.sites(), field.kind())?;
        let bytes = R::to_device(field.reals(), field.reals_a_part(), field.lattice().nsimd());
        self.context.write(&device.buffer, 0, &self.layout(&device).to_device(bytes))?;
        Ok(device)
    }

    fn download<R: Vectors, K: SiteObject>(&self, field: &DeviceField<R, K>) -> Result<Field<R, K>, BackendError> {
        let mut host = Field::zeros(field.lattice, field.sites, field.kind)?;
        let (a_part, nsimd) = (host.reals_a_part(), field.lattice.nsimd());
        let layout = self.layout(field);
        if R::BITS == 16 || !layout.is_plain() {
            let mut bytes = vec![0; field.buffer.bytes()];
            self.context.read(&field.buffer, 0, &mut bytes)?;
            R::from_device(&layout.to_host(&bytes), host.reals_mut(), a_part, nsimd);
        } else {
            self.context.read(&field.buffer, 0, bytemuck::cast_slice_mut(host.reals_mut()))?;
        }
        Ok(host)
    }

    fn stencil(&self, stencil: Stencil) -> Result<DeviceStencil, BackendError> {
        Ok(DeviceStencil {
            lattice: *stencil.lattice(),
            sites: stencil.sites(),
            neighbours: self.upload_table(stencil.neighbours(), "table of neighbours")?,
            lane_steps: self.upload_table(stencil.lane_steps(), "table of lane steps")?,
        })
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
        let (lattice, sites) = (&stencil.lattice, stencil.sites);
        links.check("the hop's links", lattice, sites)?;
        out.check("the hop's result", lattice, sites)?;
        source.check("the hop's source", lattice, sites.neighbours())?;
        source.check_kind("the hop's source", out)?;
        let (nsimd, spinors) = (lattice.nsimd(), out.kind.count());
        let plan = self.plan::<R>(KernelFamily::Hop, (lattice, sites), links.kind.format, spinors);
        let (link_reals, at_once) = (links.kind.format.reals(), plan.at_once);
        let choices = Choices::Hop { link_reals, legs, at_once, build: plan.build };
        let program = self.program(self.variant::<R>("hop.cl", nsimd, choices))?;
        let mut arguments = vec![
            Arg::Buffer(&out.buffer),
            Arg::Buffer(&links.buffer),
            Arg::Buffer(&source.buffer),
            Arg::Buffer(&stencil.neighbours),
            Arg::Buffer(&stencil.lane_steps),
            osites(out),
            Arg::U32(links.kind.boundary.mask()),
        ];
        if spinors == 1 {
            let kernel = if dagger == Dagger::No { "hop" } else { "hop_dagger" };
            let geometry = LaunchGeometry::over_sites(nsimd, out.osites(), plan.threads);
            let geometry = self.walked(geometry, &program, kernel, (&plan, 1));
            return self.launch(&program, kernel, geometry, &arguments);
        }
        let kernel = if dagger == Dagger::No { "hop_many" } else { "hop_many_dagger" };
        let geometry = self.planned_geometry(&plan, nsimd, (plan.a_launch, out.osites()));
        let geometry = self.walked(geometry, &program, kernel, (&plan, 2));
        let first_of_all = arguments.len();
        for first in (0..spinors).step_by(plan.a_launch) {
            arguments.truncate(first_of_all);
            arguments.extend([spinors, first, plan.a_launch].map(|number| Arg::U32(number as u32)));
            self.launch(&program, kernel, geometry, &arguments)?;
        }
        Ok(())
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
        x.check_like("copy", out)?;
        self.launch_over("copy", out, &[Arg::Buffer(&out.buffer), Arg::Buffer(&x.buffer)])
    }

    fn scale<R: Vectors, K: SiteObject>(
        &self,
        out: &mut DeviceField<R, K>,
        a: f64,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("scale", out)?;
        self.launch_over("scale", out, &[Arg::Buffer(&out.buffer), scalar::<R>(a), Arg::Buffer(&x.buffer)])
    }

    fn axpy<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("axpy", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        self.launch_over("axpy", y, &[out, scalar::<R>(a), x, out])
    }

    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError> {
        x.check_like("axpy_norm", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        Ok(self.sum_of_sites(("blas.cl", "axpy_norm"), y, &[out, scalar::<R>(a), x, out], (1, 1), sum)?[0])
    }

    fn axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        b: f64,
        y: &mut DeviceField<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError> {
        x.check_like("axpby_norm", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        let arguments = [out, scalar::<R>(a), x, scalar::<R>(b), out];
        Ok(self.sum_of_sites(("blas.cl", "axpby_norm"), y, &arguments, (1, 1), sum)?[0])
    }

    fn cg_update<R: Vectors, K: SiteObject>(
        &self,
        psi: &mut DeviceField<R, K>,
        p: &mut DeviceField<R, K>,
        r: &DeviceField<R, K>,
        a: f64,
        b: f64,
    ) -> Result<(), BackendError> {
        p.check_like("cg_update", psi)?;
        r.check_like("cg_update", psi)?;
        let [out, p, r] = [&psi.buffer, &p.buffer, &r.buffer].map(Arg::Buffer);
        self.launch_over("cg_update", psi, &[out, p, r, scalar::<R>(a), scalar::<R>(b)])
    }

    fn complex_axpy<R: Vectors, K: SiteObject>(
        &self,
        a: Complex<f64>,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("complex_axpy", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        self.launch_over("complex_axpy", y, &[out, scalar::<R>(a.re), scalar::<R>(a.im), x, out])
    }

    fn complex_xpay<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        b: Complex<f64>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("complex_xpay", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        self.launch_over("complex_axpy", y, &[out, scalar::<R>(b.re), scalar::<R>(b.im), out, x])
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
        Ok(self.sum_of_sites(("reduce.cl", "norm2"), x, &[Arg::Buffer(&x.buffer)], (1, 1), sum)?[0])
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
        for x in xs {
            x.check_like("inner product", y)?;
        }
        let mut products = Vec::with_capacity(xs.len());
        for xs in xs.chunks(MOST_FIELDS) {
            // Kernel arguments beyond the fields there are must be something, and are not read.
            let x = |k: usize| Arg::Buffer(&xs.get(k).unwrap_or(&xs[0]).buffer);
            let arguments = [x(0), x(1), x(2), x(3), Arg::Buffer(&y.buffer)];
            let fields = xs.len();
            let parts = self.sum_of_sites(("reduce.cl", "inner_products"), y, &arguments, (2 * fields, fields), sum)?;
            products.extend(complex(&parts, fields));
        }
        Ok(products)
    }

    fn sum<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        if R::BITS == 16 {
            return self.sum(&self.in_f32(x)?, sum);
        }
        let words = x.kind.words();
        let form = self.form(sum);
        let bundle = self.bundle(form, words);
        let parts = match form {
            SumForm::Staged(_) => self.reduce_staged(x, bundle, sum)?,
            SumForm::Fused(_) | SumForm::SerialWords => {
                let [osites, words_of_site] = extent(x);
                let arguments = [Arg::Buffer(&x.buffer), osites, words_of_site, Arg::U32(0), Arg::U32(0)];
                let work = Reduction {
                    file: "reduce.cl",
                    kernel: "sum",
                    arguments: &arguments,
                    elements: x.osites() * x.lattice.nsimd(),
                    a_row: 2 * bundle,
                    rows: words.div_ceil(bundle),
                    planes: 1,
                    fields: 1,
                    bundle: Some(bundle),
                    access: self.access_of_sites(x.kind),
                    sum,
                };
                self.reduce::<R>(&x.lattice, words, &work)?
            }
        };
        Ok(complex(&parts, words))
    }

    fn slice_sums<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, BackendError> {
        if R::BITS == 16 {
            return self.slice_sums(&self.in_f32(x)?, direction, sum);
        }
        let slices = Slices::new(&x.lattice, x.sites, direction)?;
        let osites = self.upload_table(slices.osites(), "table of outer sites of slices")?;
        let lanes = self.upload_table(slices.lanes(), "table of lanes of slices")?;
        let words = x.kind.words();
        // A bundle that was packed would serve one slice: slices are always fused.
        let bundle = self.bundle(self.form(sum), words);
        let (rows, a_row) = (words.div_ceil(bundle), 2 * bundle);
        let arguments = [
            Arg::Buffer(&x.buffer),
            Arg::Buffer(&osites),
            Arg::Buffer(&lanes),
            Arg::U32(slices.osites_a_class() as u32),
            Arg::U32(slices.lanes_a_group() as u32),
            Arg::U32(slices.classes() as u32),
            Arg::U32(words as u32),
        ];
        let work = Reduction {
            file: "reduce.cl",
            kernel: "slice_sums",
            arguments: &arguments,
            elements: slices.osites_a_class() * slices.lanes_a_group(),
            a_row,
            rows,
            planes: slices.count(),
            fields: 1,
            bundle: Some(bundle),
            access: self.access_of_sites(x.kind),
            sum,
        };
        let parts = self.reduce::<R>(&x.lattice, words, &work)?;
        Ok(parts.chunks_exact(a_row * rows).map(|slice| complex(slice, words)).collect())
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

    fn copy_bandwidth(&self) -> Result<f64, BackendError> {
        crate::backend::bandwidth::device_copy_bandwidth(&self.context)
    }

    fn read_bandwidth(&self) -> Result<f64, BackendError> {
        crate::backend::bandwidth::device_read_bandwidth(&self.context)
    }

    fn read_time(&self, bytes: usize) -> Result<f64, BackendError> {
        crate::backend::bandwidth::device_read_time(&self.context, bytes)
    }

    fn finish(&self) -> Result<(), BackendError> {
        Ok(self.context.finish()?)
    }
}
