//! Commands on the ranks that mpirun starts: files and sums are those of one rank, byte for byte; what fails on a rank ends all of them, and loses nothing.
//! There are more ranks than cores.

use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lanefield::io::npy;
use num_complex::Complex;

use super::{Folder, assert_contains, opencl, text, words};

/// Files that a solve writes.
const FILES: [&str; 3] = ["x.npy", "h.csv", "r.jsonl"];
const OUTPUTS: &str = "--output x.npy --history h.csv --record r.jsonl --record-every 7";

impl Folder {
    /// `mpirun` with the program once for each group of arguments: as many ranks, and their arguments.
    fn mpirun(&self, groups: &[(usize, &str)]) -> Command {
        let mut command = Command::new("mpirun");
        command.current_dir(self.0.path()).env_remove("LANEFIELD_DEVICE").env("LANEFIELD_TUNING", "off");
        // Open MPI: more ranks than cores, which do not wait busily, also as root.
        for (name, value) in [
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("OMPI_MCA_hwloc_base_binding_policy", "none"),
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ] {
            command.env(name, value);
        }
        for (k, (ranks, arguments)) in groups.iter().enumerate() {
            if k > 0 {
                command.arg(":");
            }
            command.args(["-n", &ranks.to_string()]).arg(assert_cmd::cargo::cargo_bin!("lanefield"));
            command.args(words(arguments)).args(["--force"]);
        }
        command
    }

    fn on_ranks(&self, ranks: usize, arguments: &str) -> Output {
        self.mpirun(&[(ranks, arguments)]).output().unwrap()
    }

