//! A lattice in lane layout: the place of each site in memory. Lane `l` of an outer site holds one site of virtual node `l`, so the sites of
//! neighbouring lanes are a whole virtual node apart (Grid's block layout, `Cartesian_base.h`). Fields of one parity have the same lane layout, with
//! x halved.

use super::{Checkerboard, Coordinate, DIMENSION_NAMES, DIMENSIONS, Extents, LaneChoice, LaneWidth, LayoutError};
use super::{Leg, Scalar, Sites, VirtualNodes};

/// Options of a lattice's layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatticeOptions {
    /// Lane width.
    pub lanes: LaneChoice,
    /// Lane layout, `[x, y, z, t]`; the default one if `None`.
    pub nodes: Option<[usize; DIMENSIONS]>,
    /// Whether the lattice supports fields of one parity.
    pub checkerboard: Checkerboard,
}

impl Default for LatticeOptions {
    /// `auto` lanes, the default lane layout, parities.
    fn default() -> Self {
        Self { lanes: LaneChoice::Auto, nodes: None, checkerboard: Checkerboard::RedBlack }
    }
}

/// A site's place in a field: outer site and lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Outer site, Grid's osite.
    pub osite: usize,
    /// Lane, less than Nsimd.
    pub lane: usize,
}

/// Extents, lanes and virtual nodes of a lattice for one precision. f32 and f64 lattices of the same extents and width have different numbers of
/// lanes, and so different orders of sites in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lattice {
    extents: Extents,
    scalar: Scalar,
    width: LaneWidth,
    nodes: VirtualNodes,
    checkerboard: Checkerboard,
}

impl Lattice {
    /// Lays out `extents` for vectors of `scalar`.
    ///
    /// # Errors
    /// [`LayoutError`], with the possible values, if the lanes do not fit, or if parities are requested and an extent is odd.
    pub fn new(extents: Extents, scalar: Scalar, options: LatticeOptions) -> Result<Self, LayoutError> {
        let LatticeOptions { lanes, nodes, checkerboard } = options;
        if checkerboard == Checkerboard::RedBlack
            && let Some(d) = (0..DIMENSIONS).find(|&d| !extents[d].is_multiple_of(2))
        {
            return Err(LayoutError::OddExtent { extent: extents[d], dimension: DIMENSION_NAMES[d] });
        }
        let with_width = |width: LaneWidth, nodes: Option<[usize; DIMENSIONS]>| {
            let nsimd = width.nsimd(scalar)?;
            let nodes = match (nodes, lanes) {
                (None, LaneChoice::InSpace(_)) => VirtualNodes::fit_in_space(extents, nsimd, checkerboard)?,
                (None, _) => VirtualNodes::fit(extents, nsimd, checkerboard)?,
                (Some(nodes), _) => VirtualNodes::explicit(nodes, extents, nsimd, checkerboard)?,
            };
            Ok(Self { extents, scalar, width, nodes, checkerboard })
        };
        match lanes {
            LaneChoice::Width(width) => with_width(width, nodes),
            LaneChoice::Cut(cut) => {
                let bytes = cut.iter().try_fold(scalar.bytes(), |bytes, &lanes| bytes.checked_mul(lanes));
                with_width(LaneWidth::new(bytes.unwrap_or(usize::MAX))?, Some(cut))
            }
            LaneChoice::Auto | LaneChoice::UpTo(_) | LaneChoice::InSpace(_) => {
                let most = match lanes {
                    LaneChoice::UpTo(most) | LaneChoice::InSpace(most) => most,
                    _ => LaneWidth::DEFAULT,
                };
                let widths = LaneWidth::ALL.into_iter().rev().filter(|width| *width <= most);
                let mut refusal = None;
                for width in widths {
                    match with_width(width, nodes) {
                        Ok(lattice) => return Ok(lattice),
                        Err(error) => refusal = refusal.or(Some(error)),
                    }
                }
                Err(refusal.unwrap_or(LayoutError::Width { bytes: "auto".to_owned() }))
            }
        }
    }

