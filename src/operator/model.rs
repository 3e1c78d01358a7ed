//! Operators by their parameters: what a solve needs to know to make one, on all sites or in even-odd pieces, in any precision and on any
//! backend ([`Model`]); and what each is called, with the meaning and default of its parameters beside those of the hop ([`Definition`]), which stands in the
//! file of the operator. The command line, C, Python, records and verification go through [`super::definitions`], and have no list of their own.

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

/// The parameters of an operator, which can make it.
pub trait Model: Copy + Send + 'static {
    /// What its fields hold at each site.
    type Object: Repeated;
    /// The operator on all sites.
    type Full<'b, B: Backend + 'b, R: Vectors>: Operator<B, R, Object = Self::Object> + Send;
    /// The operator in even-odd pieces.
    type Pieces<'b, B: Backend + 'b, R: Vectors>: EvenOdd<B, R, Object = Self::Object> + Send;

    /// What it is called: "wilson".
    fn name(&self) -> &'static str;
    /// Its mass.
    fn mass(&self) -> f64;
    /// Its diagonal part, which even-odd preconditioning divides by; 1 where that is a matrix, which the operator itself checks.
    fn diagonal(&self) -> f64;
    /// The hop's parameters.
    fn hop(&self) -> HopParameters;
    /// What a field of `rhs` right-hand sides holds at each site.
    fn object(&self, rhs: usize) -> Self::Object;
    /// Whether its links can be stored so.
    fn takes_links(&self, _format: LinkFormat) -> bool {
        true
    }
    /// How far it reads: a part of a lattice, which a rank holds, has as many slices at least.
    fn reach(&self) -> Reach {
        Reach::Nearest
    }
    /// Whether it, or its Schur complement with `even_odd`, is Hermitian and positive definite, so that conjugate gradients need no normal
    /// equations.
    fn is_positive(&self, _even_odd: bool) -> bool {
        false
    }
    /// Makes it on all sites.
    ///
    /// # Errors
    /// Extents of configuration and lattice that differ; what the backend reports.
    fn full<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Self::Full<'b, B, R>, BackendError>;
    /// Makes its even-odd pieces.
    fn even_odd<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Self::Pieces<'b, B, R>, BackendError>;
}

/// What makes operators on `K` objects in precision `R`: all that is compiled for each model. Solvers take it so.
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
    /// What it gives.
    type Output;
    /// Runs it.
    fn run<M: Model>(self, model: M) -> Self::Output;
}

/// A model, or one that is known at run time.
pub trait ModelChoice: Copy {
    /// Runs a task with the model that it is.
    fn run<T: ModelTask>(self, task: T) -> T::Output;
}

impl<M: Model> ModelChoice for M {
    fn run<T: ModelTask>(self, task: T) -> T::Output {
        task.run(self)
    }
}

/// What values a parameter takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParameterKind {
    /// A finite number.
    Number,
    /// A whole number from 1 to this.
    Count(usize),
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// A parameter of operators. One name has one meaning in all of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What values it takes.
    pub kind: ParameterKind,
    /// Its value where none is given; `None`: it must be given. Of a choice the place of the word.
    pub default: Option<f64>,
    /// The parameter whose value it has where none is given for it.
    pub follows: Option<&'static str>,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// Its key in JSON, where that is not its name with `_` for `-`.
    pub key: Option<&'static str>,
}

impl Parameter {
    /// A number with a default, or that must be given.
    pub const fn number(name: &'static str, default: Option<f64>, meaning: &'static str) -> Self {
        Self { name, kind: ParameterKind::Number, default, follows: None, meaning, key: None }
    }

    /// A whole number from 1 to 1024 with a default.
    pub const fn count(name: &'static str, default: f64, meaning: &'static str) -> Self {
        Self { kind: ParameterKind::Count(1024), ..Self::number(name, Some(default), meaning) }
    }

    /// Colour vectors of operators that take several.
    pub(crate) const COMPONENTS: Self = Self::count("components", 1.0, "colour vectors per site");
    /// The mass of operators that are often given by a hopping parameter κ.
    pub(crate) const BARE_MASS: Self = Self::number("mass", None, "bare quark mass");

    /// The value that a text stands for.
    ///
    /// # Errors
    /// What would be right.
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

    /// Its key in JSON.
    pub fn key(&self) -> String {
        self.key.map_or_else(|| self.name.replace('-', "_"), str::to_owned)
    }

    /// A value as text.
    pub fn text(&self, value: f64) -> String {
        match self.kind {
            ParameterKind::Choice(words) => words.get(value as usize).copied().unwrap_or("?").to_owned(),
            _ => for_people(value),
        }
    }
}

/// Values of an operator's parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct ParameterValues(Vec<(&'static str, f64)>);

impl ParameterValues {
    /// The value of a parameter of the definition; NaN of any other name.
    pub(super) fn get(&self, name: &str) -> f64 {
        self.0.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value)
    }

    /// The same as a whole number.
    pub(super) fn count(&self, name: &str) -> usize {
        self.get(name) as usize
    }
}

/// What to give in place of the hopping parameter.
pub const KAPPA: &str =
    "kappa is 1 / (2 (4 + mass)) of Wilson, twisted mass and clover fermions: give mass = 1 / (2 kappa) - 4";

/// Why an operator cannot be made of some parameters. Messages are fragments.
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

/// An operator by name.
#[derive(Clone, Copy)]
pub struct Definition {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// The operator in a few words.
    pub meaning: &'static str,
    /// M in its parameters, with U the links and W ψ(x) = -½ Σ_μ [(1 - γ_μ) U_μ(x) ψ(x+μ) + (1 + γ_μ) U_μ†(x-μ) ψ(x-μ)].
    pub formula: &'static str,
    /// Its parameters beside those of the hop, in the order in which they are told.
    pub parameters: &'static [Parameter],
    /// Parameters with which solves on small hot configurations take some ten iterations: what it is verified with. All that must be given are there.
    pub verified: &'static [(&'static str, &'static str)],
}

impl Definition {
    /// Whether its mass is often given as a hopping parameter κ.
    pub fn has_kappa(&self) -> bool {
        self.parameters.contains(&Parameter::BARE_MASS)
    }

    /// The values of its parameters, given as text; those that are not given have their defaults.
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

/// What makes an operator one that has a name on the command line, in C and in Python.
pub(super) trait Defined: Model {
    /// Its definition; several where the same code has several names.
    const DEFINITIONS: &'static [Definition];

    /// The operator of a name of those, with values of its parameters.
    fn of(name: &str, values: &ParameterValues, hop: HopParameters) -> Self;
    /// The values of the parameters, in the order of its definition.
    fn values(&self) -> Vec<f64>;
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What models have in common whose operator is of one type, on all sites and in even-odd pieces: `new` makes it for the sites that it is told.
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
