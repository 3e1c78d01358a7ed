//! Fuzzing of the readers of files: whatever the bytes, they return, with a field that is what the file says or with an
//! error of one line, and they never allocate much more than the file holds. `src/io/nersc`, `src/io/ildg`, `src/io/milc.rs` and
//! `src/io/npy` are what is tested.
//!
//! `PROPTEST_CASES` sets the number of cases. `LANEFIELD_FUZZ_SECONDS=600` goes on for that long and prints how many cases
//! that were (`cargo test --test malformed_files -- --nocapture`).

mod memory;
mod mutation;

use std::path::Path;
use std::time::{Duration, Instant};

use lanefield::io::ildg;
use lanefield::io::lime;
use lanefield::io::milc;
use lanefield::io::nersc::{self, ByteOrder, FloatingPoint, NerscOptions, StoredRows};
use lanefield::io::npy;
use lanefield::prelude::*;
use lanefield_reference::gauge::SU3_TOLERANCE;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};

use memory::{ONE_AT_A_TIME, measured};
use mutation::{Base, Format, base, malformed};

/// What the length of a file justifies. The largest allocation is that of the links: 24 bytes for each 8 of a file of
/// two rows in 32 bits. Besides there are copies of the header and of a piece of the data, and messages.
fn check_memory(length: usize, largest: usize, most: usize) -> Result<(), TestCaseError> {
    prop_assert!(largest <= 3 * length + 8192, "an allocation of {largest} bytes for a file of {length}");
    prop_assert!(most <= 6 * length + 65536, "{most} bytes held at once for a file of {length}");
    Ok(())
}

/// Whatever was accepted must be what it claims to be.
fn check_reader<T, E: std::fmt::Display>(
    file: &[u8],
    parse: impl FnOnce(&[u8]) -> Result<T, E>,
    accepted: impl FnOnce(T) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let (result, largest, most) = measured(|| parse(file));
    check_memory(file.len(), largest, most)?;
    match result {
        Err(error) => check_message(&error.to_string()),
        Ok(read) => accepted(read),
    }
}

/// A message is one line, and readable.
fn check_message(message: &str) -> Result<(), TestCaseError> {
    prop_assert!(!message.is_empty() && message.len() < 1500, "{} bytes: {message}", message.len());
    prop_assert!(!message.chars().any(char::is_control), "not one readable line: {message:?}");
    Ok(())
}

// Running

