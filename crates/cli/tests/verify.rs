//! `lanefield verify`: what it prints, how it exits, what it does without OpenCL.

use std::process::Output;

use assert_cmd::Command;

use super::common;

fn program() -> Command {
    assert_cmd::cargo::cargo_bin_cmd!("lanefield")
}

/// Runs `lanefield verify`. On OpenCL all tests use the same programs: 64-byte lanes, 8 accelerator threads.
fn verify(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    program().arg("verify").args(arguments).envs(environment.iter().copied()).output().unwrap()
}

const FEW_PROGRAMS: [&str; 6] = ["--lanes", "64", "--accelerator-threads", "8", "--legs", "-t-y-z+t+y+z-x+x"];

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// On the CPU: a device's table has the same rows, and PoCL would build every kernel in every precision for it.
fn the_table_says_same_bits(arguments: &[&str], solves: &[(&str, &str)]) {
    let output = verify(&[&["--device", "cpu"][..], arguments].concat(), &[]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    // Plain lines, one every twenty seconds, where standard error is no terminal.
    let progress = String::from_utf8_lossy(&output.stderr);
    assert!(!progress.contains(['\r', '\u{1b}']), "{progress}");
    // Every kernel, in every precision.
    for kernel in lanefield::kernel::all().filter(|kernel| kernel.is_launched()) {
        for precision in kernel.precisions {
            let cells = [kernel.name, &precision.to_string()];
            let row = text.lines().find(|line| line.split_whitespace().take(2).eq(cells));
            assert!(row.is_some_and(|row| row.contains("same bits")), "{cells:?}: {text}");
        }
    }
    for (solve, precision) in solves {
        let row = text.lines().find(|line| line.contains(solve) && line.contains(precision));
        assert!(row.is_some_and(|row| row.contains("same bits")), "{solve} {precision}: {text}");
    }
    assert!(text.contains("against   the plain scalar implementation"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("same bits: "), "{text}");
}

const SOLVES: [(&str, &str); 4] = [
    ("solve wilson cg ", "f64"),
    ("solve wilson cg ", "f32"),
    ("solve wilson cg, full", "f32"),
    ("solve wilson cg, full", "f64"),
];

#[test]
fn the_table_says_same_bits_on_every_row() {
    the_table_says_same_bits(&["--smoke"], &SOLVES[..1]);
}

#[test]
#[ignore = "test-all: verifies every kernel in six cases"]
fn the_table_of_random_cases_says_same_bits_on_every_row() {
    the_table_says_same_bits(&["--cases", "6", "--sums", "60"], &SOLVES);
}

#[test]
#[ignore = "test-all: builds every kernel"]
fn json_holds_rows_and_device() {
    if common::opencl_device().is_none() {
        return;
    }
    let output = verify(&[&["--cases", "1", "--case", "1", "--json"], &FEW_PROGRAMS[..]].concat(), &[]);
    assert_eq!(output.status.code(), Some(0));
    let verdict = json(&output);
    assert_eq!(verdict["verdict"], "same bits");
    assert_eq!(verdict["bitwise"], true);
    assert!(verdict["device"]["driver"].is_string());
    let rows = verdict["report"]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["precision"] == "f64" && row["different"] == 0), "case 1 is in f64");
    let components: u64 = rows.iter().map(|row| row["components"].as_u64().unwrap()).sum();
    assert_eq!(verdict["components"].as_u64().unwrap(), components);

    let text = stdout(&verify(&[&["--cases", "1", "--case", "1"], &FEW_PROGRAMS[..]].concat(), &[]));
    assert!(text.contains("driver") && text.contains("may be called bitwise"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("same bits: "), "{text}");
}

/// What does not depend on how long it took.
fn found(output: &Output) -> serde_json::Value {
    let mut verdict = json(output);
    verdict["seconds"] = 0.into();
    for row in verdict["report"]["rows"].as_array_mut().unwrap() {
        row["seconds"] = 0.into();
    }
    verdict
}

/// A smoke test of sums and a solve: few programs, many units.
const SUMS: [&str; 5] = ["--smoke", "--cases", "0", "--sums", "12"];

#[test]
#[ignore = "test-all: builds sums twice"]
fn worker_processes_find_what_one_process_finds() {
    if common::opencl_device().is_none() {
        return;
    }
    let [two, one] = ["2", "1"].map(|jobs| verify(&[&SUMS[..], &["--json", "--jobs", jobs]].concat(), &[]));
    assert_eq!(two.status.code(), Some(0));
    assert_eq!(found(&two), found(&one));
    assert!(!found(&one)["report"]["rows"].as_array().unwrap().is_empty());
}

/// Starts a verification in worker processes, and waits for the first line of its table.
#[cfg(target_os = "linux")]
fn started(arguments: &[&str]) -> (std::process::Child, std::io::BufReader<std::process::ChildStdout>) {
    use std::io::BufRead as _;
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("lanefield"));
    command.arg("verify").args(arguments).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut process = command.spawn().unwrap();
    let mut output = std::io::BufReader::new(process.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    (process, output)
}

#[cfg(target_os = "linux")]
fn signal(process: &str, signal: &str) {
    assert!(std::process::Command::new("kill").args([signal, process]).status().unwrap().success());
}

/// Processes that a process started.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<String> {
    // A thread may end between the list and the look at it: it has no children then.
    let of_thread =
        |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let all: String = threads.flatten().map(|thread| of_thread(thread) + " ").collect();
    all.split_whitespace().map(str::to_owned).collect()
}

