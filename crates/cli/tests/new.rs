//! `lanefield new`: a crate that builds, whose kernel passes its tests.

use std::path::Path;
use std::process::Command;

use super::{Folder, assert_contains, text};

/// Cargo in the new crate. What is built of Lanefield is shared with the tests of this repository.
fn cargo(folder: &Folder, arguments: &str) -> std::process::Output {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments.split_whitespace()).current_dir(folder.path("my-kernels"));
    let target = Path::new(assert_cmd::cargo::cargo_bin!("lanefield")).ancestors().nth(2).unwrap();
    command.env("CARGO_TARGET_DIR", target.join("new")).env("CARGO_NET_OFFLINE", "true");
    command.output().unwrap()
}

#[test]
fn a_new_crate_is_understood_by_cargo_and_is_not_made_twice() {
    let folder = Folder::new();
    folder.says("new my-kernels", &["cargo test", "cargo run -- verify", "cargo bench"]);
    // The versions that this repository is built with: without a network there are no others.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    std::fs::copy(lock, folder.path("my-kernels/Cargo.lock")).unwrap();
    // What it depends on is there; packages for other systems are not asked for.
    let succeeds = |arguments| {
        let output = cargo(&folder, arguments);
        assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_contains(&succeeds("tree --quiet --edges normal,dev"), &["lanefield v", "lanefield-cli v"]);
    let targets = succeeds("metadata --format-version 1 --no-deps --quiet");
    for file in ["src/lib.rs", "src/main.rs", "tests/twins.rs", "benches/kernels.rs"] {
        assert!(targets.contains(&format!("my-kernels/{file}")), "{file}");
    }
    let again = folder.careful_command("new my-kernels").output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert_contains(&text(&again.stderr), &["is there already", "--force"]);
    // With --force, as `succeeds` has it.
    folder.succeeds("new my-kernels");
}

#[test]
fn names_that_are_none_are_refused() {
    let folder = Folder::new();
    for name in ["My-Kernels", "3d", "lanefield", "a b"] {
        let output = folder.command("").args(["new", name]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert_contains(&text(&output.stderr), &[name, "expected lower-case letters"]);
    }
    folder.misuses("new mine --source .", &["--source . has no sources of Lanefield"]);
}
