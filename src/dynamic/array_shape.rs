//! The shapes of the arrays that operators act on: spinors (T, Z, Y, X, 4, 3), five-dimensional fermions (Ls, T, Z, Y, X, 4, 3), and colour vectors
//! (T, Z, Y, X, N, 3).

use lanefield_reference::field::Object;
use lanefield_reference::layout::Extents;

use crate::operator::AnyModel;

/// The object that an array has at each site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayShape {
    /// 4 spins, 3 colours.
    Spinor,
    /// This number of spinors along s.
    FiveDimensional(usize),
    /// This number of vectors of 3 colours.
    ColourVectors(usize),
}

impl ArrayShape {
    /// Whether the numbers depend on the spin basis.
    pub fn has_spins(self) -> bool {
        !matches!(self, Self::ColourVectors(_))
    }

    /// The object that an operator acts on; `None` if no array holds such objects.
    pub fn of_model(model: &AnyModel) -> Option<Self> {
        match (model, model.object()) {
            (AnyModel::DomainWall(_), Object::Spinors(ls)) => Some(Self::FiveDimensional(ls)),
            (_, object) => Self::of_object(object),
        }
    }

    /// The object that a kernel acts on; `None` if no array holds such objects.
    pub fn of_object(object: Object) -> Option<Self> {
        match object {
            Object::Spinors(1) => Some(Self::Spinor),
            Object::ColourVectors(count) => Some(Self::ColourVectors(count)),
            _ => None,
        }
    }

    /// Complex words per site.
    pub fn words(self) -> usize {
        self.parts() * self.part_words()
    }

    /// The number of components. They have an axis of their own, before those of the lattice.
    pub fn parts(self) -> usize {
        match self {
            Self::FiveDimensional(ls) => ls,
            Self::Spinor | Self::ColourVectors(_) => 1,
        }
    }

    /// Complex words per component.
    pub fn part_words(self) -> usize {
        3 * self.components().1
    }

    /// The name and the extent of the axis before colour.
    pub fn components(self) -> (&'static str, usize) {
        match self {
            Self::Spinor | Self::FiveDimensional(_) => ("spin", 4),
            Self::ColourVectors(components) => ("component", components),
        }
    }

    /// The axes of an array on a lattice of these extents.
    pub fn axes(self, extents: Extents) -> Vec<usize> {
        let [x, y, z, t] = extents.as_array();
        let of_part = [t, z, y, x, self.components().1, 3];
        match self {
            Self::FiveDimensional(ls) => [&[ls][..], &of_part].concat(),
            Self::Spinor | Self::ColourVectors(_) => of_part.into(),
        }
    }
}
