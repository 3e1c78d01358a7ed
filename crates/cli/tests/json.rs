//! The shape of what each command prints with `--json`: the head, which all have, the keys and their types, the units in the keys, and the page that
//! describes them. `cargo insta review` (or INSTA_UPDATE=always) takes a new shape; a key that was renamed or removed is a new schema
//! (`crates/lab/src/kind.rs`).

use std::collections::BTreeMap;
use std::path::Path;

use lanefield_lab::Kind;
use serde_json::Value;

use super::{Folder, opencl, text};

/// Writes the keys of a value and their types, a line each: of a list the types of all elements together.
fn shape(name: &str, value: &Value, lines: &mut BTreeMap<String, Vec<&'static str>>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    let kinds = lines.entry(name.to_owned()).or_default();
    if !kinds.contains(&kind) {
        kinds.push(kind);
        kinds.sort_unstable();
    }
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| shape(&format!("{name}[]"), element, lines)),
        Value::Object(fields) => {
            let key = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
            fields.iter().for_each(|(field, value)| shape(&key(field), value, lines));
        }
        _ => {}
    }
}

/// What is there, or not, by chance or by what a driver tells: a plateau that a curve may not have, what became of a candidate.
const BY_CHANCE: [&str; 21] = [
    // Which orders are as fast as the best.
    "as_fast[]",
    "fastest[].as_fast[]",
    "rows[].share_of_same_read",
    // Null where noise lets several ranks seem faster than they can be.
    "rows[].implausible[]",
    "rows[].strong_scaling",
    "rows[].weak_scaling",
    // Null where this machine's caches hold the data.
    "rows[].share_of_ceiling",
    "rows[].share_of_read_bandwidth",
    "kernels[].share_of_copy",
    "left_out[]",
    "l1_bytes_per_second",
    "l2_bytes_per_second",
    "latency_seconds.l1",
    "latency_seconds.l2",
    "plateaus[]",
    "roofline.roofs[]",
    "kernels[].searched.candidates[]",
    "kernels[].searched.choice.",
    "kernels[].findings[]",
    "guidelines[].factor",
    "guidelines[].remark",
];

/// The keys of a document with their types, a line each.
fn shape_of(document: &Value) -> String {
    let mut lines = BTreeMap::new();
    shape("", document, &mut lines);
    lines.remove("");
    lines.retain(|name, _| !BY_CHANCE.iter().any(|prefix| name.starts_with(prefix)));
    let line = |(name, kinds): (String, Vec<&str>)| format!("{name}: {}\n", kinds.join(" | "));
    lines.into_iter().map(line).collect()
}