    /// The lattice for another scalar, with the same sites in the same lanes. The width of vectors changes.
    ///
    /// # Errors
    /// [`LayoutError`] if there is no such lane width.
    pub fn in_scalar(&self, scalar: Scalar) -> Result<Self, LayoutError> {
        let width = LaneWidth::new(self.nsimd() * scalar.bytes())?;
        let (extents, nodes, checkerboard) = (self.extents, Some(self.nodes.as_array()), self.checkerboard);
        Self::new(extents, scalar, LatticeOptions { lanes: LaneChoice::Width(width), nodes, checkerboard })
    }

    /// Extents in sites.
    pub fn extents(&self) -> Extents {
        self.extents
    }

    /// The scalar of the lanes.
    pub fn scalar(&self) -> Scalar {
        self.scalar
    }

    /// The size of a vector.
    pub fn width(&self) -> LaneWidth {
        self.width
    }

    /// The lane layout.
    pub fn nodes(&self) -> VirtualNodes {
        self.nodes
    }

    /// Whether fields of one parity have a layout on it.
    pub fn checkerboard(&self) -> Checkerboard {
        self.checkerboard
    }

    /// Whether the lanes of both lattices hold the same sites, whatever the scalars.
    pub fn has_cut_of(&self, other: &Self) -> bool {
        (self.extents, self.nodes, self.checkerboard) == (other.extents, other.nodes, other.checkerboard)
    }

    /// Number of lanes.
    pub fn nsimd(&self) -> usize {
        self.nodes.count()
    }

    /// Checks that fields on `sites` have a layout on this lattice.
    ///
    /// # Errors
    /// [`LayoutError::NotRedBlack`] if `sites` is one parity and the lattice does not have parities.
    pub fn check(&self, sites: Sites) -> Result<(), LayoutError> {
        match (sites, self.checkerboard) {
            (Sites::Parity(_), Checkerboard::FullOnly) => {
                Err(LayoutError::NotRedBlack { extents: self.extents.to_string() })
            }
            _ => Ok(()),
        }
    }

    /// Number of outer sites in each dimension; for one parity, x is halved.
    pub fn outer_extents(&self, sites: Sites) -> [usize; DIMENSIONS] {
        let mut outer: [usize; DIMENSIONS] = std::array::from_fn(|d| self.extents[d] / self.nodes[d]);
        if let Sites::Parity(_) = sites {
            outer[0] /= 2;
        }
        outer
    }

    /// Number of outer sites of a field on `sites`.
    pub fn osites(&self, sites: Sites) -> usize {
        self.outer_extents(sites).iter().product()
    }

    /// The lane to which a step along `leg` out of a lane's virtual node leads, and whether it crosses the boundary of the whole lattice.
    pub(crate) fn lane_step(&self, lane: usize, leg: Leg) -> (usize, bool) {
        let (there, crosses) = self.nodes.step(lane, leg);
        (there, crosses && self.extents.ends_at_boundary(leg))
    }

    /// The place of the site at `coordinate` in a field on `sites`, which must include it.
    #[inline]
    pub fn place(&self, sites: Sites, coordinate: Coordinate) -> Place {
        debug_assert!(sites.contain(coordinate));
        let outer = self.outer_extents(sites);
        let mut stored = coordinate;
        if let Sites::Parity(_) = sites {
            stored[0] /= 2;
        }
        let (mut osite, mut lane) = (0, 0);
        for d in (0..DIMENSIONS).rev() {
            osite = osite * outer[d] + stored[d] % outer[d];
            lane = lane * self.nodes[d] + stored[d] / outer[d];
        }
        Place { osite, lane }
    }

    /// Coordinates of the site at `place`; the inverse of [`Self::place`].
    #[inline]
    pub fn coordinate(&self, sites: Sites, place: Place) -> Coordinate {
        let outer = self.outer_extents(sites);
        let (mut osite, mut lane) = (place.osite, place.lane);
        let mut coordinate = [0; DIMENSIONS];
        for d in 0..DIMENSIONS {
            coordinate[d] = osite % outer[d] + outer[d] * (lane % self.nodes[d]);
            osite /= outer[d];
            lane /= self.nodes[d];
        }
        if let Sites::Parity(parity) = sites {
            let [_, y, z, t] = coordinate;
            coordinate[0] = 2 * coordinate[0] + (y + z + t + parity.index()) % 2;
        }
        coordinate
    }
}
