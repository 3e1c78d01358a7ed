//! HISQ fermions: the same bits as in plain loops; what smearing does to unit links, its gauge covariance, and that projected links are unitary; and the
//! improved free spectrum. Symmetries of the hop are in `tests/operators.rs`.

use lanefield::gauge::GaugeField;
use lanefield::prelude::*;
use lanefield::solver::solve_with_shifts;
use lanefield_reference::field::ColourMatrix;
use lanefield_reference::gauge::GaugeTransformation;
use lanefield_reference::links::Phase;
use lanefield_reference::scalar::hisq::{self as plain, ScalarHisq};

use crate::common::backends::{check_library_kernels, on_every_backend};
use crate::common::fields::{gaussian, lattice};
use crate::common::grid::distance;
use crate::common::models::{TWISTED, antiperiodic, image, momentum, plane_wave};
use crate::common::solves::{bits_of, how, is_the_same, quiet};

const COLOURS: usize = ColourVectors::WORDS;
const MASS: f64 = 0.3;
const EPSILON: f64 = -0.2;

check_library_kernels! {
    hisq::hisq_full: twin, linear;
    hisq::eo_hisq: twin, linear;
    hisq::oe_hisq: twin, linear;
}

/// An awkward lattice, a random configuration on it, two kinds of boundary at once, and another order of legs.
fn random_case() -> (Configuration, HopParameters) {
    let configuration = Configuration::hot(Extents::new([4, 6, 2, 8]).unwrap(), 5);
    let boundary = BoundaryPhases::antiperiodic([true, true, false, true]);
    (configuration, HopParameters { boundary, ..HopParameters::default() })
}

fn parameters(hop: HopParameters, components: usize) -> HisqParameters {
    HisqParameters { mass: MASS, naik_epsilon: EPSILON, components, hop }
}

/// D ψ or D† ψ in site order.
fn d<B: Backend>(
    backend: &B,
    configuration: &Configuration,
    hop: HopParameters,
    psi: &[Complex<f64>],
    dagger: Dagger,
) -> Vec<Complex<f64>> {
    let components = psi.len() / configuration.extents().volume() / COLOURS;
    image::<f64, B, _>(backend, parameters(hop, components), configuration, psi, dagger)
}

fn smeared<B: Backend>(backend: &B, configuration: &Configuration, epsilon: f64) -> [Configuration; 2] {
    GaugeField::new(backend, configuration, LaneChoice::Auto).unwrap().hisq_links(epsilon).unwrap()
}

fn bits(links: &Configuration) -> Vec<[u64; 2]> {
    links.links().iter().map(|c| [c.re.to_bits(), c.im.to_bits()]).collect()
}

// Links

fn links_are_bitwise_equal_to_plain_loops<B: Backend>(backend: &B) {
    let (configuration, _) = random_case();
    let found = smeared(backend, &configuration, EPSILON);
    let expected = plain::hisq_links(&configuration, EPSILON).unwrap();
    for (found, expected) in found.iter().zip(&expected) {
        assert!(bits(found) == bits(expected));
    }
}

/// The weights of both levels add up so that the free Dirac operator has slope 1: fat + 3 long = 1.
fn unit_links_become_multiples_of_themselves<B: Backend>(backend: &B) {
    let configuration = Configuration::unit(Extents::new([4, 2, 4, 6]).unwrap());
    for epsilon in [0.0, EPSILON] {
        let [fat, long] = smeared(backend, &configuration, epsilon);
        for ((unit, fat), long) in configuration.links().iter().zip(fat.links()).zip(long.links()) {
            assert!((fat - unit * (9.0 + epsilon) / 8.0).norm() < 1e-15, "{fat}");
            assert!((long + unit * (1.0 + epsilon) / 24.0).norm() < 1e-17, "{long}");
            assert!((fat + 3.0 * long - unit).norm() < 1e-15, "{fat} {long}");
        }
    }
}

type Matrix = [[Complex<f64>; 3]; 3];

fn matrix(words: &[Complex<f64>]) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| words[3 * i + j]))
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

fn adjoint(a: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i].conj()))
}

