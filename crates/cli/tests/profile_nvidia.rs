//! `scripts/profile_nvidia.py`, as far as it needs no GPU: its own tests, and that it takes what `lanefield capture` writes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{Folder, assert_contains, opencl, text};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name)
}

/// Runs Python, which every machine has that tests this; `None`, with a line that says so, where there is none.
fn python(arguments: &[&str], folder: &Folder) -> Option<Output> {
    let output = Command::new("python3").arg("-B").args(arguments).current_dir(folder.path("")).output();
    match output {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "there is no python3");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_tests_of_the_script_pass() {
    let Some(output) = python(&[script("test_profile_nvidia.py").to_str().unwrap()], &Folder::new()) else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_contains(&text(&output.stderr), &["OK"]);
}

#[test]
fn a_captured_launch_is_whole_to_the_script_until_a_byte_of_it_is_changed() {
    let Some(device) = opencl() else { return };
    let folder = Folder::new();
    folder.succeeds(&format!("capture --kernel norm2 --lattice 4.4.4.4 --output norm2 {device}"));
    let path = script("profile_nvidia.py");
    let check = || python(&[path.to_str().unwrap(), "norm2", "--check"], &folder);
    let Some(output) = check() else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_contains(&text(&output.stdout), &["norm2, launch 1 of", "lattice: 4.4.4.4", "the capture is whole"]);
    let mut bytes = folder.read("norm2/buffer-00.before");
    bytes[17] ^= 1;
    folder.write("norm2/buffer-00.before", &bytes);
    let output = check().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&text(&output.stderr), &["buffer-00.before has another SHA-256 than its manifest says"]);
}
