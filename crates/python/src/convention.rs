//! Arrays as PyQUDA and gpt have them. All three have spins in the basis of DeGrand and Rossi and spin slower than colour; sites and the links of a site
//! lie in other orders:
//!
//! | convention | fields | links |
//! |---|---|---|
//! | lanefield | (…, T, Z, Y, X, spin, colour) | (T, Z, Y, X, 4, 3, 3) |
//! | pyquda | (…, 2, T, Z, Y, X/2, spin, colour): even sites, then odd ones | (4, 2, T, Z, Y, X/2, 3, 3) |
//! | gpt | (…, sites, spin, colour), x fastest: what `field[:]` gives | (4, sites, 3, 3) |

use std::str::FromStr;

use lanefield::reference::layout::Extents;
use lanefield_ports::order::{SiteOrder, site_places};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arrays::{Given, Number, on_values, tuple};
use super::errors::value;

/// Whose arrays they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Convention {
    /// Ours.
    Lanefield,
    /// PyQUDA's.
    PyQuda,
    /// gpt's: Grid's.
    Gpt,
}

impl FromStr for Convention {
    type Err = PyErr;

    fn from_str(name: &str) -> PyResult<Self> {
        match name {
            "lanefield" => Ok(Self::Lanefield),
            "pyquda" => Ok(Self::PyQuda),
            "gpt" => Ok(Self::Gpt),
            _ => Err(value(format!("unknown convention '{name}': expected lanefield, pyquda or gpt"))),
        }
    }
}

impl Convention {
    /// The axes of a lattice.
    fn lattice(self, extents: Extents) -> PyResult<Vec<usize>> {
        let [x, y, z, t] = extents.as_array();
        match self {
            Self::Lanefield => Ok(vec![t, z, y, x]),
            Self::PyQuda if x % 2 == 0 => Ok(vec![2, t, z, y, x / 2]),
            Self::PyQuda => Err(value(format!("arrays of PyQUDA have an axis X/2, and X is {x} on {extents}"))),
            Self::Gpt => Ok(vec![extents.volume()]),
        }
    }

    fn order(self) -> SiteOrder {
        match self {
            Self::Lanefield | Self::Gpt => SiteOrder::Lexicographic,
            Self::PyQuda => SiteOrder::Quda,
        }
    }

    /// An array of this convention, whose last `of_site` axes are those of a site, in ours: (…, T, Z, Y, X, those of a site).
    pub fn to_ours<'py>(
        self,
        (name, array): (&str, &Bound<'py, PyAny>),
        extents: Extents,
        of_site: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self == Self::Lanefield {
            return Ok(array.clone());
        }
        let (given, lattice) = (Given::new(name, array)?, self.lattice(extents)?);
        let shape = given.shape();
        let parts = shape.len().checked_sub(of_site).and_then(|before| {
            let (front, site) = shape.split_at(before);
            Some((front.strip_suffix(&lattice[..])?, site))
        });
        let Some((leading, site)) = parts else {
            let (shape, lattice) = (tuple(shape), tuple(&lattice));
            return Err(value(format!(
                "the shape of {name} is {shape}: expected the axes {lattice} of {extents} before the last {of_site}"
            )));
        };
        let ours = [leading, &Self::Lanefield.lattice(extents)?, site].concat();
        // Each site of ours comes from its place in theirs.
        let places = site_places(extents, self.order());
        moved(array.py(), &given, &places, site, &ours)
    }

    /// An array of ours, whose last `of_site` axes are those of a site, in this convention.
    pub fn to_theirs<'py>(
        self,
        array: Bound<'py, PyAny>,
        extents: Extents,
        of_site: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self == Self::Lanefield {
            return Ok(array);
        }
        let given = Given::new("the array", &array)?;
        let shape = given.shape();
        let (front, site) = shape.split_at(shape.len() - of_site);
        let leading = &front[..front.len() - Self::Lanefield.lattice(extents)?.len()];
        let theirs = [leading, &self.lattice(extents)?, site].concat();
        let mut sites = vec![0; extents.volume()];
        site_places(extents, self.order()).into_iter().enumerate().for_each(|(site, place)| sites[place] = site);
        moved(array.py(), &given, &sites, site, &theirs)
    }

    /// Links of this convention in ours. Where extents are not in their shape, they must be given.
    pub fn links_to_ours<'py>(
        self,
        links: &Bound<'py, PyAny>,
        extents: Option<Extents>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self == Self::Lanefield {
            return Ok(links.clone());
        }
        let shape: Vec<usize> = links.getattr("shape")?.extract()?;
        let extents = extents.map_or_else(|| self.extents(&shape, 1), Ok)?;
        let links = self.to_ours(("links", links), extents, 2)?;
        links.py().import("numpy")?.call_method1("moveaxis", (links, 0, 4))
    }

    /// Links of ours in this convention.
    pub fn links_from_ours<'py>(self, links: Bound<'py, PyAny>, extents: Extents) -> PyResult<Bound<'py, PyAny>> {
        if self == Self::Lanefield {
            return Ok(links);
        }
        let links = links.py().import("numpy")?.call_method1("moveaxis", (links, 4, 0))?;
        self.to_theirs(links, extents, 2)
    }

    /// The extents of an array of this shape, whose lattice begins at axis `first`.
    pub fn extents(self, shape: &[usize], first: usize) -> PyResult<Extents> {
        match (self, shape.get(first..).unwrap_or_default()) {
            (Self::Lanefield, &[t, z, y, x, ..]) => Extents::new([x, y, z, t]).map_err(value),
            (Self::PyQuda, &[2, t, z, y, half, ..]) => Extents::new([half.saturating_mul(2), y, z, t]).map_err(value),
            (Self::Gpt, _) => Err(value("arrays of gpt do not tell the extents: give lattice=(x, y, z, t)")),
            _ => Err(value(format!("the shape is {}: it has no axes of a lattice", tuple(shape)))),
        }
    }
}

/// An array of these axes, of which each site is the one of that number in `given`.
fn moved<'py>(
    py: Python<'py>,
    given: &Given<'_>,
    sites: &[usize],
    site: &[usize],
    axes: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    fn gathered<R: Number>(values: &[Complex<R>], sites: &[usize], words: usize) -> Vec<Complex<R>> {
        let field =
            |field: usize| sites.iter().flat_map(move |&site| &values[(field * sites.len() + site) * words..][..words]);
        (0..values.len() / (sites.len() * words)).flat_map(field).copied().collect()
    }
    let words = site.iter().product();
    on_values!(given, values => Number::array(py, gathered(values, sites, words), axes))
}
