//! Operators, written once over [`Backend`]: none asks which backend it runs on. Definitions: `docs/arithmetic.md` §9, §13 to §15.

mod clover;
mod definition;
mod domain_wall;
mod hop;
mod laplace;
mod model;
mod normal;
mod schur;
mod staggered;
mod wilson;

pub use clover::{Clover, CloverParameters, SmallestPivot};
pub use definition::{Definition, DefinitionError, Parameter, ParameterKind, ParameterValues, definition, definitions};
pub use domain_wall::{DomainWall, DomainWallEvenOdd, DomainWallParameters};
pub use hop::{HopOperator, HopParameters};
pub use laplace::{Laplace, LaplaceModel, LaplaceParameters};
pub use model::{Model, ModelTask};
pub use normal::{NormalEquations, System};
pub use schur::{EvenOdd, SchurComplement};
pub use staggered::{Staggered, StaggeredParameters};
pub use wilson::{Wilson, WilsonParameters};

use lanefield_reference::field::{Object, Repeated, SiteObject};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};

use crate::backend::{Backend, BackendError, FieldOn};

model::models! {
    /// The Wilson operator.
    Wilson(WilsonParameters): wilson;
    /// The clover operator.
    Clover(CloverParameters): clover;
    /// Domain wall and Möbius fermions.
    DomainWall(DomainWallParameters): domain_wall;
    /// The Laplacian.
    Laplace(LaplaceModel): laplace;
    /// Staggered fermions.
    Staggered(StaggeredParameters): staggered;
}

/// What an operator acts on, whole or in even-odd pieces: fields of one or several *columns*, vectors that it takes each by itself, such as
/// the right-hand sides of a batch. Its links are then read once for all of them.
pub trait ActsOn<B: Backend> {
    /// What its fields hold at each site.
    type Object: Repeated;

    /// The backend that runs it.
    fn backend(&self) -> &B;
    /// The lattice that it acts on.
    fn lattice(&self) -> Lattice;
    /// What a field of `columns` columns holds at each site.
    fn object(&self, columns: usize) -> Self::Object;
}

/// A linear operator on fields of precision `R` held by `B`. It may hold temporary fields, hence `&mut self`.
pub trait Operator<B: Backend, R: Vectors>: ActsOn<B> {
    /// The sites that it acts on.
    fn sites(&self) -> Sites;
    /// out = D ψ, or D† ψ, of each column.
    ///
    /// # Errors
    /// Fields that do not lie on the operator's lattice and sites; what the backend reports.
    fn apply(
        &mut self,
        out: &mut FieldOn<B, R, Self::Object>,
        psi: &FieldOn<B, R, Self::Object>,
        dagger: Dagger,
    ) -> Result<(), BackendError>;
    /// Floating-point operations of one application to a column, as the field counts them.
    fn flops(&self) -> u64;
    /// Bytes that one application to one column has to move at least, each of its kernels' inputs and outputs once.
    fn bytes(&self) -> u64;

    /// A field of zeros that the operator can act on, of `columns` columns.
    ///
    /// # Errors
    /// What the backend reports.
    fn zeros_of(&self, columns: usize) -> Result<FieldOn<B, R, Self::Object>, BackendError> {
        self.backend().zeros(self.lattice(), self.sites(), self.object(columns))
    }

    /// The same of one column.
    ///
    /// # Errors
    /// What the backend reports.
    fn zeros(&self) -> Result<FieldOn<B, R, Self::Object>, BackendError> {
        self.zeros_of(1)
    }
}

/// Makes a temporary field like `like`, if it is not yet.
///
/// # Errors
/// What the backend reports.
pub(crate) fn fit<B: Backend, R: Vectors, K: SiteObject>(
    temporary: &mut FieldOn<B, R, K>,
    like: &FieldOn<B, R, K>,
    backend: &B,
) -> Result<(), BackendError> {
    if temporary.kind() != like.kind() {
        *temporary = backend.zeros(*like.lattice(), temporary.sites(), like.kind())?;
    }
    Ok(())
}
