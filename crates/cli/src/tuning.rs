//! The tuning parameters of OpenCL devices as options of commands: one for each parameter of the library ([`Tuning::PARAMETERS`]).

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use lanefield::backend::opencl::{Parameter, Tuning};

/// `--help` leaves them out.
pub const HEADING: &str =
    "Tuning of OpenCL devices (changes no bit; default: what was tuned, else what suits device and kernel)";

#[derive(Clone, Copy, Debug, Default)]
pub struct TuningArgs(Tuning);

impl TuningArgs {
    pub fn tuning(self) -> Tuning {
        self.0
    }
}

/// The option of a parameter, which only takes values that the parameter takes.
fn option(parameter: &'static Parameter) -> Arg {
    let checked = |text: &str| parameter.set(&mut Tuning::default(), text).map(|()| text.to_owned());
    Arg::new(parameter.name)
        .long(parameter.name)
        .value_name(parameter.values)
        .help(parameter.meaning.trim_end_matches('.'))
        .help_heading(HEADING)
        .value_parser(checked)
}

impl Args for TuningArgs {
    fn augment_args(command: Command) -> Command {
        command.args(Tuning::PARAMETERS.iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TuningArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut chosen = Self::default();
        chosen.update_from_arg_matches(matches)?;
        Ok(chosen)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for parameter in Tuning::PARAMETERS {
            if let Some(text) = matches.get_one::<String>(parameter.name) {
                let invalid = |why: String| Error::raw(clap::error::ErrorKind::InvalidValue, format!("{why}\n"));
                parameter.set(&mut self.0, text).map_err(invalid)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_an_option_with_its_values_and_its_meaning() {
        let mut command = TuningArgs::augment_args(Command::new("x"));
        let help = command.render_long_help().to_string();
        for parameter in Tuning::PARAMETERS {
            assert!(help.contains(&format!("--{} <{}>", parameter.name, parameter.values)), "{}", parameter.name);
            for value in parameter.tried {
                let matches = command.clone().try_get_matches_from(["x", &format!("--{}", parameter.name), value]);
                let chosen = TuningArgs::from_arg_matches(&matches.unwrap()).unwrap().tuning();
                assert_eq!(chosen.chosen().collect::<Vec<_>>(), [(parameter.name, (*value).to_owned())]);
            }
        }
        assert_eq!(TuningArgs::default().tuning(), Tuning::OPEN);
    }
}
