//! The eight legs of a nearest-neighbour stencil, and the order in which a kernel adds them. Grid calls a leg's number a point: 0…3 are +x, +y, +z,
//! +t, and 4…7 are −x, −y, −z, −t.

use std::fmt;
use std::str::FromStr;

use super::{Coordinate, DIMENSION_NAMES, DIMENSIONS, Direction, Extents, LayoutError};

/// Number of legs of the stencil.
pub const LEGS: usize = 2 * DIMENSIONS;

/// One step from a site to a nearest neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leg(u8);

impl Leg {
    /// The leg one step up in dimension `dimension` (0…3).
    ///
    /// # Panics
    /// If there is no such dimension.
    #[track_caller]
    pub const fn forward(dimension: usize) -> Self {
        assert!(dimension < DIMENSIONS, "a leg goes along dimension 0, 1, 2 or 3");
        Self(dimension as u8)
    }

    /// The leg one step down in dimension `dimension` (0…3).
    ///
    /// # Panics
    /// If there is no such dimension.
    #[track_caller]
    pub const fn backward(dimension: usize) -> Self {
        assert!(dimension < DIMENSIONS, "a leg goes along dimension 0, 1, 2 or 3");
        Self((dimension + DIMENSIONS) as u8)
    }

    /// All legs, by point number.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..LEGS as u8).map(Self)
    }

    /// Point number, 0…7: the position of the leg in stencil tables and in a site's doubled links.
    #[inline]
    pub const fn point(self) -> usize {
        self.0 as usize
    }

    /// Dimension of the step, 0…3.
    #[inline]
    pub const fn dimension(self) -> usize {
        self.0 as usize % DIMENSIONS
    }

    /// Whether the step is towards larger coordinates.
    #[inline]
    pub const fn is_forward(self) -> bool {
        (self.0 as usize) < DIMENSIONS
    }
}

impl Extents {
    /// The neighbour of `coordinate`, one step along `leg`, on the torus.
    #[inline]
    pub fn neighbour(&self, coordinate: Coordinate, leg: Leg) -> Coordinate {
        let mut c = coordinate;
        let d = leg.dimension();
        let l = self[d];
        c[d] = if leg.is_forward() { (c[d] + 1) % l } else { (c[d] + l - 1) % l };
        c
    }

    /// Whether a step along `leg` from the last slice in its direction crosses the boundary of the whole lattice, rather than only that of the local
    /// volume.
    #[inline]
    pub fn ends_at_boundary(&self, leg: Leg) -> bool {
        let d = leg.dimension();
        if leg.is_forward() { self.origin()[d] + self[d] == self.global()[d] } else { self.origin()[d] == 0 }
    }
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_forward() { '+' } else { '-' }, DIMENSION_NAMES[self.dimension()])
    }
}

impl fmt::Debug for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The order in which a stencil kernel adds its legs. It is part of an operator's definition, since it changes the bits.
/// The default is −t −y −z +t +y +z −x +x, the fastest measured on an H200.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LegOrder([Leg; LEGS]);

impl LegOrder {
    /// −t −y −z +t +y +z −x +x.
    pub const DEFAULT: Self = Self([
        Leg::backward(3),
        Leg::backward(1),
        Leg::backward(2),
        Leg::forward(3),
        Leg::forward(1),
        Leg::forward(2),
        Leg::backward(0),
        Leg::forward(0),
    ]);

    /// A leg order.
    ///
    /// # Errors
    /// [`LayoutError::LegOrder`] unless each leg occurs once.
    pub fn new(legs: [Leg; LEGS]) -> Result<Self, LayoutError> {
        let order = Self(legs);
        match Leg::all().all(|leg| legs.contains(&leg)) {
            true => Ok(order),
            false => Err(LayoutError::LegOrder { order: order.to_string() }),
        }
    }

    /// The order that begins with a direction: +μ, the other directions upwards in their order, then all of them downwards. A kernel that is the
    /// same for each direction reads the direction from the order ([`directions`]).
    pub fn beginning_with(direction: Direction) -> Self {
        Self::beginning_with_leg(Leg::forward(direction.index()))
    }

    /// The order that begins with a leg: first this leg, then the other directions with the same sign in their order, then all of them with the
    /// opposite sign.
    pub fn beginning_with_leg(first: Leg) -> Self {
        let mu = first.dimension();
        let one_way = std::iter::once(mu).chain((0..DIMENSIONS).filter(|&d| d != mu));
        let mut legs = [first; LEGS];
        for (k, d) in one_way.enumerate() {
            let (forward, backward) = (Leg::forward(d), Leg::backward(d));
            (legs[k], legs[k + DIMENSIONS]) =
                if first.is_forward() { (forward, backward) } else { (backward, forward) };
        }
        Self(legs)
    }

    /// The order that begins with a plane: +μ, +ν, the other directions upwards in their order, then all of them downwards. If μ and ν are the same
    /// direction, it is the order that begins with it.
    pub fn beginning_with_plane(mu: Direction, nu: Direction) -> Self {
        let rank = |d: usize| if d == mu.index() { 0 } else { 2 - usize::from(d == nu.index()) };
        let mut directions: [usize; DIMENSIONS] = std::array::from_fn(|d| d);
        directions.sort_by_key(|&d| rank(d));
        Self(std::array::from_fn(|k| match k < DIMENSIONS {
            true => Leg::forward(directions[k]),
            false => Leg::backward(directions[k - DIMENSIONS]),
        }))
    }

    /// The legs, in the order in which they are added.
    pub const fn legs(&self) -> [Leg; LEGS] {
        self.0
    }
}

/// The directions, in the order of their first legs.
pub fn directions(legs: [Leg; LEGS]) -> [Direction; DIMENSIONS] {
    let mut directions = Direction::ALL;
    let first = |direction: &Direction| legs.iter().position(|leg| leg.dimension() == direction.index());
    directions.sort_by_key(first);
    directions
}

impl Default for LegOrder {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for LegOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|leg| write!(f, "{leg}"))
    }
}

impl fmt::Debug for LegOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LegOrder({self})")
    }
}

impl FromStr for LegOrder {
    type Err = LayoutError;

    /// Reads eight signed letters, for example `-t-y-z+t+y+z-x+x`; spaces and commas between them are allowed.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let error = || LayoutError::LegOrder { order: text.to_owned() };
        let letters: Vec<char> = text.chars().filter(|c| !matches!(c, ' ' | ',')).collect();
        if letters.len() != 2 * LEGS {
            return Err(error());
        }
        let mut legs = [Leg(0); LEGS];
        for (leg, pair) in legs.iter_mut().zip(letters.chunks_exact(2)) {
            let dimension = DIMENSION_NAMES.iter().position(|n| n.starts_with(pair[1])).ok_or_else(error)?;
            *leg = match pair[0] {
                '+' => Leg::forward(dimension),
                '-' | '−' => Leg::backward(dimension),
                _ => return Err(error()),
            };
        }
        Self::new(legs).map_err(|_| error())
    }
}
