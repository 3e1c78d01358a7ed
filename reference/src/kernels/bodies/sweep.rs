//! The data that a call of a kernel function reads and writes, as vectors.

use num_complex::Complex;

use super::super::hop::{Edge, signed_factor};
use super::launch::{Bound, BoundField, Launch};
use super::sums::Sums;
use crate::body::{MOST_ARGUMENTS as MOST, Role};
use crate::dagger::Dagger;
use crate::field::FieldShape;
use crate::layout::{DIMENSIONS, LEGS, Leg, SiteCoordinates};
use crate::links::LinkFormat;
use crate::real::Real;
use crate::tensor::LaneVector;

/// The number of words of a link that is stored whole.
pub const LINK_WORDS: usize = LinkFormat::Full.words();
/// The number of words of a link with two stored rows.
pub const TWO_ROWS: usize = LinkFormat::TwoRows.words();
/// The number of words of the links of a site that are stored whole, or rebuilt.
pub const WHOLE_LINKS: usize = LEGS * LINK_WORDS;

/// All data that a kernel function reads and writes, as vectors.
pub struct Sweep<'a, V: LaneVector> {
    pub arguments: [At<V>; MOST],
    pub neighbours: &'a [[u32; LEGS]],
    pub of_neighbours: &'a [[u32; LEGS]],
    pub edges: Option<[Edge<V>; LEGS]>,
    pub legs: [Leg; LEGS],
    pub dagger: Dagger,
    pub interior_factor: V,
    pub target: FieldShape,
    pub blocks: usize,
    /// The coordinates of outer sites in the first lane.
    pub coordinates: Vec<[u16; DIMENSIONS]>,
    /// The origins of the lanes, as vectors with the real in both places of a lane, block by block.
    pub origins: [Vec<V>; DIMENSIONS],
    /// For each set of directions, sign bits of the lanes whose origins are odd, block by block; and the complement.
    pub odd: Vec<[Vec<V>; 2]>,
    pub sums: Sums,
}

// SAFETY: as of `Launch`.
unsafe impl<V: LaneVector> Sync for Sweep<'_, V> {}

/// Data that is read at every site, on the stack of a task: the compiler sees that no kernel function writes it, and keeps it in registers.
pub struct OfTask<'a, V: LaneVector> {
    pub arguments: [At<V>; MOST],
    pub neighbours: &'a [[u32; LEGS]],
    pub edges: Option<&'a [Edge<V>; LEGS]>,
    pub legs: [Leg; LEGS],
    pub dagger: Dagger,
    pub interior_factor: V,
    pub blocks: usize,
    pub parts: usize,
    pub in_order: bool,
    pub all: &'a Sweep<'a, V>,
}

impl<'a, V: LaneVector> OfTask<'a, V> {
    #[inline(always)]
    pub fn new(all: &'a Sweep<'a, V>) -> Self {
        Self {
            arguments: all.arguments,
            neighbours: all.neighbours,
            edges: all.edges.as_ref(),
            legs: all.legs,
            dagger: all.dagger,
            interior_factor: all.interior_factor,
            blocks: all.blocks,
            parts: all.target.object.parts(),
            in_order: all.sums.are_in_order(),
            all,
        }
    }

    /// Allocates the memory in which the links of a site are rebuilt. With reconstruct 12, none is needed if all components are computed together:
    /// their third row is then computed in registers.
    pub fn rebuild_links(&mut self, roles: &[Role], places: &mut Vec<Vec<V>>, at_once: usize) {
        for (argument, _) in self.arguments.iter_mut().zip(roles).filter(|(_, role)| **role == Role::Links) {
            let in_registers = argument.words == TWO_ROWS * LEGS && self.parts <= at_once;
            if argument.words != WHOLE_LINKS && !in_registers {
                let mut links = vec![V::zeroed(); WHOLE_LINKS];
                argument.rebuilt = links.as_mut_ptr();
                places.push(links);
            }
        }
    }
}

