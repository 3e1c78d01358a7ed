//! Classification of the instructions of AMD's GPUs by their mnemonics, for GCN and CDNA (`global_load_dwordx4`) and RDNA3 (`global_load_b128`).

use super::facts::InstructionCounts;

/// Counts one line of assembly: an instruction, or two that are issued together on RDNA3.
pub(super) fn count(line: &str, counts: &mut InstructionCounts) {
    for instruction in line.split("::") {
        if let Some(mnemonic) = instruction.split_whitespace().next() {
            count_one(mnemonic, counts);
        }
    }
}

fn count_one(mnemonic: &str, counts: &mut InstructionCounts) {
    let bare =
        ["_e32", "_e64", "_sdwa", "_dpp"].iter().fold(mnemonic, |name, end| name.strip_suffix(end).unwrap_or(name));
    let (space, operation) = bare.split_once('_').unwrap_or((bare, ""));
    match space {
        "global" | "flat" if operation.starts_with("atomic") => counts.atomics += 1,
        "global" | "flat" => count_access(operation, |width, store| {
            let accesses = if store { &mut counts.global_stores } else { &mut counts.global_loads };
            *accesses.entry(width).or_default() += 1;
        }),
        // A compute kernel without images and descriptors of its own uses buffer instructions only for private memory.
        "buffer" | "scratch" => count_access(operation, |_, store| {
            *if store { &mut counts.private_stores } else { &mut counts.private_loads } += 1;
        }),
        "ds" if operation.starts_with("read") || operation.starts_with("load") => counts.local_loads += 1,
        "ds" if operation.starts_with("write") || operation.starts_with("store") => counts.local_stores += 1,
        "s" => count_scalar(operation, counts),
        "v" | "ds" => count_vector(operation, counts),
        _ => {}
    }
}

/// Calls `count` with the width in bytes, and whether it is a store. Other instructions, such as cache control, are not accesses.
fn count_access(operation: &str, count: impl FnOnce(usize, bool)) {
    let (kind, width) = operation.split_once('_').unwrap_or((operation, ""));
    // global_load_short_d16_hi and similar instructions.
    let width = width.split('_').find(|part| *part != "d16").unwrap_or("");
    let bytes = match width {
        "ubyte" | "sbyte" | "byte" | "u8" | "i8" | "b8" => 1,
        "ushort" | "sshort" | "short" | "u16" | "i16" | "b16" => 2,
        "dword" | "b32" => 4,
        "dwordx2" | "b64" => 8,
        "dwordx3" | "b96" => 12,
        "dwordx4" | "b128" => 16,
        _ => return,
    };
    match kind {
        "load" => count(bytes, false),
        "store" => count(bytes, true),
        _ => {}
    }
}

fn count_scalar(operation: &str, counts: &mut InstructionCounts) {
    if operation.starts_with("waitcnt") {
        counts.waits += 1;
    } else if operation == "barrier" {
        counts.barriers += 1;
    } else if operation.starts_with("swappc") || operation.starts_with("call") {
        counts.calls += 1;
    } else if operation.starts_with("branch") || operation.starts_with("cbranch") {
        counts.branches += 1;
    } else if !matches!(operation, "nop" | "endpgm" | "code_end" | "clause" | "delay_alu" | "sendmsg") {
        counts.scalar += 1;
    }
}

fn count_vector(operation: &str, counts: &mut InstructionCounts) {
    let operation = operation.strip_prefix("dual_").unwrap_or(operation);
    match operation {
        "fma_f32" | "fmac_f32" | "fmamk_f32" | "fmaak_f32" => counts.fma_f32 += 1,
        "pk_fma_f32" => counts.fma_f32_packed += 1,
        "fma_f64" | "fmac_f64" => counts.fma_f64 += 1,
        _ if operation.starts_with("accvgpr") => counts.accumulation_moves += 1,
        _ => counts.vector += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_of_both_generations_of_names_are_known() {
        let mut counts = InstructionCounts::default();
        let lines = "global_load_dwordx4 v[0:3], v[4:5], off glc slc
            global_load_b128 v[0:3], v4, s[0:1]
            global_load_ushort v0, v[4:5], off
            flat_load_dwordx2 v[0:1], v[2:3]
            global_store_dwordx3 v[0:1], v[2:4], off
            global_atomic_add v1, v[0:1], v2, off glc
            buffer_store_dword v9, v5, s[0:3], 0 offen offset:12
            buffer_load_dword v4, off, s[0:3], 0 offset:28
            buffer_wbinvl1
            scratch_load_b64 v[0:1], off, off
            ds_read_b64 v[0:1], v2
            ds_write2_b32 v0, v1, v2 offset1:1
            v_fma_f32 v0, v1, v2, v3
            v_fmac_f32_e32 v0, v1, v2
            v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]
            v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]
            v_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5
            v_accvgpr_write_b32 a0, v1
            v_add_u32_e32 v0, v1, v2
            s_load_dwordx4 s[4:7], s[6:7], 0x0
            s_waitcnt vmcnt(0)
            s_barrier
            s_cbranch_scc1 .LBB0_2
            s_swappc_b64 s[30:31], s[16:17]
            s_endpgm";
        for line in lines.lines() {
            count(line, &mut counts);
        }
        let accesses = |pairs: &[(usize, usize)]| pairs.iter().copied().collect();
        let expected = InstructionCounts {
            global_loads: accesses(&[(16, 2), (2, 1), (8, 1)]),
            global_stores: accesses(&[(12, 1)]),
            atomics: 1,
            local_loads: 1,
            local_stores: 1,
            private_loads: 2,
            private_stores: 1,
            accumulation_moves: 1,
            fma_f32: 3,
            fma_f32_packed: 1,
            fma_f64: 1,
            vector: 2,
            scalar: 1,
            waits: 1,
            barriers: 1,
            branches: 1,
            calls: 1,
        };
        assert_eq!(counts, expected);
    }
}
