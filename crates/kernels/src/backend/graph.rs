//! A graph of launches: declared once, run many times. Which launch must wait for which follows from what each reads and writes, by the roles of its
//! specification; those that need not wait for each other may run side by side, on several queues of a backend that has them. The bits are those of the
//! launches one after the other.
//!
//! A graph is made through a [`LaunchSequence`] of the backend, as iterations of conjugate gradients are: the first run makes the launches, and each later one
//! repeats what the backend kept of them, without a check, a look-up or an allocation. Scalars that were declared ([`GraphBuilder::scalar`]) and persistent
//! fields may change between runs:
//!
//! ```
//! # use lanefield_kernels::backend::{AnyField, BackendError, Cpu, graph::{GraphBuilder, GraphLaunch}};
//! # use lanefield_kernels::kernel::blas::AXPY;
//! # use lanefield_reference::field::{FieldShape, SiteObject as _, Spinors};
//! # use lanefield_reference::layout::{Extents, Lattice, LatticeOptions, Sites};
//! # use lanefield_reference::real::{Precision, Real as _};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let backend = Cpu::new(None)?;
//! # let lattice = Lattice::new(Extents::new([4, 4, 4, 4])?, f64::COMPLEX, LatticeOptions::default())?;
//! # let shape = FieldShape { lattice, sites: Sites::Full, object: Spinors::ONE.object(), precision: Precision::F64 };
//! # let [x, other] = [0, 1].map(|_| AnyField::zeros(&backend, shape).unwrap());
//! let mut graph = GraphBuilder::new();
//! let (x, y, a) = (graph.persistent(x), graph.own(shape), graph.scalar(0.0));
//! graph.launch(GraphLaunch::new(&AXPY).write("y", y).read("x", x).varying("a", a));
//! let mut graph = graph.build(&backend, 1)?;
//! for step in 0..100 {
//!     graph.set(a, 1.0 / (1.0 + step as f64))?;
//!     graph.run(&backend)?;
//! }
//! graph.put(x, other)?;
//! graph.run(&backend)?;
//! # Ok(())
//! # }
//! ```
//!
//! A graph holds its fields. [`Lifetime`] says how long each of them lives; those that live within a run share memory where no two of them are alive at
//! once. Two neighbouring launches become one where there is a kernel that does both, and the field between them is nobody else's ([`GraphBuilder::fuse`]).

use lanefield_reference::field::FieldShape;
use lanefield_reference::layout::{Direction, LegOrder};
use num_complex::Complex;

use super::specification::{Access, ArgumentValue, Arguments, Call, Kernel, KernelArgument};
use super::{AnyField, BackendError, Launch, LaunchSequence, Memory, Step};

/// A field of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(usize);

/// A scalar of a graph that may change from run to run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GraphScalar(usize);

/// How long a field of a graph lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lifetime {
    /// Within a run, from the launch that writes it first to the last that reads it. Its memory is used again by others.
    Scope,
    /// As long as the graph: what it holds stays from run to run. It begins with zeros.
    Graph,
    /// Longer: a field that was handed in, and can be taken out.
    Persistent,
}

/// Why launches make no graph. Messages are fragments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum GraphError {
    /// A field that lives within a run, and is read before all of it was written.
    #[error(
        "launch {launch}, {kernel}, reads {field}, which lives within a run, before any launch writes all of it: write it first, or let it live as long as the graph"
    )]
    NotWritten { launch: usize, kernel: &'static str, field: &'static str },
    /// A field that is two arguments of a launch that writes to it.
    #[error(
        "launch {launch}, {kernel}, writes to {field} and takes it as another argument: give it a field of its own"
    )]
    Aliased { launch: usize, kernel: &'static str, field: &'static str },
    /// A slot of another graph, or one whose field was taken out.
    #[error("there is no field {slot} in this graph, which has {slots}")]
    NoField { slot: usize, slots: usize },
    /// A scalar of another graph.
    #[error("there is no scalar {scalar} in this graph, which has {scalars}")]
    NoScalar { scalar: usize, scalars: usize },
    /// A field that cannot replace another.
    #[error("field {slot} of the graph is {expected}, and {given} was handed in")]
    OtherShape { slot: usize, expected: String, given: String },
}

