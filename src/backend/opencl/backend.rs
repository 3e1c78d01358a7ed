//! The OpenCL backend: fields in device memory, and the kernels of `cl/` launched over (lane, outer site). Geometry comes from the
//! layout: tables as buffers, lane counts as build options.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use lanefield_reference::exact::{self, ExactSum};
use lanefield_reference::field::{Field, FieldError, SiteObject, Spinor, describe};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{AcceleratorThreads, Lattice, LaunchGeometry, LegOrder, Sites, Stencil};
use lanefield_reference::links::DoubledGauge;
use num_complex::Complex;

use super::context::lock;
use super::{Arg, Buffer, Context, DeviceInfo, Launch, LaunchEvent, Program, expand};
use crate::backend::{Backend, BackendError, HeldField};

/// An OpenCL device as a backend.
pub struct OpenCl {
    context: Context,
    threads: AcceleratorThreads,
    programs: Mutex<HashMap<Variant, Arc<Program>>>,
    /// Where work-groups leave their partial sums; made on first use.
    partials: Mutex<Option<Partials>>,
    /// The launches of a [`Backend::time`] in progress.
    recorded: Mutex<Option<Vec<LaunchEvent>>>,
}

/// Exact sums in device memory: one of each work-group, and those of all groups together.
struct Partials {
    of_groups: Buffer,
    merged: Buffer,
}

/// A field in device memory.
pub struct DeviceField<R, K> {
    lattice: Lattice,
    sites: Sites,
    kind: K,
    buffer: Buffer,
    precision: std::marker::PhantomData<R>,
}

/// A stencil's tables in device memory.
pub struct DeviceStencil {
    lattice: Lattice,
    sites: Sites,
    neighbours: Buffer,
    lane_steps: Buffer,
}

/// A kernel file with the choices that are made when it is built.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Variant {
    file: &'static str,
    precision: u32,
    nsimd: usize,
    choices: Choices,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Choices {
    Hop { link_reals: usize, legs: LegOrder },
    Words(usize),
}

