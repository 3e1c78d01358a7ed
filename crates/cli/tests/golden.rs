//! `lanefield golden`, `run` and `source`: what golden data hold is what `run` computes of the same files; exit codes; what is refused.

use std::collections::BTreeMap;

use super::{Folder, assert_contains, on_colour_vectors, text};

const EXPORT: &str = "golden export golden --lattice 2.2.2.4 --device cpu";

/// The fields of a line of cases.tsv.
fn fields(line: &str) -> BTreeMap<&str, &str> {
    line.split('\t').map(|field| field.split_once('=').unwrap()).collect()
}

/// The command that computes a case from the files of the golden data.
fn command(case: &BTreeMap<&str, &str>) -> String {
    let in_golden = |paths: &str| paths.split(',').map(|path| format!("golden/{path}")).collect::<Vec<_>>().join(",");
    let mut line = format!(
        "run --device cpu --json --kernel {} --precision {} --sites {}",
        case["kernel"], case["precision"], case["sites"]
    );
    for (key, value) in case {
        line += &match key.split_once('.') {
            Some(("in" | "before", name)) => format!(" --in {name}={}", in_golden(value)),
            Some(("out", name)) => format!(" --out {name}=port/{value}"),
            Some(("matrix", _)) => format!(" --matrix {}", in_golden(value)),
            Some(("scalar" | "scalars", name)) => {
                let bits: Vec<String> = value.split(',').map(|bits| format!("0x{bits}")).collect();
                format!(" --scalar {name}={}", bits.join(","))
            }
            Some(("indices", name)) => format!(" --indices {name}={value}"),
            None if matches!(*key, "reconstruct" | "boundary" | "legs" | "direction") => format!(" --{key}={value}"),
            None if *key == "rhs_parts" => format!(" --rhs-parts {value}"),
            _ => String::new(),
        };
    }
    let from_half = case["case"].contains("-from-half");
    line + if from_half { " --from half" } else { "" }
}

#[test]
#[ignore = "test-all: starts the program for each kernel"]
fn every_kernel_run_on_the_files_of_golden_data_gives_their_results() {
    let folder = Folder::new();
    folder.succeeds(EXPORT);
    let cases = text(&folder.read("golden/cases.tsv"));
    // Of each kernel one case in each precision, the sites and the format of links in turn.
    let mut by_kernel: BTreeMap<(&str, &str), Vec<BTreeMap<&str, &str>>> = BTreeMap::new();
    for line in cases.lines() {
        let case = fields(line);
        by_kernel.entry((case["kernel"], case["precision"])).or_default().push(case);
    }
    for (number, cases) in by_kernel.values().enumerate() {
        let case = &cases[(5 * number + 1) % cases.len()];
        std::fs::create_dir_all(folder.path(&format!("port/cases/{}", case["case"]))).unwrap();
        let report: serde_json::Value = serde_json::from_str(&folder.succeeds(&command(case))).unwrap();
        if let Some(sums) = case.get("sums") {
            let golden = folder.read(&format!("golden/{sums}"));
            let numbers = golden[golden.len() - 8 * report["sums"].as_array().unwrap().len()..].chunks_exact(8);
            let bits = |bytes: &[u8]| format!("{:016x}", u64::from_le_bytes(bytes.try_into().unwrap()));
            let expected: Vec<String> = numbers.map(bits).collect();
            let found: Vec<&str> =
                report["sums"].as_array().unwrap().iter().map(|sum| sum["bits"].as_str().unwrap()).collect();
            assert_eq!(found, expected, "{}", case["case"]);
        }
    }
    let checked = folder.json("golden check golden --against port");
    assert_eq!((&checked["same"], &checked["differ"]), (&true.into(), &0.into()));
    assert!(checked["compared"].as_u64().unwrap() > 130, "{}", checked["compared"]);
}