/// The largest distance of two matrices' elements.
fn apart(a: &Matrix, b: &Matrix) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// X_μ(x) → g(x) X_μ(x) g(x + μ)†, and of long links g(x + 3μ)†.
fn fat_and_long_links_are_gauge_covariant<B: Backend>(backend: &B) {
    let (before, _) = random_case();
    let extents = before.extents();
    let g = GaugeTransformation { seed: 13 };
    let of_turned = smeared(backend, &g.of_links(&before), EPSILON);
    for ((found, links), steps) in of_turned.iter().zip(smeared(backend, &before, EPSILON)).zip([1, 3]) {
        for site in 0..extents.volume() {
            for mu in 0..4 {
                let mut end = extents.coordinate(site);
                end[mu] = (end[mu] + steps) % extents[mu];
                let expected = product(
                    &product(&matrix(&g.at(site)), &matrix(links.link(site, mu))),
                    &adjoint(&matrix(&g.at(extents.site(end)))),
                );
                let apart = apart(&matrix(found.link(site, mu)), &expected);
                // Singular values of the smeared hot links are as small as a hundredth.
                assert!(apart < 1e-12, "{steps} steps, site {site}, direction {mu}: {apart:e}");
            }
        }
    }
}

/// One matrix of each site, projected.
fn projected<B: Backend>(backend: &B, lattice: Lattice, matrices: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let v = backend.upload(Field::from_site_order(lattice, Sites::Full, ColourMatrix, matrices).unwrap()).unwrap();
    let mut w: FieldOn<B, f64, ColourMatrix> = backend.zeros(lattice, Sites::Full, ColourMatrix).unwrap();
    backend.u3_projected(&mut w, &v).unwrap();
    backend.download(&w).unwrap().to_site_order()
}

/// V = W H, where W is unitary, and H Hermitian and positive.
fn projected_links_are_the_unitary_factors_of_polar_decompositions<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 4, 4, 4]).unwrap();
    let lattice = lattice::<f64>(extents);
    for scale in [1.0, 1e-3, 1e6] {
        let v: Vec<_> = gaussian(extents, 9, 3).into_iter().map(|c| c * scale).collect();
        let w = projected(backend, lattice, &v);
        let mut defect = 0.0_f64;
        for (v, w) in v.chunks_exact(9).zip(w.chunks_exact(9)) {
            let [v, w] = [v, w].map(matrix);
            let one: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| Complex::from((i == j) as u8 as f64)));
            defect = defect.max(apart(&product(&adjoint(&w), &w), &one));
            let h = product(&adjoint(&w), &v);
            let size = h.iter().flatten().map(|c| c.norm()).fold(0.0, f64::max);
            assert!(apart(&h, &adjoint(&h)) < 1e-12 * size, "it is not Hermitian");
            let minor = h[0][0] * h[1][1] - h[0][1] * h[1][0];
            let det = h[0][0] * (h[1][1] * h[2][2] - h[1][2] * h[2][1])
                - h[0][1] * (h[1][0] * h[2][2] - h[1][2] * h[2][0])
                + h[0][2] * (h[1][0] * h[2][1] - h[1][1] * h[2][0]);
            assert!(h[0][0].re > 0.0 && minor.re > 0.0 && det.re > 0.0, "it is not positive");
        }
        assert!(defect < 2e-15, "{defect:e} from unitary");
    }
}

/// The product of the links along a path: directions, and whether forwards.
fn path(links: &Configuration, site: usize, steps: &[(usize, bool)]) -> Matrix {
    let extents = links.extents();
    let (mut x, mut along) = (extents.coordinate(site), None);
    for &(d, forwards) in steps {
        let before = x;
        x[d] = (x[d] + if forwards { 1 } else { extents[d] - 1 }) % extents[d];
        let link = match forwards {
            true => matrix(links.link(extents.site(before), d)),
            false => adjoint(&matrix(links.link(extents.site(x), d))),
        };
        along = Some(along.map_or(link, |along| product(&along, &link)));
    }
    along.unwrap()
}

