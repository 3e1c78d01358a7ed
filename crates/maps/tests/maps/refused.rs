//! What maps refuse, before they run or afterwards, and how they say it.

use std::sync::atomic::{AtomicU32, Ordering};

use super::index_space::{Places1, Places2, Transposed};
use super::thread_blocks::{ThroughLocalMemory, TwoAndThreeTimes};
use super::*;

#[test]
fn a_group_above_what_the_built_kernel_allows_is_refused_by_name() {
    let Some(device) = device() else { return };
    let a = device.array([64, 64], &numbers(4096)).unwrap();
    let mut out = device.zero_array([64, 64]).unwrap();
    let call = Transposed { out: &mut out, a: &a };
    let message = call.launch_with(device, [64, 64], DEFAULT.block([1024, 1024])).unwrap_err().to_string();
    let expected = "map transposed: blocks of [1, 1024, 1024] are 1048576 work-items, and ";
    assert!(message.starts_with(expected) && message.contains(" in a group of this kernel"), "{message}");
}

/// More local memory than any device has.
#[map_kernel]
fn too_much_local_memory<P: Point>(p: P, out: Write<P, f64, 1>) {
    let [i] = p.index();
    let local = p.local::<f64, 2>([1 << 14, 1 << 14]);
    p.threads([1], |[t]| {
        local.write([t, t], P::F64::constant(1.0));
        out.write([i], local.at([t, t]));
    });
}

#[test]
fn local_memory_over_the_budget_of_the_device_is_refused_by_name() {
    let Some(device) = device() else { return };
    let mut out = device.zero_array([3]).unwrap();
    let message = TooMuchLocalMemory { out: &mut out }.launch(device, [3]).unwrap_err().to_string();
    assert!(
        message.starts_with("map too_much_local_memory needs 2147483648 bytes of local memory for a block, and "),
        "{message}"
    );
}

/// What lies where an index says.
#[map_kernel]
fn gathered<P: Point>(p: P, out: Write<P, f32, 1>, a: Read<P, f32, 1>, index: Read<P, i32, 1>) {
    let [i] = p.index();
    out.write([i], a.at([index.at([i])]));
}

