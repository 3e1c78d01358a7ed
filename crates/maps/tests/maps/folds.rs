//! Numbers of several points made one: sums, extremes, and elements that several points change.

use lanefield_reference::exact;
use lanefield_reference::extreme::Extreme;

use super::*;

/// Sums, and the least and the greatest, of numbers.
#[map_kernel]
pub(super) fn statistics<P: Point>(
    p: P,
    x: Read<P, f32, 2>,
    k: Read<P, i32, 2>,
    sum: ExactSum<P>,
    squares: ExactSum<P>,
    of_integers: IntegerSum<P, i32>,
    negative: IntegerSum<P, u32>,
    least: Least<P, i32>,
    greatest: Greatest<P, i32>,
    least_real: Least<P, f32>,
    greatest_real: Greatest<P, f32>,
) {
    let at = p.index();
    let (x, k) = (x.at(at), k.at(at));
    sum.add(x.promoted());
    squares.add(x.promoted() * x.promoted());
    of_integers.add(k);
    p.when(k.less(P::I32::constant(0)), || negative.add(P::U32::constant(1)));
    least.take(k);
    greatest.take(k);
    least_real.take(x);
    greatest_real.take(x);
}

pub(super) type Statistic = ([u64; 2], i32, u32, [i32; 2], [u32; 2]);

pub(super) fn statistics_on<B: MapBackend>(
    backend: &B,
    x: &[f32],
    [n, m]: [usize; 2],
    options: MapOptions,
) -> Statistic {
    let integers = integers(n * m);
    let (x, k) = (backend.array([n, m], x).unwrap(), backend.array([n, m], &integers).unwrap());
    let (mut sum, mut squares) = (f64::NAN, f64::NAN);
    let (mut of_integers, mut negative, mut least, mut greatest) = (1, 1, 1, 1);
    let (mut least_real, mut greatest_real) = (1.0f32, 1.0f32);
    let call = Statistics {
        x: &x,
        k: &k,
        sum: &mut sum,
        squares: &mut squares,
        of_integers: &mut of_integers,
        negative: &mut negative,
        least: &mut least,
        greatest: &mut greatest,
        least_real: &mut least_real,
        greatest_real: &mut greatest_real,
    };
    call.launch_with(backend, [n, m], options).unwrap();
    let reals = [least_real, greatest_real].map(f32::to_bits);
    ([sum, squares].map(f64::to_bits), of_integers, negative, [least, greatest], reals)
}

#[test]
fn conflicts_of_all_points_have_one_result_for_every_schedule_and_block() {
    let mut x = numbers(33 * 41);
    // Sums that lose all digits where they are not exact, and numbers far apart.
    for (k, x) in x.iter_mut().enumerate() {
        *x *= [1.0, 1e30, -1e30, 1e-30][k % 4];
    }
    x[5] = f32::MIN_POSITIVE / 8.0;
    let integers = integers(33 * 41);
    let exact = |of: &dyn Fn(f64) -> f64| {
        let mut sum = exact::ExactSum::new();
        x.iter().for_each(|&x| sum.add(of(f64::from(x))));
        sum.round().to_bits()
    };
    let expected: Statistic = (
        [exact(&|x| x), exact(&|x| x * x)],
        integers.iter().fold(0, |sum: i32, &k| sum.wrapping_add(k)),
        integers.iter().filter(|&&k| k < 0).count() as u32,
        [*integers.iter().min().unwrap(), *integers.iter().max().unwrap()],
        [x.iter().copied().fold(f32::INFINITY, f32::min), x.iter().copied().fold(f32::NEG_INFINITY, f32::max)]
            .map(f32::to_bits),
    );
    for schedule in schedules(13, 3) {
        for options in [DEFAULT, DEFAULT.block([4, 16])] {
            let found = everywhere!(|backend| statistics_on(backend, &x, [33, 41], options.schedule(schedule)));
            assert_eq!(found, expected, "{schedule:?}");
        }
    }
    let empty = everywhere!(|backend| statistics_on(backend, &[], [0, 41], DEFAULT));
    let infinities = [f32::INFINITY, f32::NEG_INFINITY].map(f32::to_bits);
    assert_eq!(empty, ([0; 2], 0, 0, [i32::MAX, i32::MIN], infinities));
}

/// How many numbers fall into each of a few bins, by an atomic operation for each.
#[map_kernel]
pub(super) fn histogram<P: Point>(
    p: P,
    bins: Accumulate<P, u32, 1>,
    largest: Accumulate<P, i32, 1>,
    x: Read<P, f32, 1>,
) {
    let [i] = p.index();
    let bin = (p.truncated(x.at([i])) % 7).greatest(P::I32::constant(0));
    bins.add([bin], P::U32::constant(1));
    largest.greatest([bin], i);
}

