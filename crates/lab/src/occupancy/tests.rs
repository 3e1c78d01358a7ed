//! Occupancy against values of the vendors' calculators, and properties that hold for all numbers.

use proptest::prelude::*;

use super::*;
use crate::model::{Accumulation, Architecture, Demand, Resource, Vendor};

fn of(name: &str, demand: Demand) -> Occupancy {
    occupancy(&Architecture::find(name, None).unwrap(), &demand).unwrap()
}

fn taking(group: usize, registers: usize) -> Demand {
    Demand { group, registers, ..Demand::default() }
}

#[test]
fn waves_by_vgprs_are_those_of_llvm() {
    // The thresholds of LLVM's getOccupancyWithNumVGPRs for ten waves a SIMD and fewer, and those of one file of 512 in granules of 8 for eight.
    let gcn: (usize, &[usize]) = (10, &[24, 28, 32, 36, 40, 48, 64, 84, 128]);
    let cdna2: (usize, &[usize]) = (8, &[64, 72, 80, 96, 128, 168, 256]);
    for (name, (most_waves, thresholds)) in [("gfx906", gcn), ("gfx908", gcn), ("gfx90a", cdna2), ("gfx942", cdna2)] {
        for (waves, &most) in (1..=most_waves).rev().zip(thresholds) {
            assert_eq!(of(name, taking(64, most)).waves, 4 * waves, "{name}, {most} VGPRs");
            if most < 256 {
                assert_eq!(of(name, taking(64, most + 1)).waves, 4 * (waves - 1), "{name}, {most} VGPRs and one more");
            }
        }
    }
    // 1536 in granules of 24, and 768 in granules of 12, of waves twice as wide.
    for (wave, waves) in [
        (32, [(96, 16), (97, 12), (120, 12), (121, 10), (144, 10), (192, 8), (193, 7), (256, 5)]),
        (64, [(48, 16), (49, 12), (60, 12), (61, 10), (72, 10), (96, 8), (97, 7), (256, 2)]),
    ] {
        let architecture = Architecture::find("gfx1100", Some(wave)).unwrap();
        for (registers, waves) in waves {
            let found = occupancy(&architecture, &taking(wave, registers)).unwrap().waves;
            assert_eq!(found, 4 * waves, "waves of {wave}, {registers} VGPRs");
        }
    }
}

#[test]
fn accumulation_registers_count_as_each_generation_keeps_them() {
    let both = Demand { accumulation: 30, ..taking(64, 33) };
    // The larger of 33 and 30 in granules of 4: 36 of 256. In one file: 36 + 30 in granules of 8: 72 of 512.
    assert_eq!((of("gfx908", both).allocated_registers, of("gfx908", both).waves), (36, 28));
    assert_eq!((of("gfx90a", both).allocated_registers, of("gfx90a", both).waves), (72, 28));
    let all = Demand { accumulation: 256, ..taking(256, 256) };
    assert_eq!((of("gfx908", all).waves, of("gfx90a", all).waves), (4, 4));
}

#[test]
fn scalar_registers_limit_gcn_and_cdna_alone() {
    // 800 a SIMD in granules of 16: 80 leave ten waves, 96 eight, 112 seven.
    let with = |name, scalar| of(name, Demand { scalar, ..taking(64, 8) }).waves;
    assert_eq!([with("gfx908", 80), with("gfx908", 81), with("gfx908", 96), with("gfx908", 102)], [40, 32, 32, 28]);
    assert_eq!([with("gfx90a", 96), with("gfx90a", 102), with("gfx1100", 106)], [32, 28, 64]);
}

#[test]
fn groups_of_amd_are_limited_by_barriers_unless_they_have_one_wave() {
    let groups = |name, group| of(name, taking(group, 8)).groups;
    assert_eq!([groups("gfx908", 64), groups("gfx908", 128), groups("gfx908", 256)], [40, 16, 10]);
    assert_eq!([groups("gfx90a", 64), groups("gfx90a", 128), groups("gfx90a", 1024)], [32, 16, 2]);
    assert_eq!([groups("gfx1100", 32), groups("gfx1100", 64)], [64, 32]);
    assert_eq!(of("gfx908", taking(128, 8)).binding, [Resource::GroupSlots]);
    // 16 waves of two and 16 barriers: both bind.
    assert_eq!(of("gfx90a", taking(128, 8)).binding, [Resource::WaveSlots, Resource::GroupSlots]);
}

