//! The operators of the library as options: `--operator`, and one option for each parameter that an operator has. Names, meanings and defaults
//! are those of [`definitions`].

use std::ffi::OsStr;
use std::marker::PhantomData;

use anyhow::{anyhow, bail, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use lanefield::dynamic::beyond;
use lanefield::kernel::Kernel;
use lanefield::operator::{
    AnyModel, Definition, DefinitionError, HopParameters, Parameter, ParameterKind, definition, definitions,
};
use lanefield::reference::field::Object;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::real::for_people;
use serde_json::{Map, Value};

use super::args::HopArgs;

/// The operators that a command accepts as `--operator`.
pub trait Offer: 'static {
    const HELP: &'static str;
    /// The default operator.
    const DEFAULT: Option<&'static str> = None;
    /// Why existing operators are not offered.
    const NEEDS: &'static str = "";

    fn operators() -> Vec<&'static Definition> {
        definitions().collect()
    }
    /// Kernels that can be applied like operators.
    fn kernels() -> Vec<&'static Kernel> {
        Vec::new()
    }
}

/// Operators that can be inverted: all.
pub struct Invertible;

impl Offer for Invertible {
    const HELP: &'static str = "Operator M";
    const DEFAULT: Option<&'static str> = Some("wilson");
}

/// Operators on spinors, which describe quarks.
pub struct OnSpinors;

impl Offer for OnSpinors {
    const HELP: &'static str = "Operator M, which must act on spinors";
    const NEEDS: &'static str = "a propagator needs an operator on spinors";

    fn operators() -> Vec<&'static Definition> {
        definitions().filter(|definition| acts_on_spinors(definition)).collect()
    }
}

/// Whether an operator acts on spinors, whatever its parameters.
fn acts_on_spinors(definition: &Definition) -> bool {
    let required = definition.parameters.iter().filter(|known| known.default.is_none() && known.follows.is_none());
    let given: Vec<(&str, String)> = required.map(|known| (known.name, known.text(1.0))).collect();
    let model = definition.model(given.iter().map(|(name, text)| (*name, text.as_str())), HopParameters::default());
    model.is_ok_and(|model| matches!(model.object(), Object::Spinors(_)))
}

/// An operator with the parameters that were given.
pub struct OperatorArgs<O> {
    name: String,
    given: Vec<(&'static str, String)>,
    offer: PhantomData<O>,
}

const OPERATOR: &str = "operator";
/// Of the options that define the operator.
const HEADING: &str = "Operator";

/// Reads the name of an operator or kernel that is offered.
#[derive(Clone)]
struct Names {
    offered: Vec<PossibleValue>,
    needs: &'static str,
}

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(&self, command: &Command, option: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let parsed = PossibleValuesParser::new(self.offered.clone()).parse_ref(command, option, value);
        let name = value.to_string_lossy();
        match parsed {
            Err(_) if definition(&name).is_ok() => {
                let offered: Vec<&str> = self.offered.iter().map(PossibleValue::get_name).collect();
                let why = format!("invalid operator '{name}': {}: expected {}\n", self.needs, offered.join(", "));
                Err(Error::raw(ErrorKind::InvalidValue, why).with_cmd(command))
            }
            parsed => parsed,
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.offered.iter().cloned()))
    }
}

