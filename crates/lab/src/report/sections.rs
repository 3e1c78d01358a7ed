//! The contents for each kind of document: facts, charts, tables. An unknown kind is shown as facts and tables of its contents.

use serde_json::{Value, json};

use super::bars;
use super::compare;
use super::curves::curves;
use super::document::Document;
use super::physics;
use super::roofline::rooflines;
use super::section::Section;
use super::table::Table;
use super::timeline::timelines;
use super::words::{Quantity, device, heading, is_hidden, list, plain, text};
use crate::Kind;

const BENCH_COLUMNS: &str = "kernel precision lattice reconstruct spinors sites lane_bytes variant seconds.median back_to_back_seconds \
    flops_per_second bytes_per_second share_of_ceiling in_cache failure";

/// Further facts open on demand.
const MOST_FACTS: usize = 12;

/// All sections in the order of the kinds, starting with the changes against a baseline; the rooflines follow the capabilities of the machine.
pub(super) fn all(documents: &[Document], baseline: &[Document]) -> Vec<Section> {
    let mut ordered: Vec<&Document> = documents.iter().collect();
    ordered.sort_by_key(|document| document.kind);
    let mut sections: Vec<Section> =
        if baseline.is_empty() { Vec::new() } else { compare::sections(documents, baseline) };
    let behind_peaks = ordered.partition_point(|document| document.kind <= Kind::Peak);
    let (before, after) = ordered.split_at(behind_peaks);
    sections.extend(before.iter().copied().map(of));
    sections.extend(rooflines(documents).into_iter().map(|roofline| Section {
        title: "Roofline".to_owned(),
        lead: "Each number is a kernel: its operations for each byte that it has to move at least, and its operations a second. The roof above it is \
               what binds it at most; above a slope its fields stay in a cache."
            .to_owned(),
        tables: roofline.table().into_iter().collect(),
        roofline: Some(roofline),
        ..Section::default()
    }));
    sections.extend(after.iter().copied().map(of));
    let titles: Vec<String> = sections.iter().map(|section| section.title.clone()).collect();
    for (number, section) in sections.iter_mut().enumerate() {
        section.one_of_several = titles.iter().filter(|title| **title == section.title).count() > 1;
        section.id = format!("part-{}", number + 1);
        if section.facts.len() > MOST_FACTS {
            section.more_facts = section.facts.split_off(MOST_FACTS);
        }
    }
    sections
}

fn of(document: &Document) -> Section {
    let Document { name, kind, value } = document;
    let mut section = Section {
        title: kind.title().to_owned(),
        kind: Some(*kind),
        file: name.clone(),
        facts: device(value)
            .into_iter()
            .map(|device| ("device".to_owned(), device))
            .chain(facts(&shown(*kind, value)))
            .collect(),
        ..Section::default()
    };
    let rows = list(&value["rows"]);
    match kind {
        Kind::Bench | Kind::BenchThreads | Kind::BenchOrders => {
            section.bars.extend([bars::shares(rows), bars::in_cache(rows)].into_iter().flatten());
            section.tables.extend(Table::of_columns("All rows", rows, BENCH_COLUMNS));
            section.tables.extend(rows_of(value, "fastest"));
        }
        Kind::BenchSprint => {
            section.lead =
                "Each stage adds one change to those before it; stages that begin with “with” stand for themselves."
                    .to_owned();
            section.bars = bars::stages(rows);
            section.tables.extend(rows_of(value, "fastest"));
            section.tables.extend(Table::of_columns("All rows", rows, BENCH_COLUMNS));
        }
        Kind::Tune => {
            let kernels: Vec<Value> = list(&value["kernels"]).iter().map(tuned_row).collect();
            section.bars.extend(bars::tuned(&kernels));
            section.tables.extend(Table::of("Kernels", &kernels));
        }
        Kind::Doctor => doctor(&mut section, value),
        Kind::Guidelines => {
            section.lead = "Each guideline, with it and without it: above 1 it pays.".to_owned();
            let rows = list(&value["guidelines"]);
            let factor = |row: &Value| row["factor"]["median"].as_f64();
            section.bars.extend(bars::by_number("What each guideline gives: times faster", rows, factor, false));
            let columns = "name verdict factor.median factor.tenth factor.ninetieth without_seconds.median with_seconds.median \
                advice without with remark";
            section.tables.extend(Table::of_columns("Guidelines", rows, columns));
        }
        Kind::Occupancy => occupancy(&mut section, value),
        Kind::Counters => counters(&mut section, value, rows),
        Kind::Trace => trace(&mut section, value),
        Kind::Verify => {
            let rows = list(&value["report"]["rows"]);
            let columns = "kernel precision reconstruct comparisons different components iterations seconds";
            section.tables.extend(Table::of_columns("Kernels", rows, columns));
            section.tables.extend(Table::of("Not run to the end", list(&value["report"]["errors"])));
        }
        Kind::Peak => {
            let (sizes, chases) = (list(&value["working_sets"]), list(&value["chases"]));
            section.curves.extend(curves("Bandwidth by working set", sizes, "bytes_per_second", "place"));
            section.curves.extend(curves("Latency by working set", chases, "load_seconds", "place"));
            generic(&mut section, value);
            // The curves show them.
            section.tables.iter_mut().for_each(|table| table.open = false);
        }
        _ => match physics::tables(document) {
            Some(tables) => {
                section.tables.extend(tables);
                warnings(&mut section, value);
            }
            None => generic(&mut section, value),
        },
    }
    section.figures = physics::figures(document);
    section
}

