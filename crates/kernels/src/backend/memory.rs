//! Storing fields and tables on a backend, and the fields that a backend stores.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::time::Duration;

use lanefield_reference::field::{Field, FieldData, FieldError, FieldShape, SiteObject, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::hop::HopTerm;
use lanefield_reference::layout::{LaneChoice, Lattice, Reach, Sites, Stencil};
use lanefield_reference::links::DoubledGauge;
use lanefield_reference::real::Precision;

use super::any_field::AnyField;
use super::error::BackendError;
use super::host_field::HostField;
use super::table::Table;

/// Stores fields and tables. Work may be queued: reading a result waits for it.
///
/// # Errors
/// Every function of a backend, and all functions that use one, may return errors of the driver, the system or another rank. Examples: memory runs
/// out, a kernel does not build, a device is lost. Errors of queued work may be returned by a later call.
pub trait Memory {
    /// The data of a field, in the layout that the backend chose.
    type Storage: Send + Sync;
    /// The neighbours of a stencil, or the coefficients of a matrix along s.
    type Table: Table + Send;

    /// A line that describes the backend: the device and its driver, or the CPU's threads and vector instructions.
    fn describe(&self) -> String;

    /// Wall time spent on building kernels so far. Solvers subtract it from their own time.
    fn building(&self) -> Duration {
        Duration::ZERO
    }

    /// The lane layout for a lattice whose fields this backend will store: the requested one, or the best one for the backend instead of `auto`. No
    /// bit of any result depends on it.
    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        asked_for
    }

    /// The largest value of `here` over all ranks of the lattice. Without other ranks it is `here`.
    fn largest(&self, here: f64) -> Result<f64, BackendError> {
        Ok(here)
    }

    /// The backend that computes in f64: this one, or one that replaces it if the device does not have f64.
    fn in_f64(&self) -> &Self {
        self
    }

    /// Storage of zeros for a field. The shape has been checked.
    ///
    /// # Errors
    /// Errors of the backend, such as too little memory. The same holds for every function of this trait.
    fn allocate(&self, shape: &FieldShape) -> Result<Self::Storage, BackendError>;
    /// Sets all of a field to +0.
    fn fill_zero(&self, field: &mut AnyField<Self::Storage>) -> Result<(), BackendError>;
    /// Copies a field from the host. A borrowed field is copied no more often than necessary.
    fn store(&self, field: Cow<'_, HostField>) -> Result<Self::Storage, BackendError>;
    /// Copies a field to the host.
    fn load(&self, field: &AnyField<Self::Storage>) -> Result<HostField, BackendError>;
    /// As [`Self::load`], including the halo of a local volume for reads of this depth. A whole lattice does not have a halo.
    fn load_with_ghosts(&self, field: &AnyField<Self::Storage>, _: Reach) -> Result<HostField, BackendError> {
        self.load(field)
    }
    /// Copies the tables of a stencil from the host.
    fn stencil(&self, stencil: Stencil) -> Result<Self::Table, BackendError>;
    /// Copies a matrix along the fifth dimension from the host. It is rounded to the working precision of fields of `precision`.
    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<Self::Table, BackendError>;
    /// Waits until all queued work is done.
    fn finish(&self) -> Result<(), BackendError>;

    /// A field of zeros.
    fn zeros<R: Vectors, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        kind: K,
    ) -> Result<FieldOn<Self, R, K>, BackendError> {
        FieldOn::zeros(self, lattice, sites, kind)
    }
    /// Sets all of a field to +0.
    fn clear<R: Vectors, K: SiteObject>(&self, field: &mut FieldOn<Self, R, K>) -> Result<(), BackendError> {
        self.fill_zero(field.any_mut())
    }
    /// Copies a field from the host.
    fn upload<R: Vectors, K: SiteObject>(&self, field: Field<R, K>) -> Result<FieldOn<Self, R, K>, BackendError> {
        FieldOn::store(self, field.into_data())
    }
    /// Copies a field to the host.
    fn download<R: Vectors, K: SiteObject>(&self, field: &FieldOn<Self, R, K>) -> Result<Field<R, K>, BackendError> {
        let loaded = self.load(field.any())?.into::<R>().and_then(|data| data.into_of::<K>());
        loaded.ok_or_else(|| {
            let (left, right) = (field.describe(), "what the backend returned".to_owned());
            FieldError::Mismatch { what: "downloading a field", left, right }.into()
        })
    }
}

