//! The tools of the program `lanefield` over other kernels: a program calls [`main`] with its own, and is `verify`, `bench`, `tune`, `doctor`,
//! `occupancy` and the others for them.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::{Resettable, StyledStr};
use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser};
use lanefield::kernel::{self, Kernel, use_kernels};

use super::terminal::Program;
use super::{
    access, bench, build_ahead, capture, devices, doctor, emit, estimate, golden, occupancy, peak, trace, tune, verify,
};

/// Kernels of one's own: compared, timed, tuned, explained and translated.
#[derive(Parser)]
#[command(version = concat!("(Lanefield ", env!("CARGO_PKG_VERSION"), ")"), propagate_version = true, max_term_width = 120)]
struct Toolbox {
    #[command(subcommand)]
    command: Tool,
    #[command(flatten)]
    trace: trace::TraceArgs,
    /// Replace files that are there already
    #[arg(long, global = true, help_heading = "Files")]
    force: bool,
}

commands! {
    Tool {
        Devices(devices::Devices),
        Verify(verify::Verify),
        Run(Box<super::run::Run>),
        Golden(golden::Golden),
        Bench(Box<bench::Bench>),
        Tune(tune::Tune),
        Peak(peak::Peak),
        Occupancy(Box<occupancy::Occupancy>),
        Access(Box<access::Access>),
        Estimate(Box<estimate::Estimate>),
        Doctor(Box<doctor::Doctor>),
        Capture(Box<capture::Capture>),
        Emit(Box<emit::Emit>),
        #[command(hide = true)]
        BuildPrograms(build_ahead::BuildPrograms),
    }
}

/// The whole of a program whose kernels these are: reads the command line, does what it says, and tells how that ended.
///
/// ```no_run
/// use lanefield::body::prelude::*;
///
/// /// Twice the field.
/// #[lane_kernel]
/// fn twice<S: Site>(out: Write<S, ColourVectors>, phi: Read<S, ColourVectors>) {
///     out.write(phi.here() + phi.here());
/// }
///
/// fn main() -> std::process::ExitCode {
///     lanefield_cli::toolbox::main(&[&TWICE])
/// }
/// ```
pub fn main(kernels: &[&'static Kernel]) -> ExitCode {
    run(kernels, std::env::args_os())
}

/// As [`main`], of this command line: the name of the program, and its arguments.
pub fn run(kernels: &[&'static Kernel], arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let of_library: Vec<&str> = kernel::all().flat_map(|kernel| [kernel.name, kernel.family]).collect();
    if let Err(error) = use_kernels(kernels) {
        say!("error: {error}");
        return ExitCode::from(2);
    }
    let called = arguments.first().map(|name| name.to_string_lossy().into_owned());
    let name = called.as_deref().and_then(|name| std::path::Path::new(name).file_stem()?.to_str());
    let name = name.unwrap_or("toolbox").to_owned();
    let tools = Toolbox::command().get_subcommands().map(|tool| tool.get_name().to_owned()).collect();
    super::terminal::call_program(Program { name: called.unwrap_or_else(|| name.clone()), tools });
    let own: Vec<&str> = kernels.iter().map(|kernel| kernel.name).collect();
    // Whose help nobody reads needs no examples.
    let asks = arguments.iter().any(|word| ["-h", "--help", "help"].iter().any(|help| word == help));
    let command = if asks { command_line(&name, (&of_library, &own)) } else { Toolbox::command().name(name) };
    let matches = super::matches(command, arguments);
    let Toolbox { command, trace, force } = Toolbox::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    super::run(&matches, trace, force, || command.run())
}

/// The command line of a program of this name: where the help names `lanefield` and one of these tools it means this program, and its examples are of the
/// program's own kernels.
fn command_line(name: &str, kernels: (&[&str], &[&str])) -> Command {
    let command = Toolbox::command().name(name.to_owned());
    let tools = command.get_subcommands().map(|tool| tool.get_name().to_owned()).collect();
    let program = Program { name: name.to_owned(), tools };
    let renamed = |text: &StyledStr| StyledStr::from(program.named_in(&text.to_string()));
    let parser = Toolbox::command().name(name.to_owned());
    with_help(command, &renamed, &|help| own_examples(&renamed(help).to_string(), &parser, kernels))
}

/// A command, and those below it, with each text of the help as `text` makes it, and what follows the help as `after` makes it.
fn with_help(
    command: Command,
    text: &impl Fn(&StyledStr) -> StyledStr,
    after: &impl Fn(&StyledStr) -> Option<String>,
) -> Command {
    let of = |help: Option<&StyledStr>| Resettable::from(help.map(text));
    let (about, long_about) = (of(command.get_about()), of(command.get_long_about()));
    let after_help = Resettable::from(command.get_after_help().and_then(after).map(StyledStr::from));
    let command = command.about(about).long_about(long_about).after_help(after_help).mut_args(|argument| {
        let (help, long_help) = (of(argument.get_help()), of(argument.get_long_help()));
        argument.help(help).long_help(long_help)
    });
    command.mut_subcommands(|command| with_help(command, text, after))
}

/// Those examples that a command line takes, with kernels of one's own in place of the library's; nothing where it takes none of them.
fn own_examples(help: &str, parser: &Command, (of_library, own): (&[&str], &[&str])) -> Option<String> {
    let with_own = |line: &str| {
        let word = |word: &str| {
            let names = word.trim_end();
            let is_library = !names.is_empty() && names.split(',').all(|name| of_library.contains(&name));
            // What an example says of the arguments of a kernel, none of one's own has.
            if is_library && !line.contains('=') {
                word.replacen(names, own.first().unwrap_or(&names), 1)
            } else {
                word.to_owned()
            }
        };
        line.split_inclusive(char::is_whitespace).map(word).collect::<String>()
    };
    let is_taken = |example: &String| {
        let words = example.split_whitespace().filter(|word| *word != "\\");
        parser.clone().try_get_matches_from(words).is_ok()
    };
    let mut examples: Vec<String> = Vec::new();
    let mut continues = false;
    for line in help.lines().skip_while(|line| !line.starts_with("Examples")).skip(1) {
        match examples.last_mut().filter(|_| continues) {
            Some(example) => *example += &format!("\n{line}"),
            None => examples.push(line.to_owned()),
        }
        continues = line.ends_with('\\');
    }
    let taken: Vec<String> = examples
        .into_iter()
        .filter_map(|example| [example.clone(), with_own(&example)].into_iter().find(is_taken))
        .collect();
    (!taken.is_empty()).then(|| format!("Examples:\n{}", taken.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound_and_names_its_own_program() {
        let mut command = command_line("mine", (&["hop", "clover"], &["axpy"]));
        command.clone().debug_assert();
        let mut help = command.render_long_help().to_string();
        for tool in command.get_subcommands_mut() {
            help += &tool.render_long_help().to_string();
        }
        assert!(help.contains("mine verify --smoke") && help.contains("mine tune --kernels hop"), "{help}");
        for tool in command.get_subcommands() {
            assert!(!help.contains(&format!("lanefield {}", tool.get_name())), "{}: {help}", tool.get_name());
        }
    }
}
