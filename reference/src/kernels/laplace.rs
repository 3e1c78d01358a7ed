//! The Laplacian's hop: `docs/arithmetic.md` §15. Its kernel function is the CPU kernel, and the source of the OpenCL C kernel.

use super::bodies::{BodyArgument, BodyCall, CompiledBody};
use super::colour_vectors::colour_vectors;
use super::reduce::Sum;
use super::vectors::Vectors;
use crate::body::number::Number;
use crate::body::value::ColourVector;
use crate::body::{Argument, Body, FieldUse, Links, Neighbours, Role, Site, Write};
use crate::dagger::Dagger;
use crate::field::{ColourVectors, Field, FieldError};
use crate::layout::{Direction, LegOrder, Stencil};
use crate::links::DoubledGauge;

/// Floating-point operations for a colour vector: 8 products of a matrix and a vector (66), 7 sums of vectors (6), and the factor 2 (6).
pub const FLOPS_PER_VECTOR: u64 = 576;

/// The hop at a site: twice the sum over the legs of a link times the neighbour's colour vector.
#[inline(always)]
pub fn laplace_hop_at<S: Site>(links: Links<S>, source: Neighbours<S, ColourVectors>) -> ColourVector<S::Complex> {
    let mut sum = ColourVector::empty_sum();
    for leg in links.legs() {
        sum += links.times(leg, source.at(leg));
    }
    sum.scaled(S::Real::constant(2.0))
}

/// [`laplace_hop_at`], with its result stored.
pub struct LaplaceHop;

// A static, so that it is compiled here, and not in each crate that calls it.
static LAPLACE_HOP: CompiledBody = CompiledBody::hot::<LaplaceHop>();

impl Body for LaplaceHop {
    const ROLES: &'static [Role] =
        &[colour_vectors(FieldUse::Write), Role::Links, colour_vectors(FieldUse::Neighbours)];
    #[inline(always)]
    fn run<S: Site>(site: S) {
        let out: Write<S, ColourVectors> = Argument::at(site, 0);
        out.write(laplace_hop_at(Argument::at(site, 1), Argument::at(site, 2)));
    }
}

/// out = laplace_hop(source) at the stencil's sites, for each colour vector.
///
/// # Errors
/// [`FieldError::Mismatch`] unless `links` and `out` are on the stencil's lattice and sites, `source` is on the sites of their neighbours, and
/// `source` has as many colour vectors at a site as `out`.
pub fn laplace_hop<R: Vectors>(
    out: &mut Field<R, ColourVectors>,
    stencil: &Stencil,
    links: &Field<R, DoubledGauge>,
    source: &Field<R, ColourVectors>,
    legs: LegOrder,
) -> Result<(), FieldError> {
    let arguments = vec![BodyArgument::Write(out), BodyArgument::Read(links), BodyArgument::Read(source)];
    let names = &["the Laplacian's result", "the Laplacian's links", "the Laplacian's source"];
    let (direction, sum) = (Direction::T, Sum::Exact);
    LAPLACE_HOP
        .run(BodyCall { arguments, names, stencil: Some(stencil), legs, dagger: Dagger::No, direction, sum })
        .map(drop)
}
