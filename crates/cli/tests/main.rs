//! The command line from end to end: what each command writes and prints, its exit code, and the one line that says what is
//! wrong. One file a command, as in `src`; the OpenCL device is what `tests/common` of the library finds.

#[path = "../../../tests/common/device.rs"]
mod common;

mod access;
mod apply;
mod bench;
mod bench_kernels;
mod building;
mod capture;
mod compare;
mod completions;
mod config;
mod counters;
mod demo;
mod devices;
mod doctor;
mod eigen;
mod emit;
mod estimate;
mod figures;
mod gauge;
mod golden;
mod guidelines;
mod heatbath;
mod json;
mod limits;
mod long_run;
mod malformed;
mod new;
mod occupancy;
mod opencl_allocations;
mod operators;
mod overwriting;
mod pages;
mod peak;
mod potential;
mod profile_nvidia;
mod propagator;
#[cfg(feature = "mpi")]
mod ranks;
mod reduce;
mod report;
mod sidecars;
#[cfg(target_os = "linux")]
mod signals;
mod solve;
mod spectrum;
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
        Self::with_gauge_on("4.4.4.8")
    }

    fn with_gauge_on(lattice: &str) -> Self {
        let folder = Self::new();
        let generate = format!("config generate weak --lattice {lattice} --seed 3 --spread 0.3 --output gauge.nersc");
        folder.succeeds(&generate);
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

    /// The program with arguments that are separated by blanks. It replaces files that are there: tests write to one of a name again and again.
    fn command(&self, arguments: &str) -> Command {
        let mut command = self.careful_command(arguments);
        command.arg("--force");
        command
    }

    /// The same; files that are there stay (`overwriting.rs`).
    fn careful_command(&self, arguments: &str) -> Command {
        let mut command = assert_cmd::cargo::cargo_bin_cmd!("lanefield");
        command.current_dir(self.0.path()).env_remove("LANEFIELD_DEVICE").env("LANEFIELD_TUNING", "off");
        command.args(arguments.split_whitespace());
        command
    }

    /// What careful commands end with that run at the same time.
    fn together<const N: usize>(&self, lines: [String; N]) -> [Output; N] {
        std::thread::scope(|scope| {
            let runs = lines.map(|line| scope.spawn(move || self.careful_command(&line).output().unwrap()));
            runs.map(|run| run.join().unwrap())
        })
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The program under limits that a shell sets: `ulimit -f 64`.
    #[cfg(unix)]
    fn limited(&self, limits: &str, arguments: &str) -> Output {
        let program = assert_cmd::cargo::cargo_bin!("lanefield");
        let line = format!("{limits}; exec '{}' {arguments} --force", program.display());
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &line]).current_dir(self.0.path());
        command.env_remove("LANEFIELD_DEVICE").env("LANEFIELD_TUNING", "off").output().unwrap()
    }

    /// What is known of a command that must end with `code`.
    fn ends(&self, code: i32, arguments: &str) -> Output {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "lanefield {arguments}: {}", text(&output.stderr));
        output
    }

    /// What a command that must succeed prints.
    fn succeeds(&self, arguments: &str) -> String {
        text(&self.ends(0, arguments).stdout)
    }

    /// The same, as JSON.
    fn json(&self, arguments: &str) -> serde_json::Value {
        serde_json::from_str(&self.succeeds(&format!("{arguments} --json"))).unwrap()
    }

    /// The error line of a command that must end with `code`; there is exactly one, and nothing on standard output if it is 2.
    fn fails(&self, code: i32, arguments: &str) -> String {
        let output = self.ends(code, arguments);
        let stderr = text(&output.stderr);
        assert!(code != 2 || output.stdout.is_empty(), "lanefield {arguments}: {}", text(&output.stdout));
        let said: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("running on ")).collect();
        let [error] = said[..] else { panic!("lanefield {arguments}: not one line: {stderr}") };
        error.strip_prefix("error: ").unwrap_or_else(|| panic!("lanefield {arguments}: {stderr}")).to_owned()
    }

    /// What clap says about a command that is used wrongly: several lines, the first of which is the error.
    fn misused(&self, arguments: &str) -> String {
        let stderr = text(&self.ends(2, arguments).stderr);
        assert!(stderr.starts_with("error: "), "lanefield {arguments}: {stderr}");
        stderr
    }

    /// Fails unless a command that succeeds prints each of `parts`.
    fn says(&self, arguments: &str, parts: &[&str]) {
        assert_contains(&self.succeeds(arguments), parts);
    }

    /// Fails unless a command ends with 2 and an error line that has each of `parts`.
    fn refuses(&self, arguments: &str, parts: &[&str]) {
        assert_contains(&self.fails(2, arguments), parts);
    }

    /// Fails unless clap refuses a command with each of `parts`.
    fn misuses(&self, arguments: &str, parts: &[&str]) {
        assert_contains(&self.misused(arguments), parts);
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

/// The kernels of a hop that can be applied like operators.
fn hops() -> impl Iterator<Item = &'static str> {
    lanefield::kernel::all().map(|kernel| kernel.name).filter(|name| *name == "hop" || name.ends_with("_hop"))
}

