//! Launches of a graph: arguments by name, with slots instead of fields. Also the fusion of two launches.

use num_complex::Complex;

use crate::backend::specification::{Access, ArgumentList, ArgumentValue, Call, Kernel, KernelArgument, of_numbers};
use crate::backend::{AnyField, BackendError, Memory};

/// A field of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub(super) usize);

/// A scalar of a graph that may change from run to run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GraphScalar(pub(super) usize);

/// An error of a graph. Messages are fragments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum GraphError {
    /// A field that lives within a run is read before it has been written completely.
    #[error(
        "launch {launch}, {kernel}, reads {field}, which lives within a run, before any launch writes all of it: write it first, or \
         declare it with the lifetime of the graph"
    )]
    NotWritten { launch: usize, kernel: &'static str, field: &'static str },
    /// A field is passed as two arguments of a launch that writes to it.
    #[error("launch {launch}, {kernel}, writes to {field} and has it as another argument: use different fields")]
    Aliased { launch: usize, kernel: &'static str, field: &'static str },
    /// The slot belongs to another graph, or its field was taken out.
    #[error("there is no field {slot} in this graph, which has {slots}")]
    NoField { slot: usize, slots: usize },
    /// The scalar belongs to another graph.
    #[error("there is no scalar {scalar} in this graph, which has {scalars}")]
    NoScalar { scalar: usize, scalars: usize },
    /// The field has another shape than the one that it should replace.
    #[error("field {slot} of the graph is {expected}, but {given} was passed")]
    OtherShape { slot: usize, expected: String, given: String },
}

impl From<GraphError> for BackendError {
    fn from(error: GraphError) -> Self {
        Self::device(error)
    }
}

