//! Trees with one cache line per node, traversed by the lanes of wavefronts: the number of lines, levels and lanes (T. Lottes, "Thinking Through
//! GPU Memory Access", 2018). A tree of n levels of branches has 2ⁿ leaves and 2ⁿ⁺¹ − 1 nodes; all are binary here.

use crate::machine::Machine;
use serde::Serialize;

/// The least number of lines per lane for a regrouping, in which its state goes to a bucket in memory and comes back.
pub(crate) const REGROUPING_LINES_A_LANE: f64 = 2.0;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TraversalReport {
    pub levels: u32,
    /// On-chip bandwidth divided by memory bandwidth.
    pub on_chip_ratio: f64,
    /// Register bandwidth divided by memory bandwidth.
    pub register_ratio: f64,
    /// Number of lanes of a wavefront that saturate memory if all of them miss the caches.
    pub divergent_lanes: f64,
    pub l1_lines: u64,
    /// Number of tree levels that fit a first-level cache.
    pub l1_levels: u32,
    /// Number of lanes for which these levels lead to distinct nodes.
    pub l1_lanes: u64,
    /// Lines of a wavefront's traversal whose lanes stay together until the last levels, which lead each lane to a leaf of its own.
    pub coherent_lines: u64,
    /// The lines of these last levels.
    pub last_lines: u64,
    /// Fraction of the lanes that hit if a wavefront misses one line.
    pub hit_rate: f64,
    /// Traversals per second of wavefronts within the limit of memory, with `coherent_lines` each.
    #[serde(rename = "memory_bound_per_second")]
    pub memory_bound: f64,
    /// The same with the least number of lines that lead each lane to a leaf of its own: two per lane, without the levels above.
    #[serde(rename = "memory_bound_at_least_per_second")]
    pub memory_bound_at_least: f64,
    /// Traversals per second of single lanes within the limit of fetches: one per level.
    #[serde(rename = "fetch_bound_per_second")]
    pub fetch_bound: f64,
    /// Lines of a wavefront to regroup its lanes.
    pub regrouping_lines: f64,
    /// Rate with one regrouping per traversal divided by that without, for the least number of lines.
    pub regrouped_rate: f64,
}

/// Nodes of a tree with this number of levels of branches; `None` if it exceeds 64 bits.
fn nodes(levels: u32) -> Option<u64> {
    2u64.checked_pow(levels.checked_add(1)?).map(|nodes| nodes - 1)
}

impl Machine {
    pub(super) fn lines_per_second(&self) -> f64 {
        self.gauge_gb_per_second() * 1e9 / self.line_bytes as f64
    }

    pub(super) fn fetches_per_second(&self) -> f64 {
        self.unit_clocks() * f64::from(self.lanes) / self.fetch_clocks
    }

    /// The number of last levels, which lead each lane of a wavefront to a leaf of its own.
    fn last_levels(&self) -> u32 {
        self.lanes.next_power_of_two().ilog2()
    }

    /// Lines of a wavefront's traversal of this number of levels, whose lanes stay together except in the last levels.
    fn coherent_lines(&self, levels: u32) -> u64 {
        let last = levels.min(self.last_levels());
        nodes(last).unwrap_or(u64::MAX).saturating_add(u64::from(levels - last))
    }

    /// Lines of a wavefront's traversal in which each lane goes its own way at a fraction `divergence` (0 to 1) of the levels.
    pub(super) fn lines_of_tree(&self, levels: u32, divergence: f64) -> f64 {
        let (coherent, lanes) = (self.coherent_lines(levels) as f64, f64::from(self.lanes));
        let own = lanes * f64::from(levels);
        coherent + divergence.clamp(0.0, 1.0) * (own - coherent).max(0.0)
    }

