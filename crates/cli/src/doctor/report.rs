//! The doctor's report as JSON and as text.

use std::fmt::Write as _;

use lanefield_lab::Binding;
use lanefield_lab::ceilings::Share;
use lanefield_lab::doctor::{DeviceFacts, Finding, Observation};
use serde::Serialize;

use crate::output::facts;

#[derive(Serialize)]
pub struct Report {
    /// The device. For a timeline, only its name is known.
    pub machine: DeviceFacts,
    pub kernels: Vec<Examined>,
}

/// One kernel, or one described run.
#[derive(Serialize)]
pub struct Examined {
    pub subject: String,
    pub kernel_seconds: f64,
    pub bytes_per_second: f64,
    /// The bandwidth divided by the copy bandwidth; null if the data stay in a cache.
    pub share_of_copy: Option<f64>,
    pub in_cache: bool,
    pub estimated_seconds: Option<f64>,
    pub binds: Binding,
    /// The findings, with the largest gain first.
    pub findings: Vec<Finding>,
    pub observation: Observation,
}

impl Examined {
    pub fn new(observation: Observation, share: Share, findings: Vec<Finding>) -> Self {
        let seconds = observation.kernel_seconds();
        let rate = observation.bytes as f64 / seconds;
        Self {
            subject: observation.subject.clone(),
            kernel_seconds: seconds,
            bytes_per_second: rate,
            share_of_copy: share.of_ceiling().filter(|share| share.is_finite()),
            in_cache: share == Share::InCache,
            estimated_seconds: observation.estimated,
            binds: observation.binding(share == Share::InCache),
            findings,
            observation,
        }
    }
}

pub fn text(report: &Report) -> String {
    let device = &report.machine;
    let mut known = vec![("device", device.name.clone())];
    // For a timeline alone, nothing was measured on the device.
    if !device.copy_bandwidth.is_nan() {
        let stands_for = if device.stands_for_gpu { ": judged as a GPU, whatever the time here" } else { "" };
        let units = format!("{} work-items, {} compute units{stands_for}", device.wavefront, device.units);
        known.push(("wavefront", units));
        known.push(("copy bandwidth", format!("{:.1} GB/s", device.copy_bandwidth / 1e9)));
        known.push(("empty kernel", format!("{:.1} µs", 1e6 * device.launch)));
    }
    let kernels = report.kernels.iter().map(examined);
    std::iter::once(facts(known)).chain(kernels).collect::<Vec<_>>().join("\n\n")
}

fn examined(kernel: &Examined) -> String {
    let mut text = kernel.subject.clone();
    if kernel.observation.passes.is_empty() {
        let timeline = &kernel.observation.timeline;
        let launches = timeline.launches;
        let _ = write!(
            text,
            "\n  {:.1} ms, {launches} launches, {:.1} ms in kernels",
            1e3 * timeline.wall,
            1e3 * timeline.kernels
        );
    } else {
        let share = kernel.share_of_copy.map(|share| format!(", {:.0}% of copy", 100.0 * share));
        let share = share.unwrap_or_else(|| if kernel.in_cache { ", in cache" } else { "" }.to_owned());
        let rate = kernel.bytes_per_second / 1e9;
        let _ = write!(text, "\n  {:.1} µs, {rate:.1} GB/s{share}", 1e6 * kernel.kernel_seconds);
    }
    if let Some(estimated) = kernel.estimated_seconds {
        let _ = write!(text, "; by the estimate {:.1} µs", 1e6 * estimated);
    }
    for pass in &kernel.observation.passes {
        let mut what = format!("{} work-items in groups of {}", pass.work_items, pass.group);
        if let Some(registers) = pass.code.registers {
            let _ = write!(what, ", {registers} registers");
        }
        let _ = write!(text, "\n  {}: {what}, {:.1} µs", pass.kernel, 1e6 * pass.seconds.median);
    }
    let _ = write!(text, "\n  binds: {} ({})", kernel.binds.limit, kernel.binds.because);
    if kernel.findings.is_empty() {
        text += "\n  no finding";
    }
    for (number, finding) in kernel.findings.iter().enumerate() {
        let _ = write!(text, "\n{}", entry(number + 1, finding));
    }
    text
}

fn entry(number: usize, finding: &Finding) -> String {
    let of = if finding.kernel.is_empty() { String::new() } else { format!(" [{}]", finding.kernel) };
    let mut text = format!("  {number}. {}{of}\n     would gain {}", finding.title, percent(finding.gain));
    if let Some(confirmed) = finding.confirmed_gain {
        let _ = write!(text, "; gained {} when it was made", percent(confirmed));
    }
    if let Some(reason) = &finding.unconfirmed {
        let _ = write!(text, "; not confirmed: {reason}");
    }
    for evidence in &finding.evidence {
        let _ = write!(text, "\n     · {evidence}");
    }
    let _ = write!(text, "\n     → {}", finding.change);
    text
}

fn percent(share: f64) -> String {
    format!("{:.0}% of the time", 100.0 * share)
}
