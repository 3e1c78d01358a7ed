//! `lanefield occupancy`: numbers by hand against those of the literature, and the shape of what is printed.

use super::{Folder, assert_contains, common};

const MI100: &str = "occupancy --arch gfx908 --vgprs 52 --sgprs 64 --lds 24576 --group 256";

#[test]
fn the_hardware_and_the_report_stand_beside_each_other() {
    let text = Folder::new().succeeds(MI100);
    let parts = [
        "20.0%: 8 of 40 waves per CU",
        "3 groups (12 waves): at most 21504 bytes of LDS instead of 24576",
        "of the EmPRiSM report: 25.0%, 10 of 40 waves, by LDS; VGPRs 38 waves (96.2%)",
        "128000 instead of 131072",
    ];
    assert_contains(&text, &parts);
}

#[test]
fn json_has_every_limit_and_what_binds() {
    let json = Folder::new().json("occupancy --arch sm_90 --registers 90 --group 128");
    assert_eq!(json["kind"], "occupancy");
    let found = &json["entries"][0]["occupancy"];
    assert_eq!((found["groups"].as_u64(), found["waves"].as_u64()), (Some(5), Some(20)));
    assert_eq!(found["binding"], serde_json::json!(["registers"]));
    assert_eq!(found["next_step"]["needs"][0]["at_most"], 80);
    assert_eq!(found["limits"].as_array().unwrap().len(), 4);
    assert!(json["entries"][0]["simplified"].is_null() && json["simplified_differ"].is_null());
}

#[test]
fn a_sweep_over_accelerator_threads_tells_the_share_of_a_wavefront() {
    let text = Folder::new().succeeds("occupancy --arch gfx90a --vgprs 128 --sweep accelerator_threads=2,4,8,16,32");
    let shares: Vec<&str> =
        text.lines().filter_map(|line| line.split_whitespace().nth(2).filter(|cell| cell.ends_with('%'))).collect();
    assert_eq!(shares, ["25%", "50%", "100%", "200%", "400%"], "{text}");
    // The sentence below the table is wrapped by the terminal.
    let table = text.lines().filter(|line| line.starts_with([' ', '─', '═']));
    assert!(table.clone().count() > 8 && table.clone().all(|line| line.chars().count() <= 120), "{text}");
    assert_contains(&text, &["accelerator_threads", " groups: VGPRs ≤ "]);
    assert_contains(&text, &["8 accelerator threads make the smallest group without idle lanes: 64 work-items"]);
    let json = Folder::new().json("occupancy --arch sm_80 --registers 64 --group 128 --sweep lds=0,16384,65536");
    let groups: Vec<_> =
        json["sweeps"][0]["rows"].as_array().unwrap().iter().map(|row| &row["occupancy"]["groups"]).collect();
    assert_eq!(groups, [8, 8, 2]);
}

#[test]
fn architectures_are_named_in_any_case_and_count_once() {
    let json = Folder::new().json("occupancy --arch GFX90A,gfx90a,SM_90 --vgprs 128");
    let names: Vec<_> = json["entries"].as_array().unwrap().iter().map(|e| &e["architecture"]["name"]).collect();
    assert_eq!(names, ["gfx90a", "sm_90"]);
}

#[test]
fn a_kernel_is_compiled_for_a_gpu_that_is_not_there() {
    if lanefield_lab::code::Clang::find().is_err() && common::opencl_device().is_none() {
        return;
    }
    let json = Folder::new().json("occupancy --kernel axpy --arch gfx90a --precision f32 --lanes 64");
    let entry = &json["entries"][0];
    let (kernel, code) = (&entry["kernel"], &entry["kernel"]["code"]);
    assert_eq!((&kernel["kernel"], &kernel["nsimd"], &code["target"]), (&"axpy".into(), &8.into(), &"gfx90a".into()));
    // A spinor: two fields are read, one is written, 96 bytes each.
    let bytes = |accesses: &serde_json::Value| -> u64 {
        accesses.as_object().unwrap().iter().map(|(width, n)| width.parse::<u64>().unwrap() * n.as_u64().unwrap()).sum()
    };
    assert_eq!((bytes(&code["counts"]["global_loads"]), bytes(&code["counts"]["global_stores"])), (192, 96));
    assert_eq!((&entry["demand"]["group"], &code["private_bytes"]), (&64.into(), &0.into()));
}

#[test]
fn a_kernel_on_a_device_tells_what_its_driver_does() {
    let Some(device) = super::opencl() else { return };
    let json = Folder::new().json(&format!("occupancy --kernel copy --lattice 4.4.4.4 {device}"));
    let of_kernel =
        |list: &str, key: &str| json[list].as_array().unwrap().iter().map(|e| e[key].clone()).collect::<Vec<_>>();
    // Either its registers are known, or it is said that they are not.
    match of_kernel("entries", "kernel").first() {
        Some(kernel) => assert_eq!(kernel["kernel"], "copy"),
        None => {
            assert_eq!(of_kernel("told", "kernel"), ["copy"]);
            assert!(json["told"][0]["code"]["unknown"].is_string());
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let folder = Folder::new();
    assert_contains(&folder.fails(2, "occupancy --arch gfx908"), &["--vgprs"]);
    assert_contains(&folder.fails(2, "occupancy"), &["--arch", "--kernel"]);
    assert_contains(&folder.fails(2, "occupancy --arch sm_20 --vgprs 8"), &["'sm_20'", "sm_70"]);
    assert_contains(&folder.fails(2, "occupancy --arch gfx90a --vgprs 300"), &["300 VGPRs", "0 to 256"]);
    assert_contains(&folder.fails(2, "occupancy --kernel hop --arch sm_90"), &["sm_90", "leave --arch out"]);
    assert_contains(
        &folder.misused("occupancy --kernel EOClover --arch gfx90a"),
        &["unknown kernel 'EOClover'", "eo_clover"],
    );
    assert_contains(
        &folder.fails(2, "occupancy --kernel finish --arch gfx90a"),
        &["finish is a part of other operations", "norm2"],
    );
    assert_contains(&folder.fails(2, "occupancy --kernel copy --device cpu"), &["--arch"]);
    assert_contains(
        &folder.misused("occupancy --arch gfx90a --vgprs 8 --sweep warps=1"),
        &["'warps'", "registers or lds"],
    );
    let mut command = folder.command("occupancy --kernel copy --arch gfx90a");
    let output = command.env("LANEFIELD_CLANG", "/nonexistent/clang").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_contains(&super::text(&output.stderr), &["/nonexistent/clang", "apt-get install clang-15"]);
}

#[test]
fn each_sweep_of_a_kernel_names_the_kernel_and_its_precision() {
    if lanefield_lab::code::Clang::find().is_err() {
        return;
    }
    let sweep = "occupancy --kernel hop --arch gfx90a --precision f32,f64 --sweep accelerator_threads=4,8";
    let text = Folder::new().succeeds(sweep);
    assert_contains(&text, &["hop f32, reconstruct 18", "hop f64, reconstruct 18"]);
    let json = Folder::new().json(sweep);
    let sweeps = json["sweeps"].as_array().unwrap();
    let subjects: Vec<_> = sweeps.iter().map(|sweep| (sweep["kernel"].as_str(), sweep["precision"].as_str())).collect();
    assert_eq!(subjects, [(Some("hop"), Some("f32")), (Some("hop"), Some("f64"))]);
}