/// Every path that leads round a link of direction μ through k of the other directions, all different, once each way.
fn detours(mu: usize, k: usize) -> Vec<Vec<(usize, bool)>> {
    let mut outward: Vec<Vec<(usize, bool)>> = vec![Vec::new()];
    for _ in 0..k {
        let longer = |path: &Vec<(usize, bool)>| {
            let free = (0..4).filter(|&d| d != mu && path.iter().all(|step| step.0 != d)).collect::<Vec<_>>();
            let path = path.clone();
            free.into_iter().flat_map(move |d| {
                let path = path.clone();
                [true, false].map(move |forwards| [path.clone(), vec![(d, forwards)]].concat())
            })
        };
        outward = outward.iter().flat_map(longer).collect();
    }
    outward.iter().map(|outward| round(outward, mu)).collect()
}

/// A way out, a link of direction μ, and the way back.
fn round(outward: &[(usize, bool)], mu: usize) -> Vec<(usize, bool)> {
    let back = outward.iter().rev().map(|&(d, forwards)| (d, !forwards));
    outward.iter().copied().chain([(mu, true)]).chain(back).collect()
}

/// The sum of paths, each with its weight, at all sites and in all directions.
fn sum_of_paths(links: &Configuration, weights: [f64; 4], lepage: f64) -> Configuration {
    let extents = links.extents();
    let mut words = Vec::new();
    for site in 0..extents.volume() {
        for mu in 0..4 {
            let mut paths: Vec<_> =
                (0..4).flat_map(|k| detours(mu, k).into_iter().map(move |path| (weights[k], path))).collect();
            assert_eq!(paths.len(), 1 + 6 + 24 + 48);
            let twice = |d: usize| [true, false].map(|forwards| (lepage, round(&[(d, forwards); 2], mu)));
            paths.extend((0..4).filter(|&d| d != mu).flat_map(twice));
            let mut sum = [Complex::ZERO; 9];
            for (weight, steps) in paths {
                let term = path(links, site, &steps).concat();
                sum.iter_mut().zip(term).for_each(|(sum, word)| *sum += word * weight);
            }
            words.extend(sum);
        }
    }
    Configuration::new(extents, words).unwrap()
}

/// The definition of Follana et al., path by path.
fn fat_and_long_links_are_sums_over_paths<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 2, 2, 6]).unwrap();
    let thin = Configuration::hot(extents, 3);
    let weights = [1.0 / 8.0, 1.0 / 16.0, 1.0 / 64.0, 1.0 / 384.0];
    let first = sum_of_paths(&thin, weights, 0.0);
    let mut unitary = first.links().to_vec();
    for mu in 0..4 {
        let of_mu: Vec<_> = (0..extents.volume()).flat_map(|site| first.link(site, mu).to_vec()).collect();
        for (site, w) in projected(backend, lattice::<f64>(extents), &of_mu).chunks_exact(9).enumerate() {
            unitary[36 * site + 9 * mu..][..9].copy_from_slice(w);
        }
    }
    let unitary = Configuration::new(extents, unitary).unwrap();
    let fat = sum_of_paths(&unitary, [1.0 + EPSILON / 8.0, weights[1], weights[2], weights[3]], -1.0 / 8.0);
    let [found, long] = smeared(backend, &thin, EPSILON);
    assert!(distance(found.links(), fat.links()) < 1e-13);
    for site in 0..extents.volume() {
        for mu in 0..4 {
            let three = path(&unitary, site, &[(mu, true); 3]).map(|row| row.map(|c| c * -(1.0 + EPSILON) / 24.0));
            assert!(apart(&matrix(long.link(site, mu)), &three) < 1e-13);
        }
    }
}

