//! Gauge configurations in NERSC files: agreement with Grid's files and numbers, round trips, and one error for each thing
//! that can be wrong. `src/io/nersc` is what is tested; `tests/data/README.md` says where the data come from.

use std::path::{Path, PathBuf};

use lanefield::io::nersc::{
    FloatingPoint, NerscError, NerscOptions, StoredRows, parse, read, read_from, to_bytes, write,
};
use lanefield::io::npy;
use lanefield::io::open::OpenError;
use lanefield::prelude::*;

const FORMATS: [FloatingPoint; 4] =
    [FloatingPoint::F32Big, FloatingPoint::F32Little, FloatingPoint::F64Big, FloatingPoint::F64Little];

/// Every way to write links.
fn formats() -> impl Iterator<Item = (StoredRows, FloatingPoint)> {
    [StoredRows::Two, StoredRows::Three].into_iter().flat_map(|rows| FORMATS.map(|format| (rows, format)))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn data(name: &str) -> PathBuf {
    root().join("tests/data").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(data(name)).unwrap()
}

fn hot() -> Configuration {
    Configuration::hot(Extents::new([2, 3, 4, 2]).unwrap(), 11)
}

fn options(rows: StoredRows, floating_point: FloatingPoint) -> NerscOptions {
    NerscOptions { rows, floating_point, ..NerscOptions::default() }
}

fn as_written(configuration: &Configuration, rows: StoredRows, floating_point: FloatingPoint) -> Vec<u8> {
    to_bytes(configuration, &options(rows, floating_point)).unwrap()
}

/// Length of the header, with the end of its last line.
fn data_start(file: &[u8]) -> usize {
    let end = b"END_HEADER\n";
    file.windows(end.len()).position(|w| w == end).unwrap() + end.len()
}

/// `file` with the first `from` in its header replaced by `to`.
fn edit(file: &[u8], from: &str, to: &str) -> Vec<u8> {
    let start = data_start(file);
    let header = std::str::from_utf8(&file[..start]).unwrap();
    assert!(header.contains(from), "no {from:?} in {header}");
    [header.replacen(from, to, 1).as_bytes(), &file[start..]].concat()
}

/// `file` with the CHECKSUM that belongs to its big-endian data.
fn with_checksum(file: &[u8]) -> Vec<u8> {
    let start = data_start(file);
    let sum = file[start..].as_chunks::<4>().0.iter().fold(0u32, |s, &w| s.wrapping_add(u32::from_be_bytes(w)));
    let header = String::from_utf8(file[..start].to_vec()).unwrap();
    let line = header.lines().find(|l| l.starts_with("CHECKSUM")).unwrap();
    edit(file, line, &format!("CHECKSUM = {sum:>10x}"))
}

fn message(file: &[u8]) -> String {
    let message = parse(file).unwrap_err().to_string();
    assert!(!message.contains('\n') && message.len() < 500, "not one readable line: {message}");
    message
}

fn meta(folder: &str) -> serde_json::Value {
    serde_json::from_slice(&bytes(&format!("{folder}/meta.json"))).unwrap()
}

fn relative(a: f64, b: f64) -> f64 {
    ((a - b) / b).abs()
}

// Agreement with Grid

#[test]
fn plaquette_link_trace_and_checksum_are_those_of_grid() {
    for (folder, tolerance) in [("hot-4x4x4x4", 2e-14), ("tepid-8x4x4x8", 1e-14)] {
        let meta = meta(folder);
        let file = read(&data(&format!("{folder}/gauge.nersc"))).unwrap();
        let plaquette = meta["observables"]["avgPlaquette"].as_f64().unwrap();
        let link_trace = meta["observables"]["linkTrace"].as_f64().unwrap();
        assert!(relative(file.configuration.plaquette(), plaquette) < tolerance, "{folder}: plaquette");
        assert!(relative(file.configuration.link_trace(), link_trace) < tolerance, "{folder}: link trace");
        assert_eq!(format!("{:x}", file.header.checksum.unwrap()), meta["nersc"]["checksum_3x3_hex"].as_str().unwrap());
    }
}

#[test]
fn plaquette_and_link_trace_of_the_thermalised_configuration_are_those_of_grid() {
    let file = read(&root().join("examples/quenched-8x8x8x16.nersc")).unwrap();
    assert_eq!(file.header.extents.as_array(), [8, 8, 8, 16]);
    assert!(relative(file.configuration.plaquette(), 0.5945048731620844) < 1e-14);
    assert!(relative(file.configuration.link_trace(), 0.0011391492249397377) < 1e-13);
    assert!(file.configuration.unitarity_defect().defect < 1e-12);
}

#[test]
fn links_are_those_that_grid_wrote_as_an_array() {
    let file = read(&data("hot-4x4x4x4/gauge.nersc")).unwrap();
    assert_eq!(file.configuration, npy::read_gauge(&data("hot-4x4x4x4/gauge.npy")).unwrap());
}

#[test]
fn two_rows_of_grid_give_its_three_rows_to_rounding() {
    let two = read(&data("hot-4x4x4x4/gauge_3x2.nersc")).unwrap();
    let three = read(&data("hot-4x4x4x4/gauge.nersc")).unwrap();
    assert_eq!(two.header.rows, StoredRows::Two);
    assert_eq!(format!("{:x}", two.header.checksum.unwrap()), meta("hot-4x4x4x4")["nersc"]["checksum_3x2_hex"]);
    for (a, b) in two.configuration.links().chunks_exact(9).zip(three.configuration.links().chunks_exact(9)) {
        assert_eq!(a[..6], b[..6]);
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).norm() < 1e-15));
    }
}

