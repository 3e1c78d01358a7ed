//! Ctrl-C, SIGTERM and SIGHUP: what was done is kept and shown, nothing else is left, and the exit code is 130.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Folder, assert_contains, opencl, text};

/// The program, running, after it has prepared for signals.
fn started(folder: &Folder, arguments: &str) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lanefield"));
    command
        .current_dir(folder.path(""))
        .args(arguments.split_whitespace())
        .env("LANEFIELD_TUNING", folder.path("tuning"));
    let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !waits_for_sigterm(&process) {
        std::thread::sleep(Duration::from_millis(1));
    }
    process
}

/// Whether it has blocked the signal, which a thread of it waits for.
fn waits_for_sigterm(process: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim();
    u64::from_str_radix(blocked, 16).unwrap() & (1 << (15 - 1)) != 0
}

/// Twice, as `timeout` does: to the process, and to its group.
fn signal(process: &Child, signal: &str) {
    let id = process.id().to_string();
    assert!(Command::new("kill").args([signal, &id, &id]).status().unwrap().success());
}

/// The exit code, standard output and standard error.
fn ended(mut process: Child) -> (Option<i32>, String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    process.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    process.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (process.wait().unwrap().code(), out, err)
}

fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
}

/// A solve with so small a tolerance that it goes on for long.
const SOLVE: &str = "solve --config gauge.nersc --source gauss:4 --mass 0.1 --device cpu --tolerance 1e-100";

#[test]
#[ignore = "test-all: solves of a minute"]
fn a_solve_that_a_signal_ends_keeps_all_that_it_has_and_goes_on_to_the_same_history() {
    let folder = Folder::new();
    folder.succeeds("config generate weak --lattice 8.8.8.8 --seed 3 --spread 0.3 --output gauge.nersc");
    folder.fails(1, &format!("{SOLVE} --history whole.csv"));
    let kept = "--checkpoint state --checkpoint-every 1000000";
    for name in ["-INT", "-TERM", "-HUP"] {
        let run = format!("{SOLVE} {kept} --history part.csv --record record --record-every 1 --trace trace.json");
        let process = started(&folder, &run);
        while lines(&folder.path("record")) < 40 {
            std::thread::sleep(Duration::from_millis(1));
        }
        signal(&process, name);
        let (code, out, err) = ended(process);
        assert_eq!(code, Some(130), "{name}: {out} {err}");
        assert_contains(&out, &["not converged"]);
        assert_contains(&err, &["interrupted: a signal ended the solve after iteration "]);
        assert!(text(&folder.read("whole.csv")).starts_with(&text(&folder.read("part.csv"))), "{name}");
        assert!(folder.read("trace.json").starts_with(b"{\"kind\":\"trace\""), "{name}");
        let files = ["gauge.nersc", "part.csv", "record", "state", "trace.json", "whole.csv"];
        assert_eq!(folder.names(), files, "{name}");

        let iterations = lines(&folder.path("part.csv")) - 2;
        let output = folder.run(&format!("{SOLVE} {kept} --resume --history resumed.csv --json"));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &json["resumed_from"]), (Some(1), &iterations.into()), "{name}");
        assert!(folder.read("resumed.csv") == folder.read("whole.csv"), "{name}: the histories differ");
        for file in ["part.csv", "record", "state", "trace.json", "resumed.csv"] {
            std::fs::remove_file(folder.path(file)).unwrap();
        }
    }
}

#[test]
fn a_batch_that_a_signal_ends_keeps_the_history_of_each_right_hand_side() {
    let folder = Folder::new();
    folder.succeeds("config generate weak --lattice 8.8.8.8 --seed 3 --spread 0.3 --output gauge.nersc");
    let solve = format!("{SOLVE} --batch 2");
    folder.fails(1, &format!("{solve} --history whole.csv"));
    let process = started(&folder, &format!("{solve} --history part.csv --record record --record-every 1"));
    while lines(&folder.path("record")) < 40 {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&process, "-INT");
    let (code, out, err) = ended(process);
    assert_eq!(code, Some(130), "{out} {err}");
    let (part, whole) = (text(&folder.read("part.csv")), text(&folder.read("whole.csv")));
    for rhs in ["0,", "1,"] {
        let of_rhs =
            |all: &str| all.lines().filter(|line| line.starts_with(rhs)).map(str::to_owned).collect::<Vec<_>>();
        let (part, whole) = (of_rhs(&part), of_rhs(&whole));
        assert!(part.len() > 2 && whole.starts_with(&part), "right-hand side {rhs} {part:?} {whole:?}");
    }
}

#[test]
fn a_propagator_that_a_signal_ends_goes_on_to_the_same_file() {
    let folder = Folder::new();
    folder.succeeds("config generate weak --lattice 8.4.4.8 --seed 3 --spread 0.3 --output gauge.nersc");
    let compute = "propagator --config gauge.nersc --source point:0,0,0,0 --operator wilson --mass 0 --device cpu";
    folder.succeeds(&format!("{compute} --output whole.npy"));
    let run = format!("{compute} --checkpoint state --checkpoint-every 1");
    let process = started(&folder, &format!("{run} --output part.npy"));
    while !folder.path("state").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&process, "-TERM");
    let (code, _, err) = ended(process);
    assert_eq!(code, Some(130), "{err}");
    assert_eq!(folder.names(), ["gauge.nersc", "state", "whole.npy", "whole.npy.json"]);
    assert!(folder.json(&format!("{run} --resume --output p.npy"))["resumed_from"].as_u64().unwrap() > 0);
    assert!(folder.read("p.npy") == folder.read("whole.npy"), "the propagators differ");
}

/// Ends a command by a signal, later and later, until what it prints has all of some parts.
fn partly(folder: &Folder, arguments: &str, parts: &[&str]) {
    for attempt in 0..12 {
        let process = started(folder, arguments);
        std::thread::sleep(Duration::from_millis(50 << attempt));
        signal(&process, "-INT");
        let (code, out, err) = ended(process);
        assert_eq!(code, Some(130), "lanefield {arguments}: {out} {err}");
        if parts.iter().all(|part| out.contains(part)) {
            return;
        }
    }
    panic!("lanefield {arguments}: nothing was kept");
}

#[test]
#[ignore = "test-all: measures until it is stopped"]
fn measurements_that_a_signal_ends_print_what_was_measured() {
    let folder = Folder::new();
    partly(&folder, "bench all --lattice 4.4.4.4 --lanes 64 --samples 2000 --device cpu", &["lanes 64"]);
    partly(&folder, "bench reduce --lattice 4.4.4.4 --samples 500 --device cpu", &["read bandwidth", "tree"]);
    partly(&folder, "peak --device cpu", &["read"]);
    let Some(device) = opencl() else { return };
    let file = folder.path("tuning");
    // The name of the file is printed once something is kept in it.
    partly(
        &folder,
        &format!("tune --lattice 4.4.4.4 --kernels hop --precision f32 --budget 100000 {device}"),
        &[file.to_str().unwrap()],
    );
    assert!(text(&folder.read("tuning")).contains("[[kernel]]"));
    assert_eq!(folder.names(), ["tuning", "tuning.lock"]);
}

#[test]
fn a_signal_before_there_is_anything_to_keep_ends_at_once() {
    let folder = Folder::new();
    let process = started(&folder, "config generate weak --lattice 16.16.16.64 --seed 1 --output weak.nersc");
    std::thread::sleep(Duration::from_millis(200));
    signal(&process, "-TERM");
    assert_eq!(ended(process), (Some(130), String::new(), String::new()));
    assert!(folder.names().is_empty());
}
