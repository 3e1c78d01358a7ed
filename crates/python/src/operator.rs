//! Operators by name, with the parameters of the library's definitions as keywords: an operator that is added there is here by itself.

use lanefield::dynamic::{Applicable, KeptOperator, Piece, beyond, field_shape};
use lanefield::operator::{
    AnyModel, Definition, HopParameters, KAPPA, Parameter, ParameterKind, definition, definitions,
};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::Parity;
use lanefield::reference::links::{BoundaryPhases, LinkFormat, Phase};
use lanefield::reference::real::Real;
use num_complex::Complex;
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::apply::{Applying, piece as piece_of};
use super::arguments::{self, Argument, mistyped, wrong};
use super::arrays::{Given, Number, on_values};
use super::configuration::{self, Configuration};
use super::convention::{self, Convention};
use super::device::Device;
use super::errors::value;
use super::fields::{Axes, Physical};

/// An operator M on a configuration, on a device, by its name, with its parameters as keywords: `operators()` lists both.
///
/// `operators()` also tells M as a "formula", with U the links, phases of the boundary on the links across it, and
/// W ψ(x) = -½ Σ_μ [(1 - γ_μ) U_μ(x) ψ(x+μ) + (1 + γ_μ) U_μ†(x-μ) ψ(x-μ)].
///
/// There is no kappa: it is 1 / (2 (4 + mass)). Sections 6, 9, 13 to 17 and 25 of docs/arithmetic.md define every rounding.
///
/// boundary: phases of the fermion in x, y, z, t: 1 periodic, -1 antiperiodic, 0 fixed, or e^{iθ} of ψ(x+L) = e^{iθ} ψ(x), as a complex number or as text,
///     "0.25pi" of θ = π/4, which need reconstruct=18; (1, 1, 1, -1) where not given.
/// reconstruct: reals stored per link, 18, 12 or 8, also as `links`; 18 where not given. Part of the operator: it changes the last bits.
/// legs: the order in which the hop adds its legs, likewise.
/// device: where to apply it; that of LANEFIELD_DEVICE, else "auto", where not given.
#[pyclass(frozen, module = "lanefield")]
pub struct Operator {
    model: AnyModel,
    configuration: Py<Configuration>,
    device: Py<Device>,
    kept: KeptOperator,
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

    /// Refuses parameters beyond the precision of the computation, and a diagonal that even-odd preconditioning cannot divide by.
    pub fn check<R: Vectors>(&self, preconditioned: bool) -> PyResult<()> {
        let is_finite = |number: f64| R::from_f64(number).to_f64().is_finite();
        let model = self.model;
        if let Some((parameter, number)) = beyond::<R>(&model) {
            return Err(value(format!("{} {number:?} is beyond {}", parameter.name, R::NAME)));
        }
        let diagonal = model.diagonal();
        if !is_finite(diagonal) || (preconditioned && !is_finite(1.0 / diagonal)) {
            let what = "which even-odd pieces divide by, as solves do unless even_odd=False";
            return Err(value(format!("the diagonal of {} is {diagonal:?} in {}, {what}", model.describe(), R::NAME)));
        }
        Ok(())
    }
}

impl Argument for Py<Operator> {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        given.extract().map_err(|_| mistyped(name, given, "a lanefield.Operator"))
    }
}

/// The argument `operator`.
pub fn operator(given: &Bound<'_, PyAny>) -> PyResult<Py<Operator>> {
    Argument::read("operator", given)
}

fn keyword(parameter: &Parameter) -> String {
    parameter.name.replace('-', "_")
}

/// What values a parameter takes.
fn expected(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Number => "a finite number".to_owned(),
        ParameterKind::Count(most) => format!("a whole number from 1 to {most}"),
        ParameterKind::Choice(words) => words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" or "),
    }
}

/// A value that was given, as the definition reads it.
fn text(key: &str, parameter: &Parameter, given: &Bound<'_, PyAny>) -> PyResult<String> {
    let mistyped = || mistyped(key, given, &expected(parameter.kind));
    let text = match parameter.kind {
        // The number itself, not how Python writes it: a float32 is then what it is, and 8.0 is 8.
        ParameterKind::Number | ParameterKind::Count(_) => given.extract::<f64>().map_err(|_| mistyped())?.to_string(),
        ParameterKind::Choice(_) => given.extract().map_err(|_| mistyped())?,
    };
    match parameter.parse(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(wrong(key, given, &expected(parameter.kind))),
    }
}

