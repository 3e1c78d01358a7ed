//! The numbers of each architecture that determine how many waves a compute unit holds.
//!
//! AMD: LLVM, `AMDGPUBaseInfo.cpp` (namespace `IsaInfo`) and "User Guide for AMDGPU Backend"; the ISA documents of MI100, MI200, MI300 and
//! RDNA3. NVIDIA: `cuda_occupancy.h` of the CUDA toolkit, and the table "Technical Specifications per Compute Capability" of the CUDA C++
//! Programming Guide.

use serde::Serialize;

use crate::json::si::kibi;
use crate::machine::Machine;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Vendor {
    #[serde(rename = "AMD")]
    Amd,
    #[serde(rename = "NVIDIA")]
    Nvidia,
}

/// How accumulation registers (AGPRs, for matrix instructions; compilers spill to them) affect the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accumulation {
    None,
    /// They have a separate register file of the same size: the larger number counts.
    Separate,
    /// They share one file, after the architectural registers, whose number is first rounded up to a multiple of this.
    Unified(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ScalarRegisters {
    pub a_partition: usize,
    /// A wave has a multiple of this number.
    pub granule: usize,
    /// The most that a wave can have: 102 that instructions can name, and those for VCC, FLAT_SCRATCH and XNACK.
    pub most: usize,
}

/// The resources of a compute unit. Registers are counted per lane of a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Architecture {
    /// The name used by compilers: `gfx90a`, `sm_90`.
    pub name: &'static str,
    pub product: &'static str,
    pub vendor: Vendor,
    /// The name of the unit that holds a group: a compute unit, a work-group processor, or a multiprocessor.
    pub unit: &'static str,
    /// Work-items per wave (a wavefront, a warp).
    pub wave: usize,
    /// Number of partitions of a unit, each with its own registers and wave slots: SIMDs.
    pub partitions: usize,
    /// The most waves that a partition holds.
    pub waves_a_partition: usize,
    /// The most groups that a unit holds.
    pub groups: usize,
    /// Whether that limit is one of barriers, which groups of a single wave do not need.
    pub groups_are_barriers: bool,
    pub registers: usize,
    /// A wave has a multiple of this number of registers.
    pub register_granule: usize,
    /// The most (architectural) registers of a work-item.
    pub most_registers: usize,
    pub accumulation: Accumulation,
    /// Scalar registers; `None` if they never limit waves.
    pub scalar: Option<ScalarRegisters>,
    /// The most bytes of local memory (LDS, shared memory) of a unit.
    pub local_bytes: usize,
    /// A group takes up a multiple of this number of bytes.
    #[serde(rename = "local_granule_bytes")]
    pub local_granule: usize,
    /// Bytes that the system reserves for each group.
    #[serde(rename = "local_reserved_bytes")]
    pub local_reserved: usize,
    /// The most bytes that a group can have.
    #[serde(rename = "most_local_bytes")]
    pub most_local: usize,
    /// The sizes of local memory, in KiB, among which a driver chooses, with the rest left to the L1 cache; empty if there is only one.
    #[serde(rename = "carve_outs_bytes", serialize_with = "kibi")]
    pub carve_outs: &'static [usize],
}

/// The most work-items of a group, on all architectures.
pub(super) const MOST_WORK_ITEMS: usize = 1024;

const KIB: usize = 1024;

const GCN: Architecture = Architecture {
    name: "gfx906",
    product: "MI50, MI60, Radeon VII",
    vendor: Vendor::Amd,
    unit: "CU",
    wave: 64,
    partitions: 4,
    waves_a_partition: 10,
    groups: 16,
    groups_are_barriers: true,
    registers: 256,
    register_granule: 4,
    most_registers: 256,
    accumulation: Accumulation::None,
    scalar: Some(ScalarRegisters { a_partition: 800, granule: 16, most: 112 }),
    local_bytes: 64 * KIB,
    local_granule: 512,
    local_reserved: 0,
    most_local: 64 * KIB,
    carve_outs: &[],
};

const CDNA2: Architecture = Architecture {
    name: "gfx90a",
    product: "MI210, MI250, MI250X",
    waves_a_partition: 8,
    registers: 512,
    register_granule: 8,
    accumulation: Accumulation::Unified(4),
    ..GCN
};

const RDNA3: Architecture = Architecture {
    name: "gfx1100",
    product: "RX 7900, W7900; 32-wide waves",
    unit: "WGP",
    wave: 32,
    waves_a_partition: 16,
    groups: 32,
    registers: 1536,
    register_granule: 24,
    scalar: None,
    local_bytes: 128 * KIB,
    local_granule: 1024,
    ..GCN
};

const AMPERE: Architecture = Architecture {
    name: "sm_80",
    product: "A100",
    vendor: Vendor::Nvidia,
    unit: "SM",
    wave: 32,
    partitions: 4,
    waves_a_partition: 16,
    groups: 32,
    groups_are_barriers: false,
    // 65536 per SM: 16384 per partition, for 32 lanes; a warp has multiples of 256.
    registers: 512,
    register_granule: 8,
    most_registers: 255,
    accumulation: Accumulation::None,
    scalar: None,
    local_bytes: 164 * KIB,
    local_granule: 128,
    local_reserved: KIB,
    most_local: 163 * KIB,
    carve_outs: &[0, 8, 16, 32, 64, 100, 132, 164],
};

