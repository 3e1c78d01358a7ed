//! Operators by name, with the parameters of the library's definitions as keywords: an operator that is added there is here by itself.

use lanefield::operator::{AnyModel, Definition, HopParameters, Parameter, ParameterKind, definition, definitions};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::Parity;
use lanefield::reference::links::BoundaryPhases;
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::apply::{KeptOperators, apply, piece as piece_of};
use super::arrays::{Given, Number as _};
use super::configuration::Configuration;
use super::convention::Convention;
use super::device::Device;
use super::errors::value;
use super::fields::{Axes, axes_of_site};

/// An operator on a configuration, on a device.
#[pyclass(frozen, module = "lanefield")]
pub struct Operator {
    model: AnyModel,
    configuration: Py<Configuration>,
    device: Py<Device>,
    kept: KeptOperators,
}

impl Operator {
    pub fn model(&self) -> AnyModel {
        self.model
    }

    pub fn configuration(&self) -> &Configuration {
        self.configuration.get()
    }

    pub fn device(&self) -> &Device {
        self.device.get()
    }

    pub fn kept(&self) -> &KeptOperators {
        &self.kept
    }

    /// Refuses parameters beyond the precision of the computation, and a diagonal that even-odd preconditioning cannot divide by.
    pub fn check<R: Vectors>(&self, preconditioned: bool) -> PyResult<()> {
        let is_finite = |number: f64| R::from_f64(number).to_f64().is_finite();
        let model = self.model;
        if let Some((parameter, number)) = model.parameters().into_iter().find(|(_, number)| !is_finite(*number)) {
            return Err(value(format!("{} {number:e} is beyond {}", parameter.name, R::NAME)));
        }
        let diagonal = model.diagonal();
        if !is_finite(diagonal) || (preconditioned && !is_finite(1.0 / diagonal)) {
            let what = "which even-odd pieces divide by, as solves do unless even_odd=False";
            return Err(value(format!("the diagonal of {} is {diagonal:e} in {}, {what}", model.describe(), R::NAME)));
        }
        Ok(())
    }
}

/// The keyword of a parameter.
fn keyword(parameter: &Parameter) -> String {
    parameter.name.replace('-', "_")
}

/// A value that was given, as the definition reads it.
fn text(parameter: &Parameter, given: &Bound<'_, PyAny>) -> PyResult<String> {
    match parameter.kind {
        // The number itself, not how Python writes it: a float32 is then what it is.
        ParameterKind::Number => Ok(given.extract::<f64>()?.to_string()),
        ParameterKind::Count(_) | ParameterKind::Choice(_) => Ok(given.str()?.to_string()),
    }
}

/// The parameters by name, of keywords.
fn given(definition: &'static Definition, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let pairs = keywords.into_iter().flat_map(|keywords| keywords.iter());
    pairs
        .map(|(key, given)| {
            let key: String = key.extract()?;
            let known = definition.parameters.iter().find(|known| keyword(known) == key || known.key() == key);
            let text = known.map_or_else(|| Ok(given.str()?.to_string()), |known| text(known, &given));
            let text = text.map_err(|error: PyErr| value(format!("{key}: {error}")))?;
            Ok((known.map_or(key, |known| known.name.to_owned()), text))
        })
        .collect()
}

