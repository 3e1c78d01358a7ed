//! Tests of exact sums: comparison with big integers, on adversarial terms.

use super::*;
use num_bigint::BigInt;
use num_traits::{Float, Signed, ToPrimitive, Zero};
use proptest::prelude::*;

/// Half of the smallest subnormal, 2⁻¹⁰⁷⁵, as the unit: midpoints between doubles are integers too.
fn half_units(x: f64) -> BigInt {
    let (significand, exponent, sign) = x.integer_decode();
    (BigInt::from(significand) << (i32::from(exponent) + 1075) as usize) * i32::from(sign)
}

pub(super) fn exact(terms: &[f64]) -> BigInt {
    terms.iter().map(|&x| half_units(x)).fold(BigInt::zero(), |sum, x| sum + x)
}

/// Rounding by its definition: no neighbour is closer, and if one is equally close, the result is the even one.
pub(super) fn assert_is_rounded(exact: &BigInt, rounded: f64) {
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
        let below = if rounded.is_infinite() { midpoint(f64::INFINITY) } else { midpoint(rounded.abs().next_down()) };
        assert!(magnitude > below || even && magnitude == below, "{exact} rounded to {rounded:e}");
    }
}

pub(super) fn sum(terms: &[f64]) -> ExactSum {
    let mut sum = ExactSum::new();
    sum.add_slice(terms);
    sum
}

/// The bits, so that −0 differs from +0. Every NaN is the same.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

fn assert_sum_is(terms: &[f64], expected: f64) {
    assert_eq!(bits(sum(terms).round()), bits(expected), "{terms:?}: {:e}", sum(terms).round());
    let negated: Vec<f64> = terms.iter().map(|x| -x).collect();
    let expected = if expected == 0.0 && sum(&negated).words[NOT_NEGATIVE_ZEROS] != 0 { 0.0 } else { -expected };
    assert_eq!(bits(sum(&negated).round()), bits(expected), "{negated:?}");
}

/// SplitMix64 (Steele, Lea, Flood 2014): the bits of arbitrary doubles.
pub(super) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(super) const ULP_OF_MAX: f64 = f64::MAX - f64::MAX.next_down();

/// 4 − 2⁻⁵¹ changes its upper limb by 2⁵² − 1, the most that any double does.
pub(super) const FULLEST: f64 = 4f64.next_down();

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
#[cfg_attr(miri, ignore = "takes minutes")]
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
#[cfg_attr(miri, ignore = "takes minutes")]
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
#[cfg_attr(miri, ignore = "takes minutes")]
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
#[cfg_attr(miri, ignore = "takes minutes")]
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
    let terms: Vec<f64> = (0..5000).map(|_| f64::from_bits(split_mix(&mut state))).filter(|x| x.is_finite()).collect();
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

/// `good` with one word replaced, read back.
fn altered(good: &ExactSum, word: usize, value: i64) -> Result<ExactSum, ExactSumError> {
    let mut words = good.to_words();
    words[word] = value;
    ExactSum::from_words(&words)
}

#[test]
fn words_of_the_wrong_number_are_refused() {
    let good = sum(&[1.0]).to_words();
    let words = ExactSum::from_words(&good[1..]).unwrap_err();
    assert_eq!(words, ExactSumError::Length { what: "words", found: 71, expected: 72 });
    let limbs = ExactSum::from_limbs(&[], [0; COUNTS]).unwrap_err();
    assert_eq!(limbs, ExactSumError::Length { what: "limbs", found: 0, expected: 67 });
    let bytes = ExactSum::from_le_bytes(&[0; 3]).unwrap_err();
    assert_eq!(bytes, ExactSumError::Length { what: "bytes", found: 3, expected: 576 });
}

