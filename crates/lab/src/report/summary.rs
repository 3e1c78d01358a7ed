//! The top of a report: the machine, its ceilings, the verdicts, the kernels that are nearest to and farthest from their ceiling, and the findings
//! of the doctor.

use serde::Serialize;

use super::document::Document;
use super::physics;
use super::section::Section;
use super::words::{Quantity, device, fields, list, number, text};
use crate::Kind;

/// Number of kernels that are named at either end.
const KERNELS: usize = 3;
const FINDINGS: usize = 3;

#[derive(Serialize, Debug, Default)]
pub(super) struct Summary {
    machine: Vec<(String, String)>,
    ceilings: Vec<(String, String)>,
    verdicts: Vec<Line>,
    /// What was found of physics.
    results: Vec<Line>,
    /// By share of the ceiling, the greatest first.
    best: Vec<Line>,
    worst: Vec<Line>,
    findings: Vec<Line>,
}

#[derive(Serialize, Debug)]
struct Line {
    /// `good`, `bad`, or empty.
    class: &'static str,
    mark: String,
    text: String,
    part: String,
}

/// The summary of all documents; `sections` are the sections of the page.
pub(super) fn summary(documents: &[Document], sections: &[Section]) -> Summary {
    let part = |document: &Document| {
        let own = |section: &&Section| section.kind == Some(document.kind) && section.file == document.name;
        sections.iter().find(own).map(|section| section.id.clone()).unwrap_or_default()
    };
    let mut summary = Summary { machine: machine(documents), ceilings: ceilings(documents), ..Summary::default() };
    for document in documents {
        let line = |(right, text): (bool, String)| Line {
            class: if right { "good" } else { "bad" },
            mark: if right { "✓" } else { "✗" }.to_owned(),
            text,
            part: part(document),
        };
        summary.verdicts.extend(verdict(document).map(line));
        summary.results.extend(physics::results(document).into_iter().map(|text| Line {
            class: "",
            mark: document.kind.title().to_lowercase(),
            text,
            part: part(document),
        }));
    }
    let (mut kernels, mut in_cache): (Vec<(f64, Line)>, usize) = (Vec::new(), 0);
    for document in documents.iter().filter(|document| document.kind == Kind::Bench) {
        for row in list(&document.value["rows"]) {
            in_cache += usize::from(row["in_cache"] == true);
            let Some(share) = row["share_of_ceiling"].as_f64().filter(|share| share.is_finite()) else { continue };
            let ceiling = text(row, "ceiling");
            let mark = format!("{:.0}% of {ceiling}", 100.0 * share);
            let text = format!("{}, {}", text(row, "kernel"), fields(row));
            kernels.push((share, Line { class: "", mark, text, part: part(document) }));
        }
    }
    kernels.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    // If there are few kernels, none is listed at both ends.
    let worst = kernels.split_off(kernels.len().div_ceil(2).max(kernels.len().saturating_sub(KERNELS)));
    summary.worst = worst.into_iter().rev().map(|(_, line)| line).collect();
    summary.best = kernels.into_iter().take(KERNELS).map(|(_, line)| line).collect();
    if in_cache > 0 {
        let rows = if in_cache == 1 { "1 row has".to_owned() } else { format!("{in_cache} rows have") };
        let text = format!("{rows} no share of it: their fields stay in a cache");
        summary.best.push(Line { class: "", mark: String::new(), text, part: String::new() });
    }
    summary.findings = findings(documents, part);
    summary
}

fn each_once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

fn machine(documents: &[Document]) -> Vec<(String, String)> {
    let all = |of: fn(&Document) -> Option<String>| each_once(documents.iter().filter_map(of));
    let devices = all(|document| device(&document.value));
    let builds = all(|document| {
        let build = &document.value["lanefield"];
        let commit: String = build["commit"].as_str()?.chars().take(12).collect();
        Some(format!("{}, commit {commit}", build["version"].as_str()?))
    });
    let dates = all(|document| document.value["date"].as_str().map(str::to_owned));
    let named =
        |name: &str, values: Vec<String>| values.into_iter().map(|value| (name.to_owned(), value)).collect::<Vec<_>>();
    [named("device", devices), named("lanefield", builds), named("measured", dates)].concat()
}