#[test]
fn a_difference_is_told_with_exit_code_1_and_nothing_to_compare_with_2() {
    let folder = Folder::new();
    folder.succeeds(&format!("{EXPORT} --kernel scale norm2 --precision f64"));
    let file = "cases/scale/f64-odd/out.npy";
    std::fs::create_dir_all(folder.path("port/cases/scale/f64-odd")).unwrap();
    assert_contains(
        &folder.fails(2, "golden check golden --against port"),
        &["port holds no result of golden", "cases/scale/f64-full/out.npy"],
    );
    let mut bytes = folder.read(&format!("golden/{file}"));
    folder.write(&format!("port/{file}"), &bytes);
    folder.says("golden check golden --against port", &["the same: 1 file;", "missing: "]);
    let output = folder.ends(1, "golden check golden --against port --complete");
    assert_contains(&text(&output.stdout), &["not complete, though the same: 1 file; missing: 15"]);
    folder.write("port/out.npy", &bytes);
    folder.says("golden check golden --against port", &["unknown, and not compared: out.npy"]);
    *bytes.last_mut().unwrap() ^= 0x80;
    folder.write(&format!("port/{file}"), &bytes);
    let output = folder.ends(1, "golden check golden --against port");
    assert_contains(
        &text(&output.stdout),
        &[
            file,
            "DIFFERENT: 1 of 768 real numbers",
            "site x,y,z,t = 1,1,1,3, spin 3, colour 2, im",
            "1 of 1 file differs",
        ],
    );
    let refused = folder.careful_command("golden export golden --lattice 2.2.2.4 --device cpu").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_contains(&text(&refused.stderr), &["golden already exists", "--force"]);
    folder.refuses("golden export other --lattice 2.2.3.4 --device cpu", &["extent 3 of z is odd"]);
    let nowhere = "cannot write nowhere/other: the directory nowhere does not exist; make it, or give another";
    folder.refuses("golden export nowhere/other --device cpu", &[nowhere]);
    assert_eq!(folder.names(), ["golden", "port"]);
}

#[test]
fn every_file_that_differs_is_explained_if_that_is_wanted_and_families_are_named() {
    let folder = Folder::new();
    let said = folder.succeeds(&format!("{EXPORT} --kernel hop family:hop --precision f64"));
    assert_contains(&said, &["hop, hop_dagger, hop_many, hop_many_dagger, in 36 cases"]);
    folder.misuses("golden export other --kernel family:hup", &["unknown family 'hup': expected one of hop, clover"]);
    for case in ["f64-r18-full", "f64-r18-odd"] {
        std::fs::create_dir_all(folder.path(&format!("port/cases/hop/{case}"))).unwrap();
        let mut bytes = folder.read(&format!("golden/cases/hop/{case}/out.npy"));
        *bytes.last_mut().unwrap() ^= 0x80;
        folder.write(&format!("port/cases/hop/{case}/out.npy"), &bytes);
    }
    let said = text(&folder.run("golden check golden --against port").stdout);
    assert_contains(&said, &["first: cases/hop/f64-r18-full/out.npy", "2 of 2 files differ"]);
    assert!(!said.contains("\nthen: "), "{said}");
    let said = text(&folder.run("golden check golden --against port --all").stdout);
    assert_contains(&said, &["\nthen: cases/hop/f64-r18-odd/out.npy\n  DIFFERENT: 1 of 768 real numbers"]);
}

#[test]
fn the_record_of_golden_data_is_that_of_a_solve() {
    let folder = Folder::new();
    folder.succeeds(&format!("{EXPORT} --kernel wilson --seed 3"));
    folder.succeeds("source gauss:3 --lattice 2.2.2.4 --output eta.npy");
    for (precision, tolerance) in [("f32", "1e-3"), ("f64", "1e-4")] {
        let stage = format!("golden/stages/cg/{precision}");
        let solve = format!(
            "solve --config golden/configuration.npy --source gauss:3 --mass 1 --precision {precision} --tolerance {tolerance} --device cpu"
        );
        folder.succeeds(&format!("{solve} --verify {stage}/record.jsonl --output psi.npy"));
        assert!(folder.read("psi.npy") == folder.read(&format!("{stage}/solution.npy")), "{precision}");
        assert!(folder.read("eta.npy") == folder.read(&format!("{stage}/source.npy")), "{precision}");
    }
    folder.succeeds("config generate hot --lattice 2.2.2.4 --seed 3 --output hot.npy");
    assert!(folder.read("hot.npy") == folder.read("golden/configuration.npy"));
}