/// A run that is shorter is mostly start and end, and its rates say nothing.
const RUN_SECONDS: f64 = 0.5;

/// A document without rates that mean nothing.
fn shown(kind: Kind, value: &Value) -> Value {
    let mut shown = value.clone();
    let is_run = matches!(kind, Kind::Solve | Kind::Propagator);
    if is_run && value["seconds"].as_f64().is_none_or(|seconds| seconds < RUN_SECONDS) {
        for rate in ["bytes_per_second", "flops_per_second", "share_of_copy_bandwidth"] {
            shown[rate] = Value::Null;
        }
    }
    shown
}

/// What there is to say against results.
fn warnings(section: &mut Section, value: &Value) {
    let of_fits = list(&value["fits"]).iter().flat_map(|fit| list(&fit["warnings"]));
    let said = list(&value["warnings"]).iter().chain(of_fits).filter_map(plain);
    section.facts.extend(said.map(|warning| ("warning".to_owned(), warning)));
}

fn tuned_row(kernel: &Value) -> Value {
    let searched = &kernel["searched"];
    json!({
        "kernel": kernel["kernel"],
        "lattice": kernel["lattice"],
        "access": kernel["access"],
        "site_order": kernel["site_order"],
        "default_seconds": searched["default_seconds"],
        "tuned_seconds": searched["seconds"],
        "gain": kernel["gain"],
    })
}

fn facts(value: &Value) -> Vec<(String, String)> {
    let Some(fields) = value.as_object() else { return Vec::new() };
    let shown = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "kind" | "schema" | "displayTimeUnit"));
    let mut facts: Vec<(&String, (String, String))> =
        shown.filter_map(|(name, value)| Some((name, fact(name, value)?))).collect();
    // Its subject comes first, then the results.
    let place = |name: &str| {
        const FIRST: &str = "verdict same_bits converged operator solver subject command lattice precision seconds iterations \
            solution_residual";
        FIRST.split(' ').position(|first| first == name).unwrap_or(usize::MAX)
    };
    facts.sort_by_key(|(name, _)| place(name));
    facts.into_iter().map(|(_, fact)| fact).collect()
}

fn fact(name: &str, value: &Value) -> Option<(String, String)> {
    let (words, quantity) = heading(name);
    let is_rate = matches!(quantity, Quantity::Bandwidth | Quantity::Flops | Quantity::Share);
    let text = match value.as_f64() {
        _ if is_hidden(name) => return None,
        // What was not counted, or did not happen.
        Some(0.0) if is_rate || name.ends_with("_bytes") || name == "dropped" => return None,
        Some(value) => quantity.say(value),
        None => plain(value).filter(|text| !text.is_empty())?,
    };
    Some((words, text))
}

fn rows_of(value: &Value, name: &str) -> Option<Table> {
    Table::of(&heading(name).0, value[name].as_array()?)
}

