//! Records launches, fuses them, and builds a graph.

use lanefield_reference::field::FieldShape;

use super::launch::{Fusion, GraphLaunch, GraphScalar, Slot};
use super::plan::{Declared, Lifetime, check, edges, schedule, share};
use super::run::{Graph, Node};
use crate::backend::{AnyField, BackendError, Launch, Memory, Step};

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
    /// An empty recording.
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

    /// A field that is passed in, and can be taken out again.
    pub fn persistent(&mut self, field: AnyField<B::Storage>) -> Slot {
        self.declare(*field.shape(), Lifetime::Persistent, Some(field))
    }

    /// A scalar that may change from run to run, with its value for the first run.
    pub fn scalar(&mut self, value: f64) -> GraphScalar {
        self.scalars.push(value);
        GraphScalar(self.scalars.len() - 1)
    }

    /// Records a launch. It sees the results of the launches before it.
    pub fn launch(&mut self, launch: GraphLaunch<'t, B>) {
        self.launches.push(launch);
    }

    /// Replaces two launches by one, wherever one of these fusions applies: the field between the two launches lives within a run, nothing else uses
    /// it, and no launch between them depends on either. Returns the number of replacements. Bits do not change.
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

    /// Two launches that can be fused: their numbers, and the fusion.
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

    /// Builds a graph for `queues` queues (0 counts as 1). Allocates its fields, and checks every launch against the specification of its kernel.
    ///
    /// # Errors
    /// [`GraphError`](super::GraphError), [`BackendError::Argument`], and errors of the backend.
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
