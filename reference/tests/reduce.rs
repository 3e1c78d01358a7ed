//! Sums over sites: the same bits as plain loops (`scalar.rs`) for every site object, layout and number of threads. Exact sums depend
//! on the terms alone; tree sums on their order in memory and on the plan, which the tests rebuild from coordinates.

use lanefield_reference::field::{ColourMatrix, ComplexNumber, FieldData, Gauge, HalfSpinor, Propagator};
use lanefield_reference::field::{FieldError, SiteObject, Words};
use lanefield_reference::kernels::blas;
use lanefield_reference::kernels::reduce::{self, Sum};
use lanefield_reference::layout::TreePlan;
use lanefield_reference::layout::{Checkerboard, LaneWidth, Place};
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;
use lanefield_reference::scalar;
use proptest::prelude::*;

use crate::common;
use crate::common::{
    ALL_SITES, Numbers, any_checkerboard, any_extents, any_numbers, every_width, extents, first_difference,
};
use crate::common::{in_pools, lattice, random_words};

/// Sums, each rounded.
mod rounded {
    use super::*;

    pub fn norm2<R: Vectors>(x: &FieldData<R>, sum: Sum) -> f64 {
        reduce::norm2(x, sum).round()[0]
    }

    pub fn inner_products<R: Vectors>(
        xs: &[&FieldData<R>],
        y: &FieldData<R>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, FieldError> {
        Ok(reduce::inner_products(xs, y, sum)?.round_complex())
    }

    pub fn inner_product<R: Vectors>(x: &FieldData<R>, y: &FieldData<R>, sum: Sum) -> Result<Complex<f64>, FieldError> {
        Ok(inner_products(&[x], y, sum)?[0])
    }

    pub fn sum<R: Vectors>(x: &FieldData<R>, sum: Sum) -> Vec<Complex<f64>> {
        reduce::sum(x, sum).round_complex()
    }

    pub fn slice_sums<R: Vectors>(x: &FieldData<R>, direction: Direction, sum: Sum) -> Vec<Vec<Complex<f64>>> {
        let sums = reduce::slice_sums(x, direction, sum).unwrap().round_complex();
        sums.chunks_exact(x.object().words()).map(<[_]>::to_vec).collect()
    }

    pub fn axpy_norm<R: Vectors>(a: f64, x: &FieldData<R>, y: &mut FieldData<R>, sum: Sum) -> Result<f64, FieldError> {
        Ok(blas::axpy_norm(a, x, y, sum)?.round()[0])
    }

    pub fn axpby_norm<R: Vectors>(
        a: f64,
        x: &FieldData<R>,
        b: f64,
        y: &mut FieldData<R>,
        sum: Sum,
    ) -> Result<f64, FieldError> {
        Ok(blas::axpby_norm(a, x, b, y, sum)?.round()[0])
    }
}

/// Fields of one layout, in site order over the whole lattice.
struct Case<R, K> {
    kind: K,
    lattice: Lattice,
    sites: Sites,
    values: Vec<Vec<Complex<R>>>,
}

impl<R: Vectors, K: SiteObject> Case<R, K> {
    fn field(&self, k: usize) -> Field<R, K> {
        Field::from_site_order(self.lattice, self.sites, self.kind, &self.values[k]).unwrap()
    }

    fn fields<const N: usize>(&self) -> [Field<R, K>; N] {
        std::array::from_fn(|k| self.field(k))
    }

    /// Site numbers in the order of memory: outer sites slow, lanes fast.
    fn memory_order(&self) -> impl Iterator<Item = usize> + '_ {
        let (osites, nsimd) = (self.lattice.osites(self.sites), self.lattice.nsimd());
        let places = (0..osites * nsimd).map(move |k| Place { osite: k / nsimd, lane: k % nsimd });
        places.map(|place| self.lattice.extents().site(self.lattice.coordinate(self.sites, place)))
    }

    /// The site objects of field `k`, in the order of memory: those of all sites, or of one slice.
    fn list(&self, k: usize, slice: Option<(Direction, usize)>) -> Vec<Complex<R>> {
        let words = self.kind.words();
        let coordinate = |site: usize, direction: Direction| self.lattice.extents().coordinate(site)[direction.index()];
        let sites = self.memory_order().filter(|&site| slice.is_none_or(|(d, x)| coordinate(site, d) == x));
        sites.flat_map(|site| self.values[k][site * words..][..words].to_vec()).collect()
    }

