//! Operators that are known at run time, ready on a backend: each part is made when it is first applied, and kept. Who applies one knows neither its
//! type nor its precision. The interfaces to C and Python hold operators so.

use std::borrow::Cow;
use std::sync::Arc;

use lanefield_reference::field::{FieldData, FieldError, FieldShape, SiteObject as _};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Parity, Sites};
use num_complex::Complex;

use super::{AnyModel, Model, ModelTask, Operator as _, SchurComplement};
use crate::backend::{AnyField, Backend, BackendError, FieldOn, HostField, Memory};

/// What of an operator is applied, and onto which sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// All of it, on all sites.
    Full,
    /// The part that connects the parities, onto one.
    Meooe(Parity),
    /// The part that stays on a parity.
    Mooee(Parity),
    /// The inverse of that.
    MooeeInverse(Parity),
    /// The Schur complement on the odd sites.
    Mpc,
}

impl Piece {
    /// The sites of the result.
    pub fn onto(self) -> Sites {
        match self {
            Self::Full => Sites::Full,
            Self::Meooe(parity) | Self::Mooee(parity) | Self::MooeeInverse(parity) => Sites::Parity(parity),
            Self::Mpc => Sites::Parity(Parity::Odd),
        }
    }

    /// The sites of the source.
    pub fn from(self) -> Sites {
        if matches!(self, Self::Meooe(_)) { self.onto().neighbours() } else { self.onto() }
    }

    /// Whether it divides by the diagonal.
    pub fn divides(self) -> bool {
        matches!(self, Self::MooeeInverse(_) | Self::Mpc)
    }
}

/// Result and source, which a backend holds.
pub struct Fields<S> {
    /// The result.
    pub out: AnyField<S>,
    /// The source.
    pub psi: AnyField<S>,
}

/// An operator on fields with the storage `S`, of its object and precision.
pub trait Applied<S> {
    /// Makes `out` the piece, or its Hermitian conjugate, of `psi`. The fields come back, whatever happens.
    fn apply(&mut self, piece: Piece, dagger: Dagger, fields: Fields<S>) -> (Fields<S>, Result<(), BackendError>);
}

/// An operator that is ready on a backend, and may move to another thread.
pub type Prepared<'b, B> = Box<dyn Applied<<B as Memory>::Storage> + Send + 'b>;

/// An operator in precision `R` on a backend, of which nothing is made yet.
pub fn prepare<'b, B: Backend, R: Vectors>(
    backend: &'b B,
    model: AnyModel,
    configuration: Arc<Configuration>,
) -> Prepared<'b, B> {
    struct Boxing<'b, B, R>(&'b B, Arc<Configuration>, std::marker::PhantomData<R>);

    impl<'b, B: Backend, R: Vectors> ModelTask for Boxing<'b, B, R> {
        type Output = Prepared<'b, B>;

        fn run<M: Model>(self, model: M) -> Self::Output {
            let Self(backend, configuration, _) = self;
            Box::new(OfModel::<'b, B, R, M> { backend, model, configuration, full: None, schur: None })
        }
    }

    model.run(Boxing::<'b, B, R>(backend, configuration, std::marker::PhantomData))
}

/// An operator with its parameters.
struct OfModel<'b, B: Backend, R: Vectors, M: Model> {
    backend: &'b B,
    model: M,
    configuration: Arc<Configuration>,
    full: Option<M::Full<'b, B, R>>,
    schur: Option<SchurComplement<'b, B, R, M::Object>>,
}

/// What was made before, or is made now.
fn made<T>(slot: &mut Option<T>, make: impl FnOnce() -> Result<T, BackendError>) -> Result<&mut T, BackendError> {
    let value = match slot.take() {
        Some(value) => value,
        None => make()?,
    };
    Ok(slot.insert(value))
}

