//! `lanefield devices`: the devices that can compute, and whether their results can be called bitwise.

mod listing;
mod report;

use super::files::require_outputs;
use super::output::print;
use crate::prelude::*;
use listing::Listing;

/// List the OpenCL devices, and what each can do.
///
/// The CPU reference is one of them.
///
/// `known` is what is known of a driver that does something wrong or unusual, and what is done about it. LANEFIELD_DRIVERS names a TOML file in place of
/// these facts, or none.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield devices
  lanefield devices --json
  lanefield devices --report devices.json")]
pub struct Devices {
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Verify each device, and write all that is known of it to a file that others may read: it holds no names of people, hosts or folders
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
