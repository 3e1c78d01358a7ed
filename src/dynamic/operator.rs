//! Operators that are chosen at run time, and hop kernels that are not operators of their own, prepared on a backend. Each piece is prepared when it
//! is first applied, and kept. The caller needs to know neither its type nor its precision.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use lanefield_reference::field::{DoubledGauge, FieldData, FieldError, FieldShape, Object, Repeated};
use lanefield_reference::layout::{Checkerboard, LayoutError, Stencil};
use lanefield_reference::links::double;
use lanefield_reference::prelude::*;

use super::backend::{AnyBackend, AnyStorage, AnyTable};
use crate::backend::{AnyField, BackendError, FieldOn, HostField, Launch as _, Memory as _, Reduce as _, Sum};
use crate::kernel::reduce::NORM2;
use crate::kernel::{
    self, Access, ArgumentValue, Arguments, FieldContents, FieldRole, FieldSites, Geometry, Kernel, KernelArgument,
};
use crate::operator::{
    AnyModel, HopParameters, Makes, Model, ModelChoice as _, ModelTask, Operator, Parameter, SchurComplement,
};

/// The piece of an operator to apply, and its target parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// The whole operator, on the full lattice.
    Full,
    /// The part that connects the parities, onto the given one.
    Meooe(Parity),
    /// The part that stays on the given parity.
    Mooee(Parity),
    /// The inverse of [`Self::Mooee`] on the given parity.
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

    /// Whether it divides by the diagonal part.
    pub fn divides(self) -> bool {
        matches!(self, Self::MooeeInverse(_) | Self::Mpc)
    }
}

/// A field that a backend holds.
pub type DynField = AnyField<AnyStorage>;

/// An operator on fields of its object and precision.
pub trait Applied {
    /// Writes the piece, or its Hermitian conjugate, applied to `psi` into `out`.
    ///
    /// # Errors
    /// Fails for fields of another object, parity or precision, and if the backend fails.
    fn apply(&mut self, piece: Piece, dagger: Dagger, out: &mut DynField, psi: &DynField) -> Result<(), BackendError>;
}

/// An operator that is prepared on a backend, and can be sent to another thread.
pub type PreparedOperator<'b> = Box<dyn Applied + Send + 'b>;

/// An operator, or the kernel of a hop.
#[derive(Clone, Copy, Debug)]
pub enum Applicable {
    /// An operator.
    Model(AnyModel),
    /// The kernel of a hop, with its parameters.
    Hop(HopKernel, HopParameters),
}

impl Applicable {
    /// The object of fields of one right-hand side.
    pub fn object(self) -> Object {
        match self {
            Self::Model(model) => model.object(),
            Self::Hop(hop, _) => hop.object(),
        }
    }

    /// The operator in f32 or f64 on a backend. Nothing is prepared yet.
    pub fn prepare(
        self,
        backend: &AnyBackend,
        precision: Precision,
        configuration: Arc<Configuration>,
    ) -> PreparedOperator<'_> {
        match precision {
            Precision::F64 => self.of::<f64>(backend, configuration),
            _ => self.of::<f32>(backend, configuration),
        }
    }

    fn of<R: Vectors>(self, backend: &AnyBackend, configuration: Arc<Configuration>) -> PreparedOperator<'_> {
        match self {
            Self::Model(model) => model.run(Boxing::<R>(backend, configuration, PhantomData)),
            Self::Hop(hop, parameters) => Box::new(OfHop::<R>::new(backend, hop, parameters, configuration)),
        }
    }
}

/// Builds an operator behind a trait object.
struct Boxing<'b, R>(&'b AnyBackend, Arc<Configuration>, PhantomData<R>);

impl<'b, R: Vectors> ModelTask for Boxing<'b, R> {
    type Output = PreparedOperator<'b>;

    fn run<M: Model>(self, model: M) -> Self::Output {
        let Self(backend, configuration, _) = self;
        let (object, model) = (model.object(1), Box::new(model) as Box<dyn Makes<AnyBackend, R, M::Object> + Send>);
        Box::new(OfModel { backend, object, model, configuration, full: None, schur: None })
    }
}

/// An operator with its parameters.
struct OfModel<'b, R: Vectors, K: Repeated> {
    backend: &'b AnyBackend,
    /// The object of one right-hand side.
    object: K,
    model: Box<dyn Makes<AnyBackend, R, K> + Send>,
    configuration: Arc<Configuration>,
    full: Option<Box<dyn Operator<AnyBackend, R, Object = K> + Send + 'b>>,
    schur: Option<SchurComplement<'b, AnyBackend, R, K>>,
}

