//! Ctrl-C, SIGTERM and SIGHUP: what was done is kept and shown, nothing else is left, and the exit code is 130.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Folder, assert_contains, opencl, text};

fn wait_while(mut goes_on: impl FnMut() -> bool) {
    while goes_on() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The program, running, after it has prepared for signals.
fn started(folder: &Folder, arguments: &str) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lanefield"));
    command.current_dir(folder.path("")).args(arguments.split_whitespace());
    command.env("LANEFIELD_TUNING", folder.path("tuning")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    wait_while(|| !waits_for_sigterm(&process) && process.try_wait().unwrap().is_none());
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

/// What a command says that a signal ends after a wait.
#[track_caller]
fn interrupted(folder: &Folder, arguments: &str, name: &str, wait: impl FnOnce(&Child)) -> (String, String) {
    let process = started(folder, arguments);
    wait(&process);
    signal(&process, name);
    let (code, out, err) = ended(process);
    assert_eq!(code, Some(130), "lanefield {arguments}, {name}: {out} {err}");
    (out, err)
}

/// Interrupts a command, later and later, until what it says is what is wanted.
#[track_caller]
fn interrupted_late<T>(folder: &Folder, arguments: &str, name: &str, wanted: impl Fn(&str, &str) -> Option<T>) -> T {
    let attempt = |attempt: u64| {
        let (out, err) = interrupted(folder, arguments, name, |_| pause(50 << attempt));
        wanted(&out, &err)
    };
    (0..12).find_map(attempt).unwrap_or_else(|| panic!("lanefield {arguments}: nothing was kept"))
}

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
}

/// A solve with so small a tolerance that it goes on for long.
const SOLVE: &str = "solve --config gauge.nersc --source gauss:4 --mass 0.1 --device cpu --tolerance 1e-100";

#[test]
#[ignore = "test-all: solves of a minute"]
fn a_solve_that_a_signal_ends_keeps_all_that_it_has_and_goes_on_to_the_same_history() {
    let folder = Folder::with_gauge_on("8.8.8.8");
    folder.fails(1, &format!("{SOLVE} --history whole.csv"));
    let kept = "--checkpoint state --checkpoint-every 1000000";
    for name in ["-INT", "-TERM", "-HUP"] {
        let run = format!("{SOLVE} {kept} --history part.csv --record record --record-every 1 --trace trace.json");
        let (out, err) = interrupted(&folder, &run, name, |_| wait_while(|| lines(&folder.path("record")) < 40));
        assert_contains(&out, &["not converged"]);
        let but = "continues from state (without --record, and with another name for --history)";
        assert_contains(&err, &["interrupted: a signal ended the solve after iteration ", but]);
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
    let folder = Folder::with_gauge_on("8.8.8.8");
    let solve = format!("{SOLVE} --batch 2");
    folder.fails(1, &format!("{solve} --history whole.csv"));
    let run = format!("{solve} --history part.csv --record record --record-every 1");
    interrupted(&folder, &run, "-INT", |_| wait_while(|| lines(&folder.path("record")) < 40));
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
    let folder = Folder::with_gauge_on("8.4.4.8");
    let compute = "propagator --config gauge.nersc --source point:0,0,0,0 --operator wilson --mass 0 --device cpu";
    folder.succeeds(&format!("{compute} --output whole.npy"));
    let run = format!("{compute} --checkpoint state --checkpoint-every 1");
    let part = format!("{run} --output part.npy");
    interrupted(&folder, &part, "-TERM", |_| wait_while(|| !folder.path("state").exists()));
    assert_eq!(folder.names(), ["gauge.nersc", "state", "whole.npy", "whole.npy.json"]);
    assert!(folder.json(&format!("{run} --resume --output p.npy"))["resumed_from"].as_u64().unwrap() > 0);
    assert!(folder.read("p.npy") == folder.read("whole.npy"), "the propagators differ");
}

/// Ends a command by a signal, later and later, until what it prints has all of some parts.
fn partly(folder: &Folder, arguments: &str, parts: &[&str]) {
    interrupted_late(folder, arguments, "-INT", |out, _| parts.iter().all(|part| out.contains(part)).then_some(()));
}

#[test]
#[ignore = "test-all: measures until it is stopped"]
fn measurements_that_a_signal_ends_print_what_was_measured() {
    let folder = Folder::new();
    partly(&folder, "bench --kernel all --lattice 4.4.4.4 --lanes 64 --samples 2000 --device cpu", &["lanes 64"]);
    partly(&folder, "bench reduce --lattice 4.4.4.4 --samples 500 --device cpu", &["read bandwidth", "tree"]);
    partly(&folder, "peak --device cpu", &["read"]);
    let Some(device) = opencl() else { return };
    let file = folder.path("tuning");
    // The name of the file is printed once something is kept in it.
    partly(
        &folder,
        &format!("tune --lattice 4.4.4.4 --kernel hop --precision f32 --budget 100000 {device}"),
        &[file.to_str().unwrap()],
    );
    assert!(text(&folder.read("tuning")).contains("[[kernel]]"));
    assert_eq!(folder.names(), ["tuning", "tuning.lock"]);
}

#[test]
fn a_signal_before_there_is_anything_to_keep_ends_at_once() {
    let folder = Folder::new();
    let generate = "config generate weak --lattice 16.16.16.64 --seed 1 --output weak.nersc";
    let said = "interrupted: a signal ended the command, and nothing new was written: run it again\n";
    assert_eq!(interrupted(&folder, generate, "-TERM", |_| pause(200)), (String::new(), said.to_owned()));
    assert!(folder.names().is_empty());
}

#[test]
fn a_flow_that_a_signal_ends_keeps_what_it_measured_and_the_links_reached() {
    let folder = Folder::with_gauge();
    partly(&folder, "flow --config gauge.nersc --time 10000 --device cpu --output f.nersc --csv f.csv", &["t²E"]);
    assert_eq!(folder.names(), ["f.csv", "f.stopped.nersc", "gauge.nersc"]);
    folder.succeeds("flow --config f.stopped.nersc --time 0.02 --device cpu --output f.nersc");
}

#[test]
fn a_gauge_fixing_that_a_signal_ends_continues_from_what_it_wrote() {
    let folder = Folder::with_gauge();
    let fix =
        "gaugefix --config gauge.nersc --tolerance 1e-300 --max-iterations 100000000 --device cpu --output f.nersc";
    partly(&folder, fix, &["f.stopped.nersc"]);
    assert_eq!(folder.names(), ["f.stopped.nersc", "gauge.nersc"]);
    let random = stopped(&folder, &format!("{} --start random --seed 1", fix.replace("f.nersc", "r.nersc")));
    assert_contains(&random, &["--config r.stopped.nersc continues (without --start and --seed)"]);
    folder.succeeds("gaugefix --config f.stopped.nersc --tolerance 1e-10 --device cpu --output f.nersc");
}

#[test]
fn a_signal_of_the_batch_system_writes_a_checkpoint_and_the_run_continues() {
    let folder = Folder::with_gauge_on("8.8.8.8");
    let run = format!("{SOLVE} --checkpoint state --checkpoint-every 1000000 --record record --record-every 1");
    for name in ["-USR1", "-USR2"] {
        let (_, err) = interrupted(&folder, &run, "-TERM", |process| {
            wait_while(|| lines(&folder.path("record")) <= 20);
            signal(process, name);
            wait_while(|| !folder.path("state").exists());
            folder.refuses(&run, &["state is being written by process "]);
        });
        let continues = "the same command with --resume continues from state (without --record)";
        assert_contains(&err, &["checkpoint of iteration ", continues]);
        ["state", "record"].iter().for_each(|file| std::fs::remove_file(folder.path(file)).unwrap());
    }
    // Where there is no checkpoint, it is no reason to end.
    let run = format!("{SOLVE} --record record --record-every 1");
    let (_, err) = interrupted(&folder, &run, "-TERM", |process| {
        wait_while(|| lines(&folder.path("record")) <= 5);
        signal(process, "-USR1");
    });
    assert_contains(&err, &["there is none to write here: the run continues", "it has no --checkpoint"]);
}

#[test]
fn a_search_for_eigenvectors_that_a_signal_ends_goes_on_to_the_same_file() {
    let folder = Folder::with_gauge_on("8.4.4.8");
    let eigen = "eigen --config gauge.nersc --mass 0.1 --number 8 --device cpu";
    let search = format!("{eigen} --tolerance 1e-9");
    folder.succeeds(&format!("{search} --output whole.eigen"));
    let run = format!("{search} --checkpoint state --checkpoint-every 1");
    for name in ["-INT", "-USR1"] {
        let (_, err) = interrupted(&folder, &format!("{run} --output part.eigen"), "-TERM", |process| {
            wait_while(|| !folder.path("state").exists());
            signal(process, name);
        });
        assert_contains(&err, &["after iteration ", "the same command with --resume continues from state"]);
        assert_eq!(folder.names(), ["gauge.nersc", "state", "whole.eigen"]);
        // The state is one of this search alone, and no eigenvectors.
        assert_contains(&folder.fails(2, &format!("{run} --seed 2 --resume")), &["its seed is 1"]);
        folder.fails(2, "solve --config gauge.nersc --mass 0.1 --source gauss:1 --deflate state");
        assert!(folder.json(&format!("{run} --resume --output part.eigen"))["resumed_from"].as_u64().unwrap() > 0);
        assert!(folder.read("part.eigen") == folder.read("whole.eigen"), "the eigenvectors differ");
        ["state", "part.eigen"].iter().for_each(|file| std::fs::remove_file(folder.path(file)).unwrap());
    }
    // Without --checkpoint, what was done is next to the output.
    let endless = format!("{eigen} --tolerance 1e-15");
    let err = stopped(&folder, &format!("{endless} --max-restarts 1000000 --output low.eigen"));
    assert_contains(&err, &["--checkpoint low.stopped.eigen --resume continues"]);
    let more = "--checkpoint low.stopped.eigen --resume --max-restarts 1";
    folder.fails(1, &format!("{endless} {more}"));
}

/// Ends a command by a signal, later and later, until something of it is written next to its output; what it says then.
fn stopped(folder: &Folder, arguments: &str) -> String {
    interrupted_late(folder, arguments, "-TERM", |_, err| err.contains(".stopped.").then(|| err.to_owned()))
}

/// What follows a word in a message.
fn after<'a>(message: &'a str, word: &str) -> &'a str {
    let rest = message.split_once(word).unwrap_or_else(|| panic!("no '{word}' in {message}")).1;
    rest.split_whitespace().next().unwrap()
}

