//! Exact sums over sites: that of the sites' terms (`docs/arithmetic.md` §8) is rounded once, so that its bits depend on the numbers alone.

use lanefield::backend::{BackendError, Memory as _, Sum};
use lanefield::dynamic::field_shape;
use lanefield::io::npy::FieldArray;
use lanefield::kernel::prelude::ReduceKernels as _;
use lanefield::reference::field::{Field, Object, Words};
use lanefield::reference::layout::{Direction, Extents, Lattice, LayoutError, Parity, Sites};
use lanefield::reference::real::Real;
use num_complex::Complex;
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;

use super::arguments;
use super::arrays::{Given, Number, array, on_values, tuple};
use super::configuration::extents_of;
use super::convention::{self, Convention, Order};
use super::device::Device;
use super::errors::{self, value};
use super::running;

/// Where in an array the lattice is, and over what is summed, as keywords say it.
struct How<'a, 'py> {
    lattice: Option<&'a Bound<'py, PyAny>>,
    leading: Option<usize>,
    ls: Option<usize>,
    convention: &'static str,
    parity: Option<Parity>,
    device: Option<&'a Bound<'py, PyAny>>,
}

/// Fields of any numbers a site, each of which is summed by itself, and where.
struct Summed {
    device: Py<Device>,
    extents: Extents,
    /// Axes of fields, before those of the lattice, and of a site.
    leading: Vec<usize>,
    site: Vec<usize>,
    /// Sites along s that are summed over too: each is a part of the array.
    ls: usize,
    order: Order,
    words: Words,
    sites: Sites,
}

impl Summed {
    fn new(py: Python<'_>, name: &str, shape: &[usize], how: &How<'_, '_>) -> PyResult<Self> {
        let convention = Convention::of(how.convention);
        let given = how.lattice.map(extents_of).transpose()?;
        // Axes of a lattice, with that of s.
        let along_s = usize::from(how.ls.is_some() && convention.has_axis_of_s());
        let first = match (how.leading, given) {
            (Some(leading), _) => leading,
            (None, Some(extents)) => Self::find(name, shape, &convention.axes(extents, how.ls)?, extents)?,
            (None, None) if convention == Convention::Gpt => 0,
            (None, None) => Self::first(name, shape, if convention == Convention::PyQuda { 5 } else { 4 } + along_s)?,
        };
        let extents = convention.extents((name, shape), first + along_s, given)?;
        let lattice = convention.axes(extents, how.ls)?;
        let Some(site) = shape.get(first..).and_then(|shape| shape.strip_prefix(&lattice[..])) else {
            let (shape, lattice) = (tuple(shape), tuple(&lattice));
            return Err(value(format!(
                "the shape of {name} is {shape}: expected the axes {lattice} of {extents} after the first {first}"
            )));
        };
        let words = site.iter().fold(1usize, |words, &extent| words.saturating_mul(extent));
        if !(1..=FieldArray::MOST_WORDS).contains(&words) {
            return Err(value(format!("a site has {words} numbers, not 1 to {}", FieldArray::MOST_WORDS)));
        }
        let sites = how.parity.map_or(Sites::Full, Sites::Parity);
        let ls = how.ls.unwrap_or(1);
        let of = Self {
            device: Device::of_host(py, how.device)?,
            extents,
            leading: shape[..first].to_vec(),
            site: site.to_vec(),
            ls,
            order: convention.order(extents, ls),
            words: Words(words),
            sites,
        };
        // Parities are those of the lattice itself.
        of.lattice::<f64>(extents).map_err(value)?;
        Ok(of)
    }

    /// The axis at which the lattice begins.
    fn find(name: &str, shape: &[usize], lattice: &[usize], extents: Extents) -> PyResult<usize> {
        let found: Vec<usize> = shape
            .windows(lattice.len())
            .enumerate()
            .filter(|(_, axes)| *axes == lattice)
            .map(|(first, _)| first)
            .collect();
        let (shape, lattice) = (tuple(shape), tuple(lattice));
        match found[..] {
            [first] => Ok(first),
            [] => {
                Err(value(format!("the shape of {name} is {shape}: it does not have the axes {lattice} of {extents}")))
            }
            _ => {
                let choices: Vec<String> = found.iter().map(|first| format!("leading={first}")).collect();
                let choices = choices.join(" or ");
                Err(value(format!(
                    "the shape of {name} is {shape}, where {lattice} could stand at several places: give {choices}"
                )))
            }
        }
    }