#[test]
fn the_record_on_the_page_is_that_of_a_solve_and_what_a_port_writes_agrees_with_it() {
    let folder = Folder::new();
    folder.succeeds("config generate hot --lattice 4.4.4.4 --seed 1 --output hot.nersc");
    let solve = "solve --config hot.nersc --source gauss:7 --mass 0.5 --device cpu";
    folder.succeeds(&format!("{solve} --record record.jsonl"));
    let record = text(&folder.read("record.jsonl"));
    let lines: Vec<&str> = record.lines().collect();
    let page = include_str!("../../../docs/arithmetic.md");
    let excerpt: String = [0, 1, 2, 4, 5].iter().map(|&line| format!("    {}\n", lines[line])).collect();
    assert!(page.contains(&excerpt), "docs/arithmetic.md §18 has another record than:\n{excerpt}");
    let header =
        r#"{"format":"lanefield record","version":2,"checked":false,"identity":[["operator","wilson, mass 0.5"]]}"#;
    assert!(page.contains(header));
    let mut theirs = format!("{header}\n");
    for line in lines.iter().filter(|line| line.contains("quantity")) {
        theirs += &format!("{}}}\n", line.split(",\"check\"").next().unwrap().replace("\"rhs\":0,", ""));
    }
    let last: serde_json::Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    let end = format!("{{\"end\":{}}}", last["end"]);
    assert!(page.contains(&format!("`{end}`")), "{end}");
    folder.write("theirs.jsonl", format!("{theirs}{end}\n").as_bytes());
    folder.says(&format!("{solve} --verify theirs.jsonl"), &["the same in all"]);
}

#[test]
fn a_source_is_the_one_that_apply_takes() {
    let folder = Folder::with_gauge();
    let on_colour_vectors = on_colour_vectors().map(|operator| ("gauss:2", operator, "--components 2"));
    for (source, operator, shape) in [
        ("gauss:7", "wilson", ""),
        ("z4:7", "wilson", ""),
        ("point:1,0,0,3,2,1", "wilson", ""),
        ("z4:2", "dwf", "--ls 4"),
    ]
    .into_iter()
    .chain(on_colour_vectors)
    {
        folder.succeeds(&format!("source {source} --lattice 4.4.4.8 {shape} --output eta.npy"));
        let apply = format!("apply --config gauge.nersc --operator {operator} --mass 0.1 {shape} --device cpu");
        folder.succeeds(&format!("{apply} --source {source} --output a.npy"));
        folder.succeeds(&format!("{apply} --source eta.npy --output b.npy"));
        assert!(folder.read("a.npy") == folder.read("b.npy"), "{source}");
    }
    let sidecar: serde_json::Value = serde_json::from_slice(&folder.read("eta.npy.json")).unwrap();
    assert_eq!(sidecar["inputs"]["source"], serde_json::json!({ "kind": "gauss", "seed": 2, "nrhs": 1 }));
    // The same inputs may be written again; others are refused.
    let careful = |arguments: &str| folder.careful_command(arguments).output().unwrap();
    let again = careful("source gauss:2 --lattice 4.4.4.8 --components 2 --output eta.npy");
    assert!(again.status.success(), "{}", text(&again.stderr));
    let other = careful("source z4:2 --lattice 4.4.4.8 --components 2 --output eta.npy");
    assert_eq!(other.status.code(), Some(2));
    assert_contains(&text(&other.stderr), &["eta.npy already exists", "source.kind"]);
    let error = folder.fails(2, "source eta.npy --lattice 4.4.4.8 --output other.npy");
    assert_contains(&error, &["'eta.npy' is not a source that can be generated", "z4:SEED"]);
}

