//! Orders of sites and bases of spins of other programs, and the way from them to ours: sites with x fastest, then y, z, t; the links of a site together;
//! spin slower than colour; γ matrices as in `docs/arithmetic.md` §4. `docs/ports.md` says what each word means.

mod gamma;
mod layout;

use std::fmt;
use std::str::FromStr;

use lanefield::io::npy::{ComplexArray, ComplexValues};
use num_complex::Complex;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use gamma::{GammaBasis, SpinMatrix};
pub use layout::site_places;
use layout::{Layout, spin_strides};

/// An enum of words that are read and printed.
macro_rules! words {
    ($(#[$about:meta])* $name:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = OrderError;
            fn from_str(text: &str) -> Result<Self, OrderError> {
                let known = Self::ALL.iter().copied().find(|word| word.name() == text);
                known.ok_or_else(|| OrderError::Word {
                    what: $what,
                    word: text.to_owned(),
                    expected: Self::ALL.iter().map(|word| word.name()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}
use words;

words! {
    /// In which order the sites of a field, and the links of a site, lie in memory.
    SiteOrder, "order of sites" {
        /// x fastest, then y, z, t; the links of a site together. Ours, and Grid's in files.
        #[default]
        Lexicographic = "lexicographic",
        /// First all sites with x + y + z + t even, then all others, each with x fastest; the links of a site together.
        EvenOdd = "even-odd",
        /// MILC's `node_index` on one node, and QUDA's `QUDA_MILC_GAUGE_ORDER`: sites as [`SiteOrder::EvenOdd`]; the links of a site together.
        Milc = "milc",
        /// QDP++'s layout cb2, its default: sites as [`SiteOrder::EvenOdd`]; one field of links for each direction, the direction slowest.
        Qdp = "qdp",
        /// QUDA's host order, `QUDA_QDP_GAUGE_ORDER` and `QUDA_DIRAC_ORDER`: sites as [`SiteOrder::EvenOdd`], the direction of links slowest.
        Quda = "quda",
    }
}

impl SiteOrder {
    /// Whether the even sites come before the odd ones.
    pub const fn has_parities(self) -> bool {
        !matches!(self, Self::Lexicographic)
    }

    /// Whether links have a field for each direction.
    pub const fn has_direction_slowest(self) -> bool {
        matches!(self, Self::Qdp | Self::Quda)
    }
}

words! {
    /// In which order the twelve numbers of a spinor lie.
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
pub enum OrderError {
    /// A word that means no order or basis.
    #[error("invalid {what} '{word}': expected one of {expected}")]
    Word {
        /// What it should be.
        what: &'static str,
        /// What was given.
        word: String,
        /// All that there are.
        expected: String,
    },
    /// A shape that is none of those that fields in this order have.
    #[error("a field in {order} order cannot have the shape {shape:?}: {reason}")]
    Shape {
        /// The order.
        order: SiteOrder,
        /// The shape of the array.
        shape: Vec<usize>,
        /// What would be right.
        reason: String,
    },
    /// A change of basis of something without spins.
    #[error(
        "an array {shape:?} has no spins, whose {what} could be converted: only spinors (…, 4, 3) and propagators (…, 4, 4, 3, 3) have{also}"
    )]
    NoSpins {
        /// The shape of the array.
        shape: Vec<usize>,
        /// Basis or order.
        what: &'static str,
        /// What else to say.
        also: &'static str,
    },
    /// An array whose numbers are not as many as its shape says.
    #[error("an array {shape:?} with {found} numbers, not {expected}")]
    Length {
        /// The shape of the array.
        shape: Vec<usize>,
        /// Its numbers by the shape.
        expected: usize,
        /// Its numbers.
        found: usize,
    },
}

/// An array of another program in our order and basis. Its shape may be that of the order, `(2, T, Z, Y, X/2, …)` and for links with the
/// direction slowest `(4, 2, T, Z, Y, X/2, 3, 3)`, or ours, with numbers that lie otherwise than it says. The result has our shape:
/// `(T, Z, Y, X, …)`, five-dimensional fermions `(Ls, T, Z, Y, X, 4, 3)`.
///
/// Orders move numbers and change no bit. Of the bases, `chiral` differs from ours by an exchange of spins and signs; the others by sums of two
/// spins times 1/√2: the sum and the product are each rounded in f64, and the result once to the precision of the array.
///
/// # Errors
/// [`OrderError`].
pub fn to_ours(array: ComplexArray, from: Convention) -> Result<ComplexArray, OrderError> {
    if from == Convention::OURS {
        return Ok(array);
    }
    let ComplexArray { shape, values } = array;
    let layout = Layout::of(&shape, from)?;
    require_length(&shape, values.len())?;
    let places = layout.places();
    let values = match values {
        ComplexValues::F32(values) => ComplexValues::F32(places.iter().map(|&place| values[place]).collect()),
        ComplexValues::F64(values) => ComplexValues::F64(places.iter().map(|&place| values[place]).collect()),
    };
    let array = ComplexArray { shape: layout.our_shape(), values };
    change_basis(array, from.gamma, |basis| basis.to_ours())
}

/// An array of ours in the order and basis of another program, with the shape that fields have there: the inverse of [`to_ours`].
///
/// # Errors
/// [`OrderError`].
pub fn from_ours(array: ComplexArray, to: Convention) -> Result<ComplexArray, OrderError> {
    if to == Convention::OURS {
        return Ok(array);
    }
    let ComplexArray { shape, values } = change_basis(array, to.gamma, |basis| basis.from_ours())?;
    let layout = Layout::of_ours(&shape, to)?;
    require_length(&shape, values.len())?;
    let places = layout.places();
    fn scattered<T: Copy + Default>(values: &[T], places: &[usize]) -> Vec<T> {
        let mut result = vec![T::default(); values.len()];
        values.iter().zip(places).for_each(|(value, &place)| result[place] = *value);
        result
    }
    let values = match values {
        ComplexValues::F32(values) => ComplexValues::F32(scattered(&values, &places)),
        ComplexValues::F64(values) => ComplexValues::F64(scattered(&values, &places)),
    };
    Ok(ComplexArray { shape: layout.their_shape(), values })
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
