//! Correlators of hadrons: the free field, whose propagator is known, symmetries, momenta, and Gaussian smearing.

use std::f64::consts::PI;

use lanefield::backend::Backend;
use lanefield::observable::{Hadron, Momentum, PointSource, Projection, Wuppertal, propagator};
use lanefield::operator::WilsonParameters;
use lanefield::solver::{Method, Preconditioning};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::{Coordinate, Extents, LaneChoice};
use lanefield_reference::links::BoundaryPhases;
use num_complex::Complex;

use crate::common::backends::{cpu, on_every_backend};
use crate::common::gauge::GaugeTransformation;
use crate::common::grid::distance;
use crate::common::models::{SpinMatrix, antiperiodic, gammas};
use crate::common::solves::{how, quiet};

const MASS: f64 = 0.3;
const ANTIPERIODIC: BoundaryPhases = BoundaryPhases::ANTIPERIODIC_IN_TIME;

fn extents() -> Extents {
    Extents::new([4, 4, 2, 8]).unwrap()
}

fn solved(backend: &impl Backend, configuration: &Configuration, source: PointSource) -> Vec<Complex<f64>> {
    let wilson = WilsonParameters { mass: MASS, hop: antiperiodic() };
    let mut how = how::<f64, _>(wilson, Preconditioning::EvenOdd, Method::ConjugateGradients);
    how.params.tolerance = 1e-13;
    propagator::<f64, _, _>(backend, configuration, source, &how, &mut quiet(), None).unwrap().solution
}

fn real(
    backend: &impl Backend,
    s: &[Complex<f64>],
    hadron: Hadron,
    (source, momentum): (Coordinate, Momentum),
    boundary: BoundaryPhases,
) -> Vec<f64> {
    let at = Projection { source, momentum, lanes: LaneChoice::Auto };
    let correlator = hadron.correlator(backend, extents(), s, at, boundary).unwrap();
    correlator.into_iter().map(|c| c.re).collect()
}

fn at_rest(backend: &impl Backend, s: &[Complex<f64>], hadron: Hadron, source: Coordinate) -> Vec<f64> {
    real(backend, s, hadron, (source, Momentum::ZERO), ANTIPERIODIC)
}

/// S(x, y) of the free field, the sum over momenta of (M(p) − i Σ γμ sin pμ) / (M(p)² + Σ sin² pμ), M(p) = m + Σ (1 − cos pμ).
fn free(source: Coordinate) -> Vec<Complex<f64>> {
    let (extents, gammas) = (extents(), gammas());
    let momentum = |k: Coordinate| -> [f64; 4] {
        std::array::from_fn(|d| PI / extents[d] as f64 * (2 * k[d] + usize::from(d == 3)) as f64)
    };
    let of_momenta: Vec<([f64; 4], SpinMatrix)> = (0..extents.volume())
        .map(|k| {
            let p = momentum(extents.coordinate(k));
            let diagonal = MASS + p.iter().map(|p| 1.0 - p.cos()).sum::<f64>();
            let norm = diagonal * diagonal + p.iter().map(|p| p.sin().powi(2)).sum::<f64>();
            let element = |a: usize, b: usize| {
                let (i, slashed): (Complex<f64>, Complex<f64>) =
                    (Complex::I, (0..4).map(|d| gammas[d][a][b] * p[d].sin()).sum());
                (Complex::from(if a == b { diagonal } else { 0.0 }) - slashed * i) / norm
            };
            (p, std::array::from_fn(|a| std::array::from_fn(|b| element(a, b))))
        })
        .collect();
    let at_site = |site: usize| -> Vec<Complex<f64>> {
        let x = extents.coordinate(site);
        let phase = |p: &[f64; 4]| (0..4).map(|d| p[d] * (x[d] as f64 - source[d] as f64)).sum::<f64>();
        let mut spins = [[Complex::ZERO; 4]; 4];
        for (p, s) in &of_momenta {
            let factor = Complex::cis(phase(p)) / extents.volume() as f64;
            (0..16).for_each(|k| spins[k / 4][k % 4] += s[k / 4][k % 4] * factor);
        }
        let word = |w: usize| if w / 3 % 3 == w % 3 { spins[w / 36][w / 9 % 4] } else { Complex::ZERO };
        (0..144).map(word).collect()
    };
    (0..extents.volume()).flat_map(at_site).collect()
}

