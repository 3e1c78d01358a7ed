//! The tools of the program `lanefield` for other kernels. A program that calls [`main`] with its own kernels has `verify`, `bench`, `tune`,
//! `doctor`, `occupancy` and others for them.

use super::help::grouped;
use super::kernels::with_kernels;
use lanefield::dynamic::IndexKernel;
use lanefield::kernel::KernelList;
use std::ffi::OsString;
use std::process::ExitCode;

use crate::kernels::Known;
use clap::builder::{Resettable, StyledStr};
use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser};
use lanefield::kernel::Kernel;

use super::terminal::Program;
use super::{
    access, bench, build_ahead, capture, devices, doctor, emit, estimate, golden, occupancy, peak, tune, verify,
};

/// Compare, time, tune, explain and translate kernels of your own.
#[derive(Parser)]
#[command(version = concat!("(Lanefield ", env!("CARGO_PKG_VERSION"), ")"), propagate_version = true, max_term_width = 120)]
struct Toolbox {
    #[command(subcommand)]
    command: Tool,
    #[command(flatten)]
    general: super::process::GeneralArgs,
}

commands! {
    Tool(kernels: &Known) {
        Devices(devices::Devices),
        Verify(verify::Verify) with kernels,
        Run(Box<super::run::Run>) with kernels,
        Golden(golden::Golden) with kernels,
        Bench(Box<bench::Bench>) with kernels,
        Tune(tune::Tune) with kernels,
        Peak(peak::Peak) with kernels,
        Occupancy(Box<occupancy::Occupancy>) with kernels,
        Access(Box<access::Access>) with kernels,
        Estimate(Box<estimate::Estimate>) with kernels,
        Doctor(Box<doctor::Doctor>) with kernels,
        Capture(Box<capture::Capture>),
        Emit(Box<emit::Emit>) with kernels,
        #[command(hide = true)]
        BuildPrograms(build_ahead::BuildPrograms) with kernels,
    }
}

/// Runs a program with these kernels: parses the command line, executes it, and returns the exit code.
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
pub fn main<'a>(own: impl Into<Own<'a>>) -> ExitCode {
    run(own, std::env::args_os())
}

/// Kernels and maps of a program: `toolbox::main(Own { kernels: &[&TWICE], maps: &[&TRANSPOSED] })`.
#[derive(Clone, Copy, Default)]
pub struct Own<'a> {
    /// Kernels on lattice sites.
    pub kernels: &'a [&'static Kernel],
    /// Kernels on index spaces of their own, such as the maps of `lanefield-maps`.
    pub maps: &'a [&'static dyn IndexKernel],
}

impl<'a, const N: usize> From<&'a [&'static Kernel; N]> for Own<'a> {
    fn from(kernels: &'a [&'static Kernel; N]) -> Self {
        Self { kernels, maps: &[] }
    }
}

impl<'a> From<&'a [&'static Kernel]> for Own<'a> {
    fn from(kernels: &'a [&'static Kernel]) -> Self {
        Self { kernels, maps: &[] }
    }
}

/// As [`main`], for this command line: the name of the program, and its arguments.
pub fn run<'a>(own: impl Into<Own<'a>>, arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let Own { kernels, maps } = own.into();
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let list = match KernelList::with(kernels) {
        Ok(kernels) => Known { kernels, maps: maps.to_vec() },
        Err(error) => {
            say!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let called = arguments.first().map(|name| name.to_string_lossy().into_owned());
    let name = called.as_deref().and_then(|name| std::path::Path::new(name).file_stem()?.to_str());
    let name = name.unwrap_or("toolbox").to_owned();
    let tools = Toolbox::command().get_subcommands().map(|tool| tool.get_name().to_owned()).collect();
    super::terminal::call_program(Program { name: called.unwrap_or_else(|| name.clone()), tools });
    let matches = super::matches(command_line(&name, &list), arguments);
    let Toolbox { command, general } = Toolbox::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    super::run(&matches, general, || command.run(&list))
}

/// The command line of a program of this name. If its help names `lanefield` with one of these tools, it means this program.
fn command_line(name: &str, list: &Known) -> Command {
    let command = with_kernels(Toolbox::command().name(name.to_owned()), list);
    let tools = command.get_subcommands().map(|tool| tool.get_name().to_owned()).collect();
    let program = Program { name: name.to_owned(), tools };
    grouped(with_help(command, &|text| StyledStr::from(program.named_in(&text.to_string()))))
}

/// A command and its subcommands, with `text` applied to each text of their help.
fn with_help(command: Command, text: &impl Fn(&StyledStr) -> StyledStr) -> Command {
    let of = |help: Option<&StyledStr>| Resettable::from(help.map(text));
    let (about, long_about) = (of(command.get_about()), of(command.get_long_about()));
    let after_help = of(command.get_after_help());
    let command = command.about(about).long_about(long_about).after_help(after_help).mut_args(|argument| {
        let (help, long_help) = (of(argument.get_help()), of(argument.get_long_help()));
        argument.help(help).long_help(long_help)
    });
    command.mut_subcommands(|command| with_help(command, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound_and_names_its_own_program() {
        let mut command = command_line("mine", Known::LIBRARY);
        command.clone().debug_assert();
        let mut help = command.render_long_help().to_string();
        for tool in command.get_subcommands_mut() {
            help += &tool.render_long_help().to_string();
        }
        assert!(help.contains("mine verify --smoke") && help.contains("mine tune --kernel hop"), "{help}");
        for tool in command.get_subcommands() {
            assert!(!help.contains(&format!("lanefield {}", tool.get_name())), "{}: {help}", tool.get_name());
        }
    }
}
