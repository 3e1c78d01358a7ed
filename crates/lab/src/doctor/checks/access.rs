//! Memory transactions with bytes that no work-item requested, and accesses that touch more cache lines than necessary.

use super::words::{megabytes, percent};
use crate::doctor::finding::{Fault, Finding, Remedy};
use crate::doctor::observation::{ArrayAccess, Observation, Pass};

/// Arrays below this efficiency are named.
const POOR: f64 = 0.9;
/// Unless their waste is below this share of the total: tables of a few bytes per site.
const LITTLE: f64 = 0.02;

/// The waste over all arrays: by sectors, which memory and the last cache move, or by lines, which a first-level cache serves one after the other.
struct Waste<'p> {
    poor: Vec<&'p ArrayAccess>,
    asked: f64,
    moved: f64,
}

impl<'p> Waste<'p> {
    fn of(pass: &'p Pass, efficiency: fn(&ArrayAccess) -> f64) -> Self {
        let moved_for = |array: &ArrayAccess| array.bytes as f64 / efficiency(array).clamp(1e-3, 1.0);
        let asked = pass.accesses.iter().map(|array| array.bytes as f64).sum();
        let moved = pass.accesses.iter().map(moved_for).sum();
        let counts =
            |array: &&ArrayAccess| efficiency(array) < POOR && moved_for(array) - array.bytes as f64 > LITTLE * moved;
        Self { poor: pass.accesses.iter().filter(counts).collect(), asked, moved }
    }

    fn share(&self) -> f64 {
        if self.poor.is_empty() { 0.0 } else { 1.0 - self.asked / self.moved }
    }

    fn names(&self) -> String {
        self.poor.iter().map(|array| array.array.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Compares the bytes of all sectors that are moved, or of all lines that are touched, with the bytes requested: whichever wastes more.
pub fn access(observation: &Observation, pass: &Pass) -> Option<Finding> {
    // If work-items do not run in step, none moves bytes for another.
    if observation.machine.wavefront == 1 {
        return None;
    }
    let by_sector = Waste::of(pass, |array| array.efficiency);
    let by_line = Waste::of(pass, |array| array.line_efficiency);
    // Lines are never used better than sectors, so the waste that sectors explain is attributed to them.
    let (waste, title) = match by_sector.share() >= LITTLE.max(by_line.share() / 2.0) {
        true => {
            let (share, names) = (percent(by_sector.share()), by_sector.names());
            (&by_sector, format!("{share} of the bytes moved for {names} are not used"))
        }
        false if by_line.share() > 0.0 => {
            let (times, names) = (by_line.moved / by_line.asked, by_line.names());
            (&by_line, format!("accesses to {names} touch {times:.1} times as many cache lines as necessary"))
        }
        false => return None,
    };
    let used = |array: &&ArrayAccess| {
        let (sectors, lines) = (percent(array.efficiency), percent(array.line_efficiency));
        format!("{}: {sectors} of its sectors and {lines} of its lines are used ({})", array.array, array.pattern)
    };
    let mut evidence: Vec<String> = waste.poor.iter().map(used).collect();
    if waste.share() == by_sector.share() {
        evidence.push(format!("{} moved for {}", megabytes(waste.moved), megabytes(waste.asked)));
    }
    let (change, remedy) = match pass.lane_fast {
        Some(false) => ("--mapping lane-fast", Remedy::LaneFast),
        Some(true) => ("wider lanes (--lanes 128) and accesses (--access 16)", Remedy::Source),
        None => {
            ("let neighbouring work-items read neighbouring elements: lanes or words fast, sites slow", Remedy::Source)
        }
    };
    let gain = waste.share().min(observation.headroom_of(pass));
    Some(Finding::new(Fault::Access, title, gain, evidence, change, remedy))
}
