//! Maps tried on their cases.

use lanefield_maps::{MapKernel, Trial, compare, ways};

use super::*;

/// The sum of a row, and the exact sum of all.
#[map_kernel(block = [64], case(range = [300], out = [300], a = [300, 7], s = 0.75), case(range = [1], out = [1], a = [1, 1], s = -2.0))]
fn row_sums<P: Point>(p: P, out: Write<P, f64, 1>, total: ExactSum<P>, a: Read<P, f32, 2>, s: Scalar<P, f64>) {
    let [i] = p.index();
    let zero = P::F64::constant(0.0);
    let sum = p.repeat(a.extent(1), zero, |j, sum| s.get().fma(a.at([i, j]).promoted(), sum));
    out.write([i], sum);
    total.add(sum);
}

/// What an index table names, counted.
#[map_kernel(case(range = [1000], bins = [16], out = [1000], of = [1000] in 0..16, x = [16]))]
fn gathered<P: Point>(
    p: P,
    bins: Accumulate<P, u32, 1>,
    out: Write<P, f32, 1>,
    of: Read<P, i32, 1>,
    x: Read<P, f32, 1>,
) {
    let [i] = p.index();
    let k = of.at([i]);
    bins.add([k], P::U32::constant(1));
    out.write([i], x.at([k]));
}

/// A matrix, tile by tile through local memory.
#[map_kernel(case(range = [5, 3], out = [33, 80], a = [80, 33]))]
fn through_local_memory<P: Point>(p: P, out: Write<P, f32, 2>, a: Read<P, f32, 2>) {
    let [i, j] = p.index();
    let tile = p.local::<f32, 2>([32, 8]);
    let (row, column) = (j * 32, i * 8);
    tile.copy_from(a, [row, column]);
    p.threads([8, 32], |[y, x]| out.write_inside([column + y, row + x], tile.at([x, y])));
}

/// It has no case.
#[map_kernel]
fn without_a_case<P: Point>(p: P, out: Write<P, f32, 1>) {
    let [i] = p.index();
    out.write([i], P::F32::constant(1.0));
}

/// Its array is too short.
#[map_kernel(case(range = [8], out = [4]))]
fn beyond_the_end<P: Point>(p: P, out: Write<P, f32, 1>) {
    let [i] = p.index();
    out.write([i], P::F32::constant(1.0));
}

static ALL: [&MapKernel; 3] = [&ROW_SUMS, &GATHERED, &THROUGH_LOCAL_MEMORY];

#[test]
fn every_case_of_a_map_has_the_same_bits_in_every_way_to_launch_it() {
    for map in ALL {
        let on_cpu = compare(map, 7, (&host(), &host()), 256).unwrap();
        assert_eq!(on_cpu.mismatches, [], "{}", map.name);
        let Some(device) = device() else { continue };
        let found = compare(map, 7, (&host(), device), 256).unwrap();
        assert_eq!(found.mismatches, [], "{}", map.name);
        assert!(found.launches >= map.cases.len() * 6 && found.numbers > 1000, "{found:?}");
    }
}

#[test]
fn the_numbers_of_a_case_depend_on_the_key_and_results_on_them() {
    let of = |key| Trial::new(&ROW_SUMS, 0, key, &host()).unwrap().run(&host(), ROW_SUMS.options).unwrap();
    assert!(of(1) == of(1) && of(1) != of(2));
}

#[test]
fn a_map_without_a_case_and_a_case_that_goes_beyond_an_array_are_errors_that_say_so() {
    let refused = |map| compare(map, 1, (&host(), &host()), 256).unwrap_err().to_string();
    assert!(refused(&WITHOUT_A_CASE).contains("add `case(range = …)`"), "{}", refused(&WITHOUT_A_CASE));
    assert!(refused(&BEYOND_THE_END).contains("out of extents [4]"), "{}", refused(&BEYOND_THE_END));
}

#[test]
fn ways_to_launch_a_map_are_written_as_its_attribute_has_them() {
    let ways: Vec<String> = ways(&ROW_SUMS, 1, 64).iter().map(ToString::to_string).collect();
    assert_eq!(ways[0], "schedule = Device, block = [64]");
    assert!(ways.contains(&"schedule = Device, block = [64], tile = [4]".to_owned()), "{ways:?}");
    assert!(ways.contains(&"schedule = Persistent { groups: Some(3) }, block = [64]".to_owned()), "{ways:?}");
    assert!(ways.iter().all(|way| !way.contains("256") && !way.contains("[4, 16]")), "{ways:?}");
}
