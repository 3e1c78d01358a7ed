//! NumPy arrays of complex numbers. Arrays in C order are read in place; NumPy first copies others into C order. Results are written into
//! arrays, or become arrays without a copy.

use std::path::PathBuf;

use lanefield::io::hdf5;
use lanefield::io::npy::{self, ArrayReal, ComplexArray, ComplexValues};
use lanefield::io::open::{Reopenable, begins_an_array};
use lanefield::io::sidecar;
use lanefield::reference::ensure;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::real::Precision;
use lanefield::reference::tasks;
use num_complex::Complex;
use numpy::{
    BorrowError, Element, PyArray1, PyArrayDescrMethods as _, PyArrayDyn, PyArrayMethods as _, PyReadonlyArrayDyn,
    PyUntypedArray, PyUntypedArrayMethods as _,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::device::on_host;
use super::errors::{self, value};

/// The working precisions f32 and f64, as real numbers of arrays.
pub trait Number: Vectors + ArrayReal {
    /// An array of these numbers, with extents `axes`.
    fn array<'py>(py: Python<'py>, values: Vec<Complex<Self>>, axes: &[usize]) -> PyResult<Bound<'py, PyAny>>;

    /// Has `write` fill an array, and returns it: `out`, or a new array. Its content is arbitrary before.
    /// Fails without memory, if `out` has another type or other axes or cannot be written to, and if `write` fails.
    fn written<'py>(
        py: Python<'py>,
        axes: &[usize],
        out: Option<&Bound<'py, PyAny>>,
        write: impl FnOnce(&mut [Complex<Self>]) -> PyResult<()>,
    ) -> PyResult<Bound<'py, PyAny>>;
}

/// Implements [`Number`], since PyO3 needs concrete types.
macro_rules! numbers {
    ($($real:ty),+) => {
        $(impl Number for $real {
            fn array<'py>(py: Python<'py>, values: Vec<Complex<Self>>, axes: &[usize]) -> PyResult<Bound<'py, PyAny>> {
                array(py, values, axes)
            }

            fn written<'py>(
                py: Python<'py>,
                axes: &[usize],
                out: Option<&Bound<'py, PyAny>>,
                write: impl FnOnce(&mut [Complex<Self>]) -> PyResult<()>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let array = match out {
                    Some(out) => as_result::<Complex<Self>>(out, axes)?,
                    None => empty::<Complex<Self>>(py, axes)?,
                };
                let mut writing = array.try_readwrite().map_err(|error| match error {
                    BorrowError::AlreadyBorrowed => value("out shares memory with the array that is read: give another one"),
                    error => value(format!("out cannot be written to: {error}")),
                })?;
                write(writing.as_slice_mut().map_err(value)?)?;
                drop(writing);
                Ok(array.into_any())
            }
        })+
    };
}
numbers!(f32, f64);

/// An array that owns these numbers.
pub fn array<'py, T: Element>(py: Python<'py>, values: Vec<T>, axes: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyArray1::from_vec(py, values).reshape(axes.to_vec())?.into_any())
}

/// Reads an array of complex numbers from a NumPy file, or from an HDF5 file such as a propagator of QDP++ (Chroma). If the array has
/// a sidecar, the sidecar must describe it.
///
/// dataset: the path of the array in an HDF5 file, "a/b/c". By default, the only dataset of complex numbers.
#[pyfunction]
#[pyo3(signature = (path, *, dataset=None))]
pub fn read_array<'py>(py: Python<'py>, path: PathBuf, dataset: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let ComplexArray { shape, values } = on_host(py, || {
        sidecar::check(&path).map_err(value)?;
        let file = Reopenable::open(&path, begins_an_array).map_err(|error| errors::unopened(&error))?;
        match hdf5::is_hdf5(file.path()) {
            true => hdf5::read_complex(file.path(), dataset).map_err(|error| errors::array(&path, error)),
            false => npy::read_complex(file.path()).map_err(|error| errors::array(&path, error)),
        }
    })??;
    match values {
        ComplexValues::F32(values) => array(py, values, &shape),
        ComplexValues::F64(values) => array(py, values, &shape),
    }
}

/// A new array. NumPy allocates it, and raises `MemoryError` if there is no memory.
fn empty<'py, T: Element>(py: Python<'py>, axes: &[usize]) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let array = py.import("numpy")?.call_method1("empty", (axes.to_vec(), T::get_dtype(py)))?;
    Ok(array.cast_into::<PyArrayDyn<T>>()?)
}