impl<O: Offer> Args for OperatorArgs<O> {
    fn augment_args(command: Command) -> Command {
        let operators = O::operators();
        let kernels = O::kernels().into_iter().map(|kernel| PossibleValue::new(kernel.name).help(kernel.computes));
        let names = operators.iter().map(|operator| PossibleValue::new(operator.name).help(operator.meaning));
        let offered = kernels.chain(names).collect();
        let operator = Arg::new(OPERATOR)
            .long(OPERATOR)
            .help_heading(HEADING)
            .value_name("OPERATOR")
            .help(O::HELP)
            .value_parser(Names { offered, needs: O::NEEDS });
        let operator = match O::DEFAULT {
            Some(name) => operator.default_value(name),
            None => operator.required(true),
        };
        command.arg(operator).args(parameters(&operators).into_iter().map(|parameter| option(parameter, &operators)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<O: Offer> FromArgMatches for OperatorArgs<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut args = Self { name: String::new(), given: Vec::new(), offer: PhantomData };
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        self.name = text(OPERATOR).unwrap_or_default();
        let names = parameters(&O::operators()).into_iter().map(|parameter| parameter.name);
        self.given = names.filter_map(|name| Some((name, text(name)?))).collect();
        Ok(())
    }
}

fn parameters(operators: &[&'static Definition]) -> Vec<&'static Parameter> {
    let mut parameters: Vec<&'static Parameter> = Vec::new();
    for parameter in operators.iter().flat_map(|operator| operator.parameters) {
        if parameters.iter().all(|known| known.name != parameter.name) {
            parameters.push(parameter);
        }
    }
    parameters
}

/// The option of a parameter.
fn option(parameter: &'static Parameter, operators: &[&'static Definition]) -> Arg {
    let (value_name, negative) = match parameter.kind {
        ParameterKind::Number => ("NUMBER".to_owned(), true),
        ParameterKind::Count(_) => ("N".to_owned(), false),
        ParameterKind::Choice(words) => (words.join("|"), false),
    };
    let checked = |text: &str| parameter.parse(text).map(|_| text.to_owned());
    Arg::new(parameter.name)
        .long(parameter.name)
        .help_heading(HEADING)
        .value_name(value_name)
        .help(help(parameter.name, operators))
        .allow_negative_numbers(negative)
        .value_parser(checked)
}

/// "Clover coefficient [default: 1] (clover)"; if the meaning differs between operators, one after the other.
fn help(name: &str, operators: &[&'static Definition]) -> String {
    let mut meanings: Vec<(String, Vec<&str>)> = Vec::new();
    for operator in operators {
        let Some(parameter) = operator.parameters.iter().find(|parameter| parameter.name == name) else { continue };
        let default = match (parameter.follows, parameter.default) {
            (Some(other), _) => format!(" [default: that of --{other}]"),
            (None, Some(value)) => format!(" [default: {}]", parameter.text(value)),
            (None, None) => String::new(),
        };
        let meaning = format!("{}{default}", parameter.meaning);
        match meanings.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, operators)) => operators.push(operator.name),
            None => meanings.push((meaning, vec![operator.name])),
        }
    }
    let told = meanings.iter().map(|(meaning, operators)| format!("{meaning} ({})", operators.join(", ")));
    let text = told.collect::<Vec<_>>().join("; ");
    let mut letters = text.chars();
    match letters.next() {
        // This leaves "b of Möbius fermions" as it is.
        Some(first) if !letters.as_str().starts_with(' ') => first.to_uppercase().chain(letters).collect(),
        _ => text,
    }
}

/// "dwf and mobius", "wilson, clover and dwf".
fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}

impl<O: Offer> OperatorArgs<O> {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters that were given, as text.
    pub fn given(&self) -> &[(&'static str, String)] {
        &self.given
    }

    /// The kernel that was named in place of an operator.
    pub fn kernel(&self) -> anyhow::Result<Option<&'static Kernel>> {
        let kernel = O::kernels().into_iter().find(|kernel| kernel.name == self.name);
        if let (Some(kernel), Some((parameter, _))) = (kernel, self.given.first()) {
            return Err(Self::not_a_parameter(parameter, kernel.name));
        }
        Ok(kernel)
    }

    /// The operator with these parameters and those of the hop.
    pub fn model(&self, hop: &HopArgs) -> anyhow::Result<AnyModel> {
        let given = self.given.iter().map(|(name, text)| (*name, text.as_str()));
        let model = definition(&self.name)?.model(given, hop.parameters());
        model.map_err(|error| match error {
            DefinitionError::Parameter { operator, parameter, .. } => Self::not_a_parameter(&parameter, operator),
            DefinitionError::Missing { operator, parameter, meaning } => {
                anyhow!("--operator {operator} needs --{parameter}: {meaning}")
            }
            error => error.into(),
        })
    }

