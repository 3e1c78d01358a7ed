//! Programs that compute golden data: the reference in plain C, and the port to CUDA as a program of the CPU. What they write is held against ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lanefield::kernel;
use lanefield_ports::golden::{CheckOptions, Checked, check};

use super::golden::{on_cpu, options};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a command; gives what it wrote, and fails with that where it fails.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    said
}

/// The port's files in a folder of their own, where it can be built.
fn port() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let sources = repository().join("examples/ports/cuda");
    for name in ["", "stub", "stub/hip"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        let files = fs::read_dir(sources.join(name)).unwrap().map(|entry| entry.unwrap());
        for file in files.filter(|entry| entry.file_type().unwrap().is_file()) {
            fs::copy(file.path(), folder.path().join(name).join(file.file_name())).unwrap();
        }
    }
    folder
}

/// What `program golden DIR OUT` computes of golden data of some kernels, held against them.
fn checked(program: &Path, kernels: &[&str], extents: [usize; 4]) -> Checked {
    let folder = tempfile::tempdir().unwrap();
    let [golden, results] = ["golden", "results"].map(|name| folder.path().join(name));
    on_cpu(&golden, &options(kernels, extents, 16));
    run(Command::new(program).arg("golden").args([&golden, &results]));
    check(&golden, &results, CheckOptions::default()).unwrap()
}

#[test]
#[ignore = "test-all: compiles a port"]
fn the_port_to_cuda_computes_golden_data_on_a_host() {
    let folder = port();
    run(Command::new("make").arg("port-host").current_dir(folder.path()));
    let checked = checked(
        &folder.path().join("port-host"),
        &["hop", "hop_dagger", "eo_clover", "oe_clover", "norm2"],
        [4, 6, 2, 8],
    );
    assert!(checked.is_same(), "{:?}", checked.first);
    for (name, files) in [("hop", 18), ("hop_dagger", 18), ("eo_clover", 6), ("oe_clover", 6), ("norm2", 6)] {
        let group = checked.groups.iter().find(|group| group.name == name).unwrap();
        assert!(group.compared >= files, "{group:?}");
    }
}

#[test]
#[ignore = "test-all: compiles a port"]
fn the_kernels_of_the_port_compile_for_gfx90a_and_spill_no_register() {
    let folder = port();
    let compiler = "clang++-15";
    if !Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("left out: there is no {compiler}");
        return;
    }
    let said = run(Command::new("make").arg("gfx90a").current_dir(folder.path()));
    let spills: Vec<&str> = said.lines().filter(|line| line.contains("VGPRs Spill:")).collect();
    assert!(spills.len() > 20, "{said}");
    assert!(spills.iter().all(|line| line.contains("VGPRs Spill: 0 ")), "{spills:#?}");
}

#[test]
#[ignore = "test-all: compiles C"]
fn the_reference_in_plain_c_computes_all_golden_data() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("lanefield_reference");
    let sources = repository().join("crates/capi/reference");
    let flags = ["-std=c99", "-O2", "-ffp-contract=off", "-fno-tree-slp-vectorize"];
    let files = ["lanefield_reference.c", "lanefield_reference_golden.c"].map(|name| sources.join(name));
    run(Command::new("cc").args(flags).args(files).arg("-lm").arg("-o").arg(&program));
    run(Command::new(&program).arg("self-test"));
    let kernels = kernel::all().filter(|kernel| kernel.is_launched() && kernel::is_in_plain_c(kernel));
    let kernels: Vec<&str> = kernels.map(|kernel| kernel.name).collect();
    let checked = checked(&program, &kernels, [4, 2, 2, 4]);
    assert!(checked.is_same(), "{:?}", checked.first);
    let missing: Vec<&String> = checked.groups.iter().flat_map(|group| &group.missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(checked.compared() > 20 * kernels.len());
}
