//! A call of a kernel function before its vector type is chosen: the addresses of its fields, its numbers, and tables.

use num_complex::Complex;

use super::super::reduce::Sum;
use crate::dagger::Dagger;
use crate::extreme::Extreme;
use crate::field::FieldShape;
use crate::layout::{LegOrder, SiteCoordinates, Slices, Stencil};
use crate::object::DoubledGauge;

/// A field of a call.
#[derive(Clone, Copy, Debug)]
pub struct BoundField {
    pub start: *mut u8,
    pub bytes: usize,
    /// The number of words of a component.
    pub words: usize,
    /// The number of components of a site.
    pub parts: usize,
    /// Whether its reals have 64 bits rather than 32.
    pub in_doubles: bool,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    Field(BoundField),
    Complex(Complex<f64>),
    /// The number of the argument's first sum.
    Sums(usize),
    Nothing,
}

/// How the terms of all sites are reduced.
#[derive(Clone)]
pub struct Taken {
    /// The number of sums or extremes.
    pub sums: usize,
    pub sum: Sum,
    /// The extreme to compute instead of sums.
    pub extreme: Option<Extreme>,
    /// The slices over which to sum, unless it is over all sites.
    pub slices: Option<Slices>,
}

/// A call, before its vector type is chosen.
pub struct Launch<'a> {
    pub bound: Vec<Bound>,
    pub stencil: Option<&'a Stencil>,
    /// The stencil on the sites of the neighbours, if the kernel function reads further than that.
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
    /// The number of words of all fields at a site.
    pub fn words(&self) -> usize {
        let words = |bound: &Bound| match bound {
            Bound::Field(field) => field.words * field.parts,
            _ => 0,
        };
        self.bound.iter().map(words).sum()
    }
}
