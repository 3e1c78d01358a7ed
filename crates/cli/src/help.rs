//! The help of the program: its commands in groups, `--help` that fits two screens, and `--help-all` with every option and the whole text.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

use super::tuning;

/// The heading of the options that every command has.
pub const GENERAL: &str = "In every command";

/// The flag that prints everything.
const ALL: &str = "help-all";

/// Headings of options that `--help` leaves out.
const RARE: [&str; 4] = ["Reading configurations", "Ranks (mpirun)", "Tree sums", tuning::HEADING];

/// The number of examples that `--help` shows.
const EXAMPLES: usize = 3;

const GROUPS: [(&str, &[&str]); 6] = [
    ("Solve and measure", &["solve", "apply", "source", "reduce", "propagator", "correlator", "eigen", "spectrum"]),
    ("Gauge fields", &["config", "flow", "smear", "gaugefix", "observe", "potential"]),
    ("Correctness", &["demo", "verify", "hunt", "run", "compare"]),
    (
        "Performance",
        &["bench", "tune", "doctor", "peak", "occupancy", "access", "estimate", "guidelines", "counters", "report"],
    ),
    ("Ports", &["golden", "emit", "capture", "convert"]),
    ("Tools", &["devices", "new", "completions"]),
];

/// The same command, with help that lists its subcommands by group.
pub fn grouped(command: Command) -> Command {
    let (header, literal) = (*command.get_styles().get_header(), *command.get_styles().get_literal());
    let mut listed = String::new();
    for (group, names) in GROUPS {
        let mut commands = names.iter().filter_map(|name| command.find_subcommand(name)).peekable();
        if commands.peek().is_some() {
            writeln!(listed, "\n{header}{group}:{header:#}").ok();
        }
        for subcommand in commands {
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            writeln!(listed, "  {literal}{:<12}{literal:#}  {about}", subcommand.get_name()).ok();
        }
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{listed}\n{header}Options:{header:#}\n{{options}}"
    ))
}

/// The same command and its subcommands, with `--help` and `--help-all`.
pub fn in_two_lengths(command: Command) -> Command {
    let short = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    let all = Arg::new(ALL).long(ALL).action(ArgAction::HelpLong);
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    let command = command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .mut_args(in_short)
        .mut_subcommands(in_two_lengths)
        .next_help_heading(GENERAL)
        .arg(short.help("Print help"))
        .arg(all.help("Print all options and examples, with their whole text"))
        .arg(version.help("Print version"));
    match first(&examples, EXAMPLES) {
        Some(some) => command.after_help(some).after_long_help(examples),
        None => command,
    }
}

/// The option with the first clause of its text for `--help`, which leaves out rare ones.
fn in_short(option: Arg) -> Arg {
    let is_rare = option.get_help_heading().is_some_and(|heading| RARE.contains(&heading));
    let is_hidden = is_rare || option.is_hide_short_help_set();
    let option = option.hide_short_help(is_hidden);
    let Some(help) = option.get_help().map(ToString::to_string) else { return option };
    let whole = option.get_long_help().map_or_else(|| help.clone(), ToString::to_string);
    option.help(first_clause(&help)).long_help(whole)
}

/// A text until its first ". ", ": " or "; ", with the default and the variable that it ends with.
fn first_clause(text: &str) -> String {
    let end = text
        .match_indices([':', '.', ';'])
        .map(|(at, _)| at)
        .find(|at| text[at + 1..].starts_with(char::is_whitespace));
    let Some(end) = end.filter(|&end| !text[..end].contains('[')) else { return text.to_owned() };
    let (clause, rest) = text.split_at(end);
    let is_in_brackets = clause.contains('(') && !clause.contains(')');
    match is_in_brackets {
        true => text.to_owned(),
        false => format!("{clause}{}", rest.find(" [").map_or("", |note| &rest[note..])),
    }
}

/// The first `number` examples, if there are more.
fn first(examples: &str, number: usize) -> Option<String> {
    let (at, _) = examples.match_indices("\n  lanefield ").nth(number)?;
    Some(examples[..at].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(command: &Command) -> Vec<&Command> {
        let below = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
        std::iter::once(command).chain(below.flat_map(commands)).collect()
    }

    #[test]
    fn the_help_of_each_command_fits_two_screens_and_all_of_it_is_one_flag_away() {
        let mut program = in_two_lengths(crate::command());
        program.build();
        for command in commands(&program) {
            let (short, all) = (command.clone().render_help(), command.clone().render_long_help());
            let (short, all) = (short.to_string(), all.to_string());
            assert!(short.lines().count() <= 100, "{}: {short}", command.get_name());
            for option in command.get_arguments().filter_map(|option| Some((option.get_long()?, option.is_hide_set())))
            {
                assert_eq!(all.contains(&format!("--{}", option.0)), !option.1, "{}: {option:?}", command.get_name());
            }
            for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.len() > 3 && !help.ends_with('.'), "{} {}: {help}", command.get_name(), option.get_id());
            }
        }
    }

    #[test]
    fn a_first_clause_keeps_defaults_and_brackets() {
        for (text, first) in [
            ("Lane width in bytes: 8, 16; or auto", "Lane width in bytes"),
            ("Where to run: cpu, auto [env: X]", "Where to run [env: X]"),
            ("Threads [default: all: 8]", "Threads [default: all: 8]"),
            ("Sites (even; odd) of it", "Sites (even; odd) of it"),
            ("θ at which to stop, as 0.5", "θ at which to stop, as 0.5"),
        ] {
            assert_eq!(first_clause(text), first);
        }
    }

    #[test]
    fn each_command_is_in_one_group_and_its_line_fits_a_terminal() {
        let mut command = crate::command();
        let help = command.render_help().to_string();
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            let name = subcommand.get_name();
            let lines = help.lines().filter(|line| line.split_whitespace().next() == Some(name));
            assert_eq!(lines.count(), usize::from(name != "help"), "{name}: {help}");
        }
        for line in help.lines().take_while(|line| *line != "Options:") {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for (_, names) in GROUPS {
            assert!(names.iter().all(|name| command.find_subcommand(name).is_some()), "{names:?}");
        }
    }
}
