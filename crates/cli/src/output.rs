//! What commands print: tables for people, JSON for programs, on standard output; progress on standard error.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use comfy_table::{CellAlignment, ContentArrangement, Row, Table, TableComponent, presets};
use lanefield::reference::layout::Lattice;
use lanefield::reference::real::for_people;
pub use lanefield_lab::{Device, Kind};
use serde::Serialize;

use super::build_facts::{BUILD, Build};
use super::outcome::Outcome;
use super::ranks;
use super::terminal::visible;

/// A table that is wrapped where the terminal is narrow. One that says it has no columns does not know its width.
fn fitted() -> Table {
    let mut table = Table::new();
    if table.width() != Some(0) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

/// A table with a header and lines between its rows, in plain characters.
pub fn ruled_table(header: impl Into<Row>) -> Table {
    let mut table = fitted();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(header);
    table
}

/// A table without lines between its rows; the columns of these numbers, in ascending order, stand to the right.
pub fn table(header: impl Into<Row>, to_the_right: impl IntoIterator<Item = usize>) -> Table {
    let mut table = ruled_table(header);
    table.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
    for number in to_the_right {
        let Some(column) = table.column_mut(number) else { break };
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// As [`table`], of rows whose cells come with the names of their columns.
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

/// A table with many columns, which stand closer together.
pub fn dense(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(1) {
        column.set_padding((1, 0));
    }
    table
}

/// Names and values, one pair a line, the values below each other; wrapped where the terminal is narrow.
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    const NAME_WIDTH: usize = 22;
    let mut table = fitted();
    table.load_preset(presets::NOTHING);
    for (name, value) in facts {
        table.add_row([format!("{name:NAME_WIDTH$}"), value]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
    }
    table.trim_fmt()
}

/// A list with commas, in lines that fit beside the names of [`facts`] in a terminal of 120 columns.
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

/// Prints a line, or several, on standard output. That the reader went away (`| head`) is no error.
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

/// Whether standard output has been given a file, which nothing may follow.
static ON_STDERR: AtomicBool = AtomicBool::new(false);

/// From now on prints on standard error.
pub fn print_on_stderr() {
    ON_STDERR.store(true, Ordering::Relaxed);
}

/// Prints on standard error from now on if a file goes to standard output.
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

/// Whether standard output has been given JSON, which nothing may follow.
static PRINTED_JSON: AtomicBool = AtomicBool::new(false);

/// Whether anything was printed as JSON.
pub fn printed_json() -> bool {
    PRINTED_JSON.load(Ordering::Relaxed)
}

/// What stands at the top of every JSON document. `docs/json.md` describes it.
#[derive(Serialize)]
pub struct Head {
    kind: Kind,
    schema: u64,
    lanefield: Build,
    /// Where it ran, on rank 0 where there are several; null where no device is concerned.
    device: Option<Device>,
    /// Ranks in each direction; null where there is one, or no lattice is divided.
    ranks: Option<[usize; 4]>,
}

impl Head {
    /// Of a document that no device is concerned with.
    pub fn of(kind: Kind) -> Self {
        Self::on(kind, None)
    }

    /// Of one about what ran on a device.
    pub fn on(kind: Kind, device: impl Into<Option<Device>>) -> Self {
        Self { kind, schema: kind.schema(), lanefield: BUILD, device: device.into(), ranks: ranks::cut() }
    }
}

/// Prints what a command found as JSON on standard output, below its head.
pub fn print_json(head: Head, found: &impl Serialize) -> anyhow::Result<()> {
    PRINTED_JSON.store(true, Ordering::Relaxed);
    print(document(head, found)?)
}

/// What a command found as JSON, below its head.
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

/// Prints what a command found, as JSON below its head or for people.
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

/// How fields lie on a lattice. As JSON, these fields.
#[derive(Default, Serialize)]
pub struct Layout {
    lattice: [usize; 4],
    lane_bytes: usize,
    /// The cut into lanes, x, y, z, t.
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

    /// In words; `what` follows the extents.
    pub fn with(&self, what: &str) -> String {
        let Self { lattice, lane_bytes, virtual_nodes } = self;
        format!("{}{what}, {lane_bytes}-byte lanes cut {}", joined(lattice, "."), joined(virtual_nodes, "."))
    }
}

/// Numbers with something between them: `4.4.4.8`.
pub fn joined<T: ToString>(numbers: &[T], between: &str) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Bytes for people: `512 KiB`, `139.7 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value.fract() != 0.0);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// A number with so many decimals, or a dash.
pub fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

/// A double as its decimal and its bits: `1.25 (3ff4000000000000)`.
pub fn with_bits(value: f64) -> String {
    format!("{} ({})", for_people(value), bits(value))
}

/// A small number with this number of decimals after its first digit: `1.35e-10`, 0.
pub fn small(value: f64, decimals: usize) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.decimals$e}") }
}

/// The 16 hex digits of a double. All NaNs are one, since any equals any.
pub fn bits(value: f64) -> String {
    let value = if value.is_nan() { f64::NAN } else { value };
    format!("{:016x}", value.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_decimal_where_it_says_something() {
        assert_eq!(bytes(512 << 10), "512 KiB");
        assert_eq!(bytes(150_000_000_000), "139.7 GiB");
        assert_eq!(bytes(0), "0 bytes");
    }

    #[test]
    fn long_lists_break_after_commas() {
        assert_eq!(wrapped("a, b"), "a, b");
        let item = "x".repeat(40);
        assert_eq!(wrapped(&format!("{item}, {item}, {item}")), format!("{item}, {item},\n{item}"));
        assert_eq!(wrapped(&"y".repeat(200)).lines().count(), 1);
    }

    #[test]
    fn facts_are_indented_and_do_not_end_in_blanks() {
        let text = facts([("lattice", "4.4.4.8".to_owned()), ("plaquette", "1".to_owned())]);
        assert_eq!(text, "  lattice                 4.4.4.8\n  plaquette               1");
    }
}
