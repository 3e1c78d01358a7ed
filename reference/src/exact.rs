//! The correctly rounded sum of doubles: an integer accumulator wide enough for every finite double, so that partial
//! sums of threads, work-groups, devices and ranks merge as integers in any order, and one rounding ends the sum. Its
//! OpenCL counterpart is `cl/reduce.cl`, which shares the word layout that [`WORDS`] describes.
//!
//! # Representation
//!
//! Every finite double is an integer multiple of 2⁻¹⁰⁷⁴ and below 2¹⁰²⁴ in magnitude. Limb `i` is a signed 64-bit
//! integer that counts units of 2^(32 i − 1074), so the accumulator holds
//!
//! ```text
//! 2⁻¹⁰⁷⁴ · Σᵢ limb[i] · 2^(32 i)
//! ```
//!
//! Limbs overlap by 32 bits (carry-save): adding a term touches two of them and propagates no carry.
//!
//! # Why it is exact
//!
//! - A term is ±m · 2^(s − 1074) with m < 2⁵³ and 0 ≤ s ≤ 2045. With s = 32 i + o, 0 ≤ o < 32, the number m · 2ᵒ is cut
//!   into its low 32 bits, for limb `i`, and the rest, which is below 2⁵², for limb `i + 1`. Nothing is lost.
//! - A limb changes by less than 2⁵² with each term, so after a carry propagation (limbs below 2³²)
//!   [`TERMS_BEFORE_CARRY`] − 1 = 2046 terms fit into 63 bits, whatever they are. The accumulator counts, and
//!   propagates in time. A kernel that cuts a term into three pieces of at most 32 bits instead may add 2³¹ − 1 terms.
//!   Limbs of several work-items may be added up before any carry while their terms together number no more than that.
//! - With fewer than 2⁶³ terms the sum is below 2^(1024 + 1074 + 63) = 2²¹⁶¹ units, and limb 66, whose unit is 2²¹¹²,
//!   stays below 2⁴⁹: the top limb never overflows, whatever the terms do on the way.
//! - Integer addition is associative and commutative, hence the words that result, once carries are propagated, depend
//!   on the multiset of terms alone. [`ExactSum::round`] is a function of those words and rounds once.
//!
//! # Sources
//!
//! U. Kulisch and W. Miranker, *Computer Arithmetic in Theory and Practice* (1981), the long accumulator; R. M. Neal,
//! *Fast exact summation using small and large superaccumulators*, arXiv:1505.05571 (2015), the 64-bit limbs in steps of
//! 32 bits; S. Collange, D. Defour, S. Graillat and R. Iakymchuk, *Numerical reproducibility for the parallel reduction
//! on multi- and many-core architectures*, Parallel Computing 49 (2015) 83, the same on GPUs.

use num_complex::Complex;

/// Number of limbs. Limbs 0 to 64 receive terms; 65 and 66 only carries.
pub const LIMBS: usize = 67;

/// Number of counts that follow the limbs.
pub const COUNTS: usize = 5;

/// Number of words of a sum, all `i64`, in this order:
///
/// | word | content |
/// |---|---|
/// | 0 … `LIMBS` − 1 | limbs, least significant first, base 2³², unit 2⁻¹⁰⁷⁴ |
/// | [`PLUS_INFINITIES`] | number of terms that are +∞ |
/// | [`MINUS_INFINITIES`] | number of terms that are −∞ |
/// | [`NANS`] | number of terms that are NaN |
/// | [`NOT_NEGATIVE_ZEROS`] | number of terms other than −0 (infinities and NaNs included) |
/// | [`TERMS`] | number of terms |
///
/// Infinities and NaNs leave the limbs alone. Two sums merge by adding word by word.
pub const WORDS: usize = LIMBS + COUNTS;

/// Index of the word that counts terms equal to +∞.
pub const PLUS_INFINITIES: usize = LIMBS;
/// Index of the word that counts terms equal to −∞.
pub const MINUS_INFINITIES: usize = LIMBS + 1;
/// Index of the word that counts NaNs.
pub const NANS: usize = LIMBS + 2;
/// Index of the word that counts terms other than −0.
pub const NOT_NEGATIVE_ZEROS: usize = LIMBS + 3;
/// Index of the word that counts all terms.
pub const TERMS: usize = LIMBS + 4;

/// Bits from one limb's unit to the next one's.
pub const LIMB_BITS: u32 = 32;

/// log₂ of the unit of limb 0: the smallest subnormal double.
pub const UNIT_EXPONENT: i32 = -1074;

/// How many changes of less than 2⁵² a limb holds: 2047 · 2⁵² < 2⁶³. What a carry propagation leaves in a limb counts as one.
pub const TERMS_BEFORE_CARRY: u32 = 2047;

