//! Maps: bodies over index spaces, on the CPU against plain loops, and on an OpenCL device against the CPU, bit for bit, for many extents, blocks and
//! schedules. One test for each thing that `docs/maps.md` offers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use lanefield::backend::opencl::Launch;
use lanefield::backend::{BackendError, Cpu, OpenCl};
use lanefield::capture::Capture;
use lanefield::check;
use lanefield_maps::prelude::*;
use lanefield_maps::{MapKernel, opencl};
use lanefield_reference::exact;
use lanefield_reference::scalar::functions as plain_functions;
use proptest::prelude::*;

fn host() -> Cpu {
    Cpu::new(None).unwrap()
}

/// A device whose new memory is NaN, so that no result can depend on what was there.
fn opened() -> Option<OpenCl> {
    check::device().inspect(|device| device.context().overwrite_new_memory(true))
}

/// The device of all these tests, so that each program is built once.
fn device() -> Option<&'static OpenCl> {
    static DEVICE: OnceLock<Option<OpenCl>> = OnceLock::new();
    DEVICE.get_or_init(opened).as_ref()
}

/// Does the same on the CPU and on the OpenCL device, and returns what comes of it, which is the same.
macro_rules! everywhere {
    (|$backend:ident| $work:expr) => {{
        let on_cpu = {
            let $backend = &host();
            $work
        };
        if let Some($backend) = device() {
            assert_eq!($work, on_cpu, "on the device, and on the CPU");
        }
        on_cpu
    }};
}

/// The message of an error that is the same on both.
macro_rules! refused {
    (|$backend:ident| $work:expr) => {
        everywhere!(|$backend| $work.unwrap_err().to_string())
    };
}

mod emitted;
mod refused;
mod trial;

fn bits<T: Element>(numbers: Vec<T>) -> Vec<u64> {
    numbers.into_iter().map(Element::bits).collect()
}

/// Numbers of both signs and of many sizes.
fn numbers(count: usize) -> Vec<f32> {
    let number = |k: usize| {
        let k = (k as u32).wrapping_mul(2_654_435_761) ^ 0x9e37;
        (k as f32 / 65_536.0 - 30_000.0) * 2f32.powi((k % 13) as i32 - 6)
    };
    (0..count).map(number).collect()
}

fn integers(count: usize) -> Vec<i32> {
    (0..count).map(|k| (k as i32).wrapping_mul(1_103_515_245).wrapping_add(12_345) >> 8).collect()
}

const DEFAULT: MapOptions = MapOptions::DEFAULT;

/// Every schedule.
fn schedules(chunk: usize, groups: usize) -> [Schedule; 5] {
    [
        Schedule::Device,
        Schedule::ThreadBlock,
        Schedule::Persistent { groups: Some(groups) },
        Schedule::Dynamic { chunk },
        Schedule::Sequential,
    ]
}

fn size_of_first_launch(work: impl FnOnce(&OpenCl)) -> Option<Launch> {
    let device = opened()?;
    let mut work = Some(work);
    let launches = device.launches_of(&mut || {
        if let Some(work) = work.take() {
            work(&device);
        }
        Ok(())
    });
    Some(launches.unwrap()[0].work_items())
}

/// Functions of real numbers, in both precisions.
#[map_kernel]
fn functions<P: Point>(p: P, single: Write<P, f32, 1>, double: Write<P, f64, 1>, x: Read<P, f32, 1>) {
    let (i, x) = (p.index(), x.at(p.index()));
    let wide = x.promoted();
    single.write(i, x.exp() + (x.abs().log() + x.cos() * x.sin()));
    double.write(i, wide.exp() + (wide.abs().log() + wide.cos() * wide.sin()));
}

