//! `lanefield bench` of kernels, and its studies: the shape of what they print, what is counted, and what is refused; never a time.

use lanefield::kernel::KernelList;
use lanefield::kernel::{self, Ceiling, Kernel};
use lanefield::prelude::*;
use serde_json::{Value, json};

use super::{Folder, assert_contains, opencl};

const SMALL: &str = "--lattice 4.4.4.4 --samples 1";

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().unwrap()
}

/// A name of each row.
fn names<'r>(report: &'r Value, of: &str) -> Vec<&'r str> {
    rows(report).iter().map(|row| row[of].as_str().unwrap()).collect()
}

/// Fails unless each row was timed, and its rates are its work over its time.
fn assert_timed(report: &Value) {
    for row in rows(report) {
        assert!(row["failure"].is_null(), "{row}");
        let [median, tenth, ninetieth] = ["median", "tenth", "ninetieth"].map(|x| row["seconds"][x].as_f64().unwrap());
        assert!(tenth <= median && median <= ninetieth, "{row}");
        for (work, rate) in [("flops", "flops_per_second"), ("bytes", "bytes_per_second")] {
            let (work, rate) = (row["work"][work].as_f64().unwrap(), row[rate].as_f64().unwrap());
            assert!((rate * median - work).abs() <= 1e-9 * work, "{row}");
        }
        // Either is said.
        assert_ne!(row["share_of_ceiling"].is_number(), row["in_cache"] == true, "{row}");
    }
}

#[test]
fn every_kernel_is_timed_where_none_is_named_but_for_conjugates_and_parts_of_sums() {
    let report = Folder::new().json(&format!("bench {SMALL} --device cpu --precision half --reconstruct 12"));
    assert_timed(&report);
    let wanted =
        |kernel: &&Kernel| kernel.is_launched() && kernel.dagger == Dagger::No && kernel.takes(Precision::Half);
    let timed: Vec<&Kernel> = kernel::all().filter(wanted).collect();
    let mut found = names(&report, "kernel");
    found.dedup();
    assert_eq!(found, timed.iter().map(|kernel| kernel.name).collect::<Vec<_>>());
    let mut found = names(&report, "family");
    found.dedup();
    let mut families: Vec<&str> = timed.iter().map(|kernel| kernel.family).collect();
    families.dedup();
    assert_eq!(found, families);
    // On all sites and on one parity, what solvers take on either.
    assert_eq!(names(&report, "kernel").iter().filter(|name| **name == "hop").count(), 2);
    assert!(report["copy_bytes_per_second"].is_f64() && report["read_bytes_per_second"].is_f64());
    for row in rows(&report) {
        let kernel = timed.iter().find(|kernel| kernel.name == row["kernel"]).unwrap();
        let ceiling = if kernel.ceiling == Ceiling::Read { "read" } else { "copy" };
        assert_eq!(row["ceiling"], ceiling, "{row}");
    }
}

#[test]
fn flops_and_bytes_are_those_of_the_sites_spinors_and_links() {
    let report = Folder::new().json(&format!(
        "bench --kernel hop_many,eo_clover_many,oe_clover_many_dagger,clover_apply {SMALL} --device cpu --precision f32,f64 --rhs 2"
    ));
    assert_timed(&report);
    // A site has 8 links of 18 or 12 reals, 72 numbers of blocks, and for each of two spinors 24 reals in and as many out.
    let work = |row: &Value| [&row["work"]["flops"], &row["work"]["bytes"]].map(|number| number.as_u64().unwrap());
    let hop = &rows(&report)[0];
    assert_eq!((&hop["sites"], &hop["reconstruct"], &hop["spinors"]), (&json!("full"), &json!(18), &json!(2)));
    assert_eq!(work(hop), [256 * 2 * 1320, 256 * (8 * 18 + 2 * 48) * 4]);
    let found = |kernel: &str, precision: &str| {
        let of = |row: &&Value| row["kernel"] == kernel && row["precision"] == precision && row["reconstruct"] == 12;
        work(rows(&report).iter().find(of).unwrap())
    };
    assert_eq!(found("eo_clover_many", "f64"), [128 * 2 * (1320 + 504), 128 * (8 * 12 + 72 + 2 * 48) * 8]);
    assert_eq!(found("oe_clover_many_dagger", "f32"), [128 * 2 * (1320 + 504 + 48), 128 * (8 * 12 + 72 + 2 * 72) * 4]);
    // The product with blocks reads no links, and is timed once in a precision.
    assert_eq!(names(&report, "kernel").iter().filter(|&&name| name == "clover_apply").count(), 2);
}

