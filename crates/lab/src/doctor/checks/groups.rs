//! Whether the size of work-groups suits wavefronts, and whether there are enough groups.

use super::words::{micros, percent};
use crate::doctor::finding::{Fault, Finding, Remedy};
use crate::doctor::observation::{Observation, OtherGroup, Pass};
use crate::{Compared, Spread};

/// The least number of wavefronts per compute unit: one for each of its four schedulers.
const WAVEFRONTS_A_UNIT: usize = 4;
/// The least gain for which another group size counts; smaller ones vary with the state of the memory.
const WORTH_ANOTHER_SIZE: f64 = 0.04;

/// Times that differ by less than this factor count as equal.
const AS_GOOD: f64 = 1.015;

/// Idle lanes, or another group size that was measured to be faster. If other sizes were measured, the measurement decides.
pub fn group_size(observation: &Observation, pass: &Pass) -> Option<Finding> {
    let wavefront = observation.machine.wavefront;
    let (filled, sites) = (pass.filled(wavefront), pass.group / pass.lanes.max(1));
    let idle = 1.0 - filled;
    let faster = pass.other_groups.iter().filter_map(|other| Some((other.size, other.compared.gain()?)));
    let most = faster.clone().map(|(_, gain)| gain).fold(0.0, f64::max);
    // Among equally fast sizes, the smallest leaves the scheduler the most freedom.
    let measured = faster.filter(|(_, gain)| 1.0 - gain <= AS_GOOD * (1.0 - most)).min_by_key(|(size, _)| *size);
    let (size, gain) = match measured {
        Some((size, gain)) if gain >= WORTH_ANOTHER_SIZE => (size, gain),
        _ if !pass.other_groups.is_empty() || idle == 0.0 => return None,
        _ => (wavefront.div_ceil(pass.lanes.max(1)), idle.min(observation.headroom_of(pass))),
    };
    let mut evidence = vec![format!(
        "{} work-items a group{} fill {} of {} wavefront{} of {wavefront}",
        pass.group,
        if pass.lanes > 1 { format!(" ({sites} outer sites of {} lanes)", pass.lanes) } else { String::new() },
        percent(filled),
        pass.group.div_ceil(wavefront.max(1)),
        if pass.group > wavefront { "s" } else { "" },
    )];
    for OtherGroup { size, compared: Compared { present, changed } } in &pass.other_groups {
        let in_words = |Spread { median, tenth, ninetieth }: &Spread| {
            format!("{} (10 – 90 %: {} – {})", micros(*median), micros(*tenth), micros(*ninetieth))
        };
        evidence.push(format!(
            "{size} a group: {}, alternating with the present size: {}",
            in_words(changed),
            in_words(present)
        ));
    }
    let what = if pass.lanes > 1 { "outer sites" } else { "work-items" };
    let title = match filled < 1.0 {
        true => format!("groups of {} work-items leave {} of their wavefronts' lanes idle", pass.group, percent(idle)),
        false => format!("groups of {size} {what} are faster than those of {}", pass.group / pass.lanes.max(1)),
    };
    let change = match pass.lanes > 1 {
        true => format!("--accelerator-threads {size}"),
        false => format!("launch in groups of {size} work-items"),
    };
    let remedy = if pass.any_group_size { Remedy::GroupSize(size) } else { Remedy::Source };
    Some(Finding::new(Fault::GroupSize, title, gain, evidence, &change, remedy))
}

/// Compute units without a group, or with too few wavefronts.
pub(crate) fn launch_shape(observation: &Observation, pass: &Pass) -> Option<Finding> {
    let machine = &observation.machine;
    let (groups, wavefronts) = (pass.groups(), pass.wavefronts(machine.wavefront));
    let runs_on_cpu = machine.is_cpu && !machine.stands_for_gpu;
    let wanted = if runs_on_cpu { machine.units } else { machine.units * WAVEFRONTS_A_UNIT };
    let busy = (groups as f64 / machine.units as f64).min(wavefronts as f64 / wanted as f64);
    // Many small launches are a different fault; a profile may not have the number of work-items.
    if busy >= 1.0 || pass.launches > 1 || pass.work_items == 0 {
        return None;
    }
    let enough = wanted.div_ceil(pass.group.div_ceil(machine.wavefront.max(1)).max(1)).max(machine.units);
    // With twice as many groups as fill the device at once, differences in their times even out.
    let enough = if runs_on_cpu { enough } else { 2 * enough };
    let title = format!("{groups} groups of {} work-items use {} of the device", pass.group, percent(busy));
    let gain = (1.0 - busy).min(observation.headroom_of(pass));
    let evidence = vec![
        format!("{} compute units, {groups} groups", machine.units),
        format!("{wavefronts} wavefronts of {}; {wanted} would give each scheduler one", machine.wavefront),
    ];
    let (change, remedy) = match pass.any_number_of_groups {
        true => (
            format!("launch {enough} groups: as many as getNumBlocksAndThreads would, not one for all sites"),
            Remedy::Groups(enough),
        ),
        false => {
            let change = "give each work-item less to do, so that more of them are launched (of a lattice: smaller groups, narrower lanes, more sites)";
            (change.to_owned(), Remedy::Source)
        }
    };
    Some(Finding::new(Fault::LaunchShape, title, gain, evidence, &change, remedy))
}
