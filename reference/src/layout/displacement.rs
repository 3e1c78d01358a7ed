//! Displacements to sites beyond the nearest neighbours. A displacement is a path of steps along x, then y, z and t, each to a nearest neighbour.
//! Its end does not depend on the layout.

use std::fmt;

use super::{DIMENSION_NAMES, DIMENSIONS, Direction, Leg};

/// The number of steps in each direction: up to three in one direction, or one in each of several (a corner).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Displacement([i8; DIMENSIONS]);

impl Displacement {
    /// The maximum number of steps in one direction.
    pub const MOST: i8 = 3;

    /// A displacement by these steps along x, y, z and t. Negative numbers are steps down.
    ///
    /// # Panics
    /// If there are no steps, more than three in a direction, or more than one in each of several. For a constant, this is a compiler error.
    pub const fn new(steps: [i8; DIMENSIONS]) -> Self {
        let (mut directions, mut longest, mut d) = (0, 0, 0);
        while d < DIMENSIONS {
            let length = steps[d].unsigned_abs();
            if length > 0 {
                directions += 1;
            }
            if length > longest {
                longest = length;
            }
            d += 1;
        }
        assert!(directions > 0, "a displacement leads to another site: its own is read by here()");
        assert!(longest <= Self::MOST as u8, "a displacement takes at most three steps in a direction");
        assert!(directions == 1 || longest == 1, "a displacement in several directions takes one step in each");
        Self(steps)
    }

    /// A displacement by `steps` steps in one direction: −3 to 3, but not 0.
    ///
    /// # Panics
    /// Those of [`Self::new`].
    pub const fn along(direction: Direction, steps: i8) -> Self {
        let mut displacement = [0; DIMENSIONS];
        displacement[direction.index()] = steps;
        Self::new(displacement)
    }

    /// The steps along x, y, z and t.
    pub const fn steps(self) -> [i8; DIMENSIONS] {
        self.0
    }

    /// The steps one by one, along x first.
    pub fn legs(self) -> impl Iterator<Item = Leg> {
        (0..DIMENSIONS).flat_map(move |d| {
            let leg = if self.0[d] > 0 { Leg::forward(d) } else { Leg::backward(d) };
            std::iter::repeat_n(leg, self.0[d].unsigned_abs() as usize)
        })
    }

    /// Whether it leads to a site of the other parity.
    pub const fn is_odd(self) -> bool {
        let [x, y, z, t] = self.0;
        (x + y + z + t) % 2 != 0
    }
}

impl From<Leg> for Displacement {
    fn from(leg: Leg) -> Self {
        let mut steps = [0; DIMENSIONS];
        steps[leg.dimension()] = if leg.is_forward() { 1 } else { -1 };
        Self(steps)
    }
}

impl fmt::Display for Displacement {
    /// For example `+3x` or `+x-t`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (steps, name) in self.0.into_iter().zip(DIMENSION_NAMES).filter(|(steps, _)| *steps != 0) {
            match steps {
                1 => write!(f, "+{name}")?,
                -1 => write!(f, "-{name}")?,
                _ => write!(f, "{steps:+}{name}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Displacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displacement_is_its_steps_one_by_one() {
        let text = |steps| Displacement::new(steps).legs().map(|leg| leg.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(text([0, -3, 0, 0]), "-y -y -y");
        assert_eq!(text([1, 0, -1, 1]), "+x -z +t");
        assert_eq!(Displacement::along(Direction::T, -2).to_string(), "-2t");
        assert_eq!(Displacement::new([1, -1, 0, 1]).to_string(), "+x-y+t");
        assert!(Displacement::along(Direction::X, 3).is_odd() && !Displacement::new([1, -1, 0, 0]).is_odd());
    }

    #[test]
    fn what_is_no_displacement_is_refused() {
        for steps in [[0; 4], [4, 0, 0, 0], [0, -4, 0, 0], [2, 1, 0, 0], [1, 1, 1, -3]] {
            assert!(std::panic::catch_unwind(|| Displacement::new(steps)).is_err(), "{steps:?}");
        }
    }
}
