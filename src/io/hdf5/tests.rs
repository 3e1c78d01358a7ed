//! Tests that read files from h5py (`tests/data/hdf5`), files written by this module, and damaged files.

use std::fs;
use std::io::Cursor;

use super::stored::PARTS;
use super::*;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hdf5");

/// The numbers of `tests/data/hdf5/make.py`.
fn numbers(count: usize) -> Vec<Complex<f64>> {
    let number =
        |n: usize| Complex::new(0.5 * n as f64, if n.is_multiple_of(2) { n as f64 + 1.0 } else { -(n as f64) - 1.0 });
    (0..count).map(number).collect()
}

fn complex128(shape: &[usize]) -> ComplexArray {
    ComplexArray { shape: shape.to_vec(), values: ComplexValues::F64(numbers(shape.iter().product())) }
}

fn complex64(shape: &[usize]) -> ComplexArray {
    let narrow = |z: Complex<f64>| Complex::new(z.re as f32, z.im as f32);
    let values = numbers(shape.iter().product()).into_iter().map(narrow).collect();
    ComplexArray { shape: shape.to_vec(), values: ComplexValues::F32(values) }
}

fn fixture(name: &str, dataset: Option<&str>) -> Result<ComplexArray, Hdf5Error> {
    read_complex(&Path::new(FIXTURES).join(name).with_extension("h5"), dataset)
}

fn to_bytes(dataset: &str, array: &ComplexArray) -> Vec<u8> {
    let mut bytes = Vec::new();
    emit(builder(dataset, array).unwrap(), &mut bytes).unwrap();
    bytes
}

fn parse(bytes: Vec<u8>, dataset: Option<&str>) -> Result<ComplexArray, Hdf5Error> {
    read_from(Cursor::new(bytes), dataset)
}

fn message(result: Result<ComplexArray, Hdf5Error>) -> String {
    result.unwrap_err().to_string()
}

/// The bits of the numbers, which distinguish NaNs and signed zeros.
fn bits(array: &ComplexArray) -> Vec<u64> {
    match &array.values {
        ComplexValues::F32(values) => {
            values.iter().flat_map(|z| [z.re, z.im]).map(|x| u64::from(x.to_bits())).collect()
        }
        ComplexValues::F64(values) => values.iter().flat_map(|z| [z.re, z.im]).map(f64::to_bits).collect(),
    }
}

#[test]
fn complex128_is_read_back_bit_by_bit() {
    let mut array = complex128(&[2, 3, 4]);
    let ComplexValues::F64(values) = &mut array.values else { unreachable!() };
    values[0] = Complex::new(-0.0, f64::from_bits(0x7ff8_0000_0000_1234));
    values[1] = Complex::new(f64::NEG_INFINITY, f64::from_bits(1));
    let read = parse(to_bytes("field", &array), None).unwrap();
    assert_eq!((&read.shape, bits(&read)), (&array.shape, bits(&array)));
}

#[test]
fn complex64_is_read_back_bit_by_bit() {
    let mut array = complex64(&[2, 3, 4]);
    let ComplexValues::F32(values) = &mut array.values else { unreachable!() };
    values[0] = Complex::new(-0.0, f32::from_bits(0x7fc0_1234));
    values[1] = Complex::new(f32::NEG_INFINITY, f32::from_bits(1));
    let read = parse(to_bytes("field", &array), None).unwrap();
    assert!(matches!(read.values, ComplexValues::F32(_)));
    assert_eq!((&read.shape, bits(&read)), (&array.shape, bits(&array)));
}

#[test]
fn a_file_that_is_written_twice_has_the_same_bytes() {
    let array = complex64(&[3, 5]);
    let again = parse(to_bytes("a/b", &array), None).unwrap();
    assert_eq!(to_bytes("a/b", &array), to_bytes("a/b", &again));
}

#[test]
fn arrays_of_no_axes_no_numbers_and_more_rows_than_parts_are_read_whole() {
    for shape in [&[][..], &[2, 0, 3], &[4 * PARTS as usize + 3, 2]] {
        assert_eq!(parse(to_bytes("field", &complex128(shape)), None).unwrap(), complex128(shape), "{shape:?}");
    }
}

#[test]
fn a_dataset_in_groups_is_found_by_its_path_and_without() {
    let array = complex128(&[4]);
    let bytes = to_bytes("a/b/c", &array);
    for dataset in [None, Some("a/b/c"), Some("/a/b/c")] {
        assert_eq!(parse(bytes.clone(), dataset).unwrap(), array);
    }
}

#[test]
fn a_path_that_names_nothing_is_not_written() {
    for name in ["", "/", "a//b", "a/", "a/./b", "a\0"] {
        let error = builder(name, &complex128(&[1])).err().unwrap();
        assert!(matches!(error, Hdf5Error::Name(_)), "{name:?}: {error}");
    }
}

