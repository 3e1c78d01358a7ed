//! A gauge configuration, and observables of it.

use std::convert::Infallible;
use std::ops::Range;

use num_complex::Complex;
use rayon::prelude::*;
use thiserror::Error;

use super::border::{Border, NearCoordinate};
use super::colour_matrix::{
    ColourMatrix, LINK_WORDS, SITE_WORDS, is_turned_from, link_defect, multiply, real_trace_of_product_with_adjoint,
};
use crate::exact::ExactSum;
use crate::layout::{Coordinate, DIMENSION_NAMES, DIMENSIONS, Direction, Extents};
use crate::random::{su3_random, su3_weak};
use crate::tasks::{self, for_each_chunk, items_a_task};
use crate::tensor::sets::{self, Task};

/// The largest deviation from SU(3) of links that are read or written ([`Configuration::require_su3`]). Links in f32 deviate by about 1e-7 right
/// after a projection, and by a few 1e-6 in programs that evolve them in that precision. Links in f64 may have been converted from those.
pub const SU3_TOLERANCE: f64 = 1e-5;

/// An error of a gauge configuration.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum GaugeError {
    #[error(
        "a gauge configuration on {extents} has {expected} complex numbers ({} sites of 4 links of 3×3), not {found}",
        extents.volume()
    )]
    Length { extents: Box<Extents>, expected: usize, found: usize },
    #[error("{link} is not finite: its element in row {row}, column {column} is {value}")]
    NotFinite { link: LinkPosition, row: usize, column: usize, value: Complex<f64> },
    #[error(
        "{} is not in SU(3): |U U† − 1| or |det U − 1| is {:.3e}, more than {tolerance:e} (the link that deviates most)",
        .worst.link, .worst.defect
    )]
    NotUnitary { worst: UnitarityDefect, tolerance: f64 },
}

/// The position of one link of a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkPosition {
    /// Site that the link starts from, `[x, y, z, t]`.
    pub coordinate: Coordinate,
    /// Direction: 0 to 3 for x, y, z, t.
    pub direction: usize,
}

impl std::fmt::Display for LinkPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, z, t] = self.coordinate;
        let name = DIMENSION_NAMES.get(self.direction).unwrap_or(&"?");
        write!(f, "the {name} link of site x,y,z,t = {x},{y},{z},{t}")
    }
}

/// The link with the largest deviation from SU(3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitarityDefect {
    /// The larger of max |(U U† − 1)ᵢⱼ| and |det U − 1|; infinite if an element is not finite.
    pub defect: f64,
    /// The position of the link; if several deviate equally, the first in site order.
    pub link: LinkPosition,
}

/// SU(3) links on a periodic lattice, in site order.
///
/// The index of a complex number is `((site * 4 + direction) * 3 + row) * 3 + column`, with x the fastest coordinate of the site, and directions x,
/// y, z, t.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    pub(super) extents: Extents,
    pub(super) links: Vec<Complex<f64>>,
    /// The links around it, if it is a local volume.
    pub(super) border: Option<Border>,
}

impl Configuration {
    /// A configuration from its links in site order. It is not checked that they are finite and in SU(3): see [`Self::require_finite`] and
    /// [`Self::require_su3`]. A local volume also needs the links around it: use [`Self::from_sites`].
    ///
    /// # Errors
    /// [`GaugeError::Length`] if there are not 36 complex numbers for each site of a whole lattice.
    pub fn new(extents: Extents, links: Vec<Complex<f64>>) -> Result<Self, GaugeError> {
        let expected = extents.volume() * SITE_WORDS;
        if links.len() != expected || extents.is_part() {
            return Err(GaugeError::Length { extents: Box::new(extents), expected, found: links.len() });
        }
        Ok(Self { extents, links, border: None })
    }

    /// The free field: every link is 1.
    pub fn unit(extents: Extents) -> Self {
        let one = Complex::new(1.0, 0.0);
        let zero = Complex::new(0.0, 0.0);
        Self::from_links(extents, |_, _| [one, zero, zero, zero, one, zero, zero, zero, one])
    }