/// Each kind with a command that prints it; those that need an OpenCL device end in the word DEVICE, which stands for the arguments that name it.
const COMMANDS: [(Kind, &str); 60] = [
    (Kind::Config, "config info gauge.nersc"),
    (Kind::Config, "config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc"),
    (Kind::Config, "config generate unit --lattice 4.4.4.4 --output unit.lime"),
    (Kind::Config, "config generate hot --lattice 4.4.4.4 --seed 1 --output hot.milc"),
    (Kind::Config, "config convert gauge.nersc again.nersc"),
    (Kind::Config, "config project gauge.nersc projected.nersc"),
    (Kind::ConfigCheck, "config check gauge.nersc"),
    (
        Kind::Ensemble,
        "config generate heatbath --beta 6 --lattice 2.2.2.2 --seed 1 --sweeps 2 --every 1 --output ensemble --device cpu",
    ),
    (Kind::Apply, "apply --operator hop --config gauge.nersc --source gauss:3 --output hop.npy --device cpu"),
    (Kind::Reduce, "reduce --op slices --direction t --input hop.npy --device cpu"),
    (Kind::Compare, "compare hop.npy hop.npy"),
    (Kind::Compare, "compare hop.npy other.npy"),
    (Kind::Compare, "compare hop.npy other.npy --config gauge.nersc --source gauss:3 --mass 0.5 --plot difference.svg"),
    (Kind::Compare, "compare hop.npy other.npy --config gauge.nersc --source gauss:3 --operator wilson --mass 0.5"),
    (Kind::Solve, "solve --config gauge.nersc --source gauss:1 --mass 0.5 --device cpu --record r.jsonl"),
    (Kind::Eigen, "eigen --config gauge.nersc --mass 0.5 --number 2 --output low.eigen --device cpu"),
    (Kind::SolveDifference, "solve --config gauge.nersc --source gauss:1 --mass 0.5 --device cpu --verify sooner"),
    (
        Kind::Propagator,
        "propagator --operator wilson --config gauge.nersc --source point:0,0,0,0 --mass 0.5 --output p.npy --device cpu",
    ),
    (Kind::Correlator, "correlator --propagator p.npy --device cpu"),
    (Kind::Flow, "flow --config gauge.nersc --step 0.05 --time 0.1 --device cpu"),
    (Kind::Smear, "smear --smear stout:0.1,1 --config gauge.nersc --output stout.nersc --device cpu"),
    (
        Kind::Gaugefix,
        "gaugefix --gauge coulomb --config gauge.nersc --tolerance 1e-4 --output coulomb.nersc --device cpu",
    ),
    (Kind::Observe, "observe --config gauge.nersc --observables plaquette,polyakov --device cpu"),
    (Kind::Potential, "potential --config gauge.nersc weak.nersc --smear spatial-ape:0.5,2 --loops 3,2 --device cpu"),
    (
        Kind::SpectrumMeasure,
        "spectrum measure --config gauge.nersc weak.nersc --operator wilson --mass 0.5 --source point:0,0,0,0 --hadrons pion,rho --output spectrum.json --device cpu",
    ),
    (Kind::SpectrumFit, "spectrum fit spectrum.json --uncorrelated --fit pion:1:3"),
    (Kind::Source, "source gauss:3 --lattice 4.4.4.8 --output eta.npy"),
    (Kind::Run, "run --kernel axpy_norm --in x=eta.npy --in y=hop.npy --scalar a=0.5 --out y=sum.npy --device cpu"),
    (Kind::GoldenExport, "golden export golden --kernel scale --lattice 2.2.2.4 --device cpu"),
    (Kind::GoldenCheck, "golden check golden --against golden"),
    (Kind::Demo, "demo --device cpu"),
    (Kind::Devices, "devices DEVICE"),
    (Kind::Verify, "verify --device cpu --smoke"),
    (Kind::Hunt, "hunt --seconds 1 --seed 1 --jobs 1 DEVICE"),
    (Kind::VerifyRanks, "verify --decompositions 2 --device cpu"),
    (Kind::VerifyList, "verify --list"),
    (Kind::Bench, "bench --kernel axpy,eo_clover --lattice 4.4.4.4 --samples 2 --precision f32 --device cpu"),
    (Kind::BenchOrders, "bench orders --lattice 4.4.4.4 --samples 2 --device cpu"),
    (Kind::BenchSprint, "bench sprint --lattice 4.4.4.4 --samples 2 --device cpu"),
    (
        Kind::BenchThreads,
        "bench threads --kernel axpy --lattice 2.2.2.2 --precision f32 --accelerator-threads 8 --samples 2 DEVICE",
    ),
    (Kind::BenchGauge, "bench gauge --lattice 4.4.4.4 --only heat --samples 2 --device cpu"),
    (Kind::BenchRanks, "bench ranks --lattice 4.4.4.4 --precision f32 --iterations 8 --samples 2 --device cpu"),
    (Kind::BenchReduce, "bench reduce --lattice 2.2.2.4 --object complex --precision f32 --samples 2 --device cpu"),
    (
        Kind::Tune,
        "tune --kernel hop --precision f32 --reconstruct 12 --lattice 4.4.4.4 --access word --site-order lexicographic --budget 1 DEVICE",
    ),
    (Kind::Guidelines, "guidelines coalesced --tiny --samples 3 DEVICE"),
    (Kind::GuidelinesList, "guidelines --list atomics"),
    (Kind::Peak, "peak --quick --bytes 64KiB --roofline r.svg --kernel axpy --lattice 4.4.4.4 DEVICE"),
    (Kind::Doctor, "doctor --kernel axpy --lattice 4.4.4.4 --samples 2 DEVICE"),
    (Kind::Occupancy, "occupancy --arch gfx90a --vgprs 128 --sweep accelerator_threads=2,4"),
    (Kind::AccessKernel, "access --kernel hop --lattice 8.8.8.8"),
    (Kind::AccessPattern, "access --example all"),
    (Kind::AccessRow, "access --row 96"),
    (Kind::EstimateKernel, "estimate --machine h200 --kernel hop --lattice 8.8.8.16 --want 1"),
    (Kind::EstimateTraversal, "estimate --machine proxy --traversal"),
    (Kind::EstimateWorkload, "estimate --machine proxy --workload w.toml"),
    (Kind::EstimateRanks, "estimate --kernel hop --lattice 8.8.8.16 --cluster h200-infiniband --ranks 1,2"),
    (Kind::EstimateList, "estimate --list"),
    (Kind::Counters, "counters --bytes 78MB --time 0.27ms --ceiling 1000"),
    (Kind::Counters, "counters ncu.csv"),
    (Kind::Doctor, "doctor --counters ncu.csv"),
];