const LIMB_MASK: i64 = (1 << LIMB_BITS) - 1;
const TOP: usize = LIMBS - 1;
const COUNT_NAMES: [&str; COUNTS] = ["+inf", "-inf", "NaN", "not -0", "all"];

/// Words that no sum of doubles can have produced: wrong length, or corrupted on the way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExactSumError {
    /// The number of limbs, words or bytes is not the fixed one.
    #[error("an exact sum of {found} {what}: it has {expected}")]
    Length {
        /// What is counted: `limbs`, `words` or `bytes`.
        what: &'static str,
        /// How many there were.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// A count is negative.
    #[error("an exact sum counts {value} terms of the kind \"{name}\": a count is at least 0")]
    NegativeCount {
        /// The kind of term.
        name: &'static str,
        /// The value found.
        value: i64,
    },
    /// The counts contradict one another.
    #[error(
        "an exact sum counts {special} infinities and NaNs, {not_negative_zero} terms that are not -0, and {terms} terms: \
         each may be at most the next"
    )]
    Counts {
        /// Infinities and NaNs together.
        special: i128,
        /// Terms other than −0.
        not_negative_zero: i64,
        /// All terms.
        terms: i64,
    },
    /// The limbs hold more than the counted finite terms can add up to.
    #[error("an exact sum of {finite_terms} finite terms has the top limb {top_limb}: so few doubles cannot reach it")]
    Magnitude {
        /// Terms other than −0, infinities and NaNs.
        finite_terms: i64,
        /// The last limb, as given where it is out of range by itself, else after carry propagation.
        top_limb: i64,
    },
}

/// An exact sum of doubles. Two sums are equal when their words are, once carries are propagated: same exact value, and
/// same counts of special and of all terms.
///
/// ```
/// use lanefield_reference::exact::ExactSum;
/// let mut left = ExactSum::new();
/// left.add_slice(&[1e300, 1.0]);
/// let mut right = ExactSum::new();
/// right.add(-1e300);
/// left.merge(&right);
/// assert_eq!(left.round(), 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct ExactSum {
    words: [i64; WORDS],
    /// Every limb below the top one is at most `pending` · (2⁵² − 1) in magnitude; at most [`TERMS_BEFORE_CARRY`].
    pending: u32,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self { words: [0; WORDS], pending: 0 }
    }
}

impl PartialEq for ExactSum {
    fn eq(&self, other: &Self) -> bool {
        self.to_words() == other.to_words()
    }
}

impl Eq for ExactSum {}

impl ExactSum {
    /// The empty sum.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one term.
    #[inline]
    pub fn add(&mut self, x: f64) {
        if self.pending == TERMS_BEFORE_CARRY {
            self.propagate();
        }
        self.pending += 1;
        self.count_terms(1);
        self.add_within_room(x);
    }

    /// Adds every term of a slice.
    pub fn add_slice(&mut self, mut terms: &[f64]) {
        while !terms.is_empty() {
            if self.pending == TERMS_BEFORE_CARRY {
                self.propagate();
            }
            let room = (TERMS_BEFORE_CARRY - self.pending) as usize;
            let (now, later) = terms.split_at(room.min(terms.len()));
            for &x in now {
                self.add_within_room(x);
            }
            self.pending += now.len() as u32;
            self.count_terms(now.len());
            terms = later;
        }
    }

    /// Counts terms, of any kind. Counts, like merged words, wrap only beyond 2⁶³ terms: no machine counts that far, but
    /// words from outside may claim it, and must not cause a panic.
    #[inline(always)]
    fn count_terms(&mut self, terms: usize) {
        self.words[TERMS] = self.words[TERMS].wrapping_add(terms as i64);
    }

    /// Adds a term that the caller counts, where the caller has seen to it that the limbs have room.
    #[inline(always)]
    fn add_within_room(&mut self, x: f64) {
        let bits = x.to_bits();
        let exponent = (bits >> 52) & 0x7ff;
        let fraction = bits & ((1 << 52) - 1);
        if exponent == 0x7ff {
            return self.add_special(x);
        }
        let other_than_negative_zero = i64::from(bits != (-0.0f64).to_bits());
        self.words[NOT_NEGATIVE_ZEROS] = self.words[NOT_NEGATIVE_ZEROS].wrapping_add(other_than_negative_zero);
        let normal = u64::from(exponent != 0);
        let significand = fraction | normal << 52;
        let shift = exponent - normal;
        // At most 2045 / 32 = 63; the mask says so to the compiler, which then needs no bounds check.
        let limb = (shift >> 5) as usize & 63;
        let offset = shift & 31;
        let low = (significand << offset) as i64 & LIMB_MASK;
        let high = (significand >> (32 - offset)) as i64;
        // All ones for a negative term: (v ^ sign) − sign is then −v, without a branch.
        let sign = bits as i64 >> 63;
        self.words[limb] += (low ^ sign) - sign;
        self.words[limb + 1] += (high ^ sign) - sign;
    }

