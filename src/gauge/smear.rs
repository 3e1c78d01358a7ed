//! Smearing of a gauge field (`docs/arithmetic.md` §22): stout (Morningstar and Peardon, Phys. Rev. D 69 (2004) 054501), APE, and hypercubic (Hasenfratz
//! and Knechtli, Phys. Rev. D 64 (2001) 034504). Projections to SU(3) are those of the kernel `su3_projected`.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::layout::{DIMENSIONS, Direction};

use super::{Action, GaugeField, GaugeFieldError, LinkField};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

/// A kind of smearing, with its coefficients, and how often it is done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Smearing {
    /// Links times exp of ρ times the traceless anti-Hermitian part of staples·link†.
    Stout {
        /// ρ, 0 to 0.2.
        rho: f64,
        /// How often.
        steps: usize,
    },
    /// The projection of (1 − α)·link + α/6·staples.
    Ape {
        /// α, 0 to 1.
        alpha: f64,
        /// How often.
        steps: usize,
    },
    /// The same of the links in space, with the staples in space alone: (1 − α)·link + α/4·staples.
    SpatialApe {
        /// α, 0 to 1.
        alpha: f64,
        /// How often.
        steps: usize,
    },
    /// Three levels of such sums, whose staples stay within the hypercubes that the link is part of.
    Hyp {
        /// α1, α2 and α3, 0 to 1: of the last level first.
        alphas: [f64; 3],
        /// How often.
        steps: usize,
    },
}

/// The largest ρ: a step of the flow of that size.
const LARGEST_RHO: f64 = super::LARGEST_STEP;

impl Smearing {
    /// Refuses coefficients that there are not.
    pub fn check(&self) -> Result<(), GaugeFieldError> {
        let require = |kind, what, value: f64, most: f64| match (0.0..=most).contains(&value) {
            true => Ok(()),
            false => Err(GaugeFieldError::Coefficient { kind, what, value, most }),
        };
        match *self {
            Self::Stout { rho, .. } => require("stout", "ρ", rho, LARGEST_RHO),
            Self::Ape { alpha, .. } | Self::SpatialApe { alpha, .. } => require("APE", "α", alpha, 1.0),
            Self::Hyp { alphas, .. } => {
                let mut named = ["α1", "α2", "α3"].into_iter().zip(alphas);
                named.try_for_each(|(what, alpha)| require("HYP", what, alpha, 1.0))
            }
        }
    }
}

impl fmt::Display for Smearing {
    /// `stout:0.1,3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stout { rho, steps } => write!(f, "stout:{rho},{steps}"),
            Self::Ape { alpha, steps } => write!(f, "ape:{alpha},{steps}"),
            Self::SpatialApe { alpha, steps } => write!(f, "spatial-ape:{alpha},{steps}"),
            Self::Hyp { alphas: [a, b, c], steps } => write!(f, "hyp:{a},{b},{c},{steps}"),
        }
    }
}

impl FromStr for Smearing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "invalid smearing '{text}': expected stout:RHO,STEPS, ape:ALPHA,STEPS, spatial-ape:ALPHA,STEPS or hyp:ALPHA1,ALPHA2,ALPHA3,STEPS"
            )
        };
        let (kind, numbers) = text.split_once(':').ok_or_else(expected)?;
        let mut numbers: Vec<&str> = numbers.split(',').collect();
        let steps = numbers.pop().and_then(|steps| steps.parse().ok()).ok_or_else(expected)?;
        let coefficients: Result<Vec<f64>, _> = numbers.iter().map(|number| number.parse()).collect();
        let smearing = match (kind, &coefficients.map_err(|_| expected())?[..]) {
            ("stout", &[rho]) => Self::Stout { rho, steps },
            ("ape", &[alpha]) => Self::Ape { alpha, steps },
            ("spatial-ape", &[alpha]) => Self::SpatialApe { alpha, steps },
            ("hyp", &[a, b, c]) => Self::Hyp { alphas: [a, b, c], steps },
            _ => return Err(expected()),
        };
        smearing.check().map_err(|error| error.to_string())?;
        Ok(smearing)
    }
}

