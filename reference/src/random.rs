//! Random numbers as a function of (seed, use, global site, component). There is no state, so the field is the same for every layout, backend,
//! number of threads and order of calls. They are drawn on the host in f64, and are rounded when they are stored in f32. There is no OpenCL
//! counterpart.
//!
//! The generator is Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, *Parallel random numbers: as
//! easy as 1, 2, 3*, Proc. SC11 (2011). Key: the seed, low word first. Counter: global site (low word, high word),
//! component, [`Stream`]. A global site is the index with x fastest: x + Lx · (y + Ly · (z + Lz · t)).
//!
//! One (seed, stream, site, component) is one draw of 128 bits. [`uniform`] and [`gaussian_pair`] with the same four arguments read the same bits,
//! so use only one of them, or different components.
//!
//! Logarithm, cosine and sine are those of the `libm` crate. Everything else is `+ − × / sqrt` in the order written, never fused. So the bits are
//! the same on every machine.

use num_complex::Complex;

/// The use of random numbers. Fields that are drawn from the same seed for different uses are independent. The numbers are part of the definition of
/// every random field, so they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Stream {
    /// Sources and other spinor fields.
    SpinorSource = 1,
    /// Links of a hot gauge field: [`su3_random`].
    GaugeLinks = 2,
    /// Links of a weak gauge field: [`su3_weak`].
    WeakGaugeLinks = 3,
    /// Inputs of tests and of `verify`, and everything else.
    TestData = 4,
    /// Sources of Z4 noise: [`z4_number`].
    Z4Source = 5,
    /// Thresholds of the Metropolis test. The number of the trajectory replaces the site.
    Metropolis = 6,
    /// Samples of a bootstrap. The number of the resample replaces the site: [`resample`].
    Resampling = 7,
    /// Start vectors of Lanczos.
    Lanczos = 8,
}

/// The 128 random bits of one draw: Philox4x32-10.
///
/// ```
/// use lanefield_reference::random::{Stream, bits};
/// assert_eq!(bits(7, Stream::TestData, 3, 0), bits(7, Stream::TestData, 3, 0));
/// assert_ne!(bits(7, Stream::TestData, 3, 0), bits(7, Stream::SpinorSource, 3, 0));
/// ```
pub fn bits(seed: u64, stream: Stream, site: u64, component: u32) -> [u32; 4] {
    let counter = [site as u32, (site >> 32) as u32, component, stream as u32];
    philox_of_one(counter, [seed as u32, (seed >> 32) as u32])
}

/// A bound of the integers from which kernels draw random numbers. Every working precision can represent them.
pub(crate) const WHOLE_NUMBERS: f64 = 16_777_216.0;

/// A seed as three integers, for kernels: its lowest 24 bits, the next 24, and the rest.
pub fn key_of_seed(seed: u64) -> [f64; 3] {
    [seed & 0xff_ffff, seed >> 24 & 0xff_ffff, seed >> 48].map(|part| part as f64)
}

/// The 128 random bits of a draw in a kernel: Philox4x32-10 with the seed as the key. The counter is x and y, z and t (16 bits each, the first one
/// low), the event, and the draw with its highest bit set. No draw of [`bits`] has this bit set. `numbers` are the three of the key, the event and
/// the draw.
pub fn bits_at(x: [u16; 4], numbers: [f64; 5]) -> [u32; 4] {
    bits_at_each(x.map(|x| [x]), numbers.map(|number| [number])).map(|[bits]| bits)
}