/// The operators on colour vectors.
fn on_colour_vectors() -> impl Iterator<Item = &'static str> {
    let has_components = |definition: &&lanefield::operator::Definition| {
        definition.parameters.iter().any(|parameter| parameter.name == "components")
    };
    lanefield::operator::definitions().filter(has_components).map(|definition| definition.name)
}

/// `--device INDEX` of the OpenCL device for tests; `None` where there may be none.
fn opencl() -> Option<String> {
    common::opencl_device().map(|device| format!("--device {}", device.index))
}

/// Commands whose examples are run, in this order: each needs files that examples before it make.
const IN_ORDER: [&str; 51] = [
    "demo",
    "config generate",
    "config generate unit",
    "config generate hot",
    "config generate weak",
    "config generate heatbath",
    "config",
    "config info",
    "config convert",
    "config check",
    "source",
    "apply",
    "run",
    "reduce",
    "compare",
    "convert",
    "solve",
    "eigen",
    "propagator",
    "correlator",
    "flow",
    "smear",
    "gaugefix",
    "observe",
    "potential",
    "spectrum",
    "spectrum measure",
    "spectrum fit",
    "bench",
    "bench gauge",
    "bench reduce",
    "bench orders",
    "bench ranks",
    "bench sprint",
    "peak",
    "access",
    "estimate",
    "verify",
    "hunt",
    "devices",
    "occupancy",
    "capture",
    "counters",
    "report",
    "doctor",
    "bench threads",
    "emit",
    "golden",
    "golden check",
    "new",
    "completions",
];
/// Those whose examples are not.
const OTHERS: [&str; 3] = ["tune", "golden export", "guidelines"];

fn commands() -> impl Iterator<Item = &'static str> {
    IN_ORDER.into_iter().chain(OTHERS)
}

#[test]
fn every_command_explains_itself_with_examples() {
    for command in commands() {
        let help = Folder::new().succeeds(&format!("{command} --help-all"));
        // Examples are to be copied, so they must not be wrapped.
        let examples = help.split("Examples:").nth(1).unwrap_or_default();
        assert!(examples.lines().all(|line| line.len() < 80), "{examples}");
        assert_contains(&help, &["Example", &format!("lanefield {command}"), "Usage: lanefield"]);
    }
}

/// What examples read that no example before them makes: profiles, traces, results of other commands, a described kernel.
fn with_files_of_examples() -> Folder {
    let folder = Folder::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/data");
    for (from, to) in [
        ("counters/rocprof.csv", "results.csv"),
        ("counters/rocprof.stats.csv", "results.stats.csv"),
        ("counters/ncu_h200_raw.csv", "hop.csv"),
        ("doctor/coalesced.toml", "kernel.toml"),
        ("doctor/kernels.cl", "kernels.cl"),
    ] {
        std::fs::copy(data.join(from), folder.path(to)).unwrap();
    }
    let lattice = "--lattice 4.4.4.4 --samples 1 --device cpu --json";
    for (command, file) in [
        ("peak --quick --bytes 64KiB --parts streams --device cpu --json".to_owned(), "peak.json"),
        (format!("bench --kernel hop,eo_clover {lattice} --precision f32"), "bench.json"),
        (format!("bench --kernel axpy {lattice} --precision f32"), "before.json"),
        (format!("bench --kernel axpy {lattice} --precision f32"), "after.json"),
        (format!("bench sprint {lattice}"), "sprint.json"),
        ("counters --bytes 78MB --time 0.27ms --json".to_owned(), "counters.json"),
    ] {
        folder.write(file, folder.succeeds(&command).as_bytes());
    }
    let generate = "config generate unit --lattice 4.4.4.4 --output unit.nersc";
    folder.succeeds(&format!("{generate} --trace trace.json"));
    // The doctor reads what a device did.
    match opencl() {
        Some(device) => {
            let solve = "solve --config unit.nersc --source point:0,0,0,0,0,0 --mass 1 --trace solve.trace";
            folder.succeeds(&format!("{solve} {device}"))
        }
        None => folder.succeeds(&format!("{generate} --trace solve.trace")),
    };
    folder
}

