//! A workload defined by the user, on a machine: lines, fetches, register operands and instructions of one wavefront's piece of work. For a tree,
//! numbers that are left out follow from its depth.

use serde::{Deserialize, Serialize};

use super::prediction::{Load, Prediction};
use super::traversal::REGROUPING_LINES_A_LANE;

use crate::binding::Limit;
use crate::description::{Description, DescriptionError};
use crate::machine::Machine;

/// The work of one wavefront for one piece of work. A file is TOML with these keys.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all(serialize = "snake_case", deserialize = "kebab-case"), deny_unknown_fields)]
pub struct Workload {
    #[serde(default)]
    pub name: String,
    /// Number of levels of branches in the tree that is traversed; 0 for no tree.
    #[serde(default)]
    pub levels: u32,
    /// Fraction of the levels at which each lane goes its own way, 0 to 1.
    #[serde(default)]
    pub divergence: f64,
    /// Lines from memory; if left out, those of the tree.
    pub lines: Option<f64>,
    /// Fraction of the lines that hit in the first-level cache, 0 to 1.
    #[serde(default)]
    pub hits: f64,
    /// Fetches per lane; if left out, one per level.
    pub fetches: Option<f64>,
    /// Bytes of operands that each lane reads from registers.
    #[serde(default)]
    pub register_bytes: f64,
    #[serde(default)]
    pub instructions: f64,
    /// Number of times that the lanes are regrouped through memory, at two lines per lane.
    #[serde(default)]
    pub regroupings: f64,
    /// Fraction of a wavefront's lanes that do useful work, 0 to 1. It changes no time, only the rates per lane.
    #[serde(default = "all")]
    pub occupied: f64,
}

fn all() -> f64 {
    1.0
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WorkloadReport {
    /// Lines from memory per wavefront, including those of regrouping.
    pub lines: f64,
    pub fetches: f64,
    /// Pieces of work per second, for all wavefronts together.
    pub wavefronts_per_second: f64,
    pub lanes_per_second: f64,
    /// Times and limits of one wavefront's piece of work while the whole machine works on others, so that it has a share of the rates.
    pub prediction: Prediction,
}

impl Workload {
    /// The prediction on a machine: rates are those of the whole machine, busy with such work. The bandwidth of memory is the measured read
    /// bandwidth, or else the vendor's peak, as an upper limit.
    pub fn on(&self, machine: &Machine) -> WorkloadReport {
        let lanes = f64::from(machine.lanes);
        let of_tree = if self.levels > 0 { machine.lines_of_tree(self.levels, self.divergence) } else { 0.0 };
        let touched = self.lines.unwrap_or(of_tree);
        let lines = touched * (1.0 - self.hits) + self.regroupings * REGROUPING_LINES_A_LANE * lanes;
        let fetches = self.fetches.unwrap_or(f64::from(self.levels));
        let line = machine.line_bytes as f64;
        let l1_rate = machine.unit_clocks() * machine.l1_bytes_a_clock;
        let register_rate = machine.unit_clocks() * machine.f32_lanes * machine.operand_bytes;
        let limits = vec![
            Load::new(Limit::Memory, lines, "lines", machine.lines_per_second()),
            Load::new(Limit::FirstCache, touched.max(lines), "lines", l1_rate / line),
            Load::new(Limit::Fetches, fetches * lanes, "fetches", machine.fetches_per_second()),
            Load::new(Limit::Registers, self.register_bytes * lanes, "bytes", register_rate),
            Load::new(
                Limit::Issue,
                self.instructions * lanes,
                "instructions",
                machine.unit_clocks() * machine.issue_lanes,
            ),
        ];
        let greatest = limits.iter().map(|limit| limit.seconds).fold(0.0, f64::max);
        let wavefronts_per_second = if greatest > 0.0 { 1.0 / greatest } else { f64::INFINITY };
        WorkloadReport {
            lines,
            fetches,
            wavefronts_per_second,
            lanes_per_second: wavefronts_per_second * lanes * self.occupied,
            prediction: Prediction::new(0.0, limits),
        }
    }
}

impl Description for Workload {
    fn check(&self, what: &str) -> Result<(), DescriptionError> {
        let shares = [("divergence", self.divergence), ("hits", self.hits), ("occupied", self.occupied)];
        let numbers = [
            ("lines", self.lines.unwrap_or(0.0)),
            ("fetches", self.fetches.unwrap_or(0.0)),
            ("register-bytes", self.register_bytes),
            ("instructions", self.instructions),
            ("regroupings", self.regroupings),
        ];
        let within = |most: f64| move |value| (0.0..=most).contains(&value);
        DescriptionError::check(what, &shares, within(1.0), "a share from 0 to 1")?;
        DescriptionError::check(what, &numbers, within(1e15), "a number from 0 to 10^15")?;
        let of_tree = f64::from(self.levels);
        let amounts = [self.lines.unwrap_or(of_tree), self.fetches.unwrap_or(of_tree)];
        let others = [self.register_bytes, self.instructions, self.regroupings];
        match amounts.iter().chain(&others).all(|&amount| amount == 0.0) {
            true => Err(DescriptionError::NoWork { what: what.to_owned() }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEBI: f64 = (1u64 << 20) as f64;

    fn on_proxy(text: &str) -> WorkloadReport {
        Workload::parse("w.toml", text).unwrap().on(&Machine::named("proxy").unwrap())
    }

    #[test]
    fn what_binds_gives_the_rate() {
        for (text, binds, rate) in [
            ("lines = 128", Limit::Memory, 64.0 * MEBI),
            // Regrouping halves that rate, hits gain a factor of eight at most.
            ("lines = 128\nregroupings = 1", Limit::Memory, 32.0 * MEBI),
            ("lines = 128\nhits = 1", Limit::FirstCache, 512.0 * MEBI),
            ("levels = 24\nlines = 0", Limit::Fetches, 256.0 * 1024.0 * MEBI / 24.0 / 64.0),
        ] {
            let report = on_proxy(text);
            assert_eq!(report.prediction.binds, binds, "{text}");
            assert!((report.wavefronts_per_second / rate - 1.0).abs() < 1e-9, "{text}: {report:?}");
            assert_eq!(report.lanes_per_second, 64.0 * report.wavefronts_per_second, "{text}");
        }
    }

    #[test]
    fn a_tree_needs_no_more_than_its_depth() {
        let report = on_proxy("levels = 24");
        assert_eq!((report.lines, report.fetches), (145.0, 24.0));
    }

    #[test]
    fn what_is_no_workload_is_refused_by_name() {
        for text in ["", "name = \"nothing\"", "hits = 0.5", "levels = 24\nlines = 0\nfetches = 0"] {
            let error = Workload::parse("w.toml", text).unwrap_err().to_string();
            assert!(error.contains("w.toml has no work: give levels, lines, fetches"), "{error}");
        }
        for (text, said) in [
            ("divergence = 2", "w.toml says divergence = 2: expected a share from 0 to 1"),
            ("lines = -1", "lines = -1"),
            ("instructions = nan", "NaN"),
            ("depth = 3", "w.toml cannot be read"),
        ] {
            let error = Workload::parse("w.toml", text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