/// [`bits_at`] for `N` sites; each number has a value for each site. It is inlined, so that all sites are drawn at once if the processor has
/// vectors.
#[inline(always)]
pub(crate) fn bits_at_each<const N: usize>([x, y, z, t]: [[u16; N]; 4], numbers: [[f64; N]; 5]) -> [[u32; N]; 4] {
    let mut counter = [[0; N]; 4];
    let mut key = [[0; N]; 2];
    for k in 0..N {
        // What is no whole number below 2²⁴ counts as 0, or is cut off.
        let whole = |number: usize| {
            let x = numbers[number][k];
            if (0.0..WHOLE_NUMBERS).contains(&x) { x as u32 } else { 0 }
        };
        key[0][k] = whole(0) | whole(1) << 24;
        key[1][k] = whole(1) >> 8 | whole(2) << 16;
        counter[0][k] = u32::from(x[k]) | u32::from(y[k]) << 16;
        counter[1][k] = u32::from(z[k]) | u32::from(t[k]) << 16;
        counter[2][k] = whole(3);
        counter[3][k] = whole(4) | 1 << 31;
    }
    philox(counter, key)
}

/// The uniform number in (0, 1) that a kernel computes from 32 random bits k: (k + ½) · 2⁻³² in f64, (⌊k / 2⁹⌋ + ½) · 2⁻²³ in f32. Both are exact.
#[inline(always)]
pub fn uniform_of_bits<R: crate::real::Real>(k: u32) -> R {
    let (shift, spacing) = if R::BITS == 64 { (0, 1.0 / 4_294_967_296.0) } else { (9, 1.0 / 8_388_608.0) };
    R::from_f64((f64::from(k >> shift) + 0.5) * spacing)
}

/// Uniform in the open interval (0, 1): k · 2⁻⁵³ with k from 53 bits. k = 0 becomes 2⁻⁵⁴.
pub fn uniform(seed: u64, stream: Stream, site: u64, component: u32) -> f64 {
    let [low, high, _, _] = bits(seed, stream, site, component);
    open_unit_interval(low, high)
}

/// Two independent Gaussian numbers of mean 0 and variance 1 each, by Box and Muller (1958): r cos 2πv and r sin 2πv,
/// r = √(−2 ln u). As a complex number re + i im its mean square is 2.
pub fn gaussian_pair(seed: u64, stream: Stream, site: u64, component: u32) -> (f64, f64) {
    let [a, b, c, d] = bits(seed, stream, site, component);
    let (u, v) = (open_unit_interval(a, b), open_unit_interval(c, d));
    let radius = (-2.0 * libm::log(u)).sqrt();
    let angle = std::f64::consts::TAU * v;
    (radius * libm::cos(angle), radius * libm::sin(angle))
}

/// The samples of resample `resample` of a bootstrap: `count` numbers below `count`, each ⌊u · count⌋ with a uniform number u.
pub fn resample(seed: u64, resample: u64, count: usize) -> Vec<usize> {
    let sample = |draw: usize| {
        let u = uniform(seed, Stream::Resampling, resample, draw as u32);
        ((u * count as f64) as usize).min(count - 1)
    };
    (0..count).map(sample).collect()
}

/// Z4 noise: 1, i, −1 or −i with equal probability, according to the two lowest bits of the draw, 0 to 3 in this order. The zero part is +0.
pub fn z4_number(seed: u64, stream: Stream, site: u64, component: u32) -> Complex<f64> {
    let [entropy, ..] = bits(seed, stream, site, component);
    match entropy % 4 {
        0 => Complex::new(1.0, 0.0),
        1 => Complex::new(0.0, 1.0),
        2 => Complex::new(-1.0, 0.0),
        _ => Complex::new(0.0, -1.0),
    }
}

/// Z2 noise: 1 or −1 with equal probability, according to the lowest bit of the draw. The imaginary part is +0.
pub fn z2_number(seed: u64, stream: Stream, site: u64, component: u32) -> Complex<f64> {
    let [entropy, ..] = bits(seed, stream, site, component);
    Complex::new(if entropy % 2 == 0 { 1.0 } else { -1.0 }, 0.0)
}