    fn describe(&self) -> String {
        self.field(0).describe()
    }
}

/// Every kind of site object, of the precision, in awkward layouts: extents that lanes only just divide, odd ones, an uneven cut; of one
/// lane and of up to 32.
macro_rules! for_every_object {
    ($real:ty, $check:ident) => {
        in_every_layout::<$real, _>(ComplexNumber, $check);
        in_every_layout::<$real, _>(ColourVectors::ONE, $check);
        in_every_layout::<$real, _>(HalfSpinor, $check);
        in_every_layout::<$real, _>(Spinors::ONE, $check);
        in_every_layout::<$real, _>(ColourMatrix, $check);
        in_every_layout::<$real, _>(Gauge, $check);
        in_every_layout::<$real, _>(Propagator, $check);
        in_every_layout::<$real, _>(Words(5), $check);
    };
}

fn in_every_layout<R: Vectors, K: SiteObject>(kind: K, check: impl Fn(&Case<R, K>)) {
    let mut layouts = every_width::<R>(extents("2.2.2.2"), Checkerboard::RedBlack);
    if kind.words() < Gauge::WORDS {
        layouts.extend(every_width::<R>(extents("6.4.2.10"), Checkerboard::RedBlack));
        layouts.extend(every_width::<R>(extents("4.4.4.8"), Checkerboard::RedBlack));
    }
    layouts.extend(every_width::<R>(extents("3.2.5.4"), Checkerboard::FullOnly));
    layouts.push(uneven_cut::<R>());
    for lattice in layouts {
        let some_sites =
            if lattice.checkerboard() == Checkerboard::RedBlack { &ALL_SITES[..] } else { &ALL_SITES[..1] };
        for &sites in some_sites {
            let words = |seed| random_words::<R>(lattice.extents(), kind.words(), seed, Numbers::Gaussian);
            check(&Case { kind, lattice, sites, values: (1..=5).map(words).collect() });
        }
    }
}

/// Eight lanes (four of f64), four of them in one direction.
fn uneven_cut<R: Real>() -> Lattice {
    let nodes = if R::BITS == 32 { [4, 1, 1, 2] } else { [4, 1, 1, 1] };
    let options = LatticeOptions {
        lanes: LaneChoice::Width(LaneWidth::DEFAULT),
        nodes: Some(nodes),
        checkerboard: Checkerboard::RedBlack,
    };
    Lattice::new(extents("8.2.2.4"), R::COMPLEX, options).unwrap()
}

/// One thread, one warp, several, warps of every size, a number of warps that is no power of two; more blocks than elements.
fn every_plan() -> Vec<TreePlan> {
    let mut plans = Vec::new();
    for threads in [1, 2, 8, 32, 64, 96] {
        for warp in [1, 2, 4, 8, 16, 32, 64] {
            if threads % warp == 0 {
                plans.extend([1, 3, 4, 256].map(|blocks| TreePlan::with_warp(threads, blocks, warp).unwrap()));
            }
        }
    }
    plans
}

fn some_plans() -> [TreePlan; 4] {
    [(1, 1, 1), (8, 3, 2), (96, 4, 32), (2, 256, 2)]
        .map(|(threads, blocks, warp)| TreePlan::with_warp(threads, blocks, warp).unwrap())
}

fn some_sums() -> impl Iterator<Item = Sum> {
    [Sum::Exact].into_iter().chain(some_plans().map(Sum::Tree))
}

/// For sums of every word of every slice: no plan of many threads and blocks.
fn few_sums() -> impl Iterator<Item = Sum> {
    some_sums().take(3)
}

/// What the plain loops make of |x|² and of ⟨x, y⟩, for lists in the order of memory.
fn plain_norm2<R: Real>(words: usize, x: &[Complex<R>], sum: Sum) -> f64 {
    match sum {
        Sum::Exact => scalar::norm2(words, x),
        Sum::Tree(plan) => scalar::tree_sum(plan, &x.chunks_exact(words).map(scalar::site_norm2).collect::<Vec<_>>()),
    }
}

