//! Arrays in the conventions of PyQUDA and gpt. All three conventions have the DeGrand-Rossi basis of spins, and spin slower than colour. They
//! differ in the order of sites, of the links of a site, and of the sites of the fifth dimension:
//!
//! | convention | fields | five-dimensional fields | links |
//! |---|---|---|---|
//! | lanefield | (…, T, Z, Y, X, spin, colour) | (…, Ls, T, Z, Y, X, spin, colour) | (T, Z, Y, X, 4, 3, 3) |
//! | pyquda | (…, 2, T, Z, Y, X/2, spin, colour): even sites, then odd ones | (…, Ls, 2, T, Z, Y, X/2, spin, colour) | (4, 2, T, Z, Y, X/2, 3, 3) |
//! | gpt | (…, sites, spin, colour), x fastest: what `field[:]` gives | (…, sites · Ls, spin, colour), s fastest | (4, sites, 3, 3) |

use lanefield::reference::layout::Extents;
use lanefield::reference::tasks::{for_each_chunk, items_a_task};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arguments::word;
use super::arrays::{Number, tuple};
use super::device::on_host;
use super::errors::value;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Convention {
    Lanefield,
    PyQuda,
    /// The order of gpt, which is Grid's.
    Gpt,
}

impl Convention {
    pub const ALL: [Self; 3] = [Self::Lanefield, Self::PyQuda, Self::Gpt];

    /// The convention with this name, which the function `convention` has read.
    pub fn of(word: &str) -> Self {
        Self::ALL.into_iter().find(|known| known.name() == word).unwrap_or(Self::Lanefield)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Lanefield => "lanefield",
            Self::PyQuda => "pyquda",
            Self::Gpt => "gpt",
        }
    }

    /// Whether the fifth dimension has an axis of its own.
    pub fn has_axis_of_s(self) -> bool {
        self != Self::Gpt
    }

    /// The axes of a lattice of four or five dimensions: (T, Z, Y, X) or (Ls, T, Z, Y, X).
    pub fn axes(self, extents: Extents, ls: Option<usize>) -> PyResult<Vec<usize>> {
        let [x, y, z, t] = extents.as_array();
        let along_s = ls.as_slice();
        match self {
            Self::Lanefield => Ok([along_s, &[t, z, y, x]].concat()),
            Self::PyQuda if x % 2 == 0 => Ok([along_s, &[2, t, z, y, x / 2]].concat()),
            Self::PyQuda => {
                Err(value(format!("X is {x} on {extents}: arrays of PyQUDA have an axis X/2, so X must be even")))
            }
            Self::Gpt => Ok(vec![extents.volume().saturating_mul(ls.unwrap_or(1))]),
        }
    }

    /// The order of four-dimensional fields, `ls` of which make a five-dimensional one.
    pub fn order(self, extents: Extents, ls: usize) -> Order {
        match self {
            Self::Lanefield => Order::together(extents, 1),
            Self::PyQuda => Order { extents, kind: Kind::Parities },
            Self::Gpt => Order::together(extents, ls),
        }
    }

    /// The order and the axes of links. The parts of the order are directions.
    pub fn links(self, extents: Extents) -> PyResult<(Order, Vec<usize>)> {
        let lattice = self.axes(extents, None)?;
        Ok(match self {
            Self::Lanefield => (Order::together(extents, 4), [&lattice[..], &[4, 3, 3]].concat()),
            _ => (self.order(extents, 1), [&[4], &lattice[..], &[3, 3]].concat()),
        })
    }

    /// The extents of the array `name`, whose lattice begins at axis `first`. They follow from the shape or from `given`.
    /// Fails if neither determines them, or if they contradict each other.
    pub fn extents(self, (name, shape): (&str, &[usize]), first: usize, given: Option<Extents>) -> PyResult<Extents> {
        let told = match (self, shape.get(first..).unwrap_or_default()) {
            (Self::Lanefield, &[t, z, y, x, ..]) => Extents::new([x, y, z, t]).map_err(value)?,
            (Self::PyQuda, &[2, t, z, y, half, ..]) => {
                Extents::new([half.saturating_mul(2), y, z, t]).map_err(value)?
            }
            (Self::Gpt, _) => {
                return given.ok_or_else(|| {
                    value("the shape of an array of gpt does not determine the extents: give lattice=(x, y, z, t)")
                });
            }
            _ => {
                let convention = self.name();
                return Err(value(format!(
                    "the shape of {name} is {}: it does not have the axes of a lattice in convention=\"{convention}\"",
                    tuple(shape)
                )));
            }
        };
        match given {
            Some(given) if given != told => Err(value(format!(
                "the shape of {name} is {}, on a lattice {told}, and lattice= is {given}",
                tuple(shape)
            ))),
            _ => Ok(told),
        }
    }
}

