//! The plan of a graph: which fields share memory, which launches wait for which, and on which queue each launch runs.

use lanefield_reference::field::FieldShape;

use super::launch::{GraphError, GraphLaunch};
use crate::backend::{AnyField, Memory, Step};

/// The lifetime of a field of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lifetime {
    /// Within a run: from the first launch that writes it to the last that reads it. Other fields reuse its memory.
    Scope,
    /// As long as the graph: it keeps its contents from run to run. It starts as zeros.
    Graph,
    /// Longer than the graph: the field was passed in, and can be taken out.
    Persistent,
}

/// A declared field.
pub(super) struct Declared<S> {
    pub shape: FieldShape,
    pub lifetime: Lifetime,
    pub field: Option<AnyField<S>>,
}

/// Checks that every slot and scalar belongs to the graph, that no field that is written is a second argument, and that fields that live within a
/// run are written before they are read.
pub(super) fn check<S, B: Memory<Storage = S> + ?Sized>(
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

/// Assigns memory to each slot. A field that lives within a run reuses the memory of a field of the same shape that is no longer read. It is the one
/// that has been free for longest, so that few launches must wait for it.
pub(super) fn share<S, B: Memory<Storage = S> + ?Sized>(
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

/// For each launch, the launches that it must wait for: those that wrote what it reads, and those that read or wrote what it writes.
pub(super) fn edges<B: Memory + ?Sized>(launches: &[GraphLaunch<'_, B>], places: usize) -> Vec<Vec<usize>> {
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

/// Assigns queues. A launch goes to the queue of the last launch that it waits for and that nothing follows yet, else to the queue with the fewest
/// launches.
pub(super) fn schedule(edges: &[Vec<usize>], queues: usize) -> Vec<Step> {
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