    /// Random SU(3) links, uniform in the group. A link depends only on the seed, its site number and its direction.
    pub fn hot(extents: Extents, seed: u64) -> Self {
        Self::from_links(extents, |site, direction| su3_random(seed, site, direction))
    }

    /// Links near 1: exponentials of Gaussian algebra elements of width `spread`. A link depends only on the arguments, its site number and its
    /// direction.
    pub fn weak(extents: Extents, seed: u64, spread: f64) -> Self {
        Self::from_links(extents, |site, direction| su3_weak(seed, site, direction, spread))
    }

    pub(super) fn from_links(extents: Extents, link: impl Fn(u64, u32) -> ColourMatrix + Sync) -> Self {
        let mut links = vec![Complex::new(0.0, 0.0); extents.volume() * SITE_WORDS];
        let sites_a_task = items_a_task(extents.volume());
        for_each_chunk(&mut links, SITE_WORDS * sites_a_task, |task, words| {
            for (site, words) in (task * sites_a_task..).zip(words.chunks_exact_mut(SITE_WORDS)) {
                for (direction, words) in (0u32..).zip(words.chunks_exact_mut(LINK_WORDS)) {
                    words.copy_from_slice(&link(extents.global_site(site), direction));
                }
            }
        });
        let whole = extents.global();
        let around = |x: NearCoordinate, words: &mut [Complex<f64>]| {
            for (direction, words) in (0u32..).zip(words.chunks_exact_mut(LINK_WORDS)) {
                words.copy_from_slice(&link(whole.site(extents.in_whole(x)) as u64, direction));
            }
            Ok::<_, Infallible>(())
        };
        let Ok(border) = Border::filled(extents, around);
        Self { extents, links, border }
    }

    /// The lattice.
    pub fn extents(&self) -> Extents {
        self.extents
    }

    /// All links in site order.
    pub fn links(&self) -> &[Complex<f64>] {
        &self.links
    }

    /// All links in site order, by value.
    pub fn into_links(self) -> Vec<Complex<f64>> {
        self.links
    }

    /// The configuration with 0 for the links in a direction. Hops with it stay within the slices across that direction.
    #[must_use]
    pub fn without_links(mut self, direction: Direction) -> Self {
        let around = self.border.iter_mut().flat_map(Border::links_mut);
        for links in around.chain([&mut self.links]) {
            for site in links.chunks_exact_mut(SITE_WORDS) {
                site[LINK_WORDS * direction.index()..][..LINK_WORDS].fill(Complex::ZERO);
            }
        }
        self
    }

    /// The link from site number `site` in `direction` (0 to 3), row by row: 9 complex numbers.
    ///
    /// # Panics
    /// If there is no such site or direction.
    pub fn link(&self, site: usize, direction: usize) -> &[Complex<f64>] {
        assert!(direction < DIMENSIONS, "direction {direction} is not one of 0 to 3");
        &self.links[(site * DIMENSIONS + direction) * LINK_WORDS..][..LINK_WORDS]
    }

    /// Average plaquette: the mean of Re tr P / 3 over the six planes of every site, with
    /// P = U_μ(x) U_ν(x+μ) U_μ†(x+ν) U_ν†(x). 1 for the free field.
    ///
    /// For each plane μ<ν the matrices A = U_μ(x) U_ν(x+μ) and B = U_ν(x) U_μ(x+ν) are computed with fused multiply-adds over the inner index in
    /// ascending order. Re tr A B† is computed with fused multiply-adds over the elements in storage order, real before imaginary. The sum over
    /// planes and sites is exact and rounded once. It is divided by 18 times the number of sites.
    pub fn plaquette(&self) -> f64 {
        self.plaquette_of(&self.plaquette_sum())
    }

    /// The sum of Re tr P over the planes of every site. For a local volume it covers that volume's sites, and can be merged with those of other
    /// ranks.
    pub fn plaquette_sum(&self) -> ExactSum {
        self.exact_sum_over_sites(&Plaquettes(self))
    }

