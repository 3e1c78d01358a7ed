//! What is shown of each kind of document: facts, charts, tables. What is not known is shown as facts and tables of whatever is there.

use serde::Serialize;
use serde_json::{Value, json};

use super::Document;
use super::bars::{self, Bars};
use super::curves::{Curves, curves};
use super::roofline::{Roofline, roofline};
use super::table::Table;
use super::timeline::{Timeline, timelines};
use super::words::{heading, list, number, plain, seconds, text};

/// A part of the page.
#[derive(Serialize, Debug, Default)]
pub(super) struct Section {
    pub id: String,
    pub title: String,
    /// The file that it is of.
    pub file: String,
    /// A sentence on what one sees.
    pub lead: String,
    pub facts: Vec<(String, String)>,
    pub roofline: Option<Roofline>,
    pub bars: Vec<Bars>,
    pub curves: Vec<Curves>,
    pub timelines: Vec<Timeline>,
    /// Findings of `doctor`.
    pub findings: Vec<Value>,
    pub tables: Vec<Table>,
}

/// Kinds in the order of the page, with titles. Others follow.
pub(super) const ORDER: [(&str, &str); 15] = [
    ("peak", "What the machine can do"),
    ("doctor", "Findings"),
    ("bench", "Kernels"),
    ("bench sprint", "Optimisations, one after the other"),
    ("bench threads", "Sizes of work-groups"),
    ("bench orders", "Orders of the legs"),
    ("bench reduce", "Sums of large objects"),
    ("tune", "Tuning"),
    ("guidelines", "Guidelines"),
    ("occupancy", "Occupancy"),
    ("access", "Accesses"),
    ("estimate", "Estimates"),
    ("counters", "Counters"),
    ("trace", "Trace"),
    ("verify", "The bits"),
];

/// Columns of rows of `bench`.
const BENCH_COLUMNS: [&str; 13] = [
    "kernel",
    "precision",
    "lattice",
    "link_reals",
    "spinors",
    "lane_bytes",
    "variant",
    "seconds.median",
    "back_to_back_seconds",
    "gflop_per_second",
    "gb_per_second",
    "share_of_ceiling",
    "failure",
];

/// All sections, with the roofline before them.
pub(super) fn all(documents: &[Document]) -> Vec<Section> {
    let place = |document: &&Document| ORDER.iter().position(|(kind, _)| *kind == document.kind).unwrap_or(ORDER.len());
    let mut ordered: Vec<&Document> = documents.iter().collect();
    ordered.sort_by_key(place);
    let mut sections: Vec<Section> = ordered.into_iter().map(of).collect();
    if let Some(roofline) = roofline(documents) {
        let at = sections.iter().take_while(|section| section.title == ORDER[0].1).count();
        let lead = "Each point is a kernel: its operations for each byte that it has to move at least, and its operations a second. Below a slope \
                    memory bounds it, below a level arithmetic does; above a slope its fields stay in a cache.";
        let roofline = Section {
            title: "Roofline".to_owned(),
            lead: lead.to_owned(),
            roofline: Some(roofline),
            ..Section::default()
        };
        sections.insert(at, roofline);
    }
    for (number, section) in sections.iter_mut().enumerate() {
        section.id = format!("part-{}", number + 1);
    }
    sections
}

fn of(document: &Document) -> Section {
    let Document { name, kind, value } = document;
    let title = ORDER.iter().find(|(known, _)| known == kind).map_or(kind.as_str(), |(_, title)| title);
    let mut section =
        Section { title: title.to_owned(), file: name.clone(), facts: facts(value), ..Section::default() };
    let rows = list(&value["rows"]);
    match kind.as_str() {
        "bench" | "bench threads" | "bench orders" => {
            section.bars.extend(bars::shares(rows));
            section.tables.extend(Table::of_columns("All rows", rows, &BENCH_COLUMNS));
            section.tables.extend(rows_of(value, "fastest"));
        }
        "bench sprint" => {
            section.lead =
                "Each stage adds one change to those before it; stages that begin with “with” stand for themselves."
                    .to_owned();
            section.bars = bars::stages(rows);
            section.tables.extend(rows_of(value, "fastest"));
            section.tables.extend(Table::of_columns("All rows", rows, &BENCH_COLUMNS));
        }
        "tune" => {
            let kernels = list(&value["kernels"]);
            section.bars.extend(bars::tuned(kernels));
            let columns = ["kernel", "lattice", "access", "site_order", "default_us", "tuned_us", "gain"];
            section.tables.extend(Table::of_columns("Kernels", kernels, &columns));
        }
        "doctor" => doctor(&mut section, value),
        "guidelines" => {
            section.lead = "Each guideline, with it and without it: above 1 it pays.".to_owned();
            let rows = value["guidelines"].as_array().map_or(rows, Vec::as_slice);
            let factor = |row: &Value| row["factor"].as_f64().or_else(|| row["factor"]["median"].as_f64());
            section.bars.extend(bars::by_number("What each guideline gives: times faster", rows, factor, false));
            section.tables.extend(Table::of("Guidelines", rows));
        }
        "occupancy" => occupancy(&mut section, value, rows),
        "counters" => counters(&mut section, value, rows),
        "trace" => trace(&mut section, value),
        "verify" => {
            section.facts.extend(facts(&value["device"]));
            let rows = list(&value["report"]["rows"]);
            let columns = ["kernel", "precision", "comparisons", "different", "components", "iterations", "seconds"];
            section.tables.extend(Table::of_columns("Kernels", rows, &columns));
        }
        "peak" => {
            let (sizes, chases) = (list(&value["working_sets"]), list(&value["chases"]));
            section.curves.extend(curves("Bandwidth by working set", sizes, "gb_per_second", "place", "GB/s"));
            section.curves.extend(curves("Latency by working set", chases, "nanoseconds", "place", "ns"));
            generic(&mut section, value);
            // The curves show them.
            section.tables.iter_mut().for_each(|table| table.open = false);
        }
        _ => generic(&mut section, value),
    }
    section
}

