//! Correlators of hadrons: the free field, whose propagator is known, symmetries, momenta, and Gaussian smearing.

use std::f64::consts::PI;

use lanefield::observable::{
    CorrelatorProjection, Hadron, Momentum, Quark, QuarkSource, Source, TwistAngle, Wuppertal, propagator,
};
use lanefield::prelude::*;
use lanefield_reference::gauge::GaugeTransformation;
use lanefield_reference::layout::Coordinate;
use lanefield_reference::links::Phase;

use crate::common::backends::{cpu, on_every_backend};
use crate::common::grid::distance;
use crate::common::models::{SpinMatrix, TWISTED, antiperiodic, gammas, momentum};
use crate::common::solves::{how, quiet};

const MASS: f64 = 0.3;
const ANTIPERIODIC: BoundaryPhases = BoundaryPhases::ANTIPERIODIC_IN_TIME;

fn extents() -> Extents {
    Extents::new([4, 4, 2, 8]).unwrap()
}

fn solved(backend: &impl Backend, configuration: &Configuration, source: QuarkSource<'_>) -> Vec<Complex<f64>> {
    solved_with(backend, configuration, source, WilsonParameters { mass: MASS, hop: antiperiodic() })
}

fn solved_with(
    backend: &impl Backend,
    configuration: &Configuration,
    source: QuarkSource<'_>,
    quark: impl Quark,
) -> Vec<Complex<f64>> {
    let mut how = how::<f64, _>(quark, Preconditioning::EvenOdd, Method::ConjugateGradients);
    how.params.tolerance = 1e-13;
    propagator::<f64, _, _>(backend, configuration, source, &how, &mut quiet(), None).unwrap().solution
}

fn real(
    backend: &impl Backend,
    quarks: [&[Complex<f64>]; 2],
    hadron: Hadron,
    (source, momentum): (Coordinate, Momentum),
    boundary: BoundaryPhases,
) -> Vec<f64> {
    let at = CorrelatorProjection { source, momentum, lanes: LaneChoice::Auto };
    let correlator = hadron.correlator(backend, extents(), quarks, at, boundary).unwrap();
    correlator.into_iter().map(|c| c.re).collect()
}

fn at_rest(backend: &impl Backend, s: &[Complex<f64>], hadron: Hadron, source: Coordinate) -> Vec<f64> {
    real(backend, [s; 2], hadron, (source, Momentum::ZERO), ANTIPERIODIC)
}

