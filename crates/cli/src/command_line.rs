//! Parses a command line: accepts negative numbers, and explains errors.

use std::ffi::OsString;

use lanefield::operator::KAPPA;
use lanefield::reference::real::for_people;

use super::{advice, help};

/// Parses the arguments. If they are wrong, or ask for help, this ends the process.
pub fn matches(command: clap::Command, arguments: Vec<OsString>) -> clap::ArgMatches {
    let command = help::in_two_lengths(with_hints(command));
    let arguments = with_negative_values(arguments);
    match command.clone().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => advice::advise(error, &command, &arguments).exit(),
    }
}

/// Lets the options of a command accept negative numbers, so that an error names the option and its value, and not an unknown option -1. Next to
/// `--mass` it also adds an option for the hopping parameter, which is refused with the mass to give.
pub fn with_hints(command: clap::Command) -> clap::Command {
    // X.Y.Z.T, R,T or FIRST:LAST are lists of numbers, of which the first may be negative.
    let is_list = |name: &str| {
        name.contains(['.', ',', ':']) && name.chars().all(|c| c.is_ascii_uppercase() || ".,:".contains(c))
    };
    let takes = |arg: clap::Arg| match arg.get_action().takes_values() {
        true if !arg.is_positional()
            && arg.get_value_names().is_some_and(|names| names.iter().any(|name| is_list(name))) =>
        {
            arg.allow_hyphen_values(true)
        }
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    let has = |name| command.get_arguments().any(|arg| arg.get_long() == Some(name));
    let kappa = (has("mass") && !has("kappa"))
        .then(|| clap::Arg::new("kappa").long("kappa").value_name("KAPPA").hide(true).value_parser(no_kappa));
    command.args(kappa).mut_args(takes).mut_subcommands(with_hints)
}

/// Joins a negative number in scientific notation, or a list that begins with a negative number, to the option before it: clap would read -1e-4
/// as an option.
fn with_negative_values(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_value = |text: &str| text.starts_with('-') && text.split(',').all(|number| number.parse::<f64>().is_ok());
    let is_option = |text: &OsString| {
        text.to_str().is_some_and(|text| text.starts_with("--") && text.len() > 2 && !text.contains('='))
    };
    arguments.into_iter().fold(Vec::new(), |mut joined, argument| {
        match joined.last_mut() {
            Some(option) if is_option(option) && argument.to_str().is_some_and(is_value) => {
                option.push("=");
                option.push(argument);
            }
            _ => joined.push(argument),
        }
        joined
    })
}

/// Refuses the hopping parameter, and names the mass to give instead.
fn no_kappa(text: &str) -> Result<String, String> {
    let kappa = text.parse().ok().filter(|kappa: &f64| kappa.is_normal());
    let mass =
        kappa.map_or_else(String::new, |kappa| format!(", here --mass {}", for_people(1.0 / (2.0 * kappa) - 4.0)));
    Err(format!("{KAPPA}{mass}"))
}
