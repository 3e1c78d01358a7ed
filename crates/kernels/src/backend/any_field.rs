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

/// The halo of a field on a local volume, since the field was last written.
#[derive(Debug)]
struct HeldGhosts<S> {
    /// How many sites deep the halo is.
    reach: Reach,
    /// A copy of the field with its halo, if the backend stores it in a copy.
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

    /// The backend's storage, for writing.
    pub fn storage_mut(&mut self) -> &mut S {
        self.forget_ghosts();
        &mut self.storage
    }

    /// The depth of the halo that matches the current contents of the neighbouring ranks, if any.
    pub fn held_ghosts(&self) -> Option<Reach> {
        self.ghosts().as_ref().map(|held| held.reach)
    }

    /// The field with its halo, if the backend stores it in a copy.
    pub(crate) fn copy_with_ghosts(&self) -> Option<Arc<Self>> {
        self.ghosts().as_ref().and_then(|held| held.copy.clone())
    }

    /// Notes that the halo has arrived, in a copy or in the storage itself.
    pub(crate) fn hold_ghosts(&self, reach: Reach, copy: Option<Arc<Self>>) {
        *self.ghosts() = Some(HeldGhosts { reach, copy });
    }

    /// Notes that the field is written: its copies in the halos of other ranks, and its own halo, are out of date.
    pub fn forget_ghosts(&mut self) {
        *self.ghosts.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Notes that the halo no longer matches the field.
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