/// The argument `convention`.
pub fn convention(given: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    word("convention", given, &Convention::ALL.map(Convention::name))
}

/// The order of the objects of an array. An object is the spinor, colour vectors or link that one part of a field has at a site. Parts are
/// numbered: they are right-hand sides, with the sites along s of each, or the directions of links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    extents: Extents,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Sites with x fastest; at each site this number of parts lie together.
    Together(usize),
    /// Part by part. In each part, first the even sites, then the odd ones, with x fastest.
    Parities,
}

impl Order {
    /// Sites with x fastest, with `parts` parts together at each site. 1 is part by part; the number of all parts is the library's site order.
    pub fn together(extents: Extents, parts: usize) -> Self {
        Self { extents, kind: Kind::Together(parts) }
    }

    /// The place of the object of a part at a site, counted in objects.
    #[inline]
    pub fn place(&self, part: usize, site: usize) -> usize {
        let volume = self.extents.volume();
        match self.kind {
            Kind::Together(1) => part * volume + site,
            Kind::Together(parts) => (part / parts * volume + site) * parts + part % parts,
            Kind::Parities => {
                let parity = self.extents.coordinate(site).iter().sum::<usize>() % 2;
                // In each line along x, half of the sites are even.
                part * volume + parity * (volume / 2) + site / 2
            }
        }
    }

    /// The part and the site of the object at a place.
    #[inline]
    pub fn at(&self, place: usize) -> (usize, usize) {
        let volume = self.extents.volume();
        match self.kind {
            Kind::Together(1) => (place / volume, place % volume),
            Kind::Together(parts) => {
                (place / (volume * parts) * parts + place % parts, place % (volume * parts) / parts)
            }
            Kind::Parities => {
                let (part, place) = (place / volume, place % volume);
                let (parity, pair) = (place / (volume / 2), place % (volume / 2));
                let [_, y, z, t] = self.extents.coordinate(2 * pair);
                (part, 2 * pair + (parity + y + z + t) % 2)
            }
        }
    }
}

/// Copies objects of `words` numbers into a list of another order.
pub fn fill<S: Number, R: Number>(
    (to, order): (&mut [Complex<R>], Order),
    (from, their_order): (&[Complex<S>], Order),
    words: usize,
) {
    let a_task = items_a_task(to.len() / words);
    for_each_chunk(to, words * a_task, |task, objects| {
        for (place, object) in (task * a_task..).zip(objects.chunks_exact_mut(words)) {
            let (part, site) = order.at(place);
            let source = &from[their_order.place(part, site) * words..][..words];
            for (to, from) in object.iter_mut().zip(source) {
                *to = Complex::new(R::from_f64(from.re.to_f64()), R::from_f64(from.im.to_f64()));
            }
        }
    });
}

/// Copies numbers into a new array of another order, with these axes.
pub fn reordered<'py, R: Number>(
    py: Python<'py>,
    from: (&[Complex<R>], Order),
    (axes, order): (&[usize], Order),
    words: usize,
) -> PyResult<Bound<'py, PyAny>> {
    R::written(py, axes, None, |to| on_host(py, || fill((to, order), from, words)))
}