    /// The average plaquette of the whole lattice from the sum over all of its sites.
    pub fn plaquette_of(&self, sum: &ExactSum) -> f64 {
        sum.round() / (18.0 * self.extents.global_volume() as f64)
    }

    /// Link trace: the mean of Re tr U / 3 over the four directions of every site. The sum of the diagonal elements is exact and rounded once. It is
    /// divided by 12 times the number of sites.
    pub fn link_trace(&self) -> f64 {
        self.link_trace_of(&self.link_trace_sum())
    }

    /// The sum of Re tr U over the links of every site. For a local volume it covers that volume's sites.
    pub fn link_trace_sum(&self) -> ExactSum {
        self.exact_sum_over_sites(&Traces(self))
    }

    /// The link trace of the whole lattice from the sum over all of its sites.
    pub fn link_trace_of(&self, sum: &ExactSum) -> f64 {
        sum.round() / (12.0 * self.extents.global_volume() as f64)
    }

    /// The link with the largest deviation from SU(3).
    pub fn unitarity_defect(&self) -> UnitarityDefect {
        let links_a_task = items_a_task(self.links.len() / LINK_WORDS);
        let of_task = |(task, links): (usize, &[Complex<f64>])| {
            let (defect, index) = sets::run(&LargestDefect, links);
            (defect, task * links_a_task + index)
        };
        let (defect, index) =
            self.links.par_chunks(links_a_task * LINK_WORDS).enumerate().map(of_task).reduce(NO_DEFECT, larger_defect);
        UnitarityDefect { defect, link: self.position(index) }
    }

    /// Checks that every link is finite.
    ///
    /// # Errors
    /// [`GaugeError::NotFinite`] with the first element in storage order that is not finite.
    pub fn require_finite(&self) -> Result<(), GaugeError> {
        match self.links.par_iter().position_first(|z| !(z.re.is_finite() && z.im.is_finite())) {
            None => Ok(()),
            Some(word) => Err(GaugeError::NotFinite {
                link: self.position(word / LINK_WORDS),
                row: word % LINK_WORDS / 3,
                column: word % 3,
                value: self.links[word],
            }),
        }
    }

    /// Checks that every link is in SU(3): max |(U U† − 1)ᵢⱼ| and |det U − 1| are at most `tolerance`, for the link itself or for the link in
    /// another gauge.
    ///
    /// Stout smearing, the gradient flow and gauge transformations multiply U U† − 1 by unitary matrices. This changes its largest element by a
    /// factor of at most 3, and keeps the sum of the squares of its elements. So a configuration that passes the check also passes it after them.
    ///
    /// # Errors
    /// [`GaugeError::NotFinite`], or [`GaugeError::NotUnitary`] with the link that deviates most.
    pub fn require_su3(&self, tolerance: f64) -> Result<(), GaugeError> {
        self.require_finite()?;
        let worst = self.unitarity_defect();
        let is_turned = || self.links.par_chunks(LINK_WORDS).all(|link| is_turned_from(link, tolerance));
        match worst.defect <= tolerance || (worst.defect <= 3.0 * tolerance && is_turned()) {
            true => Ok(()),
            false => Err(GaugeError::NotUnitary { worst, tolerance }),
        }
    }

    fn position(&self, link: usize) -> LinkPosition {
        let here = self.extents.coordinate(link / DIMENSIONS).map(|x| x as isize);
        LinkPosition { coordinate: self.extents.in_whole(here), direction: link % DIMENSIONS }
    }

    /// The link in `direction` of the site one step forward along `step`.
    #[inline(always)]
    fn link_forward(&self, (site, x): (usize, Coordinate), step: usize, direction: usize) -> &[Complex<f64>] {
        let stride: usize = self.extents.as_array()[..step].iter().product();
        match (x[step] + 1 < self.extents[step], self.extents.is_cut(step)) {
            (true, _) => self.link(site + stride, direction),
            (false, false) => self.link(site - x[step] * stride, direction),
            (false, true) => {
                let mut near = x.map(|x| x as isize);
                near[step] += 1;
                self.link_near(near, direction)
            }
        }
    }

