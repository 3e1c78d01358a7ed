//! Makes a change that the doctor advises, and measures its gain.

use std::path::Path;

use lanefield::backend::opencl::{Context, Mapping, Tuning};
use lanefield::reference::layout::AcceleratorThreads;
use lanefield_lab::doctor::{Described, Description, Finding, Remedy, Timeline, beside};

/// The tuning with a change; `None` if the change is one of the source.
pub fn changed(tuning: Tuning, remedy: Remedy) -> Option<Tuning> {
    let mut changed = tuning;
    match remedy {
        Remedy::GroupSize(threads) => changed.accelerator_threads = Some(AcceleratorThreads::new(threads).ok()?),
        Remedy::AllRegisters => changed.max_registers = Some(0),
        Remedy::LaneFast => changed.mapping = Some(Mapping::LaneFast),
        Remedy::Groups(_)
        | Remedy::KeepOnDevice
        | Remedy::KeepBuffers
        | Remedy::OneLaunch
        | Remedy::Source
        | Remedy::Several => return None,
    }
    Some(changed)
}

/// Confirms the findings of a described run by a change of the launch, or by a description of the same work without the fault.
pub fn described(
    context: &Context,
    (path, described): (&Path, &Described),
    findings: &mut [Finding],
    samples: usize,
) -> anyhow::Result<()> {
    for finding in findings {
        let instead = described.description.remedy.iter().find(|remedy| remedy.fault == finding.fault);
        let changed = match instead {
            Some(remedy) => Some(Description::read(&beside(path, &remedy.description))?),
            None => described.changed(&finding.kernel, finding.remedy),
        };
        match changed {
            None => {
                finding.unconfirmed =
                    Some("the change is one of the source; give its description as [[remedy]]".to_owned())
            }
            Some(changed) => {
                let of_run = |passes: &[f64], timeline: &Timeline| timeline.wall.max(passes.iter().sum());
                finding.confirm(described.compared(&changed, context, samples, of_run)?);
            }
        }
    }
    Ok(())
}
