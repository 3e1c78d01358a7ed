//! Occupancy of numbers that are given by hand.

use anyhow::bail;
use lanefield_lab::code::Compiled;
use lanefield_lab::occupancy::emprism::simplified;
use lanefield_lab::occupancy::{Architecture, Demand, SweptQuantity, occupancy, sweep, sweet_spot};

use super::Occupancy;
use super::table::{Entry, Report, SweepReport};

/// Lanes of an outer site, where nobody says: those of f32 in Grid's 64 bytes.
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
    let mut entries = Vec::new();
    let mut sweeps = Vec::new();
    for architecture in architectures {
        entries.push(entry(architecture, demand)?);
        sweeps.extend(swept(args, architecture, demand, LANES, None)?);
    }
    Ok(Report::new(entries, sweeps, Vec::new()))
}

/// The occupancy of `demand`, with the simplified formulas where there are any.
pub fn entry(architecture: Architecture, demand: Demand) -> anyhow::Result<Entry> {
    let occupancy = occupancy(&architecture, &demand)?;
    let Demand { group, registers, scalar, local, .. } = demand;
    let simplified = simplified(architecture.name, registers, scalar, local, group);
    Ok(Entry { architecture, demand, occupancy, simplified, kernel: None })
}

pub fn swept(
    args: &Occupancy,
    architecture: Architecture,
    demand: Demand,
    lanes: usize,
    kernel: Option<&Compiled>,
) -> anyhow::Result<Option<SweepReport>> {
    let Some(asked) = &args.sweep else { return Ok(None) };
    let rows = sweep(&architecture, &demand, lanes, asked.quantity, &asked.values)?;
    let threads = asked.quantity == SweptQuantity::AcceleratorThreads;
    let note = threads.then(|| sweet_spot(&architecture, &rows)).flatten();
    Ok(Some(SweepReport {
        kernel: kernel.map(|kernel| kernel.kernel),
        precision: kernel.map(|kernel| kernel.precision),
        reconstruct: kernel.and_then(|kernel| kernel.reconstruct),
        architecture,
        quantity: asked.quantity,
        lanes,
        rows,
        note,
    }))
}
