//! The output of NVIDIA's compiler: the log of `-cl-nv-verbose`, which has registers and spills, and the PTX that is the program's binary, which
//! has the instructions before register allocation.

use std::collections::BTreeMap;

use lanefield::backend::opencl::registers_in;

use super::facts::{CodeFacts, InstructionCounts, SpillBytes};

/// What the log reports about `kernel`; `None` if it does not mention it.
pub(super) fn facts_in_log(log: &str, kernel: &str) -> Option<CodeFacts> {
    let of_kernel =
        log.split("Compiling entry function").find(|part| part.trim_start().starts_with(&format!("'{kernel}'")))?;
    let target = of_kernel.split_once("for '").and_then(|(_, rest)| rest.split('\'').next()).unwrap_or_default();
    let stores = before(of_kernel, "bytes spill stores");
    let loads = before(of_kernel, "bytes spill loads");
    Some(CodeFacts {
        kernel: kernel.to_owned(),
        target: target.to_owned(),
        compiler: "NVIDIA's".to_owned(),
        registers: registers_in(log, kernel),
        spill_bytes: stores.zip(loads).map(|(stores, loads)| SpillBytes { stores, loads }),
        private_bytes: before(of_kernel, "bytes stack frame"),
        // The log omits it if it is zero.
        local_bytes: Some(before(of_kernel, "bytes smem").unwrap_or(0)),
        wave: Some(32),
        ..CodeFacts::default()
    })
}

/// The number directly before the first `words`.
fn before(text: &str, words: &str) -> Option<usize> {
    text.split_once(words)?.0.split_whitespace().next_back()?.parse().ok()
}

/// The instructions of `kernel` in PTX; `None` if it is not there.
pub(super) fn counts_in_ptx(ptx: &str, kernel: &str) -> Option<InstructionCounts> {
    let entries = ptx.split(".entry ").skip(1);
    let entry = entries
        .into_iter()
        .find(|entry| entry.trim_start().strip_prefix(kernel).is_some_and(|rest| rest.trim_start().starts_with('(')))?;
    let body = entry.split_once("\n{")?.1;
    let body = body.split("\n}").next()?;
    let mut counts = InstructionCounts::default();
    for line in body.lines().map(str::trim) {
        // A predicate comes first: @%p1 bra …
        let instruction = if line.starts_with('@') { line.split_once(' ').map_or("", |(_, rest)| rest) } else { line };
        if let Some(name) =
            instruction.split([' ', '\t', ';']).next().filter(|name| name.starts_with(char::is_lowercase))
        {
            count(name, &mut counts);
        }
    }
    Some(counts)
}

fn count(name: &str, counts: &mut InstructionCounts) {
    let parts: Vec<&str> = name.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    match parts[0] {
        "ld" | "ldu" if has("param") => {}
        "ld" | "ldu" if has("local") => counts.private_loads += 1,
        "ld" | "ldu" if has("shared") => counts.local_loads += 1,
        "ld" | "ldu" => count_access(&parts, &mut counts.global_loads),
        "st" if has("param") => {}
        "st" if has("local") => counts.private_stores += 1,
        "st" if has("shared") => counts.local_stores += 1,
        "st" => count_access(&parts, &mut counts.global_stores),
        "atom" | "red" => counts.atomics += 1,
        "fma" if has("f32") => counts.fma_f32 += 1,
        "fma" if has("f32x2") => counts.fma_f32_packed += 1,
        "fma" if has("f64") => counts.fma_f64 += 1,
        "bar" | "barrier" => counts.barriers += 1,
        "bra" => counts.branches += 1,
        "call" => counts.calls += 1,
        "cp" if has("wait_group") || has("wait_all") => counts.waits += 1,
        "ret" => {}
        _ => counts.vector += 1,
    }
}