/// The plain fields of an object.
fn facts(value: &Value) -> Vec<(String, String)> {
    let Some(fields) = value.as_object() else { return Vec::new() };
    let shown = fields.iter().filter(|(name, _)| *name != "kind" && *name != "displayTimeUnit");
    let mut facts: Vec<(String, String)> = shown.filter_map(|(name, value)| fact(name, value)).collect();
    // What it is about comes first.
    facts.sort_by_key(|(name, _)| !matches!(name.as_str(), "device" | "devices" | "subject" | "command"));
    facts
}

fn fact(name: &str, value: &Value) -> Option<(String, String)> {
    if name == "seconds"
        && let Some(value) = value.as_f64()
    {
        return Some(("time".to_owned(), seconds(value)));
    }
    let (heading, factor) = heading(name);
    let text = match value.as_f64() {
        Some(value) => number(value * factor),
        None => plain(value).filter(|text| !text.is_empty())?,
    };
    Some((heading, text))
}

/// A table of the field `name`.
fn rows_of(value: &Value, name: &str) -> Option<Table> {
    Table::of(&heading(name).0, value[name].as_array()?)
}

fn doctor(section: &mut Section, value: &Value) {
    // One that was examined alone may stand for itself.
    let kernels = value["kernels"].as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    for one in kernels {
        let subject = text(one, "subject");
        let findings = one["findings"].as_array().into_iter().flatten();
        section.findings.extend(findings.map(|finding| finding_of(finding, &subject)));
    }
    section.lead = match section.findings.len() {
        0 => "Nothing was found.".to_owned(),
        _ => "What was found, and the share of the time that its change would save.".to_owned(),
    };
    let micros = |value: &Value| value.as_f64().map(|seconds| 1e6 * seconds);
    let examined: Vec<Value> = kernels
        .iter()
        .filter(|one| one["kernel_seconds"].is_f64())
        .map(|one| {
            json!({
                "subject": one["subject"],
                "time, µs": micros(&one["kernel_seconds"]),
                "by the estimate, µs": micros(&one["estimated_seconds"]),
                "GB/s": one["gb_per_second"],
                "of copy, %": one["share_of_copy"].as_f64().map(|share| 100.0 * share),
                "findings": one["findings"].as_array().map_or(0, Vec::len),
            })
        })
        .collect();
    section.tables.extend(Table::of("Examined", &examined));
    let device = &value["device"];
    let machine = json!({
        "device": device["name"].as_str().or(device.as_str()),
        "wavefront": device["wavefront"],
        "compute units": device["units"],
        "copy_gb_per_second": device["copy_bandwidth"].as_f64().map(|rate| rate / 1e9),
        "empty kernel, µs": micros(&device["launch"]),
    });
    section.facts.extend(facts(&machine));
}

/// A finding with its gains in percent. `subject`: the kernel, or the run.
fn finding_of(finding: &Value, subject: &str) -> Value {
    let percent = |value: &Value| value.as_f64().map(|gain| format!("{:+.1} %", 100.0 * gain));
    let lines = finding["evidence"].as_array().map_or(std::slice::from_ref(&finding["evidence"]), Vec::as_slice);
    json!({
        "title": text(finding, "title"),
        "subject": subject,
        "gain": percent(&finding["gain"]),
        "confirmed": percent(&finding["confirmed_gain"]),
        "change": text(finding, "change"),
        "evidence": lines.iter().filter_map(evidence).collect::<Vec<_>>(),
    })
}

/// A line of evidence: text, or an object whose fields are listed.
fn evidence(value: &Value) -> Option<String> {
    let fields =
        || facts(value).into_iter().map(|(name, text)| format!("{name} {text}")).collect::<Vec<_>>().join(", ");
    plain(value).or_else(|| Some(fields()).filter(|text| !text.is_empty()))
}

