//! Gauge configurations in ILDG, SciDAC and MILC files: what other readers find in them, what other writers leave out, and one error for each thing that can
//! be wrong. `src/io/ildg`, `src/io/milc.rs` and `src/io/lime.rs` are what is tested.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use lanefield::io::ildg::{self, Checksums, IldgError, IldgOptions};
use lanefield::io::lime::write_record;
use lanefield::io::milc::{self, MilcError};
use lanefield::io::nersc::ByteOrder;
use lanefield::prelude::*;

fn hot() -> Configuration {
    Configuration::hot(Extents::new([2, 3, 4, 2]).unwrap(), 11)
}

fn file(double: bool) -> Vec<u8> {
    let options = IldgOptions { double, lfn: Some("mc://ldg/hot".to_owned()), info: "a < b & c".to_owned() };
    ildg::to_bytes(&hot(), &options).unwrap()
}

/// A record: its kind and its data.
type Part<'a> = (&'a str, &'a [u8]);

/// A file of these records, each a message of its own.
fn of_records(records: &[Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    records.iter().for_each(|(kind, data)| write_record(&mut bytes, kind, [true, true], data).unwrap());
    bytes
}

/// The records of a file of ours.
fn records(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let header = ildg::parse(file, None).unwrap().header;
    let data = |start: u64, length: u64| file[start as usize..][..length as usize].to_vec();
    header.records.into_iter().map(|record| (record.kind, data(record.start, record.length))).collect()
}

fn parts(records: &[(String, Vec<u8>)]) -> Vec<Part<'_>> {
    records.iter().map(|(kind, data)| (kind.as_str(), data.as_slice())).collect()
}

/// The numbers of the links alone, as the file has them.
fn data(double: bool) -> Vec<u8> {
    records(&file(double)).into_iter().find(|(kind, _)| kind == "ildg-binary-data").unwrap().1
}

fn refused(bytes: &[u8]) -> String {
    ildg::parse(bytes, None).unwrap_err().to_string()
}

#[test]
fn what_is_written_is_read_again_and_written_again_to_the_same_bytes() {
    for double in [true, false] {
        let bytes = file(double);
        let read = ildg::parse(&bytes, None).unwrap();
        assert_eq!(read.header.lfn.as_deref(), Some("mc://ldg/hot"));
        assert_eq!(read.header.info.as_deref(), Some("a < b & c"));
        assert!(read.header.checksums.is_some());
        if double {
            assert_eq!(read.configuration, hot());
        }
        let options = IldgOptions { double, lfn: read.header.lfn, info: read.header.info.unwrap() };
        assert_eq!(ildg::to_bytes(&read.configuration, &options).unwrap(), bytes);
    }
}

/// The 40 lines of Python in `tests/ildg/read_ildg.py` share nothing with the library.
#[test]
fn another_reader_finds_the_same_links_checksums_and_plaquette() {
    let folder = tempfile::tempdir().unwrap();
    for double in [true, false] {
        let path = folder.path().join("hot.lime");
        std::fs::write(&path, file(double)).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ildg/read_ildg.py");
        let output = Command::new("python3").arg(script).arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
        let words: Vec<&str> = said.split_whitespace().collect();
        let read = ildg::read(&path, None).unwrap();
        let sums = read.header.checksums.unwrap();
        assert_eq!(words[..2], [format!("{:x}", sums.a), format!("{:x}", sums.b)]);
        let plaquette: f64 = words[2].parse().unwrap();
        assert!((plaquette - read.configuration.plaquette()).abs() < 1e-13, "{said}");
    }
}

#[test]
fn records_in_any_order_and_messages_of_their_own_are_read() {
    let mut records = records(&file(true));
    records.reverse();
    records.insert(2, ("something-else".to_owned(), vec![7; 13]));
    assert_eq!(ildg::parse(&of_records(&parts(&records)), None).unwrap().configuration, hot());
}

#[test]
fn xml_of_other_writers_is_read() {
    let (data, mut sums) = (data(true), Checksums::default());
    data.chunks_exact(576).enumerate().for_each(|(site, bytes)| sums.add(site, bytes));
    // Fields in another order, blanks and a newline before the XML, NULs behind it, checksums without leading zeros and with 0x.
    let format = b"\n<?xml version=\"1.0\"?>\n<ildgFormat xmlns=\"http://www.lqcd.org/ildg\">\n <lt>2</lt> <lz> 4 </lz>\n<ly>3</ly><lx>2</lx>\
                   <precision>64</precision><field>su3gauge</field></ildgFormat>\0\0";
    let checksum = format!("\n<scidacChecksum><sumb>0x{:x}</sumb><suma>{:x}</suma></scidacChecksum>\0", sums.b, sums.a);
    let bytes = of_records(&[
        ("ildg-format", format),
        ("ildg-binary-data", &data),
        ("ildg-data-lfn", b"mc://ldg/x"),
        ("scidac-checksum", checksum.as_bytes()),
    ]);
    let read = ildg::parse(&bytes, None).unwrap();
    assert_eq!((read.configuration, read.header.lfn.as_deref()), (hot(), Some("mc://ldg/x")));
}

