//! The axes of the fields that operators act on: spinors (T, Z, Y, X, 4, 3), five-dimensional fermions (Ls, T, Z, Y, X, 4, 3) and colour
//! vectors (T, Z, Y, X, N, 3). Several right-hand sides have one more axis before all others. Other conventions have the same fields with other
//! axes. In the library's site order, s and right-hand sides are faster than the site.

use std::borrow::Cow;

use lanefield::backend::BackendError;
use lanefield::operator::AnyModel;
use lanefield::reference::field::{Field, FieldData, FieldError, FieldShape, Object, list_of};
use lanefield::reference::layout::{Extents, Place};
use lanefield::reference::tasks::{for_each_chunk, items_a_task};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arrays::{Number, tuple};
use super::convention::{Convention, Order, fill, reordered};
use super::errors::value;

/// Whether four-dimensional spinors are the sources and solutions of a five-dimensional operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Physical {
    /// Never.
    No,
    /// If the shape is that of a single one, and of nothing else.
    SingleRank,
    /// Always.
    Yes,
}

/// The axes of an array, read as those of a field that an operator acts on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axes {
    /// The shape of the whole array.
    shape: Vec<usize>,
    extents: Extents,
    /// Number of right-hand sides; 1 if they have no axis.
    pub rhs: usize,
    /// Whether the array contains four-dimensional spinors for a five-dimensional operator.
    pub is_physical: bool,
    /// Number of spinors, or groups of colour vectors, at each site.
    parts: usize,
    /// Number of words of one of them.
    words: usize,
    /// The order in which they lie.
    order: Order,
}

struct ActsOn {
    ls: Option<usize>,
    /// Number of spins (4), or of colour vectors.
    components: usize,
}

impl ActsOn {
    fn new(model: &AnyModel) -> PyResult<Self> {
        match (model, model.object()) {
            (AnyModel::DomainWall(_), Object::Spinors(ls)) => Ok(Self { ls: Some(ls), components: 4 }),
            (_, Object::Spinors(_)) => Ok(Self { ls: None, components: 4 }),
            (_, Object::ColourVectors(components)) => Ok(Self { ls: None, components }),
            (_, other) => Err(value(format!("fields of type {} are not available in Python", other.name()))),
        }
    }

    /// The axes before those of a site. A single colour vector may lack the axis for its number.
    fn before_site<'a>(&self, shape: &'a [usize]) -> Option<&'a [usize]> {
        let whole = shape.strip_suffix(&[self.components, 3]);
        whole.or_else(|| shape.strip_suffix(&[3]).filter(|_| self.components == 1))
    }

    /// The number of right-hand sides, and whether they are physical spinors; `None` if the shape does not fit.
    fn read(
        &self,
        shape: &[usize],
        extents: Extents,
        (convention, physical): (Convention, Physical),
    ) -> Option<(usize, bool)> {
        let front = self.before_site(shape)?;
        let leading = |ls: Option<usize>| front.strip_suffix(&convention.axes(extents, ls).ok()?[..]);
        let rhs = |leading: &[usize]| match leading {
            [] => Some(1),
            &[rhs] if rhs > 0 => Some(rhs),
            _ => None,
        };
        let of_walls = || {
            let leading = leading(None)?;
            // If s has an axis, an axis of right-hand sides could be mistaken for it.
            let is_clear = physical == Physical::Yes || leading.is_empty() || !convention.has_axis_of_s();
            rhs(leading).filter(|_| is_clear).map(|rhs| (rhs, true))
        };
        match (self.ls, physical) {
            (None, _) => Some((rhs(leading(None)?)?, false)),
            (Some(_), Physical::Yes) => of_walls(),
            (ls, Physical::No) => Some((rhs(leading(ls)?)?, false)),
            (ls, Physical::SingleRank) => of_walls().or_else(|| Some((rhs(leading(ls)?)?, false))),
        }
    }

    /// The valid shapes, in words.
    fn expected(
        &self,
        model: &AnyModel,
        extents: Extents,
        (convention, physical): (Convention, Physical),
    ) -> PyResult<String> {
        let shape = |ls| Ok::<_, PyErr>(tuple(&[&convention.axes(extents, ls)?[..], &[self.components, 3]].concat()));
        let acts = format!("{} on {extents} acts on", model.name());
        let several = "or on several with one more axis before all others";
        Ok(match (self.ls, physical) {
            (None, _) | (_, Physical::No) => format!("{acts} {}, {several}", shape(self.ls)?),
            (Some(_), Physical::Yes) => format!("{acts} physical spinors {}, {several}", shape(None)?),
            (Some(_), Physical::SingleRank) if convention.has_axis_of_s() => format!(
                "{acts} {}, {several}, or on {}, and with physical=True on several of these",
                shape(self.ls)?,
                shape(None)?
            ),
            (Some(_), Physical::SingleRank) => format!("{acts} {} or {}, {several}", shape(self.ls)?, shape(None)?),
        })
    }
}

