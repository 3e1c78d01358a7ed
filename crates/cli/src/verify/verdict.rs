//! The result of a verification.

use crate::maps::ComparedMap;
use lanefield::backend::opencl::DeviceInfo;
use lanefield::verify::{RowVerdict, UnitError, VerifyReport};
use lanefield_ports::compare::grouped;
use serde::Serialize;

/// The most cases that are named if they could not be run.
const MOST_ERRORS: usize = 10;

/// The state at the end.
#[derive(Serialize)]
pub struct Verdict<'a> {
    /// "same bits" ("so far" if a signal ended the run), "DIFFERENT", "FAILED" if cases could not be run, or "nothing compared".
    pub verdict: &'static str,
    /// Whether results may be called bitwise: the bits are the same, and the device passed its probe.
    pub bitwise: bool,
    /// The device under test; none if the CPU reference is tested.
    #[serde(skip)]
    pub device: Option<&'a DeviceInfo>,
    /// Why no device was tested, although one was to be tested.
    pub no_opencl: Option<String>,
    /// How the device's arithmetic deviates from IEEE 754.
    pub probe: Option<String>,
    pub host: String,
    pub components: u64,
    pub comparisons: u64,
    pub seconds: f64,
    /// The command that repeats the first case that failed.
    pub repeat: Option<String>,
    pub report: &'a VerifyReport,
    /// Maps, if the program has some.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub maps: &'a [ComparedMap],
}

impl Verdict<'_> {
    /// The text after the table: what differs, what was compared with what, and the verdict.
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
            lines.push("\nNone of these kernels has a reference implementation (#[lane_kernel(twin = …)]): verify them on an OpenCL device.".into());
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
