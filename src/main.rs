//! The program `lanefield`: reads the command line and runs one command. Everything it can do, the library can.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
