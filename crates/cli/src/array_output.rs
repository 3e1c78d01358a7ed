//! An array that a command writes, with its sidecar. An existing array is replaced without `--force` only if its sidecar says that the same
//! command wrote it from the same inputs.

use std::collections::BTreeMap;

use lanefield::io::claims;
use lanefield::io::configuration::{ConfigurationFile, Described, is_stream};
use lanefield::io::npy::ArrayReal;
use lanefield::io::sidecar::{ConfigurationInput, Sidecar, SidecarInputs, SourceInput, difference_of, path_of};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::args::HopArgs;
use super::files::{self, failed_to_write, holds_something, refuse, replaces, require_outputs_but};
use super::{output as printed, ranks};
use crate::prelude::*;

/// The name of the sidecar of `--output` in messages.
const SIDECAR: &str = "the sidecar of --output";

/// As [`require_outputs_but`], for the array that `--output` names, its sidecar and other outputs. An existing array with a sidecar is checked
/// later, when the inputs are known ([`ArrayOutput::new`]).
pub fn require_outputs(
    array: Option<&Path>,
    others: &[(&str, &Path)],
    inputs: &[(&str, &Path)],
    resumes: impl Fn(&str) -> Option<bool>,
) -> anyhow::Result<()> {
    let sidecar = array.filter(|array| is_described(array)).map(path_of);
    let array = array.map(|array| ("--output", array));
    let files = array.into_iter().chain(sidecar.as_deref().map(|sidecar| (SIDECAR, sidecar)));
    let outputs: Vec<(&str, &Path)> = files.chain(others.iter().copied()).collect();
    let has_sidecar = sidecar.as_deref().is_some_and(Path::is_file);
    require_outputs_but(&outputs, inputs, |argument| match argument {
        "--output" | SIDECAR => has_sidecar.then_some(true),
        other => resumes(other),
    })
}

/// Fails if OUT of a command that converts IN, or the sidecar of OUT, must not be replaced.
pub fn require_converted(input: &Path, output: &Path) -> anyhow::Result<()> {
    printed::print_beside(output);
    let sidecar = path_of(output);
    let outputs = [("OUT", output), ("the sidecar of OUT", &sidecar)];
    files::require_outputs(if is_described(output) { &outputs } else { &outputs[..1] }, &[("IN", input)])
}

/// Whether an array gets a sidecar. Devices and pipes get none.
pub fn is_described(array: &Path) -> bool {
    !is_stream(array)
}

/// The inputs of an array: an operator with its parameters and its hop on a configuration, a source, a precision, and settings of the command by
/// name.
pub fn inputs<const N: usize>(
    (operator, parameters, hop): (&str, Map<String, Value>, &HopArgs),
    file: &ConfigurationFile,
    source: SourceInput,
    precision: &str,
    settings: [(&str, Value); N],
) -> anyhow::Result<SidecarInputs> {
    let HopParameters { boundary, links, legs } = hop.parameters();
    Ok(SidecarInputs {
        operator: operator.to_owned(),
        parameters,
        boundary: boundary.to_string(),
        reconstruct: links.reals(),
        legs: legs.to_string(),
        configuration: ConfigurationInput::of(&file.configuration, &file.lattice)?,
        source,
        precision: precision.to_owned(),
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    })
}

pub struct ArrayOutput<'a, I = SidecarInputs> {
    path: &'a Path,
    command: &'static str,
    files: BTreeMap<String, String>,
    inputs: I,
    /// For a propagator, at times counted from the source.
    pub relative_errors: Vec<f64>,
}

impl<'a, I: Serialize + DeserializeOwned> ArrayOutput<'a, I> {
    /// An array that a command writes from files and inputs. Fails if the file exists and has other contents.
    pub fn new(path: &'a Path, command: &'static str, files: &[(&str, &Path)], inputs: I) -> anyhow::Result<Self> {
        let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let files = files.iter().map(|(argument, path)| (argument.trim_start_matches('-').to_owned(), name(path)));
        let output = Self { path, command, files: files.collect(), inputs, relative_errors: Vec::new() };
        if output.is_written_here() && !replaces() {
            output.require_same().inspect_err(refuse)?;
        }
        Ok(output)
    }

    /// Whether this rank writes the array, with a sidecar.
    fn is_written_here(&self) -> bool {
        ranks::is_first() && is_described(self.path)
    }

    fn require_same(&self) -> anyhow::Result<()> {
        const ADVICE: &str = "give another name, or --force to replace it";
        let path = self.path.display();
        let sidecar = Sidecar::<Value>::read(self.path).with_context(|| format!("--output {path}: {ADVICE}"))?;
        let Some(sidecar) = sidecar.filter(|_| holds_something(self.path)) else { return Ok(()) };
        let there = format!("--output {path} already exists");
        if sidecar.command != self.command {
            bail!("{there}, made by lanefield {}: {ADVICE}", sidecar.command);
        }
        if let Some(other) = difference_of(&sidecar.inputs, &serde_json::to_value(&self.inputs)?, |_| true) {
            bail!("{there}, made with {} {}, not {}: {ADVICE}", other.name, other.first, other.second);
        }
        sidecar.check(self.path).with_context(|| format!("{there}: {ADVICE}"))
    }

    /// Removes the sidecar of an array that is about to be replaced, because it would not describe the new one.
    pub fn begin(&self) -> anyhow::Result<()> {
        printed::print_beside(self.path);
        let sidecar = path_of(self.path);
        match self.is_written_here() {
            true => claims::remove(&sidecar).with_context(|| format!("failed to remove {}", sidecar.display())),
            false => Ok(()),
        }
    }

    /// The content of the sidecar of a configuration.
    pub fn described(self) -> anyhow::Result<Described> {
        Ok(Described {
            command: self.command.to_owned(),
            files: self.files,
            inputs: serde_json::to_value(self.inputs)?,
        })
    }

    /// Writes the sidecar after the array. An array that failed a check gets none.
    pub fn describe<R: ArrayReal>(self, shape: Vec<usize>) -> anyhow::Result<()> {
        if !self.is_written_here() {
            return Ok(());
        }
        let path = &claims::written_to(self.path);
        if path != self.path {
            claims::claim(&path_of(path), SIDECAR, replaces());
        }
        let sidecar = Sidecar::new(path, (shape, R::PRECISION.dtype()), self.command, self.files, self.inputs);
        let relative_errors = self.relative_errors;
        let written = sidecar.and_then(|sidecar| Sidecar { relative_errors, ..sidecar }.write(path));
        written.with_context(|| failed_to_write(&path_of(path)))
    }
}