/// The same, in local memory first, and one atomic operation for each bin of a block.
#[map_kernel]
pub(super) fn hierarchical_histogram<P: Point>(p: P, bins: Accumulate<P, u32, 1>, x: Read<P, f32, 1>) {
    let [block] = p.index();
    let own = p.local::<u32, 1>([7]);
    p.threads([7], |[bin]| own.write([bin], P::U32::constant(0)));
    p.threads([32], |[t]| {
        let i = block * 32 + t;
        p.when(i.less(x.extent(0)), || {
            own.add([(p.truncated(x.at([i])) % 7).greatest(P::I32::constant(0))], P::U32::constant(1));
        });
    });
    p.threads([7], |[bin]| bins.add([bin], own.at([bin])));
}

#[test]
fn a_histogram_is_the_same_by_atomics_in_global_memory_and_in_local_memory_first() {
    let x = numbers(1000);
    let expected = {
        let mut bins = vec![0u32; 7];
        x.iter().for_each(|&x| bins[((x as i32) % 7).max(0) as usize] += 1);
        bins
    };
    let direct = everywhere!(|backend| {
        let x = backend.array([1000], &x).unwrap();
        let (mut bins, mut largest) = (backend.zero_array([7]).unwrap(), backend.array([7], &[-1; 7]).unwrap());
        Histogram { bins: &mut bins, largest: &mut largest, x: &x }.launch(backend, [1000]).unwrap();
        (bins.read(backend).unwrap(), largest.read(backend).unwrap())
    });
    let last = |bin: i32| (0..1000).rev().find(|&i| ((x[i as usize] as i32) % 7).max(0) == bin).unwrap_or(-1);
    assert_eq!(direct, (expected.clone(), (0..7).map(last).collect()));
    for schedule in [Schedule::Device, Schedule::Persistent { groups: Some(3) }, Schedule::Dynamic { chunk: 5 }] {
        let in_blocks = everywhere!(|backend| {
            let x = backend.array([1000], &x).unwrap();
            let mut bins = backend.zero_array([7]).unwrap();
            let call = HierarchicalHistogram { bins: &mut bins, x: &x };
            call.launch_with(backend, [32], DEFAULT.schedule(schedule)).unwrap();
            bins.read(backend).unwrap()
        });
        assert_eq!(in_blocks, expected);
    }
}

/// The extremes of numbers.
#[map_kernel]
pub(super) fn extremes<P: Point>(p: P, x: Read<P, f32, 1>, least: Least<P, f32>, greatest: Greatest<P, f32>) {
    let x = x.at(p.index());
    least.take(x);
    greatest.take(x);
}

/// Their bits, by plain loops, as section 8 of `docs/arithmetic.md` has them.
pub(super) fn extremes_by_loops(x: &[f32]) -> [u32; 2] {
    let is_below = |a: f32, b: f32| a < b || (a == b && a.is_sign_negative() && b.is_sign_positive());
    let (mut least, mut greatest) = (f32::INFINITY, f32::NEG_INFINITY);
    for &x in x {
        if x.is_nan() {
            return [0x7fc0_0000; 2];
        }
        least = if is_below(x, least) { x } else { least };
        greatest = if is_below(greatest, x) { x } else { greatest };
    }
    [least, greatest].map(f32::to_bits)
}

/// No numbers; zeros of both signs, in both orders; infinities; and NaNs of several bits among other numbers and alone.
pub(super) fn hard_numbers() -> Vec<Vec<f32>> {
    let nan = f32::from_bits;
    let mut with_a_nan = numbers(700);
    with_a_nan[650] = nan(0xffc0_0001);
    vec![
        vec![],
        vec![0.0, -0.0],
        vec![-0.0, 0.0],
        vec![0.0; 40],
        vec![-0.0; 40],
        vec![1e-45, -1e-45, 0.0],
        vec![f32::INFINITY, 1.0, f32::NEG_INFINITY],
        vec![f32::INFINITY; 3],
        vec![f32::NEG_INFINITY; 3],
        vec![f32::NAN],
        vec![nan(0x7fff_ffff), nan(0xffff_ffff), nan(0x7f80_0001), nan(0xff80_0001)],
        vec![f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0],
        vec![f32::NAN; 40],
        with_a_nan,
    ]
}

#[test]
fn extremes_are_those_of_bodies_nan_if_a_number_is_and_minus_zero_lies_below_zero() {
    for x in hard_numbers() {
        let expected = extremes_by_loops(&x);
        let of_bodies = [Extreme::Least, Extreme::Greatest].map(|extreme| {
            let one = extreme.of_all(x.iter().copied().map(f64::from));
            if one.is_nan() { 0x7fc0_0000 } else { (one as f32).to_bits() }
        });
        assert_eq!(of_bodies, expected, "{x:?}");
        for schedule in schedules(13, 3) {
            let found = everywhere!(|backend| {
                let (mut least, mut greatest) = (1.0, 1.0);
                let numbers = backend.array([x.len()], &x).unwrap();
                let call = Extremes { x: &numbers, least: &mut least, greatest: &mut greatest };
                call.launch_with(backend, [x.len()], DEFAULT.schedule(schedule)).unwrap();
                [least, greatest].map(f32::to_bits)
            });
            assert_eq!(found, expected, "{schedule:?} of {x:?}");
        }
    }
    assert_eq!(extremes_by_loops(&[0.0, -0.0]), [1 << 31, 0]);
}