fn links_whose_sums_have_no_unitary_factor_are_refused<B: Backend>(backend: &B) {
    let extents = Extents::new([2, 2, 4, 2]).unwrap();
    for (smallest, defect) in [(0.0, "NaN"), (1e-9, "e")] {
        let of_word = |k: usize| if k % 9 == 8 { smallest } else { f64::from(u8::from((k % 9).is_multiple_of(4))) };
        let links = (0..extents.volume() * 36).map(|k| Complex::new(of_word(k), 0.0)).collect();
        let configuration = Configuration::new(extents, links).unwrap();
        let field = GaugeField::new(backend, &configuration, LaneChoice::Auto).unwrap();
        let error = field.hisq_links(0.0).unwrap_err();
        assert!(matches!(error, BackendError::SingularLink { site: [0, 0, 0, 0], .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("the smeared x link of site x,y,z,t = 0,0,0,0 has no unitary factor"), "{text}");
        assert!(text.contains(defect), "{text}");
    }
}

fn links_of_fewer_reals_are_refused<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let hop = HopParameters { links: LinkFormat::TwoRows, ..hop };
    let lattice = lattice::<f64>(configuration.extents());
    let made = parameters(hop, 1).full::<B, f64>(backend, &configuration, lattice);
    let error = made.err().expect("12 reals do not hold fat links").to_string();
    assert!(error.contains("use reconstruct 18 instead of 12"), "{error}");
    assert!(!parameters(hop, 1).takes_links(LinkFormat::Eight));
}

// The operator

fn the_operator_is_bitwise_equal_to_plain_loops<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let psi = gaussian(configuration.extents(), 2 * COLOURS, 4);
    let legs = LegOrder::new([6, 0, 3, 5, 1, 7, 2, 4].map(|k| Leg::all().nth(k).unwrap())).unwrap();
    let phases = BoundaryPhases::new([Phase::Antiperiodic, Phase::Fixed, Phase::Periodic, Phase::Antiperiodic]);
    for (boundary, legs) in [(hop.boundary, hop.legs), (phases, legs)] {
        let [fat, long] = plain::hisq_links(&configuration, EPSILON).unwrap();
        let plain = ScalarHisq { links: [&fat, &long], boundary, legs };
        let hop = HopParameters { boundary, legs, ..hop };
        let found = d(backend, &configuration, hop, &psi, Dagger::No);
        assert!(found == plain.apply(&psi, 2, MASS), "boundary {boundary}");
    }
}

/// A boundary phase −1 is that of links whose last slice has the other sign: every path that a fat or long link is made of crosses as often as the link does.
fn boundary_phases_are_those_of_the_thin_links<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let extents = configuration.extents();
    let psi = gaussian(extents, COLOURS, 43);
    let antiperiodic = BoundaryPhases::ANTIPERIODIC_IN_TIME;
    let expected = d(backend, &configuration, HopParameters { boundary: antiperiodic, ..hop }, &psi, Dagger::No);
    let mut links = configuration.links().to_vec();
    for (site, links) in links.chunks_exact_mut(36).enumerate() {
        if extents.coordinate(site)[3] == extents[3] - 1 {
            links[27..].iter_mut().for_each(|c| *c = -*c);
        }
    }
    let turned = Configuration::new(extents, links).unwrap();
    let periodic = HopParameters { boundary: BoundaryPhases::antiperiodic([false; 4]), ..hop };
    let found = d(backend, &turned, periodic, &psi, Dagger::No);
    assert!(distance(&found, &expected) < 1e-13);
}

/// The eigenvalue of D†D on a plane wave of momentum p, on unit links.
fn free_eigenvalue<B: Backend>(
    backend: &B,
    extents: Extents,
    n: [usize; 4],
    boundary: BoundaryPhases,
    epsilon: f64,
) -> f64 {
    let configuration = Configuration::unit(extents);
    let psi = plane_wave(extents, momentum(extents, n, boundary), COLOURS);
    let hop = HopParameters { boundary, ..HopParameters::default() };
    let parameters = HisqParameters { naik_epsilon: epsilon, ..parameters(hop, 1) };
    let run = |psi: &[Complex<f64>], dagger| image::<f64, B, _>(backend, parameters, &configuration, psi, dagger);
    let found = run(&run(&psi, Dagger::No), Dagger::Yes);
    let eigenvalue = found[0].re / psi[0].re;
    let expected: Vec<_> = psi.iter().map(|c| c * eigenvalue).collect();
    assert!(distance(&found, &expected) < 1e-13, "momentum {n:?}: no eigenvector");
    eigenvalue
}

fn periodic() -> BoundaryPhases {
    BoundaryPhases::antiperiodic([false; 4])
}

