//! How links are stored, and the boundary phases that they include (`docs/arithmetic.md` §5).

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use num_complex::Complex;
use thiserror::Error;

use crate::layout::{DIMENSIONS, Leg};
use crate::real::Real;

/// The number of reals of a link that are stored. It is part of an operator's definition: rebuilt links have different bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LinkFormat {
    /// All three rows: 18 reals.
    #[default]
    Full,
    /// Two rows: 12 reals. The third is rebuilt as −2 · phase · conj(row 0 × row 1) from the stored rows.
    TwoRows,
    /// 8 reals of an SU(3) matrix, from which all of it is rebuilt. It is then multiplied by −1/2 and the phase.
    Eight,
}

impl LinkFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Full, Self::TwoRows, Self::Eight];
    /// The formats for arbitrary matrices. 8 reals can only store SU(3) matrices.
    pub const OF_ANY_MATRICES: [Self; 2] = [Self::Full, Self::TwoRows];

    /// The number of reals that are stored for a link.
    pub const fn reals(self) -> usize {
        match self {
            Self::Full => 18,
            Self::TwoRows => 12,
            Self::Eight => 8,
        }
    }

    /// The number of complex words that are stored for a link.
    pub const fn words(self) -> usize {
        self.reals() / 2
    }
}

/// A request for links or phases that do not exist. Messages are fragments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum LinkError {
    #[error("invalid reconstruct '{reals}': expected 18 (full), 12 (two rows) or 8 (an SU(3) matrix)")]
    Format { reals: String },
    #[error(
        "invalid boundary phases '{phases}': expected four with commas between, for x,y,z,t, each 1, -1, 0 (fixed), or an angle in units of π, as in 1,1,1,-1 or \
         0.25pi,0,pi/3,-1"
    )]
    Boundary { phases: String },
    #[error("boundary phases {boundary} need reconstruct 18: reconstruct {reals} supports only the phases 1, -1 and 0")]
    Twisted { boundary: BoundaryPhases, reals: usize },
}

impl fmt::Display for LinkFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reals().fmt(f)
    }
}

impl FromStr for LinkFormat {
    type Err = LinkError;
    fn from_str(text: &str) -> Result<Self, LinkError> {
        match text {
            "18" => Ok(Self::Full),
            "12" => Ok(Self::TwoRows),
            "8" => Ok(Self::Eight),
            _ => Err(LinkError::Format { reals: text.to_owned() }),
        }
    }
}

/// The factor of a link that crosses the boundary forward. A link that crosses it backward has the complex conjugate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Phase {
    /// +1.
    #[default]
    Periodic,
    /// −1.
    Antiperiodic,
    /// 0: the first and the last slice are not connected.
    Fixed,
    /// e^{iθ} with another θ: ψ(x + L) = e^{iθ} ψ(x).
    Twisted(Angle),
}

/// An angle θ with −π < θ < π, and not 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Angle {
    /// The bits of θ/π, because floating-point numbers do not implement `Eq`.
    bits: u64,
}

impl Phase {
    /// e^{iθ} for an angle θ/π, which is reduced to −1 < θ/π ≤ 1; `None` if it is not finite.
    pub fn of_angle(in_pi: f64) -> Option<Self> {
        // Each step is exact.
        let remainder = in_pi % 2.0;
        let reduced = match remainder {
            _ if remainder > 1.0 => remainder - 2.0,
            _ if remainder <= -1.0 => remainder + 2.0,
            _ => remainder,
        };
        match reduced {
            _ if !reduced.is_finite() => None,
            0.0 => Some(Self::Periodic),
            1.0 => Some(Self::Antiperiodic),
            _ => Some(Self::Twisted(Angle { bits: reduced.to_bits() })),
        }
    }

    /// e^{iθ} for a complex number of modulus 1, or 0; `None` for other numbers. Angles below 1e-15 π become 0, since they are within rounding.
    pub fn of_number(z: Complex<f64>) -> Option<Self> {
        let angle = libm::atan2(z.im, z.re) / PI;
        match libm::hypot(z.re, z.im) {
            0.0 => Some(Self::Fixed),
            modulus if (modulus - 1.0).abs() < 1e-12 => Self::of_angle(if angle.abs() < 1e-15 { 0.0 } else { angle }),
            _ => None,
        }
    }

