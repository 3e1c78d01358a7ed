//! NumPy arrays of complex numbers. Those in C order are read where they lie; others are first brought into C order by NumPy. Results are handed over
//! without a copy.

use lanefield::io::npy::ArrayReal;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::real::Precision;
use num_complex::Complex;
use numpy::{
    Element, PyArray1, PyArrayDyn, PyArrayMethods as _, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods as _,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::errors::value;

/// Real numbers of arrays in which one computes: f32, f64.
pub trait Number: Vectors + ArrayReal {
    /// An array of so many numbers along each axis.
    ///
    /// # Errors
    /// Axes that do not hold them.
    fn array<'py>(py: Python<'py>, values: Vec<Complex<Self>>, axes: &[usize]) -> PyResult<Bound<'py, PyAny>>;
}

impl Number for f32 {
    fn array<'py>(py: Python<'py>, values: Vec<Complex<Self>>, axes: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        array(py, values, axes)
    }
}

impl Number for f64 {
    fn array<'py>(py: Python<'py>, values: Vec<Complex<Self>>, axes: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        array(py, values, axes)
    }
}

/// An array of any numbers, which it owns.
pub fn array<'py, T: Element>(py: Python<'py>, values: Vec<T>, axes: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyArray1::from_vec(py, values).reshape(axes.to_vec())?.into_any())
}

/// A complex array that was given, in C order.
pub enum Given<'py> {
    /// complex64
    F32(PyReadonlyArrayDyn<'py, Complex<f32>>),
    /// complex128
    F64(PyReadonlyArrayDyn<'py, Complex<f64>>),
}

/// Evaluates an expression with `$values` as the numbers of an array that was given, whatever their precision.
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

impl<'py> Given<'py> {
    /// An object as an array; `name` is told where it is none.
    pub fn new(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let in_c_order =
            py.import("numpy")?.call_method1("require", (object, py.None(), ["C_CONTIGUOUS", "ALIGNED"]))?;
        if let Ok(array) = in_c_order.cast::<PyArrayDyn<Complex<f64>>>() {
            return Ok(Self::F64(array.try_readonly().map_err(value)?));
        }
        if let Ok(array) = in_c_order.cast::<PyArrayDyn<Complex<f32>>>() {
            return Ok(Self::F32(array.try_readonly().map_err(value)?));
        }
        let found = in_c_order.cast::<PyUntypedArray>()?.dtype();
        Err(PyTypeError::new_err(format!("{name} is an array of {found}: expected complex64 or complex128")))
    }

    /// Its axes.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::F32(array) => array.shape(),
            Self::F64(array) => array.shape(),
        }
    }

    /// Its precision.
    pub fn precision(&self) -> Precision {
        match self {
            Self::F32(_) => Precision::F32,
            Self::F64(_) => Precision::F64,
        }
    }

    /// Refuses numbers that are not finite; `name` is the array's.
    pub fn require_finite(&self, name: &str) -> PyResult<()> {
        on_values!(self, values => {
            let Some(mut flat) = values.iter().position(|z| !(z.re.is_finite() && z.im.is_finite())) else { return Ok(()) };
            let wrong = values[flat];
            let mut index: Vec<usize> = self.shape().iter().rev().map(|&extent| (flat % extent, flat /= extent).0).collect();
            index.reverse();
            Err(value(format!("{name}{index:?} is {wrong}: expected finite numbers")))
        })
    }

    /// Its numbers in f64: a copy, from f32 without any change.
    pub fn to_f64(&self) -> PyResult<Vec<Complex<f64>>> {
        on_values!(self, values => Ok(converted(values)))
    }
}

/// Numbers in another precision, rounded to nearest.
fn converted<S: Vectors, R: Vectors>(values: &[Complex<S>]) -> Vec<Complex<R>> {
    values.iter().map(|z| Complex::new(R::from_f64(z.re.to_f64()), R::from_f64(z.im.to_f64()))).collect()
}

/// "(4, 4, 4, 8)"
pub fn tuple(axes: &[usize]) -> String {
    let axes: Vec<String> = axes.iter().map(ToString::to_string).collect();
    format!("({})", axes.join(", "))
}