    /// What rank 0 prints of a command that must succeed on all ranks.
    fn succeeds_on(&self, ranks: usize, arguments: &str) -> String {
        let output = self.on_ranks(ranks, arguments);
        assert!(output.status.success(), "lanefield {arguments} on {ranks} ranks: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn all(&self, files: &[&str]) -> Vec<Vec<u8>> {
        files.iter().map(|file| self.read(file)).collect()
    }

    /// Fails unless a command writes the same bytes on so many ranks, with these arguments more, as on one. What it prints on one and on the ranks.
    #[track_caller]
    fn writes_the_same_on(&self, command: &str, files: &[&str], ranks: &[(usize, &str)]) -> (String, Vec<String>) {
        let printed = self.succeeds(command);
        let expected = self.all(files);
        let on_ranks = ranks.iter().map(|(ranks, more)| {
            let said = self.succeeds_on(*ranks, &format!("{command} {more}"));
            assert!(self.all(files) == expected, "{command} on {ranks} ranks {more}");
            said
        });
        (printed, on_ranks.collect())
    }
}

/// Solves of each operator, method and precision; each takes some ten iterations.
const SOLVES: [&str; 8] = [
    "--operator wilson --mass 0.3",
    "--operator wilson --mass 0.3 --precision f32 --reconstruct 12 --unpreconditioned",
    "--operator clover --csw 1.2 --mass 0.3 --reconstruct 8",
    "--operator clover --csw 1.2 --mass 0.3 --solver mixed-half",
    "--operator dwf --ls 4 --mass 0.3 --solver mixed-f32 --source point:3,1,2,6,1,2",
    "--operator wilson --mass 0.3 --batch 3",
    "--operator staggered --mass 0.5",
    "--operator wilson --mass 0.3 --solver bicgstab",
];

fn solve(of: &str) -> String {
    let source = if of.contains("--source") { "" } else { "--source gauss:7" };
    format!("solve --config gauge.nersc {source} {of} {OUTPUTS} --threads 1")
}

#[test]
#[ignore = "test-all: ranks"]
fn solves_have_the_same_bytes_on_any_number_of_ranks() {
    let folder = Folder::with_gauge();
    let cuts: [(usize, &[&str]); 6] = [
        (1, &["1.1.1.1"]),
        (2, &["1.1.1.2", "2.1.1.1"]),
        (3, &["1.1.1.3"]),
        (4, &["1.1.2.2", "1.1.1.4"]),
        (8, &["2.2.1.2", "1.1.2.4"]),
        (16, &["2.2.2.2"]),
    ];
    for (number, of) in SOLVES.into_iter().enumerate() {
        let cuts = cuts.map(|(ranks, cuts)| (ranks, format!("--ranks {} --check-packets", cuts[number % cuts.len()])));
        let given = cuts.iter().map(|(ranks, cut)| (*ranks, cut.as_str()));
        // The last one as it chooses itself.
        let given: Vec<_> = given.chain([(4, "")]).collect();
        folder.writes_the_same_on(&format!("{} --device cpu", solve(of)), &FILES, &given);
    }
}

#[test]
#[ignore = "test-all: ranks"]
fn ranks_on_opencl_and_on_the_cpu_reference_have_the_same_bytes() {
    let Some(device) = opencl() else { return };
    let folder = Folder::with_gauge();
    for of in [SOLVES[2], SOLVES[3], SOLVES[5]] {
        folder.succeeds(&format!("{} --device cpu", solve(of)));
        let expected = folder.all(&FILES);
        let on = |place: &str| format!("{} {place} --ranks 1.1.1.2", solve(of));
        let (on_cpu, on_device) = (on("--device cpu"), on(&device));
        for groups in [vec![(2, on_device.as_str())], vec![(1, on_cpu.as_str()), (1, on_device.as_str())]] {
            let output = folder.mpirun(&groups).output().unwrap();
            assert!(output.status.success(), "{of}: {}", text(&output.stderr));
            assert!(folder.all(&FILES) == expected, "{of} on {groups:?}");
        }
    }
}

#[test]
#[ignore = "test-all: ranks"]
fn a_checkpoint_of_four_ranks_is_resumed_on_any_number() {
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:7 --mass 0.3 --device cpu --threads 1 --output x.npy \
                 --history h.csv";
    folder.succeeds(solve);
    let expected = folder.all(&FILES[..2]);
    let begun = format!("{solve} --checkpoint state --checkpoint-every 4 --max-iterations 10");
    assert_eq!(folder.on_ranks(4, &begun).status.code(), Some(1));
    let state = folder.read("state");
    assert_eq!(folder.run(&begun).status.code(), Some(1));
    assert!(folder.read("state") == state, "the checkpoint of one rank");
    for ranks in [1, 2, 8] {
        folder.write("state", &state);
        let said = folder.succeeds_on(ranks, &format!("{solve} --checkpoint state --resume"));
        assert_contains(&said, &["the checkpoint of iteration 10"]);
        assert!(folder.all(&FILES[..2]) == expected, "{ranks} ranks");
    }
}

#[test]
#[ignore = "test-all: ranks"]
fn a_record_is_compared_on_ranks_and_a_difference_ends_all_of_them() {
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:7 --mass 0.3 --device cpu --threads 1";
    folder.succeeds(&format!("{solve} --record r.jsonl"));
    let said = folder.succeeds_on(3, &format!("{solve} --verify r.jsonl"));
    assert_contains(&said, &["the same in all "]);
    let record = text(&folder.read("r.jsonl"));
    // Another digit in a scalar, and no checks, which would tell that the line is damaged.
    let line = record.lines().filter(|line| line.contains("\"bits\"")).nth(6).unwrap();
    let (start, bits) = line.split_once("\"bits\":\"").unwrap();
    let other = format!("{start}\"bits\":\"{}{}", if bits.starts_with('3') { '4' } else { '3' }, &bits[1..]);
    let mut lines: Vec<serde_json::Value> =
        record.replacen(line, &other, 1).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("check");
    }
    lines[0]["checked"] = false.into();
    folder.write("r.jsonl", lines.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes());
    let output = folder.on_ranks(3, &format!("{solve} --verify r.jsonl"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_contains(&text(&output.stderr), &["r.jsonl"]);
}

#[test]
#[ignore = "test-all: ranks"]
fn other_commands_write_and_print_on_ranks_what_they_do_on_one() {
    let folder = Folder::with_gauge();
    let cpu = "--device cpu --threads 1";
    for (command, files) in [
        ("config generate hot --lattice 4.4.6.8 --seed 5 --output hot.nersc".to_owned(), vec!["hot.nersc"]),
        ("config generate weak --lattice 4.4.6.8 --seed 5 --output weak.npy".to_owned(), vec!["weak.npy"]),
        ("config convert hot.nersc two.nersc --rows 2 --floating-point IEEE32".to_owned(), vec!["two.nersc"]),
        ("config convert two.nersc two.npy".to_owned(), vec!["two.npy"]),
        ("config info two.npy --json".to_owned(), vec![]),
        (
            format!("apply --operator hop --config hot.nersc --source gauss:3 --parity odd --output hop.npy {cpu}"),
            vec!["hop.npy", "hop.npy.json"],
        ),
        (
            format!(
                "apply --operator clover --mass 0.1 --dagger --config two.npy --source hop.npy --output c.npy {cpu}"
            ),
            vec!["c.npy", "c.npy.json"],
        ),
        (format!("reduce --op norm2 --input c.npy {cpu}"), vec![]),
        (format!("reduce --op inner --input c.npy --with hop.npy --parity even {cpu}"), vec![]),
        (format!("reduce --op slices --direction z --input c.npy {cpu}"), vec![]),
        (format!("reduce --op sum --input two.npy {cpu}"), vec![]),
    ] {
        let (printed, said) = folder.writes_the_same_on(&command, &files, &[2, 3, 4].map(|ranks| (ranks, "")));
        let is_sum = command.starts_with("reduce");
        assert!(!is_sum || said.iter().all(|said| *said == printed), "{command}: {said:?}");
    }
}

#[test]
#[ignore = "test-all: ranks"]
fn a_propagator_is_the_same_in_groups_of_ranks() {
    let folder = Folder::with_gauge();
    let of = |operator: &str| {
        format!(
            "propagator --config gauge.nersc --source point:1,2,3,4 --mass 0.4 {operator} --output p.npy --device cpu --threads 1"
        )
    };
    for (operator, ranks) in
        [("--operator wilson", [(2, 2), (6, 3), (12, 12)]), ("--operator dwf --ls 4", [(2, 1), (4, 2), (3, 3)])]
    {
        let command = of(operator);
        let printed = folder.json(&command);
        let expected = folder.all(&["p.npy", "p.npy.json"]);
        for (ranks, groups) in ranks {
            let said = folder.succeeds_on(ranks, &format!("{command} --groups {groups} --json"));
            assert!(folder.all(&["p.npy", "p.npy.json"]) == expected, "{operator}, {groups} groups of {ranks}");
            let said: serde_json::Value = serde_json::from_str(&said).unwrap();
            assert_eq!(said["rhs"], printed["rhs"], "{operator}, {groups} groups of {ranks}");
        }
    }
    let refused = folder.on_ranks(2, &format!("{} --groups 2 --record r.jsonl", of("--operator wilson")));
    assert_eq!(refused.status.code(), Some(2));
    assert_contains(&text(&refused.stderr), &["--groups 2", "leave out --checkpoint, --record and --verify"]);
}

#[test]
#[ignore = "test-all: ranks"]
fn verify_draws_decompositions_and_bench_measures_them() {
    let folder = Folder::new();
    let said = folder.succeeds_on(3, "verify --decompositions 14 --device cpu --threads 1");
    assert_contains(&said, &["same bits: 14 random decompositions", "3 ranks"]);
    let said = folder.succeeds_on(
        2,
        "bench ranks --ranks 1.1.1.2 --lattice 4.4.4.8 --kernel hop --precision f32 --iterations 8 --samples 2 --device cpu --threads 1 --json",
    );
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&report["ranks_in_all"], &report["part"]), (&2.into(), &[4, 4, 4, 4].into()));
    assert_eq!(report["ranks"], serde_json::json!([1, 1, 1, 2]));
    // Half spinors in f32 of a slice of one parity, to both sides.
    assert_eq!(report["rows"][0]["sent_bytes"], 2 * 32 * 6 * 8);
    assert!(report["rows"][1]["strong_scaling"].is_number());
}

