//! Doubled links, which the hop reads: eight links for a site, in the order of the site that uses them. They include −1/2 and the boundary phases
//! (Grid's `DoubleStore`; `docs/arithmetic.md` §5). A link is stored as 18, 12 or 8 reals.

mod eight;
mod long;

use num_complex::Complex;

use crate::field::{Field, FieldError, Gauge};
use crate::gauge::{Configuration, LINK_WORDS, NearCoordinate};
use crate::layout::{Lattice, Leg, Sites};
use crate::real::Real;

pub use long::double_long;

pub use crate::object::{Angle, BoundaryPhases, DoubledGauge, LinkError, LinkFormat, Phase, cis_pi};

/// Refuses a configuration whose extents differ from the lattice's.
fn check_extents(what: &'static str, configuration: &Configuration, lattice: Lattice) -> Result<(), FieldError> {
    let extents = lattice.extents();
    match configuration.extents() == extents {
        true => Ok(()),
        false => Err(FieldError::Mismatch {
            what,
            left: format!("a configuration on {}", configuration.extents()),
            right: format!("a lattice of {extents}"),
        }),
    }
}

/// The links themselves, rounded to `R`, without phases, for field strengths. A link that leaves the last slice of a fixed boundary is zero.
///
/// # Errors
/// [`FieldError`] if the lattice's extents or precision differ.
pub fn raw<R: Real>(
    configuration: &Configuration,
    lattice: Lattice,
    boundary: BoundaryPhases,
) -> Result<Field<R, Gauge>, FieldError> {
    check_extents("laying out links", configuration, lattice)?;
    let extents = lattice.extents();
    Field::from_sites(lattice, Sites::Full, Gauge, |site, object| {
        let here = extents.coordinate(site);
        for (d, link) in object.chunks_exact_mut(LINK_WORDS).enumerate() {
            let leaves = here[d] == extents[d] - 1 && extents.ends_at_boundary(Leg::forward(d));
            if boundary.phase(d) == Phase::Fixed && leaves {
                link.fill(Complex::new(R::default(), R::default()));
                continue;
            }
            for (element, u) in link.iter_mut().zip(configuration.link(site, d)) {
                *element = Complex::new(R::from_f64(u.re), R::from_f64(u.im));
            }
        }
    })
}

/// The links of a local volume and of the sites around it, as a field on a lattice of its own ([`Configuration::around`]). Results that depend on
/// neighbours and corners are then correct at the sites of the local volume.
pub fn raw_with_border<R: Real>(
    configuration: &Configuration,
    lattice: Lattice,
    boundary: BoundaryPhases,
) -> Result<Field<R, Gauge>, FieldError> {
    let (around, extents) = (lattice.extents(), configuration.extents());
    if configuration.around() != around {
        return Err(FieldError::Mismatch {
            what: "laying out links with those around them",
            left: format!("a configuration on {extents}"),
            right: format!("a lattice of {around}"),
        });
    }
    let first = configuration.first_around();
    Field::from_sites(lattice, Sites::Full, Gauge, |site, object| {
        let x = around.coordinate(site);
        let near: NearCoordinate = std::array::from_fn(|d| x[d] as isize + first[d]);
        let in_whole = extents.in_whole(near);
        for (d, link) in object.chunks_exact_mut(LINK_WORDS).enumerate() {
            if boundary.phase(d) == Phase::Fixed && in_whole[d] + 1 == extents.global()[d] {
                link.fill(Complex::new(R::default(), R::default()));
                continue;
            }
            for (element, u) in link.iter_mut().zip(configuration.link_near(near, d)) {
                *element = Complex::new(R::from_f64(u.re), R::from_f64(u.im));
            }
        }
    })
}

/// The doubled links of `sites`, from a configuration. Links are rounded to `R`, times −1/2, times the phase. With reconstruct 8, they are the eight
/// reals, rounded to `R`.
///
/// # Errors
/// [`FieldError`] if the lattice's extents or precision differ, or if `sites` is one parity and the lattice does not have parities. Also if links of
/// fewer than 18 reals have phases other than 1, −1 and 0.
///
/// [`FieldError::NotSu3`] if a link should be stored as 8 reals and deviates from SU(3) by more than 1e-5 (see [`Configuration::require_su3`]).
pub fn double<R: Real>(
    configuration: &Configuration,
    lattice: Lattice,
    sites: Sites,
    kind: DoubledGauge,
) -> Result<Field<R, DoubledGauge>, FieldError> {
    check_extents("doubling links", configuration, lattice)?;
    kind.boundary.require_links(kind.format)?;
    if kind.format == LinkFormat::Eight {
        configuration
            .require_su3(eight::SU3_TOLERANCE)
            .map_err(|error| FieldError::NotSu3 { why: error.to_string() })?;
    }
    let extents = lattice.extents();
    let words = kind.format.words();
    Field::from_sites(lattice, sites, kind, |site, object| {
        let here = extents.coordinate(site);
        for (leg, link) in Leg::all().zip(object.chunks_exact_mut(words)) {
            let d = leg.dimension();
            // A forward link belongs to the site itself, a backward one to the neighbour.
            let (u, last) = match leg.is_forward() {
                true => (configuration.link(site, d), extents[d] - 1),
                false => {
                    let mut neighbour = here.map(|x| x as isize);
                    neighbour[d] -= 1;
                    (configuration.link_near(neighbour, d), 0)
                }
            };
            let crosses = here[d] == last && extents.ends_at_boundary(leg);
            let phase = kind.boundary.phase(d).of_leg(leg, crosses);
            let element = |row: usize, column: usize| match leg.is_forward() {
                true => u[3 * row + column],
                false => u[3 * column + row].conj(),
            };
            if kind.format == LinkFormat::Eight {
                let [a, b] = [0, 1].map(|row| std::array::from_fn(|column| element(row, column)));
                for (v, word) in link.iter_mut().zip(eight::encode(a, b)) {
                    *v = Complex::new(R::from_f64(word.re), R::from_f64(word.im));
                }
                continue;
            }
            for (k, v) in link.iter_mut().enumerate() {
                let element = element(k / 3, k % 3);
                // The product of a rounded number and a power of two is exact in f64, but for f64's own underflow.
                let halved = |x: f64| R::from_f64(-0.5 * R::from_f64(x).to_f64());
                *v = phase.times(Complex::new(halved(element.re), halved(element.im)));
            }
        }
    })
}