    /// The exact sum of the results of `task` for ranges of sites. It does not depend on the ranges.
    fn exact_sum_over_sites(&self, task: &impl Task<Range<usize>, Output = ExactSum>) -> ExactSum {
        let sites = self.extents.volume();
        let sites_a_task = items_a_task(sites);
        let sums = tasks::map(sites.div_ceil(sites_a_task), |number| {
            let first = number * sites_a_task;
            sets::run(task, first..sites.min(first + sites_a_task))
        });
        let mut total = ExactSum::new();
        sums.iter().for_each(|sum| total.merge(sum));
        total
    }
}

// What is done at each site, with the instructions of the processor.

/// Re tr P of the planes of a range of sites.
struct Plaquettes<'a>(&'a Configuration);

impl Task<Range<usize>> for Plaquettes<'_> {
    type Output = ExactSum;

    #[inline(always)]
    fn run(&self, sites: Range<usize>) -> ExactSum {
        let Self(configuration) = self;
        let mut sum = ExactSum::new();
        for site in sites {
            let here = (site, configuration.extents.coordinate(site));
            for mu in 0..DIMENSIONS {
                for nu in mu + 1..DIMENSIONS {
                    let a = multiply(configuration.link(site, mu), configuration.link_forward(here, mu, nu));
                    let b = multiply(configuration.link(site, nu), configuration.link_forward(here, nu, mu));
                    sum.add(real_trace_of_product_with_adjoint(&a, &b));
                }
            }
        }
        sum
    }
}

/// Re tr U of the links of a range of sites.
struct Traces<'a>(&'a Configuration);

impl Task<Range<usize>> for Traces<'_> {
    type Output = ExactSum;

    #[inline(always)]
    fn run(&self, sites: Range<usize>) -> ExactSum {
        let mut sum = ExactSum::new();
        for site in sites {
            for direction in 0..DIMENSIONS {
                let link = self.0.link(site, direction);
                for diagonal in [0, 4, 8] {
                    sum.add(link[diagonal].re);
                }
            }
        }
        sum
    }
}

/// The largest defect of a range of links, and the first link that has it.
struct LargestDefect;

const NO_DEFECT: fn() -> (f64, usize) = || (f64::NEG_INFINITY, usize::MAX);

fn larger_defect(a: (f64, usize), b: (f64, usize)) -> (f64, usize) {
    if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) { b } else { a }
}

impl Task<&[Complex<f64>]> for LargestDefect {
    type Output = (f64, usize);

