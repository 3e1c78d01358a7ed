//! From the twisted basis of twisted mass fermions to the physical one (`docs/arithmetic.md` §17).

use std::fmt;
use std::str::FromStr;

use lanefield_reference::field::Propagator;
use lanefield_reference::real::{Real, for_people};
use num_complex::Complex;
use serde::{Deserialize, Serialize};

/// The twist angle ω of the flavour with iμγ5 in its mass term, tan ω = μ / (m − m_cr). The other flavour has −ω.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TwistAngle {
    degrees: f64,
}

impl TwistAngle {
    /// No rotation, for correlators in the twisted basis.
    pub const ZERO: Self = Self { degrees: 0.0 };

    /// An angle from −180 to 180 degrees; `None` if it is out of range.
    pub fn new(degrees: f64) -> Option<Self> {
        // Avoids −0.
        (degrees.abs() <= 180.0).then_some(Self { degrees: degrees + 0.0 })
    }

    /// ±90 degrees, with the sign of μ; 0 if μ is 0.
    pub fn maximal(mu: f64) -> Self {
        Self { degrees: if mu == 0.0 { 0.0 } else { 90.0_f64.copysign(mu) } }
    }

    /// In degrees.
    pub const fn degrees(self) -> f64 {
        self.degrees
    }

    /// The angle of the other flavour.
    #[must_use]
    pub fn of_other_flavour(self) -> Self {
        Self { degrees: 0.0 - self.degrees }
    }

    /// `physical`, or `twisted` for angle 0.
    pub fn basis(self) -> &'static str {
        if self == Self::ZERO { "twisted" } else { "physical" }
    }

    /// exp(iω), exact at multiples of 90 degrees.
    fn phase(self) -> Complex<f64> {
        match self.degrees {
            0.0 => Complex::ONE,
            90.0 => Complex::I,
            -90.0 => -Complex::I,
            -180.0 | 180.0 => -Complex::ONE,
            degrees => {
                let (sin, cos) = libm::sincos(degrees.to_radians());
                Complex::new(cos, sin)
            }
        }
    }

    /// Multiplies a propagator in site order: exp(iωγ5/2) S exp(iωγ5/2). Spins 0 and 1 of sink and source are multiplied by exp(iω), spins 2 and 3
    /// by exp(−iω).
    pub fn rotate<R: Real>(self, propagator: &mut [Complex<R>]) {
        if self == Self::ZERO {
            return;
        }
        let phase = self.phase();
        for site in propagator.chunks_exact_mut(Propagator::WORDS) {
            for (word, z) in site.iter_mut().enumerate() {
                let phase = match [word / 36, word / 9 % 4].map(|spin| spin < 2) {
                    [true, true] => phase,
                    [false, false] => phase.conj(),
                    _ => continue,
                };
                let rotated = Complex::new(z.re.to_f64(), z.im.to_f64()) * phase;
                *z = Complex::new(R::from_f64(rotated.re), R::from_f64(rotated.im));
            }
        }
    }
}

impl fmt::Display for TwistAngle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}°", for_people(self.degrees))
    }
}

impl FromStr for TwistAngle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let angle = text.parse().ok().and_then(Self::new);
        angle.ok_or_else(|| format!("invalid twist angle '{text}': expected degrees from -180 to 180, or maximal"))
    }
}