impl Variant {
    fn options(&self) -> String {
        let mut options = format!("-DPRECISION={} -DNSIMD={}", self.precision, self.nsimd);
        match self.choices {
            Choices::Hop { link_reals, legs } => {
                options += &format!(" -DLINK_REALS={link_reals}");
                for (k, leg) in legs.legs().iter().enumerate() {
                    options += &format!(" -DLEG_{k}={}", leg.point());
                }
            }
            Choices::Words(words) => options += &format!(" -DWORDS={words} -DEXACT_LIMBS={}", exact::LIMBS),
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
    fn describe(&self) -> String {
        describe::<R, K>(&self.lattice, self.sites, self.kind)
    }

    fn osites(&self) -> usize {
        self.lattice.osites(self.sites)
    }

    fn check(&self, what: &'static str, lattice: &Lattice, sites: Sites) -> Result<(), FieldError> {
        match (&self.lattice, self.sites) == (lattice, sites) {
            true => Ok(()),
            false => Err(FieldError::Mismatch {
                what,
                left: self.describe(),
                right: describe::<R, K>(lattice, sites, self.kind),
            }),
        }
    }

    fn check_like(&self, what: &'static str, other: &Self) -> Result<(), FieldError> {
        self.check(what, &other.lattice, other.sites)?;
        match self.kind == other.kind {
            true => Ok(()),
            false => Err(FieldError::Mismatch { what, left: self.describe(), right: other.describe() }),
        }
    }
}

/// Most work-groups of a reduction, for each compute unit: enough to fill any device, few enough to merge quickly.
const GROUPS_PER_COMPUTE_UNIT: usize = 8;
/// Most work-groups of a reduction.
const MOST_REDUCTION_GROUPS: usize = 2048;
/// Work-items that merge one word of the groups' sums.
const MERGE_GROUP: usize = 64;
/// Most exact sums that one kernel takes: the two parts of an inner product.
const MOST_SUMS: usize = 2;

impl OpenCl {
    /// Opens a device, with `threads` outer sites a work-group.
    ///
    /// # Errors
    /// [`BackendError::NoDoubles`] if the device has no f64; what the runtime reports.
    pub fn open(device: &DeviceInfo, threads: AcceleratorThreads) -> Result<Self, BackendError> {
        if !device.fp64 {
            return Err(BackendError::NoDoubles { device: device.name.clone() });
        }
        Ok(Self {
            context: Context::open(device)?,
            threads,
            programs: Mutex::default(),
            partials: Mutex::default(),
            recorded: Mutex::default(),
        })
    }

    /// The same device with another number of outer sites a work-group. Fields stay valid; no bit of any result changes.
    pub fn set_accelerator_threads(&mut self, threads: AcceleratorThreads) {
        self.threads = threads;
    }

    /// Outer sites a work-group.
    pub fn accelerator_threads(&self) -> AcceleratorThreads {
        self.threads
    }

    /// The device in use.
    pub fn context(&self) -> &Context {
        &self.context
    }

    fn program(&self, variant: Variant) -> Result<Arc<Program>, BackendError> {
        if let Some(program) = lock(&self.programs).get(&variant) {
            return Ok(Arc::clone(program));
        }
        let program = self.context.program(variant.file, &expand(variant.file)?, &variant.options())?;
        lock(&self.programs).insert(variant, Arc::clone(&program));
        Ok(program)
    }

    fn vector_program<R: Vectors>(
        &self,
        file: &'static str,
        lattice: &Lattice,
        words: usize,
    ) -> Result<Arc<Program>, BackendError> {
        let choices = Choices::Words(words);
        self.program(Variant { file, precision: R::BITS, nsimd: lattice.nsimd(), choices })
    }

    fn launch(
        &self,
        program: &Program,
        kernel: &str,
        geometry: LaunchGeometry,
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        let launch = Launch {
            global: [geometry.global[0], geometry.global[1], 1],
            local: [geometry.local[0], geometry.local[1], 1],
        };
        let event = self.context.launch_event(program, kernel, launch, arguments)?;
        if let Some(recorded) = lock(&self.recorded).as_mut() {
            recorded.push(event);
        }
        Ok(())
    }

    /// Launches a kernel of `blas.cl`, one work-item for each lane and outer site of a field.
    fn launch_over<R: Vectors, K: SiteObject>(
        &self,
        kernel: &str,
        field: &DeviceField<R, K>,
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        let program = self.vector_program::<R>("blas.cl", &field.lattice, field.kind.words())?;
        let geometry = LaunchGeometry::over_sites(field.lattice.nsimd(), field.osites(), self.threads);
        self.launch(&program, kernel, geometry, arguments)
    }

    /// Launches a kernel whose work-groups each leave `N` exact sums, merges them on the device, and rounds.
    fn reduce<R: Vectors, K: SiteObject, const N: usize>(
        &self,
        file: &'static str,
        kernel: &str,
        field: &DeviceField<R, K>,
        arguments: &[Arg<'_>],
    ) -> Result<[f64; N], BackendError> {
        let groups =
            (self.context.info().compute_units as usize * GROUPS_PER_COMPUTE_UNIT).clamp(1, MOST_REDUCTION_GROUPS);
        let mut held = lock(&self.partials);
        let partials = match &*held {
            Some(partials) => partials,
            None => {
                let sums = MOST_SUMS * exact::WORDS * size_of::<i64>();
                held.insert(Partials {
                    of_groups: self.context.allocate(groups * sums, "sums of work-groups")?,
                    merged: self.context.allocate(sums, "merged sums")?,
                })
            }
        };
        let (lattice, words) = (&field.lattice, field.kind.words());
        let geometry = LaunchGeometry::walking(lattice.nsimd(), field.osites(), self.threads, groups);
        let limbs = Arg::Local(N * exact::WORDS * size_of::<i64>());
        let terms = Arg::Local(N * geometry.group_size() * size_of::<f64>());
        let program = self.vector_program::<R>(file, lattice, words)?;
        self.launch(
            &program,
            kernel,
            geometry,
            &[arguments, &[Arg::Buffer(&partials.of_groups), terms, limbs]].concat(),
        )?;

        let program = self.vector_program::<R>("reduce.cl", lattice, words)?;
        // One work-group for each word of a sum.
        let merge = LaunchGeometry { global: [MERGE_GROUP * N * exact::WORDS, 1], local: [MERGE_GROUP, 1] };
        let (groups, sums) = (Arg::U32(geometry.groups() as u32), Arg::U32(N as u32));
        let merge_arguments = [Arg::Buffer(&partials.of_groups), groups, sums, Arg::Buffer(&partials.merged)];
        self.launch(&program, "exact_merge", merge, &merge_arguments)?;
        let mut words = [[0i64; exact::WORDS]; N];
        self.context.read(&partials.merged, 0, bytemuck::cast_slice_mut(words.as_flattened_mut()))?;
        let mut sums = [0.0; N];
        for (sum, words) in sums.iter_mut().zip(&words) {
            let exact = ExactSum::from_words(words).map_err(|error| BackendError::DamagedSum {
                device: self.context.info().name.clone(),
                reason: error.to_string(),
            })?;
            *sum = exact.round();
        }
        Ok(sums)
    }

    fn upload_table(&self, table: &[u32], what: &str) -> Result<Buffer, BackendError> {
        let buffer = self.context.allocate(size_of_val(table), what)?;
        self.context.write(&buffer, 0, bytemuck::cast_slice(table))?;
        Ok(buffer)
    }

    fn allocate<R: Vectors, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        kind: K,
    ) -> Result<DeviceField<R, K>, BackendError> {
        lattice.check(sites)?;
        if lattice.scalar() != R::COMPLEX {
            let (lattice, field) = (lattice.scalar().name(), R::COMPLEX.name());
            return Err(FieldError::Precision { lattice, field }.into());
        }
        let bytes = lattice.osites(sites) * kind.words() * lattice.width().bytes();
        let buffer = self.context.allocate(bytes, &describe::<R, K>(&lattice, sites, kind))?;
        Ok(DeviceField { lattice, sites, kind, buffer, precision: std::marker::PhantomData })
    }
}

/// A scalar of the recurrence, rounded to the field's precision.
fn scalar<R: Vectors>(value: f64) -> Arg<'static> {
    match R::BITS {
        32 => Arg::F32(value as f32),
        _ => Arg::F64(value),
    }
}

fn osites<R: Vectors, K: SiteObject>(field: &DeviceField<R, K>) -> Arg<'static> {
    Arg::U32(field.osites() as u32)
}

