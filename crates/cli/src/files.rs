//! The files of the command line: gauge configurations in all formats, and outputs that are known to be writable
//! before long work begins.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use lanefield::comm::WholeLattice;
use lanefield::io::atomic::write_atomically;
use lanefield::io::hdf5;
use lanefield::io::ildg::{self, IldgError, IldgFile, IldgHeader};
use lanefield::io::milc::{self, MilcError, MilcFile, MilcHeader};
use lanefield::io::nersc::{self, FloatingPoint, NerscError, NerscFile, NerscHeader};
use lanefield::io::npy::{self, ArrayReal, NpyError, Precision};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::layout::Extents;
use lanefield::reference::real::Real;
use lanefield_lab::trace::{Group, span};
use num_complex::Complex;

use super::ranks::{self, RanksArgs};

/// A gauge configuration, and what its file says about it.
pub struct ConfigurationFile {
    /// The part of this rank.
    pub configuration: Configuration,
    /// The whole lattice.
    pub lattice: WholeLattice,
    pub origin: Origin,
}

impl ConfigurationFile {
    /// The average plaquette of the whole lattice.
    pub fn plaquette(&self) -> anyhow::Result<f64> {
        Ok(self.lattice.plaquette(&self.configuration)?)
    }
}

/// Where a configuration comes from.
pub enum Origin {
    Nersc(Box<NerscHeader>),
    Ildg(Box<IldgHeader>),
    Milc(MilcHeader),
    Npy(Precision),
}

/// Whether a path's extension says NumPy.
pub fn is_npy(path: &Path) -> bool {
    has_extension(path, &["npy"])
}

/// Whether a path has one of these extensions.
pub fn has_extension(path: &Path, known: &[&str]) -> bool {
    path.extension().is_some_and(|extension| known.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// Reads a configuration on one rank, and verifies it: all that a NERSC header says, and that links are in SU(3).
pub fn read_configuration(path: &Path) -> anyhow::Result<ConfigurationFile> {
    read_configuration_on(&RanksArgs::default(), path)
}

/// As [`read_configuration`], on ranks: each reads its part.
pub fn read_configuration_on(ranks: &RanksArgs, path: &Path) -> anyhow::Result<ConfigurationFile> {
    read_configuration_of(ranks, path, None)
}

/// The same of a lattice that is given, which some files do not say. What a file is, its first bytes tell; arrays have the extension .npy.
pub fn read_configuration_of(
    ranks: &RanksArgs,
    path: &Path,
    given: Option<Extents>,
) -> anyhow::Result<ConfigurationFile> {
    let file = read_any_configuration(ranks, path, given)?;
    if let Some(given) = given.filter(|given| *given != file.lattice.extents()) {
        anyhow::bail!("{} is on {}, not on {given}", path.display(), file.lattice.extents());
    }
    Ok(file)
}

fn read_any_configuration(ranks: &RanksArgs, path: &Path, given: Option<Extents>) -> anyhow::Result<ConfigurationFile> {
    let _span = span(Group::File, || format!("read {}", path.display()));
    if is_npy(path) {
        let failed = |error| npy_error(path, error);
        let header = npy::read_header(path).map_err(failed)?;
        let extents = header.gauge_extents().map_err(failed)?;
        let lattice = ranks.lattice(extents)?;
        let configuration = read_npy(path, header.precision, &lattice).map_err(failed)?;
        return Ok(ConfigurationFile { configuration, lattice, origin: Origin::Npy(header.precision) });
    }
    if ildg::is_lime(path) {
        let failed = |error| unread(path, matches!(error, IldgError::Open(_)), error);
        let lattice = ranks.lattice(ildg::read_header(path, given).map_err(failed)?.extents)?;
        let read = match lattice.part().is_part() {
            true => ildg::read_part(path, &lattice),
            false => ildg::read(path, given),
        };
        let IldgFile { configuration, header } = read.map_err(failed)?;
        return Ok(ConfigurationFile { configuration, lattice, origin: Origin::Ildg(Box::new(header)) });
    }
    if milc::is_milc(path) {
        let failed = |error| unread(path, matches!(error, MilcError::Open(_)), error);
        let lattice = ranks.lattice(milc::read_header(path).map_err(failed)?.extents)?;
        let read = match lattice.part().is_part() {
            true => milc::read_part(path, &lattice),
            false => milc::read(path),
        };
        let MilcFile { configuration, header } = read.map_err(failed)?;
        return Ok(ConfigurationFile { configuration, lattice, origin: Origin::Milc(header) });
    }
    let failed = |error| unread(path, matches!(error, NerscError::Open { .. } | NerscError::NotAFile { .. }), error);
    let lattice = ranks.lattice(nersc::read_header(path).map_err(failed)?.extents)?;
    let read = match lattice.part().is_part() {
        true => nersc::read_part(path, &lattice),
        false => nersc::read(path),
    };
    let NerscFile { configuration, header } = read.map_err(failed)?;
    Ok(ConfigurationFile { configuration, lattice, origin: Origin::Nersc(Box::new(header)) })
}

fn read_npy(path: &Path, precision: Precision, lattice: &WholeLattice) -> Result<Configuration, NpyError> {
    let configuration = match lattice.part().is_part() {
        true => npy::read_gauge_part(path, lattice.part()),
        false => npy::read_gauge(path),
    }?;
    let like = match precision {
        Precision::F32 => FloatingPoint::F32Little,
        Precision::F64 => FloatingPoint::F64Little,
    };
    configuration.require_su3(like.unitarity_tolerance())?;
    Ok(configuration)
}

/// An error of reading a file, with its name if the error does not say it.
fn unread(path: &Path, names_it: bool, error: impl std::error::Error + Send + Sync + 'static) -> anyhow::Error {
    let error = anyhow::Error::new(error);
    if names_it { error } else { error.context(failed_to_read(path)) }
}

/// An error of reading an array, with the name of the file, and what would make an array of it.
pub fn npy_error(path: &Path, error: NpyError) -> anyhow::Error {
    let name = path.display();
    let hint = match &error {
        NpyError::NotNpy if !is_npy(path) && is_nersc(path) => {
            format!("a NERSC configuration, of which lanefield config convert {name} FILE.npy makes an array")
        }
        NpyError::NotNpy if hdf5::is_hdf5(path) => {
            format!("an HDF5 file, of which lanefield convert {name} FILE.npy makes an array")
        }
        NpyError::ElementType { descr, .. } | NpyError::OtherType { descr } if descr.starts_with('>') => {
            format!("a.astype('{}') makes little-endian numbers of it", descr.replacen('>', "<", 1))
        }
        _ => return unread(path, matches!(error, NpyError::Open { .. } | NpyError::NotAFile { .. }), error),
    };
    anyhow::Error::new(error).context(format!("{} ({hint})", failed_to_read(path)))
}

/// Whether a file begins as NERSC configurations do.
fn is_nersc(path: &Path) -> bool {
    const START: &[u8] = b"BEGIN_HEADER";
    let mut start = [0; START.len()];
    fs::File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut start)).is_ok() && start == START
}

