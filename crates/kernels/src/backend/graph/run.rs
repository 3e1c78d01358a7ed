//! Running a graph.

use lanefield_reference::field::FieldShape;

use super::launch::{GraphError, GraphLaunch, GraphScalar, Slot};
use super::plan::Lifetime;
use crate::backend::{AnyField, BackendError, Launch, LaunchSequence, Memory, Step};

pub(super) struct Node<'t, B: Memory + ?Sized> {
    pub launch: GraphLaunch<'t, B>,
    pub step: Step,
}

/// Recorded launches and their fields.
pub struct Graph<'t, B: Launch> {
    pub(super) nodes: Vec<Node<'t, B>>,
    pub(super) fields: Vec<Option<AnyField<B::Storage>>>,
    /// For each slot, the number of its memory.
    pub(super) homes: Vec<Option<usize>>,
    pub(super) declared: Vec<(FieldShape, Lifetime)>,
    pub(super) scalars: Vec<f64>,
    /// Fields that were put in or taken out since the last run.
    pub(super) changed: Vec<usize>,
    pub(super) sequence: Box<dyn LaunchSequence<B>>,
    pub(super) repetitions: usize,
}

impl<B: Launch> Graph<'_, B> {
    /// Runs all launches. Work may be queued: later calls of the backend see its results.
    ///
    /// # Errors
    /// [`GraphError::NoField`] for a field that was taken out; errors of the backend.
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

    /// Passes the fields that were replaced since the last run to the sequence.
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

    /// Sets a scalar for later runs.
    ///
    /// # Errors
    /// [`GraphError::NoScalar`] if the scalar belongs to another graph.
    pub fn set(&mut self, scalar: GraphScalar, value: f64) -> Result<(), GraphError> {
        let scalars = self.scalars.len();
        *self.scalars.get_mut(scalar.0).ok_or(GraphError::NoScalar { scalar: scalar.0, scalars })? = value;
        self.sequence.set(scalar.0, value);
        Ok(())
    }

    /// The number of runs in which the backend repeated launches that it had kept.
    pub fn repetitions(&self) -> usize {
        self.repetitions
    }

    /// The number of launches of a run.
    pub fn launches(&self) -> usize {
        self.nodes.len()
    }

    /// The number of fields with memory of their own: fewer than were declared if some share it.
    pub fn places(&self) -> usize {
        self.fields.len()
    }

    /// The number of pairs of launches on different queues of which one waits for the other.
    pub fn waits(&self) -> usize {
        self.nodes.iter().map(|node| node.step.after.len()).sum()
    }

    /// The number of queues that are used.
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
    /// [`GraphError::NoField`] if the field lives within a run, or was taken out.
    pub fn field(&self, slot: Slot) -> Result<&AnyField<B::Storage>, GraphError> {
        let field = self.fields[self.home(slot)?].as_ref();
        field.ok_or(GraphError::NoField { slot: slot.0, slots: self.homes.len() })
    }

    /// Takes a field out. The graph can run again when another one was put in its place.
    pub fn take(&mut self, slot: Slot) -> Result<AnyField<B::Storage>, GraphError> {
        let (home, slots) = (self.home(slot)?, self.homes.len());
        let field = self.fields[home].take().ok_or(GraphError::NoField { slot: slot.0, slots })?;
        self.changed.push(home);
        Ok(field)
    }

    /// Replaces a field by one of the same shape. Returns the old one, unless it was taken out before.
    ///
    /// # Errors
    /// [`GraphError::OtherShape`], and [`GraphError::NoField`] if the field lives within a run.
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