fn tree_of_complex(plan: TreePlan, terms: &[Complex<f64>]) -> Complex<f64> {
    let part = |part: fn(&Complex<f64>) -> f64| scalar::tree_sum(plan, &terms.iter().map(part).collect::<Vec<_>>());
    Complex::new(part(|z| z.re), part(|z| z.im))
}

fn plain_inner_product<R: Real>(words: usize, x: &[Complex<R>], y: &[Complex<R>], sum: Sum) -> Complex<f64> {
    let Sum::Tree(plan) = sum else { return scalar::inner_product(words, x, y) };
    let objects = x.chunks_exact(words).zip(y.chunks_exact(words));
    tree_of_complex(plan, &objects.map(|(x, y)| scalar::site_inner_product(x, y)).collect::<Vec<_>>())
}

fn plain_sum<R: Real>(words: usize, x: &[Complex<R>], sum: Sum) -> Vec<Complex<f64>> {
    let Sum::Tree(plan) = sum else { return scalar::sum(words, x) };
    let sum_of = |word: usize| {
        let terms = x.chunks_exact(words).map(|x| Complex::new(x[word].re.to_f64(), x[word].im.to_f64()));
        tree_of_complex(plan, &terms.collect::<Vec<_>>())
    };
    (0..words).map(sum_of).collect()
}

#[track_caller]
fn assert_same(found: &[Complex<f64>], expected: &[Complex<f64>], what: impl Fn() -> String) {
    let difference = first_difference(found, expected);
    assert!(difference.is_none(), "{}: {difference:?}", what());
}

fn norms_equal_plain_loops<R: Vectors, K: SiteObject>(case: &Case<R, K>) {
    let (x, list) = (case.field(0), case.list(0, None));
    for sum in some_sums() {
        let (found, expected) = (rounded::norm2(&x, sum), plain_norm2(case.kind.words(), &list, sum));
        assert!(found.same_bits(expected), "{}, {sum}: {found:e} {expected:e}", case.describe());
    }
}

#[test]
fn norms_are_bitwise_equal_to_plain_loops() {
    for_every_object!(f32, norms_equal_plain_loops);
    for_every_object!(f64, norms_equal_plain_loops);
}

#[test]
fn tree_sums_of_every_plan_are_bitwise_equal_to_plain_loops() {
    in_every_layout::<f32, _>(ComplexNumber, |case| {
        let (x, list) = (case.field(0), case.list(0, None));
        for plan in every_plan().into_iter().map(Sum::Tree) {
            let (found, expected) = (rounded::norm2(&x, plan), plain_norm2(1, &list, plan));
            assert!(found.same_bits(expected), "{}, {plan}: {found:e} {expected:e}", case.describe());
            assert_same(&rounded::sum(&x, plan), &plain_sum(1, &list, plan), || format!("{}, {plan}", case.describe()));
        }
    });
}

fn inner_products_equal_plain_loops<R: Vectors, K: SiteObject>(case: &Case<R, K>) {
    let (fields, words) = (case.fields::<5>(), case.kind.words());
    let lists: Vec<_> = (0..5).map(|k| case.list(k, None)).collect();
    let y = 3;
    for sum in some_sums() {
        let expected: Vec<_> = lists.iter().map(|x| plain_inner_product(words, x, &lists[y], sum)).collect();
        for count in 0..=fields.len() {
            let xs: Vec<&FieldData<R>> = fields[..count].iter().map(|field| &**field).collect();
            let found = rounded::inner_products(&xs, &fields[y], sum).unwrap();
            assert_same(&found, &expected[..count], || format!("{}, {count} products, {sum}", case.describe()));
        }
        let one = rounded::inner_product(&fields[0], &fields[y], sum).unwrap();
        assert_same(&[one], &expected[..1], || format!("{}, {sum}", case.describe()));
    }
}

#[test]
fn inner_products_are_bitwise_equal_to_plain_loops() {
    for_every_object!(f32, inner_products_equal_plain_loops);
    for_every_object!(f64, inner_products_equal_plain_loops);
}

fn sums_equal_plain_loops<R: Vectors, K: SiteObject>(case: &Case<R, K>) {
    let (x, list) = (case.field(0), case.list(0, None));
    for sum in some_sums() {
        let expected = plain_sum(case.kind.words(), &list, sum);
        assert_same(&rounded::sum(&x, sum), &expected, || format!("{}, {sum}", case.describe()));
    }
}