#[test]
fn choices_on_a_device_are_told_and_launches_follow_each_other() {
    let Some(device) = opencl() else { return };
    let choices = "--accelerator-threads 4 --access 8 --link-loads past-l1 --stores streaming --grid-stride on:2 --traversal 1.2.2.2 \
                   --mapping site-fast --group-size required --site-order lexicographic --lane-form vectors --neighbours local-memory \
                   --link-sharing shared";
    let command = format!(
        "bench --kernel eo_clover,oe_clover {SMALL} {device} --precision f32 --links 12 --accumulators local-memory {choices}"
    );
    let report = Folder::new().json(&command);
    assert_timed(&report);
    for row in rows(&report) {
        assert!(row["back_to_back_seconds"].is_f64(), "{row}");
        let expected = json!({
            "accelerator-threads": 4, "access": 8, "link-loads": "past-l1", "stores": "streaming", "grid-stride": "on:2",
            "traversal": "1.2.2.2", "mapping": "site-fast", "group-size": "required", "site-order": "lexicographic",
            "accumulators": "local-memory", "lane-form": "vectors", "neighbours": "local-memory", "link-sharing": "shared"
        });
        assert_eq!(row["tuning"], expected);
        assert_contains(
            row["variant"].as_str().unwrap(),
            &["accelerator-threads 4, access 8, site-order lexicographic, link-loads past-l1"],
        );
    }
}

#[test]
fn the_table_names_what_distinguishes_rows_and_what_they_have_in_common() {
    let table = Folder::new()
        .succeeds(&format!("bench --kernel hop,blas,norm2 {SMALL} --device cpu --precision f32 --lanes 32,64"));
    assert_contains(&table, &["copy bandwidth", "read bandwidth", "lattice                 4.4.4.4", "median, µs"]);
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| [" of copy", " of read", " in cache"].iter().any(|end| line.trim_end().ends_with(end)))
        .collect();
    let blas = KernelList::LIBRARY.named("blas").unwrap().iter().filter(|kernel| kernel.is_launched()).count();
    assert_eq!(rows.len(), 2 * (6 + blas + 1), "{table}");
    assert_contains(rows[0], &["hop", "reconstruct 18, full, lanes 32", " – ", "in cache"]);
    assert_contains(rows[rows.len() - 1], &["norm2", "full, lanes 64", "in cache"]);
    assert!(table.lines().any(|line| line.starts_with("  variant ") && line.ends_with(" default")), "{table}");
}

#[test]
fn what_cannot_be_run_says_why_and_the_table_goes_on() {
    let folder = Folder::new();
    let command = format!("bench --kernel hop {SMALL} --device cpu --precision f64 --links 18");
    let report = folder.json(&format!("{command} --lanes 8,64"));
    let [narrow_full, narrow_even, full, even] = rows(&report) else { panic!("{report}") };
    for narrow in [narrow_full, narrow_even] {
        assert_contains(narrow["failure"].as_str().unwrap(), &["8 bytes", "at least 16"]);
        assert!(narrow["seconds"].is_null() && narrow["work"].is_null() && narrow["bytes_per_second"].is_null());
    }
    assert_eq!((&full["sites"], &even["sites"]), (&json!("full"), &json!("even")));
    // Nothing at all is an error.
    assert_contains(
        &folder.fails(2, &format!("{command} --lanes 8")),
        &["failed to time hop", "8 bytes", "at least 16"],
    );
}

#[test]
#[ignore = "test-all: builds in several groups"]
fn accelerator_threads_have_a_line_each_and_a_fastest_number() {
    let Some(device) = opencl() else { return };
    let command = format!("bench threads {SMALL} {device} --accelerator-threads 2,8 --precision f32");
    let report = Folder::new().json(&command);
    assert_timed(&report);
    assert_eq!(names(&report, "kernel"), ["hop", "hop", "eo_clover", "eo_clover"]);
    let threads: Vec<&Value> = rows(&report).iter().map(|row| &row["tuning"]["accelerator-threads"]).collect();
    assert_eq!(threads, [2, 8, 2, 8]);
    for fastest in report["fastest"].as_array().unwrap() {
        assert!(fastest["accelerator_threads"] == 2 || fastest["accelerator_threads"] == 8, "{fastest}");
    }
    let table = Folder::new().succeeds(&command);
    // f32 has eight lanes of 64 bytes.
    let line =
        |start: &str| table.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_default().to_owned();
    assert_eq!((line("2 ").matches("(16)").count(), line("8 ").matches("(64)").count()), (2, 2), "{table}");
    assert_contains(&table, &["hop in f32 is fastest with ", "eo_clover in f32 is fastest with "]);
}

