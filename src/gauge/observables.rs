//! Gauge observables (`docs/arithmetic.md` §21): plaquettes, rectangles, energy density and topological charge of the clover field strength,
//! Polyakov and Wilson loops. Sums over sites are exact and rounded once, so that no bit depends on the backend.

use std::f64::consts::PI;

use lanefield_reference::ensure;
use lanefield_reference::kernels::reduce::PartialSums;
use lanefield_reference::prelude::*;

use super::{GaugeField, GaugeFieldError, LinkField};
use crate::backend::{Backend, BackendError, Sum};
use crate::kernel::prelude::*;

/// The planes xy, xz, yz, xt, yt, zt.
pub(super) const PLANES: [(Direction, Direction); 6] = [
    (Direction::X, Direction::Y),
    (Direction::X, Direction::Z),
    (Direction::Y, Direction::Z),
    (Direction::X, Direction::T),
    (Direction::Y, Direction::T),
    (Direction::Z, Direction::T),
];
/// How many of them are in space.
const SPATIAL: usize = 3;

/// Averages of Re tr / 3 over loops: over all planes, over the planes in space, and over those with time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OfPlanes {
    /// Over all planes.
    pub all: f64,
    /// Over xy, xz and yz.
    pub spatial: f64,
    /// Over xt, yt and zt.
    pub temporal: f64,
}

/// Observables of the clover field strength.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CloverObservables {
    /// Energy density of the planes with time, −Σ tr F², averaged over sites.
    pub temporal: f64,
    /// Energy density of the planes in space, likewise.
    pub spatial: f64,
    /// The topological charge, 1/(32π²) Σ ε_μνρσ tr F_μν F_ρσ with Hermitian F.
    pub charge: f64,
}

impl CloverObservables {
    /// The energy density E = ¼ F^a F^a of all planes.
    pub fn energy(&self) -> f64 {
        self.temporal + self.spatial
    }
}

