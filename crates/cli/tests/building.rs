//! Programs are built by worker processes before anything is timed, once, and announced.

use super::{Folder, assert_contains, opencl, text};

/// What a command said on standard error, with caches of its own.
fn said(folder: &Folder, arguments: &str) -> String {
    let pocl = folder.path("pocl");
    std::fs::create_dir_all(&pocl).unwrap();
    let mut command = folder.command(arguments);
    let output = command.env("LANEFIELD_CACHE_DIR", folder.path("cache")).env("POCL_CACHE_DIR", pocl).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
#[ignore = "test-all: builds without a cache"]
fn what_is_timed_is_built_by_worker_processes_once() {
    let Some(device) = opencl() else { return };
    let folder = Folder::new();
    let bench = format!(
        "bench --kernel hop_dagger,norm2 --precision f32 --reconstruct 18 --lattice 4.4.4.4 --samples 1 {device}"
    );
    let first = said(&folder, &format!("{bench} --jobs 2"));
    assert_contains(&first, &["programs to build, 0 cached, in 2 worker processes", "building took"]);
    // All that was launched had been planned.
    let second = said(&folder, &bench);
    assert!(!second.contains("to build"), "{second}");
    // Without worker processes, the rest is built.
    let more = said(&folder, &format!("{} --jobs 1", bench.replace("norm2", "norm2,axpy")));
    assert_contains(&more, &["1 program to build, "]);
    assert!(!more.contains("worker processes"), "{more}");
}
