//! Smearing of a gauge field (`docs/arithmetic.md` §22): stout (Morningstar and Peardon, Phys. Rev. D 69 (2004) 054501), APE, and hypercubic
//! (Hasenfratz and Knechtli, Phys. Rev. D 64 (2001) 034504). The kernel `su3_projected` projects to SU(3) by polar decomposition. Projections that
//! maximise the trace are computed on the host, link by link, so that their bits are the same everywhere too.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::gauge::{LINK_WORDS, Projection};
use lanefield_reference::layout::{DIMENSIONS, Direction};
use lanefield_reference::tasks::{for_each_chunk, items_a_task};
use num_complex::Complex;

use super::{Action, GaugeField, GaugeFieldError, LinkField};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

/// A kind of smearing, with its coefficients and number of steps.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Smearing {
    /// Links multiplied by exp of ρ times the traceless anti-Hermitian part of staples·link†.
    Stout {
        /// ρ, 0 to 1.
        rho: f64,
        steps: usize,
    },
    /// The projection of (1 − α)·link + α/6·staples.
    Ape {
        /// α, 0 to 1.
        alpha: f64,
        steps: usize,
        projection: Projection,
    },
    /// APE smearing of the spatial links with the spatial staples alone: the projection of (1 − α)·link + α/4·staples.
    SpatialApe {
        /// α, 0 to 1.
        alpha: f64,
        steps: usize,
        projection: Projection,
    },
    /// Three levels of such sums, with staples that stay within the hypercubes that contain the link.
    Hyp {
        /// α1, α2 and α3, 0 to 1; α1 belongs to the last level.
        alphas: [f64; 3],
        steps: usize,
        projection: Projection,
    },
}

/// The largest magnitude of ρ. Z is the traceless part of a sum of six unitary matrices, so its eigenvalues are at most 8 in magnitude. Up to 8 the
/// exponential is exact to rounding.
const LARGEST_RHO: f64 = 1.0;

impl Smearing {
    /// The distance up to which Wilson loops of smeared links are not those of a static potential. Each step spreads temporal links by one site in
    /// space, so two lines overlap up to twice the number of steps. 0 if only spatial links are smeared.
    pub fn reach(&self) -> usize {
        match *self {
            Self::SpatialApe { .. } => 0,
            _ => 2 * self.steps(),
        }
    }

    /// The number of steps.
    pub fn steps(&self) -> usize {
        let (Self::Stout { steps, .. }
        | Self::Ape { steps, .. }
        | Self::SpatialApe { steps, .. }
        | Self::Hyp { steps, .. }) = *self;
        steps
    }

    /// The same smearing with another number of steps.
    #[must_use]
    pub fn with_steps(mut self, number: usize) -> Self {
        let (Self::Stout { steps, .. }
        | Self::Ape { steps, .. }
        | Self::SpatialApe { steps, .. }
        | Self::Hyp { steps, .. }) = &mut self;
        *steps = number;
        self
    }

    /// The kind of projection to SU(3); `None` for stout smearing, which needs none.
    pub fn projection(&self) -> Option<Projection> {
        match *self {
            Self::Stout { .. } => None,
            Self::Ape { projection, .. } | Self::SpatialApe { projection, .. } | Self::Hyp { projection, .. } => {
                Some(projection)
            }
        }
    }

    /// Checks the ranges of the coefficients.
    pub fn check(&self) -> Result<(), GaugeFieldError> {
        let require = |kind, what, value: f64, [least, most]: [f64; 2]| match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(GaugeFieldError::Coefficient { kind, what, value, least, most }),
        };
        match *self {
            Self::Stout { rho, .. } => require("stout", "ρ", rho, [-LARGEST_RHO, LARGEST_RHO]),
            Self::Ape { alpha, .. } | Self::SpatialApe { alpha, .. } => require("APE", "α", alpha, [0.0, 1.0]),
            Self::Hyp { alphas, .. } => {
                let mut named = ["α1", "α2", "α3"].into_iter().zip(alphas);
                named.try_for_each(|(what, alpha)| require("HYP", what, alpha, [0.0, 1.0]))
            }
        }
    }
}

impl fmt::Display for Smearing {
    /// `stout:0.1,3`, `ape:0.5,2,max-re-tr`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stout { rho, steps } => write!(f, "stout:{rho},{steps}"),
            Self::Ape { alpha, steps, .. } => write!(f, "ape:{alpha},{steps}"),
            Self::SpatialApe { alpha, steps, .. } => write!(f, "spatial-ape:{alpha},{steps}"),
            Self::Hyp { alphas: [a, b, c], steps, .. } => write!(f, "hyp:{a},{b},{c},{steps}"),
        }?;
        match self.projection() {
            None | Some(Projection::Polar) => Ok(()),
            Some(projection) => write!(f, ",{projection}"),
        }
    }
}

