//! Links of 8 reals: that what is rebuilt of an SU(3) matrix is this matrix, to rounding, wherever it lies in the group; that it is in SU(3)
//! whatever was rounded; and that other matrices are refused. That all implementations rebuild the same bits is compared with the operators.

use lanefield_reference::gauge::{ColourMatrix, Configuration};
use lanefield_reference::half::Half;
use lanefield_reference::layout::{Checkerboard, Extents, LaneChoice, Lattice, LatticeOptions, Leg, Sites};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat, double};
use lanefield_reference::random::{su3_random, su3_weak};
use lanefield_reference::real::Real;
use lanefield_reference::tensor::su3::rebuilt_link;
use lanefield_reference::tensor::{LaneVector, Pair, sets::Baseline};
use num_complex::Complex;

const ONE: Complex<f64> = Complex::new(1.0, 0.0);
const I: Complex<f64> = Complex::new(0.0, 1.0);

/// A precision of storage, and the one in which it is computed with.
trait Stored: Real {
    type Computed: Real;
}
impl Stored for f64 {
    type Computed = f64;
}
impl Stored for f32 {
    type Computed = f32;
}
impl Stored for Half {
    type Computed = f32;
}

/// The stored words of a line of sites, each with one of the matrices as its x link, and units else.
fn stored<R: Real>(matrices: &[ColourMatrix]) -> Vec<Complex<R>> {
    let extents = Extents::new([matrices.len(), 1, 1, 1]).unwrap();
    let one = std::array::from_fn(|k| if k % 4 == 0 { ONE } else { 0.0 * ONE });
    let links = matrices.iter().flat_map(|&matrix| [matrix, one, one, one].concat()).collect();
    let configuration = Configuration::new(extents, links).unwrap();
    let lanes = LaneChoice::Width(format!("{}", R::COMPLEX.bytes()).parse().unwrap());
    let options = LatticeOptions { lanes, nodes: None, checkerboard: Checkerboard::FullOnly };
    let lattice = Lattice::new(extents, R::COMPLEX, options).unwrap();
    let kind = DoubledGauge { format: LinkFormat::Eight, boundary: BoundaryPhases::PERIODIC };
    double::<R>(&configuration, lattice, Sites::Full, kind).unwrap().to_site_order()
}

/// What the x links stand for: from the forward leg of their site, and from the backward leg of the next one.
fn rebuilt<R: Stored>(matrices: &[ColourMatrix]) -> Vec<[ColourMatrix; 2]> {
    let stored = stored::<R>(matrices);
    type Lane<R> = Pair<<R as Stored>::Computed, Baseline>;
    let real = |x: R| R::Computed::from_f64(x.to_f64());
    let factor = Lane::<R>::from_reals(|k| R::Computed::from_f64([-2.0, 2.0][k]));
    let matrix = |first: usize| -> ColourMatrix {
        let word = |k: usize| Lane::<R>::from_reals(|part| real([stored[first + k].re, stored[first + k].im][part]));
        let rows = rebuilt_link::<Lane<R>, 4>(word, factor);
        std::array::from_fn(|k| {
            let reals: [R::Computed; 2] = bytemuck::cast(rows[k / 3][k % 3]);
            // V = −U/2.
            Complex::new(-2.0 * reals[0].to_f64(), -2.0 * reals[1].to_f64())
        })
    };
    let [forward, backward] = [true, false].map(|is_forward| {
        Leg::all().find(|leg| leg.dimension() == 0 && leg.is_forward() == is_forward).unwrap().point()
    });
    let words = LinkFormat::Eight.words();
    let site_words = 8 * words;
    let count = matrices.len();
    (0..count)
        .map(|site| {
            let next = (site + 1) % count;
            [matrix(site * site_words + forward * words), adjoint(&matrix(next * site_words + backward * words))]
        })
        .collect()
}

fn product(a: &ColourMatrix, b: &ColourMatrix) -> ColourMatrix {
    std::array::from_fn(|i| (0..3).map(|k| a[3 * (i / 3) + k] * b[3 * k + i % 3]).sum())
}

fn adjoint(a: &ColourMatrix) -> ColourMatrix {
    std::array::from_fn(|i| a[3 * (i % 3) + i / 3].conj())
}

fn determinant(u: &ColourMatrix) -> Complex<f64> {
    u[0] * (u[4] * u[8] - u[5] * u[7]) + u[1] * (u[5] * u[6] - u[3] * u[8]) + u[2] * (u[3] * u[7] - u[4] * u[6])
}

/// The largest |aᵢⱼ − bᵢⱼ|.
fn distance(a: &ColourMatrix, b: &ColourMatrix) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// Larger of max |(U U† − 1)ᵢⱼ| and |det U − 1|.
fn defect(u: &ColourMatrix) -> f64 {
    let one = std::array::from_fn(|k| if k % 4 == 0 { ONE } else { 0.0 * ONE });
    distance(&product(u, &adjoint(u)), &one).max((determinant(u) - 1.0).norm())
}

/// All matrices of SU(3) with one of ±1, ±i in each row and column: diagonal ones and permutations, where divisions are by 0 in other
/// parametrisations.
fn monomial_matrices() -> Vec<ColourMatrix> {
    let mut found = Vec::new();
    for columns in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1], [2, 1, 0]] {
        for phases in 0..64 {
            let mut u = [0.0 * ONE; 9];
            for (row, column) in columns.into_iter().enumerate() {
                u[3 * row + column] = [ONE, I, -ONE, -I][phases >> (2 * row) & 3];
            }
            if (determinant(&u) - 1.0).norm() < 0.5 {
                found.push(u);
            }
        }
    }
    found
}

