//! Gauge configurations that commands write, to files of any format.

use std::borrow::Cow;

use clap::builder::PossibleValuesParser;
use lanefield::comm::WholeLattice;
use lanefield::io::claims;
use lanefield::io::configuration::{
    self, ConfigurationError, ConfigurationFile, Described, Format, Origin, WriteOptions,
};
use lanefield::io::nersc::{ByteOrder, FloatingPoint, StoredRows};
use lanefield::io::sidecar::{ConfigurationInput, path_of};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::read::PROJECT;
use crate::array_output::{self, ArrayOutput};
use crate::files::{self, is_npy, require_written};
use crate::output;
use crate::prelude::*;

/// How a configuration is written.
#[derive(Args, Clone, Default)]
pub struct FormatArgs {
    /// Format of the file: nersc, ildg, milc, npy or hdf5 [default: that of its extension]
    #[arg(long, help_heading = "Writing configurations", value_parser = format_parser())]
    format: Option<Format>,
    /// Number format of the file: IEEE32, IEEE32BIG, IEEE64BIG or IEEE64LITTLE. ILDG files are big-endian, and MILC files 32-bit [default: as in the
    /// input file, else IEEE64BIG, for MILC IEEE32]
    #[arg(long, help_heading = "Writing configurations", value_name = "FORMAT", value_parser = floating_point)]
    floating_point: Option<FloatingPoint>,
    /// Rows of each link in a NERSC file: 2 or 3 [default: as in the input file, else 3]
    #[arg(long, help_heading = "Writing configurations", value_name = "ROWS", value_parser = rows)]
    rows: Option<StoredRows>,
    /// Logical file name in an ILDG file [default: as in the input file]
    #[arg(long, help_heading = "Writing configurations", value_name = "NAME")]
    lfn: Option<String>,
}

fn format_parser() -> impl clap::builder::TypedValueParser<Value = Format> {
    use clap::builder::TypedValueParser as _;
    let written = Format::ALL.into_iter().filter(|format| format.is_written());
    PossibleValuesParser::new(written.map(|format| format.to_string()).collect::<Vec<_>>())
        .try_map(|name| name.parse::<Format>())
}

fn floating_point(text: &str) -> Result<FloatingPoint, String> {
    match text.to_ascii_uppercase().as_str() {
        "IEEE32" | "IEEE32LITTLE" => Ok(FloatingPoint::F32Little),
        "IEEE32BIG" => Ok(FloatingPoint::F32Big),
        "IEEE64" | "IEEE64LITTLE" => Ok(FloatingPoint::F64Little),
        "IEEE64BIG" => Ok(FloatingPoint::F64Big),
        _ => Err(format!("invalid number format '{text}': expected IEEE32, IEEE32BIG, IEEE64BIG or IEEE64LITTLE")),
    }
}

fn rows(text: &str) -> Result<StoredRows, String> {
    match text {
        "2" => Ok(StoredRows::Two),
        "3" => Ok(StoredRows::Three),
        _ => Err(format!("invalid number of rows '{text}': expected 2 or 3")),
    }
}

impl FormatArgs {
    /// Fails if the format cannot hold what was requested, or if the name does not determine the format.
    pub fn check(&self, output: &Path) -> anyhow::Result<()> {
        let format = match self.format {
            Some(format) => format,
            None => Format::of_name(output).map_err(|error| match error {
                ConfigurationError::Name { .. } => anyhow::anyhow!("{error} by --format"),
                error => error.into(),
            })?,
        };
        let shown = output.display();
        let is_array = matches!(format, Format::Npy | Format::Hdf5);
        ensure!(
            format == Format::Npy || !is_npy(output),
            "{shown} would be read as a NumPy array: give it another extension than .npy"
        );
        ensure!(
            !is_array || (self.floating_point.is_none() && self.rows.is_none()),
            "--floating-point and --rows are not for arrays: {shown} is a {}, always complex128 with three rows",
            if format == Format::Npy { "NumPy array" } else { "dataset of HDF5" }
        );
        ensure!(
            self.rows.is_none() || format == Format::Nersc,
            "--rows is for NERSC files: links of {shown} have three rows"
        );
        ensure!(self.lfn.is_none() || format == Format::Ildg, "--lfn is for ILDG files, and {shown} is not one");
        if let Some(numbers) = self.floating_point {
            let name = numbers.name();
            ensure!(
                format != Format::Ildg || numbers.byte_order() == ByteOrder::Big,
                "ILDG files have big-endian numbers, not {name}: use IEEE32BIG or IEEE64BIG"
            );
            ensure!(
                format != Format::Milc || numbers.size() == 4,
                "MILC files have 32-bit numbers, not {name}: use IEEE32 or IEEE32BIG"
            );
        }
        Ok(())
    }

    /// Whether links keep their bits in the file.
    fn keeps_bits(&self, path: &Path) -> anyhow::Result<bool> {
        let format = self.format.map_or_else(|| Format::of_name(path), Ok)?;
        let is_f64 = self.floating_point.is_none_or(|numbers| numbers.size() == 8);
        Ok(is_f64 && format != Format::Milc && self.rows != Some(StoredRows::Two))
    }

