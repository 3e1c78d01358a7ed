//! The program `lanefield`, with one file for each subcommand. The library and the laboratory do the work. Programs with their own kernels get
//! the same tools from [`toolbox::main`]. Exit codes: 0 done, 1 a check failed or a solver did not converge, 2 wrong usage or input, 130 a
//! signal.

#[macro_use]
mod outcome;
#[macro_use]
mod terminal;

mod access;
mod advice;
mod apply;
mod args;
mod array_output;
mod bench;
mod build_ahead;
mod build_facts;
mod build_progress;
mod capture;
mod command_line;
mod compare;
mod completions;
mod config;
mod configuration;
mod convert;
mod correlator;
mod counters;
mod csv_output;
mod demo;
mod devices;
mod doctor;
mod eigen;
mod emit;
mod estimate;
mod far_times;
mod fields;
mod files;
mod flow;
mod gaugefix;
mod golden;
mod guidelines;
mod help;
mod hunt;
mod interrupt;
mod kernel_args;
mod kernels;
mod limits;
mod machines;
mod man;
mod maps;
mod new;
mod numbers;
mod observe;
mod occupancy;
mod operator;
mod ordered_array;
mod output;
mod peak;
mod potential;
mod prelude;
mod process;
mod progress;
mod propagator;
mod ranks;
mod reduce;
mod report;
mod resampling;
mod run;
mod smear;
mod solve;
mod solving;
mod source;
mod spectrum;
pub mod toolbox;
mod trace;
mod tune;
mod tuning;
mod twist;
mod verify;
mod worker_processes;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::kernels::Known;
use command_line::matches;
use kernels::with_kernels;
use process::run;

/// Lattice fields on OpenCL devices and on CPUs, with the same bits.
#[derive(Parser)]
#[command(name = "lanefield", version, long_version = build_facts::long_version(), propagate_version = true, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    general: process::GeneralArgs,
}

commands! {
    Command {
        Demo(demo::Demo),
        Devices(devices::Devices),
        Config(config::Config),
        Source(source::MakeSource),
        Apply(apply::Apply),
        Run(Box<run::Run>) with Known::LIBRARY,
        Reduce(reduce::Reduce),
        Compare(Box<compare::Compare>),
        Convert(convert::Convert),
        Solve(Box<solve::Solve>),
        Eigen(Box<eigen::Eigen>),
        Propagator(Box<propagator::Propagator>),
        Correlator(correlator::Correlator),
        Flow(flow::Flow),
        Smear(smear::Smear),
        Gaugefix(Box<gaugefix::Gaugefix>),
        Observe(observe::Observe),
        Potential(Box<potential::Potential>),
        Spectrum(spectrum::Spectrum),
        Verify(verify::Verify) with Known::LIBRARY,
        Hunt(hunt::Hunt),
        Bench(Box<bench::Bench>) with Known::LIBRARY,
        Tune(tune::Tune) with Known::LIBRARY,
        Guidelines(guidelines::Guidelines),
        Peak(peak::Peak) with Known::LIBRARY,
        Occupancy(Box<occupancy::Occupancy>) with Known::LIBRARY,
        Capture(Box<capture::Capture>),
        Counters(counters::Counters),
        Report(report::Report),
        Access(Box<access::Access>) with Known::LIBRARY,
        Estimate(Box<estimate::Estimate>) with Known::LIBRARY,
        Doctor(Box<doctor::Doctor>) with Known::LIBRARY,
        New(new::New),
        Emit(Box<emit::Emit>) with Known::LIBRARY,
        Golden(golden::Golden) with Known::LIBRARY,
        Completions(completions::Completions) with Cli::command(),
        Man(man::Manual) with Cli::command(),
        #[command(hide = true)]
        BuildPrograms(build_ahead::BuildPrograms) with Known::LIBRARY,
    }
}

impl Command {
    /// Whether several ranks can run the command.
    fn runs_on_ranks(&self) -> bool {
        use Command::{
            Apply, Bench, Config, Eigen, Flow, Gaugefix, Observe, Potential, Propagator, Reduce, Smear, Solve,
            Spectrum, Verify,
        };
        let of_fields =
            matches!(self, Apply(_) | Reduce(_) | Solve(_) | Eigen(_) | Propagator(_) | Verify(_) | Bench(_));
        let of_links = matches!(self, Config(_) | Flow(_) | Smear(_) | Gaugefix(_) | Observe(_) | Potential(_));
        of_fields || of_links || matches!(self, Spectrum(_))
    }
}

/// The command line, with the kernels of the library.
fn command() -> clap::Command {
    help::grouped(with_kernels(Cli::command(), Known::LIBRARY))
}

/// Runs the program `lanefield`, and returns its exit code.
pub fn main() -> ExitCode {
    let matches = matches(command(), std::env::args_os().collect());
    let Cli { command, general } = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    run(&matches, general, || {
        if !command.runs_on_ranks() {
            ranks::require_one(matches.subcommand_name().unwrap_or("the command"))?;
        }
        command.run()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        help::in_two_lengths(command_line::with_hints(command())).debug_assert();
    }

    /// The command lines of `lanefield` in some lines, as a shell would split them.
    fn command_lines(text: &str) -> Vec<Vec<String>> {
        let text = text.replace("\\\n", " ").replace("lanefield-cli -- ", "lanefield ");
        let lines = text.lines().flat_map(|line| line.split("&&"));
        let lines = lines.filter_map(|line| line.find("lanefield ").map(|start| &line[start..]));
        let words = |line: &str| {
            let line = [" > ", " | ", " # "].iter().fold(line, |line, end| line.split(end).next().unwrap_or_default());
            let quoted = line.split('"').enumerate();
            let words = quoted.flat_map(|(place, part)| match place % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            });
            words.collect()
        };
        let names_command =
            |words: &Vec<String>| words.get(1).is_some_and(|word| word.starts_with(|c: char| c.is_ascii_lowercase()));
        lines.map(words).filter(names_command).collect()
    }

    /// Those in the examples of a command and its subcommands.
    fn examples(command: &clap::Command) -> Vec<Vec<String>> {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        command_lines(&help).into_iter().chain(command.get_subcommands().flat_map(examples)).collect()
    }

    fn require_command_lines(place: &str, lines: Vec<Vec<String>>) {
        for words in lines {
            if let Err(error) = Cli::try_parse_from(&words) {
                panic!("{place}: {}: {error}", words.join(" "));
            }
        }
    }

    #[test]
    fn every_example_of_the_help_is_a_command_line() {
        let examples = examples(&Cli::command());
        assert!(examples.len() > 70, "{}", examples.len());
        require_command_lines("help", examples);
    }

    #[test]
    fn every_command_of_a_page_is_a_command_line() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut number = 0;
        for folder in [
            "",
            "docs",
            "docs/tutorials",
            "docs/background",
            "examples",
            "examples/ports/cuda",
            "crates/python",
            "crates/cli/src/new",
        ] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|extension| extension != "md") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                // What stands between fences, of a shell's; what "…" leaves out nobody can type.
                let shell = text.split("```").skip(1).step_by(2).filter_map(|block| {
                    let (kind, lines) = block.split_once('\n')?;
                    ["sh", "bash", "console", ""].contains(&kind.trim()).then_some(lines)
                });
                let lines: Vec<_> =
                    shell.flat_map(command_lines).filter(|line| !line.iter().any(|word| word == "…")).collect();
                number += lines.len();
                require_command_lines(&path.display().to_string(), lines);
            }
        }
        assert!(number > 60, "{number}");
    }
}
