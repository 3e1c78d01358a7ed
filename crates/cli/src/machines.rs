//! Machines, clusters and workloads by name, or from files that describe them.

use std::path::Path;

use anyhow::Context as _;
use lanefield::bounded;
use lanefield_lab::description::Description;
use lanefield_lab::machine::Machine;

/// The machine with a name, or from a file that ends in .toml.
pub fn machine_named(name: &str) -> anyhow::Result<Machine> {
    if name.ends_with(".toml") { described(Path::new(name)) } else { Ok(Machine::named(name)?) }
}

pub fn described<T: Description>(file: &Path) -> anyhow::Result<T> {
    Ok(T::parse(&file.display().to_string(), &read(file)?)?)
}

pub fn read(file: &Path) -> anyhow::Result<String> {
    bounded::read_text_most(file, 1 << 20).with_context(|| format!("failed to read {}", file.display()))
}
