//! `lanefield peak`: what it prints and draws, and what is refused; never a time.

use super::{Folder, assert_contains, opencl, text};

const QUICK: &str = "peak --quick --bytes 64KiB";

const FIGURES: &str = "read_bytes_per_second write_bytes_per_second copy_bytes_per_second triad_bytes_per_second \
    l2_bytes_per_second l1_bytes_per_second local_bytes_per_second launch_seconds f32_flops_per_second f64_flops_per_second \
    half_flops_per_second latency_seconds";

#[test]
fn json_has_every_figure_and_the_sweeps_that_they_were_taken_from() {
    let Some(device) = opencl() else { return };
    let json = Folder::new().json(&format!("{QUICK} {device}"));
    assert_eq!(json["kind"], "peak");
    let object = json.as_object().unwrap();
    for figure in FIGURES.split(' ') {
        assert!(object.contains_key(figure), "{figure} is missing");
    }
    // A curve of sets as small as these need not have two plateaus.
    for figure in FIGURES.split(' ').filter(|name| !name.starts_with('l') || name.starts_with("launch")) {
        assert!(json[figure].as_f64().unwrap() > 0.0, "{figure}: {}", json[figure]);
    }
    for key in ["streams", "intensity", "working_sets", "chases", "transfers"] {
        assert!(!json[key].as_array().unwrap().is_empty(), "{key} is empty");
    }
    let best = json["streams"].as_array().unwrap().iter().find(|stream| stream["operation"] == "read").unwrap();
    assert_eq!(best["bytes_per_second"], json["read_bytes_per_second"]);
    // 64 KiB of f32 that are read, taken through 4 fma and written: 8 operations for 8 bytes.
    let point = json["intensity"].as_array().unwrap().iter().find(|point| point["fma_per_element"] == 4).unwrap();
    assert_eq!((&point["stored"], &point["flops_per_byte"]), (&"f32".into(), &1.0.into()));
    assert!(
        json["drift"]["rested_bytes_per_second"].as_f64().unwrap() > 0.0
            && json["date"].as_str().unwrap().ends_with('Z')
    );
}

#[test]
fn the_cpu_reference_has_ceilings_but_no_transfers() {
    let output = Folder::new().succeeds(&format!("{QUICK} --device cpu"));
    assert_contains(&output, &["CPU reference", "read ", "triad", "f64", "latency, memory", "flop/byte"]);
    assert!(!output.contains("pinned") && !output.contains("local memory  "), "{output}");
}

#[test]
fn only_the_parts_asked_for_are_measured() {
    let json = Folder::new().json(&format!("{QUICK} --device cpu --parts launch"));
    assert!(json["launch_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!((&json["read_bytes_per_second"], &json["streams"]), (&serde_json::Value::Null, &serde_json::json!([])));
}

#[test]
fn the_roofline_has_roofs_and_kernels() {
    let folder = Folder::new();
    let command =
        "--device cpu --parts streams,intensity --roofline r.svg --kernel hop,blas --lattice 4.4.4.4 --links 18";
    let json = folder.json(&format!("{QUICK} {command}"));
    let points = json["roofline"]["points"].as_array().unwrap();
    let names: Vec<&str> = points.iter().map(|point| point["name"].as_str().unwrap()).collect();
    // A copy computes nothing, and has no place on a roofline.
    assert!(
        names.contains(&"hop f32, reconstruct 18") && names.contains(&"axpy f32") && !names.contains(&"copy f32"),
        "{names:?}"
    );
    let hop = points.iter().find(|point| point["name"] == "hop f32, reconstruct 18").unwrap();
    // 1320 operations a site, 768 bytes.
    assert_eq!(hop["flops_per_byte"].as_f64().unwrap(), 1320.0 / 768.0);
    let svg = text(&folder.read("r.svg"));
    assert_contains(
        &svg,
        &["<svg", "memory (copy)", "f32 fma", "f64 fma", ">hop f32, reconstruct 18<", "GFlop/s", ">1</text>"],
    );
}

#[test]
fn what_cannot_be_measured_or_drawn_is_refused() {
    let folder = Folder::new();
    assert_contains(&folder.misused("peak --bytes 12"), &["invalid size '12'", "64MiB"]);
    assert_contains(&folder.misused("peak --bytes 99999999999GiB"), &["invalid size '99999999999GiB'"]);
    assert_contains(&folder.misused("peak --parts speed"), &["invalid part 'speed'", "streams, caches"]);
    assert_contains(&folder.misused("peak --kernel hop"), &["--roofline"]);
    let error = folder.fails(2, "peak --device cpu --quick --roofline no/such/folder.svg");
    assert_contains(&error, &["no/such/folder.svg"]);
}
