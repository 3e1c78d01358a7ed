//! Tables of any rows: a column for each name in some row, numbers aligned to the right, and values that are the same in all rows stated once.

use serde::Serialize;
use serde_json::{Map, Value};

use super::words::{Quantity, capital, heading, is_hidden, number, plain};

/// Further columns are left out: the JSON has them.
const MOST_COLUMNS: usize = 16;
const LONG: usize = 30;
/// Names that come first if no columns were chosen: the subject of a row.
const FIRST: [&str; 8] = ["group", "name", "kernel", "title", "advice", "variant", "precision", "lattice"];

#[derive(Serialize, Debug, Default)]
pub(super) struct Table {
    pub caption: String,
    /// Whether it is open initially, or opens on demand.
    pub open: bool,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    pub shared: Vec<(String, String)>,
}

#[derive(Serialize, Debug)]
pub(super) struct Column {
    pub name: String,
    pub numeric: bool,
}

#[derive(Serialize, Debug, Default)]
pub(super) struct Cell {
    pub text: String,
    /// The number by which it sorts, if there is one.
    pub value: Option<f64>,
}

impl Table {
    /// A table of the objects among `rows`; `None` if there are none.
    pub(super) fn of(caption: &str, rows: &[Value]) -> Option<Self> {
        Self::of_columns(caption, rows, "")
    }

    /// The same with only the named columns, if any are named.
    pub(super) fn of_columns(caption: &str, rows: &[Value], wanted: &str) -> Option<Self> {
        let rows: Vec<Vec<(String, Value)>> = rows.iter().filter_map(Value::as_object).map(flattened).collect();
        let mut names: Vec<String> = wanted.split_whitespace().map(str::to_owned).collect();
        if wanted.is_empty() {
            for (name, _) in rows.iter().flatten() {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            let place = |name: &String| FIRST.iter().position(|first| name.ends_with(first)).unwrap_or(FIRST.len());
            names.sort_by_key(place);
        }
        let of = |row: &[(String, Value)], name: &str| {
            row.iter().find(|(known, _)| known == name).map_or(Value::Null, |(_, value)| value.clone())
        };
        let mut table = Self { caption: capital(caption), open: rows.len() <= LONG, ..Self::default() };
        table.rows.resize_with(rows.len(), Vec::new);
        for name in names {
            let values: Vec<Value> = rows.iter().map(|row| of(row, &name)).collect();
            // Bits are for programs; a column of zeros says that nothing was counted.
            let is_zero = |value: &Value| value.is_null() || value.as_f64() == Some(0.0);
            let (_, quantity) = heading(&name);
            let is_rate = matches!(quantity, Quantity::Bandwidth | Quantity::Flops | Quantity::Share);
            if is_hidden(&name)
                || values.iter().all(|value| plain(value).is_none())
                || (is_rate && values.iter().all(is_zero))
            {
                continue;
            }
            let (words, quantity) = heading(&name);
            if rows.len() > 3 && values.iter().all(|value| *value == values[0]) {
                let text = values[0].as_f64().map(|value| quantity.say(value)).or_else(|| plain(&values[0]));
                table.shared.push((words, text.unwrap_or_default()));
            } else if table.columns.len() < MOST_COLUMNS {
                let numeric = values.iter().all(|value| value.is_number() || value.is_null());
                let most = values.iter().filter_map(Value::as_f64).map(f64::abs).fold(0.0, f64::max);
                let (unit, factor) = quantity.unit(most);
                let words = if unit.is_empty() || !numeric { words } else { format!("{words}, {unit}") };
                table.columns.push(Column { name: words, numeric });
                for (row, value) in table.rows.iter_mut().zip(&values) {
                    row.push(cell(value, quantity, factor));
                }
            }
        }
        (!table.columns.is_empty()).then_some(table)
    }

    /// Of rows of texts with a name for each column; none where there is no row.
    pub(super) fn of_cells(caption: &str, columns: Vec<String>, rows: Vec<Vec<String>>) -> Option<Self> {
        let cells = |row: Vec<String>| row.into_iter().map(|text| Cell { text, value: None }).collect();
        let rows: Vec<Vec<Cell>> = rows.into_iter().map(cells).collect();
        let columns = columns.into_iter().map(|name| Column { name, numeric: false }).collect();
        let open = rows.len() <= LONG;
        (!rows.is_empty()).then(|| Self { caption: caption.to_owned(), open, columns, rows, shared: Vec::new() })
    }

    /// Unfolded on demand.
    pub(super) fn folded(self) -> Self {
        Self { open: false, ..self }
    }

    pub(super) fn of_texts<const N: usize>(
        caption: &str,
        columns: [&str; N],
        rows: impl Iterator<Item = [String; N]>,
    ) -> Option<Self> {
        Self::of_cells(caption, columns.map(str::to_owned).into(), rows.map(Vec::from).collect())
    }
}

fn cell(value: &Value, quantity: Quantity, factor: f64) -> Cell {
    match value.as_f64() {
        // A kernel that computes nothing has no speed.
        Some(0.0) if quantity == Quantity::Flops => Cell { text: "–".to_owned(), value: None },
        // Four digits of a share say more than anybody measured.
        Some(value) if quantity == Quantity::Share => {
            Cell { text: format!("{:.1}", value * factor), value: Some(value * factor) }
        }
        Some(value) => Cell { text: number(value * factor), value: Some(value * factor) },
        None => Cell { text: plain(value).unwrap_or_else(|| "–".to_owned()), value: None },
    }
}

/// The fields of a row, with those of an object in it as `object.field`. Deeper ones, and lists of objects, are left out.
pub(super) fn flattened(row: &Map<String, Value>) -> Vec<(String, Value)> {
    let mut fields = Vec::new();
    for (name, value) in row {
        match value {
            Value::Object(inner) => {
                let shown = inner.iter().filter(|(_, value)| !value.is_object());
                fields.extend(shown.map(|(field, value)| (format!("{name}.{field}"), value.clone())));
            }
            value => fields.push((name.clone(), value.clone())),
        }
    }
    fields
}