/// An argument: the address of a field, or a number.
#[derive(Clone, Copy)]
pub struct At<V> {
    pub start: *mut V,
    /// The number of components of the field.
    pub objects: usize,
    pub words: usize,
    pub parts: usize,
    pub in_doubles: bool,
    pub value: V,
    pub first_sum: usize,
    /// The memory in which the links of a site are rebuilt, or null if they are read as stored.
    pub rebuilt: *mut V,
}

impl<'a, V: LaneVector> Sweep<'a, V> {
    pub fn new(launch: &Launch<'a>, blocks: usize) -> Self {
        let origins: &[[u16; DIMENSIONS]] = launch.coordinates.as_ref().map_or(&[], SiteCoordinates::lanes);
        let all_sets = if origins.is_empty() { 0 } else { 1 << DIMENSIONS };
        let Launch { bound, stencil, of_neighbours, links, legs, dagger, target, coordinates, .. } = launch;
        let nothing = At {
            start: std::ptr::null_mut(),
            objects: 0,
            words: 0,
            parts: 1,
            in_doubles: false,
            value: V::zeroed(),
            first_sum: 0,
            rebuilt: std::ptr::null_mut(),
        };
        let mut arguments = [nothing; MOST];
        for (at, bound) in arguments.iter_mut().zip(bound) {
            *at = match *bound {
                Bound::Field(BoundField { start, bytes, words, parts, in_doubles }) => {
                    let real = if in_doubles { size_of::<f64>() } else { size_of::<f32>() };
                    let objects = bytes / (words * blocks * V::REALS * real);
                    At { start: start.cast(), objects, words, parts, in_doubles, ..nothing }
                }
                Bound::Complex(Complex { re, im }) => {
                    At { value: V::from_reals(|k| V::Real::from_f64(if k % 2 == 0 { re } else { im })), ..nothing }
                }
                Bound::Sums(first_sum) => At { first_sum, ..nothing },
                Bound::Nothing => nothing,
            };
        }
        let edges = stencil
            .map(|stencil| std::array::from_fn(|point| Edge::new(stencil, point, links.unwrap_or_default(), blocks)));
        Self {
            arguments,
            neighbours: stencil.map_or(&[], |stencil| stencil.neighbours().as_chunks().0),
            of_neighbours: of_neighbours.map_or(&[], |stencil| stencil.neighbours().as_chunks().0),
            edges,
            legs: legs.legs(),
            dagger: *dagger,
            interior_factor: signed_factor(|_| 1.0),
            target: *target,
            blocks,
            coordinates: coordinates.as_ref().map_or_else(Vec::new, |coordinates| coordinates.osites().to_vec()),
            origins: std::array::from_fn(|d| match origins {
                [] => Vec::new(),
                origins => per_lane(blocks, |lane| f64::from(origins[lane][d])),
            }),
            odd: (0..all_sets).map(|set| [0, 1].map(|turned| odd(origins, blocks, set, turned))).collect(),
            sums: Sums::new(launch),
        }
    }
}

/// The sum of the coordinates in a set of directions.
#[inline(always)]
pub fn sum_over(x: [u16; DIMENSIONS], set: usize) -> u32 {
    let mut sum = 0;
    for (d, x) in x.into_iter().enumerate() {
        sum += if set >> d & 1 == 1 { u32::from(x) } else { 0 };
    }
    sum
}

/// A number for each lane, in both places of the lane, block by block.
fn per_lane<V: LaneVector>(blocks: usize, number: impl Fn(usize) -> f64) -> Vec<V> {
    let block = |block: usize| V::from_reals(|k| V::Real::from_f64(number((block * V::REALS + k) / 2)));
    (0..blocks).map(block).collect()
}

/// Sign bits of the lanes whose origins have an odd sum of coordinates in a set of directions, or an even one if `turned`.
fn odd<V: LaneVector>(origins: &[[u16; DIMENSIONS]], blocks: usize, set: usize, turned: u32) -> Vec<V> {
    per_lane(blocks, |lane| if sum_over(origins[lane], set) % 2 == turned { 0.0 } else { -0.0 })
}
