//! Thread-block maps: local memory, registers, barriers, and copies by all threads.

use super::*;

/// Twice, and in the first 16 threads of a block, three times a number: two thread-block maps of different sizes.
#[map_kernel]
pub(super) fn two_and_three_times<P: Point>(p: P, two: Write<P, i32, 1>, three: Write<P, i32, 1>, x: Read<P, i32, 1>) {
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
pub(super) fn product<P: Point>(p: P, c: Write<P, f32, 2>, a: Read<P, f32, 2>, b: Read<P, f32, 2>) {
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
pub(super) fn through_local_memory<P: Point>(p: P, out: Write<P, i32, 2>, a: Read<P, i32, 2>) {
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
