//! What commands print: tables for people, JSON for programs.

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

/// A table with a header, in plain characters.
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    table
}

/// Prints a value as JSON on standard output.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}
