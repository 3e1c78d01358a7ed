//! Inputs of tests: numbers that are cheap to compute and hard on arithmetic. Each is a function of (seed, site, word) alone, drawn from the
//! counter-based generator, so that a case can be repeated on its own and on any layout.

use std::fmt;

use lanefield_reference::field::{Field, FieldError, SiteObject, Spinors};
use lanefield_reference::gauge::{Configuration, GaugeError, SITE_WORDS};
use lanefield_reference::layout::{Extents, Lattice, Sites};
use lanefield_reference::links::LinkFormat;
use lanefield_reference::random::{Stream, bits};
use lanefield_reference::real::Real;
use num_complex::Complex;
use rayon::prelude::*;
use serde::Serialize;

/// The kind of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbers {
    /// Of either sign, 1/8 to 2 in magnitude. All bits of the mantissa are random.
    Ordinary,
    /// Exponents over half the range of the precision, so that the product of two neither overflows nor vanishes.
    Wide,
    /// From the smallest subnormal number to just above the least normal ones.
    Tiny,
    /// Ordinary numbers, but at one site in 32 a quarter of them are ±0, ±∞, NaN, subnormal, the largest, or the smallest normal numbers.
    Special,
}

lanefield_reference::named!(Numbers: Ordinary = "ordinary", Wide = "wide", Tiny = "tiny", Special = "special");

/// The kind of links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Links {
    /// Random SU(3) matrices.
    Hot,
    /// Matrices of these numbers, which are not unitary.
    Arbitrary(Numbers),
}

impl Links {
    /// The link formats that can store such links.
    pub fn formats(self) -> &'static [LinkFormat] {
        match self {
            Self::Hot => &LinkFormat::ALL,
            Self::Arbitrary(_) => &LinkFormat::OF_ANY_MATRICES,
        }
    }
}

impl fmt::Display for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hot => f.write_str("hot"),
            Self::Arbitrary(numbers) => write!(f, "{numbers}, not unitary"),
        }
    }
}

/// Constants of a precision: powers of two, and the limits of its range.
struct Range {
    /// Half of the largest exponent, roughly.
    half_exponent: u64,
    /// The exponent of the smallest subnormal number.
    least_exponent: i64,
    special: [f64; 14],
}

const F32_RANGE: Range = Range {
    half_exponent: 60,
    least_exponent: -149,
    special: specials([f32::MAX as f64, f32::MIN_POSITIVE as f64, 1.401_298_464_324_817e-45, 1.1e-41, 1.3e-38]),
};

const F64_RANGE: Range = Range {
    half_exponent: 500,
    least_exponent: -1074,
    special: specials([f64::MAX, f64::MIN_POSITIVE, 5e-324, 1.2e-315, 2.5e-308]),
};

const fn specials([largest, smallest_normal, least, subnormal, near]: [f64; 5]) -> [f64; 14] {
    let [infinity, nan] = [f64::INFINITY, f64::NAN];
    [
        0.0,
        -0.0,
        infinity,
        -infinity,
        nan,
        largest,
        -largest,
        smallest_normal,
        -smallest_normal,
        least,
        -least,
        subnormal,
        -near,
        1.0,
    ]
}

fn range<R: Real>() -> &'static Range {
    if R::BITS == 64 { &F64_RANGE } else { &F32_RANGE }
}

/// A number whose sign, mantissa and exponent come from `entropy`. There are `exponents` possible exponents, beginning with `least`.
fn number(entropy: u64, least: i64, exponents: u64) -> f64 {
    const SIGN_AND_MANTISSA: u64 = 1 << 63 | ((1 << 52) - 1);
    // The eleven bits between sign and mantissa choose the exponent.
    let exponent = least + (((entropy >> 52 & 0x7ff) * exponents) >> 11) as i64;
    let power = |exponent: i64| f64::from_bits(((exponent + 1023) as u64) << 52);
    let mantissa = f64::from_bits(entropy & SIGN_AND_MANTISSA | 1023 << 52);
    match exponent {
        // In two steps, the second of which rounds to a subnormal number.
        ..-1022 => mantissa * power(exponent + 512) * power(-512),
        _ => mantissa * power(exponent),
    }
}

