//! Who holds fields and tables, and the fields that it holds.

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

/// Holds the numbers of fields, and tables. Work may be queued: results are there when they are read.
///
/// # Errors
/// Every function of a backend, and all that is built on one, may return what the driver, the system or another rank reports: memory that is not
/// there, a kernel that does not build, a device that was lost. Errors of earlier work that was queued may come later.
pub trait Memory {
    /// The numbers of a field, in the layout that the backend chose for it.
    type Storage: Send + Sync;
    /// A stencil's neighbours, or the coefficients of a matrix along s.
    type Table: Table + Send;

    /// One line for people: the device and its driver, or the CPU's threads and vectors.
    fn describe(&self) -> String;

    /// Wall time that went into building kernels so far: a solver leaves it out of its own.
    fn building(&self) -> Duration {
        Duration::ZERO
    }

    /// The lanes for a lattice whose fields this backend is to hold: what was asked for, and in place of `auto` what suits it. No bit of any result
    /// depends on it.
    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        asked_for
    }

    /// The largest of the numbers that all who work on the lattice have: this one, where nobody else does.
    fn largest(&self, here: f64) -> Result<f64, BackendError> {
        Ok(here)
    }

    /// Who computes in f64: this backend, or who does it in place of a device without f64, if somebody does.
    fn in_f64(&self) -> &Self {
        self
    }

    /// Storage of zeros for a field. The shape was checked.
    ///
    /// # Errors
    /// An error of the backend, such as no memory; the same for every function of this trait.
    fn allocate(&self, shape: &FieldShape) -> Result<Self::Storage, BackendError>;
    /// Makes all of a field +0.
    fn fill_zero(&self, field: &mut AnyField<Self::Storage>) -> Result<(), BackendError>;
    /// Takes the numbers of a field over from the host; of a field that is only borrowed it makes no more copies than it needs.
    fn store(&self, field: Cow<'_, HostField>) -> Result<Self::Storage, BackendError>;
    /// A copy of a field on the host.
    fn load(&self, field: &AnyField<Self::Storage>) -> Result<HostField, BackendError>;
    /// The same with what fields on a part of a lattice hold of other parts, for reads that go so far; of a whole lattice there is nothing more.
    fn load_with_ghosts(&self, field: &AnyField<Self::Storage>, _: Reach) -> Result<HostField, BackendError> {
        self.load(field)
    }
    /// Takes a stencil's tables over from the host.
    fn stencil(&self, stencil: Stencil) -> Result<Self::Table, BackendError>;
    /// Takes a matrix along the fifth dimension over from the host, rounded to the precision in which fields of `precision` are computed with.
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
    /// Makes all of a field +0.
    fn clear<R: Vectors, K: SiteObject>(&self, field: &mut FieldOn<Self, R, K>) -> Result<(), BackendError> {
        self.fill_zero(field.any_mut())
    }
    /// Takes a field over from the host.
    fn upload<R: Vectors, K: SiteObject>(&self, field: Field<R, K>) -> Result<FieldOn<Self, R, K>, BackendError> {
        FieldOn::store(self, field.into_data())
    }
    /// A copy of a field on the host.
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
    /// A shape that is none; what the backend reports.
    pub fn zeros<B: Memory<Storage = S> + ?Sized>(backend: &B, shape: FieldShape) -> Result<Self, BackendError> {
        shape.check()?;
        Ok(Self::new(backend.allocate(&shape)?, shape))
    }

    /// A field of the host, taken over, or copied where it is borrowed.
    pub fn store<B: Memory<Storage = S> + ?Sized>(
        backend: &B,
        field: Cow<'_, HostField>,
    ) -> Result<Self, BackendError> {
        let shape = field.shape();
        Ok(Self::new(backend.store(field)?, shape))
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
        &self.any.shape().lattice
    }

    /// The sites that it lives on.
    pub fn sites(&self) -> Sites {
        self.any.shape().sites
    }

    /// What it holds at each site.
    pub fn kind(&self) -> K {
        match K::of(self.any.shape().object) {
            Some(kind) => kind,
            None => unreachable!("a field holds the objects that it was made for"),
        }
    }

    /// One line about it, for messages.
    pub fn describe(&self) -> String {
        self.any.shape().describe()
    }

    /// The same, known at run time.
    pub fn any(&self) -> &AnyField<B::Storage> {
        &self.any
    }

    /// The same, to be written.
    pub(crate) fn any_mut(&mut self) -> &mut AnyField<B::Storage> {
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

/// A hop of fields that a backend holds, with which a kernel goes on.
pub type HopOn<'a, B, R, K = Spinors> =
    HopTerm<'a, <B as Memory>::Table, FieldOn<B, R, DoubledGauge>, FieldOn<B, R, K>>;