/// The ceilings of each device: from `peak`, otherwise those that `bench` measured together with the kernels.
fn ceilings(documents: &[Document]) -> Vec<(String, String)> {
    const KEYS: [(&str, &str, Quantity); 7] = [
        ("copy", "copy_bytes_per_second", Quantity::Bandwidth),
        ("read", "read_bytes_per_second", Quantity::Bandwidth),
        ("L2", "l2_bytes_per_second", Quantity::Bandwidth),
        ("L1", "l1_bytes_per_second", Quantity::Bandwidth),
        ("f32", "f32_flops_per_second", Quantity::Flops),
        ("f64", "f64_flops_per_second", Quantity::Flops),
        ("launch", "launch_seconds", Quantity::Time),
    ];
    let names =
        each_once(documents.iter().filter_map(|document| document.value["device"]["name"].as_str().map(str::to_owned)));
    let of_device = |name: &String| {
        let here = |document: &&Document| document.value["device"]["name"].as_str() == Some(name);
        let of_kind = |kind: Kind| documents.iter().filter(here).filter(move |document| document.kind == kind);
        let known: Vec<String> = KEYS
            .iter()
            .filter_map(|(word, key, quantity)| {
                let value = of_kind(Kind::Peak).chain(of_kind(Kind::Bench)).find_map(|of| of.value[key].as_f64())?;
                Some(format!("{word} {}", quantity.say(value)))
            })
            .collect();
        (!known.is_empty()).then(|| (name.clone(), known.join(", ")))
    };
    names.iter().filter_map(of_device).collect()
}

/// Whether the result of a document was correct, in a sentence; `None` for documents that only measure.
fn verdict(document: &Document) -> Option<(bool, String)> {
    let value = &document.value;
    let on = value["device"]["name"].as_str().map_or(String::new(), |name| format!(" on {name}"));
    let same_bits = value["same_bits"].as_bool();
    let bits =
        |what: &str, same: bool| (same, format!("{what}: {}{on}", if same { "same bits" } else { "DIFFERENT bits" }));
    match document.kind {
        Kind::Verify => {
            let (verdict, components) = (text(value, "verdict"), number(value["components"].as_f64()?));
            Some((value["bitwise"] == true, format!("verify: {verdict}, {components} real components compared{on}")))
        }
        Kind::Demo => Some(bits("demo", same_bits?)),
        Kind::BenchReduce => Some(bits("sums of large objects", same_bits?)),
        Kind::Tune => Some(bits("tuning", same_bits?)),
        Kind::Solve | Kind::Propagator => {
            let converged = value["converged"].as_bool()?;
            let checked = value["unchecked"].is_null();
            let what = format!("{} of {}", document.kind.name(), text(value, "operator"));
            let residual =
                value["solution_residual"].as_f64().map_or(String::new(), |r| format!(", |η − Mψ| / |η| = {r:.1e}"));
            let how = match (converged, checked) {
                (true, true) => "converged",
                (true, false) => "converged, not checked",
                _ => "did not converge",
            };
            Some((converged && checked, format!("{what}: {how}{residual}{on}")))
        }
        Kind::SolveDifference => Some((false, format!("solve: differs from its record{on}"))),
        Kind::EstimateTraversal | Kind::EstimateWorkload => {
            let go = value["go"].as_bool()?;
            Some((go, format!("{}: {}", document.kind.name(), if go { "GO" } else { "NO-GO" })))
        }
        _ => None,
    }
}

fn findings(documents: &[Document], part: impl Fn(&Document) -> String) -> Vec<Line> {
    let mut found: Vec<(f64, Line)> = Vec::new();
    for document in documents.iter().filter(|document| document.kind == Kind::Doctor) {
        for kernel in list(&document.value["kernels"]) {
            let findings = list(&kernel["findings"]);
            for finding in findings {
                let gain = finding["gain"].as_f64().unwrap_or(0.0);
                let text = format!("{}: {}", text(kernel, "subject"), text(finding, "title"));
                let mark = format!("{:.0}% of the time", 100.0 * gain);
                found.push((gain, Line { class: "", mark, text, part: part(document) }));
            }
            if findings.is_empty() {
                let mark = format!("binds: {}", text(&kernel["binds"], "limit"));
                let text = format!("{}: no finding; {}", text(kernel, "subject"), text(&kernel["binds"], "because"));
                found.push((0.0, Line { class: "", mark, text, part: part(document) }));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.into_iter().take(FINDINGS).map(|(_, line)| line).collect()
}
