//! The position of each number of an array in our order within the memory of another program, and the shapes of its arrays.

use super::convention::{Convention, Inner, SiteOrder};
use super::error::OrderError;
use super::gamma::GammaBasis;
use super::shapes::require_shape;
use crate::Content;
use lanefield::prelude::*;
use lanefield::reference::ensure;

/// The position of each site (numbered with x fastest) in another order.
pub(crate) fn site_places(extents: Extents, order: SiteOrder) -> Vec<usize> {
    let volume = extents.volume();
    if !order.has_parities() {
        return (0..volume).collect();
    }
    let first = if order == SiteOrder::OddEven { Parity::Odd } else { Parity::Even };
    // 0 for the parity that comes first.
    let parity = |site: usize| usize::from(Parity::of(extents.coordinate(site)) != first);
    let mut next = [0, (0..volume).filter(|&site| parity(site) == 0).count()];
    let place = |site: usize| {
        let next = &mut next[parity(site)];
        *next += 1;
        *next - 1
    };
    (0..volume).map(place).collect()
}

/// The strides of the spin axes of an array in our order, in numbers; `None` if it has no spins.
pub(super) fn spin_strides(shape: &[usize]) -> Option<Vec<usize>> {
    match shape {
        [.., 4, 4, 3, 3] if shape.len() == 8 => Some(vec![36, 9]),
        [.., 4, 3] if matches!(shape.len(), 6 | 7) => Some(vec![3]),
        _ => None,
    }
}

/// A field of another program: its extents, the contents of a site, and the order of its axes.
#[derive(Debug)]
pub(crate) struct Layout {
    convention: Convention,
    extents: Extents,
    /// Sites of the fifth dimension, whose axis is the slowest.
    ls: Option<usize>,
    /// For links in one field per direction: the number of directions.
    directions: Option<usize>,
    /// The axes of a site in our order.
    site: Vec<usize>,
}

impl Layout {
    /// The layout of an array of another program, whose shape is that of its order, or ours. `content` distinguishes spinors of legs from five
    /// dimensions.
    pub fn of(shape: &[usize], content: Content, convention: Convention) -> Result<Self, OrderError> {
        let Convention { order, gamma, inner } = convention;
        if order != SiteOrder::Lexicographic {
            require_shape(shape, order)?;
        }
        let fail = |reason: &str| OrderError::Shape { order, shape: shape.to_owned(), reason: reason.to_owned() };
        // Spinors, with their last two axes in our order. Before these are the four axes of a lattice: (T, Z, Y, 4, 3) is an array of colour
        // vectors.
        let (axes, is_spinor) = match (shape, inner) {
            ([2, .., 8, 4, 3], _) if shape.len() == 8 && order.has_parities() => (shape, false),
            _ if content == Content::Legs => (shape, false),
            ([axes @ .., 4, 3], _) | ([axes @ .., 3, 4], Inner::ColourSpin) if axes.len() >= 4 => (axes, true),
            _ => (shape, false),
        };
        if is_spinor {
            let (ls, lattice) = match axes {
                [_, _, _, _] => (None, (false, axes)),
                [2, lattice @ ..] if lattice.len() == 4 && order.has_parities() => (None, (true, lattice)),
                [ls, lattice @ ..] if lattice.len() == 4 => (Some(*ls), (false, lattice)),
                [ls, 2, lattice @ ..] if lattice.len() == 4 && order.has_parities() => (Some(*ls), (true, lattice)),
                _ => {
                    return Err(fail(
                        "expected (T, Z, Y, X, 4, 3), or (2, T, Z, Y, X/2, 4, 3) if even sites come first; in five dimensions, Ls is in front",
                    ));
                }
            };
            let extents = extents(lattice).map_err(|error| fail(&error))?;
            return Ok(Self { convention, extents, ls, directions: None, site: vec![4, 3] });
        }
        let no_spins = |what, also| OrderError::NoSpins { shape: shape.to_owned(), what, also };
        let are_links =
            order.has_direction_slowest() && order.has_parities() && matches!(shape, [4 | 8, 2, _, _, _, _, 3, 3]);
        let is_propagator = !are_links && matches!(shape, [.., 4, 4, 3, 3]) && matches!(shape.len(), 8 | 9);
        ensure!(inner != Inner::ColourSpin, no_spins("order", ", and colour-spin has a meaning only for spinors"));
        ensure!(gamma == GammaBasis::DegrandRossi || is_propagator, no_spins("basis", ""));
        if order.has_direction_slowest() && !is_propagator {
            // Links with the direction slowest.
            let (directions, lattice) = match shape {
                [4, lattice @ .., 3, 3] if lattice.len() == 4 => (Some(4), (false, lattice)),
                [n @ (4 | 8), 2, lattice @ .., 3, 3] if lattice.len() == 4 => (Some(*n), (true, lattice)),
                _ => (None, (false, shape)),
            };
            if directions.is_some() {
                let extents = extents(lattice).map_err(|error| fail(&error))?;
                return Ok(Self { convention, extents, ls: None, directions, site: vec![3, 3] });
            }
        }
        let (lattice, site) = match shape {
            [2, t, z, y, x, site @ ..] if order.has_parities() && !site.is_empty() => ((true, [*t, *z, *y, *x]), site),
            [t, z, y, x, site @ ..] => ((false, [*t, *z, *y, *x]), site),
            _ => return Err(fail("expected (T, Z, Y, X, …), or (2, T, Z, Y, X/2, …) if even sites come first")),
        };
        let extents = extents((lattice.0, &lattice.1)).map_err(|error| fail(&error))?;
        Ok(Self { convention, extents, ls: None, directions: None, site: site.to_owned() })
    }

