//! Two arrays compared: the first site, spin, colour and bit where they differ, how many do, where they lie, and what that tells ([`Cause`]).
//! Numbers are compared as integers, and any NaN equals any NaN (`docs/arithmetic.md` §1).

mod axes;
mod cause;
mod count;
mod explain;
mod numbers;
mod text;

use lanefield::io::npy::ComplexArray;
use serde::Serialize;
use thiserror::Error;

pub use axes::{Axes, SiteAxis};
pub use cause::{Cause, Confidence};
pub use count::{Bin, Histogram, SiteMap};
pub use explain::{ExplainError, HopInputs, explain_hop};
pub use numbers::Numbers;
use numbers::{Kind, bits, show_shape};

/// How arrays are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompareOptions {
    /// Numbers so many units in the last place apart, or fewer, are accepted; 0 asks for the same bits.
    pub ulps: u64,
    /// Leaves out the search for causes, which reads the arrays several times.
    pub without_causes: bool,
}

/// Why two arrays cannot be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// They have different shapes.
    #[error("the shapes differ: A is {a}, B is {b}: {hint}")]
    Shapes {
        /// The first array.
        a: String,
        /// The second array.
        b: String,
        /// Which axes differ, and what would explain it.
        hint: String,
    },
    /// One has complex, real or whole numbers, the other has not.
    #[error("A is {a}, B is {b}: complex, real and whole numbers are compared with their like")]
    Kinds {
        /// The first array.
        a: String,
        /// The second array.
        b: String,
    },
    /// An array whose numbers are not as many as its shape says.
    #[error("{array} has {found} numbers, not {expected}")]
    Length {
        /// Which array, and its shape.
        array: String,
        /// By its shape.
        expected: usize,
        /// Those that it has.
        found: usize,
    },
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
}

/// What the comparison of two arrays A and B found.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Extents of both, the slowest axis first.
    pub shape: Vec<usize>,
    /// What a site holds, in words.
    pub object: &'static str,
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
    /// What may have caused it, the most certain first.
    pub causes: Vec<Cause>,
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
///
/// # Errors
/// [`CompareError`].
pub fn compare(a: &ComplexArray, b: &ComplexArray, options: CompareOptions) -> Result<Comparison, CompareError> {
    compare_numbers(a.into(), b.into(), options)
}

/// Compares two arrays of complex or real numbers, likewise.
///
/// # Errors
/// [`CompareError`].
pub fn compare_numbers(mut a: Numbers, mut b: Numbers, options: CompareOptions) -> Result<Comparison, CompareError> {
    if a.parts != b.parts || (a.kind == Kind::Whole) != (b.kind == Kind::Whole) {
        return Err(CompareError::Kinds { a: a.describe(), b: b.describe() });
    }
    if a.shape != b.shape {
        return Err(CompareError::Shapes {
            a: show_shape(&a.shape),
            b: show_shape(&b.shape),
            hint: hint(&a.shape, &b.shape),
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
    let axes = Axes::of(&a.shape);
    let mut comparison = count::count(&a, &b, &axes, options.ulps);
    comparison.rounded = rounded;
    if !comparison.is_same() && !options.without_causes && a.kind != Kind::Whole {
        comparison.causes = cause::causes(&a, &b, &axes, &comparison);
    }
    Ok(comparison)
}

/// Rounds numbers to f32.
fn round(numbers: &mut Numbers) {
    numbers.kind = Kind::F32;
    numbers.values.iter_mut().for_each(|x| *x = f64::from(*x as f32));
}

/// Which axes of two shapes differ, and whether an exchange of axes explains it.
fn hint(a: &[usize], b: &[usize]) -> String {
    let sorted = |shape: &[usize]| {
        let mut sorted = shape.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let product = |shape: &[usize]| shape.iter().product::<usize>();
    if let [rest_a @ .., 4, 3] = a
        && let [rest_b @ .., 3, 4] = b
        && rest_a == rest_b
    {
        return "B has colour before spin: read it with --inner colour-spin".to_owned();
    }
    let with_parity = |whole: &[usize], halved: &[usize]| {
        let Some((2, rest)) = halved.split_first().map(|(first, rest)| (*first, rest)) else { return false };
        let Some((lattice, site)) = rest.split_first_chunk::<4>() else { return false };
        let [t, z, y, x] = *lattice;
        whole.split_first_chunk::<4>() == Some((&[t, z, y, 2 * x], site))
    };
    if with_parity(a, b) || with_parity(b, a) {
        let name = if with_parity(a, b) { "B" } else { "A" };
        return format!("{name} has an axis of parities and X/2: read it with --order even-odd");
    }
    if a.len() == b.len() && sorted(a) == sorted(b) {
        if let Some((ta, za, ya, xa)) = lattice_of(a)
            && lattice_of(b) == Some((xa, ya, za, ta))
            && a[4..] == b[4..]
        {
            return "B has the axes (X, Y, Z, T) where A has (T, Z, Y, X): transpose one of them".to_owned();
        }
        return format!(
            "they are permutations of each other: B may have A's axes in another order; axes {} differ",
            differing_axes(a, b)
        );
    }
    if a.len() == b.len() {
        return format!("axes {} differ", differing_axes(a, b));
    }
    if product(a) == product(b) {
        return format!("{} axes and {}, with as many numbers: reshape one of them", a.len(), b.len());
    }
    format!("{} axes and {}", a.len(), b.len())
}

fn lattice_of(shape: &[usize]) -> Option<(usize, usize, usize, usize)> {
    shape.split_first_chunk().map(|(&[t, z, y, x], _)| (t, z, y, x))
}

/// "0 (8 and 4), 3 (4 and 8)"
fn differing_axes(a: &[usize], b: &[usize]) -> String {
    let pairs = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
    pairs.map(|(axis, (a, b))| format!("{axis} ({a} and {b})")).collect::<Vec<_>>().join(", ")
}

/// The bits of a number as 16 hexadecimal digits, of f32 behind zeros. All NaNs are one.
fn hex(x: f64, kind: Kind) -> String {
    let x = if x.is_nan() { f64::NAN } else { x };
    format!("{:016x}", bits(x, kind))
}
