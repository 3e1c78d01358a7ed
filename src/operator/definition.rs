//! Operators by name: what each is called, and its parameters beside those of the hop, each with its meaning and default. Each stands in the file of its
//! operator ([`Defined`]). The command line, C, Python, records and verification go through [`super::definitions`], and have no list of their own.

use std::fmt;

use lanefield_reference::links::LinkError;
use lanefield_reference::real::for_people;

use super::hop::HopParameters;
use super::model::Model;

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
    /// A value by name; NaN where there is none, which does not occur for the parameters of a definition.
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
    /// What it is, in a few words.
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
