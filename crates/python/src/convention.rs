//! Arrays as PyQUDA and gpt have them. All three have spins in the basis of DeGrand and Rossi and spin slower than colour; sites, the links of a site and
//! the sites of the fifth dimension lie in other orders:
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
    /// gpt's: Grid's.
    Gpt,
}

impl Convention {
    pub const ALL: [Self; 3] = [Self::Lanefield, Self::PyQuda, Self::Gpt];

    /// That of an argument that was read.
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

    /// The axes of a lattice, or of one of five dimensions: (T, Z, Y, X), (Ls, T, Z, Y, X).
    pub fn axes(self, extents: Extents, ls: Option<usize>) -> PyResult<Vec<usize>> {
        let [x, y, z, t] = extents.as_array();
        let along_s = ls.as_slice();
        match self {
            Self::Lanefield => Ok([along_s, &[t, z, y, x]].concat()),
            Self::PyQuda if x % 2 == 0 => Ok([along_s, &[2, t, z, y, x / 2]].concat()),
            Self::PyQuda => Err(value(format!("arrays of PyQUDA have an axis X/2, and X is {x} on {extents}"))),
            Self::Gpt => Ok(vec![extents.volume().saturating_mul(ls.unwrap_or(1))]),
        }
    }

    /// The order of fields, `ls` of which are one of five dimensions.
    pub fn order(self, extents: Extents, ls: usize) -> Order {
        match self {
            Self::Lanefield => Order::together(extents, 1),
            Self::PyQuda => Order { extents, kind: Kind::Parities },
            Self::Gpt => Order::together(extents, ls),
        }
    }

    /// The order and axes of links. Parts are directions.
    pub fn links(self, extents: Extents) -> PyResult<(Order, Vec<usize>)> {
        let lattice = self.axes(extents, None)?;
        Ok(match self {
            Self::Lanefield => (Order::together(extents, 4), [&lattice[..], &[4, 3, 3]].concat()),
            _ => (self.order(extents, 1), [&[4], &lattice[..], &[3, 3]].concat()),
        })
    }

    /// The extents of the array `name`, whose lattice begins at axis `first`, and those that were given.
    /// Fails for extents that are told by neither, or by both in two ways.
    pub fn extents(self, (name, shape): (&str, &[usize]), first: usize, given: Option<Extents>) -> PyResult<Extents> {
        let told = match (self, shape.get(first..).unwrap_or_default()) {
            (Self::Lanefield, &[t, z, y, x, ..]) => Extents::new([x, y, z, t]).map_err(value)?,
            (Self::PyQuda, &[2, t, z, y, half, ..]) => {
                Extents::new([half.saturating_mul(2), y, z, t]).map_err(value)?
            }
            (Self::Gpt, _) => {
                return given.ok_or_else(|| value("arrays of gpt do not tell the extents: give lattice=(x, y, z, t)"));
            }
            _ => {
                let convention = self.name();
                return Err(value(format!(
                    "the shape of {name} is {}: it has no lattice of {convention}",
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

/// In which order the objects of an array lie. An object is what one part of a field has at a site, and parts are numbered: right-hand sides, or of each
/// the sites along s, or directions of links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    extents: Extents,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Sites with x fastest; at each so many parts together.
    Together(usize),
    /// Part by part, of each the sites with x + y + z + t even, then the others, x fastest.
    Parities,
}

impl Order {
    /// Sites with x fastest, at each so many parts together: 1, part by part; all of them, the library's site order.
    pub fn together(extents: Extents, parts: usize) -> Self {
        Self { extents, kind: Kind::Together(parts) }
    }

    /// Where the object of a part and a site lies, in objects.
    #[inline]
    pub fn place(&self, part: usize, site: usize) -> usize {
        let volume = self.extents.volume();
        match self.kind {
            Kind::Together(1) => part * volume + site,
            Kind::Together(parts) => (part / parts * volume + site) * parts + part % parts,
            Kind::Parities => {
                let parity = self.extents.coordinate(site).iter().sum::<usize>() % 2;
                // In each line along x half of the sites have either parity.
                part * volume + parity * (volume / 2) + site / 2
            }
        }
    }

    /// The part and the site of the object there.
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

/// Fills a list with objects of `words` numbers that lie in another order elsewhere.
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

/// Numbers in another order as a new array of these axes.
pub fn reordered<'py, R: Number>(
    py: Python<'py>,
    from: (&[Complex<R>], Order),
    (axes, order): (&[usize], Order),
    words: usize,
) -> PyResult<Bound<'py, PyAny>> {
    R::written(py, axes, None, |to| on_host(py, || fill((to, order), from, words)))
}