/// S(x, y) of the free field, the sum over momenta of (M(p) − iμγ5 − i Σ γμ sin pμ) / (M(p)² + μ² + Σ sin² pμ), M(p) = m + Σ (1 − cos pμ). In the physical
/// basis of angle ω, M − iμγ5 is (M cos ω + μ sin ω) + iγ5 (M sin ω − μ cos ω), since exp(iωγ5/2) γμ exp(iωγ5/2) = γμ.
fn free(source: Coordinate, mu: f64, degrees: f64) -> Vec<Complex<f64>> {
    let (extents, gammas) = (extents(), gammas());
    let momentum = |k: Coordinate| momentum(extents, k, ANTIPERIODIC);
    let of_momenta: Vec<([f64; 4], SpinMatrix)> = (0..extents.volume())
        .map(|k| {
            let p = momentum(extents.coordinate(k));
            let diagonal = MASS + p.iter().map(|p| 1.0 - p.cos()).sum::<f64>();
            let norm = diagonal * diagonal + mu * mu + p.iter().map(|p| p.sin().powi(2)).sum::<f64>();
            let element = |a: usize, b: usize| {
                let (i, slashed): (Complex<f64>, Complex<f64>) =
                    (Complex::I, (0..4).map(|d| gammas[d][a][b] * p[d].sin()).sum());
                let (sin, cos) = degrees.to_radians().sin_cos();
                let chirality = if a < 2 { 1.0 } else { -1.0 };
                let rotated = Complex::new(diagonal * cos + mu * sin, chirality * (diagonal * sin - mu * cos));
                (if a == b { rotated } else { Complex::ZERO } - slashed * i) / norm
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
    let expected = free(source, 0.0, 0.0);
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
    let momentum = [1, 0, 0].map(f64::from);
    let phase = |site: usize| {
        let x = extents.coordinate(site);
        (0..3).map(|d| 2.0 * PI * momentum[d] * x[d] as f64 / extents[d] as f64).sum::<f64>() + x[3] as f64
    };
    let wave: Vec<Complex<f64>> = (0..3 * extents.volume()).map(|k| Complex::cis(phase(k / 3))).collect();
    // −1 is Chroma's Gaussian smearing of width 2 in 5 steps, which adds w²/4n Δ ψ.
    for alpha in [0.25, -1.0, 1e-4, 1e5, 0.0, 1e-310] {
        let smearing = Wuppertal::new(alpha, 5).unwrap();
        let smeared = smearing.smear(backend, &Configuration::unit(extents), ANTIPERIODIC, &wave).unwrap();
        let cosines: f64 = (0..3).map(|d| (2.0 * PI * momentum[d] / extents[d] as f64).cos()).sum();
        let factor = match alpha {
            -1.0 => (1.0 + 4.0 / 20.0 * (2.0 * cosines - 6.0)).powi(5),
            _ => ((1.0 + 2.0 * alpha * cosines) / (1.0 + 6.0 * alpha)).powi(5),
        };
        let expected: Vec<Complex<f64>> = wave.iter().map(|z| z * factor).collect();
        assert!(distance(&smeared, &expected) < 1e-13, "{}", distance(&smeared, &expected));
    }
    let refused = |text: &str| text.parse::<Wuppertal>().unwrap_err();
    assert_eq!(
        refused("-0.16666666666666666,5"),
        "invalid smearing '-0.16666666666666666,5': each step divides by 1 + 6α, which is 0"
    );
    assert!(refused("1e308,5").ends_with("which is inf") && refused("nan,5").contains("expected ALPHA,STEPS"));
}

fn a_smeared_source_is_the_sink_of_a_smeared_point(backend: &impl Backend) {
    let (extents, point) = (extents(), [3, 0, 1, 2]);
    let weak = Configuration::weak(extents, 2, 0.4);
    let smearing = Wuppertal::new(0.5, 3).unwrap();
    let from_point = solved(backend, &weak, point.into());
    let smeared_sink = smearing.smear_sink(backend, &weak, ANTIPERIODIC, &from_point).unwrap();
    let from_smeared = solved(backend, &weak, QuarkSource { smearing: Some(smearing), ..point.into() });
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
    for boundary in [ANTIPERIODIC, TWISTED.parse().unwrap()] {
        let hop = HopParameters { boundary, ..HopParameters::default() };
        let from = |source: Coordinate, boundary| {
            let s = solved_with(&cpu(), &unit, source.into(), WilsonParameters { mass: MASS, hop });
            real(&cpu(), [&s; 2], Hadron::Nucleon, (source, Momentum::ZERO), boundary)
        };
        let averaged = from([0; 4], boundary);
        // A fixed boundary has nothing that runs backwards: from t = 0 the propagator forwards is the same.
        let forwards = from([0; 4], boundary.with(3, Phase::Fixed));
        let shifted = from([2, 1, 1, 5], boundary);
        for t in 0..extents()[3] {
            assert!((averaged[t] / forwards[t] - 1.0).abs() < 1e-9, "t = {t}: {} and {}", averaged[t], forwards[t]);
            assert!((averaged[t] / shifted[t] - 1.0).abs() < 1e-9, "t = {t}: {} and {}", averaged[t], shifted[t]);
            assert!(averaged[t] > 0.0 || t > extents()[3] / 2, "t = {t}: {}", averaged[t]);
        }
    }
}

/// With boundary phases e^{iθ} in space all hadrons are those of links that have e^{iθ/L} each, smeared alike: a nucleon of momentum n has p = (2πn + 3θ)/L in both.
#[test]
fn hadrons_with_angles_are_those_of_links_which_share_them() {
    let (extents, source) = (extents(), [3, 2, 1, 5]);
    let boundary: BoundaryPhases = "0.3pi,-0.2pi,1,-1".parse().unwrap();
    let weak = Configuration::weak(extents, 5, 0.4);
    let angle = |d: usize| if d < 3 { PI * boundary.phase(d).angle() / extents[d] as f64 } else { 0.0 };
    let shared = weak.links().iter().enumerate().map(|(k, u)| u * Complex::cis(angle(k / 9 % 4))).collect();
    let shared = Configuration::new(extents, shared).unwrap();
    let smearing = Wuppertal::new(0.5, 3).unwrap();
    let hadrons = |configuration: &Configuration, boundary| {
        let quark = WilsonParameters { mass: MASS, hop: HopParameters { boundary, ..HopParameters::default() } };
        let s = solved_with(&cpu(), configuration, QuarkSource { smearing: Some(smearing), ..source.into() }, quark);
        let s = smearing.smear_sink(&cpu(), configuration, boundary, &s).unwrap();
        let at = CorrelatorProjection { source, momentum: Momentum { numbers: [1, 0, 0] }, lanes: LaneChoice::Auto };
        Hadron::ALL.map(|hadron| hadron.correlator(&cpu(), extents, [&s; 2], at, boundary).unwrap())
    };
    let (found, expected) = (hadrons(&weak, boundary), hadrons(&shared, ANTIPERIODIC));
    for (hadron, (found, expected)) in Hadron::ALL.into_iter().zip(found.iter().zip(&expected)) {
        for (t, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found - expected).norm() < 1e-9 * expected.norm(), "{hadron} at t = {t}: {found}, not {expected}");
        }
    }
}

#[test]
fn free_twisted_quarks_are_the_known_ones_in_the_physical_basis() {
    let (unit, source, mu) = (Configuration::unit(extents()), [1, 2, 1, 5], 0.4);
    let of_flavour = |mu| TwistedMassParameters { mass: MASS, mu, hop: antiperiodic() };
    let twisted = [mu, -mu].map(|mu| solved_with(&cpu(), &unit, source.into(), of_flavour(mu)));
    let (up, down) = (&twisted[0], &twisted[1]);
    for angle in [TwistAngle::maximal(mu), TwistAngle::new(20.0).unwrap()] {
        let angles = [angle, angle.of_other_flavour()];
        let expected = [free(source, mu, angle.degrees()), free(source, -mu, -angle.degrees())];
        let mut found = [up.clone(), down.clone()];
        for ((found, angle), expected) in found.iter_mut().zip(angles).zip(&expected) {
            angle.rotate(found);
            assert!(distance(found, expected) < 1e-11, "{angle}: {}", distance(found, expected));
        }
        let correlator = |[up, down]: &[Vec<Complex<f64>>; 2], hadron| {
            real(&cpu(), [up, down], hadron, (source, Momentum::ZERO), ANTIPERIODIC)
        };
        for hadron in Hadron::ALL {
            let [found, expected] = [&found, &expected].map(|quarks| correlator(quarks, hadron));
            let in_twisted_basis = correlator(&twisted, hadron);
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            for (t, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
                assert!(close(found, expected), "{hadron} at t = {t}: {found}, not {expected}");
            }
            // Γ of these commutes with γ5.
            let is_same = matches!(hadron, Hadron::Pion | Hadron::A0 | Hadron::B1);
            assert_eq!(found.iter().zip(&in_twisted_basis).all(|(&a, &b)| close(a, b)), is_same, "{hadron}");
        }
        // Charge conjugation holds: the nucleon runs forwards as its antiparticle backwards.
        let at = (source, Momentum::ZERO);
        let start = [1, 2, 1, 0];
        let forwards = [mu, -mu].map(|mu| {
            let mut s = solved_with(&cpu(), &unit, start.into(), of_flavour(mu));
            if mu > 0.0 { angle } else { angle.of_other_flavour() }.rotate(&mut s);
            s
        });
        let fixed = BoundaryPhases::FIXED_IN_TIME;
        let forwards =
            real(&cpu(), forwards.each_ref().map(|s| &s[..]), Hadron::Nucleon, (start, Momentum::ZERO), fixed);
        let averaged = real(&cpu(), found.each_ref().map(|s| &s[..]), Hadron::Nucleon, at, ANTIPERIODIC);
        for (t, (forwards, averaged)) in forwards.iter().zip(&averaged).enumerate() {
            assert!((averaged / forwards - 1.0).abs() < 1e-9, "t = {t}: {averaged} and {forwards}");
        }
    }
}

#[test]
fn at_maximal_twist_rho_and_a1_change_places() {
    let (weak, source, mu) = (Configuration::weak(extents(), 5, 0.4), [3, 1, 0, 4], -0.3);
    let quark = TwistedMassParameters { mass: -0.2, mu, hop: antiperiodic() };
    let twisted = solved_with(&cpu(), &weak, source.into(), quark);
    let mut physical = twisted.clone();
    TwistAngle::maximal(mu).rotate(&mut physical);
    // exp(−iωγ5/2) γj exp(iωγ5/2) is iγjγ5, and γj† becomes −(iγjγ5)†.
    for (hadron, other, sign) in [
        (Hadron::Rho, Hadron::A1, -1.0),
        (Hadron::A1, Hadron::Rho, -1.0),
        (Hadron::Pion, Hadron::Pion, 1.0),
        (Hadron::A0, Hadron::A0, 1.0),
        (Hadron::B1, Hadron::B1, 1.0),
    ] {
        let (found, expected) = (at_rest(&cpu(), &physical, hadron, source), at_rest(&cpu(), &twisted, other, source));
        for (t, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found / (sign * expected) - 1.0).abs() < 1e-12, "{hadron} at t = {t}: {found}, not {expected}");
        }
    }
    assert!("maximum".parse::<TwistAngle>().is_err() && "181".parse::<TwistAngle>().is_err());
}

