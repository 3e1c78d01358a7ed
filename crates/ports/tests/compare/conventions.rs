//! Solutions of other programs: a factor, transposed spins or colours, another basis, origin or phase, alone and together, and up to a solver's tolerance.

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield::observable::Gamma;
use lanefield::reference::random::{Stream, gaussian_pair};
use lanefield_ports::compare::{CompareOptions, Comparison, Confidence, Numbers, compare, compare_numbers};
use lanefield_ports::order::{Convention, GammaBasis, Inner, SiteOrder, from_ours};
use num_complex::Complex;

use super::{EXTENTS, Fault, Z, extents, hop, source, spinors};

fn random(seed: u64, k: usize) -> Z<f64> {
    let (re, im) = gaussian_pair(seed, Stream::TestData, (k / 12) as u64, (k % 12) as u32);
    Complex::new(re, im)
}

/// Random numbers that fall off from a source, as a propagator does; `words` a site.
fn decaying(words: usize, source: [usize; 4], number: impl Fn(usize) -> Z<f64>) -> Vec<Z<f64>> {
    let weight = |site: usize| {
        let x = extents().coordinate(site);
        let far = |d: usize| {
            let r = x[d].abs_diff(source[d]);
            r.min(EXTENTS[d] - r)
        };
        (-0.8 * (0..4).map(far).sum::<usize>() as f64).exp()
    };
    (0..words * extents().volume()).map(|k| number(k) * weight(k / words)).collect()
}

fn array(site: &[usize], values: Vec<Z<f64>>) -> ComplexArray {
    let [x, y, z, t] = EXTENTS;
    ComplexArray { shape: [&[t, z, y, x], site].concat(), values: ComplexValues::F64(values) }
}

fn numbers(array: &ComplexArray) -> Vec<Z<f64>> {
    array.values.clone().into_f64()
}

fn propagator() -> ComplexArray {
    array(&[4, 4, 3, 3], decaying(144, [1, 2, 3, 4], |k| random(11, k)))
}

fn mapped(a: &ComplexArray, map: impl Fn(Z<f64>) -> Z<f64>) -> ComplexArray {
    ComplexArray { values: ComplexValues::F64(numbers(a).into_iter().map(map).collect()), ..a.clone() }
}

/// Each number from another place of its site, (sink spin, source spin, sink colour, source colour).
fn exchanged(a: &ComplexArray, from: impl Fn([usize; 4]) -> [usize; 4]) -> ComplexArray {
    let values = numbers(a);
    let of = |k: usize| {
        let [i, j, c, d] = from([k / 36 % 4, k / 9 % 4, k / 3 % 3, k % 3]);
        values[k / 144 * 144 + 36 * i + 9 * j + 3 * c + d]
    };
    ComplexArray { values: ComplexValues::F64((0..values.len()).map(of).collect()), ..a.clone() }
}

fn spins([i, j, c, d]: [usize; 4]) -> [usize; 4] {
    [j, i, c, d]
}

fn colours([i, j, c, d]: [usize; 4]) -> [usize; 4] {
    [i, j, d, c]
}

/// γ5 A γ5: our γ5 is diagonal.
fn between_gamma_fives(a: &ComplexArray) -> ComplexArray {
    assert_eq!(Gamma::FIVE.partner(2), 2);
    let sign = |k: usize| if (k / 36 % 4 < 2) == (k / 9 % 4 < 2) { 1.0 } else { -1.0 };
    let values = numbers(a).into_iter().enumerate().map(|(k, z)| z * sign(k)).collect();
    ComplexArray { values: ComplexValues::F64(values), ..a.clone() }
}

/// What a solver leaves: of one size at all sites.
fn solved_to(a: &ComplexArray, tolerance: f64) -> ComplexArray {
    let values = numbers(a);
    let norm = (values.iter().map(Complex::norm_sqr).sum::<f64>() / values.len() as f64).sqrt();
    let values = values.into_iter().enumerate().map(|(k, z)| z + random(77, k) * (tolerance * norm)).collect();
    ComplexArray { values: ComplexValues::F64(values), ..a.clone() }
}

fn in_basis(a: &ComplexArray, gamma: GammaBasis) -> ComplexArray {
    from_ours(a.clone(), Convention { gamma, ..Convention::OURS }).unwrap()
}

fn found(a: &ComplexArray, b: &ComplexArray) -> Comparison {
    compare(a, b, CompareOptions::default()).unwrap()
}

/// The first cause is of this kind and says all of this.
fn says(a: &ComplexArray, b: &ComplexArray, kind: &str, parts: &[&str]) -> Confidence {
    let found = found(a, b);
    let first = found.causes.first().unwrap_or_else(|| panic!("{kind} {parts:?} is not found: {found}"));
    let all = parts.iter().all(|part| first.sentence.contains(part));
    assert!(first.kind == kind && all, "not {kind} {parts:?}: {found}");
    first.confidence
}

