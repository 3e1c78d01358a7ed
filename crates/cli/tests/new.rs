//! `lanefield new`: a crate that builds, whose kernel passes its tests.

use std::path::Path;
use std::process::Command;

use super::{Folder, assert_contains, text};

/// Cargo in the new crate. Packages of others that this repository builds in the same way are not built again.
fn cargo(folder: &Path, arguments: &str) -> std::process::Output {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments.split_whitespace()).current_dir(folder);
    let target = Path::new(assert_cmd::cargo::cargo_bin!("lanefield")).ancestors().nth(2).unwrap();
    command.env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true").env_remove("RUSTC_WRAPPER");
    // The jobserver of a `make` around the test, which rustdoc warns that it cannot reach.
    for flags in ["CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS"] {
        command.env_remove(flags);
    }
    command.env_remove("LANEFIELD_DEVICE").env("LANEFIELD_TUNING", "off");
    command.output().unwrap()
}

/// What cargo prints, which must succeed.
fn succeeds(folder: &Path, arguments: &str) -> String {
    let output = cargo(folder, arguments);
    assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_new_crate_is_understood_by_cargo_and_is_not_made_twice() {
    let folder = Folder::new();
    folder.says("new my-kernels", &["cargo test", "cargo run -- verify", "cargo bench"]);
    // The lock has what the crate depends on, in the versions of this repository, and no more: cargo changes nothing.
    let tree = cargo(&folder.path("my-kernels"), "tree --quiet --locked --edges normal,dev");
    assert!(tree.status.success() && !text(&tree.stderr).contains("warning"), "{}", text(&tree.stderr));
    assert_contains(&text(&tree.stdout), &["lanefield v", "lanefield-cli v"]);
    let targets = succeeds(&folder.path("my-kernels"), "metadata --format-version 1 --no-deps --quiet");
    for file in ["src/lib.rs", "src/main.rs", "tests/twins.rs", "benches/kernels.rs"] {
        assert!(targets.contains(&format!("my-kernels/{file}")), "{file}");
    }
    let again = folder.careful_command("new my-kernels").output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert_contains(&text(&again.stderr), &["already exists", "--force"]);
    // With --force, as `succeeds` has it.
    folder.succeeds("new my-kernels");
    // What is in a folder stays there alone.
    std::fs::create_dir(folder.path("notes")).unwrap();
    folder.write("notes/text", b"");
    folder.write("a-file", b"");
    for (name, reason) in [("notes", "already exists, and is not empty"), ("a-file", "is not a folder")] {
        let output = folder.careful_command(&format!("new {name}")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert_contains(&text(&output.stderr), &[reason]);
    }
    assert_eq!(std::fs::read_dir(folder.path("notes")).unwrap().count(), 1);
}

/// The lines of a section of a manifest.
fn section<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let lines = manifest.lines().skip_while(|line| *line != format!("[{name}]")).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| line.contains(" = ")).collect()
}

#[test]
fn a_new_crate_is_built_with_the_settings_of_lanefield() {
    let ours = include_str!("../../../Cargo.toml");
    let theirs = include_str!("../src/new/Cargo.toml.txt");
    for profile in ["dev", "release"] {
        assert_eq!(section(theirs, &format!("profile.{profile}")), section(ours, &format!("profile.{profile}")));
        let packages = format!("profile.{profile}.package");
        let (ours, theirs) = (section(ours, &packages), section(theirs, &packages));
        let is_third_party = |line: &&&str| !line.starts_with("lanefield");
        for line in theirs.iter().filter(is_third_party) {
            assert!(ours.contains(line), "{profile}: {line}");
        }
        // Those that such a crate does not depend on apart.
        let missing: Vec<_> = ours.iter().filter(is_third_party).filter(|line| !theirs.contains(line)).collect();
        assert!(missing.iter().all(|line| line.starts_with("num-bigint")), "{profile}: {missing:?}");
    }
}

