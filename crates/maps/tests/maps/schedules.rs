//! Who does which points: tiles, points in their order, and chunks from a queue.

use lanefield::backend::opencl::Launch;

use super::*;

/// A five-point stencil in place of a Laplacian, periodic in one direction and 0 beyond the ends of the other.
#[map_kernel(tile = [1, 3])]
pub(super) fn laplacian<P: Point>(p: P, out: Write<P, f64, 2>, a: Read<P, f64, 2>, centre: Scalar<P, f64>) {
    let ([i, j], zero) = (p.index(), P::F64::constant(0.0));
    let n = a.extent(0);
    let along = a.at([(i + 1).wrapped(n), j]) + a.at([(i - 1).wrapped(n), j]);
    let across = a.at_or([i, j + 1], zero) + a.at_or([i, j - 1], zero);
    out.write([i, j], centre.get().fma(a.at([i, j]), along + across));
}

pub(super) fn laplacian_on<B: MapBackend>(backend: &B, [n, m]: [usize; 2], options: MapOptions) -> Vec<u64> {
    let numbers: Vec<f64> = numbers(n * m).into_iter().map(|x| f64::from(x) / 3.0).collect();
    let a = backend.array([n, m], &numbers).unwrap();
    let mut out = backend.zero_array([n, m]).unwrap();
    Laplacian { out: &mut out, a: &a, centre: -4.1 }.launch_with(backend, [n, m], options).unwrap();
    bits(out.read(backend).unwrap())
}

#[test]
fn a_tile_gives_a_work_item_several_points_and_changes_no_bit() {
    for [n, m] in [[7, 130], [1, 1], [3, 97]] {
        let tiled = everywhere!(|backend| laplacian_on(backend, [n, m], LAPLACIAN.options));
        let plain = everywhere!(|backend| laplacian_on(backend, [n, m], DEFAULT));
        assert_eq!(tiled, plain);
        let a: Vec<f64> = numbers(n * m).into_iter().map(|x| f64::from(x) / 3.0).collect();
        let at = |i: usize, j: isize| if j < 0 || j >= m as isize { 0.0 } else { a[i % n * m + j as usize] };
        let element = |k: usize| {
            let (i, j) = (k / m, (k % m) as isize);
            let sum = (at(i + 1, j) + at(i + n - 1, j)) + (at(i, j + 1) + at(i, j - 1));
            (-4.1f64).mul_add(at(i, j), sum).bits()
        };
        assert_eq!(plain, (0..n * m).map(element).collect::<Vec<_>>());
    }
    let launch = size_of_first_launch(|device| {
        laplacian_on(device, [2, 130], LAPLACIAN.options.block([32]));
    });
    if let Some(launch) = launch {
        assert_eq!(launch, Launch { global: [64, 2, 1], local: [32, 1, 1] });
    }
}

/// The running sum of integers, in place.
#[map_kernel(schedule = Sequential)]
pub(super) fn running_sum<P: Point>(p: P, x: Update<P, i32, 1>) {
    let [i] = p.index();
    x.write([i], x.at([i]) + x.at_or([i - 1], P::I32::constant(0)));
}

#[test]
fn a_sequential_map_reads_what_earlier_points_wrote_and_other_schedules_refuse_that() {
    let x = integers(100);
    let found = everywhere!(|backend| {
        let mut x = backend.array([100], &x).unwrap();
        RunningSum { x: &mut x }.launch(backend, [100]).unwrap();
        x.read(backend).unwrap()
    });
    let sums = x.iter().scan(0i32, |sum, &x| {
        *sum = sum.wrapping_add(x);
        Some(*sum)
    });
    assert_eq!(found, sums.collect::<Vec<_>>());
    let message = refused!(|backend| {
        let mut x = backend.array([100], &x).unwrap();
        RunningSum { x: &mut x }.launch_with(backend, [100], DEFAULT)
    });
    assert!(message.starts_with("map running_sum reads x at another index than it writes: "), "{message}");
}

/// As many turns as the index says: what takes different times.
#[map_kernel(schedule = Dynamic { chunk: 3 })]
pub(super) fn collatz<P: Point>(p: P, steps: Write<P, u32, 1>, most: Scalar<P, i32>) {
    let [i] = p.index();
    let (one, two) = (P::U32::constant(1), P::U32::constant(2));
    let (_, count) = p.repeat(most.get().least(i * 3), (p.unsigned(i + 1), P::U32::constant(0)), |_, (n, count)| {
        let is_even = (n % 2).equals(P::U32::constant(0));
        let next = P::U32::select(is_even, n / two, n * 3 + one);
        let is_done = n.at_most(one);
        (P::U32::select(is_done, n, next), P::U32::select(is_done, count, count + one))
    });
    steps.write([i], count);
}

#[test]
fn a_dynamic_map_fetches_chunks_until_all_is_done_once() {
    for (points, chunk) in [(1usize, 1usize), (100, 7), (257, 64), (257, 1000)] {
        let found = everywhere!(|backend| {
            let mut steps = backend.zero_array([points]).unwrap();
            let options = DEFAULT.schedule(Schedule::Dynamic { chunk });
            Collatz { steps: &mut steps, most: 200 }.launch_with(backend, [points], options).unwrap();
            steps.read(backend).unwrap()
        });
        let steps = |i: usize| {
            let (mut n, mut count) = (i as u32 + 1, 0);
            for _ in 0..200.min(3 * i) {
                if n > 1 {
                    n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
                    count += 1;
                }
            }
            count
        };
        assert_eq!(found, (0..points).map(steps).collect::<Vec<u32>>());
    }
}
