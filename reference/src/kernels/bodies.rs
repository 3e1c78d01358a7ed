//! Kernel functions on the CPU, in parallel. Each has a blocked form (`bodies/blocked.rs`). Hot ones also have native forms, with the vectors of
//! each instruction set. A stencil visits outer sites row by row, in an order that suits caches. A kernel function that does not read neighbours
//! visits components in the order of memory. Counterpart: the code that `lanefield::body` writes.

mod blocked;
mod lanes;
mod launch;
mod links;
mod site;
mod sums;
mod sweep;

use std::cell::RefCell;
use std::marker::PhantomData;

use num_complex::Complex;

use blocked::{BlockSite, BlockedBody};
use launch::{Bound, BoundField, Launch, Taken};
use links::{RebuildLinks, Spot};
use site::LaneSite;
use sums::TaskSums;
use sweep::{OfTask, Sweep};

use super::blocks::map_rows;
use super::reduce::{PartialSums, Sum};
use super::{LaneOperation, WithVectors};
use crate::body::{
    Body, FieldUse, MOST_ARGUMENTS as MOST, Role, extreme, sums_over_slices, uses_displacements, uses_neighbours,
};
use crate::dagger::Dagger;
use crate::exact::ExactSum;
use crate::field::{FieldData, FieldError, FieldShape};
use crate::layout::{Direction, LegOrder, SiteCoordinates, Slices, Stencil};
use crate::object::{DoubledGauge, Object};
use crate::real::{Precision, Real};
use crate::tasks::{self, items_a_task};
use crate::tensor::{InstructionSet, LaneVector, Task};

/// An argument of a call.
pub enum BodyArgument<'a, R> {
    /// A field that is read.
    Read(&'a FieldData<R>),
    /// A field that is read, in any precision.
    Converted(StoredField<'a>),
    /// A field that is written.
    Write(&'a mut FieldData<R>),
    /// A real number.
    Scalar(f64),
    /// A complex number.
    Complex(Complex<f64>),
    /// Sums over sites.
    Sums,
    /// Coordinates of sites.
    Coordinates,
}

/// A field in any precision.
#[derive(Clone, Copy, Debug)]
pub struct StoredField<'a> {
    shape: FieldShape,
    bytes: &'a [u8],
}

impl<'a, Q: Real> From<&'a FieldData<Q>> for StoredField<'a> {
    fn from(field: &'a FieldData<Q>) -> Self {
        Self { shape: field.shape(), bytes: bytemuck::cast_slice(field.reals()) }
    }
}

/// A call of a kernel function.
pub struct BodyCall<'a, R> {
    /// Its arguments, in order.
    pub arguments: Vec<BodyArgument<'a, R>>,
    /// Their names, for errors.
    pub names: &'static [&'static str],
    /// The neighbours of the sites of the target; `None` if the kernel function does not read neighbours.
    pub stencil: Option<&'a Stencil>,
    /// The leg order.
    pub legs: LegOrder,
    /// Whether it is for the Hermitian conjugate.
    pub dagger: Dagger,
    /// The direction of slices: sums are over the slices across it.
    pub direction: Direction,
    /// How sums over sites are computed.
    pub sum: Sum,
}

/// A kernel function, compiled for the CPU.
#[derive(Clone, Copy)]
pub struct CompiledBody {
    roles: &'static [Role],
    blocked: BlockedBody,
    native: Option<NativeForms>,
}