#[test]
#[ignore = "test-all: builds many sums"]
#[cfg(target_os = "linux")]
fn a_worker_that_dies_fails_its_case_alone() {
    use std::io::Read as _;
    if common::opencl_device().is_none() {
        return;
    }
    let (mut process, mut output) = started(&["--smoke", "--cases", "0", "--sums", "300", "--jobs", "2"]);
    let worker = std::iter::repeat_with(|| children(process.id())).find_map(|all| all.first().cloned()).unwrap();
    signal(&worker, "-KILL");
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(1), "{text}");
    let dead = |line: &str| {
        line.starts_with("could not be run: case ") && line.contains(" of sums: the worker process ended (signal: 9")
    };
    assert!(text.lines().any(dead), "{text}");
    assert!(text.contains("to repeat the first of these: lanefield verify --seed 1 --case "), "{text}");
    assert!(text.lines().last().unwrap().starts_with("FAILED: ") && !text.contains("DIFFERENT"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_a_run_with_what_was_found_so_far() {
    use std::io::Read as _;
    let on_a_device = common::opencl_device().is_some().then_some(&["--smoke", "--jobs", "2"][..]);
    for arguments in [Some(&["--device", "cpu"][..]), on_a_device].into_iter().flatten() {
        let (mut process, mut output) = started(&[arguments, &["--sums", "100000"]].concat());
        let start = std::time::Instant::now();
        let workers = children(process.id());
        signal(&process.id().to_string(), "-TERM");
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(130), "{text}");
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("same bits so far: ") || last.starts_with("nothing compared: "), "{text}");
        assert!(start.elapsed().as_secs() < 20, "a signal is heeded after each unit");
        for worker in workers {
            assert!(!std::path::Path::new("/proc").join(&worker).exists(), "a worker is left");
        }
    }
}

#[test]
fn without_opencl_the_reference_is_checked_and_pocl_recommended() {
    let nowhere = tempfile::tempdir().unwrap();
    let nowhere = nowhere.path().to_str().unwrap();
    // The loader looks for drivers in this directory alone, or there is no loader.
    let environment = [("OCL_ICD_VENDORS", nowhere), ("OCL_ICD_FILENAMES", ""), ("LANEFIELD_DEVICE", "auto")];
    let output = verify(&["--smoke"], &environment);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("No OpenCL device was tested: "), "{text}");
    assert!(text.contains("apt-get install pocl-opencl-icd"), "{text}");
    assert!(text.contains("against   the plain scalar implementation"), "{text}");
    assert!(text.contains("solve wilson cg") && !text.contains("DIFFERENT"), "{text}");
}

