//! What one more group per compute unit would need at least: the largest numbers with which it fits, and how many groups fit with them.

use serde::Serialize;

use crate::model::{Architecture, Demand, Resource, groups_held, limits};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Need {
    pub resource: Resource,
    pub at_most: usize,
    pub instead_of: usize,
}

/// The next larger number of groups, and everything that it needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NextStep {
    pub groups: usize,
    pub waves: usize,
    pub needs: Vec<Need>,
}

impl NextStep {
    /// The step from `groups`; `None` if slots are the limit, or a resource cannot be reduced enough.
    pub(super) fn after(architecture: &Architecture, demand: &Demand, groups: usize) -> Option<Self> {
        let target = groups + 1;
        let (mut needs, mut reached) = (Vec::new(), *demand);
        for limit in limits(architecture, demand).into_iter().filter(|limit| limit.groups < target) {
            let (instead_of, set): (usize, fn(&mut Demand, usize)) = match limit.resource {
                Resource::Registers => (demand.registers, |demand, value| demand.registers = value),
                Resource::ScalarRegisters => (demand.scalar, |demand, value| demand.scalar = value),
                Resource::LocalMemory => (demand.local, |demand, value| demand.local = value),
                Resource::WaveSlots | Resource::GroupSlots => return None,
            };
            let suffices = |value: usize| {
                let mut less = *demand;
                set(&mut less, value);
                let of_less = limits(architecture, &less);
                of_less.iter().all(|other| other.resource != limit.resource || other.groups >= target)
            };
            // A number that suffices does so for all smaller ones too.
            let (mut low, mut high) = (0, instead_of);
            if !suffices(low) {
                return None;
            }
            while low + 1 < high {
                let middle = low.midpoint(high);
                if suffices(middle) { low = middle } else { high = middle }
            }
            // Every kernel needs registers.
            if low == 0 && limit.resource != Resource::LocalMemory {
                return None;
            }
            set(&mut reached, low);
            needs.push(Need { resource: limit.resource, at_most: low, instead_of });
        }
        // Registers are allocated in steps of a wave per partition, so there may be more groups.
        let groups = groups_held(architecture, &reached);
        Some(Self { groups, waves: groups * architecture.waves_of(demand.group), needs })
    }

    /// In a few words, with the names used for `architecture`: `3 groups: LDS ≤ 21504`.
    pub fn in_few_words(&self, architecture: &Architecture) -> String {
        let needs = self.needs.iter().map(|need| format!("{} ≤ {}", need.resource.name(architecture), need.at_most));
        format!("{} groups: {}", self.groups, needs.collect::<Vec<_>>().join(", "))
    }

    pub fn in_words(&self, architecture: &Architecture) -> String {
        let needs = self.needs.iter().map(|need| {
            let unit = if need.resource == Resource::LocalMemory { "bytes of " } else { "" };
            let name = need.resource.name(architecture);
            format!("at most {} {unit}{name} instead of {}", need.at_most, need.instead_of)
        });
        let waves = architecture.wave_name();
        format!("{} groups ({} {waves}): {}", self.groups, self.waves, needs.collect::<Vec<_>>().join(", and "))
    }
}
