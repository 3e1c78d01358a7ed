//! Programs compiled by clang for many kinds of devices, none of which need be present, as strictly as makes sense: a fault that one driver ignores
//! is an error with the next.

use std::collections::BTreeMap;

use lanefield::backend::opencl::OfflineProgram;
use rayon::prelude::*;

use super::clang::{Clang, ClangError};

/// A target of clang.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    pub name: &'static str,
    pub(super) arguments: [&'static str; 3],
}

/// Devices with 64-bit and with 32-bit pointers.
pub const SPIR: [Target; 2] = [
    Target { name: "spir64", arguments: ["-target", "spir64", ""] },
    Target { name: "spir", arguments: ["-target", "spir", ""] },
];

/// AMD's GPUs; not every clang knows all of them.
pub const AMD: [Target; 4] = [
    amd("gfx90a", "-mcpu=gfx90a"),
    amd("gfx942", "-mcpu=gfx942"),
    amd("gfx1100", "-mcpu=gfx1100"),
    amd("gfx1201", "-mcpu=gfx1201"),
];

const fn amd(name: &'static str, processor: &'static str) -> Target {
    Target { name, arguments: ["-target", "amdgcn-amd-amdhsa", processor] }
}

/// Headers have functions that a program does not use, functions have arguments that some builds do not use, and conversions between signed and
/// unsigned lose nothing. Any other diagnostic of clang is a fault.
const WARNINGS: [&str; 10] = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Wundef",
    "-Wvla",
    "-Wno-unused-function",
    "-Wno-unused-parameter",
    "-Wno-sign-conversion",
];

/// The warning of clang 19 and 22 about `v ? a : b` with a vector v, which OpenCL C supports.
const CHOICE: &str = "implicit conversion turns vector to scalar";

/// The faults of programs on a target. The only extension of OpenCL C 1.2 that a device has is `cl_khr_fp64`, or none if the program was planned
/// without it. Using any other is a fault.
///
/// # Errors
/// [`ClangError::Architecture`] if clang does not know the target.
pub fn faults(clang: &Clang, target: Target, programs: &[OfflineProgram]) -> Result<Vec<String>, ClangError> {
    let found = programs.par_iter().with_max_len(1).map(|program| Ok((program, faults_of(clang, target, program)?)));
    let found: Vec<(&OfflineProgram, Vec<String>)> = found.collect::<Result<_, ClangError>>()?;
    // A header is included by many programs.
    let mut first = BTreeMap::new();
    for (program, faults) in found {
        for fault in faults.into_iter().filter(|fault| !fault.contains(CHOICE)) {
            first.entry(fault).or_insert(program);
        }
    }
    let named = |(fault, program): (String, &OfflineProgram)| {
        format!("{}, {}: {fault} ({})", target.name, program.file, program.options)
    };
    Ok(first.into_iter().map(named).collect())
}

fn faults_of(clang: &Clang, target: Target, program: &OfflineProgram) -> Result<Vec<String>, ClangError> {
    let given = target.arguments.into_iter().filter(|argument| !argument.is_empty());
    let mut arguments: Vec<&str> =
        given.chain(WARNINGS).chain(["-nogpulib", "-Wno-unused-command-line-argument"]).collect();
    let doubles = !program.options.contains("-DSOFT_F64");
    arguments.extend(match (program.options.contains("-cl-std=CL1.2"), doubles) {
        (true, true) => &["-Xclang", "-cl-ext=-all,+cl_khr_fp64"][..],
        (true, false) => &["-Xclang", "-cl-ext=-all"],
        (false, _) => &[],
    });
    clang.faults(&program.source, &program.options, (target.name, &arguments))
}