impl fmt::Debug for OpenCl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Backend for OpenCl {
    type Field<R: Vectors, K: SiteObject> = DeviceField<R, K>;
    type Stencil = DeviceStencil;

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

    fn upload<R: Vectors, K: SiteObject>(&self, field: Field<R, K>) -> Result<DeviceField<R, K>, BackendError> {
        let device = self.allocate(*field.lattice(), field.sites(), field.kind())?;
        self.context.write(&device.buffer, 0, bytemuck::cast_slice(field.reals()))?;
        Ok(device)
    }

    fn download<R: Vectors, K: SiteObject>(&self, field: &DeviceField<R, K>) -> Result<Field<R, K>, BackendError> {
        let mut host = Field::zeros(field.lattice, field.sites, field.kind)?;
        self.context.read(&field.buffer, 0, bytemuck::cast_slice_mut(host.reals_mut()))?;
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
        out: &mut DeviceField<R, Spinor>,
        stencil: &DeviceStencil,
        links: &DeviceField<R, DoubledGauge>,
        source: &DeviceField<R, Spinor>,
        legs: LegOrder,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let (lattice, sites) = (&stencil.lattice, stencil.sites);
        links.check("the hop's links", lattice, sites)?;
        out.check("the hop's result", lattice, sites)?;
        source.check("the hop's source", lattice, sites.neighbours())?;
        let program = self.program(Variant {
            file: "hop.cl",
            precision: R::BITS,
            nsimd: lattice.nsimd(),
            choices: Choices::Hop { link_reals: links.kind.format.reals(), legs },
        })?;
        let kernel = match dagger {
            Dagger::No => "hop",
            Dagger::Yes => "hop_dagger",
        };
        let geometry = LaunchGeometry::over_sites(lattice.nsimd(), out.osites(), self.threads);
        let arguments = [
            Arg::Buffer(&out.buffer),
            Arg::Buffer(&links.buffer),
            Arg::Buffer(&source.buffer),
            Arg::Buffer(&stencil.neighbours),
            Arg::Buffer(&stencil.lane_steps),
            osites(out),
            Arg::U32(links.kind.boundary.mask()),
        ];
        self.launch(&program, kernel, geometry, &arguments)
    }

    fn copy<R: Vectors, K: SiteObject>(
        &self,
        out: &mut DeviceField<R, K>,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("copy", out)?;
        self.launch_over("copy", out, &[Arg::Buffer(&out.buffer), Arg::Buffer(&x.buffer), osites(out)])
    }

    fn scale<R: Vectors, K: SiteObject>(
        &self,
        out: &mut DeviceField<R, K>,
        a: f64,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("scale", out)?;
        let arguments = [Arg::Buffer(&out.buffer), scalar::<R>(a), Arg::Buffer(&x.buffer), osites(out)];
        self.launch_over("scale", out, &arguments)
    }

    fn axpy<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("axpy", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        self.launch_over("axpy", y, &[out, scalar::<R>(a), x, out, osites(y)])
    }

    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
    ) -> Result<f64, BackendError> {
        x.check_like("axpy_norm", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        let [norm] = self.reduce("blas.cl", "axpy_norm", y, &[out, scalar::<R>(a), x, out, osites(y)])?;
        Ok(norm)
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
        self.launch_over("cg_update", psi, &[out, p, r, scalar::<R>(a), scalar::<R>(b), osites(psi)])
    }

    fn norm2<R: Vectors, K: SiteObject>(&self, x: &DeviceField<R, K>) -> Result<f64, BackendError> {
        let [norm] = self.reduce("reduce.cl", "norm2", x, &[Arg::Buffer(&x.buffer), osites(x)])?;
        Ok(norm)
    }

    fn inner_product<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        y: &DeviceField<R, K>,
    ) -> Result<Complex<f64>, BackendError> {
        y.check_like("inner product", x)?;
        let arguments = [Arg::Buffer(&x.buffer), Arg::Buffer(&y.buffer), osites(x)];
        let [re, im] = self.reduce("reduce.cl", "inner_product", x, &arguments)?;
        Ok(Complex::new(re, im))
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        *lock(&self.recorded) = Some(Vec::new());
        let outcome = work();
        let launches = lock(&self.recorded).take().unwrap_or_default();
        outcome?;
        let mut seconds = 0.0;
        for launch in &launches {
            seconds += self.context.times(launch)?.seconds();
        }
        Ok(seconds)
    }

    fn copy_bandwidth(&self) -> Result<f64, BackendError> {
        crate::backend::bandwidth::device_copy_bandwidth(&self.context)
    }

    fn finish(&self) -> Result<(), BackendError> {
        Ok(self.context.finish()?)
    }
}