#[test]
fn a_device_that_lacks_something_has_the_same_bits() {
    if common::opencl_device().is_none() {
        return;
    }
    let kernels = "norm2,axpy_norm,wilson_full,link_energy,u3_projected,clover_inverse";
    let output = verify(&["--smoke", "--kernel", kernels], &[("LANEFIELD_DEVICE_LACKS", "f64,division")]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("same bits: ") && !text.contains("DIFFERENT"), "{text}");
    let unsupported = |text: &str| text.lines().filter(|line| line.contains("not supported ")).count();
    assert_eq!(unsupported(&text), kernels.split(',').count(), "{text}");
    assert!(text.contains("not supported, in 6 rows: ") && text.contains("has no f64 (cl_khr_fp64)"), "{text}");
    assert!(
        text.contains("the device's arithmetic in f32 follows IEEE 754: its results may be called bitwise"),
        "{text}"
    );
    let small = [("LANEFIELD_DEVICE_LACKS", "large-groups,local-memory,large-buffers,wide-size")];
    let text = stdout(&verify(&["--smoke", "--kernel", kernels], &small));
    assert!(text.contains("same bits: ") && unsupported(&text) == 0, "{text}");
    let output = verify(&["--smoke"], &[("LANEFIELD_DEVICE_LACKS", "doubles")]);
    let message = String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap();
    assert!(message.contains("LANEFIELD_DEVICE_LACKS names 'doubles': it may name f64, division"), "{message}");
}

#[test]
#[ignore = "test-all: builds programs of another device"]
fn a_device_that_lacks_everything_there_is_a_name_for_has_the_same_bits() {
    if common::opencl_device().is_none() {
        return;
    }
    let kernels = "hop,eo_clover,slice_sums,rhs_products,heat_bath,s_sweep,plaquette_sum";
    let features = "f64,division,large-groups,local-memory,large-buffers,wide-size";
    let lacks = [("LANEFIELD_DEVICE_LACKS", features), ("LANEFIELD_MEMORY_LIMIT", "64M")];
    let text = stdout(&verify(&["--smoke", "--kernel", kernels], &lacks));
    assert!(text.contains("same bits: ") && !text.contains("DIFFERENT"), "{text}");
}

#[test]
fn a_device_that_is_required_and_not_there_is_an_error() {
    let nowhere = tempfile::tempdir().unwrap();
    let nowhere = nowhere.path().to_str().unwrap();
    let environment = [("OCL_ICD_VENDORS", nowhere), ("OCL_ICD_FILENAMES", ""), ("LANEFIELD_DEVICE", "auto")];
    for arguments in [&["--require-device", "--cases", "1"][..], &["--require-device", "--device", "cpu"]] {
        let output = verify(arguments, &environment);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.lines().last().unwrap().starts_with("error: --require-device"), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_list_has_every_kernel_in_every_precision_and_runs_nothing() {
    let list = json(&verify(&["--list", "--json"], &[("LANEFIELD_DEVICE", "no such device")]));
    let rows = list["rows"].as_array().unwrap();
    for kernel in lanefield::kernel::all() {
        for precision in kernel.precisions {
            let found =
                |row: &&serde_json::Value| row["kernel"] == kernel.name && row["precision"] == precision.to_string();
            assert!(rows.iter().any(|row| found(&row)), "{kernel} in {precision}");
        }
    }
    let table = stdout(&verify(&["--list"], &[]));
    for kernel in lanefield::kernel::all() {
        assert!(table.lines().any(|line| line.split_whitespace().next() == Some(kernel.name)), "{kernel}: {table}");
    }
    assert!(table.contains("solve wilson cg"), "{table}");
    assert_eq!(
        table
            .lines()
            .filter(|line| line.contains(" f32 ") || line.contains(" f64 ") || line.contains(" half "))
            .count(),
        rows.len()
    );
}

#[test]
#[ignore = "test-all: verifies every kernel again"]
fn on_the_cpu_each_width_and_a_given_configuration_equal_the_scalar_implementation() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/hot-4x4x4x4/gauge.nersc");
    let mut command = program();
    command.args(["verify", "--device", "cpu", "--cases", "6", "--json", "--config", config]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let verdict = json(&output);
    assert_eq!(verdict["verdict"], "same bits");
    assert!(verdict["device"]["name"] == "CPU reference" && verdict["no_opencl"].is_null());
    let rows = verdict["report"]["rows"].as_array().unwrap();
    let file = rows.iter().filter(|row| row["kernel"].as_str().unwrap().contains("file"));
    assert!(file.clone().all(|row| row["iterations"].as_u64().unwrap() > 5));
    assert_eq!(file.count(), 8, "even-odd and not, 18 and 12 reals a link, both precisions");
}

#[test]
fn bad_usage_ends_with_exit_code_2_and_one_line() {
    for arguments in [
        ["--device", "cpu", "--case", "1000000"],
        ["--device", "no such device", "--cases", "1"],
        ["--device", "cpu", "--config", "no/such/file"],
    ] {
        let output = verify(&arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.lines().last().unwrap().starts_with("error: "), "{stderr}");
    }
}
