//! Fat and long links of HISQ fermions (`docs/arithmetic.md` §25; Follana et al., hep-lat/0610092): two levels of sums of paths with a projection
//! to U(3) between them, and products of three links. Paths are staples of staples.

use lanefield_reference::layout::DIMENSIONS;
use lanefield_reference::prelude::*;

use super::{GaugeField, LinkField, LinkFields};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

/// The weights of the paths of one level, the same for every direction.
struct PathWeights {
    link: f64,
    three: f64,
    five: f64,
    seven: f64,
    /// Weight of the staples of staples in one plane: the Lepage term, which for unitary links includes six times the link itself.
    twice: f64,
}

impl PathWeights {
    /// Fat7.
    const FIRST: Self = Self { link: 1.0 / 8.0, three: 1.0 / 16.0, five: 1.0 / 64.0, seven: 1.0 / 384.0, twice: 0.0 };

    /// The weights of asqtad with twice the Lepage term, and the correction of the single link that goes with that of the Naik term.
    fn second(epsilon: f64) -> Self {
        Self { link: (1.0 + epsilon / 8.0) + 0.75, twice: -1.0 / 8.0, ..Self::FIRST }
    }
}

/// The largest allowed deviation of a projected link from U(3): the largest element of |W W† − 1|.
const UNITARITY_TOLERANCE: f64 = 1e-10;

/// Creates one field per direction.
pub(super) fn each<F>(make: impl FnMut(Direction) -> Result<F, BackendError>) -> Result<[F; DIMENSIONS], BackendError> {
    let [x, y, z, t] = Direction::ALL.map(make);
    Ok([x?, y?, z?, t?])
}

/// The directions that are not in `taken`.
fn others(taken: &[Direction]) -> impl Iterator<Item = Direction> {
    Direction::ALL.into_iter().filter(move |direction| !taken.contains(direction))
}

impl<B: Backend> GaugeField<'_, B> {
    /// The fat and the long links of HISQ fermions, with `naik_epsilon` as the correction of the Naik term. Long links include their weight, and are
    /// stored in place of the links that start at their sites. Boundary phases do not enter.
    ///
    /// # Errors
    /// [`BackendError::SingularLink`] if a sum of paths has no unitary factor, or links are not finite; other backend errors.
    pub fn hisq_links(&self, naik_epsilon: f64) -> Result<[Configuration; 2], BackendError> {
        let [fat, long] = self.hisq_fields(naik_epsilon)?;
        Ok([self.downloaded(&fat)?, self.downloaded(&long)?])
    }

    /// The same, on the backend.
    pub(crate) fn hisq_fields(&self, naik_epsilon: f64) -> Result<[LinkFields<B, f64>; 2], BackendError> {
        let unitary = each(|mu| {
            let (sum, mut unitary) = (self.sum_of_paths(self.all(), mu, &PathWeights::FIRST)?, self.zeros()?);
            self.backend.u3_projected(&mut unitary, &sum)?;
            Ok(unitary)
        })?;
        let unitary = LinkFields::of(unitary);
        self.require_unitary(&self.downloaded(&unitary)?)?;
        let fat = each(|mu| self.sum_of_paths(unitary.all(), mu, &PathWeights::second(naik_epsilon)))?;
        let long = each(|mu| self.long(unitary.along(mu), mu, -(1.0 + naik_epsilon) / 24.0))?;
        Ok([LinkFields::of(fat), LinkFields::of(long)])
    }

    /// The sum of the paths that connect the ends of a link in direction `mu`.
    fn sum_of_paths(
        &self,
        links: [&LinkField<B>; DIMENSIONS],
        mu: Direction,
        weights: &PathWeights,
    ) -> Result<LinkField<B>, BackendError> {
        let of_mu = links[mu.index()];
        let scaled = |by: f64| -> Result<LinkField<B>, BackendError> {
            let mut scaled = self.zeros()?;
            self.backend.scale(&mut scaled, by, of_mu)?;
            Ok(scaled)
        };
        let add = |out: &mut LinkField<B>, c: f64, along: &LinkField<B>, nu: Direction| {
            let (plane, side) = ((mu, nu), links[nu.index()]);
            self.backend.staple_up(out, &self.stencil, plane, c, [side, along, side])?;
            self.backend.staple_down(out, &self.stencil, plane, c, [side, along, side])
        };
        let mut sum = scaled(weights.link)?;
        for sigma in others(&[mu]) {
            let mut inner = scaled(weights.three)?;
            if weights.twice != 0.0 {
                add(&mut inner, weights.twice, of_mu, sigma)?;
            }
            for rho in others(&[mu, sigma]) {
                for nu in others(&[mu, sigma, rho]) {
                    let mut innermost = scaled(weights.five)?;
                    add(&mut innermost, weights.seven, of_mu, nu)?;
                    add(&mut inner, 1.0, &innermost, rho)?;
                }
            }
            add(&mut sum, 1.0, &inner, sigma)?;
        }
        Ok(sum)
    }

    /// c times the products of three links along a direction.
    fn long(&self, links: &LinkField<B>, mu: Direction, c: f64) -> Result<LinkField<B>, BackendError> {
        let (mut two, mut three) = (self.zeros()?, self.zeros()?);
        self.backend.transported(&mut two, &self.stencil, mu, links, links)?;
        self.backend.transported(&mut three, &self.stencil, mu, links, &two)?;
        self.backend.scale(&mut two, c, &three)?;
        Ok(two)
    }

    /// Checks that links are unitary: the projection of a nearly singular matrix does not converge.
    fn require_unitary(&self, links: &Configuration) -> Result<(), BackendError> {
        let extents = self.lattice.extents();
        for site in 0..extents.volume() {
            for direction in Direction::ALL {
                let defect = defect(links.link(site, direction.index()));
                if defect.is_nan() || defect > UNITARITY_TOLERANCE {
                    let site = extents.in_whole(extents.coordinate(site).map(|x| x as isize));
                    return Err(BackendError::SingularLink { site, direction, defect });
                }
            }
        }
        Ok(())
    }
}

/// The largest element of |W W† − 1|; NaN if one of them is NaN.
fn defect(link: &[Complex<f64>]) -> f64 {
    let mut largest: f64 = 0.0;
    for (row, a) in link.chunks_exact(3).enumerate() {
        for (column, b) in link.chunks_exact(3).enumerate() {
            let product: Complex<f64> = a.iter().zip(b).map(|(a, b)| a * b.conj()).sum();
            let apart = (product - f64::from(u8::from(row == column))).norm();
            if apart.is_nan() {
                return apart;
            }
            largest = largest.max(apart);
        }
    }
    largest
}
