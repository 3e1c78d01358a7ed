//! Doubled links: what the hop reads. Eight links a site, in the order of the site that uses them, with −1/2 and the boundary phases
//! folded in (Grid's `DoubleStore`; `docs/arithmetic.md` §5), as 18, 12 or 8 reals a link.

mod eight;

use std::fmt;
use std::str::FromStr;

use num_complex::Complex;
use thiserror::Error;

use crate::field::{Field, FieldError, Gauge, SiteObject};
use crate::gauge::{Configuration, LINK_WORDS};
use crate::layout::{DIMENSIONS, LEGS, Lattice, Leg, Sites};
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
pub enum LinkError {
    /// A link format that does not exist.
    #[error("no links of '{reals}' reals: use 18 (full), 12 (two rows) or 8 (an SU(3) matrix)")]
    Format {
        /// The number as it was given.
        reals: String,
    },
    /// Boundary phases that do not exist.
    #[error("'{phases}' are no boundary phases: give four, each 1, -1 or 0 (fixed), for x,y,z,t, as in 1,1,1,-1")]
    Boundary {
        /// The phases as they were given.
        phases: String,
    },
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

/// What a link that leaves the lattice is multiplied by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Phase {
    /// +1.
    #[default]
    Periodic,
    /// −1.
    Antiperiodic,
    /// 0: the first and the last slice do not know each other.
    Fixed,
}

/// A fermion's boundary phases in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct BoundaryPhases {
    phases: [Phase; DIMENSIONS],
}

impl BoundaryPhases {
    /// Periodic in every direction.
    pub const PERIODIC: Self = Self { phases: [Phase::Periodic; DIMENSIONS] };
    /// Antiperiodic in time, periodic in space: 1,1,1,−1.
    pub const ANTIPERIODIC_IN_TIME: Self =
        Self { phases: [Phase::Periodic, Phase::Periodic, Phase::Periodic, Phase::Antiperiodic] };
    /// Fixed in time, periodic in space: 1,1,1,0.
    pub const FIXED_IN_TIME: Self = Self { phases: [Phase::Periodic, Phase::Periodic, Phase::Periodic, Phase::Fixed] };

    /// The phases of `[x, y, z, t]`.
    pub const fn new(phases: [Phase; DIMENSIONS]) -> Self {
        Self { phases }
    }

    /// Antiperiodic in the directions marked, periodic in the others, `[x, y, z, t]`.
    pub fn antiperiodic(directions: [bool; DIMENSIONS]) -> Self {
        Self { phases: directions.map(|marked| if marked { Phase::Antiperiodic } else { Phase::Periodic }) }
    }

    /// The phase of `dimension`.
    #[inline]
    pub const fn phase(&self, dimension: usize) -> Phase {
        self.phases[dimension]
    }

    /// Whether the phase of `dimension` is −1.
    #[inline]
    pub const fn is_antiperiodic(&self, dimension: usize) -> bool {
        matches!(self.phases[dimension], Phase::Antiperiodic)
    }

    /// Bit μ set where the phase of direction μ is −1.
    pub fn mask(&self) -> u32 {
        (0..DIMENSIONS).map(|d| u32::from(self.is_antiperiodic(d)) << d).sum()
    }

    /// Bit μ set where the phase of direction μ is 0.
    pub fn fixed_mask(&self) -> u32 {
        (0..DIMENSIONS).map(|d| u32::from(self.phases[d] == Phase::Fixed) << d).sum()
    }

    /// What kernels that rebuild links are told: [`Self::mask`], and [`Self::fixed_mask`] in the four bits above.
    pub fn kernel_masks(&self) -> u32 {
        self.mask() | self.fixed_mask() << DIMENSIONS
    }
}

impl fmt::Display for BoundaryPhases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |phase| match phase {
            Phase::Periodic => "1",
            Phase::Antiperiodic => "-1",
            Phase::Fixed => "0",
        };
        f.write_str(&self.phases.map(number).join(","))
    }
}

impl FromStr for BoundaryPhases {
    type Err = LinkError;

    /// Reads `1,1,1,-1`; 0 stands for a fixed boundary.
    fn from_str(text: &str) -> Result<Self, LinkError> {
        let error = || LinkError::Boundary { phases: text.to_owned() };
        let phases: Vec<Phase> = text
            .split(',')
            .map(|phase| match phase.trim() {
                "1" | "+1" => Ok(Phase::Periodic),
                "-1" => Ok(Phase::Antiperiodic),
                "0" => Ok(Phase::Fixed),
                _ => Err(error()),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { phases: phases.try_into().map_err(|_| error())? })
    }
}

/// Eight links a site: word (point · words a link) + 3·row + column; with 8 reals, words v1, v2, (x, z1), (z2, z3) of `docs/arithmetic.md`
/// §5. The phases are folded into them, but not into 8 reals, and remembered, since nothing can be rebuilt without them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DoubledGauge {
    /// Reals stored a link.
    pub format: LinkFormat,
    /// The boundary phases folded in.
    pub boundary: BoundaryPhases,
}