#[test]
fn header_of_grid_is_read_in_full() {
    let header = read(&data("tepid-8x4x4x8/gauge.nersc")).unwrap().header;
    assert_eq!(header.extents, Extents::new([8, 4, 4, 8]).unwrap());
    assert_eq!((header.rows, header.floating_point), (StoredRows::Three, FloatingPoint::F64Big));
    assert_eq!(header.checksum, Some(0xc3343a75));
    assert_eq!((header.plaquette, header.link_trace), (Some(0.9999776956), Some(0.9999944723)));
    assert_eq!((header.ensemble_id.as_str(), header.ensemble_label.as_str()), ("UKQCD", "DWF"));
    assert_eq!((header.sequence_number.as_str(), header.boundary[3].as_str()), ("1", "PERIODIC"));
    assert_eq!(header.creation_date, "Fri Nov 20 18:21:39 2026 UTC");
}

#[test]
fn a_file_of_grid_is_written_again_byte_for_byte_but_for_creator_and_dates() {
    let names = [
        ("hot-4x4x4x4/gauge.nersc", StoredRows::Three),
        ("hot-4x4x4x4/gauge_3x2.nersc", StoredRows::Two),
        ("tepid-8x4x4x8/gauge.nersc", StoredRows::Three),
    ];
    for (name, rows) in names {
        let theirs = bytes(name);
        let file = parse(&theirs).unwrap();
        let options = NerscOptions {
            ensemble_id: file.header.ensemble_id.clone(),
            ensemble_label: file.header.ensemble_label.clone(),
            ..options(rows, FloatingPoint::F64Big)
        };
        let ours = to_bytes(&file.configuration, &options).unwrap();
        let parts = |file: &[u8]| {
            let start = data_start(file);
            let header = String::from_utf8(file[..start].to_vec()).unwrap();
            let same = |line: &&str| !line.starts_with("CREAT") && !line.starts_with("ARCHIVE_DATE");
            let lines: Vec<String> = header.lines().filter(same).map(str::to_owned).collect();
            assert_eq!(header.lines().count(), lines.len() + 4);
            (lines, file[start..].to_vec())
        };
        assert!(parts(&ours) == parts(&theirs), "{name}");
    }
}

// Round trips

