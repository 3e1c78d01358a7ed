//! `lanefield demo`: the published bits, on the CPU and on a device, and without one.

use super::common;

fn demo(arguments: &[&str], environment: &[(&str, &str)]) -> std::process::Output {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("lanefield");
    command.arg("demo").args(arguments).envs(environment.iter().copied()).output().unwrap()
}

#[test]
fn the_histories_are_the_published_one_and_the_picture_has_axes() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("history.svg");
    let output = demo(&["--plot", svg.to_str().unwrap()], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let on_a_device = common::opencl_device().is_some();
    let published = text.matches("2ad53384575f0b2ee387e970e008443567a5b785d981e34124a03e76513b2747").count();
    assert_eq!(published, if on_a_device { 3 } else { 2 }, "{text}");
    assert!(
        text.contains(if on_a_device { "Same bits: every |r|² on both" } else { "Same bits as published" }),
        "{text}"
    );
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("iteration") && svg.contains("|r| / |b|"), "{svg}");
}

#[test]
fn without_opencl_the_cpu_alone_is_compared_with_the_published_history() {
    let nowhere = tempfile::tempdir().unwrap();
    let nowhere = nowhere.path().to_str().unwrap();
    let environment = [("OCL_ICD_VENDORS", nowhere), ("OCL_ICD_FILENAMES", ""), ("LANEFIELD_DEVICE", "auto")];
    let output = demo(&["--json"], &environment);
    assert_eq!(output.status.code(), Some(0));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["same_bits"], true);
    assert_eq!(found["solved"].as_array().unwrap().len(), 1);
    assert_eq!(found["solved"][0]["iterations"], 84);
    assert_eq!(found["solved"][0]["sha256"], found["published"]);
    assert!(found["no_opencl"].as_str().unwrap().contains("apt-get install pocl-opencl-icd"));
}