#[test]
fn smearing_that_a_signal_ends_continues_to_the_same_links() {
    for (kind, format) in [("stout:0.1", ""), ("spatial-ape:0.4", ",max-re-tr")] {
        let folder = Folder::with_gauge();
        let smear = |steps: &str| format!("smear --smear {kind},{steps}{format} --device cpu");
        let err = stopped(&folder, &format!("{} --config gauge.nersc --output s.npy", smear("1000000000")));
        let done: usize = after(&err, "the smearing after ").parse().unwrap();
        let left = smear(&(1_000_000_000 - done).to_string());
        assert_contains(&err, &["--config s.stopped.npy", after(&left, "--smear ")]);
        folder.succeeds(&format!("{} --config s.stopped.npy --output two.npy", smear("3")));
        folder.succeeds(&format!("{} --config gauge.nersc --output one.npy", smear(&(done + 3).to_string())));
        assert!(folder.read("one.npy") == folder.read("two.npy"), "{kind}: the links differ");
    }
}

#[test]
fn a_flow_that_a_signal_ends_continues_to_the_same_links() {
    for steps in ["", "--adaptive 1e-7 --action symanzik"] {
        let folder = Folder::with_gauge();
        let flow = format!("flow {steps} --step 0.013 --every 1000000 --device cpu");
        let err = stopped(&folder, &format!("{flow} --config gauge.nersc --time 10000 --output f.npy --csv f.csv"));
        assert_contains(&err, &[" continues (with another name for --csv)"]);
        let begin = after(&err, "--begin ");
        let step = if err.contains("--step ") { after(&err, "--step ") } else { "0.013" };
        let until = begin.parse::<f64>().unwrap() + 0.1;
        let from_there = flow.replace("--step 0.013", &format!("--step {step}"));
        let continued = format!("{from_there} --config f.stopped.npy --begin {begin} --time {until} --output two.npy");
        let two = folder.json(&continued);
        let one = folder.json(&format!("{flow} --config gauge.nersc --time {until} --output one.npy"));
        assert!(folder.read("one.npy") == folder.read("two.npy"), "{steps}: the links differ");
        let last = |document: &serde_json::Value| document["times"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last(&one), last(&two));
        let refused = folder.fails(2, "flow --config gauge.nersc --begin 3 --time 2 --device cpu");
        assert_contains(&refused, &["--begin 3 lies behind the end of the flow, --time 2"]);
    }
}