/// Matrices at the distances 1e-1 … 1e-17 of each monomial one, on both sides.
fn hard_matrices() -> Vec<ColourMatrix> {
    let mut found = monomial_matrices();
    for (k, u) in monomial_matrices().iter().enumerate() {
        for digits in 1..18 {
            let near_one = su3_weak(k as u64, digits, 0, 10f64.powi(-(digits as i32)));
            found.extend([product(u, &near_one), product(&near_one, u)]);
        }
        // One small element at a time: rotations of two rows.
        for digits in [3, 8, 12] {
            let (sine, [i, j]) = (10f64.powi(-digits), [[0, 1], [0, 2], [1, 2]][k % 3]);
            let mut rotation = [0.0 * ONE; 9];
            for row in 0..3 {
                rotation[4 * row] = if row == i || row == j { (1.0 - sine * sine).sqrt() * ONE } else { ONE };
            }
            (rotation[3 * i + j], rotation[3 * j + i]) = (sine * ONE, -sine * ONE);
            found.push(product(u, &rotation));
        }
    }
    found
}

fn random_matrices() -> Vec<ColourMatrix> {
    (0..20_000).map(|site| su3_random(21, site, 0)).collect()
}

/// The largest error of an element, and the largest distance from SU(3), of what is rebuilt.
fn errors<R: Stored>(matrices: &[ColourMatrix]) -> [f64; 2] {
    let largest = |of: &dyn Fn(&ColourMatrix, &ColourMatrix) -> f64| {
        let pairs = matrices.iter().zip(rebuilt::<R>(matrices));
        pairs.flat_map(|(u, both)| both.map(|found| of(u, &found))).fold(0.0, f64::max)
    };
    [largest(&|u, found| distance(u, found)), largest(&|_, found| defect(found))]
}

#[test]
fn what_is_rebuilt_is_the_link_to_rounding_wherever_it_lies_in_the_group() {
    for (what, matrices) in [("random", random_matrices()), ("hard", hard_matrices())] {
        let [error, from_su3] = errors::<f64>(&matrices);
        assert!(error < 16.0 * f64::EPSILON && from_su3 < 32.0 * f64::EPSILON, "{what}: {error:e}, {from_su3:e}");
        let [error, from_su3] = errors::<f32>(&matrices);
        let epsilon = f64::from(f32::EPSILON);
        assert!(error < 16.0 * epsilon && from_su3 < 32.0 * epsilon, "{what}: {error:e}, {from_su3:e}");
    }
}

#[test]
fn what_is_rebuilt_of_16_bits_is_near_the_link_and_in_su3_to_rounding_of_f32() {
    for matrices in [random_matrices(), hard_matrices()] {
        let [error, from_su3] = errors::<Half>(&matrices);
        assert!(error < 2.1e-4 && from_su3 < 32.0 * f64::from(f32::EPSILON), "{error:e}, {from_su3:e}");
    }
}

#[test]
fn the_unit_matrix_is_rebuilt_exactly() {
    let one = su3_weak(1, 0, 0, 0.0);
    assert_eq!(errors::<f32>(&[one, one]), [0.0, 0.0]);
    assert_eq!(errors::<f64>(&[one, one]), [0.0, 0.0]);
}

#[test]
fn stored_numbers_are_bounded() {
    // So that half precision has a step that fits all of them, and the sign that rides on the fifth is never lost.
    let matrices = [random_matrices(), hard_matrices()].concat();
    for reals in stored::<f64>(&matrices).chunks_exact(4) {
        let [v1, v2, xz, z] = reals else { unreachable!("four words") };
        let ball = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>();
        let (x, s) = (xz.re, 2.0 * xz.re.abs() - 1.25);
        assert!((0.125 - 1e-15..1.125 + 1e-15).contains(&x.abs()), "{x}");
        assert!(ball(&[s, v1.re, v1.im, v2.re, v2.im]) < 1.0 + 1e-14);
        assert!(ball(&[xz.im, z.re, z.im]) < 1.0 + 1e-14);
    }
}

#[test]
fn a_matrix_that_is_not_in_su3_is_refused_by_name() {
    let extents = Extents::new([2, 2, 2, 4]).unwrap();
    let hot = Configuration::hot(extents, 3);
    let mut links: Vec<_> = (0..extents.volume()).flat_map(|site| (0..4).map(move |d| (site, d))).collect();
    links.sort_unstable();
    let mut words: Vec<_> = links.iter().flat_map(|&(site, d)| hot.link(site, d).to_vec()).collect();
    let site = extents.site([1, 0, 1, 2]);
    words[(4 * site + 2) * 9 + 4] += 1e-4;
    let configuration = Configuration::new(extents, words).unwrap();
    let options = LatticeOptions { checkerboard: Checkerboard::FullOnly, ..LatticeOptions::default() };
    let lattice = Lattice::new(extents, f64::COMPLEX, options).unwrap();
    let doubled = |format| {
        let kind = DoubledGauge { format, boundary: BoundaryPhases::PERIODIC };
        double::<f64>(&configuration, lattice, Sites::Full, kind).map(|_| ()).map_err(|error| error.to_string())
    };
    let error = doubled(LinkFormat::Eight).unwrap_err();
    assert!(error.starts_with("reconstruct 8 needs links in SU(3): the z link of site"), "{error}");
    assert!(error.contains("x,y,z,t = 1,0,1,2") && error.ends_with("use reconstruct 18 or 12"), "{error}");
    for format in LinkFormat::OF_ANY_MATRICES {
        assert_eq!(doubled(format), Ok(()));
    }
}