    pub(crate) fn of_ours(shape: &[usize], content: Content, convention: Convention) -> Result<Self, OrderError> {
        let Convention { order, gamma, inner } = convention;
        let fail = |reason: String| OrderError::Shape { order, shape: shape.to_owned(), reason };
        let spins = spin_strides(shape);
        let no_spins = |what, also| OrderError::NoSpins { shape: shape.to_owned(), what, also };
        if inner == Inner::ColourSpin && (spins.as_deref() != Some(&[3]) || content == Content::Legs) {
            return Err(no_spins("order", ", and colour-spin has a meaning only for spinors"));
        }
        ensure!(gamma == GammaBasis::DegrandRossi || spins.is_some(), no_spins("basis", ""));
        let (ls, axes) = match shape {
            [ls, axes @ ..] if axes.len() == 6 && axes.ends_with(&[4, 3]) && content != Content::Legs => {
                (Some(*ls), axes)
            }
            _ => (None, shape),
        };
        let Some((lattice, site)) = axes.split_at_checked(4) else {
            return Err(fail("expected (T, Z, Y, X, …), or (Ls, T, Z, Y, X, 4, 3) in five dimensions".to_owned()));
        };
        let extents = extents((false, lattice)).map_err(fail)?;
        if order.has_parities() && extents[0] % 2 != 0 {
            return Err(fail(format!(
                "with even sites first, an axis is X/2, and X is {}: the extent in x must be even",
                extents[0]
            )));
        }
        let (directions, site) = match site {
            [4, 3, 3] if order.has_direction_slowest() => (Some(4), &site[1..]),
            [8, 3, 3] if order.has_direction_slowest() && order.has_parities() => (Some(8), &site[1..]),
            site => (None, site),
        };
        Ok(Self { convention, extents, ls, directions, site: site.to_owned() })
    }

    pub(crate) fn our_shape(&self) -> Vec<usize> {
        let [x, y, z, t] = self.extents.as_array();
        self.ls.into_iter().chain([t, z, y, x]).chain(self.directions).chain(self.site.iter().copied()).collect()
    }

    pub(crate) fn their_shape(&self) -> Vec<usize> {
        let [x, y, z, t] = self.extents.as_array();
        let lattice = if self.convention.order.has_parities() { vec![2, t, z, y, x / 2] } else { vec![t, z, y, x] };
        let mut site = self.site.clone();
        if self.convention.inner == Inner::ColourSpin {
            site.reverse();
        }
        self.ls.into_iter().chain(self.directions).chain(lattice).chain(site).collect()
    }

    pub fn places(&self) -> Places {
        let (order, volume) = (self.convention.order, self.extents.volume());
        let sites = site_places(self.extents, order);
        let mut numbers = vec![0; volume];
        sites.iter().enumerate().for_each(|(site, &place)| numbers[place] = site);
        let (directions, words) = (self.directions.unwrap_or(1), self.site.iter().product());
        let count = self.ls.unwrap_or(1) * volume * directions * words;
        Places { sites, numbers, directions, words, count, inner: self.convention.inner }
    }
}

/// The map from numbers in our order to their positions in the memory of another program, and back.
pub(crate) struct Places {
    sites: Vec<usize>,
    numbers: Vec<usize>,
    directions: usize,
    words: usize,
    count: usize,
    inner: Inner,
}

impl Places {
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn place(&self, number: usize) -> usize {
        let Self { sites, directions, words, .. } = self;
        let (rest, word) = (number / words, number % words);
        let (rest, direction) = (rest / directions, rest % directions);
        let (s, site) = (rest / sites.len(), rest % sites.len());
        let word = match self.inner {
            Inner::SpinColour => word,
            Inner::ColourSpin => word % 3 * 4 + word / 3,
        };
        ((s * directions + direction) * sites.len() + sites[site]) * words + word
    }

    pub fn number(&self, place: usize) -> usize {
        let Self { numbers, directions, words, .. } = self;
        let (rest, word) = (place / words, place % words);
        let (rest, site) = (rest / numbers.len(), rest % numbers.len());
        let (s, direction) = (rest / directions, rest % directions);
        let word = match self.inner {
            Inner::SpinColour => word,
            Inner::ColourSpin => word % 4 * 3 + word / 4,
        };
        ((s * numbers.len() + numbers[site]) * directions + direction) * words + word
    }
}

/// The extents of a lattice whose axes are (T, Z, Y, X), or (T, Z, Y, X/2).
fn extents((halved, axes): (bool, &[usize])) -> Result<Extents, String> {
    let &[t, z, y, x] = axes else { return Err("it does not have the four axes of a lattice".to_owned()) };
    let x = if halved { x.saturating_mul(2) } else { x };
    Extents::new([x, y, z, t]).map_err(|error| error.to_string())
}
