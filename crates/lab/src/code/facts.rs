//! The facts about a kernel's compiled code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Demand;

/// The facts about a kernel's compiled code. `None` if the compiler or driver does not report them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CodeFacts {
    pub kernel: String,
    pub target: String,
    pub compiler: String,
    /// Registers per work-item; on AMD's GPUs, the architectural ones.
    pub registers: Option<usize>,
    /// Accumulation registers per work-item, if the GPU has any.
    pub accumulation: Option<usize>,
    pub scalar: Option<usize>,
    /// Registers of work-items that were spilled to memory or to accumulation registers, as counted by the compiler.
    pub spilled_registers: Option<usize>,
    /// Scalar registers that were spilled to lanes of others.
    pub spilled_scalar: Option<usize>,
    /// Bytes of spill stores and loads per work-item.
    pub spill_bytes: Option<SpillBytes>,
    /// Bytes of private memory per work-item: spilled registers, and arrays that are not in registers.
    pub private_bytes: Option<usize>,
    /// Bytes of local memory per group that the kernel itself declares.
    pub local_bytes: Option<usize>,
    pub wave: Option<usize>,
    pub code_bytes: Option<usize>,
    /// Instructions by kind. Each counts once, also in loops.
    pub counts: Option<InstructionCounts>,
    /// The number of waves per SIMD that the registers allow, according to the compiler.
    pub waves_by_compiler: Option<usize>,
    pub unknown: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SpillBytes {
    pub stores: usize,
    pub loads: usize,
}

/// Number of instructions of each kind in the code. Accesses are counted by width in bytes per work-item.
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
    /// Instructions that compute two at once.
    pub fma_f32_packed: usize,
    pub fma_f64: usize,
    /// Other vector instructions.
    pub vector: usize,
    /// Scalar instructions, including scalar loads.
    pub scalar: usize,
    pub waits: usize,
    pub barriers: usize,
    pub branches: usize,
    /// Function calls; no kernel of this library should have any.
    pub calls: usize,
}

impl CodeFacts {
    /// Whether values are in memory instead of registers, because of a spill or an array; `None` if unknown.
    pub fn uses_private_memory(&self) -> Option<bool> {
        self.private_bytes.map(|bytes| bytes > 0)
    }

    /// The demand on a compute unit in groups of `group` work-items, with `local` bytes in addition to those that the kernel itself declares;
    /// `None` if its registers are not known.
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