    /// The error for a parameter that the operator does not have. Without it, the parameter would silently have no effect.
    fn not_a_parameter(parameter: &str, name: &str) -> anyhow::Error {
        let has = |operator: &&Definition| operator.parameters.iter().any(|known| known.name == parameter);
        let having = O::operators().into_iter().filter(has);
        let having: Vec<&str> = having.map(|operator| operator.name).collect();
        anyhow!("--{parameter} is for --operator {}; {name} has none", listed(&having))
    }
}

/// The parameters of an operator by name, without those of the hop, for JSON.
pub fn json_of(model: &AnyModel) -> Map<String, Value> {
    let value = |parameter: &Parameter, value: f64| match parameter.kind {
        ParameterKind::Number => Value::from(value),
        ParameterKind::Count(_) => Value::from(value as u64),
        ParameterKind::Choice(_) => Value::from(parameter.text(value)),
    };
    model.parameters().into_iter().map(|(parameter, number)| (parameter.key(), value(parameter, number))).collect()
}

/// Fails if the working precision cannot hold a parameter, or if even-odd preconditioning cannot divide by the diagonal.
pub fn check<R: Vectors>(model: &AnyModel, preconditioned: bool) -> anyhow::Result<()> {
    let is_finite = |number: f64| R::from_f64(number).to_f64().is_finite();
    if let Some((Parameter { name, .. }, value)) = beyond::<R>(model) {
        bail!("--{name} {value:e} is beyond {}: give a smaller {name}", R::NAME);
    }
    let (mass, diagonal) = (model.mass(), model.diagonal());
    ensure!(
        is_finite(diagonal),
        "mass {} makes the diagonal of {} {diagonal:e}, which is beyond {}: give a smaller mass",
        for_people(mass),
        model.describe(),
        R::NAME
    );
    ensure!(
        !preconditioned || is_finite(1.0 / diagonal),
        "the diagonal of {} is {}, which even-odd preconditioning divides by: use --unpreconditioned",
        model.describe(),
        if diagonal == 0.0 { "0".to_owned() } else { format!("{diagonal:e}") }
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_every_operator_is_an_option_that_says_whose_it_is() {
        let mut command = OperatorArgs::<Invertible>::augment_args(Command::new("x"));
        let help = command.render_long_help().to_string();
        for operator in definitions() {
            assert!(help.contains(&format!("- {}:", operator.name)), "{help}");
            for parameter in operator.parameters {
                assert!(help.contains(&format!("--{} <", parameter.name)), "{help}");
            }
        }
        assert!(
            help.contains("Clover coefficient of the planes with time [default: that of --csw] (clover)"),
            "{help}"
        );
        assert!(help.contains("Sites of the fifth dimension [default: 16] (dwf, mobius)"), "{help}");
    }

    #[test]
    fn operators_are_made_of_options_and_negative_numbers_are_values() {
        let command = OperatorArgs::<Invertible>::augment_args(Command::new("x"));
        let matches = command.try_get_matches_from(["x", "--operator", "clover", "--mass", "-0.4", "--csw", "-1.5"]);
        let args = OperatorArgs::<Invertible>::from_arg_matches(&matches.unwrap()).unwrap();
        assert_eq!(
            (args.name.as_str(), &args.given[..]),
            ("clover", &[("mass", "-0.4".to_owned()), ("csw", "-1.5".to_owned())][..])
        );
    }

    #[test]
    fn quarks_have_operators_on_spinors() {
        let on_spinors = OnSpinors::operators();
        for operator in definitions() {
            let on_colour_vectors = operator.parameters.iter().any(|parameter| parameter.name == "components");
            let offered = on_spinors.iter().any(|known| known.name == operator.name);
            assert_ne!(offered, on_colour_vectors, "{}", operator.name);
        }
    }
}
