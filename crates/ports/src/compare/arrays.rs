//! Comparison of two arrays.

use lanefield::io::npy::ComplexArray;
use thiserror::Error;

use super::axes::Axes;
use super::cause::causes;
use super::comparison::{CompareOptions, Comparison, Side};
use super::count::count;
use super::hint;
use super::numbers::{Kind, Numbers};
use crate::Content;
use crate::order::{OrderError, SiteOrder, require_shape, show_shape};

#[derive(Debug, Error)]
pub enum CompareError {
    #[error("the shapes differ: A is {a}, B is {b}: {hint}")]
    Shapes { a: String, b: String, hint: String },
    #[error("A is {a}, B is {b}: {hint}")]
    Kinds { a: String, b: String, hint: String },
    #[error("{content} has the axes {}, and the shape is {shape}", .content.axes())]
    Holds { content: Content, shape: String },
    #[error("{array} has {found} numbers, not {expected}")]
    Length { array: String, expected: usize, found: usize },
}

/// Compares two complex arrays. If one is f32 and the other f64, the latter is rounded to f32 first.
pub fn compare(a: &ComplexArray, b: &ComplexArray, options: CompareOptions) -> Result<Comparison, CompareError> {
    compare_numbers(a.into(), b.into(), options)
}

/// Compares two arrays of complex or real numbers, likewise.
pub fn compare_numbers(mut a: Numbers, mut b: Numbers, options: CompareOptions) -> Result<Comparison, CompareError> {
    if a.parts != b.parts || (a.kind == Kind::Whole) != (b.kind == Kind::Whole) {
        let hint = hint::of_types(&a, &b);
        let hint = hint.unwrap_or_else(|| {
            "complex numbers, real numbers and integers are only compared with the same kind".to_owned()
        });
        return Err(CompareError::Kinds { a: a.describe(), b: b.describe(), hint });
    }
    if a.shape != b.shape {
        return Err(CompareError::Shapes {
            a: show_shape(&a.shape),
            b: show_shape(&b.shape),
            hint: hint::of_shapes(&a.shape, &b.shape),
        });
    }
    for (name, array) in [("A", &a), ("B", &b)] {
        let expected = array.shape.iter().product::<usize>() * array.parts;
        if array.values.len() != expected {
            let array_name = format!("{name}, {},", array.describe());
            return Err(CompareError::Length { array: array_name, expected, found: array.values.len() });
        }
    }
    let rounded = match (a.kind, b.kind) {
        (Kind::F32, Kind::F64) => Some(Side::B),
        (Kind::F64, Kind::F32) => Some(Side::A),
        _ => None,
    };
    match rounded {
        Some(Side::A) => round(&mut a),
        Some(Side::B) => round(&mut b),
        None => {}
    }
    let content = options.holds.unwrap_or_else(|| content_of(&a, &b));
    let holds = || CompareError::Holds { content, shape: show_shape(&a.shape) };
    let axes = Axes::holding(content, &a.shape).ok_or_else(holds)?;
    let mut comparison = count(&a, &b, &axes, options.ulps);
    comparison.rounded = rounded;
    comparison.notes = notes(&axes, &a.shape, options);
    if !comparison.is_same() && !options.without_causes && a.kind != Kind::Whole {
        comparison.causes = causes(&a, &b, &axes, &comparison, options);
    }
    Ok(comparison)
}

/// The content of two arrays, of which one may be wrong.
fn content_of(a: &Numbers, b: &Numbers) -> Content {
    let [of_a, of_b] = [a, b].map(|numbers| match numbers.parts {
        2 => Content::of_complex(&numbers.shape, &numbers.values),
        _ => Content::of_shape(&numbers.shape),
    });
    // The content according to the numbers of one, if the numbers of the other disagree.
    if matches!(of_b, Content::Legs | Content::TwoRows) { of_b } else { of_a }
}

/// Possible mistakes in how the arrays were read, although they have the same shape.
fn notes(axes: &Axes, shape: &[usize], options: CompareOptions) -> Vec<String> {
    let unnamed = [options.a, options.b].iter().all(|array| array.order == SiteOrder::Lexicographic);
    match require_shape(shape, SiteOrder::Lexicographic) {
        Err(OrderError::OtherOrder { found, .. }) if unnamed && options.holds.is_none() => {
            let what = if found.has_parities() { "an axis of parities" } else { "the direction of links first" };
            vec![format!(
                "both arrays are read as {}; if their shape {} has {what}, say --order {found} --a-order {found}",
                axes.describe(),
                show_shape(shape)
            )]
        }
        _ => Vec::new(),
    }
}

fn round(numbers: &mut Numbers) {
    numbers.kind = Kind::F32;
    numbers.values.iter_mut().for_each(|x| *x = f64::from(*x as f32));
}