impl From<GraphError> for BackendError {
    fn from(error: GraphError) -> Self {
        Self::device(error)
    }
}

/// An argument of a launch of a graph.
#[derive(Clone, Debug)]
enum GivenValue {
    Read(usize),
    Write(usize),
    Reads(Vec<usize>),
    Scalar(f64),
    /// The number of a scalar of the graph.
    Varying(usize),
    Complex(Complex<f64>),
    Scalars(Vec<f64>),
    Indices(Vec<usize>),
}

/// A field that is written: the name of the argument, its slot, and the field.
type WrittenOutput<S> = (&'static str, usize, Option<AnyField<S>>);

/// A launch of a graph: as [`Arguments`], with slots in place of fields.
pub struct GraphLaunch<'t, B: Memory + ?Sized> {
    kernel: &'static Kernel,
    given: Vec<(&'static str, GivenValue)>,
    stencil: Option<&'t B::Table>,
    matrix: Option<&'t B::Table>,
    legs: LegOrder,
    rhs_parts: Option<usize>,
    direction: Direction,
}

impl<'t, B: Memory + ?Sized> GraphLaunch<'t, B> {
    /// Without arguments yet.
    pub fn new(kernel: &'static Kernel) -> Self {
        let (stencil, matrix, rhs_parts) = (None, None, None);
        Self { kernel, given: Vec::new(), stencil, matrix, legs: LegOrder::DEFAULT, rhs_parts, direction: Direction::T }
    }

    fn give(mut self, name: &'static str, given: GivenValue) -> Self {
        self.given.push((name, given));
        self
    }

    /// A field that is read.
    pub fn read(self, name: &'static str, slot: Slot) -> Self {
        self.give(name, GivenValue::Read(slot.0))
    }
    /// A field that is written, or read and written.
    pub fn write(self, name: &'static str, slot: Slot) -> Self {
        self.give(name, GivenValue::Write(slot.0))
    }
    /// Fields that are read.
    pub fn reads(self, name: &'static str, slots: &[Slot]) -> Self {
        self.give(name, GivenValue::Reads(slots.iter().map(|slot| slot.0).collect()))
    }
    /// A scalar.
    pub fn scalar(self, name: &'static str, value: f64) -> Self {
        self.give(name, GivenValue::Scalar(value))
    }
    /// A scalar that may change from run to run.
    pub fn varying(self, name: &'static str, scalar: GraphScalar) -> Self {
        self.give(name, GivenValue::Varying(scalar.0))
    }
    /// A complex scalar.
    pub fn complex(self, name: &'static str, value: Complex<f64>) -> Self {
        self.give(name, GivenValue::Complex(value))
    }
    /// A scalar for each right-hand side.
    pub fn scalars(self, name: &'static str, values: &[f64]) -> Self {
        self.give(name, GivenValue::Scalars(values.to_vec()))
    }
    /// Numbers.
    pub fn indices(self, name: &'static str, values: &[usize]) -> Self {
        self.give(name, GivenValue::Indices(values.to_vec()))
    }
    /// The stencil onto the target.
    pub fn stencil(self, stencil: &'t B::Table) -> Self {
        Self { stencil: Some(stencil), ..self }
    }
    /// The matrix along s.
    pub fn matrix(self, matrix: &'t B::Table) -> Self {
        Self { matrix: Some(matrix), ..self }
    }
    /// The order of the legs.
    pub fn legs(self, legs: LegOrder) -> Self {
        Self { legs, ..self }
    }
    /// Components of a right-hand side.
    pub fn rhs_parts(self, rhs_parts: usize) -> Self {
        Self { rhs_parts: Some(rhs_parts), ..self }
    }
    /// Across which slices something is done.
    pub fn direction(self, direction: Direction) -> Self {
        Self { direction, ..self }
    }

    /// The field of that name, if it is one.
    fn slot_of(&self, name: &str) -> Option<usize> {
        self.given.iter().find_map(|(known, given)| match given {
            GivenValue::Read(slot) | GivenValue::Write(slot) if *known == name => Some(*slot),
            _ => None,
        })
    }

    /// This launch, and another after it, as one.
    fn then(self, second: Self, fusion: &Fusion) -> Self {
        let legs = if self.stencil.is_some() { self.legs } else { second.legs };
        let mut given: Vec<_> = self.given.into_iter().filter(|(name, _)| *name != fusion.written).collect();
        let renamed = |name: &str| fusion.renamed.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
        given.extend(second.given.into_iter().filter_map(|(name, value)| Some((renamed(name)?, value))));
        Self { kernel: fusion.kernel, given, stencil: self.stencil.or(second.stencil), legs, ..second }
    }

    /// Its fields: the name, the slot, whether it is read, whether it is written.
    fn fields(&self) -> impl Iterator<Item = (&'static str, usize, bool, bool)> {
        let access = |name: &str| {
            let mut roles = self.kernel.arguments.iter().filter_map(|argument| match argument {
                KernelArgument::Field(role) if role.name == name => Some(role.access),
                _ => None,
            });
            roles.next_back()
        };
        self.given.iter().flat_map(move |(name, given)| {
            let fields: Vec<_> = match given {
                GivenValue::Read(slot) => vec![(*name, *slot, true, false)],
                GivenValue::Reads(slots) => slots.iter().map(|slot| (*name, *slot, true, false)).collect(),
                GivenValue::Write(slot) => vec![(*name, *slot, access(name) != Some(Access::Write), true)],
                _ => Vec::new(),
            };
            fields
        })
    }

    /// Its arguments that change, and the numbers of their scalars.
    fn varying_scalars(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.given.iter().filter_map(|(name, given)| match given {
            GivenValue::Varying(scalar) => Some((*name, *scalar)),
            _ => None,
        })
    }

    /// The same with other numbers of fields.
    fn renumbered(mut self, number: impl Fn(usize) -> usize) -> Self {
        for (_, given) in &mut self.given {
            match given {
                GivenValue::Read(slot) | GivenValue::Write(slot) => *slot = number(*slot),
                GivenValue::Reads(slots) => slots.iter_mut().for_each(|slot| *slot = number(*slot)),
                _ => {}
            }
        }
        self
    }

    /// Does `work` with the call on these fields, with these values of the graph's scalars.
    fn with_call(
        &self,
        fields: &mut [Option<AnyField<B::Storage>>],
        scalars: &[f64],
        work: impl FnOnce(Call<'_, B>) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        // Those that are written stand beside the others meanwhile, so that both can be borrowed.
        let mut written = Vec::new();
        for (name, given) in &self.given {
            if let GivenValue::Write(place) = given {
                written.push((*name, *place, fields[*place].take()));
            }
        }
        let slots = fields.len();
        let outcome = self.call(fields, &mut written, (scalars, slots)).and_then(work);
        for (_, place, field) in written {
            fields[place] = field;
        }
        outcome
    }

    fn call<'f>(
        &'f self,
        fields: &'f [Option<AnyField<B::Storage>>],
        written: &'f mut [WrittenOutput<B::Storage>],
        (scalars, slots): (&[f64], usize),
    ) -> Result<Call<'f, B>, BackendError>
    where
        't: 'f,
    {
        let missing = |slot: usize| BackendError::from(GraphError::NoField { slot, slots });
        let field = |slot: usize| fields[slot].as_ref().ok_or_else(|| missing(slot));
        let mut arguments = Arguments::new(self.kernel).legs(self.legs).direction(self.direction);
        for (name, given) in &self.given {
            let value = match given {
                GivenValue::Write(_) => continue,
                GivenValue::Read(slot) => ArgumentValue::Read(field(*slot)?),
                GivenValue::Reads(slots) => {
                    ArgumentValue::Reads(slots.iter().map(|slot| field(*slot)).collect::<Result<_, _>>()?)
                }
                GivenValue::Scalar(value) => ArgumentValue::Scalar(*value),
                GivenValue::Varying(scalar) => ArgumentValue::Scalar(scalars[*scalar]),
                GivenValue::Complex(value) => ArgumentValue::Complex(*value),
                GivenValue::Scalars(values) => ArgumentValue::Scalars(values),
                GivenValue::Indices(values) => ArgumentValue::Indices(values),
            };
            arguments = arguments.value(name, value);
        }
        for (name, slot, field) in written {
            let slot = *slot;
            arguments = arguments.value(name, ArgumentValue::Write(field.as_mut().ok_or_else(|| missing(slot))?));
        }
        if let Some(stencil) = self.stencil {
            arguments = arguments.stencil(stencil);
        }
        if let Some(matrix) = self.matrix {
            arguments = arguments.matrix(matrix);
        }
        if let Some(rhs_parts) = self.rhs_parts {
            arguments = arguments.rhs_parts(rhs_parts);
        }
        arguments.call()
    }
}

/// A kernel that does what two do one after the other, without the field that the first writes and the second reads at the same site.
pub struct Fusion {
    /// The first.
    pub first: &'static Kernel,
    /// What it writes.
    pub written: &'static str,
    /// The second.
    pub second: &'static Kernel,
    /// As what it reads that.
    pub read: &'static str,
    /// The kernel that does both. It has the arguments of the first by their names.
    pub kernel: &'static Kernel,
    /// The arguments of the second, and what the kernel calls them.
    pub renamed: Vec<(&'static str, &'static str)>,
}

/// A field as it was declared.
struct Declared<S> {
    shape: FieldShape,
    lifetime: Lifetime,
    field: Option<AnyField<S>>,
}

/// Records launches.
pub struct GraphBuilder<'t, B: Memory + ?Sized> {
    slots: Vec<Declared<B::Storage>>,
    scalars: Vec<f64>,
    launches: Vec<GraphLaunch<'t, B>>,
}

