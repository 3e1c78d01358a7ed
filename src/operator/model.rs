//! Operators by their parameters. A [`Model`] can create its operator on all sites or in even-odd pieces, in any precision and on any backend. A
//! [`Definition`] has the name of an operator, and the meaning and default of each parameter that is not one of the hop; it is in the file of the
//! operator. The command line, C, Python, records and verification use [`super::definitions`], and have no list of their own.

use std::fmt;

use lanefield_reference::field::Repeated;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Reach};
use lanefield_reference::links::{LinkError, LinkFormat};
use lanefield_reference::real::for_people;

use super::hop::HopParameters;
use super::schur::{EvenOdd, SchurComplement};
use super::traits::Operator;
use crate::backend::{Backend, BackendError};

/// The parameters of an operator, from which it can be created.
pub trait Model: Copy + Send + 'static {
    /// The object of its fields.
    type Object: Repeated;
    /// The operator on the full lattice.
    type Full<'b, B: Backend + 'b, R: Vectors>: Operator<B, R, Object = Self::Object> + Send;
    /// The operator in even-odd pieces.
    type Pieces<'b, B: Backend + 'b, R: Vectors>: EvenOdd<B, R, Object = Self::Object> + Send;

    /// The name: "wilson".
    fn name(&self) -> &'static str;
    /// The mass.
    fn mass(&self) -> f64;
    /// The diagonal part, by which even-odd preconditioning divides; 1 if that is a matrix, which the operator itself checks.
    fn diagonal(&self) -> f64;
    /// The parameters of the hop.
    fn hop(&self) -> HopParameters;
    /// The object of a field of `rhs` right-hand sides.
    fn object(&self, rhs: usize) -> Self::Object;
    /// Whether its links can be stored in this format.
    fn takes_links(&self, _format: LinkFormat) -> bool {
        true
    }
    /// How far it reads. The local volume of a rank needs at least as many slices.
    fn reach(&self) -> Reach {
        Reach::Nearest
    }
    /// Whether it (with `even_odd`, its Schur complement) is Hermitian and positive definite, so that conjugate gradients need no normal equations.
    fn is_positive(&self, _even_odd: bool) -> bool {
        false
    }
    /// Creates the operator on the full lattice.
    ///
    /// # Errors
    /// Fails if the extents of configuration and lattice differ, and if the backend fails.
    fn full<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Self::Full<'b, B, R>, BackendError>;
    /// Creates the even-odd pieces.
    fn even_odd<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Self::Pieces<'b, B, R>, BackendError>;
}

/// Creates operators on `K` objects in precision `R`. This is all that is compiled for each model; solvers use it as a trait object.
pub(crate) trait Makes<B: Backend, R: Vectors, K: Repeated> {
    /// [`Model::full`].
    fn full<'b>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Box<dyn Operator<B, R, Object = K> + Send + 'b>, BackendError>;
    /// The Schur complement of [`Model::even_odd`].
    fn schur<'b>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<SchurComplement<'b, B, R, K>, BackendError>;
}

impl<B: Backend, R: Vectors, M: Model> Makes<B, R, M::Object> for M {
    fn full<'b>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Box<dyn Operator<B, R, Object = M::Object> + Send + 'b>, BackendError> {
        Ok(Box::new(Model::full::<B, R>(self, backend, configuration, lattice)?))
    }
    fn schur<'b>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<SchurComplement<'b, B, R, M::Object>, BackendError> {
        SchurComplement::new(self.even_odd::<B, R>(backend, configuration, lattice)?)
    }
}

/// A task that works with any model.
pub trait ModelTask {
    /// The result.
    type Output;
    /// Runs it.
    fn run<M: Model>(self, model: M) -> Self::Output;
}

/// A model, or one that is chosen at run time.
pub trait ModelChoice: Copy {
    /// Runs a task with the concrete model.
    fn run<T: ModelTask>(self, task: T) -> T::Output;
}