#[test]
fn orders_tell_the_fastest_and_that_an_order_changes_bits() {
    let folder = Folder::new();
    let command = format!("bench orders {SMALL} --device cpu --legs +t-t+z-z+y-y+x-x --legs -t-y-z+t+y+z-x+x");
    let report = folder.json(&command);
    assert_timed(&report);
    let legs = names(&report, "legs");
    assert_eq!(legs.len(), 9, "the default was asked for again");
    assert_eq!([legs[0], legs[1], legs[8]], ["-t-y-z+t+y+z-x+x", "-y-z-t+y+z+t-x+x", "+t-t+z-z+y-y+x-x"]);
    let median = |row: &Value| row["seconds"]["median"].as_f64().unwrap();
    let least = rows(&report).iter().min_by(|a, b| median(a).total_cmp(&median(b))).unwrap();
    assert_eq!(report["fastest"], least["legs"]);
    assert_contains(report["note"].as_str().unwrap(), &["part of the operator", "changes bits"]);
    let table = folder.succeeds(&command);
    assert_contains(&table, &["fastest here: ", "(the default)", "(asked for)", "another order changes bits"]);
}

#[test]
fn the_sprint_has_a_table_for_each_lattice() {
    let folder = Folder::new();
    let command = "bench sprint --lattice 4.4.4.4,4.4.4.8 --samples 1 --device cpu";
    let report = folder.json(command);
    assert_timed(&report);
    // The CPU reference has the orders alone: 3 stages of 4 kernels, and axpy and norm2.
    assert_eq!(rows(&report).len(), 2 * (3 * 4 + 2));
    assert!(rows(&report).iter().all(|row| row["bit_true"] == true), "{report}");
    let variants = names(&report, "variant");
    let stages = ["legs +x+y+z+t-x-y-z-t", "legs -y-z-t+y+z+t-x+x", "Lanefield's defaults", "default"];
    assert_eq!([variants[0], variants[4], variants[8], variants[12]], stages);
    assert_eq!(report["fastest"].as_array().unwrap().len(), 2 * 4);
    let table = folder.succeeds(command);
    assert_contains(
        &table,
        &["\n4.4.4.4\n", "\n4.4.4.8\n", "oe_clover_dagger is fastest with ", " times the first stage"],
    );
}

#[test]
fn misuse_is_refused_with_what_would_be_right() {
    let folder = Folder::new();
    let misused = |what: &str| folder.misused(&format!("bench {what} --device cpu"));
    assert_contains(&misused("hop --grid-stride twice"), &["invalid grid stride 'twice'", "on:GROUPS"]);
    assert_contains(&misused("hop --traversal 2.2"), &["invalid traversal '2.2'", "X.Y.Z.T"]);
    assert_contains(&misused("hop --mapping fast"), &["invalid mapping 'fast'", "lane-fast or site-fast"]);
    assert_contains(&misused("hop --group-size 256"), &["invalid group size '256'", "any or required"]);
    assert_contains(&misused("hop --site-order 8.4.4"), &["'8.4.4'", "8.4.4.1"]);
    assert_contains(&misused("hop --access 32"), &["'32'", "word, 8 or 16"]);
    assert_contains(&misused("hop --precision f16"), &["'f16'", "f32, f64, half"]);
    assert_contains(&misused("dslash"), &["unknown kernel 'dslash'", "hop_many", "a study: gauge, reduce"]);
    assert_contains(&misused("EOClover"), &["unknown kernel 'EOClover'", "eo_clover"]);
    assert_contains(&misused("hop --links 16"), &["'16'", "18", "12"]);
    assert_contains(&misused("hop --rhs 0"), &["expected a whole number from 1 to 256"]);
    let refused = |what: &str| folder.fails(2, &format!("bench {what} {SMALL} --device cpu"));
    assert_contains(
        &refused("hop --stores streaming"),
        &["the CPU reference has no tuning parameters", "stores streaming", "--device"],
    );
    assert_contains(&refused("blas --accelerator-threads 8"), &["cannot use accelerator-threads 8"]);
    assert_contains(&refused("hop --rhs 2"), &["there is nothing to time", "2 right-hand sides"]);
    assert_contains(&refused("threads"), &["the CPU reference has no accelerator threads", "--device"]);
}