/// A random SU(3) matrix, row-major, with Haar measure. `direction` is 0 … 3 for x, y, z, t, and 4 for a matrix of the site itself (a gauge
/// transformation).
///
/// Two rows of complex Gaussian numbers, orthonormalised with positive norms, are uniform on the pairs of orthonormal vectors. Each pair belongs to
/// exactly one SU(3) matrix, whose third row is (row 1 × row 2)*.
pub fn su3_random(seed: u64, site: u64, direction: u32) -> [Complex<f64>; 9] {
    let element = |word: u32| {
        let (re, im) = gaussian_pair(seed, Stream::GaugeLinks, site, component_of_link(direction, word));
        Complex::new(re, im)
    };
    special_unitary([element(0), element(1), element(2)], [element(3), element(4), element(5)])
}

/// An SU(3) matrix near the identity, row-major: 1 + i · `spread` · Σₐ gₐ λₐ/2, made special unitary as in [`su3_random`]. The λₐ are the Gell-Mann
/// matrices, and the gₐ are eight Gaussian numbers of variance 1. It is exp(i · `spread` · Σₐ gₐ λₐ/2) up to terms of order `spread`².
///
/// 1 + iH with H Hermitian is never singular, so any `spread` with a finite square is valid; 0 gives the identity. An infinite or NaN `spread` gives
/// NaNs.
pub fn su3_weak(seed: u64, site: u64, direction: u32, spread: f64) -> [Complex<f64>; 9] {
    let pair = |word: u32| gaussian_pair(seed, Stream::WeakGaugeLinks, site, component_of_link(direction, word));
    let ((g1, g2), (g4, g5), (g6, g7), (g3, g8)) = (pair(0), pair(1), pair(2), pair(3));
    let half = 0.5 * spread;
    let hypercharge = g8 / 3f64.sqrt();
    // i (gₐ − i g_b) = g_b + i gₐ above the diagonal, i (gₐ + i g_b) = −g_b + i gₐ below it. The third row follows.
    let row_1 = [
        Complex::new(1.0, half * (g3 + hypercharge)),
        Complex::new(half * g2, half * g1),
        Complex::new(half * g5, half * g4),
    ];
    let row_2 = [
        Complex::new(-(half * g2), half * g1),
        Complex::new(1.0, half * (hypercharge - g3)),
        Complex::new(half * g7, half * g6),
    ];
    special_unitary(row_1, row_2)
}

/// Each link has sixteen components. The matrices above use at most six.
fn component_of_link(direction: u32, word: u32) -> u32 {
    direction << 4 | word
}

/// [`philox`] for one counter.
fn philox_of_one(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    philox(counter.map(|word| [word]), key.map(|word| [word])).map(|[word]| word)
}

/// Ten rounds on `N` 128-bit counters with 64-bit keys. Each word holds its `N` values.
#[inline(always)]
fn philox<const N: usize>(mut counter: [[u32; N]; 4], mut key: [[u32; N]; 2]) -> [[u32; N]; 4] {
    const ROUNDS: usize = 10;
    const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
    // The golden ratio and √3 − 1, as Weyl increments of the key.
    const INCREMENTS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
    for _ in 0..ROUNDS {
        for k in 0..N {
            let even = u64::from(MULTIPLIERS[0]) * u64::from(counter[0][k]);
            let odd = u64::from(MULTIPLIERS[1]) * u64::from(counter[2][k]);
            counter[0][k] = (odd >> 32) as u32 ^ counter[1][k] ^ key[0][k];
            counter[1][k] = odd as u32;
            counter[2][k] = (even >> 32) as u32 ^ counter[3][k] ^ key[1][k];
            counter[3][k] = even as u32;
            key[0][k] = key[0][k].wrapping_add(INCREMENTS[0]);
            key[1][k] = key[1][k].wrapping_add(INCREMENTS[1]);
        }
    }
    counter
}

/// 53 bits as a number in (0, 1). Every value is exact, while (k + ½) · 2⁻⁵³ would round up to 1 for the largest k.
fn open_unit_interval(low: u32, high: u32) -> f64 {
    let k = (u64::from(high) << 32 | u64::from(low)) >> 11;
    // `powi` is not used: its precision is unspecified.
    const SPACING: f64 = 1.0 / (1u64 << 53) as f64;
    if k == 0 { 0.5 * SPACING } else { k as f64 * SPACING }
}

