//! The command line from end to end: what each command writes and prints, its exit code, and the one line that says what is
//! wrong. One file a command, as in `src`; the OpenCL device is what `tests/common` of the library finds.

#[path = "../../../tests/common/device.rs"]
mod common;

mod access;
mod apply;
mod bench;
mod bench_kernels;
mod config;
mod counters;
mod devices;
mod doctor;
mod estimate;
mod guidelines;
mod long_run;
mod malformed;
mod occupancy;
mod operators;
mod peak;
mod propagator;
mod reduce;
mod report;
mod solve;
mod trace;
mod tune;
mod verify;

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use tempfile::TempDir;

/// A folder of its own, in which the program runs.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With `gauge.nersc`, a weak configuration on 4.4.4.8.
    fn with_gauge() -> Self {
        let folder = Self::new();
        folder.succeeds("config generate weak --lattice 4.4.4.8 --seed 3 --spread 0.3 --output gauge.nersc");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program with arguments that are separated by blanks.
    fn command(&self, arguments: &str) -> Command {
        let mut command = assert_cmd::cargo::cargo_bin_cmd!("lanefield");
        command.current_dir(self.0.path()).env_remove("LANEFIELD_DEVICE").env("LANEFIELD_TUNING", "off");
        command.args(arguments.split_whitespace());
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command that must succeed prints.
    fn succeeds(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "lanefield {arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The same, as JSON.
    fn json(&self, arguments: &str) -> serde_json::Value {
        serde_json::from_str(&self.succeeds(&format!("{arguments} --json"))).unwrap()
    }

    /// The error line of a command that must end with `code`; there is exactly one, and nothing on standard output if it is 2.
    fn fails(&self, code: i32, arguments: &str) -> String {
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "lanefield {arguments}: {stderr}");
        assert!(code != 2 || output.stdout.is_empty(), "lanefield {arguments}: {}", text(&output.stdout));
        let said: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("running on ")).collect();
        let [error] = said[..] else { panic!("lanefield {arguments}: not one line: {stderr}") };
        error.strip_prefix("error: ").unwrap_or_else(|| panic!("lanefield {arguments}: {stderr}")).to_owned()
    }

    /// What clap says about a command that is used wrongly: several lines, the first of which is the error.
    fn misused(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "lanefield {arguments}: {stderr}");
        assert!(stderr.starts_with("error: "), "lanefield {arguments}: {stderr}");
        stderr
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Fails unless `text` has each of `parts`.
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// `--device INDEX` of the OpenCL device for tests; `None` where there may be none.
fn opencl() -> Option<String> {
    common::opencl_device().map(|device| format!("--device {}", device.index))
}

const COMMANDS: [&str; 24] = [
    "devices",
    "config info",
    "config generate",
    "config convert",
    "config",
    "apply",
    "reduce",
    "solve",
    "propagator",
    "correlator",
    "bench",
    "bench reduce",
    "bench threads",
    "bench orders",
    "bench sprint",
    "tune",
    "doctor",
    "guidelines",
    "peak",
    "occupancy",
    "counters",
    "report",
    "access",
    "estimate",
];

#[test]
fn every_command_explains_itself_with_examples() {
    for command in COMMANDS {
        let help = Folder::new().succeeds(&format!("{command} --help"));
        // Examples are to be copied, so they must not be wrapped.
        let examples = help.split("Examples:").nth(1).unwrap_or_default();
        assert!(examples.lines().all(|line| line.len() < 80), "{examples}");
        assert_contains(&help, &["Example", &format!("lanefield {command}"), "Usage: lanefield"]);
    }
}

#[test]
fn the_examples_of_the_help_work_as_they_are() {
    let folder = Folder::new();
    // In this order: each needs files that examples before it make.
    let commands = [
        "config generate",
        "config",
        "config info",
        "config convert",
        "apply",
        "reduce",
        "solve",
        "propagator",
        "correlator",
        "bench",
        "bench reduce",
        "bench orders",
        "bench sprint",
        "peak",
        "access",
        "estimate",
    ];
    let help = commands.map(|command| folder.succeeds(&format!("{command} --help"))).concat();
    let mut examples = 0;
    for line in help.replace("\\\n", "").lines() {
        let Some(arguments) = line.strip_prefix("  lanefield ") else { continue };
        // The CPU reference, where an example leaves it to the machine.
        folder.command(arguments).env("LANEFIELD_DEVICE", "cpu").assert().success();
        examples += 1;
    }
    assert_eq!(examples, 3 + 3 + 2 + 2 + 6 + 6 + 9 + 3 + 4 + 2 + 2 + 1 + 1 + 3 + 5 + 5);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::with_gauge();
    let program: &Path = assert_cmd::cargo::cargo_bin!("lanefield");
    let mut child = std::process::Command::new(program)
        .args(["config", "info"])
        .arg(folder.path("gauge.nersc"))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn an_unknown_command_or_operator_names_those_that_exist() {
    let folder = Folder::new();
    assert_contains(&folder.misused("aply"), &["unrecognized subcommand 'aply'", "apply"]);
    let error = folder.misused("apply --operator staggered --config c --source gauss:1 --output o.npy");
    assert_contains(&error, &["'staggered'", "possible values: hop, wilson, clover, dwf, mobius, laplace"]);
}
