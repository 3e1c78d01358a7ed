//! `compare` names planted faults. Each is a change to a hop, to its output or to its file; the tables of `docs/ports.md` are what was said about them.

mod axes;
mod conventions;
mod explain;
mod hints;
mod reading;

use lanefield::io::npy::{ComplexArray, ComplexValues, RawArray};
use lanefield::prelude::*;
use lanefield::reference::layout::{Checkerboard, Coordinate, LaneWidth, Leg, LegOrder, Place};
use lanefield::reference::random::{Stream, gaussian_pair};
use lanefield::reference::real::Real;
use lanefield::reference::scalar::{Link, ScalarWilson, matrix_times_vector, step};
use lanefield_ports::compare::{CompareOptions, Comparison, Confidence, Numbers, compare, compare_numbers};
use lanefield_ports::order::{Convention, GammaBasis, Inner, SiteOrder, from_ours};

const EXTENTS: [usize; 4] = [4, 4, 4, 6];

type Z<R> = Complex<R>;

fn extents() -> Extents {
    Extents::new(EXTENTS).unwrap()
}

fn source() -> Vec<Z<f64>> {
    let number = |k: usize| {
        let (re, im) = gaussian_pair(7, Stream::TestData, (k / 12) as u64, (k % 12) as u32);
        Complex::new(re, im)
    };
    (0..12 * extents().volume()).map(number).collect()
}

/// What is done wrongly in a hop.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The sum of this leg has the opposite sign.
    Sign(Leg),
    /// The leg is left out.
    Missing(Leg),
    /// The boundary phase is not applied.
    Phase,
    /// The phase of one leg is not applied.
    PhaseOf(Leg),
    /// The products of the matrix are not fused.
    Unfused,
    /// The matrix is summed from the last column on.
    Columns,
    /// The legs in the order of their numbers.
    LegOrder,
}

/// What a leg contributes at a site: a fault changes it.
struct Contribution<R> {
    /// The neighbour whose ψ is read.
    there: usize,
    link: Link<R>,
    /// 1 − γ, else 1 + γ, and of which direction.
    minus: bool,
    gamma: usize,
    negated: bool,
}

/// ±1 or ±i times z, n of iⁿ.
fn times<R: Real>(n: u8, z: Z<R>) -> Z<R> {
    match n {
        0 => z,
        1 => Complex::new(-z.im, z.re),
        2 => -z,
        _ => Complex::new(z.im, -z.re),
    }
}

/// docs/arithmetic.md §4 for 1 + γ: h0, h1 as ψ0 (ψ1) plus iⁿ times another row; rows 2, 3 as iⁿ times h0 or h1. Of 1 − γ all n have 2 more.
const PROJECTORS: [[(u8, usize); 4]; 4] = [
    [(1, 3), (1, 2), (3, 1), (3, 0)],
    [(2, 3), (0, 2), (0, 1), (2, 0)],
    [(1, 2), (3, 3), (3, 0), (1, 1)],
    [(0, 2), (0, 3), (0, 0), (0, 1)],
];

fn product<R: Real>(u: &Link<R>, h: &[Z<R>; 3], fault: Fault) -> [Z<R>; 3] {
    let plain = |a: Z<R>, b: Z<R>| Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
    match fault {
        Fault::Unfused => u.map(|row| plain(row[0], h[0]) + plain(row[1], h[1]) + plain(row[2], h[2])),
        Fault::Columns => {
            let u = u.map(|[a, b, c]| [c, b, a]);
            matrix_times_vector(&u, &[h[2], h[1], h[0]])
        }
        _ => matrix_times_vector(u, h),
    }
}

fn configuration() -> Configuration {
    Configuration::hot(extents(), 3)
}

