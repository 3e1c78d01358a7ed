//! The Laplacian's hop on the CPU: `docs/arithmetic.md` §15, the sum over the legs of `colour_vectors.rs`, times 2. Counterpart: `cl/laplace.cl`.

use super::colour_vectors::LegSum;
pub use super::colour_vectors::ideal_bytes_per_site;
use super::hop::HopFields;
use super::{LaneOperation, Vectors};
use crate::field::{ColourVectors, Field, FieldError};
use crate::half::Half;
use crate::layout::{LaneWidth, LegOrder, Stencil};
use crate::links::DoubledGauge;
use crate::real::Real;
use crate::tensor::LaneVector;

/// Floating-point operations a colour vector: 8 products of a matrix with a vector (66), 7 sums of vectors (6), and the factor 2 (6).
pub const FLOPS_PER_VECTOR: u64 = 576;

/// out = laplace_hop(source) at the stencil's sites, of each of the colour vectors there.
///
/// # Errors
/// [`FieldError::Mismatch`] unless `links` and `out` lie on the stencil's lattice and sites, and `source` on the sites of their
/// neighbours, and has as many colour vectors a site as `out`.
pub fn laplace_hop<R: Vectors>(
    out: &mut Field<R, ColourVectors>,
    stencil: &Stencil,
    links: &Field<R, DoubledGauge>,
    source: &Field<R, ColourVectors>,
    legs: LegOrder,
) -> Result<(), FieldError> {
    let what = ["the Laplacian's links", "the Laplacian's result", "the Laplacian's source"];
    let hop = HopFields { out, stencil, links, source, legs }.checked(what)?;
    R::run_laplace_hop(hop.width(), LaplaceHop(hop));
    Ok(())
}

compiled! {
    fn run_laplace_hop(width, LaplaceHop(hop)) {
        hop.in_f32(|hop| f32::run_laplace_hop(width, LaplaceHop(hop)));
    }
}

/// A hop of the Laplacian that was checked.
#[doc(hidden)]
pub struct LaplaceHop<'a, R>(pub(super) HopFields<'a, R, ColourVectors>);

impl<R: Real> LaneOperation<R> for LaplaceHop<'_, R> {
    type Output = ();

    fn run<V: LaneVector<Real = R>>(self, blocks: usize) {
        self.0.run::<V>(blocks, &Twice { two: V::splat(R::from_f64(2.0)) });
    }
}

/// Twice the sum of the products.
struct Twice<V> {
    two: V,
}

impl<V: LaneVector> LegSum<V> for Twice<V> {
    type Sign = ();

    #[inline(always)]
    fn sign(&self, _osite: usize, _point: usize, _block: usize) {}
    #[inline(always)]
    fn first(_sign: (), product: V) -> V {
        product
    }
    #[inline(always)]
    fn add(sum: V, _sign: (), product: V) -> V {
        sum.add(product)
    }
    #[inline(always)]
    fn finish(&self, sum: V) -> V {
        sum.times(self.two)
    }
}