fn fuzz<S: Strategy>(name: &str, strategy: S, check: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // The pool of threads is made before anything is measured.
    let _ = Configuration::unit(Extents::new([4, 4, 4, 4]).unwrap()).plaquette();
    let mut config = Config {
        source_file: Some(file!()),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 3000;
    }
    let seconds = std::env::var("LANEFIELD_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let (start, mut cases) = (Instant::now(), 0u64);
    loop {
        let mut runner = TestRunner::new(config.clone());
        if let Err(failure) = runner.run(&strategy, &check) {
            panic!("{name}, after {cases} cases: {failure}\n{runner}");
        }
        cases += u64::from(config.cases);
        if start.elapsed() >= Duration::from_secs(seconds) {
            break;
        }
    }
    eprintln!("{name}: {cases} cases in {:.0} s", start.elapsed().as_secs_f64());
}

// NERSC

struct Nersc;

impl Format for Nersc {
    fn make(base: &Base) -> Vec<u8> {
        let rows = if base.kind & 1 == 0 { StoredRows::Two } else { StoredRows::Three };
        let floating_point = match base.kind >> 1 {
            0 => FloatingPoint::F32Big,
            1 => FloatingPoint::F32Little,
            2 => FloatingPoint::F64Big,
            _ => FloatingPoint::F64Little,
        };
        let configuration = Configuration::hot(Extents::new(base.extents).unwrap(), base.seed);
        nersc::to_bytes(&configuration, &NerscOptions { rows, floating_point, ..NerscOptions::default() }).unwrap()
    }

    fn header_length(file: &[u8]) -> usize {
        let end = b"END_HEADER\n";
        file.windows(end.len()).position(|w| w == end).map_or(0, |i| i + end.len())
    }

    fn set_extents(header: &str, extents: &[String; 4]) -> String {
        let mut changed = String::new();
        for line in header.split_inclusive('\n') {
            match (1..5).find(|d| line.starts_with(&format!("DIMENSION_{d}"))) {
                Some(d) => changed.push_str(&format!("DIMENSION_{d} = {}\n", extents[d - 1])),
                None => changed.push_str(line),
            }
        }
        changed
    }
}

fn check_nersc(file: Vec<u8>) -> Result<(), TestCaseError> {
    check_reader(&file, nersc::parse, |read| {
        let header = &read.header;
        let data = header.extents.volume() * header.rows.reals_per_site() * header.floating_point.size();
        prop_assert!(data < file.len());
        prop_assert_eq!(read.configuration.extents(), header.extents);
        prop_assert!(read.configuration.require_su3(SU3_TOLERANCE).is_ok());
        let plaquette = read.configuration.plaquette();
        prop_assert!(header.plaquette.is_none_or(|said| (plaquette - said).abs() < nersc::PLAQUETTE_TOLERANCE));
        Ok(())
    })
}

#[test]
fn nersc_reader_survives_malformed_files() {
    fuzz("NERSC, changed files", malformed::<Nersc>(), check_nersc);
}

#[test]
fn nersc_reader_survives_arbitrary_bytes_after_the_first_line() {
    let file = vec(any::<u8>(), 0..2000).prop_map(|bytes| [b"BEGIN_HEADER\n".as_slice(), &bytes].concat());
    fuzz("NERSC, arbitrary bytes", file, check_nersc);
}

// ILDG

struct Ildg;

impl Format for Ildg {
    fn make(base: &Base) -> Vec<u8> {
        let configuration = Configuration::hot(Extents::new(base.extents).unwrap(), base.seed);
        let lfn = (base.kind & 2 == 0).then(|| "mc://ldg/x".to_owned());
        let options = ildg::IldgOptions { double: base.kind & 1 == 0, lfn, info: "of a test".to_owned() };
        ildg::to_bytes(&configuration, &options).unwrap()
    }

    fn header_length(file: &[u8]) -> usize {
        let kind = b"ildg-binary-data";
        file.windows(kind.len()).position(|w| w == kind).map_or(0, |i| i + 128)
    }

    fn set_extents(header: &str, extents: &[String; 4]) -> String {
        let mut changed = header.to_owned();
        for (name, extent) in ["lx", "ly", "lz", "lt"].into_iter().zip(extents) {
            let (open, close) = (format!("<{name}>"), format!("</{name}>"));
            let place = changed.find(&open).zip(changed.find(&close));
            if let Some((from, to)) = place.filter(|(from, to)| from < to) {
                changed.replace_range(from + open.len()..to, extent);
            }
        }
        changed
    }
}

/// A reader of LIME has a list of records besides, each of which has 144 bytes in the file, and the texts of some.
fn check_ildg(file: Vec<u8>) -> Result<(), TestCaseError> {
    check_reader(
        &file,
        |file| ildg::parse(file, None),
        |read| {
            let header = &read.header;
            prop_assert!(header.data_record().length < file.len() as u64);
            prop_assert_eq!(read.configuration.extents(), header.extents);
            prop_assert!(read.configuration.require_su3(SU3_TOLERANCE).is_ok());
            Ok(())
        },
    )
}

#[test]
fn ildg_reader_survives_malformed_files() {
    fuzz("ILDG, changed files", malformed::<Ildg>(), check_ildg);
}

#[test]
fn ildg_reader_survives_arbitrary_records() {
    let record = (
        select(vec!["ildg-format", "ildg-binary-data", "scidac-checksum", "scidac-private-file-xml"]),
        vec(any::<u8>(), 0..400),
    );
    let file = vec(record, 0..6).prop_map(|records| {
        let mut bytes = Vec::new();
        records.iter().for_each(|(kind, data)| lime::write_record(&mut bytes, kind, [true, true], data).unwrap());
        bytes
    });
    fuzz("ILDG, arbitrary records", file, check_ildg);
}

// MILC

struct Milc;

impl Format for Milc {
    fn make(base: &Base) -> Vec<u8> {
        let configuration = Configuration::hot(Extents::new(base.extents).unwrap(), base.seed);
        let byte_order = if base.kind & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
        milc::to_bytes(&configuration, &milc::MilcOptions { byte_order, ..milc::MilcOptions::default() }).unwrap()
    }

    fn header_length(_: &[u8]) -> usize {
        96
    }

    fn set_extents(header: &str, _: &[String; 4]) -> String {
        header.to_owned()
    }
}

fn check_milc(file: Vec<u8>) -> Result<(), TestCaseError> {
    check_reader(&file, milc::parse, |read| {
        prop_assert_eq!(96 + 288 * read.configuration.extents().volume(), file.len());
        prop_assert!(read.configuration.require_finite().is_ok());
        Ok(())
    })
}

#[test]
fn milc_reader_survives_malformed_files() {
    fuzz("MILC, changed files", malformed::<Milc>(), check_milc);
}

// NumPy

struct Npy;

impl Format for Npy {
    fn make(base: &Base) -> Vec<u8> {
        let [x, y, z, t] = base.extents;
        let shape = match base.kind & 3 {
            0 => vec![t, z, y, x, 4, 3],
            1 => vec![t, z, y, x, 4, 3, 3],
            2 => vec![x, y],
            _ => vec![],
        };
        let elements: usize = shape.iter().product();
        if base.kind & 4 == 0 {
            npy::to_bytes(&shape, &vec![Complex::new(0.5f32, base.seed as f32); elements]).unwrap()
        } else {
            npy::to_bytes(&shape, &vec![Complex::new(0.5f64, base.seed as f64); elements]).unwrap()
        }
    }

    fn header_length(file: &[u8]) -> usize {
        match file {
            [0x93, b'N', b'U', b'M', b'P', b'Y', _, _, low, high, ..] => {
                10 + usize::from(u16::from_le_bytes([*low, *high]))
            }
            _ => 0,
        }
    }

    fn set_extents(header: &str, extents: &[String; 4]) -> String {
        let (Some(open), Some(close)) = (header.find('('), header.find(')')) else { return header.to_owned() };
        if open > close {
            return header.to_owned();
        }
        let tail = if header.contains("4, 3, 3)") { ", 4, 3, 3" } else { ", 4, 3" };
        let changed = format!("{}({}{tail}{}", &header[..open], extents.join(", "), &header[close..]);
        // The same length, so that the header still ends where it should, where the padding allows it.
        let padded = format!("{:<1$}", changed.trim_end_matches([' ', '\n']), header.len());
        if padded.len() == header.len() { padded } else { changed }
    }
}

fn check_npy(file: Vec<u8>) -> Result<(), TestCaseError> {
    check_reader(&file, npy::parse, |read| {
        prop_assert_eq!(read.shape.iter().product::<usize>(), read.values.len());
        prop_assert!(read.values.len() * read.values.precision().complex_size() < file.len());
        let _ = read.require_finite().map_err(|error| error.to_string());
        for result in [
            read.clone().into_gauge().map(drop),
            read.clone().into_field().map(drop),
            read.into_spinor().and_then(|spinor| spinor.require_finite()),
        ] {
            if let Err(error) = result {
                check_message(&error.to_string())?;
            }
        }
        Ok(())
    })
}

#[test]
fn npy_reader_survives_malformed_files() {
    fuzz("npy, changed files", malformed::<Npy>(), check_npy);
}

#[test]
fn npy_reader_survives_arbitrary_headers() {
    let token = select(vec![
        "{",
        "}",
        "(",
        ")",
        "[",
        ",",
        ":",
        " ",
        "\n",
        "'",
        "\"",
        "\\",
        "'descr'",
        "'fortran_order'",
        "'shape'",
        "'<c8'",
        "'<c16'",
        "'>c8'",
        "False",
        "True",
        "None",
        "0",
        "1",
        "3",
        "4294967296",
        "18446744073709551615",
        "L",
        "-",
    ]);
    let text = prop_oneof![vec(token, 0..40).prop_map(|tokens| tokens.concat().into_bytes()), vec(any::<u8>(), 0..200)];
    let file = (select(vec![1u8, 2, 3]), text, any::<Option<u16>>(), vec(any::<u8>(), 0..64)).prop_map(
        |(major, text, length, data)| {
            let length = length.unwrap_or(u16::try_from(text.len()).unwrap_or(u16::MAX));
            let mut file = [b"\x93NUMPY".as_slice(), &[major, 0]].concat();
            file.extend(length.to_le_bytes());
            if major > 1 {
                file.extend([0, 0]);
            }
            [file, text, data].concat()
        },
    );
    fuzz("npy, arbitrary headers", file, check_npy);
}

// Through the file system, and the bounds themselves

#[test]
fn a_file_on_disk_takes_no_more_memory_than_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let check = |base: Base| {
        let (gauge, array) = (directory.path().join("gauge"), directory.path().join("array"));
        std::fs::write(&gauge, Nersc::make(&base)).unwrap();
        std::fs::write(&array, Npy::make(&base)).unwrap();
        let length = |path: &Path| std::fs::metadata(path).unwrap().len() as usize;
        let (result, largest, most) = measured(|| nersc::read(&gauge));
        prop_assert!(result.is_ok());
        check_memory(length(&gauge), largest, most)?;
        let (result, largest, most) = measured(|| npy::read_complex(&array));
        prop_assert!(result.is_ok());
        check_memory(length(&array), largest, most)
    };
    fuzz("both, valid files on disk", base(), check);
}

#[test]
fn the_measurement_sees_an_allocation() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let ((), largest, most) = measured(|| drop((vec![0u8; 1 << 20], vec![1u8; 1 << 20])));
    // The harness's own thread may free a little meanwhile.
    assert!(largest >= 1 << 20 && most >= (1 << 21) - 4096, "{largest}, {most}");
    assert!(check_memory(1000, 1 << 20, 1 << 20).is_err());
}
