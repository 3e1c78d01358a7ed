//! Orders of sites and bases of spins of other programs, and the way from them to ours: sites with x fastest, then y, z, t; the links of a site together;
//! spin slower than colour; γ matrices as in `docs/arithmetic.md` §4. `docs/ports.md` says what each word means.

mod gamma;
mod layout;
mod shapes;

use lanefield::io::npy::{ComplexArray, ComplexValues};
use num_complex::Complex;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Content;
use crate::words::words;
pub use gamma::{GammaBasis, SpinMatrix};
pub use layout::site_places;
use layout::spin_strides;
pub(crate) use layout::{Layout, Places};
pub use shapes::require_shape;

words! {
    /// In which order the sites of a field, and the links of a site, lie in memory.
    #[derive(Default)]
    SiteOrder, "order of sites" {
        /// x fastest, then y, z, t; the links of a site together. Ours, and Grid's in files.
        #[default]
        Lexicographic = "lexicographic",
        /// First all sites with x + y + z + t even, then all others, each with x fastest; the links of a site together.
        EvenOdd = "even-odd",
        /// The same with the odd sites before the even ones.
        OddEven = "odd-even",
        /// MILC's `node_index` on one node, and QUDA's `QUDA_MILC_GAUGE_ORDER`: sites as [`SiteOrder::EvenOdd`]; the links of a site together.
        Milc = "milc",
        /// QDP++'s layout cb2, its default: sites as [`SiteOrder::EvenOdd`]; one field of links for each direction, the direction slowest.
        Qdp = "qdp",
        /// QUDA's host order, `QUDA_QDP_GAUGE_ORDER` and `QUDA_DIRAC_ORDER`: sites as [`SiteOrder::EvenOdd`], the direction of links slowest.
        Quda = "quda",
        /// gpt's lists of fields, and QDP++'s layout lexicographic: sites as [`SiteOrder::Lexicographic`], the direction of links slowest.
        Gpt = "gpt",
    }
}

impl SiteOrder {
    /// Whether the sites of one parity come before those of the other.
    pub const fn has_parities(self) -> bool {
        !matches!(self, Self::Lexicographic | Self::Gpt)
    }

    /// Whether links have a field for each direction.
    pub const fn has_direction_slowest(self) -> bool {
        matches!(self, Self::Qdp | Self::Quda | Self::Gpt)
    }
}

words! {
    /// In which order the twelve numbers of a spinor lie.
    #[derive(Default)]
    Inner, "order within a spinor" {
        /// Number 3 · spin + colour: ours, Grid's, QDP++'s, MILC's, and QUDA's `QUDA_DIRAC_ORDER`.
        #[default]
        SpinColour = "spin-colour",
        /// Number 4 · colour + spin: QUDA's `QUDA_QDP_DIRAC_ORDER`.
        ColourSpin = "colour-spin",
    }
}

/// How a program lays out a field. The default is ours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Convention {
    /// The order of sites and links.
    pub order: SiteOrder,
    /// The basis of spins.
    pub gamma: GammaBasis,
    /// The order within a spinor.
    pub inner: Inner,
}

impl Convention {
    /// Ours.
    pub const OURS: Self =
        Self { order: SiteOrder::Lexicographic, gamma: GammaBasis::DegrandRossi, inner: Inner::SpinColour };
}

/// Why an array cannot be converted.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum OrderError {
    /// A shape that fields in another order have.
    #[error("the shape {} is that of {found} order: it has {why} {order} order", show_shape(.shape))]
    OtherOrder { order: SiteOrder, found: SiteOrder, shape: Vec<usize>, why: &'static str },
    /// A shape that is none of those that fields in this order have.
    #[error("a field in {order} order cannot have the shape {}: {reason}", show_shape(.shape))]
    Shape { order: SiteOrder, shape: Vec<usize>, reason: String },
    /// A change of basis of something without spins.
    #[error(
        "an array {} has no spins, whose {what} could be converted: only spinors (…, 4, 3) and propagators (…, 4, 4, 3, 3) have{also}", show_shape(.shape)
    )]
    NoSpins { shape: Vec<usize>, what: &'static str, also: &'static str },
    /// An array whose numbers are not as many as its shape says.
    #[error("an array {} with {found} numbers, not {expected}", show_shape(.shape))]
    Length { shape: Vec<usize>, expected: usize, found: usize },
}

pub(crate) fn show_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        shape => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// What an array in some order holds, as far as its numbers tell: a site's lie together in all orders.
fn content_of(array: &ComplexArray) -> Content {
    const NUMBERS: usize = 1 << 10;
    let reals: Vec<f64> = match &array.values {
        ComplexValues::F32(values) => values.iter().take(NUMBERS).flat_map(|z| [z.re.into(), z.im.into()]).collect(),
        ComplexValues::F64(values) => values.iter().take(NUMBERS).flat_map(|z| [z.re, z.im]).collect(),
    };
    Content::of_complex(&array.shape, &reals)
}

/// An array of another program in our order and basis. Its shape may be that of the order, `(2, T, Z, Y, X/2, …)` and for links with the
/// direction slowest `(4, 2, T, Z, Y, X/2, 3, 3)`, or `(T, Z, Y, X, …)` with numbers that lie otherwise than it says, but for such links. The result has
/// our shape: `(T, Z, Y, X, …)`, five-dimensional fermions `(Ls, T, Z, Y, X, 4, 3)`.
///
/// Orders move numbers and change no bit. Of the bases, `chiral` differs from ours by an exchange of spins and signs; the others by sums of two
/// spins times 1/√2: the sum and the product are each rounded in f64, and the result once to the precision of the array.
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

/// An array of ours in the order and basis of another program, with the shape that fields have there: the inverse of [`to_ours`].
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

/// The numbers of an array in another order, each from where `source` says.
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
        lanefield::io::npy::Precision::F32 => ComplexValues::F32(values.into_f32()),
        lanefield::io::npy::Precision::F64 => values,
    };
    Ok(ComplexArray { shape, values })
}

fn require_length(shape: &[usize], found: usize) -> Result<(), OrderError> {
    let expected = shape.iter().product();
    match found == expected {
        true => Ok(()),
        false => Err(OrderError::Length { shape: shape.to_owned(), expected, found }),
    }
}