#[test]
fn correlators_of_all_momenta_add_up_to_the_trace_above_the_source() {
    let (extents, source) = (extents(), [1, 3, 0, 2]);
    let s = solved(&cpu(), &Configuration::weak(extents, 3, 0.4), source.into());
    let momenta = (0..4).flat_map(|x| (0..4).flat_map(move |y| (0..2).map(move |z| Momentum { numbers: [x, y, z] })));
    let correlators: Vec<Vec<f64>> =
        momenta.map(|momentum| real(&cpu(), [&s; 2], Hadron::Pion, (source, momentum), ANTIPERIODIC)).collect();
    for t in 0..extents[3] {
        let sum: f64 = correlators.iter().map(|correlator| correlator[t]).sum();
        let site = extents.site([1, 3, 0, (source[3] + t) % extents[3]]);
        let trace: f64 = s[144 * site..][..144].iter().map(Complex::norm_sqr).sum();
        let expected = trace * correlators.len() as f64;
        assert!((sum / expected - 1.0).abs() < 1e-12, "t = {t}: {sum}, not {expected}");
    }
}

#[test]
fn noise_on_a_time_slice_is_contracted_with_itself_and_tends_to_the_sum_over_points() {
    let extents = Extents::new([2, 2, 2, 4]).unwrap();
    let weak = Configuration::weak(extents, 5, 0.4);
    let (points, time): (Vec<Coordinate>, usize) = ((0..8).map(|k| [k % 2, k / 2 % 2, k / 4, 1]).collect(), 1);
    let from_points: Vec<_> = points.iter().map(|point| solved(&cpu(), &weak, (*point).into())).collect();
    let pion = |s: &[Complex<f64>]| {
        let at = CorrelatorProjection { source: [0, 0, 0, time], momentum: Momentum::ZERO, lanes: LaneChoice::Auto };
        let correlator = Hadron::Pion.correlator(&cpu(), extents, [s; 2], at, ANTIPERIODIC).unwrap();
        correlator.into_iter().map(|c| c.re).collect::<Vec<f64>>()
    };
    let sum_of = |factors: &[Complex<f64>]| {
        let mut sum = vec![Complex::ZERO; from_points[0].len()];
        for (s, factor) in from_points.iter().zip(factors) {
            sum.iter_mut().zip(s).for_each(|(sum, z)| *sum += factor * z);
        }
        sum
    };
    let factors = |source: &Source| {
        let number = |x: &Coordinate| {
            let mut number = [Complex::ZERO];
            source.fill(extents, *x, 0..1, &mut number);
            number[0]
        };
        points.iter().map(number).collect::<Vec<_>>()
    };
    for name in ["z2:3,1", "z4:3,1", "wall:1", "momentum:1,0,0,1"] {
        let source = Source::columns(name).unwrap();
        let expected = sum_of(&factors(&source));
        let s = solved(&cpu(), &weak, source.into());
        assert!(distance(&s, &expected) < 1e-11, "{name}");
        for (one, other) in pion(&s).iter().zip(pion(&expected)) {
            assert!((one / other - 1.0).abs() < 1e-11, "{name}: {one}, not {other}");
        }
    }
    // The average over seeds.
    const SEEDS: u64 = 400;
    let exact = from_points.iter().map(|s| pion(s)[1]).sum::<f64>();
    let of_seed = |seed: u64| pion(&sum_of(&factors(&format!("z4:{seed},1").parse().unwrap())))[1];
    let values: Vec<f64> = (0..SEEDS).map(of_seed).collect();
    let mean = values.iter().sum::<f64>() / SEEDS as f64;
    let error = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>()).sqrt() / SEEDS as f64;
    assert!((mean - exact).abs() < 4.0 * error && error < 0.1 * exact, "{mean} ± {error}, not {exact}");
}

