//! The kernels of profiles, by name and number of work-items.

use std::collections::BTreeMap;

use super::collected::Collected;
use super::kernel::KernelCounters;

/// The kernels of one or several profiles of the same run, by name and total number of work-items.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    pub(super) kernels: BTreeMap<(String, Option<u64>), Collected>,
}

impl Profile {
    /// The kernels, in descending order of total time; `ceiling` is in bytes per second.
    pub fn kernels(&self, ceiling: Option<f64>) -> Vec<KernelCounters> {
        let mut kernels: Vec<_> = self
            .joined()
            .iter()
            .map(|((name, work_items), collected)| collected.averaged((name, *work_items), ceiling))
            .collect();
        let total = |kernel: &KernelCounters| kernel.seconds.unwrap_or(0.0) * kernel.calls as f64;
        kernels.sort_by(|a, b| total(b).total_cmp(&total(a)));
        kernels
    }

    /// The kernels. If a kernel has one size only, times that have just its name are added to it.
    fn joined(&self) -> BTreeMap<(String, Option<u64>), Collected> {
        let mut kernels = self.kernels.clone();
        let unsized_names = self.kernels.keys().filter(|(_, size)| size.is_none()).map(|(name, _)| name.clone());
        for name in unsized_names {
            let sizes: Vec<_> = self.kernels.keys().filter(|(other, size)| *other == name && size.is_some()).collect();
            if let [only] = sizes[..]
                && let Some(by_name) = kernels.remove(&(name, None))
                && let Some(sized) = kernels.get_mut(only)
            {
                sized.calls = sized.calls.max(by_name.calls);
                sized.plain_seconds.join(by_name.plain_seconds);
            }
        }
        kernels
    }

    pub(super) fn of(&mut self, kernel: &str, work_items: Option<u64>) -> &mut Collected {
        self.kernels.entry((short_name(kernel).to_owned(), work_items)).or_default()
    }
}

/// A kernel's name without its arguments, and without the suffix from HIP.
pub(super) fn short_name(name: &str) -> &str {
    let name = name.trim();
    // Arguments start at the first parenthesis outside template brackets, in which there may be casts.
    let mut depth = 0usize;
    let end = name.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && at > 0 => return Some(at),
            _ => {}
        }
        None
    });
    let name = &name[..end.unwrap_or(name.len())];
    let name = name.split(" [clone").next().unwrap_or(name);
    name.strip_suffix(".kd").unwrap_or(name).trim()
}
