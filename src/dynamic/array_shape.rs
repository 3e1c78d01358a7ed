//! What operators act on as arrays: spinors (T, Z, Y, X, 4, 3), five-dimensional fermions (Ls, T, Z, Y, X, 4, 3), and colour vectors (T, Z, Y, X, N, 3).

use lanefield_reference::field::Object;
use lanefield_reference::layout::Extents;

use crate::operator::AnyModel;

/// What a field holds at each site, as arrays have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayShape {
    /// 4 spins, 3 colours.
    Spinor,
    /// So many spinors along s.
    FiveDimensional(usize),
    /// So many vectors of 3 colours.
    ColourVectors(usize),
}

impl ArrayShape {
    /// Whether its numbers depend on the basis of spins.
    pub fn has_spins(self) -> bool {
        !matches!(self, Self::ColourVectors(_))
    }

    /// What an operator acts on; `None` of objects that no array has.
    pub fn of_model(model: &AnyModel) -> Option<Self> {
        match (model, model.object()) {
            (AnyModel::DomainWall(_), Object::Spinors(ls)) => Some(Self::FiveDimensional(ls)),
            (_, object) => Self::of_object(object),
        }
    }

    /// What a kernel acts on; `None` of objects that no array has.
    pub fn of_object(object: Object) -> Option<Self> {
        match object {
            Object::Spinors(1) => Some(Self::Spinor),
            Object::ColourVectors(count) => Some(Self::ColourVectors(count)),
            _ => None,
        }
    }

    /// Complex words of a site.
    pub fn words(self) -> usize {
        self.parts() * self.part_words()
    }

    /// Components that are an axis of their own before the lattice's.
    pub fn parts(self) -> usize {
        match self {
            Self::FiveDimensional(ls) => ls,
            Self::Spinor | Self::ColourVectors(_) => 1,
        }
    }

    /// Complex words of one of them.
    pub fn part_words(self) -> usize {
        3 * self.components().1
    }

    /// The name of the index before colour, and how far it goes.
    pub fn components(self) -> (&'static str, usize) {
        match self {
            Self::Spinor | Self::FiveDimensional(_) => ("spin", 4),
            Self::ColourVectors(components) => ("component", components),
        }
    }

    /// The axes of an array on a lattice.
    pub fn axes(self, extents: Extents) -> Vec<usize> {
        let [x, y, z, t] = extents.as_array();
        let of_part = [t, z, y, x, self.components().1, 3];
        match self {
            Self::FiveDimensional(ls) => [&[ls][..], &of_part].concat(),
            Self::Spinor | Self::ColourVectors(_) => of_part.into(),
        }
    }
}
