//! The valid ranges of a machine's numbers.

use super::numbers::Machine;
use crate::description::{Description, DescriptionError};
use crate::plausible;

impl Description for Machine {
    fn check(&self, what: &str) -> Result<(), DescriptionError> {
        const MOST: f64 = 1e12;
        let above_0 = [
            ("compute-units", f64::from(self.compute_units)),
            ("clock-mhz", self.clock_mhz),
            ("lanes", f64::from(self.lanes)),
            ("lanes-active", f64::from(self.lanes_active)),
            ("f32-lanes", self.f32_lanes),
            ("f64-lanes", self.f64_lanes),
            ("integer-lanes", self.integer_lanes),
            ("issue-lanes", self.issue_lanes),
            ("operand-bytes", self.operand_bytes),
            ("fetch-clocks", self.fetch_clocks),
            ("registers", self.registers as f64),
            ("line-bytes", self.line_bytes as f64),
            ("sector-bytes", self.sector_bytes as f64),
            ("l1-bytes", self.l1_bytes as f64),
            ("l1-bytes-a-clock", self.l1_bytes_a_clock),
            ("l2-bytes", self.l2_bytes as f64),
            ("l2-gb-per-second", self.l2_gb_per_second),
            ("peak-gb-per-second", self.peak_gb_per_second),
            ("read-gb-per-second", self.read_gb_per_second),
            ("copy-gb-per-second", self.copy_gb_per_second),
        ];
        let is_above_0 = |value| value > 0.0 && value <= MOST;
        DescriptionError::check(what, &above_0, is_above_0, "a number above 0, and at most 10^12")?;
        DescriptionError::check(
            what,
            &[("lanes", f64::from(self.lanes))],
            |lanes| lanes <= MOST_LANES,
            "a number from 1 to 4096",
        )?;
        // Values that contradict another number of the description.
        let refused = |name, value, expected| Err(DescriptionError::value(what, name, value, expected));
        if !self.lanes.is_power_of_two() {
            return refused("lanes", f64::from(self.lanes), "a power of two");
        }
        if !self.lanes_active.is_multiple_of(self.lanes) {
            return refused("lanes-active", f64::from(self.lanes_active), "a multiple of lanes");
        }
        if !self.line_bytes.is_multiple_of(self.sector_bytes) {
            return refused("sector-bytes", self.sector_bytes as f64, "a divisor of line-bytes");
        }
        if self.l1_bytes > self.l2_bytes {
            return refused("l1-bytes", self.l1_bytes as f64, "at most l2-bytes");
        }
        for (name, rate) in [("read", self.read_gb_per_second), ("copy", self.copy_gb_per_second)] {
            if plausible::share(rate / self.peak_gb_per_second).is_err() {
                let name = format!("{name}-gb-per-second");
                return refused(&name, rate, "at most 1.5 times peak-gb-per-second");
            }
        }
        let launch = ("launch-microseconds", self.launch_microseconds);
        let is_time = |value| (0.0..=MOST).contains(&value);
        DescriptionError::check(what, &[launch], is_time, "a number of at least 0, and at most 10^12")
    }
}

/// The largest number of work-items per wavefront.
const MOST_LANES: f64 = 4096.0;
