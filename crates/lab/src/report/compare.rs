//! Before and after: documents are compared with those of the same kind in a baseline. Rows match if they have the same identity (kernel, fields,
//! variant, …). For each, the times are compared, or the rates if there is no time, with the spread if there is one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::bars::{Bar, Bars};
use super::document::Document;
use super::section::Section;
use super::table::{Table, flattened};
use super::words::{Quantity, STATISTICS, heading, number, plain};

/// The keys that identify a row.
const IDENTITY: &str = "name id subject title architecture group kernel variant operation object form shape way place towards memory \
    stored fma_per_element bytes precision lattice sites reconstruct spinors lane_bytes access site_order t slice \
    word spin colour stage";
/// Keys that differ from run to run, without significance.
const VOLATILE: &str = "kind schema lanefield device date file output displayTimeUnit command devices";
const MOST_CHANGES: usize = 40;

#[derive(Clone, Copy, Debug)]
struct Measured {
    quantity: Quantity,
    median: f64,
    range: Option<(f64, f64)>,
}

impl Measured {
    /// How many times as fast `after` is, with the range that the spreads allow.
    fn times_as_fast(self, after: Self) -> (f64, Option<(f64, f64)>) {
        let ratio = |before: f64, after: f64| match self.quantity {
            Quantity::Time => before / after,
            _ => after / before,
        };
        let range = self.range.zip(after.range).map(|((least, most), (after_least, after_most))| {
            let ends = [
                ratio(least, after_most),
                ratio(most, after_least),
                ratio(least, after_least),
                ratio(most, after_most),
            ];
            (ends.into_iter().fold(f64::INFINITY, f64::min), ends.into_iter().fold(0.0, f64::max))
        });
        (ratio(self.median, after.median), range)
    }
}

/// The comparable contents of a document: numbers by name, and other facts.
#[derive(Default)]
struct Content {
    measured: BTreeMap<String, Measured>,
    facts: BTreeMap<String, String>,
}

impl Content {
    fn of(document: &Document) -> Self {
        let mut content = Self::default();
        content.object("", &document.value, 0);
        content
    }

    /// Adds the contents of an object: its own numbers and facts below `name`, then those of the lists and objects in it.
    fn object(&mut self, name: &str, value: &Value, depth: usize) {
        let Some(fields) = value.as_object() else { return };
        let flat = flattened(fields);
        for (key, measured) in measured(&flat) {
            // The time of a row belongs to the row itself.
            let words = if depth > 0 && key == "seconds" { String::new() } else { heading(&key).0 };
            self.add(&joined(name, &words), measured);
        }
        for (key, value) in fields.iter().filter(|(key, _)| !is_in(VOLATILE, key)) {
            let is_identity = depth > 0 && is_in(IDENTITY, key);
            match value {
                Value::Array(rows) if rows.iter().any(Value::is_object) => {
                    for row in rows {
                        let words = if key == "rows" { String::new() } else { heading(key).0 };
                        self.object(&joined(&joined(name, &words), &identity(row)), row, depth + 1);
                    }
                }
                // For an object with a unit (`latency_seconds`), the numbers were added above.
                Value::Object(_) if depth == 0 && heading(key).1 == Quantity::Plain && !is_spread(value) => {
                    let words = if key == "report" { String::new() } else { heading(key).0 };
                    self.object(&joined(name, &words), value, 1)
                }
                _ if is_identity || heading(key).1 != Quantity::Plain => {}
                value => {
                    if let Some(text) = plain(value).filter(|_| !value.is_object()) {
                        self.facts.insert(joined(name, &heading(key).0), text);
                    }
                }
            }
        }
    }

    /// Rows with the same identity are distinguished by number.
    fn add(&mut self, name: &str, measured: Measured) {
        let mut unique = name.to_owned();
        let mut number = 1;
        while self.measured.contains_key(&unique) {
            number += 1;
            unique = format!("{name} #{number}");
        }
        self.measured.insert(unique, measured);
    }
}

