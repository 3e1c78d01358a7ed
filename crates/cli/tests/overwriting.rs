//! Nothing is lost: no command replaces a file that is there without --force, and standard error may be closed or full.

use std::process::Command;

use super::Folder;

/// Command lines, each of which would write to a file of the user's.
const WRITE: [&str; 27] = [
    "config generate hot --lattice 4.4.4.4 --seed 1 --output FILE",
    "config convert gauge.nersc FILE.npy",
    "apply --operator hop --config gauge.nersc --source gauss:1 --output FILE.npy",
    "source gauss:1 --lattice 4.4.4.4 --output FILE.npy",
    "solve --config gauge.nersc --source gauss:1 --mass 0.5 --output FILE.npy",
    "solve --config gauge.nersc --source gauss:1 --mass 0.5 --history FILE",
    "solve --config gauge.nersc --source gauss:1 --mass 0.5 --checkpoint FILE",
    "solve --config gauge.nersc --source gauss:1 --mass 0.5 --record FILE",
    "eigen --config gauge.nersc --mass 0.5 --number 2 --output FILE",
    "propagator --operator wilson --mass 0.5 --config gauge.nersc --source point:0,0,0,0 --output FILE.npy",
    "correlator --propagator p.npy --csv FILE",
    "correlator --propagator p.npy --plot FILE.svg",
    "solve --config gauge.nersc --source gauss:1 --mass 0.5 --plot FILE.pdf",
    "potential gauge.nersc --loops 3,2 --plot FILE.png",
    "observe --config gauge.nersc --plot FILE.svg",
    "flow --config gauge.nersc --time 0.1 --csv FILE",
    "smear --smear stout:0.1,1 --config gauge.nersc --output FILE",
    "potential --config gauge.nersc --loops 3,2 --csv FILE",
    "spectrum measure --config gauge.nersc --operator wilson --mass 0.5 --source point:0,0,0,0 --output FILE",
    "gaugefix --config gauge.nersc --tolerance 1e-3 --output FILE",
    "compare p.npy p.npy --plot FILE.svg",
    "convert p.npy FILE.npy --to-gamma chiral",
    "demo --plot FILE.svg",
    "peak --quick --roofline FILE.svg",
    "report d.json --output FILE",
    "emit --kernel hop --language opencl --output FILE",
    "config info gauge.nersc --trace FILE",
];

fn folder() -> Folder {
    let folder = Folder::with_gauge();
    folder.succeeds("propagator --operator wilson --mass 0.5 --config gauge.nersc --source point:0,0,0,0 --output p.npy --device cpu");
    folder
}

#[test]
fn no_command_replaces_a_file_unless_it_is_forced_to() {
    let folder = folder();
    for (k, line) in WRITE.into_iter().enumerate() {
        let line = line.replace("FILE", &format!("notes{k}"));
        let name = line.split_whitespace().find(|word| word.starts_with("notes")).unwrap();
        std::fs::write(folder.path(name), "my notes").unwrap();
        let output = folder.careful_command(&line).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{line}: {error}");
        // A trace replaces nothing but another trace, not even with --force.
        let (says, ends) = match line.contains("--trace") {
            true => ("would replace a file that is not a trace", "give another name"),
            false => ("already exists: give another name, ", "--force to replace it"),
        };
        let named = error.contains(&format!("{name} {says}"));
        assert!(named && error.trim_end().ends_with(ends), "{line}: {error}");
        assert_eq!(std::fs::read_to_string(folder.path(name)).unwrap(), "my notes", "{line}");
    }
    let name = "notes0";
    folder.succeeds(&format!("config generate hot --lattice 4.4.4.4 --seed 1 --output {name}"));
    assert!(std::fs::read(folder.path(name)).unwrap().starts_with(b"BEGIN_HEADER"));
}

#[test]
fn an_empty_file_may_be_written_to() {
    let folder = folder();
    std::fs::write(folder.path("history.csv"), "").unwrap();
    folder.succeeds("solve --config gauge.nersc --source gauss:1 --mass 0.5 --device cpu --history history.csv");
    assert!(std::fs::read_to_string(folder.path("history.csv")).unwrap().starts_with("iteration,"));
}

