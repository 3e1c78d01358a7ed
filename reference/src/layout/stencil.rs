//! Tables of nearest neighbours. A neighbour is an outer site and, if the step leaves the virtual node, another lane: that of the next or the
//! previous virtual node in that dimension. This is one rotation of lanes for each of the eight legs, the same for every outer site at the edge. (If
//! no dimension is divided into more than two virtual nodes, this rotation is Grid's XOR mask.)
//!
//! In directions in which ranks divide the lattice, a neighbour on another rank is one of the outer sites that follow those of the field
//! ([`GhostSites`]), in the same lane.

use std::sync::OnceLock;

use super::{GhostSites, LEGS, Lattice, LayoutError, Leg, Place, Reach, Sites};

/// The neighbour of an outer site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// The neighbour's outer site, in a field on [`Sites::neighbours`].
    pub osite: usize,
    /// Whether the step leaves the virtual node, so that the lanes are those of [`Stencil::lane_steps`].
    pub edge: bool,
}

/// The neighbours of every outer site of a field on `sites`.
#[derive(Clone, Debug)]
pub struct Stencil {
    lattice: Lattice,
    sites: Sites,
    osites: usize,
    /// The neighbours of these sites, and of ghosts through which displacements lead.
    neighbours: Vec<u32>,
    lane_steps: Vec<u32>,
    /// The stencil on the sites of the neighbours, if they are different. It is created when it is first used.
    of_neighbours: OnceLock<Box<Stencil>>,
}

impl PartialEq for Stencil {
    fn eq(&self, other: &Self) -> bool {
        // The rest follows from these.
        self.lattice == other.lattice && self.sites == other.sites
    }
}

impl Eq for Stencil {}

impl Stencil {
    /// The bit in an entry of [`Self::neighbours`] that marks a step out of the virtual node, and the bit in an entry of [`Self::lane_steps`] that
    /// marks a step across the lattice's boundary.
    pub const MARK: u32 = 1 << 31;

    /// The stencil that computes values on `sites` from values on [`Sites::neighbours`].
    ///
    /// # Errors
    /// [`LayoutError::NotRedBlack`] if `sites` is one parity of a lattice without parities; [`LayoutError::OutOfMemory`].
    pub fn new(lattice: Lattice, sites: Sites) -> Result<Self, LayoutError> {
        lattice.check(sites)?;
        let (ghosts, osites) = (GhostSites::new(&lattice, sites), lattice.osites(sites));
        let rows = osites + ghosts.len(Reach::ThreeSteps);
        let (mut neighbours, length) = (Vec::new(), rows * LEGS);
        let out_of_memory = |_| LayoutError::OutOfMemory { bytes: length.saturating_mul(size_of::<u32>()) };
        neighbours.try_reserve_exact(length).map_err(out_of_memory)?;
        for osite in 0..rows {
            let here = ghosts.coordinate(osite);
            for leg in Leg::all() {
                let (there, edge) = ghosts.step(sites, here, leg);
                // Steps from ghosts to what is not held are part of no displacement.
                neighbours.push(there.unwrap_or(osite) as u32 | if edge { Self::MARK } else { 0 });
            }
        }
        let lane_steps = Leg::all()
            .flat_map(|leg| (0..lattice.nsimd()).map(move |lane| Self::lane_step(&lattice, leg, lane)))
            .collect();
        Ok(Self { lattice, sites, osites, neighbours, lane_steps, of_neighbours: OnceLock::new() })
    }

    fn lane_step(lattice: &Lattice, leg: Leg, lane: usize) -> u32 {
        let (there, crosses) = lattice.lane_step(lane, leg);
        there as u32 | if crosses { Self::MARK } else { 0 }
    }

    /// The lattice.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// The sites that have these neighbours.
    pub fn sites(&self) -> Sites {
        self.sites
    }

    /// Number of outer sites.
    pub fn osites(&self) -> usize {
        self.osites
    }

    /// The table `[osite * 8 + point]`: the neighbour's osite, with [`Self::MARK`] if the step leaves the virtual node. On a local volume, the rows
    /// of ghosts follow ([`GhostSites`]).
    pub fn neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// The table `[point * nsimd + lane]`, for steps that leave the virtual node: the lane of the neighbour's value, with [`Self::MARK`] if the step
    /// crosses the boundary of the lattice.
    pub fn lane_steps(&self) -> &[u32] {
        &self.lane_steps
    }

    /// The neighbour of `osite` along `leg`.
    #[inline]
    pub fn neighbour(&self, osite: usize, leg: Leg) -> Neighbour {
        let entry = self.neighbours[osite * LEGS + leg.point()];
        Neighbour { osite: (entry & !Self::MARK) as usize, edge: entry & Self::MARK != 0 }
    }

    /// The stencil on [`Sites::neighbours`]. For all sites, it is this one.
    pub(crate) fn of_neighbours(&self) -> Result<&Self, LayoutError> {
        if self.sites == Sites::Full {
            return Ok(self);
        }
        if let Some(known) = self.of_neighbours.get() {
            return Ok(known);
        }
        let made = Box::new(Self::new(self.lattice, self.sites.neighbours())?);
        Ok(self.of_neighbours.get_or_init(|| made))
    }

    /// The place of the neighbour along `leg` of the site at `place`, and whether the step crosses the lattice's boundary.
    pub fn follow(&self, place: Place, leg: Leg) -> (Place, bool) {
        let Neighbour { osite, edge } = self.neighbour(place.osite, leg);
        if !edge {
            return (Place { osite, lane: place.lane }, false);
        }
        let step = self.lane_steps[leg.point() * self.lattice.nsimd() + place.lane];
        (Place { osite, lane: (step & !Self::MARK) as usize }, step & Self::MARK != 0)
    }
}