impl<M: Model> ModelChoice for M {
    fn run<T: ModelTask>(self, task: T) -> T::Output {
        task.run(self)
    }
}

/// The values that a parameter can have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParameterKind {
    /// A finite number.
    Number,
    /// An integer from 1 to this number.
    Count(usize),
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// A parameter of operators. A name has the same meaning in all of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The values that it can have.
    pub kind: ParameterKind,
    /// The default; `None` if the parameter is required. For a choice, the index of the word.
    pub default: Option<f64>,
    /// The parameter from which it takes its value if it is left out.
    pub follows: Option<&'static str>,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// Its key in JSON, if it is not the name with `_` for `-`.
    pub key: Option<&'static str>,
}

impl Parameter {
    /// A number with a default, or a required one.
    pub const fn number(name: &'static str, default: Option<f64>, meaning: &'static str) -> Self {
        Self { name, kind: ParameterKind::Number, default, follows: None, meaning, key: None }
    }

    /// An integer from 1 to 1024 with a default.
    pub const fn count(name: &'static str, default: f64, meaning: &'static str) -> Self {
        Self { kind: ParameterKind::Count(1024), ..Self::number(name, Some(default), meaning) }
    }

    /// The number of colour vectors, for operators that accept several.
    pub(crate) const COMPONENTS: Self = Self::count("components", 1.0, "colour vectors per site");
    /// The mass of operators for which a hopping parameter κ is in common use.
    pub(crate) const BARE_MASS: Self = Self::number("mass", None, "bare quark mass");

    /// Parses a value.
    ///
    /// # Errors
    /// A message with the expected values.
    pub fn parse(&self, text: &str) -> Result<f64, String> {
        let invalid = |expected: String| format!("invalid {} '{text}': expected {expected}", self.name);
        match self.kind {
            ParameterKind::Number => {
                let number = text.parse().ok().filter(|number: &f64| number.is_finite());
                number.ok_or_else(|| invalid("a finite number".to_owned()))
            }
            ParameterKind::Count(most) => {
                let number = text.parse().ok().filter(|number| (1..=most).contains(number));
                number
                    .map(|number: usize| number as f64)
                    .ok_or_else(|| invalid(format!("a whole number from 1 to {most}")))
            }
            ParameterKind::Choice(words) => {
                let place = words.iter().position(|word| *word == text);
                place.map(|place| place as f64).ok_or_else(|| invalid(words.join(" or ")))
            }
        }
    }

    /// The key in JSON.
    pub fn key(&self) -> String {
        self.key.map_or_else(|| self.name.replace('-', "_"), str::to_owned)
    }

    /// Formats a value.
    pub fn text(&self, value: f64) -> String {
        match self.kind {
            ParameterKind::Choice(words) => words.get(value as usize).copied().unwrap_or("?").to_owned(),
            _ => for_people(value),
        }
    }
}

/// The values of an operator's parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct ParameterValues(Vec<(&'static str, f64)>);

impl ParameterValues {
    /// The value of a parameter of the definition; NaN for any other name.
    pub(super) fn get(&self, name: &str) -> f64 {
        self.0.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value)
    }

    /// The same as an integer.
    pub(super) fn count(&self, name: &str) -> usize {
        self.get(name) as usize
    }
}

/// How to convert a hopping parameter, for messages.
pub const KAPPA: &str =
    "kappa is 1 / (2 (4 + mass)) of Wilson, twisted mass and clover fermions: give mass = 1 / (2 kappa) - 4";