#[test]
fn functions_of_real_numbers_are_those_of_plain_loops() {
    fn plain<R: lanefield_reference::real::Real>(x: R) -> u64 {
        let [cosine, sine] = plain_functions::cos_sin(x);
        let magnitude = if x < R::from_f64(0.0) { -x } else { x };
        (plain_functions::exp(x) + (plain_functions::log(magnitude) + cosine * sine)).bits()
    }
    let hard = [0.0, -0.0, 1e-45, f32::MAX, 1e6, 2e6, 88.7, f32::INFINITY, f32::NAN];
    let x: Vec<f32> = (1..300).map(|k| 0.37 * k as f32).chain(hard).flat_map(|x| [x, -x]).collect();
    let (single, double) = everywhere!(|backend| {
        let (mut single, mut double) = (backend.zero_array([x.len()]).unwrap(), backend.zero_array([x.len()]).unwrap());
        let of_x = backend.array([x.len()], &x).unwrap();
        Functions { single: &mut single, double: &mut double, x: &of_x }.launch(backend, [x.len()]).unwrap();
        // Any not a number is as good as another one.
        let single: Vec<f32> = single.read(backend).unwrap();
        let double: Vec<f64> = double.read(backend).unwrap();
        let of_single = |x: f32| if x.is_nan() { None } else { Some(x.bits()) };
        let of_double = |x: f64| if x.is_nan() { None } else { Some(x.bits()) };
        (single.into_iter().map(of_single).collect::<Vec<_>>(), double.into_iter().map(of_double).collect::<Vec<_>>())
    });
    for (k, &x) in x.iter().enumerate() {
        if let (Some(single), Some(double)) = (single[k], double[k]) {
            assert_eq!((single, double), (plain(x), plain(f64::from(x))), "{x}");
        } else {
            assert!(x.is_nan() || x.abs() > 1048576.0, "{x}");
        }
    }
}

/// The transpose of a matrix.
#[map_kernel(block = [8, 32])]
fn transposed<P: Point>(p: P, out: Write<P, f32, 2>, a: Read<P, f32, 2>) {
    let [i, j] = p.index();
    out.write([i, j], a.at([j, i]));
}

/// The transpose, with rows that begin at multiples of so many bytes.
fn transpose_on<B: MapBackend>(backend: &B, [n, m]: [usize; 2], row: usize, options: MapOptions) -> Vec<u64> {
    let mut a = ArrayOn::padded(backend, [m, n], Storage::Global, row).unwrap();
    a.write(backend, &numbers(n * m)).unwrap();
    let mut out = ArrayOn::padded(backend, [n, m], Storage::Global, row).unwrap();
    Transposed { out: &mut out, a: &a }.launch_with(backend, [n, m], options).unwrap();
    bits(out.read(backend).unwrap())
}

