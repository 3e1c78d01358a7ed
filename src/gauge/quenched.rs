//! Ensembles of the pure gauge theory by heat bath and overrelaxation (`docs/arithmetic.md` §23): a sweep goes through both parities and the four
//! directions. What a sweep makes of a field is a function of the field, the seed and the number of the sweep: the same on every backend, for all lanes and on
//! any number of ranks, and a run that goes on from a stored field has the bits of one that was never ended.

use lanefield_reference::ensure;
use lanefield_reference::layout::{DIMENSIONS, LayoutError, Stencil};
use lanefield_reference::object::ColourMatrix;
use lanefield_reference::prelude::*;
use thiserror::Error;

use super::{GaugeFieldError, LinkFields};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::heat_bath::{Draw, HeatBathKernels as _};
use crate::kernel::staples::StaplesKernels as _;

/// Sweeps are numbered below this: an event of the random numbers is a sweep and a direction.
pub(crate) const MOST_SWEEPS: u32 = 1 << 22;

/// What an ensemble is of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuenchedParameters {
    /// β of Wilson's action β Σ (1 − Re tr U_p / 3), or of another action in its place.
    pub beta: f64,
    /// Overrelaxation sweeps after each one of the heat bath.
    pub overrelaxations: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl QuenchedParameters {
    /// The number of the next sweep, after so many, with parameters that there are.
    pub(super) fn check(&self, sweep: u64) -> Result<u32, QuenchedError> {
        ensure!(self.beta >= 0.0 && self.beta.is_finite(), QuenchedError::Beta(self.beta));
        let next = u32::try_from(sweep).ok().filter(|next| *next <= MOST_SWEEPS);
        next.ok_or(QuenchedError::Sweeps(sweep))
    }

    /// What is done in a sweep to all links, one after the other: the heat bath, then overrelaxations.
    pub(super) fn updates(&self, sweep: u32) -> Result<impl Iterator<Item = QuenchedUpdate> + use<>, QuenchedError> {
        ensure!(sweep < MOST_SWEEPS, QuenchedError::Sweeps(u64::from(sweep)));
        let Self { beta, seed, overrelaxations } = *self;
        let heat_bath = QuenchedUpdate::HeatBath(Draw { beta, seed, event: sweep * DIMENSIONS as u32 });
        Ok(std::iter::once(heat_bath).chain(std::iter::repeat_n(QuenchedUpdate::Overrelaxation, overrelaxations)))
    }
}

/// What is done to a link in the field of its staples.
#[derive(Clone, Copy)]
pub(super) enum QuenchedUpdate {
    /// Drawn anew; the event is that of the first direction.
    HeatBath(Draw),
    /// Reflected.
    Overrelaxation,
}

impl QuenchedUpdate {
    /// Does it to links of a direction that are not in the staples of each other.
    pub(super) fn of<B: Backend, R: Vectors>(
        self,
        backend: &B,
        direction: Direction,
        link: &mut FieldOn<B, R, ColourMatrix>,
        staples: &FieldOn<B, R, ColourMatrix>,
    ) -> Result<(), BackendError> {
        match self {
            Self::HeatBath(draw) => {
                let event = draw.event + direction.index() as u32;
                backend.heat_bath(link, staples, Draw { event, ..draw })
            }
            Self::Overrelaxation => backend.overrelaxation(link, staples),
        }
    }
}

/// Why a field is not evolved. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum QuenchedError {
    #[error("beta {0} is out of range: expected a finite number from 0 on")]
    Beta(f64),
    #[error("sweep {0} has no random numbers of its own: sweeps are numbered from 0 to {last}; go on with another seed", last = MOST_SWEEPS - 1)]
    Sweeps(u64),
    #[error("a heat bath of an action with rectangles needs a lattice whose extents are multiples of 4, not {extents}")]
    Sublattices { extents: String },
    #[error(transparent)]
    Field(#[from] GaugeFieldError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// A gauge field in its evolution, on a backend, in precision `R`.
pub struct Quenched<'b, B: Backend, R: Vectors> {
    backend: &'b B,
    parameters: QuenchedParameters,
    lattice: Lattice,
    /// By parity, as all that follows.
    links: [LinkFields<B, R>; 2],
    stencils: [B::Table; 2],
    staples: [FieldOn<B, R, ColourMatrix>; 2],
    /// The number of the next sweep.
    sweep: u32,
}

const PARITIES: [Parity; 2] = [Parity::Even, Parity::Odd];

impl<'b, B: Backend, R: Vectors> Quenched<'b, B, R> {
    /// A field after `sweep` sweeps. `lanes` changes no bit.
    pub fn new(
        backend: &'b B,
        configuration: &Configuration,
        parameters: QuenchedParameters,
        sweep: u64,
        lanes: LaneChoice,
    ) -> Result<Self, QuenchedError> {
        let sweep = parameters.check(sweep)?;
        let options = LatticeOptions { lanes: backend.lanes(lanes), ..LatticeOptions::default() };
        let lattice = Lattice::new(configuration.extents(), R::COMPLEX, options)?;
        let sites = PARITIES.map(Sites::Parity);
        let links = |sites| LinkFields::new(backend, lattice, sites, configuration);
        let stencil = |sites| Ok::<_, QuenchedError>(backend.stencil(Stencil::new(lattice, sites)?)?);
        let zeros = |sites| backend.zeros(lattice, sites, ColourMatrix);
        Ok(Self {
            backend,
            parameters,
            lattice,
            links: [links(sites[0])?, links(sites[1])?],
            stencils: [stencil(sites[0])?, stencil(sites[1])?],
            staples: [zeros(sites[0])?, zeros(sites[1])?],
            sweep,
        })
    }

    /// Sweeps that were done: the number of the next one.
    pub fn sweeps(&self) -> u64 {
        u64::from(self.sweep)
    }

    /// One sweep of the heat bath, and those of overrelaxation after it.
    pub fn sweep(&mut self) -> Result<(), QuenchedError> {
        for update in self.parameters.updates(self.sweep)? {
            for parity in [0, 1] {
                for direction in Direction::ALL {
                    self.sum_staples(parity, direction)?;
                    let link = self.links[parity].along_mut(direction);
                    update.of(self.backend, direction, link, &self.staples[parity])?;
                }
            }
        }
        self.sweep += 1;
        Ok(())
    }

    fn sum_staples(&mut self, parity: usize, direction: Direction) -> Result<(), BackendError> {
        let links = [self.links[parity].all(), self.links[1 - parity].all()];
        self.backend.staple_sum(&mut self.staples[parity], &self.stencils[parity], links, direction)
    }

    /// The average plaquette, 1 of unit links: the exact sum, rounded once for each parity and direction.
    pub fn plaquette(&mut self) -> Result<f64, BackendError> {
        const COLOURS: f64 = 3.0;
        /// Plaquettes that a link is part of.
        const PLAQUETTES: f64 = 6.0;
        let mut energy = 0.0;
        for parity in [0, 1] {
            for direction in Direction::ALL {
                self.sum_staples(parity, direction)?;
                energy += self.backend.link_energy(self.links[parity].along(direction), &self.staples[parity])?;
            }
        }
        let links = DIMENSIONS as f64 * self.lattice.extents().global_volume() as f64;
        Ok(energy / (COLOURS * PLAQUETTES * links))
    }

    /// The field.
    pub fn configuration(&self) -> Result<Configuration, QuenchedError> {
        Ok(LinkFields::configuration(&self.links.each_ref(), self.backend)?)
    }
}
