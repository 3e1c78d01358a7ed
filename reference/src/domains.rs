//! Memory domains (NUMA nodes): on a machine with several, each processor accesses its own memory faster than that of the others. So the threads of
//! a pool are bound to the processors of one domain each. A page is first written by the thread that will use it, and the hop gives every thread the
//! same part of a field every time. This changes times, but no result.

use std::sync::OnceLock;

/// The environment variable that overrides the number of domains of the system. 1 turns all of this off.
pub const VARIABLE: &str = "LANEFIELD_MEMORY_DOMAINS";

/// The processors of each memory domain of the machine that this process may run on, in the order of the system.
pub fn domains() -> &'static [Vec<usize>] {
    static DOMAINS: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
    DOMAINS.get_or_init(|| {
        let found = of_the_system();
        let asked_for = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok());
        match asked_for {
            Some(number) => cut(found.concat(), number),
            None => found,
        }
    })
}

/// Whether this number of threads is divided among domains: there are several domains, and at least one thread for each.
pub(crate) fn are_several(threads: usize) -> bool {
    let domains = domains().len();
    domains > 1 && threads >= domains
}

/// Binds the calling thread, number `thread` of a pool of `threads`, to the processors of its domain. Neighbouring threads share a domain. Does
/// nothing if there is one domain, or if there are more domains than threads. It does no harm if the system refuses.
pub fn keep_in_domain(thread: usize, threads: usize) {
    let domains = domains();
    if domains.len() > 1 && threads >= domains.len() {
        keep_on(&domains[part_of(thread, threads, domains.len())]);
    }
}

/// The number of the part to which number `index` of `all` belongs, if they are divided into `parts` consecutive parts of nearly equal size.
pub(crate) fn part_of(index: usize, all: usize, parts: usize) -> usize {
    index * parts / all.max(1)
}

/// Divides processors into `number` groups, at least one.
fn cut(processors: Vec<usize>, number: usize) -> Vec<Vec<usize>> {
    let a_group = processors.len().div_ceil(number.clamp(1, processors.len().max(1)));
    processors.chunks(a_group.max(1)).map(<[usize]>::to_vec).collect()
}

#[cfg(target_os = "linux")]
fn of_the_system() -> Vec<Vec<usize>> {
    let list = |node: usize| std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).ok();
    // Numbers of nodes may have gaps.
    let lists = (0..1024).filter_map(list).filter_map(|text| processors(text.trim()));
    let allowed = allowed();
    let may_run_on = |processor: &usize| {
        // SAFETY: reads one bit of the set, of a number below its size.
        *processor < BITS && unsafe { libc::CPU_ISSET(*processor, &allowed) }
    };
    let nodes = lists.map(|processors| processors.into_iter().filter(may_run_on).collect::<Vec<_>>());
    let nodes: Vec<Vec<usize>> = nodes.filter(|processors| !processors.is_empty()).collect();
    match nodes.is_empty() {
        true => vec![(0..std::thread::available_parallelism().map_or(1, usize::from)).collect()],
        false => nodes,
    }
}

#[cfg(not(target_os = "linux"))]
fn of_the_system() -> Vec<Vec<usize>> {
    vec![(0..std::thread::available_parallelism().map_or(1, usize::from)).collect()]
}

/// The numbers of a list such as `0-3,8`; `None` if it is not valid.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn processors(list: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for range in list.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        numbers.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(numbers)
}

/// The maximum number of processors in a set.
#[cfg(target_os = "linux")]
const BITS: usize = 8 * size_of::<libc::cpu_set_t>();

/// The processors on which this process may run; empty if the system does not report them.
#[cfg(target_os = "linux")]
fn allowed() -> libc::cpu_set_t {
    // SAFETY: a set of processors is plain bits, for which zeros are the empty set; the call writes no more than the set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    }
}

#[cfg(target_os = "linux")]
fn keep_on(processors: &[usize]) {
    // SAFETY: a set of processors is plain bits, for which zeros are the empty set; CPU_SET checks nothing, so that numbers beyond its size are
    // left out; the call reads the set alone, and acts on the calling thread (0).
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &processor in processors.iter().filter(|&&processor| processor < BITS) {
            libc::CPU_SET(processor, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

#[cfg(not(target_os = "linux"))]
fn keep_on(_: &[usize]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(processors("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(processors(""), Some(vec![]));
        assert_eq!(processors("0-x"), None);
    }

    #[test]
    fn processors_are_cut_into_as_many_groups_as_there_are_processors_for() {
        assert_eq!(cut(vec![0, 1, 2, 3, 4], 2), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(cut(vec![0, 1], 8), [vec![0], vec![1]]);
        assert_eq!(cut(vec![0, 1], 0), [vec![0, 1]]);
    }

    #[test]
    fn parts_follow_each_other_and_none_is_empty() {
        let parts: Vec<usize> = (0..7).map(|index| part_of(index, 7, 3)).collect();
        assert_eq!(parts, [0, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_machine_has_a_domain_with_a_processor() {
        assert!(domains().iter().all(|processors| !processors.is_empty()) && !domains().is_empty());
    }
}