impl FromStr for Smearing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "invalid smearing '{text}': expected stout:RHO,STEPS, ape:ALPHA,STEPS, spatial-ape:ALPHA,STEPS or hyp:ALPHA1,ALPHA2,ALPHA3,STEPS, \
                 and after the last three ,polar or ,max-re-tr"
            )
        };
        let (kind, numbers) = text.split_once(':').ok_or_else(expected)?;
        let mut numbers: Vec<&str> = numbers.split(',').collect();
        let named = numbers.last().and_then(|last| last.parse().ok()).filter(|_| kind != "stout");
        numbers.truncate(numbers.len() - usize::from(named.is_some()));
        let projection: Projection = named.unwrap_or_default();
        let steps = numbers.pop().and_then(|steps| steps.parse().ok()).ok_or_else(expected)?;
        let coefficients: Result<Vec<f64>, _> = numbers.iter().map(|number| number.parse()).collect();
        let smearing = match (kind, &coefficients.map_err(|_| expected())?[..]) {
            ("stout", &[rho]) => Self::Stout { rho, steps },
            ("ape", &[alpha]) => Self::Ape { alpha, steps, projection },
            ("spatial-ape", &[alpha]) => Self::SpatialApe { alpha, steps, projection },
            ("hyp", &[a, b, c]) => Self::Hyp { alphas: [a, b, c], steps, projection },
            _ => return Err(expected()),
        };
        smearing.check().map_err(|error| error.to_string())?;
        Ok(smearing)
    }
}