#[test]
#[ignore = "test-all: ranks"]
fn a_trace_has_the_tracks_of_all_ranks() {
    let folder = Folder::with_gauge();
    folder.succeeds_on(
        2,
        "solve --config gauge.nersc --source gauss:7 --mass 0.3 --device cpu --threads 1 --trace t.json",
    );
    let trace: serde_json::Value = serde_json::from_slice(&folder.read("t.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named: Vec<&str> = events
        .iter()
        .filter(|event| event["name"] == "process_name")
        .map(|event| event["args"]["name"].as_str().unwrap())
        .collect();
    assert!(
        named.iter().any(|name| name.starts_with("rank 0: ")) && named.iter().any(|name| name.starts_with("rank 1: "))
    );
    for pid in [1, 1001] {
        assert!(events.iter().any(|event| event["pid"] == pid && event["name"] == "exchange"), "{pid}");
    }
}

#[test]
#[ignore = "test-all: ranks"]
fn what_cannot_be_is_said_once_and_ends_all_ranks() {
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:7 --mass 0.3 --device cpu --threads 1";
    for (ranks, command, parts) in [
        (3, format!("{solve} --ranks 1.1.1.2"), ["1.1.1.2 needs 2 ranks, and there are 3", "start 2"]),
        (5, format!("{solve} --ranks 1.1.1.5"), ["5 ranks cannot divide extent 8 of t", "at most 4 can"]),
        (7, solve.to_owned(), ["7 ranks cannot divide a lattice of 4.4.4.8", "possible numbers of ranks are "]),
        (2, format!("{solve} --sum tree"), ["failed to solve", "tree"]),
        (
            2,
            "correlator --propagator p.npy".to_owned(),
            ["correlator runs on one rank, and 2 were started", "solve, eigen, propagator"],
        ),
        (2, solve.replace("gauge", "none"), ["none.nersc", "No such file"]),
    ] {
        let start = Instant::now();
        let output = folder.on_ranks(ranks, &command);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command} on {ranks} ranks: {said}");
        assert_contains(&said, &parts);
        assert_eq!(said.matches("error: ").count(), 1, "{said}");
        assert!(start.elapsed() < Duration::from_secs(20), "{command}");
    }
}

#[test]
#[ignore = "test-all: ranks"]
fn an_error_of_another_rank_is_named_with_its_number() {
    let folder = Folder::with_gauge();
    let solve =
        |tail: &str| format!("solve --config gauge.nersc --source gauss:7 --mass 0.3 --threads 1 --device cpu {tail}");
    let (right, wrong) = (solve(""), solve("").replace("gauge.nersc", "other.nersc"));
    let output = folder.mpirun(&[(1, right.as_str()), (1, wrong.as_str())]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_contains(&text(&output.stderr), &["rank 1: error: ", "other.nersc"]);
}

/// The processes of the ranks.
fn ranks_of(mpirun: &Child) -> Vec<u32> {
    let list = format!("/proc/{0}/task/{0}/children", mpirun.id());
    let children = std::fs::read_to_string(list).unwrap_or_default();
    let is_rank =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "lanefield");
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(is_rank).collect()
}

fn kill(pid: u32, signal: &str) {
    Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
}

/// A solve that takes a second or so, and its files.
fn long_solve(folder: &Folder) -> (String, Vec<Vec<u8>>) {
    folder.succeeds("config generate weak --lattice 8.8.8.8 --seed 1 --output long.nersc");
    let solve = "solve --config long.nersc --source gauss:7 --mass -0.2 --device cpu --threads 1 --output x.npy \
                 --history h.csv --checkpoint state --checkpoint-every 5";
    folder.succeeds(solve);
    (solve.to_owned(), folder.all(&FILES[..2]))
}

#[test]
#[ignore = "test-all: ranks"]
fn a_rank_that_is_killed_ends_the_job_and_nothing_is_lost() {
    let folder = Folder::new();
    let (solve, expected) = long_solve(&folder);
    let kills: u64 = std::env::var("LANEFIELD_KILLS").map_or(3, |kills| kills.parse().unwrap());
    let (mut killed, mut resumed) = (0, 0);
    for run in 0..kills {
        for file in ["state", "x.npy", "x.npy.json", "h.csv"] {
            let _ = std::fs::remove_file(folder.path(file));
        }
        let [moment, victim, ..] =
            lanefield::reference::random::bits(3, lanefield::reference::random::Stream::TestData, run, 0);
        let mut job = folder.mpirun(&[(3, &solve)]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(300 + u64::from(moment % 1500)));
        let ranks = ranks_of(&job);
        if !ranks.is_empty() {
            kill(ranks[victim as usize % ranks.len()], "-KILL");
        }
        let start = Instant::now();
        let status = job.wait().unwrap();
        assert!(start.elapsed() < Duration::from_secs(30), "run {run}: the job did not end");
        killed += usize::from(!status.success());
        let said = folder.succeeds_on(2, &format!("{solve} --resume"));
        resumed += usize::from(said.contains("resumed from"));
        assert!(folder.all(&FILES[..2]) == expected, "run {run}");
    }
    println!("{killed} of {kills} jobs ended by it, {resumed} went on from a checkpoint");
    assert!(killed > 0, "no job was still running");
}

#[test]
#[ignore = "test-all: ranks"]
fn a_signal_to_one_rank_stops_all_at_the_same_iteration() {
    let folder = Folder::new();
    let (solve, expected) = long_solve(&folder);
    std::fs::remove_file(folder.path("state")).unwrap();
    let mut job = folder.mpirun(&[(3, &format!("{solve} --tolerance 1e-90"))]).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !folder.path("state").exists() && start.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(20));
    }
    kill(*ranks_of(&job).last().unwrap(), "-TERM");
    assert!(!job.wait().unwrap().success());
    // The checkpoint is of another tolerance, and says so.
    let refused = folder.on_ranks(2, &format!("{solve} --resume"));
    assert_contains(&text(&refused.stderr), &["its tolerance is 1e-90"]);
    std::fs::remove_file(folder.path("state")).unwrap();
    folder.succeeds_on(2, &solve);
    assert!(folder.all(&FILES[..2]) == expected);
}

