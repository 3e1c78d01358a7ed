//! Exact sums over sites: the sum of the sites' terms (`docs/arithmetic.md` §8) is rounded once. Its bits depend only on the numbers.

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

/// The keywords of a sum: where the lattice is in an array, and which sites are summed.
struct How<'a, 'py> {
    lattice: Option<&'a Bound<'py, PyAny>>,
    leading: Option<usize>,
    ls: Option<usize>,
    convention: &'static str,
    parity: Option<Parity>,
    device: Option<&'a Bound<'py, PyAny>>,
}

/// An array as fields with any number of words a site, each of which is summed separately.
struct Summed {
    device: Py<Device>,
    extents: Extents,
    /// Axes before those of the lattice, which count fields.
    leading: Vec<usize>,
    /// Axes of a site.
    site: Vec<usize>,
    /// Number of sites along s, which are summed over too.
    ls: usize,
    order: Order,
    words: Words,
    sites: Sites,
}

impl Summed {
    fn new(py: Python<'_>, name: &str, shape: &[usize], how: &How<'_, '_>) -> PyResult<Self> {
        let convention = Convention::of(how.convention);
        let given = how.lattice.map(extents_of).transpose()?;
        // 1 if the axes of the lattice begin with an axis of s.
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
            return Err(value(format!("a site has {words} numbers: expected 1 to {}", FieldArray::MOST_WORDS)));
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
        // Whether the lattice has parities depends on its own extents, without s.
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

    /// The default for the axis at which the lattice begins: the first. Fails if the shape may be that of several fields.
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
                let hint = "give lattice=, or leading=, the number of axes before those of the lattice";
                Err(value(format!("the shape of {name} is {}, which fits one field or several: {hint}", tuple(shape))))
            }
        }
    }

    fn lattice<R: Number>(&self, extents: Extents) -> Result<Lattice, LayoutError> {
        let (object, lanes) = (Object::Words(self.words.0), self.device.get().lanes());
        Ok(field_shape(object, <R as Real>::PRECISION, (extents, self.sites), lanes)?.lattice)
    }

    /// Number of fields.
    fn count(&self) -> usize {
        self.leading.iter().product()
    }

    /// A field by its number. In five dimensions, the sites along s become further time slices, which does not change exact sums.
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

/// Evaluates `$sum` for each field `$x` in `$values`, on the backend `$b`.
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

/// The sums as an array, or as a number if there is only one field and no axis for it.
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

/// The squared norm |x|²: the exact sum over sites of the sites' terms, rounded once. Each term is computed in f64
/// (docs/arithmetic.md §8). The result is a number for an array (T, Z, Y, X, …), and an array for several of them.
///
/// lattice: the extents. Axes before those of the lattice count fields, and stay. An array is refused if it does not have the axes of
///     the lattice, or has them at two places. By default, the axes of the lattice are the first. Arrays of gpt need `lattice`.
/// leading: number of axes before those of the lattice.
/// ls: for five-dimensional fermions, the extent of s, whose axis stands before those of the lattice. The sum is then also over s,
///     with a term for each site of each s. Without `ls` such an axis stays.
/// parity: the sites to sum over; by default all.
/// device: the CPU by default, as for all sums.
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

/// The inner product ⟨x, y⟩, antilinear in x, of two arrays (T, Z, Y, X, …) with the same shape and precision: the exact sum over
/// sites of the sites' terms, rounded once. Each term is computed in f64 (docs/arithmetic.md §8). The keywords are those of `norm2`.
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

/// The exact sum over all sites of each number of a site, rounded once: an array (T, Z, Y, X, …) without its first four axes. The
/// keywords are those of `norm2`.
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

/// The sums of `sum_sites` over each slice across a direction. In the result, the axis of that direction takes the place of the
/// lattice's axes.
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
