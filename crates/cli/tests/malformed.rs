//! Files that are not what they should be: exit code 2 and one readable line with the file, the field and both values. All kinds of
//! damage, also at random, are in `tests/nersc.rs`, `tests/npy.rs` and `tests/malformed_files`; here, that they reach the user.

use lanefield::io::npy;
use lanefield::prelude::*;

use super::{Folder, assert_contains, text};

/// A folder with `gauge.nersc`, and its bytes.
fn nersc() -> (Folder, Vec<u8>) {
    let folder = Folder::with_gauge();
    let bytes = folder.read("gauge.nersc");
    (folder, bytes)
}

fn data_start(file: &[u8]) -> usize {
    let end = b"END_HEADER\n";
    file.windows(end.len()).position(|w| w == end).unwrap() + end.len()
}

/// `file` with the value of a header field replaced.
fn with_field(file: &[u8], field: &str, value: &str) -> Vec<u8> {
    let start = data_start(file);
    let header = text(&file[..start]);
    let line = header.lines().find(|line| line.starts_with(field)).unwrap();
    [header.replacen(line, &format!("{field} = {value}"), 1).as_bytes(), &file[start..]].concat()
}

/// `file` with its first double replaced, and the checksum that belongs to that.
fn with_first_number(file: &[u8], number: f64) -> Vec<u8> {
    let start = data_start(file);
    let mut changed = file.to_vec();
    changed[start..start + 8].copy_from_slice(&number.to_be_bytes());
    let words = changed[start..].as_chunks::<4>().0;
    let sum = words.iter().fold(0u32, |sum, &word| sum.wrapping_add(u32::from_be_bytes(word)));
    with_field(&changed, "CHECKSUM", &format!("{sum:x}"))
}

/// The error line of every command that reads a configuration, for a file called `name`.
fn refusal(folder: &Folder, name: &str) -> String {
    let line = folder.fails(2, &format!("config info {name}"));
    assert!(line.starts_with(&format!("failed to read {name}: ")), "{line}");
    for command in [
        format!("config convert {name} out.npy"),
        format!("apply --operator hop --device cpu --config {name} --source gauss:1 --output out.npy"),
        format!("solve --mass 1 --device cpu --config {name} --source gauss:1 --output out.npy"),
    ] {
        assert_eq!(folder.fails(2, &command), line);
    }
    assert!(!folder.names().contains(&"out.npy".to_owned()));
    line
}

#[test]
fn a_damaged_nersc_file_is_refused_with_the_field_and_both_values() {
    let (folder, file) = nersc();
    let cases: [(&str, Vec<u8>, &[&str]); 8] = [
        ("truncated", file[..file.len() - 1].to_vec(), &["truncated", "needs 294912 bytes", "294911"]),
        ("oversized", [&file[..], &[0]].concat(), &["too long", "294913"]),
        ("checksum", with_field(&file, "CHECKSUM", "12345678"), &["CHECKSUM is 12345678", "sums to"]),
        ("plaquette", with_field(&file, "PLAQUETTE", "0.5"), &["PLAQUETTE is 0.5", "of the data is 0."]),
        ("trace", with_field(&file, "LINK_TRACE", "0.5"), &["LINK_TRACE is 0.5", "of the data is 0."]),
        ("nan", with_first_number(&file, f64::NAN), &["not finite", "x link of site x,y,z,t = 0,0,0,0", "NaN"]),
        ("unitary", with_first_number(&file, 2.0), &["not in SU(3)", "x link of site x,y,z,t = 0,0,0,0", "--project"]),
        ("text", b"hello\n".to_vec(), &["hello", "no known format", "openQCD", "HDF5"]),
    ];
    for (name, bytes, parts) in cases {
        folder.write(name, &bytes);
        assert_contains(&refusal(&folder, name), parts);
    }
}