#[test]
fn three_rows_of_64_bits_come_back_bit_for_bit() {
    let configuration = hot();
    for format in [FloatingPoint::F64Big, FloatingPoint::F64Little] {
        let file = parse(&as_written(&configuration, StoredRows::Three, format)).unwrap();
        let bits = |c: &Configuration| c.links().iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect::<Vec<_>>();
        assert_eq!(bits(&file.configuration), bits(&configuration), "{}", format.name());
        assert_eq!(file.header.floating_point, format);
    }
}

#[test]
fn every_format_comes_back_to_its_precision_and_is_written_again_to_the_same_bytes() {
    let configuration = hot();
    for (rows, format) in formats() {
        let what = format!("{} {}", rows.datatype(), format.name());
        let once = as_written(&configuration, rows, format);
        let file = parse(&once).unwrap();
        assert_eq!((file.header.rows, file.header.floating_point), (rows, format));
        let tolerance = if format.size() == 4 { 2e-7 } else { 1e-15 };
        let mut pairs = file.configuration.links().iter().zip(configuration.links());
        assert!(pairs.all(|(a, b)| (a - b).norm() < tolerance), "{what}");
        assert!(as_written(&file.configuration, rows, format) == once, "{what}");
    }
}

#[test]
fn both_byte_orders_hold_the_same_links() {
    for (rows, format) in formats() {
        let [one, other] = [format, format.swapped()].map(|format| parse(&as_written(&hot(), rows, format)).unwrap());
        assert_eq!(one.configuration, other.configuration);
        assert_eq!(one.header.checksum, other.header.checksum);
    }
}

#[test]
fn names_without_a_byte_order_mean_little_endian() {
    for (format, names) in
        [(FloatingPoint::F32Little, ["IEEE32", "IEEE32LITTLE"]), (FloatingPoint::F64Little, ["IEEE64", "IEEE64LITTLE"])]
    {
        let file = as_written(&hot(), StoredRows::Three, format);
        for name in names {
            let renamed = edit(&file, &format!("POINT = {}\n", format.name()), &format!("POINT = {name}\n"));
            assert_eq!(parse(&renamed).unwrap().header.floating_point, format, "{name}");
        }
    }
}

#[test]
fn a_file_on_disk_is_what_was_meant_and_reads_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hot.nersc");
    let options = options(StoredRows::Two, FloatingPoint::F32Little);
    write(&path, &hot(), &options).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), to_bytes(&hot(), &options).unwrap());
    assert_eq!(read(&path).unwrap(), parse(&to_bytes(&hot(), &options).unwrap()).unwrap());
}

#[test]
fn header_order_blanks_line_ends_and_unknown_fields_do_not_matter() {
    let file = as_written(&hot(), StoredRows::Three, FloatingPoint::F64Big);
    let start = data_start(&file);
    let header = std::str::from_utf8(&file[..start]).unwrap();
    let mut lines: Vec<&str> = header.lines().filter(|l| l.contains('=')).collect();
    lines.reverse();
    let turned = format!("BEGIN_HEADER\r\n\r\n  {}\r\nMD5 = 0 = 1\r\nfree text\r\nEND_HEADER\r\n", lines.join(" \r\n"));
    let turned = [turned.as_bytes(), &file[start..]].concat();
    assert_eq!(parse(&turned).unwrap(), parse(&file).unwrap());
}

// What is wrong with a file

#[test]
fn a_truncated_file_says_how_much_is_missing() {
    let file = bytes("hot-4x4x4x4/gauge.nersc");
    let message = message(&file[..file.len() - 1000]);
    assert!(message.contains("truncated") && message.contains("147456") && message.contains("146456"), "{message}");
    assert!(message.contains("4.4.4.4 of 4D_SU3_GAUGE_3x3 IEEE64BIG"), "{message}");
}

#[test]
fn an_oversized_file_says_how_much_is_there() {
    let mut file = bytes("hot-4x4x4x4/gauge.nersc");
    file.push(b'\n');
    let message = message(&file);
    assert!(message.contains("too long") && message.contains("147456") && message.contains("147457"), "{message}");
}

