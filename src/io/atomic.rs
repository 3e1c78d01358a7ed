//! Writes a file whole or not at all: to a temporary file in the same directory (`temporary.rs`), which is synced and then renamed. If
//! anything fails, an existing file keeps its content.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
#[cfg(unix)]
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lanefield_reference::ensure;
use thiserror::Error;

use super::claims;
use super::open::is_stream;
use crate::backend::timeline::{Group, span};
use crate::comm::WholeLattice;
use crate::temporary::Temporary;

/// Why a file was not written. An existing file of that name is unchanged.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum WriteError {
    #[error("cannot write {}: it is a directory; give the name of a file", .path.display())]
    IsDirectory { path: PathBuf },
    #[error("cannot write {}: the directory {} does not exist; make it, or give another", .path.display(), .directory.display())]
    NoDirectory { directory: PathBuf, path: PathBuf },
    #[error("cannot create a file in directory {} (to write {}): {source}", .directory.display(), .path.display())]
    Create { directory: PathBuf, path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes the file at `path` with `write`. It appears with its whole content or not at all.
///
/// Symbolic links are followed. An existing file is replaced, unless it appeared after the output was claimed ([`claims`]); its permissions
/// are kept. A path that is not a regular file (`/dev/null`, a pipe) cannot be replaced, and is written to directly. After a failure the
/// temporary file is removed.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), WriteError> {
    let _span = span(Group::File, || format!("write {}", path.display()));
    let failed = |source| WriteError::Write { path: path.to_owned(), source };
    let target = match WriteTarget::of(path)? {
        Ok(target) => target,
        Err(no_file) => {
            let mut writer = BufWriter::new(Stream(no_file));
            return write(&mut writer).and_then(|()| writer.flush()).map_err(failed);
        }
    };
    let temporary = target.temporary(path, Temporary::new_in)?;
    let mut writer = BufWriter::with_capacity(1 << 18, temporary.file());
    write(&mut writer).map_err(failed)?;
    writer.into_inner().map_err(|error| failed(error.into_error()))?;
    target.name(temporary).map_err(failed)
}

/// As [`write_atomically`], by all ranks: each writes its own data by position into the same file. The file gets its name when all have
/// finished. A failure on one rank is a failure on all.
pub(crate) fn write_together(
    path: &Path,
    lattice: &WholeLattice,
    write: impl FnOnce(File) -> io::Result<()>,
) -> Result<(), WriteError> {
    let _span = span(Group::File, || format!("write {}", path.display()));
    let failed = |source| WriteError::Write { path: path.to_owned(), source };
    let begin = || {
        let target = WriteTarget::of(path)?.map_err(|_| {
            failed(io::Error::other("it is not a regular file, which several ranks need to write by position"))
        })?;
        let temporary = target.temporary(path, Temporary::named_in)?;
        Ok((target, temporary))
    };
    let mut begun: Result<_, WriteError> = lattice.is_first().then(begin).transpose();
    let name = match &begun {
        // Names need not be UTF-8.
        Ok(Some((_, temporary))) => temporary.path().map(|path| hex::encode(path.as_os_str().as_encoded_bytes())),
        _ => None,
    };
    let name = lattice.told(name.unwrap_or_default()).map_err(|error| failed(error.into()))?;
    let here = match (name.is_empty(), &mut begun) {
        (true, Err(error)) => Err(failed(io::Error::other(error.to_string()))),
        (true, _) => Err(failed(io::Error::other("rank 0 cannot create it"))),
        (false, _) => {
            let write_here = || {
                let file = File::options().write(true).open(path_of_hex(&name))?;
                write(file.try_clone()?)?;
                file.sync_all()
            };
            write_here().map_err(failed)
        }
    };
    let wrong_elsewhere = |here: bool| lattice.communicator().any(here).map_err(|error| failed(error.into()));
    let elsewhere = wrong_elsewhere(here.is_err())?;
    let begun = begun?;
    here?;
    ensure!(!elsewhere, failed(io::Error::other("another rank could not write its part")));
    // All ranks know whether the file exists before one of them reads it.
    let named = begun.map_or(Ok(()), |(target, temporary)| target.name(temporary).map_err(failed));
    match (wrong_elsewhere(named.is_err())?, named) {
        (true, Ok(())) => Err(failed(io::Error::other("rank 0 cannot name it"))),
        (_, named) => named,
    }
}