    #[cold]
    fn add_special(&mut self, x: f64) {
        let kind = match x {
            f64::INFINITY => PLUS_INFINITIES,
            f64::NEG_INFINITY => MINUS_INFINITIES,
            _ => NANS,
        };
        for word in [kind, NOT_NEGATIVE_ZEROS] {
            self.words[word] = self.words[word].wrapping_add(1);
        }
    }

    /// Adds another sum's terms. Exact, associative and commutative while the terms number fewer than 2⁶³.
    pub fn merge(&mut self, other: &Self) {
        if self.pending + other.pending > TERMS_BEFORE_CARRY {
            self.propagate();
            if self.pending + other.pending > TERMS_BEFORE_CARRY {
                let mut other = other.clone();
                other.propagate();
                return self.merge(&other);
            }
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = word.wrapping_add(*other);
        }
        self.pending += other.pending;
    }

    /// Brings every limb but the last into 0 … 2³² − 1. The last carries the sign, so the result is unique.
    fn propagate(&mut self) {
        let mut carry = 0;
        for limb in &mut self.words[..TOP] {
            // The low half takes the carry by itself, so that no limb, however full, overflows.
            let low = (*limb & LIMB_MASK) + carry;
            carry = (*limb >> LIMB_BITS) + (low >> LIMB_BITS);
            *limb = low & LIMB_MASK;
        }
        self.words[TOP] = self.words[TOP].wrapping_add(carry);
        self.pending = 1;
    }

    /// The sum, rounded once to the nearest double, ties to even.
    ///
    /// Any NaN, or infinities of both signs, give NaN; infinities of one sign give that infinity. A sum of one or more
    /// −0 and nothing else is −0; every other sum that is zero, the empty one too, is +0. An infinity comes out of
    /// finite terms only where the exact sum is at least half an ulp above the largest double, in magnitude.
    pub fn round(&self) -> f64 {
        let count = |word: usize| self.words[word];
        match (count(NANS) != 0, count(PLUS_INFINITIES) != 0, count(MINUS_INFINITIES) != 0) {
            (true, _, _) | (_, true, true) => return f64::NAN,
            (_, true, _) => return f64::INFINITY,
            (_, _, true) => return f64::NEG_INFINITY,
            _ => {}
        }
        if count(TERMS) != 0 && count(NOT_NEGATIVE_ZEROS) == 0 {
            return -0.0;
        }
        let mut magnitude = self.clone();
        magnitude.propagate();
        let negative = magnitude.words[TOP] < 0;
        if negative {
            for limb in &mut magnitude.words[..LIMBS] {
                *limb = limb.wrapping_neg();
            }
            magnitude.propagate();
        }
        let rounded = round_magnitude(&magnitude.words[..LIMBS]);
        if negative { -rounded } else { rounded }
    }

    /// The words in the order that [`WORDS`] states, carries propagated, so that equal sums have equal words. In a file
    /// or a message they are little-endian: [`to_le_bytes`](Self::to_le_bytes).
    pub fn to_words(&self) -> [i64; WORDS] {
        let mut canonical = self.clone();
        canonical.propagate();
        canonical.words
    }

    /// A sum from its words, canonical or with carries yet to be propagated, as kernels leave them.
    ///
    /// # Errors
    ///
    /// Where the words cannot be those of a sum: see [`ExactSumError`].
    pub fn from_words(words: &[i64]) -> Result<Self, ExactSumError> {
        match <[i64; WORDS]>::try_from(words) {
            Ok(words) => Self::checked(words),
            Err(_) => Err(ExactSumError::Length { what: "words", found: words.len(), expected: WORDS }),
        }
    }

    /// A sum from limbs (base 2³², unit 2⁻¹⁰⁷⁴, any `i64`) and the counts of terms that are +∞, −∞, NaN, not −0, and of
    /// all terms.
    ///
    /// # Errors
    ///
    /// Where they cannot be those of a sum: see [`ExactSumError`].
    pub fn from_limbs(limbs: &[i64], counts: [i64; COUNTS]) -> Result<Self, ExactSumError> {
        if limbs.len() != LIMBS {
            return Err(ExactSumError::Length { what: "limbs", found: limbs.len(), expected: LIMBS });
        }
        let mut words = [0; WORDS];
        words[..LIMBS].copy_from_slice(limbs);
        words[LIMBS..].copy_from_slice(&counts);
        Self::checked(words)
    }