/// What a command prints; none where it needs an OpenCL device and there is none.
fn document(folder: &Folder, command: &str) -> Option<Value> {
    let arguments = match command.strip_suffix("DEVICE") {
        Some("devices ") => "devices".to_owned(),
        Some(start) => start.to_owned() + &opencl()?,
        None => command.to_owned(),
    };
    let output = folder.run(&format!("{arguments} --json"));
    let printed = text(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments}: {}", text(&output.stderr));
    // A key that stands twice would not be seen below.
    let top = printed.lines().filter(|line| line.starts_with("  \"")).map(|line| line.split(':').next().unwrap());
    let mut keys: Vec<&str> = top.collect();
    let number = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(number, keys.len(), "{arguments}: a key stands twice: {printed}");
    Some(serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{arguments}: {error}: {printed}")))
}

/// A folder with what the commands read that no other of them writes.
fn folder() -> Folder {
    let folder = Folder::with_gauge();
    folder.succeeds(
        "apply --operator hop --config gauge.nersc --source gauss:3 --boundary 1,1,1,1 --output other.npy --device cpu",
    );
    folder.write("w.toml", b"levels = 24\ndivergence = 0.1\n");
    folder.write("ncu.csv", include_bytes!("../../lab/tests/data/counters/ncu_h200_raw.csv"));
    // The record of a solve that ended sooner.
    folder.fails(
        1,
        "solve --config gauge.nersc --source gauss:1 --mass 0.5 --device cpu --max-iterations 5 --record sooner",
    );
    folder
}

/// The section of docs/json.md with a heading.
fn section(heading: &str) -> String {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md")).unwrap();
    let heading = format!("\n{heading}\n");
    let after = page.split_once(&heading).unwrap_or_else(|| panic!("docs/json.md has no {heading:?}")).1;
    let end = after.find("\n## ").unwrap_or(after.len()).min(after.find("\n### ").unwrap_or(after.len()));
    after[..end].to_owned()
}

#[test]
fn every_document_has_its_shape_its_head_and_its_section_in_the_documentation() {
    let folder = folder();
    let mut printed = Vec::new();
    for (kind, command) in COMMANDS {
        let Some(document) = document(&folder, command) else { continue };
        assert_eq!((&document["kind"], &document["schema"]), (&kind.name().into(), &kind.schema().into()), "{command}");
        assert_eq!(document["lanefield"]["version"], env!("CARGO_PKG_VERSION"), "{command}");
        assert!(document["device"].is_null() || document["device"]["name"].is_string(), "{command}");
        // On a loaded machine the kernel of this point may be faster than what was measured as its roof: then there is no share.
        let shape = shape_of(&document).replace("share_of_memory_roof: null", "share_of_memory_roof: number");
        assert_units(&shape, command);
        assert_documented(kind, &shape);
        printed.push((kind, is_of_usual_driver(&document), shape));
    }
    // Of one kind, all documents together.
    for &kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Trace) {
        let shapes: Vec<&str> =
            printed.iter().filter(|(of, ..)| *of == kind).map(|(.., shape)| shape.as_str()).collect();
        let of_usual_drivers = printed.iter().all(|(of, usual, _)| *of != kind || *usual);
        if shapes.is_empty() || !of_usual_drivers {
            continue;
        }
        insta::assert_snapshot!(kind.name().replace(' ', "_"), shapes.join("\n"));
    }
}

