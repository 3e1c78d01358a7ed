//! `lanefield report`: one HTML file of what other commands gave as JSON. What it shows: `lanefield_lab::report`.

use lanefield::io::atomic::write_atomically;
use lanefield_lab::report::{Document, render};

use super::files::require_outputs;
use super::output::{facts, print};
use crate::prelude::*;

/// Create an HTML report from JSON results and traces.
///
/// It reads what any command prints with --json, and files of --trace, in any order and number.
///
/// The report opens with a summary: machine, ceilings, verdicts, the kernels nearest to their ceiling and farthest from it, and findings. Then come
/// the roofline, shares of bandwidth by kernel and variant, successive optimisations, occupancy, hotspots, a timeline, solves and the bits.
///
/// Masses, potentials, flows and histories of observables are drawn with their fits.
///
/// With --baseline, it shows what changed: documents are compared with those of the same kind, row by row. The file loads nothing from the network,
/// works on a phone, in dark mode and on paper, and its tables can be sorted.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield peak --quick --bytes 1MiB --trace trace.json --json > peak.json
  lanefield bench --kernel hop --lattice 4.4.4.4 --json > before.json
  lanefield report peak.json before.json trace.json --output report.html
  lanefield bench --kernel hop --lattice 4.4.4.4 --json > after.json
  lanefield report --baseline before.json after.json --output change.html
  lanefield counters --bytes 77.9MB --time 0.27ms --json > counters.json
  lanefield report counters.json --title \"A port beside ours\" \\
    --output port.html")]
pub struct Report {
    /// JSON files of commands, and traces
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// JSON of the same commands to compare with: from another time or device; can be repeated
    #[arg(long, value_name = "BEFORE.json")]
    baseline: Vec<PathBuf>,
    /// HTML file to write
    #[arg(long, help_heading = "Output", value_name = "REPORT.html")]
    output: PathBuf,
    /// Title of the page
    #[arg(long, value_name = "TEXT", default_value = "Lanefield: performance report")]
    title: String,
}

impl Report {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let inputs: Vec<_> = self.files.iter().chain(&self.baseline).map(|file| ("an input", file.as_path())).collect();
        require_outputs(&[("--output", &self.output)], &inputs)?;
        let read = |files: &[PathBuf]| files.iter().map(|file| Document::read(file)).collect::<Result<Vec<_>, _>>();
        let (documents, baseline) = (read(&self.files)?, read(&self.baseline)?);
        let page = render(&self.title, &documents, &baseline)?;
        write_atomically(&self.output, |out| out.write_all(page.as_bytes()))
            .with_context(|| format!("failed to write {}", self.output.display()))?;
        let kinds: Vec<&str> = documents.iter().map(|document| document.kind.name()).collect();
        print(facts([
            ("report", self.output.display().to_string()),
            ("documents", kinds.join(", ")),
            ("size", format!("{} KiB", page.len().div_ceil(1024))),
        ]))?;
        Ok(Outcome::Done)
    }
}