fn one<R: Real>(numbers: Numbers, entropy: u64) -> f64 {
    let range = range::<R>();
    match numbers {
        Numbers::Ordinary => number(entropy, -3, 4),
        Numbers::Wide => number(entropy, -(range.half_exponent as i64), 2 * range.half_exponent),
        Numbers::Tiny => number(entropy, range.least_exponent, 56),
        Numbers::Special if entropy.is_multiple_of(4) => range.special[(entropy >> 8) as usize % range.special.len()],
        Numbers::Special => number(entropy, -3, 4),
    }
}

/// The number of words reserved for a field. The word that decides whether a site is special is beyond those of any field.
const WORDS_A_FIELD: u32 = 256;

/// A generator of test data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TestData {
    seed: u64,
}

impl TestData {
    /// The generator with a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The generator for case number `case` of a seed. It is independent of those of all other cases.
    pub fn of_case(seed: u64, case: u64) -> Self {
        let [low, high, _, _] = bits(seed, Stream::TestData, case, u32::MAX);
        Self { seed: u64::from(high) << 32 | u64::from(low) }
    }

    /// Writes one site of field number `field`.
    fn site<R: Real>(&self, numbers: Numbers, field: u32, site: u64, words: &mut [Complex<R>]) {
        let draw = |word| bits(self.seed, Stream::TestData, site, field * WORDS_A_FIELD + word);
        let special = numbers == Numbers::Special && draw(WORDS_A_FIELD - 1)[0].is_multiple_of(32);
        let numbers = if numbers == Numbers::Special && !special { Numbers::Ordinary } else { numbers };
        for (word, value) in (0..).zip(words) {
            let [a, b, c, d] = draw(word);
            let [re, im] = [(a, b), (c, d)].map(|(low, high)| u64::from(high) << 32 | u64::from(low));
            *value = Complex::new(R::from_f64(one::<R>(numbers, re)), R::from_f64(one::<R>(numbers, im)));
        }
    }

    /// Field number `field`, with objects of fewer than 256 words. Its value at a site depends neither on the layout nor on `sites`.
    ///
    /// # Errors
    /// Those of [`Field::zeros`].
    pub fn field<R: Real, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        kind: K,
        numbers: Numbers,
        field: u32,
    ) -> Result<Field<R, K>, FieldError> {
        let extents = lattice.extents();
        Field::from_sites(lattice, sites, kind, |site, words| {
            self.site(numbers, field, extents.global_site(site), words);
        })
    }

    /// Spinor field number `field`.
    ///
    /// # Errors
    /// Those of [`Field::zeros`].
    pub fn spinor<R: Real>(
        &self,
        lattice: Lattice,
        sites: Sites,
        numbers: Numbers,
        field: u32,
    ) -> Result<Field<R, Spinors>, FieldError> {
        self.field(lattice, sites, Spinors::ONE, numbers, field)
    }

    /// A configuration of arbitrary links that are numbers of `R`, or a hot one.
    ///
    /// # Errors
    /// Never: the number of links is right.
    pub fn configuration<R: Real>(&self, extents: Extents, links: Links) -> Result<Configuration, GaugeError> {
        let numbers = match links {
            Links::Hot => return Ok(Configuration::hot(extents, self.seed)),
            Links::Arbitrary(numbers) => numbers,
        };
        let mut words = vec![Complex::new(0.0, 0.0); extents.volume() * SITE_WORDS];
        words.par_chunks_exact_mut(SITE_WORDS).enumerate().for_each(|(site, words)| {
            let mut rounded = [Complex::new(R::default(), R::default()); SITE_WORDS];
            self.site(numbers, LINKS, site as u64, &mut rounded);
            for (word, value) in words.iter_mut().zip(rounded) {
                // Half the exponent: a rebuilt third row multiplies two of them, and must not overflow.
                *word = match numbers {
                    Numbers::Wide => Complex::new(root_of_magnitude(value.re), root_of_magnitude(value.im)),
                    _ => Complex::new(value.re.to_f64(), value.im.to_f64()),
                };
            }
        });
        Configuration::new(extents, words)
    }

    /// A scalar for a vector operation.
    pub fn scalar<R: Real>(&self, numbers: Numbers, number: u32) -> f64 {
        let [low, high, _, _] = bits(self.seed, Stream::TestData, u64::MAX, number);
        one::<R>(numbers, u64::from(high) << 32 | u64::from(low))
    }
}

/// The field number with which links are drawn. Those of spinor fields are smaller.
const LINKS: u32 = 1 << 16;

/// A number with half the exponent.
fn root_of_magnitude<R: Real>(value: R) -> f64 {
    value.to_f64().abs().sqrt().copysign(value.to_f64())
}