/// The words of a command line, as a shell would split it.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
#[ignore = "test-all: all examples"]
fn the_examples_of_the_help_work_as_they_are() {
    let folder = with_files_of_examples();
    let help = IN_ORDER.map(|command| folder.succeeds(&format!("{command} --help-all"))).concat();
    let mut examples = 0;
    for line in help.replace("\\\n", "").lines() {
        let Some(arguments) = line.strip_prefix("  lanefield ") else { continue };
        examples += 1;
        let (arguments, file) = match arguments.split_once(" > ") {
            Some((arguments, file)) => (arguments, Some(file)),
            None => (arguments, None),
        };
        let mut command = folder.command("");
        command.args(words(arguments));
        // The CPU reference, where an example leaves it to the machine and takes it.
        let needs_device = ["doctor --", "bench threads", "hunt --seconds 5 --seed", "capture --", "solve --trace"]
            .iter()
            .any(|start| arguments.starts_with(start));
        match opencl() {
            Some(device) if needs_device && !arguments.contains("--timeline") && !arguments.contains("--counters") => {
                command.args(device.split_whitespace());
            }
            None if needs_device => continue,
            _ => {
                command.env("LANEFIELD_DEVICE", "cpu");
            }
        }
        if arguments.contains("gfx90a") && lanefield_lab::code::Clang::find().is_err() {
            continue;
        }
        // Arrays that differ end with 1.
        let compares = arguments.starts_with("compare ");
        let output = command.output().unwrap();
        let code = output.status.code();
        assert!(code == Some(0) || compares && code == Some(1), "{arguments}: {}", text(&output.stderr));
        if let Some(file) = file {
            folder.write(file, &output.stdout);
        }
    }
    assert_eq!(examples, 206);
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
    folder.misuses("aply", &["unrecognized subcommand 'aply'", "apply"]);
    let error = folder.misused("apply --operator overlap --config c --source gauss:1 --output o.npy");
    let operators = lanefield::operator::definitions().map(|definition| definition.name);
    let names: Vec<&str> = hops().chain(operators).collect();
    assert_contains(&error, &["'overlap'", &format!("possible values: {}", names.join(", "))]);
}

#[test]
fn the_device_of_the_environment_is_taken_and_is_not_part_of_usage() {
    let folder = Folder::with_gauge();
    let run = |line: &str, device: &str| folder.command(line).env("LANEFIELD_DEVICE", device).output().unwrap();
    let usage = text(&run("solve --config gauge.nersc", "cpu").stderr);
    let lines = usage.lines().find(|line| line.starts_with("Usage: ")).unwrap();
    assert!(lines.contains("--source") && !lines.contains("--device"), "{usage}");
    let solve = "solve --config gauge.nersc --source gauss:1 --mass 1";
    assert!(text(&run(solve, "cpu").stderr).starts_with("running on CPU reference"));
    assert_contains(&text(&run(solve, "no such device").stderr), &["no such device"]);
    assert!(text(&run(&format!("{solve} --device cpu"), "no such device").stderr).starts_with("running on CPU"));
}

#[test]
fn a_terminal_that_does_not_know_its_width_wraps_nothing() {
    let program = assert_cmd::cargo::cargo_bin!("lanefield");
    let line = format!("stty cols 0 rows 0; '{}' access --example all", program.display());
    let Ok(output) = std::process::Command::new("script").args(["-qec", &line, "/dev/null"]).output() else {
        // Only script of util-linux gives a terminal.
        return;
    };
    let printed = text(&output.stdout);
    assert!(printed.contains(" words-serial-per-work-item "), "{printed}");
}

#[test]
fn the_version_is_one_line_and_the_long_one_has_the_facts_of_the_build() {
    let folder = Folder::new();
    let first = format!("lanefield {}", env!("CARGO_PKG_VERSION"));
    let run = |argument: &str| text(&folder.careful_command(argument).output().unwrap().stdout);
    assert_eq!(run("-V"), format!("{first}\n"));
    let long = run("--version");
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!((lines[0], lines.len()), (first.as_str(), 6), "{long}");
    for (line, name) in lines[1..].iter().zip(["commit ", "target ", "compiler ", "MPI ", "target features "]) {
        assert!(line.starts_with(name), "{long}");
    }
    assert!(lines[2].contains(std::env::consts::ARCH) && lines[3].contains("rustc 1."), "{long}");
}