impl<B: Backend> GaugeField<'_, B> {
    /// Smears the links.
    ///
    /// # Errors
    /// [`GaugeFieldError::Coefficient`]; what the backend reports.
    pub fn smear(&mut self, smearing: &Smearing) -> Result<(), GaugeFieldError> {
        smearing.check()?;
        match *smearing {
            Smearing::Stout { rho, steps } => self.stout(rho, steps)?,
            Smearing::Ape { alpha, steps } => self.ape(alpha, steps)?,
            Smearing::SpatialApe { alpha, steps } => (0..steps).try_for_each(|_| self.spatial_ape(alpha))?,
            Smearing::Hyp { alphas, steps } => (0..steps).try_for_each(|_| self.hyp(alphas))?,
        }
        Ok(())
    }

    fn stout(&mut self, rho: f64, steps: usize) -> Result<(), BackendError> {
        let (mut momenta, mut staples) = (self.four_zeros()?, self.four_zeros()?);
        for _ in 0..steps {
            self.staples(&mut staples, Action::Wilson, &mut None)?;
            for (d, direction) in Direction::ALL.into_iter().enumerate() {
                let links = self.links.along_mut(direction);
                self.backend.flow_link(links, &mut momenta[d], &staples[d], (rho, 0.0))?;
            }
        }
        Ok(())
    }

    fn ape(&mut self, alpha: f64, steps: usize) -> Result<(), BackendError> {
        let (mut sum, mut staples) = (self.zeros()?, self.four_zeros()?);
        for _ in 0..steps {
            self.staples(&mut staples, Action::Wilson, &mut None)?;
            for (direction, staples) in Direction::ALL.into_iter().zip(&staples) {
                self.backend.scale(&mut sum, 1.0 - alpha, self.links.along(direction))?;
                self.backend.axpy(alpha / 6.0, staples, &mut sum)?;
                self.backend.su3_projected(self.links.along_mut(direction), &sum)?;
            }
        }
        Ok(())
    }

    fn spatial_ape(&mut self, alpha: f64) -> Result<(), BackendError> {
        const SPACE: [Direction; 3] = [Direction::X, Direction::Y, Direction::Z];
        let smeared = SPACE.map(|mu| {
            let others = SPACE.into_iter().filter(|&nu| nu != mu);
            let planes: Vec<_> = others.map(|nu| (nu, [self.links.along(nu), self.links.along(mu)])).collect();
            self.decorated(mu, (alpha, alpha / 4.0), &planes)
        });
        for (mu, smeared) in SPACE.into_iter().zip(smeared) {
            self.backend.copy(self.links.along_mut(mu), &smeared?)?;
        }
        Ok(())
    }

    /// out = the projection of (1 − α)·links + c·(staples of `along`, between `sides`, of the planes μν that are named).
    fn decorated(
        &self,
        mu: Direction,
        (alpha, c): (f64, f64),
        planes: &[(Direction, [&LinkField<B>; 2])],
    ) -> Result<LinkField<B>, BackendError> {
        let (backend, stencil) = (self.backend, &self.stencil);
        let (mut sum, mut out) = (self.zeros()?, self.zeros()?);
        backend.scale(&mut sum, 1.0 - alpha, self.links.along(mu))?;
        for &(nu, [side, along]) in planes {
            backend.staple_up(&mut sum, stencil, (mu, nu), c, [side, along, side])?;
            backend.staple_down(&mut sum, stencil, (mu, nu), c, [side, along, side])?;
        }
        backend.su3_projected(&mut out, &sum)?;
        Ok(out)
    }

    fn hyp(&mut self, [a1, a2, a3]: [f64; 3]) -> Result<(), BackendError> {
        let others = |taken: &[Direction]| {
            let taken = taken.to_vec();
            Direction::ALL.into_iter().filter(move |direction| !taken.contains(direction)).collect::<Vec<_>>()
        };
        // innermost[μ][η]: links along μ with the staples in direction η alone. middle[μ][ν]: with those of all directions but ν.
        let mut innermost: Vec<Vec<Option<LinkField<B>>>> = Vec::new();
        for mu in Direction::ALL {
            let mut row = Vec::new();
            for eta in Direction::ALL {
                let sides = [self.links.along(eta), self.links.along(mu)];
                row.push(if eta == mu { None } else { Some(self.decorated(mu, (a3, a3 / 2.0), &[(eta, sides)])?) });
            }
            innermost.push(row);
        }
        let mut middle: Vec<Vec<Option<LinkField<B>>>> = Vec::new();
        for mu in Direction::ALL {
            let mut row = Vec::new();
            for nu in Direction::ALL {
                let mut planes = Vec::new();
                for rho in others(&[mu, nu]) {
                    // The one direction that neither the link, the excluded one nor the staple has.
                    for eta in others(&[mu, nu, rho]) {
                        let inner = |direction: Direction| innermost[direction.index()][eta.index()].as_ref();
                        if let (Some(side), Some(along), true) = (inner(rho), inner(mu), nu != mu) {
                            planes.push((rho, [side, along]));
                        }
                    }
                }
                row.push(if nu == mu { None } else { Some(self.decorated(mu, (a2, a2 / 4.0), &planes)?) });
            }
            middle.push(row);
        }
        let mut smeared = Vec::with_capacity(DIMENSIONS);
        for mu in Direction::ALL {
            let mut planes = Vec::new();
            for nu in others(&[mu]) {
                let inner = |of: Direction, without: Direction| middle[of.index()][without.index()].as_ref();
                if let (Some(side), Some(along)) = (inner(nu, mu), inner(mu, nu)) {
                    planes.push((nu, [side, along]));
                }
            }
            smeared.push(self.decorated(mu, (a1, a1 / 6.0), &planes)?);
        }
        for (direction, smeared) in Direction::ALL.into_iter().zip(&smeared) {
            self.backend.copy(self.links.along_mut(direction), smeared)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smearings_are_read_as_they_are_written() {
        for text in ["stout:0.1,3", "ape:0.5,10", "spatial-ape:0.5,10", "hyp:0.75,0.6,0.3,2"] {
            assert_eq!(text.parse::<Smearing>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_smearing_is_refused_by_name() {
        let error = |text: &str| text.parse::<Smearing>().unwrap_err();
        assert!(error("stout:0.1").contains("expected stout:RHO,STEPS"));
        assert!(error("gauss:0.1,3").contains("invalid smearing 'gauss:0.1,3'"));
        assert_eq!(error("stout:0.5,3"), "ρ of stout smearing is a number from 0 to 0.2, not 0.5");
        assert_eq!(error("hyp:0.75,NaN,0.3,1"), "α2 of HYP smearing is a number from 0 to 1, not NaN");
    }
}
