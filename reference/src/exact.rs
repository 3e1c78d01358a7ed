//! The correctly rounded sum of doubles. Its accumulator is an integer wide enough for every finite double, so partial sums of threads, work-groups,
//! devices and ranks merge as integers in any order; the result is rounded once at the end. Long sums use [`RunningSum`], which keeps two doubles
//! for each lane in registers, and adds to the integer only what these cannot hold. The OpenCL counterpart of both is `cl/exact.clh`, which has the
//! same word layout, see [`WORDS`].
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
//! - A term is ±m · 2^(s − 1074) with m < 2⁵³ and 0 ≤ s ≤ 2045. With s = 32 i + o, 0 ≤ o < 32, the number m · 2ᵒ is split
//!   into its low 32 bits, for limb `i`, and the rest, which is below 2⁵², for limb `i + 1`. Nothing is lost.
//! - A limb changes by less than 2⁵² with each term. So after a carry propagation (limbs below 2³²)
//!   `TERMS_BEFORE_CARRY` − 1 = 2046 terms fit into 63 bits, whatever they are. The accumulator counts terms, and
//!   propagates carries in time. A kernel that splits a term into three pieces of at most 32 bits may add 2³¹ − 1
//!   terms. Limbs of several work-items may be added before any carry propagation if they have at most that many terms.
//! - With fewer than 2⁶³ terms the sum is below 2^(1024 + 1074 + 63) = 2²¹⁶¹ units. Limb 66, whose unit is 2²¹¹²,
//!   stays below 2⁴⁹, so the top limb never overflows, whatever the terms do on the way.
//! - Integer addition is associative and commutative. So once carries are propagated, the words depend only on the multiset of terms.
//!   [`ExactSum::round`] is a function of those words and rounds once.
//!
//! # Sources
//!
//! U. Kulisch and W. Miranker, *Computer Arithmetic in Theory and Practice* (1981), the long accumulator; R. M. Neal,
//! *Fast exact summation using small and large superaccumulators*, arXiv:1505.05571 (2015), the 64-bit limbs in steps of
//! 32 bits; S. Collange, D. Defour, S. Graillat and R. Iakymchuk, *Numerical reproducibility for the parallel reduction
//! on multi- and many-core architectures*, Parallel Computing 49 (2015) 83, the same on GPUs.

mod running;

use num_complex::Complex;

pub(crate) use running::RowSums;
pub use running::RunningSum;

/// Number of limbs. Limbs 0 to 64 receive terms; 65 and 66 only carries.
pub const LIMBS: usize = 67;

/// Number of counts that follow the limbs.
pub const COUNTS: usize = 5;

/// Number of words of a sum, all `i64`, in this order:
///
/// | word | content |
/// |---|---|
/// | 0 … `LIMBS` − 1 | limbs, least significant first, base 2³², unit 2⁻¹⁰⁷⁴ |
/// | `PLUS_INFINITIES` | number of terms that are +∞ |
/// | `MINUS_INFINITIES` | number of terms that are −∞ |
/// | `NANS` | number of terms that are NaN |
/// | `NOT_NEGATIVE_ZEROS` | 0 if all terms are −0, or there are none; else positive, and 1 in the canonical form |
/// | [`TERMS`] | number of terms |
///
/// Infinities and NaNs do not change the limbs. Two sums merge by adding word by word.
pub const WORDS: usize = LIMBS + COUNTS;

/// Index of the word that counts terms equal to +∞.
pub(crate) const PLUS_INFINITIES: usize = LIMBS;
/// Index of the word that counts terms equal to −∞.
pub(crate) const MINUS_INFINITIES: usize = LIMBS + 1;
/// Index of the word that counts NaNs.
pub(crate) const NANS: usize = LIMBS + 2;
/// Index of the word that is nonzero if there are terms other than −0, including infinities and NaNs.
pub(crate) const NOT_NEGATIVE_ZEROS: usize = LIMBS + 3;
/// Index of the word that counts all terms.
pub const TERMS: usize = LIMBS + 4;

/// Bits from one limb's unit to the next one's.
pub(crate) const LIMB_BITS: u32 = 32;

/// The number of changes of less than 2⁵² that a limb can hold: 2047 · 2⁵² < 2⁶³. The value that a carry propagation leaves in a limb counts as one.
pub(crate) const TERMS_BEFORE_CARRY: u32 = 2047;

const LIMB_MASK: i64 = (1 << LIMB_BITS) - 1;
const TOP: usize = LIMBS - 1;
const COUNT_NAMES: [&str; COUNTS] = ["+inf", "-inf", "NaN", "not -0", "all"];

/// Words that cannot be a sum of doubles: there is a wrong number of them, or they were corrupted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum ExactSumError {
    #[error("an exact sum has {expected} {what}, not {found}")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error("an exact sum counts {value} terms of the kind \"{name}\": a count is at least 0")]
    NegativeCount { name: &'static str, value: i64 },
    #[error(
        "an exact sum counts {special} infinities and NaNs, {not_negative_zero} terms that are not -0, and {terms} terms: \
         the first two may be at most the last, and the second is not 0 where the first is not"
    )]
    Counts { special: i128, not_negative_zero: i64, terms: i64 },
    #[error(
        "an exact sum of {finite_terms} finite terms has the top limb {top_limb}: that number of doubles cannot reach it"
    )]
    Magnitude { finite_terms: i64, top_limb: i64 },
}

