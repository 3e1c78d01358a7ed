//! The axes of what operators act on: spinors (T, Z, Y, X, 4, 3), five-dimensional fermions (Ls, T, Z, Y, X, 4, 3), colour vectors
//! (T, Z, Y, X, N, 3), each with an axis of right-hand sides before all others where there are several. In the library's site order s and right-hand
//! sides are faster than the site.

use std::borrow::Cow;

use lanefield::operator::AnyModel;
use lanefield::reference::field::Object;
use lanefield::reference::layout::Extents;
use pyo3::prelude::*;

use super::arrays::tuple;
use super::errors::value;

/// An array's axes as those of a field that an operator acts on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axes {
    /// Of the whole array.
    shape: Vec<usize>,
    /// Right-hand sides: 1 also where they have no axis.
    pub rhs: usize,
    /// Whether it holds spinors of four dimensions for an operator of five.
    pub is_physical: bool,
    /// Spinors or groups of colour vectors a site.
    parts: usize,
    /// Complex numbers of one of them.
    words: usize,
}

impl Axes {
    /// The axes of an array for `model` on a lattice; spinors of four dimensions are welcome to operators of five where `physical`.
    ///
    /// # Errors
    /// What would be right.
    pub fn new(shape: &[usize], model: &AnyModel, extents: Extents, physical: bool) -> PyResult<Self> {
        let [x, y, z, t] = extents.as_array();
        let (ls, components) = match (model, model.object()) {
            (AnyModel::DomainWall(_), Object::Spinors(ls)) => (Some(ls), 4),
            (_, Object::Spinors(_)) => (None, 4),
            (_, Object::ColourVectors(count)) => (None, count),
            (_, other) => return Err(value(format!("fields of type {} have no arrays here", other.name()))),
        };
        let whole = [t, z, y, x, components, 3];
        // Of one colour vector its axis may be left out.
        let short = [t, z, y, x, 3];
        let leading = match shape {
            [leading @ .., a, b, c, d, e, f] if [*a, *b, *c, *d, *e, *f] == whole => Some(leading),
            [leading @ .., a, b, c, d, e] if components == 1 && [*a, *b, *c, *d, *e] == short => Some(leading),
            _ => None,
        };
        let axes = |rhs: usize, is_physical: bool| {
            let parts = rhs * if is_physical { 1 } else { ls.unwrap_or(1) };
            Self { shape: shape.to_vec(), rhs, is_physical, parts, words: 3 * components }
        };
        match (leading, ls) {
            (Some([]), None) => Ok(axes(1, false)),
            (Some([rhs]), None) if *rhs > 0 => Ok(axes(*rhs, false)),
            (Some([]), Some(_)) if physical => Ok(axes(1, true)),
            (Some([its]), Some(ls)) if *its == ls => Ok(axes(1, false)),
            (Some([rhs, its]), Some(ls)) if *its == ls && *rhs > 0 => Ok(axes(*rhs, false)),
            _ => {
                let one = [ls.as_slice(), &whole].concat();
                let or_physical =
                    if physical && ls.is_some() { format!(" or {}", tuple(&whole)) } else { String::new() };
                Err(value(format!(
                    "the shape is {}: {} on {extents} acts on {}{or_physical}, or on several with one more axis before all others",
                    tuple(shape),
                    model.name(),
                    tuple(&one)
                )))
            }
        }
    }

    /// Of the array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// An array's numbers in site order.
    pub fn in_site_order<'a, T: Copy>(&self, values: &'a [T]) -> Cow<'a, [T]> {
        match self.parts {
            1 => Cow::Borrowed(values),
            parts => Cow::Owned(exchanged(values, parts, self.words)),
        }
    }

    /// Numbers in site order as the array has them.
    pub fn in_array_order<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        match self.parts {
            1 => values,
            parts => exchanged(&values, values.len() / (parts * self.words), self.words),
        }
    }
}

/// How many axes a site has in other programs' arrays of what an operator acts on: one colour vector has none for its number.
pub fn axes_of_site(model: &AnyModel) -> usize {
    if model.object() == Object::ColourVectors(1) { 1 } else { 2 }
}

/// A matrix with so many rows of objects of `words` numbers, transposed.
pub fn exchanged<T: Copy>(values: &[T], rows: usize, words: usize) -> Vec<T> {
    let columns = values.len() / words / rows;
    let object = |k: usize| &values[words * k..][..words];
    (0..columns).flat_map(|column| (0..rows).flat_map(move |row| object(row * columns + column))).copied().collect()
}