#[test]
fn counts_that_contradict_one_another_are_refused() {
    // Four terms: one infinite, three finite, one of these −0.
    let good = sum(&[1.0, -2.5, f64::INFINITY, -0.0]);
    assert_eq!(&good.to_words()[LIMBS..], [1, 0, 0, 1, 4]);
    assert_eq!(altered(&good, NANS, 0), Ok(good.clone()));
    assert_eq!(altered(&good, NANS, -1), Err(ExactSumError::NegativeCount { name: "NaN", value: -1 }));
    assert_eq!(altered(&good, TERMS, -4), Err(ExactSumError::NegativeCount { name: "all", value: -4 }));
    let counts = |special, not_negative_zero, terms| ExactSumError::Counts { special, not_negative_zero, terms };
    assert_eq!(altered(&good, TERMS, 0), Err(counts(1, 1, 0)));
    assert_eq!(altered(&good, MINUS_INFINITIES, 4), Err(counts(5, 1, 4)));
    assert_eq!(altered(&good, PLUS_INFINITIES, i64::MAX), Err(counts(i128::from(i64::MAX), 1, 4)));
    // An infinity is not −0, so the flag must be set, and it stands for no more terms than there are.
    assert_eq!(altered(&good, NOT_NEGATIVE_ZEROS, 0), Err(counts(1, 0, 4)));
    assert_eq!(altered(&good, NOT_NEGATIVE_ZEROS, 5), Err(counts(1, 5, 4)));
}

#[test]
fn limbs_beyond_what_the_finite_terms_reach_are_refused() {
    let magnitude = |finite_terms, top_limb| Err(ExactSumError::Magnitude { finite_terms, top_limb });
    let three_finite = sum(&[1.0, -2.5, f64::INFINITY, -0.0]);
    assert_eq!(altered(&three_finite, TOP, 1), magnitude(3, 1));
    assert_eq!(altered(&three_finite, TOP, -2), magnitude(3, -2));
    assert_eq!(altered(&three_finite, TOP, i64::MIN), magnitude(3, i64::MIN));
    // Limbs that are not 0, where no term is finite or all are −0.
    assert_eq!(altered(&sum(&[f64::INFINITY, f64::NAN]), 5, 1), magnitude(0, 0));
    assert_eq!(altered(&sum(&[-0.0, -0.0]), 5, 1), magnitude(0, 0));
    assert_eq!(altered(&sum(&[1.0, -2.5]), NOT_NEGATIVE_ZEROS, 0), magnitude(0, -1));
    // 2¹⁴ terms of the largest magnitude reach the top limb, and not its value 2.
    let mut reaching = ExactSum::new().to_words();
    (reaching[NOT_NEGATIVE_ZEROS], reaching[TERMS], reaching[TOP]) = (1, 1 << 14, 1);
    assert!(ExactSum::from_words(&reaching).is_ok());
    reaching[TOP] = 2;
    assert_eq!(ExactSum::from_words(&reaching), magnitude(1 << 14, 2));
}

#[test]
fn the_flag_of_terms_other_than_negative_zero_is_one_however_often_it_was_set() {
    for terms in [vec![1.5; 7], vec![0.0; 5000], vec![f64::NAN, -0.0, 2.0], vec![f64::NEG_INFINITY; 3]] {
        let doubled = {
            let mut doubled = sum(&terms);
            doubled.merge(&sum(&terms));
            doubled
        };
        for sum in [sum(&terms), doubled] {
            assert_eq!(sum.to_words()[NOT_NEGATIVE_ZEROS], 1);
            assert_eq!(altered(&sum, NOT_NEGATIVE_ZEROS, sum.words[TERMS]), Ok(sum));
        }
    }
    assert_eq!(sum(&[-0.0; 5000]).to_words()[NOT_NEGATIVE_ZEROS], 0);
    assert_eq!(ExactSum::new().to_words()[NOT_NEGATIVE_ZEROS], 0);
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

/// Doubles of every binade, together with neighbours, negatives and halves of ulps of one another.
pub(super) fn adversarial() -> impl Strategy<Value = Vec<f64>> {
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