#[test]
fn a_length_that_fits_another_format_is_named() {
    let file = as_written(&hot(), StoredRows::Two, FloatingPoint::F64Big);
    let message1 = message(&edit(&file, "4D_SU3_GAUGE\n", "4D_SU3_GAUGE_3x3\n"));
    assert!(message1.contains("that is the length of 4D_SU3_GAUGE with 64-bit numbers"), "{message1}");
    let message2 = message(&edit(&file, "IEEE64BIG", "IEEE32BIG"));
    assert!(message2.contains("too long") && message2.contains("with 64-bit numbers"), "{message2}");
}

#[test]
fn the_first_links_tell_the_byte_order_whatever_the_header_calls_it() {
    for rows in [StoredRows::Two, StoredRows::Three] {
        for format in FORMATS {
            let file = as_written(&hot(), rows, format);
            let line = format!("POINT = {}\n", format.name());
            let names: &[&str] = if format.size() == 4 {
                &["IEEE32", "IEEE32BIG", "IEEE32LITTLE"]
            } else {
                &["IEEE64", "IEEE64BIG", "IEEE64LITTLE"]
            };
            for name in names {
                let other = edit(&file, &line, &format!("POINT = {name}\n"));
                let read = parse(&other).unwrap_or_else(|error| panic!("{} as {name}: {error}", format.name()));
                assert_eq!(read, parse(&file).unwrap());
                assert_eq!(read.header.floating_point, format);
                // The checksum is that of the data in their order.
                let mut damaged = other;
                *damaged.last_mut().unwrap() ^= 1;
                assert!(message(&damaged).contains("the file is damaged"), "{}", message(&damaged));
            }
        }
    }
}

#[test]
fn fields_that_verify_or_describe_need_not_be_there() {
    let file = as_written(&hot(), StoredRows::Three, FloatingPoint::F32Big);
    let start = data_start(&file);
    let header = std::str::from_utf8(&file[..start]).unwrap();
    let needed = ["_HEADER", "DATATYPE", "DIMENSION", "FLOATING"];
    let fewer: String =
        header.split_inclusive('\n').filter(|line| needed.iter().any(|key| line.contains(key))).collect();
    let read = parse(&[fewer.as_bytes(), &file[start..]].concat()).unwrap();
    assert_eq!(read.configuration, parse(&file).unwrap().configuration);
    assert_eq!((read.header.checksum, read.header.plaquette, read.header.link_trace), (None, None, None));
}

#[test]
fn one_changed_bit_is_a_checksum_error_with_both_values() {
    let mut file = bytes("hot-4x4x4x4/gauge.nersc");
    let position = data_start(&file) + 1007;
    file[position] ^= 1;
    let error = parse(&file).unwrap_err();
    assert!(matches!(error, NerscError::Checksum { header: 0x94f94ec0, .. }), "{error}");
    assert!(error.to_string().contains("header field CHECKSUM is 94f94ec0, but the data sums to 94f9"), "{error}");
}

#[test]
fn a_wrong_plaquette_is_named_with_both_values() {
    let file = bytes("hot-4x4x4x4/gauge.nersc");
    let message = message(&edit(&file, "PLAQUETTE  = -0.002299717679", "PLAQUETTE  = -0.00231"));
    assert!(message.contains("header field PLAQUETTE is -0.00231,"), "{message}");
    assert!(message.contains("-0.0022997176790"), "{message}");
    assert!(parse(&edit(&file, "PLAQUETTE  = -0.002299717679", "PLAQUETTE = -0.002305")).is_ok());
}

#[test]
fn a_wrong_link_trace_is_named_with_both_values() {
    let file = bytes("hot-4x4x4x4/gauge.nersc");
    for wrong in ["0.092901", "nan", "inf"] {
        let message = message(&edit(&file, "LINK_TRACE = 0.09289896844", &format!("LINK_TRACE = {wrong}")));
        assert!(message.contains("header field LINK_TRACE is") && message.contains("0.0928989684388"), "{message}");
    }
    assert!(parse(&edit(&file, "LINK_TRACE = 0.09289896844", "LINK_TRACE = 0.092899")).is_ok());
}