#[test]
fn sums_of_words_are_bitwise_equal_to_plain_loops() {
    for_every_object!(f32, sums_equal_plain_loops);
    for_every_object!(f64, sums_equal_plain_loops);
}

fn slice_sums_equal_plain_loops<R: Vectors, K: SiteObject>(case: &Case<R, K>) {
    let x = case.field(0);
    for direction in Direction::ALL {
        let extent = case.lattice.extents()[direction.index()];
        let lists: Vec<_> = (0..extent).map(|slice| case.list(0, Some((direction, slice)))).collect();
        for sum in few_sums() {
            let found = rounded::slice_sums(&x, direction, sum);
            assert_eq!(found.len(), extent);
            for (slice, list) in lists.iter().enumerate() {
                let what = || format!("{}, {direction} = {slice}, {sum}", case.describe());
                assert_same(&found[slice], &plain_sum(case.kind.words(), list, sum), what);
            }
        }
    }
}

#[test]
fn slice_sums_are_bitwise_equal_to_plain_loops_over_the_sites_of_a_coordinate() {
    for_every_object!(f32, slice_sums_equal_plain_loops);
    for_every_object!(f64, slice_sums_equal_plain_loops);
}

fn slice_sums_add_up_to_the_sum<R: Vectors, K: SiteObject>(case: &Case<R, K>) {
    // Whole numbers, which add up without rounding in any order.
    let whole = |x: R| R::from_f64((100.0 * x.to_f64()).round());
    let values = vec![case.values[0].iter().map(|x| Complex::new(whole(x.re), whole(x.im))).collect()];
    let x = Case { values, ..*case }.field(0);
    for sum in few_sums() {
        let all = rounded::sum(&x, sum);
        for direction in Direction::ALL {
            let slices = rounded::slice_sums(&x, direction, sum);
            let total: Vec<_> = (0..all.len()).map(|word| slices.iter().map(|slice| slice[word]).sum()).collect();
            assert_same(&total, &all, || format!("{}, {direction}, {sum}", case.describe()));
        }
    }
}

#[test]
fn slice_sums_of_whole_numbers_add_up_to_the_sum() {
    for_every_object!(f32, slice_sums_add_up_to_the_sum);
    for_every_object!(f64, slice_sums_add_up_to_the_sum);
}

fn updates_with_norms_equal_plain_loops<R: Vectors, K: SiteObject>(case: &Case<R, K>) {
    let (a, b) = (0.3, -1.7);
    let [x, y] = case.fields();
    let (list, before) = (case.list(0, None), case.list(1, None));
    let (mut axpy, mut axpby) = (before.clone(), before);
    scalar::axpy(a, &list, &mut axpy);
    scalar::axpby(a, &list, b, &mut axpby);
    let check = |found: Field<R, K>, (norm, sum): (f64, Sum), expected: &[Complex<R>]| {
        let found = Case { values: vec![found.to_site_order()], ..*case }.list(0, None);
        let difference = first_difference(&found, expected);
        assert!(difference.is_none(), "{}: {difference:?}", case.describe());
        let expected = plain_norm2(case.kind.words(), expected, sum);
        assert!(norm.same_bits(expected), "{}, {sum}: {norm:e} {expected:e}", case.describe());
    };
    for sum in some_sums() {
        let mut out = y.clone();
        let norm = rounded::axpy_norm(a, &x, &mut out, sum).unwrap();
        check(out, (norm, sum), &axpy);
        let mut out = y.clone();
        let norm = rounded::axpby_norm(a, &x, b, &mut out, sum).unwrap();
        check(out, (norm, sum), &axpby);
    }
}

#[test]
fn updates_and_the_norms_of_their_results_are_bitwise_equal_to_plain_loops() {
    for_every_object!(f32, updates_with_norms_equal_plain_loops);
    for_every_object!(f64, updates_with_norms_equal_plain_loops);
}

fn reductions_of_any_numbers_equal_plain_loops<R: Vectors>(
    extents: Extents,
    checkerboard: Checkerboard,
    words: usize,
    seed: u64,
    numbers: Numbers,
) {
    let values: Vec<_> = (0..5).map(|k| random_words::<R>(extents, words, 5 * seed + k, numbers)).collect();
    let some_sites = if checkerboard == Checkerboard::RedBlack { &ALL_SITES[..] } else { &ALL_SITES[..1] };
    for lattice in every_width::<R>(extents, checkerboard) {
        for &sites in some_sites {
            let case = Case { kind: Words(words), lattice, sites, values: values.clone() };
            norms_equal_plain_loops(&case);
            inner_products_equal_plain_loops(&case);
            sums_equal_plain_loops(&case);
            slice_sums_equal_plain_loops(&case);
            updates_with_norms_equal_plain_loops(&case);
        }
    }
}

