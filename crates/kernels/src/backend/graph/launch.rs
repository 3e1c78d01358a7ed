//! Launches of a graph: arguments by name, with slots in place of fields; and two launches as one.

use lanefield_reference::layout::{Direction, LegOrder};
use num_complex::Complex;

use crate::backend::specification::{Access, ArgumentValue, Arguments, Call, Kernel, KernelArgument};
use crate::backend::{AnyField, BackendError, Memory};

/// A field of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub(super) usize);

/// A scalar of a graph that may change from run to run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GraphScalar(pub(super) usize);

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
    pub(super) kernel: &'static Kernel,
    given: Vec<(&'static str, GivenValue)>,
    pub(super) stencil: Option<&'t B::Table>,
    matrix: Option<&'t B::Table>,
    pub(super) legs: LegOrder,
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
    pub(super) fn slot_of(&self, name: &str) -> Option<usize> {
        self.given.iter().find_map(|(known, given)| match given {
            GivenValue::Read(slot) | GivenValue::Write(slot) if *known == name => Some(*slot),
            _ => None,
        })
    }

    /// This launch, and another after it, as one.
    pub(super) fn then(self, second: Self, fusion: &Fusion) -> Self {
        let legs = if self.stencil.is_some() { self.legs } else { second.legs };
        let mut given: Vec<_> = self.given.into_iter().filter(|(name, _)| *name != fusion.written).collect();
        let renamed = |name: &str| fusion.renamed.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
        given.extend(second.given.into_iter().filter_map(|(name, value)| Some((renamed(name)?, value))));
        Self { kernel: fusion.kernel, given, stencil: self.stencil.or(second.stencil), legs, ..second }
    }

    /// Its fields: the name, the slot, whether it is read, whether it is written.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'static str, usize, bool, bool)> {
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
    pub(super) fn varying_scalars(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.given.iter().filter_map(|(name, given)| match given {
            GivenValue::Varying(scalar) => Some((*name, *scalar)),
            _ => None,
        })
    }

    /// The same with other numbers of fields.
    pub(super) fn renumbered(mut self, number: impl Fn(usize) -> usize) -> Self {
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
    pub(super) fn with_call(
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
