//! The groups in which the help of a program lists its commands.

use std::fmt::Write as _;

use clap::Command;

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

#[cfg(test)]
mod tests {
    use super::*;

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