#[test]
fn a_gauge_array_that_is_none_is_refused_with_the_reason() {
    let folder = Folder::with_gauge();
    folder.succeeds("config convert gauge.nersc gauge.npy");
    let file = folder.read("gauge.npy");
    folder.write("short.npy", &file[..file.len() - 1]);
    assert_contains(&refusal(&folder, "short.npy"), &["truncated", "complex128"]);
    folder.write("text.npy", b"hello");
    assert_contains(&refusal(&folder, "text.npy"), &["hello", "NumPy (.npy)"]);
    let (packed, milc) = (b"\x1f\x8b\x08\0", [59354u32, 4, 4, 4, 4].map(u32::to_le_bytes).concat());
    for (name, bytes, part) in
        [("a.gz", &packed[..], "packed by gzip"), ("old", &milc[..], "MILC before its version 5")]
    {
        folder.write(name, bytes);
        assert_contains(&refusal(&folder, name), &[part, "configurations are read in the formats of NERSC"]);
    }
    let extents = Extents::new([2, 2, 2, 2]).unwrap();
    npy::write_spinor(&folder.path("spinor.npy"), extents, &vec![Complex::new(1.0, 0.0); 16 * 12]).unwrap();
    assert_contains(&refusal(&folder, "spinor.npy"), &["(2, 2, 2, 2, 4, 3)", "gauge configuration"]);
    for (name, number, part) in [("nan.npy", f64::NAN, "not finite"), ("unitary.npy", 2.0, "not in SU(3)")] {
        let mut links = Configuration::unit(extents).into_links();
        links[0].re = number;
        npy::write_gauge(&folder.path(name), &Configuration::new(extents, links).unwrap()).unwrap();
        assert_contains(&refusal(&folder, name), &[part]);
    }
}

#[test]
fn a_source_that_cannot_be_used_is_refused_with_the_reason() {
    let folder = Folder::with_gauge();
    let extents = Extents::new([4, 4, 4, 8]).unwrap();
    let mut values = vec![Complex::new(1.0, 0.0); extents.volume() * 12];
    let refusal = |name: &str, what: &str| {
        folder.fails(
            2,
            &format!("apply --operator hop --device cpu --config gauge.nersc --source {name} --output o.npy {what}"),
        )
    };
    npy::write_spinor(&folder.path("large.npy"), Extents::new([4, 4, 8, 4]).unwrap(), &values).unwrap();
    assert_contains(&refusal("large.npy", ""), &["large.npy has the lattice 4.4.8.4", "gauge.nersc has 4.4.4.8"]);
    values[13].im = f64::INFINITY;
    npy::write_spinor(&folder.path("infinite.npy"), extents, &values).unwrap();
    assert_contains(&refusal("infinite.npy", ""), &["failed to read infinite.npy", "(0, 0, 0, 1, 0, 1)", "not finite"]);
    values[13].im = 1e200;
    npy::write_spinor(&folder.path("huge.npy"), extents, &values).unwrap();
    assert_contains(&refusal("huge.npy", "--precision f32"), &["beyond f32", "--precision f64"]);
    npy::write_gauge(&folder.path("gauge.npy"), &Configuration::unit(extents)).unwrap();
    assert_contains(&refusal("gauge.npy", ""), &["spinor field", "7 axes"]);
}

#[test]
fn a_file_that_is_not_there_is_named_once() {
    let folder = Folder::with_gauge();
    let apply = "apply --operator hop --device cpu --output o.npy";
    for line in [
        folder.fails(2, "config info absent.nersc"),
        folder.fails(2, "config info absent.npy"),
        folder.fails(2, &format!("{apply} --config absent.nersc --source gauss:1")),
        folder.fails(2, &format!("{apply} --config gauge.nersc --source absent.npy")),
    ] {
        assert!(line.starts_with("cannot read absent.") && line.matches("absent").count() == 1, "{line}");
        assert_eq!(line.matches("No such file").count(), 1, "{line}");
    }
    folder.refuses("config info .", &[". is not a file"]);
}
