//! What is known of a kernel's code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Demand;

/// What is known of a kernel's code. `None`: what made it does not tell.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CodeFacts {
    pub kernel: String,
    pub target: String,
    pub compiler: String,
    /// Registers of a work-item; on AMD's GPUs the architectural ones.
    pub registers: Option<usize>,
    /// Accumulation registers of a work-item, where there are any.
    pub accumulation: Option<usize>,
    pub scalar: Option<usize>,
    /// Registers of work-items that were spilled, to memory or to accumulation registers, as the compiler counts them.
    pub spilled_registers: Option<usize>,
    /// Scalar registers that were spilled, to lanes of others.
    pub spilled_scalar: Option<usize>,
    /// Bytes of spill stores and loads of a work-item.
    pub spill_bytes: Option<SpillBytes>,
    /// Bytes of private memory of a work-item: what was spilled, and arrays that are not in registers.
    pub private_bytes: Option<usize>,
    /// Bytes of local memory of a group that the kernel itself declares.
    pub local_bytes: Option<usize>,
    pub wave: Option<usize>,
    pub code_bytes: Option<usize>,
    /// Instructions by kind, each once wherever it stands: those of a loop are not multiplied.
    pub counts: Option<InstructionCounts>,
    /// What the compiler itself says the registers allow: waves of a SIMD.
    pub waves_by_compiler: Option<usize>,
    pub unknown: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SpillBytes {
    pub stores: usize,
    pub loads: usize,
}

/// Instructions of each kind in the code. Accesses by their width in bytes of a work-item.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InstructionCounts {
    pub global_loads: BTreeMap<usize, usize>,
    pub global_stores: BTreeMap<usize, usize>,
    pub atomics: usize,
    pub local_loads: usize,
    pub local_stores: usize,
    /// Loads from private memory: spills, and arrays that are not in registers.
    pub private_loads: usize,
    pub private_stores: usize,
    /// Moves from and to accumulation registers.
    pub accumulation_moves: usize,
    pub fma_f32: usize,
    /// Those that compute two at once.
    pub fma_f32_packed: usize,
    pub fma_f64: usize,
    /// Other instructions of work-items.
    pub vector: usize,
    /// Instructions of waves, loads of scalars among them.
    pub scalar: usize,
    pub waits: usize,
    pub barriers: usize,
    pub branches: usize,
    /// Calls; none of the kernels here should have any.
    pub calls: usize,
}

impl CodeFacts {
    /// Whether values leave the registers for memory, by a spill or in an array; `None` where nobody tells.
    pub fn uses_private_memory(&self) -> Option<bool> {
        self.private_bytes.map(|bytes| bytes > 0)
    }

    /// What it takes of a compute unit in groups of so many work-items, with `local` bytes beside those that it declares itself; `None` where its
    /// registers are not known.
    pub fn demand(&self, group: usize, local: usize) -> Option<Demand> {
        Some(Demand {
            group,
            registers: self.registers?,
            accumulation: self.accumulation.unwrap_or(0),
            scalar: self.scalar.unwrap_or(0),
            local: local + self.local_bytes.unwrap_or(0),
        })
    }
}