impl<B: Backend> GaugeField<'_, B> {
    /// Smears the links in place.
    pub fn smear(&mut self, smearing: &Smearing) -> Result<(), GaugeFieldError> {
        smearing.check()?;
        match *smearing {
            Smearing::Stout { rho, steps } => self.stout(rho, steps)?,
            Smearing::Ape { alpha, steps, projection } => self.ape(alpha, steps, projection)?,
            Smearing::SpatialApe { alpha, steps, projection } => {
                (0..steps).try_for_each(|_| self.spatial_ape(alpha, projection))?;
            }
            Smearing::Hyp { alphas, steps, projection } => {
                (0..steps).try_for_each(|_| self.hyp(alphas, projection))?;
            }
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

    fn ape(&mut self, alpha: f64, steps: usize, projection: Projection) -> Result<(), BackendError> {
        let (mut sum, mut staples) = (self.zeros()?, self.four_zeros()?);
        for _ in 0..steps {
            self.staples(&mut staples, Action::Wilson, &mut None)?;
            for (direction, staples) in Direction::ALL.into_iter().zip(&staples) {
                self.backend.scale(&mut sum, 1.0 - alpha, self.links.along(direction))?;
                self.backend.axpy(alpha / 6.0, staples, &mut sum)?;
                project(self.backend, self.links.along_mut(direction), &sum, projection)?;
            }
        }
        Ok(())
    }

    fn spatial_ape(&mut self, alpha: f64, projection: Projection) -> Result<(), BackendError> {
        const SPACE: [Direction; 3] = [Direction::X, Direction::Y, Direction::Z];
        let smeared = SPACE.map(|mu| {
            let others = SPACE.into_iter().filter(|&nu| nu != mu);
            let planes: Vec<_> = others.map(|nu| (nu, [self.links.along(nu), self.links.along(mu)])).collect();
            self.decorated(mu, (alpha, alpha / 4.0), &planes, projection)
        });
        for (mu, smeared) in SPACE.into_iter().zip(smeared) {
            self.backend.copy(self.links.along_mut(mu), &smeared?)?;
        }
        Ok(())
    }

    /// Writes to `out` the projection of (1 − α)·links + c·(staples of `along`, between `sides`, in the given planes μν).
    fn decorated(
        &self,
        mu: Direction,
        (alpha, c): (f64, f64),
        planes: &[(Direction, [&LinkField<B>; 2])],
        projection: Projection,
    ) -> Result<LinkField<B>, BackendError> {
        let (backend, stencil) = (self.backend, &self.stencil);
        let (mut sum, mut out) = (self.zeros()?, self.zeros()?);
        backend.scale(&mut sum, 1.0 - alpha, self.links.along(mu))?;
        for &(nu, [side, along]) in planes {
            backend.staple_up(&mut sum, stencil, (mu, nu), c, [side, along, side])?;
            backend.staple_down(&mut sum, stencil, (mu, nu), c, [side, along, side])?;
        }
        project(backend, &mut out, &sum, projection)?;
        Ok(out)
    }

    fn hyp(&mut self, [a1, a2, a3]: [f64; 3], projection: Projection) -> Result<(), BackendError> {
        let others = |taken: &[Direction]| {
            let taken = taken.to_vec();
            Direction::ALL.into_iter().filter(move |direction| !taken.contains(direction)).collect::<Vec<_>>()
        };
        // innermost[μ][η]: links along μ with the staples in direction η alone. middle[μ][ν]: with the staples of all directions but ν.
        let mut innermost: Vec<Vec<Option<LinkField<B>>>> = Vec::new();
        for mu in Direction::ALL {
            let mut row = Vec::new();
            for eta in Direction::ALL {
                let sides = [self.links.along(eta), self.links.along(mu)];
                let decorated = || self.decorated(mu, (a3, a3 / 2.0), &[(eta, sides)], projection);
                row.push(if eta == mu { None } else { Some(decorated()?) });
            }
            innermost.push(row);
        }
        let mut middle: Vec<Vec<Option<LinkField<B>>>> = Vec::new();
        for mu in Direction::ALL {
            let mut row = Vec::new();
            for nu in Direction::ALL {
                let mut planes = Vec::new();
                for rho in others(&[mu, nu]) {
                    // The one direction that is neither that of the link, nor the excluded one, nor that of the staple.
                    for eta in others(&[mu, nu, rho]) {
                        let inner = |direction: Direction| innermost[direction.index()][eta.index()].as_ref();
                        if let (Some(side), Some(along), true) = (inner(rho), inner(mu), nu != mu) {
                            planes.push((rho, [side, along]));
                        }
                    }
                }
                let decorated = || self.decorated(mu, (a2, a2 / 4.0), &planes, projection);
                row.push(if nu == mu { None } else { Some(decorated()?) });
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
            smeared.push(self.decorated(mu, (a1, a1 / 6.0), &planes, projection)?);
        }
        for (direction, smeared) in Direction::ALL.into_iter().zip(&smeared) {
            self.backend.copy(self.links.along_mut(direction), smeared)?;
        }
        Ok(())
    }
}

/// Writes the projection of v to SU(3) to `out`.
fn project<B: Backend>(
    backend: &B,
    out: &mut LinkField<B>,
    v: &LinkField<B>,
    projection: Projection,
) -> Result<(), BackendError> {
    if projection == Projection::Polar {
        return backend.su3_projected(out, v);
    }
    let mut field = backend.download(v)?;
    // The words of all lanes of an outer site are stored together.
    let lanes = field.lattice().nsimd();
    let osite = 2 * LINK_WORDS * lanes;
    let reals = field.reals_mut();
    let a_task = osite * items_a_task(reals.len() / osite);
    for_each_chunk(reals, a_task, |_, reals| {
        let mut links = vec![Complex::ZERO; LINK_WORDS * lanes];
        for reals in reals.chunks_exact_mut(osite) {
            let words = reals.as_chunks_mut::<2>().0;
            for (place, [re, im]) in words.iter().enumerate() {
                links[LINK_WORDS * (place % lanes) + place / lanes] = Complex::new(*re, *im);
            }
            projection.project(&mut links);
            for (place, word) in words.iter_mut().enumerate() {
                let z = links[LINK_WORDS * (place % lanes) + place / lanes];
                *word = [z.re, z.im];
            }
        }
    });
    *out = backend.upload(field)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smearings_are_read_as_they_are_written() {
        for text in ["stout:0.1,3", "ape:0.5,10", "spatial-ape:0.5,10,max-re-tr", "hyp:0.75,0.6,0.3,2"] {
            assert_eq!(text.parse::<Smearing>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_smearing_is_refused_by_name() {
        let error = |text: &str| text.parse::<Smearing>().unwrap_err();
        assert!(error("stout:0.1").contains("expected stout:RHO,STEPS"));
        assert!(error("stout:0.1,3,max-re-tr").contains("expected stout:RHO,STEPS"));
        assert!(error("ape:0.5,3,polarr").contains(",polar or ,max-re-tr"));
        assert!(error("gauss:0.1,3").contains("invalid smearing 'gauss:0.1,3'"));
        assert!("stout:1,3".parse::<Smearing>().is_ok());
        assert_eq!(error("stout:1.5,3"), "invalid ρ 1.5 of stout smearing: expected a number from -1 to 1");
        assert_eq!(error("hyp:0.75,NaN,0.3,1"), "invalid α2 NaN of HYP smearing: expected a number from 0 to 1");
    }
}
