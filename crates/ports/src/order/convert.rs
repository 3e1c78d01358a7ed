//! Converts arrays from the order and basis of another program to ours, and back.

use lanefield::io::npy::{ComplexArray, ComplexValues, Precision};
use num_complex::Complex;

use super::convention::Convention;
use super::error::OrderError;
use super::gamma::{GammaBasis, SpinMatrix};
use super::layout::{Layout, Places, spin_strides};
use crate::Content;

/// The content of an array in some order, as far as its numbers tell: the numbers of a site are together in all orders.
fn content_of(array: &ComplexArray) -> Content {
    const NUMBERS: usize = 1 << 10;
    let reals: Vec<f64> = match &array.values {
        ComplexValues::F32(values) => values.iter().take(NUMBERS).flat_map(|z| [z.re.into(), z.im.into()]).collect(),
        ComplexValues::F64(values) => values.iter().take(NUMBERS).flat_map(|z| [z.re, z.im]).collect(),
    };
    Content::of_complex(&array.shape, &reals)
}

/// Converts an array of another program to our order and basis.
///
/// Its shape may be that of its order: `(2, T, Z, Y, X/2, …)`, or `(4, 2, T, Z, Y, X/2, 3, 3)` for links with the direction slowest. Other fields
/// may also have the shape `(T, Z, Y, X, …)`, although their numbers are in the order. The result has our shape: `(T, Z, Y, X, …)`, or `(Ls, T, Z,
/// Y, X, 4, 3)` for five-dimensional fermions.
///
/// Orders move numbers and change no bit. The basis `chiral` differs from ours by an exchange of spins and by signs. The others differ by sums of
/// two spins times 1/√2: the sum and the product are each rounded in f64, and the result once to the precision of the array.
pub fn to_ours(array: ComplexArray, from: Convention) -> Result<ComplexArray, OrderError> {
    if from == Convention::OURS {
        return Ok(array);
    }
    let content = content_of(&array);
    let ComplexArray { shape, values } = array;
    let layout = Layout::of(&shape, content, from)?;
    require_length(&shape, values.len())?;
    let array = ComplexArray { shape: layout.our_shape(), values: moved(&values, &layout.places(), Places::place) };
    change_basis(array, from.gamma, |basis| basis.to_ours())
}

/// Converts an array of ours to the order and basis of another program, with the shape that fields have there: the inverse of [`to_ours`].
pub fn from_ours(array: ComplexArray, to: Convention) -> Result<ComplexArray, OrderError> {
    if to == Convention::OURS {
        return Ok(array);
    }
    let content = content_of(&array);
    let ComplexArray { shape, values } = change_basis(array, to.gamma, |basis| basis.from_ours())?;
    let layout = Layout::of_ours(&shape, content, to)?;
    require_length(&shape, values.len())?;
    let values = moved(&values, &layout.places(), Places::number);
    Ok(ComplexArray { shape: layout.their_shape(), values })
}

/// The numbers of an array in another order, each from the position `source`.
fn moved(values: &ComplexValues, places: &Places, source: fn(&Places, usize) -> usize) -> ComplexValues {
    let sources = (0..places.count()).map(|k| source(places, k));
    match values {
        ComplexValues::F32(values) => ComplexValues::F32(sources.map(|k| values[k]).collect()),
        ComplexValues::F64(values) => ComplexValues::F64(sources.map(|k| values[k]).collect()),
    }
}

/// Applies a matrix to every spin axis of an array in our order.
fn change_basis(
    array: ComplexArray,
    basis: GammaBasis,
    matrix: impl Fn(GammaBasis) -> SpinMatrix,
) -> Result<ComplexArray, OrderError> {
    if basis == GammaBasis::DegrandRossi {
        return Ok(array);
    }
    let matrix = matrix(basis);
    let ComplexArray { shape, values } = array;
    require_length(&shape, values.len())?;
    let Some(strides) = spin_strides(&shape) else {
        return Err(OrderError::NoSpins { shape, what: "basis", also: "" });
    };
    let precision = values.precision();
    let mut numbers: Vec<Complex<f64>> = values.into_f64();
    strides.iter().for_each(|&stride| matrix.apply(&mut numbers, stride));
    let values = ComplexValues::F64(numbers);
    let values = match precision {
        Precision::F32 => ComplexValues::F32(values.into_f32()),
        Precision::F64 => values,
    };
    Ok(ComplexArray { shape, values })
}

fn require_length(shape: &[usize], found: usize) -> Result<(), OrderError> {
    let expected = shape.iter().product();
    if found == expected { Ok(()) } else { Err(OrderError::Length { shape: shape.to_owned(), expected, found }) }
}