/// The hop in plain loops, antiperiodic in time, with a fault.
fn hop<R: Real>(psi: &[Z<R>], fault: Fault) -> Vec<Z<R>> {
    let configuration = configuration();
    let periodic = operator(&configuration, BoundaryPhases::PERIODIC);
    let mut legs = LegOrder::DEFAULT.legs().to_vec();
    if fault == Fault::LegOrder {
        legs.sort_by_key(|leg| leg.point());
    }
    legs.retain(|leg| fault != Fault::Missing(*leg));
    sum_of_legs(psi, &configuration, &legs, fault, |x, leg, of_leg| {
        of_leg.negated = fault == Fault::Sign(leg);
        if fault == Fault::Phase || fault == Fault::PhaseOf(leg) {
            of_leg.link = periodic.link(x, leg);
        }
    })
}

/// The hop with something done to each contribution.
fn hop_with<R: Real>(psi: &[Z<R>], change: impl FnMut(Coordinate, Leg, &mut Contribution<R>)) -> Vec<Z<R>> {
    sum_of_legs(psi, &configuration(), &LegOrder::DEFAULT.legs(), Fault::None, change)
}

fn operator(configuration: &Configuration, boundary: BoundaryPhases) -> ScalarWilson<'_> {
    ScalarWilson { configuration, boundary, format: LinkFormat::Full, legs: LegOrder::DEFAULT }
}

fn sum_of_legs<R: Real>(
    psi: &[Z<R>],
    configuration: &Configuration,
    legs: &[Leg],
    fault: Fault,
    mut change: impl FnMut(Coordinate, Leg, &mut Contribution<R>),
) -> Vec<Z<R>> {
    let antiperiodic = operator(configuration, BoundaryPhases::ANTIPERIODIC_IN_TIME);
    let mut result = Vec::new();
    for site in 0..extents().volume() {
        let x = extents().coordinate(site);
        let mut sum: Option<[Z<R>; 12]> = None;
        for &leg in legs {
            let mut of_leg = Contribution {
                there: extents().site(step(extents(), x, leg).0),
                link: antiperiodic.link::<R>(x, leg),
                minus: leg.is_forward(),
                gamma: leg.dimension(),
                negated: false,
            };
            change(x, leg, &mut of_leg);
            let Contribution { there, link, minus, gamma, negated } = of_leg;
            let psi = |spin: usize, colour: usize| psi[12 * there + 3 * spin + colour];
            let table = PROJECTORS[gamma].map(|(n, row)| ((n + if minus { 2 } else { 0 }) % 4, row));
            let h = |k: usize| std::array::from_fn(|c| psi(k, c) + times(table[k].0, psi(table[k].1, c)));
            let w = [product(&link, &h(0), fault), product(&link, &h(1), fault)];
            let mut rows = [w[0], w[1], [Z::default(); 3], [Z::default(); 3]];
            for k in 2..4 {
                rows[k] = w[table[k].1].map(|z| times(table[k].0, z));
            }
            let sign = |z: Z<R>| if negated { -z } else { z };
            let term: [Z<R>; 12] = std::array::from_fn(|word| sign(rows[word / 3][word % 3]));
            sum = Some(match sum {
                None => term,
                Some(sum) => std::array::from_fn(|word| sum[word] + term[word]),
            });
        }
        result.extend(sum.unwrap());
    }
    result
}

fn shape() -> Vec<usize> {
    let [x, y, z, t] = EXTENTS;
    vec![t, z, y, x, 4, 3]
}

fn spinors(values: Vec<Z<f64>>) -> ComplexArray {
    ComplexArray { shape: shape(), values: ComplexValues::F64(values) }
}

fn single(values: Vec<Z<f32>>) -> ComplexArray {
    ComplexArray { shape: shape(), values: ComplexValues::F32(values) }
}

/// The hop, and the same with something done to its numbers.
fn changed(change: impl FnOnce(&mut Vec<Z<f64>>)) -> [ComplexArray; 2] {
    let right = hop(&source(), Fault::None);
    let mut wrong = right.clone();
    change(&mut wrong);
    [spinors(right), spinors(wrong)]
}

fn faulty(fault: Fault) -> [ComplexArray; 2] {
    let psi = source();
    [spinors(hop(&psi, Fault::None)), spinors(hop(&psi, fault))]
}

