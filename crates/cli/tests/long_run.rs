//! Long solves: killed and resumed to the same bytes, recorded, and compared with a record.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use lanefield::reference::random::{Stream, uniform};
use sha2::{Digest as _, Sha256};

use super::{Folder, assert_contains, opencl, text};

const SOLVE: &str = "solve --config gauge.nersc --source gauss:4 --device cpu";

/// Of each kind of solve: twenty in all.
const KILLS: u64 = 5;

fn started(folder: &Folder, arguments: &str) -> Child {
    let program: &Path = assert_cmd::cargo::cargo_bin!("lanefield");
    let mut command = std::process::Command::new(program);
    command.current_dir(folder.0.path()).args(arguments.split_whitespace()).arg("--force");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the program at some moment after it has written a new checkpoint; `false` if it came to its end before.
fn killed(folder: &Folder, child: &mut Child, attempt: u64) -> bool {
    let before = std::fs::read(folder.path("state")).ok();
    while std::fs::read(folder.path("state")).ok() == before {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_secs_f64(0.004 * uniform(1, Stream::TestData, attempt, 0)));
    let was_running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    was_running
}

#[test]
#[ignore = "test-all: kills twenty solves"]
fn a_solve_that_is_killed_again_and_again_ends_with_the_same_bytes() {
    let folder = Folder::with_gauge_on("8.8.8.8");
    for what in [
        "--operator clover --csw 1 --mass -0.3",
        "--mass 0.02 --solver mixed-half",
        "--mass -0.3 --solver bicgstab",
        "--mass -0.3 --precision f32 --tolerance 1e-5 --batch 2",
    ] {
        let solve = format!("{SOLVE} {what}");
        folder.succeeds(&format!("{solve} --history whole.csv --output whole.npy"));
        let resumed =
            format!("{solve} --checkpoint state --checkpoint-every 1 --resume --history h.csv --output x.npy");
        let mut kills = 0;
        for attempt in 0.. {
            if kills == KILLS {
                break;
            }
            assert!(attempt < 4 * KILLS, "{what}: only {kills} of {attempt} were killed");
            match killed(&folder, &mut started(&folder, &resumed), attempt) {
                true => {
                    kills += 1;
                    let left: Vec<String> = folder.names().into_iter().filter(|name| name.contains("tmp")).collect();
                    assert!(left.is_empty(), "{what}: {left:?}");
                }
                // It came to its end: the next one starts anew.
                false => std::fs::remove_file(folder.path("state")).unwrap(),
            }
        }
        let json = folder.json(&resumed);
        assert!(json["resumed_from"].as_u64().unwrap() > 0, "{what}: {json}");
        assert!(folder.read("h.csv") == folder.read("whole.csv"), "{what}: the histories differ");
        assert!(folder.read("x.npy") == folder.read("whole.npy"), "{what}: the solutions differ");
        std::fs::remove_file(folder.path("state")).unwrap();
    }
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn a_solve_goes_on_from_its_checkpoint_on_another_layout_and_device() {
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:4 --operator dwf --ls 4 --mass 0.3";
    folder.succeeds(&format!("{solve} --device cpu --history whole.csv"));
    folder.fails(1, &format!("{solve} --device cpu --checkpoint state --checkpoint-every 5 --max-iterations 12"));
    let elsewhere = opencl().unwrap_or_else(|| "--device cpu --threads 1".to_owned());
    let resumed = format!("{solve} {elsewhere} --lanes 16 --checkpoint state --resume --history h.csv");
    assert_eq!(folder.json(&resumed)["resumed_from"], 12);
    assert_eq!(folder.read("h.csv"), folder.read("whole.csv"));
}

#[test]
fn the_checkpoint_of_another_solve_is_refused_by_what_differs() {
    let folder = Folder::with_gauge();
    let checkpoint = "--checkpoint state --checkpoint-every 2";
    folder.fails(1, &format!("{SOLVE} --mass 0.1 {checkpoint} --max-iterations 4"));
    let fails = |what: &str| folder.fails(2, &format!("{SOLVE} {checkpoint} --resume {what}"));
    assert_contains(&fails("--mass 0.2"), &["state", "another solve", "wilson, mass 0.1", "wilson, mass 0.2"]);
    assert_contains(&fails("--mass 0.1 --precision f32"), &["its precision is f64", "f32"]);
    assert_contains(&fails("--mass 0.1 --solver bicgstab"), &["its solver is cg", "bicgstab"]);
    assert_contains(&fails("--mass 0.1 --boundary 1,1,1,1"), &["its boundary is"]);
    let mut bytes = folder.read("state");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.write("state", &bytes);
    assert_contains(&fails("--mass 0.1"), &["it is damaged", "SHA-256"]);
    folder.write("state", &bytes[..middle]);
    assert_contains(&fails("--mass 0.1"), &["it is truncated"]);
}

#[test]
#[ignore = "test-all: three operators on a device"]
fn a_record_is_replayed_on_any_layout_and_device() {
    let folder = Folder::with_gauge();
    for what in ["--operator clover --csw 1 --mass 0.3", "--mass 0.3 --solver mixed-half", "--mass 0.3 --batch 2"] {
        let solve = format!("solve --config gauge.nersc --source gauss:4 {what}");
        folder.succeeds(&format!("{solve} --device cpu --record record --record-every 7"));
        let lines = text(&folder.read("record")).lines().count();
        let devices = [Some("--device cpu --threads 1 --lanes 16".to_owned()), opencl()];
        for device in devices.into_iter().flatten() {
            let json = folder.json(&format!("{solve} {device} --verify record"));
            assert_eq!(json["compared_with_record"], lines - 1, "{what} {device}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_record_that_cannot_be_written_breaks_off_and_the_solve_goes_on() {
    let folder = Folder::with_gauge();
    for command in ["solve --source gauss:4", "propagator --operator wilson --source point:0,0,0,0"] {
        let run = format!("{command} --config gauge.nersc --mass 0.3 --device cpu");
        let output = folder.run(&format!("{run} --record /dev/full --output x.npy"));
        assert_eq!(output.status.code(), Some(1), "{command}: {}", text(&output.stderr));
        let said = [
            "without its record, which is incomplete",
            "/dev/full",
            "No space left",
            "error: the record is incomplete",
        ];
        assert_contains(&text(&output.stderr), &said);
        folder.succeeds(&format!("{run} --output y.npy"));
        assert!(folder.read("x.npy") == folder.read("y.npy"), "{command}: the solutions differ");
    }
}

/// Lines of a record with checks that fit, as of a solve that went another way.
fn resealed(lines: &[String]) -> Vec<u8> {
    let mut hasher = Sha256::new();
    let mut sealed = String::new();
    for line in lines {
        let (line, _) = line.split_once(",\"check\":\"").unwrap();
        hasher.update(line);
        sealed += &format!("{line},\"check\":\"{}\"}}\n", &hex::encode(hasher.clone().finalize())[..16]);
    }
    sealed.into_bytes()
}

#[test]
fn a_solve_that_went_another_way_is_found_by_iteration_and_quantity() {
    let folder = Folder::with_gauge();
    let solve = format!("{SOLVE} --mass 0.3");
    folder.succeeds(&format!("{solve} --record record"));
    let record = text(&folder.read("record"));
    let lines: Vec<String> = record.lines().map(str::to_owned).collect();
    assert_eq!(resealed(&lines), record.as_bytes());
    let verify = format!("{solve} --verify broken");
    // The last hex digit of a scalar of iteration 4, of a digest after iteration 10, and of those of the last line.
    for (part, member, expected) in [
        ("{\"iteration\":3,\"rhs\":0,\"quantity\":\"|r|²\"", "\"bits\":\"", "|r|² of iteration 3 has the bits"),
        ("{\"iteration\":10,\"field\":\"r\"", "\"sha256\":\"", "the field r after 10 iterations has the SHA-256"),
        ("{\"end\":", "\"links\":\"", "the configuration has the SHA-256"),
        ("{\"end\":", "\"source\":\"", "the source has the SHA-256"),
        ("{\"end\":", "\"solution\":\"", "the solution has the SHA-256"),
    ] {
        let at = lines.iter().position(|line| line.starts_with(part)).unwrap();
        let digit = lines[at].find(member).unwrap() + member.len();
        let mut broken = lines.clone();
        let other = if &broken[at][digit..=digit] == "0" { "1" } else { "0" };
        broken[at].replace_range(digit..=digit, other);
        folder.write("broken", (broken.join("\n") + "\n").as_bytes());
        let damaged = format!("the record broken is damaged at line {}", at + 1);
        folder.refuses(&verify, &[&damaged]);
        folder.write("broken", &resealed(&broken));
        assert_contains(
            &folder.fails(1, &verify),
            &[
                &format!("the solve differs from its record broken at line {}: {expected}", at + 1),
                ", and in the record ",
            ],
        );
    }
    folder.write("broken", (lines[..20].join("\n") + "\n").as_bytes());
    assert_contains(&folder.fails(1, &verify), &["where the record breaks off after line 20"]);
    let other = lines.iter().map(|line| line.replace("\"quantity\"", "\"quality\"")).collect::<Vec<_>>();
    folder.write("broken", &resealed(&other));
    folder.refuses(&verify, &["not a valid line of a record"]);
    // What is no record that a port could mean.
    for (content, says) in [
        ("", "line 1 of broken is not a valid line of a record: the file has no complete line"),
        (
            "{\"format\":\"lanefield record\",\"version\":2}\n",
            "it has no \"check\": that of a record without checks says \"checked\": false",
        ),
        (
            "{\"format\":\"lanefield record\",\"version\":2,\"checked\":false,\"identity\":[[\"mass\",\"0.3\"]]}\n",
            "unknown name 'mass' in the identity: expected one of operator, boundary, links, legs, configuration, source, precision, solver, preconditioning, tolerance, sum",
        ),
    ] {
        folder.write("broken", content.as_bytes());
        folder.refuses(&verify, &[says]);
    }
    let error = folder.fails(2, &format!("{SOLVE} --mass 0.4 --verify record"));
    assert_contains(&error, &["another solve", "wilson, mass 0.3", "wilson, mass 0.4"]);
}

/// A record as another program may write it: other blanks and another order of members, no digests, no identity but a word, checks of its own or none.
fn of_another_program(record: &str, checks: bool) -> String {
    let mut hasher = Sha256::new();
    let mut written = String::new();
    let mut add = |members: &[String]| {
        let line = format!("{{ {}", members.join(",  "));
        hasher.update(&line);
        let check = hex::encode(hasher.clone().finalize());
        written += &if checks { format!("{line}, \"check\": \"{}\" }}\n", &check[..16]) } else { line + " }\n" };
    };
    add(&[
        "\"version\": 2".into(),
        format!("\"checked\": {checks}"),
        "\"identity\": [[\"solver\", \"cg\"]]".into(),
        "\"format\": \"lanefield record\"".into(),
    ]);
    for line in record.lines().skip(1) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(bits) = line["bits"].as_str() {
            let value = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
            let (quantity, iteration) = (&line["quantity"], &line["iteration"]);
            add(&[
                format!("\"bits\": \"{}\"", bits.to_uppercase()),
                format!("\"value\": {value:e}"),
                format!("\"quantity\": {quantity}"),
                format!("\"iteration\": {iteration}"),
            ]);
        } else if line["end"].is_u64() {
            add(&[format!("\"solution\": {}", line["solution"]), format!("\"end\": {}", line["end"])]);
        }
    }
    written
}

#[test]
fn a_record_that_another_program_wrote_is_compared_as_far_as_it_goes() {
    let folder = Folder::with_gauge();
    let solve = format!("{SOLVE} --mass 0.3");
    folder.succeeds(&format!("{solve} --record record"));
    let record = text(&folder.read("record"));
    for checks in [true, false] {
        let theirs = of_another_program(&record, checks);
        folder.write("theirs", theirs.as_bytes());
        let output = folder.run(&format!("{solve} --verify theirs --json"));
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_contains(
            &said,
            &[
                "note: the record does not name these, so they are not compared: operator, boundary, links",
                "tolerance, sum",
            ],
        );
        assert_eq!(said.contains("has no checks"), !checks);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["compared_with_record"], theirs.lines().count() - 1);
        // One digit of a sum.
        let line = theirs.lines().find(|line| line.contains("\"iteration\": 3")).unwrap();
        let digit = line.find("\"bits\": \"").unwrap() + 9 + 15;
        let mut other = line.to_owned();
        other.replace_range(digit..=digit, if &line[digit..=digit] == "0" { "1" } else { "0" });
        folder.write("theirs", theirs.replace(line, &other).as_bytes());
        let output = folder.run(&format!("{solve} --verify theirs"));
        let (code, says) = match checks {
            true => (2, &["the record theirs is damaged at line"][..]),
            false => (1, &["<p, A p> of iteration 3 has the bits", "and in the record"][..]),
        };
        assert_eq!(output.status.code(), Some(code));
        assert_contains(&text(&output.stderr), says);
    }
}

#[test]
fn a_record_ends_with_the_digests_of_source_and_solution_as_files_have_them() {
    let folder = Folder::with_gauge();
    folder.succeeds(&format!("{SOLVE} --mass 0.3 --record record --output x.npy"));
    let end: serde_json::Value = serde_json::from_str(text(&folder.read("record")).lines().last().unwrap()).unwrap();
    let file = folder.read("x.npy");
    let header = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    assert_eq!(end["solution"], hex::encode(Sha256::digest(&file[header..])));
    folder.succeeds(&format!("{SOLVE} --mass 0.3 --record again --precision f32 --lanes 16"));
    let f32_end = text(&folder.read("again")).lines().last().unwrap().to_owned();
    let f32_end: serde_json::Value = serde_json::from_str(&f32_end).unwrap();
    assert_eq!((&end["links"], &end["source"]), (&f32_end["links"], &f32_end["source"]));
    assert_ne!(end["solution"], f32_end["solution"]);
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn the_record_of_a_propagator_is_replayed_on_any_layout_and_device() {
    let folder = Folder::with_gauge();
    let compute =
        "propagator --config gauge.nersc --source point:1,0,1,2 --operator dwf --ls 4 --mass 0.3 --output p.npy";
    folder.succeeds(&format!("{compute} --device cpu --record record"));
    let lines = text(&folder.read("record")).lines().count();
    let devices = [Some("--device cpu --threads 1 --lanes 16".to_owned()), opencl()];
    for device in devices.into_iter().flatten() {
        assert_eq!(folder.json(&format!("{compute} {device} --verify record"))["compared_with_record"], lines - 1);
    }
    let other = folder.fails(2, &format!("{} --device cpu --verify record", compute.replace("1,0,1,2", "1,0,1,3")));
    assert_contains(&other, &["another solve", "source is point:1,0,1,2"]);
}

#[test]
#[cfg(unix)]
fn a_checkpoint_that_cannot_be_written_is_a_warning_and_the_solve_goes_on() {
    let folder = Folder::with_gauge();
    folder.succeeds(&format!("{SOLVE} --mass 0.3 --history whole.csv"));
    folder.fails(1, &format!("{SOLVE} --mass 0.3 --checkpoint state --checkpoint-every 5 --max-iterations 6"));
    let state = folder.read("state");
    // In blocks of 512 bytes: checkpoints are larger, histories smaller.
    let output = folder.limited(
        "ulimit -f 64",
        &format!("{SOLVE} --mass 0.3 --checkpoint state --checkpoint-every 5 --resume --history h.csv"),
    );
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert_contains(&error, &["warning: a checkpoint was not written", "cannot write state", "File too large"]);
    assert!(folder.read("h.csv") == folder.read("whole.csv") && folder.read("state") == state);
    assert_eq!(folder.names(), ["gauge.nersc", "h.csv", "state", "whole.csv"]);
}

#[test]
fn iterations_that_run_out_are_kept_by_every_solver() {
    let folder = Folder::with_gauge();
    for solver in ["cg", "bicgstab", "mixed-f32", "mixed-half", "block-cg"] {
        let solve = format!("{SOLVE} --mass 0.3 --solver {solver}");
        folder.succeeds(&format!("{solve} --history whole.csv"));
        let run = format!("{solve} --checkpoint state --checkpoint-every 1000");
        let error = folder.fails(1, &format!("{run} --max-iterations 7 --history part.csv"));
        let continues = "with --resume and a larger --max-iterations continues from state";
        assert_contains(&error, &["no convergence in 7 iterations", continues]);
        assert_eq!(folder.json(&format!("{run} --resume --history h.csv"))["resumed_from"], 7, "{solver}");
        assert!(folder.read("h.csv") == folder.read("whole.csv"), "{solver}: the histories differ");
        ["whole.csv", "part.csv", "h.csv", "state"]
            .iter()
            .for_each(|file| std::fs::remove_file(folder.path(file)).unwrap());
    }
}

#[test]
fn the_record_of_a_solve_that_did_not_converge_is_replayed_too() {
    let folder = Folder::with_gauge();
    let solve = format!("{SOLVE} --mass 0.3 --max-iterations 5");
    folder.fails(1, &format!("{solve} --record record"));
    let output = folder.ends(1, &format!("{solve} --verify record --json"));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines = text(&folder.read("record")).lines().count();
    assert_eq!((&json["converged"], &json["compared_with_record"]), (&false.into(), &(lines - 1).into()));
}

#[test]
fn arguments_that_need_each_other_say_so() {
    let folder = Folder::with_gauge();
    let misused = |what: &str| folder.misused(&format!("{SOLVE} --mass 0.3 {what}"));
    assert_contains(&misused("--resume"), &["--checkpoint"]);
    assert_contains(&misused("--checkpoint-every 5"), &["--checkpoint <FILE>"]);
    assert_contains(&misused("--checkpoint c --checkpoint-every 0"), &["from 1 to"]);
    assert_contains(&misused("--checkpoint c --resume --record r"), &["cannot be used with"]);
    assert_contains(&misused("--record r --verify v"), &["cannot be used with"]);
    folder.refuses(&format!("{SOLVE} --mass 0.3 --checkpoint same.npy --output same.npy"), &["name the same file"]);
    assert_eq!(folder.names(), ["gauge.nersc"]);
}