#[test]
fn a_common_factor_has_its_value_and_meaning() {
    let a = spinors(hop(&source(), Fault::None));
    let meanings = [
        (2.0, "MILC"),
        (0.26, "2κ = 1/(4 + mass) with κ 0.130000"),
        (3.846153846, "1/(2κ) = 4 + mass with κ 0.130000"),
        (std::f64::consts::SQRT_2, "√2"),
        (12.0, "spins times colours"),
        (384.0, "the number of sites"),
    ];
    for (factor, meaning) in meanings {
        let said = says(&a, &mapped(&a, |z| z * factor), "factor", &["times", meaning]);
        assert_eq!(said, Confidence::Certain);
    }
    says(&a, &mapped(&a, |z| z * Complex::new(0.6, 0.8)), "factor", &["0.6 + 0.8 i"]);
    says(&a, &mapped(&a, |z| z * Complex::new(0.0, 2.0)), "factor", &["2 i"]);
    for (part, said) in [(Complex::new(-1.0, 0.0), "B is −A"), (Complex::i(), "B is i·A")] {
        says(&a, &mapped(&a, |z| z * part), "unit", &[said]);
    }
    // A factor is seen through a solver's tolerance.
    let said = says(&a, &mapped(&solved_to(&a, 1e-9), |z| z * 2.0), "factor", &["times 2 (2m + D"]);
    assert_eq!(said, Confidence::Likely);
}

#[test]
fn source_and_sink_exchanged_are_named() {
    let a = propagator();
    let spin = exchanged(&a, spins);
    let both = exchanged(&spin, colours);
    let dagger = mapped(&both, |z| z.conj());
    says(&a, &spin, "transposed", &["the spins of source and sink exchanged"]);
    says(&a, &exchanged(&a, colours), "transposed", &["the colours of source and sink exchanged"]);
    says(&a, &both, "transposed", &["the spins and the colours of source and sink exchanged"]);
    says(&a, &dagger, "dagger", &["daggered"]);
    says(&a, &between_gamma_fives(&dagger), "gamma5_hermiticity", &["γ5 A† γ5"]);
    says(&a, &between_gamma_fives(&a), "gamma", &["γ5 A γ5"]);
    says(&a, &mapped(&spin, |z| z * 2.0), "conventions", &["the spins of source and sink exchanged, times 2"]);
    let said = says(&a, &solved_to(&spin, 1e-8), "transposed", &["the spins of source and sink"]);
    assert_eq!(said, Confidence::Likely);
}

#[test]
fn a_basis_is_found_with_a_factor_and_with_source_and_sink_exchanged() {
    let (spinor, propagator) = (spinors(hop(&source(), Fault::None)), propagator());
    for gamma in [GammaBasis::Chiral, GammaBasis::DiracPauli, GammaBasis::Ukqcd] {
        let advice = format!("read B with --gamma {gamma}");
        for a in [&spinor, &propagator] {
            says(a, &mapped(&in_basis(a, gamma), |z| z * -0.26), "conventions", &[&advice, "times -0.26"]);
            says(a, &solved_to(&in_basis(a, gamma), 1e-10), "basis", &[&advice]);
        }
        let other = in_basis(&exchanged(&propagator, spins), gamma);
        says(&propagator, &other, "conventions", &["the spins of source and sink exchanged", &advice]);
        // The changes to these bases are their own inverses, but for a sign.
        let is_own_inverse = matches!(gamma, GammaBasis::Chiral | GammaBasis::Ukqcd);
        let side = if is_own_inverse { "read B with --gamma" } else { "read A with --a-gamma" };
        says(&in_basis(&spinor, gamma), &mapped(&spinor, |z| z * 3.0), "conventions", &[side]);
    }
    let order = Convention { order: SiteOrder::EvenOdd, inner: Inner::ColourSpin, ..Convention::OURS };
    let other = ComplexArray { shape: spinor.shape.clone(), ..from_ours(spinor.clone(), order).unwrap() };
    says(&spinor, &mapped(&other, |z| z * 2.0), "conventions", &["--inner colour-spin", "--order even-odd", "times 2"]);
}