/// Why an operator cannot be created from its parameters. Messages are fragments.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum DefinitionError {
    #[error("unknown operator '{name}': expected {known}")]
    Operator { name: String, known: String },
    #[error(
        "operator {operator} has no parameter {parameter}: it has {known}{}",
        if parameter == "kappa" { format!("; {KAPPA}") } else { String::new() }
    )]
    Parameter { operator: &'static str, parameter: String, known: String },
    #[error("operator {operator} needs {parameter}: {meaning}")]
    Missing { operator: &'static str, parameter: &'static str, meaning: &'static str },
    #[error("operator {operator} is given {parameter} twice: give it once")]
    Twice { operator: &'static str, parameter: &'static str },
    #[error("{0}")]
    Value(String),
    #[error(transparent)]
    Links(#[from] LinkError),
}

/// The definition of an operator.
#[derive(Clone, Copy)]
pub struct Definition {
    /// The name on the command line and in files.
    pub name: &'static str,
    /// The operator in a few words.
    pub meaning: &'static str,
    /// M in its parameters, with U the links and W ψ(x) = -½ Σ_μ [(1 - γ_μ) U_μ(x) ψ(x+μ) + (1 + γ_μ) U_μ†(x-μ) ψ(x-μ)].
    pub formula: &'static str,
    /// Its own parameters, without those of the hop, in the order in which they are listed.
    pub parameters: &'static [Parameter],
    /// The parameters with which it is verified: solves on small hot configurations take some ten iterations. They include all required ones.
    pub verified: &'static [(&'static str, &'static str)],
}

impl Definition {
    /// Whether its mass is often given as a hopping parameter κ.
    pub fn has_kappa(&self) -> bool {
        self.parameters.contains(&Parameter::BARE_MASS)
    }

    /// The values of its parameters, from text; those that are left out have their defaults.
    pub(super) fn values<'t>(
        &self,
        given: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<ParameterValues, DefinitionError> {
        let mut values = ParameterValues::default();
        for (name, text) in given {
            let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == name) else {
                let known: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
                let known = known.join(", ");
                return Err(DefinitionError::Parameter { operator: self.name, parameter: name.to_owned(), known });
            };
            if values.0.iter().any(|(known, _)| *known == parameter.name) {
                return Err(DefinitionError::Twice { operator: self.name, parameter: parameter.name });
            }
            values.0.push((parameter.name, parameter.parse(text).map_err(DefinitionError::Value)?));
        }
        for parameter in self.parameters {
            let Parameter { name, default, follows, meaning, .. } = *parameter;
            if values.0.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let value = follows.map(|other| values.get(other)).or(default);
            let missing = DefinitionError::Missing { operator: self.name, parameter: name, meaning };
            values.0.push((name, value.ok_or(missing)?));
        }
        Ok(values)
    }
}

/// A model with a name on the command line, in C and in Python.
pub(super) trait Defined: Model {
    /// Its definition, or several if one type has several names.
    const DEFINITIONS: &'static [Definition];

    /// The operator with one of these names and these parameter values.
    fn of(name: &str, values: &ParameterValues, hop: HopParameters) -> Self;
    /// The values of the parameters, in the order of the definition.
    fn values(&self) -> Vec<f64>;
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Implements the functions of models that have one type of operator for the full lattice and for even-odd pieces: `new` creates it for the given
/// sites.
macro_rules! made_alike {
    ($operator:ident, $object:ty, $new:expr) => {
        type Object = $object;
        type Full<'b, B: Backend + 'b, R: Vectors> = $operator<'b, B, R>;
        type Pieces<'b, B: Backend + 'b, R: Vectors> = $operator<'b, B, R>;

        fn mass(&self) -> f64 {
            self.mass
        }
        fn hop(&self) -> HopParameters {
            self.hop
        }
        fn full<'b, B: Backend, R: Vectors>(
            &self,
            backend: &'b B,
            configuration: &Configuration,
            lattice: Lattice,
        ) -> Result<$operator<'b, B, R>, BackendError> {
            $new(backend, configuration, lattice, *self, &[Sites::Full])
        }
        fn even_odd<'b, B: Backend, R: Vectors>(
            &self,
            backend: &'b B,
            configuration: &Configuration,
            lattice: Lattice,
        ) -> Result<$operator<'b, B, R>, BackendError> {
            $new(backend, configuration, lattice, *self, &$crate::operator::hop::PARITIES)
        }
    };
}
pub(super) use made_alike;
