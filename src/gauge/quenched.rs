//! Ensembles of pure gauge theory by heat bath and overrelaxation (`docs/arithmetic.md` §23): a sweep updates both parities and the four directions.
//! The result of a sweep depends only on the field, the seed and the number of the sweep. It is the same on every backend, for all lane layouts and
//! on any number of ranks, and a run that resumes from a stored field has the bits of one that was never interrupted.

use lanefield_reference::ensure;
use lanefield_reference::layout::{DIMENSIONS, LayoutError, Stencil};
use lanefield_reference::object::ColourMatrix;
use lanefield_reference::prelude::*;
use thiserror::Error;

use super::{GaugeFieldError, LinkFields};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::heat_bath::{Draw, HeatBathKernels as _};
use crate::kernel::staples::StaplesKernels as _;

/// Sweep numbers are less than this: a sweep and a direction make one event of the random numbers.
pub(crate) const MOST_SWEEPS: u32 = 1 << 22;

/// The parameters of an ensemble.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuenchedParameters {
    /// β of Wilson's action β Σ (1 − Re tr U_p / 3), or that of another action.
    pub beta: f64,
    /// Overrelaxation sweeps after each heat bath sweep.
    pub overrelaxations: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl QuenchedParameters {
    /// Checks the parameters. Returns the number of the next sweep, after `sweep` sweeps.
    pub(super) fn check(&self, sweep: u64) -> Result<u32, QuenchedError> {
        ensure!(self.beta >= 0.0 && self.beta.is_finite(), QuenchedError::Beta(self.beta));
        let next = u32::try_from(sweep).ok().filter(|next| *next <= MOST_SWEEPS);
        next.ok_or(QuenchedError::Sweeps(sweep))
    }

    /// The updates of all links in one sweep, in order: the heat bath, then overrelaxation.
    pub(super) fn updates(&self, sweep: u32) -> Result<impl Iterator<Item = QuenchedUpdate> + use<>, QuenchedError> {
        ensure!(sweep < MOST_SWEEPS, QuenchedError::Sweeps(u64::from(sweep)));
        let Self { beta, seed, overrelaxations } = *self;
        let heat_bath = QuenchedUpdate::HeatBath(Draw { beta, seed, event: sweep * DIMENSIONS as u32 });
        Ok(std::iter::once(heat_bath).chain(std::iter::repeat_n(QuenchedUpdate::Overrelaxation, overrelaxations)))
    }
}

/// An update of a link in the field of its staples.
#[derive(Clone, Copy)]
pub(super) enum QuenchedUpdate {
    /// A new link is drawn; the event is that of the first direction.
    HeatBath(Draw),
    /// The link is reflected.
    Overrelaxation,
}

impl QuenchedUpdate {
    /// Updates links of one direction that are not in each other's staples.
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

/// Why a field cannot be evolved. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum QuenchedError {
    #[error("beta {0} is out of range: expected a finite number, at least 0")]
    Beta(f64),
    #[error("sweep {0} has no random numbers of its own: sweeps are numbered from 0 to {last}; continue with another seed", last = MOST_SWEEPS - 1)]
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

/// A gauge field under heat bath and overrelaxation, on a backend, in precision `R`.
pub struct Quenched<'b, B: Backend, R: Vectors> {
    backend: &'b B,
    parameters: QuenchedParameters,
    lattice: Lattice,
    /// By parity, as are all fields below.
    links: [LinkFields<B, R>; 2],
    stencils: [B::Table; 2],
    staples: [FieldOn<B, R, ColourMatrix>; 2],
    /// The number of the next sweep.
    sweep: u32,
}

const PARITIES: [Parity; 2] = [Parity::Even, Parity::Odd];

impl<'b, B: Backend, R: Vectors> Quenched<'b, B, R> {
    /// Starts from a field after `sweep` sweeps. `lanes` changes no bit.
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

    /// Sweeps done so far, which is the number of the next one.
    pub fn sweeps(&self) -> u64 {
        u64::from(self.sweep)
    }

    /// One heat bath sweep, and the overrelaxation sweeps after it.
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

    /// The average plaquette, which is 1 for unit links: an exact sum, rounded once for each parity and direction.
    pub fn plaquette(&mut self) -> Result<f64, BackendError> {
        const COLOURS: f64 = 3.0;
        /// The number of plaquettes that contain a link.
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

    /// Downloads the field.
    pub fn configuration(&self) -> Result<Configuration, QuenchedError> {
        Ok(LinkFields::configuration(&self.links.each_ref(), self.backend)?)
    }
}