/// A keyword that the operator does not have, and perhaps what was meant.
fn unknown(definition: &Definition, key: &str) -> PyErr {
    let keywords: Vec<String> = definition.parameters.iter().map(keyword).collect();
    let hint = match keywords.iter().find(|known| known.eq_ignore_ascii_case(key)) {
        Some(known) => format!("; did you mean {known}?"),
        None if key == "kappa" && definition.has_kappa() => {
            format!("; {KAPPA}")
        }
        None => String::new(),
    };
    value(format!("operator {} has no parameter {key}: it has {}{hint}", definition.name, keywords.join(", ")))
}

/// The parameters by name, of keywords.
fn given(
    definition: &'static Definition,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<(&'static str, String)>> {
    let pairs = keywords.into_iter().flat_map(|keywords| keywords.iter());
    pairs
        .map(|(key, given)| {
            let key: String = key.extract()?;
            let known = definition.parameters.iter().find(|known| keyword(known) == key || known.key() == key);
            let parameter = known.ok_or_else(|| unknown(definition, &key))?;
            Ok((parameter.name, text(&key, parameter, &given)?))
        })
        .collect()
}

/// The phases of (1, 1, 1, -1), ("0.25pi", 1, 1j, 0) or "1,1,1,-1".
fn boundary_of(given: &Bound<'_, PyAny>) -> PyResult<BoundaryPhases> {
    let expected = "phases of x, y, z and t, each 1, -1, 0, a complex number of modulus 1 or an angle as '0.25pi', as (1, 1, 1, -1)";
    if let Ok(text) = given.extract::<String>() {
        return text.parse().map_err(|_| wrong("boundary", given, expected));
    }
    let phase = |given: Bound<'_, PyAny>| match given.extract::<String>() {
        Ok(text) => Ok(text.parse::<Phase>().ok()),
        // Numbers of Python and of NumPy have both.
        Err(_) => {
            Ok(Phase::of_number(Complex::new(given.getattr("real")?.extract()?, given.getattr("imag")?.extract()?)))
        }
    };
    let phases = given.extract::<Vec<_>>().and_then(|phases| phases.into_iter().map(phase).collect());
    let phases: Vec<Option<Phase>> = phases.map_err(|_| mistyped("boundary", given, expected))?;
    let phases: Option<Vec<Phase>> = phases.into_iter().collect();
    let phases = phases.and_then(|phases| phases.try_into().ok());
    phases.map(BoundaryPhases::new).ok_or_else(|| wrong("boundary", given, expected))
}

fn as_python<'py>(py: Python<'py>, parameter: &Parameter, number: f64) -> PyResult<Bound<'py, PyAny>> {
    match parameter.kind {
        ParameterKind::Number => number.into_bound_py_any(py),
        ParameterKind::Count(_) => (number as usize).into_bound_py_any(py),
        ParameterKind::Choice(_) => parameter.text(number).into_bound_py_any(py),
    }
}

/// Reals stored per link, which has two names.
fn link_format(reconstruct: Option<usize>, links: Option<usize>) -> PyResult<LinkFormat> {
    let (name, reals) = match (reconstruct, links) {
        (Some(_), Some(_)) => return Err(value("reconstruct and links are two names of one number: give one of them")),
        (Some(reals), None) => ("reconstruct", reals),
        (None, Some(reals)) => ("links", reals),
        (None, None) => return Ok(LinkFormat::Full),
    };
    reals.to_string().parse().map_err(|_| value(format!("{name} is {reals}: expected 18, 12 or 8")))
}