static KNOWN: [Architecture; 10] = [
    GCN,
    Architecture { name: "gfx908", product: "MI100", accumulation: Accumulation::Separate, ..GCN },
    CDNA2,
    Architecture { name: "gfx942", product: "MI300A, MI300X, MI325X", ..CDNA2 },
    RDNA3,
    Architecture { product: "RX 7900, W7900; 64-wide waves", wave: 64, registers: 768, register_granule: 12, ..RDNA3 },
    Architecture {
        name: "sm_70",
        product: "V100",
        local_bytes: 96 * KIB,
        local_granule: 256,
        local_reserved: 0,
        most_local: 96 * KIB,
        carve_outs: &[0, 8, 16, 32, 64, 96],
        ..AMPERE
    },
    AMPERE,
    Architecture {
        name: "sm_89",
        product: "L4, L40, RTX 40",
        waves_a_partition: 12,
        groups: 24,
        local_bytes: 100 * KIB,
        most_local: 99 * KIB,
        carve_outs: &[0, 8, 16, 32, 64, 100],
        ..AMPERE
    },
    Architecture {
        name: "sm_90",
        product: "H100, H200, GH200",
        local_bytes: 228 * KIB,
        most_local: 227 * KIB,
        carve_outs: &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228],
        ..AMPERE
    },
];

impl Architecture {
    /// All architectures; `gfx1100` twice, with waves of 32 and of 64.
    pub fn all() -> &'static [Self] {
        &KNOWN
    }

    /// The architecture with this name, with waves of `wave` work-items, or the usual ones.
    pub fn find(name: &str, wave: Option<usize>) -> Result<Self, OccupancyError> {
        let named: Vec<&Self> = KNOWN.iter().filter(|known| known.name.eq_ignore_ascii_case(name)).collect();
        if named.is_empty() {
            let mut known: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
            known.dedup();
            return Err(OccupancyError::UnknownArchitecture { name: name.to_owned(), known: known.join(", ") });
        }
        let fitting = named.iter().find(|known| wave.is_none_or(|wave| wave == known.wave));
        fitting.map(|known| **known).ok_or_else(|| OccupancyError::NoSuchWave {
            architecture: named[0].name,
            wave: wave.unwrap_or_default(),
            waves: named.iter().map(|known| known.wave.to_string()).collect::<Vec<_>>().join(" or "),
        })
    }

    /// A unit of a machine that is limited only by its registers and work-items.
    pub(super) fn of_machine(machine: &Machine, most_work_items: usize) -> Self {
        let wave = machine.lanes as usize;
        Self {
            wave,
            partitions: 1,
            waves_a_partition: most_work_items / wave,
            groups: usize::MAX,
            groups_are_barriers: false,
            registers: machine.registers as usize / wave,
            register_granule: 8,
            scalar: None,
            ..GCN
        }
    }

    pub fn most_waves(&self) -> usize {
        self.partitions * self.waves_a_partition
    }

    /// Waves per group of this number of work-items.
    pub(crate) fn waves_of(&self, work_items: usize) -> usize {
        work_items.div_ceil(self.wave)
    }

    /// Registers allocated for a work-item that uses `registers` architectural ones and `accumulation` others.
    pub fn allocated_registers(&self, registers: usize, accumulation: usize) -> usize {
        let used = match self.accumulation {
            Accumulation::None => registers,
            Accumulation::Separate => registers.max(accumulation),
            Accumulation::Unified(granule) if accumulation > 0 => registers.next_multiple_of(granule) + accumulation,
            Accumulation::Unified(_) => registers,
        };
        used.max(1).next_multiple_of(self.register_granule)
    }

    /// Bytes of local memory allocated for a group that uses `bytes`.
    pub fn allocated_local(&self, bytes: usize) -> usize {
        (bytes + self.local_reserved).next_multiple_of(self.local_granule)
    }

    pub fn wave_name(&self) -> &'static str {
        match self.vendor {
            Vendor::Amd => "waves",
            Vendor::Nvidia => "warps",
        }
    }

    pub fn register_name(&self) -> &'static str {
        match self.vendor {
            Vendor::Amd => "VGPRs",
            Vendor::Nvidia => "registers",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OccupancyError {
    #[error("no occupancy rules are known for the architecture '{name}': expected one of {known}")]
    UnknownArchitecture { name: String, known: String },
    #[error("{architecture} has no waves of {wave} work-items: use {waves}")]
    NoSuchWave { architecture: &'static str, wave: usize, waves: String },
    #[error("{value} {what} are not possible on {architecture}: use {least} to {most}")]
    OutOfRange { architecture: &'static str, what: &'static str, value: usize, least: usize, most: usize },
}