#[test]
fn what_nvidias_calculator_says_is_said_here() {
    // (architecture, registers, group, bytes) and the blocks a multiprocessor of CUDA's occupancy calculator.
    let known = [
        ("sm_70", 32, 256, 0, 8),
        ("sm_70", 33, 256, 0, 6),
        ("sm_70", 64, 128, 0, 8),
        ("sm_70", 255, 256, 0, 1),
        ("sm_70", 32, 256, 24 << 10, 4),
        ("sm_70", 32, 32, 0, 32),
        ("sm_80", 32, 1024, 0, 2),
        ("sm_80", 64, 256, 48 << 10, 3),
        ("sm_80", 32, 128, 16 << 10, 9),
        ("sm_80", 168, 128, 0, 3),
        ("sm_89", 32, 128, 0, 12),
        ("sm_89", 40, 64, 0, 24),
        ("sm_89", 32, 256, 49 << 10, 2),
        ("sm_90", 90, 128, 0, 5),
        ("sm_90", 128, 256, 0, 2),
        ("sm_90", 32, 1024, 227 << 10, 1),
        ("sm_90", 32, 64, 0, 32),
    ];
    for (name, registers, group, local, groups) in known {
        let found = of(name, Demand { local, ..taking(group, registers) });
        assert_eq!(found.groups, groups, "{name}, {registers} registers, {group} threads, {local} bytes");
    }
}

#[test]
fn the_carve_out_is_the_smallest_that_holds_the_groups() {
    let carve_out = |name, local| of(name, Demand { local, ..taking(256, 128) }).carve_out;
    // Two blocks each, of which the system reserves 1 KiB, except on a V100.
    assert_eq!(
        [carve_out("sm_90", 0), carve_out("sm_90", 24 << 10), carve_out("sm_90", 49 << 10)],
        [Some(8), Some(64), Some(100)]
    );
    assert_eq!(
        [carve_out("sm_70", 0), carve_out("sm_70", 16 << 10), carve_out("gfx90a", 0)],
        [Some(0), Some(32), None]
    );
}

#[test]
fn the_next_step_names_all_that_it_needs() {
    let sm_90 = Architecture::find("sm_90", None).unwrap();
    let words = |demand| occupancy(&sm_90, &demand).unwrap().next_step.unwrap().in_words(&sm_90);
    assert_eq!(words(taking(128, 90)), "6 groups (24 warps): at most 80 registers instead of 90");
    let gfx90a = Architecture::find("gfx90a", None).unwrap();
    // One more wave on each of four SIMDs.
    let step = occupancy(&gfx90a, &taking(64, 128)).unwrap().next_step.unwrap();
    assert_eq!(step.in_words(&gfx90a), "20 groups (20 waves): at most 96 VGPRs instead of 128");
    let lds = Demand { local: 24 << 10, ..taking(256, 52) };
    let step = occupancy(&gfx90a, &lds).unwrap().next_step.unwrap();
    // A third of 64 KiB is 21845 bytes, and 42 granules of 512.
    assert_eq!(step.needs, [Need { resource: Resource::LocalMemory, at_most: 21504, instead_of: 24 << 10 }]);
    let both = Demand { local: 40 << 10, ..taking(256, 256) };
    let step = occupancy(&gfx90a, &Demand { registers: 250, accumulation: 100, ..both }).unwrap().next_step.unwrap();
    let needs: Vec<_> = step.needs.iter().map(|need| (need.resource, need.at_most)).collect();
    assert_eq!(needs, [(Resource::Registers, 156), (Resource::LocalMemory, 32768)]);
    // Full already: 8 groups of four waves.
    assert_eq!(of("gfx90a", taking(256, 64)).next_step, None);
}

#[test]
fn a_group_that_does_not_fit_is_none_and_says_what_it_needs() {
    let large = of("gfx90a", taking(1024, 200));
    assert_eq!((large.groups, large.waves, large.share), (0, 0, 0.0));
    assert_eq!(large.next_step.unwrap().needs[0].at_most, 128);
}

#[test]
fn the_report_and_the_hardware_differ_as_documented() {
    // EmPRiSM: 52 VGPRs 38 waves, 24 KB 10 waves; the hardware: 4 waves a SIMD, two groups of four.
    let hardware = of("gfx908", Demand { scalar: 64, local: 24 << 10, ..taking(256, 52) });
    assert_eq!((hardware.waves, hardware.binding), (8, vec![Resource::LocalMemory]));
    assert_eq!(of("gfx908", Demand { scalar: 64, ..taking(256, 52) }).waves, 16);
    assert_eq!(of("gfx90a", Demand { scalar: 64, ..taking(256, 64) }).waves, 32);
}

#[test]
fn a_sweep_over_accelerator_threads_finds_the_full_wavefront() {
    let architecture = Architecture::find("gfx90a", None).unwrap();
    let swept =
        sweep(&architecture, &taking(64, 128), 8, SweptQuantity::AcceleratorThreads, &[2, 4, 8, 16, 32]).unwrap();
    let shares: Vec<f64> = swept.iter().map(|swept| swept.of_a_wave).collect();
    assert_eq!(shares, [0.25, 0.5, 1.0, 2.0, 4.0]);
    let groups: Vec<usize> = swept.iter().map(|swept| swept.occupancy.groups).collect();
    assert_eq!(groups, [16, 16, 16, 8, 4]);
    assert_eq!(swept[0].work_items, 0.125);
    assert!(super::sweep::sweet_spot(&architecture, &swept).unwrap().starts_with("8 accelerator threads"));
}

