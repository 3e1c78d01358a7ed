//! A directory that is written whole or not at all: it is created next to its place, and renamed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lanefield_reference::ensure;
use tempfile::TempDir;

use super::atomic::WriteError;
use super::claims;

/// Why a directory was not written. Messages are fragments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum DirectoryError {
    #[error("cannot read or write {}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Parent(#[from] WriteError),
    #[error("{} already exists and is not empty: give another name{}", .path.display(), if *.replaceable { ", or --force to replace it" } else { "" })]
    NotEmpty { path: PathBuf, replaceable: bool },
    #[error("{} appeared in the meantime and stays as it is: the result is in {}", .path.display(), .written.display())]
    Appeared { path: PathBuf, written: PathBuf },
}

impl DirectoryError {
    /// Wraps a system error for a path.
    pub fn of(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

/// A directory that is being written. Dropping it removes it.
#[derive(Debug)]
pub struct NewDirectory {
    target: PathBuf,
    root: TempDir,
    /// Whether it replaces a directory that is not empty.
    replace: bool,
}

impl NewDirectory {
    /// Begins a directory that becomes `target`. If `target` exists and is not empty, `replace` must be true and `is_alike` must accept it.
    /// `prefix`: the beginning of its temporary name.
    pub fn new(
        target: &Path,
        prefix: &str,
        replace: bool,
        is_alike: impl FnOnce(&Path) -> bool,
    ) -> Result<Self, DirectoryError> {
        // Its own name, even if it is given as `.` or by a link.
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let is_there = holds_something(&target)?;
        if is_there {
            let replaceable = is_alike(&target);
            ensure!(replace && replaceable, DirectoryError::NotEmpty { path: target, replaceable });
        }
        let parent = claims::directory_of(&target);
        ensure!(parent.exists(), WriteError::NoDirectory { directory: parent.to_owned(), path: target }.into());
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        // Without the temporary name, which does not help the user.
        let root = builder.tempdir_in(parent).map_err(|error| DirectoryError::of(parent)(error.kind().into()))?;
        Ok(Self { target, root, replace: is_there })
    }

    /// The temporary directory, in which its files are created.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Its final path.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Moves it to its place.
    ///
    /// # Errors
    /// [`DirectoryError::Appeared`] if something else appeared in the place; the new directory then has another name. If the system
    /// refuses, the old one stays.
    pub fn finish(self) -> Result<(), DirectoryError> {
        let Self { target, root, replace } = self;
        let old = match fs::remove_dir(&target) {
            Ok(()) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // It has appeared in the meantime.
            Err(error) if !replace => {
                let Some(written) = claims::names_next_to(&target).find(|name| fs::create_dir(name).is_ok()) else {
                    return Err(DirectoryError::of(&target)(error));
                };
                fs::rename(root.path(), &written).map_err(DirectoryError::of(&written))?;
                let _ = root.keep();
                return Err(DirectoryError::Appeared { path: target, written });
            }
            // It is the directory to be replaced.
            Err(_) => {
                let parent = claims::directory_of(&target);
                let aside = tempfile::tempdir_in(parent).map_err(DirectoryError::of(parent))?;
                fs::rename(&target, aside.path().join("old")).map_err(DirectoryError::of(&target))?;
                Some(aside)
            }
        };
        if let Err(error) = fs::rename(root.path(), &target) {
            // The old directory is put back.
            if let Some(aside) = old {
                let _ = fs::rename(aside.path().join("old"), &target);
            }
            return Err(DirectoryError::of(&target)(error));
        }
        // The temporary directory no longer exists.
        let _ = root.keep();
        Ok(())
    }
}

/// Whether a directory exists and is not empty.
fn holds_something(path: &Path) -> Result<bool, DirectoryError> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(DirectoryError::of(path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::tests::names;

    fn written(target: &Path, replace: bool, content: &str) -> Result<(), DirectoryError> {
        let new = NewDirectory::new(target, ".test-", replace, |there| there.join("ours").exists())?;
        fs::write(new.root().join("ours"), content).unwrap();
        new.finish()
    }

    #[test]
    fn a_directory_is_there_when_it_is_whole_and_replaced_only_by_its_like() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new");
        let nowhere = folder.path().join("nowhere");
        let refused = written(&nowhere.join("new"), false, "").unwrap_err().to_string();
        assert!(
            refused.ends_with(&format!("the directory {} does not exist; make it, or give another", nowhere.display()))
        );
        drop(NewDirectory::new(&target, ".test-", false, |_| true).unwrap());
        assert!(names(folder.path()).is_empty());
        written(&target, false, "first").unwrap();
        let refused = written(&target, false, "second").unwrap_err().to_string();
        assert!(refused.ends_with("is not empty: give another name, or --force to replace it"), "{refused}");
        assert_eq!(fs::read_to_string(target.join("ours")).unwrap(), "first");
        written(&target, true, "second").unwrap();
        assert_eq!(fs::read_to_string(target.join("ours")).unwrap(), "second");
        assert_eq!(names(folder.path()), ["new"]);
        let late = folder.path().join("late");
        let new = NewDirectory::new(&late, ".test-", true, |_| true).unwrap();
        fs::write(new.root().join("ours"), "ours").unwrap();
        fs::create_dir(&late).unwrap();
        fs::write(late.join("theirs"), "").unwrap();
        let refused = new.finish().unwrap_err().to_string();
        assert!(refused.ends_with("late.1"), "{refused}");
        assert_eq!(fs::read_to_string(folder.path().join("late.1/ours")).unwrap(), "ours");
        assert!(late.join("theirs").exists());
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        written(&other, false, "in an empty one").unwrap();
        fs::remove_file(other.join("ours")).unwrap();
        fs::write(other.join("theirs"), "").unwrap();
        let refused = written(&other, true, "third").unwrap_err().to_string();
        assert!(refused.ends_with("is not empty: give another name"), "{refused}");
    }
}