fn transpose_by_loops([n, m]: [usize; 2]) -> Vec<u64> {
    let a = numbers(n * m);
    (0..n * m).map(|k| a[k % m * n + k / m].bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_map_has_the_bits_of_plain_loops_for_all_extents_blocks_and_schedules(
        extents in prop::array::uniform2(prop_oneof![Just(0usize), Just(1), Just(31), Just(32), 2..80usize]),
        blocked in any::<bool>(),
        schedule in 0..5usize,
        chunk in 1..70usize,
        groups in 1..5usize,
        row in prop::sample::select(vec![4usize, 12, 128]),
    ) {
        let schedule = schedules(chunk, groups)[schedule];
        let options = if blocked { TRANSPOSED.options } else { DEFAULT };
        let found = everywhere!(|backend| transpose_on(backend, extents, row, options.schedule(schedule)));
        prop_assert_eq!(found, transpose_by_loops(extents));
    }
}

macro_rules! of_dimensions {
    ($($D:literal $name:ident $Name:ident;)+) => {
        $(
            /// A number that says where a point is.
            #[map_kernel]
            fn $name<P: Point>(p: P, out: Write<P, i32, $D>) {
                let index: [P::I32; $D] = p.index();
                let mut number = P::I32::constant(0);
                for (dimension, component) in index.into_iter().enumerate() {
                    number = number * p.range(dimension) + component;
                }
                out.write(index, number * 2 + 1);
            }
        )+

        #[test]
        fn one_to_six_dimensions_are_counted_row_by_row() {
            const EXTENTS: [usize; 6] = [3, 2, 5, 1, 7, 4];
            $(
                let extents: [usize; $D] = std::array::from_fn(|d| EXTENTS[d]);
                let found = everywhere!(|backend| {
                    let mut out = backend.zero_array(extents).unwrap();
                    $Name { out: &mut out }.launch(backend, extents).unwrap();
                    out.read(backend).unwrap()
                });
                let expected: Vec<i32> = (0..extents.iter().product::<usize>() as i32).map(|k| 2 * k + 1).collect();
                assert_eq!(found, expected, "{} dimensions", $D);
            )+
        }
    };
}

of_dimensions! {
    1 places1 Places1;
    2 places2 Places2;
    3 places3 Places3;
    4 places4 Places4;
    5 places5 Places5;
    6 places6 Places6;
}

#[test]
fn any_dimension_may_have_more_groups_than_sixteen_bits_count() {
    const MANY: usize = (1 << 16) + 3;
    let expected: Vec<i32> = (0..MANY as i32).map(|k| 2 * k + 1).collect();
    let found = everywhere!(|backend| {
        let mut out = backend.zero_array([MANY, 1]).unwrap();
        Places2 { out: &mut out }.launch(backend, [MANY, 1]).unwrap();
        out.read(backend).unwrap()
    });
    assert!(found == expected, "2 dimensions");
    let found = everywhere!(|backend| {
        let mut out = backend.zero_array([MANY, 1, 1]).unwrap();
        Places3 { out: &mut out }.launch(backend, [MANY, 1, 1]).unwrap();
        out.read(backend).unwrap()
    });
    assert!(found == expected, "3 dimensions");
}

/// The text of a map over an index space of `rank` dimensions, a point or block for each work-item or group.
fn text_of(map: &'static MapKernel, rank: usize) -> String {
    let form = opencl::Form { walk: opencl::Walk::Each([1; 3]), rank, guarded: false, tracked: Vec::new() };
    opencl::kernel_text(map, &map.program().unwrap(), &form).unwrap()
}

#[test]
fn the_last_dimension_is_the_first_of_the_device_and_those_beyond_the_third_are_one() {
    let text = text_of(&PLACES4, 4);
    for line in [
        "const size_t z = get_group_id(2) * get_local_size(2) + get_local_id(2);",
        "z < (size_t)range0 * (size_t)range1",
        "const int i3 = (int)x;",
        "const int i2 = (int)y;",
        "const int i1 = (int)(rest % range1);",
    ] {
        assert!(text.contains(line), "{line} is missing from\n{text}");
    }
    let launch = size_of_first_launch(|device| {
        let mut out = device.zero_array([3, 2, 5, 9]).unwrap();
        Places4 { out: &mut out }.launch_with(device, [3, 2, 5, 9], DEFAULT.block([2, 2, 8])).unwrap();
    });
    if let Some(launch) = launch {
        assert_eq!(launch, Launch { global: [16, 6, 6], local: [8, 2, 2] });
    }
}

#[test]
fn a_block_is_of_the_attribute_or_as_the_device_likes_it() {
    let run = |options: MapOptions| {
        size_of_first_launch(move |device| {
            transpose_on(device, [40, 40], 4, options);
        })
    };
    if let Some(launch) = run(TRANSPOSED.options) {
        assert_eq!(launch, Launch { global: [64, 40, 1], local: [32, 8, 1] });
    }
    if let Some(Launch { local: [x, 1, 1], .. }) = run(DEFAULT) {
        assert!((32..=64).contains(&x), "{x}");
    }
}

/// Twice, and in the first 16 threads of a block, three times a number: two thread-block maps of different sizes.
#[map_kernel]
fn two_and_three_times<P: Point>(p: P, two: Write<P, i32, 1>, three: Write<P, i32, 1>, x: Read<P, i32, 1>) {
    let [block] = p.index();
    p.threads([2, 8], |[y, t]| {
        let i = block * 16 + y * 8 + t;
        two.write_inside([i], x.at_or([i], P::I32::constant(0)) * 2);
    });
    p.threads([4, 4], |[y, t]| {
        let i = block * 16 + y * 4 + t;
        three.write_inside([i], x.at_or([i], P::I32::constant(0)) * 3);
    });
}

#[test]
fn a_block_is_as_large_as_the_largest_thread_block_map_in_each_dimension_and_fewer_threads_do_the_smaller_ones() {
    assert_eq!(TWO_AND_THREE_TIMES.program().unwrap().needs.block, Some([1, 4, 8]));
    let x = integers(50);
    let [two, three] = everywhere!(|backend| {
        let x = backend.array([50], &x).unwrap();
        let [mut two, mut three] = [(); 2].map(|()| backend.zero_array([50]).unwrap());
        TwoAndThreeTimes { two: &mut two, three: &mut three, x: &x }.launch(backend, [4]).unwrap();
        [two, three].map(|array| array.read(backend).unwrap())
    });
    assert_eq!(two, x.iter().map(|x| x.wrapping_mul(2)).collect::<Vec<_>>());
    assert_eq!(three, x.iter().map(|x| x.wrapping_mul(3)).collect::<Vec<_>>());
    let text = text_of(&TWO_AND_THREE_TIMES, 1);
    assert!(text.contains("if (get_local_id(1) < 2) {") && text.contains("if (get_local_id(0) < 4) {"), "{text}");
}

const TILE: usize = 8;

/// The product of two matrices, tile by tile in local memory, each element in a register of a thread.
#[map_kernel]
fn product<P: Point>(p: P, c: Write<P, f32, 2>, a: Read<P, f32, 2>, b: Read<P, f32, 2>) {
    let [row, column] = p.index().map(|block| block * TILE as i32);
    let (of_a, of_b) = (p.local([TILE, TILE]), p.local([TILE, TILE]));
    let sum = p.register::<f32>(1);
    let tiles = (a.extent(1) + (TILE as i32 - 1)) / TILE as i32;
    p.repeat(tiles, (), |tile, ()| {
        let k = tile * TILE as i32;
        of_a.copy_from(a, [row, k]);
        of_b.copy_from(b, [k, column]);
        p.threads([TILE, TILE], |[y, x]| {
            let zero = P::I32::constant(0);
            let mut total = sum.get(zero);
            for k in 0..TILE as i32 {
                let k = P::I32::constant(k);
                total = of_a.at([y, k]).fma(of_b.at([k, x]), total);
            }
            sum.set(zero, total);
        });
    });
    p.threads([TILE, TILE], |[y, x]| c.write_inside([row + y, column + x], sum.get(P::I32::constant(0))));
}

fn product_on<B: MapBackend>(backend: &B, [n, m, l]: [usize; 3], schedule: Schedule) -> Vec<u64> {
    let a = backend.array([n, l], &numbers(n * l)).unwrap();
    let b = backend.array([l, m], &numbers(l * m)).unwrap();
    let mut c = backend.zero_array([n, m]).unwrap();
    let blocks = [n.div_ceil(TILE), m.div_ceil(TILE)];
    Product { c: &mut c, a: &a, b: &b }.launch_with(backend, blocks, DEFAULT.schedule(schedule)).unwrap();
    bits(c.read(backend).unwrap())
}

#[test]
fn registers_live_from_one_thread_block_map_to_the_next_and_local_copies_meet_at_barriers() {
    for (extents, schedule) in [[9, 17, 11], [8, 8, 8], [1, 3, 20], [5, 1, 1]].into_iter().zip(schedules(1, 2)) {
        let found = everywhere!(|backend| product_on(backend, extents, schedule));
        let [n, m, l] = extents;
        let (a, b) = (numbers(n * l), numbers(l * m));
        let element = |k: usize| {
            let (i, j) = (k / m, k % m);
            // Beyond the ends 0 is added to the sum: +0 · +0.
            (0..l.next_multiple_of(TILE)).fold(0f32, |sum, k| match k < l {
                true => a[i * l + k].mul_add(b[k * m + j], sum),
                false => 0f32.mul_add(0.0, sum),
            })
        };
        assert_eq!(found, (0..n * m).map(|k| element(k).bits()).collect::<Vec<_>>(), "{extents:?}");
    }
}

#[test]
fn barriers_stand_where_threads_must_meet_and_nowhere_else() {
    let text = text_of(&PRODUCT, 2);
    // Between both copies and the map that reads them, and at the end of a turn; none between the copies, none at the end.
    assert_eq!(text.matches("barrier(").count(), 2, "{text}");
}

/// A matrix tile by tile through local memory, copied in by the device itself, and out by all threads.
#[map_kernel]
fn through_local_memory<P: Point>(p: P, out: Write<P, i32, 2>, a: Read<P, i32, 2>) {
    let [row, column] = p.index();
    let (tile, turned) = (p.local([4, 8]), p.local([8, 4]));
    tile.copy_from_asynchronously(a, [row * 4, column * 8]);
    p.threads([4, 8], |[y, x]| turned.write([x, y], tile.at([y, x])));
    turned.copy_to(out, [column * 8, row * 4]);
}

#[test]
fn a_collaborative_copy_is_asynchronous_where_it_lies_inside_and_pads_and_cuts_where_it_does_not() {
    for [n, m] in [[8, 16], [9, 13], [3, 2], [1, 40]] {
        let a = integers(n * m);
        let found = everywhere!(|backend| {
            let a = backend.array([n, m], &a).unwrap();
            let mut out = backend.zero_array([m, n]).unwrap();
            ThroughLocalMemory { out: &mut out, a: &a }.launch(backend, [n.div_ceil(4), m.div_ceil(8)]).unwrap();
            out.read(backend).unwrap()
        });
        assert_eq!(found, (0..n * m).map(|k| a[k % n * m + k / n]).collect::<Vec<_>>(), "{n} by {m}");
    }
    let text = text_of(&THROUGH_LOCAL_MEMORY, 2);
    assert!(text.contains("async_work_group_copy(") && text.contains("wait_group_events("), "{text}");
}

/// A five-point stencil in place of a Laplacian, periodic in one direction and 0 beyond the ends of the other.
#[map_kernel(tile = [1, 3])]
fn laplacian<P: Point>(p: P, out: Write<P, f64, 2>, a: Read<P, f64, 2>, centre: Scalar<P, f64>) {
    let ([i, j], zero) = (p.index(), P::F64::constant(0.0));
    let n = a.extent(0);
    let along = a.at([(i + 1).wrapped(n), j]) + a.at([(i - 1).wrapped(n), j]);
    let across = a.at_or([i, j + 1], zero) + a.at_or([i, j - 1], zero);
    out.write([i, j], centre.get().fma(a.at([i, j]), along + across));
}

fn laplacian_on<B: MapBackend>(backend: &B, [n, m]: [usize; 2], options: MapOptions) -> Vec<u64> {
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
fn running_sum<P: Point>(p: P, x: Update<P, i32, 1>) {
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
fn collatz<P: Point>(p: P, steps: Write<P, u32, 1>, most: Scalar<P, i32>) {
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

/// Sums, and the least and the greatest, of numbers.
#[map_kernel]
fn statistics<P: Point>(
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

type Statistic = ([u64; 2], i32, u32, [i32; 2], [u32; 2]);

fn statistics_on<B: MapBackend>(backend: &B, x: &[f32], [n, m]: [usize; 2], options: MapOptions) -> Statistic {
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
fn histogram<P: Point>(p: P, bins: Accumulate<P, u32, 1>, largest: Accumulate<P, i32, 1>, x: Read<P, f32, 1>) {
    let [i] = p.index();
    let bin = (p.truncated(x.at([i])) % 7).greatest(P::I32::constant(0));
    bins.add([bin], P::U32::constant(1));
    largest.greatest([bin], i);
}

/// The same, in local memory first, and one atomic operation for each bin of a block.
#[map_kernel]
fn hierarchical_histogram<P: Point>(p: P, bins: Accumulate<P, u32, 1>, x: Read<P, f32, 1>) {
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

/// Integer operations, where they wrap around and where they divide by nothing.
#[map_kernel]
fn integer_operations<P: Point>(p: P, out: Write<P, i32, 2>, unsigned: Write<P, u32, 2>, x: Read<P, i32, 1>) {
    let ([i, j], [a, b]) = (p.index(), p.index::<2>().map(|k| x.at([k])));
    let sum = (a + b).bit_xor(a - b).bit_or(a * b).bit_and(a.shifted_right(3) + b.shifted_left(5));
    out.write([i, j], (a / b) + (a % b) * 3 + sum + a.least(b) - a.greatest(b));
    let (a, b) = (p.unsigned(a), p.unsigned(b));
    let chosen = P::U32::select(a.less(b).and(a.equals(b).not()), a / b, a % b);
    unsigned.write([i, j], (chosen + a.shifted_right(7)).bit_xor(a * b - 1));
}

#[test]
fn integers_wrap_around_and_divide_by_nothing_as_they_do_on_the_cpu() {
    let mut x = vec![0, 1, -1, 2, 7, i32::MIN, i32::MAX, i32::MIN + 1, 32];
    x.extend(integers(20));
    let n = x.len();
    let (signed, unsigned) = everywhere!(|backend| {
        let (mut out, mut unsigned) = (backend.zero_array([n, n]).unwrap(), backend.zero_array([n, n]).unwrap());
        let x = backend.array([n], &x).unwrap();
        IntegerOperations { out: &mut out, unsigned: &mut unsigned, x: &x }.launch(backend, [n, n]).unwrap();
        (out.read(backend).unwrap(), unsigned.read(backend).unwrap())
    });
    for (k, (found, of_unsigned)) in signed.into_iter().zip(unsigned).enumerate() {
        let [a, b] = [x[k / n], x[k % n]].map(i64::from);
        let low = |x: i64| x as i32;
        let bits = (low(a + b) ^ low(a - b) | low(a * b)) & low(i64::from(low(a >> 3)) + i64::from(low(b << 5)));
        let (quotient, rest) = if b == 0 { (0, a) } else { (a / b, a % b) };
        let expected = i64::from(low(quotient)) + rest * 3 + i64::from(bits) + a.min(b) - a.max(b);
        assert_eq!(found, low(expected), "{a} and {b}");
        let [a, b] = [x[k / n], x[k % n]].map(|x| u64::from(x as u32));
        let chosen = if a < b {
            a / b
        } else if b == 0 {
            a
        } else {
            a % b
        };
        assert_eq!(
            of_unsigned,
            (chosen as u32).wrapping_add((a >> 7) as u32) ^ (a as u32).wrapping_mul(b as u32).wrapping_sub(1)
        );
    }
}

#[test]
fn pinned_host_memory_is_read_and_written_by_kernels() {
    for extents in [[5, 70], [0, 3]] {
        let [n, m] = extents;
        let found = everywhere!(|backend| {
            let a = ArrayOn::new(backend, [m, n], Storage::PinnedHost, &numbers(n * m)).unwrap();
            let mut out = ArrayOn::zeros(backend, [n, m], Storage::PinnedHost).unwrap();
            Transposed { out: &mut out, a: &a }.launch(backend, [n, m]).unwrap();
            assert_eq!(out.storage(), Storage::PinnedHost);
            bits(out.read(backend).unwrap())
        });
        assert_eq!(found, transpose_by_loops(extents));
    }
}

#[test]
fn an_empty_map_launches_nothing_and_writes_nothing() {
    let Some(device) = opened() else { return };
    let a = device.array::<f32, 2>([0, 4], &[]).unwrap();
    let mut out = device.array([4, 4], &[1.0; 16]).unwrap();
    let mut run = |options| Transposed { out: &mut out, a: &a }.launch_with(&device, [4, 0], options).unwrap();
    let launches = device.launches_of(&mut || {
        schedules(1, 1).into_iter().for_each(|schedule| run(DEFAULT.schedule(schedule)));
        Ok(())
    });
    assert_eq!(launches.unwrap().len(), 0);
    assert_eq!(out.read(&device).unwrap(), [1.0; 16]);
}

static IS_FAULTY: AtomicBool = AtomicBool::new(false);

/// The square of a number; with a fault that is switched on after it was recorded, in one element another one.
#[map_kernel]
fn faulty<P: Point>(p: P, out: Write<P, f32, 1>, x: Read<P, f32, 1>) {
    let [i] = p.index();
    let x = x.at([i]);
    let square = x * x;
    out.write([i], square);
    if IS_FAULTY.load(Ordering::Relaxed) {
        p.when(i.equals(P::I32::constant(70)), || out.write([i], x.fma(x, square * P::F32::constant(1e-7))));
    }
}

#[test]
fn a_planted_fault_in_one_bit_of_one_element_is_found() {
    fn squares<B: MapBackend>(backend: &B) -> Vec<u64> {
        let x = backend.array([71], &numbers(71)).unwrap();
        let mut out = backend.zero_array([71]).unwrap();
        Faulty { out: &mut out, x: &x }.launch(backend, [71]).unwrap();
        bits(out.read(backend).unwrap())
    }
    let right = everywhere!(|backend| squares(backend));
    IS_FAULTY.store(true, Ordering::Relaxed);
    // The recording is from before; the CPU runs the body itself.
    let found = squares(&host());
    let differs: Vec<usize> = (0..71).filter(|&k| found[k] != right[k]).collect();
    assert_eq!(differs, [70]);
    if let Some(device) = device() {
        assert_eq!(squares(device), right);
    }
}

/// Numbers times a number.
#[map_kernel]
fn scaled<P: Point>(p: P, out: Write<P, f64, 1>, a: Scalar<P, f64>, x: Read<P, f64, 1>) {
    let [i] = p.index();
    out.write([i], x.at([i]) * a.get());
}

#[test]
fn a_captured_map_has_the_same_bits_when_it_is_run_again() {
    let Some(device) = opened() else { return };
    let x: Vec<f64> = (0..1000).map(|k| f64::from(k) / 7.0).collect();
    let held = ArrayOn::new(&device, [1000], Storage::Global, &x).unwrap();
    let mut out = ArrayOn::new(&device, [1000], Storage::Global, &[0.0; 1000]).unwrap();
    let mut work = || Scaled { out: &mut out, a: 1.5, x: &held }.launch(&device, [1000]).map_err(BackendError::device);
    let captured = Capture::new(device.capture("map_scaled", &mut work).unwrap(), device.context().info());
    let found = opened().unwrap().context().replay(&captured.launch).unwrap();
    assert_eq!(captured.differences(&found), []);
    let written = captured.launch.buffers.iter().find_map(|buffer| buffer.after.as_ref()).unwrap();
    let expected: Vec<u8> = x.iter().flat_map(|x| (x * 1.5).to_ne_bytes()).collect();
    assert!(written.starts_with(&expected));
}