/// Returns the value in the slot; creates it if the slot is empty.
fn made<T>(slot: &mut Option<T>, make: impl FnOnce() -> Result<T, BackendError>) -> Result<&mut T, BackendError> {
    let value = match slot.take() {
        Some(value) => value,
        None => make()?,
    };
    Ok(slot.insert(value))
}

impl<R: Vectors, K: Repeated> Applied for OfModel<'_, R, K> {
    fn apply(&mut self, piece: Piece, dagger: Dagger, out: &mut DynField, psi: &DynField) -> Result<(), BackendError> {
        let mismatch = |field: String| {
            let right = format!("{} in {}", self.object.object().name(), R::NAME);
            FieldError::Mismatch { what: "applying an operator", left: field, right }
        };
        let described = out.shape().describe();
        let out = FieldOn::<AnyBackend, R, K>::of_mut(out).ok_or_else(|| mismatch(described))?;
        let psi = FieldOn::of(psi).ok_or_else(|| mismatch(psi.shape().describe()))?;
        let (backend, configuration, lattice) = (self.backend, &self.configuration, *out.lattice());
        if piece == Piece::Full {
            let full = made(&mut self.full, || self.model.full(backend, configuration, lattice))?;
            return full.apply(out, psi, dagger);
        }
        let schur = made(&mut self.schur, || self.model.schur(backend, configuration, lattice))?;
        match piece {
            Piece::Meooe(_) => schur.pieces().meooe(out, psi, dagger),
            Piece::Mooee(_) => schur.pieces().mooee(out, psi, dagger),
            Piece::MooeeInverse(_) => schur.pieces().mooee_inv(out, psi, dagger),
            Piece::Full | Piece::Mpc => schur.apply(out, psi, dagger),
        }
    }
}

/// A kernel that computes nothing but a hop, of one spinor or colour vector per site, with its fields by role.
#[derive(Clone, Copy, Debug)]
pub struct HopKernel {
    kernel: &'static Kernel,
    out: FieldRole,
    links: FieldRole,
    source: FieldRole,
}

impl HopKernel {
    /// All hop kernels, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        kernel::all().filter(|kernel| kernel.dagger == Dagger::No).filter_map(Self::of)
    }

    /// The kernel.
    pub fn kernel(self) -> &'static Kernel {
        self.kernel
    }

    /// The kernel of the Hermitian conjugate, if there is one.
    pub fn dagger(self) -> Option<Self> {
        self.with(Dagger::Yes)
    }

    /// The kernel as a hop, if it is one: it reads doubled links and the neighbours of its target, and no other field or scalar.
    pub fn of(kernel: &'static Kernel) -> Option<Self> {
        let fields: Vec<FieldRole> = kernel.fields().collect();
        let [out, links, source] = fields[..] else { return None };
        let takes_numbers = kernel
            .arguments
            .iter()
            .any(|known| matches!(known, KernelArgument::Scalar(_) | KernelArgument::Complex(_)));
        let is_stencil = !takes_numbers && matches!(kernel.geometry, Geometry::Stencil { .. }) && kernel.takes_parts(1);
        let of_hop = out.access == Access::Write
            && links.holds == FieldContents::DoubledLinks
            && (source.holds, source.at, source.access) == (out.holds, FieldSites::Neighbours, Access::Read);
        (is_stencil && of_hop).then_some(Self { kernel, out, links, source })
    }

    /// The hop itself, or the kernel of its Hermitian conjugate.
    fn with(self, dagger: Dagger) -> Option<Self> {
        let conjugate = |kernel: &&'static Kernel| {
            (kernel.family, kernel.tuned_as, kernel.dagger) == (self.kernel.family, self.kernel.tuned_as, dagger)
        };
        if dagger == Dagger::No {
            return Some(self);
        }
        kernel::all().filter(conjugate).find_map(Self::of)
    }

    /// The object that it acts on.
    pub fn object(self) -> Object {
        if self.out.holds == FieldContents::ColourVectors { Object::ColourVectors(1) } else { Object::Spinors(1) }
    }
}

/// Links and stencil for some target sites.
struct PreparedHop<R: Vectors> {
    lattice: Lattice,
    sites: Sites,
    links: FieldOn<AnyBackend, R, DoubledGauge>,
    stencil: AnyTable,
}

/// A hop prepared on a backend.
struct OfHop<'b, R: Vectors> {
    backend: &'b AnyBackend,
    hop: HopKernel,
    parameters: HopParameters,
    configuration: Arc<Configuration>,
    prepared: Vec<PreparedHop<R>>,
}

impl<'b, R: Vectors> OfHop<'b, R> {
    fn new(
        backend: &'b AnyBackend,
        hop: HopKernel,
        parameters: HopParameters,
        configuration: Arc<Configuration>,
    ) -> Self {
        Self { backend, hop, parameters, configuration, prepared: Vec::new() }
    }

