//! Tests of running sums: they must have the same words as sums with limbs alone, and the same rounding as big integers, whether pairs of doubles
//! can hold the sum or not.

use std::marker::PhantomData;

use num_bigint::BigInt;
use num_traits::Zero;
use proptest::prelude::*;

use super::super::tests::{FULLEST, ULP_OF_MAX, adversarial, assert_is_rounded, exact, split_mix, sum};
use super::super::{NOT_NEGATIVE_ZEROS, PLUS_INFINITIES, TERMS};
use super::*;
use crate::instructions::Instructions;
use crate::tensor::sets::{Baseline, InstructionSet, Task};

const SMALLEST: f64 = 5e-324;

fn running(terms: &[f64]) -> RunningSum {
    let mut sum = <RunningSum>::new();
    sum.add_slice(terms);
    sum
}

/// The number of terms that were added to the integers on the way.
fn spilled(sum: &RunningSum) -> u64 {
    sum.exact.words[TERMS] as u64
}

/// Lengths around those of one block and of several.
fn lengths() -> impl Iterator<Item = usize> {
    [0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 192, 193, 511, 512, 513].into_iter()
}

/// The sum of terms, added in pieces of a given length, and of rows, added a given number at a time, with every instruction set of the processor.
struct Pieces<'a, D>(&'a [f64], PhantomData<D>);

impl<D: Doubles> Task<usize> for Pieces<'_, D> {
    type Output = ExactSum;
    #[inline(always)]
    fn run(&self, piece: usize) -> ExactSum {
        let mut sum = RunningSum::<D>::new();
        for terms in self.0.chunks(piece) {
            sum.add_slice(terms);
        }
        sum.into_exact()
    }
}

struct Rows<'a, D, R> {
    reals: usize,
    all: &'a [R],
    rows: &'a [u32],
    doubles: PhantomData<D>,
}

impl<D: Doubles, R: Real> Task<usize> for Rows<'_, D, R> {
    type Output = RowSums<D>;
    #[inline(always)]
    fn run(&self, at_a_time: usize) -> RowSums<D> {
        let mut sums = RowSums::new(self.reals);
        for rows in self.rows.chunks(at_a_time) {
            sums.add_rows(self.all, rows);
        }
        sums
    }
}

/// Calls a macro's body for each instruction set of the processor, with its doubles, the set and its name.
macro_rules! with_every_set {
    (|$D:ident, $Set:ident, $name:ident| $body:expr) => {{
        {
            type $D = Portable;
            type $Set = Baseline;
            let $name = Instructions::Baseline;
            $body
        }
        #[cfg(target_arch = "x86_64")]
        if Instructions::best() >= Instructions::Avx2 {
            type $D = crate::tensor::x86::TwiceFourDoubles;
            type $Set = crate::tensor::sets::Avx2;
            let $name = Instructions::Avx2;
            $body
        }
        #[cfg(target_arch = "x86_64")]
        if Instructions::best() >= Instructions::Avx512 {
            type $D = crate::tensor::x86::EightDoubles;
            type $Set = crate::tensor::sets::Avx512;
            let $name = Instructions::Avx512;
            $body
        }
    }};
}

/// Compares with limbs and with big integers, for terms that are added at once, and in pieces of several lengths.
fn assert_equals_limbs(terms: &[f64]) {
    let limbs = sum(terms);
    let at_once = running(terms).into_exact();
    assert_eq!(at_once.to_words(), limbs.to_words(), "{} terms", terms.len());
    if terms.iter().all(|x| x.is_finite()) {
        assert_is_rounded(&exact(terms), at_once.round());
    }
    assert!(at_once.round().to_bits() == limbs.round().to_bits() || at_once.round().is_nan() && limbs.round().is_nan());
    for piece in [1, 7, <RunningSum>::BLOCK - 1, <RunningSum>::BLOCK, <RunningSum>::BLOCK + 1, usize::MAX] {
        with_every_set!(|D, Set, name| {
            let found = Set::run(&Pieces::<D>(terms, PhantomData), piece);
            assert_eq!(found.to_words(), limbs.to_words(), "pieces of {piece}, {name}");
        });
    }
}

