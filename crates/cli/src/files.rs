//! The files of the command line: arrays, and outputs, which are checked to be writable before long work begins.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::{OsStringValueParser, TypedValueParser};
use lanefield::io::atomic::write_atomically;
use lanefield::io::configuration::{Format, identify, is_stream};
use lanefield::io::lock::Lock;
use lanefield::io::npy::{self, ArrayReal, NpyError};
use lanefield::io::{claims, sidecar};
use lanefield::reference::real::Real;
use lanefield_figure::{Drawing, Format as FigureFormat};

use super::ranks;
use crate::prelude::*;

/// Whether a path's extension says NumPy.
pub fn is_npy(path: &Path) -> bool {
    has_extension(path, &["npy"])
}

/// Whether a path has one of these extensions.
pub fn has_extension(path: &Path, known: &[&str]) -> bool {
    path.extension().is_some_and(|extension| known.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// An error of reading a file, with its name if the error does not say it.
fn unread(path: &Path, names_it: bool, error: impl std::error::Error + Send + Sync + 'static) -> anyhow::Error {
    let error = anyhow::Error::new(error);
    if names_it { error } else { error.context(failed_to_read(path)) }
}

/// An error of reading an array, with the name of the file, and with how to convert the file to an array.
pub fn npy_error(path: &Path, error: NpyError) -> anyhow::Error {
    let name = path.display();
    let hint = match &error {
        NpyError::NotNpy => match identify(path) {
            Some(Ok(Format::Hdf5)) => {
                format!("an HDF5 file: convert it to an array with lanefield convert {name} FILE.npy")
            }
            Some(Ok(format)) => {
                format!(
                    "a file in the format {format}: convert it to an array with lanefield config convert {name} FILE.npy"
                )
            }
            Some(Err(what)) => what,
            None => return unread(path, false, error),
        },
        NpyError::ElementType { descr, .. } | NpyError::OtherType { descr } if descr.starts_with('>') => {
            format!("a.astype('{}') converts it to little-endian numbers", descr.replacen('>', "<", 1))
        }
        _ => return unread(path, matches!(error, NpyError::Open(_)), error),
    };
    anyhow::Error::new(error).context(format!("{} ({hint})", failed_to_read(path)))
}

/// Fails if the sidecar of an array describes another array. Rank 0 checks for all ranks.
pub fn check_beside(path: &Path) -> anyhow::Result<()> {
    if ranks::is_first() {
        sidecar::check(path)?;
    }
    Ok(())
}

/// An error of writing an array, with the name of the file.
pub fn npy_unwritten(path: &Path, error: NpyError) -> anyhow::Error {
    match error {
        // This error names the file.
        NpyError::Write(error) => error.into(),
        error => anyhow::Error::new(error).context(failed_to_write(path)),
    }
}

fn failed_to_read(path: &Path) -> String {
    format!("failed to read {}", path.display())
}

/// The message for an output that could not be written.
pub fn failed_to_write(path: &Path) -> String {
    format!("failed to write {}", path.display())
}

/// Reads an array that was written, and fails if it does not contain these numbers in this order. Only regular files can be read again.
pub fn require_written<R: ArrayReal + Real>(
    path: &Path,
    values: impl FnOnce(&mut dyn FnMut(&[Complex<R>]) -> io::Result<()>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let path = &claims::written_to(path);
    if is_stream(path) {
        return Ok(());
    }
    let mut reader = npy::Reader::<R>::open(path).map_err(|error| npy_error(path, error))?;
    let bits = |z: &Complex<R>| [z.re, z.im].map(|x| x.to_f64().to_bits());
    let mut is_same = true;
    let read = values(&mut |values| {
        let there = reader.next(values.len())?;
        is_same &= there.iter().map(bits).eq(values.iter().map(bits));
        Ok(())
    });
    read.with_context(|| failed_to_read(path))?;
    anyhow::ensure!(
        is_same,
        "{} does not hold the numbers that were computed: memory, or the disk, lost bits; compute them again, and test the memory",
        path.display()
    );
    Ok(())
}

/// Whether existing files are replaced.
static REPLACES: AtomicBool = AtomicBool::new(false);

/// Sets whether existing files are replaced.
pub fn replace(files: bool) {
    REPLACES.store(files, Ordering::Relaxed);
}

pub fn replaces() -> bool {
    REPLACES.load(Ordering::Relaxed)
}

/// Whether there is a file whose content would be lost.
pub fn holds_something(path: &Path) -> bool {
    !is_stream(path) && fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Fails if a file has content, unless the user allows to replace it.
fn require_new(argument: &str, path: &Path, resumable: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        replaces() || !holds_something(path),
        "{argument} {} already exists: give another name, {}or --force to replace it",
        path.display(),
        if resumable { "--resume to continue it, " } else { "" }
    );
    Ok(())
}

/// Claims the file for an unfinished result, which a signal ended: `x.stopped.nersc` if `output` is `x.nersc`.
pub fn stopped(output: &Path) -> PathBuf {
    let mut name = output.file_stem().unwrap_or_default().to_owned();
    name.push(".stopped");
    if let Some(extension) = output.extension() {
        name.push(".");
        name.push(extension);
    }
    let path = claims::free_name(&output.with_file_name(name));
    claims::claim(&path, "--output", false);
    path
}

/// How the same command must be changed to continue after a signal. `left_out` are arguments that it cannot have then, `written` are outputs
/// that exist.
pub fn but_with<'a>(left_out: &[&str], written: impl Iterator<Item = (&'a str, &'a Path)>) -> String {
    let there: Vec<&str> =
        written.filter(|(_, path)| !replaces() && holds_something(path)).map(|(name, _)| name).collect();
    let left_out = (!left_out.is_empty()).then(|| format!("without {}", left_out.join(" and ")));
    let other_names = (!there.is_empty()).then(|| format!("with another name for {}", there.join(" and ")));
    let all: Vec<String> = left_out.into_iter().chain(other_names).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", and ")) }
}