/// An error of writing an array, with the name of the file.
pub fn npy_unwritten(path: &Path, error: NpyError) -> anyhow::Error {
    match error {
        // It names the file.
        NpyError::Write(error) => error.into(),
        error => anyhow::Error::new(error).context(failed_to_write(path)),
    }
}

fn failed_to_read(path: &Path) -> String {
    format!("failed to read {}", path.display())
}

/// What could not be done with an output.
pub fn failed_to_write(path: &Path) -> String {
    format!("failed to write {}", path.display())
}

/// Refuses an array that was written and does not hold the numbers that come in turn. What is no regular file cannot be read again.
pub fn require_written<R: ArrayReal + Real>(
    path: &Path,
    values: impl FnOnce(&mut dyn FnMut(&[Complex<R>]) -> io::Result<()>) -> io::Result<()>,
) -> anyhow::Result<()> {
    if !path.is_file() {
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

/// Whether files that are there already are replaced.
static REPLACES: AtomicBool = AtomicBool::new(false);

/// Files that are there already are replaced from now on, or not.
pub fn replace(files: bool) {
    REPLACES.store(files, Ordering::Relaxed);
}

/// Whether they are.
pub fn replaces() -> bool {
    REPLACES.load(Ordering::Relaxed)
}

/// Whether there is a file that would be lost.
pub fn holds_something(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Refuses to replace a file that holds something, unless the user wants it.
fn require_new(argument: &str, path: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        replaces() || !holds_something(path),
        "{argument} {} is there already: give another name, {}or --force to replace it",
        path.display(),
        if argument == "--checkpoint" { "--resume to go on from it, " } else { "" }
    );
    Ok(())
}

/// Fails as writing the file would, without writing it: better now than after an hour of computing.
fn require_writable(path: &Path) -> anyhow::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
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

/// Reads the name of a picture, which is SVG whatever its name says.
pub fn svg(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match has_extension(&path, &["svg"]) || path.starts_with("/dev") {
        true => Ok(path),
        false => Err(format!("pictures are SVG, and '{text}' says otherwise: expected a name that ends in .svg")),
    }
}

/// Reads the name of an array to write, which is a NumPy file whatever its name says.
pub fn npy_name(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match is_npy(&path) || path.starts_with("/dev") {
        true => Ok(path),
        false => Err(format!("arrays are NumPy files, and '{text}' says otherwise: expected a name that ends in .npy")),
    }
}

/// Those of some files, with the names of their arguments, that were given.
pub fn given<'a, const N: usize>(
    files: [(&'a str, &'a Option<PathBuf>); N],
) -> impl Iterator<Item = (&'a str, &'a Path)> {
    files.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?)))
}

/// Refuses an output that is one of the other files or there already, either of which would be lost, or that cannot be written.
pub fn require_outputs(outputs: &[(&str, &Path)], inputs: &[(&str, &Path)]) -> anyhow::Result<()> {
    require_outputs_but(outputs, inputs, |_| false)
}

/// As [`require_outputs`]; the outputs that `goes_on` names by their arguments may be there: the command goes on from them.
pub fn require_outputs_but(
    outputs: &[(&str, &Path)],
    inputs: &[(&str, &Path)],
    goes_on: impl Fn(&str) -> bool,
) -> anyhow::Result<()> {
    // Rank 0 writes; what it has written by then is not there already for another one.
    if !ranks::is_first() {
        return Ok(());
    }
    for (k, (output, path)) in outputs.iter().enumerate() {
        for (other, other_path) in outputs[..k].iter().chain(inputs) {
            anyhow::ensure!(
                place(path) != place(other_path),
                "{output} and {other} name the same file, {}: give two",
                path.display()
            );
        }
    }
    outputs.iter().try_for_each(|(argument, path)| {
        if !goes_on(argument) {
            require_new(argument, path)?;
        }
        require_writable(path)
    })
}

/// Where a path leads, also where there is no such file yet.
fn place(path: &Path) -> PathBuf {
    let canonical = path.canonicalize().ok().or_else(|| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(parent.canonicalize().ok()?.join(path.file_name()?))
    });
    canonical.unwrap_or_else(|| path.to_owned())
}