/// An exact sum of doubles. Two sums are equal if their words are equal after carry propagation: they have the same exact value, and the same
/// numbers of special terms and of all terms.
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

/// The sum of all terms, in any order.
impl FromIterator<f64> for ExactSum {
    fn from_iter<T: IntoIterator<Item = f64>>(terms: T) -> Self {
        let mut sum = Self::new();
        terms.into_iter().for_each(|term| sum.add(term));
        sum
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
            self.count_terms(now.len() as u64);
            terms = later;
        }
    }

    /// Counts terms of any kind. Counts, like merged words, wrap beyond 2⁶³ terms. No machine counts that far, but words from outside may claim it,
    /// and must not cause a panic.
    #[inline(always)]
    fn count_terms(&mut self, terms: u64) {
        self.words[TERMS] = self.words[TERMS].wrapping_add(terms as i64);
    }

    /// Adds a term without counting it. The caller counts it, and makes sure that the limbs have room.
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

    /// Adds the unevaluated sum `high + low` of an error-free summation, which stands for `terms` terms. Whether all of them were −0 is determined
    /// from `high` only.
    ///
    /// The exact value of both must be one that a sum of `terms` doubles can have.
    pub fn add_pair(&mut self, high: f64, low: f64, terms: u64) {
        self.add_uncounted(high, low);
        self.count_terms(terms);
    }

    /// Adds high + low without counting terms. The sign of a zero `low` is ignored.
    fn add_uncounted(&mut self, high: f64, low: f64) {
        if self.pending + 2 > TERMS_BEFORE_CARRY {
            self.propagate();
        }
        self.pending += 2;
        self.add_within_room(high);
        if low != 0.0 {
            self.add_within_room(low);
        }
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

    /// Adds the terms of another sum. Exact, associative and commutative as long as there are fewer than 2⁶³ terms.
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

    /// Reduces every limb but the last to 0 … 2³² − 1. The last limb carries the sign, so the result is unique.
    fn propagate(&mut self) {
        let mut carry = 0;
        for limb in &mut self.words[..TOP] {
            // The low half takes the carry by itself, so that no limb, however full, overflows.
            let low = (*limb & LIMB_MASK) + carry;
            carry = (*limb >> LIMB_BITS) + (low >> LIMB_BITS);
            *limb = low & LIMB_MASK;
        }
        self.words[TOP] = self.words[TOP].wrapping_add(carry);
        self.words[NOT_NEGATIVE_ZEROS] = self.words[NOT_NEGATIVE_ZEROS].min(1);
        self.pending = 1;
    }

    /// The sum, rounded once to the nearest double, ties to even.
    ///
    /// The result is NaN if a term is NaN, or if there are infinities of both signs; infinities of one sign give that infinity. A sum of one or more
    /// −0 and nothing else is −0; every other sum that is zero, including the empty one, is +0. The sum of finite terms is infinite only if its
    /// magnitude is at least half an ulp above the largest double.
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

    /// The words in the order of [`WORDS`], with carries propagated, so that equal sums have equal words. In a file or a message they are
    /// little-endian: [`to_le_bytes`](Self::to_le_bytes).
    pub fn to_words(&self) -> [i64; WORDS] {
        let mut canonical = self.clone();
        canonical.propagate();
        canonical.words
    }

    /// A sum from its words, in canonical form or with unpropagated carries, as kernels leave them.
    ///
    /// # Errors
    ///
    /// If the words cannot be those of a sum: see [`ExactSumError`].
    pub fn from_words(words: &[i64]) -> Result<Self, ExactSumError> {
        match <[i64; WORDS]>::try_from(words) {
            Ok(words) => Self::checked(words),
            Err(_) => Err(ExactSumError::Length { what: "words", found: words.len(), expected: WORDS }),
        }
    }

    /// A sum from limbs (base 2³², unit 2⁻¹⁰⁷⁴, any `i64`) and the words that follow them, as in [`WORDS`].
    ///
    /// # Errors
    ///
    /// If they cannot be those of a sum: see [`ExactSumError`].
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
    /// If they cannot be those of a sum: see [`ExactSumError`].
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

    /// Propagates carries, and refuses words that a sum cannot have.
    fn checked(words: [i64; WORDS]) -> Result<Self, ExactSumError> {
        for (&value, name) in words[LIMBS..].iter().zip(COUNT_NAMES) {
            if value < 0 {
                return Err(ExactSumError::NegativeCount { name, value });
            }
        }
        let (not_negative_zero, terms) = (words[NOT_NEGATIVE_ZEROS], words[TERMS]);
        let special: i128 = [PLUS_INFINITIES, MINUS_INFINITIES, NANS].iter().map(|&word| i128::from(words[word])).sum();
        let most = i128::from(terms);
        if special > most || not_negative_zero > terms || (special > 0 && not_negative_zero == 0) {
            return Err(ExactSumError::Counts { special, not_negative_zero, terms });
        }
        let finite_terms = if not_negative_zero == 0 { 0 } else { terms - special as i64 };
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

/// An exact sum of complex numbers: the real and the imaginary parts are summed separately.
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

    /// Adds the terms of another sum.
    pub fn merge(&mut self, other: &Self) {
        self.re.merge(&other.re);
        self.im.merge(&other.im);
    }

    /// The sum, with each part rounded once as in [`ExactSum::round`].
    pub fn round(&self) -> Complex<f64> {
        Complex::new(self.re.round(), self.im.round())
    }
}

#[cfg(test)]
mod tests;
