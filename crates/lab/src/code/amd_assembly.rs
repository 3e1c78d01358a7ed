//! The assembly from LLVM's AMDGPU backend: the instructions of each kernel, the numbers in the comments after it, and the metadata at the end.
//! Their form is that of code objects (LLVM, "User Guide for AMDGPU Backend", Code Object V3 and later Metadata).

use std::collections::HashMap;

use super::amd_mnemonics::count;
use super::facts::{CodeFacts, InstructionCounts};

pub(super) fn kernels(assembly: &str, target: &str, compiler: &str) -> Vec<CodeFacts> {
    let of_name = |metadata: HashMap<&str, &str>| {
        let name = *metadata.get("name")?;
        let number = |key: &str| metadata.get(key).and_then(|value| value.parse().ok());
        let code = code_of(assembly, name)?;
        let said = |what: &str| comment(code, what);
        Some(CodeFacts {
            kernel: name.to_owned(),
            target: target.to_owned(),
            compiler: compiler.to_owned(),
            registers: said("NumVgprs").or_else(|| number("vgpr_count")),
            accumulation: said("NumAgprs"),
            scalar: said("NumSgprs").or_else(|| number("sgpr_count")),
            spilled_registers: number("vgpr_spill_count"),
            spilled_scalar: number("sgpr_spill_count"),
            spill_bytes: None,
            private_bytes: number("private_segment_fixed_size"),
            local_bytes: number("group_segment_fixed_size"),
            wave: number("wavefront_size"),
            code_bytes: said("codeLenInByte"),
            counts: Some(counts(code)),
            waves_by_compiler: said("Occupancy"),
            unknown: None,
        })
    };
    metadata(assembly).into_iter().filter_map(of_name).collect()
}

/// From the label of a function to the next one: its instructions, and the comments on it.
fn code_of<'a>(assembly: &'a str, name: &str) -> Option<&'a str> {
    let label = format!("\n{name}:");
    let start = assembly.find(&label)? + label.len();
    let rest = &assembly[start..];
    let end = rest.find("-- Begin function").or_else(|| rest.find(".amdgpu_metadata")).unwrap_or(rest.len());
    Some(&rest[..end])
}

fn comment(code: &str, what: &str) -> Option<usize> {
    // The last one is that of the kernel, after its code.
    let values = code.lines().rev().filter_map(|line| line.strip_prefix("; ")?.strip_prefix(what));
    let mut words = values.filter_map(|value| value.trim_start_matches([' ', ':', '=']).split_whitespace().next());
    words.find_map(|word| word.parse().ok())
}

fn counts(code: &str) -> InstructionCounts {
    let mut counts = InstructionCounts::default();
    let instructions = code.lines().take_while(|line| !line.starts_with(".Lfunc_end"));
    for line in instructions.map(str::trim).filter(|line| !line.starts_with(['.', ';'])) {
        count(line.split(';').next().unwrap_or_default(), &mut counts);
    }
    counts
}

/// The keys and values of each kernel of `amdhsa.kernels`: a list whose items start with `  - .` and continue with an indent of four. Deeper lines
/// belong to arguments.
fn metadata(assembly: &str) -> Vec<HashMap<&str, &str>> {
    let text = assembly.split_once("amdhsa.kernels:").map_or("", |(_, text)| text);
    let mut kernels: Vec<HashMap<&str, &str>> = Vec::new();
    for line in text.lines().skip(1) {
        let pair = if let Some(first) = line.strip_prefix("  - .") {
            kernels.push(HashMap::new());
            first
        } else if let Some(next) = line.strip_prefix("    .") {
            next
        } else if line.starts_with(' ') {
            continue;
        } else {
            break;
        };
        if let (Some(kernel), Some((key, value))) = (kernels.last_mut(), pair.split_once(':')) {
            kernel.insert(key, value.trim().trim_matches('\''));
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "
	.protected	first                   ; -- Begin function first
	.globl	first
first:                                  ; @first
; %bb.0:
	s_load_dwordx4 s[4:7], s[6:7], 0x0
	global_load_dwordx4 v[6:9], v[2:3], off
	buffer_store_dword v9, v5, s[0:3], 0 offen ; 4-byte Folded Spill
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]
	s_endpgm
	.section	.rodata,#alloc
	.amdhsa_kernel first
	.end_amdhsa_kernel
.Lfunc_end0:
	.size	first, .Lfunc_end0-first
                                        ; -- End function
; Kernel info:
; codeLenInByte = 504
; NumSgprs: 54
; NumVgprs: 48
; NumAgprs: 4
; TotalNumVgprs: 52
; Occupancy: 8
	.protected	second                   ; -- Begin function second
second:
	s_endpgm
.Lfunc_end1:
; codeLenInByte = 4
; NumVgprs: 1
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     4
    .args:
      - .address_space:  global
        .name:           out
        .size:           8
    .group_segment_fixed_size: 128
    .name:           first
    .private_segment_fixed_size: 16
    .vgpr_count:     52
    .vgpr_spill_count: 3
    .sgpr_spill_count: 0
    .wavefront_size: 64
  - .args:           []
    .name:           second
    .sgpr_count:     8
    .private_segment_fixed_size: 0
amdhsa.target:   amdgcn-amd-amdhsa--gfx90a
...
	.end_amdgpu_metadata
";

    #[test]
    fn each_kernel_has_its_own_numbers() {
        let [first, second] = &kernels(ASSEMBLY, "gfx90a", "clang")[..] else { panic!("two kernels") };
        assert_eq!((first.kernel.as_str(), first.target.as_str()), ("first", "gfx90a"));
        assert_eq!((first.registers, first.accumulation, first.scalar), (Some(48), Some(4), Some(54)));
        assert_eq!((first.spilled_registers, first.spilled_scalar, first.private_bytes), (Some(3), Some(0), Some(16)));
        assert_eq!((first.local_bytes, first.wave, first.code_bytes), (Some(128), Some(64), Some(504)));
        let counts = first.counts.as_ref().unwrap();
        assert_eq!((counts.private_stores, counts.fma_f64, counts.scalar), (1, 1, 1));
        assert_eq!((second.registers, second.scalar, second.waves_by_compiler), (Some(1), Some(8), None));
        assert_eq!(second.counts, Some(InstructionCounts::default()));
    }

    #[test]
    fn what_is_no_assembly_has_no_kernels() {
        assert_eq!(kernels("", "gfx90a", "clang"), []);
        assert_eq!(kernels("amdhsa.kernels:\n  - .name: gone\n", "gfx90a", "clang"), []);
    }
}
