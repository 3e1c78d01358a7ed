//! The stages that belong to the requested kernels.

use lanefield::kernel::{FieldContents, Kernel};
use lanefield::reference::real::Precision;

use super::{along_s, cg, clover, half, hop, links, sums};
use crate::golden::directory::Writer;
use crate::golden::error::GoldenError;
use crate::golden::setup::Setup;

pub(in crate::golden) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    let kernels = &setup.options.kernels;
    let any = |wanted: fn(&Kernel) -> bool| kernels.iter().any(|kernel| kernel.is_launched() && wanted(kernel));
    if any(|kernel| {
        kernel.fields().any(|role| matches!(role.holds, FieldContents::DoubledLinks | FieldContents::Links))
    }) {
        links::export(setup, writer)?;
    }
    if any(|kernel| matches!(kernel.family, "hop" | "wilson" | "clover" | "twisted_mass")) {
        hop::export(setup, writer)?;
    }
    if any(|kernel| matches!(kernel.family, "clover" | "clover_term")) {
        clover::export(setup, writer)?;
    }
    if any(|kernel| kernel.family == "domain_wall") {
        along_s::export(setup, writer)?;
    }
    if setup.takes(Precision::Half) {
        half::export(setup, writer)?;
    }
    if any(Kernel::sums) {
        sums::export(setup, writer)?;
    }
    if any(|kernel| kernel.family == "wilson") {
        cg::export(setup, writer)?;
    }
    Ok(())
}
