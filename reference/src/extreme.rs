//! The greatest or the least of several numbers, in a total order, so that the order of the terms does not matter (`docs/arithmetic.md` §8).
//! Counterparts: `combined` of `cl/tree.clh`, and `map_ordered` of `cl/map.clh`.

use std::cmp::Ordering;

/// An extreme of the terms of all sites or points, in the order −∞ … −0, +0 … +∞. If one term is NaN, it is NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extreme {
    /// The greatest; −∞ if there are no terms.
    Greatest,
    /// The least; +∞ if there are no terms.
    Least,
}

impl Extreme {
    /// The extreme of no terms.
    pub const fn of_none(self) -> f64 {
        match self {
            Self::Greatest => f64::NEG_INFINITY,
            Self::Least => f64::INFINITY,
        }
    }

    /// The extreme of two terms.
    pub fn of(self, a: f64, b: f64) -> f64 {
        if a.is_nan() || b.is_nan() {
            return f64::NAN;
        }
        self.by(a, b, f64::total_cmp)
    }

    /// The extreme of two numbers of any type, in the order `order`.
    pub fn by<T>(self, a: T, b: T, order: impl FnOnce(&T, &T) -> Ordering) -> T {
        match self {
            Self::Greatest => std::cmp::max_by(a, b, order),
            Self::Least => std::cmp::min_by(a, b, order),
        }
    }

    /// The extreme of all terms.
    pub fn of_all(self, terms: impl IntoIterator<Item = f64>) -> f64 {
        terms.into_iter().fold(self.of_none(), |extreme, term| self.of(extreme, term))
    }
}

crate::named!(Extreme: Greatest = "greatest", Least = "least");
