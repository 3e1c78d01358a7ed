//! Even and odd sites.

use std::fmt;
use std::str::FromStr;

use super::{Coordinate, DIMENSIONS, LayoutError};

/// Parity of a site, (x + y + z + t) mod 2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Parity {
    /// Grid's red, 0.
    Even,
    /// Grid's black, 1.
    Odd,
}

impl Parity {
    /// Both parities, even first.
    pub const BOTH: [Self; 2] = [Self::Even, Self::Odd];

    /// Parity of the site at `coordinate`.
    #[inline]
    pub fn of(coordinate: Coordinate) -> Self {
        if coordinate.iter().sum::<usize>() % 2 == 0 { Self::Even } else { Self::Odd }
    }

    /// The other parity: that of every nearest neighbour.
    #[inline]
    pub const fn other(self) -> Self {
        match self {
            Self::Even => Self::Odd,
            Self::Odd => Self::Even,
        }
    }

    /// 0 for even, 1 for odd.
    #[inline]
    pub const fn index(self) -> usize {
        match self {
            Self::Even => 0,
            Self::Odd => 1,
        }
    }
}

crate::named!(Parity: Even = "even", Odd = "odd");

impl FromStr for Parity {
    type Err = LayoutError;
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        match text.to_ascii_lowercase().as_str() {
            "even" => Ok(Self::Even),
            "odd" => Ok(Self::Odd),
            _ => Err(LayoutError::Parity { parity: text.to_owned() }),
        }
    }
}

/// The sites of a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sites {
    /// All of them.
    Full,
    /// Those of one parity.
    Parity(Parity),
}

impl Sites {
    /// The sites of their nearest neighbours.
    pub const fn neighbours(self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Parity(p) => Self::Parity(p.other()),
        }
    }

    /// Whether the site at `coordinate` is one of them.
    #[inline]
    pub fn contain(self, coordinate: Coordinate) -> bool {
        match self {
            Self::Full => true,
            Self::Parity(p) => Parity::of(coordinate) == p,
        }
    }

    /// As [`Self::contain`], for a site that may be outside the local volume whose coordinates these are.
    pub fn contain_near(self, coordinate: [isize; DIMENSIONS]) -> bool {
        self.contain(coordinate.map(|x| x.rem_euclid(2) as usize))
    }
}

impl fmt::Display for Sites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Parity(p) => p.fmt(f),
        }
    }
}

/// Whether a lattice supports fields of one parity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Checkerboard {
    /// Only fields on all sites. Extents may be odd.
    FullOnly,
    /// Fields of one parity as well. Every virtual node has even extents.
    RedBlack,
}