#[test]
fn a_source_is_smeared_on_the_links_that_are_given() {
    let (extents, point) = (extents(), [3, 0, 1, 2]);
    let [thin, other] = [2, 9].map(|seed| Configuration::weak(extents, seed, 0.4));
    let smearing = Wuppertal::new(0.5, 3);
    let of = |links| solved(&cpu(), &thin, QuarkSource { smearing, links, ..point.into() });
    assert_eq!(of(Some(&thin)), of(None));
    assert!(distance(&of(Some(&other)), &of(None)) > 0.1);
    // The columns of a file, which are those of the point.
    let mut columns = vec![Complex::ZERO; 144 * extents.volume()];
    (0..12).for_each(|k| columns[144 * extents.site(point) + 13 * k] = Complex::ONE);
    let file = Source::File("columns.npy".into());
    let source = QuarkSource { file: Some((&columns, Some(2))), smearing, links: Some(&other), ..file.into() };
    assert_eq!(solved(&cpu(), &thin, source), of(Some(&other)));
}

#[test]
fn no_correlator_depends_on_the_gauge() {
    let (extents, point) = (extents(), [3, 1, 0, 4]);
    let weak = Configuration::weak(extents, 5, 0.4);
    let turned = GaugeTransformation { seed: 21 }.of_links(&weak);
    let momentum = Momentum { numbers: [1, 0, -1] };
    for smearing in [None, Wuppertal::new(0.25, 4)] {
        let [one, other] = [&weak, &turned].map(|configuration| {
            let s = solved(&cpu(), configuration, QuarkSource { smearing, ..point.into() });
            Hadron::ALL.map(|hadron| real(&cpu(), [&s; 2], hadron, (point, momentum), ANTIPERIODIC))
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
    assert_eq!(error, "invalid hadron 'proton': expected pion, rho, a0, a1, b1 or nucleon");
}
