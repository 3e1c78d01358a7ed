//! Occupancy for numbers that the user gives.

use anyhow::bail;
use lanefield_lab::model::Demand;

use super::arguments::Occupancy;
use super::table::Report;

/// The default for the lanes of an outer site: those of f32 in Grid's 64 bytes.
const LANES: usize = 8;
const THREADS: usize = 8;

pub fn report(args: &Occupancy) -> anyhow::Result<Report> {
    let architectures = args.architectures()?;
    if architectures.is_empty() {
        bail!(
            "nothing to compute the occupancy of: give --arch with --vgprs (or --registers) and --group, or --kernel"
        );
    }
    let Some(registers) = args.vgprs else {
        bail!(
            "registers of a work-item are missing: give --vgprs N (or --registers N), or --kernel NAME to have them counted"
        );
    };
    let group = args.group.unwrap_or(LANES * THREADS);
    let demand = Demand { group, registers, accumulation: args.agprs, scalar: args.sgprs, local: args.lds };
    let mut report = Report::default();
    for architecture in architectures {
        report.add(args, (architecture, demand, LANES), None)?;
    }
    Ok(report)
}