    /// The same where nothing is said of it: the first. What looks like several fields is refused.
    fn first(name: &str, shape: &[usize], axes: usize) -> PyResult<usize> {
        let is_one = match shape.get(axes..) {
            // Numbers; spinors and colour vectors; links and propagators.
            Some([] | [_] | [_, _]) => true,
            Some([_, 3, 3] | [4, 4, 3, 3]) => true,
            _ => shape.len() < axes,
        };
        match is_one {
            true => Ok(0),
            false => {
                let hint = "give the lattice, or with leading= how many axes come before those of the lattice";
                Err(value(format!("the shape of {name} is {}, of one field or of several: {hint}", tuple(shape))))
            }
        }
    }

    fn lattice<R: Number>(&self, extents: Extents) -> Result<Lattice, LayoutError> {
        let (object, lanes) = (Object::Words(self.words.0), self.device.get().lanes());
        Ok(field_shape(object, <R as Real>::PRECISION, (extents, self.sites), lanes)?.lattice)
    }

    /// Fields.
    fn count(&self) -> usize {
        self.leading.iter().product()
    }

    /// One of them. In five dimensions s counts further slices of time: exact sums do not see it.
    fn field<R: Number>(&self, number: usize, values: &[Complex<R>]) -> Result<Field<R, Words>, BackendError> {
        let [x, y, z, t] = self.extents.as_array();
        let (volume, words) = (self.extents.volume(), self.words.0);
        let lattice = self.lattice::<R>(Extents::new([x, y, z, t.saturating_mul(self.ls)])?)?;
        Ok(Field::from_sites(lattice, self.sites, self.words, |site, numbers| {
            let place = self.order.place(number * self.ls + site / volume, site % volume);
            numbers.copy_from_slice(&values[place * words..][..words]);
        })?)
    }
}

/// Evaluates `$sum` of the backend `$b` and the field `$x`, each of those in `$values`.
macro_rules! summed {
    ($py:expr, $of:expr, $values:expr, |$b:ident, $x:ident, $number:ident| $sum:expr) => {{
        let (of, values) = (&$of, $values);
        let sums = running::run($py, None, |courier| {
            let goes_on = courier.goes_on_asked();
            let $b = of.device.get().backend().as_ref();
            $b.install(|| {
                let sum = |$number: usize| {
                    let $x = $b.upload(of.field($number, values)?)?;
                    $sum
                };
                (0..of.count()).take_while(|_| goes_on()).map(sum).collect::<Result<Vec<_>, BackendError>>()
            })
        })?;
        sums.map_err(errors::backend)?
    }};
}

/// The sum of the one field that there is as a number, else an array.
fn numbers<'py, T: numpy::Element + IntoPyObject<'py> + Copy>(
    py: Python<'py>,
    of: &Summed,
    sums: Vec<T>,
) -> PyResult<Bound<'py, PyAny>> {
    match sums[..] {
        [sum] if of.leading.is_empty() => sum.into_bound_py_any(py),
        _ => array(py, sums, &of.leading),
    }
}

/// |x|², the exact sum over sites of the sites' terms, each computed in f64 (docs/arithmetic.md §8), rounded once: a number for an array
/// (T, Z, Y, X, …), an array for several of them. On the CPU where no device is given, as all sums.
///
/// lattice: the extents. Axes before those of the lattice are of several fields, and stay; an array that has no such axes is refused, and so is one that
///     has them at two places. Where not given, the lattice's axes come first. Arrays of gpt need it.
/// leading: how many axes come before those of the lattice.
/// ls: of five-dimensional fermions, the extent of s, whose axis stands before those of the lattice. The sum is then also over s, each site of which has a
///     term of its own; otherwise such an axis stays.
/// parity: of the sites; all where not given.
#[pyfunction]
#[pyo3(signature = (x, *, lattice=None, leading=None, ls=None, convention="lanefield", parity=None, device=None))]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn norm2<'py>(
    x: &Bound<'py, PyAny>,
    lattice: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::leading)] leading: Option<usize>,
    #[pyo3(from_py_with = arguments::ls)] ls: Option<usize>,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
    #[pyo3(from_py_with = arguments::parity)] parity: Option<Parity>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, given) = (x.py(), Given::new("x", x)?);
    let of = Summed::new(py, "x", given.shape(), &How { lattice, leading, ls, convention, parity, device })?;
    let sums = on_values!(&given, values => summed!(py, of, values, |b, x, number| b.norm2(&x, Sum::Exact)));
    numbers(py, &of, sums)
}

