//! The command line, one file a subcommand. Exit codes: 0 done, 1 a check failed or a solver did not converge, 2 bad usage or input.

mod apply;
mod args;
mod config;
mod devices;
mod output;
mod solve;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Lattice fields on OpenCL devices and on CPUs, with the same bits.
#[derive(Parser)]
#[command(name = "lanefield", version, about, propagate_version = true, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Devices(devices::Devices),
    Config(config::Config),
    Apply(apply::Apply),
    Solve(solve::Solve),
    Verify(verify::Verify),
}

/// How a command ended that did not fail.
pub enum Outcome {
    /// It did what it was asked.
    Done,
    /// It did, and found something wrong: a check failed, or a solver did not converge.
    CheckFailed,
}

/// Runs the program.
pub fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Devices(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::Apply(command) => command.run(),
        Command::Solve(command) => command.run(),
        Command::Verify(command) => command.run(),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::CheckFailed) => ExitCode::from(1),
        Err(error) => {
            // One readable line: the attempt, then each cause.
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
