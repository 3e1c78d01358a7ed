//! The occupancies as tables and as JSON.

use std::collections::BTreeMap;

use lanefield::reference::real::Precision;
use lanefield_lab::code::{Compiled, InstructionCounts};
use lanefield_lab::model::{Architecture, Demand, Resource};
use lanefield_lab::occupancy::emprism::{DIFFERENCES, Simplified, simplified};
use lanefield_lab::occupancy::{Occupancy, Swept, SweptQuantity, occupancy, sweep, sweet_spot};
use serde::Serialize;

use super::arguments;
use crate::output::{dense, facts, fitted, table, table_of, wrapped};

#[derive(Default, Serialize)]
pub struct Report {
    entries: Vec<Entry>,
    /// Kernels whose occupancy cannot be determined.
    pub told: Vec<Compiled>,
    sweeps: Vec<SweepReport>,
    /// How the simplified formulas differ; null if they are not shown.
    simplified_differ: Option<&'static str>,
}

/// What a kernel, or a set of numbers, needs and what it leaves free.
#[derive(Serialize)]
struct Entry {
    architecture: Architecture,
    demand: Demand,
    occupancy: Occupancy,
    /// The simplified formulas of the EmPRiSM report; null for architectures that they do not cover.
    simplified: Option<Simplified>,
    /// The kernel; null for numbers by hand.
    kernel: Option<Compiled>,
}

#[derive(Serialize)]
struct SweepReport {
    /// The kernel; null for numbers by hand.
    kernel: Option<&'static str>,
    /// How its fields are stored; null for numbers by hand.
    precision: Option<Precision>,
    /// Reals of a link; null if it reads none.
    reconstruct: Option<usize>,
    architecture: Architecture,
    quantity: SweptQuantity,
    /// Work-items that compute the lanes of an outer site.
    lanes: usize,
    rows: Vec<Swept>,
    note: Option<String>,
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn names(resources: &[Resource], architecture: &Architecture) -> String {
    resources.iter().map(|resource| resource.name(architecture)).collect::<Vec<_>>().join(", ")
}

impl Report {
    /// Adds what a kernel or given numbers need and leave free, with the simplified formulas if there are any, and with the requested sweep.
    pub fn add(
        &mut self,
        args: &arguments::Occupancy,
        (architecture, demand, lanes): (Architecture, Demand, usize),
        kernel: Option<Compiled>,
    ) -> anyhow::Result<()> {
        let occupancy = occupancy(&architecture, &demand)?;
        let Demand { group, registers, scalar, local, .. } = demand;
        let simplified = simplified(architecture.name, registers, scalar, local, group);
        if simplified.is_some() {
            self.simplified_differ = Some(DIFFERENCES);
        }
        if let Some(arguments::Sweep { quantity, values }) = &args.sweep {
            let rows = sweep(&architecture, &demand, lanes, *quantity, values)?;
            let threads = *quantity == SweptQuantity::AcceleratorThreads;
            let note = threads.then(|| sweet_spot(&architecture, &rows)).flatten();
            let (precision, reconstruct) = kernel.as_ref().map(|known| (known.precision, known.reconstruct)).unzip();
            let (kernel, reconstruct) = (kernel.as_ref().map(|known| known.kernel), reconstruct.flatten());
            let quantity = *quantity;
            self.sweeps.push(SweepReport { kernel, precision, reconstruct, architecture, quantity, lanes, rows, note });
        }
        self.entries.push(Entry { architecture, demand, occupancy, simplified, kernel });
        Ok(())
    }

    /// All occupancies as text: facts for few of them, a table for many.
    pub fn text(&self) -> String {
        let mut blocks = Vec::new();
        match self.entries.len() {
            0 => {}
            1..=2 if self.sweeps.is_empty() => {
                blocks.extend(self.entries.iter().map(Entry::text));
                blocks.extend(self.simplified_differ.map(str::to_owned));
            }
            _ if self.sweeps.is_empty() => blocks.push(self.table()),
            _ => blocks.extend(self.sweeps.iter().map(SweepReport::text)),
        }
        blocks.extend(self.told.iter().map(text_of));
        blocks.join("\n\n")
    }

