//! The tuning parameters of OpenCL devices as options of commands: one for each parameter of the library ([`Tuning::PARAMETERS`]).

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use lanefield::backend::opencl::{Parameter, Tuning};

const HEADING: &str =
    "Tuning of OpenCL devices (changes no bit; default: what was tuned, else what suits device and kernel)";

/// The flag that prints these options, which `--help` leaves out.
const HELP: &str = "help-tuning";

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
        .hide_short_help(true)
        .hide_long_help(true)
        .value_parser(checked)
}

/// The help of these options, for a command that has them.
pub fn help_of(command: &Command, arguments: &[OsString]) -> Option<StyledStr> {
    let wanted = arguments.iter().any(|argument| *argument == *format!("--{HELP}"));
    let command = Some(command).filter(|command| wanted && command.get_arguments().any(|arg| arg.get_id() == HELP))?;
    let shown = command.clone().disable_help_flag(true).disable_version_flag(true);
    let mut shown = shown.help_template(format!("{HEADING}:\n{{options}}")).mut_args(|arg| {
        let is_tuning = arg.get_help_heading() == Some(HEADING);
        arg.hide(!is_tuning).hide_long_help(false)
    });
    Some(shown.render_long_help())
}

impl Args for TuningArgs {
    fn augment_args(command: Command) -> Command {
        let help = "Print the tuning parameters of OpenCL devices, which are options too: they change no bit";
        let flag = Arg::new(HELP).long(HELP).action(ArgAction::SetTrue).help(help);
        command.args(Tuning::PARAMETERS.iter().map(option)).arg(flag)
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
        let help = help_of(&command, &["x", "--help-tuning"].map(OsString::from)).unwrap().to_string();
        assert!(help.starts_with("Tuning of OpenCL devices") && !help.contains("--help"), "{help}");
        let all = command.render_long_help().to_string();
        assert!(all.contains("--help-tuning") && !all.contains(Tuning::PARAMETERS[0].meaning), "{all}");
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