proptest! {
    #![proptest_config(common::cases(48))]

    #[test]
    fn reductions_of_any_numbers_are_bitwise_equal_to_plain_loops(
        (checkerboard, extents) in any_checkerboard().prop_flat_map(|c| (Just(c), any_extents(c, 300))),
        words in 1usize..14,
        seed: u32,
        numbers in any_numbers(),
        double_precision: bool,
    ) {
        let check = if double_precision {
            reductions_of_any_numbers_equal_plain_loops::<f64>
        } else {
            reductions_of_any_numbers_equal_plain_loops::<f32>
        };
        check(extents, checkerboard, words, seed.into(), numbers);
    }
}

fn spinors<R: Real>(lattice: Lattice, sites: Sites, seed: u64) -> Field<R, Spinors> {
    let values = random_words(lattice.extents(), Spinors::WORDS, seed, Numbers::Gaussian);
    Field::from_site_order(lattice, sites, Spinors::ONE, &values).unwrap()
}

/// The bits of every kind of reduction.
fn all_reductions(x: &Field<f32, Spinors>, y: &Field<f32, Spinors>, sum: Sum) -> Vec<u64> {
    let mut z = y.clone();
    let norms = [rounded::norm2(x, sum), rounded::axpy_norm(0.3, x, &mut z, sum).unwrap()];
    let mut numbers = vec![rounded::inner_product(x, y, sum).unwrap()];
    numbers.extend(rounded::sum(x, sum));
    numbers.extend(rounded::slice_sums(x, Direction::T, sum).concat());
    norms.into_iter().chain(numbers.into_iter().flat_map(|z| [z.re, z.im])).map(f64::to_bits).collect()
}

#[test]
fn no_sum_depends_on_the_number_of_threads() {
    let lattice = lattice::<f32>(extents("10.4.6.4"), 16, Checkerboard::RedBlack);
    for sites in ALL_SITES {
        let [x, y] = [1, 2].map(|seed| spinors::<f32>(lattice, sites, seed));
        for sum in some_sums() {
            let [one, two, five] = in_pools(|| all_reductions(&x, &y, sum));
            assert_eq!(one, two);
            assert_eq!(one, five);
        }
    }
}

#[test]
fn exact_sums_do_not_depend_on_the_lane_width_and_tree_sums_do() {
    let layouts = every_width::<f32>(extents("8.4.4.8"), Checkerboard::RedBlack);
    assert!(layouts.len() > 4);
    let of_each_width = |sum: Sum| -> Vec<_> {
        let fields = layouts.iter().map(|&lattice| [1, 2].map(|seed| spinors::<f32>(lattice, Sites::Full, seed)));
        fields.map(|[x, y]| all_reductions(&x, &y, sum)).collect()
    };
    let exact = of_each_width(Sum::Exact);
    assert!(exact.iter().all(|bits| *bits == exact[0]));
    let tree = of_each_width(Sum::Tree(TreePlan::new(8, 4).unwrap()));
    assert!(tree.iter().any(|bits| *bits != tree[0]));
}

/// 2⁵³, from where on doubles are 2 apart: 2⁵³ + 1 is rounded to 2⁵³, and −2⁵³ + 1 is exact.
const BIG: f64 = (1u64 << 53) as f64;