#[test]
#[ignore = "test-all: builds a crate"]
fn every_tool_of_a_new_crate_runs_in_the_profile_of_its_user() {
    // In one place: cargo has built what it depends on when the test runs again.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("my-kernels");
    Folder::new().succeeds(&format!("new {}", folder.display()));
    let of_device = crate::opencl().unwrap_or_default();
    for arguments in ["build --all-targets --locked", "test --locked"] {
        let output = cargo(&folder, arguments);
        assert!(output.status.success() && !text(&output.stderr).contains("warning: "), "{}", text(&output.stderr));
    }
    succeeds(&folder, "bench --profile dev --locked -- --lattice 4.4.4.4 --samples 1 --device cpu");
    let lattice = "--lattice 4.4.4.4";
    let kernel = "--kernel covariant_sum";
    for tool in [
        "--help-all".to_owned(),
        "--version".to_owned(),
        "help tune".to_owned(),
        "devices".to_owned(),
        "verify --list".to_owned(),
        "verify --smoke --jobs 1".to_owned(),
        "verify --device cpu --cases 1 --kernel covariant_sum".to_owned(),
        format!("bench {lattice} --samples 1 --device cpu"),
        format!("access {kernel} {lattice}"),
        format!("estimate {kernel} {lattice} --machine h200"),
        format!("estimate {kernel} {lattice} --device cpu"),
        format!("emit {kernel} --language c"),
        format!("emit {kernel} --language opencl"),
        format!("run {kernel} --describe"),
        "golden export golden --lattice 2.2.2.4 --precision f64".to_owned(),
        "peak --quick --bytes 64KiB --parts streams --device cpu".to_owned(),
        "occupancy --arch sm_90 --registers 90 --group 128".to_owned(),
        format!("tune {lattice} --budget 5 {of_device}"),
        format!("doctor {kernel} {lattice} {of_device}"),
        format!("capture {kernel} {lattice} --output captured {of_device}"),
    ] {
        let needs_device = ["tune", "doctor", "capture"].iter().any(|name| tool.starts_with(name));
        for made in ["golden", "captured"] {
            let _ = std::fs::remove_dir_all(folder.join(made));
        }
        if !needs_device || !of_device.is_empty() {
            let printed = succeeds(&folder, &format!("run --quiet --locked -- {tool}"));
            assert!(!printed.contains("lanefield verify"), "{tool}: {printed}");
        }
    }
}

#[test]
fn names_that_are_none_are_refused() {
    let folder = Folder::new();
    let long = "a".repeat(65);
    let letters = ["My-Kernels", "3d", "a b", "käse", "_a", "-a", ".hidden", "a.b", long.as_str()];
    let reserved = [
        ("match", "a keyword of Rust"),
        ("self", "a keyword of Rust"),
        ("crate", "a keyword of Rust"),
        ("async", "a keyword of Rust"),
        ("gen", "a keyword of Rust"),
        ("try", "a keyword of Rust"),
        ("yield", "a keyword of Rust"),
        ("std", "a library of Rust"),
        ("core", "a library of Rust"),
        ("test", "a library of Rust"),
        ("proc-macro", "a library of Rust"),
        ("f64", "a type of Rust"),
        ("str", "a type of Rust"),
        ("lanefield", "a package of Lanefield"),
        ("lanefield-cli", "a package of Lanefield"),
        ("lanefield_reference", "a package of Lanefield"),
        ("deps", "a folder in which cargo builds"),
        ("build", "a folder in which cargo builds"),
        ("nul", "a device of Windows"),
        ("com1", "a device of Windows"),
        ("covariant-sum", "the name of the kernel in the new crate"),
        ("covariant_sum", "the name of the kernel in the new crate"),
        (".", "does not end in the name of a crate"),
        ("..", "does not end in the name of a crate"),
    ];
    let letters = letters.map(|name| (name, "lower-case letters, digits, - and _"));
    for (name, reason) in letters.into_iter().chain(reserved) {
        let output = folder.command("").args(["new", "--", name]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert_contains(&text(&output.stderr), &[name, reason]);
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    folder.misuses("new mine --source .", &["--source . has no sources of Lanefield"]);
}
