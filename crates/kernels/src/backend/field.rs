//! Fields that a backend holds: what they are, and the backend's own storage of their numbers.

use std::any::Any;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanefield_reference::field::{FieldData, FieldShape, SiteObject};
use lanefield_reference::half::Half;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Reach, Sites};

use super::{BackendError, Memory};

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
    /// A field of zeros.
    ///
    /// # Errors
    /// A shape that is none; what the backend reports.
    pub fn zeros<B: Memory<Storage = S> + ?Sized>(backend: &B, shape: FieldShape) -> Result<Self, BackendError> {
        shape.check()?;
        Ok(Self::new(backend.allocate(&shape)?, shape))
    }

    fn new(storage: S, shape: FieldShape) -> Self {
        Self { shape, storage, ghosts: Mutex::default() }
    }

    /// A field of the host, taken over, or copied where it is borrowed.
    pub fn store<B: Memory<Storage = S> + ?Sized>(
        backend: &B,
        field: Cow<'_, HostField>,
    ) -> Result<Self, BackendError> {
        let shape = field.shape();
        Ok(Self::new(backend.store(field)?, shape))
    }

    /// What it is.
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
    pub fn copy_with_ghosts(&self) -> Option<Arc<Self>> {
        self.ghosts().as_ref().and_then(|held| held.copy.clone())
    }

    /// Says that the ghosts have come, in a copy or in the storage itself.
    pub fn hold_ghosts(&self, reach: Reach, copy: Option<Arc<Self>>) {
        *self.ghosts() = Some(HeldGhosts { reach, copy });
    }

    /// Says that the field is written: what other parts have of it is old, on all ranks, as what this one has of theirs.
    pub fn forget_ghosts(&mut self) {
        *self.ghosts.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Says that the ghosts are no longer those of the field as it is.
    pub fn drop_ghosts(&self) {
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

/// A field of `K` objects of precision `R` that the backend `B` holds.
#[repr(transparent)]
pub struct FieldOn<B: Memory + ?Sized, R, K> {
    any: AnyField<B::Storage>,
    kind: PhantomData<(R, K)>,
}

impl<B: Memory + ?Sized, R: Vectors, K: SiteObject> FieldOn<B, R, K> {
    /// A field of zeros.
    pub fn zeros(backend: &B, lattice: Lattice, sites: Sites, kind: K) -> Result<Self, BackendError> {
        let shape = FieldShape { lattice, sites, object: kind.object(), precision: R::PRECISION };
        Ok(Self { any: AnyField::zeros(backend, shape)?, kind: PhantomData })
    }

    /// Takes a field over from the host.
    pub fn store(backend: &B, field: FieldData<R>) -> Result<Self, BackendError> {
        Ok(Self { any: AnyField::store(backend, Cow::Owned(HostField::new(field)))?, kind: PhantomData })
    }

    /// The lattice that it lies on.
    pub fn lattice(&self) -> &Lattice {
        &self.any.shape.lattice
    }

    /// The sites that it lives on.
    pub fn sites(&self) -> Sites {
        self.any.shape.sites
    }

    /// What it holds at each site.
    pub fn kind(&self) -> K {
        match K::of(self.any.shape.object) {
            Some(kind) => kind,
            None => unreachable!("a field holds the objects that it was made for"),
        }
    }

    /// One line about it, for messages.
    pub fn describe(&self) -> String {
        self.any.shape.describe()
    }

    /// The same, known at run time.
    pub fn any(&self) -> &AnyField<B::Storage> {
        &self.any
    }

    /// The same, to be written.
    pub fn any_mut(&mut self) -> &mut AnyField<B::Storage> {
        &mut self.any
    }

    /// The same, by value.
    pub fn into_any(self) -> AnyField<B::Storage> {
        self.any
    }

    /// The field, if it is one of `K` objects of precision `R`.
    pub fn of(any: &AnyField<B::Storage>) -> Option<&Self> {
        // SAFETY: a `FieldOn` is laid out as the `AnyField` that it consists of, and has no other conditions than those that were looked at.
        is_of::<R, K>(any.shape()).then(|| unsafe { &*std::ptr::from_ref(any).cast::<Self>() })
    }

    /// The same, to be written.
    pub fn of_mut(any: &mut AnyField<B::Storage>) -> Option<&mut Self> {
        // SAFETY: as in `of`; it borrows the same field for as long.
        is_of::<R, K>(any.shape()).then(|| unsafe { &mut *std::ptr::from_mut(any).cast::<Self>() })
    }
}

/// Whether a field is one of `K` objects of precision `R`.
fn is_of<R: Vectors, K: SiteObject>(shape: &FieldShape) -> bool {
    K::of(shape.object).is_some() && shape.precision == R::PRECISION
}

impl<B: Memory + ?Sized, R: Vectors, K: SiteObject> std::fmt::Debug for FieldOn<B, R, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe())
    }
}

/// A field of the host whose type is known at run time.
#[derive(Clone, Debug)]
pub enum HostField {
    /// In f32.
    F32(FieldData<f32>),
    /// In f64.
    F64(FieldData<f64>),
    /// In half precision.
    Half(FieldData<Half>),
}

impl HostField {
    /// From a field of known precision.
    pub fn new<R: Vectors>(field: FieldData<R>) -> Self {
        /// The field, if it is of precision `S`.
        fn of<R: Vectors, S: Vectors>(field: &mut Option<FieldData<R>>) -> Option<FieldData<S>> {
            (field as &mut dyn Any).downcast_mut::<Option<FieldData<S>>>()?.take()
        }
        let mut field = Some(field);
        if let Some(field) = of::<R, f32>(&mut field) {
            return Self::F32(field);
        }
        if let Some(field) = of::<R, f64>(&mut field) {
            return Self::F64(field);
        }
        match of::<R, Half>(&mut field) {
            Some(field) => Self::Half(field),
            None => unreachable!("there are three precisions"),
        }
    }

    fn any(&self) -> &dyn Any {
        match self {
            Self::F32(field) => field,
            Self::F64(field) => field,
            Self::Half(field) => field,
        }
    }

    /// The field, if it is of that precision.
    pub fn get<R: Vectors>(&self) -> Option<&FieldData<R>> {
        self.any().downcast_ref()
    }

    /// Makes every bit of it 1.
    pub fn fill_with_ones(&mut self) {
        match self {
            Self::F32(field) => field.reals_mut().fill(f32::from_bits(u32::MAX)),
            Self::F64(field) => field.reals_mut().fill(f64::from_bits(u64::MAX)),
            Self::Half(field) => bytemuck::cast_slice_mut::<_, u8>(field.reals_mut()).fill(u8::MAX),
        }
    }

    /// The same, to be written.
    pub fn get_mut<R: Vectors>(&mut self) -> Option<&mut FieldData<R>> {
        let any: &mut dyn Any = match self {
            Self::F32(field) => field,
            Self::F64(field) => field,
            Self::Half(field) => field,
        };
        any.downcast_mut()
    }

    /// The same, by value.
    pub fn into<R: Vectors>(self) -> Option<FieldData<R>> {
        let any: Box<dyn Any> = match self {
            Self::F32(field) => Box::new(field),
            Self::F64(field) => Box::new(field),
            Self::Half(field) => Box::new(field),
        };
        any.downcast().ok().map(|field| *field)
    }

    /// What it is.
    pub fn shape(&self) -> FieldShape {
        match self {
            Self::F32(field) => field.shape(),
            Self::F64(field) => field.shape(),
            Self::Half(field) => field.shape(),
        }
    }
}