#[test]
fn a_measurement_of_a_spectrum_ends_within_a_solve() {
    let folder = Folder::with_gauge_on("8.8.8.8");
    let measure = "spectrum measure --config gauge.nersc --operator wilson --mass 0.1 --source point:0,0,0,0 --tolerance 1e-100 \
                   --max-iterations 100000000 --device cpu --output s.json";
    let (_, err) = interrupted(&folder, measure, "-TERM", |_| pause(500));
    assert_contains(&err, &["interrupted: a signal ended the ", "nothing ", " written: run it again"]);
    assert_eq!(folder.names(), ["gauge.nersc"]);
}

#[test]
fn a_measurement_of_a_spectrum_keeps_the_sources_that_are_done() {
    let folder = Folder::new();
    for seed in 1..3 {
        folder.succeeds(&format!(
            "config generate weak --lattice 4.4.4.8 --seed {seed} --spread 0.3 --output {seed}.nersc"
        ));
    }
    let measure = "spectrum measure 1.nersc 2.nersc --operator wilson --mass 0.3 --device cpu \
                   --source point:0,0,0,0 point:2,0,0,1 point:1,1,1,1 point:0,0,1,2";
    folder.succeeds(&format!("{measure} --output whole.json"));
    let whole = std::fs::read(folder.path("whole.json")).unwrap();
    let run = format!("{measure} --output s.json --resume");
    let mut parts = 0;
    for attempt in 0.. {
        let before = std::fs::read(folder.path("s.json")).ok();
        let process = started(&folder, &run);
        // Until the next source is done.
        wait_while(|| std::fs::read(folder.path("s.json")).ok() == before && process_runs(&process));
        signal(&process, "-TERM");
        let (code, _, err) = ended(process);
        assert!(attempt < 60, "no signal came between two sources, or it does not get on");
        match (code, parts) {
            (Some(0), 0) => {
                std::fs::remove_file(folder.path("s.json")).unwrap();
                continue;
            }
            (Some(0), _) => break,
            _ => {}
        }
        assert_eq!(code, Some(130), "{err}");
        // The signal may come when all is measured and the table is not printed yet.
        if std::fs::read(folder.path("s.json")).ok().as_ref() != Some(&whole) {
            assert_contains(&err, &["all in s.json: the same command with --resume continues"]);
        }
        parts += usize::from(err.contains(" of 4 sources of the next one"));
    }
    assert!(std::fs::read(folder.path("s.json")).ok() == Some(whole), "the correlators differ");
}