fn faulty_with(change: impl FnMut(Coordinate, Leg, &mut Contribution<f64>)) -> [ComplexArray; 2] {
    let psi = source();
    [spinors(hop(&psi, Fault::None)), spinors(hop_with(&psi, change))]
}

fn transposed(u: Link<f64>) -> Link<f64> {
    std::array::from_fn(|row| std::array::from_fn(|column| u[column][row]))
}

/// What a change of the link U_z(1,2,3,4) does to its two legs.
fn one_link(change: impl Fn(Link<f64>) -> Link<f64>) -> impl FnMut(Coordinate, Leg, &mut Contribution<f64>) {
    move |x, leg, of_leg| {
        let owner = if leg.is_forward() { x } else { step(extents(), x, leg).0 };
        if owner == [1, 2, 3, 4] && leg.dimension() == 2 {
            of_leg.link = change(of_leg.link);
        }
    }
}

fn in_single(link: Link<f64>) -> Link<f64> {
    let round = |x: f64| f64::from(x as f32);
    link.map(|row| row.map(|z| Complex::new(round(z.re), round(z.im))))
}

/// With each number another one.
fn mapped(change: impl Fn(Z<f64>) -> Z<f64>) -> [ComplexArray; 2] {
    changed(|values| values.iter_mut().for_each(|z| *z = change(*z)))
}

/// The same, of real and imaginary parts alike.
fn of_parts(change: impl Fn(f64) -> f64) -> [ComplexArray; 2] {
    mapped(|z| Complex::new(change(z.re), change(z.im)))
}

fn scaled(factor: f64) -> [ComplexArray; 2] {
    mapped(|z| z * factor)
}

/// With something done to each spinor.
fn spinors_changed(change: impl FnMut([usize; 4], &mut [Z<f64>])) -> [ComplexArray; 2] {
    changed(|values| at_sites(values, change))
}

/// Site by site, with the coordinate.
fn at_sites(values: &mut [Z<f64>], mut change: impl FnMut([usize; 4], &mut [Z<f64>])) {
    for (site, spinor) in values.chunks_exact_mut(12).enumerate() {
        change(extents().coordinate(site), spinor);
    }
}

/// Eight lanes of complex numbers in f64.
fn lattice() -> Lattice {
    let options = LatticeOptions {
        lanes: LaneChoice::Width(LaneWidth::new(64).unwrap()),
        nodes: None,
        checkerboard: Checkerboard::RedBlack,
    };
    Lattice::new(extents(), Scalar::ComplexF, options).unwrap()
}

/// Each site with the numbers of the lane that `source` says.
fn with_lanes(values: &[Z<f64>], source: impl Fn(usize) -> usize) -> Vec<Z<f64>> {
    let from = |site: usize| {
        let Place { osite, lane } = lattice().place(Sites::Full, extents().coordinate(site));
        extents().site(lattice().coordinate(Sites::Full, Place { osite, lane: source(lane) }))
    };
    (0..extents().volume()).flat_map(|site| values[12 * from(site)..][..12].to_vec()).collect()
}

/// The numbers of an array of another order, with the shape of ours.
fn converted(to: Convention) -> [ComplexArray; 2] {
    let right = spinors(hop(&source(), Fault::None));
    let wrong = from_ours(right.clone(), to).unwrap();
    [right, ComplexArray { shape: shape(), ..wrong }]
}

