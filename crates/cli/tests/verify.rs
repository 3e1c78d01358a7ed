//! `lanefield verify`: what it prints, how it exits, what it does without OpenCL.

use std::process::Output;

use assert_cmd::Command;

use super::common;

fn program() -> Command {
    assert_cmd::cargo::cargo_bin_cmd!("lanefield")
}

/// Runs `lanefield verify`. On OpenCL all tests use the same programs: 64-byte lanes, 8 accelerator threads.
fn verify(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    program().args(["verify", "--quick"]).args(arguments).envs(environment.iter().copied()).output().unwrap()
}

const FEW_PROGRAMS: [&str; 6] = ["--lanes", "64", "--accelerator-threads", "8", "--legs", "-t-y-z+t+y+z-x+x"];

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// On the CPU: a device's table has the same rows, and PoCL would build every kernel in every precision for it.
#[test]
fn the_table_says_same_bits_on_every_row() {
    let output = verify(&["--device", "cpu", "--cases", "6", "--sums", "60"], &[]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(String::from_utf8_lossy(&output.stderr).lines().count() <= 1, "stderr is no terminal, so no progress bar");
    // Every kernel, in every precision.
    for kernel in lanefield::kernel::all().filter(|kernel| kernel.is_launched()) {
        for precision in kernel.precisions {
            let cells = [kernel.name, &precision.to_string()];
            let row = text.lines().find(|line| line.split_whitespace().take(2).eq(cells));
            assert!(row.is_some_and(|row| row.contains("same bits")), "{cells:?}: {text}");
        }
    }
    for solve in ["solve wilson cg ", "solve wilson cg, full"] {
        for precision in ["f32", "f64"] {
            let row = text.lines().find(|line| line.contains(solve) && line.contains(precision));
            assert!(row.is_some_and(|row| row.contains("same bits")), "{solve} {precision}: {text}");
        }
    }
    assert!(text.contains("against   the plain scalar implementation"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("same bits: "), "{text}");
}

#[test]
fn json_holds_rows_and_device() {
    if common::opencl_device().is_none() {
        return;
    }
    let output = verify(&[&["--cases", "1", "--case", "1", "--json"], &FEW_PROGRAMS[..]].concat(), &[]);
    assert_eq!(output.status.code(), Some(0));
    let verdict = json(&output);
    assert_eq!(verdict["verdict"], "same bits");
    assert_eq!(verdict["bitwise"], true);
    assert!(verdict["device"]["driver_version"].is_string());
    let rows = verdict["report"]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["precision"] == "f64" && row["different"] == 0), "case 1 is in f64");
    let components: u64 = rows.iter().map(|row| row["components"].as_u64().unwrap()).sum();
    assert_eq!(verdict["components"].as_u64().unwrap(), components);

    let text = stdout(&verify(&[&["--cases", "1", "--case", "1"], &FEW_PROGRAMS[..]].concat(), &[]));
    assert!(text.contains("driver") && text.contains("may be called bitwise"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("same bits: "), "{text}");
}

#[test]
fn without_opencl_the_reference_is_checked_and_pocl_recommended() {
    let nowhere = tempfile::tempdir().unwrap();
    let nowhere = nowhere.path().to_str().unwrap();
    // The loader looks for drivers in this directory alone, or there is no loader.
    let environment = [("OCL_ICD_VENDORS", nowhere), ("OCL_ICD_FILENAMES", ""), ("LANEFIELD_DEVICE", "auto")];
    let output = verify(&["--cases", "4"], &environment);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("No OpenCL device was tested: "), "{text}");
    assert!(text.contains("apt-get install pocl-opencl-icd"), "{text}");
    assert!(text.contains("against   the plain scalar implementation"), "{text}");
    assert!(text.contains("solve wilson cg") && !text.contains("DIFFERENT"), "{text}");
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
fn on_the_cpu_each_width_and_a_given_configuration_equal_the_scalar_implementation() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/hot-4x4x4x4/gauge.nersc");
    let mut command = program();
    command.args(["verify", "--device", "cpu", "--cases", "6", "--json", "--config", config]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let verdict = json(&output);
    assert_eq!(verdict["verdict"], "same bits");
    assert!(verdict["device"].is_null() && verdict["no_opencl"].is_null());
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