fn joined(name: &str, more: &str) -> String {
    match (name, more) {
        ("", more) => more.to_owned(),
        (name, "") => name.to_owned(),
        (name, more) => format!("{name}, {more}"),
    }
}

fn identity(row: &Value) -> String {
    let said = IDENTITY.split(' ').filter_map(|key| {
        let text = plain(&row[key])?;
        Some(match key {
            "reconstruct" | "t" | "slice" | "word" | "spin" | "colour" | "access" => format!("{key} {text}"),
            "lane_bytes" => format!("lanes {text}"),
            "spinors" if text == "1" => return None,
            "variant" if text == "default" => return None,
            "spinors" => format!("×{text}"),
            "bytes" => format!("{text} bytes"),
            _ => text,
        })
    });
    said.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

fn is_in(words: &str, key: &str) -> bool {
    words.split(' ').any(|word| word == key)
}

fn is_spread(value: &Value) -> bool {
    value["median"].is_number()
}

/// Objects in a row whose times belong to the row.
const OF_THE_ROW: [&str; 2] = ["searched", "measured"];

/// The numbers of a row that are compared: its own time if it has one, otherwise all times; rates only if there is no time.
fn measured(flat: &[(String, Value)]) -> Vec<(String, Measured)> {
    let number = |key: &str| flat.iter().find(|(known, _)| known == key).and_then(|(_, value)| value.as_f64());
    let mut found: Vec<(String, Measured)> = Vec::new();
    for (key, value) in flat {
        let Some(value) = value.as_f64().filter(|value| value.is_finite() && *value > 0.0) else { continue };
        let (name, range) = match key.split_once('.') {
            Some((object, "median")) => {
                let ends = ["tenth", "least"].iter().zip(["ninetieth", "most"]).find_map(|(least, most)| {
                    number(&format!("{object}.{least}")).zip(number(&format!("{object}.{most}")))
                });
                (object, ends)
            }
            Some((object, field))
                if STATISTICS.contains(&field)
                    || heading(object).1 == Quantity::Plain && !OF_THE_ROW.contains(&object) =>
            {
                continue;
            }
            _ => (key.as_str(), None),
        };
        let quantity = heading(name).1;
        if matches!(quantity, Quantity::Time | Quantity::Bandwidth | Quantity::Flops) && !name.starts_with("budget") {
            found.push((name.to_owned(), Measured { quantity, median: value, range }));
        }
    }
    let of_itself = |(name, _): &(String, Measured)| name == "seconds";
    if let Some(own) = found.iter().position(of_itself) {
        return vec![found.swap_remove(own)];
    }
    if found.iter().any(|(_, measured)| measured.quantity == Quantity::Time)
        && found.iter().all(|(name, _)| name != "copy_bytes_per_second")
    {
        found.retain(|(_, measured)| measured.quantity == Quantity::Time);
    }
    found
}

/// A section for each document with a counterpart in the baseline, and one for what only one side has.
pub(super) fn sections(documents: &[Document], baseline: &[Document]) -> Vec<Section> {
    let mut left: Vec<&Document> = baseline.iter().collect();
    let (mut sections, mut only) = (Vec::new(), Vec::new());
    for after in documents {
        let alike = |before: &&&Document| before.kind == after.kind;
        let same_name = left.iter().position(|before| alike(&before) && before.name == after.name);
        match same_name.or_else(|| left.iter().position(|before| alike(&before))) {
            Some(place) => sections.push(section(left.remove(place), after)),
            None => only.push(("after", after)),
        }
    }
    only.extend(left.into_iter().map(|before| ("before", before)));
    if !baseline.is_empty() && !only.is_empty() {
        let rows = only
            .iter()
            .map(|(side, document)| [document.kind.name().to_owned(), document.name.clone(), format!("only {side}")]);
        let tables = Table::of_texts("Documents of one side", ["kind", "file", "where"], rows).into_iter().collect();
        sections.push(Section { title: "Not compared".to_owned(), tables, ..Section::default() });
    }
    sections
}

fn section(before: &Document, after: &Document) -> Section {
    let [old, new] = [before, after].map(Content::of);
    let mut rows = Vec::new();
    for (name, a) in &old.measured {
        if let Some(b) = new.measured.get(name) {
            let (ratio, range) = a.times_as_fast(*b);
            rows.push((name, *a, *b, ratio, range));
        }
    }
    // Rows that became slower come first.
    rows.sort_by(|a, b| a.3.total_cmp(&b.3));
    let verdict = |ratio: f64, range: Option<(f64, f64)>| match range {
        Some((least, most)) if least <= 1.0 && most >= 1.0 => ("within the spread", 0),
        _ if ratio > 1.0 => ("faster", 3),
        _ if ratio < 1.0 => ("slower", 2),
        _ => ("the same", 0),
    };
    let factor = |ratio: f64, range: Option<(f64, f64)>| match range {
        Some((least, most)) => format!("{ratio:.2}× ({least:.2} – {most:.2})"),
        None => format!("{ratio:.2}×"),
    };
    let bars = rows.iter().map(|(name, a, b, ratio, range)| {
        let (word, colour) = verdict(*ratio, *range);
        let detail = format!("{} → {}", a.quantity.say(a.median), b.quantity.say(b.median));
        let most = a.median.max(b.median);
        Bar {
            tip: format!("{name}: {detail}, {}, {word}", factor(*ratio, *range)),
            label: (*name).clone(),
            detail,
            percent: 100.0 * b.median / most,
            before: Some(100.0 * a.median / most),
            text: format!("{ratio:.2}× {word}"),
            colour,
        }
    });
    let scale = "Of each pair the outlined bar is before, the filled one after; the longer one is whole. Times: shorter is better; rates: longer. The number \
                 is how many times as fast it is after; grey is within the spread of the samples.";
    let chart = Bars::new("After against before", scale, bars.collect());
    let table = Table::of_texts(
        "Before and after",
        ["what", "before", "after", "times as fast (range of the spreads)", "verdict"],
        rows.iter().map(|(name, a, b, ratio, range)| {
            let [before, after] = [a, b].map(|side| side.quantity.say(side.median));
            [(*name).clone(), before, after, factor(*ratio, *range), verdict(*ratio, *range).0.to_owned()]
        }),
    );
    let changed = old.facts.iter().filter_map(|(name, a)| {
        let b = new.facts.get(name)?;
        (a != b).then(|| [name.clone(), a.clone(), b.clone()])
    });
    let changes = Table::of_texts("What else changed", ["what", "before", "after"], changed.take(MOST_CHANGES));
    let sides = [(&old, &new, "only before"), (&new, &old, "only after")];
    let only = sides.into_iter().flat_map(|(of, other, place)| {
        let alone = of.measured.keys().filter(move |name| !other.measured.contains_key(*name));
        alone.map(move |name| [name.clone(), place.to_owned()])
    });
    let only = Table::of_texts("On one side only", ["what", "where"], only);
    let none = chart.is_none() && changes.is_none() && only.is_none();
    let devices = [before, after].map(|document| super::words::device(&document.value).unwrap_or_default());
    let mut facts = vec![("before".to_owned(), before.name.clone()), ("after".to_owned(), after.name.clone())];
    if devices[0] != devices[1] {
        facts.push(("device".to_owned(), format!("{} → {}", devices[0], devices[1])));
    }
    Section {
        title: format!("Before and after: {}", after.kind.title().to_lowercase()),
        lead: if none { "Nothing that is compared differs.".to_owned() } else { compared(rows.len()) },
        facts,
        bars: chart.into_iter().collect(),
        tables: [changes, table, only].into_iter().flatten().collect(),
        ..Section::default()
    }
}

fn compared(numbers: usize) -> String {
    format!(
        "{} measured on both sides.",
        if numbers == 1 { "1 number".to_owned() } else { format!("{} numbers", number(numbers as f64)) }
    )
}