#[test]
fn a_file_of_scidac_without_ildg_format_is_read() {
    let mut records = records(&file(false));
    records.retain(|(kind, _)| kind != "ildg-format");
    records.iter_mut().for_each(|(kind, _)| *kind = kind.replace("ildg-binary-data", "scidac-binary-data"));
    let read = ildg::parse(&of_records(&parts(&records)), None).unwrap();
    assert_eq!(read.configuration, ildg::parse(&file(false), None).unwrap().configuration);
}

#[test]
fn a_file_of_links_alone_needs_the_lattice() {
    for double in [true, false] {
        let bytes = of_records(&[("ildg-binary-data", &data(double))]);
        assert!(refused(&bytes).contains("--lattice"));
        let read = ildg::parse(&bytes, Some(Extents::new([2, 3, 4, 2]).unwrap())).unwrap();
        assert_eq!(read.header.checksums, None);
        let error = ildg::parse(&bytes, Some(Extents::new([2, 2, 2, 2]).unwrap())).unwrap_err().to_string();
        assert!(error.contains("2.2.2.2 in 64-bit numbers needs 9216"), "{error}");
    }
}

#[test]
fn records_that_are_not_needed_are_done_without() {
    let with = |changes: &[(&str, &[u8])], given| {
        let mut records = records(&file(true));
        for (kind, text) in &mut records {
            if let Some((_, other)) = changes.iter().find(|(changed, _)| *changed == kind.as_str()) {
                *text = other.to_vec();
            }
        }
        ildg::parse(&of_records(&parts(&records)), given)
    };
    let precision = b"<a><lx>2</lx><ly>3</ly><lz>4</lz><lt>2</lt><precision>48</precision></a>";
    let cases: [(&str, &[u8], &str); 6] = [
        ("ildg-format", b"<a b=\"><lx>2</lx></a>", "the record ildg-format cannot be understood"),
        ("ildg-format", b"<a><lx>2</lx></a>", "the extents are 2, missing, missing, missing"),
        ("ildg-format", precision, "the precision is 48"),
        ("scidac-private-file-xml", b"no XML <", "scidac-private-file-xml cannot be understood"),
        ("scidac-private-record-xml", b"\xff", "scidac-private-record-xml cannot be understood"),
        ("scidac-checksum", b"<a><suma>x</suma></a>", "suma is x"),
    ];
    for (kind, text, problem) in cases {
        let read = with(&[(kind, text)], None).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(read.configuration, hot());
        assert!(read.header.problems.concat().contains(problem), "{:?}", read.header.problems);
    }
    // Without both records that say it, the lattice is needed.
    let changes: [(&str, &[u8]); 2] = [("ildg-format", b"<a b=\">"), ("scidac-private-file-xml", b"<a b=\">")];
    let error = with(&changes, None).unwrap_err().to_string();
    assert!(error.contains("ildg-format cannot be understood") && error.contains("--lattice"), "{error}");
    assert_eq!(with(&changes, Some(hot().extents())).unwrap().configuration, hot());
}

#[test]
fn links_of_another_group_are_told_by_their_length() {
    let extents = Extents::new([2, 3, 4, 2]).unwrap();
    for (colours, bits) in [(2, 64), (4, 32)] {
        let data = vec![0; extents.volume() * 4 * 2 * colours * colours * bits / 8];
        let error = ildg::parse(&of_records(&[("ildg-binary-data", &data)]), Some(extents)).unwrap_err().to_string();
        assert!(error.contains(&format!("links of SU({colours}) in {bits}-bit numbers")), "{error}");
    }
}