impl<B: Memory + ?Sized> Default for GraphBuilder<'_, B> {
    fn default() -> Self {
        Self { slots: Vec::new(), scalars: Vec::new(), launches: Vec::new() }
    }
}

impl<'t, B: Launch> GraphBuilder<'t, B> {
    /// Nothing recorded.
    pub fn new() -> Self {
        Self::default()
    }

    fn declare(&mut self, shape: FieldShape, lifetime: Lifetime, field: Option<AnyField<B::Storage>>) -> Slot {
        self.slots.push(Declared { shape, lifetime, field });
        Slot(self.slots.len() - 1)
    }

    /// A field that lives within a run.
    pub fn scope(&mut self, shape: FieldShape) -> Slot {
        self.declare(shape, Lifetime::Scope, None)
    }

    /// A field that lives as long as the graph.
    pub fn own(&mut self, shape: FieldShape) -> Slot {
        self.declare(shape, Lifetime::Graph, None)
    }

    /// A field that is handed in, and can be taken out.
    pub fn persistent(&mut self, field: AnyField<B::Storage>) -> Slot {
        self.declare(*field.shape(), Lifetime::Persistent, Some(field))
    }

    /// A scalar that may change from run to run, and its value in the first.
    pub fn scalar(&mut self, value: f64) -> GraphScalar {
        self.scalars.push(value);
        GraphScalar(self.scalars.len() - 1)
    }

