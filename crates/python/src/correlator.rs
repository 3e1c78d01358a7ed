//! Correlators of the pion and the rho, and their effective masses.

use std::borrow::Cow;

use lanefield::observable::{EffectiveMass, MesonCorrelators, TwistAngle, meson_correlators};
use lanefield::reference::field::{Propagator, list_of};
use num_complex::Complex;
use numpy::{PyArray1, PyArrayDescrMethods as _, PyReadonlyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::arguments::{self, shown};
use super::arrays::{Given, Number, array, in_c_order, on_values, tuple};
use super::configuration::extents_of;
use super::convention::{self, Convention, Order, fill};
use super::device::{Device, on_host};
use super::errors::{self, value};
use super::propagator::OF_SITE;
use super::running;

/// Correlators of the pion and the rho at times 0 to T - 1 from the source.
#[pyclass(frozen, module = "lanefield")]
pub struct Correlators(MesonCorrelators, Option<TwistAngle>);

#[pymethods]
impl Correlators {
    /// Γ = γ5: (T).
    #[getter]
    fn pion<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.pion)
    }

    /// The average over Γ = γx, γy, γz: (T).
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.rho)
    }

    /// Γ = γx, γy, γz: (3, T).
    #[getter]
    fn rho_components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.rho_components.concat(), &[3, self.0.pion.len()])
    }

    /// The twist angle, in degrees, of the rotation of the propagator to the physical basis of twisted mass; None if none was given.
    #[getter]
    fn twist_angle(&self) -> Option<f64> {
        self.1.map(TwistAngle::degrees)
    }

    fn __repr__(&self) -> String {
        format!("<lanefield.Correlators of {} times>", self.0.pion.len())
    }
}

/// Computes the correlators of a propagator (T, Z, Y, X, 4, 4, 3, 3) whose source lies in time slice `origin_time`. C(t) is the sum
/// over time slice t of tr[γ5 S† γ5 Γ S Γ]: the exact sum of the traces of its sites, each computed in f64 (docs/arithmetic.md §11).
///
/// twist_angle: for a propagator of twisted mass, "maximal", or ω in degrees with tan ω = mu / (m - m_cr). The propagator is first
///     rotated to the physical basis. Without it, the rho is that of the twisted basis, which is the physical a1 at maximal twist.
///     Mesons are charged.
/// device: the CPU by default.
/// lattice: the extents. Arrays of gpt need them, because their shape does not determine them. Other arrays must have these extents.
#[pyfunction]
#[pyo3(signature = (propagator, *, origin_time=0, twist_angle=None, device=None, convention="lanefield", lattice=None))]
pub fn correlator(
    propagator: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::origin_time)] origin_time: usize,
    #[pyo3(from_py_with = arguments::twist_angle)] twist_angle: Option<TwistAngle>,
    device: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = convention::convention)] convention: &'static str,
    lattice: Option<&Bound<'_, PyAny>>,
) -> PyResult<Correlators> {
    let (py, convention) = (propagator.py(), Convention::of(convention));
    let given = Given::new("propagator", propagator)?;
    let extents = convention.extents(("propagator", given.shape()), 0, lattice.map(extents_of).transpose()?)?;
    let expected = [&convention.axes(extents, None)?[..], &OF_SITE].concat();
    if given.shape() != expected {
        let (found, expected) = (tuple(given.shape()), tuple(&expected));
        return Err(value(format!(
            "the shape of propagator is {found}: expected {expected}, one propagator on {extents}"
        )));
    }
    given.require_finite(py, "propagator")?;
    let device = Device::of_host(py, device)?;
    let (backend, lanes) = (device.get().backend().as_ref(), device.get().lanes());
    let order = convention.order(extents, 1);
    let correlators = on_values!(&given, values => {
        let values = on_host(py, || {
            let ours = Order::together(extents, 1);
            let Some(angle) = twist_angle else { return in_site_order(values, order, ours) };
            let mut values = copied(values, order, ours)?;
            angle.rotate(&mut values);
            Ok(Cow::Owned(values))
        })??;
        running::run(py, None, |_| backend.install(|| meson_correlators(backend, extents, &values, origin_time, lanes)))
    })?;
    correlators.map(|correlators| Correlators(correlators, twist_angle)).map_err(errors::correlator)
}

/// A propagator's numbers in site order.
fn in_site_order<R: Number>(values: &[Complex<R>], order: Order, ours: Order) -> PyResult<Cow<'_, [Complex<R>]>> {
    if order == ours {
        return Ok(Cow::Borrowed(values));
    }
    copied(values, order, ours).map(Cow::Owned)
}

fn copied<R: Number>(values: &[Complex<R>], order: Order, ours: Order) -> PyResult<Vec<Complex<R>>> {
    let zeros = std::iter::repeat(Complex::new(R::default(), R::default()));
    let mut copy = list_of(|| "a propagator".to_owned(), values.len(), zeros).map_err(errors::field)?;
    fill((&mut copy, ours), (values, order), Propagator::WORDS);
    Ok(copy)
}

/// Computes the effective masses between times t and t + 1: (…, T - 1) for correlators (…, T). Each is the m of
/// C(t) / C(t+1) = cosh(m(T/2 - t)) / cosh(m(T/2 - t - 1)), or NaN if there is none.
#[pyfunction]
pub fn effective_masses<'py>(py: Python<'py>, correlator: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let given = in_c_order(correlator)?;
    match given.dtype().kind() {
        b'f' | b'i' | b'u' => {}
        b'c' => return Err(PyTypeError::new_err("correlator holds complex numbers: give its real part")),
        _ => {
            let given = shown(correlator);
            return Err(PyTypeError::new_err(format!("correlator is {given}: expected an array of real numbers")));
        }
    }
    let given: PyReadonlyArrayDyn<'py, f64> = given.call_method1("astype", ("float64",))?.extract()?;
    let Some((&times, before)) = given.shape().split_last().filter(|(times, _)| **times > 0) else {
        return Err(value(format!("the shape of correlator is {}: expected (…, T)", tuple(given.shape()))));
    };
    let of_one = |correlator| EffectiveMass::Cosh.of(correlator).into_iter().map(|mass| mass.unwrap_or(f64::NAN));
    let masses = given.as_slice().map_err(value)?.chunks_exact(times).flat_map(of_one).collect();
    array(py, masses, &[before, &[times - 1]].concat())
}
