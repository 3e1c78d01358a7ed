//! `lanefield devices --report`: a report about devices, to be sent to the developers.

use std::io::{Read as _, Seek as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lanefield::backend::opencl::ProbeCheck;
use lanefield::io::atomic::write_atomically;

use super::listing::Listing;
use crate::files::failed_to_write;
use crate::interrupt::interrupted;
use crate::output::document;
use crate::prelude::*;

/// The longest time to verify a device.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Lines of its errors that are kept.
const MOST_LINES: usize = 20;

/// The list of devices with the findings about each. As JSON, these fields.
#[derive(Serialize)]
struct Report<'l> {
    /// The operating system and the processor, as Rust names them: `linux`, `x86_64`.
    system: [&'static str; 2],
    #[serde(flatten)]
    listing: &'l Listing,
    /// The findings for each device, in the order of `opencl`.
    found: Vec<Found>,
}

#[derive(Serialize)]
struct Found {
    /// The operations that the probe tested; empty if it could not run.
    checks: Vec<ProbeCheck>,
    /// How the verification ended; null if it did not start.
    ended: Option<String>,
    /// The JSON that it printed; null if it did not get so far.
    verify: Option<serde_json::Value>,
    /// Its last errors.
    errors: Vec<String>,
}

/// Verifies each device in a process of its own, since it may crash, and writes all findings.
pub fn write(path: &Path, listing: &Listing) -> anyhow::Result<String> {
    let mut found = Vec::new();
    for device in &listing.opencl {
        let mut of_device = Found { checks: device.checks.clone(), ended: None, verify: None, errors: Vec::new() };
        if device.bitwise.is_some() && !interrupted() {
            say!("verifying {}", device.info);
            of_device.verify(device.info.index)?;
        }
        found.push(of_device);
    }
    let report = Report { system: [std::env::consts::OS, std::env::consts::ARCH], listing, found };
    let text = without_paths(&document(Head::of(Kind::Devices), &report)?);
    write_atomically(path, |out| out.write_all(text.as_bytes())).with_context(|| failed_to_write(path))?;
    let ended: Vec<String> = listing
        .opencl
        .iter()
        .zip(&report.found)
        .map(|(device, found)| format!("{}: {}", device.info, found.ended.as_deref().unwrap_or(&device.verdict)))
        .collect();
    Ok(format!(
        "{}\n\nwritten to {}: it contains no names of people, hosts or folders; docs/devices.md says where to send it",
        ended.join("\n"),
        path.display()
    ))
}

impl Found {
    fn verify(&mut self, index: usize) -> anyhow::Result<()> {
        let (mut output, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut child = Command::new(std::env::current_exe()?)
            .args(["verify", "--smoke", "--json", "--device", &index.to_string()])
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(errors.try_clone()?)
            .spawn()
            .context("failed to start a process that verifies")?;
        let start = Instant::now();
        let ended = loop {
            match child.try_wait()? {
                Some(status) => break status.to_string(),
                None if start.elapsed() > PATIENCE || interrupted() => {
                    child.kill()?;
                    child.wait()?;
                    break format!("stopped after {} s", start.elapsed().as_secs());
                }
                None => std::thread::sleep(Duration::from_millis(100)),
            }
        };
        let read = |file: &mut std::fs::File| -> std::io::Result<String> {
            file.rewind()?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        self.verify = serde_json::from_str(&read(&mut output)?).ok();
        let said = read(&mut errors)?;
        let lines: Vec<&str> =
            said.lines().filter(|line| line.starts_with("error") || line.starts_with("it crashed")).collect();
        self.errors = lines.iter().rev().take(MOST_LINES).rev().map(|line| (*line).to_owned()).collect();
        let verdict = self.verify.as_ref().and_then(|found| found["verdict"].as_str());
        self.ended = Some(verdict.map_or(ended, str::to_owned));
        Ok(())
    }
}

/// The text with paths reduced to file names, because folders contain names of people.
fn without_paths(text: &str) -> String {
    let is_of_path = |c: char| c.is_alphanumeric() || "/._-+~".contains(c);
    let short = |word: &str| match word.rsplit_once('/') {
        Some((folders, file)) if folders.is_empty() || folders.starts_with(['/', '~']) => format!("…/{file}"),
        _ => word.to_owned(),
    };
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if is_of_path(c) {
            word.push(c);
            continue;
        }
        out += &short(&word);
        word.clear();
        out.push(c);
    }
    out.pop();
    out
}

#[cfg(test)]
mod tests {
    use super::without_paths;

    #[test]
    fn paths_lose_their_folders_and_units_do_not() {
        let text = "names '/home/ada/drivers/libcl.so', 3 GB/s of f32/f64: ~/x/y.icd, a/b; /tmp";
        assert_eq!(without_paths(text), "names '…/libcl.so', 3 GB/s of f32/f64: …/y.icd, a/b; …/tmp");
    }
}