/// The value of an argument of a launch in a graph.
#[derive(Clone, Debug)]
pub enum GraphValue<'t> {
    Read(usize),
    Write(usize),
    Reads(Vec<usize>),
    /// The number of a scalar of the graph.
    Varying(usize),
    Scalar(f64),
    Complex(Complex<f64>),
    Scalars(&'t [f64]),
    Indices(&'t [usize]),
}

of_numbers!(GraphValue);

/// A field that is written: the name of the argument, its slot, and the field.
type WrittenOutput<S> = (&'static str, usize, Option<AnyField<S>>);

/// A launch of a graph. It is like [`Arguments`](crate::backend::specification::Arguments), with slots instead of fields.
pub type GraphLaunch<'t, B> = ArgumentList<'t, B, GraphValue<'t>>;

impl<'t, B: Memory + ?Sized> GraphLaunch<'t, B> {
    /// Adds a field that is read.
    pub fn read(self, name: &'static str, slot: Slot) -> Self {
        self.value(name, GraphValue::Read(slot.0))
    }

    /// Adds a field that is written, or read and written.
    pub fn write(self, name: &'static str, slot: Slot) -> Self {
        self.value(name, GraphValue::Write(slot.0))
    }

    /// Adds a list of fields that are read.
    pub fn reads(self, name: &'static str, slots: &[Slot]) -> Self {
        self.value(name, GraphValue::Reads(slots.iter().map(|slot| slot.0).collect()))
    }

    /// Adds a scalar that may change from run to run.
    pub fn varying(self, name: &'static str, scalar: GraphScalar) -> Self {
        self.value(name, GraphValue::Varying(scalar.0))
    }

    /// The slot of the argument with this name, if it is a field.
    pub(super) fn slot_of(&self, name: &str) -> Option<usize> {
        self.values.iter().find_map(|(known, given)| match given {
            GraphValue::Read(slot) | GraphValue::Write(slot) if *known == name => Some(*slot),
            _ => None,
        })
    }

    /// The fusion of this launch with a later one.
    pub(super) fn then(self, second: Self, fusion: &Fusion) -> Self {
        let legs = if self.stencil.is_some() { self.legs } else { second.legs };
        let mut values: Vec<_> = self.values.into_iter().filter(|(name, _)| *name != fusion.written).collect();
        let renamed = |name: &str| fusion.renamed.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
        values.extend(second.values.into_iter().filter_map(|(name, value)| Some((renamed(name)?, value))));
        Self { kernel: fusion.kernel, values, stencil: self.stencil.or(second.stencil), legs, ..second }
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
        self.values.iter().flat_map(move |(name, given)| {
            let fields: Vec<_> = match given {
                GraphValue::Read(slot) => vec![(*name, *slot, true, false)],
                GraphValue::Reads(slots) => slots.iter().map(|slot| (*name, *slot, true, false)).collect(),
                GraphValue::Write(slot) => vec![(*name, *slot, access(name) != Some(Access::Write), true)],
                _ => Vec::new(),
            };
            fields
        })
    }

    /// The arguments that change from run to run, and the numbers of their scalars.
    pub(super) fn varying_scalars(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.values.iter().filter_map(|(name, given)| match given {
            GraphValue::Varying(scalar) => Some((*name, *scalar)),
            _ => None,
        })
    }

    /// The same launch with other numbers of fields.
    pub(super) fn renumbered(mut self, number: impl Fn(usize) -> usize) -> Self {
        for (_, given) in &mut self.values {
            match given {
                GraphValue::Read(slot) | GraphValue::Write(slot) => *slot = number(*slot),
                GraphValue::Reads(slots) => slots.iter_mut().for_each(|slot| *slot = number(*slot)),
                _ => {}
            }
        }
        self
    }

    /// Calls `work` with the call on these fields, with these values of the graph's scalars.
    pub(super) fn with_call(
        &self,
        fields: &mut [Option<AnyField<B::Storage>>],
        scalars: &[f64],
        work: impl FnOnce(Call<'_, B>) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        // Those that are written stand beside the others meanwhile, so that both can be borrowed.
        let mut written = Vec::new();
        for (name, given) in &self.values {
            if let GraphValue::Write(place) = given {
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
        let mut values = Vec::with_capacity(self.values.len());
        for (name, given) in &self.values {
            let value = match given {
                GraphValue::Write(_) => continue,
                GraphValue::Read(slot) => ArgumentValue::Read(field(*slot)?),
                GraphValue::Reads(slots) => {
                    ArgumentValue::Reads(slots.iter().map(|slot| field(*slot)).collect::<Result<_, _>>()?)
                }
                GraphValue::Scalar(value) => ArgumentValue::Scalar(*value),
                GraphValue::Varying(scalar) => ArgumentValue::Scalar(scalars[*scalar]),
                GraphValue::Complex(value) => ArgumentValue::Complex(*value),
                GraphValue::Scalars(values) => ArgumentValue::Scalars(values),
                GraphValue::Indices(values) => ArgumentValue::Indices(values),
            };
            values.push((*name, value));
        }
        for (name, slot, field) in written {
            let slot = *slot;
            values.push((*name, ArgumentValue::Write(field.as_mut().ok_or_else(|| missing(slot))?)));
        }
        let Self { kernel, stencil, matrix, legs, rhs_parts, direction, .. } = *self;
        ArgumentList { kernel, values, stencil, matrix, legs, rhs_parts, direction }.call()
    }
}

/// A kernel that computes two others in sequence. It does not store the field that the first writes and the second reads at the same site.
pub struct Fusion {
    /// The first kernel.
    pub first: &'static Kernel,
    /// The argument that it writes.
    pub written: &'static str,
    /// The second kernel.
    pub second: &'static Kernel,
    /// The argument as which it reads that field.
    pub read: &'static str,
    /// The kernel that computes both. The arguments of the first keep their names.
    pub kernel: &'static Kernel,
    /// The arguments of the second, and their names in the fused kernel.
    pub renamed: Vec<(&'static str, &'static str)>,
}
