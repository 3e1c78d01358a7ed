//! What maps are written as compiles without a warning for devices of many kinds, of which none need be there.

use lanefield::backend::opencl::{OfflineProgram, expand_with};
use lanefield_lab::code::{Clang, SPIR, faults};
use lanefield_maps::opencl::{Form, Walk};
use lanefield_reference::exact;

use super::folds::{EXTREMES, HIERARCHICAL_HISTOGRAM, HISTOGRAM, STATISTICS};
use super::index_space::TRANSPOSED;
use super::numbers::{FUNCTIONS, INTEGER_OPERATIONS};
use super::schedules::{COLLATZ, LAPLACIAN, RUNNING_SUM};
use super::thread_blocks::{PRODUCT, THROUGH_LOCAL_MEMORY, TWO_AND_THREE_TIMES};
use super::*;

/// Blocks in blocks have names of their own, conditions may be constants, and not every body reads the number of its point.
const AS_WRITTEN: &str = "-Wno-shadow -Wno-constant-logical-operand -Wno-unused-variable";

/// A map in every form, for a device that has doubles and rounds quotients, and, unless it computes in doubles, for one that has neither.
fn programs(map: &'static MapKernel, rank: usize) -> Vec<OfflineProgram> {
    let program = map.program().unwrap();
    let mut programs = Vec::new();
    for walk in [Walk::Each([1; 3]), Walk::Strides, Walk::Queue] {
        for guarded in [false, true] {
            let text = opencl::kernel_text(map, &program, &Form { walk, rank, guarded, tracked: vec![] }).unwrap();
            let file = format!("{}.cl", map.name);
            let source = expand_with(&[(&file, &text)], &file).unwrap();
            let devices = ["-cl-fp32-correctly-rounded-divide-sqrt", "-DDIVIDE=64", "-DDIVIDE=32 -DSOFT_F64"];
            for device in &devices[..if program.uses_doubles() { 2 } else { 3 }] {
                let options = format!("-cl-std=CL1.2 {device} -DEXACT_LIMBS={} {AS_WRITTEN}", exact::LIMBS);
                programs.push(OfflineProgram { file: file.clone(), source: source.clone(), options });
            }
        }
    }
    programs
}

#[test]
fn maps_compile_without_a_warning_for_devices_of_every_kind() {
    let Ok(clang) = Clang::find() else { return };
    let maps: [(&'static MapKernel, usize); 13] = [
        (&EXTREMES, 1),
        (&HIERARCHICAL_HISTOGRAM, 1),
        (&HISTOGRAM, 1),
        (&STATISTICS, 2),
        (&TRANSPOSED, 2),
        (&FUNCTIONS, 1),
        (&INTEGER_OPERATIONS, 2),
        (&COLLATZ, 1),
        (&LAPLACIAN, 2),
        (&RUNNING_SUM, 1),
        (&PRODUCT, 2),
        (&THROUGH_LOCAL_MEMORY, 2),
        (&TWO_AND_THREE_TIMES, 1),
    ];
    let programs: Vec<OfflineProgram> = maps.into_iter().flat_map(|(map, rank)| programs(map, rank)).collect();
    // With pointers and sizes of 32 bits, of which compilers have more to say than of 64.
    let found = faults(&clang, SPIR[1], &programs).unwrap();
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}