    #[inline(always)]
    fn run(&self, links: &[Complex<f64>]) -> (f64, usize) {
        let mut largest = NO_DEFECT();
        for (index, link) in links.chunks_exact(LINK_WORDS).enumerate() {
            largest = larger_defect(largest, (link_defect(link), index));
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::super::colour_matrix::third_row;
    use super::super::transformation::GaugeTransformation;
    use super::*;

    fn extents(e: [usize; 4]) -> Extents {
        Extents::new(e).unwrap()
    }

    #[test]
    fn the_free_field_has_plaquette_and_link_trace_one() {
        let free = Configuration::unit(extents([3, 2, 1, 4]));
        assert_eq!(free.plaquette(), 1.0);
        assert_eq!(free.link_trace(), 1.0);
        assert_eq!(free.unitarity_defect().defect, 0.0);
    }

    #[test]
    fn plaquette_of_one_site_is_that_of_commutators() {
        // On 1.1.1.1 every neighbour is the site itself: P = U V U† V†. With U and V diagonal they commute.
        let one = extents([1, 1, 1, 1]);
        let phase = |a: f64| Complex::new(a.cos(), a.sin());
        let mut links = Configuration::unit(one).into_links();
        for mu in 0..4 {
            let a = 0.3 + mu as f64;
            links[9 * mu] = phase(a);
            links[9 * mu + 4] = phase(2.0 * a);
            links[9 * mu + 8] = phase(-3.0 * a);
        }
        let abelian = Configuration::new(one, links).unwrap();
        assert!((abelian.plaquette() - 1.0).abs() < 1e-15);
        let expected: f64 =
            (0..4).map(|mu| 0.3 + f64::from(mu)).map(|a| a.cos() + (2.0 * a).cos() + (3.0 * a).cos()).sum();
        assert!((abelian.link_trace() - expected / 12.0).abs() < 1e-15);
    }

    #[test]
    fn plaquette_is_gauge_invariant_and_link_trace_is_not() {
        let lattice = extents([2, 4, 3, 2]);
        let before = Configuration::hot(lattice, 5);
        let after = GaugeTransformation { seed: 77 }.of_links(&before);
        assert!((before.plaquette() - after.plaquette()).abs() < 1e-14);
        assert!((before.link_trace() - after.link_trace()).abs() > 1e-4);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn observables_have_the_same_bits_for_any_number_of_threads() {
        let hot = Configuration::hot(extents([6, 4, 6, 10]), 3);
        let observe = || (hot.plaquette().to_bits(), hot.link_trace().to_bits(), hot.unitarity_defect());
        let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(observe);
        let one = on(1);
        for threads in [2, 3, 7] {
            assert_eq!(one, on(threads), "{threads} threads");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn generated_links_are_in_su3() {
        let lattice = extents([4, 4, 4, 4]);
        for configuration in [Configuration::hot(lattice, 1), Configuration::weak(lattice, 1, 0.1)] {
            configuration.require_su3(1e-14).unwrap();
        }
        assert!(Configuration::weak(lattice, 1, 0.01).plaquette() > 0.99);
        assert!(Configuration::hot(lattice, 1).plaquette().abs() < 0.05);
    }

    #[test]
    fn unitarity_defect_finds_the_altered_link() {
        let lattice = extents([2, 3, 4, 5]);
        let mut links = Configuration::hot(lattice, 9).into_links();
        let site = lattice.site([1, 2, 0, 4]);
        // A phase on the whole link keeps U U† = 1 and moves the determinant alone.
        for word in 0..9 {
            links[(site * 4 + 2) * 9 + word] *= Complex::new(0.001f64.cos(), 0.001f64.sin());
        }
        let worst = Configuration::new(lattice, links).unwrap().unitarity_defect();
        assert_eq!(worst.link, LinkPosition { coordinate: [1, 2, 0, 4], direction: 2 });
        assert!((worst.defect - 0.003).abs() < 1e-6, "{worst:?}");
    }

    #[test]
    fn a_link_that_is_not_a_number_is_named() {
        let lattice = extents([2, 2, 2, 2]);
        let mut links = Configuration::unit(lattice).into_links();
        links[(3 * 4 + 1) * 9 + 5].im = f64::NAN;
        let configuration = Configuration::new(lattice, links).unwrap();
        let message = configuration.require_su3(1e-6).unwrap_err().to_string();
        assert!(message.contains("the y link of site x,y,z,t = 1,1,0,0"), "{message}");
        assert!(message.contains("row 1, column 2"), "{message}");
        assert_eq!(configuration.unitarity_defect().defect, f64::INFINITY);
    }

    #[test]
    fn the_number_of_links_is_checked() {
        let error = Configuration::new(extents([2, 1, 1, 1]), vec![Complex::new(0.0, 0.0); 71]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a gauge configuration on 2.1.1.1 has 72 complex numbers (2 sites of 4 links of 3×3), not 71"
        );
    }

    #[test]
    fn third_row_completes_a_random_matrix() {
        let u = su3_random(4, 2, 1);
        let row = third_row([u[0], u[1], u[2]], [u[3], u[4], u[5]]);
        for k in 0..3 {
            assert!((row[k] - u[6 + k]).norm() < 1e-15);
        }
    }
}