#[test]
fn of_several_solves_into_one_file_one_succeeds_and_no_result_is_lost() {
    let folder = folder();
    let solve =
        |seed: u64| format!("solve --config gauge.nersc --source gauss:{seed} --mass 0.5 --device cpu --output x.npy");
    let ended = folder.together([1, 2, 3].map(solve));
    let mut results = vec!["x.npy".to_owned()];
    let mut codes = Vec::new();
    for output in ended {
        let error = String::from_utf8(output.stderr).unwrap();
        codes.push(output.status.code());
        if let Some((_, name)) = error.split_once("stays as it is: the result is in ") {
            results.push(name.trim_end().rsplit('/').next().unwrap().to_owned());
        } else {
            assert!(output.status.success() || error.contains("x.npy already exists"), "{error}");
        }
    }
    codes.sort();
    assert_eq!(codes, [Some(0), Some(2), Some(2)]);
    for result in results {
        // Which checks the digest in its sidecar.
        folder.succeeds(&format!(
            "apply --operator hop --config gauge.nersc --source {result} --device cpu --output y.npy"
        ));
    }
}

#[test]
#[cfg(unix)]
fn outputs_that_are_one_file_are_found_before_the_work_and_links_are_followed() {
    let folder = folder();
    let solve = "solve --config gauge.nersc --source gauss:1 --mass 0.5 --device cpu";
    std::os::unix::fs::symlink("later.npy", folder.path("link.npy")).unwrap();
    for outputs in ["--output x.npy --trace ./x.npy", "--output link.npy --trace later.npy", "--history h --record h"] {
        folder.refuses(&format!("{solve} {outputs}"), &["name the same file"]);
    }
    folder.succeeds(&format!("{solve} --output link.npy"));
    assert!(std::fs::symlink_metadata(folder.path("link.npy")).unwrap().is_symlink());
    assert!(folder.read("later.npy").starts_with(b"\x93NUMPY"));
}

#[test]
fn a_file_that_can_be_continued_is_not_said_to_be_replaced_first() {
    let folder = folder();
    for line in [
        "spectrum measure --config gauge.nersc --operator wilson --mass 0.5 --source point:0,0,0,0 --output FILE",
        "solve --config gauge.nersc --source gauss:1 --mass 0.5 --checkpoint FILE",
    ] {
        std::fs::write(folder.path("there"), "hours").unwrap();
        let output = folder.careful_command(&line.replace("FILE", "there")).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let [resume, force] = ["--resume", "--force"].map(|option| error.find(option).unwrap());
        assert!(resume < force, "{error}");
    }
}

#[test]
#[cfg(unix)]
fn a_standard_error_that_is_closed_or_full_is_no_panic() {
    let folder = folder();
    let full = if std::path::Path::new("/dev/full").exists() { "/dev/full" } else { "&-" };
    for stderr in ["&-", full] {
        let lines = [
            ("solve --config gauge.nersc --source gauss:1 --mass 0.5 --device cpu", 0),
            ("solve --config nowhere.nersc --source gauss:1 --mass 0.5 --device cpu", 2),
            ("verify --smoke --device cpu --sums 0", 0),
        ];
        for (line, code) in lines {
            let program = assert_cmd::cargo::cargo_bin!("lanefield");
            let line = format!("'{}' {line} 2>{stderr}", program.display());
            let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path("")).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{line}");
        }
    }
}

#[test]
fn a_file_in_the_place_of_a_directory_is_named() {
    let folder = Folder::new();
    folder.write("file", b"mine");
    for line in ["capture --kernel hop --output file", "golden export file --kernel hop", "man file"] {
        folder.refuses(line, &["file is a file: give the name of a directory"]);
    }
    assert_eq!(folder.read("file"), b"mine");
}

#[test]
fn a_propagator_that_is_missing_or_a_directory_is_named() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("directory")).unwrap();
    folder.refuses("correlator --propagator none.npy", &["cannot read none.npy", "No such file"]);
    folder.refuses("correlator --propagator directory", &["cannot read directory: it is not a file"]);
}
