//! The caches of this host, as the system reports them.

use std::collections::BTreeSet;

/// The data cache of one core at this level, or `None` if the system does not report it.
fn told(core: usize, level: u32, name: &str) -> Option<String> {
    let read = |index: u32, name: &str| {
        let file = format!("/sys/devices/system/cpu/cpu{core}/cache/index{index}/{name}");
        Some(std::fs::read_to_string(file).ok()?.trim().to_owned())
    };
    let is_of_level = |index: &u32| read(*index, "level").is_some_and(|text| text == level.to_string());
    let holds_data = |index: &u32| read(*index, "type").is_some_and(|text| text != "Instruction");
    read((0..8).filter(is_of_level).find(holds_data)?, name)
}

/// Size in bytes of the data cache of the first core at this level; `None` if the system does not report it.
pub(crate) fn cache_of_host(level: u32) -> Option<u64> {
    let size = told(0, level, "size")?;
    let (number, factor) = match (size.strip_suffix('K'), size.strip_suffix('M')) {
        (Some(number), _) => (number, 1 << 10),
        (_, Some(number)) => (number, 1 << 20),
        _ => (size.as_str(), 1),
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Size in bytes of all caches of the last level together, as the system reports them.
pub(crate) fn last_cache_of_host() -> u64 {
    let Some(level) = (1..=4).rev().find(|&level| cache_of_host(level).is_some()) else { return 0 };
    let caches: BTreeSet<String> = (0..).map_while(|core| told(core, level, "shared_cpu_list")).collect();
    cache_of_host(level).unwrap_or(0) * caches.len().max(1) as u64
}