/// As [`assert_equals_limbs`], in several orders: as given, reversed, sorted by value and by magnitude, and shuffled.
fn assert_equals_limbs_in_any_order(terms: &[f64]) {
    let mut terms = terms.to_vec();
    assert_equals_limbs(&terms);
    terms.reverse();
    assert_equals_limbs(&terms);
    let mut state = 11;
    for last in (1..terms.len()).rev() {
        terms.swap(last, (split_mix(&mut state) % (last as u64 + 1)) as usize);
    }
    assert_equals_limbs(&terms);
    terms.sort_by(f64::total_cmp);
    assert_equals_limbs(&terms);
    terms.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    assert_equals_limbs(&terms);
    terms.reverse();
    assert_equals_limbs(&terms);
}

/// Doubles of both signs in [0.5, 1) · 2^exponent.
fn of_one_binade(exponent: i32, count: usize) -> Vec<f64> {
    let mut state = exponent as u64;
    let unit = |bits: u64| f64::from_bits(1022 << 52 | bits >> 12 | bits << 63);
    (0..count).map(|_| unit(split_mix(&mut state)) * 2f64.powi(exponent)).collect()
}

#[test]
fn no_term_is_plus_zero_and_counts_nothing() {
    assert_equals_limbs(&[]);
    let mut nothing = <RunningSum>::default();
    nothing.add_slice(&[]);
    assert_eq!(nothing.into_exact(), ExactSum::new());
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn one_term_comes_back() {
    let mut state = 5;
    let special = [1.0, -0.1, f64::MAX, -f64::MAX, SMALLEST, f64::MIN_POSITIVE, 0.0, -0.0];
    for x in special.into_iter().chain((0..2000).map(|_| f64::from_bits(split_mix(&mut state)))) {
        assert_equals_limbs(&[x]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn every_length_around_a_block_counts_its_terms() {
    for length in lengths() {
        assert_equals_limbs(&of_one_binade(3, length));
        assert_eq!(running(&vec![0.75; length]).into_exact().round(), 0.75 * length as f64);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn terms_within_thirty_binades_stay_in_registers() {
    let terms: Vec<f64> = (0..30).flat_map(|exponent| of_one_binade(exponent, 2000)).collect();
    assert_eq!(spilled(&running(&terms)), 0);
    assert_equals_limbs_in_any_order(&terms);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn three_well_separated_scales_in_a_lane_spill_and_stay_exact() {
    let mut terms = Vec::new();
    for scale in [1e100, 1.0, 1e-100] {
        terms.extend((1..=64).map(|k| scale * f64::from(k)));
    }
    let sum = running(&terms);
    // The last scale alone fits again.
    assert_eq!((spilled(&sum), sum.terms), (128, 64));
    assert_equals_limbs_in_any_order(&terms);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn blocks_that_never_fit_all_spill() {
    // In each lane of each block, terms of eight scales.
    let scales = [1e-300, 1e-200, 1e-100, 1.0, 1e100, 1e200, 1e300, 1e-250];
    let terms: Vec<f64> = scales.iter().flat_map(|&scale| [scale; LANES]).collect::<Vec<_>>().repeat(20);
    let sum = running(&terms);
    assert_eq!((spilled(&sum), sum.terms), (terms.len() as u64, 0));
    assert_equals_limbs_in_any_order(&terms);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn one_lane_that_does_not_fit_spills_a_block_that_the_others_hold() {
    for lane in 0..LANES {
        for row in 0..BLOCK {
            let mut terms = of_one_binade(0, 3 * <RunningSum>::BLOCK);
            let here = <RunningSum>::BLOCK + row * LANES + lane;
            terms[here] = 1e-200;
            let sum = running(&terms);
            assert_eq!((spilled(&sum), sum.terms), (128, 64), "lane {lane}, row {row}");
            assert_equals_limbs(&terms);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn blocks_that_spill_between_blocks_that_do_not() {
    let mut terms = Vec::new();
    for k in 0..30 {
        terms.extend(of_one_binade(k % 7, 40));
        if k % 3 == 0 {
            terms.extend([1e200, -3e-200, 2.5, -1e200, 1e-310, f64::MAX, -f64::MAX]);
        }
    }
    let sum = running(&terms);
    assert!(spilled(&sum) > 0 && spilled(&sum) + sum.terms == terms.len() as u64);
    assert_equals_limbs_in_any_order(&terms);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn ones_beyond_two_to_the_53_are_all_counted() {
    let beyond = 2f64.powi(53);
    for ones in lengths() {
        let mut terms = vec![1.0; ones + 1];
        terms[ones / 2] = beyond + 2.0;
        assert_equals_limbs_in_any_order(&terms);
    }
    let chain: Vec<f64> = (0..500).flat_map(|_| [beyond, 1.0, -beyond, 1.0, beyond + 2.0, -1.0]).collect();
    assert_equals_limbs(&chain);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn cancellation_over_600_orders_of_magnitude_is_exact() {
    let powers: Vec<f64> = (-323..=308).map(|e| format!("1e{e}").parse().unwrap()).collect();
    let mut terms = powers.clone();
    terms.extend(powers.iter().rev().map(|x| -x));
    terms.push(3e-310);
    assert_equals_limbs_in_any_order(&terms);
    assert_eq!(running(&terms).into_exact().round(), 3e-310);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn subnormal_terms_stay_in_registers_and_are_exact() {
    let mut state = 2;
    let bits: Vec<u64> = (0..5000).map(|_| split_mix(&mut state)).collect();
    let terms: Vec<f64> = bits.iter().map(|bits| f64::from_bits(bits >> 12 | bits << 63)).collect();
    assert!(terms.iter().all(|x| x.is_subnormal()));
    assert_eq!(spilled(&running(&terms)), 0);
    assert_equals_limbs_in_any_order(&terms);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn partial_sums_that_overflow_leave_a_finite_total_alone() {
    // The same lane overflows in its first two terms, and comes back.
    for gap in [1, LANES, <RunningSum>::BLOCK, 100] {
        let mut terms = vec![0.5; 4 * gap + 1];
        for (k, x) in [f64::MAX, f64::MAX, -f64::MAX, -f64::MAX].into_iter().enumerate() {
            terms[k * gap] = x;
        }
        assert_equals_limbs_in_any_order(&terms);
    }
    // All lanes stay finite, and only their sum overflows.
    let terms: Vec<f64> =
        (0..<RunningSum>::BLOCK).map(|k| if k % LANES < 4 { f64::MAX / 16.0 } else { -f64::MAX / 16.0 }).collect();
    assert_equals_limbs_in_any_order(&terms);
    let many = [vec![f64::MAX; 1000], vec![-f64::MAX; 999]].concat();
    assert_equals_limbs_in_any_order(&many);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn the_largest_doubles_and_halves_of_their_ulp_are_exact() {
    let half_ulp = ULP_OF_MAX / 2.0;
    for rest in [half_ulp, -half_ulp, half_ulp.next_down(), ULP_OF_MAX, SMALLEST, -SMALLEST] {
        for large in [f64::MAX, -f64::MAX, f64::MAX.next_down()] {
            for length in [2, 9, 17, 65] {
                let mut terms = vec![0.0; length];
                (terms[0], terms[length - 1]) = (large, rest);
                assert_equals_limbs_in_any_order(&terms);
                assert_equals_limbs_in_any_order(&[&terms[..], &[-large, SMALLEST]].concat());
            }
        }
    }
    assert_equals_limbs(&vec![f64::MAX; 5000]);
    assert_equals_limbs(&vec![FULLEST; 5000]);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn infinities_and_nan_are_counted_wherever_they_stand() {
    for length in [1, 8, 64, 65, 200] {
        for place in [0, length / 2, length - 1] {
            for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN] {
                let mut terms = of_one_binade(0, length);
                terms[place] = special;
                assert_equals_limbs(&terms);
            }
        }
    }
    assert_equals_limbs_in_any_order(&[vec![f64::INFINITY; 70], vec![1.0; 70]].concat());
    assert_equals_limbs_in_any_order(&[vec![f64::INFINITY; 70], vec![f64::NEG_INFINITY; 3]].concat());
}

#[test]
fn a_sum_that_overflows_counts_no_infinity() {
    let sum = running(&[f64::MAX; 16]).into_exact();
    assert_eq!((sum.round(), sum.to_words()[PLUS_INFINITIES]), (f64::INFINITY, 0));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn zeros_are_negative_only_where_every_term_is() {
    for length in lengths().filter(|&length| length > 0) {
        let mut terms = vec![-0.0; length];
        assert_equals_limbs(&terms);
        assert_eq!(running(&terms).into_exact().round().to_bits(), (-0.0f64).to_bits(), "{length}");
        for place in [0, length / 2, length - 1] {
            terms[place] = 0.0;
            assert_equals_limbs(&terms);
            assert_eq!(running(&terms).into_exact().round().to_bits(), 0, "{length} terms, +0 at {place}");
            terms[place] = -0.0;
        }
    }
    // A sum that cancels is +0, though no term is.
    let cancelling = [vec![1.5; 64], vec![-1.5; 64], vec![-0.0; 64]].concat();
    assert_equals_limbs_in_any_order(&cancelling);
    assert_eq!(running(&cancelling).into_exact().round().to_bits(), 0);
}

#[test]
fn parts_summed_apart_merge_to_the_words_of_the_whole() {
    let terms = [of_one_binade(0, 333), vec![1e200, -1e-200, 1e-310], of_one_binade(-40, 500)].concat();
    for cut in [0, 1, 64, 334, 400, terms.len()] {
        let mut merged = running(&terms[..cut]).into_exact();
        merged.merge(&running(&terms[cut..]).into_exact());
        assert_eq!(merged.to_words(), sum(&terms).to_words());
    }
}

#[test]
fn a_pair_is_the_sum_of_both_and_counts_what_it_stands_for() {
    let mut pair = ExactSum::new();
    pair.add_pair(2f64.powi(53), -1.0, 7);
    let mut words = sum(&[2f64.powi(53), -1.0]).to_words();
    words[TERMS] = 7;
    assert_eq!(pair.to_words(), words);
    pair.add_pair(-0.0, -0.0, 0);
    assert_eq!(pair.to_words(), words, "what stands for no term adds nothing");
    pair.add_pair(f64::INFINITY, f64::NAN, 1);
    assert!(pair.round().is_nan());
}

#[test]
fn the_high_part_of_a_pair_alone_says_whether_terms_are_negative_zeros() {
    for (high, low, flag, rounded) in [
        (-0.0f64, -0.0, 0, -0.0f64),
        (-0.0, 0.0, 0, -0.0),
        (0.0, -0.0, 1, 0.0),
        (0.0, 0.0, 1, 0.0),
        (2.0, -0.0, 1, 2.0),
    ] {
        let mut pair = ExactSum::new();
        pair.add_pair(high, low, 3);
        assert_eq!(pair.to_words()[NOT_NEGATIVE_ZEROS], flag, "{high:?} {low:?}");
        assert_eq!(pair.round().to_bits(), rounded.to_bits(), "{high:?} {low:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn pairs_that_fill_limbs_fastest_carry_in_time() {
    let mut pairs = ExactSum::new();
    let mut total = BigInt::zero();
    for _ in 0..3000 {
        pairs.add_pair(FULLEST, FULLEST * 2f64.powi(-53), 2);
        total += exact(&[FULLEST, FULLEST * 2f64.powi(-53)]);
    }
    assert_is_rounded(&total, pairs.round());
    let both: Vec<f64> = [FULLEST, FULLEST * 2f64.powi(-53)].repeat(3000);
    assert_eq!(pairs.to_words(), sum(&both).to_words());
}

/// Compares each place of the rows with limbs, for rows that are added at once and a few at a time.
fn assert_rows_equal_limbs<R: Real>(reals: usize, rows: &[Vec<R>]) {
    let column = |place: usize| rows.iter().map(|row| row[place].to_f64()).collect::<Vec<f64>>();
    let expected: Vec<_> = (0..reals).map(|place| sum(&column(place)).to_words()).collect();
    let (all, numbers) = (rows.concat(), (0..rows.len() as u32).collect::<Vec<_>>());
    for at_a_time in [usize::MAX, 1, 3, BLOCK, BLOCK + 1] {
        with_every_set!(|D, Set, name| {
            let rows_task = Rows::<D, R> { reals, all: &all, rows: &numbers, doubles: PhantomData };
            let sums = Set::run(&rows_task, at_a_time);
            let at = |place: usize| {
                let mut total = ExactSum::new();
                sums.add_to(&mut total, place);
                total.to_words()
            };
            let found: Vec<_> = (0..reals).map(at).collect();
            assert!(found == expected, "{reals} reals a row, {} rows, {at_a_time} at a time, {name}", rows.len());
        });
    }
}

/// Lengths of rows. Most of them are not multiples of a vector.
const ROW_LENGTHS: [usize; 10] = [1, 2, 6, 7, 8, 9, 12, 16, 23, 40];
/// Numbers of rows around those that are checked together.
const ROW_COUNTS: [usize; 8] = [0, 1, 7, 8, 9, 16, 17, 65];

fn rows_of<R: Real>(reals: usize, count: usize, real: impl Fn(usize, usize) -> f64) -> Vec<Vec<R>> {
    (0..count).map(|row| (0..reals).map(|place| R::from_f64(real(row, place))).collect()).collect()
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn each_place_of_rows_is_summed_by_itself() {
    for reals in ROW_LENGTHS {
        for count in ROW_COUNTS {
            let values = of_one_binade(0, reals * count);
            assert_rows_equal_limbs(reals, &rows_of::<f64>(reals, count, |row, place| values[row * reals + place]));
            assert_rows_equal_limbs(reals, &rows_of::<f32>(reals, count, |row, place| values[row * reals + place]));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn places_that_spill_leave_the_other_places_alone() {
    let three_scales = |row: usize| [1e100, 1.0, -1e-100][row % 3];
    for reals in ROW_LENGTHS {
        for spilling in 0..reals {
            let real =
                |row: usize, place: usize| if place == spilling { three_scales(row) } else { (row + place) as f64 };
            assert_rows_equal_limbs(reals, &rows_of::<f64>(reals, 20, real));
        }
        assert_rows_equal_limbs(reals, &rows_of::<f64>(reals, 20, |row, _| three_scales(row)));
        assert_rows_equal_limbs(reals, &rows_of::<f32>(reals, 20, |row, place| [1e38, 1e-3, 1e-44][(row + place) % 3]));
    }
}

#[test]
fn rows_of_one_scale_never_spill() {
    let rows = rows_of::<f32>(23, 100, |row, place| (row * 23 + place) as f64);
    let mut sums = RowSums::<Portable>::new(23);
    sums.add_rows(&rows.concat(), &(0..100).collect::<Vec<_>>());
    assert!(sums.spilled.is_empty());
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn rows_may_hold_zeros_infinities_and_nan() {
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, SMALLEST, f64::MAX];
    for reals in ROW_LENGTHS {
        for count in ROW_COUNTS {
            // Every place keeps to one value, then every place runs through all of them.
            assert_rows_equal_limbs(reals, &rows_of::<f64>(reals, count, |_, place| special[place % 8]));
            assert_rows_equal_limbs(reals, &rows_of::<f64>(reals, count, |row, place| special[(row + place) % 8]));
            assert_rows_equal_limbs(reals, &rows_of::<f32>(reals, count, |row, place| special[(row + place) % 8]));
            assert_rows_equal_limbs(reals, &rows_of::<f64>(reals, count, |_, _| -0.0));
        }
    }
}

/// Any bit patterns, or terms of one scale with a few exceptions.
fn any_terms() -> impl Strategy<Value = Vec<f64>> {
    let any_bits = any::<u64>().prop_map(f64::from_bits);
    let finite = any_bits.clone().prop_filter("finite", |x| x.is_finite());
    let one_scale = (-8.0..8.0f64).boxed();
    let zeros = prop::sample::select(vec![0.0, -0.0]);
    prop_oneof![
        prop::collection::vec(any_bits.clone(), 0..300),
        prop::collection::vec(finite, 0..300),
        prop::collection::vec(one_scale.clone(), 0..300),
        prop::collection::vec(prop_oneof![100 => one_scale, 1 => any_bits], 0..600),
        prop::collection::vec(prop_oneof![300 => Just(-0.0), 1 => zeros], 0..300),
        adversarial(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn any_terms_give_the_words_of_limbs(terms in any_terms()) {
        assert_equals_limbs(&terms);
    }

    #[test]
    fn any_rows_give_the_words_of_limbs(terms in any_terms(), reals in 1usize..30) {
        let rows: Vec<Vec<f64>> = terms.chunks_exact(reals).map(<[f64]>::to_vec).collect();
        assert_rows_equal_limbs(reals, &rows);
        let rows: Vec<Vec<f32>> = terms.chunks_exact(reals).map(|row| row.iter().map(|&x| x as f32).collect()).collect();
        assert_rows_equal_limbs(reals, &rows);
    }

    #[test]
    fn an_error_free_pair_gives_the_words_of_its_two_terms(a in any::<u64>(), b in any::<u64>(), exponent in 0u64..2047) {
        // Two doubles of any binades, and two of nearby ones.
        let near = |bits: u64| f64::from_bits(bits & !(0x7ff << 52) | (exponent.saturating_sub(bits % 60)) << 52);
        for (a, b) in [(f64::from_bits(a), f64::from_bits(b)), (near(a), near(b))] {
            let high = a + b;
            if a.is_finite() && b.is_finite() && high.is_finite() {
                let (high, low) = two_sum(Portable::splat(a), Portable::splat(b));
                let mut pair = ExactSum::new();
                pair.add_pair(high.to_array()[0], low.to_array()[0], 2);
                prop_assert_eq!(pair.to_words(), sum(&[a, b]).to_words());
            }
        }
    }
}
