//! The index space of a map: its dimensions, their order on a device, work-groups, and arrays in any memory.

use lanefield::backend::opencl::Launch;
use proptest::prelude::*;

use super::*;

/// The transpose of a matrix.
#[map_kernel(block = [8, 32])]
pub(super) fn transposed<P: Point>(p: P, out: Write<P, f32, 2>, a: Read<P, f32, 2>) {
    let [i, j] = p.index();
    out.write([i, j], a.at([j, i]));
}

/// The transpose, with rows that begin at multiples of so many bytes.
pub(super) fn transpose_on<B: MapBackend>(
    backend: &B,
    [n, m]: [usize; 2],
    row: usize,
    options: MapOptions,
) -> Vec<u64> {
    let mut a = ArrayOn::padded(backend, [m, n], Storage::Global, row).unwrap();
    a.write(backend, &numbers(n * m)).unwrap();
    let mut out = ArrayOn::padded(backend, [n, m], Storage::Global, row).unwrap();
    Transposed { out: &mut out, a: &a }.launch_with(backend, [n, m], options).unwrap();
    bits(out.read(backend).unwrap())
}

pub(super) fn transpose_by_loops([n, m]: [usize; 2]) -> Vec<u64> {
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
            pub(super) fn $name<P: Point>(p: P, out: Write<P, i32, $D>) {
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

#[test]
fn the_last_dimension_is_the_first_of_the_device_and_those_beyond_the_third_are_one() {
    let text = text_of(&PLACES4, 4);
    for line in [
        "const ulong z = get_group_id(2) * get_local_size(2) + get_local_id(2);",
        "z < (ulong)range0 * (ulong)range1",
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
