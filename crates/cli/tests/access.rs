//! `lanefield access`: what it prints, and what is refused. The counts: `crates/lab/tests/access.rs`.

use super::{Folder, assert_contains};

const HOP: &str = "access --kernel hop --lattice 8.8.8.8";

#[test]
fn every_array_of_a_kernel_has_its_rows() {
    let json = Folder::new().json(HOP);
    assert_eq!((&json["kind"], &json["wavefront"]), (&"access kernel".into(), &32.into()));
    let [hop] = &json["kernels"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!(hop["kernel"], "hop");
    let rows = hop["arrays"].as_array().unwrap();
    let of = |array: &str| rows.iter().filter(|row| row["array"] == array).count();
    assert_eq!([of("in"), of("links"), of("out"), of("neighbours"), of("lane steps")], [8, 8, 1, 1, 1]);
    assert!(rows.iter().filter(|row| row["array"] == "in").all(|row| row["sector_efficiency"] == 1.0));
    let table = Folder::new().succeeds(HOP);
    assert_contains(&table, &["16 bytes, lane-fast", "6 × 16 B", "out (stored)", "sectors per wavefront"]);
}

#[test]
fn a_pattern_by_hand_is_counted() {
    let pattern = "--element 16 --lanes 8 --sites 8 --words 12 --wavefront 64";
    let json = Folder::new().json(&format!("access --pattern 16*lane+1536*site+128*word {pattern} --serial word"));
    let counted = &json["patterns"][0];
    // 8 lanes of 16 bytes are one line of each of 8 sites.
    assert_eq!((&counted["first"]["transactions_128"], &counted["first"]["transactions_32"]), (&8.into(), &32.into()));
    assert_eq!((&counted["wavefronts"], &counted["accesses_a_work_item"]), (&1.into(), &12.into()));
    assert_eq!(counted["all"]["distinct_lines"], 96);
}

#[test]
fn examples_say_which_order_is_good() {
    let text = Folder::new().succeeds("access --example all");
    assert_contains(&text, &["words-across-work-items", "site-fast", "; bad; ", "; good; ", "50.0%", "100.0%"]);
}

#[test]
fn rows_get_a_pitch_and_a_padding() {
    let json = Folder::new().json("access --row 96 --element 4");
    assert_eq!((&json["pitch"], &json["local"][0]["padding"]), (&96.into(), &1.into()));
    assert_eq!(
        (&json["local"][0]["column_without"]["ways"], &json["local"][0]["column_with"]["ways"]),
        (&32.into(), &1.into())
    );
}

#[test]
fn one_thing_is_no_plural() {
    let folder = Folder::new();
    let row = folder.succeeds("access --row 1 --element 1 --wavefront 1");
    assert_contains(&row, &["1 element of 1 byte\n", "1 element: a multiple", "takes 1 pass, with 0 elements of"]);
    let pattern = folder.succeeds("access --pattern 2*lane+1 --element 2");
    assert_contains(&pattern, &["1 element lies at no multiple of its 2 bytes"]);
}

#[test]
fn the_line_of_a_kernel_is_that_of_its_machine_and_lines_fit_a_terminal() {
    let folder = Folder::new();
    assert_eq!(folder.json(&format!("{HOP} --machine mi100"))["line_bytes"], 64);
    // Loads past the nearest cache are had of NVIDIA's compiler alone.
    let launch = |machine: &str| folder.json(&format!("{HOP} --machine {machine}"))["kernels"][0]["launch"].to_string();
    assert!(launch("h200").contains("link-loads kept") && launch("mi250x").contains("link-loads cached"));
    assert_eq!(folder.json(&format!("{HOP} --machine mi100 --line 128"))["line_bytes"], 128);
    for command in [HOP, "access --pattern lane"] {
        assert_eq!(folder.json(command)["line_bytes"], 128);
    }
    for command in [HOP, "access --example all"] {
        let table = folder.succeeds(command);
        assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
    }
}

#[test]
fn what_has_no_addresses_is_one_line() {
    let folder = Folder::new();
    assert_contains(&folder.fails(2, "access --pattern 16*lain"), &["unknown name 'lain': expected lane, site"]);
    assert_contains(&folder.fails(2, "access --pattern 0-4"), &["is below 0: add a base"]);
    assert_contains(&folder.fails(2, "access --pattern lane --sites 0"), &["0 sites"]);
    assert_contains(&folder.fails(2, "access --pattern lane --lanes many"), &["invalid number of lanes 'many'"]);
    assert_contains(&folder.fails(2, "access --pattern lane --serial lane"), &["lane cannot be both"]);
    assert_contains(&folder.fails(2, "access --example worst"), &["unknown example 'worst'", "site-fast or all"]);
    assert_contains(&folder.fails(2, &format!("{HOP} --lanes 7")), &["7"]);
    assert_contains(&folder.fails(2, &format!("{HOP} --machine rtx")), &["no machine 'rtx'"]);
    assert_contains(
        &folder.fails(2, "access --pattern lane --words 4 --serial word,word"),
        &["word is named twice among the serial indices"],
    );
    assert_contains(&folder.misused("access --kernel staple"), &["unknown kernel 'staple'", "eo_clover"]);
    assert_contains(&folder.misused("access"), &["--kernel"]);
}
