//! Every OpenCL program of the library, as it is built for devices of many kinds, is compiled for targets that have them, and gives no warning. No device
//! is needed. What maps are written as is compiled by `crates/maps/tests/maps/portability.rs`.

use std::collections::BTreeSet;
use std::io::Write as _;

use lanefield::backend::opencl::{
    DeviceInfo, DeviceKind, Finish, OfflineDevice, OfflineProgram, Retirement, SumForm, SumOptions, Tuning,
};
use lanefield::kernel::{self, Kernel};
use lanefield::prelude::*;
use lanefield_lab::code::{AMD, Clang, ClangError, SPIR, Target, faults};
use lanefield_reference::layout::TreePlan;

use crate::{found_or_skipped, kernel_named};

fn extents() -> Extents {
    Extents::new([16, 16, 16, 32]).unwrap()
}

fn tree() -> TreePlan {
    TreePlan::new(64, 16).unwrap()
}

/// A device with a retirement of OpenCL 1.2.
fn device(kind: DeviceKind, fp64: bool, fp32_correctly_rounded_divide_sqrt: bool) -> OfflineDevice {
    let retirement = Retirement::Unsupported { reason: String::new() };
    let imagined = DeviceInfo::imagined("any");
    let info = DeviceInfo { kind, fp64, fp32_correctly_rounded_divide_sqrt, retirement, ..imagined };
    OfflineDevice::new(info, extents(), LaneChoice::OF_GPUS)
}

type Programs = BTreeSet<OfflineProgram>;

fn programs_of(
    device: &OfflineDevice,
    kernels: impl IntoIterator<Item = &'static Kernel>,
    precisions: &[Precision],
) -> Programs {
    let mut programs = Programs::new();
    for kernel in kernels {
        let formats = if kernel.name == "hop" { &LinkFormat::ALL[..] } else { &[LinkFormat::Full] };
        for &precision in kernel.precisions.iter().filter(|precision| precisions.contains(precision)) {
            for &links in formats.iter() {
                programs.extend(device.programs(kernel, (precision, links), tree()).unwrap());
            }
        }
    }
    programs
}

const ALL: [Precision; 3] = [Precision::F32, Precision::F64, Precision::Half];

fn all_programs(device: &OfflineDevice) -> Programs {
    let mut programs = programs_of(device, kernel::all(), &ALL);
    programs.extend(device.other_programs().unwrap());
    programs
}

/// Programs with every value of every tuning parameter, and every form of a sum.
fn tuned_programs() -> Programs {
    let mut programs = Programs::new();
    for parameter in Tuning::PARAMETERS {
        for value in parameter.tried {
            for kind in [DeviceKind::Gpu, DeviceKind::Cpu] {
                let mut device = device(kind, true, true);
                parameter.set(&mut device.tuning, value).unwrap();
                let kernels = ["hop", "eo_clover", "s_sweep"].map(kernel_named);
                programs.extend(programs_of(&device, kernels, &[Precision::F32]));
            }
        }
    }
    let forms = [SumForm::Fused(2), SumForm::Staged(2), SumForm::SerialWords].map(Some);
    let sums = forms.map(|form| SumOptions { form, at_once: Some(true), ..SumOptions::default() });
    for sums in sums {
        let mut device = device(DeviceKind::Cpu, true, true);
        device.sums = sums;
        let kernels = ["sum", "slice_sums", "cg_iteration"].map(kernel_named);
        programs.extend(programs_of(&device, kernels, &ALL));
    }
    programs
}

/// A target that clang does not know is told.
fn faults_in(clang: &Clang, target: Target, programs: Programs) -> Vec<String> {
    let programs: Vec<OfflineProgram> = programs.into_iter().collect();
    let result = faults(clang, target, &programs);
    // Not eprintln, whose output the test harness keeps to itself.
    let mut stderr = std::io::stderr();
    match result {
        Ok(faults) => {
            let _ = writeln!(stderr, "{}: {} programs, {}", target.name, programs.len(), clang.version);
            faults
        }
        Err(error @ ClangError::Architecture { .. }) => {
            let _ = writeln!(stderr, "left out: {error}");
            Vec::new()
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
#[ignore = "test-all: compiles every program"]
fn every_program_compiles_without_a_warning_for_devices_of_every_kind() {
    let Some(clang) = found_or_skipped(Clang::find().map_err(|error| error.to_string())) else { return };
    let [spir64, spir] = SPIR;
    let opencl_3 = {
        let mut device = device(DeviceKind::Gpu, true, true);
        device.info.retirement = Retirement::OpenCl3;
        device.sums.finish = Some(Finish::RetirementCount);
        programs_of(&device, kernel::all().filter(|kernel| kernel.sums()), &[Precision::F32])
    };
    let mut on_64_bits = all_programs(&device(DeviceKind::Gpu, true, true));
    on_64_bits.extend(all_programs(&device(DeviceKind::Gpu, false, false)));
    on_64_bits.extend(opencl_3);
    on_64_bits.extend(tuned_programs());
    let mut on_32_bits = all_programs(&device(DeviceKind::Cpu, true, false));
    on_32_bits.extend(all_programs(&device(DeviceKind::Cpu, false, false)));
    let mut found = faults_in(&clang, spir64, on_64_bits);
    found.extend(faults_in(&clang, spir, on_32_bits));
    for target in AMD {
        // `amd_spills` compiles all precisions.
        let programs = programs_of(&OfflineDevice::amd(target.name, extents()), kernel::all(), &[Precision::F32]);
        found.extend(faults_in(&clang, target, programs));
    }
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}

#[test]
#[ignore = "test-all: writes every program"]
fn indices_are_of_64_bits_whatever_the_device_takes_for_sizes() {
    for kind in [DeviceKind::Gpu, DeviceKind::Cpu] {
        for OfflineProgram { file, source, .. } in all_programs(&device(kind, true, true)) {
            // A pointer as a number has as many bits as a pointer.
            let pointers = ["(size_t)from", "(size_t)to", "(size_t)line"].map(|cast| source.matches(cast).count());
            assert_eq!(source.matches("size_t").count(), pointers.iter().sum::<usize>(), "{file}");
        }
    }
}

#[test]
fn a_program_with_a_fault_is_found() {
    let Some(clang) = found_or_skipped(Clang::find().map_err(|error| error.to_string())) else { return };
    let of = |body: &str, options: &str| {
        let source = format!("__kernel void planted(__global float* x, ulong n) {{ {body} }}\n");
        let program = OfflineProgram { file: "planted.cl".to_owned(), source, options: options.to_owned() };
        faults(&clang, SPIR[1], &[program]).unwrap().join("\n")
    };
    assert_eq!(of("x[n] = 1.0f;", "-cl-std=CL1.2"), "");
    assert!(of("const size_t i = n; x[i] = 1.0f;", "-cl-std=CL1.2").contains("-Wshorten-64-to-32"));
    assert!(of("x[n] = (float)(1.0f * (double)n);", "-cl-std=CL1.2 -DSOFT_F64").contains("use of type 'double'"));
    assert!(of("half h = 1; x[n] = h;", "-cl-std=CL1.2").contains("half"));
    assert!(of("x[n] = FACTOR;", "-cl-std=CL1.2").contains("undeclared identifier 'FACTOR'"));
}
