//! Writes quantities, which this crate keeps in the units of its tables, to JSON in SI units: for `#[serde(serialize_with = …)]`.

use serde::{Serialize, Serializer};

use crate::Spread;

pub(crate) trait Scaled {
    type Product: Serialize;
    fn times(&self, factor: f64) -> Self::Product;
}

impl Scaled for f64 {
    type Product = Self;
    fn times(&self, factor: f64) -> Self {
        self * factor
    }
}

impl Scaled for u32 {
    type Product = f64;
    fn times(&self, factor: f64) -> f64 {
        f64::from(*self) * factor
    }
}

impl Scaled for usize {
    type Product = u64;
    fn times(&self, factor: f64) -> u64 {
        (*self as f64 * factor) as u64
    }
}

impl Scaled for &[usize] {
    type Product = Vec<u64>;
    fn times(&self, factor: f64) -> Vec<u64> {
        self.iter().map(|value| value.times(factor)).collect()
    }
}

impl Scaled for Spread {
    type Product = Self;
    fn times(&self, factor: f64) -> Self {
        let Self { median, tenth, ninetieth } = self;
        Self { median: median * factor, tenth: tenth * factor, ninetieth: ninetieth * factor }
    }
}

impl<T: Scaled> Scaled for Option<T> {
    type Product = Option<T::Product>;
    fn times(&self, factor: f64) -> Self::Product {
        self.as_ref().map(|value| value.times(factor))
    }
}

pub(crate) fn giga<T: Scaled, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.times(1e9).serialize(to)
}

pub(crate) fn mega<T: Scaled, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.times(1e6).serialize(to)
}

pub(crate) fn kibi<T: Scaled, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.times(1024.0).serialize(to)
}

pub(crate) fn micro<T: Scaled, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.times(1e-6).serialize(to)
}

pub(crate) fn nano<T: Scaled, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.times(1e-9).serialize(to)
}

pub(crate) fn percent<T: Scaled, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.times(1e-2).serialize(to)
}
