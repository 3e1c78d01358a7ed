//! Claims on output files: a program names its outputs before its work begins, and what exists in their place at that moment is recorded. A
//! file that appears later is not replaced; the result gets another name next to it, so neither is lost. Outputs that were not claimed
//! replace existing files.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::open::is_stream;
use crate::temporary::Temporary;

/// The state of a file when it was looked at. It changes if the file is replaced or written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    /// Device and inode.
    place: Option<[u64; 2]>,
    length: u64,
    modified: Option<SystemTime>,
}

impl Seen {
    fn of(metadata: &Metadata) -> Self {
        Self { place: inode(metadata), length: metadata.len(), modified: metadata.modified().ok() }
    }

    fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}

/// The device and the inode of a file, on systems that have them.
pub(super) fn inode(metadata: &Metadata) -> Option<[u64; 2]> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some([metadata.dev(), metadata.ino()])
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

#[derive(Debug)]
struct Claim {
    argument: String,
    /// Whether any file in its place is replaced.
    replaces: bool,
    seen: Option<Seen>,
    written: PathBuf,
    /// Whether this process has written it.
    is_written: bool,
}

static CLAIMS: Mutex<BTreeMap<PathBuf, Claim>> = Mutex::new(BTreeMap::new());
/// The places of outputs, by the names that they were claimed by. A link that appears later does not change them.
static PLACES: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

fn claims() -> MutexGuard<'static, BTreeMap<PathBuf, Claim>> {
    CLAIMS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn places() -> MutexGuard<'static, BTreeMap<PathBuf, PathBuf>> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of an output when it was claimed, or where its path leads if it was not.
pub(super) fn claimed_place(path: &Path) -> PathBuf {
    let claimed = named(path).and_then(|name| places().get(&name).cloned());
    claimed.unwrap_or_else(|| place(path))
}

/// The path of a file: its directory is resolved, but not a link of its own name.
fn named(path: &Path) -> Option<PathBuf> {
    Some(directory_of(path).canonicalize().ok()?.join(path.file_name()?))
}

/// Claims the output that an argument names, before the work. Only a file that exists at this moment is replaced, or with `replaces` any
/// file that exists in the end. If another argument has already claimed the same file, that argument is returned. Devices and pipes are not
/// claimed.
pub fn claim(path: &Path, argument: &str, replaces: bool) -> Option<String> {
    let place = place(path);
    if is_stream(path) || place.is_dir() {
        return None;
    }
    let seen = Seen::at(&place);
    places().extend(named(path).map(|name| (name, place.clone())));
    insert(place, argument, replaces, seen)
}

/// Claims a new file. Nothing may exist in its place.
pub(crate) fn claim_new(path: &Path, argument: &str) {
    let place = place(path);
    places().extend(named(path).map(|name| (name, place.clone())));
    insert(place, argument, false, None);
}

fn insert(place: PathBuf, argument: &str, replaces: bool, seen: Option<Seen>) -> Option<String> {
    let mut claims = claims();
    let other = claims.get(&place).map(|claim| claim.argument.clone()).filter(|other| other != argument);
    if other.is_none() {
        claims.insert(
            place.clone(),
            Claim { argument: argument.to_owned(), replaces, seen, written: place, is_written: false },
        );
    }
    other
}

/// The argument that claimed a file as output.
pub fn claimed_by(path: &Path) -> Option<String> {
    claims().get(&claimed_place(path)).map(|claim| claim.argument.clone())
}

/// The path of an output's content: `path`, or the name next to it that was used because another file had appeared there.
pub fn written_to(path: &Path) -> PathBuf {
    let place = claimed_place(path);
    let other = claims().get(&place).filter(|claim| claim.written != place).map(|claim| claim.written.clone());
    other.unwrap_or_else(|| path.to_owned())
}

/// The outputs that had to be written under another name, as pairs of the requested name and the actual one.
pub fn displaced() -> Vec<[PathBuf; 2]> {
    let claims = claims();
    let others = claims.iter().filter(|(place, claim)| claim.written != **place);
    others.map(|(place, claim)| [place.clone(), claim.written.clone()]).collect()
}

/// At the end of the process, prevents outputs from getting their names, and returns those that were written. `None` if an output is
/// getting its name at this moment.
pub fn close() -> Option<Vec<PathBuf>> {
    // The holder of the lock may wait for another process.
    let claims = CLAIMS.try_lock().ok()?;
    let written = claims.values().filter(|claim| claim.is_written).map(|claim| claim.written.clone()).collect();
    std::mem::forget(claims);
    Some(written)
}

/// Whether the place of a claimed output holds anything other than what was there, or what was written.
pub(super) fn is_taken(place: &Path) -> bool {
    claims()
        .get(place)
        .is_some_and(|claim| !claim.replaces && (claim.written != *place || claim.seen != Seen::at(place)))
}

/// Removes a file that is about to be replaced, unless it appeared after it was claimed.
pub fn remove(path: &Path) -> io::Result<()> {
    let place = claimed_place(path);
    let mut claims = claims();
    let claim = claims.get_mut(&place).filter(|claim| !claim.replaces);
    if claim.as_ref().is_some_and(|claim| claim.seen != Seen::at(&place)) {
        return Ok(());
    }
    if let Some(claim) = claim {
        claim.seen = None;
    }
    match fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Creates a file that is appended to under its own name. The name may differ from the claimed one.
pub fn create(path: &Path) -> io::Result<File> {
    let place = claimed_place(path);
    let mut claims = claims();
    let mut claim = claims.get_mut(&place);
    claim.iter_mut().for_each(|claim| claim.is_written = true);
    let Some(claim) = claim.filter(|claim| !claim.replaces) else { return File::create(place) };
    if claim.seen.is_some() && claim.seen == Seen::at(&place) {
        return File::create(place);
    }
    let mut made = File::create_new(&place);
    for name in names_next_to(&place) {
        match &made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => made = File::create_new(&name),
            _ => break,
        }
        claim.written = name;
    }
    made
}

