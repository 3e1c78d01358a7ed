//! How links are stored, and the boundary phases that are folded into them (`docs/arithmetic.md` §5).

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use num_complex::Complex;
use thiserror::Error;

use crate::layout::{DIMENSIONS, Leg};
use crate::real::Real;

/// How many reals of a link are stored. This is part of an operator's definition: what is rebuilt has other bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LinkFormat {
    /// All three rows: 18 reals.
    #[default]
    Full,
    /// Two rows, 12 reals; the third is rebuilt as −2 · phase · conj(row 0 × row 1) from the stored rows.
    TwoRows,
    /// 8 reals that stand for an SU(3) matrix, from which all of it is rebuilt; −1/2 and the phase multiply it then.
    Eight,
}

impl LinkFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Full, Self::TwoRows, Self::Eight];
    /// Those that take any matrices: 8 reals stand for SU(3) matrices only.
    pub const OF_ANY_MATRICES: [Self; 2] = [Self::Full, Self::TwoRows];

    /// Stored reals a link.
    pub const fn reals(self) -> usize {
        match self {
            Self::Full => 18,
            Self::TwoRows => 12,
            Self::Eight => 8,
        }
    }

    /// Stored complex words a link.
    pub const fn words(self) -> usize {
        self.reals() / 2
    }
}

/// What a user asked for that does not exist. Messages are fragments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum LinkError {
    #[error("no links of '{reals}' reals: use 18 (full), 12 (two rows) or 8 (an SU(3) matrix)")]
    Format { reals: String },
    #[error(
        "invalid boundary phases '{phases}': expected four with commas between, for x,y,z,t, each 1, -1, 0 (fixed), or an angle in units of π, as in 1,1,1,-1 or \
         0.25pi,0,pi/3,-1"
    )]
    Boundary { phases: String },
    #[error(
        "boundary phases {boundary} need links of 18 reals: those of {reals} are rebuilt with phases 1, -1 or 0 only"
    )]
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

/// What a link that leaves the lattice is multiplied by; one that leads backward across the boundary by the conjugate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Phase {
    /// +1.
    #[default]
    Periodic,
    /// −1.
    Antiperiodic,
    /// 0: the first and the last slice do not know each other.
    Fixed,
    /// e^{iθ} with another θ: ψ(x + L) = e^{iθ} ψ(x).
    Twisted(Angle),
}

/// An angle θ with −π < θ < π, and not 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Angle {
    /// Those of θ/π: floating-point numbers have no `Eq`.
    bits: u64,
}

impl Phase {
    /// e^{iθ} of θ/π, which is reduced to −1 < θ/π ≤ 1; `None` if it is not finite.
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

    /// e^{iθ} of a complex number of modulus 1, or 0; `None` of another. Angles below 1e-15 π are 0: the number does not say more.
    pub fn of_number(z: Complex<f64>) -> Option<Self> {
        let angle = libm::atan2(z.im, z.re) / PI;
        match libm::hypot(z.re, z.im) {
            0.0 => Some(Self::Fixed),
            modulus if (modulus - 1.0).abs() < 1e-12 => Self::of_angle(if angle.abs() < 1e-15 { 0.0 } else { angle }),
            _ => None,
        }
    }

    /// Those of the angle; all are set of a fixed boundary.
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

    /// θ/π, from −1 (not included) to 1; 0 of a fixed boundary.
    pub fn angle(self) -> f64 {
        if self == Self::Fixed { 0.0 } else { f64::from_bits(self.bits()) }
    }

    /// The phase of `crossings` steps across the boundary, negative ones backward: 1 of none.
    #[must_use]
    pub fn of_crossings(self, crossings: isize) -> Self {
        match self {
            _ if crossings == 0 => Self::Periodic,
            Self::Fixed => self,
            // A product of two finite numbers that cannot overflow.
            _ => Self::of_angle(self.angle() * crossings as f64).unwrap_or_default(),
        }
    }

    /// That of a step along `leg`.
    #[must_use]
    pub fn of_leg(self, leg: Leg, crosses: bool) -> Self {
        let crossings = isize::from(crosses);
        self.of_crossings(if leg.is_forward() { crossings } else { -crossings })
    }

    /// φ z; of e^{iθ} in f64, each operation rounded, and then rounded to `R`.
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

/// e^{iπa}, |a| ≤ 1, with the sine and cosine of the `libm` crate, which are the same on every machine: of arguments up to π/4, so that multiples of ½ are exact.
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

/// θ/π of `0.25pi`, `-pi`, `pi/3` or `2pi/3`; not finite for a division by 0.
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

/// A fermion's boundary phases in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BoundaryPhases {
    /// [`Phase::bits`] of each, which take half of the room.
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

    /// Antiperiodic in the directions marked, periodic in the others, `[x, y, z, t]`.
    pub fn antiperiodic(directions: [bool; DIMENSIONS]) -> Self {
        Self::new(directions.map(|marked| if marked { Phase::Antiperiodic } else { Phase::Periodic }))
    }

    /// These, with another phase of `dimension`.
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

    /// Refuses links that are rebuilt from fewer reals where a phase is neither 1, −1 nor 0.
    pub fn require_links(self, format: LinkFormat) -> Result<(), LinkError> {
        let is_twisted = self.phases().iter().any(|phase| matches!(phase, Phase::Twisted(_)));
        match is_twisted && format != LinkFormat::Full {
            true => Err(LinkError::Twisted { boundary: self, reals: format.reals() }),
            false => Ok(()),
        }
    }

    /// Those of what is made of `count` quarks.
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

    /// What kernels that rebuild links are told: [`Self::mask`], and `fixed_mask` in the four bits above.
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

    /// Reads `1,1,1,-1`; 0 stands for a fixed boundary, and 0.25pi for e^{iπ/4}.
    fn from_str(text: &str) -> Result<Self, LinkError> {
        let phases: Result<Vec<Phase>, LinkError> = text.split(',').map(str::parse).collect();
        let phases = phases.ok().and_then(|phases| phases.try_into().ok());
        phases.map(Self::new).ok_or_else(|| LinkError::Boundary { phases: text.to_owned() })
    }
}