fn occupancy(section: &mut Section, value: &Value, rows: &[Value]) {
    // Names differ; what is a share of one is drawn as such.
    let of = |row: &Value| -> Option<f64> {
        ["occupancy", "theoretical_occupancy", "occupancy_percent"].iter().find_map(|name| {
            let value = &row[*name];
            let number = value.as_f64().or_else(|| value["share"].as_f64())?;
            Some(if name.ends_with("percent") { number / 100.0 } else { number })
        })
    };
    let entries: Vec<Value> = value["entries"].as_array().into_iter().flatten().map(occupancy_row).collect();
    section.bars.extend(bars::by_number("Occupancy", if entries.is_empty() { rows } else { &entries }, of, true));
    if entries.is_empty() {
        return generic(section, value);
    }
    section.tables.extend(Table::of("Kernels and numbers", &entries));
    for sweep in value["sweeps"].as_array().into_iter().flatten() {
        generic(section, sweep);
    }
}

fn counters(section: &mut Section, value: &Value, rows: &[Value]) {
    section.lead = "Bytes read and written, averaged over the calls of a kernel, over its average time.".to_owned();
    let share = |row: &Value| row["share_of_ceiling"].as_f64();
    let rate = |row: &Value| row["gb_per_second"].as_f64();
    section.bars.extend(match rows.iter().any(|row| share(row).is_some()) {
        true => bars::by_number("Share of the ceiling", rows, share, true),
        false => bars::by_number("Bandwidth, GB/s", rows, rate, false),
    });
    let columns = [
        "kernel",
        "work_items",
        "calls",
        "seconds",
        "total_rw_bytes",
        "gb_per_second",
        "share_of_ceiling",
        "l2_hit_percent",
        "registers",
        "scalar_registers",
        "local_bytes",
        "scratch_bytes",
        "group_size",
        "occupancy_percent",
    ];
    section.tables.extend(Table::of_columns("Kernels of the profile", rows, &columns));
    let beside = list(&value["beside"]);
    let columns = [
        "theirs.kernel",
        "theirs.seconds",
        "theirs.gb_per_second",
        "theirs.share_of_ceiling",
        "ours.kernel",
        "ours.precision",
        "ours.lattice",
        "ours.variant",
        "ours.seconds",
        "ours.gb_per_second",
        "ours.share_of_ceiling",
        "times_ours",
    ];
    section.tables.extend(Table::of_columns("Beside ours", beside, &columns));
}

fn trace(section: &mut Section, value: &Value) {
    section.timelines = timelines(value);
    let hotspots = list(&value["hotspots"]);
    let kernels: Vec<Value> = hotspots.iter().filter(|row| row["group"] == "kernel").take(12).cloned().collect();
    let of = |row: &Value| row["percentage"].as_f64().map(|percent| percent / 100.0);
    section.bars.extend(bars::by_number("Share of the time of all kernels", &kernels, of, true));
    let columns = [
        "group",
        "name",
        "calls",
        "total_ms",
        "average_us",
        "percentage",
        "gb_per_second",
        "gflop_per_second",
        "least_us",
        "most_us",
    ];
    section.tables.extend(Table::of_columns("Hotspots", hotspots, &columns));
}

/// An entry of `occupancy` as one flat row.
fn occupancy_row(entry: &Value) -> Value {
    let (demand, occupancy, kernel) = (&entry["demand"], &entry["occupancy"], &entry["kernel"]);
    let device = text(&entry["architecture"], "name");
    let name = match kernel["kernel"].as_str() {
        Some(name) => format!("{name}, {}", text(kernel, "precision")),
        None => device.clone(),
    };
    let limits = list(&occupancy["limits"]);
    let least = limits.iter().filter_map(|limit| limit["groups"].as_u64()).min();
    let limiting = limits.iter().filter(|limit| limit["groups"].as_u64() == least).map(|limit| text(limit, "resource"));
    json!({
        "kernel": name,
        "device": device,
        "group": demand["group"],
        "registers": demand["registers"],
        "scalar_registers": demand["scalar"],
        "local_bytes": demand["local"],
        "groups_a_unit": occupancy["groups"],
        "waves": occupancy["waves"],
        "most_waves": occupancy["most_waves"],
        "occupancy": occupancy["share"],
        "limited_by": limiting.collect::<Vec<_>>().join(", "),
    })
}

/// Tables of every list of objects, and facts of every object, one level down.
fn generic(section: &mut Section, value: &Value) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let (name, _) = heading(name);
        section.tables.extend(Table::of(&name, list(value)));
        section.facts.extend(facts(value).into_iter().map(|(field, text)| (format!("{name}: {field}"), text)));
        for (inner, value) in value.as_object().into_iter().flatten() {
            section.tables.extend(Table::of(&format!("{name}, {}", heading(inner).0), list(value)));
        }
    }
}