#[test]
fn links_that_are_read_as_they_are_stored_have_their_boundary_phases() {
    let folder = Folder::new();
    folder.succeeds(&format!("{EXPORT} --kernel hop --precision f64"));
    let run = "run --kernel hop --device cpu --in in=golden/inputs/spinor.f64.3.npy --in links=golden/stages/links/doubled.f64-r18.npy --out out=h.npy";
    let output = folder.run(&format!("{run} --boundary 1,1,1,1"));
    assert!(output.status.success());
    assert_contains(&text(&output.stdout), &["boundary", "as the links were stored"]);
    assert_contains(&text(&output.stderr), &["note: --boundary changes nothing"]);
    assert!(folder.read("h.npy") == folder.read("golden/cases/hop/f64-r18-full/out.npy"));
}

#[test]
fn arguments_that_a_kernel_lacks_are_named_with_all_that_it_has() {
    let folder = Folder::new();
    folder.succeeds("source gauss:1 --lattice 4.4.4.8 --output x.npy");
    let error = text(&folder.run("run --kernel axpy --in x=x.npy --in z=x.npy --device cpu").stderr);
    assert_contains(
        &error,
        &[
            "--in y=FILE.npy is missing",
            "--scalar a=… is missing",
            "--out y=FILE.npy is missing",
            "--in z: there is no such argument",
            "read and written",
            "complex128",
        ],
    );
    let described = folder.succeeds("run --kernel s_sweep --precision f32 --describe");
    assert_contains(&described, &["--matrix", "(2, 3, ls)", "--in x", "--out out", "complex64"]);
    let described = folder.succeeds("run --kernel hop --reconstruct 12 --describe");
    assert_contains(&described, &["(T, Z, Y, X, 8, 2, 3)", "or of --config", "on their neighbours"]);
    let refuses = |arguments: &str, says: &[&str]| {
        folder.refuses(&format!("run {arguments} --device cpu"), says);
    };
    refuses("--kernel scale --in x=x.npy --scalar a=two --out out=y.npy", &["invalid number 'two'", "0x"]);
    refuses(
        "--kernel hop --in in=x.npy --in links=x.npy --out out=y.npy",
        &["x.npy is complex128", "(T, Z, Y, X, 8, 3, 3)"],
    );
    refuses(
        "--kernel hop --dagger --in in=x.npy --out out=y.npy",
        &["--dagger: that of hop is a kernel of its own: --kernel hop_dagger"],
    );
    refuses(
        "--kernel s_sweep --dagger --in x=x.npy --out out=y.npy",
        &["--dagger: that of a matrix along s is --matrix-dagger"],
    );
    refuses(
        "--kernel scale --in x=x.npy --scalar a=1 --out out=y.txt",
        &["--out out", "expected one that ends in .npy"],
    );
    let error = text(
        &folder.run("run --kernel axpy --in x=x.npy --in y=x.npy --scalar a=1 --out y=y.npy --config x.npy").stderr,
    );
    assert_contains(&error, &["--config is not used: all links are read from --in"]);
    refuses("--kernel scale --in x=x.npy --scalar a=1,2 --out out=y.npy", &["expected one number"]);
    refuses("--kernel scale --in x=x.npy --scalar a=1 --out out=x.npy", &["name the same file"]);
    refuses(
        "--kernel s_sweep --precision half --in x=x.npy --out out=y.npy --mass 1 --ls 1",
        &["takes no fields in half"],
    );
    refuses("--kernel s_sweep --in x=x.npy --out out=y.npy --mass 1 --ls 2", &["a multiple of ls = 2"]);
    assert!(!folder.path("y.npy").exists());
}
