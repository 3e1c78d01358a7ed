//! Correlators of pion and rho, and their effective masses.

use lanefield::observable::{self, MesonCorrelators, meson_correlators};
use lanefield::reference::layout::Extents;
use numpy::PyArray1;
use pyo3::prelude::*;

use super::arrays::{Given, array, on_values, tuple};
use super::configuration::extents_of;
use super::convention::Convention;
use super::device::{Device, on_backend};
use super::errors::{self, value};
use super::propagator::AXES_OF_SITE;
use super::running;

/// Correlators of the pion and the rho at times 0 to T − 1 from the source.
#[pyclass(frozen, module = "lanefield")]
pub struct Correlators(MesonCorrelators);

#[pymethods]
impl Correlators {
    /// Γ = γ5, float64 (T).
    #[getter]
    fn pion<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.pion)
    }

    /// The average over Γ = γx, γy, γz, float64 (T).
    #[getter]
    fn rho<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.rho)
    }

    /// Γ = γx, γy, γz, float64 (3, T).
    #[getter]
    fn rho_components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.rho_components.concat(), &[3, self.0.pion.len()])
    }
}

/// The correlators of a propagator (T, Z, Y, X, 4, 4, 3, 3) whose source lies in time slice `origin_time`: C(t) is the sum over time slice t of
/// tr[γ5 S† γ5 Γ S Γ], exact and rounded once.
#[pyfunction]
#[pyo3(signature = (propagator, *, origin_time=0, device=None, convention="lanefield", lattice=None))]
pub fn correlator(
    propagator: &Bound<'_, PyAny>,
    origin_time: usize,
    device: Option<&Bound<'_, PyAny>>,
    convention: &str,
    lattice: Option<&Bound<'_, PyAny>>,
) -> PyResult<Correlators> {
    let convention: Convention = convention.parse()?;
    let shape: Vec<usize> = propagator.getattr("shape")?.extract()?;
    let extents = lattice.map_or_else(|| convention.extents(&shape, 0), extents_of)?;
    let propagator = &convention.to_ours(("propagator", propagator), extents, AXES_OF_SITE)?;
    let (py, given) = (propagator.py(), Given::new("propagator", propagator)?);
    let &[t, z, y, x, 4, 4, 3, 3] = given.shape() else {
        return Err(value(format!("the shape is {}: expected (T, Z, Y, X, 4, 4, 3, 3)", tuple(given.shape()))));
    };
    given.require_finite("propagator")?;
    let extents = Extents::new([x, y, z, t]).map_err(value)?;
    let device = Device::of_host(py, device)?;
    let (backend, lanes) = (device.get().backend().as_ref(), device.get().lanes());
    let correlators = on_values!(&given, values => running::run(py, None, |_| {
        on_backend!(backend, b => meson_correlators(b, extents, values, origin_time, lanes))
    }))?;
    correlators.map(Correlators).map_err(errors::correlator)
}

/// The effective mass between times t and t + 1, t = 0 … T − 2, float64 (T − 1): the m of C(t) / C(t+1) = cosh(m(T/2 − t)) / cosh(m(T/2 − t − 1)); NaN
/// where there is none.
#[pyfunction]
pub fn effective_masses<'py>(py: Python<'py>, correlator: Vec<f64>) -> Bound<'py, PyArray1<f64>> {
    let masses = observable::effective_masses(&correlator).into_iter().map(|mass| mass.unwrap_or(f64::NAN));
    PyArray1::from_vec(py, masses.collect())
}
