//! Tests of the C interface: its functions, its header, its libraries, and the programs of `examples/`.

mod calls;
mod handles;
mod header;
mod library;
mod programs;
mod sources;

use std::path::Path;
use std::process::Command;

/// The folder of the package.
fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a command; gives what it wrote, and fails with that where it fails.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    said
}

/// Whether a program is there. Where it is not, what needs it is left out, and says so.
fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("left out: there is no {program}");
    }
    there
}