/// Whether a process has not ended yet.
fn process_runs(process: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}

#[test]
fn a_potential_that_a_signal_ends_is_that_of_the_configurations_before() {
    let folder = Folder::new();
    folder.succeeds(
        "config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 --sweeps 12 --every 1 --overrelax 0 --device cpu --output all",
    );
    let smear = "--smear spatial-ape:0.5,100 --loops 2,4 --device cpu";
    let done = (0..12).find_map(|attempt| {
        let potential = format!("potential --config all {smear} --bin 5 --csv {attempt}.csv");
        let (out, err) = interrupted(&folder, &potential, "-TERM", |_| pause(50 << attempt));
        err.contains("configurations, whose potential follows")
            .then(|| (attempt, after(&err, "ended it after ").to_owned(), out, err))
    });
    let (attempt, done, out, err) = done.unwrap();
    assert_contains(&out, &["V(r)"]);
    let done: usize = done.parse().unwrap();
    // Too few for two bins.
    assert_eq!(err.contains("--bin 5"), done < 10, "{err}");
    let bin = if done < 10 { "" } else { "--bin 5" };
    let files: Vec<String> = (1..=done).map(|sweep| format!("all/{sweep:06}.nersc")).collect();
    folder.succeeds(&format!("potential --config {} {smear} {bin} --csv these.csv", files.join(" ")));
    assert!(folder.read("these.csv") == folder.read(&format!("{attempt}.csv")), "the potentials differ");
}

