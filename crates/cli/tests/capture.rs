//! `lanefield capture` and `emit --ptx`: what is written and said, and what is refused. What a capture holds: the tests of the library.

use lanefield::capture::Capture;

use super::{Folder, assert_contains, common, opencl, text};

#[test]
fn a_launch_is_written_with_what_it_was_and_runs_again_with_the_same_bits() {
    let Some(device) = opencl() else { return };
    let folder = Folder::new();
    let told = folder.succeeds(&format!(
        "capture --kernel hop --lattice 4.4.4.4 --reconstruct 12 --accelerator-threads 2 --onto odd --output hop {device}"
    ));
    assert_contains(&told, &["hop, launch 1 of 1", "the same bits in all buffers, of which 1 are written"]);
    let capture = Capture::read(&folder.path("hop")).unwrap();
    assert_eq!((capture.launch.kernel.as_str(), capture.launch.launch.local[1]), ("hop", 2));
    assert!(capture.launch.options.contains("-DLINK_REALS=12"), "{}", capture.launch.options);
    let about = |name: &str| capture.about[name].as_str();
    assert_eq!((about("lattice"), about("precision"), about("tuning")), ("4.4.4.4", "f32", "accelerator-threads 2"));
    assert!(about("fields").contains("odd"), "{}", about("fields"));
    let bytes_of_a_site = 96 + 8 * 96 / 2 + 96;
    assert!(capture.work.is_some_and(|work| work.bytes > bytes_of_a_site * 64), "{:?}", capture.work);
}

#[test]
fn a_directory_is_replaced_only_if_that_is_asked_for_and_it_holds_a_capture() {
    let Some(device) = opencl() else { return };
    let folder = Folder::new();
    let line = format!("capture --kernel axpy --lattice 4.4.4.4 --output there {device}");
    folder.succeeds(&line);
    let refused = folder.careful_command(&line).output().unwrap();
    let error = text(&refused.stderr);
    assert!(
        refused.status.code() == Some(2)
            && error.trim_end().ends_with("is not empty: give another name, or --force to replace it"),
        "{error}"
    );
    folder.succeeds(&line);
    std::fs::create_dir(folder.path("mine")).unwrap();
    folder.write("mine/notes", b"my notes");
    let error = folder.fails(2, &line.replace("there", "mine"));
    assert!(error.ends_with("is not empty: give another name"), "{error}");
    assert_eq!(folder.read("mine/notes"), b"my notes");
}

#[test]
fn what_cannot_be_captured_is_refused_with_what_can() {
    let folder = Folder::new();
    let error = folder.fails(2, "capture --kernel hop --lattice 4.4.4.4 --output x --device cpu");
    assert_contains(&error, &["launches are captured on OpenCL devices", "--device"]);
    let error = folder.fails(2, "capture --kernel finish --output x");
    assert_contains(&error, &["finish is a part of other operations", "norm2"]);
    assert_contains(&folder.misused("capture --kernel hopp --output x"), &["unknown kernel 'hopp'"]);
    let Some(device) = opencl() else { return };
    let error = folder.fails(2, &format!("capture --kernel axpy --onto even --lattice 4.4.4.4 --output x {device}"));
    assert_eq!(error, "axpy does not run on even sites: expected full");
    let error = folder.fails(2, &format!("capture --kernel field_strength --precision half --output x {device}"));
    assert_contains(&error, &["field_strength does not take half: expected f"]);
    let error = folder.fails(2, &format!("capture --kernel axpy --lattice 4.4.4.4 --output nowhere/x {device}"));
    assert_contains(&error, &["the directory nowhere does not exist; make it, or give another"]);
    assert!(!folder.path("x").exists());
}

#[test]
fn ptx_of_a_device_that_makes_none_is_refused_with_what_it_makes() {
    let folder = Folder::new();
    assert_contains(&folder.fails(2, "emit --kernel hop --ptx --device cpu"), &["the CPU reference has no PTX"]);
    assert_contains(&folder.misused("emit --kernel hop --ptx --language c"), &["cannot be used with"]);
    assert_contains(&folder.misused("emit --kernel hop"), &["--language"]);
    for of_ptx in ["--device cpu", "--lattice 4.4.4.4", "--lanes 64", "--rhs 2", "--access 16"] {
        let error = folder.fails(2, &format!("emit --kernel hop --language opencl {of_ptx}"));
        assert_contains(&error, &["are for --ptx: a source file is for every device"]);
    }
    let error = folder.fails(2, "emit --kernel hop --ptx --output hop.cu");
    assert!(error.starts_with("--output hop.cu has the extension of cuda") && error.ends_with(".ptx"), "{error}");
    let Some(device) = opencl() else { return };
    let line = format!("emit --kernel hop --ptx --lattice 4.4.4.4 --output hop.ptx {device}");
    match common::opencl_device().is_some_and(|device| device.vendor.contains("NVIDIA")) {
        true => {
            folder.succeeds(&line);
            assert!(lanefield::capture::ptx(&folder.read("hop.ptx")).is_some_and(|text| text.contains(".entry hop(")));
        }
        // PoCL, or a GPU of another vendor.
        false => {
            assert_contains(&folder.fails(2, &line), &["makes no PTX: its binaries are", "choose a GPU of NVIDIA"])
        }
    }
}