#[test]
fn values_of_another_number_than_the_shape_says_are_not_written() {
    for (shape, says) in [(vec![2, 3], "(2, 3) has 6 elements, not 4"), (vec![usize::MAX, 3], "more than 2^64")] {
        let array = ComplexArray { shape, values: complex64(&[4]).values };
        let error = builder("field", &array).err().unwrap().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kept.h5");
    fs::write(&path, "old").unwrap();
    write_complex(&path, "a//b", &complex64(&[1])).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_written_file_is_there_under_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("field.h5");
    write_complex(&path, "field", &complex64(&[2, 2])).unwrap();
    assert_eq!(read_complex(&path, None).unwrap(), complex64(&[2, 2]));
}

#[test]
fn datasets_of_h5py_are_read_whatever_their_type_and_layout() {
    let scalar = ComplexValues::F64(vec![Complex::new(1.5, -2.0)]);
    for (file, datasets, expected) in [
        ("contiguous", &["complex64", "big_endian_f32", "trailing_big_endian_f32"][..], complex64(&[2, 3])),
        ("contiguous", &["complex128", "big_endian_f64", "trailing_f64", "compact"], complex128(&[2, 3])),
        ("contiguous", &["scalar"], ComplexArray { shape: vec![], values: scalar }),
        ("contiguous", &["empty"], complex128(&[0, 3])),
        // Deflated; in a group.
        ("chunked", &[], complex128(&[7, 5])),
        ("nested", &[], complex128(&[2, 3])),
        // HDF5 1.14.
        (
            "v114",
            &["contiguous", "fixed_array", "single_chunk", "extensible_array", "committed_type"],
            complex64(&[7, 5]),
        ),
    ] {
        let named = datasets.iter().map(|name| Some(*name));
        for dataset in named.chain(datasets.is_empty().then_some(None)) {
            assert_eq!(fixture(file, dataset).unwrap(), expected, "{file} {dataset:?}");
        }
    }
}

#[test]
fn what_hdf5_2_0_writes_is_read_unless_compressed() {
    for dataset in ["contiguous", "chunked"] {
        assert_eq!(fixture("latest", Some(dataset)).unwrap(), complex64(&[7, 5]), "{dataset}");
    }
    let message = message(fixture("latest", Some("gzip")));
    assert!(message.contains("are laid out as by HDF5 2.0 and later (version 5)"), "{message}");
}

#[test]
fn a_file_with_soft_links_is_read_by_name() {
    assert_eq!(fixture("soft_link", Some("field")).unwrap(), complex128(&[2, 3]));
    let message = message(fixture("soft_link", None));
    assert!(message.starts_with("the groups of the file cannot be searched"), "{message}");
}

#[test]
fn chunks_of_several_unlimited_axes_are_refused_where_they_are_in_a_tree_of_version_2() {
    let message = message(fixture("v114", Some("b_tree_2")));
    assert!(message.contains("B-tree"), "{message}");
}

#[test]
fn several_complex_datasets_are_listed() {
    let message = message(fixture("contiguous", None));
    assert!(message.starts_with("9 datasets of complex numbers are in the file; name one of big_end"), "{message}");
    assert!(message.contains("complex128, complex64,") && message.ends_with(" and 1 more"), "{message}");
}

#[test]
fn what_there_is_is_listed_where_nothing_is_complex() {
    let message = message(fixture("refused", None));
    assert!(message.contains("real: f64 (2, 3)"), "{message}");
    assert!(message.contains("three: compound{r: f64, i: f64, error: f64} (2,)"), "{message}");
}

#[test]
fn what_there_is_is_listed_where_a_name_is_not() {
    for absent in ["a/b/d", "a", "trajectory/x"] {
        let message = message(fixture("nested", Some(absent)));
        assert!(message.contains("a/b/c: compound{r: f64, i: f64} (2, 3), a/plaquette: f64 ()"), "{message}");
    }
}

#[test]
fn what_is_not_two_floats_for_real_and_imaginary_part_is_refused() {
    for dataset in ["three", "integers", "mixed", "half", "swapped", "mean", "real"] {
        let message = message(fixture("refused", Some(dataset)));
        assert!(message.starts_with(&format!("dataset {dataset:?} is ")), "{message}");
        assert!(message.contains("its elements should be compounds {r, i}"), "{message}");
    }
}

#[test]
fn numbers_that_were_never_written_are_not_read() {
    let contiguous = message(fixture("unwritten", Some("contiguous")));
    assert!(contiguous.contains("0 of its 64 bytes are in the file"), "{contiguous}");
    let chunked = message(fixture("unwritten", Some("chunked")));
    assert!(chunked.contains("1 of its 2 chunks are in the file"), "{chunked}");
    fixture("unwritten", Some("null")).unwrap_err();
}

#[test]
fn groups_that_contain_each_other_end_the_search() {
    let message = message(fixture("cycle", None));
    assert!(message.contains("a/field, a/up/a/field, "), "{message}");
    assert_eq!(fixture("cycle", Some("a/field")).unwrap(), complex128(&[2, 3]));
}

#[test]
fn another_file_is_said_to_be_no_hdf5() {
    for bytes in [&b""[..], b"\x93NUMPY\x01\x00", &[0; 4096]] {
        let message = message(parse(bytes.to_vec(), None));
        assert!(message.starts_with("not an HDF5 file"), "{message}");
    }
}

#[test]
fn a_directory_is_said_to_be_no_file() {
    assert!(matches!(read_complex(Path::new(FIXTURES), None), Err(Hdf5Error::Open(_))));
}

#[test]
fn a_read_is_metered() {
    let file = Metered::new(Cursor::new(vec![0; 64])).unwrap();
    let reads = (0..1_000_000).take_while(|_| file.read_at(0, &mut [0; 64]).is_ok()).count();
    assert_eq!(reads as u64, (64 * 2 * PARTS + (16 << 20)) / (64 + 256));
}

/// All files that are damaged below, with the dataset to read in addition to the search.
fn sound_files() -> Vec<(Vec<u8>, &'static str)> {
    let fixture = |name: &str| fs::read(Path::new(FIXTURES).join(name).with_extension("h5")).unwrap();
    vec![(to_bytes("a/b", &complex64(&[2, 3])), "a/b"), (fixture("chunked"), "gzip"), (fixture("latest"), "chunked")]
}

/// Checks that a message is one readable line.
fn check(result: Result<ComplexArray, Hdf5Error>) {
    match result {
        Ok(array) => assert_eq!(array.values.len(), array.shape.iter().product::<usize>()),
        Err(error) => {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control) && message.len() < 1500, "{message:?}");
        }
    }
}

