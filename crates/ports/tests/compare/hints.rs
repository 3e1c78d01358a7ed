//! Arrays that cannot be compared: what would make them comparable.

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield_ports::compare::{CompareOptions, Numbers, compare, compare_numbers};
use num_complex::Complex;

fn array(shape: &[usize]) -> ComplexArray {
    ComplexArray { shape: shape.to_vec(), values: ComplexValues::F32(vec![Complex::default(); shape.iter().product()]) }
}

fn error(a: &[usize], b: &[usize]) -> String {
    compare(&array(a), &array(b), CompareOptions::default()).unwrap_err().to_string()
}

#[test]
fn shapes_that_differ_are_explained() {
    const SPINOR: &[usize] = &[8, 4, 4, 4, 4, 3];
    const LINKS: &[usize] = &[8, 4, 4, 4, 4, 3, 3];
    let cases: [(&[usize], &[usize], &str); 15] = [
        (SPINOR, &[4, 4, 4, 8, 4, 3], "the axes (X, Y, Z, T)"),
        (SPINOR, &[8, 4, 4, 4, 3, 4], "B has colour before spin: read it with --inner colour-spin"),
        (&[8, 4, 4, 4, 3, 4], SPINOR, "A has colour before spin: read it with --a-inner colour-spin"),
        (
            SPINOR,
            &[2, 8, 4, 4, 2, 4, 3],
            "B has an axis of parities and X/2: read it with --order even-odd (odd-even, if",
        ),
        (&[2, 8, 4, 4, 2, 4, 3], SPINOR, "A has an axis of parities and X/2: read it with --a-order even-odd"),
        (
            SPINOR,
            &[2, 8, 4, 4, 2, 3, 4],
            "B has an axis of parities and X/2, and colour before spin: read it with --order even-odd --inner colour-spin",
        ),
        (&[6, 8, 4, 4, 4, 4, 3], &[6, 2, 8, 4, 4, 2, 4, 3], "--order even-odd"),
        (LINKS, &[2, 8, 4, 4, 2, 4, 3, 3], "--order even-odd"),
        (
            LINKS,
            &[4, 2, 8, 4, 4, 2, 3, 3],
            "B has the direction of links first, then parities and X/2: read it with --order quda",
        ),
        (
            &[8, 4, 4, 6, 4, 3, 3],
            &[4, 8, 4, 4, 6, 3, 3],
            "B has the direction of links first: read it with --order gpt",
        ),
        (SPINOR, &[8, 4, 2, 4, 4, 3], "axis 2 (4 and 2) differs"),
        (SPINOR, &[6, 4, 2, 4, 4, 3], "axes 0 (8 and 6), 2 (4 and 2) differ"),
        (
            SPINOR,
            &[8, 4, 4, 4, 12],
            "6 axes and 5, with as many numbers: reshape one of them, if they lie in the same order",
        ),
        (&[2, 2], &[3], "2 axes and 1"),
        (&[2], &[3, 2], "1 axis and 2"),
    ];
    for (a, b, expected) in cases {
        let said = error(a, b);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn an_axis_of_real_and_imaginary_parts_is_named_with_what_makes_complex_numbers_of_it() {
    let complex: Numbers = (&array(&[2, 2, 2, 4, 4, 3])).into();
    let reals = Numbers::of_f64(vec![2, 2, 2, 4, 4, 3, 2], vec![0.0; 768]);
    let error = |a: &Numbers, b: &Numbers| {
        compare_numbers(a.clone(), b.clone(), CompareOptions::default()).unwrap_err().to_string()
    };
    let said = error(&complex, &reals);
    assert!(
        said.ends_with(
            "B has real and imaginary parts as its last axis: b.view('c16')[..., 0] makes complex numbers of it"
        ),
        "{said}"
    );
    let single = Numbers::of_f32(vec![2, 2, 2, 4, 4, 3, 2], &[0.0; 768]);
    assert!(error(&single, &complex).contains("a.view('c8')"));
    let others = Numbers::of_f64(vec![3], vec![0.0; 3]);
    assert!(
        error(&complex, &others)
            .ends_with("complex numbers, real numbers and integers are only compared with the same kind")
    );
}