/// On unit links D†D ψ = (m² + Σ s(p)²) ψ, with s(p) = (9 + ε)/8 sin p − (1 + ε)/24 sin 3p.
fn the_free_spectrum_is_that_of_the_naik_term<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 6, 2, 10]).unwrap();
    let twisted = TWISTED.parse().unwrap();
    for boundary in [periodic(), BoundaryPhases::ANTIPERIODIC_IN_TIME, BoundaryPhases::antiperiodic([true; 4]), twisted]
    {
        for n in [[1usize, 0, 0, 0], [0, 1, 1, 3], [2, 5, 0, 1], [3, 2, 1, 7]] {
            let found = free_eigenvalue(backend, extents, n, boundary, EPSILON);
            let sine = |p: f64| (9.0 + EPSILON) / 8.0 * p.sin() - (1.0 + EPSILON) / 24.0 * (3.0 * p).sin();
            let expected = MASS * MASS + momentum(extents, n, boundary).map(|p| sine(p) * sine(p)).iter().sum::<f64>();
            assert!((found - expected).abs() < 2e-14, "boundary {boundary}, momentum {n:?}: {found} {expected}");
        }
    }
}

/// The error of s(p) is of the fifth order in p, where that of naive fermions, sin p, is of the third.
fn the_naik_term_improves_the_dispersion_to_the_fifth_order<B: Backend>(backend: &B) {
    let error = |extent: usize| {
        let extents = Extents::new([2, 2, 2, extent]).unwrap();
        let p = 2.0 * std::f64::consts::PI / extent as f64;
        let s = (free_eigenvalue(backend, extents, [0, 0, 0, 1], periodic(), 0.0) - MASS * MASS).sqrt();
        (s - p, p)
    };
    let ([coarse, fine], [p, half]) = {
        let (found, p): (Vec<f64>, Vec<f64>) = [16, 32].into_iter().map(error).unzip();
        ([found[0], found[1]], [p[0], p[1]])
    };
    let order = (coarse / fine).log2() / (p / half).log2();
    assert!((order - 5.0).abs() < 0.1, "the error goes with the power {order} of p: {coarse:e} {fine:e}");
    assert!(coarse.abs() < 0.1 * (p.sin() - p).abs(), "{coarse:e}");
}

on_every_backend! {
    links_are_bitwise_equal_to_plain_loops,
    the_operator_is_bitwise_equal_to_plain_loops;
    in test-all:
    unit_links_become_multiples_of_themselves,
    fat_and_long_links_are_sums_over_paths,
    fat_and_long_links_are_gauge_covariant,
    projected_links_are_the_unitary_factors_of_polar_decompositions,
    links_whose_sums_have_no_unitary_factor_are_refused,
    links_of_fewer_reals_are_refused,
    boundary_phases_are_those_of_the_thin_links,
    the_free_spectrum_is_that_of_the_naik_term,
    the_naik_term_improves_the_dispersion_to_the_fifth_order,
}

/// Of a solve with shifts, on the CPU, and on OpenCL in lanes of these bytes.
fn bits_are_the_same<R: Vectors>(on_opencl: &[usize]) {
    let configuration = Configuration::hot(Extents::new([4, 4, 4, 8]).unwrap(), 7);
    let eta = gaussian(configuration.extents(), COLOURS, 41);
    is_the_same(&[(1, 16)], on_opencl, |backend, lanes| {
        let method = Method::ConjugateGradients;
        let how = Solve { lanes, ..how::<R, _>(parameters(antiperiodic(), 1), Preconditioning::EvenOdd, method) };
        let shifts = [0.0, 0.2];
        let report = solve_with_shifts::<R, _, _>(backend, &configuration, &eta, &shifts, &how, &mut quiet(), None);
        bits_of(&report.unwrap())
    });
}

#[test]
fn histories_and_solutions_are_the_same_bits_for_all_lanes() {
    bits_are_the_same::<f64>(&[]);
    bits_are_the_same::<f32>(&[]);
}

#[test]
#[ignore = "test-all: tests/multishift.rs runs the solver on OpenCL"]
fn histories_and_solutions_are_the_same_bits_on_opencl() {
    bits_are_the_same::<f64>(&[64]);
    bits_are_the_same::<f32>(&[64]);
}