/// The z link of site 1,2,3,1 of a 2.3.4.2 file of doubles in three rows: element (1, 0), imaginary part.
fn altered(value: f64) -> Vec<u8> {
    let mut file = as_written(&hot(), StoredRows::Three, FloatingPoint::F64Big);
    let site = hot().extents().site([1, 2, 3, 1]);
    let position = data_start(&file) + ((site * 4 + 2) * 18 + 7) * 8;
    file[position..position + 8].copy_from_slice(&value.to_be_bytes());
    file
}

#[test]
fn a_link_that_is_not_finite_is_named() {
    for value in [f64::NAN, f64::INFINITY] {
        let message1 = message(&with_checksum(&altered(value)));
        assert!(message1.contains("the z link of site x,y,z,t = 1,2,3,1 is not finite"), "{message1}");
        assert!(message1.contains("row 1, column 0") && !message1.contains("CHECKSUM"), "{message1}");
        let message2 = message(&altered(value));
        assert!(
            message2.contains("the z link of site x,y,z,t = 1,2,3,1") && message2.contains("CHECKSUM"),
            "{message2}"
        );
    }
}

#[test]
fn a_link_outside_su3_is_named_with_its_defect() {
    let message = message(&with_checksum(&altered(3.0)));
    assert!(message.contains("the z link of site x,y,z,t = 1,2,3,1 is not in SU(3)"), "{message}");
    assert!(message.contains("more than 1e-5"), "{message}");
}

#[test]
fn missing_fields_are_named() {
    let file = bytes("hot-4x4x4x4/gauge.nersc");
    let header = String::from_utf8(file[..data_start(&file)].to_vec()).unwrap();
    for field in ["DATATYPE", "DIMENSION_3", "FLOATING_POINT"] {
        let line = header.lines().find(|l| l.starts_with(field)).unwrap();
        assert_eq!(message(&edit(&file, &format!("{line}\n"), "")), format!("the header has no field {field}"));
    }
    for field in ["HDR_VERSION", "STORAGE_FORMAT", "SCIDAC_CHECKSUMA", "CREATOR", "BOUNDARY_2", "ENSEMBLE_ID"] {
        let line = header.lines().find(|l| l.starts_with(field)).unwrap();
        assert!(parse(&edit(&file, &format!("{line}\n"), "")).is_ok(), "{field}");
    }
}

#[test]
fn a_field_given_twice_is_named_with_both_values() {
    let file = bytes("hot-4x4x4x4/gauge.nersc");
    let message = message(&edit(&file, "DIMENSION_2 = 4", "DIMENSION_2 = 4\nDIMENSION_2 = 8"));
    assert_eq!(message, "header field DIMENSION_2 is given twice: \"4\" and \"8\"");
}

#[test]
fn values_that_cannot_be_understood_are_named() {
    let file = bytes("hot-4x4x4x4/gauge.nersc");
    for (from, to, expected) in [
        ("4D_SU3_GAUGE_3x3", "4D_SU2_GAUGE", "DATATYPE is \"4D_SU2_GAUGE\""),
        ("IEEE64BIG", "IEEE16", "FLOATING_POINT is \"IEEE16\""),
        ("DIMENSION_1 = 4", "DIMENSION_1 = four", "DIMENSION_1 is \"four\""),
        ("DIMENSION_1 = 4", "DIMENSION_1 = -4", "DIMENSION_1 is \"-4\""),
        ("94f94ec0", "94f94ec01", "CHECKSUM is \"94f94ec01\""),
        ("0.09289896844", "", "LINK_TRACE is \"\""),
        ("-0.002299717679", "0,5", "PLAQUETTE is \"0,5\""),
    ] {
        let message = message(&edit(&file, from, to));
        assert!(message.contains(expected) && message.contains("should be"), "{message}");
    }
}