/// "1,1,1,-1" of (1, 1, 1, -1), or of itself.
fn boundary_of(given: &Bound<'_, PyAny>) -> PyResult<BoundaryPhases> {
    let text = given.extract::<String>().or_else(|_| {
        let phases: Vec<f64> = given.extract()?;
        Ok::<_, PyErr>(phases.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    });
    text?.parse().map_err(value)
}

#[pymethods]
impl Operator {
    #[new]
    #[pyo3(signature = (name, configuration, *, boundary=None, links=18, legs=None, device=None, **parameters))]
    #[allow(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        py: Python<'_>,
        name: &str,
        configuration: Py<Configuration>,
        boundary: Option<&Bound<'_, PyAny>>,
        links: usize,
        legs: Option<&str>,
        device: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let hop = HopParameters {
            boundary: boundary.map_or(Ok(BoundaryPhases::ANTIPERIODIC_IN_TIME), boundary_of)?,
            links: links.to_string().parse().map_err(value)?,
            legs: legs.map_or(Ok(Default::default()), str::parse).map_err(value)?,
        };
        let definition = definition(name).map_err(value)?;
        let given = given(definition, parameters)?;
        let given = given.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let model = definition.model(given, hop).map_err(value)?;
        Ok(Self { model, configuration, device: Device::of(py, device)?, kept: KeptOperators::default() })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.model.name()
    }

    /// Its parameters by keyword, those of the hop among them.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dictionary = PyDict::new(py);
        for (parameter, number) in self.model.parameters() {
            let value = match parameter.kind {
                ParameterKind::Number => number.into_bound_py_any(py)?,
                ParameterKind::Count(_) => (number as usize).into_bound_py_any(py)?,
                ParameterKind::Choice(_) => parameter.text(number).into_bound_py_any(py)?,
            };
            dictionary.set_item(keyword(parameter), value)?;
        }
        let HopParameters { boundary, links, legs } = self.model.hop();
        let phases = boundary.to_string();
        let phases: Vec<i64> = phases.split(',').filter_map(|phase| phase.parse().ok()).collect();
        dictionary.set_item("boundary", PyTuple::new(py, phases)?)?;
        dictionary.set_item("links", links.reals())?;
        dictionary.set_item("legs", legs.to_string())?;
        Ok(dictionary)
    }

    /// The configuration.
    #[getter(configuration)]
    fn its_configuration(&self, py: Python<'_>) -> Py<Configuration> {
        self.configuration.clone_ref(py)
    }

    /// Where it is applied.
    #[getter(device)]
    fn its_device(&self, py: Python<'_>) -> Py<Device> {
        self.device.clone_ref(py)
    }

    /// Applies it, or one of its even-odd pieces, to `psi`, in the precision of `psi`. The result has its shape.
    #[pyo3(signature = (psi, *, dagger=false, piece="full", parity=None, convention="lanefield"))]
    fn apply<'py>(
        &self,
        psi: &Bound<'py, PyAny>,
        dagger: bool,
        piece: &str,
        parity: Option<&str>,
        convention: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let convention: Convention = convention.parse()?;
        let (extents, of_site) = (self.configuration().get().extents(), axes_of_site(&self.model));
        let psi = &convention.to_ours(("psi", psi), extents, of_site)?;
        let parity: Option<Parity> = parity.map(str::parse).transpose().map_err(value)?;
        let piece = piece_of(piece, parity)?;
        let (py, given) = (psi.py(), Given::new("psi", psi)?);
        let axes = Axes::new(given.shape(), &self.model, extents, false)?;
        given.require_finite("psi")?;
        macro_rules! applied {
            ($R:ty, $array:expr) => {{
                self.check::<$R>(piece.divides())?;
                let result = apply::<$R>(py, self, &axes, $array.as_slice().map_err(value)?, piece, dagger)?;
                <$R>::array(py, result, axes.shape())
            }};
        }
        let result = match &given {
            Given::F32(array) => applied!(f32, array),
            Given::F64(array) => applied!(f64, array),
        };
        convention.to_theirs(result?, extents, of_site)
    }

    fn __repr__(&self) -> String {
        let on = self.configuration().get().extents();
        format!("<lanefield.Operator {}, boundary {} on {on}>", self.model.describe(), self.model.hop().boundary)
    }
}

/// The operators there are, and the keywords of their parameters: {name: {"meaning": …, "parameters": {keyword: {"meaning": …, "default": …}}}}.
#[pyfunction]
pub fn operators(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let operators = PyDict::new(py);
    for definition in definitions() {
        let parameters = PyDict::new(py);
        for parameter in definition.parameters {
            let told = PyDict::new(py);
            told.set_item("meaning", parameter.meaning)?;
            match (parameter.follows, parameter.default) {
                (Some(other), _) => told.set_item("follows", other.replace('-', "_"))?,
                (None, Some(number)) => told.set_item("default", parameter.text(number))?,
                (None, None) => told.set_item("default", py.None())?,
            }
            parameters.set_item(keyword(parameter), told)?;
        }
        let told = PyDict::new(py);
        told.set_item("meaning", definition.meaning)?;
        told.set_item("parameters", parameters)?;
        operators.set_item(definition.name, told)?;
    }
    Ok(operators)
}
