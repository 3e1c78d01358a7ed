//! The data with which hypotheses are tested.

use lanefield::reference::layout::Extents;

use crate::compare::axes::Axes;
use crate::compare::comparison::{CompareOptions, Comparison};
use crate::compare::numbers::{Kind, same, ulps_between};
use crate::compare::wording::counted;

pub(super) struct Case<'a> {
    pub a: &'a [f64],
    pub b: &'a [f64],
    pub axes: &'a Axes,
    /// Reals per number: 2 for complex numbers.
    pub parts: usize,
    pub kind: Kind,
    /// Sites with differences, in ascending order.
    pub sites: Vec<usize>,
    pub comparison: &'a Comparison,
    pub options: CompareOptions,
}

impl Case<'_> {
    pub fn unit(&self) -> f64 {
        if self.kind == Kind::F32 { f64::from(f32::EPSILON) / 2.0 } else { f64::EPSILON / 2.0 }
    }

    pub fn extents(&self) -> Option<Extents> {
        self.axes.extents
    }

    /// The positions of all real numbers that differ by more than is accepted, in memory order.
    pub fn differing(&self) -> impl Iterator<Item = usize> {
        let ulps = self.comparison.ulps;
        let accepted = move |a, b| ulps > 0 && ulps_between(a, b, self.kind).is_some_and(|distance| distance <= ulps);
        (0..self.a.len()).filter(move |&place| {
            let (a, b) = (self.a[place], self.b[place]);
            !same(a, b) && !accepted(a, b)
        })
    }

    pub fn complex(array: &[f64], k: usize) -> [f64; 2] {
        [array[2 * k], array[2 * k + 1]]
    }

    /// "1536 real numbers at 64 sites"
    pub fn counted(&self) -> String {
        let differing = counted(self.comparison.differing, "real number");
        match self.extents() {
            Some(_) => format!("{differing} at {}", counted(self.comparison.differing_sites, "site")),
            None => differing,
        }
    }

    /// "at the sites that differ, ", if not all do.
    pub(crate) fn where_they_differ(&self) -> &'static str {
        if self.comparison.differing_sites < self.comparison.sites { "at the sites that differ, " } else { "" }
    }
}