/// A command on gauge fields, and the files that it writes.
const ON_GAUGE_FIELDS: [(&str, &[&str]); 4] = [
    (
        "flow --config gauge.nersc --action symanzik --step 0.05 --time 0.05 --output f.nersc --csv f.csv",
        &["f.nersc", "f.csv"],
    ),
    ("smear --smear stout:0.1,1 --config gauge.nersc --output s.lime", &["s.lime"]),
    ("gaugefix --config gauge.nersc --gauge coulomb --output g.npy --tolerance 0.01", &["g.npy"]),
    ("observe --config gauge.nersc --observables plaquette,clover,polyakov,wilson --loops 1,2", &[]),
];

#[test]
#[ignore = "test-all: ranks"]
fn gauge_fields_have_the_same_bytes_on_ranks() {
    let folder = Folder::with_gauge();
    for (command, files) in ON_GAUGE_FIELDS {
        let command = format!("{command} --device cpu --threads 1");
        let cuts = [(2, "--ranks 1.1.1.2"), (2, "--ranks 1.1.2.1")];
        let (printed, said) = folder.writes_the_same_on(&command, files, &cuts);
        assert_eq!(said, [&printed[..]; 2], "{command}");
    }
}

#[test]
#[ignore = "test-all: ranks"]
fn eigenvectors_and_blocks_have_the_same_bytes_on_ranks() {
    let folder = Folder::with_gauge();
    let eigen = "eigen --config gauge.nersc --mass 0.1 --number 3 --tolerance 1e-8 --threads 1 --device cpu";
    folder.succeeds(&format!("{eigen} --output one.eigen"));
    let block = format!("{} --deflate one.eigen --device cpu", solve("--mass 0.1 --batch 2 --solver block-cg"));
    for cut in ["--ranks 1.1.1.2", "--ranks 2.1.1.1"] {
        folder.succeeds_on(2, &format!("{eigen} --output two.eigen {cut}"));
        assert!(folder.read("two.eigen") == folder.read("one.eigen"), "{cut}");
    }
    folder.writes_the_same_on(&block, &FILES, &[(2, "--ranks 1.1.1.2"), (2, "--ranks 2.1.1.1")]);
}

