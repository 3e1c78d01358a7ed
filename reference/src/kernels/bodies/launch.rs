//! A call of a body before the vectors are known: where its fields stand, its numbers, and tables.

use num_complex::Complex;

use super::super::reduce::Sum;
use crate::dagger::Dagger;
use crate::extreme::Extreme;
use crate::field::FieldShape;
use crate::layout::{LegOrder, SiteCoordinates, Slices, Stencil};
use crate::object::DoubledGauge;

/// A field, as a body sees it.
#[derive(Clone, Copy, Debug)]
pub struct BoundField {
    pub start: *mut u8,
    pub bytes: usize,
    /// Words of a component.
    pub words: usize,
    /// Components of a site.
    pub parts: usize,
    /// Whether its reals have 64 bits, and not 32.
    pub in_doubles: bool,
}

/// An argument, as a body sees it.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    Field(BoundField),
    Complex(Complex<f64>),
    /// The first sum of the argument.
    Sums(usize),
    Nothing,
}

/// What is taken of the terms of all sites.
#[derive(Clone)]
pub struct Taken {
    /// How many sums or extremes.
    pub sums: usize,
    pub sum: Sum,
    /// Extremes in place of sums.
    pub extreme: Option<Extreme>,
    /// The slices that are summed, if not all sites.
    pub slices: Option<Slices>,
}

/// A call, before the vectors are known.
pub struct Launch<'a> {
    pub bound: Vec<Bound>,
    pub stencil: Option<&'a Stencil>,
    /// The stencil on the sites of the neighbours, where a body goes further.
    pub of_neighbours: Option<&'a Stencil>,
    pub links: Option<DoubledGauge>,
    pub legs: LegOrder,
    pub dagger: Dagger,
    pub target: FieldShape,
    pub taken: Taken,
    pub coordinates: Option<SiteCoordinates>,
}

// SAFETY: a body reads what nobody writes in the call, and writes its own site alone: tasks have different sites.
unsafe impl Sync for Launch<'_> {}

impl Launch<'_> {
    /// Words of all fields at a site.
    pub fn words(&self) -> usize {
        let words = |bound: &Bound| match bound {
            Bound::Field(field) => field.words * field.parts,
            _ => 0,
        };
        self.bound.iter().map(words).sum()
    }
}
