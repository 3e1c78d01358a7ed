//! Operators by name, with the parameters of the library's definitions as keywords. An operator that is added to the library is available
//! here without a change.

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

/// An operator M on a configuration and a device, by its name, with its parameters as keywords: `operators()` lists both.
///
/// `operators()` also has M as a "formula". In it, U are the links; those that cross the boundary carry its phase; and
/// W ψ(x) = -½ Σ_μ [(1 - γ_μ) U_μ(x) ψ(x+μ) + (1 + γ_μ) U_μ†(x-μ) ψ(x-μ)].
///
/// There is no parameter kappa: it is 1 / (2 (4 + mass)). Sections 6, 9, 13 to 17 and 25 of docs/arithmetic.md define every rounding.
///
/// boundary: phases of the fermion in x, y, z, t: 1 periodic, -1 antiperiodic, 0 fixed, or e^{iθ}, with ψ(x+L) = e^{iθ} ψ(x). By
///     default (1, 1, 1, -1). A phase e^{iθ} is a complex number or text, such as "0.25pi" for θ = π/4, and needs reconstruct=18.
/// reconstruct: number of reals that are stored for each link: 18 (the default), 12 or 8. It is part of the operator: it changes the
///     last bits.
/// legs: the order in which the hop adds its legs, such as "-t-y-z+t+y+z-x+x" (the default). It also changes the last bits.
/// device: the device that applies the operator; by default that of LANEFIELD_DEVICE, else "auto".
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

    /// Fails if the working precision cannot hold a parameter, or if even-odd preconditioning cannot divide by the diagonal.
    pub fn check<R: Vectors>(&self, preconditioned: bool) -> PyResult<()> {
        let is_finite = |number: f64| R::from_f64(number).to_f64().is_finite();
        let model = self.model;
        if let Some((parameter, number)) = beyond::<R>(&model) {
            return Err(value(format!("{} {number:?} is beyond {}", parameter.name, R::NAME)));
        }
        let diagonal = model.diagonal();
        if !is_finite(diagonal) || (preconditioned && !is_finite(1.0 / diagonal)) {
            let why = "even-odd pieces divide by it, and so do solves unless even_odd=False";
            return Err(value(format!("the diagonal of {} is {diagonal:?} in {}: {why}", model.describe(), R::NAME)));
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

/// The values of a parameter, in words.
fn expected(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Number => "a finite number".to_owned(),
        ParameterKind::Count(most) => format!("a whole number from 1 to {most}"),
        ParameterKind::Choice(words) => words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" or "),
    }
}

/// A value from Python, as text that the definition can parse.
fn text(key: &str, parameter: &Parameter, given: &Bound<'_, PyAny>) -> PyResult<String> {
    let mistyped = || mistyped(key, given, &expected(parameter.kind));
    let text = match parameter.kind {
        // The number itself, not its text in Python: a float32 keeps its value, and 8.0 is 8.
        ParameterKind::Number | ParameterKind::Count(_) => given.extract::<f64>().map_err(|_| mistyped())?.to_string(),
        ParameterKind::Choice(_) => given.extract().map_err(|_| mistyped())?,
    };
    match parameter.parse(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(wrong(key, given, &expected(parameter.kind))),
    }
}

/// The error for a keyword that the operator does not have, with a suggestion if there is one.
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

/// Names and texts of the parameters that are given as keywords.
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

