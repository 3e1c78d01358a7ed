//! HISQ fermions in the scalar reference (`docs/arithmetic.md` §25): fat and long links of a configuration, and the hop with both. Fields are as in
//! `colour_vectors.rs`.

use num_complex::Complex;

use super::projection::unitary_factor;
use super::staggered::phase_is_negative;
use super::{
    COLOURS, Colour, Link, complex, matrix_adjoint, matrix_times_matrix, matrix_times_vector, real_madd, real_times,
};
use crate::gauge::{Configuration, GaugeError};
use crate::layout::{Coordinate, DIMENSIONS, Extents, Leg, LegOrder, Sites};
use crate::links::BoundaryPhases;
use crate::real::Real;

/// A matrix at each site, in site order.
type ColourMatrices = Vec<Link<f64>>;

/// A link of 9 words.
fn matrix(words: &[Complex<f64>]) -> Link<f64> {
    std::array::from_fn(|row| std::array::from_fn(|column| words[COLOURS * row + column]))
}

fn product(factors: [Link<f64>; 3]) -> Link<f64> {
    matrix_times_matrix(&matrix_times_matrix(&factors[0], &factors[1]), &factors[2])
}

fn times(s: f64, a: &Link<f64>) -> Link<f64> {
    a.map(|row| row.map(|word| real_times(s, word)))
}

fn plus(s: f64, a: &Link<f64>, c: &Link<f64>) -> Link<f64> {
    std::array::from_fn(|row| std::array::from_fn(|column| real_madd(s, a[row][column], c[row][column])))
}

/// The weights of the paths of one level of smearing.
struct Weights {
    link: f64,
    three: f64,
    five: f64,
    seven: f64,
    /// The weight of the staples of staples in one plane.
    twice: f64,
}

fn displaced(extents: Extents, x: Coordinate, steps: &[(usize, isize)]) -> usize {
    let mut there = x;
    for &(d, by) in steps {
        there[d] = (there[d] as isize + by).rem_euclid(extents[d] as isize) as usize;
    }
    extents.site(there)
}

/// §20: `y` plus c times both staples of `q`, a field of links in direction mu, across nu, at all sites.
fn with_staples(
    extents: Extents,
    y: ColourMatrices,
    c: f64,
    (q, u): (&ColourMatrices, &ColourMatrices),
    [mu, nu]: [usize; 2],
) -> ColourMatrices {
    let at = |site: usize, y: &Link<f64>| {
        let there = |along, across| displaced(extents, extents.coordinate(site), &[(mu, along), (nu, across)]);
        let up = product([u[site], q[there(0, 1)], matrix_adjoint(&u[there(1, 0)])]);
        let down = product([matrix_adjoint(&u[there(0, -1)]), q[there(0, -1)], u[there(1, -1)]]);
        plus(c, &down, &plus(c, &up, y))
    };
    y.iter().enumerate().map(|(site, y)| at(site, y)).collect()
}

fn smeared(extents: Extents, links: &[ColourMatrices], weights: &Weights) -> Vec<ColourMatrices> {
    let others = |not: &[usize]| (0..DIMENSIONS).filter(|d| !not.contains(d)).collect::<Vec<_>>();
    let mut fat = Vec::new();
    for mu in 0..DIMENSIONS {
        let scaled = |by: f64| links[mu].iter().map(|link| times(by, link)).collect::<ColourMatrices>();
        let add = |y, b, q: &ColourMatrices, nu: usize| with_staples(extents, y, b, (q, &links[nu]), [mu, nu]);
        let mut sum = scaled(weights.link);
        for sigma in others(&[mu]) {
            let mut inner = scaled(weights.three);
            if weights.twice != 0.0 {
                inner = add(inner, weights.twice, &links[mu], sigma);
            }
            for rho in others(&[mu, sigma]) {
                for nu in others(&[mu, sigma, rho]) {
                    let innermost = add(scaled(weights.five), weights.seven, &links[mu], nu);
                    inner = add(inner, 1.0, &innermost, rho);
                }
            }
            sum = add(sum, 1.0, &inner, sigma);
        }
        fat.push(sum);
    }
    fat
}

