//! The greatest or the least of numbers, in an order in which the order of the numbers does not matter (`docs/arithmetic.md` §8). Counterpart:
//! `combined` of `cl/tree.clh`, and `map_ordered` of `cl/map.clh`.

use std::cmp::Ordering;

/// Which of the terms of all sites, or points, is taken, in the order −∞ … −0, +0 … +∞. If one of them is NaN, it is NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extreme {
    /// The greatest; −∞ of no terms.
    Greatest,
    /// The least; +∞ of no terms.
    Least,
}

impl Extreme {
    /// That of no terms.
    pub const fn of_none(self) -> f64 {
        match self {
            Self::Greatest => f64::NEG_INFINITY,
            Self::Least => f64::INFINITY,
        }
    }

    /// That of two terms.
    pub fn of(self, a: f64, b: f64) -> f64 {
        if a.is_nan() || b.is_nan() {
            return f64::NAN;
        }
        self.by(a, b, f64::total_cmp)
    }

    /// That of two numbers of any kind, in their order.
    pub fn by<T>(self, a: T, b: T, order: impl FnOnce(&T, &T) -> Ordering) -> T {
        match self {
            Self::Greatest => std::cmp::max_by(a, b, order),
            Self::Least => std::cmp::min_by(a, b, order),
        }
    }

    /// That of all terms.
    pub fn of_all(self, terms: impl IntoIterator<Item = f64>) -> f64 {
        terms.into_iter().fold(self.of_none(), |extreme, term| self.of(extreme, term))
    }
}

crate::named!(Extreme: Greatest = "greatest", Least = "least");
