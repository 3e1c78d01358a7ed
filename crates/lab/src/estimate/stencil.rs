//! The kernels of this library on a machine: the least time of a launch, with every limit, before it runs.

use lanefield::kernel::Ceiling;
use lanefield_reference::real::Precision;
use serde::Serialize;

use super::prediction::{Load, Prediction};
use crate::binding::Limit;
use crate::machine::Machine;
use crate::model::{Instructions, KernelWork, ModelError, Streams, UnitTraffic};

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelEstimate {
    #[serde(flatten)]
    pub prediction: Prediction,
    /// Floating-point operations as counted in lattice QCD; `None` if they are not counted.
    pub flops: Option<f64>,
    pub streams: Streams,
    pub traffic: UnitTraffic,
    pub instructions: Instructions,
    pub launch: String,
}

pub fn stencil(machine: &Machine, work: &KernelWork) -> Result<KernelEstimate, ModelError> {
    let launched = work.launched(machine)?;
    let (streams, traffic) = (launched.streams(machine), launched.unit_traffic(machine));
    let instructions = launched.instructions();
    let shape = &launched.shape;
    let parts = shape.volume() as f64 * shape.parts() as f64;
    let clocks = machine.unit_clocks();
    let lanes = if work.precision == Precision::F64 { machine.f64_lanes } else { machine.f32_lanes };
    let giga = 1e9;
    let memory_rate = match work.kernel.ceiling {
        Ceiling::Read => machine.read_gb_per_second,
        Ceiling::Copy => machine.copy_gb_per_second,
    };
    let flops = shape.work().flops as f64;
    let limits = vec![
        Load::new(Limit::Memory, streams.bytes(), "bytes", memory_rate * giga),
        Load::new(Limit::SecondCache, traffic.bytes(), "bytes", machine.l2_gb_per_second * giga),
        Load::new(Limit::FirstCache, traffic.first_cache_bytes, "bytes", clocks * machine.l1_bytes_a_clock),
        Load::new(Limit::Arithmetic, parts * instructions.arithmetic, "instructions", clocks * lanes),
        Load::new(Limit::Conversion, parts * instructions.conversion, "instructions", clocks * machine.integer_lanes),
        Load::new(Limit::Issue, parts * instructions.all(), "instructions", clocks * machine.issue_lanes),
    ];
    Ok(KernelEstimate {
        prediction: Prediction::new(machine.launch_microseconds * 1e-6, limits),
        flops: (flops > 0.0).then_some(flops),
        streams,
        traffic,
        instructions,
        launch: launched.tuning.to_string(),
    })
}