/// A plan, terms, and their tree sum, by hand.
fn trees_by_hand() -> [(TreePlan, Vec<f64>, f64); 6] {
    let plan = |threads, blocks, warp| TreePlan::with_warp(threads, blocks, warp).unwrap();
    [
        // One thread: in turn. ((((2⁵³ + 1) + 1) + 1) − 2⁵³) + 1 = (2⁵³ − 2⁵³) + 1.
        (plan(1, 1, 1), vec![BIG, 1.0, 1.0, 1.0, -BIG, 1.0], 1.0),
        // Two threads: ((2⁵³ + 1) − 2⁵³) + ((1 + 1) + 1).
        (plan(2, 1, 2), vec![BIG, 1.0, 1.0, 1.0, -BIG, 1.0], 3.0),
        // Four threads, one warp, in halves: s0 + s2 = 2⁵³ − 2⁵³, s1 + s3 = 1 + 1.
        (plan(4, 1, 4), vec![BIG, 1.0, -BIG, 1.0], 2.0),
        // The same in warps of two: (2⁵³ + 1) + (−2⁵³ + 1) = 2⁵³ + (−2⁵³ + 1).
        (plan(4, 1, 2), vec![BIG, 1.0, -BIG, 1.0], 1.0),
        // Two blocks of two threads take turns of four terms. Block 0 has terms 0 to 3 and 8: thread 0 adds (2⁵³ + 1) + 1, thread 1
        // has 0 + 0. Block 1 has terms 4 to 7: (−2⁵³ + 1) and (1 + 1). Last block: thread 0 has 2⁵³, thread 1 has −2⁵³ + 3.
        (plan(2, 2, 2), vec![BIG, 0.0, 1.0, 0.0, -BIG, 1.0, 1.0, 1.0, 1.0], 3.0),
        // Three blocks of one thread, whose sums the last block adds in turn: ((2⁵³ + 1) + (1 + 1)) + (−2⁵³ + 0).
        (plan(1, 3, 1), vec![BIG, 1.0, 1.0, 1.0, -BIG], 2.0),
    ]
}

#[test]
fn plain_tree_sums_follow_the_order_written_out() {
    for (plan, terms, expected) in trees_by_hand() {
        assert_eq!(scalar::tree_sum(plan, &terms), expected, "{plan}: {terms:?}");
    }
    let [(plan, ..), _, _, _, _, _] = trees_by_hand();
    assert_eq!(scalar::tree_sum(plan, &[]).to_bits(), 0);
}

#[test]
fn tree_sums_of_fields_follow_the_order_written_out() {
    for (plan, terms, expected) in trees_by_hand() {
        // One lane, sites along x: memory is in site order.
        let extents = Extents::new([terms.len(), 1, 1, 1]).unwrap();
        let lattice = lattice::<f64>(extents, 16, Checkerboard::FullOnly);
        let values: Vec<_> = terms.iter().map(|&x| Complex::new(x, 2.0 * x)).collect();
        let x = Field::from_site_order(lattice, Sites::Full, ComplexNumber, &values).unwrap();
        let expected = Complex::new(expected, 2.0 * expected);
        assert_eq!(rounded::sum(&x, Sum::Tree(plan)), [expected], "{plan}: {terms:?}");
        assert_eq!(rounded::slice_sums(&x, Direction::Y, Sum::Tree(plan)), [[expected]], "{plan}: {terms:?}");
        // ⟨1, x⟩ has the same terms.
        let one = vec![Complex::new(1.0, 0.0); terms.len()];
        let one = Field::from_site_order(lattice, Sites::Full, ComplexNumber, &one).unwrap();
        assert_eq!(rounded::inner_product(&one, &x, Sum::Tree(plan)), Ok(expected), "{plan}: {terms:?}");
    }
}

#[test]
fn tree_sums_of_negative_zeros_are_plus_zero_and_exact_ones_minus_zero() {
    let lattice = lattice::<f32>(extents("2.2.2.2"), 8, Checkerboard::RedBlack);
    let values = vec![Complex::new(-0.0f32, 0.0); 16];
    let x = Field::from_site_order(lattice, Sites::Full, ComplexNumber, &values).unwrap();
    let bits =
        |sum| [rounded::sum(&x, sum)[0].re, rounded::slice_sums(&x, Direction::Z, sum)[1][0].re].map(f64::to_bits);
    assert_eq!(bits(Sum::Exact), [(-0.0f64).to_bits(); 2]);
    assert_eq!(bits(Sum::Tree(TreePlan::new(4, 2).unwrap())), [0; 2]);
}