type Row = [Complex<f64>; 3];

/// The SU(3) matrix whose first two rows are those given, orthonormalised in order.
fn special_unitary(row_1: Row, row_2: Row) -> [Complex<f64>; 9] {
    let a = normalised(row_1);
    // Twice, so that rounding leaves nothing of `a` even where the rows were nearly parallel.
    let b = normalised(without(a, without(a, row_2)));
    let minor = |i: usize, j: usize| (times(a[i], b[j]) - times(a[j], b[i])).conj();
    [a[0], a[1], a[2], b[0], b[1], b[2], minor(1, 2), minor(2, 0), minor(0, 1)]
}

/// `row` minus its projection on the unit vector `unit`.
fn without(unit: Row, row: Row) -> Row {
    let part = |i: usize| times(unit[i].conj(), row[i]);
    let overlap = part(0) + part(1) + part(2);
    std::array::from_fn(|i| row[i] - times(overlap, unit[i]))
}

fn normalised(row: Row) -> Row {
    let square = |z: Complex<f64>| z.re * z.re + z.im * z.im;
    let norm = (square(row[0]) + square(row[1]) + square(row[2])).sqrt();
    row.map(|z| Complex::new(z.re / norm, z.im / norm))
}

/// The product, with four rounded products and two rounded sums. The bits depend on this form.
fn times(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn philox_gives_the_known_answers_of_random123() {
        assert_eq!(philox_of_one([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox_of_one([!0; 4], [!0; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(
            philox_of_one([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn seed_site_component_and_stream_fill_key_and_counter() {
        let seed = 0x0000_0002_0000_0001;
        let site = 0x0000_0004_0000_0003;
        assert_eq!(bits(seed, Stream::SpinorSource, site, 5), philox_of_one([3, 4, 5, 1], [1, 2]));
        assert_eq!(bits(seed, Stream::GaugeLinks, site, 5), philox_of_one([3, 4, 5, 2], [1, 2]));
        assert_eq!(bits(seed, Stream::WeakGaugeLinks, site, 5), philox_of_one([3, 4, 5, 3], [1, 2]));
        assert_eq!(bits(seed, Stream::TestData, site, 5), philox_of_one([3, 4, 5, 4], [1, 2]));
    }

    #[test]
    fn unit_interval_is_open() {
        assert_eq!(open_unit_interval(0, 0), 2f64.powi(-54));
        assert_eq!(open_unit_interval(0x7ff, 0), 2f64.powi(-54));
        assert_eq!(open_unit_interval(0x800, 0), 2f64.powi(-53));
        assert_eq!(open_unit_interval(0, 0x8000_0000), 0.5);
        assert_eq!(open_unit_interval(!0, !0), 1.0 - 2f64.powi(-53));
    }

    /// The bits are the same with and without fused multiply-add in the build, and are within 2e-15 of the formula in 200-bit arithmetic.
    #[test]
    fn bits_of_draws_and_links_never_change() {
        let bits = |(re, im): (f64, f64)| (re.to_bits(), im.to_bits());
        let element = |u: [Complex<f64>; 9], i: usize| bits((u[i].re, u[i].im));
        assert_eq!(bits(gaussian_pair(1, Stream::SpinorSource, 2, 3)), (0xbffa65aff8cae935, 0x3fb02fc19f139265));
        assert_eq!(uniform(1, Stream::TestData, 2, 3).to_bits(), 0x3fe3baf36b18d1cd);
        assert_eq!(element(su3_random(1, 2, 3), 0), (0x3fe30da31ed0bdbf, 0xbfe202c914f0d054));
        assert_eq!(element(su3_random(1, 2, 3), 8), (0x3fd3ec8aed777acd, 0x3fe81962b014d659));
        assert_eq!(element(su3_weak(1, 2, 3, 0.25), 0), (0x3fefbddbc829292a, 0xbf791f6b9ea62d29));
        assert_eq!(element(su3_weak(1, 2, 3, 0.25), 8), (0x3fef17faa745336f, 0xbfbf07173194695a));
    }

    /// Mean of `f` over 2¹⁸ sites.
    fn mean(f: impl Fn(u64) -> f64) -> f64 {
        let sites = 1 << 18;
        (0..sites).map(f).sum::<f64>() / sites as f64
    }

    fn assert_near(found: f64, expected: f64, deviation: f64) {
        // Five standard deviations of a mean over 2¹⁸ draws. The draws are fixed, so the test cannot fail by chance.
        let allowed = 5.0 * deviation / 512.0;
        assert!((found - expected).abs() < allowed, "{found} is not {expected} ± {allowed}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn uniform_numbers_have_the_moments_of_the_uniform_distribution() {
        let u = |site| uniform(11, Stream::TestData, site, 2);
        assert_near(mean(u), 0.5, (1.0f64 / 12.0).sqrt());
        assert_near(mean(|site| (u(site) - 0.5).powi(2)), 1.0 / 12.0, (1.0f64 / 180.0).sqrt());
        assert_near(mean(|site| (u(site) - 0.5) * (u(site + 1) - 0.5)), 0.0, 1.0 / 12.0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn gaussian_numbers_have_unit_variance_and_are_independent() {
        let pair = |site| gaussian_pair(5, Stream::SpinorSource, site, 0);
        for part in [|pair: (f64, f64)| pair.0, |pair: (f64, f64)| pair.1] {
            assert_near(mean(|site| part(pair(site))), 0.0, 1.0);
            assert_near(mean(|site| part(pair(site)).powi(2)), 1.0, 2f64.sqrt());
            assert_near(mean(|site| part(pair(site)).powi(3)), 0.0, 15f64.sqrt());
            assert_near(mean(|site| part(pair(site)).powi(4)), 3.0, 96f64.sqrt());
        }
        let other_stream = |site| gaussian_pair(5, Stream::GaugeLinks, site, 0);
        assert_near(mean(|site| pair(site).0 * pair(site).1), 0.0, 1.0);
        assert_near(mean(|site| pair(site).0 * other_stream(site).0), 0.0, 1.0);
    }

    fn product(a: &[Complex<f64>; 9], b: &[Complex<f64>; 9]) -> [Complex<f64>; 9] {
        std::array::from_fn(|i| (0..3).map(|k| a[3 * (i / 3) + k] * b[3 * k + i % 3]).sum())
    }

    fn dagger(a: &[Complex<f64>; 9]) -> [Complex<f64>; 9] {
        std::array::from_fn(|i| a[3 * (i % 3) + i / 3].conj())
    }

    fn determinant(u: &[Complex<f64>; 9]) -> Complex<f64> {
        u[0] * (u[4] * u[8] - u[5] * u[7]) + u[1] * (u[5] * u[6] - u[3] * u[8]) + u[2] * (u[3] * u[7] - u[4] * u[6])
    }

    fn largest_difference_from_identity(u: &[Complex<f64>; 9]) -> f64 {
        u.iter().enumerate().map(|(i, z)| (z - if i % 4 == 0 { 1.0 } else { 0.0 }).norm()).fold(0.0, f64::max)
    }

    fn assert_special_unitary(u: &[Complex<f64>; 9]) {
        assert!(largest_difference_from_identity(&product(u, &dagger(u))) < 1e-14, "{u:?}");
        assert!(largest_difference_from_identity(&product(&dagger(u), u)) < 1e-14, "{u:?}");
        assert!((determinant(u) - 1.0).norm() < 1e-14, "{u:?}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn random_links_have_the_moments_of_haar_measure() {
        // ∫ U = 0, ∫ |tr U|² = 1, ∫ |tr U|⁴ = 2, ∫ (tr U)³ = 1; the deviations follow from ∫ |tr U|⁸ = 23 and ∫ |tr U|⁶ = 6.
        let trace = |site| {
            let u = su3_random(9, site, 1);
            u[0] + u[4] + u[8]
        };
        assert_near(mean(|site| trace(site).re), 0.0, 1.0);
        assert_near(mean(|site| trace(site).norm_sqr()), 1.0, 1.0);
        assert_near(mean(|site| trace(site).norm_sqr().powi(2)), 2.0, 19f64.sqrt());
        assert_near(mean(|site| trace(site).powi(3).re), 1.0, 6f64.sqrt());
        assert_near(mean(|site| su3_random(9, site, 1)[8].norm_sqr()), 1.0 / 3.0, 1.0 / 3.0);
    }

    #[test]
    fn weak_links_approach_the_exponential() {
        for spread in [1e-2, 1e-3, 1e-4] {
            for site in 0..100 {
                let u = su3_weak(3, site, 2, spread);
                // U − U† = 2 i H spread to first order: its trace, and the distance of U from 1 + iH, are of second order.
                let trace = u[0] + u[4] + u[8];
                assert!(trace.im.abs() < 20.0 * spread * spread, "{trace}");
                assert!(largest_difference_from_identity(&u) < 5.0 * spread);
                let (g1, g2) = gaussian_pair(3, Stream::WeakGaugeLinks, site, 2 << 4);
                let first_order = Complex::new(g2, g1) * (0.5 * spread);
                assert!((u[1] - first_order).norm() < 20.0 * spread * spread);
                assert!((u[3] + first_order.conj()).norm() < 20.0 * spread * spread);
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn mean_square_of_weak_links_is_that_of_the_algebra() {
        // tr H² = Σ gₐ² / 2 has mean 4, and Re tr (1 − U) is half of it to second order.
        let spread = 1e-3;
        let defect = |site| {
            let u = su3_weak(4, site, 0, spread);
            2.0 * (3.0 - (u[0] + u[4] + u[8]).re) / (spread * spread)
        };
        assert_near(mean(defect), 4.0, 2.1);
    }

    #[test]
    fn zero_spread_is_the_identity() {
        let u = su3_weak(1, 2, 3, 0.0);
        assert_eq!(largest_difference_from_identity(&u), 0.0);
    }

    proptest! {
        #[test]
        fn links_are_special_unitary(seed: u64, site: u64, direction in 0u32..4, spread in 0.0..10.0f64) {
            assert_special_unitary(&su3_random(seed, site, direction));
            assert_special_unitary(&su3_weak(seed, site, direction, spread));
        }

        #[test]
        fn draws_do_not_depend_on_what_was_drawn_before(seed: u64, keys in prop::collection::vec((any::<u64>(), any::<u32>()), 1..50)) {
            let draw = |&(site, component): &(u64, u32)| {
                let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site, component);
                (re.to_bits(), im.to_bits(), uniform(seed, Stream::TestData, site, component).to_bits())
            };
            let forward: Vec<_> = keys.iter().map(draw).collect();
            let mut backward: Vec<_> = keys.iter().rev().map(draw).collect();
            backward.reverse();
            prop_assert_eq!(forward, backward);
        }

        #[test]
        fn every_part_of_the_key_matters(seed: u64, site: u64, component: u32, bit in 0u32..64) {
            let here = bits(seed, Stream::SpinorSource, site, component);
            prop_assert_ne!(here, bits(seed ^ 1 << bit, Stream::SpinorSource, site, component));
            prop_assert_ne!(here, bits(seed, Stream::SpinorSource, site ^ 1 << bit, component));
            prop_assert_ne!(here, bits(seed, Stream::SpinorSource, site, component ^ 1 << (bit % 32)));
            for other in [Stream::GaugeLinks, Stream::WeakGaugeLinks, Stream::TestData] {
                prop_assert_ne!(here, bits(seed, other, site, component));
            }
        }
    }
}
