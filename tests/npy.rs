//! NumPy arrays in and out: agreement with a file that NumPy wrote, round trips, and one error for each thing that can be
//! wrong. `src/io/npy` is what is tested.

use std::path::{Path, PathBuf};

use lanefield::io::npy::{
    self, ComplexArray, ComplexValues, NpyError, Precision, parse, read_complex, read_fermion5, read_gauge,
    read_spinor, write_complex, write_fermion5, write_gauge, write_spinor,
};
use lanefield::io::open::OpenError;
use lanefield::prelude::*;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A file of format version 1.0 with this dictionary, and `bytes` of zeros as data.
fn file(dictionary: &str, bytes: usize) -> Vec<u8> {
    let length = u16::try_from(dictionary.len()).unwrap();
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(length.to_le_bytes());
    file.extend(dictionary.bytes());
    file.resize(file.len() + bytes, 0);
    file
}

fn dictionary(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
}

fn message(file: &[u8]) -> String {
    let message = parse(file).unwrap_err().to_string();
    assert!(!message.contains('\n') && message.len() < 500, "not one readable line: {message}");
    message
}

fn lattice() -> Extents {
    Extents::new([2, 3, 4, 5]).unwrap()
}

/// Spinor whose numbers tell their place, awkward values among them.
fn spinor() -> Vec<Complex<f64>> {
    let mut values: Vec<_> = (0..lattice().volume() * 12).map(|i| Complex::new(i as f64 + 0.1, -(i as f64))).collect();
    values[3] = Complex::new(-0.0, f64::MIN_POSITIVE / 4.0);
    values[4] = Complex::new(f64::NAN, f64::INFINITY);
    values
}

#[test]
fn an_array_that_numpy_wrote_is_written_again_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.npy");
    let original = data("hot-4x4x4x4/gauge.npy");
    write_gauge(&copy, &read_gauge(&original).unwrap()).unwrap();
    assert!(std::fs::read(&copy).unwrap() == std::fs::read(&original).unwrap());
}

#[test]
fn gauge_axes_are_t_z_y_x_direction_row_column() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gauge.npy");
    let configuration = Configuration::hot(lattice(), 3);
    write_gauge(&path, &configuration).unwrap();
    let array = read_complex(&path).unwrap();
    assert_eq!(array.shape, [5, 4, 3, 2, 4, 3, 3]);
    let values = array.values.into_f64();
    // Element [t=4, z=1, y=2, x=0, mu=3, row=2, column=1], by NumPy's own rule.
    let flat = [4, 1, 2, 0, 3, 2, 1].iter().zip([5, 4, 3, 2, 4, 3, 3]).fold(0, |flat, (i, n)| flat * n + i);
    assert_eq!(values[flat], configuration.link(lattice().site([0, 2, 1, 4]), 3)[2 * 3 + 1]);
    assert_eq!(read_gauge(&path).unwrap(), configuration);
}

#[test]
fn spinors_come_back_bit_for_bit_in_either_precision() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spinor.npy");
    write_spinor(&path, lattice(), &spinor()).unwrap();
    let array = read_spinor(&path).unwrap();
    assert_eq!((array.extents, array.values.precision()), (lattice(), Precision::F64));
    let bits = |v: &[Complex<f64>]| v.iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect::<Vec<_>>();
    assert_eq!(bits(&array.values.into_f64()), bits(&spinor()));

    let single: Vec<Complex<f32>> = spinor().iter().map(|z| Complex::new(z.re as f32, z.im as f32)).collect();
    write_spinor(&path, lattice(), &single).unwrap();
    let array = read_spinor(&path).unwrap();
    assert_eq!(array.values.precision(), Precision::F32);
    let bits = |v: &[Complex<f32>]| v.iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect::<Vec<_>>();
    assert_eq!(bits(&array.values.into_f32()), bits(&single));
}