    /// Records a launch, which reads what those before it wrote.
    pub fn launch(&mut self, launch: GraphLaunch<'t, B>) {
        self.launches.push(launch);
    }

    /// Puts one launch in the place of two wherever one of these fusions does the same: the field between them lives within a run and nobody else uses it, and
    /// nothing comes between them that they depend on. How many there were. The bits stay.
    pub fn fuse(&mut self, fusions: &[&Fusion]) -> usize {
        let mut fused = 0;
        while let Some((first, second, fusion)) = self.next_fusion(fusions) {
            let second_launch = self.launches.remove(second);
            let first_launch = self.launches.remove(first);
            self.launches.insert(second - 1, first_launch.then(second_launch, fusion));
            fused += 1;
        }
        fused
    }

    /// Two launches that one does: their numbers, and how.
    fn next_fusion<'f>(&self, fusions: &[&'f Fusion]) -> Option<(usize, usize, &'f Fusion)> {
        for (second, launch) in self.launches.iter().enumerate() {
            for &fusion in fusions.iter().filter(|fusion| fusion.second == launch.kernel) {
                let Some(between) = launch.slot_of(fusion.read) else { continue };
                let writes = |before: &GraphLaunch<'t, B>| {
                    before.kernel == fusion.first && before.slot_of(fusion.written) == Some(between)
                };
                let first = self.launches[..second].iter().rposition(writes);
                if let Some(first) = first.filter(|&first| self.may_fuse(first, second, between, fusion)) {
                    return Some((first, second, fusion));
                }
            }
        }
        None
    }

    fn may_fuse(&self, first: usize, second: usize, between: usize, fusion: &Fusion) -> bool {
        let [before, after] = [first, second].map(|number| &self.launches[number]);
        let uses =
            self.launches.iter().flat_map(|launch| launch.fields()).filter(|(_, slot, ..)| *slot == between).count();
        let is_private = self
            .slots
            .get(between)
            .is_some_and(|slot| slot.lifetime == Lifetime::Scope && fusion.kernel.takes(slot.shape.precision));
        // Of one launch: another site may be read, or written, before or after.
        let clash = |one: &GraphLaunch<'t, B>, other: &GraphLaunch<'t, B>| {
            one.fields().any(|(_, slot, _, writes)| {
                slot != between && other.fields().any(|(_, known, _, written)| known == slot && (writes || written))
            })
        };
        let stays = self.launches[first + 1..second].iter().all(|launch| !clash(before, launch));
        let same_stencil = match (before.stencil, after.stencil) {
            (Some(one), Some(other)) => std::ptr::eq(one, other) && before.legs == after.legs,
            _ => true,
        };
        uses == 2 && is_private && stays && !clash(before, after) && same_stencil
    }

    /// The graph, to run on so many queues (at least one). Its fields are made now, and every launch is held against its specification.
    ///
    /// # Errors
    /// [`GraphError`]; [`BackendError::Argument`]; what the backend reports.
    pub fn build(self, backend: &B, queues: usize) -> Result<Graph<'t, B>, BackendError> {
        let Self { slots, scalars, launches } = self;
        check(&slots, scalars.len(), &launches)?;
        let homes = share(&slots, &launches);
        let places = homes.iter().flatten().map(|home| home + 1).max().unwrap_or(0);
        let mut fields: Vec<Option<AnyField<B::Storage>>> = (0..places).map(|_| None).collect();
        let declared = slots.iter().map(|slot| (slot.shape, slot.lifetime)).collect();
        for (Declared { shape, field, .. }, &home) in slots.into_iter().zip(&homes) {
            // Nobody needs memory for a field that nobody uses.
            if let Some(home) = home
                && fields[home].is_none()
            {
                fields[home] = Some(field.map_or_else(|| AnyField::zeros(backend, shape), Ok)?);
            }
        }
        let launches: Vec<_> =
            launches.into_iter().map(|launch| launch.renumbered(|slot| homes[slot].unwrap_or(places))).collect();
        for launch in &launches {
            launch.with_call(&mut fields, &scalars, |call| call.check_launched())?;
        }
        let queues = queues.max(1);
        let steps = schedule(&edges(&launches, places), queues);
        let node = |(launch, step): (GraphLaunch<'t, B>, Step)| {
            let scalars = launch.varying_scalars().collect();
            Node { launch, step: Step { scalars, ..step } }
        };
        let nodes = launches.into_iter().zip(steps).map(node).collect();
        let mut sequence = backend.sequence(queues);
        scalars.iter().enumerate().for_each(|(scalar, &value)| sequence.set(scalar, value));
        Ok(Graph { nodes, fields, scalars, homes, declared, changed: Vec::new(), sequence, repetitions: 0 })
    }
}