impl<S> AnyField<S> {
    /// A field of zeros.
    ///
    /// # Errors
    /// The shape is not valid; errors of the backend.
    pub fn zeros<B: Memory<Storage = S> + ?Sized>(backend: &B, shape: FieldShape) -> Result<Self, BackendError> {
        shape.check()?;
        Ok(Self::new(backend.allocate(&shape)?, shape))
    }

    /// Copies a field from the host. An owned field may be used without a copy.
    pub fn store<B: Memory<Storage = S> + ?Sized>(
        backend: &B,
        field: Cow<'_, HostField>,
    ) -> Result<Self, BackendError> {
        let shape = field.shape();
        Ok(Self::new(backend.store(field)?, shape))
    }
}

/// A field of `K` objects of precision `R` on the backend `B`.
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

    /// Copies a field from the host.
    pub fn store(backend: &B, field: FieldData<R>) -> Result<Self, BackendError> {
        Ok(Self { any: AnyField::store(backend, Cow::Owned(HostField::new(field)))?, kind: PhantomData })
    }

    /// Its lattice.
    pub fn lattice(&self) -> &Lattice {
        &self.any.shape().lattice
    }

    /// Its sites.
    pub fn sites(&self) -> Sites {
        self.any.shape().sites
    }

    /// The object at each site.
    pub fn kind(&self) -> K {
        match K::of(self.any.shape().object) {
            Some(kind) => kind,
            None => unreachable!("a field holds the objects that it was made for"),
        }
    }

    /// A line about it, for messages.
    pub fn describe(&self) -> String {
        self.any.shape().describe()
    }

    /// The field with its type known at run time.
    pub fn any(&self) -> &AnyField<B::Storage> {
        &self.any
    }

    /// As [`Self::any`], for writing.
    pub(crate) fn any_mut(&mut self) -> &mut AnyField<B::Storage> {
        &mut self.any
    }

    /// As [`Self::any`], by value.
    pub fn into_any(self) -> AnyField<B::Storage> {
        self.any
    }

    /// The field, if it has `K` objects of precision `R`.
    pub fn of(any: &AnyField<B::Storage>) -> Option<&Self> {
        // SAFETY: a `FieldOn` is laid out as the `AnyField` that it consists of, and has no other conditions than those that were looked at.
        is_of::<R, K>(any.shape()).then(|| unsafe { &*std::ptr::from_ref(any).cast::<Self>() })
    }

    /// As [`Self::of`], for writing.
    pub fn of_mut(any: &mut AnyField<B::Storage>) -> Option<&mut Self> {
        // SAFETY: as in `of`; it borrows the same field for as long.
        is_of::<R, K>(any.shape()).then(|| unsafe { &mut *std::ptr::from_mut(any).cast::<Self>() })
    }
}

/// Whether a field has `K` objects of precision `R`.
fn is_of<R: Vectors, K: SiteObject>(shape: &FieldShape) -> bool {
    K::of(shape.object).is_some() && shape.precision == R::PRECISION
}

impl<B: Memory + ?Sized, R: Vectors, K: SiteObject> std::fmt::Debug for FieldOn<B, R, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe())
    }
}

/// A hop of fields on a backend, whose result a kernel uses in the same launch.
pub type HopOn<'a, B, R, K = Spinors> =
    HopTerm<'a, <B as Memory>::Table, FieldOn<B, R, DoubledGauge>, FieldOn<B, R, K>>;