#[test]
fn an_index_that_is_seen_to_lie_beyond_the_ends_is_refused_before_anything_runs() {
    let message = refused!(|backend| {
        let a = backend.array([4, 5], &numbers(20)).unwrap();
        let mut out = backend.zero_array([5, 4]).unwrap();
        let refused = Transposed { out: &mut out, a: &a }.launch(backend, [6, 4]);
        assert_eq!(out.read(backend).unwrap(), [0.0; 20]);
        refused
    });
    let expected = "map transposed over [6, 4] uses a of extents [4, 5] at indices from 0 to 5 in dimension 1: ";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn an_index_that_was_read_and_lies_beyond_the_ends_touches_no_memory_and_is_an_error_afterwards() {
    let index: Vec<i32> = (0..100)
        .map(|k| [k, 99 - k, 150, i32::MIN][if k % 50 == 17 { 2 + k as usize / 50 } else { k as usize % 2 }])
        .collect();
    let found = everywhere!(|backend| {
        let (a, index) = (backend.array([100], &numbers(100)).unwrap(), backend.array([100], &index).unwrap());
        let mut out = backend.zero_array([100]).unwrap();
        let message = Gathered { out: &mut out, a: &a, index: &index }.launch(backend, [100]).unwrap_err().to_string();
        (message, bits(out.read(backend).unwrap()))
    });
    let expected = "map gathered used a of extents [100] out of range, first at point [17]: ";
    assert!(found.0.starts_with(expected), "{}", found.0);
    let a = numbers(100);
    let element = |&index: &i32| usize::try_from(index).ok().and_then(|index| a.get(index)).map_or(0, |x| x.bits());
    assert_eq!(found.1, index.iter().map(element).collect::<Vec<_>>());
}

/// What is there, at where an index says.
#[map_kernel]
fn scattered<P: Point>(p: P, out: Write<P, i32, 2>, index: Read<P, i32, 1>) {
    let [i] = p.index();
    let to = index.at([i]);
    out.write([to / 4, to % 4], i * i);
}

#[test]
fn padding_of_rows_changes_no_bit() {
    for [n, m] in [[8, 16], [9, 13], [3, 2]] {
        let a = integers(n * m);
        let found = everywhere!(|backend| {
            let padded = |extents: [usize; 2]| ArrayOn::padded(backend, extents, Storage::Global, 128).unwrap();
            let (mut out, mut from) = (padded([m, n]), padded([n, m]));
            assert_eq!((out.pitch(), from.pitch()), (32, 32));
            from.write(backend, &a).unwrap();
            ThroughLocalMemory { out: &mut out, a: &from }.launch(backend, [n.div_ceil(4), m.div_ceil(8)]).unwrap();
            out.read(backend).unwrap()
        });
        assert_eq!(found, (0..n * m).map(|k| a[k % n * m + k / n]).collect::<Vec<_>>(), "{n} by {m}");
    }
    // The element is named by its index, not by where it lies.
    let message = refused!(|backend| {
        let index = backend.array([8], &[7, 6, 5, 4, 3, 2, 1, 6]).unwrap();
        let mut out = ArrayOn::padded(backend, [2, 4], Storage::Global, 64).unwrap();
        Scattered { out: &mut out, index: &index }.launch(backend, [8])
    });
    assert!(message.starts_with("map scattered wrote element [1, 2] of out by several points"), "{message}");
    for bytes in [0, 6] {
        let message = refused!(|backend| ArrayOn::<_, f32, 2>::padded(backend, [2, 4], Storage::Global, bytes));
        let expected = "expected a multiple of an element's 4 bytes, such as 128";
        assert_eq!(message, format!("rows at multiples of {bytes} bytes: {expected}"));
    }
}

#[test]
fn two_points_that_write_one_element_are_an_error_that_names_it() {
    let run = |at: i32| {
        everywhere!(|backend| {
            let index = backend.array([8], &[7, 6, 5, 4, 3, 2, 1, at]).unwrap();
            let mut out = backend.zero_array([2, 4]).unwrap();
            let done = Scattered { out: &mut out, index: &index }.launch(backend, [8]);
            done.map(|()| out.read(backend).unwrap()).map_err(|error| error.to_string())
        })
    };
    assert_eq!(run(0), Ok(vec![49, 36, 25, 16, 9, 4, 1, 0]));
    let message = run(6).unwrap_err();
    assert!(message.starts_with("map scattered wrote element [1, 2] of out by several points"), "{message}");
}

/// Asks for what there is not.
#[map_kernel(schedule = Persistent { groups: None })]
fn across_the_grid<P: Point>(p: P, out: Write<P, i32, 1>) {
    let [i] = p.index();
    out.write([i], i);
    p.grid_barrier();
}

#[test]
fn a_barrier_across_all_points_is_refused_with_the_reason() {
    let message = refused!(|backend| AcrossTheGrid { out: &mut backend.zero_array([4]).unwrap() }.launch(backend, [4]));
    assert_eq!(
        message,
        "the body of across_the_grid asks for a barrier across all points, which OpenCL does not have: work-groups cannot wait for each other, and may run one after \
         the other: end the map there, and launch what follows as the next one"
    );
}

static RECORDINGS: AtomicU32 = AtomicU32::new(0);

/// Another constant each time.
#[map_kernel]
fn impure<P: Point>(p: P, out: Write<P, i32, 1>) {
    out.write(p.index(), P::I32::constant(RECORDINGS.fetch_add(1, Ordering::Relaxed) as i32));
}

/// Takes a number out of a thread-block map.
#[map_kernel]
fn escaping<P: Point>(p: P, out: Write<P, i32, 1>) {
    let [i] = p.index();
    let mut last = i;
    p.threads([4], |[t]| last = t);
    p.threads([1], |[_]| out.write([i], last));
}

/// Reads what a neighbour writes, without a barrier.
#[map_kernel]
fn racing<P: Point>(p: P, out: Write<P, i32, 1>) {
    let [i] = p.index();
    let local = p.local::<i32, 1>([8]);
    p.threads([8], |[t]| {
        local.write([t], t);
        out.write([i * 8 + t], local.at([(t + 1) % 8]));
    });
}

/// Writes once for each thread, outside of a thread-block map.
#[map_kernel]
fn by_nobody<P: Point>(p: P, out: Write<P, i32, 1>) {
    let [i] = p.index();
    p.threads([8], |[t]| out.write([i * 8 + t], t));
    out.write([i], i);
}

/// Reads local memory that nobody wrote.
#[map_kernel]
fn unwritten<P: Point>(p: P, out: Write<P, i32, 1>) {
    let local = p.local::<i32, 1>([8]);
    p.threads([8], |[t]| out.write([t], local.at([t])));
}

#[test]
fn bodies_that_depend_on_which_thread_comes_first_or_on_anything_else_are_refused() {
    let message = |map: &'static MapKernel| map.program().unwrap_err().to_string();
    for (map, expected) in [
        (&IMPURE, "did not do the same when it was recorded twice"),
        (&ESCAPING, "uses a number of a map, a loop or a condition after that has ended"),
        (&RACING, "reads in a thread-block map what another thread of it may write to local memory"),
        (&BY_NOBODY, "writes, sums, or touches local memory or registers outside of its thread-block maps"),
        (&UNWRITTEN, "reads local memory before anything was written to it"),
    ] {
        let message = message(map);
        assert!(message.starts_with(&format!("the body of {} {expected}", map.name)), "{message}");
    }
}

#[test]
fn options_that_a_map_does_not_take_are_refused_by_name() {
    let transpose = |options: MapOptions| {
        refused!(|backend| {
            let (a, mut out) = (backend.zero_array([4, 4]).unwrap(), backend.zero_array([4, 4]).unwrap());
            Transposed { out: &mut out, a: &a }.launch_with(backend, [4, 4], options)
        })
    };
    for (options, expected) in [
        (DEFAULT.block([0]), "blocks of [1, 1, 0]: expected at least 1 in each dimension"),
        (DEFAULT.tile([0]), "tiles of [1, 1, 0]: expected at least 1 in each dimension"),
        (DEFAULT.schedule(Schedule::Dynamic { chunk: 0 }), "chunks of 0 points: expected at least 1"),
        (DEFAULT.schedule(Schedule::Persistent { groups: Some(0) }), "0 groups: expected at least 1"),
        (
            DEFAULT.schedule(Schedule::Sequential).tile([2]),
            "tiles of [1, 1, 2] with the schedule Sequential: expected the schedule Device: with others a work-item computes several points anyway",
        ),
    ] {
        assert_eq!(transpose(options), format!("map transposed: {expected}"));
    }
    let message = refused!(|backend| {
        let x = backend.zero_array([4]).unwrap();
        let [mut two, mut three] = [(); 2].map(|()| backend.zero_array([4]).unwrap());
        TwoAndThreeTimes { two: &mut two, three: &mut three, x: &x }.launch_with(backend, [1], DEFAULT.block([64]))
    });
    assert_eq!(
        message,
        "map two_and_three_times has thread-block maps with blocks of [1, 4, 8], but blocks of [1, 1, 64] were given: give none"
    );
    let message = refused!(|backend| Places1 { out: &mut backend.zero_array([2]).unwrap() }.launch_with(
        backend,
        [2],
        DEFAULT.block([2, 8])
    ));
    assert_eq!(
        message,
        "map places1: blocks of [1, 2, 8] over 1 dimensions: expected no more dimensions than the index space has"
    );
    let message = refused!(|backend| Places2 { out: &mut backend.zero_array([2, 2]).unwrap() }.launch(backend, [4]));
    assert_eq!(message, "map places2 runs over 2 dimensions, but its index space is [4]");
    let message = refused!(|backend| backend.array([2, 3], &[1.0f32; 5]).map(|_| ()));
    assert_eq!(message, "5 numbers for an array of extents [2, 3], which holds 6");
    let message = refused!(|backend| backend.zero_array::<f32, 3>([1 << 40, 2, 3]).map(|_| ()));
    assert!(message.starts_with("an array of extents [1099511627776, 2, 3]: each is at most 2147483647"), "{message}");
}
