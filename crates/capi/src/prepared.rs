//! Operators that a context holds: made when they are first applied, and kept. Who calls knows neither their type nor the backend's.

use std::borrow::Cow;
use std::sync::Arc;

use lanefield::backend::{AnyField, Backend, BackendError, Cpu, FieldOn, HostField, Memory, OpenCl};
use lanefield::operator::{AnyModel, HopParameters, Model, ModelTask, Operator as _, SchurComplement};
use lanefield::reference::field::{FieldData, FieldError, FieldShape};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{Checkerboard, Extents, LaneChoice, Lattice, LatticeOptions, LayoutError, Sites};
use num_complex::Complex;
use self_cell::self_cell;

use crate::applied::{Applied, Fields, Piece, Step};
use crate::context::Context;
use crate::hop::{Hop, OfHop};

/// What is applied.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// An operator.
    Model(AnyModel),
    /// The kernel of a hop.
    Hop(Hop, HopParameters),
}

/// An operator with parameters, in precision `R`.
struct OfModel<'b, B: Backend, R: Vectors, M: Model> {
    backend: &'b B,
    model: M,
    configuration: Arc<Configuration>,
    full: Option<M::Full<'b, B, R>>,
    schur: Option<SchurComplement<'b, B, R, M::Object>>,
}

impl<'b, B: Backend, R: Vectors, M: Model> OfModel<'b, B, R, M> {
    fn run(
        &mut self,
        step: Step,
        dagger: Dagger,
        out: &mut FieldOn<B, R, M::Object>,
        psi: &FieldOn<B, R, M::Object>,
    ) -> Result<(), BackendError> {
        let (backend, lattice) = (self.backend, *out.lattice());
        let Step::Piece(piece, _) = step else {
            if self.full.is_none() {
                self.full = Some(self.model.full::<B, R>(backend, &self.configuration, lattice)?);
            }
            return self.full.as_mut().map_or(Ok(()), |full| full.apply(out, psi, dagger));
        };
        if self.schur.is_none() {
            let pieces = self.model.even_odd::<B, R>(backend, &self.configuration, lattice)?;
            self.schur = Some(SchurComplement::new(pieces)?);
        }
        let Some(schur) = &mut self.schur else { return Ok(()) };
        match piece {
            Piece::Meooe => schur.pieces().meooe(out, psi, dagger),
            Piece::Mooee => schur.pieces().mooee(out, psi, dagger),
            Piece::MooeeInverse => schur.pieces().mooee_inv(out, psi, dagger),
            Piece::Schur => schur.apply(out, psi, dagger),
        }
    }
}

impl<B: Backend, R: Vectors, M: Model> Applied<B::Storage> for OfModel<'_, B, R, M> {
    fn apply(
        &mut self,
        step: Step,
        dagger: Dagger,
        Fields { out, psi }: Fields<B::Storage>,
    ) -> (Fields<B::Storage>, Result<(), BackendError>) {
        let fields = (FieldOn::<B, R, M::Object>::from_any(out), FieldOn::<B, R, M::Object>::from_any(psi));
        let (Some(mut out), Some(psi)) = fields else { unreachable!("fields are those that the operator acts on") };
        let done = self.run(step, dagger, &mut out, &psi);
        (Fields { out: out.into_any(), psi: psi.into_any() }, done)
    }
}

/// Makes an operator of a backend.
struct Boxing<'b, B> {
    backend: &'b B,
    configuration: Arc<Configuration>,
}

/// The same in precision `R`.
struct BoxingIn<'b, B, R>(Boxing<'b, B>, std::marker::PhantomData<R>);

impl<'b, B: Backend, R: Vectors> ModelTask for BoxingIn<'b, B, R> {
    type Output = Box<dyn Applied<B::Storage> + 'b>;

