//! Estimates and counts as one line of text.

use std::collections::BTreeMap;

use lanefield_lab::code::InstructionCounts;
use lanefield_lab::occupancy::emprism::Simplified;

use super::table::percent;

/// The estimate of the EmPRiSM report.
pub fn in_words(simplified: &Simplified) -> String {
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

/// Those kinds that there are.
pub fn counts_in_words(counts: &InstructionCounts) -> String {
    let widths = |accesses: &BTreeMap<usize, usize>| {
        accesses.iter().map(|(bytes, number)| format!("{number} of {bytes} bytes")).collect::<Vec<_>>().join(" + ")
    };
    let mut words = Vec::new();
    if !counts.global_loads.is_empty() {
        words.push(format!("global loads {}", widths(&counts.global_loads)));
    }
    if !counts.global_stores.is_empty() {
        words.push(format!("global stores {}", widths(&counts.global_stores)));
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