/// Reads boundary phases such as (1, 1, 1, -1), ("0.25pi", 1, 1j, 0) or "1,1,1,-1".
fn boundary_of(given: &Bound<'_, PyAny>) -> PyResult<BoundaryPhases> {
    let expected = "phases of x, y, z and t, such as (1, 1, 1, -1), each 1, -1, 0, a complex number of modulus 1 or an angle such as '0.25pi'";
    if let Ok(text) = given.extract::<String>() {
        return text.parse().map_err(|_| wrong("boundary", given, expected));
    }
    let phase = |given: Bound<'_, PyAny>| match given.extract::<String>() {
        Ok(text) => Ok(text.parse::<Phase>().ok()),
        // All numbers of Python and NumPy have these attributes.
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

/// Takes `links`, the deprecated name of `reconstruct`, out of the keywords of an operator.
fn deprecated_links(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Option<usize>> {
    let Some(keywords) = keywords else { return Ok(None) };
    let Some(links) = keywords.get_item("links")? else { return Ok(None) };
    keywords.del_item("links")?;
    arguments::links(&links)
}

/// The format of the links with that number of reals for each link.
fn link_format(reconstruct: Option<usize>) -> PyResult<LinkFormat> {
    let Some(reals) = reconstruct else { return Ok(LinkFormat::Full) };
    reals.to_string().parse().map_err(|_| value(format!("reconstruct is {reals}: expected 18, 12 or 8")))
}

#[pymethods]
impl Operator {
    #[new]
    #[pyo3(signature = (name, configuration, *, boundary=None, reconstruct=None, legs=None, device=None, **parameters))]
    #[allow(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::name)] name: String,
        #[pyo3(from_py_with = configuration::configuration)] configuration: Py<Configuration>,
        boundary: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::reconstruct)] reconstruct: Option<usize>,
        #[pyo3(from_py_with = arguments::legs)] legs: Option<String>,
        device: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let links = deprecated_links(parameters)?;
        let reconstruct = arguments::renamed(py, ("reconstruct", reconstruct), ("links", links))?;
        let hop = HopParameters {
            boundary: boundary.map_or(Ok(BoundaryPhases::ANTIPERIODIC_IN_TIME), boundary_of)?,
            links: link_format(reconstruct)?,
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

    /// Name of the operator.
    #[getter]
    fn name(&self) -> &'static str {
        self.model.name()
    }

    /// Parameters by keyword, including `boundary`, `reconstruct` and `legs`.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dictionary = PyDict::new(py);
        for (parameter, number) in self.model.parameters() {
            dictionary.set_item(keyword(parameter), as_python(py, parameter, number)?)?;
        }
        let HopParameters { boundary, links, legs } = self.model.hop();
        // Phases 1, -1 and 0 become whole numbers, others stay text.
        let phase = |phase: &str| {
            phase.parse::<i64>().map_or_else(|_| phase.into_bound_py_any(py), |phase| phase.into_bound_py_any(py))
        };
        let phases = boundary.to_string().split(',').map(phase).collect::<PyResult<Vec<_>>>()?;
        dictionary.set_item("boundary", PyTuple::new(py, phases)?)?;
        dictionary.set_item("reconstruct", links.reals())?;
        dictionary.set_item("legs", legs.to_string())?;
        Ok(dictionary)
    }

    /// Gauge configuration of the operator.
    #[getter(configuration)]
    fn its_configuration(&self, py: Python<'_>) -> Py<Configuration> {
        self.configuration.clone_ref(py)
    }

    /// Device that applies the operator.
    #[getter(device)]
    fn its_device(&self, py: Python<'_>) -> Py<Device> {
        self.device.clone_ref(py)
    }

    /// Applies M, or one of its even-odd pieces, in the precision of `psi`. The result has the shape and precision of `psi`.
    ///
    /// psi: a field that the operator acts on, or several along one more axis before all others.
    /// dagger: apply the Hermitian conjugate M†. With a piece, apply that piece of M†: meooe of M† onto the even sites is the conjugate
    ///     of meooe of M onto the odd sites.
    /// piece: "full", M on all sites; "meooe", the part that connects the parities; "mooee", the part that stays on a parity; "mooeeinv",
    ///     its inverse; "mpc", the Schur complement Moo - Moe Mee⁻¹ Meo on the odd sites, for staggered fermions times the mass.
    /// parity: the target parity, for meooe, mooee and mooeeinv. The result is 0 on the other sites.
    /// out: an array for the result, which is returned. It must have the shape and precision of `psi`, be in C order, and share no memory
    ///     with `psi`.
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
            // A parameter that follows another one is shown only if its value differs.
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

/// The names of the operators, and the keywords of their parameters:
/// {name: {"meaning": …, "formula": …, "parameters": {keyword: {"meaning": …, "default": …}}}}.
/// If the default is None, the parameter is required. "follows" names another parameter, whose value is the default.
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