    fn run<M: Model>(self, model: M) -> Self::Output {
        let Boxing { backend, configuration } = self.0;
        Box::new(OfModel::<'b, B, R, M> { backend, model, configuration, full: None, schur: None })
    }
}

impl<'b, B: Backend> Boxing<'b, B> {
    fn make<R: Vectors>(self, what: What) -> Movable<Box<dyn Applied<B::Storage> + 'b>> {
        Movable(match what {
            What::Model(model) => model.run(BoxingIn::<'b, B, R>(self, std::marker::PhantomData)),
            What::Hop(hop, parameters) => {
                Box::new(OfHop::<'b, B, R>::new(self.backend, hop, parameters, self.configuration))
            }
        })
    }
}

/// What may be moved to another thread, though its type does not say so.
pub struct Movable<T>(T);

// SAFETY: only `Boxing::make` makes one, of an operator of `AnyModel` or a hop on one of two backends, in one of two precisions. `operators_may_be_moved`
// does not compile for an operator whose parts may not be moved.
unsafe impl<T> Send for Movable<T> {}

impl<T> Movable<T> {
    /// What it is.
    pub fn get(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Compiles if every operator may be moved to another thread, on every backend, in every precision.
const _: fn(AnyModel) = |model| {
    fn moved<T: Send>() {}
    fn shared<T: Sync>() {}
    fn on<B: Backend + 'static, M: Model>(_: M)
    where
        M::Full<'static, B, f32>: Send,
        M::Full<'static, B, f64>: Send,
        M::Pieces<'static, B, f32>: Send,
        M::Pieces<'static, B, f64>: Send,
    {
    }
    // A new operator is asked for here.
    match model {
        AnyModel::Wilson(model) => (on::<Cpu, _>(model), on::<OpenCl, _>(model)),
        AnyModel::TwistedMass(model) => (on::<Cpu, _>(model), on::<OpenCl, _>(model)),
        AnyModel::Clover(model) => (on::<Cpu, _>(model), on::<OpenCl, _>(model)),
        AnyModel::DomainWall(model) => (on::<Cpu, _>(model), on::<OpenCl, _>(model)),
        AnyModel::Laplace(model) => (on::<Cpu, _>(model), on::<OpenCl, _>(model)),
        AnyModel::Staggered(model) => (on::<Cpu, _>(model), on::<OpenCl, _>(model)),
    };
    moved::<OfHop<'static, Cpu, f32>>();
    moved::<OfHop<'static, Cpu, f64>>();
    moved::<OfHop<'static, OpenCl, f32>>();
    moved::<OfHop<'static, OpenCl, f64>>();
    // What the Schur complement has beside the pieces, and what all borrow.
    moved::<<Cpu as Memory>::Storage>();
    moved::<<OpenCl as Memory>::Storage>();
    shared::<Cpu>();
    shared::<OpenCl>();
};

/// An operator, ready on a backend.
pub enum Prepared<'b> {
    /// The CPU reference.
    Cpu(Movable<Box<dyn Applied<<Cpu as Memory>::Storage> + 'b>>),
    /// An OpenCL device.
    OpenCl(Movable<Box<dyn Applied<<OpenCl as Memory>::Storage> + 'b>>),
}

self_cell! {
    /// An operator with the context that it borrows.
    pub struct Kept {
        owner: Arc<Context>,
        #[covariant]
        dependent: Prepared,
    }
}

impl Kept {
    /// An operator in precision `R`: of the device of the context if there is one and `on_device`, else of the CPU reference.
    pub fn of<R: Vectors>(
        context: &Arc<Context>,
        on_device: bool,
        what: What,
        configuration: &Arc<Configuration>,
    ) -> Self {
        let configuration = Arc::clone(configuration);
        Self::new(Arc::clone(context), |context| match &context.device {
            Some(device) if on_device => {
                Prepared::OpenCl(Boxing { backend: &device.opencl, configuration }.make::<R>(what))
            }
            _ => Prepared::Cpu(Boxing { backend: &context.cpu, configuration }.make::<R>(what)),
        })
    }
}

/// A lattice as a backend lays out fields of precision `R`: with parities where `sites` is one.
pub fn lattice<R: Vectors>(backend: &impl Memory, extents: Extents, sites: Sites) -> Result<Lattice, LayoutError> {
    let checkerboard = match sites {
        Sites::Full => Checkerboard::FullOnly,
        Sites::Parity(_) => Checkerboard::RedBlack,
    };
    let options = LatticeOptions { lanes: backend.lanes(LaneChoice::Auto), nodes: None, checkerboard };
    Lattice::new(extents, R::COMPLEX, options)
}

/// A field of a backend, from an array in site order.
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

/// Applies an operator of a backend to an array.
pub fn apply<B: Memory, R: Vectors>(
    backend: &B,
    operator: &mut dyn Applied<B::Storage>,
    (step, dagger): (Step, Dagger),
    [from, onto]: [FieldShape; 2],
    source: &[Complex<R>],
) -> Result<Vec<Complex<R>>, BackendError> {
    let fields = Fields { psi: upload(backend, from, source)?, out: AnyField::zeros(backend, onto)? };
    let (Fields { out, .. }, done) = operator.apply(step, dagger, fields);
    done?;
    download(backend, &out)
}
