//! A lock on a directory, or on a file that is appended to, which only one process may write. It is a file that the operating system locks,
//! and unlocks when the process ends for any reason.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use super::claims::inode;

/// The name of the lock file in a locked directory.
pub(crate) const LOCK: &str = "lock";
/// The maximum size of the lock file, whose content is one line.
const MOST_BYTES: u64 = 512;

/// Why a lock was not acquired. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum LockError {
    #[error("{} is being written by {holder}: wait until it has ended, or give another name", path.display())]
    Held { path: PathBuf, holder: String },
    #[error("cannot lock {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// A lock that this process holds. Dropping it removes its file.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// The open file, which holds the lock if the file system supports locks.
    _file: File,
}

impl Lock {
    /// Acquires the lock of a directory, or of a file that need not exist yet. If another process has it, the error names that process.
    pub fn take(locked: &Path) -> Result<Self, LockError> {
        let path = match locked.is_dir() {
            true => locked.join(LOCK),
            false => {
                let mut name = locked.as_os_str().to_owned();
                name.push(".lock");
                name.into()
            }
        };
        let failed = |source| LockError::File { path: path.clone(), source };
        loop {
            let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
            let mut file = options.map_err(failed)?;
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                let mut holder = String::new();
                let read = file.take(MOST_BYTES).read_to_string(&mut holder);
                let holder = holder.lines().next().filter(|_| read.is_ok()).unwrap_or("another process").to_owned();
                return Err(LockError::Held { path: locked.to_owned(), holder });
            }
            // The previous holder may have removed the file after it was opened here.
            let ours = file.metadata().map_err(failed)?;
            if !fs::metadata(&path).is_ok_and(|there| inode(&there) == inode(&ours)) {
                continue;
            }
            let owner = format!("process {} on {}\n", std::process::id(), host());
            let write = |file: &mut File| {
                file.set_len(0)?;
                file.rewind()?;
                file.write_all(owner.as_bytes())
            };
            write(&mut file).map_err(failed)?;
            held().push(path.clone());
            return Ok(Self { path, _file: file });
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        held().retain(|path| *path != self.path);
    }
}

/// The lock files of this process.
static HELD: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn held() -> MutexGuard<'static, Vec<PathBuf>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the files of all locks. For a process that ends without dropping them.
pub fn remove_all() {
    for path in held().drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// The name of this machine.
fn host() -> String {
    #[cfg(target_os = "linux")]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(target_os = "linux"))]
    let name = "this machine".to_owned();
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_holds_a_lock_and_the_other_is_told_who() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().to_owned(), directory.path().join("state")] {
            let lock = Lock::take(&path).unwrap();
            let refused = Lock::take(&path).unwrap_err().to_string();
            let expected = format!("is being written by process {} on ", std::process::id());
            assert!(refused.contains(&expected), "{refused}");
            drop(lock);
            drop(Lock::take(&path).unwrap());
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