    /// The bits of the angle. For a fixed boundary, all are set.
    const fn bits(self) -> u64 {
        match self {
            Self::Periodic => 0,
            Self::Antiperiodic => 1.0f64.to_bits(),
            Self::Fixed => u64::MAX,
            Self::Twisted(Angle { bits }) => bits,
        }
    }

    const fn of_bits(bits: u64) -> Self {
        const ANTIPERIODIC: u64 = Phase::Antiperiodic.bits();
        match bits {
            0 => Self::Periodic,
            ANTIPERIODIC => Self::Antiperiodic,
            u64::MAX => Self::Fixed,
            bits => Self::Twisted(Angle { bits }),
        }
    }

    /// θ/π, from −1 (exclusive) to 1; 0 for a fixed boundary.
    pub fn angle(self) -> f64 {
        if self == Self::Fixed { 0.0 } else { f64::from_bits(self.bits()) }
    }

    /// The phase of `crossings` steps across the boundary; 1 for none. Negative numbers are steps backward.
    #[must_use]
    pub fn of_crossings(self, crossings: isize) -> Self {
        match self {
            _ if crossings == 0 => Self::Periodic,
            Self::Fixed => self,
            // A product of two finite numbers that cannot overflow.
            _ => Self::of_angle(self.angle() * crossings as f64).unwrap_or_default(),
        }
    }

    /// The phase of a step along `leg`.
    #[must_use]
    pub fn of_leg(self, leg: Leg, crosses: bool) -> Self {
        let crossings = isize::from(crosses);
        self.of_crossings(if leg.is_forward() { crossings } else { -crossings })
    }

    /// φ z. For a twisted phase, it is computed in f64, with each operation rounded, and then rounded to `R`.
    pub fn times<R: Real>(self, z: Complex<R>) -> Complex<R> {
        match self {
            Self::Periodic => z,
            Self::Antiperiodic => -z,
            Self::Fixed => Complex::new(R::default(), R::default()),
            Self::Twisted(_) => {
                let (phase, re, im) = (cis_pi(self.angle()), z.re.to_f64(), z.im.to_f64());
                let product = [phase.re * re - phase.im * im, phase.re * im + phase.im * re];
                let [re, im] = product.map(R::from_f64);
                Complex::new(re, im)
            }
        }
    }
}

/// e^{iπa}, |a| ≤ 1, with the sine and cosine of the `libm` crate, which are the same on every machine. Their arguments are at most π/4, so that
/// multiples of ½ are exact.
pub fn cis_pi(a: f64) -> Complex<f64> {
    let size = a.abs();
    // The differences are exact.
    let from_axis = if size > 0.5 { 1.0 - size } else { size };
    let (sin, cos) = match from_axis > 0.25 {
        true => {
            let (sin, cos) = libm::sincos(PI * (0.5 - from_axis));
            (cos, sin)
        }
        false => libm::sincos(PI * from_axis),
    };
    Complex::new(if size > 0.5 { -cos } else { cos }, if a < 0.0 { -sin } else { sin })
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Periodic => f.write_str("1"),
            Self::Antiperiodic => f.write_str("-1"),
            Self::Fixed => f.write_str("0"),
            Self::Twisted(_) => write!(f, "{:?}pi", self.angle()),
        }
    }
}

/// θ/π of text such as `0.25pi`, `-pi`, `pi/3` or `2pi/3`; not finite if it divides by 0.
fn angle(text: &str) -> Option<f64> {
    let (factor, divisor) = text.split_once("pi")?;
    let factor = match factor.trim_end() {
        "" | "+" => 1.0,
        "-" => -1.0,
        factor => factor.parse::<f64>().ok()?,
    };
    let divisor = match divisor.trim() {
        "" => 1.0,
        divisor => divisor.strip_prefix('/')?.trim().parse::<f64>().ok().filter(|divisor| divisor.is_finite())?,
    };
    Some(factor / divisor)
}

impl FromStr for Phase {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        let phase = match text.trim() {
            "1" | "+1" => Some(Self::Periodic),
            "-1" => Some(Self::Antiperiodic),
            "0" => Some(Self::Fixed),
            text => angle(text).and_then(Self::of_angle),
        };
        phase.ok_or_else(|| LinkError::Boundary { phases: text.to_owned() })
    }
}