impl Axes {
    /// The axes of the array `name` for `model` on a lattice.
    pub fn new(
        (name, shape): (&str, &[usize]),
        model: &AnyModel,
        extents: Extents,
        (convention, physical): (Convention, Physical),
    ) -> PyResult<Self> {
        let acts_on = ActsOn::new(model)?;
        let Some((rhs, is_physical)) = acts_on.read(shape, extents, (convention, physical)) else {
            let expected = acts_on.expected(model, extents, (convention, physical))?;
            let fits = |other: &Convention| acts_on.read(shape, extents, (*other, physical)).is_some();
            let other = Convention::ALL.into_iter().filter(|other| *other != convention).find(fits);
            let hint = other.map_or_else(String::new, |other| format!(" (it fits convention=\"{}\")", other.name()));
            return Err(value(format!("the shape of {name} is {}{hint}: {expected}", tuple(shape))));
        };
        let ls = acts_on.ls.filter(|_| !is_physical).unwrap_or(1);
        Ok(Self {
            shape: shape.to_vec(),
            extents,
            rhs,
            is_physical,
            parts: rhs * ls,
            words: 3 * acts_on.components,
            order: convention.order(extents, ls),
        })
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The library's site order.
    fn site_order(&self) -> Order {
        Order::together(self.extents, self.parts)
    }

    /// The numbers of an array in site order, without a copy if the array is in this order.
    pub fn in_site_order<'a>(&self, values: &'a [Complex<f64>]) -> Result<Cow<'a, [Complex<f64>]>, FieldError> {
        if self.order == self.site_order() { Ok(Cow::Borrowed(values)) } else { self.copied(values).map(Cow::Owned) }
    }

    /// A copy of the numbers of an array, in site order and in f64.
    pub fn copied<S: Number>(&self, values: &[Complex<S>]) -> Result<Vec<Complex<f64>>, FieldError> {
        let what = || "a source in site order".to_owned();
        let mut copy = list_of(what, values.len(), std::iter::repeat(Complex::ZERO))?;
        fill((&mut copy, self.site_order()), (values, self.order), self.words);
        Ok(copy)
    }

    /// Numbers in site order as an array of this shape.
    pub fn array<'py, R: Number>(&self, py: Python<'py>, values: Vec<Complex<R>>) -> PyResult<Bound<'py, PyAny>> {
        match self.order == self.site_order() {
            true => R::array(py, values, &self.shape),
            false => reordered(py, (&values, self.site_order()), (&self.shape, self.order), self.words),
        }
    }

    /// The numbers of an array as a field.
    pub fn field<R: Number>(&self, shape: FieldShape, values: &[Complex<R>]) -> Result<FieldData<R>, BackendError> {
        let field = Field::from_sites(shape.lattice, shape.sites, shape.object, |site, object| {
            for (part, object) in object.chunks_exact_mut(self.words).enumerate() {
                object.copy_from_slice(&values[self.order.place(part, site) * self.words..][..self.words]);
            }
        });
        Ok(field?.into_data())
    }

    /// Writes the numbers of a field in the order of the array; +0 on sites that the field does not have.
    pub fn read<R: Number>(&self, field: &FieldData<R>, values: &mut [Complex<R>]) {
        let (lattice, sites, words, numbers) = (field.lattice(), field.sites(), self.words, field.words());
        let (nsimd, outer, extent) = (lattice.nsimd(), lattice.outer_extents(sites)[0], self.extents[0]);
        let halved = usize::from(sites != lanefield::reference::layout::Sites::Full);
        let a_task = items_a_task(values.len() / words);
        for_each_chunk(values, words * a_task, |task, objects| {
            // The latest line along x, and the place of its first site.
            let (mut line, mut first) = (usize::MAX, Place { osite: 0, lane: 0 });
            for (place, object) in (task * a_task..).zip(objects.chunks_exact_mut(words)) {
                let (part, site) = self.order.at(place);
                let x = site % extent;
                let [_, y, z, t] = self.extents.coordinate(site);
                if !sites.contain([x, y, z, t]) {
                    object.fill(Complex::new(R::default(), R::default()));
                    continue;
                }
                if site / extent != line {
                    line = site / extent;
                    first = lattice.place(sites, [x % (halved + 1), y, z, t]);
                }
                let stored = x >> halved;
                let (osite, lane) = (first.osite + stored % outer, first.lane + stored / outer);
                let start = (osite * field.object().words() + part * words) * nsimd + lane;
                for (w, number) in object.iter_mut().enumerate() {
                    *number = numbers[start + w * nsimd];
                }
            }
        });
    }
}