/// Every slot and scalar is one of the graph; no field is written and another argument too; what lives within a run is written before it is read.
fn check<S, B: Memory<Storage = S> + ?Sized>(
    slots: &[Declared<S>],
    scalars: usize,
    launches: &[GraphLaunch<'_, B>],
) -> Result<(), GraphError> {
    let mut is_written = vec![false; slots.len()];
    for (number, launch) in launches.iter().enumerate() {
        let kernel = launch.kernel.name;
        if let Some((_, scalar)) = launch.varying_scalars().find(|(_, scalar)| *scalar >= scalars) {
            return Err(GraphError::NoScalar { scalar, scalars });
        }
        let fields: Vec<_> = launch.fields().collect();
        for &(field, slot, reads, writes) in &fields {
            let Some(declared) = slots.get(slot) else {
                return Err(GraphError::NoField { slot, slots: slots.len() });
            };
            if writes && fields.iter().filter(|(_, other, ..)| *other == slot).count() > 1 {
                return Err(GraphError::Aliased { launch: number, kernel, field });
            }
            if reads && declared.lifetime == Lifetime::Scope && !is_written[slot] {
                return Err(GraphError::NotWritten { launch: number, kernel, field });
            }
        }
        for (_, slot, _, writes) in fields {
            is_written[slot] |= writes;
        }
    }
    Ok(())
}

/// Where each slot has its memory: those that live within a run take that of one of the same shape that is no longer read, the one that has
/// waited longest, so that few launches must wait for it.
fn share<S, B: Memory<Storage = S> + ?Sized>(
    slots: &[Declared<S>],
    launches: &[GraphLaunch<'_, B>],
) -> Vec<Option<usize>> {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; slots.len()];
    for (number, launch) in launches.iter().enumerate() {
        for (_, slot, ..) in launch.fields() {
            let life = lives[slot].get_or_insert((number, number));
            life.1 = number;
        }
    }
    // Shape and last use of each place; none of one that is nobody else's.
    let mut places: Vec<Option<(FieldShape, usize)>> = Vec::new();
    let mut homes = vec![None; slots.len()];
    let mut in_turn: Vec<usize> = (0..slots.len()).collect();
    in_turn.sort_by_key(|&slot| lives[slot].map(|(first, _)| first));
    for slot in in_turn {
        let Declared { shape, lifetime, .. } = &slots[slot];
        if *lifetime == Lifetime::Scope && lives[slot].is_none() {
            continue;
        }
        let (first, last) = lives[slot].unwrap_or((0, usize::MAX));
        let free =
            |place: &Option<(FieldShape, usize)>| matches!(place, Some((of, until)) if of == shape && *until < first);
        let waiting = places.iter().enumerate().filter(|(_, place)| free(place));
        let longest = waiting.min_by_key(|(_, place)| place.map(|(_, until)| until)).map(|(number, _)| number);
        homes[slot] = Some(match (lifetime, longest) {
            (Lifetime::Scope, Some(place)) => {
                places[place] = Some((*shape, last));
                place
            }
            _ => {
                places.push((*lifetime == Lifetime::Scope).then_some((*shape, last)));
                places.len() - 1
            }
        });
    }
    homes
}

/// For each launch, those that it must wait for: who wrote what it reads, and who read or wrote what it writes.
fn edges<B: Memory + ?Sized>(launches: &[GraphLaunch<'_, B>], places: usize) -> Vec<Vec<usize>> {
    let mut writer: Vec<Option<usize>> = vec![None; places];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); places];
    let mut edges = Vec::with_capacity(launches.len());
    for (number, launch) in launches.iter().enumerate() {
        let mut after = Vec::new();
        for (_, place, _, writes) in launch.fields() {
            after.extend(writer[place]);
            if writes {
                after.append(&mut readers[place]);
            }
        }
        for (_, place, _, writes) in launch.fields() {
            match writes {
                true => writer[place] = Some(number),
                false => readers[place].push(number),
            }
        }
        after.sort_unstable();
        after.dedup();
        edges.push(after);
    }
    edges
}