/// The native forms of a kernel function, for f32 and for f64.
#[derive(Clone, Copy)]
struct NativeForms {
    in_f32: fn(&Launch<'_>) -> Option<PartialSums>,
    in_f64: fn(&Launch<'_>) -> Option<PartialSums>,
}

impl CompiledBody {
    /// The kernel function `B`, only in blocked form.
    pub const fn of<B: Body>() -> Self {
        fn run<B: Body>(site: BlockSite<'_>) {
            B::run(site);
        }
        Self { roles: B::ROLES, blocked: run::<B>, native: None }
    }

    /// The kernel function `B`, with native forms as well. They are four more copies to compile, for the kernels in which solvers spend their time.
    pub const fn hot<B: Body>() -> Self {
        let native = NativeForms { in_f32: run_native::<B, f32>, in_f64: run_native::<B, f64> };
        Self { native: Some(native), ..Self::of::<B>() }
    }

    /// Runs it on every site of its target, and returns its sums. In half precision, it computes in f32, and rounds each component as a whole. Terms
    /// of sums are computed from the numbers before this rounding.
    ///
    /// # Errors
    /// [`FieldError::Mismatch`] unless each argument matches its role: a field with the object, on the sites of the target or of their neighbours.
    pub fn run<R: Real>(&self, call: BodyCall<'_, R>) -> Result<PartialSums, FieldError> {
        run_with_roles(call, self.roles, |launch| {
            let native = self.native.and_then(|forms| match R::PRECISION {
                Precision::F64 => (forms.in_f64)(launch),
                Precision::F32 | Precision::Half => (forms.in_f32)(launch),
            });
            native.unwrap_or_else(|| blocked::run(launch, R::PRECISION, self.blocked))
        })
    }
}

/// Runs a launch with the native vectors of its lanes; `None` if the processor does not have them.
fn run_native<B: Body, A: WithVectors>(launch: &Launch<'_>) -> Option<PartialSums> {
    A::with_native_vectors(launch.target.lattice.width(), OfBody::<B> { launch, body: PhantomData })
}

/// Runs a call of a kernel function with these roles.
fn run_with_roles<R: Real>(
    mut call: BodyCall<'_, R>,
    roles: &'static [Role],
    run: impl FnOnce(&Launch<'_>) -> PartialSums,
) -> Result<PartialSums, FieldError> {
    let target = checked(&call, roles)?;
    let BodyCall { stencil, legs, dagger, direction, sum, .. } = call;
    let links = links_of(&call);
    let mut sums = 0;
    let mut bound = Vec::with_capacity(call.arguments.len());
    for (argument, role) in call.arguments.iter_mut().zip(roles) {
        bound.push(match argument {
            BodyArgument::Read(field) => Bound::Field(BoundField {
                start: field.reals_with_ghosts().as_ptr().cast_mut().cast(),
                bytes: size_of_val(field.reals_with_ghosts()),
                words: field.object().part_words(),
                parts: field.object().parts(),
                in_doubles: size_of::<R>() == size_of::<f64>(),
            }),
            BodyArgument::Converted(field) => Bound::Field(BoundField {
                start: field.bytes.as_ptr().cast_mut(),
                bytes: field.bytes.len(),
                words: field.shape.object.part_words(),
                parts: field.shape.object.parts(),
                in_doubles: field.shape.precision == Precision::F64,
            }),
            BodyArgument::Write(field) => {
                let object = field.object();
                let reals = field.reals_mut();
                Bound::Field(BoundField {
                    start: reals.as_mut_ptr().cast(),
                    bytes: size_of_val(reals),
                    words: object.part_words(),
                    parts: object.parts(),
                    in_doubles: size_of::<R>() == size_of::<f64>(),
                })
            }
            BodyArgument::Scalar(value) => Bound::Complex(Complex::new(*value, *value)),
            BodyArgument::Complex(value) => Bound::Complex(*value),
            BodyArgument::Sums => {
                let first = sums;
                sums += role.sums();
                Bound::Sums(first)
            }
            BodyArgument::Coordinates => Bound::Nothing,
        });
    }
    let coordinates = match roles.contains(&Role::Coordinates) {
        true => Some(SiteCoordinates::new(&target.lattice, target.sites)?),
        false => None,
    };
    let slices = match sums_over_slices(roles) {
        true => Some(Slices::new(&target.lattice, target.sites, direction)?),
        false => None,
    };
    let of_neighbours = match (uses_displacements(roles), stencil) {
        (true, Some(stencil)) => Some(stencil.of_neighbours()?),
        _ => None,
    };
    let stencil = stencil.filter(|_| uses_neighbours(roles));
    let taken = Taken { sums, sum, extreme: extreme(roles), slices };
    let launch = Launch { bound, of_neighbours, stencil, links, legs, dagger, target, taken, coordinates };
    let taken = run(&launch);
    for argument in call.arguments {
        if let BodyArgument::Write(field) = argument {
            field.quantize();
        }
    }
    Ok(taken)
}

/// How the links of a call are stored. All of them are stored in the same way.
fn links_of<R: Real>(call: &BodyCall<'_, R>) -> Option<DoubledGauge> {
    call.arguments.iter().find_map(|argument| match argument {
        BodyArgument::Read(field) => match field.object() {
            Object::DoubledGauge(links) => Some(links),
            _ => None,
        },
        _ => None,
    })
}

/// Refuses arguments that do not match their roles. Returns the target.
fn checked<R: Real>(call: &BodyCall<'_, R>, roles: &[Role]) -> Result<FieldShape, FieldError> {
    let mismatch = |what: &'static str, left: String, right: String| FieldError::Mismatch { what, left, right };
    let shape = |argument: &BodyArgument<'_, R>| match argument {
        BodyArgument::Read(field) => Some(field.shape()),
        BodyArgument::Write(field) => Some(field.shape()),
        BodyArgument::Converted(field) => Some(field.shape),
        _ => None,
    };
    let links = links_of(call);
    let written = |role: &Role| matches!(role, Role::Field { used: FieldUse::Write | FieldUse::Update, .. });
    let arguments = || call.arguments.iter().zip(roles);
    let read_here = |role: &Role| matches!(role, Role::Field { used: FieldUse::Read | FieldUse::EvenDistance, .. });
    let first = arguments().find(|(_, role)| written(role)).or_else(|| arguments().rfind(|(_, role)| read_here(role)));
    let target = first.and_then(|(argument, _)| shape(argument));
    let (Some(target), true) = (target, call.arguments.len() == roles.len() && roles.len() <= MOST) else {
        let right = format!("{} of the body, one of them a field that is written, or read at the site", roles.len());
        return Err(mismatch("the arguments of a body", format!("{} given", call.arguments.len()), right));
    };
    if uses_neighbours(roles) {
        let onto = call.stencil.map(|stencil| (*stencil.lattice(), stencil.sites()));
        if onto != Some((target.lattice, target.sites)) {
            let of = |(lattice, sites)| FieldShape { lattice, sites, ..target }.describe();
            return Err(mismatch("the stencil of a body", onto.map_or("missing".to_owned(), of), target.describe()));
        }
    }
    for (number, (argument, role)) in arguments().enumerate() {
        let given = shape(argument);
        if let Some(field) = given.filter(|field| written(role) && field.object.parts() != target.object.parts()) {
            let right = format!("as many components a site as {}: each component writes its own", target.describe());
            return Err(mismatch(
                call.names.get(number).copied().unwrap_or("an argument of a body"),
                field.describe(),
                right,
            ));
        }
        let reads = matches!(argument, BodyArgument::Read(_));
        let expected = match role {
            Role::Links => Some(FieldShape { object: Object::DoubledGauge(links.unwrap_or_default()), ..target }),
            Role::Field { used, object, repeated } => {
                let sites = match used {
                    FieldUse::Neighbours | FieldUse::OddDistance => target.sites.neighbours(),
                    _ => target.sites,
                };
                let of_target = |object: Object| match repeated {
                    true => object.with_parts(target.object.parts()).unwrap_or(object),
                    false => object,
                };
                Some(FieldShape { sites, object: object.map_or(target.object, of_target), ..target })
            }
            _ => None,
        };
        let fits = match role {
            Role::Links => reads && given == expected,
            Role::Field { used: FieldUse::Write | FieldUse::Update, .. } => !reads && given == expected,
            Role::Field { used: FieldUse::Converted, .. } => {
                let cut =
                    |field: FieldShape| FieldShape { lattice: target.lattice, precision: target.precision, ..field };
                let same_cut = |field: FieldShape| field.lattice.has_cut_of(&target.lattice);
                matches!(argument, BodyArgument::Converted(_))
                    && given.is_some_and(same_cut)
                    && given.map(cut) == expected
            }
            Role::Field { .. } => reads && given == expected,
            Role::Scalar => matches!(argument, BodyArgument::Scalar(_)),
            Role::Complex => matches!(argument, BodyArgument::Complex(_)),
            Role::Sums(_) | Role::SliceSums(_) | Role::Extreme(_) => matches!(argument, BodyArgument::Sums),
            Role::Coordinates => matches!(argument, BodyArgument::Coordinates),
        };
        if !fits {
            let describe = |shape: Option<FieldShape>| shape.map_or("no field".to_owned(), |field| field.describe());
            let what = call.names.get(number).copied().unwrap_or("an argument of a body");
            return Err(mismatch(what, describe(given), describe(expected)));
        }
    }
    Ok(target)
}

/// Whether a kernel function reads links.
const fn uses_links(roles: &[Role]) -> bool {
    let mut k = 0;
    while k < roles.len() {
        if let Role::Links = roles[k] {
            return true;
        }
        k += 1;
    }
    false
}

/// The number of components of a site that are computed together if a site has several. Each link is then read, and rebuilt, once for all of them.
/// The number of registers allows four colour vectors, but one of any larger object.
const fn parts_at_once(roles: &[Role]) -> usize {
    const VECTORS: usize = 4;
    let mut k = 0;
    while k < roles.len() {
        match roles[k] {
            Role::Field { object: Some(Object::ColourVectors(_)), .. } => {}
            Role::Field { .. } => return 1,
            _ => {}
        }
        k += 1;
    }
    if uses_links(roles) { VECTORS } else { 1 }
}

/// A launch of the kernel function `B` with native vectors. For each pair of kernel function and vectors, only the code for the sites of a task is
/// compiled. The code that prepares a launch and divides it among threads is compiled once for each type of vectors.
struct OfBody<'l, 'a, B> {
    launch: &'l Launch<'a>,
    body: PhantomData<B>,
}

impl<B: Body, A: Real> LaneOperation<A> for OfBody<'_, '_, B> {
    type Output = PartialSums;

    fn run<V: LaneVector<Real = A>>(self, blocks: usize) -> PartialSums {
        if const { V::ONE_BLOCK } { self.run_with::<V, true>(1) } else { self.run_with::<V, false>(blocks) }
    }
}

impl<B: Body> OfBody<'_, '_, B> {
    fn run_with<V: LaneVector, const ONE_BLOCK: bool>(self, blocks: usize) -> PartialSums {
        let sweep = Sweep::<V>::new(self.launch, blocks);
        match const { uses_neighbours(B::ROLES) } {
            true => self.launch.by_rows(sweep, rows_of_task::<B, V, ONE_BLOCK>),
            false => by_elements(sweep, elements_of_task::<B, V, ONE_BLOCK>),
        }
    }
}

/// Computes the rows of a task.
type RowsOfTask<V> = fn(&Sweep<'_, V>, &[usize]) -> Vec<ExactSum>;
/// Computes the components of a task. They are a half-open range.
type ElementsOfTask<V> = fn(&Sweep<'_, V>, [usize; 2]) -> Vec<ExactSum>;

impl<'a> Launch<'a> {
    /// Rows of outer sites. Each site is computed with its neighbours.
    fn by_rows<V: LaneVector>(&self, sweep: Sweep<'a, V>, of_task: RowsOfTask<V>) -> PartialSums {
        let outer = self.target.lattice.outer_extents(self.target.sites);
        let row_bytes = outer[0] * self.words() * sweep.blocks * size_of::<V>();
        let rows_a_task = items_a_task(self.target.osites()).div_ceil(outer[0]);
        let tasks = map_rows((outer, row_bytes), rows_a_task, |rows| of_task(&sweep, rows));
        sweep.sums.taken(tasks)
    }
}

/// Components in the order of memory, regardless of their site.
fn by_elements<V: LaneVector>(sweep: Sweep<'_, V>, of_task: ElementsOfTask<V>) -> PartialSums {
    let elements = sweep.target.osites() * sweep.target.object.parts();
    let a_task = items_a_task(elements);
    let tasks = tasks::map(elements.div_ceil(a_task), |number| {
        of_task(&sweep, [number * a_task, elements.min((number + 1) * a_task)])
    });
    sweep.sums.taken(tasks)
}

/// Runs `B` on the rows of a task.
fn rows_of_task<B: Body, V: LaneVector, const ONE_BLOCK: bool>(sweep: &Sweep<'_, V>, rows: &[usize]) -> Vec<ExactSum> {
    V::Set::run(&ByRows::<B, ONE_BLOCK>(PhantomData), (sweep, rows))
}

/// `B` on rows of outer sites.
struct ByRows<B, const ONE_BLOCK: bool>(PhantomData<fn(B)>);

impl<B: Body, V: LaneVector, const ONE_BLOCK: bool> Task<(&Sweep<'_, V>, &[usize])> for ByRows<B, ONE_BLOCK> {
    type Output = Vec<ExactSum>;
    #[inline(always)]
    fn run(&self, (all, rows): (&Sweep<'_, V>, &[usize])) -> Vec<ExactSum> {
        let mut sweep = OfTask::new(all);
        let mut rebuilt = Vec::new();
        if const { uses_links(B::ROLES) } {
            sweep.rebuild_links(B::ROLES, &mut rebuilt, const { parts_at_once(B::ROLES) });
        }
        let sweep = sweep;
        let target = &all.target;
        let sums = RefCell::new(TaskSums::new(all.sums.count()));
        let (row, parts) = (target.lattice.outer_extents(target.sites)[0], sweep.parts);
        let blocks = if ONE_BLOCK { 1 } else { all.blocks };
        for number in rows {
            for osite in number * row..(number + 1) * row {
                for block in 0..blocks {
                    if const { uses_links(B::ROLES) } && !rebuilt.is_empty() {
                        V::Set::call(&RebuildLinks, (&sweep, Spot { osite, part: 0, block }));
                    }
                    let mut part = 0;
                    while part < parts {
                        let at = Spot { osite, part, block };
                        part += match const { parts_at_once(B::ROLES) } {
                            4 if parts - part >= 4 => site::<B, V, ONE_BLOCK, 4>(&sweep, at, &sums),
                            _ => site::<B, V, ONE_BLOCK, 1>(&sweep, at, &sums),
                        };
                    }
                }
            }
        }
        sums.into_inner().into_exact()
    }
}

/// Runs a kernel function for `N` components of a site, and returns their number.
#[inline(always)]
fn site<B: Body, V: LaneVector, const ONE_BLOCK: bool, const N: usize>(
    sweep: &OfTask<'_, V>,
    at: Spot,
    sums: &RefCell<TaskSums<V::Doubles>>,
) -> usize {
    B::run(LaneSite::<V, ONE_BLOCK, N, true> { sweep, at, sums });
    N
}

/// Runs `B` on the components of a task.
fn elements_of_task<B: Body, V: LaneVector, const ONE_BLOCK: bool>(
    sweep: &Sweep<'_, V>,
    elements: [usize; 2],
) -> Vec<ExactSum> {
    V::Set::run(&ByElements::<B, ONE_BLOCK>(PhantomData), (sweep, elements))
}

/// `B` on components, regardless of their site.
struct ByElements<B, const ONE_BLOCK: bool>(PhantomData<fn(B)>);

impl<B: Body, V: LaneVector, const ONE_BLOCK: bool> Task<(&Sweep<'_, V>, [usize; 2])> for ByElements<B, ONE_BLOCK> {
    type Output = Vec<ExactSum>;
    #[inline(always)]
    fn run(&self, (all, [first, end]): (&Sweep<'_, V>, [usize; 2])) -> Vec<ExactSum> {
        let sweep = OfTask::new(all);
        let sums = RefCell::new(TaskSums::new(all.sums.count()));
        let blocks = if ONE_BLOCK { 1 } else { all.blocks };
        for element in first..end {
            for block in 0..blocks {
                let at = Spot { osite: element, part: 0, block };
                B::run(LaneSite::<V, ONE_BLOCK, 1, false> { sweep: &sweep, at, sums: &sums });
            }
        }
        sums.into_inner().into_exact()
    }
}
