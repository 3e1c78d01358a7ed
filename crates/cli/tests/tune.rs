//! `lanefield tune`: what it prints and keeps, and what is refused; never a time.

use super::{Folder, assert_contains, opencl, text};

const TUNE: &str = "tune --kernel hop --precision f32 --links 12 --lattice 4.4.4.4 --budget 3";

#[test]
fn the_table_names_what_was_chosen_and_the_file_is_used_by_the_next_command() {
    let Some(device) = opencl() else { return };
    let folder = Folder::new();
    let with_file =
        |arguments: &str| folder.command(arguments).env("LANEFIELD_TUNING", "choices.toml").output().unwrap();
    let tuned = with_file(&format!("{TUNE} {device}"));
    assert!(tuned.status.success(), "{}", text(&tuned.stderr));
    let table = text(&tuned.stdout);
    assert_contains(
        &table,
        &["hop f32 reconstruct 12", "4.4.4.4", "tuned, µs", "kept in", "choices.toml", "same bits: "],
    );
    let file = text(&folder.read("choices.toml"));
    assert_contains(
        &file,
        &["[tuned]", "kernel = \"hop\"", "precision = \"f32\"", "reconstruct = 12", "candidates = ["],
    );

    // It is read again, and a damaged one is no error.
    let generate = "config generate hot --lattice 4.4.4.4 --seed 1 --output hot.nersc";
    assert!(with_file(generate).status.success());
    let solve =
        format!("apply --operator hop --links 12 --config hot.nersc --source gauss:1 --output hop.npy {device}");
    let sound = with_file(&solve);
    assert!(sound.status.success() && !text(&sound.stderr).contains("warning"), "{}", text(&sound.stderr));
    let bytes = folder.read("hop.npy");
    let cut = file.find("precision = \"f").unwrap() + "precision = \"f".len();
    folder.write("choices.toml", &file.as_bytes()[..cut]);
    let damaged = with_file(&solve);
    assert!(damaged.status.success(), "{}", text(&damaged.stderr));
    assert_contains(
        &text(&damaged.stderr),
        &["warning: the tuning file choices.toml is not used", "lanefield tune --device"],
    );
    assert_eq!(folder.read("hop.npy"), bytes);
}

#[test]
#[ignore = "test-all: searches on a device"]
fn json_has_every_candidate_and_what_became_of_it() {
    let Some(device) = opencl() else { return };
    let folder = Folder::new();
    let json = folder.json(&format!("{TUNE} {device} --access word"));
    assert_eq!((&json["same_bits"], &json["file"]), (&true.into(), &serde_json::Value::Null), "tuning is off in tests");
    assert_eq!((&json["budget_seconds"], &json["failures"]), (&3.into(), &serde_json::json!([])));
    let kernel = &json["kernels"][0];
    assert_eq!(
        (&kernel["kernel"], &kernel["lattice"]),
        (&"hop f32 reconstruct 12".into(), &serde_json::json!([4, 4, 4, 4]))
    );
    assert!(kernel["gain"].as_f64().unwrap() >= 1.0);
    let candidates = kernel["searched"]["candidates"].as_array().unwrap();
    let verdicts = candidates.iter().filter(|candidate| candidate["verdict"] == "chosen").count();
    assert!(candidates.len() > 5 && verdicts == 1, "{candidates:?}");
    assert_eq!(folder.names(), [] as [String; 0], "nothing is written where tuning is off");
}

#[test]
fn the_cpu_reference_has_nothing_to_tune() {
    let error = Folder::new().fails(2, &format!("{TUNE} --device cpu"));
    assert_contains(&error, &["the CPU reference has nothing to tune", "lanefield devices"]);
}

#[test]
fn unknown_precisions_and_widths_name_those_that_exist() {
    let folder = Folder::new();
    assert_contains(&folder.misused("tune --precision f16"), &["'f16'", "f32, f64, half"]);
    assert_contains(&folder.misused("tune --access 32"), &["'32'", "word, 8 or 16"]);
    assert_contains(&folder.misused("tune --budget 0"), &["--budget"]);
    assert_contains(&folder.misused("tune --kernel dslash"), &["unknown kernel 'dslash'", "hop_many"]);
}

#[test]
fn a_file_that_is_not_the_tuners_is_not_replaced() {
    let Some(device) = opencl() else { return };
    let folder = Folder::new();
    let of_another = "[tuned]\nlanefield = \"0.1.0\"\ndevice = \"another\"\nvendor = \"v\"\narchitecture = \"a\"\nplatform = \"p\"\ndriver = \"d\"\naccess = \"16\"\n";
    for (notes, said) in
        [("my notes\n", "is not a file of `lanefield tune`"), (of_another, "holds results for another")]
    {
        folder.write("notes.txt", notes.as_bytes());
        let tune =
            folder.careful_command(&format!("{TUNE} {device}")).env("LANEFIELD_TUNING", "notes.txt").output().unwrap();
        assert_eq!(tune.status.code(), Some(2), "{}", text(&tune.stderr));
        assert_contains(&text(&tune.stderr), &["notes.txt", said, "LANEFIELD_TUNING"]);
        assert_eq!(text(&folder.read("notes.txt")), notes);
    }
}
