//! `--trace` and `--stats` of every command: the activity of its devices and the host, as a file for a viewer and as a table of hotspots.
//! `lanefield::backend::timeline` records it.

use std::fs::File;
use std::io::Read as _;

use lanefield::io::atomic::write_atomically;
use lanefield::io::claims;
use lanefield_lab::trace::{Group, Hotspot, Recording, Timeline, chrome_events, hotspots, write_chrome};

use super::files::{refused, require_outputs};
use super::numbers::number;
use super::output::{fitted, print, printed_json, table};
use super::ranks;
use crate::prelude::*;

/// The beginning of a trace. A file that begins otherwise is never replaced, not even with --force: the command may read it, or may have just
/// written it.
const BEGINNING: &[u8] = b"{\"kind\":\"trace\"";

/// Recording of a command.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = super::help::GENERAL)]
pub struct TraceArgs {
    /// Write a Chrome trace for Perfetto (ui.perfetto.dev): kernels, transfers, waits, program builds, memory in use. It is also written when the
    /// command fails, unless an output is refused. It changes no bit of any result
    #[arg(long, value_name = "FILE", global = true)]
    trace: Option<PathBuf>,
    /// Print the hotspots at the end: calls, time and share of each kernel, transfer and wait. With --json, they are printed on standard error
    #[arg(long, global = true)]
    stats: bool,
}

impl TraceArgs {
    /// Runs the command and returns its result, after writing what was recorded, if that was requested.
    pub fn around<T>(self, command: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        if let Some(path) = &self.trace {
            require_trace(path)?;
            require_outputs(&[("--trace", path)], &[])?;
            // A file that appears meanwhile is not replaced, not even with --force.
            claims::claim(path, "--trace", false);
        }
        if !self.stats && self.trace.is_none() {
            return command();
        }
        // The times of all ranks start together.
        ranks::communicator().barrier()?;
        let timeline = Timeline::new(self.trace.is_some());
        ensure!(timeline.install(), "a timeline is being recorded already");
        let outcome = {
            let _span = timeline.span(Group::Host, "command");
            command()
        };
        let recording = timeline.recording();
        let written = self.trace.as_deref().filter(|_| !refused()).map_or(Ok(()), |path| {
            let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
            let command = ["lanefield".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ");
            // If the command failed here, other ranks may be waiting elsewhere.
            let others = if outcome.is_ok() { of_other_ranks(&recording, &command)? } else { Vec::new() };
            match ranks::is_first() {
                true => Ok(write_atomically(path, |out| write_chrome(&recording, &command, &others, out))?),
                false => Ok(()),
            }
        });
        if self.stats {
            let text = hotspot_table(&hotspots(&recording));
            if outcome.is_ok() && !printed_json() { print(text)? } else { say!("{text}") }
        }
        // The command's own error comes first.
        outcome.and_then(|outcome| written.map(|()| outcome))
    }
}

/// The recordings of other ranks, on rank 0.
fn of_other_ranks(recording: &Recording, command: &str) -> anyhow::Result<Vec<Vec<u8>>> {
    let events = if ranks::is_first() { Vec::new() } else { chrome_events(recording, command, ranks::rank())? };
    let gathered = ranks::communicator().gather(&events)?.unwrap_or_default();
    Ok(gathered.into_iter().skip(1).collect())
}

/// Fails if a file that is not a trace would be replaced.
fn require_trace(path: &Path) -> anyhow::Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING.len() as u64).read_to_end(&mut start));
    read.with_context(|| format!("failed to read {}", path.display()))?;
    ensure!(
        start.is_empty() || start == BEGINNING,
        "--trace {} would replace a file that is not a trace: give another name",
        path.display()
    );
    Ok(())
}

fn hotspot_table(rows: &[Hotspot]) -> String {
    let mut lines = table(["", "name", "calls", "total, ms", "average, µs", "%", "GB/s", "GFlop/s"], 2..);
    let giga = |rate: Option<f64>| number(rate.map(|rate| rate / 1e9), 1);
    let mut group = "";
    for row in rows {
        let heading = if row.group == group { "" } else { row.group };
        group = row.group;
        lines.add_row([
            heading.to_owned(),
            row.name.clone(),
            row.calls.to_string(),
            format!("{:.3}", 1e3 * row.total_seconds),
            format!("{:.2}", 1e6 * row.average_seconds),
            format!("{:.1}", 100.0 * row.share_of_group),
            giga(row.bytes_per_second),
            giga(row.flops_per_second),
        ]);
    }
    format!("\n{}", fitted(lines, &["GFlop/s", "average, µs", "GB/s"]))
}
