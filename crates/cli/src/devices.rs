//! `lanefield devices`: the devices that can compute, and whether their results can be called bitwise.

mod listing;
mod report;

use super::files::require_outputs;
use super::output::print;
use crate::prelude::*;
use listing::Listing;

/// List the OpenCL devices, and what each can do.
///
/// The list includes the CPU reference.
///
/// `known` shows known defects or unusual behaviour of a driver, and how Lanefield handles them. LANEFIELD_DRIVERS names a TOML file that replaces
/// this list; `none` empties it.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield devices
  lanefield devices --json
  lanefield devices --report devices.json")]
pub struct Devices {
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Verify each device, and write a report that you can share: it contains no names of people, hosts or folders
    #[arg(long, value_name = "REPORT.json")]
    report: Option<PathBuf>,
}

impl Devices {
    pub fn run(self) -> anyhow::Result<Outcome> {
        if let Some(path) = &self.report {
            require_outputs(&[("--report", path)], &[])?;
        }
        let listing = Listing::new()?;
        if let Some(path) = &self.report {
            print(report::write(path, &listing)?)?;
            return Ok(Outcome::Done);
        }
        show(self.json, Head::of(Kind::Devices), &listing, Listing::to_text)
    }
}