#[test]
fn a_bit_that_flips_in_what_was_written_is_found() {
    let array = complex64(&[2, 3]);
    let sound = to_bytes("a/b", &array);
    for at in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        if let Ok(read) = parse(bytes, Some("a/b")) {
            assert_eq!((&read.shape, bits(&read)), (&array.shape, bits(&array)), "byte {at}");
        }
    }
}

#[test]
fn a_type_of_thousands_of_levels_is_refused() {
    let write = || {
        let outer = |base_type| Datatype::VariableLength {
            is_string: false,
            padding: None,
            charset: None,
            base_type: Box::new(base_type),
        };
        let datatype = (0..8000).fold(make_f64_type(), |inner, _| outer(inner));
        let mut file = FileBuilder::new();
        file.create_dataset("deep").with_raw_data(datatype, vec![0; 16], 1);
        file.finish().unwrap()
    };
    let bytes = thread::Builder::new().stack_size(STACK).spawn(write).unwrap().join().unwrap();
    let message = message(parse(bytes, Some("deep")));
    assert!(message.starts_with("dataset \"deep\" is vlen<vlen<"), "{message}");
}

#[test]
fn a_panic_while_reading_is_an_error() {
    struct Panics(Cursor<Vec<u8>>);
    impl Read for Panics {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("on purpose")
        }
    }
    impl Seek for Panics {
        fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }
    let file = to_bytes("field", &complex64(&[1]));
    assert!(matches!(read_from(Panics(Cursor::new(file)), None), Err(Hdf5Error::Parser)));
}

#[test]
fn a_truncated_file_is_an_error_or_whole() {
    for (file, dataset) in sound_files() {
        let whole = parse(file.clone(), Some(dataset)).unwrap();
        for length in 0..file.len() {
            match parse(file[..length].to_vec(), Some(dataset)) {
                // The missing bytes may be ones that no number needs.
                Ok(read) => assert_eq!(read, whole, "of {length} bytes"),
                error => check(error),
            }
        }
    }
}

#[test]
fn a_file_with_a_wrong_byte_does_not_panic() {
    for (file, dataset) in sound_files() {
        for at in 0..file.len() {
            for (flip, dataset) in [(0xff, Some(dataset)), (0x01, None)] {
                let mut damaged = file.clone();
                damaged[at] ^= flip;
                check(parse(damaged, dataset));
            }
        }
    }
}

/// QDP++ writes a propagator this way: each element is an array of spins of arrays of colours.
#[test]
fn elements_that_are_arrays_add_their_axes() {
    let array = complex128(&[2, 3, 4, 4, 3, 3]);
    let real = make_f64_type();
    let complex = CompoundTypeBuilder::new().field("r", real.clone()).field("i", real).build().unwrap();
    let of = |base_type, side| Datatype::Array { base_type: Box::new(base_type), dimensions: vec![side, side] };
    let ComplexValues::F64(values) = &array.values else { unreachable!() };
    let mut file = FileBuilder::new();
    let bytes = bytes_of(values, f64::to_le_bytes).unwrap();
    file.create_dataset("prop").with_raw_data(of(of(complex, 3), 4), bytes, 6).with_shape(&[2, 3]);
    let mut written = Vec::new();
    emit(file, &mut written).unwrap();
    assert_eq!(parse(written.clone(), None).unwrap(), array);
    written.truncate(written.len() - 64);
    assert!(parse(written, None).is_err());
}