/// Whether the program is about to end. It then waits no longer than [`PATIENCE`] for readers of pipes.
static ENDS: AtomicBool = AtomicBool::new(false);
const PATIENCE: Duration = Duration::from_secs(1);

/// Says that the program is about to end: waiting for the reader of a pipe is given up soon.
pub fn give_up_pipes() {
    ENDS.store(true, Ordering::Relaxed);
}

/// Tries again while a pipe has no reader or no room, which is when `is_awaited` is true. `wait` takes up to [`PATIENCE`] / 10.
fn awaited<T>(
    mut attempt: impl FnMut() -> io::Result<T>,
    is_awaited: impl Fn(&io::Error) -> bool,
    wait: impl Fn(),
) -> io::Result<T> {
    let mut ending: Option<Instant> = None;
    loop {
        match attempt() {
            Err(error) if is_awaited(&error) => wait(),
            ended => return ended,
        }
        if ENDS.load(Ordering::Relaxed) && ending.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            return Err(io::Error::other("nobody reads the pipe, and a signal ended the wait"));
        }
    }
}

/// A path that is not a regular file. A pipe that was opened here does not block: a signal ends the wait for its reader.
struct Stream(File);

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let wait = || {
            #[cfg(unix)]
            {
                use std::os::fd::AsRawFd as _;
                let mut room = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
                // SAFETY: one descriptor, which is open and outlives the call.
                unsafe { libc::poll(&mut room, 1, PATIENCE.as_millis() as libc::c_int / 10) };
            }
        };
        awaited(|| (&self.0).write(bytes), |error| error.kind() == io::ErrorKind::WouldBlock, wait)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(unix)]
fn path_of_hex(digits: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    std::ffi::OsString::from_vec(hex::decode(digits).unwrap_or_default()).into()
}

#[cfg(not(unix))]
fn path_of_hex(digits: &str) -> PathBuf {
    String::from_utf8(hex::decode(digits).unwrap_or_default()).unwrap_or_default().into()
}

/// Opens a path that is not a regular file for writing. Standard output may be in the middle of a file, where writing continues.
fn open_stream(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    if path.metadata()?.file_type().is_fifo() && !path.starts_with("/dev") && !path.starts_with("/proc") {
        let open = || File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path);
        let has_no_reader = |error: &io::Error| error.raw_os_error() == Some(libc::ENXIO);
        return awaited(open, has_no_reader, || std::thread::sleep(PATIENCE / 100));
    }
    #[cfg(unix)]
    if path == Path::new("/dev/stdout") {
        use std::os::fd::AsFd as _;
        return Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?));
    }
    File::options().write(true).open(path)
}

/// The destination of a file.
struct WriteTarget {
    path: PathBuf,
    directory: PathBuf,
    name: String,
    /// The permissions of the existing file.
    permissions: Option<fs::Permissions>,
}

impl WriteTarget {
    /// Examines the path. If it is not a regular file, returns it opened instead.
    fn of(path: &Path) -> Result<Result<Self, File>, WriteError> {
        let failed = |source| WriteError::Write { path: path.to_owned(), source };
        let target = claims::claimed_place(path);
        let existing = match fs::metadata(path) {
            // A file that appeared in the meantime stays.
            Ok(_) if claims::is_taken(&target) => None,
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(failed(source)),
        };
        match &existing {
            Some(metadata) if metadata.is_dir() => return Err(WriteError::IsDirectory { path: path.to_owned() }),
            Some(_) if is_stream(path) => return open_stream(path).map(Err).map_err(failed),
            // Renaming onto a read-only file would succeed if the directory is writable.
            Some(metadata) if metadata.permissions().readonly() => {
                return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only")));
            }
            _ => {}
        }
        let ends_as_directory = path.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
        let Some(name) = target.file_name().filter(|_| !ends_as_directory) else {
            return Err(WriteError::IsDirectory { path: path.to_owned() });
        };
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };

        let (directory, name) = (directory.to_owned(), name.to_string_lossy().into_owned());
        Ok(Ok(Self { path: target, directory, name, permissions: existing.map(|metadata| metadata.permissions()) }))
    }

    /// A temporary file for this destination. `path`: the caller's name for it, for messages.
    fn temporary(
        &self,
        path: &Path,
        make: fn(&Path, &str, u32) -> io::Result<Temporary>,
    ) -> Result<Temporary, WriteError> {
        // It gets the permissions of any new file (less the umask).
        make(&self.directory, &self.name, 0o666).map_err(|source| match source.kind() {
            // Some existing directories, such as /proc, do not accept files.
            io::ErrorKind::NotFound if !self.directory.is_dir() => {
                WriteError::NoDirectory { directory: self.directory.clone(), path: path.to_owned() }
            }
            _ => WriteError::Create { directory: self.directory.clone(), path: path.to_owned(), source },
        })
    }

    /// Gives the file its name.
    fn name(self, temporary: Temporary) -> io::Result<()> {
        if let Some(permissions) = self.permissions {
            temporary.file().set_permissions(permissions)?;
        }
        temporary.file().sync_all()?;
        claims::put(&self.path, temporary)?;
        // The rename itself survives a power cut only once the directory is on disk. Some file systems cannot sync one:
        // the content is safe then, and which of the two names is found is up to them.
        if let Ok(directory) = File::open(&self.directory) {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::tests::names;

    #[test]
    fn a_new_file_holds_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new");
        write_atomically(&path, |w| w.write_all(b"content")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"content");
        assert_eq!(names(directory.path()), ["new"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kept");
        fs::write(&path, "old").unwrap();
        let error = write_atomically(&path, |w| {
            w.write_all(&[b'x'; 1 << 20])?;
            Err(io::Error::other("disk on fire"))
        })
        .unwrap_err();
        let message = error.to_string();
        assert!(message.contains("kept") && message.contains("disk on fire"), "{message}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["kept"]);
    }

    #[test]
    fn a_panic_while_writing_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kept");
        fs::write(&path, "old").unwrap();
        let result = std::panic::catch_unwind(|| write_atomically(&path, |_| panic!("on purpose")));
        assert!(result.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["kept"]);
    }

    #[test]
    fn a_directory_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let error = write_atomically(directory.path(), |_| Ok(())).unwrap_err();
        assert!(matches!(error, WriteError::IsDirectory { .. }), "{error}");
        let error = write_atomically(&directory.path().join("absent/"), |_| Ok(())).unwrap_err();
        assert!(matches!(error, WriteError::IsDirectory { .. }), "{error}");
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn a_missing_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = write_atomically(&directory.path().join("absent/file"), |_| Ok(())).unwrap_err();
        assert!(matches!(error, WriteError::NoDirectory { .. }), "{error}");
        assert!(error.to_string().contains("absent"), "{error}");
    }

    #[test]
    fn a_read_only_file_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kept");
        fs::write(&path, "old").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        let error = write_atomically(&path, |w| w.write_all(b"new")).unwrap_err();
        assert!(error.to_string().contains("read-only"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_any_new_file_or_of_the_replaced_one() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (ours, theirs) = (directory.path().join("ours"), directory.path().join("theirs"));
        write_atomically(&ours, |_| Ok(())).unwrap();
        fs::write(&theirs, "").unwrap();
        assert_eq!(mode(&ours), mode(&theirs));
        fs::set_permissions(&ours, fs::Permissions::from_mode(0o640)).unwrap();
        write_atomically(&ours, |_| Ok(())).unwrap();
        assert_eq!(mode(&ours), 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_atomically(&link, |w| w.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        write_atomically(Path::new("/dev/null"), |w| w.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