#[pymethods]
impl Operator {
    #[new]
    #[pyo3(signature = (name, configuration, *, boundary=None, reconstruct=None, links=None, legs=None, device=None, **parameters))]
    #[allow(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::name)] name: String,
        #[pyo3(from_py_with = configuration::configuration)] configuration: Py<Configuration>,
        boundary: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::reconstruct)] reconstruct: Option<usize>,
        #[pyo3(from_py_with = arguments::links)] links: Option<usize>,
        #[pyo3(from_py_with = arguments::legs)] legs: Option<String>,
        device: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let hop = HopParameters {
            boundary: boundary.map_or(Ok(BoundaryPhases::ANTIPERIODIC_IN_TIME), boundary_of)?,
            links: link_format(reconstruct, links)?,
            legs: legs.map_or(Ok(Default::default()), |legs| legs.parse()).map_err(value)?,
        };
        let definition = definition(&name).map_err(value)?;
        let given = given(definition, parameters)?;
        let given = given.iter().map(|(name, text)| (*name, text.as_str()));
        let model = definition.model(given, hop).map_err(value)?;
        let device = Device::of(py, device)?;
        let kept = KeptOperator::new(device.get().backend(), Applicable::Model(model), configuration.get().shared());
        Ok(Self { model, configuration, device, kept })
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
            dictionary.set_item(keyword(parameter), as_python(py, parameter, number)?)?;
        }
        let HopParameters { boundary, links, legs } = self.model.hop();
        // Whole numbers, and text of other phases.
        let phase = |phase: &str| {
            phase.parse::<i64>().map_or_else(|_| phase.into_bound_py_any(py), |phase| phase.into_bound_py_any(py))
        };
        let phases = boundary.to_string().split(',').map(phase).collect::<PyResult<Vec<_>>>()?;
        dictionary.set_item("boundary", PyTuple::new(py, phases)?)?;
        dictionary.set_item("reconstruct", links.reals())?;
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

    /// Applies it, or one of its even-odd pieces, in the precision of `psi`. The result has the shape and precision of `psi`.
    ///
    /// psi: what the operator acts on, or several of them with one more axis before all others.
    /// dagger: the Hermitian conjugate M†. With a piece, that piece of M†: of meooe onto the even sites it is the conjugate of meooe onto the odd ones.
    /// piece: full, M on all sites; meooe, the part that connects the parities; mooee, the part that stays on one; mooeeinv, its inverse;
    ///     mpc, the Schur complement Moo - Moe Mee⁻¹ Meo on the odd sites, of staggered fermions times the mass.
    /// parity: of the sites of the result, for meooe, mooee and mooeeinv; the result is 0 on the others.
    /// out: an array for the result, of the shape and precision of `psi` and in C order, which is returned. It shares no memory with `psi`.
    #[pyo3(signature = (psi, *, dagger=false, piece="full", parity=None, out=None, convention="lanefield"))]
    #[allow(clippy::too_many_arguments, reason = "keywords")]
    fn apply<'py>(
        &self,
        psi: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = arguments::dagger)] dagger: bool,
        #[pyo3(from_py_with = arguments::piece)] piece: &'static str,
        #[pyo3(from_py_with = arguments::parity)] parity: Option<Parity>,
        out: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = convention::convention)] convention: &'static str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, extents) = (psi.py(), self.configuration().get().extents());
        let piece = piece_of(piece, parity)?;
        let given = Given::new("psi", psi)?;
        let read_as = (Convention::of(convention), Physical::No);
        let axes = Axes::new(("psi", given.shape()), &self.model, extents, read_as)?;
        given.require_finite(py, "psi")?;
        on_values!(&given, psi => self.applied(py, (piece, dagger), &axes, psi, out))
    }

    fn __repr__(&self) -> String {
        let (on, boundary) = (self.configuration().get().extents(), self.model.hop().boundary);
        let parameters = self.model.parameters();
        let value_of = |name: &str| parameters.iter().find(|(known, _)| known.name == name).map(|(_, value)| *value);
        let told = parameters.iter().filter(|(parameter, value)| {
            // What follows another parameter is told where it has a value of its own.
            parameter.follows.is_none_or(|other| value_of(other) != Some(*value))
        });
        let told: String = told.map(|(known, value)| format!(", {} {}", keyword(known), known.text(*value))).collect();
        let (name, device) = (self.model.name(), self.device().description());
        format!("<lanefield.Operator {name}{told}, boundary {boundary} on {on}, {device}>")
    }
}

impl Operator {
    fn applied<'py, R: Number>(
        &self,
        py: Python<'py>,
        (piece, dagger): (Piece, bool),
        axes: &Axes,
        psi: &[Complex<R>],
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.check::<R>(piece.divides())?;
        let one = self.model.object();
        let object = one.with_parts(axes.rhs * one.parts()).unwrap_or(one);
        let on = (self.configuration().get().extents(), piece.onto());
        let shape = field_shape(object, <R as Real>::PRECISION, on, self.device().lanes()).map_err(value)?;
        let applying = Applying { piece, dagger: if dagger { Dagger::Yes } else { Dagger::No }, shape, axes };
        R::written(py, axes.shape(), out, |out| applying.apply(py, &self.kept, psi, out))
    }
}

/// The operators there are, and the keywords of their parameters:
/// {name: {"meaning": …, "formula": …, "parameters": {keyword: {"meaning": …, "default": …}}}}. A default of None: it must be given; "follows" names
/// the parameter whose value it has where it is not given.
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
                (None, Some(number)) => told.set_item("default", as_python(py, parameter, number)?)?,
                (None, None) => told.set_item("default", py.None())?,
            }
            parameters.set_item(keyword(parameter), told)?;
        }
        let told = PyDict::new(py);
        told.set_item("meaning", definition.meaning)?;
        told.set_item("formula", definition.formula)?;
        told.set_item("parameters", parameters)?;
        operators.set_item(definition.name, told)?;
    }
    Ok(operators)
}