/// Moves a complete file to its place ([`place`]), or to a name next to it if another file has appeared there.
pub(super) fn put(place: &Path, temporary: Temporary) -> io::Result<()> {
    let mut claims = claims();
    let Some(claim) = claims.get_mut(place) else { return temporary.persist(place) };
    if claim.replaces {
        temporary.persist(place)?;
        claim.is_written = true;
        return Ok(());
    }
    let written = Seen::of(&temporary.file().metadata()?);
    let mut left = Some(temporary);
    if claim.seen.is_some() {
        // If several processes replace the same file, the others wait, and then find that it is not the one they saw.
        let replaced = File::open(&claim.written).ok();
        let _locked = replaced.as_ref().is_some_and(|file| file.lock().is_ok());
        if Seen::at(&claim.written) == claim.seen
            && let Some(temporary) = left.take()
        {
            temporary.persist(&claim.written)?;
        }
    }
    for name in std::iter::once(claim.written.clone()).chain(names_next_to(place)) {
        let Some(temporary) = left.take() else { break };
        left = temporary.persist_new(&name)?;
        claim.written = name;
    }
    (claim.seen, claim.is_written) = (Some(written), true);
    Ok(())
}

/// `path`, or the first name next to it that is free.
pub fn free_name(path: &Path) -> PathBuf {
    let mut names = std::iter::once(path.to_owned()).chain(names_next_to(path));
    names.find(|name| fs::symlink_metadata(name).is_err()).unwrap_or_else(|| path.to_owned())
}

/// `x.1.npy`, `x.2.npy` and so on for `x.npy`.
pub(super) fn names_next_to(path: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    (1..=9999u32).map(|number| {
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!(".{number}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    })
}

/// The directory of a file.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path with symbolic links resolved, even if the file does not exist yet.
pub fn place(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // The maximum number of links that Linux follows.
    for _ in 0..40 {
        if let Ok(canonical) = path.canonicalize() {
            return canonical;
        }
        let Some(name) = named(&path) else { break };
        path = match fs::read_link(&name) {
            Ok(link) => directory_of(&name).join(link),
            Err(_) => return name,
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::atomic::write_atomically;
    use crate::temporary::tests::names;

    fn write(path: &Path, content: &str) {
        write_atomically(path, |writer| writer.write_all(content.as_bytes())).unwrap();
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn what_appears_after_the_claim_stays_and_the_output_is_next_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.npy");
        assert_eq!(claim(&path, "--output", false), None);
        fs::write(&path, "theirs").unwrap();
        fs::write(directory.path().join("x.1.npy"), "older").unwrap();
        let appears_as_directory = directory.path().join("y");
        claim(&appears_as_directory, "--csv", false);
        fs::create_dir(&appears_as_directory).unwrap();
        write(&appears_as_directory, "rows");
        assert_eq!(read(&directory.path().join("y.1")), "rows");
        fs::remove_file(directory.path().join("y.1")).unwrap();
        fs::remove_dir(appears_as_directory).unwrap();
        for content in ["ours", "ours again"] {
            write(&path, content);
            assert_eq!((read(&path), read(&written_to(&path))), ("theirs".to_owned(), content.to_owned()));
        }
        assert_eq!(names(directory.path()), ["x.1.npy", "x.2.npy", "x.npy"]);
        assert!(displaced().contains(&[place(&path), place(&directory.path().join("x.2.npy"))]));
    }

    #[test]
    fn what_was_there_at_the_claim_is_replaced_again_and_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        fs::write(&path, "").unwrap();
        claim(&path, "--checkpoint", false);
        ["first", "second"].iter().for_each(|content| write(&path, content));
        assert_eq!((read(&path), written_to(&path)), ("second".to_owned(), path.clone()));
        fs::write(&path, "theirs").unwrap();
        remove(&path).unwrap();
        write(&path, "third");
        assert_eq!((read(&path), read(&directory.path().join("state.1"))), ("theirs".to_owned(), "third".to_owned()));
    }

    #[test]
    fn a_file_that_grows_takes_no_name_that_appeared() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record");
        claim(&path, "--record", false);
        fs::write(&path, "theirs").unwrap();
        drop(create(&path).unwrap());
        assert_eq!((read(&path), written_to(&path)), ("theirs".to_owned(), place(&directory.path().join("record.1"))));
    }

    #[test]
    #[cfg(unix)]
    fn one_file_has_one_place_whatever_it_is_called() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("file"), directory.path().join("link"));
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert_eq!(claim(&path, "--output", false), None);
        assert_eq!(claim(&link, "--trace", false), Some("--output".to_owned()));
        assert_eq!(claimed_by(&directory.path().join("./file")), Some("--output".to_owned()));
        // A link that appears later does not redirect an output.
        let (other, late) = (directory.path().join("other"), directory.path().join("late"));
        fs::write(&other, "theirs").unwrap();
        claim(&late, "--csv", false);
        std::os::unix::fs::symlink("other", &late).unwrap();
        write(&late, "ours");
        assert_eq!((read(&other), read(&directory.path().join("late.1"))), ("theirs".to_owned(), "ours".to_owned()));
        // A link to a file that does not exist yet is also followed.
        write(&link, "content");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read(&path), "content");
    }
}
