//! Exact sums over sites: each is rounded once, so that its bits depend on the numbers alone.

use lanefield::backend::{BackendError, Memory as _, Sum};
use lanefield::io::npy::FieldArray;
use lanefield::kernel::prelude::ReduceKernels as _;
use lanefield::reference::field::{Field, Words};
use lanefield::reference::layout::{Checkerboard, Direction, Extents, Lattice, LatticeOptions, Parity, Sites};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arrays::{Given, Number, array, on_values, tuple};
use super::device::{Device, on_backend};
use super::errors::{self, value};
use super::running;

/// A field of any numbers a site, and where it is summed.
struct Summed {
    device: Py<Device>,
    extents: Extents,
    words: Words,
    sites: Sites,
}

impl Summed {
    fn new(py: Python<'_>, shape: &[usize], parity: Option<&str>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some((&[t, z, y, x], site)) = shape.split_first_chunk() else {
            return Err(value(format!("the shape is {}: expected (T, Z, Y, X, numbers of a site …)", tuple(shape))));
        };
        let words = site.iter().fold(1usize, |words, &extent| words.saturating_mul(extent));
        if !(1..=FieldArray::MOST_WORDS).contains(&words) {
            return Err(value(format!("a site has {words} numbers, not 1 to {}", FieldArray::MOST_WORDS)));
        }
        let parity: Option<Parity> = parity.map(str::parse).transpose().map_err(value)?;
        let extents = Extents::new([x, y, z, t]).map_err(value)?;
        let sites = parity.map_or(Sites::Full, Sites::Parity);
        Ok(Self { device: Device::of_host(py, device)?, extents, words: Words(words), sites })
    }

    fn field<R: Number>(&self, values: &[Complex<R>]) -> Result<Field<R, Words>, BackendError> {
        let checkerboard = if self.sites == Sites::Full { Checkerboard::FullOnly } else { Checkerboard::RedBlack };
        let options = LatticeOptions { lanes: self.device.get().lanes(), nodes: None, checkerboard };
        let lattice = Lattice::new(self.extents, R::COMPLEX, options)?;
        Ok(Field::from_site_order(lattice, self.sites, self.words, values)?)
    }
}

/// Evaluates `$sum` of the backend `$b` and the field `$x` of `$values`.
macro_rules! summed {
    ($py:expr, $of:expr, $values:expr, |$b:ident, $x:ident| $sum:expr) => {{
        let (of, values) = (&$of, $values);
        let sum = running::run($py, None, |_| {
            on_backend!(of.device.get().backend().as_ref(), $b => {
                let $x = $b.upload(of.field(values)?)?;
                $sum
            })
        })?;
        sum.map_err(errors::backend)?
    }};
}

/// |x|², the sum over all numbers of an array (T, Z, Y, X, …).
#[pyfunction]
#[pyo3(signature = (x, *, parity=None, device=None))]
pub fn norm2(x: &Bound<'_, PyAny>, parity: Option<&str>, device: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
    let (py, given) = (x.py(), Given::new("x", x)?);
    let of = Summed::new(py, given.shape(), parity, device)?;
    Ok(on_values!(&given, values => summed!(py, of, values, |b, x| b.norm2(&x, Sum::Exact))))
}

/// ⟨x, y⟩, antilinear in x, of two arrays (T, Z, Y, X, …) of one shape and precision.
#[pyfunction]
#[pyo3(signature = (x, y, *, parity=None, device=None))]
pub fn inner(
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    parity: Option<&str>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Complex<f64>> {
    let (py, left, right) = (x.py(), Given::new("x", x)?, Given::new("y", y)?);
    let of = Summed::new(py, left.shape(), parity, device)?;
    let product = match (&left, &right) {
        _ if left.shape() != right.shape() => None,
        (Given::F32(x), Given::F32(y)) => Some(inner_of(py, &of, x.as_slice(), y.as_slice())?),
        (Given::F64(x), Given::F64(y)) => Some(inner_of(py, &of, x.as_slice(), y.as_slice())?),
        _ => None,
    };
    let facts = |given: &Given<'_>| format!("{} {}", given.precision(), tuple(given.shape()));
    let differ =
        || format!("x is {}, and y is {}: they must have the same shape and precision", facts(&left), facts(&right));
    product.ok_or_else(|| value(differ()))
}

fn inner_of<R: Number>(
    py: Python<'_>,
    of: &Summed,
    x: Result<&[Complex<R>], impl std::fmt::Display>,
    y: Result<&[Complex<R>], impl std::fmt::Display>,
) -> PyResult<Complex<f64>> {
    let (x, y) = (x.map_err(value)?, y.map_err(value)?);
    Ok(summed!(py, *of, x, |b, x| b.inner_product(&x, &b.upload(of.field(y)?)?, Sum::Exact)))
}

/// The sum over all sites of each number of a site: complex128, the axes of an array (T, Z, Y, X, …) after the first four.
#[pyfunction]
#[pyo3(signature = (x, *, parity=None, device=None))]
pub fn sum_sites<'py>(
    x: &Bound<'py, PyAny>,
    parity: Option<&str>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, given) = (x.py(), Given::new("x", x)?);
    let of = Summed::new(py, given.shape(), parity, device)?;
    let sums = on_values!(&given, values => summed!(py, of, values, |b, x| b.sum(&x, Sum::Exact)));
    array(py, sums, &given.shape()[4..])
}

/// The same slice by slice across a direction, "x", "y", "z" or "t": its axis is the first of the result.
#[pyfunction]
#[pyo3(signature = (x, *, direction="t", parity=None, device=None))]
pub fn sum_slices<'py>(
    x: &Bound<'py, PyAny>,
    direction: &str,
    parity: Option<&str>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, given) = (x.py(), Given::new("x", x)?);
    let of = Summed::new(py, given.shape(), parity, device)?;
    let across: Direction = direction.parse().map_err(value)?;
    let sums = on_values!(&given, values => summed!(py, of, values, |b, x| b.slice_sums(&x, across, Sum::Exact)));
    let axes = [&[of.extents[across.index()]], &given.shape()[4..]].concat();
    array(py, sums.concat(), &axes)
}
