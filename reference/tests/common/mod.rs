//! Random lattices and fields for the tests of this crate, and comparison bit by bit.

pub mod hops;

use lanefield_reference::layout::{Checkerboard, LaneWidth};
use lanefield_reference::links::Phase;
use lanefield_reference::prelude::*;
use lanefield_reference::random::{Stream, bits, gaussian_pair};
use lanefield_reference::real::Real;
use lanefield_reference::scalar;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::FileFailurePersistence;

/// Settings of a property: `cases` random ones, and the failures of the past, kept beside the test's source.
pub fn cases(cases: u32) -> ProptestConfig {
    let kept = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { cases, failure_persistence: Some(Box::new(kept)), ..ProptestConfig::default() }
}

pub const ALL_SITES: [Sites; 3] = [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];

pub fn extents(text: &str) -> Extents {
    text.parse().unwrap()
}

/// A lattice with lanes of `width` bytes in the default cut.
pub fn lattice<R: Real>(extents: Extents, width: usize, checkerboard: Checkerboard) -> Lattice {
    let lanes = LaneChoice::Width(LaneWidth::new(width).unwrap());
    Lattice::new(extents, R::COMPLEX, LatticeOptions { lanes, nodes: None, checkerboard }).unwrap()
}

/// The layouts of `extents`, at every width that fits.
pub fn every_width<R: Real>(extents: Extents, checkerboard: Checkerboard) -> Vec<Lattice> {
    let layout = |width| {
        let options = LatticeOptions { lanes: LaneChoice::Width(width), nodes: None, checkerboard };
        Lattice::new(extents, R::COMPLEX, options).ok()
    };
    LaneWidth::ALL.into_iter().filter_map(layout).collect()
}

/// Extents that lanes only just divide, at most `volume` sites. Red-black lattices have even ones only.
pub fn any_extents(checkerboard: Checkerboard, volume: usize) -> impl Strategy<Value = Extents> {
    let one = match checkerboard {
        Checkerboard::FullOnly => (1..=12usize).boxed(),
        Checkerboard::RedBlack => select(vec![2, 4, 6, 8, 10, 12]).boxed(),
    };
    prop::array::uniform4(one).prop_map(move |mut extents| {
        // Halve the largest until the lattice is small enough, so that no draw is thrown away.
        let unit = if checkerboard == Checkerboard::RedBlack { 2 } else { 1 };
        while extents.iter().product::<usize>() > volume {
            let largest = extents.iter_mut().max().unwrap();
            *largest = (*largest / 2).next_multiple_of(unit);
        }
        Extents::new(extents).unwrap()
    })
}

pub fn any_checkerboard() -> impl Strategy<Value = Checkerboard> {
    select(vec![Checkerboard::FullOnly, Checkerboard::RedBlack])
}

pub fn any_legs() -> impl Strategy<Value = LegOrder> {
    Just(Leg::all().collect::<Vec<_>>())
        .prop_shuffle()
        .prop_map(|legs| LegOrder::new(legs.try_into().unwrap()).unwrap())
}

pub fn any_boundary() -> impl Strategy<Value = BoundaryPhases> {
    let phase = || select(vec![Phase::Periodic, Phase::Antiperiodic, Phase::Fixed]);
    [phase(), phase(), phase(), phase()].prop_map(BoundaryPhases::new)
}

/// What random fields are made of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Numbers {
    Gaussian,
    /// Bit patterns: every exponent, subnormals, infinities and NaN, beside zeros of both signs.
    Bits,
    /// Gaussian numbers, one in eight of them replaced by a zero, an infinity, a NaN, a subnormal or a huge number.
    Mixed,
}

pub fn any_numbers() -> impl Strategy<Value = Numbers> {
    prop_oneof![4 => Just(Numbers::Gaussian), 1 => Just(Numbers::Bits), 2 => Just(Numbers::Mixed)]
}

fn special<R: Real>(choice: u32) -> R {
    let (smallest, largest) = match R::BITS {
        32 => (f64::from(f32::from_bits(1)), f64::from(f32::MAX)),
        _ => (f64::from_bits(1), f64::MAX),
    };
    let value = match choice % 8 {
        0 | 1 => 0.0,
        2 => f64::INFINITY,
        3 => f64::NAN,
        4 => smallest,
        5 => 1e6 * smallest,
        6 => largest,
        _ => 0.5 * largest,
    };
    R::from_f64(if choice & 8 == 0 { value } else { -value })
}

/// `words` numbers a site in site order, from a seed.
pub fn random_words<R: Real>(extents: Extents, words: usize, seed: u64, numbers: Numbers) -> Vec<Complex<R>> {
    let word = |k: usize| {
        let (site, component) = ((k / words) as u64, (k % words) as u32);
        let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site, component);
        let gaussian = Complex::new(R::from_f64(re), R::from_f64(im));
        let [a, b, c, d] = bits(seed, Stream::TestData, site, component);
        let pattern = |low: u32, high: u32| match R::BITS {
            32 => R::from_f64(f64::from(f32::from_bits(low))),
            _ => R::from_f64(f64::from_bits(u64::from(high) << 32 | u64::from(low))),
        };
        match numbers {
            Numbers::Gaussian => gaussian,
            Numbers::Bits => Complex::new(pattern(a, b), pattern(c, d)),
            Numbers::Mixed => {
                let replace = |draw: u32, value: R| if draw.is_multiple_of(8) { special(draw >> 3) } else { value };
                Complex::new(replace(a, gaussian.re), replace(b, gaussian.im))
            }
        }
    };
    (0..words * extents.volume()).map(word).collect()
}

/// A spinor field from site order.
pub fn spinors<R: Real>(lattice: Lattice, sites: Sites, values: &[Complex<R>]) -> Field<R, Spinors> {
    Field::from_site_order(lattice, sites, Spinors::ONE, values).unwrap()
}

/// The first word in which two arrays in site order differ: word number and both values.
pub fn first_difference<R: Real>(a: &[Complex<R>], b: &[Complex<R>]) -> Option<(usize, Complex<R>, Complex<R>)> {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(b).enumerate();
    pairs.map(|(k, (a, b))| (k, *a, *b)).find(|(_, a, b)| !(a.re.same_bits(b.re) && a.im.same_bits(b.im)))
}

/// The values at `sites`, and zero elsewhere.
pub fn masked<R: Real>(extents: Extents, sites: Sites, words: usize, values: &[Complex<R>]) -> Vec<Complex<R>> {
    let value = |(k, value): (usize, &Complex<R>)| match sites.contain(extents.coordinate(k / words)) {
        true => *value,
        false => Complex::default(),
    };
    values.iter().enumerate().map(value).collect()
}

/// The same value of a function in rayon pools of one, two and five threads.
pub fn in_pools<T: Send>(run: impl Fn() -> T + Sync) -> [T; 3] {
    [1, 2, 5].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&run))
}

/// |a − b| / |b|.
pub fn relative_distance(a: &[Complex<f64>], b: &[Complex<f64>]) -> f64 {
    let difference: Vec<_> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    (scalar::norm2(1, &difference) / scalar::norm2(1, b)).sqrt()
}