#[test]
fn absurd_dimensions_are_refused_before_any_allocation() {
    let file = bytes("hot-4x4x4x4/gauge.nersc");
    let zero = message(&edit(&file, "DIMENSION_3 = 4", "DIMENSION_3 = 0"));
    assert!(zero.contains("4, 4, 0, 4") && zero.contains("at least 1"), "{zero}");
    let many = message(&edit(&file, "DIMENSION_1 = 4", "DIMENSION_1 = 4294967296"));
    assert!(many.contains("at most 2147483647"), "{many}");
    let overflowing = edit(&edit(&file, "_1 = 4", "_1 = 18446744073709551615"), "_2 = 4", "_2 = 18446744073709551615");
    assert!(matches!(parse(&overflowing), Err(NerscError::BadDimensions { .. })));
    let large = message(&edit(&file, "DIMENSION_4 = 4", "DIMENSION_4 = 33554431"));
    assert!(large.contains("truncated") && large.contains("1236950544384"), "{large}");
}

#[test]
fn a_header_without_end_is_searched_only_so_far() {
    let mut file = b"BEGIN_HEADER\nDATATYPE = 4D_SU3_GAUGE\n".to_vec();
    assert_eq!(message(&file), format!("the header has no line END_HEADER in the first {} bytes", file.len()));
    file.resize(1 << 20, b'x');
    file.extend(b"\nEND_HEADER\n");
    assert_eq!(message(&file), "the header has no line END_HEADER in the first 65536 bytes");
}

#[test]
fn what_another_file_begins_with_is_shown() {
    assert!(message(b"").contains("empty"));
    assert!(message(b"\x7fELF\x02\x01").contains("it begins with \"\\x7fELF\\x02\\x01\""));
}

#[test]
fn paths_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let absent = read(&directory.path().join("absent.nersc")).unwrap_err().to_string();
    assert!(absent.contains("absent.nersc") && absent.starts_with("cannot read"), "{absent}");
    assert!(matches!(read(directory.path()), Err(NerscError::Open(OpenError::NotAFile { .. }))));
}

#[test]
fn a_reader_that_ends_early_is_an_error() {
    let file = bytes("hot-4x4x4x4/gauge.nersc");
    let result = read_from(&file[..file.len() / 2], file.len() as u64);
    assert!(matches!(result, Err(NerscError::Read(_))));
}

// What is not written

#[test]
fn links_that_could_not_be_read_back_are_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("refused.nersc");
    let mut links = hot().into_links();
    links[100] += Complex::new(0.0, 1e-3);
    let wrong = Configuration::new(hot().extents(), links.clone()).unwrap();
    let error = write(&path, &wrong, &NerscOptions::default()).unwrap_err();
    assert!(error.to_string().contains("is not in SU(3)"), "{error}");
    links[100].re = f64::NAN;
    let wrong = Configuration::new(hot().extents(), links).unwrap();
    assert!(write(&path, &wrong, &NerscOptions::default()).is_err());
    assert!(!path.exists());
}

#[test]
fn texts_that_would_break_the_header_are_refused() {
    for bad in ["two\nlines", "END_HEADER", "ünprintable", &"x".repeat(201)] {
        let options = NerscOptions { ensemble_label: bad.to_owned(), ..NerscOptions::default() };
        let error = to_bytes(&hot(), &options).unwrap_err();
        assert!(matches!(error, NerscError::BadText { field: "ENSEMBLE_LABEL", .. }), "{error}");
    }
    let options =
        NerscOptions {
            ensemble_label: "β = 6.0".replace('β', "beta"), sequence_number: 42, ..NerscOptions::default()
        };
    let header = parse(&to_bytes(&hot(), &options).unwrap()).unwrap().header;
    assert_eq!((header.ensemble_label.as_str(), header.sequence_number.as_str()), ("beta = 6.0", "42"));
}