/// §25: the fat and the long links of a configuration, in f64.
///
/// # Errors
/// Never: the numbers of links are right.
pub fn hisq_links(configuration: &Configuration, epsilon: f64) -> Result<[Configuration; 2], GaugeError> {
    let extents = configuration.extents();
    let of_direction = |d: usize| -> ColourMatrices {
        (0..extents.volume()).map(|site| matrix(configuration.link(site, d))).collect()
    };
    let links: Vec<_> = (0..DIMENSIONS).map(of_direction).collect();
    let (three, five, seven) = (1.0 / 16.0, 1.0 / 64.0, 1.0 / 384.0);
    let first = smeared(extents, &links, &Weights { link: 1.0 / 8.0, three, five, seven, twice: 0.0 });
    let unitary: Vec<ColourMatrices> = first.iter().map(|links| links.iter().map(unitary_factor).collect()).collect();
    let link = (1.0 + epsilon / 8.0) + 0.75;
    let fat = smeared(extents, &unitary, &Weights { link, three, five, seven, twice: -1.0 / 8.0 });
    let long: Vec<ColourMatrices> = (0..DIMENSIONS)
        .map(|d| {
            let at = |x, steps| &unitary[d][displaced(extents, x, &[(d, steps)])];
            let link = |site| {
                let x = extents.coordinate(site);
                let product = matrix_times_matrix(at(x, 0), &matrix_times_matrix(at(x, 1), at(x, 2)));
                times(-(1.0 + epsilon) / 24.0, &product)
            };
            (0..extents.volume()).map(link).collect()
        })
        .collect();
    let joined = |links: &[ColourMatrices]| {
        let words = (0..extents.volume()).flat_map(|site| links.iter().flat_map(move |links| links[site].concat()));
        Configuration::new(extents, words.collect())
    };
    Ok([joined(&fat)?, joined(&long)?])
}

/// §25: the term of a hop at a site. It is the sum over the legs of the product with the fat link, then of the product with the long link, each with
/// the sign of §16. The first term is assigned rather than added.
pub fn hisq_hop_at<R: Real>(
    x: Coordinate,
    legs: [Leg; 8],
    near: impl Fn(Leg) -> Colour<R>,
    far: impl Fn(Leg) -> Colour<R>,
) -> Colour<R> {
    let mut terms = legs.into_iter().flat_map(|leg| {
        let keeps = phase_is_negative(x, leg.dimension()) == leg.is_forward();
        [near(leg), far(leg)].map(|product| if keeps { product } else { product.map(|component| -component) })
    });
    let first = terms.next().unwrap_or_default();
    terms.fold(first, |sum, term| std::array::from_fn(|c| sum[c] + term[c]))
}

/// The HISQ operator with fat and long links: all that its bits depend on, except for the mass.
#[derive(Clone, Copy, Debug)]
pub struct ScalarHisq<'a> {
    /// Fat and long links, in f64.
    pub links: [&'a Configuration; 2],
    /// The fermions' boundary phases.
    pub boundary: BoundaryPhases,
    /// The order in which the hop adds its legs.
    pub legs: LegOrder,
}

impl ScalarHisq<'_> {
    /// §25: the doubled fat link (`steps` 1) or long link (3) of `leg` at the site `x`.
    fn link<R: Real>(&self, x: Coordinate, leg: Leg, steps: usize) -> Link<R> {
        let (d, configuration) = (leg.dimension(), self.links[steps / 2]);
        let extent = configuration.extents()[d];
        let (owner, crossings) = match leg.is_forward() {
            true => (x, (x[d] + steps) / extent),
            false => {
                let mut owner = x;
                let crossings = (steps + extent - 1 - x[d]) / extent;
                owner[d] = x[d] + crossings * extent - steps;
                (owner, crossings)
            }
        };
        let u = matrix(configuration.link(configuration.extents().site(owner), d));
        let u = if leg.is_forward() { u } else { matrix_adjoint(&u) };
        let crossings = if leg.is_forward() { crossings as isize } else { -(crossings as isize) };
        let phase = self.boundary.phase(d).of_crossings(crossings);
        u.map(|row| row.map(|u| phase.times(real_times(R::from_f64(-0.5), complex(u.re, u.im)))))
    }

    /// §25: hisq_hop at `sites` (zero elsewhere), of a ψ with `vectors` colour vectors at a site.
    ///
    /// # Panics
    /// If `psi` does not have 3 · `vectors` words for each site of the lattice.
    pub fn hop<R: Real>(&self, psi: &[Complex<R>], vectors: usize, sites: Sites) -> Vec<Complex<R>> {
        let extents = self.links[0].extents();
        let mut result = vec![complex(0.0, 0.0); psi.len()];
        for site in 0..extents.volume() {
            let x = extents.coordinate(site);
            if !sites.contain(x) {
                continue;
            }
            for k in 0..vectors {
                let term = |leg: Leg, steps: usize| {
                    let by = if leg.is_forward() { steps as isize } else { -(steps as isize) };
                    let there = displaced(extents, x, &[(leg.dimension(), by)]);
                    let first = COLOURS * (vectors * there + k);
                    matrix_times_vector(&self.link(x, leg, steps), &[psi[first], psi[first + 1], psi[first + 2]])
                };
                let hop = hisq_hop_at(x, self.legs.legs(), |leg| term(leg, 1), |leg| term(leg, 3));
                result[COLOURS * (vectors * site + k)..][..COLOURS].copy_from_slice(&hop);
            }
        }
        result
    }

    /// §25: D ψ, with `vectors` colour vectors at a site.
    ///
    /// # Panics
    /// Those of [`Self::hop`].
    pub fn apply<R: Real>(&self, psi: &[Complex<R>], vectors: usize, mass: f64) -> Vec<Complex<R>> {
        let mut result = self.hop(psi, vectors, Sites::Full);
        super::axpy(mass, psi, &mut result);
        result
    }
}