/// `ld.global.v4.f32` counts as 16 bytes.
fn count_access(parts: &[&str], accesses: &mut BTreeMap<usize, usize>) {
    let number = |part: &str, letters: &str| part.trim_start_matches(|c| letters.contains(c)).parse::<usize>().ok();
    let bits = parts.last().and_then(|part| number(part, "bfsu")).unwrap_or(0);
    let elements = parts.iter().find(|part| matches!(**part, "v2" | "v4" | "v8")).and_then(|part| number(part, "v"));
    *accesses.entry(bits / 8 * elements.unwrap_or(1)).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Compiling entry function 'hop_dagger' for 'sm_90'\n\
        ptxas info    : Function properties for hop_dagger\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 90 registers, 424 bytes cmem[0]\n\
        ptxas info    : Compiling entry function 'hop' for 'sm_90'\n\
        ptxas info    : Function properties for hop\n    40 bytes stack frame, 36 bytes spill stores, 48 bytes spill loads\n\
        ptxas info    : Used 64 registers, 1024 bytes smem, 424 bytes cmem[0]\n";

    #[test]
    fn the_log_tells_registers_spills_stack_and_shared_memory() {
        let hop = facts_in_log(LOG, "hop").unwrap();
        assert_eq!((hop.registers, hop.private_bytes, hop.local_bytes), (Some(64), Some(40), Some(1024)));
        assert_eq!(hop.spill_bytes, Some(SpillBytes { stores: 36, loads: 48 }));
        assert_eq!((hop.target.as_str(), hop.wave), ("sm_90", Some(32)));
        let dagger = facts_in_log(LOG, "hop_dagger").unwrap();
        assert_eq!((dagger.registers, dagger.local_bytes, dagger.private_bytes), (Some(90), Some(0), Some(0)));
        assert_eq!(facts_in_log(LOG, "hop_many"), None);
        assert_eq!(facts_in_log("", "hop"), None);
    }

    const PTX: &str = ".version 8.7
.target sm_90, texmode_independent
.entry hop_many(
	.param .u64 hop_many_param_0
)
{
	ret;
}
	// .globl	hop
.entry hop(
	.param .u64 .ptr .global .align 8 hop_param_0
)
.reqntid 64, 1, 1
{
	.reg .pred 	%p<3>;
	ld.param.u64 	%rd1, [hop_param_0];
	// begin inline asm
	ld.global.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
	// end inline asm
	ld.global.nc.v2.f64 	{%fd1, %fd2}, [%rd1];
	ld.global.u32 	%r1, [%rd1+4];
	@%p1 bra 	$L__BB0_2;
	fma.rn.f32 	%f5, %f1, %f2, %f3;
	fma.rn.f64 	%fd3, %fd1, %fd2, %fd1;
	st.local.u32 	[%rd1], %r1;
	ld.local.u32 	%r2, [%rd1];
	st.shared.f32 	[%r1], %f5;
	ld.shared.f32 	%f6, [%r1];
	bar.sync 	0;
	add.s64 	%rd2, %rd1, 8;
	st.global.cs.v2.f32 [%rd1], {%f1, %f2};
	@%p2 atom.global.add.u32 	%r3, [%rd1], 1;
$L__BB0_2:
	ret;
}
";

    #[test]
    fn ptx_is_counted_by_kind_and_width() {
        let counts = counts_in_ptx(PTX, "hop").unwrap();
        let expected = InstructionCounts {
            global_loads: [(16, 2), (4, 1)].into_iter().collect(),
            global_stores: [(8, 1)].into_iter().collect(),
            atomics: 1,
            local_loads: 1,
            local_stores: 1,
            private_loads: 1,
            private_stores: 1,
            fma_f32: 1,
            fma_f64: 1,
            vector: 1,
            barriers: 1,
            branches: 1,
            ..InstructionCounts::default()
        };
        assert_eq!(counts, expected);
        assert_eq!(counts_in_ptx(PTX, "hop_many"), Some(InstructionCounts::default()));
        assert_eq!(counts_in_ptx(PTX, "ho"), None);
    }
}