fn the_free_propagator_and_its_correlators_are_the_known_ones(backend: &impl Backend) {
    let source = [1, 2, 1, 5];
    let found = solved(backend, &Configuration::unit(extents()), source.into());
    let expected = free(source);
    assert!(distance(&found, &expected) < 1e-11, "{}", distance(&found, &expected));
    for hadron in Hadron::ALL {
        let [found, expected] = [&found, &expected].map(|s| at_rest(backend, s, hadron, source));
        for (t, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found / expected - 1.0).abs() < 1e-9, "{hadron} at t = {t}: {found}, not {expected}");
        }
    }
}

fn smearing_of_a_plane_wave_multiplies_it(backend: &impl Backend) {
    // On the free field (1 + 2α Σ cos pⱼ) / (1 + 6α) a step; the time of a wave does not matter.
    let extents = extents();
    let momentum = [1, 0, 1].map(f64::from);
    let phase = |site: usize| {
        let x = extents.coordinate(site);
        (0..3).map(|d| 2.0 * PI * momentum[d] * x[d] as f64 / extents[d] as f64).sum::<f64>() + x[3] as f64
    };
    let wave: Vec<Complex<f64>> = (0..3 * extents.volume()).map(|k| Complex::cis(phase(k / 3))).collect();
    let smearing = Wuppertal::new(0.25, 5).unwrap();
    let smeared = smearing.smear(backend, &Configuration::unit(extents), &wave).unwrap();
    let cosines: f64 = (0..3).map(|d| (2.0 * PI * momentum[d] / extents[d] as f64).cos()).sum();
    let factor = ((1.0 + 0.5 * cosines) / 2.5).powi(5);
    let expected: Vec<Complex<f64>> = wave.iter().map(|z| z * factor).collect();
    assert!(distance(&smeared, &expected) < 1e-13, "{}", distance(&smeared, &expected));
}

fn a_smeared_source_is_the_sink_of_a_smeared_point(backend: &impl Backend) {
    let (extents, point) = (extents(), [3, 0, 1, 2]);
    let weak = Configuration::weak(extents, 2, 0.4);
    let smearing = Wuppertal::new(0.5, 3).unwrap();
    let from_point = solved(backend, &weak, point.into());
    let smeared_sink = smearing.smear_sink(backend, &weak, &from_point).unwrap();
    let from_smeared = solved(backend, &weak, PointSource { point, smearing: Some(smearing) });
    // (F S)(y, y) and (S F)(y, y) are conjugates of each other up to γ5 on both sides.
    let at = 144 * extents.site(point);
    let sign = |spin: usize| if spin < 2 { 1.0 } else { -1.0 };
    for w in 0..144 {
        let [a, b, c, d] = [w / 36, w / 9 % 4, w / 3 % 3, w % 3];
        let transposed = ((4 * b + a) * 3 + d) * 3 + c;
        let expected = from_smeared[at + transposed].conj() * (sign(a) * sign(b));
        assert!((smeared_sink[at + w] - expected).norm() < 1e-11, "word {w}: {}, not {expected}", smeared_sink[at + w]);
    }
    assert!(distance(&smeared_sink, &from_point) > 0.1);
}

on_every_backend! {
    smearing_of_a_plane_wave_multiplies_it;
    in test-all:
    the_free_propagator_and_its_correlators_are_the_known_ones,
    a_smeared_source_is_the_sink_of_a_smeared_point,
}

