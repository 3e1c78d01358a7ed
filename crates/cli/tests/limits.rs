//! Limits of the system are errors of one line that name the limit, and what files and drivers say commands no terminal.

use std::process::Command;

use super::{Folder, assert_contains, text};

#[test]
#[cfg(unix)]
fn a_file_beyond_the_limit_is_an_error_that_names_it_and_leaves_nothing() {
    let folder = Folder::new();
    let generate = "config generate unit --lattice 4.4.4.4 --output unit.nersc";
    let output = folder.limited("ulimit -f 2", generate);
    let error = text(&output.stderr);
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    assert_contains(&error, &["cannot write unit.nersc: File too large", "the limit is 1024 bytes: raise ulimit -f"]);
    assert!(folder.names().is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn too_many_open_files_are_an_error_that_names_the_limit() {
    let folder = Folder::with_gauge();
    // Beside the three standard files there is room for the record alone.
    let solve = "solve --config gauge.nersc --source gauss:4 --mass 0.5 --device cpu --record record --output x.npy";
    let output = folder.limited("ulimit -n 4", solve);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_contains(&error, &["x.npy", "Too many open files", "the limit is 4 at a time: raise ulimit -n"]);
    assert_eq!(folder.names(), ["gauge.nersc", "record"]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_one_file_cannot_hold_is_said_once_and_the_other_files_are_written() {
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:4 --mass 0.5 --device cpu";
    let flow = "flow --config gauge.nersc --time 0.04 --device cpu";
    let eigen = "eigen --config gauge.nersc --mass 0.1 --number 2 --tolerance 1e-6 --device cpu";
    for (line, printed) in [
        (format!("{solve} --history /dev/full --output x.npy"), "true residual"),
        (format!("{solve} --max-iterations 2 --history /dev/full"), "not converged"),
        (format!("{flow} --csv /dev/full --plot f.svg --output f.npy"), "t²E"),
        (format!("{flow} --plot /dev/full --csv f.csv --output g.npy"), "t²E"),
        (format!("{eigen} --output /dev/full"), "SHA-256"),
        ("emit --kernel hop --language opencl --output /dev/full".to_owned(), ""),
    ] {
        let output = folder.ends(2, &line);
        let error = text(&output.stderr);
        assert_eq!(error.matches("/dev/full").count(), 1, "{line}: {error}");
        assert_contains(&error, &["error: cannot write /dev/full: No space left on device"]);
        assert_contains(&text(&output.stdout), &[printed]);
    }
    let names = ["f.csv", "f.npy", "f.npy.json", "f.svg", "g.npy", "g.npy.json", "gauge.nersc", "x.npy", "x.npy.json"];
    assert_eq!(folder.names(), names);
}

/// The system's limit of processes is one for a user, and none for root.
#[test]
#[cfg(target_os = "linux")]
fn where_no_threads_can_be_started_files_are_handled_without_and_a_backend_says_so() {
    let folder = Folder::with_gauge();
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let as_user = if is_root { "setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "" };
    let run = |arguments: &str| {
        let program = assert_cmd::cargo::cargo_bin!("lanefield");
        let line = format!("exec {as_user} prlimit --nproc=1:1 '{}' {arguments}", program.display());
        Command::new("sh").args(["-c", &line]).current_dir(folder.path("")).output().unwrap()
    };
    // Nobody else may be that user's, and the user has to reach the files.
    std::fs::set_permissions(folder.path(""), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    if !run("--version").status.success() {
        return;
    }
    let output = run("config info gauge.nersc --json");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert_contains(&error, &["warning: the system starts only 0 of ", "files are handled in 1; raise ulimit -u"]);
    let output = run("solve --config gauge.nersc --source gauss:4 --mass 0.5 --device cpu");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_contains(&error, &["error: ", "failed to start a pool of ", "raise ulimit -u"]);
}

#[test]
fn what_a_file_says_commands_no_terminal() {
    let folder = Folder::with_gauge();
    let file = folder.read("gauge.nersc");
    let name = b"ENSEMBLE_ID = ";
    let at = file.windows(name.len()).position(|window| window == name).unwrap() + name.len();
    let end = at + file[at..].iter().position(|&byte| byte == b'\n').unwrap();
    // Clear the screen, in both forms, and write from the right.
    let evil = "\u{1b}[2J\u{9b}2J\u{202e}";
    folder.write("evil.nersc", &[&file[..at], evil.as_bytes(), &file[end..]].concat());
    for json in ["", " --json"] {
        let output = folder.run(&format!("config info evil.nersc{json}"));
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(all.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{all:?}");
        assert!(!output.status.success() || all.contains("\\u001b[2J\\u009b2J\\u202e"), "{all}");
    }
    let error = folder.fails(2, "config info nowhere\u{1b}[2J.nersc");
    assert_contains(&error, &["nowhere\\u001b[2J.nersc"]);
}

#[test]
fn names_of_files_need_not_be_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::with_gauge();
    let quark = "--config gauge.nersc --operator wilson --mass 0.5 --device cpu";
    type Files = &'static [(&'static str, &'static [u8])];
    let lines: [(String, Files); 7] = [
        ("source gauss:1 --lattice 4.4.4.8".into(), &[("--output", b"s\xff.npy")]),
        (format!("solve {quark}"), &[("--source", b"s\xff.npy"), ("--output", b"x\xff.npy")]),
        (format!("apply {quark}"), &[("--source", b"x\xff.npy"), ("--output", b"y\xff.npy")]),
        (format!("propagator {quark} --source point:0,0,0,0"), &[("--output", b"p\xff.npy")]),
        ("correlator --device cpu".into(), &[("--propagator", b"p\xff.npy"), ("--plot", b"c\xff.svg")]),
        (
            "flow --config gauge.nersc --time 0.02 --device cpu".into(),
            &[("--csv", b"f\xff.csv"), ("--plot", b"f\xff.svg")],
        ),
        (
            "eigen --config gauge.nersc --mass 0.5 --number 1 --tolerance 1e-3 --device cpu".into(),
            &[("--output", b"e\xff.eigen")],
        ),
    ];
    for (line, files) in lines {
        let mut command = folder.command(&line);
        for (flag, name) in files {
            command.arg(flag).arg(OsStr::from_bytes(name));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        for (flag, name) in files {
            assert!(folder.path("").join(OsStr::from_bytes(name)).is_file(), "{line} {flag}");
        }
    }
    let mut ensemble = folder.command("config generate heatbath --beta 5.7 --lattice 2.2.2.4 --seed 1 --device cpu");
    ensemble.args(["--sweeps", "4", "--every", "2", "--output"]).arg(OsStr::from_bytes(b"e\xff"));
    assert!(ensemble.output().unwrap().status.success());
    let mut convert = folder.command("convert");
    convert.args([b"x\xff.npy".as_slice(), b"x\xff.h5"].map(OsStr::from_bytes));
    assert!(convert.output().unwrap().status.success());
}