#[test]
fn a_five_dimensional_fermion_has_s_slowest_in_the_file_and_fastest_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fermion5.npy");
    let ls = 3;
    let number = |k: usize| Complex::new(k as f64, -0.5);
    let values: Vec<_> = (0..lattice().volume() * ls * 12).map(number).collect();
    write_fermion5(&path, lattice(), ls, &values).unwrap();
    let array = read_complex(&path).unwrap();
    assert_eq!(array.shape, [3, 5, 4, 3, 2, 4, 3]);
    // Element [s=2, t=4, z=1, y=2, x=0, spin=3, colour=1], by NumPy's own rule.
    let flat = [2, 4, 1, 2, 0, 3, 1].iter().zip(&array.shape).fold(0, |flat, (i, n)| flat * n + i);
    let word = (lattice().site([0, 2, 1, 4]) * ls + 2) * 12 + 3 * 3 + 1;
    assert_eq!(array.values.into_f64()[flat], number(word));

    let array = read_fermion5(&path).unwrap();
    assert_eq!((array.extents, array.ls), (lattice(), ls));
    assert_eq!(array.values.into_f64(), values);

    let mut values = values;
    values[word].re = f64::NAN;
    write_fermion5(&path, lattice(), ls, &values).unwrap();
    let message = read_fermion5(&path).unwrap().require_finite().unwrap_err().to_string();
    assert!(message.starts_with("element (4, 1, 2, 0, 2, 3, 1) is not finite"), "{message}");
}

#[test]
fn what_is_no_five_dimensional_fermion_is_refused_with_its_shape() {
    let refused = |shape: &[usize]| {
        let values = ComplexValues::F32(vec![Complex::new(0.0, 0.0); shape.iter().product()]);
        ComplexArray { shape: shape.to_vec(), values }.into_fermion5().unwrap_err().to_string()
    };
    let four = refused(&[5, 4, 3, 2, 4, 3]);
    let start = "the shape is (5, 4, 3, 2, 4, 3), which is not a five-dimensional fermion (Ls, T, Z, Y, X, 4, 3)";
    assert_eq!(four, format!("{start}: it has 6 axes, not 7"));
    assert!(refused(&[0, 5, 4, 3, 2, 4, 3]).ends_with("Ls is 0, not 1 to 1024"));
    assert!(refused(&[2, 5, 4, 3, 2, 3, 4]).ends_with("the last axes are (3, 4), not (4, 3)"));
    let gauge = refused(&[5, 4, 3, 2, 4, 3, 3]);
    assert!(gauge.starts_with("the shape is (5, 4, 3, 2, 4, 3, 3)") && gauge.ends_with("not (4, 3)"), "{gauge}");
    let directory = tempfile::tempdir().unwrap();
    let one_short = vec![Complex::new(0.0f32, 0.0); lattice().volume() * 2 * 12 - 1];
    let error = write_fermion5(&directory.path().join("short.npy"), lattice(), 2, &one_short).unwrap_err();
    assert!(error.to_string().ends_with("has 2880 elements, not 2879"), "{error}");
}

#[test]
fn the_axes_after_the_lattices_say_what_a_field_holds() {
    let objects: [(&str, &[usize]); 9] = [
        ("complex", &[]),
        ("colour vector", &[3]),
        ("half spinor", &[2, 3]),
        ("spinor", &[4, 3]),
        ("colour matrix", &[3, 3]),
        ("gauge", &[4, 3, 3]),
        ("propagator", &[4, 4, 3, 3]),
        // Twelve words are no spinor where the axes do not say so.
        ("word list", &[12]),
        ("word list", &[8, 4, 3]),
    ];
    for (object, site) in objects {
        let words = site.iter().product();
        let shape = [&[5, 4, 3, 2], site].concat();
        let values = ComplexValues::F32(vec![Complex::new(f32::NAN, 0.0); lattice().volume() * words]);
        let field = ComplexArray { shape, values }.into_field().unwrap();
        assert_eq!((field.extents, field.words.0, field.object), (lattice(), words, object));
        assert_eq!(field.values.len(), lattice().volume() * words);
    }
}

#[test]
fn precisions_convert_by_rounding_to_nearest() {
    let values = ComplexValues::F64(vec![Complex::new(1.0 + 3.0 * f64::EPSILON, 1.0 + f64::from(f32::EPSILON) / 2.0)]);
    assert_eq!(values.clone().into_f32(), [Complex::new(1.0f32, 1.0)]);
    assert_eq!(ComplexValues::F32(values.into_f32()).into_f64(), [Complex::new(1.0, 1.0)]);
}

