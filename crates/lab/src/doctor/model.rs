//! The predictions of the models for one of Lanefield's kernels before it runs: the memory accesses of its wavefronts (`lanefield_lab::access`),
//! and its time (`lanefield_lab::estimate`).

use std::collections::BTreeMap;

use lanefield::backend::opencl::{OpenCl, Tuning};
use lanefield::kernel::Shape;
use lanefield_reference::layout::LaneChoice;

use super::error::DoctorError;
use super::facts::LINE;
use super::observation::{ArrayAccess, DeviceFacts};
use crate::access::{ArrayCounts, kernel_arrays};
use crate::estimate::{self, Prediction};
use crate::model::{Array, Counts, KernelWork, Launched, is_described};

/// The models' result for a call with the tuning of `backend`: the accesses of wavefronts to each array, and the estimate, which is `None` if no
/// machine is known for the device. Empty for kernels whose accesses the models do not know.
pub(super) fn modelled(
    backend: &OpenCl,
    machine: &DeviceFacts,
    shape: &Shape,
) -> Result<(Vec<ArrayAccess>, Option<Prediction>), DoctorError> {
    if !is_described(shape.kernel) {
        return Ok((Vec::new(), None));
    }
    let tuned = backend.kernel_key(shape).map_or(Tuning::OPEN, |key| backend.choice(&key));
    let (tuning, access) = (backend.tuning().or(tuned), backend.layout().access);
    let launched = Launched::new(shape.clone(), access, tuning)?;
    let accesses = if machine.wavefront > 1 { arrays(&launched, machine.wavefront) } else { Vec::new() };
    let Some(known) = crate::machine::Machine::of_device(backend.context().info()) else { return Ok((accesses, None)) };
    let known = crate::machine::Machine { copy_gb_per_second: machine.copy_bandwidth / 1e9, ..known };
    let format = shape.links().map(|links| links.format).unwrap_or_default();
    let work = KernelWork {
        sites: shape.sites(),
        parts: shape.parts(),
        lanes: LaneChoice::Width(shape.lattice().width()),
        access: Some(access),
        tuning,
        ..KernelWork::new(shape.kernel, shape.lattice().extents(), shape.precision(), format)
    };
    Ok((accesses, Some(estimate::stencil(&known, &work)?.prediction)))
}

fn arrays(launched: &Launched, wavefront: usize) -> Vec<ArrayAccess> {
    let mut all: BTreeMap<String, (Counts, usize)> = BTreeMap::new();
    // Tables have a few bytes per site, the same for all lanes, and stay in the first-level cache.
    let of_fields = |row: &ArrayCounts| matches!(row.array, Array::Field(_));
    for row in kernel_arrays(launched, wavefront, LINE).into_iter().filter(of_fields) {
        let name = row.array.name().to_owned();
        let (counts, widest) = all.entry(name).or_default();
        *counts += row.counts;
        *widest = (*widest).max(row.widest);
    }
    let mapping = launched.mapping;
    all.into_iter()
        .map(|(array, (counts, widest))| ArrayAccess {
            array,
            bytes: counts.distinct_bytes,
            efficiency: counts.sector_efficiency(),
            line_efficiency: counts.line_efficiency(LINE),
            pattern: format!(
                "{mapping}, {widest} bytes an access, {:.1} sectors of 32 bytes in {:.1} lines for one of a wavefront",
                counts.an_access(counts.transactions_32),
                counts.an_access(counts.line_touches)
            ),
        })
        .collect()
}