impl SiteObject for DoubledGauge {
    fn words(&self) -> usize {
        LEGS * self.format.words()
    }
    fn name(&self) -> &'static str {
        "doubled gauge"
    }
}

/// Refuses a configuration on other extents than the lattice's.
fn check_extents(what: &'static str, configuration: &Configuration, lattice: Lattice) -> Result<(), FieldError> {
    let extents = lattice.extents();
    match configuration.extents() == extents {
        true => Ok(()),
        false => Err(FieldError::Mismatch {
            what,
            left: format!("a configuration on {}", configuration.extents()),
            right: format!("a lattice of {extents}"),
        }),
    }
}

/// The links as they are, rounded to `R`, without phases: what field strengths are made of. A link that leaves the last slice of a fixed
/// boundary is zero.
///
/// # Errors
/// [`FieldError`] if the lattice's extents or precision differ.
pub fn raw<R: Real>(
    configuration: &Configuration,
    lattice: Lattice,
    boundary: BoundaryPhases,
) -> Result<Field<R, Gauge>, FieldError> {
    check_extents("laying out links", configuration, lattice)?;
    let extents = lattice.extents();
    Field::from_sites(lattice, Sites::Full, Gauge, |site, object| {
        let here = extents.coordinate(site);
        for (d, link) in object.chunks_exact_mut(LINK_WORDS).enumerate() {
            if boundary.phase(d) == Phase::Fixed && here[d] == extents[d] - 1 {
                link.fill(Complex::new(R::default(), R::default()));
                continue;
            }
            for (element, u) in link.iter_mut().zip(configuration.link(site, d)) {
                *element = Complex::new(R::from_f64(u.re), R::from_f64(u.im));
            }
        }
    })
}

/// The doubled links of the sites `sites`, from a configuration: links are rounded to `R`, times −1/2, times the phase; or their eight reals,
/// rounded to `R`.
///
/// # Errors
/// [`FieldError`] if the lattice's extents or precision differ, or it has no parities and `sites` is one; [`FieldError::NotSu3`] if a link is
/// to be stored as 8 reals and is further from SU(3) than 1e-5 (see [`Configuration::require_su3`]).
pub fn double<R: Real>(
    configuration: &Configuration,
    lattice: Lattice,
    sites: Sites,
    kind: DoubledGauge,
) -> Result<Field<R, DoubledGauge>, FieldError> {
    check_extents("doubling links", configuration, lattice)?;
    if kind.format == LinkFormat::Eight {
        configuration
            .require_su3(eight::SU3_TOLERANCE)
            .map_err(|error| FieldError::NotSu3 { why: error.to_string() })?;
    }
    let extents = lattice.extents();
    let words = kind.format.words();
    Field::from_sites(lattice, sites, kind, |site, object| {
        let here = extents.coordinate(site);
        for (leg, link) in Leg::all().zip(object.chunks_exact_mut(words)) {
            let d = leg.dimension();
            let neighbour = extents.neighbour(here, leg);
            // A forward link belongs to the site itself, a backward one to the neighbour.
            let (owner, crosses) = match leg.is_forward() {
                true => (site, here[d] == extents[d] - 1),
                false => (extents.site(neighbour), here[d] == 0),
            };
            let u = configuration.link(owner, d);
            let element = |row: usize, column: usize| match leg.is_forward() {
                true => u[3 * row + column],
                false => u[3 * column + row].conj(),
            };
            if kind.format == LinkFormat::Eight {
                let [a, b] = [0, 1].map(|row| std::array::from_fn(|column| element(row, column)));
                for (v, word) in link.iter_mut().zip(eight::encode(a, b)) {
                    *v = Complex::new(R::from_f64(word.re), R::from_f64(word.im));
                }
                continue;
            }
            for (k, v) in link.iter_mut().enumerate() {
                let element = element(k / 3, k % 3);
                let factor = match kind.boundary.phase(d) {
                    Phase::Antiperiodic if crosses => 0.5,
                    _ => -0.5,
                };
                // The product of a rounded number and a power of two is exact in f64, but for f64's own underflow.
                let halved = |x: f64| R::from_f64(factor * R::from_f64(x).to_f64());
                *v = match kind.boundary.phase(d) {
                    Phase::Fixed if crosses => Complex::new(R::default(), R::default()),
                    _ => Complex::new(halved(element.re), halved(element.im)),
                };
            }
        }
    })
}