#[test]
fn an_origin_and_a_direction_are_found_with_a_factor() {
    let a = propagator();
    let values = numbers(&a);
    let from = |source: &dyn Fn([usize; 4]) -> [usize; 4]| {
        let site = |site: usize| extents().site(source(extents().coordinate(site)));
        array(&[4, 4, 3, 3], (0..values.len()).map(|k| values[144 * site(k / 144) + k % 144] * 2.0).collect())
    };
    let shifted = from(&|[x, y, z, t]| [(x + 1) % 4, y, z, (t + 4) % 6]);
    says(&a, &shifted, "conventions", &["origin x,y,z,t = 1,0,0,4 of A's", "times 2"]);
    says(&a, &from(&|[x, y, z, t]| [x, y, z, 5 - t]), "conventions", &["t reversed, L − 1 − t", "times 2"]);
    says(&a, &from(&|[x, y, z, t]| [z, y, x, t]), "conventions", &["axes x,y,z,t taken for z,y,x,t", "times 2"]);
    says(&a, &exchanged(&shifted, spins), "conventions", &["spins of source and sink", "origin x,y,z,t = 1,0,0,4"]);
}

#[test]
fn the_sign_of_a_momentum_is_a_phase() {
    let psi = source();
    let phased = |numbers: [f64; 4]| {
        let phase = |site: usize| {
            let x = extents().coordinate(site);
            let turns: f64 = (0..4).map(|d| numbers[d] * x[d] as f64 / EXTENTS[d] as f64).sum();
            Complex::cis(std::f64::consts::TAU * turns)
        };
        spinors(psi.iter().enumerate().map(|(k, z)| z * phase(k / 12)).collect())
    };
    let opposite = [phased([1.0, 0.0, -0.0, 0.0]), phased([-1.0, 0.0, 0.0, 0.0])];
    says(&opposite[0], &opposite[1], "phase", &["a sign (−1)^(x)"]);
    says(&spinors(psi.clone()), &phased([0.0, 0.0, 0.0, 2.0]), "phase", &["q = 2π/L·(0,0,0,2)", "p = 2π/L·(0,0,0,1)"]);
    says(&spinors(psi.clone()), &phased([0.25, 0.0, 0.0, 0.0]), "phase", &["(0.2500,0,0,0)", "twisted boundary"]);
}

#[test]
fn another_sign_of_mu_is_seen_at_the_source() {
    let a = propagator();
    let mirrored = between_gamma_fives(&mapped(&exchanged(&exchanged(&a, spins), colours), |z| z.conj()));
    let other = decaying(144, [1, 2, 3, 4], |k| random(12, k));
    let mut values: Vec<_> = other.into_iter().map(|z| z * 0.1).collect();
    let place = 144 * extents().site([1, 2, 3, 4]);
    values[place..][..144].copy_from_slice(&numbers(&mirrored)[place..][..144]);
    let b = array(&[4, 4, 3, 3], values);
    says(&a, &b, "opposite_mu", &["the sign of μ", "x,y,z,t = 1,2,3,4", "holds for S(−μ), and"]);
    let moved = |site: usize| {
        let x = extents().coordinate(site);
        144 * extents().site([x[0], (x[1] + 1) % EXTENTS[1], x[2], x[3]])
    };
    let of_b = numbers(&b);
    let values = (0..extents().volume()).flat_map(|site| of_b[moved(site)..][..144].to_vec()).collect();
    let said = ["x,y,z,t = 1,1,3,4 B is A of its source x,y,z,t = 1,2,3,4 (the origin is another), as γ5 A† γ5"];
    says(&a, &array(&[4, 4, 3, 3], values), "opposite_mu", &said);
    let twice = mapped(&exchanged(&b, spins), |z| z * 2.0);
    says(&a, &twice, "opposite_mu", &["times 2", "holds for S(−μ) with the spins of source and sink exchanged"]);
}

#[test]
fn staggered_phases_in_another_order_are_named_with_what_else_differs() {
    let psi = decaying(3, [0, 0, 0, 0], |k| random(7, k));
    let a = array(&[1, 3], psi.clone());
    // Of MILC t comes first, ours begin with x.
    let of = |exponent: &dyn Fn([usize; 4]) -> usize, factor: f64| {
        let signed = |(k, z): (usize, &Z<f64>)| {
            let odd = exponent(extents().coordinate(k / 3)) % 2 == 1;
            z * if odd { -factor } else { factor }
        };
        array(&[1, 3], psi.iter().enumerate().map(signed).collect())
    };
    let milc = |[x, y, z, t]: [usize; 4]| t * (x + y + z);
    let order = "times (−1)^(xt+yt+zt), as of staggered phases in another order";
    says(&a, &of(&milc, 1.0), "phase", &[order]);
    says(&a, &of(&milc, 0.5), "conventions", &[order, "times 0.5", "MILC"]);
    says(&a, &solved_to(&of(&milc, 0.5), 1e-6), "conventions", &[order, "times 0.5"]);
    says(&a, &mapped(&of(&milc, 0.5), |z| z.conj()), "conventions", &["complex conjugated", order]);
    says(&a, &of(&|[x, y, z, t]| t * x + y + z, 1.0), "phase", &["(−1)^(xt)", "(a sign (−1)^(y+z)"]);
    says(&a, &of(&|[x, y, z, t]| x + y + z + t, 1.0), "phase", &["(a sign (−1)^(x+y+z+t), as of staggered phases)"]);
    let found = found(&a, &of(&|[x, y, z, t]| x * y * z + t, 0.5));
    assert!(found.causes.iter().all(|cause| cause.kind != "phase"), "{found}");
}