#[test]
fn elements_that_are_not_finite_are_read_and_named_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spinor.npy");
    let mut values = spinor();
    values[4] = Complex::new(1.0, 1.0);
    values[lattice().site([1, 2, 0, 3]) * 12 + 2 * 3 + 1].im = f64::NEG_INFINITY;
    write_spinor(&path, lattice(), &values).unwrap();
    let array = read_spinor(&path).unwrap();
    let message = array.require_finite().unwrap_err().to_string();
    assert!(message.starts_with("element (3, 0, 2, 1, 2, 1) is not finite"), "{message}");
    values[lattice().site([1, 2, 0, 3]) * 12 + 2 * 3 + 1].im = 0.0;
    write_spinor(&path, lattice(), &values).unwrap();
    read_spinor(&path).unwrap().require_finite().unwrap();
}

#[test]
fn a_gauge_link_that_is_not_finite_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gauge.npy");
    let mut links = Configuration::unit(lattice()).into_links();
    links[9].re = f64::NAN;
    write_gauge(&path, &Configuration::new(lattice(), links).unwrap()).unwrap();
    let message = read_gauge(&path).unwrap_err().to_string();
    assert!(message.contains("the y link of site x,y,z,t = 0,0,0,0 is not finite"), "{message}");
}

#[test]
fn any_shape_is_read_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("any.npy");
    for shape in [&[][..], &[7], &[0], &[2, 3], &[3, 0, 2], &[1; 30]] {
        let n: usize = shape.iter().product();
        let values: Vec<Complex<f32>> = (0..n).map(|i| Complex::new(i as f32, 0.5)).collect();
        write_complex(&path, shape, &values).unwrap();
        let array = read_complex(&path).unwrap();
        assert_eq!((array.shape.as_slice(), array.values), (shape, ComplexValues::F32(values)));
        assert_eq!(std::fs::metadata(&path).unwrap().len() % 64, (n * 8 % 64) as u64);
    }
    let error = write_complex(&path, &[2, 2], &[Complex::new(0.0f64, 0.0); 3]).unwrap_err();
    assert_eq!(error.to_string(), "shape (2, 2) has 4 elements, not 3");
}

#[test]
fn headers_are_read_however_they_are_written() {
    let zeros = ComplexValues::F32(vec![Complex::new(0.0, 0.0); 6]);
    for dictionary in [
        "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }   \n",
        "{\"shape\":(2,3,),\"fortran_order\":False,\"descr\":\"<c8\"}",
        " { 'fortran_order' : False , 'descr' : '<c8' , 'shape' : ( 2 , 3 ) } ",
    ] {
        let array = parse(&file(dictionary, 48)).unwrap();
        assert_eq!((array.shape.as_slice(), &array.values), (&[2, 3][..], &zeros), "{dictionary}");
    }
    for major in [2, 3] {
        let text = dictionary("'<c8'", "False", "(2, 3)");
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([major, 0]);
        bytes.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.bytes());
        bytes.resize(bytes.len() + 48, 0);
        assert_eq!(parse(&bytes).unwrap().values, zeros, "version {major}.0");
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let text = dictionary("'<c16'", "False", "(2, 3)");
    let short = message(&file(&text, 95));
    assert_eq!(short, "the file is truncated: shape (2, 3) of complex128 needs 96 bytes of data, and 95 are there");
    let long = message(&file(&text, 97));
    assert_eq!(long, "the file is too long: shape (2, 3) of complex128 needs 96 bytes of data, and 97 are there");
    let absurd = message(&file(&dictionary("'<c8'", "False", "(1000000, 1000000, 1000)"), 8));
    assert!(absurd.contains("truncated") && absurd.contains("8000000000000000"), "{absurd}");
    for shape in ["(4294967296, 4294967296, 4294967296)", "(0, 18446744073709551615, 18446744073709551615)"] {
        let result = parse(&file(&dictionary("'<c8'", "False", shape), 8));
        assert!(matches!(result, Err(NpyError::TooLarge { .. } | NpyError::DataLength { .. })), "{shape}: {result:?}");
    }
    let overflow = message(&file(&dictionary("'<c8'", "False", "(18446744073709551616,)"), 8));
    assert!(overflow.contains("too large"), "{overflow}");
}

