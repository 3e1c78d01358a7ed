//! The staggered hop on the CPU: `docs/arithmetic.md` §16, the sum over the legs of `colour_vectors.rs` with the signs of `StaggeredPhases`.
//! Counterpart: `cl/staggered.cl`.

use super::colour_vectors::LegSum;
pub use super::colour_vectors::ideal_bytes_per_site;
use super::hop::HopFields;
use super::{LaneOperation, Vectors};
use crate::field::{ColourVectors, Field, FieldError};
use crate::half::Half;
use crate::layout::{DIMENSIONS, LEGS, LaneWidth, LegOrder, StaggeredPhases, Stencil};
use crate::links::DoubledGauge;
use crate::real::Real;
use crate::tensor::LaneVector;

/// Floating-point operations a colour vector: 8 products of a matrix with a vector (66), and 7 sums of vectors (6). Signs are not counted, and the
/// links carry the factor 1/2.
pub const FLOPS_PER_VECTOR: u64 = 570;

/// out = staggered_hop(source) at the stencil's sites, of each of the colour vectors there.
///
/// # Errors
/// [`FieldError::Mismatch`] unless `phases`, `links` and `out` lie on the stencil's lattice and sites, and `source` on the sites of their
/// neighbours, and has as many colour vectors a site as `out`.
pub fn staggered_hop<R: Vectors>(
    out: &mut Field<R, ColourVectors>,
    stencil: &Stencil,
    phases: &StaggeredPhases,
    links: &Field<R, DoubledGauge>,
    source: &Field<R, ColourVectors>,
    legs: LegOrder,
) -> Result<(), FieldError> {
    let what = ["the staggered hop's links", "the staggered hop's result", "the staggered hop's source"];
    let hop = HopFields { out, stencil, links, source, legs }.checked(what)?;
    if (phases.lattice(), phases.sites()) != (stencil.lattice(), stencil.sites()) {
        let (left, right) = (phases.describe(), hop.out.describe());
        return Err(FieldError::Mismatch { what: "the staggered hop's phases", left, right });
    }
    R::run_staggered_hop(hop.width(), StaggeredHop { hop, phases });
    Ok(())
}

compiled! {
    fn run_staggered_hop(width, StaggeredHop { hop, phases }) {
        hop.in_f32(|hop| f32::run_staggered_hop(width, StaggeredHop { hop, phases }));
    }
}

/// A staggered hop that was checked.
#[doc(hidden)]
pub struct StaggeredHop<'a, R> {
    pub(super) hop: HopFields<'a, R, ColourVectors>,
    pub(super) phases: &'a StaggeredPhases,
}

impl<R: Real> LaneOperation<R> for StaggeredHop<'_, R> {
    type Output = ();

    fn run<V: LaneVector<Real = R>>(self, blocks: usize) {
        self.hop.run::<V>(blocks, &Signed::<V>::new(self.phases, blocks));
    }
}

/// The sum of the products, each times its sign: −η_μ of a forward leg, η_μ of a backward one.
struct Signed<'a, V> {
    /// The phases of each outer site in lane 0.
    osites: &'a [u32],
    /// For each point the signs of its leg, one vector a block: first where the phase in lane 0 is +1, then where it is −1.
    signs: [[Vec<V>; 2]; LEGS],
}

impl<'a, V: LaneVector> Signed<'a, V> {
    fn new(phases: &'a StaggeredPhases, blocks: usize) -> Self {
        let sign = |point: usize, in_lane_0: u32, lane: usize| {
            let negative = in_lane_0 ^ phases.lanes()[lane] >> (point % DIMENSIONS) & 1 ^ u32::from(point < DIMENSIONS);
            V::Real::from_f64(if negative == 1 { -1.0 } else { 1.0 })
        };
        let vector =
            |point, in_lane_0, block: usize| V::from_reals(|k| sign(point, in_lane_0, (block * V::REALS + k) / 2));
        let signs = std::array::from_fn(|point| {
            [0, 1].map(|in_lane_0| (0..blocks).map(|block| vector(point, in_lane_0, block)).collect())
        });
        Self { osites: phases.osites(), signs }
    }
}

impl<V: LaneVector> LegSum<V> for Signed<'_, V> {
    type Sign = V;

    #[inline(always)]
    fn sign(&self, osite: usize, point: usize, block: usize) -> V {
        let in_lane_0 = self.osites[osite] >> (point % DIMENSIONS) & 1;
        self.signs[point][in_lane_0 as usize][block]
    }
    #[inline(always)]
    fn first(sign: V, product: V) -> V {
        product.times(sign)
    }
    // A product with ±1 is exact: this is sum ± product, rounded once.
    #[inline(always)]
    fn add(sum: V, sign: V, product: V) -> V {
        sign.fused(product, sum)
    }
    #[inline(always)]
    fn finish(&self, sum: V) -> V {
        sum
    }
}
