//! Registers spilled to memory, and arrays of work-items that are in memory.

use super::words::megabytes;
use crate::doctor::finding::{Fault, Finding, Remedy};
use crate::doctor::observation::{Code, Observation, Pass};

/// Every work-item stores and loads spilled values, in addition to the data that it has to move.
pub fn spills(observation: &Observation, pass: &Pass) -> Option<Finding> {
    let Code { registers, spilled_bytes, scratch_bytes, most_registers } = pass.code;
    let spilled = spilled_bytes.unwrap_or(0);
    // An array in memory is written and read at least once.
    let (bytes, what) = match (spilled, scratch_bytes.unwrap_or(0)) {
        (0, 0) => return None,
        (0, scratch) => (2 * scratch, "each work-item has an array in memory"),
        (spilled, _) => (spilled, "registers are spilled to memory"),
    };
    let traffic = (bytes * pass.work_items * pass.turns * pass.launches) as f64;
    let useful = if pass.bytes() > 0 { pass.bytes() } else { observation.bytes } as f64;
    let mut evidence = vec![format!(
        "{bytes} bytes a work-item stored and loaded, {} a run in addition to {} that must be moved",
        megabytes(traffic),
        megabytes(useful)
    )];
    evidence.extend(registers.map(|registers| format!("{registers} registers a work-item")));
    evidence.extend(
        scratch_bytes.filter(|&bytes| bytes > 0).map(|bytes| format!("{bytes} bytes of scratch memory a work-item")),
    );
    let (change, remedy) = match most_registers {
        Some(most) => {
            evidence.push(format!("the compiler was limited to {most} registers"));
            let change = "--max-registers 0, or a build without -cl-nv-maxrregcount: the compiler then chooses the number of registers";
            (change, Remedy::AllRegisters)
        }
        None if spilled == 0 => {
            ("index the array by constants (unroll the loop), or write each element as it is computed", Remedy::Source)
        }
        None => ("keep fewer values at a time: smaller bundles, elements written as they are computed", Remedy::Source),
    };
    let gain = (traffic / (traffic + useful)).min(observation.headroom_of(pass));
    Some(Finding::new(Fault::Spills, what.to_owned(), gain, evidence, change, remedy))
}