#[test]
fn a_tolerance_is_no_rounding() {
    for a in [spinors(hop(&source(), Fault::None)), propagator()] {
        for tolerance in [1e-10, 1e-9, 1e-5] {
            let said =
                says(&a, &solved_to(&a, tolerance), "tolerance", &["two solutions", "their residuals tell which"]);
            assert_eq!(said, Confidence::Likely);
        }
    }
    let a = propagator();
    says(&a, &solved_to(&a, 1e-7), "tolerance", &["two solutions"]);
}

#[test]
fn correlators_have_factors_directions_and_momenta() {
    let c =
        |k: usize, p: f64| Complex::new((-0.4 * k as f64).exp() + 0.01 * (k as f64).cos(), 0.1 * p * (k as f64).sin());
    let values: Vec<_> = (0..8).map(|k| c(k, 1.0)).collect();
    let list = |values: Vec<Z<f64>>| ComplexArray { shape: vec![values.len()], values: ComplexValues::F64(values) };
    let a = list(values.clone());
    says(&a, &mapped(&a, |z| z * 0.26f64.powi(2)), "factor", &["(2κ)² with κ 0.130000"]);
    says(&a, &mapped(&a, |z| z.conj() * 2.0), "conventions", &["the sign of a momentum", "times 2"]);
    says(&a, &mapped(&a, |z| z.conj()), "unit", &["the sign of a momentum"]);
    let reversed = list((0..8).map(|k| values[(8 - k) % 8] * 12.0).collect());
    says(&a, &reversed, "conventions", &["reversed, −k", "times 12"]);
    let alternating = list((0..8).map(|k| values[k] * if k % 2 == 1 { -2.0 } else { 2.0 }).collect());
    says(&a, &alternating, "conventions", &["(−1)^k", "times 2"]);
    let shifted = list((0..8).map(|k| values[(k + 3) % 8] * 2.0).collect());
    says(&a, &shifted, "conventions", &["k + 3", "times 2"]);
    let real = |factor: f64| Numbers::of_f64(vec![8], values.iter().map(|z| z.re * factor).collect());
    let found = compare_numbers(real(1.0), real(0.0676), CompareOptions::default()).unwrap();
    assert!(found.causes[0].sentence.contains("(2κ)² with κ 0.130000"), "{found}");
}

#[test]
fn what_is_unrelated_has_no_convention() {
    let names =
        ["factor", "conventions", "transposed", "basis", "gamma", "phase", "shifted", "opposite_mu", "tolerance"];
    let none = |a: &ComplexArray, b: &ComplexArray| {
        let found = found(a, b);
        assert!(found.causes.iter().all(|cause| !names.contains(&cause.kind)), "{found}");
    };
    let a = propagator();
    let other = |seed: u64| array(&[4, 4, 3, 3], decaying(144, [1, 2, 3, 4], |k| random(seed, k)));
    none(&a, &other(5));
    none(&spinors(source()), &spinors((0..12 * extents().volume()).map(|k| random(9, k)).collect()));
    // One large number in common, as of heavy quarks.
    let heavy = |seed: u64| {
        let mut values: Vec<_> = numbers(&other(seed)).into_iter().map(|z| z * 1e-5).collect();
        let place = 144 * extents().site([1, 2, 3, 4]);
        (0..12).for_each(|k| values[place + 36 * (k / 3) + 9 * (k / 3) + 4 * (k % 3)] = Complex::new(0.25, 0.0));
        array(&[4, 4, 3, 3], values)
    };
    none(&heavy(3), &heavy(4));
    let point = |place: usize| {
        let mut values = vec![Complex::default(); 12 * extents().volume()];
        values[place] = Complex::new(1.0, 0.0);
        spinors(values)
    };
    none(&point(7), &point(12 * 300 + 5));
    let list = |seed: u64| ComplexArray {
        shape: vec![6],
        values: ComplexValues::F64((0..6).map(|k| random(seed, k)).collect()),
    };
    none(&list(1), &list(2));
    // Roundings.
    let rounded = mapped(&a, |z| Complex::new(f64::from_bits(z.re.to_bits() + 1), z.im));
    none(&a, &rounded);
}