    /// Writes a configuration, of which this rank has a local volume. `origin` is the file that it comes from. `made_by` says what was done to
    /// its links, as its sidecar describes it.
    pub fn write(
        &self,
        path: &Path,
        (configuration, lattice): (&Configuration, &WholeLattice),
        origin: Option<&Origin>,
        (made_by, described): (Option<String>, Option<Described>),
    ) -> anyhow::Result<()> {
        output::print_beside(path);
        let &Self { format, floating_point, rows, .. } = self;
        let options = WriteOptions { format, floating_point, rows, lfn: self.lfn.clone(), origin, made_by, described };
        configuration::write(path, configuration, lattice, &options).map_err(advised_to_project)?;
        if format.map_or_else(|| Format::of_name(path), Ok)? == Format::Npy {
            let mut again = lattice.arrays(1, |_| Ok(Cow::Borrowed(configuration.links())));
            if lattice.is_first() {
                let written = require_written::<f64>(path, |compare| again.rest(compare));
                // An array that failed a check gets no sidecar.
                written.or_else(|error| claims::remove(&path_of(path)).map_err(Into::into).and(Err(error)))?;
            }
        }
        Ok(())
    }
}

/// Adds advice to the error for links that cannot be stored.
fn advised_to_project(error: ConfigurationError) -> anyhow::Error {
    let text = error.to_string();
    if text.contains("is not in SU(3)") { anyhow::anyhow!("{text}; {PROJECT}") } else { error.into() }
}

/// The inputs of a configuration that a command writes. As JSON, these fields.
#[derive(Serialize, Deserialize)]
pub struct MadeInputs {
    configuration: ConfigurationInput,
    /// What was done to its links.
    settings: Map<String, Value>,
}

impl MadeInputs {
    /// For a configuration that was read, with what a command did to it.
    pub fn new<const N: usize>(file: &ConfigurationFile, settings: [(&str, Value); N]) -> anyhow::Result<Self> {
        let settings = settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Self { configuration: ConfigurationInput::of(&file.configuration, &file.lattice)?, settings })
    }
}

/// A configuration that a command computes from another one: its file, whose header says so, and a sidecar.
pub struct MadeOutput<'a> {
    path: &'a Path,
    format: &'a FormatArgs,
    origin: &'a Origin,
    lattice: &'a WholeLattice,
    made_by: String,
    sidecar: ArrayOutput<'a, MadeInputs>,
}

impl<'a> MadeOutput<'a> {
    /// Fails if the output cannot be written. This is checked before anything is read.
    pub fn check(
        (path, format): (Option<&Path>, &FormatArgs),
        others: &[(&str, &Path)],
        config: &Path,
    ) -> anyhow::Result<()> {
        path.map_or(Ok(()), |path| format.check(path))?;
        array_output::require_outputs(path, others, &[("--config", config)], |_| None)
    }

    /// The output of a command with these settings. `made_by` is their text in the label of the ensemble. Links stay as far from SU(3) as they
    /// are, so links that the output cannot hold are refused before the work.
    pub fn new<const N: usize>(
        (path, format): (&'a Path, &'a FormatArgs),
        command: &'static str,
        (config, file): (&'a PathBuf, &'a ConfigurationFile),
        made_by: String,
        settings: [(&str, Value); N],
    ) -> anyhow::Result<Self> {
        let &FormatArgs { format: named, floating_point, rows, .. } = format;
        let (origin, made) = (Some(&file.origin), Some(made_by.clone()));
        let options =
            WriteOptions { format: named, floating_point, rows, origin, made_by: made, ..WriteOptions::default() };
        options.require_storable(path, &file.configuration).map_err(advised_to_project)?;
        let inputs = MadeInputs::new(file, settings)?;
        let sidecar = ArrayOutput::new(path, command, &[("--config", config)], inputs)?;
        Ok(Self { path, format, origin: &file.origin, lattice: &file.lattice, made_by, sidecar })
    }

    pub fn write(self, configuration: &Configuration) -> anyhow::Result<PathBuf> {
        let made = (Some(self.made_by), Some(self.sidecar.described()?));
        self.format.write(self.path, (configuration, self.lattice), Some(self.origin), made)?;
        Ok(self.path.to_owned())
    }

    /// Writes an unfinished configuration, which a signal ended, under another name. `made_by` says what was done so far. Returns the name, and
    /// a note for the statement of how to continue.
    pub fn write_stopped(
        self,
        configuration: &Configuration,
        made_by: Option<String>,
    ) -> anyhow::Result<(PathBuf, &'static str)> {
        let path = files::stopped(self.path);
        let made_by = Some(format!("{} (stopped)", made_by.unwrap_or(self.made_by)));
        self.format.write(&path, (configuration, self.lattice), Some(self.origin), (made_by, None))?;
        let note = if self.format.keeps_bits(self.path)? { "" } else { ", from links that this format rounds" };
        Ok((path, note))
    }
}
