//! Doubled links of three steps (`docs/arithmetic.md` §25), from long links.

use num_complex::Complex;

use super::{DoubledGauge, LINK_WORDS, LinkFormat};
use crate::field::{Field, FieldError};
use crate::gauge::NearCoordinate;
use crate::layout::{Lattice, Leg, Sites};
use crate::real::Real;

/// Steps of a long link.
const STEPS: isize = 3;

/// The doubled long links of `sites`, as 18 reals. For a forward leg it is the site's own long link, for a backward leg the Hermitian conjugate of
/// the one that begins three steps before. They are rounded to `R`, times −1/2, times the phase of each crossing of the boundary. `long` returns the
/// link of a site in a direction, row by row; for a local volume, the site may be before it.
///
/// # Errors
/// [`FieldError`] if the lattice's precision differs, if `sites` is one parity and the lattice does not have parities, or if links should be stored
/// as fewer reals.
pub fn double_long<R: Real>(
    long: impl Fn(NearCoordinate, usize) -> [Complex<f64>; LINK_WORDS] + Sync,
    lattice: Lattice,
    sites: Sites,
    kind: DoubledGauge,
) -> Result<Field<R, DoubledGauge>, FieldError> {
    if kind.format != LinkFormat::Full {
        return Err(FieldError::Mismatch {
            what: "doubling long links",
            left: format!("links of {} reals", kind.format.reals()),
            right: "long links, which are stored as 18".to_owned(),
        });
    }
    let extents = lattice.extents();
    Field::from_sites(lattice, sites, kind, |site, object| {
        let here = extents.coordinate(site);
        for (leg, link) in Leg::all().zip(object.chunks_exact_mut(LinkFormat::Full.words())) {
            let (d, steps) = (leg.dimension(), if leg.is_forward() { STEPS } else { -STEPS });
            // A forward link belongs to the site itself, a backward one to the site three steps before.
            let mut owner = here.map(|x| x as isize);
            if !leg.is_forward() {
                owner[d] += steps;
            }
            let in_whole = (extents.origin()[d] + here[d]) as isize + steps;
            let crossings = in_whole.div_euclid(extents.global()[d] as isize);
            if !extents.is_cut(d) {
                owner[d] = owner[d].rem_euclid(extents[d] as isize);
            }
            let phase = kind.boundary.phase(d).of_crossings(crossings);
            let half = R::from_f64(-0.5);
            let u = long(owner, d);
            for (k, v) in link.iter_mut().enumerate() {
                let (row, column) = (k / 3, k % 3);
                let u = if leg.is_forward() { u[3 * row + column] } else { u[3 * column + row].conj() };
                *v = phase.times(Complex::new(half * R::from_f64(u.re), half * R::from_f64(u.im)));
            }
        }
    })
}
