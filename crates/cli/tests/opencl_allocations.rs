//! Buffers that an OpenCL device does not give: another one in the host's memory, and where that has no room either, an error each time that names the buffer,
//! none left, and what was done until then can be used. The library that fails is `opencl_allocations.c`, which stands before the real one.

use std::path::PathBuf;
use std::process::{Command, Output};

use super::{Folder, opencl, text};

const SOLVE: &str =
    "solve --config gauge.nersc --source gauss:4 --mass 0.5 --precision f32 --checkpoint state --checkpoint-every 1";

/// Builds the library; `None` where there is no C compiler, or no OpenCL library of that name.
fn failing_library(folder: &Folder) -> Option<PathBuf> {
    let (source, library) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/opencl_allocations.c"), folder.path("failing.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library);
    compiler.args([source, "-Wl,--no-as-needed", "-l:libOpenCL.so.1", "-ldl"]);
    compiler.output().ok()?.status.success().then_some(library)
}

#[test]
#[ignore = "test-all: starts the program for each buffer"]
#[cfg(target_os = "linux")]
fn each_buffer_that_cannot_be_had_is_an_error_that_names_it_and_none_is_left() {
    // A buffer that the device refuses once is had from what others gave back, or from the host, with the same bits; without any from there on, it is an error.
    let Some(device) = opencl() else { return };
    let folder = Folder::with_gauge();
    let Some(library) = failing_library(&folder) else { return };
    let solve = |what: &str, fail: Option<usize>, calls: Option<usize>| -> (Output, usize, usize) {
        let mut command = folder.command(&format!("{SOLVE} {device} {what}"));
        command.env("OPENCL_DYLIB_PATH", &library).env("BUFFER_LOG", folder.path("log"));
        if let Some(number) = fail {
            command.env("FAIL_BUFFER", number.to_string());
        }
        if let Some(calls) = calls {
            command.env("FAIL_CALLS", calls.to_string());
        }
        let output = command.output().unwrap();
        let log = text(&folder.read("log"));
        let (made, left) = log.trim().split_once(' ').unwrap();
        (output, made.parse().unwrap(), left.parse().unwrap())
    };
    // The first run of a driver probes it, with buffers of its own.
    solve("--output first.npy", None, None);
    let (output, all, left) = solve("--history whole.csv --output whole.npy", None, None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(all > 30, "only {all} buffers were seen");
    assert_eq!(left, 0);
    let (mut refused, mut unchecked, mut resumed) = (0, 0, 0);
    // Most at the beginning, where each is another.
    let numbers =
        std::iter::successors(Some(0), |number| Some(number + 1 + number / 12)).take_while(|&number| number < all);
    for number in numbers {
        for file in ["state", "x.npy", "h.csv"] {
            let _ = std::fs::remove_file(folder.path(file));
        }
        let (output, _, left) = solve("--history h.csv --output x.npy", Some(number), Some(1));
        assert!(output.status.success() && left == 0, "buffer {number}: {}", text(&output.stderr));
        assert!(folder.read("h.csv") == folder.read("whole.csv"), "buffer {number}");
        assert!(folder.read("x.npy") == folder.read("whole.npy"), "buffer {number}");
        for file in ["state", "x.npy", "h.csv"] {
            let _ = std::fs::remove_file(folder.path(file));
        }
        let (output, _, left) = solve("--history h.csv --output x.npy", Some(number), None);
        let error = text(&output.stderr);
        let said = error.lines().last().unwrap_or_default();
        assert_eq!(left, 0, "buffer {number}: {said}");
        let names = said.contains("no room for ") && said.contains(" bytes of ");
        match output.status.code() {
            // Before there is a solution.
            Some(2) => refused += 1,
            // Only its check could not be made.
            Some(1) => {
                unchecked += 1;
                assert!(folder.read("x.npy") == folder.read("whole.npy"), "buffer {number}");
                assert!(folder.read("h.csv") == folder.read("whole.csv"), "buffer {number}");
            }
            code => panic!("buffer {number}: exit code {code:?}: {error}"),
        }
        assert!(said.starts_with("error: ") && names, "buffer {number}: {error}");
        if folder.path("state").exists() {
            resumed += 1;
            let (output, _, left) = solve("--resume --history h.csv --output x.npy", None, None);
            assert!(output.status.success() && left == 0, "buffer {number}: {}", text(&output.stderr));
            assert!(folder.read("h.csv") == folder.read("whole.csv"), "buffer {number}");
        }
    }
    assert!(
        refused > 10 && unchecked > 2 && resumed > 2,
        "{refused} refused, {unchecked} unchecked, {resumed} resumed"
    );
}
