//! Fields whose type is known at run time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanefield_reference::field::FieldShape;
use lanefield_reference::layout::Reach;

/// A field whose type is known at run time, with the storage `S` of a backend.
#[derive(Debug)]
pub struct AnyField<S> {
    shape: FieldShape,
    storage: S,
    ghosts: Mutex<Option<HeldGhosts<S>>>,
}

/// What a field on a part of a lattice holds of other parts, since it was last written.
#[derive(Debug)]
struct HeldGhosts<S> {
    /// How far.
    reach: Reach,
    /// The field with them, where a backend has them in a copy.
    copy: Option<Arc<AnyField<S>>>,
}

impl<S> AnyField<S> {
    pub(super) fn new(storage: S, shape: FieldShape) -> Self {
        Self { shape, storage, ghosts: Mutex::default() }
    }

    /// The lattice, sites, object and precision.
    pub fn shape(&self) -> &FieldShape {
        &self.shape
    }

    /// The backend's storage.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// The backend's storage, to be written.
    pub fn storage_mut(&mut self) -> &mut S {
        self.forget_ghosts();
        &mut self.storage
    }

    /// How far the field holds sites of other parts of the lattice, as they are now.
    pub fn held_ghosts(&self) -> Option<Reach> {
        self.ghosts().as_ref().map(|held| held.reach)
    }

    /// The field with its ghosts, where a backend has them in a copy.
    pub(crate) fn copy_with_ghosts(&self) -> Option<Arc<Self>> {
        self.ghosts().as_ref().and_then(|held| held.copy.clone())
    }

    /// Says that the ghosts have come, in a copy or in the storage itself.
    pub(crate) fn hold_ghosts(&self, reach: Reach, copy: Option<Arc<Self>>) {
        *self.ghosts() = Some(HeldGhosts { reach, copy });
    }

    /// Says that the field is written: what other parts have of it is old, on all ranks, as what this one has of theirs.
    pub fn forget_ghosts(&mut self) {
        *self.ghosts.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Says that the ghosts are no longer those of the field as it is.
    pub(crate) fn drop_ghosts(&self) {
        *self.ghosts() = None;
    }

    fn ghosts(&self) -> MutexGuard<'_, Option<HeldGhosts<S>>> {
        self.ghosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Clone> Clone for AnyField<S> {
    fn clone(&self) -> Self {
        Self::new(self.storage.clone(), self.shape)
    }
}