/// The boundary phases of a fermion in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BoundaryPhases {
    /// [`Phase::bits`] of each, which take half the memory.
    bits: [u64; DIMENSIONS],
}

impl BoundaryPhases {
    /// Periodic in every direction.
    pub const PERIODIC: Self = Self::new([Phase::Periodic; DIMENSIONS]);
    /// Antiperiodic in time, periodic in space: 1,1,1,−1.
    pub const ANTIPERIODIC_IN_TIME: Self = Self::PERIODIC.with(3, Phase::Antiperiodic);
    /// Fixed in time, periodic in space: 1,1,1,0.
    pub const FIXED_IN_TIME: Self = Self::PERIODIC.with(3, Phase::Fixed);

    /// The phases of `[x, y, z, t]`.
    pub const fn new([x, y, z, t]: [Phase; DIMENSIONS]) -> Self {
        Self { bits: [x.bits(), y.bits(), z.bits(), t.bits()] }
    }

    fn phases(&self) -> [Phase; DIMENSIONS] {
        self.bits.map(Phase::of_bits)
    }

    /// Antiperiodic in the marked directions, periodic in the others, `[x, y, z, t]`.
    pub fn antiperiodic(directions: [bool; DIMENSIONS]) -> Self {
        Self::new(directions.map(|marked| if marked { Phase::Antiperiodic } else { Phase::Periodic }))
    }

    /// The same phases, with another one for `dimension`.
    #[must_use]
    pub const fn with(mut self, dimension: usize, phase: Phase) -> Self {
        self.bits[dimension] = phase.bits();
        self
    }

    /// The phase of `dimension`.
    #[inline]
    pub const fn phase(&self, dimension: usize) -> Phase {
        Phase::of_bits(self.bits[dimension])
    }

    /// Whether the phase of `dimension` is −1.
    #[inline]
    pub const fn is_antiperiodic(&self, dimension: usize) -> bool {
        matches!(self.phase(dimension), Phase::Antiperiodic)
    }

    /// Refuses gauge compression if a phase is neither 1, −1 nor 0.
    pub fn require_links(self, format: LinkFormat) -> Result<(), LinkError> {
        let is_twisted = self.phases().iter().any(|phase| matches!(phase, Phase::Twisted(_)));
        match is_twisted && format != LinkFormat::Full {
            true => Err(LinkError::Twisted { boundary: self, reals: format.reals() }),
            false => Ok(()),
        }
    }

    /// The phases of an object that consists of `count` quarks.
    #[must_use]
    pub fn of_quarks(self, count: isize) -> Self {
        Self::new(self.phases().map(|phase| phase.of_crossings(count)))
    }

    /// Bit μ set where the phase of direction μ is −1.
    pub fn mask(&self) -> u32 {
        (0..DIMENSIONS).map(|d| u32::from(self.is_antiperiodic(d)) << d).sum()
    }

    /// Bit μ set where the phase of direction μ is 0.
    pub(crate) fn fixed_mask(&self) -> u32 {
        (0..DIMENSIONS).map(|d| u32::from(self.phase(d) == Phase::Fixed) << d).sum()
    }

    /// The masks for kernels that rebuild links: [`Self::mask`], with `fixed_mask` in the four bits above.
    pub fn kernel_masks(&self) -> u32 {
        self.mask() | self.fixed_mask() << DIMENSIONS
    }
}

impl fmt::Display for BoundaryPhases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z, t] = self.phases();
        write!(f, "{x},{y},{z},{t}")
    }
}

impl fmt::Debug for BoundaryPhases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for BoundaryPhases {
    type Err = LinkError;

    /// Parses `1,1,1,-1`; 0 stands for a fixed boundary, and 0.25pi for e^{iπ/4}.
    fn from_str(text: &str) -> Result<Self, LinkError> {
        let phases: Result<Vec<Phase>, LinkError> = text.split(',').map(str::parse).collect();
        let phases = phases.ok().and_then(|phases| phases.try_into().ok());
        phases.map(Self::new).ok_or_else(|| LinkError::Boundary { phases: text.to_owned() })
    }
}
