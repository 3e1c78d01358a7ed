//! What commands print: text for people and JSON for programs on standard output, progress on standard error.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, Row, Table, TableComponent, presets};
use lanefield::reference::layout::Lattice;
pub use lanefield_lab::{Device, Kind};
use serde::Serialize;

use super::build_facts::{BUILD, Build};
use super::outcome::Outcome;
use super::ranks;
use super::terminal::visible;

/// The columns of the terminal, if standard output is one. One that says it has none does not know its width.
pub fn terminal_width() -> Option<usize> {
    Table::new().width().map(usize::from).filter(|&width| width > 0)
}

/// Without those of these columns, the first ones first, that a terminal is too narrow for. Cells are never wrapped.
pub fn fitted(table: Table, optional: &[&str]) -> Table {
    fitted_to(table, optional, terminal_width())
}

fn fitted_to(mut table: Table, optional: &[&str], width: Option<usize>) -> Table {
    let Some(width) = width else { return table };
    let is_wide = |table: &Table| table.lines().any(|line| line.trim_end().chars().count() > width);
    for name in optional {
        if !is_wide(&table) {
            break;
        }
        let titles = table.header().into_iter().flat_map(Row::cell_iter);
        let at = titles.map(Cell::content).position(|title| title == *name);
        if let Some(column) = at.and_then(|at| table.column_mut(at)) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    table
}

/// A table with a header and lines between its rows, in plain characters.
pub fn ruled_table(header: impl Into<Row>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(header);
    table
}

/// A table without lines between its rows. Columns with these numbers, in ascending order, are aligned to the right.
pub fn table(header: impl Into<Row>, to_the_right: impl IntoIterator<Item = usize>) -> Table {
    let mut table = ruled_table(header);
    table.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
    for number in to_the_right {
        let Some(column) = table.column_mut(number) else { break };
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// As [`table`], for rows whose cells come with the names of their columns.
pub fn table_of<const N: usize>(
    rows: impl Iterator<Item = [(&'static str, String); N]>,
    to_the_right: impl IntoIterator<Item = usize>,
) -> Table {
    let mut rows = rows.peekable();
    let header = rows.peek().map(|row| row.each_ref().map(|(name, _)| *name));
    let mut table = table(header.into_iter().flatten(), to_the_right);
    table.add_rows(rows.map(|row| row.map(|(_, cell)| cell)));
    table
}

/// A table with many columns, which are closer together.
pub fn dense(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(1) {
        column.set_padding((1, 0));
    }
    table
}

/// Names and values, one pair a line, with aligned values. Lines wrap if the terminal is narrow.
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let room = terminal_width().map_or(usize::MAX, |width| width.saturating_sub(FACTS_INDENT));
    let lines = facts.into_iter().flat_map(|(name, value)| {
        let lines: Vec<String> = value.lines().flat_map(|line| wrapped_line(line, room)).collect();
        let names = std::iter::once(name).chain(std::iter::repeat(""));
        let line = |(name, line)| format!("  {name:width$}{line}", width = FACTS_INDENT - 2).trim_end().to_owned();
        names.zip(if lines.is_empty() { vec![String::new()] } else { lines }).map(line).collect::<Vec<_>>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Before the values of [`facts`].
const FACTS_INDENT: usize = 26;

/// A line in parts of at most `room` characters, or single words that are longer.
fn wrapped_line(line: &str, room: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let part = parts
            .last_mut()
            .filter(|part| part.is_empty() || part.chars().count() + word.trim_end().chars().count() <= room);
        match part {
            Some(part) => part.push_str(word),
            None => parts.push(word.to_owned()),
        }
    }
    parts
}

/// A list with commas, in lines that fit next to the names of [`facts`] in a terminal of 120 columns.
pub fn wrapped(list: &str) -> String {
    const WIDTH: usize = 90;
    let (mut text, mut line) = (String::new(), 0);
    for item in list.split_inclusive(", ") {
        let length = item.trim_end().chars().count();
        if line > 0 && line + length > WIDTH {
            text.truncate(text.trim_end().len());
            text.push('\n');
            line = 0;
        }
        text += item;
        line += item.chars().count();
    }
    text
}

/// Prints lines on standard output. If the reader is gone (`| head`), that is no error.
pub fn print(text: impl Display) -> anyhow::Result<()> {
    if !ranks::is_first() {
        return Ok(());
    }
    if ON_STDERR.load(Ordering::Relaxed) {
        say!("{}", visible(&text.to_string()));
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{}", visible(&text.to_string())).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("failed to write to standard output"),
    }
}

/// Whether a file was written to standard output, after which nothing may follow.
static ON_STDERR: AtomicBool = AtomicBool::new(false);

/// From now on, prints on standard error.
pub fn print_on_stderr() {
    ON_STDERR.store(true, Ordering::Relaxed);
}

/// Prints on standard error from now on, if a file is written to standard output.
pub fn print_beside(path: &Path) {
    if ranks::is_first() && is_stdout(path) {
        print_on_stderr();
    }
}

/// Whether a path names standard output.
fn is_stdout(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let place = |path: &Path| path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        path.starts_with("/dev") && place(path).is_some_and(|of_path| Some(of_path) == place(Path::new("/dev/stdout")))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Whether JSON was printed on standard output, after which nothing may follow.
static PRINTED_JSON: AtomicBool = AtomicBool::new(false);

/// Whether JSON was printed.
pub fn printed_json() -> bool {
    PRINTED_JSON.load(Ordering::Relaxed)
}

/// The head of every JSON document. `docs/json.md` describes it.
#[derive(Serialize)]
pub struct Head {
    kind: Kind,
    schema: u64,
    lanefield: Build,
    /// The device, on rank 0 if there are several ranks; null if no device was used.
    device: Option<Device>,
    /// Ranks in each direction; null if there is one rank, or if no lattice is divided.
    ranks: Option<[usize; 4]>,
}

impl Head {
    /// The head of a document without a device.
    pub fn of(kind: Kind) -> Self {
        Self::on(kind, None)
    }

    /// The head of a document about a run on a device.
    pub fn on(kind: Kind, device: impl Into<Option<Device>>) -> Self {
        Self { kind, schema: kind.schema(), lanefield: BUILD, device: device.into(), ranks: ranks::cut() }
    }
}

/// Prints the result of a command as JSON on standard output, with its head.
pub fn print_json(head: Head, found: &impl Serialize) -> anyhow::Result<()> {
    PRINTED_JSON.store(true, Ordering::Relaxed);
    print(document(head, found)?)
}

/// The result of a command as JSON, with its head.
pub fn document(head: Head, found: &impl Serialize) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Document<'f, T> {
        #[serde(flatten)]
        head: Head,
        #[serde(flatten)]
        found: &'f T,
    }
    Ok(serde_json::to_string_pretty(&Document { head, found })?)
}

/// Prints the result of a command, as JSON with its head or as text.
pub fn show<T: Serialize, D: Display>(
    json: bool,
    head: Head,
    found: &T,
    text: impl FnOnce(&T) -> D,
) -> anyhow::Result<Outcome> {
    if json {
        print_json(head, found)?
    } else {
        print(text(found))?
    }
    Ok(Outcome::Done)
}

/// The layout of fields on a lattice. As JSON, these fields.
#[derive(Default, Serialize)]
pub struct Layout {
    lattice: [usize; 4],
    lane_bytes: usize,
    /// The lane layout in x, y, z, t.
    virtual_nodes: [usize; 4],
}

impl From<Lattice> for Layout {
    fn from(lattice: Lattice) -> Self {
        Self {
            lattice: lattice.extents().global().as_array(),
            lane_bytes: lattice.width().bytes(),
            virtual_nodes: lattice.nodes().as_array(),
        }
    }
}

impl Layout {
    pub fn extents(&self) -> String {
        joined(&self.lattice, ".")
    }

    /// The layout in words. `what` follows the extents.
    pub fn with(&self, what: &str) -> String {
        let Self { lattice, lane_bytes, virtual_nodes } = self;
        format!("{}{what}, {lane_bytes}-byte lanes, lane layout {}", joined(lattice, "."), joined(virtual_nodes, "."))
    }
}

/// Numbers with a separator: `4.4.4.8`.
pub fn joined<T: ToString>(numbers: &[T], between: &str) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_break_after_commas() {
        assert_eq!(wrapped("a, b"), "a, b");
        let item = "x".repeat(40);
        assert_eq!(wrapped(&format!("{item}, {item}, {item}")), format!("{item}, {item},\n{item}"));
        assert_eq!(wrapped(&"y".repeat(200)).lines().count(), 1);
    }

    #[test]
    fn a_narrow_terminal_gets_fewer_columns_and_whole_words() {
        let rows = [[("kernel", "hop".to_owned()), ("spread", "x".repeat(20)), ("GB/s", "1.0".to_owned())]];
        let shown = |width| fitted_to(table_of(rows.clone().into_iter(), []), &["spread", "kernel"], width).to_string();
        assert!(shown(None).contains("spread") && shown(Some(50)).contains("spread"));
        assert!(!shown(Some(30)).contains("spread") && shown(Some(30)).contains("kernel"), "{}", shown(Some(30)));
        assert_eq!(wrapped_line("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped_line("0123456789 a", 4), ["0123456789 ", "a"]);
    }

    #[test]
    fn facts_are_indented_and_do_not_end_in_blanks() {
        let text = facts([("lattice", "4.4.4.8".to_owned()), ("plaquette", "1".to_owned())]);
        assert_eq!(text, "  lattice                 4.4.4.8\n  plaquette               1");
    }
}