/// Whether the devices of a document are the CPU reference and those of PoCL: what other drivers tell, or do not, is not part of the shape.
fn is_of_usual_driver(document: &Value) -> bool {
    let listed = document["opencl"].as_array();
    let devices = listed.into_iter().flatten().chain([&document["device"]]);
    let mut platforms = devices.filter_map(|device| device["platform"].as_str());
    platforms.all(|platform| platform == "Portable Computing Language")
        && listed.is_none_or(|listed| !listed.is_empty())
        && document["faults"].as_array().is_none_or(Vec::is_empty)
}

/// Fails where a key names a unit other than those of SI, or bits are not 16 digits.
fn assert_units(shape: &str, command: &str) {
    for name in shape.lines().map(|line| line.split(": ").next().unwrap()) {
        let key = name.rsplit(['.', '[']).next().unwrap();
        let other = [
            "_us",
            "_ms",
            "_ns",
            "_mhz",
            "_khz",
            "_gb",
            "_mb",
            "_kb",
            "_kib",
            "_mib",
            "_percent",
            "microseconds",
            "nanoseconds",
            "gb_per",
            "gflop",
            "percentage",
        ];
        assert!(
            !other.iter().any(|unit| key.ends_with(unit) || (unit.len() > 4 && key.contains(unit))),
            "{command}: {name}"
        );
    }
}

/// Fails unless each key of a shape stands in the section of its kind, or among what several kinds share.
fn assert_documented(kind: Kind, shape: &str) {
    let own = section(&format!("### `{}`", kind.name()));
    let shared = ["## The head", "## Shared objects"].map(section).concat();
    for line in shape.lines() {
        let name = line.split(": ").next().unwrap();
        let key = name.trim_end_matches("[]").rsplit('.').next().unwrap();
        // Keys of tuning parameters and of operators are the words of the command line.
        if ["tuning.", "parameters.", "choice.", "counts."].iter().any(|inside| name.contains(inside)) {
            continue;
        }
        let quoted = format!("`{key}`");
        assert!(
            own.contains(&quoted) || shared.contains(&quoted),
            "docs/json.md, `{}`: no {quoted} ({name})",
            kind.name()
        );
    }
}

#[test]
fn bits_are_16_digits_without_a_prefix() {
    fn check(value: &Value, at: &str) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    if let (true, Some(bits)) = (key == "bits" || key.ends_with("_bits"), value.as_str()) {
                        assert!(bits.len() == 16 && u64::from_str_radix(bits, 16).is_ok(), "{at}.{key}: {bits}");
                    }
                    check(value, &format!("{at}.{key}"));
                }
            }
            Value::Array(elements) => elements.iter().for_each(|element| check(element, at)),
            _ => {}
        }
    }
    let folder = folder();
    for (kind, command) in COMMANDS {
        if [Kind::Apply, Kind::Reduce, Kind::Solve, Kind::Propagator, Kind::Correlator].contains(&kind) {
            check(&document(&folder, command).unwrap(), kind.name());
        }
    }
}

/// Commands and subcommands by their words, with what they say of themselves.
fn commands(folder: &Folder, path: &str) -> Vec<(String, String)> {
    let help = folder.succeeds(&format!("{path} --help-all"));
    // Those of the program are in groups, which its options follow.
    let listed = match help.split_once("\nCommands:\n") {
        Some((_, listed)) => listed.lines().take_while(|line| line.starts_with("  ")).collect::<Vec<_>>(),
        None if path.is_empty() => help.lines().take_while(|line| *line != "Options:").collect(),
        None => Vec::new(),
    };
    let names = listed.into_iter().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let below: Vec<_> = names.flat_map(|name| commands(folder, format!("{path} {name}").trim())).collect();
    std::iter::once((path.to_owned(), help.clone())).chain(below).collect()
}

#[test]
fn every_kind_and_every_command_with_json_is_in_the_list() {
    for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Trace) {
        assert!(COMMANDS.iter().any(|(listed, _)| listed == kind), "{}", kind.name());
    }
    let found = commands(&Folder::new(), "");
    assert!(found.iter().any(|(path, _)| path == "bench sprint") && found.len() > 20, "{}", found.len());
    // Examples may show the option of another command.
    let options = |help: &str| help.split("Examples:").next().unwrap_or_default().to_owned();
    let takes_json = |help: &str| ["--json\n", "--json "].iter().any(|option| options(help).contains(option));
    for (path, _) in found.iter().filter(|(_, help)| takes_json(help)) {
        assert!(COMMANDS.iter().any(|(_, command)| command.starts_with(&format!("{path} "))), "{path}");
    }
}