/// A planted fault: what it is, the arrays, the kind of cause that must be named first, and words of the sentence.
type Planted = (&'static str, [ComplexArray; 2], &'static str, &'static str);

fn planted() -> Vec<Planted> {
    let leg = |name: &str| Leg::all().find(|leg| leg.to_string() == name).unwrap();
    let ours = Convention::OURS;
    let swapped =
        |a: usize, b: usize| spinors_changed(move |_, spinor| (0..3).for_each(|c| spinor.swap(3 * a + c, 3 * b + c)));
    let tiny = |psi: Vec<Z<f64>>| -> Vec<Z<f64>> {
        // Some numbers below the least normal one.
        let scale = |(k, z): (usize, Z<f64>)| z * if k % 7 == 0 { 1e-310 } else { 1.0 };
        psi.into_iter().enumerate().map(scale).collect()
    };
    let flushed = |x: f64| if x.is_subnormal() { 0.0 } else { x };
    let psi32: Vec<Z<f32>> = source().iter().map(|z| Complex::new(z.re as f32, z.im as f32)).collect();
    vec![
        ("wrong sign of leg −z", faulty(Fault::Sign(leg("-z"))), "leg", "leg -z of the hop"),
        ("leg +x left out", faulty(Fault::Missing(leg("+x"))), "leg", "leg +x of the hop"),
        ("boundary phase in t missing", faulty(Fault::Phase), "boundary_phase", "legs -t, +t of the hop"),
        ("boundary phase of leg −t missing", faulty(Fault::PhaseOf(leg("-t"))), "boundary_phase", "leg -t of the hop"),
        ("spins 1 and 2 exchanged", swapped(1, 2), "exchanged", "spins exchanged: B's spin 1 is A's 2, 2 is A's 1"),
        (
            "sign of spin 3",
            spinors_changed(|_, spinor| spinor[9..].iter_mut().for_each(|z| *z = -*z)),
            "unit",
            "B is −A",
        ),
        ("complex conjugate", mapped(|z| z.conj()), "unit", "complex conjugate"),
        (
            "real and imaginary parts exchanged",
            mapped(|z| Complex::new(z.im, z.re)),
            "unit",
            "real and imaginary parts are exchanged",
        ),
        (
            "products of the matrix not fused (`-ffp-contract`, f64)",
            faulty(Fault::Unfused),
            "rounding",
            "contracted or uncontracted",
        ),
        (
            "products of the matrix not fused (f32)",
            [single(hop(&psi32, Fault::None)), single(hop(&psi32, Fault::Unfused))],
            "rounding",
            "contracted or uncontracted",
        ),
        ("columns summed from the last", faulty(Fault::Columns), "rounding", "sum in another order"),
        ("legs in another order", faulty(Fault::LegOrder), "rounding", "sum in another order"),
        (
            "lanes shifted by one",
            changed(|values| *values = with_lanes(values, |lane| (lane + 1) % 8)),
            "lanes",
            "lanes shifted by one up",
        ),
        (
            "wrong numbers in lane 3 of 8",
            spinors_changed(|x, spinor| {
                if lattice().place(Sites::Full, x).lane == 3 {
                    spinor.iter_mut().for_each(|z| *z *= Complex::new(1.5, 0.25))
                }
            }),
            "lane",
            "only lane 3 of 8 differ",
        ),
        (
            "sites written vector by vector",
            changed(|values| {
                let old = values.clone();
                for site in 0..extents().volume() {
                    let Place { osite, lane } = lattice().place(Sites::Full, extents().coordinate(site));
                    values[12 * (8 * osite + lane)..][..12].copy_from_slice(&old[12 * site..][..12]);
                }
            }),
            "lane_order",
            "vector by vector, 8 lanes",
        ),
        (
            "one flipped bit",
            changed(|values| values[1234].im = f64::from_bits(values[1234].im.to_bits() ^ 1 << 41)),
            "flipped_bit",
            "bit 41 of the fraction",
        ),
        (
            "one site not written",
            changed(|values| values[1200..1212].fill(Complex::new(7.0, 1.0))),
            "one_site",
            "x,y,z,t = 0,1,2,1",
        ),
        (
            "odd sites not written",
            spinors_changed(|x, spinor| {
                if Parity::of(x) == Parity::Odd {
                    spinor.fill(Complex::default())
                }
            }),
            "zeros",
            "B is zero wherever they differ",
        ),
        (
            "odd sites of another source",
            {
                let other = hop(&source().iter().rev().copied().collect::<Vec<_>>(), Fault::None);
                spinors_changed(|x, spinor| {
                    if Parity::of(x) == Parity::Odd {
                        spinor.copy_from_slice(&other[12 * extents().site(x)..][..12]);
                    }
                })
            },
            "parity",
            "only odd sites differ",
        ),
        (
            "shifted by one site",
            changed(|values| values.rotate_left(12 * 4 * 4 * 4)),
            "shifted",
            "A of the neighbour +t",
        ),
        (
            "shifted by two sites in x and one in t",
            changed(|values| {
                let old = values.clone();
                at_sites(values, |[x, y, z, t], spinor| {
                    let from = extents().site([(x + 2) % 4, y, z, (t + 5) % 6]);
                    spinor.copy_from_slice(&old[12 * from..][..12]);
                });
            }),
            "shifted",
            "A of the site 2 steps +x, 1 step -t away",
        ),
        (
            "two sites exchanged",
            changed(|values| (0..12).for_each(|word| values.swap(12 * 50 + word, 12 * 333 + word))),
            "exchanged_sites",
            "x,y,z,t = 2,0,3,0 and x,y,z,t = 1,3,0,5",
        ),
        (
            "one link of the configuration transposed",
            faulty_with(one_link(transposed)),
            "link",
            "only the link U_z(1,2,3,4) is different in B",
        ),
        (
            "one doubled link wrong",
            faulty_with(|x, leg, of_leg| {
                if x == [1, 2, 3, 4] && leg == Leg::backward(1) {
                    of_leg.link[0].swap(0, 1);
                }
            }),
            "leg",
            "leg -y of the hop (+y of its dagger) contributes wrongly at x,y,z,t = 1,2,3,4,",
        ),
        ("sites even-odd", converted(Convention { order: SiteOrder::EvenOdd, ..ours }), "order", "--order even-odd"),
        ("sites odd-even", converted(Convention { order: SiteOrder::OddEven, ..ours }), "order", "--order odd-even"),
        (
            "even-odd, colour before spin, basis chiral",
            converted(Convention { order: SiteOrder::EvenOdd, gamma: GammaBasis::Chiral, inner: Inner::ColourSpin }),
            "reading",
            "--order even-odd --inner colour-spin --gamma chiral",
        ),
        (
            "colour before spin",
            converted(Convention { inner: Inner::ColourSpin, ..ours }),
            "inner",
            "--inner colour-spin",
        ),
        (
            "basis dirac-pauli",
            converted(Convention { gamma: GammaBasis::DiracPauli, ..ours }),
            "basis",
            "--gamma dirac-pauli",
        ),
        ("basis ukqcd", converted(Convention { gamma: GammaBasis::Ukqcd, ..ours }), "basis", "--gamma ukqcd"),
        ("basis chiral", converted(Convention { gamma: GammaBasis::Chiral, ..ours }), "basis", "--gamma chiral"),
        (
            "other order of the axes",
            changed(|values| {
                let (old, [lx, ly, lz, lt]) = (values.clone(), EXTENTS);
                for (site, spinor) in old.chunks_exact(12).enumerate() {
                    let [x, y, z, t] = extents().coordinate(site);
                    let place = t + lt * (z + lz * (y + ly * x));
                    values[12 * place..][..12].copy_from_slice(spinor);
                }
                assert_eq!(lx, 4);
            }),
            "axes",
            "t fastest",
        ),
        ("bytes swapped", of_parts(|x| f64::from_bits(x.to_bits().swap_bytes())), "bytes", "big-endian"),
        ("stored as f32 on the way", of_parts(|x| f64::from(x as f32)), "rounded_to_f32", "B is A rounded to f32"),
        (
            "computed in f32",
            {
                let wrong = hop(&psi32, Fault::None).into_iter();
                let wrong = wrong.map(|z| Complex::new(f64::from(z.re), f64::from(z.im))).collect();
                [spinors(hop(&source(), Fault::None)), spinors(wrong)]
            },
            "single_precision",
            "single precision",
        ),
        (
            "subnormals flushed",
            {
                let right = tiny(hop(&source(), Fault::None));
                let wrong = right.iter().map(|z| Complex::new(flushed(z.re), flushed(z.im))).collect();
                [spinors(right), spinors(wrong)]
            },
            "flushed_subnormals",
            "-ftz=true",
        ),
        (
            "−0 lost",
            {
                let right: Vec<_> = source()
                    .into_iter()
                    .enumerate()
                    .map(|(k, z)| if k % 5 == 0 { Complex::new(-0.0, z.im) } else { z })
                    .collect();
                let wrong = right.iter().map(|z| Complex::new(z.re + 0.0, z.im)).collect();
                [spinors(right), spinors(wrong)]
            },
            "signs_of_zeros",
            "only the signs of zeros differ",
        ),
        ("divided by 2κ, κ = 0.13", scaled(1.0 / 0.26), "factor", "κ 0.130000"),
        ("times 1 + 1e-6", scaled(1.0 + 1e-6), "factor", "B is 1 + 1.0e-6 times A"),
        ("times 1 − 1e-10", scaled(1.0 - 1e-10), "factor", "B is 1 − 1.0e-10 times A"),
        ("times 1 + 1e-13", scaled(1.0 + 1e-13), "factor", "B is 1 + 1.0e-13 times A"),
        (
            "one link in single precision",
            faulty_with(|_, leg, of_leg| {
                if leg == Leg::forward(3) {
                    of_leg.link = in_single(of_leg.link);
                }
            }),
            "leg",
            "leg +t",
        ),
        (
            "all links in single precision",
            faulty_with(|_, _, of_leg| of_leg.link = in_single(of_leg.link)),
            "single_steps",
            "something on the way was in single precision",
        ),
        (
            "slice t = 2 of another source",
            changed(|values| {
                let slice = 12 * 4 * 4 * 4;
                values[2 * slice..3 * slice].reverse();
            }),
            "slice",
            "only sites with t = 2 differ",
        ),
        (
            "rows 2 and 3 not reconstructed",
            spinors_changed(|_, spinor| spinor[6..].iter_mut().for_each(|z| *z += Complex::new(0.3, z.re))),
            "words",
            "only numbers of spin 2, 3 differ: the reconstruction",
        ),
    ]
}

fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

fn report([a, b]: &[ComplexArray; 2]) -> Comparison {
    compare(a, b, CompareOptions::default()).unwrap()
}

#[test]
fn the_hop_of_these_tests_has_the_bits_of_the_reference() {
    let configuration = configuration();
    let operator = operator(&configuration, BoundaryPhases::ANTIPERIODIC_IN_TIME);
    let reference = operator.hop(&source(), Sites::Full, Dagger::No);
    let found = compare(&spinors(reference), &spinors(hop(&source(), Fault::None)), CompareOptions::default()).unwrap();
    assert!(found.is_same() && found.first.is_none() && found.causes.is_empty(), "{found}");
    assert!(found.to_string().starts_with("same bits: 9 216 real numbers (spinor on 4.4.4.6, f64)"), "{found}");
}

#[test]
fn planted_faults_are_named_and_the_documentation_says_how() {
    let page = include_str!("../../../docs/ports.md");
    let mut table = String::new();
    let mut wrong = Vec::new();
    for (fault, arrays, kind, words) in planted() {
        let found = report(&arrays);
        assert!(!found.is_same(), "{fault}");
        match found.causes.first() {
            Some(cause) if cause.kind == kind && cause.sentence.contains(words) => {}
            _ => wrong.push(format!("{fault}:\n{found}\n")),
        }
        let sure = found.causes.iter().filter(|cause| cause.confidence != Confidence::Possible);
        let said = sure.map(|cause| cause.sentence.as_str()).collect::<Vec<_>>().join("; *then* ");
        table += &format!("| {fault} | {said} |\n");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(page.contains(&table), "docs/ports.md has another table than:\n{table}");
}

#[test]
fn nothing_is_guessed_where_there_is_no_pattern() {
    let (a, mut b) = (source(), source());
    b.reverse();
    let found = report(&[spinors(a), spinors(b)]);
    assert_eq!(found.causes, [], "{found}");
    assert_contains(&found.to_string(), &["no pattern found that would show the cause", "--config and --source"]);
}

#[test]
fn the_first_difference_is_the_first_in_site_order() {
    let found = report(&changed(|values| {
        values[12 * 17 + 3 * 2 + 1].im += 1.0;
        values[12 * 200 + 5].re = f64::NAN;
    }));
    let first = found.first.as_ref().unwrap();
    assert_eq!((first.site, first.part), (Some([1, 0, 1, 0]), Some("im")));
    let at: Vec<_> = first.at.iter().map(|at| (at.axis, at.index)).collect();
    assert_eq!(at, [("spin", 2), ("colour", 1)]);
    assert_eq!((found.differing, found.differing_sites), (2, 2));
    assert_eq!(found.largest_ulp.as_ref().unwrap().ulp, None);
    let bins = |by: &str| {
        let histogram = found.histograms.iter().find(|histogram| histogram.by == by).unwrap();
        histogram.bins.iter().map(|bin| (bin.at.as_str(), bin.differing)).collect::<Vec<_>>()
    };
    assert_eq!(bins("spin"), [("0", 0), ("1", 1), ("2", 1), ("3", 0)]);
    assert_eq!(bins("part"), [("re", 1), ("im", 1)]);
    assert_eq!(bins("t"), [("0", 1), ("1", 0), ("2", 0), ("3", 1), ("4", 0), ("5", 0)]);
    assert_eq!(bins("boundary")[6..], [("z=0", 1), ("t=0", 1)]);
}

#[test]
fn a_field_along_s_has_s_between_site_and_spin() {
    let [x, y, z, t] = [2, 2, 2, 4];
    let numbers = |k: usize| Complex::new(k as f64, 1.0);
    let a: Vec<_> = (0..3 * x * y * z * t * 12).map(numbers).collect();
    let mut b = a.clone();
    // s 2 at site 0, then s 0 at site 1: the former comes first, though it lies later in the file.
    b[2 * 32 * 12 + 4].re += 1.0;
    b[12].re += 1.0;
    let array = |values| ComplexArray { shape: vec![3, t, z, y, x, 4, 3], values: ComplexValues::F64(values) };
    let found = report(&[array(a.clone()), array(b)]);
    let first = found.first.as_ref().unwrap();
    assert_eq!(first.site, Some([0, 0, 0, 0]));
    assert_eq!(
        first.at.iter().map(|at| (at.axis, at.index)).collect::<Vec<_>>(),
        [("s", 2), ("spin", 1), ("colour", 1)]
    );
    assert_eq!((found.ls, found.object), (Some(3), "five-dimensional fermion"));
    // s in the opposite order.
    let reversed: Vec<_> = a.chunks_exact(32 * 12).rev().flatten().copied().collect();
    let found = report(&[array(a), array(reversed)]);
    assert_eq!(found.causes[0].kind, "s_order", "{found}");
}

#[test]
fn links_have_directions_and_transposes() {
    let configuration = Configuration::hot(extents(), 5);
    let [x, y, z, t] = EXTENTS;
    let array = |values| ComplexArray { shape: vec![t, z, y, x, 4, 3, 3], values: ComplexValues::F64(values) };
    let links = configuration.links().to_vec();
    let daggered: Vec<_> =
        links.chunks_exact(9).flat_map(|u| (0..9).map(|k| u[k % 3 * 3 + k / 3].conj()).collect::<Vec<_>>()).collect();
    let found = report(&[array(links.clone()), array(daggered)]);
    assert!(found.causes[0].sentence.contains("B has U† where A has U"), "{found}");
    // One matrix, and those of one direction.
    let transposed = |matrices: &dyn Fn(usize) -> bool| {
        let of_matrix = |(k, u): (usize, &[Z<f64>])| match matrices(k) {
            true => (0..9).map(|word| u[word % 3 * 3 + word / 3]).collect(),
            false => u.to_vec(),
        };
        links.chunks_exact(9).enumerate().flat_map(of_matrix).collect::<Vec<_>>()
    };
    let found = report(&[array(links.clone()), array(transposed(&|k| k == 4 * 100 + 2))]);
    let [x1, y1, z1, t1] = extents().coordinate(100);
    let said = format!(
        "one matrix differs, that of x,y,z,t = {x1},{y1},{z1},{t1}, direction z: there B has the transpose of A's"
    );
    assert!(found.causes[0].sentence.starts_with(&said), "{found}");
    let found = report(&[array(links.clone()), array(transposed(&|k| k % 4 == 3))]);
    assert!(found.causes[0].sentence.starts_with("in the matrices that differ, B has the transpose"), "{found}");
    // Directions t, x, y, z.
    let rotated: Vec<_> = links.chunks_exact(36).flat_map(|site| [&site[27..], &site[..27]].concat()).collect();
    let found = report(&[array(links.clone()), array(rotated)]);
    assert!(found.causes[0].sentence.contains("directions exchanged: B's direction x is A's t"), "{found}");
    // Antiperiodic in time, only in one of them.
    let mut phased = links.clone();
    for (site, links) in phased.chunks_exact_mut(36).enumerate() {
        if extents().coordinate(site)[3] == t - 1 {
            links[27..].iter_mut().for_each(|z| *z = -*z);
        }
    }
    let found = report(&[array(links), array(phased)]);
    let kinds: Vec<_> = found.causes.iter().map(|cause| cause.kind).collect();
    assert_eq!(kinds[..2], ["unit", "boundary"], "{found}");
    assert_eq!(found.causes[2].sentence, "only numbers of direction t differ");
}

#[test]
fn numbers_a_few_ulp_apart_are_accepted_if_that_is_wanted() {
    let psi = source();
    let [a, b] = [
        spinors(psi.clone()),
        spinors(psi.iter().map(|z| Complex::new(z.re, f64::from_bits(z.im.to_bits() + 3))).collect()),
    ];
    let found = |ulps| compare(&a, &b, CompareOptions { ulps, ..Default::default() }).unwrap();
    assert!(found(3).is_same());
    assert_eq!((found(3).accepted, found(3).differing), (4608, 0));
    assert!(found(3).to_string().starts_with("within 3 ulp: 4 608 of 9 216"), "{}", found(3));
    assert_eq!((found(2).accepted, found(2).differing), (0, 4608));
    assert!(found(2).causes.iter().any(|cause| cause.confidence == Confidence::Likely));
}

#[test]
fn an_array_in_f64_is_rounded_where_the_other_is_in_f32() {
    let psi = source();
    let rounded = psi.iter().map(|z| Complex::new(z.re as f32, z.im as f32)).collect();
    let found = report(&[spinors(psi), single(rounded)]);
    assert!(found.is_same());
    assert!(found.to_string().ends_with("A is f64 and was rounded to f32 before"), "{found}");
}

#[test]
fn whole_numbers_are_compared_by_value_whatever_ulps_are_accepted() {
    let numbers = |values: &[i64]| Numbers::of_raw(&RawArray::i64(&[values.len()], values)).unwrap();
    let ulps = CompareOptions { ulps: 9, ..Default::default() };
    let found = compare_numbers(numbers(&[7, -2, 5]), numbers(&[7, 3, 5]), ulps).unwrap();
    let first = found.first.as_ref().unwrap();
    assert_eq!((found.differing, found.precision, first.at[0].index, first.ulp), (1, "whole", 1, None));
    assert_eq!(first.a_bits, "fffffffffffffffe");
    assert!(
        found.to_string().contains("axis 0 1: A -2 (fffffffffffffffe), B 3 (0000000000000003), 5 apart"),
        "{found}"
    );
    assert!(Numbers::of_raw(&RawArray::i64(&[1], &[(1 << 53) + 1])).is_none());
    let error = compare_numbers(numbers(&[1]), Numbers::of_f64(vec![1], vec![1.0]), ulps).unwrap_err();
    assert!(error.to_string().starts_with("A is whole numbers (1,), B is float64 (1,)"), "{error}");
}