/// A hop of three steps needs parts of four slices.
#[test]
#[ignore = "test-all: ranks"]
fn hisq_fermions_have_the_same_bytes_on_parts_that_are_wide_enough() {
    let folder = Folder::with_gauge();
    let solve = solve("--operator hisq --mass 0.5 --boundary 1,0.3pi,-0.5pi,pi/3 --device cpu");
    folder.writes_the_same_on(&solve, &FILES, &[(2, "--ranks 1.1.1.2")]);
    let narrow = folder.on_ranks(2, &format!("{solve} --ranks 1.1.2.1"));
    let said = text(&narrow.stderr);
    assert_eq!(narrow.status.code(), Some(2), "{said}");
    assert_contains(&said, &["3 steps along z reach beyond the neighbouring rank", "4.4.2.8", "fewer ranks along z"]);
}

#[test]
#[ignore = "test-all: ranks"]
fn correlators_have_the_bytes_of_one_rank_and_a_run_goes_on_on_others() {
    let folder = Folder::with_gauge();
    folder.succeeds("config generate weak --lattice 4.4.4.8 --seed 5 --output other.nersc");
    let quark = "--operator wilson --mass 0.5 --source point:1,0,2,6 --smear-source 0.25,3 --smear-sink 0.25,2 --momentum 1,0,0 --boundary 0.3pi,1,-1,pi/3 --device cpu";
    folder.succeeds(&format!("spectrum measure --config gauge.nersc other.nersc {quark} --output one.json"));
    let parts = format!("{quark} --output parts.json --resume");
    folder.succeeds_on(2, &format!("spectrum measure --config gauge.nersc {parts} --ranks 1.1.1.2"));
    folder.succeeds_on(4, &format!("spectrum measure --config gauge.nersc other.nersc {parts} --ranks 2.1.1.2"));
    assert!(folder.read("one.json") == folder.read("parts.json"));
}

