//! The axes of arrays: what they say about the content, and which axes a role requires.

use lanefield::kernel::{FieldContents, FieldSites, Kernel};
use lanefield::prelude::*;
use lanefield::reference::field::{DoubledGauge, Object};
use lanefield::reference::kernels::domain_wall::MatrixForm;
use lanefield_ports::golden::axes_of;

/// The object and the lattice of an array with these axes, as a field of that role; `None` if it cannot be such a field.
pub fn object_of(holds: FieldContents, shape: &[usize], links: DoubledGauge) -> Option<(Object, Extents)> {
    let several = |shape: &[usize]| match *shape {
        [_, _, _, _, 4, 3] => Some(Object::Spinors(1)),
        [count, _, _, _, _, 4, 3] => Some(Object::Spinors(count)),
        _ => None,
    };
    let vectors = |shape: &[usize]| match *shape {
        [_, _, _, _, count, 3] => Some(Object::ColourVectors(count)),
        [_, _, _, _, 3] => Some(Object::ColourVectors(1)),
        _ => None,
    };
    let object = match holds {
        FieldContents::Spinors => several(shape),
        FieldContents::ColourVectors => vectors(shape),
        FieldContents::DoubledLinks => Some(Object::DoubledGauge(links)),
        FieldContents::Links => Some(Object::Gauge),
        FieldContents::FieldStrength => Some(Object::FieldStrength),
        FieldContents::CloverBlocks => Some(Object::CloverBlocks),
        FieldContents::ComplexNumber => Some(Object::ComplexNumber),
        FieldContents::Exactly(object) => Some(object),
        FieldContents::Any | FieldContents::AnyNumber | FieldContents::Converted => match *shape {
            [_, _, _, _, 6, 3, 3] => Some(Object::FieldStrength),
            [_, _, _, _, 4, 3, 3] => Some(Object::Gauge),
            [_, _, _, _, 2, 18] => Some(Object::CloverBlocks),
            [_, _, _, _] => Some(Object::ComplexNumber),
            _ => several(shape).or_else(|| vectors(shape)).or_else(|| {
                let words: Option<usize> = shape.get(4..)?.iter().try_fold(1, |n: usize, &axis| n.checked_mul(axis));
                words.filter(|&words| words > 0).map(Object::Words)
            }),
        },
    }?;
    // The axis at which the lattice begins: the second if there are several spinors.
    let first = usize::from(shape.len() == 7 && several(shape).is_some());
    let &[t, z, y, x] = shape.get(first..first + 4)? else { return None };
    let extents = Extents::new([x, y, z, t]).ok()?;
    let fits = match object {
        Object::Words(_) => true,
        // An axis for one spinor, or no axis for one vector.
        Object::Spinors(1) => several(shape).is_some(),
        Object::ColourVectors(1) => vectors(shape).is_some(),
        Object::Spinors(0) | Object::ColourVectors(0) => false,
        object => axes_of(object, extents) == shape,
    };
    fits.then_some((object, extents))
}

/// The axes of an array for a role, in words.
pub fn axes_in_words(kernel: &Kernel, holds: FieldContents, links: LinkFormat) -> String {
    let (one, several) = (kernel.takes_parts(1), kernel.takes_parts(2));
    let either = |of_one: &str, of_several: &str| match (one, several) {
        (true, true) => format!("{of_one}, {of_several}"),
        (false, _) => of_several.to_owned(),
        _ => of_one.to_owned(),
    };
    match holds {
        FieldContents::Spinors => either("(T, Z, Y, X, 4, 3)", "(n, T, Z, Y, X, 4, 3)"),
        FieldContents::ColourVectors => either("(T, Z, Y, X, 1, 3)", "(T, Z, Y, X, n, 3)"),
        FieldContents::DoubledLinks => match links {
            LinkFormat::Full => "(T, Z, Y, X, 8, 3, 3)",
            LinkFormat::TwoRows => "(T, Z, Y, X, 8, 2, 3)",
            LinkFormat::Eight => "(T, Z, Y, X, 8, 4)",
        }
        .to_owned(),
        FieldContents::Links => "(T, Z, Y, X, 4, 3, 3)".to_owned(),
        FieldContents::FieldStrength => "(T, Z, Y, X, 6, 3, 3)".to_owned(),
        FieldContents::CloverBlocks => "(T, Z, Y, X, 2, 18)".to_owned(),
        FieldContents::ComplexNumber => "(T, Z, Y, X)".to_owned(),
        FieldContents::Exactly(object) => format!("(T, Z, Y, X, {} numbers)", object.words()),
        FieldContents::Any | FieldContents::AnyNumber | FieldContents::Converted => {
            "(T, Z, Y, X, …) or (n, T, Z, Y, X, 4, 3)".to_owned()
        }
    }
}

/// The axes of the coefficients of a matrix along s.
pub fn axes_of_matrix(form: MatrixForm) -> &'static str {
    match form {
        MatrixForm::Tridiagonal => "(3, ls)",
        MatrixForm::Sweep => "(2, 3, ls)",
        MatrixForm::Dense => "(2, ls, ls)",
    }
}

pub fn sites_in_words(at: FieldSites) -> &'static str {
    match at {
        FieldSites::Target => "on the sites of the result",
        FieldSites::Neighbours => "on their neighbours",
        FieldSites::All => "on all sites",
    }
}
