//! The caches of this host, as the system tells.

use std::collections::BTreeSet;

/// Bytes of the data cache of a level of the first core; `None` where the system does not tell.
pub(crate) fn cache_of_host(level: u32) -> Option<u64> {
    let read = |index: u32, name: &str| {
        std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}")).ok()
    };
    let index = (0..8).find(|&index| {
        read(index, "level").is_some_and(|text| text.trim() == level.to_string())
            && read(index, "type").is_some_and(|text| text.trim() != "Instruction")
    })?;
    let size = read(index, "size")?;
    let (number, unit) = size.trim().split_at(size.trim().len().saturating_sub(1));
    let factor = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return size.trim().parse().ok(),
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Bytes of the last level of caches of all cores together, as the system tells.
pub(crate) fn last_cache_of_host() -> u64 {
    let Some(level) = (1..=4).rev().find(|&level| cache_of_host(level).is_some()) else { return 0 };
    let shared_by = |core: usize| {
        let cache = |index: usize| format!("/sys/devices/system/cpu/cpu{core}/cache/index{index}");
        let index = (0..8).find(|&index| {
            std::fs::read_to_string(cache(index) + "/level").is_ok_and(|text| text.trim() == level.to_string())
        })?;
        std::fs::read_to_string(cache(index) + "/shared_cpu_list").ok()
    };
    let caches: BTreeSet<String> = (0..).map_while(shared_by).collect();
    cache_of_host(level).unwrap_or(0) * caches.len().max(1) as u64
}
