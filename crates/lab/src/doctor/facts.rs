//! The facts about a device and about compiled kernels that the checks use.

use lanefield::backend::opencl::{BuiltKernel, Context, DeviceKind, Program};

use super::described::AccessOf;
use super::error::DoctorError;
use super::observation::{Code, DeviceFacts};
use crate::bandwidth::Operation;
use crate::ceilings::MemoryOf;
use crate::code::{self, Clang, CodeFacts};
use crate::empty::empty_kernel;

pub(super) const LINE: u64 = 128;

impl DeviceFacts {
    /// The device of a context; its copy bandwidth and the time of an empty launch are measured. `wavefront` replaces the device's own wavefront;
    /// that of a CPU is 1, since its work-items need not run in step.
    pub fn of(context: &Context, wavefront: Option<usize>) -> Result<Self, DoctorError> {
        let info = context.info();
        let is_cpu = info.kind == DeviceKind::Cpu;
        let own = if is_cpu { 1 } else { info.preferred_work_group_multiple.unwrap_or(32) };
        Ok(Self {
            name: info.with_driver(),
            wavefront: wavefront.unwrap_or(own).max(1),
            units: (info.compute_units as usize).max(1),
            copy_bandwidth: MemoryOf::Device(context).ceiling(Operation::Copy, None)?,
            launch: empty_kernel(context)?.median,
            is_cpu,
            stands_for_gpu: is_cpu && wavefront.is_some(),
            compiled_for: None,
        })
    }
}

/// The compiler's result for a kernel of a program.
pub(super) fn code_of(
    context: &Context,
    machine: &DeviceFacts,
    (program, source, options): (&Program, &str, &str),
    kernel: &str,
) -> Result<Code, DoctorError> {
    let Some(architecture) = &machine.compiled_for else {
        return Ok(code_of_kernel(context, &*program.kernel(kernel)?));
    };
    let of_any_compiler: Vec<&str> =
        options.split_whitespace().filter(|option| !option.starts_with("-cl-nv-")).collect();
    let facts = Clang::find()?.compile(program.name(), source, &of_any_compiler.join(" "), architecture, kernel)?;
    Ok(code(&facts))
}

/// The same for a kernel that is built already. A CPU's work-items have no registers of their own.
pub(super) fn code_of_kernel(context: &Context, kernel: &BuiltKernel) -> Code {
    match context.info().kind {
        DeviceKind::Cpu => Code::default(),
        _ => code(&code::code_of_kernel(context, kernel)),
    }
}

fn code(facts: &CodeFacts) -> Code {
    // A spilled register of 4 bytes is stored and loaded at least once.
    let spilled = facts.spill_bytes.map(|bytes| bytes.stores + bytes.loads);
    Code {
        registers: facts.registers,
        spilled_bytes: spilled.or(facts.spilled_registers.map(|registers| 2 * 4 * registers)),
        scratch_bytes: facts.private_bytes,
        most_registers: None,
    }
}

/// Bytes requested divided by bytes of sectors moved, and divided by bytes of lines touched. The work-items of a group make the accesses `access`
/// in the order of their numbers in a launch.
pub(super) fn efficiencies_of(
    access: &AccessOf,
    machine: &DeviceFacts,
    group: usize,
) -> Result<(f64, f64), DoctorError> {
    let refused = |reason: String| DoctorError::Pattern {
        buffer: access.buffer.clone(),
        pattern: access.pattern.clone(),
        reason,
    };
    let pattern = access.pattern(group, machine.wavefront).map_err(|error| refused(error.to_string()))?;
    let counts = pattern.report(LINE).map_err(|error| refused(error.to_string()))?.all;
    Ok((counts.sector_efficiency(), counts.line_efficiency(LINE)))
}