#[test]
fn each_thing_that_can_be_wrong_is_named() {
    let with = |kind: &str, data: &[u8]| {
        let mut records = records(&file(true));
        records.iter_mut().filter(|(known, _)| known == kind).for_each(|(_, old)| *old = data.to_vec());
        refused(&of_records(&parts(&records)))
    };
    let other = b"<a><lx>2</lx><ly>3</ly><lz>4</lz><lt>4</lt><precision>64</precision></a>";
    assert!(with("ildg-format", other).contains("2.3.4.4"), "{}", with("ildg-format", other));
    let other = b"<a><lx>2</lx><ly>3</ly><lz>4</lz><lt>2</lt><precision>32</precision></a>";
    assert!(with("ildg-format", other).contains("in 32-bit numbers needs 13824"));
    assert!(with("scidac-checksum", b"<a><suma>1</suma><sumb>2</sumb></a>").contains("scidac-checksum has 00000001"));
    assert!(with("scidac-record-xml", b"<a><plaq>0.5</plaq></a>").contains("the plaquette is 0.5"));
    let mut damaged = data(true);
    damaged[100] ^= 1;
    assert!(with("ildg-binary-data", &damaged).contains("the file is damaged"));
    assert!(refused(b"BEGIN_HEADER").contains("truncated"));
    assert!(refused(&of_records(&[("xlf-info", b"x")])).contains("the records are xlf-info"));
    let mut links = hot().into_links();
    links[0] *= 1.1;
    let other = Configuration::new(hot().extents(), links).unwrap();
    assert!(matches!(ildg::to_bytes(&other, &IldgOptions::default()), Err(IldgError::Links(_))));
    let options = IldgOptions { lfn: Some("a\nb".to_owned()), ..IldgOptions::default() };
    assert!(matches!(ildg::to_bytes(&hot(), &options), Err(IldgError::BadText { .. })));
}

#[test]
fn check_names_every_defect() {
    let folder = tempfile::tempdir().unwrap();
    let defects = |bytes: &[u8]| {
        let path = folder.path().join("file.lime");
        std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
        ildg::check(&path, None).unwrap()
    };
    assert_eq!(defects(&file(true)), Vec::<String>::new());
    let mut broken = records(&file(true));
    for (kind, data) in &mut broken {
        match kind.as_str() {
            "scidac-checksum" => *data = b"<a><suma>1</suma><sumb>2</sumb></a>".to_vec(),
            "scidac-record-xml" => *data = b"<a><plaq>0.5</plaq><linktr>0.5</linktr></a>".to_vec(),
            _ => {}
        }
    }
    let lfn = broken.iter().find(|(kind, _)| kind == "ildg-data-lfn").cloned().unwrap();
    broken.push(lfn);
    let found = defects(&of_records(&parts(&broken)));
    let expected = ["2 records ildg-data-lfn", "scidac-checksum has", "the plaquette is 0.5", "the link trace is 0.5"];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found}");
    }
    let found = defects(&of_records(&[("ildg-binary-data", &data(true))]));
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn files_of_milc_are_written_and_read_in_either_byte_order() {
    let rounded = ildg::parse(&file(false), None).unwrap().configuration;
    for byte_order in [ByteOrder::Little, ByteOrder::Big] {
        let options = milc::MilcOptions { byte_order, time_stamp: "Fri Jul  8 18:55:47 2005 UTC".to_owned() };
        let bytes = milc::to_bytes(&hot(), &options).unwrap();
        assert_eq!(bytes.len(), 96 + 48 * 288);
        let read = milc::parse(&bytes).unwrap();
        assert_eq!((&read.configuration, &read.header.time_stamp), (&rounded, &options.time_stamp));
        assert_eq!(milc::to_bytes(&read.configuration, &options).unwrap(), bytes);
    }
}

/// sum29 and sum31 by hand: of 72 words that are all 1, one is rotated by each of 0 to 71 mod 29.
#[test]
fn the_checksums_of_milc_are_those_of_its_words() {
    let unit = Configuration::unit(Extents::new([1, 1, 1, 1]).unwrap());
    let header = milc::parse(&milc::to_bytes(&unit, &milc::MilcOptions::default()).unwrap()).unwrap().header;
    // 1.0 is 3f800000, at real numbers 0, 8 and 16 of each of the four links.
    let expected = [29, 31].map(|modulus| {
        let places = (0..4).flat_map(|link| [0, 8, 16].map(|k| 18 * link + k));
        places.fold(0u32, |sum, place| sum ^ 0x3f80_0000u32.rotate_left(place % modulus))
    });
    assert_eq!(header.checksums, expected);
}

#[test]
fn what_is_wrong_with_a_file_of_milc_is_named() {
    let bytes = milc::to_bytes(&hot(), &milc::MilcOptions::default()).unwrap();
    let refused = |bytes: &[u8]| milc::parse(bytes).unwrap_err();
    assert!(matches!(refused(&bytes[..bytes.len() - 1]), MilcError::Length { .. }));
    assert!(matches!(refused(&bytes[..10]), MilcError::Extents { .. } | MilcError::Length { .. }));
    let changed = |at: usize| {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        refused(&changed)
    };
    assert!(matches!(changed(0), MilcError::Magic { .. }));
    assert!(matches!(changed(84), MilcError::Order(1)));
    assert!(matches!(changed(88), MilcError::Checksum { .. }));
    assert!(matches!(changed(500), MilcError::Checksum { .. }));
    let options = milc::MilcOptions { time_stamp: "x".repeat(64), ..milc::MilcOptions::default() };
    assert!(matches!(milc::to_bytes(&hot(), &options), Err(MilcError::BadText(_))));
}