#[test]
fn the_nucleon_runs_forwards_as_its_antiparticle_backwards_and_is_positive() {
    let unit = Configuration::unit(extents());
    let s = solved(&cpu(), &unit, [0; 4].into());
    let averaged = at_rest(&cpu(), &s, Hadron::Nucleon, [0; 4]);
    // A fixed boundary has nothing that runs backwards: from t = 0 the propagator forwards is the same.
    let forwards = real(&cpu(), &s, Hadron::Nucleon, ([0; 4], Momentum::ZERO), BoundaryPhases::FIXED_IN_TIME);
    let from_elsewhere = [2, 1, 1, 5];
    let shifted = at_rest(&cpu(), &solved(&cpu(), &unit, from_elsewhere.into()), Hadron::Nucleon, from_elsewhere);
    for t in 0..extents()[3] {
        assert!((averaged[t] / forwards[t] - 1.0).abs() < 1e-9, "t = {t}: {} and {}", averaged[t], forwards[t]);
        assert!((averaged[t] / shifted[t] - 1.0).abs() < 1e-9, "t = {t}: {} and {}", averaged[t], shifted[t]);
        assert!(averaged[t] > 0.0 || t > extents()[3] / 2, "t = {t}: {}", averaged[t]);
    }
}

#[test]
fn correlators_of_all_momenta_add_up_to_the_trace_above_the_source() {
    let (extents, source) = (extents(), [1, 3, 0, 2]);
    let s = solved(&cpu(), &Configuration::weak(extents, 3, 0.4), source.into());
    let momenta = (0..4).flat_map(|x| (0..4).flat_map(move |y| (0..2).map(move |z| Momentum { numbers: [x, y, z] })));
    let correlators: Vec<Vec<f64>> =
        momenta.map(|momentum| real(&cpu(), &s, Hadron::Pion, (source, momentum), ANTIPERIODIC)).collect();
    for t in 0..extents[3] {
        let sum: f64 = correlators.iter().map(|correlator| correlator[t]).sum();
        let site = extents.site([1, 3, 0, (source[3] + t) % extents[3]]);
        let trace: f64 = s[144 * site..][..144].iter().map(Complex::norm_sqr).sum();
        let expected = trace * correlators.len() as f64;
        assert!((sum / expected - 1.0).abs() < 1e-12, "t = {t}: {sum}, not {expected}");
    }
}

#[test]
fn no_correlator_depends_on_the_gauge() {
    let (extents, point) = (extents(), [3, 1, 0, 4]);
    let weak = Configuration::weak(extents, 5, 0.4);
    let turned = GaugeTransformation { seed: 21 }.of_links(&weak);
    let momentum = Momentum { numbers: [1, 0, -1] };
    for smearing in [None, Wuppertal::new(0.25, 4)] {
        let [one, other] = [&weak, &turned].map(|configuration| {
            let s = solved(&cpu(), configuration, PointSource { point, smearing });
            Hadron::ALL.map(|hadron| real(&cpu(), &s, hadron, (point, momentum), ANTIPERIODIC))
        });
        for (hadron, (one, other)) in Hadron::ALL.iter().zip(one.iter().zip(&other)) {
            let largest = one.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
            for (t, (one, other)) in one.iter().zip(other).enumerate() {
                assert!((one - other).abs() < 1e-11 * largest, "{hadron} at t = {t}: {one} and {other}");
            }
        }
    }
}

#[test]
fn the_other_parity_partners_differ_and_names_are_read_back() {
    let s = solved(&cpu(), &Configuration::weak(extents(), 5, 0.4), [0; 4].into());
    let correlators = Hadron::ALL.map(|hadron| at_rest(&cpu(), &s, hadron, [0; 4]));
    for (k, one) in correlators.iter().enumerate() {
        assert!(correlators[..k].iter().all(|other| one[3] != other[3]), "{}", Hadron::ALL[k]);
        assert_eq!(Hadron::ALL[k].name().parse(), Ok(Hadron::ALL[k]));
    }
    let error = "proton".parse::<Hadron>().unwrap_err();
    assert_eq!(error, "unknown hadron 'proton': expected pion, rho, a0, a1, b1, nucleon");
}