#[test]
fn other_element_types_are_named() {
    for (descr, hint) in
        [("'>c16'", "big-endian"), ("'<f8'", "real, not complex"), ("'<i4'", "complex64"), ("'|O'", "complex64")]
    {
        let message = message(&file(&dictionary(descr, "False", "(1,)"), 16));
        assert!(message.contains(descr.trim_matches('\'')) && message.contains(hint), "{message}");
    }
    let record = message(&file(&dictionary("[('re', '<f8')]", "False", "(1,)"), 8));
    assert!(record.contains("a type in quotes"), "{record}");
}

#[test]
fn fortran_order_is_refused() {
    assert!(message(&file(&dictionary("'<c16'", "True", "(1, 1)"), 16)).contains("Fortran order"));
}

#[test]
fn shapes_of_other_fields_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("array.npy");
    let write = |shape: &[usize]| {
        let n = shape.iter().product();
        write_complex(&path, shape, &vec![Complex::new(0.0f64, 0.0); n]).unwrap();
    };
    write(&[2, 2, 2, 2, 12]);
    let error = read_spinor(&path).unwrap_err().to_string();
    assert!(error.contains("(2, 2, 2, 2, 12)") && error.contains("5 axes, not 6"), "{error}");
    write(&[2, 2, 2, 2, 3, 4]);
    let error = read_spinor(&path).unwrap_err().to_string();
    assert!(error.contains("the last axes are (3, 4), not (4, 3)"), "{error}");
    write(&[2, 2, 2, 2, 4, 3]);
    let error = read_gauge(&path).unwrap_err().to_string();
    assert!(error.contains("gauge configuration (T, Z, Y, X, 4, 3, 3)"), "{error}");
    write(&[2, 0, 2, 2, 4, 3]);
    assert!(matches!(read_spinor(&path), Err(NpyError::Shape { .. })));
    let error = read_complex(&path).unwrap().into_field().unwrap_err().to_string();
    assert!(error.contains("(2, 0, 2, 2, 4, 3)") && error.contains("2.2.0.2"), "{error}");
}

#[test]
fn malformed_headers_are_refused() {
    for text in [
        "",
        "{",
        "{}",
        "[]",
        "{'descr': '<c8'}",
        "{'descr': '<c8', 'fortran_order': False}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<c8', 'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<c8', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1.5,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': ((1,),)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)} + 1",
        "{'descr': '<c8, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '\\x3cc8', 'fortran_order': False, 'shape': (1,)}",
    ] {
        let error = parse(&file(text, 8)).unwrap_err();
        assert!(matches!(error, NpyError::Header(_)), "{text}: {error}");
        assert!(error.to_string().starts_with("the .npy header"), "{error}");
    }
    let nested = message(&file(&format!("{{'shape': {}", "(".repeat(60000)), 8));
    assert!(nested.contains("an extent"), "{nested}");
    let many = message(&file(&dictionary("'<c8'", "False", &format!("({})", "1,".repeat(30000))), 8));
    assert!(many.contains("more than 64 axes"), "{many}");
}

#[test]
fn files_that_are_cut_off_or_no_arrays_are_told_apart() {
    let whole = std::fs::read(data("hot-4x4x4x4/gauge.npy")).unwrap();
    for length in 0..6 {
        assert!(matches!(parse(&whole[..length]), Err(NpyError::NotNpy)), "{length} bytes");
    }
    for length in 6..128 {
        assert!(matches!(parse(&whole[..length]), Err(NpyError::Header(_))), "{length} bytes");
    }
    assert!(matches!(parse(&whole[..whole.len() - 1]), Err(NpyError::DataLength { .. })));
    assert!(message(b"BEGIN_HEADER\nDATATYPE").contains("not a NumPy array"));
    assert!(message(b"\x93NUMPY\x04\x00\x00\x00\x00\x00").contains("version 4.0"));
    let long = [b"\x93NUMPY\x02\x00\x00\x00\x01\x00".as_slice(), &[b' '; 70000]].concat();
    assert!(message(&long).contains("at most 65536"));
    assert!(matches!(npy::read_from(&whole[..1000], whole.len() as u64), Err(NpyError::Read(_))));
}

#[test]
fn paths_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let absent = read_complex(&directory.path().join("absent.npy")).unwrap_err().to_string();
    assert!(absent.contains("absent.npy"), "{absent}");
    assert!(matches!(read_spinor(directory.path()), Err(NpyError::Open(OpenError::NotAFile { .. }))));
}