#[test]
#[ignore = "test-all: ranks"]
fn extended_sources_have_the_bytes_of_one_rank() {
    let folder = Folder::with_gauge();
    // Twelve columns on time slice 6.
    let number = |k: usize| match k / 12 / 64 % 8 {
        6 => Complex::new((k % 7) as f64, (k % 5) as f64 - 2.0),
        _ => Complex::ZERO,
    };
    let columns: Vec<Complex<f64>> = (0..12 * 12 * 512).map(number).collect();
    npy::write_complex(&folder.path("columns.npy"), &[12, 8, 4, 4, 4, 4, 3], &columns).unwrap();
    let quark =
        "--operator wilson --mass 0.5 --smear-source 0.25,2 --smear-links spatial-ape:0.5,2 --device cpu --threads 1";
    let all = "--source wall:3 momentum:1,0,-1,6 z2:7,5 z4:7,0 columns.npy";
    let [files, of_propagator] = [["s.json"].as_slice(), &["p.npy", "p.npy.json"]];
    let propagator = |source: &str| format!("propagator --config gauge.nersc --source {source} --output p.npy {quark}");
    for (line, files) in [
        (propagator("momentum:1,0,-1,6"), of_propagator),
        (propagator("z4:7,3"), of_propagator),
        (propagator("columns.npy"), of_propagator),
        (
            format!(
                "spectrum measure --config gauge.nersc --hadrons pion,rho {all} --output s.json --smear-sink 0.25,1 {quark}"
            ),
            files,
        ),
    ] {
        folder.writes_the_same_on(&line, files, &[(2, "--ranks 1.1.1.2"), (2, "--ranks 2.1.1.1")]);
    }
}

#[test]
#[ignore = "test-all: ranks"]
fn an_ensemble_goes_on_with_the_bytes_of_one_rank_on_another_number_of_ranks() {
    let folder = Folder::new();
    let run = "config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 3 --overrelax 1 --every 2 --device cpu --threads 1";
    folder.succeeds(&format!("{run} --sweeps 6 --output whole"));
    folder.succeeds_on(3, &format!("{run} --sweeps 3 --output parts"));
    folder.succeeds(&format!("{run} --sweeps 4 --output parts --resume"));
    folder.succeeds_on(2, &format!("{run} --sweeps 6 --output parts --resume"));
    for file in ["000002.nersc", "000004.nersc", "000006.nersc", "history.csv", "ensemble.json"] {
        assert!(folder.read(&format!("whole/{file}")) == folder.read(&format!("parts/{file}")), "{file}");
    }
    // Of an action with rectangles.
    let improved = run.replace("--beta 5.7", "--beta 4.2 --action symanzik");
    folder.succeeds(&format!("{improved} --sweeps 2 --output one"));
    folder.succeeds_on(2, &format!("{improved} --sweeps 2 --output two"));
    for file in ["000002.nersc", "history.csv"] {
        assert!(folder.read(&format!("one/{file}")) == folder.read(&format!("two/{file}")), "{file}");
    }
}