impl<B: Backend, R: Vectors, M: Model> OfModel<'_, B, R, M> {
    fn run(
        &mut self,
        piece: Piece,
        dagger: Dagger,
        out: &mut FieldOn<B, R, M::Object>,
        psi: &FieldOn<B, R, M::Object>,
    ) -> Result<(), BackendError> {
        let (backend, configuration, lattice) = (self.backend, &self.configuration, *out.lattice());
        if piece == Piece::Full {
            let full = made(&mut self.full, || self.model.full::<B, R>(backend, configuration, lattice))?;
            return full.apply(out, psi, dagger);
        }
        let make = || SchurComplement::new(self.model.even_odd::<B, R>(backend, configuration, lattice)?);
        let schur = made(&mut self.schur, make)?;
        match piece {
            Piece::Meooe(_) => schur.pieces().meooe(out, psi, dagger),
            Piece::Mooee(_) => schur.pieces().mooee(out, psi, dagger),
            Piece::MooeeInverse(_) => schur.pieces().mooee_inv(out, psi, dagger),
            Piece::Full | Piece::Mpc => schur.apply(out, psi, dagger),
        }
    }
}

impl<B: Backend, R: Vectors, M: Model> Applied<B::Storage> for OfModel<'_, B, R, M> {
    fn apply(
        &mut self,
        piece: Piece,
        dagger: Dagger,
        Fields { out, psi }: Fields<B::Storage>,
    ) -> (Fields<B::Storage>, Result<(), BackendError>) {
        let fits = |field: &AnyField<B::Storage>| {
            field.shape().precision == R::PRECISION && M::Object::of(field.shape().object).is_some()
        };
        let other = [&out, &psi].into_iter().find(|field| !fits(field)).map(|field| field.shape().describe());
        if let Some(left) = other {
            let right = format!("{} in {}", self.model.object(1).object().name(), R::NAME);
            let mismatch = FieldError::Mismatch { what: "applying an operator", left, right };
            return (Fields { out, psi }, Err(mismatch.into()));
        }
        let (Some(mut out), Some(psi)) = (FieldOn::from_any(out), FieldOn::from_any(psi)) else {
            unreachable!("their objects and precisions were looked at")
        };
        let done = self.run(piece, dagger, &mut out, &psi);
        (Fields { out: out.into_any(), psi: psi.into_any() }, done)
    }
}

/// A field of a backend, from an array in site order.
///
/// # Errors
/// An array of another length; what the backend reports.
pub fn upload<B: Memory, R: Vectors>(
    backend: &B,
    shape: FieldShape,
    values: &[Complex<R>],
) -> Result<AnyField<B::Storage>, BackendError> {
    let mut field = FieldData::<R>::zeros(shape.lattice, shape.sites, shape.object)?;
    field.assign(values)?;
    AnyField::store(backend, Cow::Owned(HostField::new(field)))
}

/// An array in site order, from a field of a backend; zeros on sites that it does not live on.
///
/// # Errors
/// A field of another precision; what the backend reports.
pub fn download<B: Memory, R: Vectors>(
    backend: &B,
    field: &AnyField<B::Storage>,
) -> Result<Vec<Complex<R>>, BackendError> {
    let loaded = backend.load(field)?.into::<R>().ok_or_else(|| FieldError::Mismatch {
        what: "downloading a field",
        left: field.shape().describe(),
        right: R::NAME.to_owned(),
    })?;
    Ok(loaded.try_to_site_order()?)
}

/// Applies an operator to an array in site order over the whole lattice, of whose sites only those matter that the piece reads. Where the piece does not
/// write, the result is +0. `shape`: of fields on all sites, with parities where the piece needs them.
///
/// # Errors
/// As [`Applied::apply`].
pub fn apply_to_array<B: Memory, R: Vectors>(
    backend: &B,
    operator: &mut (dyn Applied<B::Storage> + Send + '_),
    (piece, dagger): (Piece, Dagger),
    shape: FieldShape,
    source: &[Complex<R>],
) -> Result<Vec<Complex<R>>, BackendError> {
    let on = |sites| FieldShape { sites, ..shape };
    let fields =
        Fields { psi: upload(backend, on(piece.from()), source)?, out: AnyField::zeros(backend, on(piece.onto()))? };
    let (Fields { out, .. }, done) = operator.apply(piece, dagger, fields);
    done?;
    download(backend, &out)
}