/// The argument `out`, if the result can be written into it.
fn as_result<'py, T: Element>(out: &Bound<'py, PyAny>, axes: &[usize]) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let expected = || format!("expected an array of {} {}, as the result", T::get_dtype(out.py()), tuple(axes));
    let Ok(array) = out.cast::<PyUntypedArray>() else {
        return Err(PyTypeError::new_err(format!("out is not a NumPy array: {}", expected())));
    };
    let found = format!("out is an array of {} {}", array.dtype(), tuple(array.shape()));
    let Ok(array) = out.cast::<PyArrayDyn<T>>() else {
        return Err(PyTypeError::new_err(format!("{found}: {}", expected())));
    };
    ensure!(array.shape() == axes, value(format!("{found}: {}", expected())));
    if !out.getattr("flags")?.getattr("carray")?.is_truthy()? {
        return Err(value("out must be in C order, aligned and writeable"));
    }
    Ok(array.clone())
}

/// A complex array in C order that is an argument.
pub enum Given<'py> {
    /// complex64
    F32(PyReadonlyArrayDyn<'py, Complex<f32>>),
    /// complex128
    F64(PyReadonlyArrayDyn<'py, Complex<f64>>),
}

/// Evaluates an expression with `$values` as the numbers of a [`Given`] array of either precision.
macro_rules! on_values {
    ($given:expr, $values:ident => $work:expr) => {
        match $given {
            $crate::arrays::Given::F32(array) => {
                let $values = array.as_slice().map_err($crate::errors::value)?;
                $work
            }
            $crate::arrays::Given::F64(array) => {
                let $values = array.as_slice().map_err($crate::errors::value)?;
                $work
            }
        }
    };
}
pub(crate) use on_values;

/// An object as an array in C order and in this machine's byte order.
pub fn in_c_order<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let numpy = object.py().import("numpy")?;
    require_no_masks(&numpy.getattr("ma")?, object)?;
    let array = numpy.call_method1("asarray", (object,))?;
    let native = array.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
    let array = numpy.call_method1("require", (array, native, ["C_CONTIGUOUS", "ALIGNED"]))?;
    Ok(array.cast_into::<PyUntypedArray>()?)
}

/// Fails if an array has masked elements. This includes arrays in lists and tuples, because NumPy would drop their masks.
fn require_no_masks(masked: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return object.try_iter()?.try_for_each(|item| require_no_masks(masked, &item?));
    }
    let is_masked_array = object.is_instance(&masked.getattr("MaskedArray")?)?;
    match is_masked_array && masked.call_method1("is_masked", (object,))?.is_truthy()? {
        true => {
            Err(value("an array has masked elements, which have no value: fill them, for example with array.filled(0)"))
        }
        false => Ok(()),
    }
}

impl<'py> Given<'py> {
    /// An object as an array. An error calls it `name`.
    pub fn new(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let array = in_c_order(object)?;
        if let Ok(array) = array.cast::<PyArrayDyn<Complex<f64>>>() {
            return Ok(Self::F64(array.try_readonly().map_err(value)?));
        }
        if let Ok(array) = array.cast::<PyArrayDyn<Complex<f32>>>() {
            return Ok(Self::F32(array.try_readonly().map_err(value)?));
        }
        let found = array.dtype();
        let found = match found.kind() {
            b'O' => format!("{name} is {}", super::arguments::shown(object)),
            _ => format!("{name} is an array of {found}"),
        };
        Err(PyTypeError::new_err(format!("{found}: expected a NumPy array of complex64 or complex128")))
    }

    pub fn shape(&self) -> &[usize] {
        match self {
            Self::F32(array) => array.shape(),
            Self::F64(array) => array.shape(),
        }
    }

    pub fn precision(&self) -> Precision {
        match self {
            Self::F32(_) => Precision::F32,
            Self::F64(_) => Precision::F64,
        }
    }

    /// Fails if a number is not finite. The error calls the array `name`.
    pub fn require_finite(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        on_values!(self, values => {
            let Some(mut flat) = on_host(py, || first_that_is_not_finite(values))? else { return Ok(()) };
            let wrong = values[flat];
            let mut index: Vec<usize> = self.shape().iter().rev().map(|&extent| (flat % extent, flat /= extent).0).collect();
            index.reverse();
            Err(value(format!("{name}{index:?} is {wrong}: expected finite numbers")))
        })
    }
}

/// The index of the first number that is infinite or NaN.
fn first_that_is_not_finite<R: Number>(values: &[Complex<R>]) -> Option<usize> {
    const A_TASK: usize = 1 << 14;
    let is_finite = |z: &Complex<R>| z.re.to_f64().is_finite() & z.im.to_f64().is_finite();
    let all_are = |values: &[Complex<R>]| values.iter().fold(true, |all, z| all & is_finite(z));
    let tasks = tasks::map(values.len().div_ceil(A_TASK), |task| all_are(tasks::chunk(values, A_TASK, task)));
    let first = A_TASK * tasks.iter().position(|&all| !all)?;
    values[first..].iter().position(|z| !is_finite(z)).map(|place| first + place)
}

/// "(4, 4, 4, 8)"
pub fn tuple(axes: &[usize]) -> String {
    match axes {
        [one] => format!("({one},)"),
        axes => format!("({})", axes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}