    /// The canonical words as little-endian bytes.
    pub fn to_le_bytes(&self) -> [u8; 8 * WORDS] {
        let mut bytes = [0; 8 * WORDS];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self.to_words()) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// A sum from the little-endian bytes of its words.
    ///
    /// # Errors
    ///
    /// Where they cannot be those of a sum: see [`ExactSumError`].
    pub fn from_le_bytes(bytes: &[u8]) -> Result<Self, ExactSumError> {
        if bytes.len() != 8 * WORDS {
            return Err(ExactSumError::Length { what: "bytes", found: bytes.len(), expected: 8 * WORDS });
        }
        let mut words = [0; WORDS];
        for (word, &bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = i64::from_le_bytes(bytes);
        }
        Self::checked(words)
    }

    /// Propagates carries, and refuses words that no sum can have.
    fn checked(words: [i64; WORDS]) -> Result<Self, ExactSumError> {
        for (&value, name) in words[LIMBS..].iter().zip(COUNT_NAMES) {
            if value < 0 {
                return Err(ExactSumError::NegativeCount { name, value });
            }
        }
        let (not_negative_zero, terms) = (words[NOT_NEGATIVE_ZEROS], words[TERMS]);
        let special: i128 = [PLUS_INFINITIES, MINUS_INFINITIES, NANS].iter().map(|&word| i128::from(words[word])).sum();
        if special > i128::from(not_negative_zero) || not_negative_zero > terms {
            return Err(ExactSumError::Counts { special, not_negative_zero, terms });
        }
        let finite_terms = not_negative_zero - special as i64;
        let magnitude_error = |top_limb| Err(ExactSumError::Magnitude { finite_terms, top_limb });
        // Far beyond any sum already, and the carry, at most 2³¹ + 1 in magnitude, might wrap.
        if words[TOP].unsigned_abs() > 1 << 62 {
            return magnitude_error(words[TOP]);
        }
        let mut sum = Self { words, pending: TERMS_BEFORE_CARRY };
        sum.propagate();
        // A double is below 2^2098 units in magnitude, and the top limb counts 2^2112, which is 2^14 times that.
        let reach = finite_terms >> 14;
        let possible = match finite_terms {
            0 => sum.words[..LIMBS].iter().all(|&limb| limb == 0),
            _ => (-reach - 1..=reach).contains(&sum.words[TOP]),
        };
        if !possible {
            return magnitude_error(sum.words[TOP]);
        }
        Ok(sum)
    }
}

/// Rounds Σᵢ limb[i] · 2^(32 i − 1074) to nearest, ties to even. Limbs are 0 … 2³² − 1, the last one any value ≥ 0.
fn round_magnitude(limbs: &[i64]) -> f64 {
    let Some(highest) = limbs.iter().rposition(|&limb| limb != 0) else {
        return 0.0;
    };
    let highest_bit = LIMB_BITS as usize * highest + (63 - limbs[highest].leading_zeros() as usize);
    if highest_bit <= 52 {
        // Below 2⁵³ units the encoding of a double is its number of units: subnormals, and the first two binades.
        return f64::from_bits((limbs[0] | limbs[1] << LIMB_BITS) as u64);
    }
    if highest_bit > 2097 {
        return f64::INFINITY;
    }
    // Below 2²⁰⁹⁸ units, so limbs 0 to 65 hold everything, with 32 bits each.
    let limb = |i: usize| limbs[i] as u128;
    let dropped = highest_bit - 52;
    let (first, offset) = (dropped / 32, dropped % 32);
    // 53 + 31 bits span at most three limbs, the last of them 63 + 2; those above the highest bit are zero.
    let window = limb(first) | limb(first + 1) << 32 | limb(first + 2) << 64;
    let significand = (window >> offset) as u64;
    let half_bit = dropped - 1;
    let half = limbs[half_bit / 32] >> (half_bit % 32) & 1;
    let below_half = limbs[half_bit / 32] & ((1 << (half_bit % 32)) - 1);
    let more_than_half = below_half != 0 || limbs[..half_bit / 32].iter().any(|&limb| limb != 0);
    let up = half == 1 && (more_than_half || significand & 1 == 1);
    // The leading one of the significand adds 1 to the exponent field, `dropped` + 1; rounding up may carry into it, at
    // the end into that of infinity, as it must.
    f64::from_bits(((dropped as u64) << 52) + significand + u64::from(up))
}

/// An exact sum of complex numbers: real and imaginary parts each on their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactComplexSum {
    /// Sum of the real parts.
    pub re: ExactSum,
    /// Sum of the imaginary parts.
    pub im: ExactSum,
}

impl ExactComplexSum {
    /// The empty sum.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one term.
    #[inline]
    pub fn add(&mut self, z: Complex<f64>) {
        self.re.add(z.re);
        self.im.add(z.im);
    }