/// ⟨x, y⟩, antilinear in x, of two arrays (T, Z, Y, X, …) of one shape and precision: the exact sum over sites of the sites' terms, each computed in f64
/// (docs/arithmetic.md §8), rounded once. Keywords as of `norm2`.
#[pyfunction]
#[pyo3(signature = (x, y, *, lattice=None, leading=None, ls=None, convention="lanefield", parity=None, device=None))]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn inner<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    lattice: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::leading)] leading: Option<usize>,
    #[pyo3(from_py_with = arguments::ls)] ls: Option<usize>,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
    #[pyo3(from_py_with = arguments::parity)] parity: Option<Parity>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, left, right) = (x.py(), Given::new("x", x)?, Given::new("y", y)?);
    let facts = |given: &Given<'_>| format!("{} {}", given.precision(), tuple(given.shape()));
    if left.shape() != right.shape() || left.precision() != right.precision() {
        let (x, y) = (facts(&left), facts(&right));
        return Err(value(format!("x is {x}, and y is {y}: they must have the same shape and precision")));
    }
    let of = Summed::new(py, "x", left.shape(), &How { lattice, leading, ls, convention, parity, device })?;
    let sums = match (&left, &right) {
        (Given::F32(x), Given::F32(y)) => inner_of(py, &of, x.as_slice(), y.as_slice())?,
        (Given::F64(x), Given::F64(y)) => inner_of(py, &of, x.as_slice(), y.as_slice())?,
        _ => unreachable!("their precisions were compared"),
    };
    numbers(py, &of, sums)
}

fn inner_of<R: Number>(
    py: Python<'_>,
    of: &Summed,
    x: Result<&[Complex<R>], impl std::fmt::Display>,
    y: Result<&[Complex<R>], impl std::fmt::Display>,
) -> PyResult<Vec<Complex<f64>>> {
    let (x, y) = (x.map_err(value)?, y.map_err(value)?);
    Ok(summed!(py, *of, x, |b, x, number| b.inner_product(&x, &b.upload(of.field(number, y)?)?, Sum::Exact)))
}

/// The exact sum over all sites of each number of a site, rounded once: an array (T, Z, Y, X, …) without its first four axes. Keywords as of `norm2`.
#[pyfunction]
#[pyo3(signature = (x, *, lattice=None, leading=None, convention="lanefield", parity=None, device=None))]
pub fn sum_sites<'py>(
    x: &Bound<'py, PyAny>,
    lattice: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::leading)] leading: Option<usize>,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
    #[pyo3(from_py_with = arguments::parity)] parity: Option<Parity>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, given) = (x.py(), Given::new("x", x)?);
    let of = Summed::new(py, "x", given.shape(), &How { lattice, leading, ls: None, convention, parity, device })?;
    let sums = on_values!(&given, values => summed!(py, of, values, |b, x, number| b.sum(&x, Sum::Exact)));
    array(py, sums.concat(), &[&of.leading[..], &of.site].concat())
}

/// The same slice by slice across a direction, whose axis stands in the result where the lattice's were.
#[pyfunction]
#[pyo3(signature = (
    x, *, direction="t", lattice=None, leading=None, convention="lanefield", parity=None, device=None
))]
#[allow(clippy::too_many_arguments, reason = "keywords")]
pub fn sum_slices<'py>(
    x: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::direction)] direction: &'static str,
    lattice: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::leading)] leading: Option<usize>,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
    #[pyo3(from_py_with = arguments::parity)] parity: Option<Parity>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, given) = (x.py(), Given::new("x", x)?);
    let of = Summed::new(py, "x", given.shape(), &How { lattice, leading, ls: None, convention, parity, device })?;
    let across: Direction = direction.parse().map_err(value)?;
    let sums = on_values!(&given, values => {
        summed!(py, of, values, |b, x, number| b.slice_sums(&x, across, Sum::Exact))
    });
    let axes = [&of.leading[..], &[of.extents[across.index()]], &of.site].concat();
    array(py, sums.concat().concat(), &axes)
}