/// Numbers that a reader adds up in the head: 16 sites of 12 words.
#[test]
fn sums_over_ones_count_them() {
    let lattice = lattice::<f32>(extents("2.2.2.2"), 8, Checkerboard::RedBlack);
    let words = 16 * Spinors::WORDS;
    let field = |value| Field::from_site_order(lattice, Sites::Full, Spinors::ONE, &vec![value; words]).unwrap();
    let (x, y) = (field(Complex::new(1.0f32, 2.0)), field(Complex::new(3.0, -1.0)));
    for sum in some_sums() {
        assert_eq!(rounded::norm2(&x, sum), 5.0 * 192.0);
        // conj(1 + 2i) (3 − i) = 1 − 7i.
        assert_eq!(rounded::inner_product(&x, &y, sum), Ok(Complex::new(192.0, -7.0 * 192.0)));
        assert_eq!(rounded::sum(&x, sum), [Complex::new(16.0, 32.0); 12]);
        assert_eq!(rounded::slice_sums(&x, Direction::X, sum), [[Complex::new(8.0, 16.0); 12]; 2]);
    }
}

#[test]
fn norms_are_exact_where_doubles_added_in_turn_are_not() {
    // One site of 2⁵⁴, where doubles are 4 apart, and 15 sites of 1: added in turn, every 1 is lost.
    let lattice = lattice::<f64>(extents("2.2.2.2"), 16, Checkerboard::RedBlack);
    let mut values = vec![Complex::new(0.0f64, 0.0); 16 * Spinors::WORDS];
    for (site, spinor) in values.chunks_exact_mut(Spinors::WORDS).enumerate() {
        spinor[0].re = if site == 0 { (1u64 << 27) as f64 } else { 1.0 };
    }
    let x = Field::from_site_order(lattice, Sites::Full, Spinors::ONE, &values).unwrap();
    assert_eq!(rounded::norm2(&x, Sum::Exact), ((1u64 << 54) + 16) as f64);
    assert_eq!(rounded::norm2(&x, Sum::Tree(TreePlan::new(1, 1).unwrap())), (1u64 << 54) as f64);
}

#[test]
fn infinities_and_nan_reach_the_sum_from_any_lane() {
    let extents = extents("4.2.2.2");
    let lattice = lattice::<f32>(extents, 16, Checkerboard::RedBlack);
    let mut values = random_words::<f32>(extents, Spinors::WORDS, 3, Numbers::Gaussian);
    for sum in some_sums() {
        let norm = |values: &[_]| {
            rounded::norm2(&Field::from_site_order(lattice, Sites::Full, Spinors::ONE, values).unwrap(), sum)
        };
        for word in 0..values.len() {
            let before = values[word];
            values[word].im = f32::INFINITY;
            assert_eq!(norm(&values), f64::INFINITY, "{sum}");
            values[word].re = f32::NAN;
            assert!(norm(&values).is_nan(), "{sum}");
            values[word] = before;
        }
    }
}

#[test]
fn fields_that_do_not_match_are_refused_by_every_reduction_of_two() {
    let extents = extents("4.4.4.4");
    let [lattice, other] = [16, 32].map(|width| lattice::<f32>(extents, width, Checkerboard::RedBlack));
    let field = |lattice, sites, words| Field::<f32, Words>::zeros(lattice, sites, Words(words)).unwrap();
    let [full, even, odd] = ALL_SITES.map(|sites| field(lattice, sites, 3));
    let (wider, longer) = (field(other, Sites::Full, 3), field(lattice, Sites::Full, 4));
    assert_eq!(
        rounded::inner_product(&even, &odd, Sum::Exact).unwrap_err().to_string(),
        "inner product: f32 colour vector field on 4.4.4.4, even sites, 16-byte lanes, lane layout 1.1.1.2 does not match \
         f32 colour vector field on 4.4.4.4, odd sites, 16-byte lanes, lane layout 1.1.1.2"
    );
    let refused =
        |what: &str, error: FieldError| assert!(matches!(error, FieldError::Mismatch { what: w, .. } if w == what));
    for (x, y) in [(&full, &even), (&even, &odd), (&full, &wider), (&full, &longer)] {
        for sum in some_sums() {
            refused("inner product", rounded::inner_product(x, y, sum).unwrap_err());
            refused("inner product", rounded::inner_products(&[y, y, x], y, sum).unwrap_err());
            assert!(matches!(rounded::axpy_norm(2.0, x, &mut y.clone(), sum), Err(FieldError::Mismatch { .. })));
            assert!(matches!(rounded::axpby_norm(2.0, x, 3.0, &mut y.clone(), sum), Err(FieldError::Mismatch { .. })));
        }
    }
}