    pub fn traversal(&self, levels: u32) -> TraversalReport {
        let lanes = f64::from(self.lanes);
        let memory = self.gauge_gb_per_second() * 1e9;
        let on_chip_ratio = self.unit_clocks() * self.l1_bytes_a_clock / memory;
        let l1_lines = self.l1_bytes / self.line_bytes;
        let l1_levels = (l1_lines + 1).ilog2().saturating_sub(1);
        let least = 2.0 * lanes;
        let regrouping_lines = REGROUPING_LINES_A_LANE * lanes;
        let coherent_lines = self.coherent_lines(levels);
        TraversalReport {
            levels,
            on_chip_ratio,
            register_ratio: self.unit_clocks() * self.f32_lanes * self.operand_bytes / memory,
            divergent_lanes: lanes / on_chip_ratio,
            l1_lines,
            l1_levels,
            l1_lanes: 1 << l1_levels,
            coherent_lines,
            last_lines: nodes(levels.min(self.last_levels())).unwrap_or(u64::MAX),
            hit_rate: (lanes - 1.0) / lanes,
            memory_bound: self.lines_per_second() / coherent_lines as f64,
            memory_bound_at_least: self.lines_per_second() / least,
            fetch_bound: self.fetches_per_second() / f64::from(levels.max(1)),
            regrouping_lines,
            regrouped_rate: least / (least + regrouping_lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEBI: f64 = (1u64 << 20) as f64;
    const GIBI: f64 = (1u64 << 30) as f64;

    fn proxy() -> Machine {
        Machine::named("proxy").unwrap()
    }

    fn report(levels: u32) -> TraversalReport {
        proxy().traversal(levels)
    }

    #[test]
    fn the_rates_of_24_levels_are_those_of_the_text() {
        let report = report(24);
        for (name, value, expected) in [
            ("lines a second", proxy().lines_per_second(), 8.0 * GIBI),
            ("fetches a second", proxy().fetches_per_second(), 256.0 * GIBI),
            ("caches over memory", report.on_chip_ratio, 8.0),
            ("registers over memory", report.register_ratio, 96.0),
            ("lanes of 64 that are enough where all miss", report.divergent_lanes, 8.0),
            ("coherent traversals at 128 lines", report.memory_bound_at_least, 64.0 * MEBI),
            ("traversals that fetches allow", report.fetch_bound, 256.0 / 24.0 * GIBI),
            ("hits at one miss a wavefront", report.hit_rate, 63.0 / 64.0),
            ("lines of a regrouping", report.regrouping_lines, 128.0),
            ("rate with a regrouping", report.regrouped_rate, 0.5),
        ] {
            assert!((value / expected - 1.0).abs() < 1e-9, "{name}: {value} is not {expected}");
        }
        assert!(report.memory_bound < 64.0 * MEBI);
        assert_eq!((report.fetch_bound / GIBI * 100.0).round(), 1067.0);
        assert_eq!((report.hit_rate * 1000.0).round(), 984.0);
    }

    #[test]
    fn seven_levels_fit_the_first_cache_and_serve_128_lanes() {
        let report = report(24);
        assert_eq!((report.l1_lines, report.l1_levels, report.l1_lanes), (256, 7, 128));
        assert_eq!(nodes(7), Some(255));
        assert!(report.l1_lanes < u64::from(proxy().lanes_active));
        assert_eq!(u64::from(proxy().lanes) * 4, report.l1_lines, "the leaves of a wavefront are a quarter of it");
    }

    #[test]
    fn a_coherent_traversal_of_n_levels_takes_121_plus_n_lines() {
        assert_eq!((proxy().last_levels(), report(24).last_lines), (6, 127));
        // A tree of fewer levels has no more lines than nodes.
        assert_eq!((report(2).coherent_lines, report(2).last_lines), (7, 7));
        for levels in 6..40 {
            assert_eq!(report(levels).coherent_lines, 127 + u64::from(levels) - 6);
        }
        // No depth is too great or too small.
        assert_eq!([0, u32::MAX].map(|n| report(n).coherent_lines), [1, 127 + u64::from(u32::MAX) - 6]);
        assert_eq!((nodes(62), nodes(63)), (Some((1 << 63) - 1), None));
    }

    #[test]
    fn fourteen_levels_more_are_about_nine_percent_of_the_lines() {
        let [small, large] = [10, 24].map(|levels| report(levels).coherent_lines as f64);
        assert_eq!([small, large], [131.0, 145.0]);
        // 14 of 145 lines; the text, which counts its levels from the last six on, has 14 of 151.
        assert!((0.09..0.10).contains(&((large - small) / large)));
        assert!((0.09..0.10).contains(&(14.0 / (127.0 + 24.0))));
    }

    #[test]
    fn a_measured_read_takes_the_place_of_the_peak() {
        let half = r#"{"read_bytes_per_second": 274877906944}"#;
        let slow = proxy().with_measured("peak.json", half).unwrap().traversal(24);
        let fast = report(24);
        assert!((slow.memory_bound / fast.memory_bound * 2.0 - 1.0).abs() < 1e-9);
        assert!((slow.on_chip_ratio / 16.0 - 1.0).abs() < 1e-9);
        let copy = proxy().with_measured("peak.json", r#"{"copy_bytes_per_second": 1e9}"#).unwrap();
        assert_eq!(copy.traversal(24), fast);
    }

    #[test]
    fn lanes_that_go_their_own_ways_take_a_line_each_at_every_level() {
        let lines = |divergence| proxy().lines_of_tree(24, divergence);
        assert_eq!([lines(0.0), lines(0.5), lines(1.0)], [145.0, (145.0 + 1536.0) / 2.0, 64.0 * 24.0]);
    }
}