    /// Adds another sum's terms.
    pub fn merge(&mut self, other: &Self) {
        self.re.merge(&other.re);
        self.im.merge(&other.im);
    }

    /// Each part rounded once, as [`ExactSum::round`] does.
    pub fn round(&self) -> Complex<f64> {
        Complex::new(self.re.round(), self.im.round())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use num_traits::{Float, Signed, ToPrimitive, Zero};
    use proptest::prelude::*;

    /// Half of the smallest subnormal, 2⁻¹⁰⁷⁵, as the unit: midpoints between doubles are integers too.
    fn half_units(x: f64) -> BigInt {
        let (significand, exponent, sign) = x.integer_decode();
        (BigInt::from(significand) << (i32::from(exponent) + 1075) as usize) * i32::from(sign)
    }

    fn exact(terms: &[f64]) -> BigInt {
        terms.iter().map(|&x| half_units(x)).fold(BigInt::zero(), |sum, x| sum + x)
    }

    /// Rounding by its definition: no neighbour is closer, and where one is as close, the result is the even one.
    fn assert_is_rounded(exact: &BigInt, rounded: f64) {
        let midpoint = |neighbour: f64| match neighbour.is_infinite() {
            true => half_units(f64::MAX) + (half_units(f64::MAX) - half_units(f64::MAX.next_down())) / 2,
            false => (half_units(rounded.abs().min(f64::MAX)) + half_units(neighbour)) / 2,
        };
        let magnitude = exact.abs();
        assert!(!rounded.is_nan());
        if !exact.is_zero() {
            assert_eq!(exact.is_negative(), rounded.is_sign_negative(), "{exact} rounded to {rounded:e}");
        }
        let even = rounded.to_bits() & 1 == 0;
        if rounded.is_finite() {
            let above = midpoint(rounded.abs().next_up());
            assert!(magnitude < above || even && magnitude == above, "{exact} rounded to {rounded:e}");
        }
        if rounded != 0.0 {
            let below = match rounded.is_infinite() {
                true => midpoint(f64::INFINITY),
                false => midpoint(rounded.abs().next_down()),
            };
            assert!(magnitude > below || even && magnitude == below, "{exact} rounded to {rounded:e}");
        }
    }

    fn sum(terms: &[f64]) -> ExactSum {
        let mut sum = ExactSum::new();
        sum.add_slice(terms);
        sum
    }

    /// Bits, so that −0 differs from +0; every NaN is the same.
    fn bits(x: f64) -> u64 {
        if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
    }

    fn assert_sum_is(terms: &[f64], expected: f64) {
        assert_eq!(bits(sum(terms).round()), bits(expected), "{terms:?}: {:e}", sum(terms).round());
        let negated: Vec<f64> = terms.iter().map(|x| -x).collect();
        let expected = if expected == 0.0 && sum(&negated).words[NOT_NEGATIVE_ZEROS] != 0 { 0.0 } else { -expected };
        assert_eq!(bits(sum(&negated).round()), bits(expected), "{negated:?}");
    }

    /// SplitMix64 (Steele, Lea, Flood 2014): the bits of any double at all.
    fn split_mix(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    const ULP_OF_MAX: f64 = f64::MAX - f64::MAX.next_down();

    /// 4 − 2⁻⁵¹ changes its upper limb by 2⁵² − 1, the most that any double does.
    const FULLEST: f64 = 4f64.next_down();

    #[test]
    fn empty_sum_is_plus_zero() {
        assert_eq!(bits(ExactSum::new().round()), bits(0.0));
    }

    #[test]
    fn zeros_keep_their_sign_only_where_all_are_negative() {
        assert_eq!(bits(sum(&[-0.0]).round()), bits(-0.0));
        assert_eq!(bits(sum(&[-0.0, -0.0, -0.0]).round()), bits(-0.0));
        assert_eq!(bits(sum(&[0.0]).round()), bits(0.0));
        assert_eq!(bits(sum(&[-0.0, 0.0]).round()), bits(0.0));
        assert_eq!(bits(sum(&[1.5, -1.5]).round()), bits(0.0));
        assert_eq!(bits(sum(&[1.5, -0.0, -1.5]).round()), bits(0.0));
        let mut merged = ExactSum::new();
        merged.merge(&sum(&[-0.0]));
        assert_eq!(bits(merged.round()), bits(-0.0));
    }

    #[test]
    fn infinities_and_nans_follow_ieee_addition() {
        let inf = f64::INFINITY;
        assert_sum_is(&[inf, 1.0, -f64::MAX], inf);
        assert_sum_is(&[-inf, -inf], -inf);
        assert_sum_is(&[inf, -inf], f64::NAN);
        assert_sum_is(&[f64::NAN, 1.0], f64::NAN);
        assert_sum_is(&[inf, f64::NAN], f64::NAN);
    }

    #[test]
    fn one_term_is_returned_unchanged() {
        let mut state = 1;
        let special = [f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::MIN_POSITIVE.next_down(), 1.0, 4.0, 0.1];
        for x in special.into_iter().chain((0..100_000).map(|_| f64::from_bits(split_mix(&mut state)))) {
            assert_sum_is(&[x], x);
        }
        for exponent in 0..0x7ff_u64 {
            for fraction in [0, 1, (1 << 52) - 1] {
                let x = f64::from_bits(exponent << 52 | fraction);
                assert_sum_is(&[x], x);
            }
        }
    }

    #[test]
    fn ties_go_to_even_and_a_grain_beyond_decides() {
        let half_ulp = 2f64.powi(-53);
        assert_sum_is(&[1.0, half_ulp], 1.0);
        assert_sum_is(&[1.0, half_ulp, 5e-324], 1.0f64.next_up());
        assert_sum_is(&[1.0, half_ulp, -5e-324], 1.0);
        assert_sum_is(&[1.0f64.next_up(), half_ulp], 1.0f64.next_up().next_up());
        assert_sum_is(&[1.0f64.next_up(), half_ulp, -5e-324], 1.0f64.next_up());
        assert_sum_is(&[2.0f64.next_down(), half_ulp], 2.0);
        let beyond = 2f64.powi(53);
        assert_sum_is(&[beyond, 1.0], beyond);
        assert_sum_is(&[beyond, 1.0, 1.0], beyond + 2.0);
        assert_sum_is(&[beyond + 2.0, 1.0], beyond + 4.0);
    }

    #[test]
    fn ones_add_up_beyond_two_to_the_53() {
        let mut terms = vec![2f64.powi(53)];
        terms.resize(1002, 1.0);
        assert_sum_is(&terms, 2f64.powi(53) + 1000.0);
        terms.resize(1003, 1.0);
        assert_sum_is(&terms, 2f64.powi(53) + 1002.0);
    }

    #[test]
    fn overflow_comes_from_the_exact_sum_alone() {
        let max = f64::MAX;
        assert_sum_is(&[max, max, -max], max);
        assert_sum_is(&[max, max, max, -max, -max, -max, 1.0], 1.0);
        assert_sum_is(&[max, max], f64::INFINITY);
        assert_sum_is(&[max, ULP_OF_MAX / 2.0], f64::INFINITY);
        assert_sum_is(&[max, (ULP_OF_MAX / 2.0).next_down()], max);
        assert_sum_is(&[max, ULP_OF_MAX / 2.0, -5e-324], max);
        assert_sum_is(&[max.next_down(), ULP_OF_MAX / 2.0], max.next_down());
        assert_sum_is(&[max, 1.0], max);
        assert_sum_is(&[max, max, -max, -max], 0.0);
    }

    #[test]
    fn subnormal_sums_are_exact() {
        let smallest = 5e-324;
        assert_sum_is(&[smallest, smallest, smallest], 3.0 * smallest);
        assert_sum_is(&[f64::MIN_POSITIVE, -smallest], f64::MIN_POSITIVE.next_down());
        assert_sum_is(&[f64::MIN_POSITIVE.next_down(), smallest], f64::MIN_POSITIVE);
        assert_sum_is(&[1e300, smallest, -1e300], smallest);
        let terms: Vec<f64> = (0..(1u64 << 20)).map(f64::from_bits).collect();
        assert_sum_is(&terms, f64::from_bits((1 << 19) * ((1 << 20) - 1)));
    }

    #[test]
    fn cancellation_over_600_orders_of_magnitude_leaves_the_small_term() {
        // Negated, not computed again: `powi` may give different bits at two places of one program.
        let powers: Vec<f64> = (-300..=300).map(|e| 10f64.powi(e)).collect();
        let mut terms = powers.clone();
        terms.extend(powers.iter().rev().map(|x| -x));
        terms.push(3e-310);
        assert_sum_is(&terms, 3e-310);
        terms.sort_by(f64::total_cmp);
        assert_sum_is(&terms, 3e-310);
    }

    #[test]
    fn millions_of_terms_that_fill_a_limb_fastest_carry_in_time() {
        const N: usize = 3_000_000;
        for x in [f64::MAX, FULLEST, -FULLEST] {
            let slice = sum(&vec![x; N]);
            let mut one_by_one = ExactSum::new();
            (0..N).for_each(|_| one_by_one.add(x));
            assert_eq!(slice, one_by_one);
            // The product of a double and an integer below 2⁵³ is that of exact sum and single rounding.
            assert_eq!(slice.round(), x * N as f64);
            one_by_one.add_slice(&vec![-x; N]);
            one_by_one.add(-0.75);
            assert_eq!(one_by_one.round(), -0.75);
        }
    }

    #[test]
    fn million_random_terms_equal_big_integers() {
        let mut state = 7;
        let terms: Vec<f64> =
            (0..1_100_000).map(|_| f64::from_bits(split_mix(&mut state))).filter(|x| x.is_finite()).collect();
        assert!(terms.len() > 1_000_000);
        assert_is_rounded(&exact(&terms), sum(&terms).round());
        // The same without the top binades, so that no overflow hides the low bits.
        let terms: Vec<f64> = terms.into_iter().map(|x| x * 2f64.powi(-30)).collect();
        let rounded = sum(&terms).round();
        assert!(rounded.is_finite());
        assert_is_rounded(&exact(&terms), rounded);
    }

    #[test]
    fn limbs_of_a_kernel_that_cuts_in_three_merge_with_ours() {
        let mut state = 3;
        let terms: Vec<f64> =
            (0..5000).map(|_| f64::from_bits(split_mix(&mut state))).filter(|x| x.is_finite()).collect();
        let mut limbs = [0; LIMBS];
        for x in &terms {
            // A subnormal is given as an even significand and the exponent −1075.
            let (significand, exponent, sign) = x.integer_decode();
            let (significand, shift) = match usize::try_from(exponent + 1074) {
                Ok(shift) => (significand, shift),
                Err(_) => (significand / 2, 0),
            };
            for piece in 0..3 {
                let bits = (u128::from(significand) << (shift % 32) >> (32 * piece)) as u32;
                limbs[shift / 32 + piece] += i64::from(bits) * i64::from(sign);
            }
        }
        let n = terms.len() as i64;
        assert_eq!(ExactSum::from_limbs(&limbs, [0, 0, 0, n, n]), Ok(sum(&terms)));
    }

    #[test]
    fn limbs_at_the_ends_of_i64_propagate() {
        let counts = [0, 0, 0, 1 << 46, 1 << 46];
        for value in [i64::MAX, i64::MIN] {
            let mut limbs = [value; LIMBS];
            limbs[TOP] = 0;
            let total = (0..TOP).fold(BigInt::zero(), |sum, i| sum + (BigInt::from(value) << (32 * i)));
            let words = ExactSum::from_limbs(&limbs, counts).unwrap().to_words();
            let found = (0..LIMBS).fold(BigInt::zero(), |sum, i| sum + (BigInt::from(words[i]) << (32 * i)));
            assert_eq!(found, total);
            assert!(words[..TOP].iter().all(|limb| limb.to_u32().is_some()));
        }
    }

    #[test]
    fn impossible_words_are_refused() {
        let good = sum(&[1.0, -2.5, f64::INFINITY, -0.0]).to_words();
        let altered = |word: usize, value: i64| {
            let mut words = good;
            words[word] = value;
            ExactSum::from_words(&words)
        };
        assert!(ExactSum::from_words(&good).is_ok());
        assert!(matches!(ExactSum::from_words(&good[1..]), Err(ExactSumError::Length { found: 71, expected: 72, .. })));
        assert!(matches!(ExactSum::from_limbs(&[], [0; 5]), Err(ExactSumError::Length { found: 0, .. })));
        assert!(matches!(ExactSum::from_le_bytes(&[0; 3]), Err(ExactSumError::Length { found: 3, .. })));
        assert!(matches!(altered(NANS, -1), Err(ExactSumError::NegativeCount { name: "NaN", value: -1 })));
        assert!(matches!(altered(TERMS, 2), Err(ExactSumError::Counts { .. })));
        assert!(matches!(altered(PLUS_INFINITIES, i64::MAX), Err(ExactSumError::Counts { .. })));
        assert!(matches!(altered(TOP, 1), Err(ExactSumError::Magnitude { finite_terms: 2, top_limb: 1 })));
        assert!(matches!(altered(TOP, i64::MIN), Err(ExactSumError::Magnitude { .. })));
        assert!(matches!(altered(NOT_NEGATIVE_ZEROS, 1), Err(ExactSumError::Magnitude { finite_terms: 0, .. })));
    }

    #[test]
    fn forged_counts_never_panic() {
        let mut words = [0; WORDS];
        (words[NOT_NEGATIVE_ZEROS], words[TERMS], words[TOP]) = (i64::MAX, i64::MAX, (1 << 49) - 1);
        let forged = ExactSum::from_words(&words).unwrap();
        let mut merged = forged.clone();
        for _ in 0..20 {
            merged.merge(&merged.clone());
            merged.add(1.0);
            merged.add(f64::NEG_INFINITY);
            let _ = (merged.round(), merged.to_words());
        }
        assert_eq!(forged.round(), f64::INFINITY);
    }

    #[test]
    fn parts_of_a_complex_sum_are_independent() {
        let mut left = ExactComplexSum::new();
        left.add(Complex::new(1e200, 1.0));
        let mut right = ExactComplexSum::new();
        right.add(Complex::new(-1e200, f64::NAN));
        right.add(Complex::new(0.5, 0.0));
        left.merge(&right);
        assert_eq!(left.round().re, 0.5);
        assert!(left.round().im.is_nan());
    }

    /// Doubles of every binade, and neighbours, negatives and halves of ulps of one another.
    fn adversarial() -> impl Strategy<Value = Vec<f64>> {
        let finite = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite());
        let near = (1022u64..1026, prop_oneof![Just(0), Just(1), Just((1 << 52) - 1)], any::<bool>())
            .prop_map(|(e, fraction, negative)| f64::from_bits(e << 52 | fraction | u64::from(negative) << 63));
        let power = (-1074i32..1024).prop_map(|e| 2f64.powi(e.max(-1000)) * 2f64.powi((e + 1000).min(0)));
        let subnormal = (0u64..1 << 52, any::<bool>()).prop_map(|(f, s)| f64::from_bits(f | u64::from(s) << 63));
        let huge = prop_oneof![Just(f64::MAX), Just(-f64::MAX), Just(ULP_OF_MAX / 2.0), Just(-ULP_OF_MAX / 2.0)];
        let term = prop_oneof![2 => finite, 2 => near, 2 => power, 1 => subnormal.clone(), 1 => huge];
        let mixed = prop::collection::vec(term, 0..40);
        let cancelling = (mixed.clone(), subnormal.clone()).prop_map(|(terms, rest)| {
            let negated: Vec<f64> = terms.iter().map(|x| -x).collect();
            [terms, negated, vec![rest]].concat()
        });
        prop_oneof![2 => mixed, 1 => cancelling, 1 => prop::collection::vec(subnormal, 0..40)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn adversarial_sums_equal_big_integers_in_any_order(terms in adversarial().prop_shuffle()) {
            let rounded = sum(&terms).round();
            assert_is_rounded(&exact(&terms), rounded);
            let mut sorted = terms;
            sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
            prop_assert_eq!(bits(sum(&sorted).round()), bits(rounded));
            sorted.reverse();
            prop_assert_eq!(bits(sum(&sorted).round()), bits(rounded));
        }

        #[test]
        fn any_partition_merged_in_any_order_gives_the_same_words(
            terms in adversarial(), parts in prop::collection::vec(0usize..6, 130), order in Just([0, 1, 2, 3, 4, 5]).prop_shuffle(),
        ) {
            let mut partial = vec![ExactSum::new(); 6];
            terms.iter().zip(&parts).for_each(|(&x, &part)| partial[part].add(x));
            let mut chained = ExactSum::new();
            order.iter().for_each(|&part| chained.merge(&partial[part]));
            prop_assert_eq!(&chained, &sum(&terms));
            // As a tree, through raw words, as work-groups leave them.
            let words = |i: usize| partial[order[i]].words;
            let pair = |a: [i64; WORDS], b: [i64; WORDS]| std::array::from_fn::<i64, WORDS, _>(|i| a[i] + b[i]);
            let tree = pair(pair(words(0), words(1)), pair(pair(words(2), words(3)), pair(words(4), words(5))));
            prop_assert_eq!(ExactSum::from_words(&tree).unwrap().to_words(), sum(&terms).to_words());
        }

        #[test]
        fn merges_of_full_accumulators_carry_in_time(
            sizes in prop::collection::vec(prop_oneof![1usize..2048, Just(2046), Just(2047)], 1..20), negative: bool,
        ) {
            let x = if negative { -FULLEST } else { FULLEST };
            let mut merged = ExactSum::new();
            for &n in &sizes {
                merged.merge(&sum(&vec![x; n]));
            }
            prop_assert_eq!(merged.round(), x * sizes.iter().sum::<usize>() as f64);
        }

        #[test]
        fn words_and_bytes_come_back(terms in prop::collection::vec(any::<u64>().prop_map(f64::from_bits), 0..20)) {
            let sum = sum(&terms);
            let words = sum.to_words();
            prop_assert_eq!(ExactSum::from_words(&words).unwrap().to_words(), words);
            prop_assert_eq!(ExactSum::from_limbs(&words[..LIMBS], words[LIMBS..].try_into().unwrap()), Ok(sum.clone()));
            let bytes = sum.to_le_bytes();
            prop_assert_eq!(&bytes[8..16], &words[1].to_le_bytes());
            prop_assert_eq!(ExactSum::from_le_bytes(&bytes), Ok(sum));
        }
    }
}