fn doctor(section: &mut Section, value: &Value) {
    let kernels = list(&value["kernels"]);
    for one in kernels {
        let subject = text(one, "subject");
        let findings = one["findings"].as_array().into_iter().flatten();
        section.findings.extend(findings.map(|finding| finding_of(finding, &subject)));
    }
    section.lead = match section.findings.len() {
        0 => "Nothing was found; the table says what binds.".to_owned(),
        _ => "What was found, and the share of the time that its change would save.".to_owned(),
    };
    let examined: Vec<Value> = kernels
        .iter()
        .map(|one| {
            json!({
                "subject": one["subject"],
                "seconds": one["kernel_seconds"],
                "estimated_seconds": one["estimated_seconds"],
                "bytes_per_second": one["bytes_per_second"],
                "share_of_copy": one["share_of_copy"],
                "binds": one["binds"]["limit"],
                "because": one["binds"]["because"],
                "findings": one["findings"].as_array().map_or(0, Vec::len),
            })
        })
        .collect();
    section.tables.extend(Table::of("Examined", &examined));
    // The summary has the launch latency that `peak` measured: one of an idle queue next to it would be another.
    let machine = facts(&value["machine"]).into_iter().filter(|(name, _)| name != "name" && name != "launch latency");
    section.facts.extend(machine);
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

fn occupancy(section: &mut Section, value: &Value) {
    let entries: Vec<Value> = list(&value["entries"]).iter().map(occupancy_row).collect();
    let of = |row: &Value| row["occupancy_share"].as_f64();
    section.bars.extend(bars::by_number("Occupancy", &entries, of, true));
    section.tables.extend(Table::of("Kernels and numbers", &entries));
    let told: Vec<Value> = list(&value["told"])
        .iter()
        .map(|one| json!({ "kernel": one["kernel"], "precision": one["precision"], "unknown": one["code"]["unknown"] }))
        .collect();
    section.tables.extend(Table::of("Kernels without known registers", &told));
    for sweep in list(&value["sweeps"]) {
        generic(section, sweep);
    }
}

fn counters(section: &mut Section, value: &Value, rows: &[Value]) {
    section.lead = "Bytes read and written, averaged over the calls of a kernel, over its average time.".to_owned();
    let share = |row: &Value| row["share_of_ceiling"].as_f64();
    let rate = |row: &Value| row["bytes_per_second"].as_f64().map(|rate| rate / 1e9);
    section.bars.extend(match rows.iter().any(|row| share(row).is_some()) {
        true => bars::by_number("Share of the ceiling", rows, share, true),
        false => bars::by_number("Bandwidth, GB/s", rows, rate, false),
    });
    let columns = "kernel work_items calls seconds total_rw_bytes bytes_per_second share_of_ceiling l2_hit_share \
        registers scalar_registers local_bytes scratch_bytes group_size occupancy_share";
    section.tables.extend(Table::of_columns("Kernels of the profile", rows, columns));
    let beside = list(&value["beside"]);
    let columns = "theirs.kernel theirs.seconds theirs.bytes_per_second theirs.share_of_ceiling ours.kernel \
        ours.precision ours.lattice ours.variant ours.seconds ours.bytes_per_second ours.share_of_ceiling \
        times_ours";
    section.tables.extend(Table::of_columns("Beside ours", beside, columns));
}

fn trace(section: &mut Section, value: &Value) {
    section.timelines = timelines(value);
    let hotspots: Vec<Value> = list(&value["hotspots"]).iter().filter_map(hotspot).collect();
    let kernels: Vec<Value> = hotspots.iter().filter(|row| row["group"] == "kernel").take(12).cloned().collect();
    let of = |row: &Value| row["share_of_group"].as_f64();
    section.bars.extend(bars::by_number("Share of the time of all kernels", &kernels, of, true));
    let columns = "group name calls total_seconds average_seconds share_of_group bytes_per_second flops_per_second \
        least_seconds most_seconds";
    section.tables.extend(Table::of_columns("Hotspots", &hotspots, columns));
}

/// Below this a kernel's time is mostly that of its launch, and its rates say nothing.
const LAUNCHED_SECONDS: f64 = 20e-6;

/// A row of hotspots for people: none of the empty kernel by which launches are timed, and rates only where there are.
fn hotspot(row: &Value) -> Option<Value> {
    let mut row = row.clone();
    if text(&row, "name").split(' ').next() == Some("nothing") {
        return None;
    }
    let is_short = row["average_seconds"].as_f64().is_some_and(|average| average < LAUNCHED_SECONDS);
    for rate in ["bytes_per_second", "flops_per_second"].into_iter().filter(|_| is_short) {
        row[rate] = Value::Null;
    }
    Some(row)
}

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
        "local_bytes": demand["local_bytes"],
        "groups_a_unit": occupancy["groups"],
        "waves": occupancy["waves"],
        "most_waves": occupancy["most_waves"],
        "occupancy_share": occupancy["share"],
        "limited_by": limiting.collect::<Vec<_>>().join(", "),
    })
}

/// Tables for every list of objects, and facts for every object and for single entries of lists, one level down.
fn generic(section: &mut Section, value: &Value) {
    let fields = value.as_object().into_iter().flatten();
    for (key, value) in fields.filter(|(key, _)| !matches!(key.as_str(), "lanefield" | "device")) {
        let (name, _) = heading(key);
        match list(value) {
            [one] => {
                section.facts.extend(facts(one).into_iter().map(|(field, text)| (format!("{name}: {field}"), text)))
            }
            rows => section.tables.extend(Table::of(&name, rows)),
        }
        for (inner, value) in value.as_object().into_iter().flatten() {
            // The unit belongs to the object: `latency_seconds` of `l1`.
            section.facts.extend(fact(&format!("{key}.{inner}"), value));
            section.tables.extend(Table::of(&format!("{name}, {}", heading(inner).0), list(value)));
        }
    }
}