    fn onto(&mut self, lattice: Lattice, sites: Sites) -> Result<&PreparedHop<R>, BackendError> {
        let known = |onto: &PreparedHop<R>| (onto.lattice, onto.sites) == (lattice, sites);
        let place = match self.prepared.iter().position(known) {
            Some(place) => place,
            None => {
                let HopParameters { boundary, links: format, .. } = self.parameters;
                let links = double::<R>(&self.configuration, lattice, sites, DoubledGauge { format, boundary })?;
                let links = self.backend.upload(links)?;
                let stencil = self.backend.stencil(Stencil::new(lattice, sites)?)?;
                self.prepared.push(PreparedHop { lattice, sites, links, stencil });
                self.prepared.len() - 1
            }
        };
        Ok(&self.prepared[place])
    }
}

impl<R: Vectors> Applied for OfHop<'_, R> {
    fn apply(&mut self, _: Piece, dagger: Dagger, out: &mut DynField, psi: &DynField) -> Result<(), BackendError> {
        // A hop without that kernel was rejected before.
        let hop = self.hop.with(dagger).unwrap_or(self.hop);
        let (backend, legs) = (self.backend, self.parameters.legs);
        let (lattice, sites) = (out.shape().lattice, out.shape().sites);
        let onto = self.onto(lattice, sites)?;
        let arguments = Arguments::new(hop.kernel).value(hop.out.name, ArgumentValue::Write(out));
        let arguments = arguments.read(hop.links.name, &onto.links).read_any(hop.source.name, psi);
        backend.launch(arguments.stencil(&onto.stencil).legs(legs).call()?)
    }
}

/// The shape of fields on some sites of a lattice. The lattice has a checkerboard only if the sites are those of one parity.
///
/// # Errors
/// Fails if the lattice cannot have these lanes, or a checkerboard.
pub fn field_shape(
    object: Object,
    precision: Precision,
    (extents, sites): (Extents, Sites),
    lanes: LaneChoice,
) -> Result<FieldShape, LayoutError> {
    let checkerboard = if sites == Sites::Full { Checkerboard::FullOnly } else { Checkerboard::RedBlack };
    let options = LatticeOptions { lanes, nodes: None, checkerboard };
    Ok(FieldShape { lattice: Lattice::new(extents, precision.scalar(), options)?, sites, object, precision })
}

/// The first parameter of an operator that is out of the range of precision `R`, with its value.
pub fn beyond<R: Vectors>(model: &AnyModel) -> Option<(&'static Parameter, f64)> {
    model.parameters().into_iter().find(|(_, number)| !R::from_f64(*number).to_f64().is_finite())
}

/// Creates a field of a backend from an array in site order.
///
/// # Errors
/// Fails for an array of another length, and if the backend fails.
pub fn upload<R: Vectors>(
    backend: &AnyBackend,
    shape: FieldShape,
    values: &[Complex<R>],
) -> Result<DynField, BackendError> {
    let mut field = FieldData::<R>::zeros(shape.lattice, shape.sites, shape.object)?;
    field.assign(values)?;
    AnyField::store(backend, Cow::Owned(HostField::new(field)))
}

/// Copies a field of a backend to an array in site order, with zeros on sites that are not in the field.
///
/// # Errors
/// Fails for a field of another precision, and if the backend fails.
pub fn download<R: Vectors>(backend: &AnyBackend, field: &DynField) -> Result<Vec<Complex<R>>, BackendError> {
    let loaded = backend.load(field)?.into::<R>().ok_or_else(|| FieldError::Mismatch {
        what: "downloading a field",
        left: field.shape().describe(),
        right: R::NAME.to_owned(),
    })?;
    Ok(loaded.try_to_site_order()?)
}

/// |x|², as an exact sum.
pub fn norm2(backend: &AnyBackend, x: &DynField) -> Result<f64, BackendError> {
    let call = Arguments::new(&NORM2).read_any("x", x).call()?;
    Ok(backend.reduce(call, Sum::Exact)?.round().first().copied().unwrap_or(0.0))
}

/// Applies an operator to an array in site order over the whole lattice. Only the sites that the piece reads matter; sites that it does not write
/// are +0 in the result. `shape`: the shape of fields on the sites of the result.
pub fn apply_to_array<R: Vectors>(
    backend: &AnyBackend,
    operator: &mut (dyn Applied + Send + '_),
    (piece, dagger): (Piece, Dagger),
    shape: FieldShape,
    source: &[Complex<R>],
) -> Result<Vec<Complex<R>>, BackendError> {
    let on = |sites| FieldShape { sites, ..shape };
    let (psi, mut out) = (upload(backend, on(piece.from()), source)?, AnyField::zeros(backend, on(piece.onto()))?);
    operator.apply(piece, dagger, &mut out, &psi)?;
    download(backend, &out)
}