impl<B: Backend> GaugeField<'_, B> {
    fn volume(&self) -> f64 {
        self.lattice.extents().global_volume() as f64
    }

    pub(super) fn along(&self, (mu, nu): (Direction, Direction)) -> [&LinkField<B>; 2] {
        [self.links.along(mu), self.links.along(nu)]
    }

    /// Averages over planes, from sums with `loops` loops per site and plane.
    fn of_planes(
        &self,
        loops: f64,
        sum: impl Fn((Direction, Direction)) -> Result<PartialSums, BackendError>,
    ) -> Result<OfPlanes, GaugeFieldError> {
        let merged = |planes: &[(Direction, Direction)]| {
            let mut total: Option<PartialSums> = None;
            for &plane in planes {
                let next = sum(plane)?;
                match &mut total {
                    Some(total) => total.merge(&next).map_err(BackendError::from)?,
                    None => total = Some(next),
                }
            }
            Ok::<_, BackendError>(total)
        };
        let (spatial, temporal) = (merged(&PLANES[..SPATIAL])?, merged(&PLANES[SPATIAL..])?);
        let mut all = spatial.clone();
        if let (Some(all), Some(temporal)) = (&mut all, &temporal) {
            all.merge(temporal).map_err(BackendError::from)?;
        }
        let average = |sum: Option<PartialSums>, planes: usize| {
            let sum = sum.and_then(|sum| sum.round().first().copied()).unwrap_or(f64::NAN);
            sum / (3.0 * loops * planes as f64 * self.volume())
        };
        Ok(OfPlanes {
            all: average(all, PLANES.len()),
            spatial: average(spatial, SPATIAL),
            temporal: average(temporal, PLANES.len() - SPATIAL),
        })
    }

    /// Average plaquettes. The average over all planes has the bits of
    /// [`Configuration::plaquette`](lanefield_reference::gauge::Configuration::plaquette).
    pub fn plaquettes(&self) -> Result<OfPlanes, GaugeFieldError> {
        self.of_planes(1.0, |plane| self.backend.plaquette_sum(&self.stencil, plane, self.along(plane)))
    }

    /// Average rectangles of 1 by 2, in both orientations in each plane.
    pub fn rectangles(&self) -> Result<OfPlanes, GaugeFieldError> {
        self.of_planes(2.0, |(mu, nu)| {
            let mut sum = self.backend.rectangle_sum(&self.stencil, (mu, nu), self.along((mu, nu)))?;
            sum.merge(&self.backend.rectangle_sum(&self.stencil, (nu, mu), self.along((nu, mu)))?)?;
            Ok(sum)
        })
    }

    /// Energy density and topological charge of the clover field strength. The sum of each plane is rounded, then the planes are added in order.
    pub fn clover(&self) -> Result<CloverObservables, GaugeFieldError> {
        self.clover_of(|strength, plane| {
            self.backend.clover_leaves(strength, &self.stencil, PLANES[plane], self.along(PLANES[plane]))?;
            Ok(())
        })
    }

    /// The same for a field strength that `strength` computes for each of [`PLANES`].
    pub(super) fn clover_of(
        &self,
        mut strength: impl FnMut(&mut LinkField<B>, usize) -> Result<(), GaugeFieldError>,
    ) -> Result<CloverObservables, GaugeFieldError> {
        let backend = self.backend;
        let (mut energy, mut charge) = ([0.0; 2], 0.0);
        let (mut first, mut second) = (self.zeros()?, self.zeros()?);
        // Each plane in space with the plane that shares no direction with it, and the sign of the permutation.
        for (space, time, sign) in [(0, 5, 1.0), (1, 4, -1.0), (2, 3, 1.0)] {
            strength(&mut first, space)?;
            strength(&mut second, time)?;
            energy[0] += backend.norm2(&second, Sum::Exact)?;
            energy[1] += backend.norm2(&first, Sum::Exact)?;
            charge += sign * backend.inner_product(&first, &second, Sum::Exact)?.re;
        }
        Ok(CloverObservables {
            temporal: energy[0] / self.volume(),
            spatial: energy[1] / self.volume(),
            charge: charge / (4.0 * PI * PI),
        })
    }

    /// The Polyakov loop in a direction: the average of tr / 3 over all sites. Sites along one loop contribute the same value.
    pub fn polyakov_loop(&self, direction: Direction) -> Result<Complex<f64>, GaugeFieldError> {
        let line = self.line(direction, self.lattice.extents().global()[direction.index()])?;
        let sums = self.backend.sum(&line, Sum::Exact)?;
        let trace = [0, 4, 8].iter().filter_map(|&word| sums.get(word)).sum::<Complex<f64>>();
        Ok(trace / (3.0 * self.volume()))
    }

    /// The product of `length` links along a direction, starting at each site.
    pub(super) fn line(&self, direction: Direction, length: usize) -> Result<LinkField<B>, BackendError> {
        let links = self.links.along(direction);
        let (mut line, mut longer) = (self.zeros()?, self.zeros()?);
        self.backend.copy(&mut line, links)?;
        for _ in 1..length {
            self.backend.transported(&mut longer, &self.stencil, direction, links, &line)?;
            std::mem::swap(&mut line, &mut longer);
        }
        Ok(line)
    }

    /// The field shifted by a number of steps along a leg.
    pub(super) fn shifted_by(
        &self,
        field: &LinkField<B>,
        leg: Leg,
        steps: usize,
    ) -> Result<LinkField<B>, BackendError> {
        let (mut shifted, mut further) = (self.zeros()?, self.zeros()?);
        self.backend.copy(&mut shifted, field)?;
        for _ in 0..steps {
            self.backend.shifted(&mut further, &self.stencil, leg, &shifted)?;
            std::mem::swap(&mut shifted, &mut further);
        }
        Ok(shifted)
    }

    /// Wilson loops W(r, t) on the axes, for r = 1 … `most_r` along x, y and z and t = 1 … `most_t` along time: Re tr / 3, averaged over sites and
    /// the three directions. Row r − 1 has those of all t.
    ///
    /// # Errors
    /// [`GaugeFieldError::Loops`] if loops are longer than the lattice; backend errors.
    pub fn wilson_loops(&self, most_r: usize, most_t: usize) -> Result<Vec<Vec<f64>>, GaugeFieldError> {
        self.wilson_loops_while(most_r, most_t, || true).map(Option::unwrap_or_default)
    }

    /// Like [`Self::wilson_loops`], while `goes_on` returns true. It is called for each time and direction; the result is `None` if it returns
    /// false.
    pub fn wilson_loops_while(
        &self,
        most_r: usize,
        most_t: usize,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Option<Vec<Vec<f64>>>, GaugeFieldError> {
        let extents = self.lattice.extents().global();
        let longest = extents.as_array();
        let in_space = longest[..3].iter().copied().min().unwrap_or(1);
        for (given, most) in [(most_r, in_space), (most_t, longest[3])] {
            ensure!((1..=most).contains(&given), GaugeFieldError::Loops { given, extents: extents.to_string(), most });
        }
        let backend = self.backend;
        let mut sums: Vec<Vec<Option<PartialSums>>> = vec![vec![None; most_t]; most_r];
        for space in [Direction::X, Direction::Y, Direction::Z] {
            for t in 1..=most_t {
                if !goes_on() {
                    return Ok(None);
                }
                // Lines along time, and the same lines r steps away; lines along space, and the same lines t steps later.
                let times = self.line(Direction::T, t)?;
                let (mut away, mut spare) = (self.zeros()?, self.zeros()?);
                backend.copy(&mut away, &times)?;
                for r in 1..=most_r {
                    backend.shifted(&mut spare, &self.stencil, Leg::forward(space.index()), &away)?;
                    std::mem::swap(&mut away, &mut spare);
                    let line = self.line(space, r)?;
                    let later = self.shifted_by(&line, Leg::forward(Direction::T.index()), t)?;
                    let sum = backend.loop_sum([&line, &away, &times, &later])?;
                    match &mut sums[r - 1][t - 1] {
                        Some(total) => total.merge(&sum).map_err(BackendError::from)?,
                        none => *none = Some(sum),
                    }
                }
            }
        }
        let average = |sum: &Option<PartialSums>| {
            let sum = sum.as_ref().and_then(|sum| sum.round().first().copied()).unwrap_or(f64::NAN);
            sum / (9.0 * self.volume())
        };
        Ok(Some(sums.iter().map(|row| row.iter().map(average).collect()).collect()))
    }
}
