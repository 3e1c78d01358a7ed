//! A file that gets its name only when it is complete. On Linux it has no name before that, so nothing is left behind however the process
//! ends. If the file system has no unnamed files, or if another file is to be replaced, it has a temporary name. Each process holds a lock
//! on its own temporary file; the next process that writes a file of the same name removes those of processes that were killed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

const SUFFIX: &str = ".lanefield.tmp";
/// The number of random letters in a name from `tempfile`.
const RANDOM: usize = 6;

/// A file that is being written. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Temporary {
    prefix: String,
    held: HeldFile,
}

#[derive(Debug)]
enum HeldFile {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(NamedTempFile),
}

impl Temporary {
    /// Creates a file in a directory, with the permissions `mode` minus the umask. A temporary name starts with a dot and `name`.
    pub(crate) fn new_in(directory: &Path, name: &str, mode: u32) -> io::Result<Self> {
        // The file system limits the length of a name, and the target's may be at the limit.
        let prefix = format!(".{name}").chars().take(32).collect();
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed(directory, mode)? {
            return Ok(Self { prefix, held: HeldFile::Unnamed(file) });
        }
        let held = HeldFile::Named(named(directory, &prefix, mode)?);
        Ok(Self { prefix, held })
    }

    /// As [`Self::new_in`], but always with a temporary name, by which other processes can also open it.
    pub(crate) fn named_in(directory: &Path, name: &str, mode: u32) -> io::Result<Self> {
        let prefix: String = format!(".{name}").chars().take(32).collect();
        let held = HeldFile::Named(named(directory, &prefix, mode)?);
        Ok(Self { prefix, held })
    }

    /// Its temporary name, if it has one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.held {
            #[cfg(target_os = "linux")]
            HeldFile::Unnamed(_) => None,
            HeldFile::Named(file) => Some(file.path()),
        }
    }

    pub(crate) fn file(&self) -> &File {
        match &self.held {
            #[cfg(target_os = "linux")]
            HeldFile::Unnamed(file) => file,
            HeldFile::Named(file) => file.as_file(),
        }
    }

    /// Gives the file the name `target`, in the directory in which it was created, if no file has that name. Otherwise returns it.
    pub(crate) fn persist_new(self, target: &Path) -> io::Result<Option<Self>> {
        let Self { prefix, held } = self;
        let (error, held) = match held {
            #[cfg(target_os = "linux")]
            HeldFile::Unnamed(file) => match link(&file, target) {
                Ok(()) => return Ok(None),
                Err(error) => (error, HeldFile::Unnamed(file)),
            },
            HeldFile::Named(file) => match file.persist_noclobber(target) {
                Ok(_) => return Ok(None),
                Err(error) => (error.error, HeldFile::Named(error.file)),
            },
        };
        match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(Some(Self { prefix, held })),
            _ => Err(error),
        }
    }

    /// Gives the file the name `target`, in the directory in which it was created, replacing a file of that name.
    pub(crate) fn persist(self, target: &Path) -> io::Result<()> {
        let named = match self.held {
            #[cfg(target_os = "linux")]
            HeldFile::Unnamed(file) => match link(&file, target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
                    let directory = directory.unwrap_or(Path::new("."));
                    remove_stale(directory, &self.prefix);
                    // Some file systems have no locks, and then nobody removes what may be in use.
                    let _ = file.try_lock();
                    let named =
                        Builder::new().prefix(&self.prefix).suffix(SUFFIX).make_in(directory, |path| link(&file, path));
                    let (_, path) = named.map_err(as_system)?.into_parts();
                    return path.persist(target).map_err(|error| error.error);
                }
                result => return result,
            },
            HeldFile::Named(file) => file,
        };
        named.persist(target).map(drop).map_err(|error| error.error)
    }
}

/// Creates a file without a name, if the system and the file system support it.
#[cfg(target_os = "linux")]
fn unnamed(directory: &Path, mode: u32) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::Errno;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    // Through which it will be named.
    let can_be_named = Path::new("/proc/self/fd").exists();
    if !can_be_named {
        return Ok(None);
    }
    match open(directory, flags, Mode::from_raw_mode(mode)) {
        Ok(file) => Ok(Some(file.into())),
        // Also what systems and file systems answer that do not know the flag.
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::ISDIR | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Gives a name to a file that has none. Fails if a file with that name exists.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd as _;
    let descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, descriptor, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// A file with a temporary name, and a lock on it.
fn named(directory: &Path, prefix: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(prefix).suffix(SUFFIX).rand_bytes(RANDOM);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    remove_stale(directory, prefix);
    loop {
        let made = builder.tempfile_in(directory).map_err(as_system)?;
        let taken = matches!(made.as_file().try_lock(), Err(TryLockError::WouldBlock));
        // Another process may have taken it for stale before it was locked.
        if !taken && made.path().exists() {
            return Ok(made);
        }
    }
}

/// Removes files that killed processes left behind: those with temporary names that nobody has locked.
fn remove_stale(directory: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let random = name.strip_prefix(prefix).and_then(|name| name.strip_suffix(SUFFIX));
        let is_ours =
            random.is_some_and(|letters| letters.len() == RANDOM) && entry.file_type().is_ok_and(|kind| kind.is_file());
        // The lock is held until the file is gone.
        if is_ours
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes the name of the temporary file from an error. tempfile adds it, but it does not help the user.
fn as_system(error: io::Error) -> io::Error {
    error.kind().into()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write as _;

    use super::*;

    /// The names in a directory, sorted.
    pub(crate) fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_left_is_removed_and_what_is_in_use_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let left = [".stateABCDEF.lanefield.tmp", ".state123456.lanefield.tmp"];
        let others = [".state.lanefield.tmp", ".stateABCDEF.tmp", ".otherABCDEF.lanefield.tmp", "state"];
        left.into_iter().chain(others).for_each(|name| fs::write(directory.join(name), name).unwrap());
        let in_use = named(directory, ".state", 0o600).unwrap();
        let second = named(directory, ".state", 0o600).unwrap();
        let mut expected: Vec<String> = others.map(str::to_owned).to_vec();
        for file in [&in_use, &second] {
            expected.push(file.path().file_name().unwrap().to_string_lossy().into_owned());
        }
        expected.sort();
        assert_eq!(names(directory), expected);
        in_use.persist(directory.join("state")).unwrap();
        drop(second);
        assert_eq!(names(directory).len(), others.len());
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole_also_in_place_of_another() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let path = directory.join("whole");
        for content in ["first", "second"] {
            fs::write(directory.join(".wholeABCDEF.lanefield.tmp"), "left").unwrap();
            let temporary = Temporary::new_in(directory, "whole", 0o600).unwrap();
            temporary.file().write_all(content.as_bytes()).unwrap();
            temporary.persist(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(names(directory), ["whole"]);
        drop(Temporary::new_in(directory, "whole", 0o600).unwrap());
        assert_eq!(names(directory), ["whole"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn nothing_is_seen_of_a_file_on_its_way_where_the_system_has_such_files() {
        let directory = tempfile::tempdir().unwrap();
        let temporary = Temporary::new_in(directory.path(), "whole", 0o600).unwrap();
        assert_eq!(names(directory.path()).is_empty(), matches!(temporary.held, HeldFile::Unnamed(_)));
    }
}
