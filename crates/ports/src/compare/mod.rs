//! Two arrays compared: the first site, spin, colour and bit where they differ, how many do, where they lie, and what that tells ([`Cause`]).
//! Numbers are compared as integers, and any NaN equals any NaN (`docs/arithmetic.md` §1).

mod axes;
mod cause;
mod count;
mod explain;
mod hint;
mod numbers;
mod text;

use lanefield::io::npy::ComplexArray;
use serde::Serialize;
use thiserror::Error;

use crate::Content;
use crate::order::{Convention, OrderError, SiteOrder, require_shape, show_shape};

pub use axes::{Axes, SiteAxis};
pub use cause::{Cause, Confidence};
pub use count::{Bin, Histogram, SiteMap};
pub use explain::{ExplainError, HopFindings, HopInputs, Likeness, explain_hop};
pub use numbers::Numbers;
use numbers::{Kind, bits};
pub(crate) use text::counted;
pub use text::grouped;

/// How arrays are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompareOptions {
    /// Numbers so many units in the last place apart, or fewer, are accepted; 0 asks for the same bits.
    pub ulps: u64,
    /// Leaves out the search for causes, which reads the arrays several times.
    pub without_causes: bool,
    /// What the arrays hold; else their shape and their numbers tell.
    pub holds: Option<Content>,
    /// What the first array was before it was converted to our order and basis: where that was wrong, a cause says so.
    pub a: Convention,
    /// What the second array was.
    pub b: Convention,
}

/// Why two arrays cannot be compared.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum CompareError {
    /// They have different shapes.
    #[error("the shapes differ: A is {a}, B is {b}: {hint}")]
    Shapes { a: String, b: String, hint: String },
    /// One has complex, real or whole numbers, the other has not.
    #[error("A is {a}, B is {b}: {hint}")]
    Kinds { a: String, b: String, hint: String },
    /// They do not have the shape of what they should hold.
    #[error("{content} has the axes {}, and the shape is {shape}", .content.axes())]
    Holds { content: Content, shape: String },
    /// An array whose numbers are not as many as its shape says.
    #[error("{array} has {found} numbers, not {expected}")]
    Length { array: String, expected: usize, found: usize },
}

/// One of the two arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// An index on an axis.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AxisIndex {
    /// "s", "spin", "colour", "direction", …
    pub axis: &'static str,
    /// From 0; directions are x, y, z, t, legs +x, +y, +z, +t, −x, −y, −z, −t.
    pub index: usize,
}

/// A real number that differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// The site x, y, z, t; `None` for lists of numbers.
    pub site: Option<[usize; 4]>,
    /// Where it is at the site: s, spin, colour, or other axes.
    pub at: Vec<AxisIndex>,
    /// `re` or `im`; `None` of real numbers.
    pub part: Option<&'static str>,
    /// In the first array. As JSON null where it is infinite or NaN.
    pub a: f64,
    /// Its bits: 16 hexadecimal digits, of f32 behind zeros.
    pub a_bits: String,
    /// In the second array.
    pub b: f64,
    /// Its bits, likewise.
    pub b_bits: String,
    /// Distance in units in the last place; `None` where one is NaN, and of whole numbers.
    pub ulp: Option<u64>,
    /// |a − b|.
    pub absolute: f64,
    /// |a − b| / max(|a|, |b|).
    pub relative: f64,
    #[serde(skip)]
    is_whole: bool,
}

/// What the comparison of two arrays A and B found.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Extents of both, the slowest axis first.
    pub shape: Vec<usize>,
    /// What a site holds, in words.
    pub object: &'static str,
    /// The word for it.
    pub holds: Content,
    /// Extents x, y, z, t; `None` for lists of numbers.
    pub lattice: Option<[usize; 4]>,
    /// Sites of the fifth dimension; `None` where there is none.
    pub ls: Option<usize>,
    /// `f32`, `f64` or `whole`: as what they were compared.
    pub precision: &'static str,
    /// The array that was rounded from f64 to f32 before, because the other is in f32.
    pub rounded: Option<Side>,
    /// Distance that was accepted.
    pub ulps: u64,
    /// Real numbers of each array.
    pub numbers: u64,
    /// Those that differ, by more than [`Self::ulps`].
    pub differing: u64,
    /// Those that differ, but are accepted.
    pub accepted: u64,
    /// Sites of the lattice.
    pub sites: u64,
    /// Those with a number that differs by more than [`Self::ulps`].
    pub differing_sites: u64,
    /// The first number that differs, in site order: x fastest, then y, z, t; of a site s, then its axes, re before im.
    pub first: Option<Difference>,
    /// The largest distance in units in the last place.
    pub largest_ulp: Option<Difference>,
    /// The largest |a − b|.
    pub largest_absolute: Option<Difference>,
    /// The largest |a − b| / max(|a|, |b|).
    pub largest_relative: Option<Difference>,
    /// |A − B| / |A|, as vectors, over finite numbers; 0 where A is.
    pub relative_norm: f64,
    /// Where the numbers that differ lie.
    pub histograms: Vec<Histogram>,
    /// What to know of how the arrays were read.
    pub notes: Vec<String>,
    /// What may have caused it, the most certain first.
    pub causes: Vec<Cause>,
    /// Whether they are the hop that B should be, where that is known ([`explain_hop`]).
    pub hop: Option<HopFindings>,
    /// What differs at each site; for maps.
    #[serde(skip)]
    pub map: SiteMap,
}

impl Comparison {
    /// Whether all numbers are the same, or within the accepted distance.
    pub fn is_same(&self) -> bool {
        self.differing == 0
    }
}

/// Compares two complex arrays. Where one is f32 and the other f64, the latter is first rounded to f32.
pub fn compare(a: &ComplexArray, b: &ComplexArray, options: CompareOptions) -> Result<Comparison, CompareError> {
    compare_numbers(a.into(), b.into(), options)
}

/// Compares two arrays of complex or real numbers, likewise.
pub fn compare_numbers(mut a: Numbers, mut b: Numbers, options: CompareOptions) -> Result<Comparison, CompareError> {
    if a.parts != b.parts || (a.kind == Kind::Whole) != (b.kind == Kind::Whole) {
        let hint = hint::of_types(&a, &b);
        let hint = hint.unwrap_or_else(|| "complex, real and whole numbers are compared with their like".to_owned());
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
    let mut comparison = count::count(&a, &b, &axes, options.ulps);
    comparison.rounded = rounded;
    comparison.notes = notes(&axes, &a.shape, options);
    if !comparison.is_same() && !options.without_causes && a.kind != Kind::Whole {
        comparison.causes = cause::causes(&a, &b, &axes, &comparison, options);
    }
    Ok(comparison)
}

/// What two arrays hold, of which one may be wrong.
fn content_of(a: &Numbers, b: &Numbers) -> Content {
    let [of_a, of_b] = [a, b].map(|numbers| match numbers.parts {
        2 => Content::of_complex(&numbers.shape, &numbers.values),
        _ => Content::of_shape(&numbers.shape),
    });
    // What the numbers of one of them tell, and not those of the other.
    if matches!(of_b, Content::Legs | Content::TwoRows) { of_b } else { of_a }
}

/// What may be wrong in how the arrays were read, though they have the same shape.
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

/// The bits of a number as 16 hexadecimal digits, of f32 behind zeros. All NaNs are one.
fn hex(x: f64, kind: Kind) -> String {
    let x = if x.is_nan() { f64::NAN } else { x };
    format!("{:016x}", bits(x, kind))
}
