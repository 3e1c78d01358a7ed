//! Detects whether this process is a fork of the one that loaded the drivers, which wait for threads that a fork does not have.

use std::sync::OnceLock;

use lanefield_reference::forks;

/// [`forks::count`] when the drivers were loaded.
static LOADED: OnceLock<usize> = OnceLock::new();

/// Notes that this process has loaded the drivers.
pub(crate) fn note_loaded() {
    LOADED.get_or_init(forks::count);
}

/// Whether a parent process, of which this one is a fork, loaded the drivers.
pub(crate) fn is_of_parent() -> bool {
    LOADED.get().is_some_and(|&forks| forks != forks::count())
}