/// Keeps other processes from writing a file that grows or is written repeatedly, until the lock is dropped. Devices and pipes have no lock.
pub fn lock_file(path: &Path) -> anyhow::Result<Option<Lock>> {
    Ok((!is_stream(path) && !path.is_dir()).then(|| Lock::take(path)).transpose()?)
}

/// Fails if writing the file would fail, without writing it. This is better found before an hour of computing.
pub fn require_writable(path: &Path) -> anyhow::Result<()> {
    if is_stream(path) {
        // A device or a pipe: opening it may wait for a reader.
        return Ok(());
    }
    let mut reached = false;
    let result = write_atomically(path, |_| {
        reached = true;
        Err(io::ErrorKind::Interrupted.into())
    });
    if reached { Ok(()) } else { Ok(result?) }
}

/// Reads the name of a figure, whose extension says its format.
pub fn figure(path: &Path) -> Result<PathBuf, String> {
    FigureFormat::of(path).map(|_| path.to_owned()).map_err(|error| error.to_string())
}

/// Writes a figure in the format that the extension of its name says. The first rank writes.
pub fn write_figure(path: &Path, drawing: &Drawing) -> anyhow::Result<()> {
    if ranks::is_first() {
        let bytes = drawing.bytes(FigureFormat::of(path)?);
        write_atomically(path, |writer| io::Write::write_all(writer, &bytes))?;
    }
    Ok(())
}

/// Reads an argument that is the name of a file, which need not be UTF-8.
pub fn named<T: Clone + Send + Sync + 'static>(
    read: fn(&Path) -> Result<T, String>,
) -> impl TypedValueParser<Value = T> {
    OsStringValueParser::new().try_map(move |name| read(Path::new(&name)))
}

/// Reads the name of an array to write, which is always a NumPy file.
pub fn npy_name(path: &Path) -> Result<PathBuf, String> {
    // A directory is reported later as a directory.
    match is_npy(path) || path.starts_with("/dev") || path.is_dir() {
        true => Ok(path.to_owned()),
        false => {
            let path = path.display();
            Err(format!("invalid name '{path}' of an array: expected one that ends in .npy"))
        }
    }
}

/// How to name a dataset for commands that accept no name of one.
pub fn naming_a_dataset(path: &Path) -> String {
    format!("lanefield convert {} ARRAY.npy --from-dataset NAME makes an array of it", path.display())
}

/// The files that were given, with the names of their arguments.
pub fn given<'a, const N: usize>(
    files: [(&'a str, &'a Option<PathBuf>); N],
) -> impl Iterator<Item = (&'a str, &'a Path)> {
    files.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?)))
}

static REFUSED: AtomicBool = AtomicBool::new(false);

/// Whether an output was refused. Then nothing is written, not even a trace.
pub fn refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// Records that an output was refused.
pub fn refuse(_: &anyhow::Error) {
    REFUSED.store(true, Ordering::Relaxed);
}

/// Fails if a file is in the place of a directory that will be written.
pub fn require_no_file(directory: &Path) -> anyhow::Result<()> {
    ensure!(!directory.is_file(), "{} is a file: give the name of a directory", directory.display());
    Ok(())
}

/// Claims outputs. Fails if one is an input or another output, if it exists and would be lost, or if it cannot be written.
pub fn require_outputs(outputs: &[(&str, &Path)], inputs: &[(&str, &Path)]) -> anyhow::Result<()> {
    require_outputs_but(outputs, inputs, |_| None)
}

/// As [`require_outputs`]. `resumes` returns for an argument whether the command continues from its file if that exists; `None` if it cannot.
pub fn require_outputs_but(
    outputs: &[(&str, &Path)],
    inputs: &[(&str, &Path)],
    resumes: impl Fn(&str) -> Option<bool>,
) -> anyhow::Result<()> {
    require_each(outputs, inputs, resumes).inspect_err(refuse)
}

fn require_each(
    outputs: &[(&str, &Path)],
    inputs: &[(&str, &Path)],
    resumes: impl Fn(&str) -> Option<bool>,
) -> anyhow::Result<()> {
    // Rank 0 writes. Its outputs must not be taken for existing files on other ranks.
    if !ranks::is_first() {
        return Ok(());
    }
    let same = |output: &str, other: String, path: &Path| {
        anyhow::anyhow!("{output} and {other} name the same file, {}: give two", path.display())
    };
    for (output, path) in outputs {
        if let Some(other) = claims::claim(path, output, replaces()) {
            return Err(same(output, other, path));
        }
    }
    for (input, path) in inputs {
        if let Some(output) = claims::claimed_by(path) {
            return Err(same(&output, (*input).to_owned(), path));
        }
    }
    outputs.iter().try_for_each(|(argument, path)| {
        let resumes = resumes(argument);
        if resumes != Some(true) {
            require_new(argument, path, resumes.is_some())?;
        }
        require_writable(path)
    })
}
