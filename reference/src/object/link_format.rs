//! How links are stored, and the boundary phases that are folded into them (`docs/arithmetic.md` §5).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::layout::DIMENSIONS;

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
pub enum LinkError {
    /// A link format that does not exist.
    #[error("no links of '{reals}' reals: use 18 (full), 12 (two rows) or 8 (an SU(3) matrix)")]
    Format { reals: String },
    /// Boundary phases that do not exist.
    #[error("'{phases}' are no boundary phases: give four, each 1, -1 or 0 (fixed), for x,y,z,t, as in 1,1,1,-1")]
    Boundary { phases: String },
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
