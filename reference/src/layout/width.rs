//! Lane widths, and the number of scalars in a vector of that width (Grid's Nsimd).

use std::fmt;
use std::str::FromStr;

use super::{DIMENSIONS, LayoutError};

/// The scalars of Grid's vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    /// f32.
    RealF,
    /// f64.
    RealD,
    /// Two f32, real part first.
    ComplexF,
    /// Two f64, real part first.
    ComplexD,
}

impl Scalar {
    /// Size in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::RealF => 4,
            Self::RealD | Self::ComplexF => 8,
            Self::ComplexD => 16,
        }
    }

    /// Grid's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RealF => "RealF",
            Self::RealD => "RealD",
            Self::ComplexF => "ComplexF",
            Self::ComplexD => "ComplexD",
        }
    }
}

/// Bytes of one vector: 8, 16, 32, 64, 128 or 256. Grid's GEN_SIMD_WIDTH; 64 is the default there and here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LaneWidth(usize);

impl LaneWidth {
    /// Every width, narrowest first.
    pub const ALL: [Self; 6] = [Self(8), Self(16), Self(32), Self(64), Self(128), Self(256)];
    /// 64 bytes.
    pub const DEFAULT: Self = Self(64);
    /// 128 bytes, the best width for GPUs: on an H200 nearly every kernel is faster than at 64.
    pub const OF_GPUS: Self = Self(128);

    /// A width in bytes.
    ///
    /// # Errors
    /// [`LayoutError::Width`] for any other number.
    pub fn new(bytes: usize) -> Result<Self, LayoutError> {
        Self::ALL.into_iter().find(|w| w.0 == bytes).ok_or_else(|| LayoutError::Width { bytes: bytes.to_string() })
    }

    /// Bytes of one vector.
    pub const fn bytes(self) -> usize {
        self.0
    }

    /// Number of `scalar`s in one vector: Grid's Nsimd.
    ///
    /// # Errors
    /// [`LayoutError::Narrow`] if not even one scalar fits.
    pub const fn nsimd(self, scalar: Scalar) -> Result<usize, LayoutError> {
        match self.0 / scalar.bytes() {
            0 => Err(LayoutError::Narrow { width: self.0, scalar: scalar.name(), needed: scalar.bytes() }),
            n => Ok(n),
        }
    }
}

impl fmt::Display for LaneWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for LaneWidth {
    type Err = LayoutError;
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let error = || LayoutError::Width { bytes: text.to_owned() };
        Self::new(text.parse().map_err(|_| error())?)
    }
}

/// A lane width, a lane layout, or `auto`: `--lanes BYTES|X.Y.Z.T|auto`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LaneChoice {
    /// The largest width up to 64 bytes that fits the lattice. A backend may replace it by a width that suits it.
    #[default]
    Auto,
    /// The largest width up to this one that fits the lattice.
    UpTo(LaneWidth),
    /// As [`Self::UpTo`], with as few lanes in time as the lattice allows. With several spinors at a site, work-groups of a GPU that advance in time
    /// then find neighbours in the nearest cache.
    InSpace(LaneWidth),
    /// This width, or an error if it does not fit.
    Width(LaneWidth),
    /// These numbers of lanes in x, y, z and t, or an error if they do not fit.
    Cut([usize; DIMENSIONS]),
}

impl LaneChoice {
    /// What GPUs use for [`Self::Auto`].
    pub const OF_GPUS: Self = Self::InSpace(LaneWidth::OF_GPUS);
}

impl fmt::Display for LaneChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::UpTo(most) => write!(f, "up to {most}"),
            Self::InSpace(most) => write!(f, "up to {most}, in space"),
            Self::Width(w) => w.fmt(f),
            Self::Cut(cut) => f.write_str(&cut.map(|lanes| lanes.to_string()).join(".")),
        }
    }
}

impl FromStr for LaneChoice {
    type Err = LayoutError;
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let cut: Option<Vec<usize>> =
            text.split('.').map(|lanes| lanes.parse().ok().filter(|&lanes| lanes > 0)).collect();
        match (text, cut.as_deref()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Some(&[x, y, z, t])) => Ok(Self::Cut([x, y, z, t])),
            _ => text.parse().map(Self::Width),
        }
    }
}