/// Queues of launches that wait for others: behind the last of these that nobody follows yet, else the queue with the fewest launches.
fn schedule(edges: &[Vec<usize>], queues: usize) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::with_capacity(edges.len());
    let mut last: Vec<Option<usize>> = vec![None; queues];
    let mut lengths = vec![0; queues];
    for after in edges {
        let tail = after.iter().rev().find(|&&before| last[steps[before].queue] == Some(before));
        let shortest = || (0..queues).min_by_key(|&queue| lengths[queue]).unwrap_or(0);
        let queue = tail.map_or_else(shortest, |&before| steps[before].queue);
        // A queue is in order: who waits for a launch waits for all before it there.
        let latest = |other: usize| after.iter().copied().filter(|&before| steps[before].queue == other).max();
        let after = (0..queues).filter(|&other| other != queue).filter_map(latest).collect();
        last[queue] = Some(steps.len());
        lengths[queue] += 1;
        steps.push(Step { queue, after, ..Step::default() });
    }
    steps
}

struct Node<'t, B: Memory + ?Sized> {
    launch: GraphLaunch<'t, B>,
    step: Step,
}

/// Launches that were recorded, and their fields.
pub struct Graph<'t, B: Launch> {
    nodes: Vec<Node<'t, B>>,
    fields: Vec<Option<AnyField<B::Storage>>>,
    /// Where each slot has its memory.
    homes: Vec<Option<usize>>,
    declared: Vec<(FieldShape, Lifetime)>,
    scalars: Vec<f64>,
    /// Fields that were put in or taken out since the last run.
    changed: Vec<usize>,
    sequence: Box<dyn LaunchSequence<B>>,
    repetitions: usize,
}

