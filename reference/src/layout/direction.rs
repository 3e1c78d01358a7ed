//! The four directions of the lattice.

use std::fmt;
use std::str::FromStr;

use super::{DIMENSION_NAMES, LayoutError};

/// A direction of the lattice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// The fastest one in memory.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
    /// Time, the slowest.
    T,
}

impl Direction {
    /// All of them, x first.
    pub const ALL: [Self; 4] = [Self::X, Self::Y, Self::Z, Self::T];

    /// Its number: 0 for x, 3 for t.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DIMENSION_NAMES[self.index()])
    }
}

impl FromStr for Direction {
    type Err = LayoutError;
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let named =
            Self::ALL.into_iter().find(|direction| text.eq_ignore_ascii_case(DIMENSION_NAMES[direction.index()]));
        named.ok_or_else(|| LayoutError::Direction { direction: text.to_owned() })
    }
}