#[test]
fn numbers_that_no_kernel_has_are_named() {
    let gfx908 = Architecture::find("gfx908", None).unwrap();
    let error = |demand| occupancy(&gfx908, &demand).unwrap_err().to_string();
    assert_eq!(error(taking(0, 1)), "0 work-items a group are not possible on gfx908: use 1 to 1024");
    assert_eq!(error(taking(64, 300)), "300 VGPRs are not possible on gfx908: use 0 to 256");
    assert!(error(Demand { local: 65537, ..taking(64, 1) }).contains("65537 bytes of local memory"));
    assert!(
        Architecture::find("sm_20", None).unwrap_err().to_string().contains("gfx908, gfx90a, gfx942, gfx1100, sm_70")
    );
    assert!(Architecture::find("gfx90a", Some(32)).unwrap_err().to_string().ends_with("use 64"));
}

/// A kernel that some architecture can run.
fn any_demand() -> impl Strategy<Value = (usize, Demand)> {
    (0..Architecture::all().len(), 1..=1024usize, 1..=255usize, 0..=256usize, 0..=112usize, 0..=65536usize).prop_map(
        |(index, group, registers, accumulation, scalar, local)| {
            let architecture = &Architecture::all()[index];
            let accumulation = if architecture.accumulation == Accumulation::None { 0 } else { accumulation };
            let scalar = if architecture.vendor == Vendor::Amd { scalar } else { 0 };
            (index, Demand { group, registers, accumulation, scalar, local })
        },
    )
}

/// Groups that fit one by one: the rules as sums over partitions, without any division.
fn brute_force(architecture: &Architecture, demand: &Demand) -> usize {
    let mut waves_a_partition = 0;
    let registers = architecture.allocated_registers(demand.registers, demand.accumulation);
    let (mut registers_taken, mut scalar_taken) = (0, 0);
    loop {
        registers_taken += registers;
        let mut fits = registers_taken <= architecture.registers && waves_a_partition < architecture.waves_a_partition;
        if let Some(scalar) = architecture.scalar {
            scalar_taken += demand.scalar.max(1).next_multiple_of(scalar.granule);
            fits &= scalar_taken <= scalar.a_partition;
        }
        if !fits {
            break;
        }
        waves_a_partition += 1;
    }
    let mut groups = 0;
    let (mut waves, mut local) = (0, 0);
    loop {
        waves += demand.group.div_ceil(architecture.wave);
        local += architecture.allocated_local(demand.local);
        let alone = architecture.groups_are_barriers && demand.group <= architecture.wave;
        let place = alone || groups < architecture.groups;
        if waves > architecture.partitions * waves_a_partition || local > architecture.local_bytes || !place {
            return groups;
        }
        groups += 1;
    }
}

proptest! {
    #[test]
    fn groups_are_those_that_fit_one_by_one((index, demand) in any_demand()) {
        let architecture = &Architecture::all()[index];
        prop_assert_eq!(occupancy(architecture, &demand).unwrap().groups, brute_force(architecture, &demand));
    }

    #[test]
    fn less_of_a_resource_never_leaves_fewer_groups((index, demand) in any_demand(), less in 0usize..200) {
        let architecture = &Architecture::all()[index];
        let groups = |demand: Demand| occupancy(architecture, &demand).unwrap().groups;
        let fewer = [
            Demand { registers: demand.registers.saturating_sub(less), ..demand },
            Demand { accumulation: demand.accumulation.saturating_sub(less), ..demand },
            Demand { scalar: demand.scalar.saturating_sub(less), ..demand },
            Demand { local: demand.local.saturating_sub(100 * less), ..demand },
        ];
        for demand_of_less in fewer {
            prop_assert!(groups(demand_of_less) >= groups(demand), "{:?}", demand_of_less);
        }
    }

    #[test]
    fn the_next_step_is_reached_and_is_the_largest_that_does((index, demand) in any_demand()) {
        let architecture = &Architecture::all()[index];
        let now = occupancy(architecture, &demand).unwrap();
        if let Some(step) = now.next_step {
            let with = |demand: Demand, resource, number| match resource {
                Resource::Registers => Demand { registers: number, ..demand },
                Resource::ScalarRegisters => Demand { scalar: number, ..demand },
                _ => Demand { local: number, ..demand },
            };
            let reached = step.needs.iter().fold(demand, |demand, need| with(demand, need.resource, need.at_most));
            prop_assert!(occupancy(architecture, &reached).unwrap().groups >= step.groups);
            for need in &step.needs {
                let more = with(reached, need.resource, need.at_most + 1);
                prop_assert_eq!(occupancy(architecture, &more).unwrap().groups, now.groups);
            }
        }
    }
}
