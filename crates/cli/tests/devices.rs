//! `lanefield devices`.

use super::{Folder, assert_contains, common, text};

#[test]
fn the_cpu_reference_is_always_listed() {
    let listed = Folder::new().succeeds("devices");
    assert_contains(&listed, &["cpu: CPU reference", "threads", "vector instructions", "--device auto takes "]);
    let json = Folder::new().json("devices");
    assert!(json["cpu"]["compute_units"].as_u64().unwrap() >= 1);
    assert!(json["cpu"]["vector_instructions"].is_string() && json["auto"].is_string());
}

#[test]
fn an_opencl_device_is_listed_with_the_verdict_on_its_arithmetic() {
    let Some(device) = common::opencl_device() else { return };
    let json = Folder::new().json("devices");
    let listed = &json["opencl"][device.index];
    assert_eq!(listed["name"], device.name.as_str());
    assert_eq!(listed["bitwise"].as_bool(), Some(listed["verdict"] == "bitwise"));
    assert!(listed["preferred_work_group_multiple"].as_u64().unwrap() >= 1);
    let table = Folder::new().succeeds("devices");
    let rows =
        ["platform", "memory", "largest buffer", "local memory", "compute units", "multiples of", "f64", "arithmetic"];
    assert_contains(&table, &rows);
    assert_contains(&table, &[&format!("{}: {}", device.index, device.name)]);
}

#[test]
fn without_opencl_the_list_says_how_to_get_it() {
    let folder = Folder::new();
    let mut command = folder.command("devices");
    let output = command.env("OCL_ICD_VENDORS", "/nonexistent").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let listed = text(&output.stdout);
    assert_contains(
        &listed,
        &["cpu: CPU reference", "there is no OpenCL here", "pocl-opencl-icd", "--device auto takes cpu"],
    );
}

#[test]
fn a_device_that_does_not_exist_is_refused_with_the_list() {
    let folder = Folder::with_gauge();
    let apply = "apply --operator hop --config gauge.nersc --source gauss:1 --output o.npy";
    folder.refuses(&format!("{apply} --device 99"), &["no OpenCL device 99", "CPU reference (cpu)"]);
    folder.refuses(&format!("{apply} --device nonesuch"), &["\"nonesuch\""]);
}
