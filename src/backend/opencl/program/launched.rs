//! Notes in the cache about a driver (PoCL) that compiles kernels at their first launch with a work-group size, and stores them in its own
//! cache.

use std::path::PathBuf;

use super::cache::{Cache, EntryKind, Key};

/// A placeholder for a launch, if there is none.
pub(crate) const PROGRAM_ALONE: (&str, [usize; 3]) = ("", [0; 3]);

/// Whether the driver has compiled a kernel for a work-group size, according to the notes. `launch`: the kernel's name and that size.
pub(crate) fn was_launched(cache: &Cache, program: &Key, launch: (&str, [usize; 3])) -> bool {
    launched_key(program, launch).is_some_and(|key| cache.load(EntryKind::Launched, &key).is_some())
}

/// Notes that the driver has compiled a kernel.
pub(crate) fn note_launched(cache: &Cache, program: &Key, launch: (&str, [usize; 3])) {
    if let Some(key) = launched_key(program, launch) {
        cache.store(EntryKind::Launched, &key, &[]);
    }
}

/// The key of the note that PoCL's own cache has a kernel; `None` if that cache does not exist.
fn launched_key(program: &Key, (kernel, local): (&str, [usize; 3])) -> Option<Key> {
    let directory = directory_of_pocl()?;
    // A new directory has none of the kernels of an older one.
    let made = directory.metadata().ok()?.created().ok();
    Some(program.and(&format!("{kernel} in groups of {local:?}, kept in {directory:?} of {made:?}")))
}

/// The directory where PoCL stores compiled kernels, if it does.
fn directory_of_pocl() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if set("POCL_KERNEL_CACHE").is_some_and(|keeps| keeps == "0") {
        return None;
    }
    let of_user = || {
        let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
        Some(cache.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))?.join("pocl/kcache"))
    };
    set("POCL_CACHE_DIR").map(PathBuf::from).or_else(of_user)
}
