//! The staggered hop: `docs/arithmetic.md` §16. Its kernel function is the CPU kernel, and the source of the OpenCL C kernel.

use super::bodies::{BodyArgument, BodyCall, CompiledBody};
use super::colour_vectors::colour_vectors;
use super::reduce::Sum;
use super::vectors::Vectors;
use crate::body::number::{Number, RealNumber};
use crate::body::value::ColourVector;
use crate::body::{Argument, Body, Coordinates, FieldUse, Links, Neighbours, Role, Site, Write};
use crate::dagger::Dagger;
use crate::field::{ColourVectors, Field, FieldError};
use crate::layout::{Direction, Leg, LegOrder, Stencil};
use crate::links::DoubledGauge;

/// Floating-point operations for a colour vector: 8 products of a matrix and a vector (66), and 7 sums of vectors (6). Signs are not counted, and
/// the links include the factor 1/2.
pub const FLOPS_PER_VECTOR: u64 = 570;

/// The hop at a site: the sum over the legs of a link times the neighbour's colour vector, times −η_μ for a forward leg, and η_μ for a backward one.
///
/// η_x = 1, η_y = (−1)^x, η_z = (−1)^(x+y), η_t = (−1)^(x+y+z) (Kogut and Susskind, Phys. Rev. D 11, 395 (1975), in the form of Kawamoto and Smit,
/// Nucl. Phys. B 192, 100 (1981)). If an extent is odd, the signs are not periodic.
#[inline(always)]
pub fn staggered_hop_at<S: Site>(
    links: Links<S>,
    source: Neighbours<S, ColourVectors>,
    site: Coordinates<S>,
) -> ColourVector<S::Complex> {
    let mut sum = ColourVector::empty_sum();
    for leg in links.legs() {
        // A product with ±1 is exact: this is sum ± product, rounded once.
        sum = links.times(leg, source.at(leg)).scaled_add(sign(site, leg), sum);
    }
    sum
}

/// −η_μ for a forward leg, and η_μ for a backward one.
#[inline(always)]
pub fn sign<S: Site>(site: Coordinates<S>, leg: Leg) -> S::Real {
    let eta_is_negative = site.is_odd(&Direction::ALL[..leg.dimension()]);
    let sign = S::Real::constant(if leg.is_forward() { -1.0 } else { 1.0 });
    S::Real::select(eta_is_negative, -sign, sign)
}

/// [`staggered_hop_at`], with its result stored.
pub struct StaggeredHop;

// A static, so that it is compiled here, and not in each crate that calls it.
static STAGGERED_HOP: CompiledBody = CompiledBody::hot::<StaggeredHop>();

impl Body for StaggeredHop {
    const ROLES: &'static [Role] =
        &[colour_vectors(FieldUse::Write), Role::Links, colour_vectors(FieldUse::Neighbours), Role::Coordinates];
    #[inline(always)]
    fn run<S: Site>(site: S) {
        let out: Write<S, ColourVectors> = Argument::at(site, 0);
        out.write(staggered_hop_at(Argument::at(site, 1), Argument::at(site, 2), Argument::at(site, 3)));
    }
}

/// out = staggered_hop(source) at the stencil's sites, for each colour vector.
///
/// # Errors
/// [`FieldError::Mismatch`] unless `links` and `out` are on the stencil's lattice and sites, `source` is on the sites of their neighbours, and
/// `source` has as many colour vectors at a site as `out`.
pub fn staggered_hop<R: Vectors>(
    out: &mut Field<R, ColourVectors>,
    stencil: &Stencil,
    links: &Field<R, DoubledGauge>,
    source: &Field<R, ColourVectors>,
    legs: LegOrder,
) -> Result<(), FieldError> {
    let (out, links, source) = (BodyArgument::Write(out), BodyArgument::Read(links), BodyArgument::Read(source));
    let arguments = vec![out, links, source, BodyArgument::Coordinates];
    let names =
        &["the staggered hop's result", "the staggered hop's links", "the staggered hop's source", "coordinates"];
    let (direction, sum) = (Direction::T, Sum::Exact);
    let call = BodyCall { arguments, names, stencil: Some(stencil), legs, dagger: Dagger::No, direction, sum };
    STAGGERED_HOP.run(call).map(drop)
}
