//! Tables of nearest neighbours. A neighbour is an outer site, and, where the step leaves the virtual node, another lane: the next
//! or the previous virtual node in that dimension. That is one rotation of lanes for each of the eight legs, the same for every outer
//! site at the edge. (Grid's XOR masks are this rotation where no dimension is cut into more than two.)
//! In directions in which ranks cut the lattice a neighbour in another part lies in one of the outer sites behind those of the field
//! ([`GhostSites`]), in the same lane.

use std::sync::OnceLock;

use super::{GhostSites, LEGS, Lattice, LayoutError, Leg, Place, Reach, Sites};

/// Where the neighbour of an outer site lies.
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
    /// Of these, and of ghosts, from which displacements lead on.
    neighbours: Vec<u32>,
    lane_steps: Vec<u32>,
    /// The stencil on the sites of the neighbours, if they are others; made when it is asked for.
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
    /// The bit beside an osite in [`Self::neighbours`] that marks a step out of the virtual node, and the bit beside a lane in
    /// [`Self::lane_steps`] that marks a step across the lattice's boundary.
    pub const MARK: u32 = 1 << 31;

    /// The stencil that gives values on `sites` from values on [`Sites::neighbours`].
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

    /// The sites whose neighbours these are.
    pub fn sites(&self) -> Sites {
        self.sites
    }

    /// Number of outer sites.
    pub fn osites(&self) -> usize {
        self.osites
    }

    /// The table `[osite * 8 + point]`: the neighbour's osite, with [`Self::MARK`] where the step leaves the virtual node. On a part of a lattice the rows of
    /// ghosts follow ([`GhostSites`]).
    pub fn neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// The table `[point * nsimd + lane]`, for steps that leave the virtual node: the lane in which the neighbour's value lies,
    /// with [`Self::MARK`] where the step crosses the boundary of the lattice.
    pub fn lane_steps(&self) -> &[u32] {
        &self.lane_steps
    }

    /// The neighbour of `osite` along `leg`.
    #[inline]
    pub fn neighbour(&self, osite: usize, leg: Leg) -> Neighbour {
        let entry = self.neighbours[osite * LEGS + leg.point()];
        Neighbour { osite: (entry & !Self::MARK) as usize, edge: entry & Self::MARK != 0 }
    }

    /// The stencil on [`Sites::neighbours`]: of all sites, this one.
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

    /// Where the neighbour of the site at `place` along `leg` lies, and whether the step crosses the lattice's boundary.
    pub fn follow(&self, place: Place, leg: Leg) -> (Place, bool) {
        let Neighbour { osite, edge } = self.neighbour(place.osite, leg);
        if !edge {
            return (Place { osite, lane: place.lane }, false);
        }
        let step = self.lane_steps[leg.point() * self.lattice.nsimd() + place.lane];
        (Place { osite, lane: (step & !Self::MARK) as usize }, step & Self::MARK != 0)
    }
}
