//! What a verification found.

use crate::maps::ComparedMap;
use lanefield::backend::opencl::DeviceInfo;
use lanefield::verify::{RowVerdict, UnitError, VerifyReport};
use lanefield_ports::compare::grouped;
use serde::Serialize;

/// Cases that could not be run are named, so many at most.
const MOST_ERRORS: usize = 10;

/// All that is known at the end.
#[derive(Serialize)]
pub struct Verdict<'a> {
    /// "same bits" ("so far", of a run that a signal ended), "DIFFERENT", "FAILED" where cases could not be run, or "nothing compared".
    pub verdict: &'static str,
    /// Whether the results may be called bitwise: same bits, and the device's arithmetic passed its probe.
    pub bitwise: bool,
    /// The device under test; none where the CPU reference is.
    #[serde(skip)]
    pub device: Option<&'a DeviceInfo>,
    /// Why no device was tested, where one would have been.
    pub no_opencl: Option<String>,
    /// Where the device's arithmetic does not follow IEEE 754.
    pub probe: Option<String>,
    pub host: String,
    pub components: u64,
    pub comparisons: u64,
    pub seconds: f64,
    /// The command that repeats the first case that failed.
    pub repeat: Option<String>,
    pub report: &'a VerifyReport,
    /// Maps, in a program that has some.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub maps: &'a [ComparedMap],
}

impl Verdict<'_> {
    /// What follows the table: what differs, what was compared with what, and the verdict.
    pub fn text(&self) -> String {
        let mut lines = vec![String::new()];
        for row in &self.report.rows {
            if let Some(failure) = &row.failure {
                let (precision, mismatch) = (row.precision, &failure.mismatch);
                let links = row.reconstruct.map_or_else(String::new, |reals| format!(" reconstruct {reals}"));
                lines.push(format!("{} {precision}{links}: {mismatch}\n    {}", row.kernel, failure.description));
            }
        }
        lines.extend(self.maps.iter().map(ComparedMap::line));
        let unsupported = self.report.rows.iter().filter(|row| row.verdict == RowVerdict::NotSupported);
        let unsupported: Vec<&str> = unsupported.filter_map(|row| row.lacks.as_deref()).collect();
        for lacks in unsupported.chunk_by(|a, b| a == b) {
            lines.push(format!("not supported, in {} rows: {}", lacks.len(), lacks[0]));
        }
        for UnitError { error, .. } in self.report.errors.iter().take(MOST_ERRORS) {
            lines.push(format!("could not be run: {error}"));
        }
        if let Some(more) = self.report.errors.len().checked_sub(MOST_ERRORS + 1) {
            lines.push(format!("could not be run: {} more", more + 1));
        }
        if let Some(command) = &self.repeat {
            lines.push(format!("to repeat the first of these: {command}\n"));
        }

        match self.device {
            Some(device) => {
                lines.push(format!("device    {}", device.name));
                lines.push(format!("platform  {}, {}", device.platform_name, device.platform_version));
                lines.push(format!("driver    {}", device.driver_version));
                lines.push(format!("against   {}", self.host));
            }
            None => lines.push(format!("tested    {}\nagainst   the {}", self.report.tested, self.report.reference)),
        }
        lines.push(format!("seed      {}", self.report.seed));
        if let (Some(device), None) = (self.device, &self.probe) {
            let precisions = if device.fp64 { "" } else { " in f32" };
            let verdict = match self.verdict {
                _ if self.bitwise => ": its results may be called bitwise",
                "DIFFERENT" => ", but kernels give other bits",
                _ => "",
            };
            lines.push(format!("probe     the device's arithmetic{precisions} follows IEEE 754{verdict}"));
        }
        if let Some(reason) = &self.no_opencl {
            lines.push(format!("\nNo OpenCL device was tested: {reason}."));
            let against = self.report.reference;
            lines.push(format!("Instead, the CPU reference was compared with the {against}."));
        }
        if self.verdict == "nothing compared" && self.device.is_none() {
            lines.push("\nNone of these kernels has plain loops: name them, #[lane_kernel(twin = …)], or verify on an OpenCL device.".into());
        }
        let (components, comparisons) = (grouped(self.components), grouped(self.comparisons));
        let verdict = self.verdict;
        lines.push(format!(
            "\n{verdict}: {components} real components in {comparisons} comparisons, {:.1} s",
            self.seconds
        ));
        if let Some(reason) = &self.probe {
            lines.push(format!("Results of this device cannot be called bitwise, whatever the table says: {reason}."));
        }
        lines.join("\n")
    }
}