impl<B: Launch> Graph<'_, B> {
    /// Runs all launches. Work may be queued; what is asked of the backend afterwards finds it done.
    ///
    /// # Errors
    /// What the backend reports; of fields that were taken out, [`GraphError::NoField`].
    pub fn run(&mut self, backend: &B) -> Result<(), BackendError> {
        self.hand_over_fields()?;
        let Self { nodes, fields, scalars, sequence, .. } = self;
        match sequence.repeat(backend)? {
            true => self.repetitions += 1,
            false => {
                for Node { launch, step } in nodes {
                    launch.with_call(fields, scalars, |call| sequence.launch(backend, call, step))?;
                }
            }
        }
        self.sequence.end(backend)
    }

    /// Tells the sequence which fields are others than in the run before.
    fn hand_over_fields(&mut self) -> Result<(), BackendError> {
        while let Some(&home) = self.changed.last() {
            for (number, Node { launch, .. }) in self.nodes.iter().enumerate() {
                for (name, ..) in launch.fields().filter(|(_, place, ..)| *place == home) {
                    let missing = GraphError::NoField { slot: home, slots: self.fields.len() };
                    self.sequence.set_field(number, name, self.fields[home].as_ref().ok_or(missing)?)?;
                }
            }
            self.changed.pop();
        }
        Ok(())
    }

    /// Sets a scalar for the runs that come.
    ///
    /// # Errors
    /// [`GraphError::NoScalar`] for one of another graph.
    pub fn set(&mut self, scalar: GraphScalar, value: f64) -> Result<(), GraphError> {
        let scalars = self.scalars.len();
        *self.scalars.get_mut(scalar.0).ok_or(GraphError::NoScalar { scalar: scalar.0, scalars })? = value;
        self.sequence.set(scalar.0, value);
        Ok(())
    }

    /// Runs so far in which the backend repeated the launches that it had kept.
    pub fn repetitions(&self) -> usize {
        self.repetitions
    }

    /// Launches of a run.
    pub fn launches(&self) -> usize {
        self.nodes.len()
    }

    /// Fields that have memory: fewer than were declared where those that live within a run share it.
    pub fn places(&self) -> usize {
        self.fields.len()
    }

    /// Pairs of launches on different queues of which one waits for the other.
    pub fn waits(&self) -> usize {
        self.nodes.iter().map(|node| node.step.after.len()).sum()
    }

    /// Queues on which anything runs.
    pub fn queues_used(&self) -> usize {
        self.nodes.iter().map(|node| node.step.queue + 1).max().unwrap_or(0)
    }

    fn home(&self, slot: Slot) -> Result<usize, GraphError> {
        let missing = GraphError::NoField { slot: slot.0, slots: self.homes.len() };
        match self.declared.get(slot.0) {
            Some((_, Lifetime::Graph | Lifetime::Persistent)) => self.homes[slot.0].ok_or(missing),
            _ => Err(missing),
        }
    }

    /// A field that lives as long as the graph, or longer.
    ///
    /// # Errors
    /// [`GraphError::NoField`] for one that lives within a run, or was taken out.
    pub fn field(&self, slot: Slot) -> Result<&AnyField<B::Storage>, GraphError> {
        let field = self.fields[self.home(slot)?].as_ref();
        field.ok_or(GraphError::NoField { slot: slot.0, slots: self.homes.len() })
    }

    /// Takes a field out. The graph runs again when another was put in its place.
    pub fn take(&mut self, slot: Slot) -> Result<AnyField<B::Storage>, GraphError> {
        let (home, slots) = (self.home(slot)?, self.homes.len());
        let field = self.fields[home].take().ok_or(GraphError::NoField { slot: slot.0, slots })?;
        self.changed.push(home);
        Ok(field)
    }

    /// Puts a field in the place of one of the same shape; the one that was there, if it was not taken out.
    ///
    /// # Errors
    /// [`GraphError::OtherShape`]; [`GraphError::NoField`] for one that lives within a run.
    pub fn put(&mut self, slot: Slot, field: AnyField<B::Storage>) -> Result<Option<AnyField<B::Storage>>, GraphError> {
        let home = self.home(slot)?;
        let (shape, _) = &self.declared[slot.0];
        if field.shape() != shape {
            let (expected, given) = (shape.describe(), field.shape().describe());
            return Err(GraphError::OtherShape { slot: slot.0, expected, given });
        }
        self.changed.push(home);
        Ok(self.fields[home].replace(field))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(queue: usize, after: &[usize]) -> Step {
        Step { queue, after: after.to_vec(), ..Step::default() }
    }

    #[test]
    fn launches_that_follow_each_other_stay_on_one_queue() {
        assert_eq!(schedule(&[vec![], vec![0], vec![1]], 3), [step(0, &[]), step(0, &[]), step(0, &[])]);
    }

    #[test]
    fn what_need_not_wait_goes_to_another_queue_and_who_joins_waits_once_for_each() {
        // Two chains, and one launch behind both.
        let edges = [vec![], vec![], vec![0], vec![1], vec![0, 1, 2, 3]];
        let steps = [step(0, &[]), step(1, &[]), step(0, &[]), step(1, &[]), step(1, &[2])];
        assert_eq!(schedule(&edges, 2), steps);
    }

    #[test]
    fn one_queue_needs_no_waiting() {
        assert!(schedule(&[vec![], vec![], vec![0, 1]], 1).iter().all(|found| *found == step(0, &[])));
    }
}