#[test]
fn what_was_written_before_a_signal_is_named() {
    let folder = Folder::new();
    folder.succeeds("config generate hot --lattice 8.8.8.16 --seed 1 --output hot.nersc");
    for pause in 0.. {
        let process = started(&folder, "config project hot.nersc near.npy");
        std::thread::sleep(Duration::from_millis(20 * pause));
        signal(&process, "-TERM");
        let (code, _, err) = ended(process);
        let names = folder.names();
        match (code, names.len()) {
            (Some(0), _) => break,
            // A signal that comes while a file gets its name.
            _ if err.contains("while it wrote its output, which is whole if it is there") => {}
            (_, 1) => assert_contains(&err, &["nothing new was written: run it again"]),
            (_, 2) => assert_contains(&err, &["after it wrote near.npy\n"]),
            _ => assert_contains(&err, &["after it wrote near.npy and near.npy.json\n"]),
        }
        assert_eq!(code, Some(130), "{err}");
        if names.len() > 1 {
            folder.succeeds("config info near.npy");
        }
        names[1..].iter().for_each(|name| std::fs::remove_file(folder.path(name)).unwrap());
    }
}

#[test]
fn a_pipe_without_a_reader_does_not_keep_a_command_that_a_signal_ends() {
    let folder = Folder::with_gauge();
    assert!(Command::new("mkfifo").arg(folder.path("x.npy")).status().unwrap().success());
    let solve = "solve --config gauge.nersc --source gauss:4 --mass 0.5 --device cpu --history h.csv --output x.npy";
    let (_, err) = interrupted(&folder, solve, "-TERM", |_| wait_while(|| !folder.path("h.csv").exists()));
    assert_contains(&err, &["cannot write x.npy: nobody reads the pipe, and a signal ended the wait"]);
    // A reader that comes late has all.
    let process = started(&folder, &format!("{solve} --force"));
    pause(300);
    let piped = folder.read("x.npy");
    assert_eq!(ended(process).0, Some(0));
    folder.succeeds(&solve.replace("x.npy", "y.npy").replace("h.csv", "i.csv"));
    assert!(piped == folder.read("y.npy"), "the solutions differ");
}

#[test]
fn a_state_that_could_not_be_written_is_not_said_to_continue() {
    let folder = Folder::with_gauge();
    for attempt in 0..12 {
        std::fs::create_dir(folder.path("there")).unwrap();
        let eigen =
            "eigen --config gauge.nersc --mass 0.1 --number 4 --tolerance 1e-15 --max-restarts 1000000 --device cpu";
        let process = started(&folder, &format!("{eigen} --output there/low.eigen"));
        std::thread::sleep(Duration::from_millis(50 << attempt));
        std::fs::remove_dir(folder.path("there")).unwrap();
        signal(&process, "-TERM");
        let (code, _, err) = ended(process);
        // Before its outputs were tried, the program finds that the directory is gone.
        if err.contains("ended the search after iteration ") {
            assert_eq!(code, Some(130), "{err}");
            let said = "it cannot be continued, since there/low.stopped.eigen could not be written";
            return assert_contains(&err, &[said, "the directory there does not exist"]);
        }
    }
    panic!("no iteration was done");
}

#[test]
fn links_that_an_observation_does_not_keep_are_kept_by_the_flow() {
    let folder = Folder::with_gauge();
    let observe = "observe --config gauge.nersc --flow 10000,0.001 --device cpu";
    let (out, err) = interrupted(&folder, observe, "-TERM", |_| pause(500));
    assert_eq!(out, "", "{err}");
    assert_contains(&err, &["nothing new was written", "lanefield flow --output FILE keeps the links"]);
}