    fn table(&self) -> String {
        let lines = dense(table_of(self.entries.iter().map(Entry::cells), 4..13));
        let mut text =
            fitted(lines, &["private, B", "SGPR", "AGPR", "group", "LDS, B", "spilled", "waves"]).to_string();
        let compiled: Vec<&Compiled> = self.entries.iter().filter_map(|entry| entry.kernel.as_ref()).collect();
        if !compiled.is_empty() {
            let (spilling, number) = (compiled.iter().filter(|kernel| spills(kernel)).count(), compiled.len());
            text += &format!("\n\n{spilling} of {number} spill, or keep arrays in private memory");
        }
        if let Some(kernel) = compiled.iter().find(|kernel| kernel.code.target.contains(", for ")) {
            text +=
                &format!("\n{} does not know every GPU: it compiled for {}", kernel.code.compiler, kernel.code.target);
        }
        text
    }
}

impl Entry {
    fn cells(&self) -> [(&'static str, String); 14] {
        let (kernel, demand, found) = (self.kernel.as_ref(), &self.demand, &self.occupancy);
        let number = |value: Option<usize>| value.map_or("–".to_owned(), |value| value.to_string());
        let code = kernel.map(|kernel| &kernel.code);
        [
            ("kernel", kernel.map_or("by hand", |kernel| kernel.kernel).to_owned()),
            ("fields", kernel.map_or("–".to_owned(), |kernel| kernel.precision.to_string())),
            ("reconstruct", number(kernel.and_then(|kernel| kernel.reconstruct))),
            ("GPU", self.architecture.name.to_owned()),
            ("VGPR", demand.registers.to_string()),
            ("AGPR", demand.accumulation.to_string()),
            ("SGPR", demand.scalar.to_string()),
            ("spilled", number(code.and_then(|code| code.spilled_registers))),
            ("private, B", number(code.and_then(|code| code.private_bytes))),
            ("LDS, B", demand.local.to_string()),
            ("group", demand.group.to_string()),
            ("waves", format!("{} of {}", found.waves, found.most_waves)),
            ("occ.", percent(found.share)),
            ("binds", names(&found.binding, &self.architecture)),
        ]
    }

    fn text(&self) -> String {
        let (architecture, found) = (&self.architecture, &self.occupancy);
        let (unit, demand, waves) = (architecture.unit, &self.demand, architecture.wave_name());
        let of_wave = |groups: usize| groups * found.waves_a_group;
        let limits = found.limits.iter().map(|limit| {
            format!("{} {} ({} {waves})", limit.resource.name(architecture), limit.groups, of_wave(limit.groups))
        });
        let mut taken = format!("{} {}", demand.registers, architecture.register_name());
        if demand.accumulation > 0 {
            taken += &format!(" and {} AGPRs", demand.accumulation);
        }
        taken += &format!(" per work-item ({} allocated)", found.allocated_registers);
        if architecture.scalar.is_some() {
            taken += &format!(", {} SGPRs per wave", demand.scalar);
        }
        let memory = Resource::LocalMemory.name(architecture);
        let mut known = vec![
            ("GPU", format!("{} ({})", architecture.name, architecture.product)),
            ("takes", taken),
            (memory, format!("{} bytes per group ({} allocated)", demand.local, found.allocated_local)),
            (
                "group",
                format!(
                    "{} work-items: {waves} per group {}, of {} lanes, {} of them filled",
                    demand.group,
                    found.waves_a_group,
                    architecture.wave,
                    percent(found.lanes_filled)
                ),
            ),
            (
                "occupancy",
                format!("{}: {} of {} {waves} per {unit}", percent(found.share), found.waves, found.most_waves),
            ),
            ("groups", format!("{} per {unit}", found.groups)),
            ("binding", names(&found.binding, architecture)),
            ("groups by resource", wrapped(&limits.collect::<Vec<_>>().join(", "))),
        ];
        if found.groups == 0 {
            known.push(("", "not even one group fits: such a launch fails".to_owned()));
        }
        known.extend(found.carve_out.map(|kib| ("carve-out", format!("at least {kib} KiB of shared memory"))));
        let next = found.next_step.as_ref().map(|step| step.in_words(architecture));
        let none = "none: slots bind, or several resources bind together";
        known.push(("next step", next.unwrap_or_else(|| none.to_owned())));
        if let Some(simplified) = &self.simplified {
            known.push(("simplified formulas", wrapped(&in_words(simplified))));
        }
        let mut heading = String::new();
        if let Some(kernel) = &self.kernel {
            heading = format!("{}\n", title(kernel));
            known.extend(facts_of(kernel));
        }
        format!("{heading}{}", facts(known))
    }
}

/// Whether the kernel is known to use memory for registers or arrays.
fn spills(kernel: &Compiled) -> bool {
    let code = &kernel.code;
    code.spilled_registers.is_some_and(|number| number > 0) || code.uses_private_memory() == Some(true)
}

fn title(kernel: &Compiled) -> String {
    let links = kernel.reconstruct.map_or(String::new(), |links| format!(", reconstruct {links}"));
    let [x, y, z] = kernel.built.group;
    format!("{} {}{links}, {} lanes, group {x} × {y} × {z}", kernel.kernel, kernel.precision, kernel.nsimd)
}

fn facts_of(kernel: &Compiled) -> Vec<(&'static str, String)> {
    let code = &kernel.code;
    let mut known = vec![("compiled by", format!("{}, for {}", code.compiler, code.target))];
    let mut spilled = Vec::new();
    spilled.extend(code.spilled_registers.map(|number| format!("{number} registers")));
    spilled.extend(code.spilled_scalar.map(|number| format!("{number} scalar ones")));
    spilled.extend(code.spill_bytes.map(|bytes| format!("{} bytes stored, {} loaded", bytes.stores, bytes.loads)));
    if !spilled.is_empty() {
        known.push(("spilled", spilled.join(", ")));
    }
    known.extend(code.private_bytes.map(|bytes| ("private memory", format!("{bytes} bytes per work-item"))));
    known.extend(code.code_bytes.map(|bytes| ("code", format!("{bytes} bytes"))));
    known.extend(code.counts.as_ref().map(|counts| ("instructions", counts_in_words(counts))));
    known.extend(code.unknown.clone().map(|unknown| ("not known", unknown)));
    known
}

fn text_of(kernel: &Compiled) -> String {
    let local = kernel.code.local_bytes.map(|bytes| bytes + kernel.built.local_bytes);
    let local = local.map(|bytes| ("local memory", format!("{bytes} bytes per group")));
    format!("{}\n{}", title(kernel), facts(local.into_iter().chain(facts_of(kernel))))
}

impl SweepReport {
    fn text(&self) -> String {
        let architecture = &self.architecture;
        let value = self.quantity.to_string();
        // The full name is above the table.
        let short = value.rsplit('_').next().unwrap_or(&value);
        let header = [short, "group", "of a wave", "waves per group", "groups", "waves", "occ.", "items"];
        let mut lines = dense(table([header.as_slice(), &["binds", "next step"]].concat(), 0..));
        for row in &self.rows {
            let found = &row.occupancy;
            lines.add_row([
                row.value.to_string(),
                row.demand.group.to_string(),
                format!("{:.0}%", 100.0 * row.of_a_wave),
                found.waves_a_group.to_string(),
                found.groups.to_string(),
                format!("{} of {}", found.waves, found.most_waves),
                percent(found.share),
                percent(row.work_items),
                names(&found.binding, architecture),
                found.next_step.as_ref().map_or("–".to_owned(), |step| step.in_few_words(architecture)),
            ]);
        }
        let kernel = self.kernel.zip(self.precision).map(|(kernel, precision)| {
            let reconstruct = self.reconstruct.map_or(String::new(), |reals| format!(", reconstruct {reals}"));
            ("kernel", format!("{kernel} {precision}{reconstruct}"))
        });
        let gpu = ("GPU", format!("{} ({})", architecture.name, architecture.product));
        let heading = kernel.into_iter().chain([gpu, ("varied", value.clone())]);
        let note = self.note.as_ref().map_or(String::new(), |note| format!("\n{note}"));
        let lines = fitted(lines, &["of a wave", "waves per group", "groups", "next step", "items"]);
        format!("{}\n{lines}{note}", facts(heading))
    }
}

/// The estimate of the EmPRiSM report.
fn in_words(simplified: &Simplified) -> String {
    let (name, least) = simplified.binding();
    let mut text = format!(
        "of the EmPRiSM report: {}, {} of {} waves, by {name}; VGPRs {} waves ({}), SGPRs {} ({})",
        percent(least.share),
        least.waves,
        simplified.most_waves,
        simplified.vgprs.waves,
        percent(simplified.vgprs.share),
        simplified.sgprs.waves,
        percent(simplified.sgprs.share)
    );
    if let Some(lds) = simplified.lds {
        text += &format!(", LDS {} ({})", lds.waves, percent(lds.share));
    }
    text
}

/// The kinds of instructions that occur.
fn counts_in_words(counts: &InstructionCounts) -> String {
    let widths = |accesses: &BTreeMap<usize, usize>| {
        accesses.iter().map(|(bytes, number)| format!("{number} of {bytes} bytes")).collect::<Vec<_>>().join(" + ")
    };
    let mut words = Vec::new();
    for (name, accesses) in [("global loads", &counts.global_loads), ("global stores", &counts.global_stores)] {
        if !accesses.is_empty() {
            words.push(format!("{name} {}", widths(accesses)));
        }
    }
    let numbers = [
        ("atomics", counts.atomics),
        ("local loads", counts.local_loads),
        ("local stores", counts.local_stores),
        ("private loads", counts.private_loads),
        ("private stores", counts.private_stores),
        ("moves from and to AGPRs", counts.accumulation_moves),
        ("f32 fma", counts.fma_f32),
        ("packed f32 fma", counts.fma_f32_packed),
        ("f64 fma", counts.fma_f64),
        ("other vector", counts.vector),
        ("scalar", counts.scalar),
        ("waits", counts.waits),
        ("barriers", counts.barriers),
        ("branches", counts.branches),
        ("calls", counts.calls),
    ];
    words.extend(numbers.iter().filter(|(_, number)| *number > 0).map(|(name, number)| format!("{name} {number}")));
    words.join(", ")
}
